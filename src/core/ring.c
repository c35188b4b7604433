/* ring.c -- slots that all edges of a chain share, cleared along it
 *
 * Edge e of a chain, counted on over rounds, lies in slot e mod N, N >= 3:
 * stage k reads edge k - 1, writes edge k, and clears the slot of edge k - 2.
 * Its block consumes its tile and clears, then barrier, fence, trigger.  So
 *
 *   the clear comes behind the reader   stage k starts when all blocks of stage
 *                                       k - 1 have triggered, behind their last
 *                                       load of edge k - 2; stage k - 2 has
 *                                       stored what these loads saw
 *   the write comes behind the clear    the slot's next edge, k - 2 + N, is
 *                                       written by stage k + 1 or a later one:
 *                                       it starts behind the trigger of k
 *   the next reader sees no old data    its grid is one behind that: the stage
 *                                       between fences before it triggers, so
 *                                       it hands on what was cleared before
 *
 * Between rounds all grids are over: edge 0 goes on in the slot behind the last
 * round's last one, which stage 1 clears.  Where an edge is ordered by grids or
 * flags the same holds, since each stage's block takes the tile of its own
 * number: without a sentinel in the chain nothing is cleared, and who writes a
 * tile has what the readers of its slot made of it.
 *
 * Two slots would do where a block clears no more than the tile that it has
 * consumed itself; with three it is enough that clears, of any tile and before
 * or behind the loads, precede the trigger (tests/unit/test_ring_model.c).
 */
#include "core/compose.h"

enum { LEAST = 3 };

uint32_t fgs__ring_find(const struct fgs__plan *p, const fgs_buffer *handle)
{
    for (uint32_t i = 0; i < p->rings; i++) {
        if (p->ring[i].handle == handle)
            return i;
    }
    return FGS__NOWHERE;
}

fgs_result fgs__rings_take(struct fgs__plan *p, const fgs_plan_spec *spec,
                           fgs_error *err)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < spec->use_count; i++)
        n += spec->uses[i].fill == FGS_FILL_RING;
    if (!n)
        return FGS_OK;
    p->ring = fgs__zalloc(&p->dev->alloc, n * sizeof *p->ring);
    if (!p->ring)
        return fgs__nomem(err);
    for (uint32_t i = 0; i < spec->use_count; i++) {
        const fgs_use *d = &spec->uses[i];
        struct fgs__buffer *b;
        fgs_result r;

        if (d->fill != FGS_FILL_RING)
            continue;
        r = fgs__buffer_get(&b, d->buffer, "fgs_use.buffer", err);
        if (r < 0)
            return r;
        if (fgs__ring_find(p, d->buffer) != FGS__NOWHERE)
            return fgs__fail(err, FGS_E_INVAL,
                             "fgs_plan_spec.uses names buffer '%s' twice",
                             b->name);
        p->ring[p->rings++] = (struct fgs__ring){
            .handle = d->buffer, .writer = FGS__NOWHERE,
            .reader = FGS__NOWHERE, .last = FGS__NOWHERE
        };
    }
    return FGS_OK;
}

/* ---------------------------------------------------------------- edges -- */

/* The first tile of an access, for an error's place. */
static uint64_t first_of(const fgs_access *d)
{
    return d->table && d->tables ? d->table[0] : d->first;
}

static fgs_result take_read(struct fgs__plan *p, struct fgs__stage *s,
                            struct fgs__ring *ring, const char *name,
                            const fgs_access *d, uint32_t *use, fgs_error *err)
{
    const struct fgs__stage *writer;

    if (ring->writer == FGS__NOWHERE)
        return fgs__plan_broken(err, s, NULL, UINT64_MAX,
                                "%s reads buffer '%s', a ring, and no stage "
                                "above it writes that: the stages of a chain "
                                "stand in its order",
                                s->name, name);
    writer = &p->stage[ring->writer];
    if (ring->reader != FGS__NOWHERE)
        return fgs__plan_broken(err, s, &p->use[ring->last], first_of(d),
                                "buffer '%s' is a ring: %s reads what %s "
                                "wrote, and %s would clear tiles that it may "
                                "still read (guide 4.6.4.5)",
                                name, s->name, writer->name,
                                p->stage[ring->reader].name);
    ring->reader = s->given;
    *use = ring->last;
    return FGS_OK;
}

