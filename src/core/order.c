/* order.c -- an order for each edge, guide 4.6.2, and the kernel that can do it
 */
#include "core/compose.h"

#include <stdarg.h>

enum { WHY = sizeof((struct fgs__edge *)0)->why };

/* Write why; 0, so that it can be an answer. */
static int because(char *why, const char *fmt, ...) FGS__PRINTF(2, 3);

static int because(char *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, WHY, fmt, ap);
    va_end(ap);
    return 0;
}

/* The library's kernels that do their part as writers. */
static int is_writer(const struct fgs__stage *s)
{
    return s->role != FGS_ROLE_INIT && s->role != FGS_ROLE_CONSUMER;
}

/* Who never stores the sentinel as data. */
static int is_pure(const struct fgs__stage *s, const struct fgs__access *a)
{
    return s->role ? s->pure : (int)(a->can >> FGS_ORDER_SENTINEL & 1);
}

/* Whose chunks are stored once and whole, and never hold the sentinel. */
static int stores_whole(const struct fgs__stage *s, const struct fgs__access *a)
{
    return is_pure(s, a) && (!s->role || is_writer(s));
}

/* What turns tiles around hands on what it reads: sentinels that are data, too;
 * a product never is one.  Those who write it stand before it. */
static void take_pure(struct fgs__plan *p, uint32_t stage)
{
    struct fgs__stage *s = &p->stage[stage];

    s->pure = 1;
    if (s->role == FGS_ROLE_PRODUCER || s->role == FGS_ROLE_SCALED_JOIN)
        return;
    for (uint32_t i = s->in; i < s->in_end; i++) {
        const struct fgs__stage *from = &p->stage[p->edge[i].from];

        s->pure &= is_pure(from, fgs__stage_writes(from, p->edge[i].use));
    }
}

/* Orders of a tile: both ends in one memory synchronization domain (a fence at
 * gpu scope does not reach another), and a reader that ends behind the
 * writer. */
static int tile_possible(const struct fgs__stage *from,
                         const struct fgs__stage *to, char *why)
{
    if (from->domain != to->domain)
        return because(why, "%s and %s are in different memory "
                             "synchronization domains",
                        from->name, to->name);
    if (!to->role && to->waits_at == FGS_WAITS_NEVER)
        return because(why, "%s does not execute griddepcontrol.wait: it "
                             "could end before %s",
                        to->name, from->name);
    return 1;
}

/* The library's joins wait for flags and grids also where they look for
 * sentinels: one input by this, the other by that. */
static int waits_itself(const struct fgs__stage *s)
{
    return fgs__role_joins(s->role) && s->can_check;
}

static int flag_possible(const struct fgs__stage *from,
                         const struct fgs__access *out,
                         const struct fgs__stage *to,
                         const struct fgs__access *in, char *why)
{
    if (to->role ? !to->ordered && !waits_itself(to)
                 : !(in->can >> FGS_ORDER_FLAG & 1))
        return because(why, "%s %s", to->name,
                       to->role ? "has no kernel that polls flags (`ordered`)"
                                : "does not say that it polls flags");
    if (from->role ? !is_writer(from)
                   : !(out->can >> FGS_ORDER_FLAG & 1))
        return because(why, "%s does not set flags", from->name);
    return tile_possible(from, to, why);
}

static int sentinel_possible(const struct fgs__stage *from,
                             const struct fgs__access *out,
                             const struct fgs__stage *to,
                             const struct fgs__access *in, char *why)
{
    if (to->role ? !to->can_check : !(in->can >> FGS_ORDER_SENTINEL & 1))
        return because(why, "%s does not %s", to->role ? to->entry : to->name,
                       to->role ? "look for sentinels"
                                : "say that it looks for sentinels");
    if (!stores_whole(from, out))
        return because(why, "%s does not store whole chunks that never hold "
                             "the sentinel%s",
                        from->name,
                        from->role && is_writer(from)
                            ? ": it hands on what it reads" : "");
    return tile_possible(from, to, why);
}

/* Can this order be had on this edge?  Else *why says what is lacking. */
static int possible(const struct fgs__plan *p, const struct fgs__edge *e,
                    fgs_order o, char *why)
{
    const struct fgs__stage *from = &p->stage[e->from], *to = &p->stage[e->to];
    const struct fgs__access *in = &to->access[e->access];
    const struct fgs__access *out = fgs__stage_writes(from, e->use);

    switch (o) {
    case FGS_ORDER_PDL:
        if (to->role ? to->ordered || waits_itself(to)
                     : to->waits_at == FGS_WAITS_FIRST ||
                           (to->waits && (in->can >> FGS_ORDER_PDL & 1)))
            return 1;
        return because(why, "%s %s", to->name,
                       to->role ? "has no kernel that waits before it loads "
                                  "(`ordered`)"
                                : "does not execute griddepcontrol.wait "
                                  "before it loads");
    case FGS_ORDER_FLAG:
        return flag_possible(from, out, to, in, why);
    case FGS_ORDER_SENTINEL:
        return sentinel_possible(from, out, to, in, why);
    default:
        return 1;
    }
}

