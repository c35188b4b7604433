/* cu_graph_mem.c -- entry points: memory nodes of graphs
 *
 * What is refused is what an H200 answered (driver 580).
 */
#include "sim/graph.h"

static CUresult check(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    if (!p || !p->bytesize ||
        p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        p->accessDescCount > 1 || (p->accessDescCount && !p->accessDescs))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->poolProps.handleTypes ||
        p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (p->poolProps.location.id)
        return CUDA_ERROR_INVALID_VALUE;
    if (!p->accessDescCount)
        return CUDA_SUCCESS;
    if (p->accessDescs->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    return p->accessDescs->location.id ? CUDA_ERROR_INVALID_DEVICE
                                       : CUDA_SUCCESS;
}

CUresult fgs__sim_lease_new(struct fgs__sim_op **op, struct fgs__sim_stream *s,
                            struct fgs__sim_graph *g,
                            const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    struct fgs__sim_lease *l;
    CUresult r = check(p);

    if (!r)
        r = fgs__sim_lease_make(&l, g, p->bytesize);
    if (r)
        return r;
    l->props = p->poolProps;
    if (p->accessDescCount) {
        l->access = *p->accessDescs;
        l->accesses = 1;
    }
    *op = fgs__sim_lease_op(s, l, true);
    fgs__sim_lease_drop(s->ctx, l); /* the op holds it */
    return *op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fgs__sim_lease_end(struct fgs__sim_op **op, struct fgs__sim_stream *s,
                            const struct fgs__sim_graph *g, CUdeviceptr ptr)
{
    struct fgs__sim_lease *l = fgs__sim_lease_at(s->ctx, ptr);

    /* Freed in its own graph or in others, and there once each. */
    if (!l || l->va != ptr || l->inner || (l->outer && l->graph == g->id))
        return CUDA_ERROR_INVALID_VALUE;
    for (const struct fgs__sim_node *n = g->head; n; n = n->next) {
        if (n->type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
            n->op->u.lease.lease == l)
            return CUDA_ERROR_INVALID_VALUE;
    }
    *op = fgs__sim_lease_op(s, l, false);
    return *op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void fgs__sim_lease_node(struct fgs__sim_node *n, bool made)
{
    struct fgs__sim_lease *l = n->op->u.lease.lease;

    if (n->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
        return;
    n->frees = made;
    if (l->graph == n->graph->id)
        l->inner = made;
    else
        l->outer += made ? 1u : -1u;
}

static CUresult add(const struct fgs__sim_place *at,
                    CUDA_MEM_ALLOC_NODE_PARAMS *p, CUdeviceptr ptr)
{
    CUgraphNodeType type =
        p ? CU_GRAPH_NODE_TYPE_MEM_ALLOC : CU_GRAPH_NODE_TYPE_MEM_FREE;
    struct fgs__sim_node *n = NULL;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, at->graph, &g);
    struct fgs__sim_op *op;

    if (r)
        return r;
    r = p ? fgs__sim_lease_new(&op, ctx->legacy, g, p)
          : fgs__sim_lease_end(&op, ctx->legacy, g, ptr);
    if (!r)
        r = fgs__sim_place_node(ctx, at, type, op, &n);
    if (!r) {
        fgs__sim_lease_node(n, true);
        if (p)
            p->dptr = n->op->u.lease.lease->va;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_add_alloc(const struct fgs__sim_place *at,
                            CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    return p ? add(at, p, 0) : CUDA_ERROR_INVALID_VALUE;
}

CUresult fgs__sim_add_free(const struct fgs__sim_place *at, CUdeviceptr ptr)
{
    return add(at, NULL, ptr);
}

CUresult fgs__sim_cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph,
                                         const CUgraphNode *deps, size_t count,
                                         CUDA_MEM_ALLOC_NODE_PARAMS *v)
{
    struct fgs__sim_place at = { out, graph, deps, count, NULL };

    return fgs__sim_add_alloc(&at, v);
}

CUresult fgs__sim_cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph,
                                        const CUgraphNode *deps, size_t count,
                                        CUdeviceptr ptr)
{
    struct fgs__sim_place at = { out, graph, deps, count, NULL };

    return fgs__sim_add_free(&at, ptr);
}

static CUresult lease_of(CUgraphNode node, CUgraphNodeType type,
                         const void *out, struct fgs__sim_lease **l)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    n = fgs__sim_node_of(ctx, node);
    if (!out || !n || n->type != type)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *l = n->op->u.lease.lease;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                               CUDA_MEM_ALLOC_NODE_PARAMS *v)
{
    struct fgs__sim_lease *l = NULL;
    CUresult r = lease_of(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, v, &l);

    if (r)
        return r;
    *v = (CUDA_MEM_ALLOC_NODE_PARAMS){ l->props, &l->access, l->accesses,
                                       l->bytes, l->va };
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphMemFreeNodeGetParams(CUgraphNode node,
                                              CUdeviceptr *out)
{
    struct fgs__sim_lease *l = NULL;
    CUresult r = lease_of(node, CU_GRAPH_NODE_TYPE_MEM_FREE, out, &l);

    if (r)
        return r;
    *out = l->va;
    return fgs__sim_leave(r);
}

/* -------------------------------------------------------------- captures -- */

/* Of a bad size or address the capture goes on. */
CUresult fgs__sim_capture_alloc(struct fgs__sim_stream *s, uint64_t bytes,
                                CUdeviceptr *ptr)
{
    const CUDA_MEM_ALLOC_NODE_PARAMS p = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
        .bytesize = bytes
    };
    struct fgs__sim_op *op;
    CUdeviceptr va;
    CUresult r;

    if (s->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    r = fgs__sim_lease_new(&op, s, s->capture->graph, &p);
    if (r)
        return r;
    va = op->u.lease.lease->va;
    r = fgs__sim_submit(op);
    if (!r)
        *ptr = va;
    return r;
}

CUresult fgs__sim_capture_free(struct fgs__sim_stream *s, CUdeviceptr ptr)
{
    struct fgs__sim_op *op;
    CUresult r;

    if (s->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    r = fgs__sim_lease_end(&op, s, s->capture->graph, ptr);
    if (!r)
        r = fgs__sim_submit(op);
    if (!r)
        fgs__sim_lease_node(s->last.item[0].node, true);
    return r;
}

/* ------------------------------------------------------------ attributes -- */

static CUresult enter_device(CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    return dev ? fgs__sim_leave(CUDA_ERROR_INVALID_DEVICE) : r;
}

/* Nothing is kept back: what is reserved is what is used. */
CUresult fgs__sim_cuDeviceGetGraphMemAttribute(CUdevice device,
                                               CUgraphMem_attribute attr,
                                               void *value)
{
    CUresult r = enter_device(device);
    const struct fgs__sim_device *dev = fgs__sim_driver.dev;
    uint64_t v = 0;

    if (r)
        return r;
    if (!value || attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    if (dev)
        v = attr % 2 ? dev->graph_high[attr / 2] : dev->graph_used;
    memcpy(value, &v, sizeof v);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceSetGraphMemAttribute(CUdevice device,
                                               CUgraphMem_attribute attr,
                                               void *value)
{
    CUresult r = enter_device(device);
    struct fgs__sim_device *dev = fgs__sim_driver.dev;
    uint64_t v;

    if (r)
        return r;
    if (!value || (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
                   attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(&v, value, sizeof v);
    if (v)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (dev)
        dev->graph_high[attr / 2] = dev->graph_used;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult r = enter_device(device);

    return r ? r : fgs__sim_leave(r);
}
