/* graph.c -- graphs: nodes, edges, copies */
#include "sim/cond.h"

static const CUgraphEdgeData plain;

struct fgs__sim_graph *fgs__sim_graph_make(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_graph *g = fgs__zalloc(&dev->alloc, sizeof *g);

    if (!g)
        return NULL;
    g->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_GRAPH, g);
    if (!g->handle) {
        fgs__free(&dev->alloc, g);
        return NULL;
    }
    g->id = ++fgs__sim_driver.graph_ids;
    g->ctx = ctx;
    g->tail = &g->head;
    g->next = ctx->graphs;
    ctx->graphs = g;
    return g;
}

void fgs__sim_edges_free(const fgs_allocator *a, struct fgs__sim_edges *e)
{
    fgs__free(a, e->item);
    memset(e, 0, sizeof *e);
}

bool fgs__sim_edges_push(const fgs_allocator *a, struct fgs__sim_edges *e,
                         struct fgs__sim_node *node,
                         const CUgraphEdgeData *data)
{
    void *items = e->item;

    for (size_t i = 0; i < e->count; i++) {
        if (e->item[i].node == node && !memcmp(&e->item[i].data,
                                               data ? data : &plain,
                                               sizeof plain))
            return true; /* there already */
    }
    if (!fgs__vec_reserve(a, &items, &e->cap, e->count, sizeof *e->item))
        return false;
    e->item = items;
    e->item[e->count++] = (struct fgs__sim_edge){ node, data ? *data : plain };
    return true;
}

bool fgs__sim_edges_copy(const fgs_allocator *a, struct fgs__sim_edges *to,
                         const struct fgs__sim_edges *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (!fgs__sim_edges_push(a, to, from->item[i].node,
                                 &from->item[i].data))
            return false;
    }
    return true;
}

static void release_node(struct fgs__sim_node *n)
{
    struct fgs__sim_device *dev = n->graph->ctx->dev;

    if (n->frees)
        fgs__sim_lease_node(n, false);
    if (n->op)
        fgs__sim_op_free(n->op);
    if (n->child)
        fgs__sim_graph_free(n->child);
    fgs__sim_edges_free(&dev->alloc, &n->deps);
    fgs__free(&dev->alloc, n->params);
    if (n->handle)
        fgs__sim_handle_free(&dev->handles, n->handle);
    fgs__free(&dev->alloc, n);
}

void fgs__sim_graph_free(struct fgs__sim_graph *g)
{
    struct fgs__sim_device *dev = g->ctx->dev;
    struct fgs__sim_graph **at = &g->ctx->graphs;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    while (g->head) {
        struct fgs__sim_node *n = g->head;

        g->head = n->next;
        release_node(n);
    }
    fgs__sim_conds_drop(g);
    fgs__sim_mark_drop(dev, g->last);
    fgs__sim_users_drop(dev, &g->users);
    fgs__sim_handle_free(&dev->handles, g->handle);
    fgs__free(&dev->alloc, g);
}

void fgs__sim_graphs_free(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_graph *g = ctx->graphs;

    while (g) {
        while (g && g->owned) /* its node or op takes it along */
            g = g->next;
        if (g) {
            fgs__sim_graph_free(g);
            g = ctx->graphs;
        }
    }
}

struct fgs__sim_graph *fgs__sim_graph_of(struct fgs__sim_ctx *ctx,
                                         CUgraph handle)
{
    return fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_GRAPH,
                               handle);
}

struct fgs__sim_node *fgs__sim_node_of(struct fgs__sim_ctx *ctx,
                                       CUgraphNode handle)
{
    return fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_NODE,
                               handle);
}

struct fgs__sim_node *fgs__sim_node_add(struct fgs__sim_graph *g,
                                        CUgraphNodeType type,
                                        struct fgs__sim_op *op,
                                        const struct fgs__sim_edges *deps)
{
    struct fgs__sim_device *dev = g->ctx->dev;
    struct fgs__sim_node *n = fgs__zalloc(&dev->alloc, sizeof *n);

    if (!n) {
        if (op)
            fgs__sim_op_free(op);
        return NULL;
    }
    n->graph = g;
    n->op = op;
    n->type = type;
    n->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_NODE, n);
    n->source = n->handle; /* never that of another node */
    if (!n->handle ||
        (deps && !fgs__sim_edges_copy(&dev->alloc, &n->deps, deps))) {
        release_node(n);
        return NULL;
    }
    if (op)
        op->stream = g->ctx->legacy; /* lives as long as the graph */
    *g->tail = n;
    g->tail = &n->next;
    g->count++;
    return n;
}

