/* handoff_device.c -- one device by its driver, for fgs bench handoff */
#include "handoff.h"

#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { /* attributes of devices and functions, by number */
    SHARED_OF_SM = 81,
    SHARED_OF_BLOCK = 97,
    DYNAMIC_SHARED = 8
};

static bool good(struct handoff_device *d, const char *what, int code)
{
    return driver_good(what, code, d->why, sizeof d->why);
}

size_t handoff_ctl_bytes(const struct handoff_device *d)
{
    return 4 * (CTL_SMS + (size_t)d->info.sm_count);
}

static size_t tiles_bytes(uint32_t rounds)
{
    /* one more is sent, and none waits for it */
    return ((size_t)rounds * 2 + 1) * HANDOFF_TILE;
}

/* More than half of an SM's shared memory for each block. */
static bool find_shared(struct handoff_device *d)
{
    int sm = 0, block = 0;

    if (!good(d, "cuDeviceGetAttribute",
              cu.cuDeviceGetAttribute(&sm, SHARED_OF_SM, d->ordinal)) ||
        !good(d, "cuDeviceGetAttribute",
              cu.cuDeviceGetAttribute(&block, SHARED_OF_BLOCK, d->ordinal)))
        return false;
    d->shared = (unsigned)sm / 2;
    /* 20 KiB for what the kernels have of their own */
    if (d->shared > (unsigned)block - (20 << 10))
        d->shared = (unsigned)block - (20 << 10);
    return true;
}

static bool start(struct handoff_device *d, uint32_t rounds)
{
    if (!driver_enter(d->dev, d->info.ordinal, &d->ordinal, &d->ctx, d->why,
                      sizeof d->why))
        return false;
    return find_shared(d) &&
           good(d, "cuMemAlloc",
                cu.cuMemAlloc(&d->tiles, tiles_bytes(rounds))) &&
           good(d, "cuMemAlloc",
                cu.cuMemAlloc(&d->ctl, handoff_ctl_bytes(d)));
}

int handoff_open(struct handoff_device *d, const char *provider,
                 uint32_t rounds)
{
    fgs_device_opts opts = {.size = sizeof opts, .provider = provider};
    fgs_error err;
    fgs_result r;

    memset(d, 0, sizeof *d);
    d->info.size = sizeof d->info;
    r = fgs_device_open(&d->dev, &opts, &err);
    if (r == FGS_OK)
        r = fgs_device_get_info(d->dev, &d->info, &err);
    if (r < 0) {
        failure("bench", "%s", err.text);
        return code_of(r);
    }
    if (!start(d, rounds))
        return failure("bench", "%s", d->why);
    return EXIT_GOOD;
}

void handoff_close(struct handoff_device *d)
{
    if (d->tiles)
        cu.cuMemFree(d->tiles);
    if (d->ctl)
        cu.cuMemFree(d->ctl);
    driver_leave(d->ctx, d->ordinal);
    fgs_device_close(d->dev);
}

/* One assembler for all kernels where there is nvJitLink; *cubin is NULL
 * without it, and the driver takes the text. */
static bool assemble(struct handoff_device *d, const char *name,
                     const char *text, void **cubin)
{
    char target[16];
    size_t size = 0;
    fgs_error err;
    fgs_result r;

    *cubin = NULL;
    if (!strcmp(d->info.provider, "sim"))
        return true;
    snprintf(target, sizeof target, "sm_%d", (int)d->info.cc);
    r = fgs_ptx_assemble(name, text, target, NULL, &size, &err);
    if (r == FGS_E_UNSUPPORTED)
        return true;
    if (r == FGS_E_SIZE && (*cubin = malloc(size)))
        r = fgs_ptx_assemble(name, text, target, *cubin, &size, &err);
    if (r == FGS_OK)
        return true;
    snprintf(d->why, sizeof d->why, "%.700s",
             r == FGS_E_SIZE ? "no memory" : err.text);
    free(*cubin);
    *cubin = NULL;
    return false;
}

static bool load(struct handoff_device *d, const void *image,
                 struct handoff_kernel *k)
{
    char log[500] = "";
    int options[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER, and its size */
    void *values[] = {log, (void *)sizeof log};
    size_t len;

    if (!good(d, "cuModuleLoadDataEx",
              cu.cuModuleLoadDataEx(&k->module, image, 2, options, values))) {
        k->module = NULL;
        len = strlen(d->why);
        snprintf(d->why + len, sizeof d->why - len, ": %.400s", log);
        return false;
    }
    return good(d, "cuModuleGetFunction",
                cu.cuModuleGetFunction(&k->function, k->module, "handoff")) &&
           good(d, "cuFuncSetAttribute",
                cu.cuFuncSetAttribute(k->function, DYNAMIC_SHARED,
                                      (int)d->shared));
}

bool handoff_load(struct handoff_device *d, const struct handoff_form *f,
                  struct handoff_kernel *k)
{
    char *text;
    void *cubin;
    bool is_good = false;

    memset(k, 0, sizeof *k);
    k->threads = (unsigned)f->threads;
    if (d->info.cc < handoff_cc(f)) {
        snprintf(d->why, sizeof d->why, "not for compute %d.%d",
                 (int)d->info.cc / 10, (int)d->info.cc % 10);
        return false;
    }
    text = handoff_text(f);
    if (!text)
        snprintf(d->why, sizeof d->why, "no memory");
    else if (assemble(d, f->p->name, text, &cubin)) {
        is_good = load(d, cubin ? cubin : text, k);
        free(cubin);
    }
    if (!is_good)
        handoff_unload(d, k);
    free(text);
    return is_good;
}

void handoff_unload(struct handoff_device *d, struct handoff_kernel *k)
{
    (void)d;
    if (k->module)
        cu.cuModuleUnload(k->module);
    k->module = NULL;
}

bool handoff_launch(struct handoff_device *d, const struct handoff_kernel *k,
                    const struct handoff_run *r, uint32_t *ctl)
{
    struct handoff_run a = *r;
    void *params[] = {&d->tiles, &d->ctl,  &a.there,  &a.back,
                      &a.rounds, &a.warm,  &a.spread, &a.limit};
    size_t bytes = handoff_ctl_bytes(d);

    return good(d, "cuMemsetD32Async",
                cu.cuMemsetD32Async(d->tiles, HANDOFF_SENTINEL,
                                    tiles_bytes(a.rounds) / 4, NULL)) &&
           good(d, "cuMemsetD32Async",
                cu.cuMemsetD32Async(d->ctl, 0, bytes / 4, NULL)) &&
           good(d, "cuLaunchKernel",
                cu.cuLaunchKernel(k->function, (unsigned)d->info.sm_count, 1, 1,
                                  k->threads, 1, 1, d->shared, NULL,
                                  params, NULL)) &&
           good(d, "cuCtxSynchronize", cu.cuCtxSynchronize()) &&
           good(d, "cuMemcpyDtoH", cu.cuMemcpyDtoH(ctl, d->ctl, bytes));
}
