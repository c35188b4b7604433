/* cover.c -- which tiles are written, once, before somebody waits for them
 *
 * Guide 4.6.4.3 (write once) and 4.6.4.6 (every tile that is waited for).
 */
#include "core/compose.h"

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

/* 2^32 = that many or more: no buffer has as many tiles. */
static uint64_t blocks_of(const struct fgs__stage *s)
{
    const uint64_t most = 1ull << 32;
    uint64_t n = (uint64_t)s->grid[0] * s->grid[1];

    n = n > most ? most : n * s->grid[2];
    return n > most ? most : n;
}

/* Entries of a table that a stage reaches: a library's kernel has one a block,
 * where it does not loop; one of the application may. */
static uint64_t entries_of(const struct fgs__stage *s)
{
    return s->role && !s->persistent ? s->grid[0] : UINT64_MAX;
}

/* Where the spans of an access go; without room they are only counted. */
struct out {
    struct span *span;
    uint64_t count;
};

static void put(struct out *o, uint64_t at, uint64_t end, uint32_t stage,
                uint64_t block)
{
    if (at >= end)
        return;
    if (o->span)
        o->span[o->count] = (struct span){ at, end, stage, block };
    o->count++;
}

/* Blocks side by side, or a library's grid, touch one range.  first, step and
 * count have 32 bits: no sum wraps around.  One span past the end is enough to
 * be refused for, and so are two blocks that write the same. */
static void put_range(const struct fgs__plan *p, uint32_t stage,
                      const struct fgs__access *a, struct out *o)
{
    const struct fgs__stage *s = &p->stage[stage];
    uint64_t at = a->first, count = a->count ? a->count : 1;
    uint64_t blocks = blocks_of(s), tiles = p->use[a->use].tiles;

    if (s->role) { /* one a block, or all that it reads */
        put(o, at, at + (s->persistent ? fgs__stage_tiles(p, s) : s->grid[0]),
            stage, 0);
    } else if (!a->count || a->step == a->count) {
        put(o, at, at + blocks * count, stage, 0);
    } else {
        if (!a->step && blocks > 2)
            blocks = 2;
        for (uint64_t i = 0; i < blocks; i++) {
            put(o, at + i * a->step, at + i * a->step + count, stage, i);
            if (at + i * a->step + count > tiles)
                break;
        }
    }
}

/*
 * A row of a box: bytes [from, to) of the buffer, in chunks.  A reader's copy
 * looks at whole chunks; a writer fills the one that the row ends in only where
 * it says so (4.6.4.6).
 */
static void put_row(const struct fgs__access *a, uint64_t from, uint64_t to,
                    uint32_t stage, uint64_t block, struct out *o)
{
    if (!a->write || a->padding == FGS_PADDING_WRITTEN)
        put(o, from / 16, (to + 15) / 16, stage, block);
    else
        put(o, (from + 15) / 16, to / 16, stage, block);
}

static void put_box(const struct fgs__plan *p, uint32_t stage,
                    const struct fgs__access *a, uint64_t block,
                    const uint64_t at[5], struct out *o)
{
    const fgs_box *b = &a->box;
    uint64_t bits = fgs_element_get_info(p->use[a->use].element)->bits;
    uint64_t rows = 1, end = at[0] + b->box[0], side[5];

    if (end > b->dims[0])
        end = b->dims[0];
    for (uint32_t i = 1; i < b->rank; i++) {
        side[i] = b->dims[i] - at[i];
        if (side[i] > b->box[i])
            side[i] = b->box[i];
        rows *= side[i];
    }
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t rest = row, byte = 0;

        for (uint32_t i = 1; i < b->rank; i++) {
            byte += (at[i] + rest % side[i]) * b->pitch[i - 1];
            rest /= side[i];
        }
        put_row(a, byte + at[0] * bits / 8, byte + (end * bits + 7) / 8, stage,
                block, o);
    }
}

static void put_boxes(const struct fgs__plan *p, uint32_t stage,
                      const struct fgs__access *a, struct out *o)
{
    const fgs_box *b = &a->box;
    uint64_t boxes = 1, at[5] = { 0 };

    for (uint32_t i = 0; i < b->rank; i++)
        boxes *= (b->dims[i] + b->box[i] - 1) / b->box[i];
    for (uint64_t block = 0; block < boxes; block++) {
        uint64_t rest = block;

        for (uint32_t i = 0; i < b->rank; i++) {
            uint64_t n = (b->dims[i] + b->box[i] - 1) / b->box[i];

            at[i] = rest % n * b->box[i];
            rest /= n;
        }
        put_box(p, stage, a, block, at, o);
    }
}

static void put_access(const struct fgs__plan *p, uint32_t stage,
                       const struct fgs__access *a, struct out *o)
{
    if (a->box.rank) {
        put_boxes(p, stage, a, o);
        return;
    }
    if (!a->table) {
        put_range(p, stage, a, o);
        return;
    }
    for (uint32_t i = 0; i < a->tables && i < entries_of(&p->stage[stage]); i++)
        put(o, a->table[i], a->table[i] + 1ull, stage, i);
}

