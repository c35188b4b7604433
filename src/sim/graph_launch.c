/* graph_launch.c -- an instantiated graph becomes ops of streams
 *
 * The launch stream gets two empty ops: the first marks when the graph may
 * begin, the second ends when all its last nodes have.  Between them every
 * node runs in a lane, a stream that the program does not know.  A node
 * follows another in its lane where it can; all else is waited for by mark.
 * A kernel that follows one kernel by a programmatic edge stands right behind
 * it in the lane, as in a stream with programmatic serialization.
 */
#include "sim/cond.h"

bool fgs__sim_op_wait_for(struct fgs__sim_op *op, struct fgs__sim_mark *m)
{
    const fgs_allocator *a = &op->stream->ctx->dev->alloc;
    size_t cap = op->waits;
    void *items = op->wait;

    if (!fgs__vec_reserve(a, &items, &cap, op->waits, sizeof *op->wait))
        return false;
    op->wait = items;
    op->wait[op->waits++] = m;
    m->refs++;
    return true;
}

struct fgs__sim_mark *fgs__sim_op_over(struct fgs__sim_op *op)
{
    if (!op->over)
        op->over = fgs__sim_mark_make(op->stream->ctx->dev);
    return op->over;
}

struct fgs__sim_op *fgs__sim_op_copy(const struct fgs__sim_op *op,
                                     struct fgs__sim_stream *s)
{
    const fgs_allocator *a = &s->ctx->dev->alloc;
    struct fgs__sim_op *out = fgs__sim_op_make(s, op->kind);
    const struct fgs__sim_code *code = op->u.kernel.grid.code;
    struct fgs__sim_device *dev = s->ctx->dev;
    unsigned char *params;
    uint64_t seed;

    if (!out)
        return NULL;
    if (op->kind == FGS__SIM_OP_VALUES) {
        if (fgs__sim_values_copy(out, op->u.values.item, op->u.values.count))
            return out;
        fgs__sim_op_free(out);
        return NULL;
    }
    if (op->kind != FGS__SIM_OP_KERNEL) {
        out->u = op->u;
        if (op->kind == FGS__SIM_OP_LEASE)
            op->u.lease.lease->refs++;
        if (op->kind == FGS__SIM_OP_COND)
            op->u.cond.bodies->refs++;
        return out;
    }
    params = fgs__alloc(a, code->param_bytes + 16);
    if (!params) {
        fgs__sim_op_free(out);
        return NULL;
    }
    memcpy(params, op->u.kernel.params, code->param_bytes + 16);
    out->u = op->u;
    out->u.kernel.params = params;
    /* Of references none is bound: a use that was not seen (cu_launch.c) is a
     * fault. */
    out->u.kernel.grid.bound = NULL;
    out->u.kernel.grid.params = params;
    out->u.kernel.grid.id = ++dev->next_grid;
    seed = dev->cfg.seed ^ out->u.kernel.grid.id << 32;
    out->u.kernel.grid.rng = fgs__sim_random(&seed);
    if (fgs__sim_workspace_make(out)) {
        fgs__sim_op_free(out);
        return NULL;
    }
    return out;
}

/* What one launch makes, in the order of the nodes. */
struct run {
    struct fgs__sim_op **op;
    struct fgs__sim_stream **lane;
    struct fgs__sim_node **tail; /* of each node's lane, by index of its op  */
    struct fgs__sim_op *begin, *end;
    struct fgs__sim_op *frees; /* of what the last launch left: before begin */
    size_t made;
};

struct fgs__sim_stream *fgs__sim_lane_make(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_stream *s =
        fgs__sim_stream_make(ctx, CU_STREAM_NON_BLOCKING);

    if (s) {
        fgs__sim_handle_free(&ctx->dev->handles, s->handle);
        s->handle = 0;
        s->waiting = 1; /* until the launch is complete */
        s->destroyed = true;
    }
    return s;
}

/* May the node stand right behind its one predecessor? */
static bool behind(const struct fgs__sim_node *n)
{
    const struct fgs__sim_edge *e = n->deps.item;

    return n->deps.count == 1 && e->data.type && !n->disabled &&
        e->node->type == CU_GRAPH_NODE_TYPE_KERNEL &&
        n->type == CU_GRAPH_NODE_TYPE_KERNEL;
}

static CUresult event_marks(struct fgs__sim_ctx *ctx,
                            const struct fgs__sim_node *n,
                            struct fgs__sim_op *op)
{
    struct fgs__sim_event *e;

