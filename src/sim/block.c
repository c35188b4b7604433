/* block.c -- a resident block: memory, warps, time, scheduling among warps
 *
 * Device time inside a block advances in windows.  In a window each warp that
 * can run does so until the window's end; a warp that is released by another
 * one starts at the time of that event.  How long a window is, which warp runs
 * first in it and whether the others follow upwards or downwards is drawn from
 * the seed, and so is what memory holds that nobody has written.
 */
#include "sim/bulk.h"
#include "sim/call.h"
#include "sim/cluster.h"
#include "sim/decode.h"
#include "sim/room.h"
#include "sim/warp.h"

enum {
    WINDOW_PS = 1000 * 1000,
    CHECK_PS = 40 * 1000, /* of mode check: some 20 instructions of a warp */
    ISSUE_PS = 143 /* an SM issues 4 warp instructions a cycle, 1.75 GHz */
};

/* --------------------------------------------------------------- memory -- */

static size_t round_up(size_t n)
{
    return (n + 127) & ~(size_t)127;
}

/* One allocation holds it all: block, warps, what they have in common, banks,
 * shared, flags, local. */
struct layout {
    size_t warps, common, banks, shared, live, local, total;
};

static struct layout lay_out(const struct fgs__sim_grid *g, uint32_t warps)
{
    const struct fgs__sim_code *c = g->code;
    struct layout l;

    l.warps = round_up(sizeof(struct fgs__sim_block));
    l.common = round_up(l.warps + warps * sizeof(struct fgs__sim_warp));
    l.banks = round_up(l.common + c->common_bytes);
    l.shared = round_up(l.banks + (size_t)warps * c->bank_bytes);
    l.live = round_up(l.shared + g->window_bytes);
    l.local = round_up(l.live + g->window_bytes / 8 + 1);
    l.total = l.local + (size_t)warps * 32 * fgs__sim_local_bytes(g) + 128;
    return l;
}

/* Special registers from one to another of the code's; of memory that another
 * block of the grid used, those that differ for this one. */
static void fill_sregs(struct fgs__sim_warp *w, uint32_t from, uint32_t to,
                       bool again)
{
    const struct fgs__sim_code *c = w->block->grid->code;

    for (; from < to; from++)
        if (!again || !fgs__sim_sreg_steady(c->sregs[from].sreg))
            fgs__sim_sreg_fill(w, &c->sregs[from]);
}

/* What the block's warps have in common, by way of the first one.  Addresses
 * of shared variables begin at the block's base. */
static void fill_common(struct fgs__sim_warp *w, bool again)
{
    const struct fgs__sim_code *c = w->block->grid->code;
    uint64_t base = w->block->shared_base;

    for (uint32_t i = 0; i < c->shared_count; i++) {
        const struct fgs__sim_const *k = &c->shared[i];

        if (!again || w->block->cluster)
            fgs__sim_broadcast(w, k->ref, k->value + base, k->bits);
    }
    fill_sregs(w, c->own_sregs, c->sreg_count, again);
}

/* A bank is new, or was the same warp's of another block of the grid.
 * Registers that are read before they are written hold anything. */
static void fill_bank(struct fgs__sim_warp *w, bool again)
{
    const struct fgs__sim_code *c = w->block->grid->code;
    unsigned char *bank = fgs__sim_bank(w);

    if (!again)
        memset(bank, w->block->garbage, c->bank_bytes);
    for (uint32_t i = 0; again && i < c->freshes; i++)
        memset(bank + c->fresh[i].at, w->block->garbage, c->fresh[i].bytes);
    if (c->fp != FGS__SIM_NOREF)
        fgs__sim_broadcast(w, c->fp, 0, 64);
    if (c->sp != FGS__SIM_NOREF)
        fgs__sim_broadcast(w, c->sp, c->sp_start, 64);
    fill_sregs(w, 0, c->own_sregs, again);
}

static void set_bases(struct fgs__sim_warp *w, unsigned char *bank)
{
    const struct fgs__sim_block *b = w->block;

    w->base[FGS__SIM_BANK] = (uintptr_t)bank;
    w->base[FGS__SIM_COMMON] = (uintptr_t)b->common -
        ((uintptr_t)FGS__SIM_COMMON << FGS__SIM_BASE_SHIFT);
    w->base[FGS__SIM_KONST] = (uintptr_t)b->grid->code->konst -
        ((uintptr_t)FGS__SIM_KONST << FGS__SIM_BASE_SHIFT);
}