static fgs_result take_write(struct fgs__plan *p, struct fgs__stage *s,
                             struct fgs__ring *ring, const char *name,
                             const fgs_access *d, const char *what,
                             uint32_t *use, fgs_error *err)
{
    struct fgs__use *u;
    fgs_result r;

    if (ring->writer != FGS__NOWHERE && ring->reader == FGS__NOWHERE)
        return fgs__plan_broken(err, s, &p->use[ring->last], first_of(d),
                                "buffer '%s' is a ring: %s writes it before a "
                                "stage has read what %s wrote",
                                name, s->name, p->stage[ring->writer].name);
    if (ring->writer != FGS__NOWHERE && ring->reader != s->given)
        return fgs__plan_broken(err, s, &p->use[ring->last], first_of(d),
                                "buffer '%s' is a ring, and its chain ended "
                                "with %s: %s writes it and does not read it",
                                name, p->stage[ring->reader].name, s->name);
    r = fgs__plan_new_use(p, ring->handle, what, use, err);
    if (r < 0)
        return r;
    u = &p->use[*use];
    if (u->slots < LEAST)
        return fgs__plan_broken(err, s, u, first_of(d),
                                "buffer '%s' is a ring and has %u slot%s; it "
                                "needs three: a stage reads one and writes "
                                "one, and clears the one that the next stage "
                                "writes",
                                name, u->slots, u->slots == 1 ? "" : "s");
    u->named = 1;
    u->fill = FGS_FILL_RING;
    u->ring = (uint32_t)(ring - p->ring);
    u->at = ring->edges++;
    ring->last = *use;
    ring->writer = s->given;
    ring->reader = FGS__NOWHERE;
    return FGS_OK;
}

fgs_result fgs__ring_access(struct fgs__plan *p, struct fgs__stage *s,
                            uint32_t ring, const fgs_access *d,
                            const char *what, uint32_t *use, fgs_error *err)
{
    struct fgs__ring *g = &p->ring[ring];
    struct fgs__buffer *b;
    fgs_result r = fgs__buffer_get(&b, d->buffer, what, err);

    if (r < 0)
        return r;
    if (!s->kernel)
        return fgs__plan_broken(err, s, NULL, first_of(d),
                                "buffer '%s' is a ring, and %s is no kernel of "
                                "the library: it is not known to clear, fence "
                                "and trigger in this order",
                                b->name, s->name);
    return d->write ? take_write(p, s, g, b->name, d, what, use, err)
                    : take_read(p, s, g, b->name, d, use, err);
}

fgs_result fgs__rings_close(struct fgs__plan *p, fgs_error *err)
{
    for (uint32_t i = 0; i < p->rings; i++) {
        const struct fgs__ring *g = &p->ring[i];
        struct fgs__buffer *b;
        fgs_result r = fgs__buffer_get(&b, g->handle, "fgs_use.buffer", err);

        if (r < 0)
            return r;
        if (!g->edges)
            return fgs__plan_broken(err, NULL, NULL, UINT64_MAX,
                                    "buffer '%s' is a ring, and no stage "
                                    "writes it",
                                    b->name);
        if (g->reader == FGS__NOWHERE)
            return fgs__plan_broken(err, &p->stage[g->writer],
                                    &p->use[g->last], UINT64_MAX,
                                    "buffer '%s' is a ring, and no stage reads "
                                    "what %s writes last",
                                    b->name, p->stage[g->writer].name);
    }
    for (uint32_t i = 0; i < p->uses; i++) {
        if (p->use[i].ring != FGS__NOWHERE)
            p->use[i].step = p->ring[p->use[i].ring].edges;
    }
    return FGS_OK;
}

/* ---------------------------------------------------------------- proof -- */

static uint64_t span_of(const struct fgs__plan *p, const struct fgs__stage *s)
{
    return s->persistent ? fgs__stage_tiles(p, s) : s->grid[0];
}

static fgs_result check_reader(const struct fgs__plan *p,
                               const struct fgs__edge *e, fgs_error *err)
{
    const struct fgs__stage *to = &p->stage[e->to];
    const struct fgs__use *u = &p->use[e->use];

    if (to->role == FGS_ROLE_PRODUCER)
        return fgs__plan_broken(err, to, u, to->access[e->access].first,
                                "buffer '%s' is a ring, and %s, a kernel for "
                                "%s, does not clear what it has consumed",
                                u->name, to->name, fgs__roles[to->role].name);
    if (e->access)
        return fgs__plan_broken(err, to, u, to->access[e->access].first,
                                "buffer '%s' is a ring, and %s clears along "
                                "its first input alone",
                                u->name, to->name);
    return FGS_OK;
}

