/* receipt.c -- what a plan is, and what its last run really did */
#include "core/plan.h"

static const struct fgs__stat *stat_of(const struct fgs__plan *p,
                                       uint32_t round, uint32_t stage)
{
    const unsigned char *at = p->stats + round * p->ctl_bytes +
        sizeof(struct fgs__ctl);

    return (const struct fgs__stat *)(const void *)at + stage;
}

/* Did a block of `to` start before the last one of `from` ended?  `first` holds
 * the complement, so that a maximum finds the earliest start; 0 = no block
 * ran. */
static uint64_t overlap(const struct fgs__plan *p, uint32_t round,
                        uint32_t from, uint32_t to)
{
    const struct fgs__stat *a = stat_of(p, round, from);
    const struct fgs__stat *b = stat_of(p, round, to);

    return b->first && ~b->first < a->last ? a->last - ~b->first : 0;
}

static int any_overlap(const struct fgs__plan *p, const struct fgs__edge *e)
{
    for (uint32_t i = 0; i < p->rounds; i++) {
        if (overlap(p, i, e->from, e->to))
            return 1;
    }
    return 0;
}

static uint64_t reissues(const struct fgs__plan *p, uint32_t stage)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < p->rounds; i++)
        n += stat_of(p, i, stage)->reissues;
    return n;
}

/* Tiles of the buffer over which the receipt's consumer waits. */
uint64_t fgs__plan_tiles(const struct fgs__plan *p)
{
    const struct fgs__stage *s = &p->stage[p->main_stage];

    return p->use[s->access[0].use].tiles;
}

void fgs__plan_write_receipt(struct fgs__plan *p, float ms)
{
    fgs_receipt *r = &p->receipt;

    memset(r, 0, sizeof *r);
    r->size = sizeof *r;
    r->engine = p->stage[p->main_stage].engine;
    r->rounds = p->rounds;
    r->tiles = fgs__plan_tiles(p);
    r->pdl = p->pdl;
    r->pdl_why = p->pdl_why;
    r->assembled_by = p->assembled_by;
    r->ptx_version = p->ptx_version;
    memcpy(r->ptx_target, p->ptx_target, sizeof r->ptx_target);
    r->note = p->note;
    r->compiled = p->compiled;
    r->cached = p->cached;
    r->elapsed_ns = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
    if (!p->level)
        return;
    for (uint32_t i = 0; i < p->stages; i++)
        r->reissues += reissues(p, i);
    for (uint32_t i = 0; i < p->edges; i++)
        r->overlap |= any_overlap(p, &p->edge[i]);
}

/* ------------------------------------------------------------------ API -- */

/* The plan, and room for an answer. */
static fgs_result ask(struct fgs__plan **p, const fgs_plan *plan,
                      const void *out, size_t size, size_t least,
                      const char *what, fgs_error *err)
{
    fgs_result r = fgs__plan_get(p, plan, err);

    if (r < 0)
        return r;
    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    if (size < least)
        return fgs__fail(err, FGS_E_INVAL, "%s.size is %zu; set it to %zu",
                         what, size, least);
    return FGS_OK;
}

static fgs_result index_in(uint32_t index, uint32_t count, const char *what,
                           fgs_error *err)
{
    if (index < count)
        return FGS_OK;
    return fgs__fail(err, FGS_E_INVAL, "%s %u: the plan has %u", what, index,
                     count);
}

fgs_result fgs_plan_get_receipt(const fgs_plan *plan, fgs_receipt *out,
                                fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = fgs__plan_get(&p, plan, err);
    fgs_receipt all;

    if (r < 0)
        return r;
    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    if (out->size < offsetof(fgs_receipt, compiled))
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_receipt.size is %zu; set it to %zu", out->size,
                         sizeof *out);
    if (!p->waited)
        return fgs__fail(err, FGS_E_STATE,
                         "no run of the plan was waited for");
    all = p->receipt;
    all.size = out->size;
    /* A program of an earlier header has room for less. */
    memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return FGS_OK;
}

fgs_result fgs_plan_get_info(const fgs_plan *plan, fgs_plan_info *out,
                             fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = ask(&p, plan, out, out ? out->size : 0, sizeof *out,
                       "fgs_plan_info", err);

    if (r < 0)
        return r;
    out->stages = p->stages;
    out->edges = p->edges;
    out->buffers = 0;
    for (uint32_t i = 0; i < p->uses; i++)
        out->buffers += !p->use[i].at; /* a ring is one, of many uses */
    out->depth = p->depth;
    return FGS_OK;
}

