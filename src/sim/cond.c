/* cond.c -- conditional nodes: their values, their bodies, how they run
 *
 * The op of such a node looks at the value when it begins, launches the body
 * that it asks for into a lane, and is over when that is; of a loop it looks
 * again then.
 */
#include "sim/cond.h"

static void drop(struct fgs__sim_ctx *ctx, struct fgs__sim_cond *c)
{
    struct fgs__sim_cond **at = &ctx->conds;

    if (--c->refs)
        return;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    fgs__sim_mem_release(ctx->dev->mem, c->va, FGS__SIM_MEM_COND, ctx);
    fgs__free(&ctx->dev->alloc, c);
}

void fgs__sim_conds_drop(const struct fgs__sim_graph *g)
{
    struct fgs__sim_cond *c, *next;

    for (c = g->ctx->conds; c; c = next) {
        next = c->next;
        if (c->graph != g->id)
            continue;
        c->graph = 0;
        drop(g->ctx, c);
    }
}

void fgs__sim_conds_free(struct fgs__sim_ctx *ctx)
{
    while (ctx->conds) {
        ctx->conds->refs = 1;
        drop(ctx, ctx->conds);
    }
}

void fgs__sim_bodies_drop(struct fgs__sim_ctx *ctx, struct fgs__sim_bodies *b)
{
    if (!b || --b->refs)
        return;
    for (unsigned int i = 0; b->body && i < b->size; i++) {
        if (b->body[i])
            fgs__sim_graph_free(b->body[i]);
    }
    if (!b->flat)
        b->cond->used = false;
    drop(ctx, b->cond);
    fgs__free(&ctx->dev->alloc, b->body);
    fgs__free(&ctx->dev->alloc, b->handle);
    fgs__free(&ctx->dev->alloc, b);
}

static struct fgs__sim_bodies *make(struct fgs__sim_ctx *ctx,
                                    struct fgs__sim_cond *cond,
                                    CUgraphConditionalNodeType type,
                                    unsigned int size, bool flat)
{
    const fgs_allocator *a = &ctx->dev->alloc;
    struct fgs__sim_bodies *b = fgs__zalloc(a, sizeof *b);

    if (!b)
        return NULL;
    *b = (struct fgs__sim_bodies){ 1, cond, type, size, flat, NULL, NULL };
    cond->refs++;
    b->body = fgs__zalloc(a, size * sizeof *b->body);
    b->handle = fgs__zalloc(a, size * sizeof(CUgraph));
    if (b->body && b->handle)
        return b;
    fgs__sim_bodies_drop(ctx, b);
    return NULL;
}

bool fgs__sim_bodies_flatten(struct fgs__sim_op *op)
{
    struct fgs__sim_bodies *from = op->u.cond.bodies, *to;
    struct fgs__sim_ctx *ctx = op->stream->ctx;

    to = make(ctx, from->cond, from->type, from->size, true);
    for (unsigned int i = 0; to && i < to->size; i++) {
        if (fgs__sim_graph_copy(&to->body[i], from->body[i], true)) {
            fgs__sim_bodies_drop(ctx, to);
            return false;
        }
        to->body[i]->owned = true;
        to->body[i]->instantiated = true;
    }
    if (!to)
        return false;
    op->u.cond.bodies = to;
    fgs__sim_bodies_drop(ctx, from);
    return true;
}

/* --------------------------------------------------------------- checks -- */

/* What a body may hold, by the documents. */
static bool fits(const struct fgs__sim_graph *body)
{
    for (const struct fgs__sim_node *n = body->head; n; n = n->next) {
        switch (n->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            if (fits(n->child))
                break;
            return false;
        default:
            return false;
        }
    }
    return true;
}

