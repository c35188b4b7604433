/* pipe.h -- the library's kernels launched one by one, on any device
 *
 * For what a plan does not launch: pipelines, and their benches.  Arguments
 * are given by the names that the text has for them.
 */
#ifndef FGS_TOOL_PIPE_H
#define FGS_TOOL_PIPE_H

#include "tool.h"

typedef unsigned long long pipe_addr;

/* One device by its driver's entry points; its primary context is current
 * between open and close. */
struct pipe_device {
    fgs_device *dev;
    fgs_device_info info;
    char provider[16];
    void *ctx;
    int ordinal;                /* CUdevice                                  */
    int sms, shared, block_shared; /* bytes of an SM, most of a block        */
    char why[1024];             /* what failed last                          */
    char assembled_by[16];
    fgs_language language;      /* of what pipe_load loads                   */
};

enum { PIPE_PARAMS = 40, PIPE_NAME = 32 };
struct pipe_kernel {
    void *module, *function;
    char entry[80], target[16], version[16];
    char name[PIPE_PARAMS][PIPE_NAME]; /* of its parameters                  */
    unsigned params;
};

/* A list of them ends with name NULL; what is not in it is 0.  `at` is of
 * arguments of more than 8 bytes. */
struct pipe_arg {
    const char *name;
    uint64_t value;
    const void *at;
};

struct pipe_launch {
    unsigned blocks, threads;
    unsigned shared;            /* dynamic bytes                             */
    unsigned cluster;           /* blocks of a cluster along x, 0 = none     */
    bool pdl;                   /* may start before the kernel before ends   */
    void *stream;
    const struct pipe_arg *args;
};

/* EXIT_GOOD, or an exit code after a message of `verb`; pipe_close in any
 * case.  `d` is zeroed first. */
int pipe_open(struct pipe_device *d, const char *verb, const char *provider,
              int32_t ordinal);
void pipe_close(struct pipe_device *d);

/* What follows is false after d->why was filled. */

/* A text of the library, or of $FGS_PTX_DIR, which is told on stderr; or what
 * NVRTC makes of its twin.  desc->cc 0 = the device's. */
bool pipe_load(struct pipe_device *d, const fgs_ptx_desc *desc,
               struct pipe_kernel *k);
/* The same; `change` edits the PTX in place, it may make it shorter. */
bool pipe_load_changed(struct pipe_device *d, const fgs_ptx_desc *desc,
                       void (*change)(char *text), struct pipe_kernel *k);
/* A text of one's own, with the entry's name. */
bool pipe_load_text(struct pipe_device *d, const char *name, const char *text,
                    const char *entry, struct pipe_kernel *k);
/* A cubin, or PTX text, that needs no assembler; no names of parameters: the
 * arguments go in their order. */
bool pipe_load_image(struct pipe_device *d, const void *image,
                     const char *entry, struct pipe_kernel *k);
void pipe_unload(struct pipe_device *d, struct pipe_kernel *k);
bool pipe_run(struct pipe_device *d, const struct pipe_kernel *k,
              const struct pipe_launch *l);
/* Blocks that an SM has room for. */
bool pipe_room(struct pipe_device *d, const struct pipe_kernel *k,
               unsigned threads, unsigned shared, unsigned *blocks);

/* Device memory; a failed pipe_memory leaves 0. */
bool pipe_memory(struct pipe_device *d, pipe_addr *out, uint64_t bytes);
void pipe_free(struct pipe_device *d, pipe_addr *a);
/* Host memory that the device sees at *at. */
bool pipe_host(struct pipe_device *d, void **host, pipe_addr *at,
               uint64_t bytes);
void pipe_host_free(struct pipe_device *d, void *host);
bool pipe_put(struct pipe_device *d, pipe_addr to, const void *from,
              uint64_t bytes);
bool pipe_get(struct pipe_device *d, void *to, pipe_addr from, uint64_t bytes);
/* In stream order; bytes is a multiple of 4. */
bool pipe_fill(struct pipe_device *d, pipe_addr to, uint32_t word,
               uint64_t bytes);

/* A tensor map of a matrix, in device memory. */
enum { PIPE_F16 = 6, PIPE_F32 = 7 }; /* CUtensorMapDataType */
struct pipe_matrix {
    pipe_addr at;
    int type;
    uint64_t columns, rows, row_bytes;
    unsigned box_columns, box_rows;
};
bool pipe_map(struct pipe_device *d, const struct pipe_matrix *m,
              pipe_addr *map);

/* Wait for all that was launched. */
bool pipe_wait(struct pipe_device *d);
/* Events: a pair around what is timed; ns after pipe_wait. */
struct pipe_clock {
    void *from, *to;
};
bool pipe_clock_make(struct pipe_device *d, struct pipe_clock *c);
bool pipe_clock_start(struct pipe_device *d, struct pipe_clock *c);
bool pipe_clock_stop(struct pipe_device *d, struct pipe_clock *c);
bool pipe_clock_read(struct pipe_device *d, struct pipe_clock *c, double *ns);
void pipe_clock_free(struct pipe_device *d, struct pipe_clock *c);

#endif
