/* ctx.c -- contexts, and the calling thread's stack of them */
#include "sim/cond.h"

/* The driver keeps the current contexts of a host thread; handles, so that a
 * destroyed one is noticed. */
enum { STACK = 64 };
static _Thread_local uintptr_t stack[STACK];
static _Thread_local int depth;

uintptr_t fgs__sim_ctx_current(void)
{
    return depth ? stack[depth - 1] : 0;
}

static struct fgs__sim_ctx *ctx_of(uintptr_t handle)
{
    struct fgs__sim_device *dev = fgs__sim_driver.dev;

    return dev ? fgs__sim_handle_get(&dev->handles, FGS__SIM_KIND_CTX,
                                     (void *)handle)
               : NULL;
}

/* Boots the device when it is the first context. */
CUresult fgs__sim_ctx_make(struct fgs__sim_ctx **out, bool primary,
                           unsigned int flags)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    struct fgs__sim_ctx *ctx;
    CUresult r = CUDA_SUCCESS;

    *out = NULL;
    if (!d->dev)
        r = fgs__sim_device_boot(&d->dev);
    if (r)
        return r;
    r = CUDA_ERROR_OUT_OF_MEMORY;
    ctx = fgs__zalloc(&d->dev->alloc, sizeof *ctx);
    if (!ctx)
        goto halt;
    ctx->dev = d->dev;
    ctx->primary = primary;
    fgs__sim_ctx_settings(ctx, flags);
    ctx->handle = fgs__sim_handle_make(&d->dev->handles, &d->dev->alloc,
                                       FGS__SIM_KIND_CTX, ctx);
    if (!ctx->handle)
        goto free_ctx;
    ctx->legacy = fgs__sim_stream_make(ctx, CU_STREAM_DEFAULT);
    if (!ctx->legacy)
        goto free_handle;
    ctx->next = d->dev->ctxs;
    d->dev->ctxs = ctx;
    *out = ctx;
    return CUDA_SUCCESS;
free_handle:
    fgs__sim_handle_free(&d->dev->handles, ctx->handle);
free_ctx:
    fgs__free(&d->dev->alloc, ctx);
halt:
    if (!d->dev->ctxs) {
        struct fgs__sim_device *dev = d->dev;

        d->dev = NULL;
        fgs__sim_device_halt(dev);
    }
    return r;
}

static bool ctx_reached(struct fgs__sim_waiter *w)
{
    const struct fgs__sim_ctx *ctx = w->ctx;

    for (const struct fgs__sim_stream *s = ctx->streams; s; s = s->next) {
        if (s->head && s->head->seq <= w->seq)
            return false;
    }
    return true;
}

CUresult fgs__sim_ctx_wait(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_waiter w = { .done = ctx_reached, .ctx = ctx,
                                 .seq = ctx->seq };

    fgs__sim_wait(ctx->dev, &w);
    return (CUresult)atomic_load(&ctx->sticky);
}

/* Take everything of a context that is idle and known to nobody. */
static void free_contents(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_capture *c;

    while ((c = ctx->captures) || (c = fgs__sim_capture_into(ctx, NULL)))
        fgs__sim_capture_end(c);
    fgs__sim_graphs_free(ctx);
    while (ctx->events)
        fgs__sim_event_free(ctx->events);
    while (ctx->links)
        fgs__sim_link_destroy(ctx->links);
    while (ctx->modules)
        fgs__sim_module_free(ctx->modules);
    while (ctx->streams)
        fgs__sim_stream_free(ctx->streams);
    fgs__sim_mark_drop(ctx->dev, ctx->gate);
    fgs__sim_leases_free(ctx);
    fgs__sim_conds_free(ctx);
    fgs__sim_print_free(ctx);
    fgs__sim_heap_free(ctx);
    fgs__sim_arrays_free(ctx);
    fgs__sim_references_free(ctx, NULL);
    fgs__sim_textures_free(ctx);
    fgs__sim_mem_release_owner(ctx->dev->mem, ctx);
}

void fgs__sim_ctx_free(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_ctx **at = &dev->ctxs;

    /* From now on no call gets into it; then its work and waits end. */
    fgs__sim_handle_free(&dev->handles, ctx->handle);
    fgs__sim_ctx_wait(ctx);
    while (ctx->users)
        pthread_cond_wait(&dev->over, &d->lock);
    fgs__sim_pause(dev);
    while (*at != ctx)
        at = &(*at)->next;
    *at = ctx->next;
    free_contents(ctx);
    fgs__free(&dev->alloc, ctx);
    fgs__sim_resume(dev);
    if (!dev->ctxs && d->dev == dev) {
        d->dev = NULL;
        fgs__sim_device_halt(dev);
    }
}

/* -------------------------------------------------------- entry points -- */