bool fgs__sim_conds_good(const struct fgs__sim_graph *g)
{
    for (const struct fgs__sim_cond *c = g->ctx->conds; c; c = c->next) {
        if (c->graph == g->id && !c->used)
            return false;
    }
    for (const struct fgs__sim_node *n = g->head; n; n = n->next) {
        const struct fgs__sim_bodies *b = n->op->u.cond.bodies;

        if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
            continue;
        for (unsigned int i = 0; i < b->size; i++) {
            if (!fits(b->body[i]) || !fgs__sim_conds_good(b->body[i]))
                return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------- launches -- */

/* Writes of the values, counted; in bodies too. */
static uint32_t writes(const struct fgs__sim_graph *exec,
                       CUstreamBatchMemOpParams *out)
{
    uint32_t count = 0;

    for (const struct fgs__sim_node *n = exec->head; n; n = n->next) {
        const struct fgs__sim_bodies *b = n->op->u.cond.bodies;

        if (n->op->kind != FGS__SIM_OP_COND)
            continue;
        if (b->cond->assign && out) {
            out[count].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
            out[count].writeValue.address = b->cond->va;
            out[count].writeValue.value64 = b->cond->value;
        }
        count += b->cond->assign;
        for (unsigned int i = 0; i < b->size; i++)
            count += writes(b->body[i], out ? out + count : NULL);
    }
    return count;
}

struct fgs__sim_op *fgs__sim_conds_begin(const struct fgs__sim_graph *exec,
                                         struct fgs__sim_stream *s)
{
    uint32_t count = exec->owned ? 0 : writes(exec, NULL);
    struct fgs__sim_op *op = fgs__sim_op_make(
        s, count ? FGS__SIM_OP_VALUES : FGS__SIM_OP_EMPTY);

    if (!op || !count)
        return op;
    op->u.values.item = fgs__zalloc(&exec->ctx->dev->alloc,
                                    count * sizeof *op->u.values.item);
    if (!op->u.values.item) {
        fgs__sim_op_free(op);
        return NULL;
    }
    op->u.values.count = writes(exec, op->u.values.item);
    return op;
}

/* The body for a value, NULL = none. */
static struct fgs__sim_graph *body_for(const struct fgs__sim_bodies *b,
                                       uint32_t value)
{
    uint32_t at = value;

    if (b->type == CU_GRAPH_COND_TYPE_IF)
        at = !value;
    else if (b->type == CU_GRAPH_COND_TYPE_WHILE)
        at = value ? 0 : UINT32_MAX;
    return at < b->size ? b->body[at] : NULL;
}

void fgs__sim_cond_step(struct fgs__sim_op *op)
{
    struct fgs__sim_bodies *b = op->u.cond.bodies;
    struct fgs__sim_ctx *ctx = op->stream->ctx;
    struct fgs__sim_mark *gate = ctx->gate;
    const char *word = fgs__sim_mem_host(ctx->dev->mem, b->cond->va, 4);
    struct fgs__sim_stream *lane;
    struct fgs__sim_graph *body;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t value;

    memcpy(&value, word, sizeof value);
    body = body_for(b, value);
    if (!body) {
        op->state = FGS__SIM_OP_DONE;
        return;
    }
    op->state = FGS__SIM_OP_RUNNING;
    /* The launch was before any gate, so its lanes wait for none. */
    ctx->gate = NULL;
    lane = fgs__sim_lane_make(ctx);
    if (lane)
        r = fgs__sim_graph_launch(body, lane);
    ctx->gate = gate;
    if (lane)
        lane->waiting = 0;
    if (r) {
        op->state = FGS__SIM_OP_DONE;
        fgs__sim_ctx_fault(ctx, r, "the body of a conditional node cannot be "
                           "launched");
        return;
    }
    op->u.cond.round = body->last;
    body->last->refs++;
}

void fgs__sim_cond_next(struct fgs__sim_op *op)
{
    struct fgs__sim_mark *m = op->u.cond.round;

    if (!m || !m->done)
        return;
    op->u.cond.round = NULL;
    if (m->ps > op->end_ps)
        op->end_ps = m->ps;
    if (op->u.cond.bodies->type == CU_GRAPH_COND_TYPE_WHILE)
        fgs__sim_cond_step(op);
    else
        op->state = FGS__SIM_OP_DONE;
    fgs__sim_mark_drop(op->stream->ctx->dev, m);
}

/* -------------------------------------------------------- entry points -- */

CUresult fgs__sim_cuGraphConditionalHandleCreate(
    CUgraphConditionalHandle *out, CUgraph graph, CUcontext handle,
    unsigned int value, unsigned int flags)
{
    struct fgs__sim_range range;
    struct fgs__sim_cond *c = NULL;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    if (fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_CTX, handle) !=
        ctx)
        r = CUDA_ERROR_INVALID_CONTEXT;
    else if (!out || flags > CU_GRAPH_COND_ASSIGN_DEFAULT)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r)
        return fgs__sim_leave(r);
    c = fgs__zalloc(&ctx->dev->alloc, sizeof *c);
    r = c ? fgs__sim_mem_alloc(ctx->dev->mem, 4, 1, FGS__SIM_MEM_COND, ctx,
                               &range)
          : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        fgs__free(&ctx->dev->alloc, c);
        return fgs__sim_leave(r);
    }
    memcpy(range.host, &value, sizeof value);
    *c = (struct fgs__sim_cond){ ctx->conds, range.lo, 1, g->id, value,
                                 flags != 0, false };
    ctx->conds = c;
    *out = range.lo;
    return fgs__sim_leave(r);
}

