/* cu_graph_attr.c -- entry points: attributes of kernel nodes */
#include "sim/graph.h"

/* Where each is kept; -1 = of clusters, or none of kernel nodes. */
static int place_of(CUkernelNodeAttrID id)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        return 0;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return 1;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        return 2;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        return 3;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return 4;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return 5;
    default:
        return -1;
    }
}

void fgs__sim_node_attrs(struct fgs__sim_node *n)
{
    struct fgs__sim_stream_attr *a =
        &n->attr[place_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)];

    a->set = true;
    a->value.cooperative = n->op->u.kernel.cooperative;
    a = &n->attr[place_of(CU_LAUNCH_ATTRIBUTE_PRIORITY)];
    a->set = true;
    a->value.priority = n->op->u.kernel.priority;
}

/* The kernel node of a handle and the attribute's place. */
static CUresult enter(struct fgs__sim_ctx **ctx, CUgraphNode node,
                      struct fgs__sim_node **n)
{
    CUresult r = fgs__sim_enter_calm(ctx);

    if (r)
        return r;
    *n = fgs__sim_node_of(*ctx, node);
    return *n && (*n)->type == CU_GRAPH_NODE_TYPE_KERNEL
        ? CUDA_SUCCESS
        : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuGraphKernelNodeGetAttribute(CUgraphNode node,
                                                CUkernelNodeAttrID attr,
                                                CUkernelNodeAttrValue *value)
{
    int at = place_of(attr);
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, node, &n);

    if (r)
        return r;
    if (!value)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    if (at < 0)
        return fgs__sim_leave(fgs__sim_cluster_node_get(n, attr, value));
    *value = n->attr[at].value;
    if (!n->attr[at].set &&
        attr == CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        value->sharedMemCarveout = (unsigned int)-1; /* the default */
    if (!n->attr[at].set && attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
        value->memSyncDomainMap.remote = 1;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* The same bounds as those of a launch (cu_launch.c). */
static CUresult check(const struct fgs__sim_node *n, CUkernelNodeAttrID attr,
                      CUkernelNodeAttrValue *v)
{
    const struct fgs__sim_grid *g = &n->op->u.kernel.grid;
    const fgs_sim_config *cfg = &n->graph->ctx->dev->cfg;

    switch (attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        return v->accessPolicyWindow.num_bytes ? CUDA_ERROR_INVALID_VALUE
                                               : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return v->cooperative &&
                g->blocks > (uint64_t)cfg->sms *
                        fgs__sim_fit(cfg, g->code, g->threads, g->shared_bytes)
            ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
            : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        v->priority = fgs__sim_priority(v->priority);
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return v->memSyncDomain > 1 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return v->sharedMemCarveout > CU_SHAREDMEM_CARVEOUT_MAX_SHARED
            ? CUDA_ERROR_INVALID_VALUE
            : CUDA_SUCCESS;
    default:
        return CUDA_SUCCESS;
    }
}

CUresult fgs__sim_cuGraphKernelNodeSetAttribute(
    CUgraphNode node, CUkernelNodeAttrID attr,
    const CUkernelNodeAttrValue *value)
{
    int at = place_of(attr);
    CUkernelNodeAttrValue v;
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, node, &n);

    if (r)
        return r;
    if (!value)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    if (at < 0)
        return fgs__sim_leave(fgs__sim_cluster_node_set(ctx, n, attr, value));
    v = *value;
    r = check(n, attr, &v);
    if (!r) {
        n->attr[at].value = v;
        n->attr[at].set = true;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphKernelNodeCopyAttributes(CUgraphNode dst,
                                                  CUgraphNode src)
{
    struct fgs__sim_node *to, *from;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, dst, &to);

    if (r)
        return r;
    from = fgs__sim_node_of(ctx, src);
    if (!from || from->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    r = fgs__sim_cluster_keep(ctx, to->op, from->op);
    if (!r)
        memmove(to->attr, from->attr, sizeof to->attr);
    return fgs__sim_leave(r);
}