static uint32_t early_blocks(const struct fgs__plan *p,
                             const struct fgs__edge *e)
{
    const struct fgs__stage *to = &p->stage[e->to];
    const fgs_trace_row *row = p->trace_host + to->trace_at;
    uint64_t last = stat_of(p, p->rounds - 1, e->from)->last;
    uint64_t blocks = (uint64_t)to->grid[0] * to->grid[1] * to->grid[2];
    uint32_t n = 0;

    for (uint64_t i = 0; i < blocks; i++)
        n += row[i].start && row[i].start < last;
    return n;
}

fgs_result fgs_plan_get_edge(const fgs_plan *plan, uint32_t index,
                             fgs_edge_info *out, fgs_error *err)
{
    struct fgs__plan *p;
    const struct fgs__edge *e;
    fgs_edge_info all;
    fgs_result r = ask(&p, plan, out, out ? out->size : 0,
                       offsetof(fgs_edge_info, form_why), "fgs_edge_info",
                       err);
    const struct fgs__use *u;

    if (r >= 0)
        r = index_in(index, p->edges, "edge", err);
    if (r < 0)
        return r;
    e = &p->edge[index];
    u = &p->use[e->use];
    all = (fgs_edge_info){ .size = out->size, .from = e->from, .to = e->to,
                           .buffer = u->name, .asked = e->asked,
                           .taken = e->taken, .why = e->why, .reuse = "",
                           .form = fgs__crosses[e->cross].name,
                           .graph_port = e->graph_port,
                           .form_why = e->form_why, .slots = u->slots };
    if (u->sentinel || u->ring != FGS__NOWHERE) {
        all.fill = u->fill;
        all.reuse = u->sentinel ? fgs__fills[u->fill].reuse
                                : "slots for all edges of a chain: who writes "
                                  "a tile has what its readers made of it, "
                                  "and nothing is cleared";
    }
    if (p->waited && p->level) {
        all.overlap = any_overlap(p, e);
        all.overlap_ns = overlap(p, p->rounds - 1, e->from, e->to);
        if (p->level > 1)
            all.early_blocks = early_blocks(p, e);
    }
    /* A program of an earlier header has room for less. */
    memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return FGS_OK;
}

fgs_result fgs_plan_get_stage(const fgs_plan *plan, uint32_t index,
                              fgs_stage_info *out, fgs_error *err)
{
    struct fgs__plan *p;
    const struct fgs__stage *s;
    const struct fgs__stat *stat;
    fgs_result r = ask(&p, plan, out, out ? out->size : 0, sizeof *out,
                       "fgs_stage_info", err);

    if (r >= 0)
        r = index_in(index, p->stages, "stage", err);
    if (r < 0)
        return r;
    s = &p->stage[index];
    *out = (fgs_stage_info){
        .size = sizeof *out, .name = s->name, .entry = s->entry,
        .engine = s->engine ? fgs__engines[s->engine].name : "",
        .assembled_by = s->assembled_by ? s->assembled_by : "",
        .attributes = s->attr_text, .shared_bytes = s->shared };
    for (int i = 0; i < 3; i++) {
        out->grid[i] = s->grid[i];
        out->block[i] = s->block[i];
        out->cluster[i] = s->cluster[i];
    }
    if (!p->waited || !p->level)
        return FGS_OK;
    stat = stat_of(p, p->rounds - 1, index);
    out->reissues = reissues(p, index);
    out->reread_bytes = out->reissues * s->tile_bytes;
    out->first_ns = stat->first ? ~stat->first : 0;
    out->last_ns = stat->last;
    return FGS_OK;
}

fgs_result fgs_plan_get_trace(const fgs_plan *plan, uint32_t stage,
                              fgs_trace_row *rows, uint64_t *count,
                              fgs_error *err)
{
    struct fgs__plan *p;
    const struct fgs__stage *s;
    uint64_t room, blocks;
    fgs_result r = fgs__plan_get(&p, plan, err);

    if (r >= 0 && !count)
        r = fgs__fail(err, FGS_E_NULL, "count is NULL");
    if (r >= 0)
        r = index_in(stage, p->stages, "stage", err);
    if (r < 0)
        return r;
    if (p->level < 2 || !p->waited)
        return fgs__fail(err, FGS_E_STATE,
                         p->level < 2 ? "the plan keeps no trace"
                                      : "no run of the plan was waited for");
    s = &p->stage[stage];
    room = rows ? *count : 0;
    blocks = *count = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    if (room < blocks)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s has %llu blocks, there is room for %llu rows",
                         s->name, (unsigned long long)blocks,
                         (unsigned long long)room);
    memcpy(rows, p->trace_host + s->trace_at,
           (size_t)(blocks * sizeof *rows));
    return FGS_OK;
}
