/* cu_graph_exec.c -- entry points: graphs, their nodes and edges */
#include "sim/graph.h"

CUresult fgs__sim_cuGraphCreate(CUgraph *out, unsigned int flags)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    if (!out || flags)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    g = fgs__sim_graph_make(ctx);
    if (g)
        *out = (CUgraph)g->handle;
    return fgs__sim_leave(g ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult fgs__sim_own_graph(struct fgs__sim_ctx **ctx, CUgraph handle,
                            struct fgs__sim_graph **g)
{
    CUresult r = fgs__sim_enter_calm(ctx);

    if (r)
        return r;
    *g = fgs__sim_graph_of(*ctx, handle);
    return *g ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuGraphDestroy(CUgraph graph)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    if (g->owned || fgs__sim_capture_into(ctx, g))
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    fgs__sim_graph_free(g);
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuGraphClone(CUgraph *out, CUgraph graph)
{
    struct fgs__sim_graph *g, *copy;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    r = !out                      ? CUDA_ERROR_INVALID_VALUE
        : fgs__sim_graph_unique(g) ? CUDA_ERROR_NOT_SUPPORTED
                                   : fgs__sim_graph_copy(&copy, g, false);
    if (!r)
        *out = (CUgraph)copy->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphDestroyNode(CUgraphNode node)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    n = fgs__sim_node_of(ctx, node);
    if (!n || n->graph->instantiated)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (fgs__sim_graph_fixed(n->graph))
        r = CUDA_ERROR_NOT_SUPPORTED;
    else
        fgs__sim_node_free(n);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    n = fgs__sim_node_of(ctx, node);
    if (n && type)
        *type = n->type;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* ---------------------------------------------------------------- lists -- */

static CUresult list_nodes(CUgraph graph, CUgraphNode *out, size_t *count,
                           bool roots)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);
    size_t n = 0;

    if (r)
        return r;
    if (!count)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    for (struct fgs__sim_node *o = g->head; o; o = o->next) {
        if (roots && o->deps.count)
            continue;
        if (out && n < *count)
            out[n] = (CUgraphNode)o->handle;
        n++;
    }
    /* What did not fit is not counted; what is left over becomes NULL. */
    for (size_t i = n; out && i < *count; i++)
        out[i] = NULL;
    if (!out || n < *count)
        *count = n;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *out,
                                  size_t *count)
{
    return list_nodes(graph, out, count, false);
}

CUresult fgs__sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *out,
                                      size_t *count)
{
    return list_nodes(graph, out, count, true);
}

/* A list of edges: of a graph, or those that lead to or from one node. */
struct edges {
    const struct fgs__sim_graph *graph;
    const struct fgs__sim_node *to, *from; /* NULL = any */
    CUgraphNode *out_from, *out_to;
    CUgraphEdgeData *data;
    size_t *count;
};

static bool wanted(const struct edges *q, const struct fgs__sim_node *to,
                   const struct fgs__sim_node *from)
{
    return (!q->to || q->to == to) && (!q->from || q->from == from);
}

static CUresult list_edges(const struct edges *q)
{
    size_t n = 0, most = q->out_from || q->out_to ? *q->count : 0;

    for (const struct fgs__sim_node *o = q->graph->head; o; o = o->next) {
        for (size_t i = 0; i < o->deps.count; i++) {
            const struct fgs__sim_edge *e = &o->deps.item[i];

            if (!wanted(q, o, e->node))
                continue;
            if (n < most && !q->data && (e->data.type || e->data.from_port))
                return CUDA_ERROR_LOSSY_QUERY;
            if (n < most && q->out_from)
                q->out_from[n] = (CUgraphNode)e->node->handle;
            if (n < most && q->out_to)
                q->out_to[n] = (CUgraphNode)o->handle;
            if (n < most && q->data)
                q->data[n] = e->data;
            n++;
        }
    }
    if (!most || n < most)
        *q->count = n;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from,
                                     CUgraphNode *to, CUgraphEdgeData *data,
                                     size_t *count)
{
    struct edges q = { .out_from = from, .out_to = to, .data = data,
                       .count = count };
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    q.graph = g;
    r = count && !from == !to ? list_edges(&q) : CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from,
                                  CUgraphNode *to, size_t *count)
{
    return fgs__sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

static CUresult neighbours(CUgraphNode node, CUgraphNode *out,
                           CUgraphEdgeData *data, size_t *count, bool before)
{
    struct edges q = { .data = data, .count = count };
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    n = fgs__sim_node_of(ctx, node);
    if (!n || !count)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    q.graph = n->graph;
    *(before ? &q.to : &q.from) = n;
    *(before ? &q.out_from : &q.out_to) = out;
    return fgs__sim_leave(list_edges(&q));
}

CUresult fgs__sim_cuGraphNodeGetDependencies(CUgraphNode node,
                                             CUgraphNode *out, size_t *count)
{
    return neighbours(node, out, NULL, count, true);
}

CUresult fgs__sim_cuGraphNodeGetDependencies_v2(CUgraphNode node,
                                                CUgraphNode *out,
                                                CUgraphEdgeData *data,
                                                size_t *count)
{
    return neighbours(node, out, data, count, true);
}

CUresult fgs__sim_cuGraphNodeGetDependentNodes(CUgraphNode node,
                                               CUgraphNode *out, size_t *count)
{
    return neighbours(node, out, NULL, count, false);
}

CUresult fgs__sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node,
                                                  CUgraphNode *out,
                                                  CUgraphEdgeData *data,
                                                  size_t *count)
{
    return neighbours(node, out, data, count, false);
}

CUresult fgs__sim_cuGraphAddDependencies_v2(CUgraph graph,
                                            const CUgraphNode *from,
                                            const CUgraphNode *to,
                                            const CUgraphEdgeData *data,
                                            size_t count)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    if (count && (!from || !to))
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) {
        struct fgs__sim_node *a = fgs__sim_node_of(ctx, from[i]);
        struct fgs__sim_node *b = fgs__sim_node_of(ctx, to[i]);

        r = a && b && a->graph == g
            ? fgs__sim_edge_add(a, b, data ? &data[i] : NULL)
            : CUDA_ERROR_INVALID_VALUE;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphAddDependencies(CUgraph graph,
                                         const CUgraphNode *from,
                                         const CUgraphNode *to, size_t count)
{
    return fgs__sim_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

static CUresult cut(struct fgs__sim_node *from, struct fgs__sim_node *to,
                    const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData plain;

    for (size_t i = 0; to && i < to->deps.count; i++) {
        struct fgs__sim_edge *e = &to->deps.item[i];

        if (e->node != from ||
            memcmp(&e->data, data ? data : &plain, sizeof plain))
            continue;
        *e = to->deps.item[--to->deps.count];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult fgs__sim_cuGraphRemoveDependencies_v2(CUgraph graph,
                                               const CUgraphNode *from,
                                               const CUgraphNode *to,
                                               const CUgraphEdgeData *data,
                                               size_t count)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    if (count && (!from || !to))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (fgs__sim_graph_fixed(g))
        r = CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; !r && i < count; i++)
        r = cut(fgs__sim_node_of(ctx, from[i]), fgs__sim_node_of(ctx, to[i]),
                data ? &data[i] : NULL);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphRemoveDependencies(CUgraph graph,
                                            const CUgraphNode *from,
                                            const CUgraphNode *to,
                                            size_t count)
{
    return fgs__sim_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
