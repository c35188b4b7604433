/* spin.c -- a block whose threads spin on barriers that nobody can complete
 *
 * A thread that waits in a loop of try_wait is never blocked for good, so a
 * block of such threads looks alive.  It is a deadlock all the same where
 * nothing is on its way to the block, none of its threads waits for an earlier
 * grid, and its threads only go round and round: from one moment at which all
 * are suspended to a later one they executed nothing but arithmetic on
 * registers, branches, loads of their own shared memory and waits that failed,
 * and every register has the value that it had.  Nothing of that depends on
 * anything outside the block, or on time: it repeats for ever.
 *
 * With FGS_SIM_STUCK_NS a loop may look at the time, at reports of waits that
 * failed and at global memory too.  For the look, time stands still and such
 * reports are the same, so registers show whether all else repeats; then only
 * the loop's own bound, or somebody who stores that word, can end it, and after
 * so long a time it is told.
 *
 * Blocks of a cluster reach into each other: all of them must be so at once.
 *
 * Not told, since something else may end it: a loop that looks at shared memory
 * of another block, that counts its tries, that never suspends (test_wait);
 * and a block that has used cp.async.
 */
#include "sim/cluster.h"
#include "sim/mbar.h"
#include "sim/mbar_insn.h"
#include "sim/warp.h"

#include <stdio.h>

enum {
    QUIET = 64,    /* suspensions without an event before a look            */
    STEPS = 20000, /* instructions of a look                                */
    TOLD = 3       /* waits that a message names                            */
};

static bool is_wait(const struct fgs__sim_insn *i)
{
    return i->src->op == FGS__OP_MBAR_TRY_WAIT ||
        i->src->op == FGS__OP_MBAR_TEST_WAIT;
}

/* --------------------------------------------------------------- message -- */

struct told {
    const struct fgs__sim_insn *at;
    const uint64_t *bar;
    uint32_t threads;
    int64_t first;
};

/* Waits for one barrier at one place are one. */
static uint32_t gather(struct fgs__sim_block *b, struct told *list)
{
    uint32_t n = 0, j;

    for (uint32_t k = 0; k < b->warps; k++) {
        struct fgs__sim_warp *w = &b->warp[k];

        for (uint32_t s = 0; w->live && s < w->splits; s++) {
            const struct fgs__sim_split *p = &w->split[s];
            int lane = fgs__sim_lane(p->mask);
            const uint64_t *bar;

            if (!is_wait(p->pc) || p->wait != FGS__SIM_WAIT_EVENT)
                continue;
            bar = fgs__sim_mbar_object(w, p->pc, lane);
            for (j = 0; j < n; j++)
                if (list[j].at == p->pc && list[j].bar == bar)
                    break;
            if (!bar || j == TOLD)
                continue;
            if (j == n)
                list[n++] = (struct told){ p->pc, bar, 0,
                                           (int64_t)w->id * 32 + lane };
            list[j].threads += (uint32_t)__builtin_popcount(p->mask);
        }
    }
    return n;
}

/* Behind `len` characters; how many there are then. */
static size_t put_waits(struct fgs__sim_block *b, char *out, size_t len,
                        size_t size)
{
    struct told list[TOLD];
    uint32_t n = gather(b, list);

    for (uint32_t j = 0; j < n && len < size; j++)
        len += (size_t)snprintf(
            out + len, size - len,
            "%sthread %lld%s at line %u for the mbarrier at 0x%x, which lacks "
            "%u of %u arrivals and %ld bytes in a phase of parity %u",
            j ? "; " : "", (long long)list[j].first,
            list[j].threads > 1 ? " and others" : "",
            list[j].at->src->pos.line,
            b->shared_base + (unsigned)((const unsigned char *)list[j].bar -
                                        b->shared),
            fgs__mbar_pending(*list[j].bar), fgs__mbar_expected(*list[j].bar),
            (long)fgs__mbar_tx(*list[j].bar),
            fgs__mbar_primary(*list[j].bar) & 1);
    return len < size ? fgs__sim_maxnreg_text(b, out, len, size) : len;
}

void fgs__sim_waits_text(struct fgs__sim_block *b, char *out, size_t size)
{
    const struct fgs__sim_cluster *c = b->cluster;
    size_t len, was;

    out[0] = 0;
    len = put_waits(b, out, 0, size);
    for (uint32_t k = 0; c && k < c->size && len < size; k++) {
        if (!c->block[k] || c->block[k] == b)
            continue;
        len += (size_t)snprintf(out + len, size - len, "%sin block %llu of the "
                                "cluster ", len ? "; " : "",
                                (unsigned long long)c->block[k]->linear);
        was = len;
        if (len < size)
            len = put_waits(c->block[k], out, len, size);
        if (len == was && len < size)
            len += (size_t)snprintf(out + len, size - len,
                                    "all wait elsewhere");
    }
}