    if (n->type != CU_GRAPH_NODE_TYPE_WAIT_EVENT &&
        n->type != CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        return CUDA_SUCCESS;
    e = fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EVENT, n->event);
    if (!e)
        return CUDA_ERROR_INVALID_HANDLE;
    if (n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
        return !e->mark ||
                fgs__sim_op_wait_for(op, e->mark->end ? e->mark->end : e->mark)
            ? CUDA_SUCCESS
            : CUDA_ERROR_OUT_OF_MEMORY;
    fgs__sim_mark_drop(ctx->dev, e->mark);
    e->mark = fgs__sim_op_over(op);
    if (e->mark)
        e->mark->refs++;
    return e->mark ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_op(struct fgs__sim_graph *g, struct fgs__sim_node *n,
                        struct run *run)
{
    struct fgs__sim_ctx *ctx = g->ctx;
    size_t at = run->made;
    struct fgs__sim_stream *lane = NULL;
    bool joined = false;
    struct fgs__sim_op *op;

    /* mark: the index of a node that has its op, plus one. */
    for (size_t i = 0; i < n->deps.count && !lane; i++) {
        size_t k = n->deps.item[i].node->mark - 1;

        if (run->tail[k] != n->deps.item[i].node)
            continue;
        lane = run->lane[k];
        run->tail[k] = NULL; /* somebody stands behind it now */
        joined = behind(n);
        /* In a graph no event is fired: the port says when the next kernel
         * of the lane may begin. */
        if (joined && run->op[k]->kind == FGS__SIM_OP_KERNEL)
            run->op[k]->u.kernel.trigger_port = n->deps.item[i].data.from_port;
    }
    if (!lane)
        lane = fgs__sim_lane_make(ctx);
    if (!lane)
        return CUDA_ERROR_OUT_OF_MEMORY;
    run->lane[at] = lane;
    run->tail[at] = n;
    n->mark = (uint32_t)++run->made;
    op = run->op[at] = n->disabled ? fgs__sim_op_make(lane, FGS__SIM_OP_EMPTY)
                                   : fgs__sim_op_copy(n->op, lane);
    if (!op || !fgs__sim_op_over(op))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (op->kind == FGS__SIM_OP_KERNEL) {
        op->u.kernel.programmatic = joined;
        op->u.kernel.trigger = NULL;
        op->u.kernel.trigger_port = 0;
        op->u.kernel.started = op->u.kernel.fired = NULL;
    }
    if (!n->deps.count && !fgs__sim_op_wait_for(op, run->begin->over))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !joined && i < n->deps.count; i++) {
        if (!fgs__sim_op_wait_for(
                op, run->op[n->deps.item[i].node->mark - 1]->over))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return event_marks(ctx, n, op);
}

/* A launch that may begin with memory of the last one frees that first. */
static bool make_frees(struct fgs__sim_graph *g, struct fgs__sim_stream *s,
                       struct run *run)
{
    for (struct fgs__sim_node *n = g->head; n; n = n->next) {
        struct fgs__sim_lease *l = n->op->u.lease.lease;
        struct fgs__sim_op *op;

        if (n->op->kind != FGS__SIM_OP_LEASE || !n->op->u.lease.on ||
            !l->booked)
            continue;
        op = fgs__sim_lease_op(s, l, false);
        if (!op)
            return false;
        op->next = run->frees;
        run->frees = op;
        if (g->last && !fgs__sim_op_wait_for(op, g->last))
            return false;
    }
    return true;
}

/* Hand them over, or drop them. */
static void end_frees(struct run *run, bool good)
{
    while (run->frees) {
        struct fgs__sim_op *op = run->frees;

        run->frees = op->next;
        op->next = NULL;
        if (good)
            fgs__sim_op_enqueue(op);
        else
            fgs__sim_op_free(op);
    }
}

static CUresult make_all(struct fgs__sim_graph *g, struct fgs__sim_stream *s,
                         struct run *run)
{
    CUresult r = CUDA_SUCCESS;

    run->begin = fgs__sim_conds_begin(g, s);
    run->end = fgs__sim_op_make(s, FGS__SIM_OP_EMPTY);
    if (!run->begin || !run->end || !fgs__sim_op_over(run->begin) ||
        !fgs__sim_op_over(run->end) ||
        (g->last && !fgs__sim_op_wait_for(run->begin, g->last)) ||
        !make_frees(g, s, run))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (g->users.count) {
        run->end->users = fgs__zalloc(&g->ctx->dev->alloc,
                                      sizeof *run->end->users);
        if (!run->end->users ||
            !fgs__sim_users_copy(g->ctx->dev, run->end->users, &g->users))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (struct fgs__sim_node *n = g->head; n && !r; n = n->next)
        r = make_op(g, n, run);
    for (size_t i = 0; !r && i < run->made; i++) {
        if (!fgs__sim_op_wait_for(run->end, run->op[i]->over))
            r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return r;
}

static CUresult check(struct fgs__sim_graph *g)
{
    for (const struct fgs__sim_node *n = g->head; n; n = n->next) {
        if (n->op->kind == FGS__SIM_OP_KERNEL &&
            !fgs__sim_kernel_alive(g->ctx, n->op))
            return CUDA_ERROR_INVALID_HANDLE;
    }
    return fgs__sim_leases_check(g);
}

CUresult fgs__sim_graph_launch(struct fgs__sim_graph *g,
                               struct fgs__sim_stream *s)
{
    const fgs_allocator *a = &g->ctx->dev->alloc;
    struct run run = { .made = 0 };
    CUresult r = check(g);

    if (r)
        return r;
    run.op = fgs__zalloc(a, (g->count + 1) * sizeof *run.op);
    run.lane = fgs__zalloc(a, (g->count + 1) * sizeof *run.lane);
    run.tail = fgs__zalloc(a, (g->count + 1) * sizeof *run.tail);
    r = run.op && run.lane && run.tail ? make_all(g, s, &run)
                                       : CUDA_ERROR_OUT_OF_MEMORY;
    end_frees(&run, !r);
    if (!r) {
        fgs__sim_leases_book(g);
        fgs__sim_op_enqueue(run.begin);
        for (size_t i = 0; i < run.made; i++)
            fgs__sim_op_enqueue(run.op[i]);
        fgs__sim_op_enqueue(run.end);
        fgs__sim_mark_drop(g->ctx->dev, g->last);
        g->last = run.end->over;
        g->last->refs++;
    } else {
        if (run.begin)
            fgs__sim_op_free(run.begin);
        if (run.end)
            fgs__sim_op_free(run.end);
    }
    for (size_t i = 0; i < run.made; i++) {
        run.lane[i]->waiting = 0;
        if (r && run.op[i])
            fgs__sim_op_free(run.op[i]);
    }
    fgs__free(a, run.op);
    fgs__free(a, run.lane);
    fgs__free(a, run.tail);
    return r;
}
