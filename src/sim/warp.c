/* warp.c -- run a warp: splits, divergence, reconvergence, blocking, exit
 *
 * Lanes that stand at the same instruction form a split.  Of several splits
 * the one with the lowest place in the code runs: the others stand at a later
 * join, and it merges with them when it gets there.  Every FAIR_PS the split
 * that has not run for longest gets a quantum, so a lane that spins on what
 * another lane of its warp will write does not wait for ever.
 *
 * Lanes that take the second part of an if would always come after those of the
 * first one: the seed says whether they go ahead, up to the next place that is
 * jumped to, where the parts meet.  Lanes that leave out a part, or a loop,
 * wait for the others, as they do on hardware.
 */
#include "sim/cluster.h"
#include "sim/warp.h"
#include <stdarg.h>

enum {
    QUANTUM_PS = 150 * 1000,
    FAIR_PS = 2000 * 1000,
    AHEAD = 4     /* the second part goes ahead one time in so many          */
};

void fgs__sim_warp_start(struct fgs__sim_warp *w, uint32_t live)
{
    w->live = live;
    w->exec = live;
    w->cur = 0;
    w->splits = 1;
    if (!w->room)
        w->split = &w->one;
    memset(&w->split[0], 0, sizeof w->split[0]);
    w->split[0].pc = w->block->grid->code->first;
    w->split[0].mask = live;
    w->fair_ps = w->now_ps + FAIR_PS;
}

void fgs__sim_warp_free(struct fgs__sim_warp *w)
{
    if (w->room)
        fgs__free(w->block->grid->code->alloc, w->split);
    w->room = 0;
}

uint64_t fgs__sim_warp_first(const struct fgs__sim_warp *w)
{
    uint64_t best = FGS__SIM_NEVER, t;
    uint32_t k;

    for (k = 0; k < w->splits; k++) {
        t = fgs__sim_split_ready(w, &w->split[k]);
        if (t < best)
            best = t;
    }
    return best;
}

/* --------------------------------------------------------------- splits -- */

/* Most warps diverge never, or into two. */
enum { FIRST_ROOM = 4 };

static bool more_room(struct fgs__sim_warp *w)
{
    uint32_t n = w->room ? 2 * w->room : FIRST_ROOM;
    struct fgs__sim_split *s = fgs__alloc_array(
        w->block->grid->code->alloc, n, sizeof *s);

    if (!s)
        return false;
    memcpy(s, w->split, w->splits * sizeof *s);
    fgs__sim_warp_free(w);
    w->split = s;
    w->room = n;
    return true;
}

/* Nobody comes here from the instruction before. */
static bool is_second_part(const struct fgs__sim_warp *w,
                           const struct fgs__sim_insn *pc)
{
    const struct fgs__ptx_insn *src;

    if (!pc->label || pc == w->block->grid->code->insn)
        return false;
    src = pc[-1].src;
    return src && !src->guard &&
        (src->op == FGS__OP_BRA || src->op == FGS__OP_EXIT ||
         src->op == FGS__OP_RET);
}

void fgs__sim_warp_split(struct fgs__sim_warp *w, uint32_t lanes,
                         const struct fgs__sim_insn *pc)
{
    struct fgs__sim_split *s;

    if (w->splits < (w->room ? w->room : 1) || more_room(w)) {
        s = &w->split[w->splits++];
        memset(s, 0, sizeof *s);
        s->pc = pc;
        s->mask = lanes;
        s->turn = w->turn;
        if (is_second_part(w, pc) &&
            fgs__sim_random(&w->block->rng) % (w->sm->cfg->mode ? 2 : AHEAD) ==
                0) {
            s->turn = w->turn - 1;
            w->fair_ps = 0;
        }
    } else {
        fgs__sim_warp_fault(w, pc, CUDA_ERROR_OUT_OF_MEMORY, -1,
                            "no host memory for lanes that part");
    }
    fgs__sim_cur(w)->mask &= ~lanes;
    w->exec &= ~lanes;
    /* The run loop looks at the splits again after this instruction. */
    w->stop_ps = 0;
}

static void remove_split(struct fgs__sim_warp *w, uint32_t k)
{
    w->split[k] = w->split[--w->splits];
}

/* The running split has come to `pc`: join one that stands there.  The joined
 * split executes its instruction (again) with all lanes. */
static bool join(struct fgs__sim_warp *w, const struct fgs__sim_insn *pc)
{
    struct fgs__sim_split *s;
    uint32_t k;

    for (k = 0; k < w->splits; k++) {
        s = &w->split[k];
        if (k == w->cur || s->pc != pc || s->phase)
            continue;
        s->mask |= fgs__sim_cur(w)->mask;
        s->wait = FGS__SIM_READY;
        s->token = 0;
        remove_split(w, w->cur);
        return true;
    }
    return false;
}

