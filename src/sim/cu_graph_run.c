/* cu_graph_run.c -- entry points: instantiation, launch, update of graphs */
#include "sim/cond.h"

static bool lives(const struct fgs__sim_graph *g)
{
    const struct fgs__sim_graph *o = g->ctx->graphs;

    while (o && (!o->instantiated || o->made_of != g->id))
        o = o->next;
    return o != NULL;
}

static CUresult instantiate(CUgraphExec *out, CUgraph graph,
                            unsigned long long flags)
{
    const unsigned long long known =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
        CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
        CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    struct fgs__sim_graph *g, *exec;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);
    uintptr_t handle;

    if (r)
        return r;
    r = fgs__sim_sticky(ctx);
    if (!r)
        r = fgs__sim_capture_unsafe(ctx);
    if (r)
        goto leave;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        r = CUDA_ERROR_NOT_SUPPORTED;
    else if (!out || flags & ~known)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (g->parent || (fgs__sim_graph_unique(g) && lives(g)))
        r = CUDA_ERROR_NOT_SUPPORTED;
    else if (!fgs__sim_conds_good(g))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = fgs__sim_graph_copy(&exec, g, true);
    if (r)
        goto leave;
    handle = fgs__sim_handle_make(&ctx->dev->handles, &ctx->dev->alloc,
                                  FGS__SIM_KIND_EXEC, exec);
    if (!handle) {
        fgs__sim_graph_free(exec);
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto leave;
    }
    /* It is found as what it is now, its nodes not at all. */
    fgs__sim_handle_free(&ctx->dev->handles, exec->handle);
    exec->handle = handle;
    exec->instantiated = true;
    exec->made_of = g->id;
    exec->flags = flags;
    *out = (CUgraphExec)handle;
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                              unsigned long long flags)
{
    return instantiate(out, graph, flags);
}

CUresult fgs__sim_cuGraphInstantiate_v12(CUgraphExec *out, CUgraph graph,
                                         unsigned long long flags)
{
    return instantiate(out, graph, flags);
}

CUresult fgs__sim_cuGraphInstantiate(CUgraphExec *out, CUgraph graph,
                                     CUgraphNode *error, char *text,
                                     size_t bytes)
{
    if (error)
        *error = NULL;
    if (text && bytes)
        *text = '\0';
    return instantiate(out, graph, 0);
}

CUresult fgs__sim_cuGraphInstantiateWithParams(
    CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    CUresult r;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    params->hErrNode_out = NULL;
    r = instantiate(out, graph, params->flags);
    params->result_out = r ? CUDA_GRAPH_INSTANTIATE_ERROR
                           : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return r;
}

static CUresult exec_of(struct fgs__sim_ctx **ctx, CUgraphExec handle,
                        struct fgs__sim_graph **g)
{
    CUresult r = fgs__sim_enter_calm(ctx);

    if (r)
        return r;
    *g = fgs__sim_handle_get(&(*ctx)->dev->handles, FGS__SIM_KIND_EXEC,
                             handle);
    return *g ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

/* An H200 does not capture it either (driver 580). */
CUresult fgs__sim_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = exec_of(&ctx, exec, &g);

    if (r)
        return r;
    r = fgs__sim_sticky(ctx);
    if (!r)
        r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && g->ctx != ctx)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r)
        r = fgs__sim_uncaptured(s);
    if (!r)
        r = fgs__sim_graph_launch(g, s);
    return fgs__sim_leave(r);
}

/* Everything is in memory already. */
CUresult fgs__sim_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = exec_of(&ctx, exec, &g);

    if (r)
        return r;
    r = fgs__sim_sticky(ctx);
    if (!r)
        r = fgs__sim_stream_get(ctx, stream, &s);
    return fgs__sim_leave(r);
}

/* Launches that run go on: they have their own copies. */
CUresult fgs__sim_cuGraphExecDestroy(CUgraphExec exec)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = exec_of(&ctx, exec, &g);

    if (r)
        return r;
    fgs__sim_graph_free(g);
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = exec_of(&ctx, exec, &g);

    if (r)
        return r;
    if (flags)
        *flags = g->flags;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* ---------------------------------------------------------------- update -- */

static void number(struct fgs__sim_graph *g)
{
    uint32_t n = 0;

    for (struct fgs__sim_node *o = g->head; o; o = o->next)
        o->mark = n++;
}

static bool same_cond(const struct fgs__sim_bodies *a,
                      const struct fgs__sim_bodies *b)
{
    return a->cond == b->cond && a->type == b->type && a->size == b->size;
}

struct fgs__sim_node *fgs__sim_graph_differs(struct fgs__sim_graph *old,
                                             struct fgs__sim_graph *now,
                                             CUgraphExecUpdateResult *why)
{
    struct fgs__sim_node *a = old->head, *b = now->head;

    number(old);
    number(now);
    for (; a && b; a = a->next, b = b->next) {
        *why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (a->type != b->type)
            return b;
        *why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (a->deps.count != b->deps.count)
            return b;
        *why = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        if (a->op && a->op->kind == FGS__SIM_OP_LEASE &&
            a->op->u.lease.lease != b->op->u.lease.lease)
            return b;
        if (a->op && a->op->kind == FGS__SIM_OP_COND &&
            !same_cond(a->op->u.cond.bodies, b->op->u.cond.bodies))
            return b;
        *why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (size_t i = 0; i < a->deps.count; i++) {
            if (a->deps.item[i].node->mark != b->deps.item[i].node->mark ||
                memcmp(&a->deps.item[i].data, &b->deps.item[i].data,
                       sizeof(CUgraphEdgeData)))
                return b;
        }
    }
    *why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return a ? a : b;
}

static CUresult update(CUgraphExec exec, CUgraph graph,
                       CUgraphExecUpdateResult *result, CUgraphNode *node)
{
    struct fgs__sim_graph *g, *from, *now = NULL;
    struct fgs__sim_node *bad, *a, *b;
    struct fgs__sim_ctx *ctx;
    CUresult r = exec_of(&ctx, exec, &g);

    if (r)
        return r;
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    *node = NULL;
    r = fgs__sim_sticky(ctx);
    if (r)
        goto leave;
    from = fgs__sim_graph_of(ctx, graph);
    r = from ? fgs__sim_graph_copy(&now, from, true)
             : CUDA_ERROR_INVALID_VALUE;
    if (r)
        goto leave;
    bad = fgs__sim_graph_differs(g, now, result);
    if (bad) {
        *node = (CUgraphNode)(uintptr_t)bad->source;
        r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        goto free_copy;
    }
    for (a = g->head, b = now->head; a; a = a->next, b = b->next) {
        struct fgs__sim_op *op = a->op;

        a->op = b->op;
        b->op = op;
        a->event = b->event;
        a->copy = b->copy;
    }
    *result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
free_copy:
    fgs__sim_graph_free(now);
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                                    CUgraphNode *node,
                                    CUgraphExecUpdateResult *result)
{
    if (!node || !result)
        return CUDA_ERROR_INVALID_VALUE;
    return update(exec, graph, result, node);
}

CUresult fgs__sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                       CUgraphExecUpdateResultInfo *info)
{
    if (!info)
        return CUDA_ERROR_INVALID_VALUE;
    info->errorFromNode = NULL;
    return update(exec, graph, &info->result, &info->errorNode);
}
