/* cu_stream.c -- entry points: streams, events, host functions */
#include "sim/device.h"

static CUresult create(CUstream *stream, unsigned int flags, int priority)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;

    if (r)
        return r;
    if (!stream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        s = fgs__sim_stream_make(ctx, flags);
        if (s) {
            s->attr[FGS__SIM_ATTR_PRIORITY].value.priority =
                fgs__sim_priority(priority);
            s->attr[FGS__SIM_ATTR_PRIORITY].set = true;
            *stream = (CUstream)s->handle;
        } else {
            r = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return create(stream, flags, 0);
}

/* Numbers outside the range are clamped to it, as documented for the driver.
 * A priority is kept and given back; blocks are handed out in launch order. */
int fgs__sim_priority(int wish)
{
    if (wish > FGS__SIM_PRIORITY_LEAST)
        return FGS__SIM_PRIORITY_LEAST;
    return wish < FGS__SIM_PRIORITY_GREATEST ? FGS__SIM_PRIORITY_GREATEST
                                             : wish;
}

CUresult fgs__sim_cuStreamCreateWithPriority(CUstream *stream,
                                             unsigned int flags, int priority)
{
    return create(stream, flags, priority);
}

/* Pending work goes on; the scheduler frees the stream when it is over. */
CUresult fgs__sim_cuStreamDestroy(CUstream stream)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && (s == ctx->legacy || s->thread))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_uncaptured(s);
    if (!r) {
        fgs__sim_handle_free(&ctx->dev->handles, s->handle);
        s->destroyed = true;
        if (!s->head && !s->waiting)
            fgs__sim_stream_free(s);
    }
    return fgs__sim_leave(r);
}

/* The stream of a query or a wait, which a capture forbids. */
static CUresult waitable(struct fgs__sim_ctx *ctx, CUstream handle,
                         struct fgs__sim_stream **s)
{
    CUresult r = fgs__sim_stream_get(ctx, handle, s);

    if (!r)
        r = fgs__sim_capture_implicit(*s);
    if (!r)
        r = fgs__sim_capture_unsafe(ctx);
    if (!r)
        r = fgs__sim_uncaptured(*s);
    return r;
}

CUresult fgs__sim_cuStreamSynchronize(CUstream stream)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;

    if (r)
        return r;
    r = waitable(ctx, stream, &s);
    return fgs__sim_leave(r ? r : fgs__sim_stream_wait(s));
}

static bool epoch_passed(struct fgs__sim_waiter *w)
{
    return w->ctx->dev->epochs > w->seq;
}

/* A query in the repeatable mode moves the device by one epoch, since only
 * waiting host threads do there: a host that polls gets to the end. */
static void let_run(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_waiter w = { .done = epoch_passed, .ctx = ctx,
                                 .seq = ctx->dev->epochs };

    if (ctx->dev->cfg.threads == 1)
        fgs__sim_wait(ctx->dev, &w);
}

CUresult fgs__sim_cuStreamQuery(CUstream stream)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;

    if (r)
        return r;
    r = waitable(ctx, stream, &s);
    if (!r && s->head) {
        s->waiting++;
        let_run(ctx);
        s->waiting--;
        r = (CUresult)atomic_load(&ctx->sticky);
        if (!r && s->head)
            r = CUDA_ERROR_NOT_READY;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamGetCtx(CUstream stream, CUcontext *out)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;

    if (r)
        return r;
    /* The stream may be another context's. */
    s = fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_STREAM, stream);
    if (!s)
        r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && !out)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *out = (CUcontext)s->ctx->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;
    struct fgs__sim_op *op;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && !fn)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r)
        goto leave;
    op = fgs__sim_op_make(s, FGS__SIM_OP_HOST);
    if (!op) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto leave;
    }
    op->u.host.fn = fn;
    op->u.host.data = data;
    r = fgs__sim_submit(op);
leave:
    return fgs__sim_leave(r);
}

/* -------------------------------------------------------------- events -- */

static struct fgs__sim_event *event_of(struct fgs__sim_ctx *ctx,
                                       CUevent handle)
{
    return fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EVENT,
                               handle);
}

CUresult fgs__sim_cuEventCreate(CUevent *event, unsigned int flags)
{
    const unsigned int known = CU_EVENT_BLOCKING_SYNC |
        CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_event *e;

    if (r)
        return r;
    if (!event || flags & ~known) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    if (flags & CU_EVENT_INTERPROCESS) {
        r = CUDA_ERROR_NOT_SUPPORTED;
        goto leave;
    }
    r = CUDA_ERROR_OUT_OF_MEMORY;
    e = fgs__zalloc(&ctx->dev->alloc, sizeof *e);
    if (!e)
        goto leave;
    e->handle = fgs__sim_handle_make(&ctx->dev->handles, &ctx->dev->alloc,
                                     FGS__SIM_KIND_EVENT, e);
    if (!e->handle) {
        fgs__free(&ctx->dev->alloc, e);
        goto leave;
    }
    e->ctx = ctx;
    e->flags = flags;
    e->next = ctx->events;
    ctx->events = e;
    *event = (CUevent)e->handle;
    r = CUDA_SUCCESS;
leave:
    return fgs__sim_leave(r);
}

