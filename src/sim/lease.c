/* lease.c -- memory that a graph allocates and frees while it runs
 *
 * An alloc node gets its address when it is made; the bytes can be reached
 * from where the node runs to where a free does.  For calls, which are ahead
 * of the device, memory is there (`booked`) from the launch of a graph that
 * does not free it to the call that does.  Every op that names a lease holds
 * it, as does the booking; the address goes with the last of them.
 */
#include "sim/graph.h"

CUresult fgs__sim_lease_make(struct fgs__sim_lease **out,
                             struct fgs__sim_graph *g, uint64_t bytes)
{
    struct fgs__sim_ctx *ctx = g->ctx;
    struct fgs__sim_range range;
    struct fgs__sim_lease *l = fgs__zalloc(&ctx->dev->alloc, sizeof *l);
    CUresult r;

    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_GRAPH, ctx,
                           &range);
    if (r) {
        fgs__free(&ctx->dev->alloc, l);
        return r;
    }
    l->va = range.lo;
    l->bytes = bytes;
    l->refs = 1;
    l->graph = g->id;
    l->next = ctx->leases;
    ctx->leases = l;
    *out = l;
    return CUDA_SUCCESS;
}

struct fgs__sim_lease *fgs__sim_lease_at(const struct fgs__sim_ctx *ctx,
                                         uint64_t addr)
{
    struct fgs__sim_lease *l = ctx->leases;

    while (l && addr - l->va >= l->bytes)
        l = l->next;
    return l;
}

bool fgs__sim_call_range(const struct fgs__sim_ctx *ctx, uint64_t addr,
                         bool later, struct fgs__sim_range *out)
{
    const struct fgs__sim_lease *l;

    if (fgs__sim_mem_find(ctx->dev->mem, addr, out))
        return true;
    l = fgs__sim_lease_at(ctx, addr);
    if (!l || (!later && !l->booked))
        return false;
    *out = (struct fgs__sim_range){ l->va, l->va + l->bytes, NULL };
    return true;
}

static void show(struct fgs__sim_ctx *ctx, const struct fgs__sim_lease *l)
{
    const struct fgs__sim_alloc_info with = { .flags = l->booked };

    fgs__sim_mem_tag(ctx->dev->mem, l->va, &with);
}

void fgs__sim_lease_book(struct fgs__sim_ctx *ctx, struct fgs__sim_lease *l,
                         bool on)
{
    if (l->booked == on)
        return;
    l->booked = on;
    show(ctx, l);
    if (on)
        l->refs++;
    else
        fgs__sim_lease_drop(ctx, l);
}

void fgs__sim_lease_run(struct fgs__sim_ctx *ctx, struct fgs__sim_lease *l,
                        bool on)
{
    struct fgs__sim_device *dev = ctx->dev;

    if (l->live == on)
        return;
    l->live = on;
    dev->graph_used += on ? l->bytes : -l->bytes;
    for (int k = 0; k < 2; k++) {
        if (dev->graph_used > dev->graph_high[k])
            dev->graph_high[k] = dev->graph_used;
    }
    fgs__sim_mem_access(dev->mem, l->va, l->va + 1, on);
}

void fgs__sim_lease_drop(struct fgs__sim_ctx *ctx, struct fgs__sim_lease *l)
{
    struct fgs__sim_lease **at = &ctx->leases;

    if (--l->refs)
        return;
    fgs__sim_lease_run(ctx, l, false);
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    fgs__sim_mem_release(ctx->dev->mem, l->va, FGS__SIM_MEM_GRAPH, ctx);
    fgs__free(&ctx->dev->alloc, l);
}

void fgs__sim_leases_free(struct fgs__sim_ctx *ctx)
{
    while (ctx->leases) {
        ctx->leases->refs = 1;
        fgs__sim_lease_drop(ctx, ctx->leases);
    }
}

/* -------------------------------------------------------------- launches -- */

static bool leases(const struct fgs__sim_node *n, bool on)
{
    return n->op && n->op->kind == FGS__SIM_OP_LEASE &&
        n->op->u.lease.on == on;
}

CUresult fgs__sim_leases_check(const struct fgs__sim_graph *exec)
{
    const bool again =
        exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;

    for (const struct fgs__sim_node *n = exec->head; n; n = n->next) {
        if (n->op && n->op->kind == FGS__SIM_OP_LEASE)
            n->op->u.lease.lease->begins = n->op->u.lease.lease->ends = false;
    }
    for (const struct fgs__sim_node *n = exec->head; n; n = n->next) {
        if (leases(n, true))
            n->op->u.lease.lease->begins = true;
        if (leases(n, false))
            n->op->u.lease.lease->ends = true;
    }
    for (const struct fgs__sim_node *n = exec->head; n; n = n->next) {
        const struct fgs__sim_lease *l = n->op ? n->op->u.lease.lease : NULL;

        if ((leases(n, true) && l->booked && !again) ||
            (leases(n, false) && !l->begins && !l->booked))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

void fgs__sim_leases_book(const struct fgs__sim_graph *exec)
{
    for (const struct fgs__sim_node *n = exec->head; n; n = n->next) {
        if (leases(n, true) && !n->op->u.lease.lease->ends)
            fgs__sim_lease_book(exec->ctx, n->op->u.lease.lease, true);
        if (leases(n, false) && !n->op->u.lease.lease->begins)
            fgs__sim_lease_book(exec->ctx, n->op->u.lease.lease, false);
    }
}

struct fgs__sim_op *fgs__sim_lease_op(struct fgs__sim_stream *s,
                                      struct fgs__sim_lease *l, bool on)
{
    struct fgs__sim_op *op = fgs__sim_op_make(s, FGS__SIM_OP_LEASE);

    if (op) {
        op->u.lease.lease = l;
        op->u.lease.on = on;
        l->refs++;
    }
    return op;
}

bool fgs__sim_graph_holds(const struct fgs__sim_graph *g, CUgraphNodeType type)
{
    for (const struct fgs__sim_node *n = g->head; n; n = n->next) {
        if (n->type == type ||
            (n->child && fgs__sim_graph_holds(n->child, type)))
            return true;
    }
    return false;
}

bool fgs__sim_graph_fixed(const struct fgs__sim_graph *g)
{
    return fgs__sim_graph_holds(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC) ||
        fgs__sim_graph_holds(g, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

bool fgs__sim_graph_unique(const struct fgs__sim_graph *g)
{
    return g->parent || fgs__sim_graph_fixed(g) ||
        fgs__sim_graph_holds(g, CU_GRAPH_NODE_TYPE_CONDITIONAL);
}