/* ------------------------------------------------------------------ look -- */

/* Does it depend on registers and the block's shared memory alone, and change
 * nothing but registers?  *outside: on time or global memory, too. */
static bool is_pure(const struct fgs__sim_insn *i, bool *outside)
{
    const struct fgs__ptx_insn *src = i->src;

    if (i->plain || src->op == FGS__OP_BRA)
        return true;
    if (src->op == FGS__OP_LD && (src->space[0] == FGS__M_SHARED ||
                                  src->space[0] == FGS__M_SHARED_CTA))
        return true;
    if (is_wait(i) && i->op[OP_REPORT] == FGS__SIM_NOREF &&
        i->op[OP_VALUE] == FGS__SIM_NOREF)
        return true;
    /* reports of waits that fail are drawn from the seed */
    *outside = true;
    return is_wait(i) || fgs__sim_reads_time(i->src) ||
        (src->op == FGS__OP_LD && src->space[0] == FGS__M_GLOBAL);
}

/* All are suspended, one in a wait at least, none for an earlier grid. */
static bool is_quiet(const struct fgs__sim_block *b)
{
    bool waits = false;

    for (uint32_t k = 0; k < b->warps; k++)
        for (uint32_t s = 0; b->warp[k].live && s < b->warp[k].splits; s++) {
            const struct fgs__sim_split *p = &b->warp[k].split[s];

            if (p->wait == FGS__SIM_READY || p->wait == FGS__SIM_WAIT_TIME ||
                p->wait == FGS__SIM_WAIT_DEPS ||
                (p->wait == FGS__SIM_WAIT_EVENT && p->seen != b->events))
                return false;
            waits |= p->wait == FGS__SIM_WAIT_EVENT && is_wait(p->pc);
        }
    return waits;
}

/* Registers, and the places of all lanes. */
struct picture {
    unsigned char *bank;
    const struct fgs__sim_insn **pc;
};

static void draw(const struct fgs__sim_block *b, struct picture *p)
{
    size_t bytes = b->grid->code->bank_bytes;

    for (uint32_t k = 0; k < b->warps; k++) {
        const struct fgs__sim_warp *w = &b->warp[k];

        memcpy(p->bank + k * bytes, fgs__sim_bank(w), bytes);
        memset(p->pc + 32 * k, 0, 32 * sizeof *p->pc);
        for (uint32_t s = 0; w->live && s < w->splits; s++)
            for (uint32_t m = w->split[s].mask; m; m &= m - 1)
                p->pc[32 * k + (uint32_t)fgs__sim_lane(m)] = w->split[s].pc;
    }
}

static bool differs(const struct fgs__sim_block *b, const struct picture *p)
{
    size_t bytes = b->grid->code->bank_bytes;

    for (uint32_t k = 0; k < b->warps; k++) {
        const struct fgs__sim_warp *w = &b->warp[k];

        if (memcmp(p->bank + k * bytes, fgs__sim_bank(w), bytes))
            return true;
        for (uint32_t s = 0; w->live && s < w->splits; s++)
            for (uint32_t m = w->split[s].mask; m; m &= m - 1)
                if (p->pc[32 * k + (uint32_t)fgs__sim_lane(m)] !=
                    w->split[s].pc)
                    return true;
    }
    return false;
}

/* Run the warp by one instruction if that is a pure one whichever split it
 * is. */
static bool step(struct fgs__sim_block *b, struct fgs__sim_warp *w, uint64_t t,
                 bool *outside)
{
    for (uint32_t s = 0; s < w->splits; s++)
        if (fgs__sim_split_ready(w, &w->split[s]) <= t &&
            !is_pure(w->split[s].pc, outside))
            return false;
    w->issued = 0;
    fgs__sim_warp_run(w, t + 1);
    b->issued += w->issued;
    return !b->faulted;
}

/* Has a split that was to wake by `last` not run yet?  One of several in a warp
 * may be late: the others move the warp's clock. */
static bool is_due(const struct fgs__sim_block *b, uint64_t last)
{
    for (uint32_t k = 0; k < b->warps; k++)
        for (uint32_t s = 0; b->warp[k].live && s < b->warp[k].splits; s++)
            if (b->warp[k].split[s].wake_ps <= last)
                return true;
    return false;
}

