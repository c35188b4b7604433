/* cu_graph.c -- entry points: new nodes of graphs */
#include "sim/graph.h"

/* The nodes that a new one follows. */
CUresult fgs__sim_read_deps(struct fgs__sim_ctx *ctx, struct fgs__sim_graph *g,
                            const CUgraphNode *deps,
                            const CUgraphEdgeData *data, size_t count,
                            struct fgs__sim_edges *out)
{
    if (count && !deps)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct fgs__sim_node *n = fgs__sim_node_of(ctx, deps[i]);

        if (!n || n->graph != g || n->graph->instantiated)
            return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < out->count; k++) {
            if (out->item[k].node == n)
                return CUDA_ERROR_INVALID_VALUE;
        }
        if (!fgs__sim_edges_push(&ctx->dev->alloc, out, n,
                                  data ? &data[i] : NULL))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Edges with data need both ends, to be checked. */
static CUresult add_edges(struct fgs__sim_node *n,
                          const struct fgs__sim_edges *deps)
{
    CUresult r = CUDA_SUCCESS;

    for (size_t i = 0; !r && i < deps->count; i++)
        r = fgs__sim_edge_add(deps->item[i].node, n, &deps->item[i].data);
    return r;
}

CUresult fgs__sim_place_node(struct fgs__sim_ctx *ctx,
                             const struct fgs__sim_place *p,
                             CUgraphNodeType type, struct fgs__sim_op *op,
                             struct fgs__sim_node **made)
{
    struct fgs__sim_graph *g = fgs__sim_graph_of(ctx, p->graph);
    struct fgs__sim_edges deps = { NULL, 0, 0 };
    struct fgs__sim_node *n = NULL;
    CUresult r = p->out && g && !g->instantiated
        ? fgs__sim_read_deps(ctx, g, p->deps, p->data, p->count, &deps)
        : CUDA_ERROR_INVALID_VALUE;

    if (r) {
        fgs__sim_op_free(op);
        goto free_deps;
    }
    n = fgs__sim_node_add(g, type, op, p->data ? NULL : &deps);
    r = n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (n && p->data)
        r = add_edges(n, &deps);
    if (r && n)
        fgs__sim_node_free(n);
    if (!r)
        *p->out = (CUgraphNode)n->handle;
    if (made)
        *made = n;
free_deps:
    fgs__sim_edges_free(&ctx->dev->alloc, &deps);
    return r;
}

static CUresult kernel_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                          const CUDA_KERNEL_NODE_PARAMS_v1 *p, CUkernel kern,
                          const struct fgs__sim_node *n)
{
    const struct fgs__sim_op *was = n ? n->op : NULL;
    CUlaunchConfig c;
    CUfunction func;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (was && was->kind != FGS__SIM_OP_KERNEL)
        was = NULL;
    func = p->func ? p->func : (CUfunction)kern;
    c = (CUlaunchConfig){ p->gridDimX,  p->gridDimY,  p->gridDimZ,
                          p->blockDimX, p->blockDimY, p->blockDimZ,
                          p->sharedMemBytes, NULL, NULL, 0 };
    return fgs__sim_kernel_op(op, ctx, &c, was, func, p->kernelParams,
                              p->extra);
}

static CUresult memcpy_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                          const CUDA_MEMCPY3D *p)
{
    struct fgs__sim_copy_op c;
    CUresult r = p ? fgs__sim_copy_named(ctx, p, true, &c)
                   : CUDA_ERROR_INVALID_VALUE;

    if (r)
        return r;
    *op = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_COPY);
    if (!*op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*op)->u.copy = c;
    return CUDA_SUCCESS;
}

static CUresult memset_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                          const CUDA_MEMSET_NODE_PARAMS *p)
{
    CUresult r;

    if (!p || !p->width || !p->height)
        return CUDA_ERROR_INVALID_VALUE;
    *op = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_FILL);
    if (!*op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*op)->u.fill.va = p->dst;
    (*op)->u.fill.count = p->width;
    (*op)->u.fill.rows = p->height;
    (*op)->u.fill.pitch = p->pitch;
    (*op)->u.fill.value = p->value;
    (*op)->u.fill.width = p->elementSize;
    r = fgs__sim_fill_check(ctx, *op, true);
    if (r)
        fgs__sim_op_free(*op);
    return r;
}

static CUresult host_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                        const CUDA_HOST_NODE_PARAMS *p)
{
    if (!p || !p->fn)
        return CUDA_ERROR_INVALID_VALUE;
    *op = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_HOST);
    if (!*op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*op)->u.host.fn = p->fn;
    (*op)->u.host.data = p->userData;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_node_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                          const struct fgs__sim_params *q,
                          const struct fgs__sim_node *n)
{
    switch (q->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_op(ctx, op, q->p, q->kern, n);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return memcpy_op(ctx, op, q->p);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return memset_op(ctx, op, q->p);
    case CU_GRAPH_NODE_TYPE_HOST:
        return host_op(ctx, op, q->p);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return fgs__sim_values_op(ctx, op, q->p);
    default:
        *op = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_EMPTY);
        return *op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
}

