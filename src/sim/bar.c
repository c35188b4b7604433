/* bar.c -- block and warp barriers
 *
 * Since sm_70 a barrier counts threads.  Without a count it waits for all
 * threads of the block; those that have exited count as arrived, as the
 * hardware has it.
 */
#include "sim/exec.h"
#include "sim/latency.h"
#include "sim/meet.h"

enum { OP_NUMBER = 0, OP_COUNT = 1, OP_MASK = 0, OP_DST = 2, OP_PRED = 3 };
enum {
    AUX_FLIP = 0,
    AUX_RED = 1,
    AUX_FIXED = 2, /* bits of the op[]s that are constants */
    AUX_ALIGNED = 3
};
/* A phase of its own for each barrier. */
enum { RED_PHASE = 2 };

/* ------------------------------------------------------- block barriers -- */

enum { ALL = UINT32_MAX / 2 }; /* expected: whoever lives */

static bool full(const struct fgs__sim_block *b,
                 const struct fgs__sim_named_bar *bar)
{
    return bar->arrived >=
           (bar->expected == ALL ? b->live : bar->expected);
}

/* Let the waiting threads go; the barrier can be used again at once. */
static void release(struct fgs__sim_warp *w, struct fgs__sim_named_bar *bar)
{
    bar->generation++;
    bar->arrived = 0;
    bar->expected = 0;
    bar->ones = bar->zeros = 0;
    fgs__sim_block_event(w->block, w->now_ps);
}

/* The operand's value, the same in all lanes; false after a fault. */
static bool uniform(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                    unsigned op, const char *what, uint32_t *out)
{
    const uint32_t *v = fgs__sim_at(w, i->op[op]);

    *out = v[__builtin_ctz(w->exec)];
    if (i->aux[AUX_FIXED] >> op & 1)
        return true;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = __builtin_ctz(m);

        if (v[l] != *out) {
            fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, l,
                                "the threads of a warp give different %s "
                                "(%u and %u)",
                                what, *out, v[l]);
            return false;
        }
    }
    return true;
}

/* How many threads arrive.  The count is a multiple of the warp size and so
 * takes in whole warps: the lanes that a last warp lacks, or that exited,
 * come along with the rest of it, of lanes that come apart with the first. */
static uint32_t arriving(const struct fgs__sim_warp *w, bool counted)
{
    bool first = w->exec >> __builtin_ctz(w->live) & 1;

    return (uint32_t)__builtin_popcount(w->exec) +
        (counted && first ? (uint32_t)__builtin_popcount(~w->live) : 0);
}

static bool is_bar(const struct fgs__sim_insn *i)
{
    switch (i->src ? i->src->op : 0) {
    case FGS__OP_BAR_SYNC:
    case FGS__OP_BAR_RED:
    case FGS__OP_BARRIER_SYNC:
    case FGS__OP_BARRIER_RED:
        return true;
    default:
        return false;
    }
}

/* The barrier that a split waits for at an .aligned instruction other than i,
 * NULL = at none.  One that was let go and has not run since is at none. */
static const struct fgs__sim_named_bar *
waits_elsewhere(const struct fgs__sim_warp *w, const struct fgs__sim_split *s,
                const struct fgs__sim_insn *i)
{
    const struct fgs__sim_named_bar *bar = w->block->bar;

    if (s->wait != FGS__SIM_WAIT_EVENT || s->pc == i || !is_bar(s->pc) ||
        !s->pc->aux[AUX_ALIGNED])
        return NULL;
    if (s->phase >= RED_PHASE) {
        bar += s->phase - RED_PHASE;
    } else {
        const uint32_t *number = fgs__sim_at(w, s->pc->op[OP_NUMBER]);

        bar += number[__builtin_ctz(s->mask)];
    }
    return bar->generation == (uint32_t)s->token ? bar : NULL;
}

/* All threads of a warp must execute the same .aligned barrier (ISA 9.7.15.1):
 * those that have exited are forgiven, as a GPU does, others are not.  False
 * after a fault. */
static bool together(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    if (FGS__LIKELY(w->exec == w->live) || !i->aux[AUX_ALIGNED])
        return true;
    for (uint32_t k = 0; k < w->splits; k++) {
        const struct fgs__sim_split *s = &w->split[k];

        if (k == w->cur || !waits_elsewhere(w, s, i))
            continue;
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                            __builtin_ctz(w->exec),
                            "all threads of a warp must execute the same "
                            ".aligned instruction, lane %d waits at another "
                            "barrier instruction",
                            __builtin_ctz(s->mask));
        return false;
    }
    return true;
}

/* Count the running lanes in; NULL after a fault. */
static struct fgs__sim_named_bar *arrive(struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i)
{
    bool counted = i->op[OP_COUNT] != FGS__SIM_NOREF;
    uint32_t number, expected = ALL;
    struct fgs__sim_named_bar *bar;
    int lane = __builtin_ctz(w->exec);

