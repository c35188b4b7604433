/* cu_graph_info.c -- entry points: identity of nodes, on and off, a drawing */
#include "sim/graph.h"

/* -------------------------------------------------------------- identity -- */

CUresult fgs__sim_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node,
                                         CUgraph clone)
{
    struct fgs__sim_node *n, *at;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, clone, &g);

    if (r)
        return r;
    n = fgs__sim_node_of(ctx, node);
    at = n && out ? g->head : NULL;
    while (at && at->origin != n->handle)
        at = at->next;
    if (at)
        *out = (CUgraphNode)at->handle;
    return fgs__sim_leave(at ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult enter_node(struct fgs__sim_ctx **ctx, CUgraphNode node,
                           const void *out, struct fgs__sim_node **n)
{
    CUresult r = fgs__sim_enter_calm(ctx);

    if (r)
        return r;
    *n = fgs__sim_node_of(*ctx, node);
    return *n && out ? CUDA_SUCCESS
                     : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph *out)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_node(&ctx, node, out, &n);

    if (r)
        return r;
    *out = (CUgraph)n->graph->handle;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* Its place in the list of its graph's nodes. */
CUresult fgs__sim_cuGraphNodeGetLocalId(CUgraphNode node, unsigned int *id)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_node(&ctx, node, id, &n);

    if (r)
        return r;
    *id = 0;
    for (struct fgs__sim_node *o = n->graph->head; o != n; o = o->next)
        ++*id;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuGraphNodeGetToolsId(CUgraphNode node,
                                        unsigned long long *id)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_node(&ctx, node, id, &n);

    if (r)
        return r;
    *id = n->handle;
    return fgs__sim_leave(CUDA_SUCCESS);
}

static CUresult graph_id(const void *handle, enum fgs__sim_kind kind,
                         unsigned int *id)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    g = fgs__sim_handle_get(&ctx->dev->handles, kind, handle);
    if (g && id)
        *id = g->id;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphGetId(CUgraph graph, unsigned int *id)
{
    return graph_id(graph, FGS__SIM_KIND_GRAPH, id);
}

CUresult fgs__sim_cuGraphExecGetId(CUgraphExec exec, unsigned int *id)
{
    return graph_id(exec, FGS__SIM_KIND_EXEC, id);
}

/* ------------------------------------------------------------ on and off -- */

static CUresult enabled(CUgraphExec exec, CUgraphNode node,
                        struct fgs__sim_ctx **ctx, struct fgs__sim_node **n)
{
    CUresult r = fgs__sim_enter_calm(ctx);

    if (r)
        return r;
    *n = fgs__sim_exec_node(*ctx, exec, fgs__sim_node_of(*ctx, node));
    return *n && ((*n)->type == CU_GRAPH_NODE_TYPE_KERNEL ||
                  (*n)->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                  (*n)->type == CU_GRAPH_NODE_TYPE_MEMSET)
        ? CUDA_SUCCESS
        : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node,
                                        unsigned int on)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = enabled(exec, node, &ctx, &n);

    if (r)
        return r;
    n->disabled = !on;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node,
                                        unsigned int *on)
{
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = on ? enabled(exec, node, &ctx, &n) : CUDA_ERROR_INVALID_VALUE;

    if (r)
        return r;
    *on = !n->disabled;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* ---------------------------------------------------------- child graphs -- */

/* The ops of `from` for the nodes that stand for those of `was`; both have
 * the same shape, at all levels. */
static CUresult same_shape(struct fgs__sim_graph *was,
                           struct fgs__sim_graph *now)
{
    CUgraphExecUpdateResult why;
    struct fgs__sim_node *a, *b;
    CUresult r = CUDA_SUCCESS;

    if (fgs__sim_graph_differs(was, now, &why))
        return CUDA_ERROR_INVALID_VALUE;
    for (a = was->head, b = now->head; a && !r; a = a->next, b = b->next) {
        if (a->child)
            r = same_shape(a->child, b->child);
    }
    return r;
}

static void give_ops(struct fgs__sim_graph *exec, struct fgs__sim_graph *was,
                     struct fgs__sim_graph *now)
{
    struct fgs__sim_node *a, *b, *at;

    for (a = was->head, b = now->head; a; a = a->next, b = b->next) {
        struct fgs__sim_op *op;

        if (a->child) {
            give_ops(exec, a->child, b->child);
            continue;
        }
        for (at = exec->head; at && at->source != a->source; at = at->next)
            ;
        if (!at)
            continue;
        op = at->op;
        at->op = b->op;
        b->op = op;
        at->event = b->event;
        at->copy = b->copy;
    }
}

CUresult fgs__sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec,
                                                     CUgraphNode node,
                                                     CUgraph childGraph)
{
    struct fgs__sim_graph *g, *from, *now = NULL;
    struct fgs__sim_node *n;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, childGraph, &from);

    if (r)
        return r;
    g = fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EXEC, exec);
    n = fgs__sim_node_of(ctx, node);
    r = g && n && n->child ? fgs__sim_graph_copy(&now, from, false)
                           : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = same_shape(n->child, now);
    if (!r)
        give_ops(g, n->child, now);
    if (now)
        fgs__sim_graph_free(now);
    return fgs__sim_leave(r);
}

