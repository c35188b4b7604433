/* waits.c -- how long the blocks of an edge's reader waited for their tiles */
#include "core/plan.h"

#include <stdlib.h>

static int by_length(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Bits of the number: 0 has none. */
static unsigned bucket(uint64_t ns)
{
    unsigned n = 0;

    while (ns && n < FGS_WAIT_BUCKETS - 1) {
        ns >>= 1;
        n++;
    }
    return n;
}

/* The nearest rank: the shortest wait that `percent` of all do not exceed. */
static uint64_t rank(const uint64_t *ns, uint64_t count, uint64_t percent)
{
    return ns[(count * percent + 99) / 100 - 1];
}

/* Rows in which a block waited: a block that waits for nothing has no `ready`,
 * and one that did not run no start. */
static uint64_t take(const fgs_trace_row *row, uint64_t blocks, uint64_t *ns)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < blocks; i++) {
        if (row[i].start && row[i].ready >= row[i].start)
            ns[n++] = row[i].ready - row[i].start;
    }
    return n;
}

static void describe(uint64_t *ns, uint64_t count, fgs_edge_waits *out)
{
    if (!count)
        return;
    qsort(ns, (size_t)count, sizeof *ns, by_length);
    out->blocks = count;
    out->min_ns = ns[0];
    out->max_ns = ns[count - 1];
    out->p50_ns = rank(ns, count, 50);
    out->p90_ns = rank(ns, count, 90);
    out->p99_ns = rank(ns, count, 99);
    for (uint64_t i = 0; i < count; i++) {
        out->sum_ns += ns[i];
        out->log2[bucket(ns[i])]++;
    }
}

static fgs_result check(const struct fgs__plan *p, uint32_t edge,
                        const fgs_edge_waits *out, fgs_error *err)
{
    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    if (out->size < sizeof *out)
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_edge_waits.size is %zu; set it to %zu",
                         out->size, sizeof *out);
    if (edge >= p->edges)
        return fgs__fail(err, FGS_E_INVAL, "edge %u: the plan has %u", edge,
                         p->edges);
    if (p->level < 2 || !p->waited)
        return fgs__fail(err, FGS_E_STATE,
                         p->level < 2 ? "the plan keeps no trace"
                                      : "no run of the plan was waited for");
    return FGS_OK;
}

fgs_result fgs_plan_get_waits(const fgs_plan *plan, uint32_t edge,
                              fgs_edge_waits *out, fgs_error *err)
{
    const struct fgs__stage *to;
    struct fgs__plan *p;
    uint64_t blocks, *ns;
    fgs_result r = fgs__plan_get(&p, plan, err);

    if (r >= 0)
        r = check(p, edge, out, err);
    if (r < 0)
        return r;
    to = &p->stage[p->edge[edge].to];
    blocks = (uint64_t)to->grid[0] * to->grid[1] * to->grid[2];
    ns = fgs__alloc(&p->dev->alloc, blocks * sizeof *ns);
    if (!ns)
        return fgs__nomem(err);
    *out = (fgs_edge_waits){ .size = out->size };
    describe(ns, take(p->trace_host + to->trace_at, blocks, ns), out);
    fgs__free(&p->dev->alloc, ns);
    return FGS_OK;
}
