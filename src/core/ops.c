/* ops.c -- a round as a list of operations on streams
 *
 *   fills of this round's slots          skipped where they are clean already
 *   the other streams wait for that
 *   fills of the next round's slots      in a stream of our own: off the path
 *   the stages, each behind the events of its edges from other streams
 *   what follows a launch completion event waits for the writer's stream
 *   the round's stream waits for the others
 *
 * A round begins when all of the one before has ended, since its first
 * operation stands in the stream in which that one was joined.  So the slot
 * that is filled ahead has no reader left: its last round is over (design:
 * a slot is cleared after both neighbours ended).
 */
#include "core/compose.h"

#include <stdarg.h>

/* The list while it is made; without room it is only counted. */
struct list {
    struct fgs__plan *p;
    int room;
    uint32_t ops, events;
};

static void add(struct list *l, enum fgs__op_kind kind, uint32_t index,
                uint32_t stream, int ahead, int first)
{
    if (l->room)
        l->p->op[l->ops] = (struct fgs__op){ .kind = kind, .index = index,
                                             .stream = stream, .ahead = ahead,
                                             .first = first };
    l->ops++;
}

/* The same, left out of graphs. */
static void add_after(struct list *l, enum fgs__op_kind kind, uint32_t index,
                      uint32_t stream)
{
    add(l, kind, index, stream, 0, 0);
    if (l->room)
        l->p->op[l->ops - 1].after = 1;
}

static uint32_t new_event(struct list *l, const char *what)
{
    if (l->room)
        snprintf(l->p->event[l->events].what,
                 sizeof l->p->event[l->events].what, "%s", what);
    return l->events++;
}

/* -------------------------------------------------------------- streams -- */

static uint32_t stream_of(struct fgs__plan *p, CUstream s)
{
    if (!s)
        return 0;
    for (uint32_t i = 1; i < p->streams; i++) {
        if (p->stream[i] == s)
            return i;
    }
    p->stream[p->streams] = s;
    return p->streams++;
}

static int filled_ahead(const struct fgs__use *u)
{
    return u->sentinel && u->slots > 1 &&
        (u->fill == FGS_FILL_KERNEL || u->fill == FGS_FILL_MEMSET);
}

static fgs_result take_streams(struct fgs__plan *p, fgs_error *err)
{
    p->stream = fgs__zalloc(&p->dev->alloc,
                            (p->stages + 2) * sizeof *p->stream);
    if (!p->stream)
        return fgs__nomem(err);
    p->streams = 1;
    for (uint32_t i = 0; i < p->stages; i++)
        p->stage[i].stream = stream_of(p, p->stage[i].asked_stream);
    p->side = FGS__NOWHERE;
    for (uint32_t i = 0; i < p->uses; i++) {
        if (filled_ahead(&p->use[i]) && p->side == FGS__NOWHERE)
            p->side = p->streams++;
    }
    return FGS_OK;
}

/* ------------------------------------------------------------ crossings -- */

/* An early edge from a stage into another stream that a launch completion event
 * cannot bear; NULL = it does for all of them. */
static const struct fgs__edge *needs_more(const struct fgs__plan *p,
                                          uint32_t from)
{
    const struct fgs__cross *row = &fgs__crosses[FGS__CROSS_LAUNCH];

    for (uint32_t i = 0; i < p->edges; i++) {
        const struct fgs__edge *e = &p->edge[i];

        if (e->from != from || e->taken == FGS_ORDER_STREAM ||
            p->stage[e->to].stream == p->stage[from].stream)
            continue;
        if ((e->taken == FGS_ORDER_PDL && !row->covers) ||
            (p->use[e->use].fill == FGS_FILL_SELF && !row->filled))
            return e;
    }
    return NULL;
}

static void form(struct fgs__edge *e, const char *fmt, ...) FGS__PRINTF(2, 3);

static void form(struct fgs__edge *e, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(e->form_why, sizeof e->form_why, fmt, ap);
    va_end(ap);
}

/*
 * All readers of a stage in other streams wait for one kind of event, so that a
 * graph has one, too: the first row that bears all their edges and lets grids
 * overlap.  Where none does, the programmatic event: the wait in the reader
 * covers the writer then, and no more order is needed.
 */
static enum fgs__cross_id early_form(struct fgs__plan *p, struct fgs__edge *e)
{
    const char *event = fgs__crosses[FGS__CROSS_EVENT_EARLY].name;
    const struct fgs__edge *more = needs_more(p, e->from);
    const struct fgs__overlap *o, *launch;