static void make_warp(struct fgs__sim_block *b, uint32_t k, uint64_t now_ps,
                      unsigned char *bank, unsigned char *local, bool again)
{
    struct fgs__sim_warp *w = &b->warp[k];
    uint32_t n = b->grid->threads - k * 32;
    struct fgs__sim_split *split = again ? w->split : NULL;
    uint32_t room = again ? w->room : 0;

    memset(w, 0, sizeof *w);
    w->split = split;
    w->room = room;
    w->local = local;
    w->block = b;
    set_bases(w, bank);
    w->sm = b->sm;
    w->id = k;
    w->now_ps = now_ps;
    w->registers = b->grid->code->pool;
    if (!k)
        fill_common(w, again);
    fill_bank(w, again);
    fgs__sim_warp_start(w, n >= 32 ? UINT32_MAX : (1u << n) - 1);
}

/* --------------------------------------------------------------- spares -- */

static struct fgs__sim_block *take_spare(struct fgs__sim_sm *sm,
                                         const struct fgs__sim_grid *g)
{
    struct fgs__sim_block **at = &sm->spare, *b;

    while (*at && (*at)->grid != g)
        at = &(*at)->next;
    b = *at;
    if (b)
        *at = b->next;
    return b;
}

static void empty(struct fgs__sim_block *b)
{
    fgs__sim_copies_free(b);
    fgs__sim_sent_free(b);
    fgs__sim_requests_free(b);
    fgs__sim_async_free(b);
    for (uint32_t k = 0; k < b->warps; k++)
        fgs__sim_stack_free(&b->warp[k]);
}

void fgs__sim_block_park(struct fgs__sim_block *b)
{
    struct fgs__sim_sm *sm = b->sm;

    empty(b);
    b->next = sm->spare;
    sm->spare = b;
    atomic_store_explicit(&b->grid->parked, true, memory_order_relaxed);
}

void fgs__sim_blocks_unpark(struct fgs__sim_sm *sm,
                            const struct fgs__sim_grid *g)
{
    struct fgs__sim_block *b;

    while ((b = take_spare(sm, g)))
        fgs__sim_block_free(b);
}

/* ----------------------------------------------------------------- make -- */

struct fgs__sim_block *fgs__sim_block_make(struct fgs__sim_slot *slot,
                                           uint64_t now_ps)
{
    struct fgs__sim_grid *g = slot->grid;
    struct fgs__sim_sm *sm = slot->sm;
    uint64_t linear = slot->linear;
    const struct fgs__sim_code *c = g->code;
    uint32_t warps = (g->threads + 31) / 32, k;
    struct layout l = lay_out(g, warps);
    struct fgs__sim_block *b = take_spare(sm, g);
    bool again = b != NULL;
    char *p = again ? (char *)b : fgs__sim_room_take(sm, c->alloc, l.total);

    if (!p)
        return NULL;
    b = (struct fgs__sim_block *)(void *)p;
    sm->shapes = fgs__sim_shapes_now();
    /* Warps and banks are set by make_warp. */
    memset(p, 0, l.warps);
    memset(p + l.live, 0, l.local - l.live);
    b->grid = g;
    b->sm = sm;
    b->slot = slot;
    b->cluster = slot->cluster;
    b->rank = slot->rank;
    b->shared_base = slot->rank << FGS__SIM_RANK_SHIFT;
    if (b->cluster)
        b->cluster->block[b->rank] = b;
    b->linear = linear;
    b->ctaid[0] = (uint32_t)(linear % g->grid[0]);
    b->ctaid[1] = (uint32_t)(linear / g->grid[0] % g->grid[1]);
    b->ctaid[2] = (uint32_t)(linear / g->grid[0] / g->grid[1]);
    b->warps = b->running = warps;
    b->live = g->threads;
    b->warp = (struct fgs__sim_warp *)(void *)(p + l.warps);
    b->common = (unsigned char *)p + l.common;
    b->shared = (unsigned char *)p + l.shared;
    b->mbar_live = (uint8_t *)p + l.live;
    b->now_ps = b->start_ps = b->end_ps = now_ps;
    b->rng = g->rng ^ (linear + 1) * 0x9e3779b97f4a7c15ull;
    b->garbage = (uint8_t)fgs__sim_random(&b->rng);
    memset(p + l.shared, b->garbage, l.live - l.shared);
    memset(p + l.local, b->garbage, l.total - 128 - l.local);
    for (k = 0; k < warps; k++)
        make_warp(b, k, now_ps,
                  (unsigned char *)p + l.banks + k * c->bank_bytes,
                  (unsigned char *)p + l.local +
                      (size_t)k * 32 * fgs__sim_local_bytes(g), again);
    return b;
}

void fgs__sim_block_free(struct fgs__sim_block *b)
{
    if (!b)
        return;
    empty(b);
    for (uint32_t k = 0; k < b->warps; k++)
        fgs__sim_warp_free(&b->warp[k]);
    fgs__sim_room_give(b->sm, b->grid->code->alloc, b);
}