/* The handle is of that graph, or of one whose body it is. */
static struct fgs__sim_cond *cond_for(const struct fgs__sim_graph *g,
                                      uint64_t handle)
{
    struct fgs__sim_cond *c = g->ctx->conds;

    while (c && c->va != handle)
        c = c->next;
    if (!c || c->used)
        return NULL;
    while (g && g->id != c->graph)
        g = g->parent;
    return g ? c : NULL;
}

static bool good_size(const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    switch (p->type) {
    case CU_GRAPH_COND_TYPE_IF:
        return p->size == 1 || p->size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
        return p->size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return p->size > 0 && p->size < 1u << 16;
    default:
        return false;
    }
}

static struct fgs__sim_op *op_for(struct fgs__sim_graph *g,
                                  struct fgs__sim_cond *c,
                                  const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct fgs__sim_op *op =
        fgs__sim_op_make(g->ctx->legacy, FGS__SIM_OP_COND);

    if (!op)
        return NULL;
    op->u.cond.bodies = make(g->ctx, c, p->type, p->size, false);
    for (unsigned int i = 0; op->u.cond.bodies && i < p->size; i++) {
        struct fgs__sim_graph *body = fgs__sim_graph_make(g->ctx);

        if (!body) {
            fgs__sim_op_free(op);
            return NULL;
        }
        body->owned = true;
        body->parent = g;
        op->u.cond.bodies->body[i] = body;
        op->u.cond.bodies->handle[i] = (CUgraph)body->handle;
    }
    if (op->u.cond.bodies)
        return op;
    fgs__sim_op_free(op);
    return NULL;
}

CUresult fgs__sim_add_cond(const struct fgs__sim_place *at,
                           CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct fgs__sim_node *n;
    struct fgs__sim_graph *g;
    struct fgs__sim_cond *c;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, at->graph, &g);
    struct fgs__sim_op *op;

    if (r)
        return r;
    c = cond_for(g, p->handle);
    if (!c || !good_size(p))
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    op = op_for(g, c, p);
    r = op ? fgs__sim_place_node(ctx, at, CU_GRAPH_NODE_TYPE_CONDITIONAL, op,
                                 &n)
           : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        c->used = true;
        p->phGraph_out = n->op->u.cond.bodies->handle;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cond_params(CUgraphNode node,
                              CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    const struct fgs__sim_bodies *b;
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    n = fgs__sim_node_of(ctx, node);
    if (!n || n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    b = n->op->u.cond.bodies;
    *p = (CUDA_CONDITIONAL_NODE_PARAMS){ b->cond->va, b->type, b->size,
                                         b->handle, (CUcontext)ctx->handle };
    return fgs__sim_leave(r);
}
