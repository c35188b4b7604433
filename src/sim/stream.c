/* stream.c -- streams, and moving what is enqueued in them
 *
 * A stream is a queue; its head is what runs, ops are taken off in order.  Ops
 * behind the head run only as programmatic dependents of the kernel before
 * them.  The scheduler alone starts and frees ops.
 */
#include "sim/cond.h"

struct fgs__sim_stream *fgs__sim_stream_make(struct fgs__sim_ctx *ctx,
                                             unsigned int flags)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_stream *s = fgs__zalloc(&dev->alloc, sizeof *s);

    if (!s)
        return NULL;
    s->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_STREAM, s);
    if (!s->handle) {
        fgs__free(&dev->alloc, s);
        return NULL;
    }
    s->ctx = ctx;
    s->flags = flags;
    s->tail = &s->head;
    s->next = ctx->streams;
    ctx->streams = s;
    if (ctx->gate && !ctx->gate->done) {
        struct fgs__sim_op *op = fgs__sim_gate_op(s, ctx->gate);

        if (!op) {
            fgs__sim_stream_free(s);
            return NULL;
        }
        fgs__sim_op_enqueue(op);
    }
    return s;
}

struct fgs__sim_op *fgs__sim_gate_op(struct fgs__sim_stream *s,
                                     struct fgs__sim_mark *m)
{
    struct fgs__sim_op *op = fgs__sim_op_make(s, FGS__SIM_OP_WAIT);

    if (op) {
        op->u.mark = m;
        m->refs++;
    }
    return op;
}

/* Nothing of the stream runs. */
void fgs__sim_stream_free(struct fgs__sim_stream *s)
{
    struct fgs__sim_device *dev = s->ctx->dev;
    struct fgs__sim_stream **at = &s->ctx->streams;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    while (s->head) {
        struct fgs__sim_op *op = s->head;

        s->head = op->next;
        fgs__sim_op_free(op);
    }
    fgs__free(&dev->alloc, s->last.item);
    fgs__sim_marks_free(dev, &s->behind);
    fgs__sim_handle_free(&dev->handles, s->handle);
    fgs__free(&dev->alloc, s);
}

CUresult fgs__sim_stream_get(struct fgs__sim_ctx *ctx, CUstream handle,
                             struct fgs__sim_stream **out)
{
    if (handle == CU_STREAM_PER_THREAD_ || (!handle && fgs__sim_per_thread)) {
        *out = fgs__sim_thread_stream(ctx);
        return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = ctx->legacy;
    if (!handle || handle == CU_STREAM_LEGACY_)
        return CUDA_SUCCESS;
    *out = fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_STREAM,
                               handle);
    if (!*out || (*out)->destroyed || (*out)->ctx != ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

struct fgs__sim_op *fgs__sim_op_make(struct fgs__sim_stream *s,
                                     enum fgs__sim_op_kind kind)
{
    struct fgs__sim_op *op = fgs__zalloc(&s->ctx->dev->alloc, sizeof *op);

    if (op) {
        op->stream = s;
        op->kind = kind;
    }
    return op;
}

/*
 * Where the blocks of a cooperative grid count each other, in device memory:
 * a word for its size, which nobody reads, and the count.  A driver says in
 * %envreg1 and %envreg2 where it is, the high word in the first (header
 * driver_abi.h of cooperative groups); 0 there means no cooperative launch.
 * A count is left as it was found but for its top bit, which only flips.
 */
CUresult fgs__sim_workspace_make(struct fgs__sim_op *op)
{
    struct fgs__sim_grid *g = &op->u.kernel.grid;
    struct fgs__sim_ctx *ctx = op->stream->ctx;
    struct fgs__sim_range range;
    CUresult r;

    g->workspace = 0;
    if (!op->u.kernel.cooperative)
        return CUDA_SUCCESS;
    r = fgs__sim_mem_alloc(ctx->dev->mem, 8, 8, FGS__SIM_MEM_DEVICE, ctx,
                           &range);
    if (!r) {
        fgs__sim_mem_zero(&range);
        g->workspace = range.lo;
    }
    return r;
}

void fgs__sim_op_free(struct fgs__sim_op *op)
{
    struct fgs__sim_device *dev = op->stream->ctx->dev;

    for (uint32_t i = 0; i < op->waits; i++)
        fgs__sim_mark_drop(dev, op->wait[i]);
    fgs__free(&dev->alloc, op->wait);
    fgs__sim_marks_free(dev, &op->behind);
    fgs__sim_mark_drop(dev, op->over);
    fgs__sim_op_users_drop(dev, op);
    switch (op->kind) {
    case FGS__SIM_OP_EMPTY:
        break;
    case FGS__SIM_OP_KERNEL:
        fgs__sim_grid_remove(dev, &op->u.kernel.grid);
        if (op->u.kernel.grid.workspace)
            fgs__sim_mem_release(dev->mem, op->u.kernel.grid.workspace,
                                 FGS__SIM_MEM_DEVICE, op->stream->ctx);
        fgs__free(&dev->alloc, op->u.kernel.params);
        fgs__sim_bound_free(&dev->alloc, op->u.kernel.grid.bound);
        fgs__sim_mark_drop(dev, op->u.kernel.started);
        fgs__sim_mark_drop(dev, op->u.kernel.fired);
        break;
    case FGS__SIM_OP_COPY:
        fgs__free(&dev->alloc, op->u.copy.staged);
        break;
    case FGS__SIM_OP_RECORD:
    case FGS__SIM_OP_WAIT:
        fgs__sim_mark_drop(dev, op->u.mark);
        break;
    case FGS__SIM_OP_VALUES:
        fgs__free(&dev->alloc, op->u.values.item);
        break;
    case FGS__SIM_OP_COND:
        fgs__sim_bodies_drop(op->stream->ctx, op->u.cond.bodies);
        fgs__sim_mark_drop(dev, op->u.cond.round);
        break;
    case FGS__SIM_OP_LEASE:
        fgs__sim_lease_drop(op->stream->ctx, op->u.lease.lease);
        break;
    case FGS__SIM_OP_FILL:
    case FGS__SIM_OP_FREE:
    case FGS__SIM_OP_HOST:
        break;
    }
    fgs__free(&dev->alloc, op);
}

void fgs__sim_op_enqueue(struct fgs__sim_op *op)
{
    struct fgs__sim_stream *s = op->stream;
    struct fgs__sim_device *dev = s->ctx->dev;

    if (op->kind != FGS__SIM_OP_WAIT) {
        op->behind = s->behind;
        s->behind = (struct fgs__sim_marks){ 0 };
    }
    op->seq = ++s->ctx->seq;
    op->queued_ps = dev->now_ps;
    *s->tail = op;
    s->tail = &op->next;
    dev->fresh = true;
    pthread_cond_signal(&dev->work);
}

static bool stream_reached(struct fgs__sim_waiter *w)
{
    const struct fgs__sim_stream *s = w->obj;

    return !s->head || s->head->seq > w->seq;
}

CUresult fgs__sim_stream_wait(struct fgs__sim_stream *s)
{
    struct fgs__sim_ctx *ctx = s->ctx;
    struct fgs__sim_waiter w = { .done = stream_reached, .ctx = ctx, .obj = s,
                                 .seq = ctx->seq };

    s->waiting++;
    fgs__sim_wait(ctx->dev, &w);
    s->waiting--;
    return (CUresult)atomic_load(&ctx->sticky);
}