/* What follows is proved of launches of one stream, and of fences at gpu
 * scope. */
static fgs_result check_launches(const struct fgs__plan *p,
                                 const struct fgs__edge *e, fgs_error *err)
{
    const struct fgs__stage *from = &p->stage[e->from], *to = &p->stage[e->to];
    const struct fgs__use *u = &p->use[e->use];

    if (from->asked_stream != to->asked_stream)
        return fgs__plan_broken(err, to, u, UINT64_MAX,
                                "buffer '%s' is a ring, and %s and %s are in "
                                "different streams: an event may fire when %s "
                                "has started, before it cleared the slot that "
                                "%s writes",
                                u->name, from->name, to->name, from->name,
                                to->name);
    if (from->domain != to->domain)
        return fgs__plan_broken(err, to, u, UINT64_MAX,
                                "buffer '%s' is a ring, and %s and %s are in "
                                "different memory synchronization domains: a "
                                "fence between clear and trigger does not "
                                "reach the other",
                                u->name, from->name, to->name);
    if (from->self)
        return fgs__plan_broken(err, from, u, UINT64_MAX,
                                "buffer '%s' is filled by its writer %s; fill "
                                "`%s` would fill it again",
                                u->name, from->name,
                                fgs__fills[FGS_FILL_RING].name);
    return FGS_OK;
}

/* Block b takes tile first + b, of as many as the chain's first stage has. */
static fgs_result check_map(const struct fgs__plan *p, const struct fgs__use *u,
                            const struct fgs__stage *s,
                            const struct fgs__access *a,
                            const struct fgs__stage *head,
                            const struct fgs__access *h, fgs_error *err)
{
    uint64_t n = span_of(p, s), want = span_of(p, head);

    if (a->table)
        return fgs__plan_broken(err, s, u, a->table[0],
                                "buffer '%s' is a ring, and %s takes its tiles "
                                "by a table: block 0 has tile %u, and clears "
                                "and writes others",
                                u->name, s->name, a->table[0]);
    if (a->first == h->first && n == want)
        return FGS_OK;
    return fgs__plan_broken(err, s, u,
                            a->first != h->first
                                ? (a->first < h->first ? a->first : h->first)
                                : a->first + (n < want ? n : want),
                            "buffer '%s' is a ring, and %s takes tiles %llu "
                            "... %llu of it, %s %llu ... %llu: a tile would be "
                            "written that nobody cleared",
                            u->name, s->name, (unsigned long long)a->first,
                            (unsigned long long)(a->first + n - 1), head->name,
                            (unsigned long long)h->first,
                            (unsigned long long)(h->first + want - 1));
}

static fgs_result check_edge(const struct fgs__plan *p,
                             const struct fgs__edge *e,
                             const struct fgs__stage *head,
                             const struct fgs__access *h, fgs_error *err)
{
    const struct fgs__stage *from = &p->stage[e->from], *to = &p->stage[e->to];
    const struct fgs__use *u = &p->use[e->use];
    fgs_result r = check_reader(p, e, err);

    if (r >= 0)
        r = check_launches(p, e, err);
    if (r >= 0)
        r = check_map(p, u, from, fgs__stage_writes(from, e->use), head, h,
                      err);
    return r < 0 ? r : check_map(p, u, to, &to->access[e->access], head, h,
                                 err);
}

fgs_result fgs__rings_check(struct fgs__plan *p, fgs_error *err)
{
    /* Along the chain: an edge leads upwards, its uses came in that order. */
    for (uint32_t i = 0; p->rings && i < p->edges; i++) {
        const struct fgs__edge *e = &p->edge[i];
        struct fgs__ring *g;
        fgs_result r;

        if (p->use[e->use].ring == FGS__NOWHERE)
            continue;
        g = &p->ring[p->use[e->use].ring];
        if (!p->use[e->use].at)
            g->head = e->from, g->first = e->use;
        g->sentinel |= e->taken == FGS_ORDER_SENTINEL;
        r = check_edge(p, e, &p->stage[g->head],
                       fgs__stage_writes(&p->stage[g->head], g->first), err);
        if (r < 0)
            return r;
    }
    /* One tile that is waited for by its data is enough to clear them all. */
    for (uint32_t i = 0; i < p->uses; i++) {
        if (p->use[i].ring != FGS__NOWHERE)
            p->use[i].sentinel = p->ring[p->use[i].ring].sentinel;
    }
    return FGS_OK;
}
