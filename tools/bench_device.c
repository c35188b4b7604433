/* bench_device.c -- the software device's entry points, for fgs bench */
#include "bench.h"

#include <fgs/fgs_sim.h>

#include <stdio.h>
#include <string.h>

/* The driver's types as its ABI has them: handles and addresses. */
typedef unsigned long long dev_addr;
#define CALLS(X)                                                               \
    X(cuInit, "cuInit", (unsigned))                                            \
    X(cuCtxCreate, "cuCtxCreate_v2", (void **, unsigned, int))                 \
    X(cuCtxDestroy, "cuCtxDestroy_v2", (void *))                               \
    X(cuCtxSynchronize, "cuCtxSynchronize", (void))                            \
    X(cuMemAlloc, "cuMemAlloc_v2", (dev_addr *, size_t))                       \
    X(cuMemFree, "cuMemFree_v2", (dev_addr))                                   \
    X(cuFuncGetAttribute, "cuFuncGetAttribute", (int *, int, void *))          \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                             \
      "cuOccupancyMaxActiveBlocksPerMultiprocessor",                           \
      (int *, void *, int, size_t))                                            \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))         \
    X(cuMemsetD32, "cuMemsetD32_v2", (dev_addr, unsigned, size_t))             \
    X(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                \
      (void **, const void *, unsigned, int *, void **))                       \
    X(cuModuleUnload, "cuModuleUnload", (void *))                              \
    X(cuModuleGetFunction, "cuModuleGetFunction",                              \
      (void **, void *, const char *))                                         \
    X(cuLaunchKernel, "cuLaunchKernel",                                        \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, void *, void **, void **))

static struct {
#define MEMBER(name, symbol, params) int (*name) params;
    CALLS(MEMBER)
#undef MEMBER
} cu;

static bool find_calls(void)
{
    void *p;

    /* ISO C has no conversion from an object's address to a function's. */
#define FIND(name, symbol, params)                                             \
    p = fgs_sim_get_proc(symbol);                                              \
    if (!p)                                                                    \
        return false;                                                          \
    memcpy(&cu.name, &p, sizeof p);
    CALLS(FIND)
#undef FIND
    return true;
}

static bool good(struct bench_device *d, const char *what, int code)
{
    if (code && !d->code) {
        d->what = what;
        d->code = code;
    }
    return !code;
}

bool bench_open(struct bench_device *d, uint32_t threads, size_t bytes)
{
    return bench_open_with(d, threads, bytes, NULL);
}

bool bench_open_with(struct bench_device *d, uint32_t threads, size_t bytes,
                     const fgs_allocator *allocator)
{
    fgs_sim_config cfg = {.size = sizeof cfg};
    fgs_error err;

    memset(d, 0, sizeof *d);
    d->bytes = bytes;
    if (!find_calls())
        return good(d, "fgs_sim_get_proc", -1);
    if (fgs_sim_config_get(&cfg, &err) < 0) {
        snprintf(d->log, sizeof d->log, "%.500s", err.text);
        return good(d, "fgs_sim_config_get", -1);
    }
    cfg.threads = threads;
    cfg.allocator = allocator;
    if (fgs_sim_config_set(&cfg, NULL) < 0)
        return good(d, "fgs_sim_config_set", -1);
    return good(d, "cuInit", cu.cuInit(0)) &&
           good(d, "cuCtxCreate", cu.cuCtxCreate(&d->ctx, 0, 0)) &&
           good(d, "cuMemAlloc", cu.cuMemAlloc(&d->in, bytes)) &&
           good(d, "cuMemAlloc", cu.cuMemAlloc(&d->out, bytes)) &&
           good(d, "cuMemsetD32", cu.cuMemsetD32(d->in, 1, bytes / 4)) &&
           good(d, "cuMemsetD32", cu.cuMemsetD32(d->out, 1, bytes / 4)) &&
           bench_wait(d);
}

bool bench_load(struct bench_device *d, const char *text, const char *entry)
{
    int options[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER, and its size */
    void *values[] = {d->log, (void *)sizeof d->log};

    d->code = 0;
    d->log[0] = 0;
    if (!good(d, "cuModuleLoadDataEx",
              cu.cuModuleLoadDataEx(&d->module, text, 2, options, values))) {
        d->module = NULL;
        return false;
    }
    return good(d, "cuModuleGetFunction",
                cu.cuModuleGetFunction(&d->kernel, d->module, entry));
}

void bench_unload(struct bench_device *d)
{
    if (d->module)
        cu.cuModuleUnload(d->module);
    d->module = NULL;
}

bool bench_launch(struct bench_device *d, unsigned blocks, unsigned threads,
                  uint32_t n)
{
    void *params[] = {&d->in, &d->out, &n};

    return good(d, "cuLaunchKernel",
                cu.cuLaunchKernel(d->kernel, blocks, 1, 1, threads, 1, 1, 0,
                                  NULL, params, NULL));
}

bool bench_wait(struct bench_device *d)
{
    return good(d, "cuCtxSynchronize", cu.cuCtxSynchronize());
}

void bench_close(struct bench_device *d)
{
    bench_unload(d);
    if (d->ctx)
        cu.cuCtxDestroy(d->ctx);
    d->ctx = NULL;
}

bool bench_model(struct bench_device *d, unsigned threads, uint64_t *blocks,
                 uint64_t *bytes)
{
    int regs = 0, shared = 0, fit = 0, sms = 0;
    bool ok;

    ok = good(d, "cuFuncGetAttribute",
              cu.cuFuncGetAttribute(&regs, 4, d->kernel)) && /* NUM_REGS */
         good(d, "cuFuncGetAttribute",
              cu.cuFuncGetAttribute(&shared, 1, d->kernel)) &&
         good(d, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
              cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                  &fit, d->kernel, (int)threads, 0)) &&
         good(d, "cuDeviceGetAttribute", /* MULTIPROCESSOR_COUNT */
              cu.cuDeviceGetAttribute(&sms, 16, 0));
    *blocks = (uint64_t)fit * (uint64_t)sms;
    *bytes = (uint64_t)regs * 4 * threads + (uint64_t)shared;
    return ok;
}

bool bench_touch_nothing(struct bench_device *d, size_t bytes,
                         bool (*then)(void *), void *cookie)
{
    dev_addr at = 0;

    if (!good(d, "cuMemAlloc", cu.cuMemAlloc(&at, bytes)))
        return false;
    return then(cookie) && good(d, "cuMemFree", cu.cuMemFree(at));
}