/* The split to run next, among those that can before `stop`; -1 = none. */
static int pick(struct fgs__sim_warp *w, uint64_t stop, bool fair)
{
    const struct fgs__sim_split *s, *best = NULL;
    uint64_t t, best_t = stop;
    uint32_t k;

    for (k = 0; k < w->splits; k++) {
        s = &w->split[k];
        t = fgs__sim_split_ready(w, s);
        if (t >= stop || t > best_t)
            continue;
        if (best && t == best_t &&
            (fair ? (int32_t)(s->turn - best->turn) >= 0 : s->pc >= best->pc))
            continue;
        best = s;
        best_t = t;
    }
    return best ? (int)(best - w->split) : -1;
}

/* ------------------------------------------------------------- run loop -- */

/* A row of plain instructions, at most `most`, as far as the time goes. */
static const struct fgs__sim_insn *run_plain(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i,
                                             uint64_t most)
{
    const struct fgs__sim_insn *end;
    uint64_t left = w->stop_ps - w->now_ps;
    uint64_t n = i->plain < most ? i->plain : most;

    if (FGS__UNLIKELY(n * FGS__SIM_ALU_PS > left))
        n = (left + FGS__SIM_ALU_PS - 1) / FGS__SIM_ALU_PS;
    w->now_ps += n * FGS__SIM_ALU_PS;
    w->issued += (uint32_t)n;
    for (end = i + n; i != end; i++)
        i->run(w, i);
    return i;
}

static const struct fgs__sim_insn *run_alone(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    do {
        if (i->plain) {
            i = run_plain(w, i, UINT64_MAX);
            continue;
        }
        w->now_ps += i->cost_ps;
        w->issued++;
        i = i->run(w, i);
    } while (i && w->now_ps < w->stop_ps);
    return i;
}

/* Instructions from `i` on up to the next place where another split stands;
 * UINT64_MAX = none. */
static uint64_t until_split(const struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i)
{
    uint64_t least = UINT64_MAX;
    uint32_t k;

    for (k = 0; k < w->splits; k++)
        if (w->split[k].pc > i && (uint64_t)(w->split[k].pc - i) < least)
            least = (uint64_t)(w->split[k].pc - i);
    return least;
}

/* As above, and stop where another split stands, or behind one that could run
 * (unless it is the turn of the one that waited longest). */
static const struct fgs__sim_insn *run_among(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i,
                                             bool fair)
{
    const struct fgs__sim_insn *lowest = NULL;
    bool ahead = fair && !w->fair_ps;
    uint32_t k, n = w->splits;

    for (k = 0; k < n && !fair; k++)
        if (k != w->cur && w->split[k].wait == FGS__SIM_READY &&
            (!lowest || w->split[k].pc < lowest))
            lowest = w->split[k].pc;
    do {
        if (i->plain) {
            i = run_plain(w, i, ahead || (lowest && lowest <= i)
                                    ? 1 : until_split(w, i));
        } else {
            w->now_ps += i->cost_ps;
            w->issued++;
            i = i->run(w, i);
        }
        for (k = 0; k < n && i; k++)
            if (w->split[k].pc == i && k != w->cur)
                return i;
        if (ahead && i && i->label)
            return i;
    } while (i && (!lowest || i < lowest) && w->now_ps < w->stop_ps);
    return i;
}

/* An instruction that has been woken: its notes die with it. */
static const struct fgs__sim_insn *run_woken(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    w->now_ps += i->cost_ps;
    w->issued++;
    i = i->run(w, i);
    if (i) {
        fgs__sim_cur(w)->phase = 0;
        fgs__sim_cur(w)->token = 0;
    }
    return i;
}

void fgs__sim_warp_run(struct fgs__sim_warp *w, uint64_t stop_ps)
{
    const struct fgs__sim_insn *i;
    struct fgs__sim_split *s;
    uint64_t t;
    bool fair;
    int k;

    for (;;) {
        fair = w->now_ps >= w->fair_ps;
        if (w->block->faulted || !w->splits)
            return;
        k = w->splits == 1 ? 0 : pick(w, stop_ps, fair);
        if (k < 0)
            return;
        s = &w->split[k];
        t = fgs__sim_split_ready(w, s);
        if (t >= stop_ps)
            return;
        w->now_ps = t;
        s->wait = FGS__SIM_READY;
        s->turn = ++w->turn;
        w->cur = (uint32_t)k;
        w->exec = s->mask;
        w->stop_ps = stop_ps;
        /* The place moves while it runs: nobody joins the old one. */
        i = s->pc;
        if (s->phase || s->token) {
            i = run_woken(w, i);
        } else if (w->splits == 1) {
            i = run_alone(w, i);
        } else {
            if (stop_ps > w->now_ps + QUANTUM_PS)
                w->stop_ps = w->now_ps + QUANTUM_PS;
            i = run_among(w, i, fair);
        }
        if (fair)
            w->fair_ps = w->now_ps + FAIR_PS;
        if (!i)
            continue;
        w->split[k].pc = i; /* they may have moved */
        if (w->splits > 1)
            join(w, i);
    }
}

/* -------------------------------------------------------- for handlers -- */

const struct fgs__sim_insn *fgs__sim_warp_fault(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i,
                                                CUresult cu, int lane,
                                                const char *fmt, ...)
{
    struct fgs__sim_block *b = w->block;
    int64_t thread = lane < 0 ? -1 : (int64_t)w->id * 32 + lane;
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__sim_fault(b->grid, cu, i->src, b->linear, thread, "%s", text);
    b->faulted = true;
    return NULL;
}