/* --------------------------------------------------------------- drawing -- */

static const char *const type_names[] = {
    "KERNEL", "MEMCPY", "MEMSET", "HOST",       "GRAPH",
    "EMPTY",  "WAIT",   "RECORD", "EXT_SIGNAL", "EXT_WAIT",
    "ALLOC",  "FREE",   "BATCH",  "CONDITIONAL"
};

static void draw_node(FILE *to, const struct fgs__sim_node *n, bool verbose)
{
    const struct fgs__sim_grid *g = &n->op->u.kernel.grid;

    fprintf(to, "  n%u [shape=box label=\"%u %s", (unsigned)n->mark,
            (unsigned)n->mark, type_names[n->type]);
    if (n->type == CU_GRAPH_NODE_TYPE_KERNEL)
        fprintf(to, "\\n%s", g->code->func->name);
    if (n->type == CU_GRAPH_NODE_TYPE_KERNEL && verbose)
        fprintf(to, "\\n(%u,%u,%u) x (%u,%u,%u), %u bytes shared",
                (unsigned)g->grid[0], (unsigned)g->grid[1],
                (unsigned)g->grid[2], (unsigned)g->block[0],
                (unsigned)g->block[1], (unsigned)g->block[2],
                (unsigned)g->dynamic_bytes);
    if (n->type == CU_GRAPH_NODE_TYPE_MEMSET && verbose)
        fprintf(to, "\\n%#llx = %u, %llu x %llu of %u",
                (unsigned long long)n->op->u.fill.va,
                (unsigned)n->op->u.fill.value,
                (unsigned long long)n->op->u.fill.count,
                (unsigned long long)n->op->u.fill.rows,
                (unsigned)n->op->u.fill.width);
    fprintf(to, "\"]\n");
}

static void draw(FILE *to, struct fgs__sim_graph *g, bool verbose)
{
    uint32_t k = 0;

    fprintf(to, "digraph g {\n");
    for (struct fgs__sim_node *n = g->head; n; n = n->next) {
        n->mark = k++;
        draw_node(to, n, verbose);
    }
    for (struct fgs__sim_node *n = g->head; n; n = n->next) {
        for (size_t i = 0; i < n->deps.count; i++)
            fprintf(to, "  n%u -> n%u%s\n",
                    (unsigned)n->deps.item[i].node->mark, (unsigned)n->mark,
                    n->deps.item[i].data.type ? " [style=dashed]" : "");
    }
    fprintf(to, "}\n");
}

/* Any flag that asks for parameters gives all there are. */
CUresult fgs__sim_cuGraphDebugDotPrint(CUgraph graph, const char *path,
                                       unsigned int flags)
{
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);
    FILE *to;

    if (r)
        return r;
    to = path && flags < 1u << 16 ? fopen(path, "w") : NULL;
    if (!to)
        return fgs__sim_leave(path && flags < 1u << 16
                                  ? CUDA_ERROR_OPERATING_SYSTEM
                                  : CUDA_ERROR_INVALID_VALUE);
    draw(to, g, flags != 0);
    if (ferror(to))
        r = CUDA_ERROR_OPERATING_SYSTEM;
    if (fclose(to))
        r = CUDA_ERROR_OPERATING_SYSTEM;
    return fgs__sim_leave(r);
}
