/* edge.c -- who waits for whom, and in which order stages are launched */
#include "core/compose.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- edges -- */

const struct fgs__access *fgs__stage_writes(const struct fgs__stage *s,
                                            uint32_t use)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        if (s->access[i].write && s->access[i].use == use)
            return &s->access[i];
    }
    return NULL;
}

/* Stages that touch a use: a range, so that a plan of many stages is not walked
 * for each of its buffers. */
static void find_ranges(struct fgs__plan *p)
{
    for (uint32_t i = 0; i < p->uses; i++) {
        p->use[i].low = FGS__NOWHERE;
        p->use[i].high = 0;
    }
    for (uint32_t i = 0; i < p->stages; i++) {
        const struct fgs__stage *s = &p->stage[i];

        for (uint32_t j = 0; j < s->accesses; j++) {
            struct fgs__use *u = &p->use[s->access[j].use];

            if (u->low == FGS__NOWHERE)
                u->low = i;
            u->high = i + 1;
        }
    }
}

/* Edges into one access; counts only where there is no room yet. */
static void edges_into(struct fgs__plan *p, uint32_t to, uint32_t access)
{
    const struct fgs__access *a = &p->stage[to].access[access];

    for (uint32_t from = p->use[a->use].low; from < p->use[a->use].high;
         from++) {
        if (from == to || !fgs__stage_writes(&p->stage[from], a->use))
            continue;
        if (p->edge)
            p->edge[p->edges] = (struct fgs__edge){
                .from = from, .to = to, .use = a->use, .access = access,
                .asked = a->order, .graph_port = -1
            };
        p->edges++;
    }
}

static void all_edges(struct fgs__plan *p)
{
    p->edges = 0;
    for (uint32_t to = 0; to < p->stages; to++) {
        const struct fgs__stage *s = &p->stage[to];

        for (uint32_t i = 0; i < s->accesses; i++) {
            if (!s->access[i].write && p->use[s->access[i].use].written)
                edges_into(p, to, i);
        }
    }
}

/* ----------------------------------------------------------- topological -- */

/* Stages that nothing unplaced precedes are placed, the first given one
 * first. */
static fgs_result place(struct fgs__plan *p, uint32_t *rank, uint32_t *before,
                        fgs_error *err)
{
    memset(rank, 0xff, p->stages * sizeof *rank);
    memset(before, 0, p->stages * sizeof *before);
    for (uint32_t i = 0; i < p->edges; i++)
        before[p->edge[i].to]++;
    for (uint32_t n = 0; n < p->stages; n++) {
        uint32_t s = 0;

        while (s < p->stages && (rank[s] != FGS__NOWHERE || before[s]))
            s++;
        if (s == p->stages)
            break;
        rank[s] = n;
        for (uint32_t i = 0; i < p->edges; i++) {
            if (p->edge[i].from == s)
                before[p->edge[i].to]--;
        }
    }
    for (uint32_t i = 0; i < p->edges; i++) {
        const struct fgs__edge *e = &p->edge[i];

        if (rank[e->from] == FGS__NOWHERE && rank[e->to] == FGS__NOWHERE)
            return fgs__plan_broken(
                err, &p->stage[e->to], &p->use[e->use], UINT64_MAX,
                "the plan has a cycle: %s reads buffer '%s' that %s writes, "
                "which waits for it in turn",
                p->stage[e->to].name, p->use[e->use].name,
                p->stage[e->from].name);
    }
    return FGS_OK;
}

static void permute(struct fgs__plan *p, const uint32_t *rank,
                    struct fgs__stage *sorted)
{
    for (uint32_t i = 0; i < p->stages; i++)
        sorted[rank[i]] = p->stage[i];
    memcpy(p->stage, sorted, p->stages * sizeof *sorted);
    for (uint32_t i = 0; i < p->edges; i++) {
        p->edge[i].from = rank[p->edge[i].from];
        p->edge[i].to = rank[p->edge[i].to];
    }
}

static int by_end(const void *a, const void *b)
{
    const struct fgs__edge *x = a, *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->access > y->access) - (x->access < y->access);
}

void fgs__plan_index(struct fgs__plan *p)
{
    uint32_t i = 0;

    qsort(p->edge, p->edges, sizeof *p->edge, by_end);
    for (uint32_t s = 0; s < p->stages; s++) {
        p->stage[s].in = i;
        while (i < p->edges && p->edge[i].to == s)
            i++;
        p->stage[s].in_end = i;
    }
}

/* The longest path: an edge leads upwards. */
static void measure(struct fgs__plan *p, uint32_t *deep)
{
    p->depth = 1;
    for (uint32_t s = 0; s < p->stages; s++)
        deep[s] = 1;
    for (uint32_t s = 0; s < p->stages; s++) {
        for (uint32_t i = p->stage[s].in; i < p->stage[s].in_end; i++) {
            const struct fgs__edge *e = &p->edge[i];

            if (deep[e->from] >= deep[s])
                deep[s] = deep[e->from] + 1;
        }
        if (deep[s] > p->depth)
            p->depth = deep[s];
    }
}

fgs_result fgs__plan_edges(struct fgs__plan *p, fgs_error *err)
{
    const fgs_allocator *a = &p->dev->alloc;
    struct fgs__stage *sorted;
    uint32_t *rank, *before;
    fgs_result r;

    find_ranges(p);
    all_edges(p);
    p->edge = fgs__zalloc(a, (p->edges + 1) * sizeof *p->edge);
    rank = fgs__zalloc(a, p->stages * sizeof *rank);
    before = fgs__zalloc(a, p->stages * sizeof *before);
    sorted = fgs__zalloc(a, p->stages * sizeof *sorted);
    r = p->edge && rank && before && sorted ? FGS_OK : fgs__nomem(err);
    if (r >= 0) {
        all_edges(p);
        r = place(p, rank, before, err);
        if (r == FGS_E_PLAN) { /* a cycle of buffers need not be one of tiles */
            r = fgs__plan_drop_edges(p, err);
            r = r < 0 ? r : place(p, rank, before, err);
        }
    } else {
        p->edges = 0;
    }
    if (r >= 0) {
        permute(p, rank, sorted);
        fgs__plan_index(p);
        find_ranges(p);
        measure(p, before);
    }
    fgs__free(a, rank);
    fgs__free(a, before);
    fgs__free(a, sorted);
    return r;
}