    if (!together(w, i) ||
        !uniform(w, i, OP_NUMBER, "barrier numbers", &number) ||
        (counted && !uniform(w, i, OP_COUNT, "thread counts", &expected)))
        return NULL;
    if (number > 15) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "barrier %u does not exist: a block has 0 to 15",
                            number);
        return NULL;
    }
    if (counted && (expected == 0 || expected % 32)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the thread count of a barrier must be a multiple "
                            "of 32, not %u",
                            expected);
        return NULL;
    }
    bar = &w->block->bar[number];
    if (bar->arrived && bar->expected != expected) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "threads come to barrier %u with different thread "
                            "counts",
                            number);
        return NULL;
    }
    /* bar.red must not meet another kind (ISA 9.7.15.1). */
    if (bar->arrived && !(bar->ones + bar->zeros) != !i->aux[AUX_RED]) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "a reduction and another barrier instruction meet "
                            "at barrier %u",
                            number);
        return NULL;
    }
    bar->expected = expected;
    bar->arrived += arriving(w, counted);
    if (counted && bar->arrived > expected) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "more threads than the %u expected come to "
                            "barrier %u",
                            expected, number);
        return NULL;
    }
    return bar;
}

static const struct fgs__sim_insn *run_arrive(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    struct fgs__sim_named_bar *bar = arrive(w, i);

    if (!bar)
        return NULL;
    if (full(w->block, bar))
        release(w, bar);
    fgs__sim_warp_delay(w, FGS__SIM_BAR_PS);
    return i + 1;
}

/* token: the generation that the split arrived in.  A woken split looks again
 * itself: threads that were missing may have exited. */
static const struct fgs__sim_insn *run_sync(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    struct fgs__sim_split *split = fgs__sim_cur(w);
    const uint32_t *number = fgs__sim_at(w, i->op[OP_NUMBER]);
    struct fgs__sim_named_bar *bar;
    uint32_t generation;

    if (split->phase == 0) {
        bar = arrive(w, i);
        if (!bar)
            return NULL;
        generation = bar->generation;
    } else {
        bar = &w->block->bar[number[__builtin_ctz(w->exec)]];
        generation = (uint32_t)split->token;
    }
    if (bar->generation == generation && full(w->block, bar))
        release(w, bar);
    if (bar->generation == generation) {
        split->phase = 1;
        split->token = generation;
        return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT, FGS__SIM_NEVER);
    }
    fgs__sim_warp_delay(w, FGS__SIM_BAR_PS);
    return i + 1;
}

/* ------------------------------------------------------------- reductions */

static bool is_red(const struct fgs__ptx_insn *src)
{
    return src->op == FGS__OP_BAR_RED || src->op == FGS__OP_BARRIER_RED;
}

/* The result goes to those who wait, into the high half of their token: at the
 * time that they run the barrier may be in use again.  The low half is the
 * generation. */
static void release_red(struct fgs__sim_warp *w, struct fgs__sim_named_bar *bar)
{
    struct fgs__sim_block *b = w->block;
    uint32_t number = (uint32_t)(bar - b->bar);
    uint64_t ones = bar->ones, all = !bar->zeros;

    for (uint32_t k = 0; k < b->warps; k++)
        for (uint32_t n = 0; n < b->warp[k].splits; n++) {
            struct fgs__sim_split *s = &b->warp[k].split[n];

            if (s->phase == RED_PHASE + number && is_red(s->pc->src) &&
                (uint32_t)s->token == bar->generation)
                s->token |= ones << 32 | all << 63;
        }
    release(w, bar);
}

static void put_red(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                    uint32_t ones, bool all)
{
    uint32_t *d = fgs__sim_at(w, i->op[OP_DST]);
    bool yes = i->aux[AUX_RED] == FGS__M_BAR_AND ? all : ones != 0;

    if (i->aux[AUX_RED] != FGS__M_BAR_POPC)
        *d = (*d & ~w->exec) | (yes ? w->exec : 0);
    else
        for (uint32_t m = w->exec; m; m &= m - 1)
            d[__builtin_ctz(m)] = ones;
}

