/* cover.c -- which tiles are written, once, before somebody waits for them
 *
 * Guide 4.6.4.3 (write once) and 4.6.4.6 (every tile that is waited for).
 */
#include "core/plan.h"

#include <stdlib.h>

/* Tiles [at, end) that a block of a stage touches. */
struct span {
    uint64_t at, end;
    uint32_t stage;
    uint64_t block;
};

struct spans {
    struct span *span;
    uint64_t count;
};

static uint64_t blocks_of(const struct fgs__stage *s)
{
    return (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
}

/* How many spans an access takes: one where its blocks stand side by side. */
static uint64_t span_count(const struct fgs__plan *p,
                           const struct fgs__stage *s,
                           const struct fgs__access *a)
{
    (void)p;
    if (a->table)
        return a->tables;
    if (s->role || !a->count || a->step == a->count)
        return 1;
    return blocks_of(s);
}

static struct span whole(const struct fgs__plan *p, const struct fgs__stage *s,
                         const struct fgs__access *a)
{
    struct span v = { .at = a->first };

    if (s->role) /* of the library: tiles from `first` on */
        v.end = v.at + (a->count ? a->count : p->use[a->use].tiles - a->first);
    else
        v.end = v.at + blocks_of(s) * (a->count ? a->count : 1);
    return v;
}

static struct span nth(const struct fgs__plan *p, const struct fgs__stage *s,
                       const struct fgs__access *a, uint64_t i)
{
    struct span v;

    if (a->table)
        v = (struct span){ .at = a->table[i], .end = a->table[i] + 1ull };
    else if (span_count(p, s, a) == 1)
        v = whole(p, s, a);
    else
        v = (struct span){ .at = a->first + i * a->step,
                           .end = a->first + i * a->step + a->count };
    v.block = i;
    return v;
}

static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* What all stages write, or one reads, of a use. */
static fgs_result collect(const struct fgs__plan *p, uint32_t use, int write,
                          uint32_t only, struct spans *out, fgs_error *err)
{
    uint64_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < p->stages; i++) {
            const struct fgs__stage *s = &p->stage[i];

            for (uint32_t j = 0; j < s->accesses; j++) {
                const struct fgs__access *a = &s->access[j];

                if (a->use != use || a->write != write ||
                    (only != FGS__NOWHERE && only != i))
                    continue;
                for (uint64_t k = 0; k < span_count(p, s, a); k++, n++) {
                    if (!pass)
                        continue;
                    out->span[n] = nth(p, s, a, k);
                    out->span[n].stage = i;
                }
            }
        }
        if (!pass) {
            out->span = fgs__zalloc(&p->dev->alloc,
                                    (n + 1) * sizeof *out->span);
            out->count = n;
            n = 0;
            if (!out->span)
                return fgs__nomem(err);
        }
    }
    qsort(out->span, (size_t)out->count, sizeof *out->span, by_place);
    return FGS_OK;
}

static fgs_result check_range(const struct fgs__plan *p, uint32_t use,
                              const struct spans *v, const char *does,
                              fgs_error *err)
{
    const struct fgs__use *u = &p->use[use];

    for (uint64_t i = 0; i < v->count; i++) {
        const struct fgs__stage *s = &p->stage[v->span[i].stage];

        if (v->span[i].end <= u->tiles)
            continue;
        return fgs__fail(err, FGS_E_SIZE,
                         "%s, block %llu, %s tile %llu of buffer '%s', which "
                         "has %llu",
                         s->name, (unsigned long long)v->span[i].block, does,
                         (unsigned long long)(v->span[i].end - 1), u->name,
                         (unsigned long long)u->tiles);
    }
    return FGS_OK;
}

static fgs_result check_once(const struct fgs__plan *p, uint32_t use,
                             const struct spans *w, fgs_error *err)
{
    const struct fgs__use *u = &p->use[use];

    for (uint64_t i = 1; i < w->count; i++) {
        const struct span *x = &w->span[i - 1], *y = &w->span[i];

        if (y->at >= x->end)
            continue;
        return fgs__plan_broken(err, &p->stage[y->stage], u, y->at,
                                "tile %llu of buffer '%s' is written twice: by "
                                "%s, block %llu, and by %s, block %llu (guide "
                                "4.6.4.3)",
                                (unsigned long long)y->at, u->name,
                                p->stage[x->stage].name,
                                (unsigned long long)x->block,
                                p->stage[y->stage].name,
                                (unsigned long long)y->block);
    }
    return FGS_OK;
}