static CUresult check_device(CUdevice dev)
{
    return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult fgs__sim_cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = check_device(dev);
    if (r)
        goto leave;
    if (!out) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    if (!d->primary_refs)
        r = fgs__sim_ctx_make(&d->primary, true, d->primary_flags);
    if (r)
        goto leave;
    d->primary_refs++;
    *out = (CUcontext)d->primary->handle;
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_ctx *ctx;

    if (r)
        return r;
    r = check_device(dev);
    if (r)
        goto leave;
    if (!d->primary_refs) {
        r = CUDA_ERROR_INVALID_CONTEXT;
        goto leave;
    }
    if (--d->primary_refs)
        goto leave;
    ctx = d->primary;
    d->primary = NULL;
    fgs__sim_ctx_free(ctx);
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags,
                                             int *active)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = check_device(dev);
    if (!r && (!flags || !active))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *flags = fgs__sim_driver.primary_flags;
        *active = fgs__sim_driver.primary_refs != 0;
    }
    return fgs__sim_leave(r);
}

static CUresult push(uintptr_t handle)
{
    if (depth == STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack[depth++] = handle;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = check_device(dev);
    if (!r)
        r = fgs__sim_ctx_flags_check(flags);
    if (!r) {
        d->primary_flags = flags;
        if (d->primary)
            d->primary->flags = flags;
    }
    return fgs__sim_leave(r);
}

/* Everything in it goes, whoever retained it; the next retain makes it anew. */
CUresult fgs__sim_cuDevicePrimaryCtxReset(CUdevice dev)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_ctx *ctx;

    if (r)
        return r;
    r = check_device(dev);
    ctx = d->primary;
    if (!r && ctx) {
        d->primary = NULL;
        d->primary_refs = 0;
        fgs__sim_ctx_free(ctx);
    }
    return fgs__sim_leave(r);
}

static CUresult create(CUcontext *out, unsigned int flags, CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_ctx *ctx;

    if (r)
        return r;
    r = check_device(dev);
    if (!r)
        r = out ? fgs__sim_ctx_flags_check(flags) : CUDA_ERROR_INVALID_VALUE;
    if (!r && depth == STACK)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r)
        r = fgs__sim_ctx_make(&ctx, false, flags);
    if (!r) {
        push(ctx->handle);
        *out = (CUcontext)ctx->handle;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev)
{
    return create(out, flags, dev);
}

/* A share of the SMs needs a server (MPS) that is not there. */
CUresult fgs__sim_cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params,
                                 int count, unsigned int flags, CUdevice dev)
{
    if (params || count)
        return params && count > 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
                                   : CUDA_ERROR_INVALID_VALUE;
    return create(out, flags, dev);
}

CUresult fgs__sim_cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params,
                                 unsigned int flags, CUdevice dev)
{
    if (params && params->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (params)
        return fgs__sim_cuCtxCreate_v3(out, params->execAffinityParams,
                                       params->numExecAffinityParams, flags,
                                       dev);
    return create(out, flags, dev);
}

/* The old way to count users of a context; it is the current one. */
CUresult fgs__sim_cuCtxAttach(CUcontext *out, unsigned int flags)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!out || flags) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        ctx->attached++;
        *out = (CUcontext)ctx->handle;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxDetach(CUcontext handle)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_ctx *ctx;

    if (r)
        return r;
    ctx = ctx_of((uintptr_t)handle);
    if (!ctx || ctx->handle != fgs__sim_ctx_current()) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else if (ctx->attached) {
        ctx->attached--;
    } else if (ctx->primary) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        depth--;
        fgs__sim_ctx_free(ctx);
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxDestroy(CUcontext handle)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_ctx *ctx;

    if (r)
        return r;
    ctx = ctx_of((uintptr_t)handle);
    if (!ctx) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else if (ctx->primary) {
        r = CUDA_ERROR_INVALID_CONTEXT; /* released, never destroyed */
    } else {
        if (fgs__sim_ctx_current() == ctx->handle)
            depth--;
        fgs__sim_ctx_free(ctx);
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxPushCurrent(CUcontext handle)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = ctx_of((uintptr_t)handle) ? push((uintptr_t)handle)
                                  : CUDA_ERROR_INVALID_CONTEXT;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxPopCurrent(CUcontext *out)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (!depth) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        depth--;
        if (out)
            *out = (CUcontext)stack[depth];
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxSetCurrent(CUcontext handle)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (!handle) {
        if (depth)
            depth--;
    } else if (!ctx_of((uintptr_t)handle)) {
        r = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        if (depth)
            depth--;
        r = push((uintptr_t)handle);
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetCurrent(CUcontext *out)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (out)
        *out = (CUcontext)fgs__sim_ctx_current();
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetDevice(CUdevice *out)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    if (out)
        *out = 0;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxSynchronize(void)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_capture_check(ctx);
    return fgs__sim_leave(r ? r : fgs__sim_ctx_wait(ctx));
}