/* ------------------------------------------------------------------ run -- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t warps_ready(const struct fgs__sim_block *b)
{
    uint64_t t = FGS__SIM_NEVER;
    uint32_t k;

    for (k = 0; k < b->warps; k++)
        t = least(t, fgs__sim_warp_ready(&b->warp[k]));
    return t;
}

static void run_warp(struct fgs__sim_block *b, struct fgs__sim_warp *w,
                     uint64_t stop)
{
    struct fgs__sim_sm *sm = b->sm;

    w->issued = 0;
    fgs__sim_warp_run(w, stop);
    b->issued += w->issued;
    /* All warps of an SM share its issue slots, counted from the start of
     * what the SM runs now. */
    if (sm->issue_ps < sm->now_ps)
        sm->issue_ps = sm->now_ps;
    sm->issue_ps += (uint64_t)w->issued * ISSUE_PS;
    if (w->now_ps < sm->issue_ps)
        w->now_ps = sm->issue_ps;
}

/* Until no warp can run before `stop`; when the first one can. */
static uint64_t run_window(struct fgs__sim_block *b, uint64_t stop)
{
    uint64_t draw = fgs__sim_random(&b->rng), t, next;
    uint32_t step = draw & 1 ? 1 : b->warps - 1, k, n;
    struct fgs__sim_warp *w;
    bool progress;

    b->first = (uint32_t)(draw >> 32) % b->warps;
    do {
        progress = false;
        next = FGS__SIM_NEVER;
        k = b->first;
        for (n = 0; n < b->warps && !b->faulted; n++) {
            w = &b->warp[k];
            k = k + step < b->warps ? k + step : k + step - b->warps;
            t = fgs__sim_warp_ready(w);
            if (t < stop) {
                run_warp(b, w, stop);
                progress = true;
            } else {
                next = least(next, t);
            }
        }
        b->first = b->first + 1 < b->warps ? b->first + 1 : 0;
    } while (progress && !b->faulted);
    return next;
}

/* Live threads, those that wait for the grids before, those that stand at the
 * instruction of the first one. */
struct waiters {
    const struct fgs__sim_split *first;
    int64_t thread;
    uint32_t live, deps, here;
};

static struct waiters count_waiters(const struct fgs__sim_block *b)
{
    struct waiters r = { .thread = -1 };
    uint32_t k, n, lanes;

    for (k = 0; k < b->warps; k++)
        for (n = 0; b->warp[k].live && n < b->warp[k].splits; n++) {
            const struct fgs__sim_split *s = &b->warp[k].split[n];

            lanes = (uint32_t)__builtin_popcount(s->mask);
            if (!r.first) {
                r.first = s;
                r.thread = (int64_t)k * 32 + __builtin_ctz(s->mask);
            }
            r.live += lanes;
            r.deps += s->wait == FGS__SIM_WAIT_DEPS ? lanes : 0;
            r.here += s->pc == r.first->pc ? lanes : 0;
        }
    return r;
}

/* Does any block of the cluster wait for the grids before its own? */
static bool waits_for_grids(const struct fgs__sim_block *b)
{
    const struct fgs__sim_cluster *c = b->cluster;

    if (!c)
        return count_waiters(b).deps;
    for (uint32_t k = 0; k < c->size; k++)
        if (c->block[k] && count_waiters(c->block[k]).deps)
            return true;
    return false;
}

/* Nothing has a time: the block can never go on, unless another one of its
 * cluster reaches into it, or it waits for the grids before its own. */
static enum fgs__sim_state stuck(struct fgs__sim_block *b)
{
    struct waiters n = count_waiters(b);
    char lack[160];

    if (fgs__sim_cluster_moves(b) || waits_for_grids(b))
        return FGS__SIM_ASLEEP;
    lack[fgs__sim_maxnreg_text(b, lack, 0, sizeof lack - 1)] = 0;
    fgs__sim_fault(b->grid, CUDA_ERROR_LAUNCH_FAILED,
                   n.first ? n.first->pc->src : NULL, b->linear, n.thread,
                   "deadlock: %u threads wait here, the block's other %u live "
                   "threads wait elsewhere, and none can go on%s%s",
                   n.here, n.live - n.here, *lack ? ": " : "", lack);
    b->faulted = true;
    return FGS__SIM_FAULTED;
}

/* Threads spin on barriers, and nothing else can happen to the block. */
static enum fgs__sim_state spinning(struct fgs__sim_block *b, bool for_ever)
{
    struct waiters n = count_waiters(b);
    char waits[560];