static fgs_result refuse(const struct fgs__plan *p, const struct fgs__edge *e,
                         const char *why, fgs_error *err)
{
    const struct fgs__stage *from = &p->stage[e->from], *to = &p->stage[e->to];

    return fgs__plan_broken(err, to, &p->use[e->use], UINT64_MAX,
                            "buffer '%s' from %s to %s cannot be ordered by "
                            "`%s`: %s",
                            p->use[e->use].name, from->name, to->name,
                            fgs__orders[e->asked].name, why);
}

/* ----------------------------------------------------------------- auto -- */

/* Blocks of a stage that the device holds at once; 0 = not known. */
static uint64_t wave(const struct fgs__plan *p, const struct fgs__stage *s)
{
    struct fgs__device *d = p->dev;
    CUfunction f = s->function;
    struct fgs__kernel *k;
    int n = 0;

    if (!d->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor)
        return 0;
    if (s->handle && fgs__kernel_get(&k, s->handle, s->entry, NULL) >= 0) {
        pthread_mutex_lock(&d->lock);
        f = k->loaded->function;
        pthread_mutex_unlock(&d->lock);
    }
    if (d->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, f, (int)(s->block[0] * s->block[1] * s->block[2]),
            s->shared) != CUDA_SUCCESS || n <= 0)
        return 0;
    return (uint64_t)n * (uint64_t)d->sm_count;
}

/*
 * Waiting blocks pay where the writer's last wave leaves room for them; where
 * it fills the device there is nothing to gain (`fgs bench chain` on an H200,
 * stream order 1: with 1.5 waves pdl 1.04, sentinel 1.49; with exactly one pdl
 * 1.067, sentinel 1.064).
 */
static int fills_device(const struct fgs__plan *p, const struct fgs__edge *e)
{
    const struct fgs__stage *from = &p->stage[e->from];
    uint64_t n = wave(p, from), blocks, last;

    blocks = (uint64_t)from->grid[0] * from->grid[1] * from->grid[2];
    if (!n)
        return 0;
    last = blocks % n;
    return blocks >= n && (!last || last > n - n / 8);
}

/* An edge whose writer may store the sentinel as data, NULL = none does. */
static const struct fgs__edge *may_hold(const struct fgs__plan *p,
                                        const struct fgs__stage *s)
{
    for (uint32_t i = s->in; i < s->in_end; i++) {
        const struct fgs__edge *e = &p->edge[i];
        const struct fgs__stage *from = &p->stage[e->from];

        if (!is_pure(from, fgs__stage_writes(from, e->use)))
            return e;
    }
    return NULL;
}

/* Both inputs of a library's kernel are loaded by one kernel: with an order
 * that another edge stated, only its kind is left; and it looks for sentinels
 * in both. */
static int fits_others(const struct fgs__plan *p, const struct fgs__edge *e,
                       fgs_order o)
{
    if (o == FGS_ORDER_SENTINEL && p->stage[e->to].role &&
        may_hold(p, &p->stage[e->to]))
        return 0;
    for (uint32_t i = p->stage[e->to].in; i < p->stage[e->to].in_end; i++) {
        const struct fgs__edge *x = &p->edge[i];

        if (x == e || x->taken == FGS_ORDER_AUTO ||
            x->taken == FGS_ORDER_STREAM || o == FGS_ORDER_STREAM)
            continue;
        if ((x->taken == FGS_ORDER_SENTINEL) != (o == FGS_ORDER_SENTINEL))
            return 0;
    }
    return 1;
}

static void choose(struct fgs__plan *p, struct fgs__edge *e)
{
    static const fgs_order by_tile[] = { FGS_ORDER_SENTINEL, FGS_ORDER_FLAG,
                                         FGS_ORDER_PDL };
    static const fgs_order by_grid[] = { FGS_ORDER_PDL, FGS_ORDER_SENTINEL,
                                         FGS_ORDER_FLAG };
    int full = fills_device(p, e);
    const fgs_order *want = full ? by_grid : by_tile;
    char why[WHY];

    e->taken = FGS_ORDER_STREAM;
    because(e->why, "auto: no other order is possible");
    for (int i = 0; i < 3; i++) {
        if (p->dev->cc < fgs__orders[want[i]].cc ||
            !possible(p, e, want[i], why) || !fits_others(p, e, want[i]))
            continue;
        e->taken = want[i];
        because(e->why, "auto: the last wave of %s %s", p->stage[e->from].name,
                full ? "fills the device" : "leaves room");
        return;
    }
}

