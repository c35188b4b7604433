/* cu_graph_param.c -- entry points: parameters of nodes, got and set */
#include "sim/graph.h"

static CUresult node_of(struct fgs__sim_ctx *ctx, CUgraphNode handle,
                        CUgraphNodeType type, struct fgs__sim_node **n)
{
    *n = fgs__sim_node_of(ctx, handle);
    return *n && (*n)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Takes op over. */
static CUresult replace(struct fgs__sim_ctx *ctx, struct fgs__sim_node *n,
                        struct fgs__sim_op *op, const struct fgs__sim_params *q)
{
    CUresult r = fgs__sim_cluster_keep(ctx, op, n->op);

    if (r) {
        fgs__sim_op_free(op);
        return r;
    }
    fgs__sim_op_free(n->op);
    n->op = op;
    if (q->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        n->copy = *(const CUDA_MEMCPY3D *)q->p;
    return CUDA_SUCCESS;
}

struct fgs__sim_node *fgs__sim_exec_node(struct fgs__sim_ctx *ctx,
                                         CUgraphExec exec,
                                         const struct fgs__sim_node *n)
{
    struct fgs__sim_graph *g = fgs__sim_handle_get(
        &ctx->dev->handles, FGS__SIM_KIND_EXEC, exec);
    struct fgs__sim_node *at = g && n ? g->head : NULL;

    while (at && at->source != n->source)
        at = at->next;
    return at;
}

/* The node that a call means: of a graph, or what it is in an instantiated
 * one. */
static CUresult target(struct fgs__sim_ctx *ctx, CUgraphExec *exec,
                       CUgraphNode node, CUgraphNodeType type,
                       struct fgs__sim_node **n)
{
    CUresult r = node_of(ctx, node, type, n);

    if (!r && exec)
        *n = fgs__sim_exec_node(ctx, *exec, *n);
    return !r && !*n ? CUDA_ERROR_INVALID_VALUE : r;
}

static CUresult set_params(CUgraphExec *exec, CUgraphNode node,
                           const struct fgs__sim_params *q)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);
    struct fgs__sim_op *op;

    if (r)
        return r;
    r = target(ctx, exec, node, q->type, &n);
    if (!r)
        r = fgs__sim_node_op(ctx, &op, q, n);
    if (!r)
        r = replace(ctx, n, op, q);
    return fgs__sim_leave(r);
}

static CUresult set_event(CUgraphExec *exec, CUgraphNode node,
                          CUgraphNodeType type, CUevent event)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    r = target(ctx, exec, node, type, &n);
    if (!r && !fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EVENT,
                                   event))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r)
        n->event = event;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_set_params(CUgraphExec exec, CUgraphNode node,
                             const struct fgs__sim_params *q)
{
    return set_params(exec ? &exec : NULL, node, q);
}

CUresult fgs__sim_set_event(CUgraphExec exec, CUgraphNode node,
                            CUgraphNodeType type, CUevent event)
{
    return set_event(exec ? &exec : NULL, node, type, event);
}

#define SET(kind, kern)                                                        \
    struct fgs__sim_params q = { CU_GRAPH_NODE_TYPE_##kind, v, kern };         \
                                                                               \
    return set_params(NULL, node, &q)
#define EXEC(kind, kern)                                                       \
    struct fgs__sim_params q = { CU_GRAPH_NODE_TYPE_##kind, v, kern };         \
                                                                               \
    return set_params(&exec, node, &q)

CUresult fgs__sim_cuGraphKernelNodeSetParams(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *v)
{
    SET(KERNEL, NULL);
}

CUresult fgs__sim_cuGraphKernelNodeSetParams_v2(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *v)
{
    SET(KERNEL, v ? v->kern : NULL);
}

CUresult fgs__sim_cuGraphMemcpyNodeSetParams(CUgraphNode node,
                                             const CUDA_MEMCPY3D *v)
{
    SET(MEMCPY, NULL);
}

CUresult fgs__sim_cuGraphMemsetNodeSetParams(CUgraphNode node,
                                             const CUDA_MEMSET_NODE_PARAMS *v)
{
    SET(MEMSET, NULL);
}

CUresult fgs__sim_cuGraphHostNodeSetParams(CUgraphNode node,
                                           const CUDA_HOST_NODE_PARAMS *v)
{
    SET(HOST, NULL);
}

CUresult fgs__sim_cuGraphExecKernelNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *v)
{
    EXEC(KERNEL, NULL);
}

CUresult fgs__sim_cuGraphExecKernelNodeSetParams_v2(
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *v)
{
    EXEC(KERNEL, v ? v->kern : NULL);
}

CUresult fgs__sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec,
                                                 CUgraphNode node,
                                                 const CUDA_MEMCPY3D *v,
                                                 CUcontext ctx)
{
    (void)ctx;
    EXEC(MEMCPY, NULL);
}