    fgs__sim_waits_text(b, waits, sizeof waits);
    if (for_ever)
        fgs__sim_fault(b->grid, CUDA_ERROR_LAUNCH_FAILED,
                       n.first ? n.first->pc->src : NULL, b->linear, n.thread,
                       "deadlock: all %u live threads wait, and nothing is on "
                       "its way to the block: %s", n.live, waits);
    else
        fgs__sim_fault(b->grid, CUDA_ERROR_LAUNCH_TIMEOUT,
                       n.first ? n.first->pc->src : NULL, b->linear, n.thread,
                       "stuck: all %u live threads wait, nothing is on its way "
                       "to the block, and since %llu ns only a bound in time "
                       "or a word in global memory could end it "
                       "(FGS_SIM_STUCK_NS): %s", n.live,
                       (unsigned long long)((b->now_ps - b->quiet_ps) /
                                            FGS__SIM_PS_PER_NS), waits);
    b->faulted = true;
    return FGS__SIM_FAULTED;
}

/* Instructions are counted, not time: the same run ends at the same place on
 * any host. */
static bool over_limit(struct fgs__sim_block *b)
{
    uint64_t limit = b->sm->cfg->limit;
    char waits[560];
    struct waiters n;

    if (!limit || b->issued <= limit || !b->running)
        return false;
    n = count_waiters(b);
    fgs__sim_waits_text(b, waits, sizeof waits);
    fgs__sim_fault(b->grid, CUDA_ERROR_LAUNCH_TIMEOUT,
                   n.first ? n.first->pc->src : NULL, b->linear, n.thread,
                   "the block's warps have executed more than %llu "
                   "instructions (FGS_SIM_LIMIT)%s%s",
                   (unsigned long long)limit, *waits ? "; there wait " : "",
                   waits);
    b->faulted = true;
    return true;
}

/* What writes to memory even when no thread of the block lives. */
static uint64_t land(struct fgs__sim_block *b, uint64_t now_ps)
{
    uint64_t copies = fgs__sim_copies_run(b, now_ps);
    uint64_t sent = fgs__sim_sent_run(b, now_ps);

    return least(least(copies, sent), fgs__sim_requests_run(b, now_ps));
}

/* Bring the copies up to b->now_ps. */
static uint64_t run_copies(struct fgs__sim_block *b)
{
    uint32_t events = b->events;
    uint64_t due;

    if (!b->copies && !b->sent && !b->requests && !b->async)
        return FGS__SIM_NEVER;
    due = least(land(b, b->now_ps), fgs__sim_async_run(b, b->now_ps));
    if (b->events != events && b->event_ps < b->now_ps)
        b->event_ps = b->now_ps;
    return due;
}

enum fgs__sim_state fgs__sim_block_run(struct fgs__sim_block *b,
                                       uint64_t until_ps, uint64_t *wake_ps,
                                       uint64_t *end_ps)
{
    uint64_t window = b->sm->cfg->mode ? CHECK_PS : WINDOW_PS;
    uint64_t due, t, stop, ready;
    uint32_t events = b->events;

    /* A block that slept without a wake time goes on at the SM's. */
    if (b->now_ps < b->sm->now_ps)
        b->now_ps = b->sm->now_ps;
    ready = warps_ready(b);
    *wake_ps = FGS__SIM_NEVER;
    for (;;) {
        if (b->faulted || fgs__sim_stopped(b->grid) || over_limit(b))
            return FGS__SIM_FAULTED;
        due = run_copies(b);
        if (b->faulted)
            return FGS__SIM_FAULTED;
        /* All threads have exited: what is left may only write to global
         * memory. */
        if (!b->running && due != FGS__SIM_NEVER) {
            if (fgs__sim_requests_orphaned(b))
                return FGS__SIM_FAULTED;
            due = land(b, fgs__sim_later(b->now_ps, b->end_ps));
            if (b->faulted || fgs__sim_copies_orphaned(b))
                return FGS__SIM_FAULTED;
        }
        if (!b->running && due == FGS__SIM_NEVER) {
            *end_ps = b->end_ps > b->now_ps ? b->end_ps : b->now_ps;
            return FGS__SIM_ENDED;
        }
        if (b->events != events) {
            ready = warps_ready(b);
            events = b->events;
        }
        t = least(ready, due);
        if (t == FGS__SIM_NEVER)
            return stuck(b);
        if (t >= until_ps) {
            *wake_ps = t;
            return t == until_ps ? FGS__SIM_RUNNING : FGS__SIM_ASLEEP;
        }
        if (t > b->now_ps)
            b->now_ps = t;
        if (t == due)
            continue;
        if (due == FGS__SIM_NEVER) {
            uint64_t issued = b->issued;
            bool for_ever;

            if (fgs__sim_block_spins(b, &for_ever))
                return spinning(b, for_ever);
            if (b->issued != issued) { /* it looked, and ran meanwhile */
                ready = warps_ready(b);
                continue;
            }
        }
        stop = t + window / 2 + fgs__sim_random(&b->rng) % window;
        stop = least(least(until_ps, stop), due);
        ready = run_window(b, stop);
        events = b->events;
    }
}