static void forget(struct fgs__sim_edges *e, const struct fgs__sim_node *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->count; i++) {
        if (e->item[i].node != n)
            e->item[kept++] = e->item[i];
    }
    e->count = kept;
}

void fgs__sim_node_free(struct fgs__sim_node *n)
{
    struct fgs__sim_graph *g = n->graph;
    struct fgs__sim_node **at = &g->head;

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    if (g->tail == &n->next)
        g->tail = at;
    g->count--;
    for (struct fgs__sim_node *o = g->head; o; o = o->next)
        forget(&o->deps, n);
    /* The graph may be one that a capture makes. */
    for (struct fgs__sim_stream *s = g->ctx->streams; s; s = s->next)
        forget(&s->last, n);
    for (struct fgs__sim_event *e = g->ctx->events; e; e = e->next)
        forget(&e->last, n);
    release_node(n);
}

bool fgs__sim_node_followed(const struct fgs__sim_node *n)
{
    for (const struct fgs__sim_node *o = n->graph->head; o; o = o->next) {
        for (size_t i = 0; i < o->deps.count; i++) {
            if (o->deps.item[i].node == n)
                return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------- order -- */

/* Number the nodes (mark, from 1) so that each stands behind what it follows;
 * false = there is a ring. */
static bool number(struct fgs__sim_graph *g)
{
    uint32_t n = 0;
    bool any = true;

    for (struct fgs__sim_node *o = g->head; o; o = o->next)
        o->mark = 0;
    while (any) {
        any = false;
        for (struct fgs__sim_node *o = g->head; o; o = o->next) {
            size_t i = 0;

            while (i < o->deps.count && o->deps.item[i].node->mark)
                i++;
            if (o->mark || i < o->deps.count)
                continue;
            o->mark = ++n;
            any = true;
        }
    }
    return n == g->count;
}

/* A programmatic edge leads from a kernel's port to a kernel. */
static bool good_edge(const struct fgs__sim_node *from,
                      const struct fgs__sim_node *to,
                      const CUgraphEdgeData *d)
{
    static const unsigned char zero[5];

    if (d->to_port || memcmp(d->reserved, zero, sizeof zero) || d->type > 1)
        return false;
    if (!d->type)
        return !d->from_port ||
            (from->type == CU_GRAPH_NODE_TYPE_KERNEL &&
             d->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    return from->type == CU_GRAPH_NODE_TYPE_KERNEL &&
        to->type == CU_GRAPH_NODE_TYPE_KERNEL && d->from_port >= 1 &&
        d->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
}

CUresult fgs__sim_edge_add(struct fgs__sim_node *from,
                           struct fgs__sim_node *to,
                           const CUgraphEdgeData *data)
{
    const fgs_allocator *a = &to->graph->ctx->dev->alloc;

    if (from == to || from->graph != to->graph ||
        !good_edge(from, to, data ? data : &plain))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < to->deps.count; i++) {
        if (to->deps.item[i].node == from)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!fgs__sim_edges_push(a, &to->deps, from, data))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (number(to->graph))
        return CUDA_SUCCESS;
    to->deps.count--;
    return CUDA_ERROR_INVALID_VALUE;
}

/* -------------------------------------------------------------- copies -- */

static struct fgs__sim_node *copy_node(struct fgs__sim_graph *to,
                                       const struct fgs__sim_node *n,
                                       bool flat)
{
    struct fgs__sim_op *op =
        n->op ? fgs__sim_op_copy(n->op, to->ctx->legacy) : NULL;
    struct fgs__sim_node *out;

    if (n->op && !op)
        return NULL;
    if (flat && op && op->kind == FGS__SIM_OP_COND &&
        !fgs__sim_bodies_flatten(op)) {
        fgs__sim_op_free(op);
        return NULL;
    }
    out = fgs__sim_node_add(to, n->type, op, NULL);
    if (!out)
        return NULL;
    if (flat)
        out->source = n->source;
    out->origin = n->handle;
    memcpy(out->attr, n->attr, sizeof out->attr);
    out->event = n->event;
    out->copy = n->copy;
    return out;
}

/* The nodes of `g` into `to`; roots follow `in`, each old node's mark says
 * where its copy stands in map[]. */
static CUresult copy_into(struct fgs__sim_graph *to, struct fgs__sim_graph *g,
                          struct fgs__sim_node *in, bool flat);

/* A child graph dissolved: an empty node before and one behind it. */
static struct fgs__sim_node *dissolve(struct fgs__sim_graph *to,
                                      const struct fgs__sim_node *n,
                                      struct fgs__sim_node **in, CUresult *r)
{
    struct fgs__sim_op *a =
        fgs__sim_op_make(to->ctx->legacy, FGS__SIM_OP_EMPTY);
    struct fgs__sim_op *b;
    struct fgs__sim_node *out = NULL, *first;

    *r = CUDA_ERROR_OUT_OF_MEMORY;
    *in = a ? fgs__sim_node_add(to, CU_GRAPH_NODE_TYPE_EMPTY, a, NULL) : NULL;
    if (!*in)
        return NULL;
    first = *in;
    *r = copy_into(to, n->child, *in, true);
    if (*r)
        return NULL;
    *r = CUDA_ERROR_OUT_OF_MEMORY;
    b = fgs__sim_op_make(to->ctx->legacy, FGS__SIM_OP_EMPTY);
    out = b ? fgs__sim_node_add(to, CU_GRAPH_NODE_TYPE_EMPTY, b, NULL) : NULL;
    if (!out)
        return NULL;
    for (struct fgs__sim_node *o = first; o != out; o = o->next) {
        if (!fgs__sim_node_followed(o) &&
            !fgs__sim_edges_push(&to->ctx->dev->alloc, &out->deps, o, NULL))
            return NULL;
    }
    *r = CUDA_SUCCESS;
    return out;
}

static CUresult link_copy(struct fgs__sim_graph *to,
                          const struct fgs__sim_node *n,
                          struct fgs__sim_node *copy, struct fgs__sim_node *in,
                          struct fgs__sim_node **map)
{
    const fgs_allocator *a = &to->ctx->dev->alloc;

    if (in && !n->deps.count &&
        !fgs__sim_edges_push(a, &copy->deps, in, NULL))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < n->deps.count; i++) {
        const struct fgs__sim_edge *e = &n->deps.item[i];

        if (!fgs__sim_edges_push(a, &copy->deps, map[e->node->mark], &e->data))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult copy_one(struct fgs__sim_graph *to,
                         const struct fgs__sim_node *n,
                         struct fgs__sim_node *in, bool flat,
                         struct fgs__sim_node **map)
{
    struct fgs__sim_node *first, *last;
    CUresult r = CUDA_SUCCESS;

    if (n->child && flat) {
        last = dissolve(to, n, &first, &r);
    } else {
        first = last = copy_node(to, n, flat);
        if (last && n->child)
            r = fgs__sim_graph_copy(&last->child, n->child, false);
        if (last && last->child)
            last->child->owned = true;
    }
    if (!last)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r)
        r = link_copy(to, n, first, in, map);
    map[n->mark] = last;
    return r;
}

static CUresult copy_into(struct fgs__sim_graph *to, struct fgs__sim_graph *g,
                          struct fgs__sim_node *in, bool flat)
{
    const fgs_allocator *a = &to->ctx->dev->alloc;
    struct fgs__sim_node **map;
    CUresult r = CUDA_SUCCESS;

    if (!number(g))
        return CUDA_ERROR_INVALID_VALUE;
    map = fgs__alloc_array(a, g->count + 1, sizeof *map);
    if (!map)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 1; !r && k <= g->count; k++) {
        struct fgs__sim_node *n = g->head;

        while (n->mark != k)
            n = n->next;
        r = copy_one(to, n, in, flat, map);
    }
    fgs__free(a, map);
    return r;
}

CUresult fgs__sim_graph_copy(struct fgs__sim_graph **out,
                             const struct fgs__sim_graph *g, bool flat)
{
    struct fgs__sim_graph *to = fgs__sim_graph_make(g->ctx);
    CUresult r;

    *out = NULL;
    if (!to)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = copy_into(to, (struct fgs__sim_graph *)(uintptr_t)g, NULL, flat);
    if (!r && !fgs__sim_users_copy(g->ctx->dev, &to->users, &g->users))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r)
        fgs__sim_graph_free(to);
    else
        *out = to;
    return r;
}
