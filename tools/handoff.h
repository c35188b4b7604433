/* handoff.h -- fgs bench handoff: kernels and device */
#ifndef FGS_TOOL_HANDOFF_H
#define FGS_TOOL_HANDOFF_H

#include "tool.h"

/* The control block of the kernels, in 32-bit words; the texts know the byte
 * offsets.  A side's results are 64-bit words. */
enum {
    HANDOFF_TILE = 4096,
    CTL_WRONG = 3,  /* threads that received other data than was sent        */
    CTL_FAILED = 4, /* a wait reached its limit                              */
    CTL_SIDE = 16,  /* of `there`; `back` follows 16 words later             */
    CTL_SMS = 128,  /* %smid of each block                                   */
    SIDE_CLOCKS = 0, SIDE_NS, SIDE_WAITED, SIDE_REPEATS, SIDE_DONE
};

#define HANDOFF_SENTINEL 0x80000000u

/* A protocol: how a tile is sent and received. */
struct handoff_protocol {
    const char *name, *what;
    enum { HANDOFF_FLAG, HANDOFF_POLL, HANDOFF_BULK } kind;
    int cc;                      /* lowest compute capability times ten      */
    const char *version;         /* .version and .target lines               */
    const char *order, *width;   /* of a bulk copy                           */
    enum { MEET_BLOCK, MEET_WARP, MEET_NONE } meet; /* who has to have its
                                    part of the tile before a thread answers */
};
/* The first one is what the others are compared with; ends with name NULL. */
extern const struct handoff_protocol handoff_protocols[];
enum { HANDOFF_PROTOCOLS = 6 };

/* A form of it: threads of a block, 32 to 256, and loads in flight of a warp
 * that waits; powers of two. */
struct handoff_form {
    const struct handoff_protocol *p;
    int threads, loads;
    bool works;                  /* before a send, see --spread              */
};
/* Its lowest compute capability times ten. */
int handoff_cc(const struct handoff_form *f);
/* The text, from malloc; its entry is "handoff".  NULL = no memory. */
char *handoff_text(const struct handoff_form *f);

/* ---------------------------------------------------- handoff_device.c -- */

/* One device by its driver's entry points; the primary context is current. */
struct handoff_device {
    fgs_device *dev;
    fgs_device_info info;
    void *ctx;
    int ordinal;                 /* CUdevice                                 */
    unsigned long long tiles, ctl;
    unsigned shared;             /* dynamic, so that an SM takes one block   */
    char why[800];               /* what failed                              */
};
struct handoff_kernel {
    void *module, *function;
    unsigned threads;
};
/* Arguments of a launch. */
struct handoff_run {
    uint32_t there, back;        /* SMs                                      */
    uint32_t rounds, warm;       /* rounds in all, and those not timed       */
    uint32_t spread, limit;      /* clocks before a send; tries of a wait    */
};

/* Memory for `rounds` rounds.  EXIT_GOOD or an exit code after a message;
 * handoff_close in any case. */
int handoff_open(struct handoff_device *d, const char *provider,
                 uint32_t rounds);
/* False: d->why says why. */
bool handoff_load(struct handoff_device *d, const struct handoff_form *f,
                  struct handoff_kernel *k);
/* Fill all tiles with the sentinel, run, read the control block. */
bool handoff_launch(struct handoff_device *d, const struct handoff_kernel *k,
                    const struct handoff_run *r, uint32_t *ctl);
void handoff_unload(struct handoff_device *d, struct handoff_kernel *k);
void handoff_close(struct handoff_device *d);
/* Bytes of the control block. */
size_t handoff_ctl_bytes(const struct handoff_device *d);

int bench_handoff(int argc, char **argv);

#endif