static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_all(const struct fgs__plan *p, uint32_t use, int write,
                    uint32_t only, struct out *o)
{
    for (uint32_t i = p->use[use].low; i < p->use[use].high; i++) {
        const struct fgs__stage *s = &p->stage[i];

        for (uint32_t j = 0; j < s->accesses; j++) {
            const struct fgs__access *a = &s->access[j];

            if (a->use == use && a->write == write &&
                (only == FGS__NOWHERE || only == i))
                put_access(p, i, a, o);
        }
    }
}

/* What all stages write, or read, of a use; or one stage alone. */
static fgs_result collect(const struct fgs__plan *p, uint32_t use, int write,
                          uint32_t only, struct spans *out, fgs_error *err)
{
    struct out o = { 0 };

    put_all(p, use, write, only, &o);
    o.span = fgs__zalloc(&p->dev->alloc, (o.count + 1) * sizeof *o.span);
    if (!o.span)
        return fgs__nomem(err);
    o.count = 0;
    put_all(p, use, write, only, &o);
    out->span = o.span;
    out->count = o.count;
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

/* Does the application see to tiles that no stage writes? */
static int preset(const struct fgs__stage *s, uint32_t use)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        if (s->access[i].use == use &&
            s->access[i].padding == FGS_PADDING_PRESET)
            return 1;
    }
    return 0;
}

static fgs_result check_covered(const struct fgs__plan *p, uint32_t use,
                                const struct spans *w, const struct spans *r,
                                fgs_error *err)
{
    const struct fgs__use *u = &p->use[use];

    for (uint64_t i = 0; i < r->count; i++) {
        const struct span *v = &r->span[i];
        uint64_t at = hole(w, v->at, v->end);

        if (at < v->end && !preset(&p->stage[v->stage], use))
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
    fgs__plan_index(p);
    return r;
}

static uint32_t writers(const struct fgs__plan *p, uint32_t use)
{
    uint32_t n = 0;

    for (uint32_t i = p->use[use].low; i < p->use[use].high; i++) {
        for (uint32_t j = 0; j < p->stage[i].accesses; j++)
            n += p->stage[i].access[j].write &&
                p->stage[i].access[j].use == use;
    }
    return n;
}

fgs_result fgs__plan_drop_edges(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < p->uses; i++) {
        if (writers(p, i) > 1)
            r = drop_edges(p, i, err);
    }
    return r;
}

/* Each block has an entry of a table, or a box; fewer blocks loop over them. */
static fgs_result check_blocks(const struct fgs__plan *p,
                               const struct fgs__stage *s, fgs_error *err)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        const struct fgs__access *a = &s->access[i];
        uint64_t n = a->table ? a->tables : fgs__boxes(&a->box);

        if ((!a->table && !a->box.rank) || blocks_of(s) <= n)
            continue;
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: block %llu has no part of buffer '%s': its %s "
                         "%llu",
                         s->name, (unsigned long long)n, p->use[a->use].name,
                         a->table ? "table has" : "boxes are",
                         (unsigned long long)n);
    }
    return FGS_OK;
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
    for (uint32_t i = 0; r >= 0 && i < p->stages; i++)
        r = check_blocks(p, &p->stage[i], err);
    return r;
}

/* The first read of a tile that is preset, or NULL. */
static const struct span *find_preset(const struct fgs__plan *p, uint32_t use,
                                      const struct spans *w,
                                      const struct spans *r, uint64_t *tile)
{
    for (uint64_t i = 0; i < r->count; i++) {
        const struct span *v = &r->span[i];

        *tile = hole(w, v->at, v->end);
        if (*tile < v->end && preset(&p->stage[v->stage], use))
            return v;
    }
    return NULL;
}

fgs_result fgs__plan_keeps_preset(const struct fgs__plan *p, uint32_t use,
                                  fgs_error *err)
{
    const struct fgs__use *u = &p->use[use];
    struct spans w = { 0 }, v = { 0 };
    const struct span *at = NULL;
    uint64_t tile = 0;
    uint32_t any = u->low;
    fgs_result r = FGS_OK;

    while (any < u->high && !preset(&p->stage[any], use))
        any++;
    if (any < u->high)
        r = collect(p, use, 1, FGS__NOWHERE, &w, err);
    if (any < u->high && r >= 0)
        r = collect(p, use, 0, FGS__NOWHERE, &v, err);
    if (r >= 0)
        at = find_preset(p, use, &w, &v, &tile);
    if (at)
        r = fgs__plan_broken(
            err, &p->stage[at->stage], u, tile,
            "%s, block %llu, takes tile %llu of buffer '%s' to be preset, and "
            "fill `%s` would put the sentinel there: only a writer that fills "
            "its own tiles leaves it alone (guide 4.6.4.6)",
            p->stage[at->stage].name, (unsigned long long)at->block,
            (unsigned long long)tile, u->name, fgs__fills[u->fill].name);
    fgs__free(&p->dev->alloc, w.span);
    fgs__free(&p->dev->alloc, v.span);
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
