/* driver.c -- the one global of the driver API, its lock, host waits */
#include "sim/device.h"

struct fgs__sim_driver fgs__sim_driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

CUresult fgs__sim_enter_driver(void)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;

    if (fgs__sim_in_hostfn())
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&d->lock);
    if (d->inited && !d->forked)
        return CUDA_SUCCESS;
    pthread_mutex_unlock(&d->lock);
    return CUDA_ERROR_NOT_INITIALIZED;
}

CUresult fgs__sim_enter_calm(struct fgs__sim_ctx **ctx)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = fgs__sim_enter_driver();
    uintptr_t h;

    *ctx = NULL;
    if (r)
        return r;
    h = fgs__sim_ctx_current();
    if (!h) {
        r = CUDA_ERROR_INVALID_CONTEXT;
        goto unlock;
    }
    if (d->dev)
        *ctx = fgs__sim_handle_get(&d->dev->handles, FGS__SIM_KIND_CTX,
                                   (void *)h);
    if (!*ctx) {
        r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        goto unlock;
    }
    return CUDA_SUCCESS;
unlock:
    pthread_mutex_unlock(&d->lock);
    return r;
}

CUresult fgs__sim_sticky(struct fgs__sim_ctx *ctx)
{
    return (CUresult)atomic_load(&ctx->sticky);
}

CUresult fgs__sim_enter(struct fgs__sim_ctx **ctx)
{
    CUresult r = fgs__sim_enter_calm(ctx);

    if (r)
        return r;
    r = fgs__sim_sticky(*ctx);
    return r ? fgs__sim_leave(r) : CUDA_SUCCESS;
}

CUresult fgs__sim_leave(CUresult r)
{
    pthread_mutex_unlock(&fgs__sim_driver.lock);
    return r;
}

void fgs__sim_wait(struct fgs__sim_device *dev, struct fgs__sim_waiter *w)
{
    if (w->done(w)) {
        fgs__sim_print_flush(w->ctx);
        return;
    }
    w->over = false;
    w->ctx->users++;
    w->next = dev->waiters;
    dev->waiters = w;
    pthread_cond_signal(&dev->work);
    while (!w->over)
        pthread_cond_wait(&dev->over, &fgs__sim_driver.lock);
    fgs__sim_print_flush(w->ctx);
    fgs__sim_ctx_unuse(w->ctx);
}

void fgs__sim_ctx_unuse(struct fgs__sim_ctx *ctx)
{
    if (!--ctx->users)
        pthread_cond_broadcast(&ctx->dev->over); /* fgs__sim_ctx_free waits */
}

void fgs__sim_pause(struct fgs__sim_device *dev)
{
    dev->pausers++;
    while (dev->busy)
        pthread_cond_wait(&dev->idle, &fgs__sim_driver.lock);
}

void fgs__sim_resume(struct fgs__sim_device *dev)
{
    if (!--dev->pausers)
        pthread_cond_signal(&dev->work);
}
