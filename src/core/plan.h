/* plan.h -- init -> producer -> consumer on one stream */
#ifndef FGS_CORE_PLAN_H
#define FGS_CORE_PLAN_H

#include "core/buffer.h"
#include "core/kernel.h"
#include "table/record.h"
#include "table/table.h"

/* What the kernels of a run share in device memory: statistics by role. */
struct fgs__control {
    struct fgs__ctl ctl;
    struct fgs__stat stat[FGS__ROLE_COUNT];
};

enum { FGS__IN, FGS__MID, FGS__OUT, FGS__BUFFERS };

/* What of a kernel and of a buffer a plan remembers: enough to launch and to
 * tell what happened.  The handle says whether the thing still lives. */
struct fgs__stage {
    fgs_kernel *handle;
    struct fgs__loaded *held;  /* what the unfinished run began with, NULL =
                                  none; a reference, under dev->lock         */
    uint64_t generation;       /* of the kernel, for what follows            */
    CUfunction function;
    int waits, triggers;
    char entry[68];
    uint32_t blocks, threads;
    uint32_t shared;           /* dynamic bytes of a block                   */
};

struct fgs__use {
    fgs_buffer *handle;
    char name[32];
    CUdeviceptr ptr;
    uint64_t bytes;
};

struct fgs__plan {
    struct fgs__obj obj;
    struct fgs__device *dev;   /* a reference                                */
    struct fgs__plan *next;    /* of the device, under its lock              */
    struct fgs__stage stage[FGS__ROLE_COUNT]; /* by role                     */
    struct fgs__use use[FGS__BUFFERS];
    struct fgs__args args;
    uint64_t tiles;
    fgs_engine engine;
    int pdl, no_pdl;
    char pdl_why[256];
    const char *assembled_by;
    int ptx_version;
    char ptx_target[16];
    char note[1024];
    uint64_t compiled, cached; /* results for the kernels                    */
    CUdeviceptr ctl;           /* struct fgs__control                        */
    struct fgs__rec *rec;      /* pinned, the kernels write it               */
    struct fgs__control *stats; /* pinned, one a round                       */
    uint32_t stats_rounds;     /* rounds that `stats` has room for           */
    CUevent start, end;
    /* The state of the last run; the first three under dev->lock. */
    int running;               /* launched and not waited for                */
    int launching;             /* fgs_plan_run is at it: no end event yet    */
    CUstream stream;
    uint32_t rounds;
    int waited;                /* `receipt` is good                          */
    fgs_receipt receipt;
};

fgs_result fgs__plan_get(struct fgs__plan **out, const fgs_plan *plan,
                         fgs_error *err);

/*
 * All three buffers have as many tiles, lie apart, and hold the kernels' tiles;
 * the kernels work on tiles of one kind.
 *
 * FGS_E_MISMATCH names the two that differ
 */
fgs_result fgs__fit_check(struct fgs__buffer *const b[FGS__BUFFERS],
                          struct fgs__kernel *const k[FGS__ROLE_COUNT],
                          fgs_error *err);

static inline int fgs__overlap(CUdeviceptr a, uint64_t a_bytes, CUdeviceptr b,
                               uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* FGS_E_BUSY when an unfinished run uses memory in [ptr, ptr + bytes).  The
 * device's context is current.  `name` is what the text calls the memory. */
fgs_result fgs__plans_idle(struct fgs__device *d, CUdeviceptr ptr,
                           uint64_t bytes, const char *name, fgs_error *err);

/*
 * renew.c: what the kernels hold now, as the stages' functions; the run that
 * goes on keeps what it launched before.  Where something changed, or with
 * `all`, the rest follows: carveout, serialization, note.  In the context.
 *
 * FGS_E_FREED  a kernel of the plan was freed
 */
fgs_result fgs__plan_renew(struct fgs__plan *p, int all, fgs_error *err);
/* No run of the plan is unfinished: give back what its stages hold. */
void fgs__plan_let_go(struct fgs__plan *p);
/* The same for a kernel's stages in all plans of a device. */
void fgs__plans_let_go(struct fgs__device *d, const fgs_kernel *kernel);

/* Wait for each unfinished run that uses the memory, or the kernel. */
void fgs__plans_wait(struct fgs__device *d, CUdeviceptr ptr, uint64_t bytes,
                     const fgs_kernel *kernel);

/* FGS_E_BUSY when an unfinished run of another plan on another stream writes
 * what this one uses, or the other way round.  Under the lock, in the
 * context. */
fgs_result fgs__plan_alone(struct fgs__plan *p, CUstream stream,
                           fgs_error *err);

#endif