CUresult fgs__sim_cuGraphExecMemsetNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *v,
    CUcontext ctx)
{
    (void)ctx;
    EXEC(MEMSET, NULL);
}

CUresult fgs__sim_cuGraphExecHostNodeSetParams(CUgraphExec exec,
                                               CUgraphNode node,
                                               const CUDA_HOST_NODE_PARAMS *v)
{
    EXEC(HOST, NULL);
}

CUresult fgs__sim_cuGraphBatchMemOpNodeSetParams(
    CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *v)
{
    SET(BATCH_MEM_OP, NULL);
}

CUresult fgs__sim_cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *v)
{
    EXEC(BATCH_MEM_OP, NULL);
}

CUresult fgs__sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node,
                                                 CUevent event)
{
    return set_event(NULL, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult fgs__sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    return set_event(NULL, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult fgs__sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec,
                                                     CUgraphNode node,
                                                     CUevent event)
{
    return set_event(&exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult fgs__sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec,
                                                   CUgraphNode node,
                                                   CUevent event)
{
    return set_event(&exec, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

/* kernelParams points into the node, as the driver's does. */
static CUresult kernel_params(struct fgs__sim_ctx *ctx,
                              struct fgs__sim_node *n,
                              CUDA_KERNEL_NODE_PARAMS_v1 *v)
{
    const struct fgs__sim_grid *g = &n->op->u.kernel.grid;
    struct fgs__sim_func *f = fgs__sim_func_of(ctx, n->op->u.kernel.func);
    const struct fgs__ptx_sym *p;
    uint32_t k = 0;

    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    fgs__free(&ctx->dev->alloc, n->params);
    n->params = fgs__alloc_array(&ctx->dev->alloc, f->func->param_count + 1u,
                                 sizeof *n->params);
    if (!n->params)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (p = f->func->params; p; p = p->next)
        n->params[k++] = n->op->u.kernel.params + p->offset;
    *v = (CUDA_KERNEL_NODE_PARAMS_v1){
        n->op->u.kernel.func, g->grid[0], g->grid[1], g->grid[2], g->block[0],
        g->block[1], g->block[2], g->dynamic_bytes, n->params, NULL
    };
    return CUDA_SUCCESS;
}

static CUresult get(CUgraphNode node, CUgraphNodeType type, void *out)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    r = out ? node_of(ctx, node, type, &n) : CUDA_ERROR_INVALID_VALUE;
    if (r)
        return fgs__sim_leave(r);
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        r = kernel_params(ctx, n, out);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        memcpy(out, &n->copy, sizeof n->copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        fill = (CUDA_MEMSET_NODE_PARAMS){
            n->op->u.fill.va,    n->op->u.fill.pitch, n->op->u.fill.value,
            n->op->u.fill.width, n->op->u.fill.count, n->op->u.fill.rows
        };
        memcpy(out, &fill, sizeof fill);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        host = (CUDA_HOST_NODE_PARAMS){ n->op->u.host.fn, n->op->u.host.data };
        memcpy(out, &host, sizeof host);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: /* the items stay the node's */
        batch = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
            (CUcontext)ctx->handle, n->op->u.values.count,
            n->op->u.values.item, 0
        };
        memcpy(out, &batch, sizeof batch);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        *(CUgraph *)out = (CUgraph)n->child->handle;
        break;
    default:
        *(CUevent *)out = n->event;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphKernelNodeGetParams(CUgraphNode node,
                                             CUDA_KERNEL_NODE_PARAMS_v1 *v)
{
    return get(node, CU_GRAPH_NODE_TYPE_KERNEL, v);
}

CUresult fgs__sim_cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                CUDA_KERNEL_NODE_PARAMS *v)
{
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_KERNEL, v);

    if (!r) {
        v->kern = NULL;
        v->ctx = NULL;
    }
    return r;
}

CUresult fgs__sim_cuGraphMemcpyNodeGetParams(CUgraphNode node,
                                             CUDA_MEMCPY3D *v)
{
    return get(node, CU_GRAPH_NODE_TYPE_MEMCPY, v);
}

CUresult fgs__sim_cuGraphMemsetNodeGetParams(CUgraphNode node,
                                             CUDA_MEMSET_NODE_PARAMS *v)
{
    return get(node, CU_GRAPH_NODE_TYPE_MEMSET, v);
}

CUresult fgs__sim_cuGraphHostNodeGetParams(CUgraphNode node,
                                           CUDA_HOST_NODE_PARAMS *v)
{
    return get(node, CU_GRAPH_NODE_TYPE_HOST, v);
}

CUresult fgs__sim_cuGraphBatchMemOpNodeGetParams(
    CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *v)
{
    return get(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, v);
}

CUresult fgs__sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out)
{
    return get(node, CU_GRAPH_NODE_TYPE_GRAPH, out);
}

CUresult fgs__sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node,
                                                 CUevent *out)
{
    return get(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out);
}

CUresult fgs__sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out)
{
    return get(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out);
}