/* ---------------------------------------------------------------- kernel -- */

static fgs_result take_ordered(struct fgs__stage *s, fgs_error *err)
{
    struct fgs__kernel *k;
    fgs_result r = fgs__kernel_get(&k, s->ordered, s->name, err);

    if (r < 0)
        return r;
    s->handle = s->ordered;
    s->engine = k->engine;
    s->can_check = 0;
    s->self = fgs__kernel_self(k);
    s->waits_at = FGS_WAITS_FIRST;
    memcpy(s->entry, k->entry, sizeof s->entry);
    s->block[0] = k->shape.threads;
    s->shared = k->shared_bytes > s->asked_shared ? k->shared_bytes
                                                  : s->asked_shared;
    return FGS_OK;
}

/* A kernel that looks for sentinels would wait for ever at one that is data,
 * whatever the order. */
static fgs_result keep_from_data(struct fgs__plan *p, struct fgs__stage *s,
                                 const struct fgs__edge *check, fgs_error *err)
{
    const struct fgs__edge *e = s->can_check ? may_hold(p, s) : NULL;

    if (!e)
        return FGS_OK;
    if (!check && s->ordered)
        return take_ordered(s, err);
    return fgs__plan_broken(err, s, &p->use[e->use], UINT64_MAX,
                            "%s looks for sentinels in buffer '%s', and %s may "
                            "store them as data: %s",
                            s->name, p->use[e->use].name,
                            p->stage[e->from].name,
                            check ? "its other input is ordered by `sentinel`"
                                  : "it takes a kernel that does not "
                                    "(`ordered`, engine `plain`)");
}

/* One kernel of the stage loads all its inputs: the one that looks for
 * sentinels where an edge is ordered by them. */
static fgs_result take_kernel(struct fgs__plan *p, uint32_t stage,
                              fgs_error *err)
{
    struct fgs__stage *s = &p->stage[stage];
    const struct fgs__edge *check = NULL;
    int plain = 0;

    for (uint32_t i = s->in; i < s->in_end; i++) {
        const struct fgs__edge *e = &p->edge[i];

        if (e->taken == FGS_ORDER_SENTINEL)
            check = e;
        else if (e->taken != FGS_ORDER_STREAM)
            plain = 1;
    }
    if (!plain || check || !s->ordered)
        return keep_from_data(p, s, check, err);
    return s->handle != s->ordered ? take_ordered(s, err) : FGS_OK;
}

/* ------------------------------------------------------------------ API -- */

static fgs_result stated(struct fgs__plan *p, struct fgs__edge *e,
                         fgs_error *err)
{
    const struct fgs__order *row;
    char why[WHY];

    if (e->asked == FGS_ORDER_AUTO)
        e->asked = p->order;
    if (e->asked == FGS_ORDER_AUTO)
        return FGS_OK;
    row = &fgs__orders[e->asked];
    if (p->dev->cc < row->cc && !(e->asked == FGS_ORDER_SENTINEL))
        return fgs__fail(err, FGS_E_UNSUPPORTED,
                         "%s: order `%s` needs compute capability %d.%d, this "
                         "is %d.%d",
                         p->stage[e->to].name, row->name, row->cc / 10,
                         row->cc % 10, p->dev->cc / 10, p->dev->cc % 10);
    if (!possible(p, e, e->asked, why))
        return refuse(p, e, why, err);
    e->taken = e->asked;
    because(e->why, "as asked: the reader waits for %s", row->what);
    return FGS_OK;
}

fgs_result fgs__plan_orders(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; i < p->stages; i++)
        take_pure(p, i);
    for (uint32_t i = 0; r >= 0 && i < p->edges; i++)
        r = stated(p, &p->edge[i], err);
    for (uint32_t i = 0; r >= 0 && i < p->edges; i++) {
        if (p->edge[i].taken == FGS_ORDER_AUTO)
            choose(p, &p->edge[i]);
    }
    for (uint32_t i = 0; r >= 0 && i < p->stages; i++) {
        if (p->stage[i].role)
            r = take_kernel(p, i, err);
    }
    for (uint32_t i = 0; r >= 0 && i < p->edges; i++) {
        struct fgs__use *u = &p->use[p->edge[i].use];

        u->sentinel |= p->edge[i].taken == FGS_ORDER_SENTINEL;
        u->flagged |= p->edge[i].taken == FGS_ORDER_FLAG;
    }
    return r;
}