static const struct fgs__sim_insn *run_red(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    struct fgs__sim_split *split = fgs__sim_cur(w);
    const uint32_t *number = fgs__sim_at(w, i->op[OP_NUMBER]);
    struct fgs__sim_named_bar *bar;
    uint32_t generation;

    if (split->phase == 0) {
        uint32_t p = *(const uint32_t *)fgs__sim_at(w, i->op[OP_PRED]);

        bar = arrive(w, i);
        if (!bar)
            return NULL;
        p = (p ^ i->aux[AUX_FLIP]) & w->exec;
        bar->ones += (uint32_t)__builtin_popcount(p);
        bar->zeros += (uint32_t)__builtin_popcount(w->exec & ~p);
        generation = bar->generation;
    } else {
        bar = &w->block->bar[number[__builtin_ctz(w->exec)]];
        generation = (uint32_t)split->token;
    }
    if (bar->generation == generation) {
        split->phase = RED_PHASE + (uint32_t)(bar - w->block->bar);
        split->token = generation;
        if (!full(w->block, bar))
            return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT,
                                       FGS__SIM_NEVER);
        split->pc = i;
        release_red(w, bar);
    }
    put_red(w, i, (uint32_t)(split->token >> 32) & 0x7fffffff,
            split->token >> 63);
    split->phase = 0;
    split->token = 0;
    fgs__sim_warp_delay(w, FGS__SIM_BAR_PS);
    return i + 1;
}

/* -------------------------------------------------------- warp barriers -- */

static void met(struct fgs__sim_warp *w,
                const struct fgs__sim_insn *const at[32], uint32_t lanes)
{
    (void)w, (void)at, (void)lanes;
}

static const struct fgs__sim_insn *run_warp_sync(struct fgs__sim_warp *w,
                                                 const struct fgs__sim_insn *i)
{
    if (fgs__sim_meets_whole(w, i->op[OP_MASK]))
        return i + 1;
    return fgs__sim_warp_meet(w, i, i->op[OP_MASK], met);
}

/* ------------------------------------------------------------- selector -- */

static bool select_warp(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    out->op[OP_MASK] = fgs__sim_ref_of(d, &src->operand[0], FGS__T_U32);
    out->run = run_warp_sync;
    out->blocks = true;
    return out->op[OP_MASK] != FGS__SIM_NOREF;
}

/* The number, and the count if there is one. */
static bool take_counts(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_operand *number,
                        const struct fgs__ptx_operand *count,
                        struct fgs__sim_insn *out)
{
    out->op[OP_NUMBER] = fgs__sim_ref_of(d, number, FGS__T_U32);
    out->op[OP_COUNT] = count ? fgs__sim_ref_of(d, count, FGS__T_U32)
                              : FGS__SIM_NOREF;
    out->aux[AUX_FIXED] = (uint32_t)(number->kind == FGS__O_INT) << OP_NUMBER;
    if (count && count->kind == FGS__O_INT)
        out->aux[AUX_FIXED] |= 1u << OP_COUNT;
    return out->op[OP_NUMBER] != FGS__SIM_NOREF &&
           (!count || out->op[OP_COUNT] != FGS__SIM_NOREF);
}

static bool select_red(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    bool popc = src->mod[FGS__G_BAR_RED] == FGS__M_BAR_POPC;

    out->aux[AUX_RED] = src->mod[FGS__G_BAR_RED];
    out->op[OP_DST] = fgs__sim_ref_dst(d, &o[0], popc ? FGS__T_U32
                                                      : FGS__T_PRED);
    out->op[OP_PRED] = fgs__sim_ref_pred(d, &o[src->operands - 1],
                                         &out->aux[AUX_FLIP]);
    out->run = run_red;
    out->blocks = true;
    return take_counts(d, &o[1], src->operands > 3 ? &o[2] : NULL, out) &&
           out->op[OP_DST] != FGS__SIM_NOREF &&
           out->op[OP_PRED] != FGS__SIM_NOREF;
}

static const uint8_t groups[] = {FGS__G_ALIGNED, FGS__G_BAR_RED};

bool fgs__sim_sel_bar(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_insn *src,
                      struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    bool arrives = src->op == FGS__OP_BAR_ARRIVE ||
                   src->op == FGS__OP_BARRIER_ARRIVE;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->op == FGS__OP_BAR_WARP_SYNC)
        return select_warp(d, src, out);
    out->aux[AUX_ALIGNED] = src->mod[FGS__G_ALIGNED] != FGS__M_NONE ||
                            src->op == FGS__OP_BAR_SYNC ||
                            src->op == FGS__OP_BAR_RED ||
                            src->op == FGS__OP_BAR_ARRIVE;
    if (is_red(src))
        return select_red(d, src, out);
    if (o[0].kind == FGS__O_INT && o[0].imm > 15) {
        fgs__sim_decode_error(d, src, "a block has barriers 0 to 15");
        return false;
    }
    if (src->operands > 1 && o[1].kind == FGS__O_INT &&
        (o[1].imm == 0 || o[1].imm % 32)) {
        fgs__sim_decode_error(d, src,
                              "the thread count of a barrier must be "
                              "a multiple of 32");
        return false;
    }
    if (arrives && src->operands < 2) {
        fgs__sim_decode_error(d, src, "a thread count is needed");
        return false;
    }
    out->run = arrives ? run_arrive : run_sync;
    out->blocks = !arrives;
    return take_counts(d, &o[0], src->operands > 1 ? &o[1] : NULL, out);
}