    if (more) {
        form(e, "the wait in %s is to cover %s: %s", p->stage[more->to].name,
             p->stage[more->from].name,
             more->taken == FGS_ORDER_PDL ? "order `pdl`"
                                          : "a buffer filled by its writer");
        return FGS__CROSS_EVENT_EARLY;
    }
    if (p->dev->cc < fgs__crosses[FGS__CROSS_EVENT_EARLY].cc) {
        form(e, "a %s needs compute capability 9.0", event);
        return FGS__CROSS_LAUNCH;
    }
    o = fgs__device_overlap(p->dev, FGS__CROSS_EVENT_EARLY);
    launch = o->yes ? NULL : fgs__device_overlap(p->dev, FGS__CROSS_LAUNCH);
    if (o->yes)
        form(e, "measured: behind it grids overlap, and the wait in the reader "
                "covers the writer");
    else if (launch->yes)
        form(e, "behind a %s grids are not known to overlap here (%.80s), "
                "behind this they do (measured); plain events order what "
                "follows",
             event, o->known ? "measured" : o->why);
    else
        form(e, "neither event is known to let grids overlap here (%.80s); the "
                "wait in the reader covers the writer",
             !o->known ? o->why : !launch->known ? launch->why : "measured");
    return launch && launch->yes ? FGS__CROSS_LAUNCH : FGS__CROSS_EVENT_EARLY;
}

/*
 * What ties the reader's launch to the writer's.  Without a tie the reader's
 * blocks could take the device before the writer's have started and starve it
 * (guide 4.6.5), so one is always made.
 */
static fgs_result take_cross(struct fgs__plan *p, struct fgs__edge *e,
                             fgs_error *err)
{
    const struct fgs__stage *from = &p->stage[e->from], *to = &p->stage[e->to];

    if (from->stream == to->stream)
        e->cross = FGS__CROSS_STREAM; /* or SERIAL, by attr.c */
    else if (!fgs__orders[e->taken].early)
        e->cross = FGS__CROSS_EVENT;
    else
        e->cross = early_form(p, e);
    if (e->cross == FGS__CROSS_STREAM || e->cross == FGS__CROSS_EVENT)
        form(e, e->cross == FGS__CROSS_STREAM
                    ? "both are in one stream"
                    : "the order asks for the end of the writer's grid");
    if (p->dev->cc >= fgs__crosses[e->cross].cc)
        return FGS_OK;
    return fgs__plan_broken(err, to, &p->use[e->use], UINT64_MAX,
                            "%s could take the device before %s has started "
                            "and starve it: across streams buffer '%s', filled "
                            "by its writer, needs a %s, compute capability "
                            "%d.%d",
                            to->name, from->name, p->use[e->use].name,
                            fgs__crosses[e->cross].name,
                            fgs__crosses[e->cross].cc / 10,
                            fgs__crosses[e->cross].cc % 10);
}

static uint32_t *event_slot(struct fgs__stage *s, enum fgs__cross_id cross)
{
    switch (cross) {
    case FGS__CROSS_EVENT:
        return &s->event;
    case FGS__CROSS_EVENT_EARLY:
        return &s->early_event;
    case FGS__CROSS_LAUNCH:
        return &s->launch_event;
    default:
        return NULL;
    }
}

static void take_events(struct list *l)
{
    struct fgs__plan *p = l->p;

    for (uint32_t i = 0; i < p->stages; i++)
        p->stage[i].event = p->stage[i].early_event =
            p->stage[i].launch_event = FGS__NOWHERE;
    for (uint32_t i = 0; i < p->edges; i++) {
        struct fgs__stage *from = &p->stage[p->edge[i].from];
        uint32_t *slot = event_slot(from, p->edge[i].cross);

        if (slot && *slot == FGS__NOWHERE)
            *slot = new_event(l, from->name);
    }
}

/* ----------------------------------------------------------------- list -- */

static void add_fill(struct list *l, uint32_t use, uint32_t stream, int ahead)
{
    const struct fgs__use *u = &l->p->use[use];

    if (u->fill == FGS_FILL_KERNEL)
        add(l, FGS__OP_KERNEL, u->fill_stage, stream, ahead, !ahead);
    else
        add(l, FGS__OP_MEMSET, use, stream, ahead, !ahead);
}

/* All slots of a ring, by the first of its edges: in the first round alone. */
static void add_ring(struct list *l, uint32_t use)
{
    for (uint32_t i = 0; !l->p->use[use].at && i < l->p->use[use].slots; i++) {
        add(l, FGS__OP_MEMSET, use, 0, 0, 1);
        if (l->room)
            l->p->op[l->ops - 1].shift = i;
    }
}

static void add_begin(struct list *l)
{
    struct fgs__plan *p = l->p;
    uint32_t go;

    if (p->side != FGS__NOWHERE) {
        p->clean_event = new_event(l, "slots filled ahead");
        add(l, FGS__OP_WAIT, p->clean_event, 0, 0, 0);
    }
    for (uint32_t i = 0; i < p->uses; i++) {
        if (p->use[i].sentinel && p->use[i].fill == FGS_FILL_RING)
            add_ring(l, i);
        else if (p->use[i].sentinel && p->use[i].fill != FGS_FILL_SELF)
            add_fill(l, i, 0, 0);
    }
    if (p->streams == 1)
        return;
    go = new_event(l, "begin of a round");
    add(l, FGS__OP_RECORD, go, 0, 0, 0);
    for (uint32_t i = 1; i < p->streams; i++)
        add(l, FGS__OP_WAIT, go, i, 0, 0);
    if (p->side == FGS__NOWHERE)
        return;
    for (uint32_t i = 0; i < p->uses; i++) {
        if (filled_ahead(&p->use[i]))
            add_fill(l, i, p->side, 1);
    }
    add(l, FGS__OP_RECORD, p->clean_event, p->side, 0, 0);
}

