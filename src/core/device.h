/* device.h -- a provider's device and its context */
#ifndef FGS_CORE_DEVICE_H
#define FGS_CORE_DEVICE_H

#include "base/error.h"
#include "base/alloc.h"
#include "base/log.h"
#include "core/cache.h"
#include "core/obj.h"
#include "cuda/nvjitlink.h"
#include "cuda/nvrtc.h"
#include "cuda/provider.h"
#include "table/table.h"

#include <pthread.h>
#include <stdatomic.h>

struct fgs__plan;

/* Do grids of two streams overlap behind an event of cross.def? */
struct fgs__overlap {
    int known;                /* measured; else `why` says what failed       */
    int yes;
    char why[160];            /* "" = measured, or not asked yet             */
};

/*
 * Objects made from a device hold a reference: a device that is closed before
 * them lives on, without handle, until the last of them is freed.
 */
struct fgs__device {
    struct fgs__obj obj;
    fgs_allocator alloc;
    struct fgs__log log;
    const struct fgs__provider *provider;
    struct fgs__cu cu;
    CUdevice id;
    CUcontext ctx;
    int primary;              /* ctx is the primary one, retained by us      */
    atomic_uint refs;
    int32_t ordinal, cc, sm_count;
    int isa;                  /* highest PTX ISA of the driver, times ten    */
    uint64_t memory;
    char name[128];
    char why[1200];           /* why this provider was taken                 */
    char *ptx_dir;            /* "" = none                                   */
    char *cache_dir;          /* NULL = the environment's                    */
    int watch;                /* for files of ptx_dir that change            */
    uint64_t cache_bytes;     /* 0 = the default                             */
    atomic_ullong compiled, cached; /* results                               */
    atomic_ullong reloads;    /* of kernels, for plans to look at            */
    struct fgs__overlap overlap[FGS__CROSS_COUNT]; /* composing's own        */
    pthread_mutex_t lock;     /* guards what follows                         */
    struct fgs__plan *plans;  /* all plans, for the buffers in use           */
    const struct fgs__plan *ran_last; /* others know of its run; NULL = not   */
    int linker_open;          /* `linker` was looked for                     */
    struct fgs__nvjitlink linker;
    int nvrtc_open;           /* `nvrtc` was looked for                      */
    struct fgs__nvrtc nvrtc;
    int cache_open;           /* `cache` was opened                          */
    struct fgs__cache cache;
};

/* The live device of a handle. */
fgs_result fgs__device_get(struct fgs__device **out, fgs_device *dev,
                           fgs_error *err);

/* A reference more, or one less; the last one ends the device. */
void fgs__device_ref(struct fgs__device *d);
void fgs__device_unref(struct fgs__device *d);

/* Make the device's context current, and the caller's one again.  An enter
 * that failed needs no leave.  FGS_E_FREED when the device was closed. */
fgs_result fgs__device_enter(struct fgs__device *d, fgs_error *err);
/* The same to release things: a closed device is no error; 0 = no context. */
int fgs__device_enter_quiet(struct fgs__device *d);
void fgs__device_leave(struct fgs__device *d);

/* nvJitLink, looked for on first need.  Not for a provider without cubins:
 * `found` is 0 then. */
const struct fgs__nvjitlink *fgs__device_linker(struct fgs__device *d);

/* NVRTC, looked for on first need. */
const struct fgs__nvrtc *fgs__device_nvrtc(struct fgs__device *d);

/* The cache of compiled results, opened on first need. */
struct fgs__cache *fgs__device_cache(struct fgs__device *d);

/* What a result of a compiler depends on beside its text and options: driver
 * and this library. */
void fgs__device_key(const struct fgs__device *d, struct fgs__key *k);

/* Measured on the first call, in the context; a measurement that failed is
 * tried again at the next.  cross.c */
const struct fgs__overlap *fgs__device_overlap(struct fgs__device *d,
                                               enum fgs__cross_id cross);

/* Choose and start a provider: fills all but ctx, ptx_dir.  choose.c */
fgs_result fgs__device_choose(struct fgs__device *d, const char *name,
                              int32_t ordinal, fgs_error *err);

/* fgs_device_can.  choose.c */
fgs_result fgs__device_can(struct fgs__device *d, fgs_engine engine,
                           fgs_error *err);

/* "the driver (13.0) takes PTX up to 9.0, nvJitLink 13.4 up to 9.4": who can
 * assemble what, for messages. */
const char *fgs__device_assemblers(struct fgs__device *d, char *buf,
                                   size_t size);

/* fgs__cu_need for the entry points that a call will use. */
#define FGS__NEED(d, err, ...)                                                 \
    fgs__cu_need(&(d)->cu, (const enum fgs__cu_id[]){ __VA_ARGS__ },           \
                 sizeof((const enum fgs__cu_id[]){ __VA_ARGS__ }) /            \
                     sizeof(enum fgs__cu_id),                                  \
                 err)

/* A failed driver call, with what the provider knows about a fault. */
fgs_result fgs__device_fail(struct fgs__device *d, fgs_error *err, CUresult r,
                            const char *call, const char *fmt, ...)
    FGS__PRINTF(5, 6);

/* Log that something could not be given back. */
void fgs__device_lost(struct fgs__device *d, CUresult r, const char *call,
                      const char *what);

#endif
