/* thread.c -- the default stream of each host thread
 *
 * CU_STREAM_PER_THREAD, and a NULL stream in the _ptds and _ptsz forms of the
 * entry points, mean a stream that one host thread has in one context: it is
 * made at its first use and waits for the legacy stream as blocking ones do.
 * It goes with its thread, when what is in it has run.
 */
#include "sim/device.h"

static _Thread_local uint64_t number; /* of this thread, 0 = none yet        */
static atomic_uint_fast64_t numbers;

/* The thread ends.  One that is captured stays until its context ends: the
 * capture points to it. */
static void thread_ends(void *value)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    uint64_t of = (uintptr_t)value;

    pthread_mutex_lock(&d->lock);
    for (struct fgs__sim_ctx *c = d->dev ? d->dev->ctxs : NULL; c;
         c = c->next) {
        struct fgs__sim_stream *s = c->streams, *next;

        for (; s; s = next) {
            next = s->next;
            if (s->thread != of || s->capture)
                continue;
            fgs__sim_handle_free(&d->dev->handles, s->handle);
            s->destroyed = true;
            if (!s->head && !s->waiting)
                fgs__sim_stream_free(s);
        }
    }
    pthread_mutex_unlock(&d->lock);
}

/* The key lives as the device does: no thread's end leads here after it. */
bool fgs__sim_threads_make(struct fgs__sim_device *dev)
{
    return !pthread_key_create(&dev->thread_key, thread_ends);
}

void fgs__sim_threads_free(struct fgs__sim_device *dev)
{
    pthread_key_delete(dev->thread_key);
}

struct fgs__sim_stream *fgs__sim_thread_stream(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_stream *s = ctx->streams;

    if (!number)
        number = atomic_fetch_add(&numbers, 1) + 1;
    while (s && (s->thread != number || s->destroyed))
        s = s->next;
    if (s)
        return s;
    if (pthread_setspecific(ctx->dev->thread_key, (void *)(uintptr_t)number))
        return NULL;
    s = fgs__sim_stream_make(ctx, CU_STREAM_DEFAULT);
    if (s)
        s->thread = number;
    return s;
}