/* The events of a stage's edges from other streams, each once. */
static int add_waits(struct list *l, uint32_t stage)
{
    struct fgs__plan *p = l->p;
    int any = 0;

    for (uint32_t i = p->stage[stage].in; i < p->stage[stage].in_end; i++) {
        const struct fgs__edge *e = &p->edge[i];
        const uint32_t *slot;
        uint32_t j = p->stage[stage].in;

        slot = event_slot(&p->stage[e->from], e->cross);
        if (!slot)
            continue;
        while (j < i && !(p->edge[j].from == e->from &&
                          p->edge[j].cross == e->cross))
            j++;
        if (j < i)
            continue;
        add(l, FGS__OP_WAIT, *slot, p->stage[stage].stream, 0, 0);
        any = 1;
    }
    return any;
}

static void add_stages(struct list *l, uint32_t *last)
{
    struct fgs__plan *p = l->p;

    for (uint32_t i = 0; i < p->streams; i++)
        last[i] = FGS__NOWHERE;
    for (uint32_t i = 0; i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];

        if (s->fills != FGS__NOWHERE)
            continue;
        if (add_waits(l, i))
            last[s->stream] = FGS__NOWHERE;
        s->before = last[s->stream];
        add(l, FGS__OP_KERNEL, i, s->stream, 0, 0);
        last[s->stream] = i;
        if (s->event == FGS__NOWHERE)
            continue;
        add(l, FGS__OP_RECORD, s->event, s->stream, 0, 0);
        last[s->stream] = FGS__NOWHERE;
    }
}

/* Is this the first edge from its writer's stream to its reader's, another one
 * than the round's, whose wait does not cover the writer? */
static int uncovered(const struct fgs__plan *p, uint32_t edge)
{
    const struct fgs__edge *e = &p->edge[edge];
    uint32_t from = p->stage[e->from].stream, to = p->stage[e->to].stream;

    if (fgs__crosses[e->cross].covers || !to)
        return 0;
    for (uint32_t i = 0; i < edge; i++) {
        const struct fgs__edge *x = &p->edge[i];

        if (!fgs__crosses[x->cross].covers &&
            p->stage[x->from].stream == from && p->stage[x->to].stream == to)
            return 0;
    }
    return 1;
}

/* What the application puts into a reader's stream next is behind the writers,
 * as it would be if the wait had covered them. */
static void add_order(struct list *l, const uint32_t *end)
{
    struct fgs__plan *p = l->p;

    for (uint32_t i = 0; i < p->edges; i++) {
        uint32_t from = p->stage[p->edge[i].from].stream;

        if (uncovered(p, i))
            add_after(l, FGS__OP_WAIT, end[from],
                      p->stage[p->edge[i].to].stream);
    }
}

static void add_end(struct list *l, uint32_t *end)
{
    struct fgs__plan *p = l->p;
    int zero = 0;

    for (uint32_t i = 0; i < p->edges; i++)
        zero |= !p->stage[p->edge[i].from].stream && uncovered(p, i);
    if (zero) {
        end[0] = new_event(l, "end of a stream's stages");
        add_after(l, FGS__OP_RECORD, end[0], 0);
    }
    for (uint32_t i = 1; i < p->streams; i++) {
        if (i == p->side)
            continue;
        end[i] = new_event(l, "end of a stream's stages");
        add(l, FGS__OP_RECORD, end[i], i, 0, 0);
    }
    add_order(l, end);
    for (uint32_t i = 1; i < p->streams; i++) {
        if (i != p->side)
            add(l, FGS__OP_WAIT, end[i], 0, 0, 0);
    }
}

static void make(struct list *l, uint32_t *last)
{
    l->ops = l->events = 0;
    take_events(l);
    add_begin(l);
    add_stages(l, last);
    add_end(l, last); /* whose values nobody needs any more */
}

fgs_result fgs__plan_ops(struct fgs__plan *p, fgs_error *err)
{
    struct list l = { .p = p };
    uint32_t *last = NULL;
    fgs_result r = take_streams(p, err);

    for (uint32_t i = 0; r >= 0 && i < p->edges; i++)
        r = take_cross(p, &p->edge[i], err);
    if (r >= 0)
        last = fgs__zalloc(&p->dev->alloc, p->streams * sizeof *last);
    if (r >= 0 && !last)
        r = fgs__nomem(err);
    if (r < 0)
        return r;
    make(&l, last);
    p->op = fgs__zalloc(&p->dev->alloc, (l.ops + 1) * sizeof *p->op);
    p->event = fgs__zalloc(&p->dev->alloc, (l.events + 1) * sizeof *p->event);
    if (p->op && p->event) {
        l.room = 1;
        make(&l, last);
        p->ops = l.ops;
        p->events = l.events;
    } else {
        r = fgs__nomem(err);
    }
    fgs__free(&p->dev->alloc, last);
    return r;
}
