/* cu_graph_attr.c -- entry points: attributes of kernel nodes */
#include "sim/graph.h"

static void keep(struct fgs__sim_node *n, unsigned int at,
                 const CUlaunchAttributeValue *v)
{
    n->attr[at].value = *v;
    n->attr[at].set = true;
}

void fgs__sim_node_attrs(struct fgs__sim_node *n)
{
    CUlaunchAttributeValue v;

    memset(&v, 0, sizeof v);
    v.cooperative = n->op->u.kernel.cooperative;
    keep(n, FGS__SIM_ATTR_COOPERATIVE, &v);
    v.priority = n->op->u.kernel.priority;
    keep(n, FGS__SIM_ATTR_PRIORITY, &v);
}

void fgs__sim_node_keep(struct fgs__sim_node *n, const CUlaunchConfig *config)
{
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        CUlaunchAttributeValue v = config->attrs[i].value;
        unsigned int at;

        if (!fgs__sim_attribute_check(&at, FGS__SIM_OF_NODE,
                                      config->attrs[i].id, &v))
            keep(n, at, &v);
    }
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
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, node, &n);
    unsigned int at;

    if (r)
        return r;
    r = value ? fgs__sim_attribute_find(&at, FGS__SIM_OF_NODE, attr)
              : CUDA_ERROR_INVALID_VALUE;
    if (!r && !fgs__sim_cluster_node_get(n, attr, value))
        fgs__sim_attribute_get(n->attr, at, value);
    return fgs__sim_leave(r);
}

/* All blocks of a cooperative grid are resident at once (cu_launch.c). */
static CUresult check_size(const struct fgs__sim_node *n, bool cooperative)
{
    const struct fgs__sim_grid *g = &n->op->u.kernel.grid;
    const fgs_sim_config *cfg = &n->graph->ctx->dev->cfg;

    return cooperative &&
            g->blocks > (uint64_t)cfg->sms *
                    fgs__sim_fit(cfg, g->code, g->threads, g->shared_bytes)
        ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        : CUDA_SUCCESS;
}

CUresult fgs__sim_cuGraphKernelNodeSetAttribute(
    CUgraphNode node, CUkernelNodeAttrID attr,
    const CUkernelNodeAttrValue *value)
{
    CUkernelNodeAttrValue v;
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, node, &n);
    unsigned int at;

    if (r)
        return r;
    if (!value)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    v = *value;
    r = fgs__sim_attribute_check(&at, FGS__SIM_OF_NODE, attr, &v);
    if (!r && at == FGS__SIM_ATTR_COOPERATIVE)
        r = check_size(n, v.cooperative);
    if (!r)
        r = fgs__sim_cluster_node_set(ctx, n, attr, &v);
    if (!r && at == FGS__SIM_ATTR_COOPERATIVE)
        n->op->u.kernel.cooperative = v.cooperative != 0;
    if (!r)
        keep(n, at, &v);
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
    if (check_size(to, from->op->u.kernel.cooperative))
        r = CUDA_ERROR_INVALID_VALUE; /* in an H200's driver's words */
    if (!r)
        r = fgs__sim_cluster_keep(ctx, to->op, from->op);
    if (!r) {
        to->op->u.kernel.cooperative = from->op->u.kernel.cooperative;
        memmove(to->attr, from->attr, sizeof to->attr);
    }
    return fgs__sim_leave(r);
}