/* A pending record or wait keeps its mark. */
CUresult fgs__sim_cuEventDestroy(CUevent event)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_event *e;

    if (r)
        return r;
    e = event_of(ctx, event);
    if (e)
        fgs__sim_event_free(e);
    else
        r = CUDA_ERROR_INVALID_HANDLE;
    return fgs__sim_leave(r);
}

static CUresult record(struct fgs__sim_ctx *ctx, struct fgs__sim_event *e,
                       struct fgs__sim_stream *s)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_op *op = fgs__sim_op_make(s, FGS__SIM_OP_RECORD);
    struct fgs__sim_mark *m = fgs__sim_mark_make(dev);

    if (!op || !m) {
        fgs__sim_mark_drop(dev, m);
        if (op)
            fgs__sim_op_free(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->refs++;
    fgs__sim_mark_drop(dev, e->mark);
    e->mark = m;
    op->u.mark = m;
    e->capture = 0;
    return fgs__sim_submit(op);
}

CUresult fgs__sim_cuEventRecord(CUevent event, CUstream stream)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_stream *s;
    struct fgs__sim_event *e;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    e = event_of(ctx, event);
    if (!r && (!e || e->ctx != ctx))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r)
        r = fgs__sim_captured(s) ? fgs__sim_capture_record(e, s)
                                 : record(ctx, e, s);
    return fgs__sim_leave(r);
}

/* CU_EVENT_RECORD_EXTERNAL makes a node of it in a capture. */
CUresult fgs__sim_cuEventRecordWithFlags(CUevent event, CUstream stream,
                                         unsigned int flags)
{
    if (flags == CU_EVENT_RECORD_EXTERNAL)
        return fgs__sim_event_node(event, stream,
                                   CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    return flags ? CUDA_ERROR_INVALID_VALUE
                 : fgs__sim_cuEventRecord(event, stream);
}

/* The record that is the event's last one now; a later one changes nothing. */
CUresult fgs__sim_cuStreamWaitEvent(CUstream stream, CUevent event,
                                    unsigned int flags)
{
    struct fgs__sim_ctx *ctx;
    CUresult r;
    struct fgs__sim_stream *s;
    struct fgs__sim_event *e;
    struct fgs__sim_op *op;
    bool joined = false;

    if (flags == CU_EVENT_WAIT_EXTERNAL)
        return fgs__sim_event_node(event, stream,
                                   CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    r = fgs__sim_enter(&ctx);
    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    e = event_of(ctx, event);
    if (!r && !e)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && flags)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_capture_wait(s, e, &joined);
    if (r || joined || !e->mark)
        goto leave;
    op = fgs__sim_op_make(s, FGS__SIM_OP_WAIT);
    if (!op || (e->mark->end &&
                !fgs__sim_marks_add(ctx->dev, &s->behind, e->mark->end))) {
        if (op)
            fgs__sim_op_free(op);
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto leave;
    }
    op->u.mark = e->mark;
    e->mark->refs++;
    r = fgs__sim_submit(op);
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuEventQuery(CUevent event)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_event *e;
    struct fgs__sim_mark *m;

    if (r)
        return r;
    e = event_of(ctx, event);
    if (!e) {
        r = CUDA_ERROR_INVALID_HANDLE;
    } else if (e->capture) {
        r = fgs__sim_capture_event(e);
    } else if ((r = fgs__sim_capture_unsafe(ctx)) == CUDA_SUCCESS &&
               e->mark && !e->mark->done) {
        m = e->mark;
        m->refs++;
        let_run(ctx);
        r = (CUresult)atomic_load(&ctx->sticky);
        if (!r && !m->done)
            r = CUDA_ERROR_NOT_READY;
        fgs__sim_mark_drop(ctx->dev, m);
    }
    return fgs__sim_leave(r);
}

static bool mark_reached(struct fgs__sim_waiter *w)
{
    const struct fgs__sim_mark *m = w->obj;

    return m->done;
}

CUresult fgs__sim_cuEventSynchronize(CUevent event)
{
    struct fgs__sim_waiter w = { .done = mark_reached };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_event *e;

    if (r)
        return r;
    e = event_of(ctx, event);
    if (!e) {
        r = CUDA_ERROR_INVALID_HANDLE;
    } else if (e->capture) {
        r = fgs__sim_capture_event(e);
    } else if ((r = fgs__sim_capture_unsafe(ctx)) == CUDA_SUCCESS && e->mark) {
        w.ctx = e->ctx;
        w.obj = e->mark;
        e->mark->refs++;
        fgs__sim_wait(ctx->dev, &w);
        r = (CUresult)atomic_load(&w.ctx->sticky);
        fgs__sim_mark_drop(ctx->dev, w.obj);
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_event *a, *b;

    if (r)
        return r;
    a = event_of(ctx, start);
    b = event_of(ctx, end);
    if (!ms)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (a && b && (a->capture || b->capture))
        r = CUDA_ERROR_CAPTURED_EVENT; /* and the capture goes on */
    else if (!a || !b || !a->mark || !b->mark ||
             (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
        r = CUDA_ERROR_INVALID_HANDLE;
    else if (!a->mark->done || !b->mark->done)
        r = CUDA_ERROR_NOT_READY;
    else
        *ms = (float)((double)(int64_t)(b->mark->ps - a->mark->ps) / 1e9);
    return fgs__sim_leave(r);
}