CUresult fgs__sim_add_node(const struct fgs__sim_place *p,
                           const struct fgs__sim_params *q, CUevent event)
{
    struct fgs__sim_node *n = NULL;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);
    struct fgs__sim_op *op;

    if (r)
        return r;
    if (event && !fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EVENT,
                                      event))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r)
        r = fgs__sim_node_op(ctx, &op, q, NULL);
    if (!r)
        r = fgs__sim_place_node(ctx, p, q->type, op, &n);
    if (!r && q->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        n->copy = *(const CUDA_MEMCPY3D *)q->p;
    if (!r)
        n->event = event;
    return fgs__sim_leave(r);
}

#define ADD(kind, v, kern, event)                                              \
    struct fgs__sim_place p = { out, graph, deps, count, NULL };               \
    struct fgs__sim_params q = { CU_GRAPH_NODE_TYPE_##kind, v, kern };         \
                                                                               \
    return fgs__sim_add_node(&p, &q, event)

CUresult fgs__sim_cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph,
                                       const CUgraphNode *deps, size_t count,
                                       const CUDA_KERNEL_NODE_PARAMS_v1 *v)
{
    ADD(KERNEL, v, NULL, NULL);
}

CUresult fgs__sim_cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph,
                                          const CUgraphNode *deps,
                                          size_t count,
                                          const CUDA_KERNEL_NODE_PARAMS *v)
{
    ADD(KERNEL, v, v ? v->kern : NULL, NULL);
}

CUresult fgs__sim_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph,
                                       const CUgraphNode *deps, size_t count,
                                       const CUDA_MEMCPY3D *v, CUcontext ctx)
{
    (void)ctx; /* all memory is the one device's */
    ADD(MEMCPY, v, NULL, NULL);
}

CUresult fgs__sim_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph,
                                       const CUgraphNode *deps, size_t count,
                                       const CUDA_MEMSET_NODE_PARAMS *v,
                                       CUcontext ctx)
{
    (void)ctx;
    ADD(MEMSET, v, NULL, NULL);
}

CUresult fgs__sim_cuGraphAddHostNode(CUgraphNode *out, CUgraph graph,
                                     const CUgraphNode *deps, size_t count,
                                     const CUDA_HOST_NODE_PARAMS *v)
{
    ADD(HOST, v, NULL, NULL);
}

CUresult fgs__sim_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph,
                                      const CUgraphNode *deps, size_t count)
{
    ADD(EMPTY, NULL, NULL, NULL);
}

CUresult fgs__sim_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph,
                                            const CUgraphNode *deps,
                                            size_t count, CUevent event)
{
    ADD(EVENT_RECORD, NULL, NULL, event ? event : (CUevent)1);
}

CUresult fgs__sim_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph,
                                          const CUgraphNode *deps,
                                          size_t count, CUevent event)
{
    ADD(WAIT_EVENT, NULL, NULL, event ? event : (CUevent)1);
}

CUresult fgs__sim_add_child(const struct fgs__sim_place *p, CUgraph graph,
                            bool move)
{
    struct fgs__sim_graph *child, *copy = NULL;
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);
    struct fgs__sim_op *op;

    if (r)
        return r;
    child = fgs__sim_graph_of(ctx, graph);
    if (!child || child->instantiated || graph == p->graph ||
        (move && child->owned))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (child->parent ||
             fgs__sim_graph_holds(child, CU_GRAPH_NODE_TYPE_CONDITIONAL) ||
             (!move && fgs__sim_graph_unique(child)))
        r = CUDA_ERROR_NOT_SUPPORTED;
    else if (move)
        copy = child;
    else
        r = fgs__sim_graph_copy(&copy, child, false);
    if (r)
        goto leave;
    op = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_EMPTY);
    r = op ? fgs__sim_place_node(ctx, p, CU_GRAPH_NODE_TYPE_GRAPH, op, &n)
           : CUDA_ERROR_OUT_OF_MEMORY;
    if (r && !move)
        fgs__sim_graph_free(copy);
    if (!r) {
        copy->owned = true;
        n->child = copy;
    }
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph,
                                           const CUgraphNode *deps,
                                           size_t count, CUgraph childGraph)
{
    struct fgs__sim_place p = { out, graph, deps, count, NULL };

    return fgs__sim_add_child(&p, childGraph, false);
}

CUresult fgs__sim_cuGraphAddBatchMemOpNode(
    CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count,
    const CUDA_BATCH_MEM_OP_NODE_PARAMS *v)
{
    ADD(BATCH_MEM_OP, v, NULL, NULL);
}

CUresult fgs__sim_event_node(CUevent event, CUstream stream,
                             CUgraphNodeType type)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_op *op;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && !fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EVENT,
                                   event))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && !fgs__sim_captured(s))
        r = CUDA_ERROR_ILLEGAL_STATE; /* the flag is for captures */
    op = r ? NULL : fgs__sim_op_make(s, FGS__SIM_OP_EMPTY);
    if (!r && !op)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r)
        r = fgs__sim_submit(op);
    if (!r) {
        s->last.item[0].node->type = type;
        s->last.item[0].node->event = event;
    }
    return fgs__sim_leave(r);
}