/* The first tile of [at, end) that no span has, or `end`. */
static uint64_t hole(const struct spans *w, uint64_t at, uint64_t end)
{
    uint64_t low = 0, high = w->count;

    while (low < high) { /* the first span that ends behind `at` */
        uint64_t mid = (low + high) / 2;

        if (w->span[mid].end <= at)
            low = mid + 1;
        else
            high = mid;
    }
    for (; at < end && low < w->count && w->span[low].at <= at; low++)
        at = w->span[low].end;
    return at < end ? at : end;
}

static fgs_result check_covered(const struct fgs__plan *p, uint32_t use,
                                const struct spans *w, const struct spans *r,
                                fgs_error *err)
{
    const struct fgs__use *u = &p->use[use];

    for (uint64_t i = 0; i < r->count; i++) {
        const struct span *v = &r->span[i];
        uint64_t at = hole(w, v->at, v->end);

        if (at < v->end)
            return fgs__plan_broken(
                err, &p->stage[v->stage], u, at,
                "%s, block %llu, waits for tile %llu of buffer '%s', which no "
                "stage writes (guide 4.6.4.6)",
                p->stage[v->stage].name, (unsigned long long)v->block,
                (unsigned long long)at, u->name);
    }
    return FGS_OK;
}

static int share(const struct spans *a, const struct spans *b)
{
    uint64_t i = 0, j = 0;

    while (i < a->count && j < b->count) {
        if (a->span[i].end <= b->span[j].at)
            i++;
        else if (b->span[j].end <= a->span[i].at)
            j++;
        else
            return 1;
    }
    return 0;
}

/* Edges of a use whose ends touch different tiles are none. */
static fgs_result drop_edges(struct fgs__plan *p, uint32_t use, fgs_error *err)
{
    fgs_result r = FGS_OK;
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->edges; i++) {
        const struct fgs__edge *e = &p->edge[i];
        struct spans w = { 0 }, v = { 0 };
        int keep = 1;

        if (e->use == use && r >= 0) {
            r = collect(p, use, 1, e->from, &w, err);
            if (r >= 0)
                r = collect(p, use, 0, e->to, &v, err);
            keep = r < 0 || share(&w, &v);
            fgs__free(&p->dev->alloc, w.span);
            fgs__free(&p->dev->alloc, v.span);
        }
        if (keep)
            p->edge[n++] = p->edge[i];
    }
    p->edges = n;
    return r;
}

static uint32_t writers(const struct fgs__plan *p, uint32_t use)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->stages; i++) {
        for (uint32_t j = 0; j < p->stage[i].accesses; j++)
            n += p->stage[i].access[j].write &&
                p->stage[i].access[j].use == use;
    }
    return n;
}

static fgs_result cover(struct fgs__plan *p, uint32_t use, fgs_error *err)
{
    struct spans w = { 0 }, v = { 0 };
    fgs_result r = collect(p, use, 1, FGS__NOWHERE, &w, err);

    if (r >= 0)
        r = collect(p, use, 0, FGS__NOWHERE, &v, err);
    if (r >= 0)
        r = check_range(p, use, &w, "writes", err);
    if (r >= 0)
        r = check_range(p, use, &v, "reads", err);
    if (r >= 0)
        r = check_once(p, use, &w, err);
    if (r >= 0 && p->use[use].written)
        r = check_covered(p, use, &w, &v, err);
    fgs__free(&p->dev->alloc, w.span);
    fgs__free(&p->dev->alloc, v.span);
    if (r >= 0 && writers(p, use) > 1)
        r = drop_edges(p, use, err);
    return r;
}

fgs_result fgs__plan_cover(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < p->uses; i++)
        r = cover(p, i, err);
    return r;
}

int fgs__plan_reads_once(struct fgs__plan *p, uint32_t use, uint64_t *tile,
                         fgs_error *err)
{
    struct spans v = { 0 };
    fgs_result r = collect(p, use, 0, FGS__NOWHERE, &v, err);
    int once = r >= 0;

    for (uint64_t i = 1; once && i < v.count; i++) {
        if (v.span[i].at >= v.span[i - 1].end)
            continue;
        *tile = v.span[i].at;
        once = 0;
    }
    fgs__free(&p->dev->alloc, v.span);
    return r < 0 ? (int)r : once;
}