const struct fgs__sim_insn *fgs__sim_warp_block(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i,
                                                enum fgs__sim_wait why,
                                                uint64_t wake_ps)
{
    struct fgs__sim_split *s = fgs__sim_cur(w);

    s->pc = i;
    s->wait = why;
    s->seen = w->block->events;
    s->wake_ps = wake_ps;
    return NULL;
}

const struct fgs__sim_insn *fgs__sim_warp_exit(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    struct fgs__sim_block *b = w->block;
    struct fgs__sim_split *s = fgs__sim_cur(w);
    uint32_t k;

    s->mask &= ~w->exec;
    w->live &= ~w->exec;
    b->live -= (uint32_t)__builtin_popcount(w->exec);
    s->pc = i + 1;
    if (!s->mask)
        remove_split(w, w->cur);
    /* Lanes that are gone are waited for no longer. */
    for (k = 0; k < w->splits; k++)
        if (w->split[k].wait == FGS__SIM_WAIT_WARP)
            w->split[k].wait = FGS__SIM_READY;
    if (!w->live) {
        b->running--;
        b->end_ps = fgs__sim_later(b->end_ps, w->now_ps);
    }
    fgs__sim_block_event(b, w->now_ps);
    if (b->cluster || b->meets)
        fgs__sim_cluster_check(b, w->now_ps);
    return NULL;
}

/* ------------------------------------------------------- lanes that meet */

static const struct fgs__sim_insn *
not_member(struct fgs__sim_warp *w, const struct fgs__sim_insn *i, int lane)
{
    return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                               "the lane is not in its own member mask");
}

/* No lane of the running split has all its partners here; with one member
 * mask, they may stand at the same instruction elsewhere in the code. */
static const struct fgs__sim_insn *
meet_elsewhere(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
               uint32_t member, fgs__sim_meet meet)
{
    const struct fgs__sim_insn *at[32] = { NULL };
    struct fgs__sim_split *s;
    uint32_t all = w->exec, k, lane, others = 0;

    for (k = 0; k < w->splits; k++) {
        s = &w->split[k];
        if (k != w->cur && s->wait == FGS__SIM_WAIT_WARP &&
            s->token == member && s->pc->src->op == i->src->op) {
            others |= 1u << k;
            all |= s->mask;
        }
    }
    if (member & w->live & ~all) {
        fgs__sim_cur(w)->token = member;
        return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_WARP, FGS__SIM_NEVER);
    }
    others |= 1u << w->cur;
    fgs__sim_cur(w)->pc = i;
    for (k = 0; k < w->splits; k++)
        for (lane = 0; lane < 32 && (others >> k & 1); lane++)
            if (w->split[k].mask >> lane & 1)
                at[lane] = w->split[k].pc;
    meet(w, at, all);
    for (k = 0; k < w->splits; k++) {
        s = &w->split[k];
        if (k == w->cur || !(others >> k & 1))
            continue;
        s->pc++;
        s->wait = FGS__SIM_READY;
        s->token = 0;
    }
    w->stop_ps = 0;
    return i + 1;
}

/* Of lanes that are all here, those whose partners name the same lanes: who
 * waits for a lane does not go on because it comes by with another mask, as in
 * a round of a loop that the waiting lane has left. */
static uint32_t agreeing(const uint32_t *member, uint32_t live, uint32_t ok)
{
    uint32_t left = 0, lane, rest;

    for (lane = 0; lane < 32; lane++) {
        if (!(ok >> lane & 1))
            continue;
        for (rest = member[lane] & live; rest; rest &= rest - 1)
            if (member[__builtin_ctz(rest)] != member[lane])
                break;
        left |= (uint32_t)!rest << lane;
    }
    return left;
}

const struct fgs__sim_insn *fgs__sim_warp_meet(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i,
                                               fgs__sim_ref mask,
                                               fgs__sim_meet meet)
{
    const uint32_t *member = fgs__sim_at(w, mask);
    const struct fgs__sim_insn *at[32];
    uint32_t ok = 0, same = 0, m, first = (uint32_t)__builtin_ctz(w->exec);
    int lane;

    for (lane = 0; lane < 32; lane++) {
        at[lane] = i;
        if (!(w->exec >> lane & 1))
            continue;
        m = member[lane];
        if (!(m >> lane & 1))
            return not_member(w, i, lane);
        if (!(m & w->live & ~w->exec))
            ok |= 1u << lane;
        if (m == member[first])
            same |= 1u << lane;
    }
    if (same != w->exec)
        ok = agreeing(member, w->live, ok);
    if (!ok) {
        if (same != w->exec)
            fgs__sim_warp_split(w, w->exec & ~same, i);
        return meet_elsewhere(w, i, member[first], meet);
    }
    if (ok != w->exec)
        fgs__sim_warp_split(w, w->exec & ~ok, i);
    meet(w, at, ok);
    return i + 1;
}