/* Each waiting thread once round: true when all are suspended again, and only
 * pure instructions were executed.  What the block executed counts, so a look
 * that ends early did no harm. */
static bool once_round(struct fgs__sim_block *b, bool *outside)
{
    uint64_t last = 0, t;
    uint32_t k;

    for (k = 0; k < b->warps; k++)
        for (uint32_t s = 0; b->warp[k].live && s < b->warp[k].splits; s++) {
            t = b->warp[k].split[s].wake_ps;
            last = t != FGS__SIM_NEVER && t > last ? t : last;
        }
    for (uint32_t steps = 0; steps < STEPS; steps++) {
        struct fgs__sim_warp *w = NULL;
        uint64_t best = FGS__SIM_NEVER;

        for (k = 0; k < b->warps; k++) {
            t = fgs__sim_warp_ready(&b->warp[k]);
            if (t < best) {
                best = t;
                w = &b->warp[k];
            }
        }
        if (!w || (best > last && is_quiet(b) && !is_due(b, last)))
            return w != NULL;
        if (!step(b, w, best, outside))
            return false;
    }
    return false;
}

static bool may_spin(struct fgs__sim_block *b)
{
    if (b->quiet_at == b->issued)
        return false;
    b->quiet = b->quiet_events == b->events ? b->quiet + 1 : 1;
    if (b->quiet == 1)
        b->quiet_ps = b->now_ps;
    b->quiet_events = b->events;
    b->quiet_at = b->issued;
    /* at 64, 128, 256 ...: a look costs as much as a turn */
    return b->quiet >= QUIET && !(b->quiet & (b->quiet - 1));
}

/* Does each turn leave all registers as they were?  Time stands still from the
 * first one on, which the second one finds in the registers. */
static bool repeats(struct fgs__sim_block *b, bool *outside)
{
    const fgs_allocator *a = b->grid->code->alloc;
    size_t bytes = b->grid->code->bank_bytes;
    uint32_t events = b->events;
    struct picture p;
    bool same;

    p.bank = fgs__alloc(a, b->warps * bytes);
    p.pc = fgs__alloc(a, b->warps * 32 * sizeof *p.pc);
    same = p.bank && p.pc;
    for (uint32_t k = 0; k < b->warps; k++)
        if (b->warp[k].now_ps > b->still_ps)
            b->still_ps = b->warp[k].now_ps;
    same = same && once_round(b, outside);
    if (same) {
        draw(b, &p);
        same = once_round(b, outside) && b->events == events && !differs(b, &p);
    }
    b->still_ps = 0;
    fgs__free(a, p.bank);
    fgs__free(a, p.pc);
    return same;
}

static bool is_moving(const struct fgs__sim_block *b)
{
    return b->copies || b->sent || b->requests || b->async;
}

/* No warp has a time at which it could go on. */
static bool is_parked(const struct fgs__sim_block *b)
{
    for (uint32_t k = 0; k < b->warps; k++) {
        const struct fgs__sim_warp *w = &b->warp[k];

        for (uint32_t s = 0; w->live && s < w->splits; s++)
            if (w->split[s].wait == FGS__SIM_WAIT_DEPS ||
                fgs__sim_split_ready(w, &w->split[s]) != FGS__SIM_NEVER)
                return false;
    }
    return true;
}

/* The other blocks of the cluster, which one host thread runs. */
static bool peers_spin(struct fgs__sim_block *b, bool *outside)
{
    const struct fgs__sim_cluster *c = b->cluster;
    uint32_t events = b->events;

    for (uint32_t k = 0; c && k < c->size; k++) {
        struct fgs__sim_block *o = c->block[k];

        if (o == b || !c->slot[k])
            continue;
        if (!o || is_moving(o) || o->faulted)
            return false;
        if (!is_parked(o) && !(is_quiet(o) && repeats(o, outside)))
            return false;
        if (o->quiet_ps > b->quiet_ps)
            b->quiet_ps = o->quiet_ps;
    }
    return b->events == events;
}

bool fgs__sim_block_spins(struct fgs__sim_block *b, bool *for_ever)
{
    uint64_t stuck_ps = b->sm->cfg->stuck_ns * FGS__SIM_PS_PER_NS;
    bool outside = false;

    if (is_moving(b) || !is_quiet(b) || !may_spin(b) ||
        !repeats(b, &outside) || !peers_spin(b, &outside))
        return false;
    *for_ever = !outside;
    return !outside || (stuck_ps && b->now_ps - b->quiet_ps >= stuck_ps);
}
