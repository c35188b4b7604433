/* cu_context_event.c -- entry points: events of whole contexts
 *
 * A record waits for the last op of each stream; a wait is a gate: every
 * stream of the context waits for it, one that is made later too.  What is
 * refused is what an H200 answered (driver 580).
 */
#include "sim/graph.h"

/* No current context is needed. */
static CUresult enter(CUcontext ctx_handle, CUevent event,
                      struct fgs__sim_ctx **ctx, struct fgs__sim_event **e)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    *ctx = d->dev && ctx_handle
        ? fgs__sim_handle_get(&d->dev->handles, FGS__SIM_KIND_CTX, ctx_handle)
        : NULL;
    if (!*ctx)
        return fgs__sim_leave(ctx_handle ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                         : CUDA_ERROR_INVALID_CONTEXT);
    r = fgs__sim_sticky(*ctx);
    *e = event ? fgs__sim_handle_get(&d->dev->handles, FGS__SIM_KIND_EVENT,
                                     event)
               : NULL;
    if (!r && !*e)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r)
        r = fgs__sim_capture_check(*ctx);
    return r ? fgs__sim_leave(r) : r;
}

static bool wait_for_all(struct fgs__sim_op *op)
{
    for (struct fgs__sim_stream *s = op->stream->ctx->streams; s;
         s = s->next) {
        struct fgs__sim_op *last = s->head;

        while (last && last->next)
            last = last->next;
        if (last && (!fgs__sim_op_over(last) ||
                     !fgs__sim_op_wait_for(op, last->over)))
            return false;
    }
    return true;
}

CUresult fgs__sim_cuCtxRecordEvent(CUcontext handle, CUevent event)
{
    struct fgs__sim_stream *lane;
    struct fgs__sim_op *op = NULL;
    struct fgs__sim_event *e;
    struct fgs__sim_mark *m;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(handle, event, &ctx, &e);

    if (r)
        return r;
    if (e->ctx != ctx)
        return fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
    r = CUDA_ERROR_OUT_OF_MEMORY;
    m = fgs__sim_mark_make(ctx->dev);
    lane = fgs__sim_lane_make(ctx);
    if (!m || !lane)
        goto drop;
    op = fgs__sim_op_make(lane, FGS__SIM_OP_RECORD);
    if (!op)
        goto drop;
    op->u.mark = m;
    m->refs++;
    if (!wait_for_all(op)) {
        fgs__sim_op_free(op);
        goto drop;
    }
    fgs__sim_mark_drop(ctx->dev, e->mark);
    e->mark = m;
    e->capture = 0;
    m->refs++;
    fgs__sim_op_enqueue(op);
    r = CUDA_SUCCESS;
drop:
    fgs__sim_mark_drop(ctx->dev, m);
    if (lane && r)
        fgs__sim_stream_free(lane); /* nobody has seen it */
    else if (lane)
        lane->waiting = 0;
    return fgs__sim_leave(r);
}

/* The gate's op waits for the gate before it, so that one mark stands for
 * all waits. */
static struct fgs__sim_op *gate(struct fgs__sim_stream *lane,
                                struct fgs__sim_mark *m)
{
    struct fgs__sim_op *op = fgs__sim_op_make(lane, FGS__SIM_OP_EMPTY);
    struct fgs__sim_mark *before = lane->ctx->gate;

    if (op && (!fgs__sim_op_over(op) || !fgs__sim_op_wait_for(op, m) ||
               (before && !fgs__sim_op_wait_for(op, before)))) {
        fgs__sim_op_free(op);
        op = NULL;
    }
    return op;
}

CUresult fgs__sim_cuCtxWaitEvent(CUcontext handle, CUevent event)
{
    struct fgs__sim_op *op = NULL, *list = NULL, *w;
    struct fgs__sim_stream *lane;
    struct fgs__sim_event *e;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(handle, event, &ctx, &e);

    if (r)
        return r;
    if (!e->mark || (e->mark->done && (!e->mark->end || e->mark->end->done)))
        return fgs__sim_leave(CUDA_SUCCESS);
    r = CUDA_ERROR_OUT_OF_MEMORY;
    lane = fgs__sim_lane_make(ctx);
    op = lane ? gate(lane, e->mark->end ? e->mark->end : e->mark) : NULL;
    for (struct fgs__sim_stream *s = ctx->streams; op && s; s = s->next) {
        if (!s->handle)
            continue; /* a lane: what runs there is submitted already */
        w = fgs__sim_gate_op(s, op->over);
        if (!w) {
            fgs__sim_op_free(op);
            op = NULL;
            break;
        }
        w->next = list;
        list = w;
    }
    while (list) {
        w = list;
        list = w->next;
        w->next = NULL;
        if (op)
            fgs__sim_op_enqueue(w);
        else
            fgs__sim_op_free(w);
    }
    if (op) {
        fgs__sim_mark_drop(ctx->dev, ctx->gate);
        ctx->gate = op->over;
        ctx->gate->refs++;
        fgs__sim_op_enqueue(op);
        r = CUDA_SUCCESS;
    }
    if (lane && r)
        fgs__sim_stream_free(lane); /* nobody has seen it */
    else if (lane)
        lane->waiting = 0;
    return fgs__sim_leave(r);
}
