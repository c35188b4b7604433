/* trace.c -- rows of blocks: lanes of SMs, overlaps, files */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct trace_stage *trace_stage_add(struct trace *t, const char *name,
                                    const char *entry, uint64_t count)
{
    struct trace_stage *s = t->stages;

    if (!(t->stage_count & (t->stage_count - 1))) {
        s = realloc(s, sizeof *s * (t->stage_count ? 2 * t->stage_count : 1));
        if (!s)
            return NULL;
        t->stages = s;
    }
    s += t->stage_count;
    memset(s, 0, sizeof *s);
    s->name = strdup(name);
    s->entry = strdup(entry);
    s->rows = calloc(count ? count : 1, sizeof *s->rows);
    s->count = count;
    t->stage_count++;
    return s->name && s->entry && s->rows ? s : NULL;
}

struct trace_edge *trace_edge_add(struct trace *t, uint32_t from, uint32_t to,
                                  const char *buffer, const char *order)
{
    struct trace_edge *e = t->edges;

    if (!(t->edge_count & (t->edge_count - 1))) {
        e = realloc(e, sizeof *e * (t->edge_count ? 2 * t->edge_count : 1));
        if (!e)
            return NULL;
        t->edges = e;
    }
    e += t->edge_count++;
    e->from = from;
    e->to = to;
    e->buffer = strdup(buffer);
    e->order = strdup(order);
    return e->buffer && e->order ? e : NULL;
}

void trace_free(struct trace *t)
{
    uint32_t i;

    for (i = 0; i < t->stage_count; i++) {
        free(t->stages[i].name);
        free(t->stages[i].entry);
        free(t->stages[i].rows);
    }
    for (i = 0; i < t->edge_count; i++) {
        free(t->edges[i].buffer);
        free(t->edges[i].order);
    }
    free(t->stages);
    free(t->edges);
    free(t->lanes);
    memset(t, 0, sizeof *t);
}

/* -------------------------------------------------------------- lanes -- */

struct item {
    struct trace_row *row;
    uint64_t order; /* as it stands: nothing is left to the sort             */
};

static int by_sm_and_start(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->row->sm != y->row->sm)
        return x->row->sm < y->row->sm ? -1 : 1;
    if (x->row->start != y->row->start)
        return x->row->start < y->row->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sums(struct trace *t)
{
    uint64_t k;
    uint32_t i;

    t->first = UINT64_MAX;
    for (i = 0; i < t->stage_count; i++) {
        struct trace_stage *s = &t->stages[i];

        s->first = s->count ? UINT64_MAX : 0;
        for (k = 0; k < s->count; k++) {
            const struct trace_row *r = &s->rows[k];

            if (r->start < s->first)
                s->first = r->start;
            if (r->end > s->last)
                s->last = r->end;
            if (r->sm >= t->sms)
                t->sms = r->sm + 1;
        }
        t->blocks += s->count;
        if (s->count && s->first < t->first)
            t->first = s->first;
        if (s->last > t->last)
            t->last = s->last;
    }
    if (!t->blocks)
        t->first = 0;
}

/* The lowest lane of the SM that is free at the block's start.  `ends` are
 * those of the lanes of this SM, as many as t->lanes says. */
static bool lane_take(struct trace *t, struct trace_row *r, uint64_t **ends,
                      uint32_t *room)
{
    uint32_t i, *used = &t->lanes[r->sm];
    uint64_t *wider;

    for (i = 0; i < *used; i++)
        if ((*ends)[i] <= r->start)
            break;
    if (i == *room) {
        wider = realloc(*ends, (*room + 16) * sizeof *wider);
        if (!wider)
            return false;
        *ends = wider;
        *room += 16;
    }
    (*ends)[i] = r->end;
    if (i == *used)
        ++*used;
    r->lane = i;
    return true;
}

bool trace_finish(struct trace *t)
{
    struct item *items;
    uint64_t *ends = NULL, n = 0, k;
    uint32_t i, room = 0;
    bool good;

    sums(t);
    for (i = 0; i < t->edge_count; i++)
        t->overlapping += trace_overlap(t, &t->edges[i]) > 0;
    items = calloc(t->blocks + 1, sizeof *items);
    t->lanes = calloc((size_t)t->sms + 1, sizeof *t->lanes);
    good = items && t->lanes;
    for (i = 0; good && i < t->stage_count; i++)
        for (k = 0; k < t->stages[i].count; k++, n++) {
            items[n].row = &t->stages[i].rows[k];
            items[n].order = n;
        }
    if (good)
        qsort(items, n, sizeof *items, by_sm_and_start);
    for (k = 0; good && k < n; k++)
        good = lane_take(t, items[k].row, &ends, &room);
    free(ends);
    free(items);
    return good;
}

/* ------------------------------------------------------------ overlaps -- */

uint64_t trace_overlap(const struct trace *t, const struct trace_edge *e)
{
    const struct trace_stage *from = &t->stages[e->from];
    const struct trace_stage *to = &t->stages[e->to];

    return from->count && to->count && to->first < from->last
               ? from->last - to->first
               : 0;
}

uint64_t trace_early(const struct trace *t, const struct trace_edge *e)
{
    const struct trace_stage *to = &t->stages[e->to];
    uint64_t k, n = 0;

    for (k = 0; k < to->count; k++)
        n += to->rows[k].start < t->stages[e->from].last;
    return n;
}

/* --------------------------------------------------------------- files -- */

static const struct {
    const char *suffix;
    void (*write)(const struct trace *t, FILE *to);
} kinds[] = {
    {".svg", trace_svg_write},
    {".json", trace_json_write},
    {".rows", trace_rows_write},
};

static int kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t i;

    for (i = 0; dot && i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i].suffix, dot))
            return (int)i;
    return -1;
}

const char *trace_suffix_wrong(const char *path)
{
    return kind_of(path) < 0 ? "ends in none of .svg, .json, .rows" : NULL;
}

int trace_write(const char *verb, const struct trace *t, const char *path)
{
    FILE *f = fopen(path, "w");
    bool lost;

    if (!f)
        return failure(verb, "%s: %s", path, strerror(errno));
    kinds[kind_of(path)].write(t, f);
    lost = ferror(f);
    errno = 0;
    if (fclose(f) || lost)
        return failure(verb, "%s: %s", path,
                       errno ? strerror(errno) : "a part was not written");
    return EXIT_GOOD;
}
