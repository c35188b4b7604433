/* mbar_insn.c -- the mbarrier instructions
 *
 * A block's barriers are touched by one worker alone, the one that runs all
 * SMs of its cluster, so an operation is atomic and ordered as it stands.  What
 * the ISA leaves undefined is a reported fault here, as far as it can be seen
 * at the object.
 */
#include "sim/access.h"
#include "sim/cluster.h"
#include "sim/mbar_insn.h"

const struct fgs__sim_insn *fgs__sim_mbar_broken(struct fgs__sim_warp *w,
                                                 const struct fgs__sim_insn *i,
                                                 int lane,
                                                 enum fgs__mbar_rule rule)
{
    return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane, "%s",
                               fgs__mbar_text(rule));
}

/* The object of a lane: its place in shared memory. */
static bool object_at(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, uint32_t *at)
{
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE];
    uint64_t addr = fgs__sim_lane_addr(w, i->op[FGS__SIM_ADDR],
                                       facts & FGS__SIM_ADDR32, i->imm, lane);

    return fgs__sim_shared_offset(
        w, i, lane, addr, (facts & FGS__SIM_SPACE_MASK) == FGS__SIM_GENERIC, 8,
        8, "mbarrier object", at);
}

/* The same of an object that is initialized; NULL after a fault. */
uint64_t *fgs__sim_mbar_object(struct fgs__sim_warp *w,
                               const struct fgs__sim_insn *i, int lane)
{
    uint32_t at;

    if (!object_at(w, i, lane, &at))
        return NULL;
    if (w->block->mbar_live[at / 8])
        return (uint64_t *)(void *)(w->block->shared + at);
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                        "there is no initialized mbarrier object at shared "
                        "address 0x%x",
                        at);
    return NULL;
}

/* An object that may be another block's: also which one's; NULL after a
 * fault. */
static uint64_t *any_object(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, int lane,
                            struct fgs__sim_block **owner)
{
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE], at;
    uint64_t addr;

    *owner = w->block;
    if ((facts & FGS__SIM_SPACE_MASK) != FGS__SIM_CLUSTER)
        return fgs__sim_mbar_object(w, i, lane);
    addr = fgs__sim_lane_addr(w, i->op[FGS__SIM_ADDR], facts & FGS__SIM_ADDR32,
                              i->imm, lane);
    if (!fgs__sim_cluster_offset(w, i, lane, addr, false, 8, 8,
                                 "mbarrier object", owner, &at))
        return NULL;
    if ((*owner)->mbar_live[at / 8])
        return (uint64_t *)(void *)((*owner)->shared + at);
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                        "there is no initialized mbarrier object at shared "
                        "address 0x%llx",
                        (unsigned long long)addr);
    return NULL;
}

/* Waiting threads look again when a phase completed. */
static void completed(const struct fgs__sim_warp *w,
                      struct fgs__sim_block *owner, uint64_t before,
                      uint64_t after)
{
    if (fgs__mbar_primary(before) != fgs__mbar_primary(after))
        fgs__sim_peer_event(owner, w->now_ps);
}

/* ------------------------------------------------------- init and its like */

static const struct fgs__sim_insn *run_init(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);
        enum fgs__mbar_rule rule;
        uint32_t at;
        uint64_t bar;

        if (!object_at(w, i, lane, &at))
            return NULL;
        if (w->block->mbar_live[at / 8])
            return fgs__sim_warp_fault(
                w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                "the mbarrier object at shared address 0x%x is initialized "
                "already: mbarrier.inval comes first",
                at);
        rule = fgs__mbar_init(&bar, i->aux[AUX_FACTS] & V1,
                              fgs__sim_mbar_arg(w, i, lane));
        if (rule != FGS__MBAR_OK)
            return fgs__sim_mbar_broken(w, i, lane, rule);
        memcpy(w->block->shared + at, &bar, sizeof bar);
        w->block->mbar_live[at / 8] = 1;
    }
    fgs__sim_warp_delay(w, FGS__SIM_MBAR_PS);
    return i + 1;
}

static const struct fgs__sim_insn *run_inval(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1) {
        uint64_t *bar = fgs__sim_mbar_object(w, i, fgs__sim_lane(m));

        if (!bar)
            return NULL;
        w->block->mbar_live[((unsigned char *)bar - w->block->shared) / 8] = 0;
    }
    return i + 1;
}

static const struct fgs__sim_insn *
run_check_layout(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    int layout = i->aux[AUX_FACTS] & V1 ? 1 : 0;
    uint32_t yes = 0;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);
        const uint64_t *bar = fgs__sim_mbar_object(w, i, lane);

        if (!bar)
            return NULL;
        if (fgs__mbar_layout(*bar) == layout)
            yes |= 1u << lane;
    }
    fgs__sim_mbar_put_pred(w, i->op[OP_DST], yes);
    fgs__sim_warp_delay(w, FGS__SIM_MBAR_PS);
    return i + 1;
}

/* -------------------------------------------------------- counts and arrive */

static bool tx_at(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                  int lane, uint64_t *bar, struct fgs__sim_block *owner)
{
    uint64_t before = *bar;
    enum fgs__mbar_rule rule =
        i->aux[AUX_FACTS] & EXPECT_TX
            ? fgs__mbar_expect_tx(bar, fgs__sim_mbar_arg(w, i, lane))
            : fgs__mbar_complete_tx(bar, fgs__sim_mbar_arg(w, i, lane));

    if (rule == FGS__MBAR_OK)
        completed(w, owner, before, *bar);
    else
        fgs__sim_mbar_broken(w, i, lane, rule);
    return rule == FGS__MBAR_OK;
}

/* What an instruction does to one object. */
typedef bool (*on_object)(struct fgs__sim_warp *w,
                          const struct fgs__sim_insn *i, int lane,
                          uint64_t *bar, struct fgs__sim_block *owner);

/* The object at the same offset in each block of the mask. */
static bool multicast(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, on_object at_one)
{
    uint32_t mask = ((const uint32_t *)fgs__sim_at(w, i->op[OP_MASK]))[lane];
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE], at;
    uint64_t addr = fgs__sim_lane_addr(w, i->op[FGS__SIM_ADDR],
                                       facts & FGS__SIM_ADDR32, i->imm, lane);

    for (; mask; mask &= mask - 1) {
        uint64_t rank = (uint64_t)__builtin_ctz(mask);
        struct fgs__sim_block *owner;

        if (!fgs__sim_cluster_offset(
                w, i, lane,
                rank << FGS__SIM_RANK_SHIFT | fgs__sim_in_block(addr), false, 8,
                8, "mbarrier object", &owner, &at))
            return false;
        if (!owner->mbar_live[at / 8]) {
            fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                                "there is no initialized mbarrier object at "
                                "offset 0x%x of block %u of the cluster",
                                at, owner->rank);
            return false;
        }
        if (!at_one(w, i, lane, (uint64_t *)(void *)(owner->shared + at),
                    owner))
            return false;
    }
    return true;
}

static const struct fgs__sim_insn *run_tx(struct fgs__sim_warp *w,
                                          const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);
        struct fgs__sim_block *owner;
        uint64_t *bar;

        if (i->op[OP_MASK] != FGS__SIM_NOREF) {
            if (!multicast(w, i, lane, tx_at))
                return NULL;
            continue;
        }
        bar = any_object(w, i, lane, &owner);
        if (!bar || !tx_at(w, i, lane, bar, owner))
            return NULL;
    }
    fgs__sim_warp_delay(w, FGS__SIM_MBAR_PS);
    return i + 1;
}

/* The state is the object before the operation (pending_count wants that). */
static bool arrive_at(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, uint64_t *bar, struct fgs__sim_block *owner)
{
    uint32_t facts = i->aux[AUX_FACTS], count = 1;
    unsigned how = (facts & DROP ? FGS__MBAR_DROP : 0) |
                   (facts & NOCOMPLETE ? FGS__MBAR_NOCOMPLETE : 0);
    enum fgs__mbar_rule rule = FGS__MBAR_OK;
    uint64_t before = *bar;

    if (facts & EXPECT_TX)
        rule = fgs__mbar_expect_tx(bar, fgs__sim_mbar_arg(w, i, lane));
    else
        count = fgs__sim_mbar_arg(w, i, lane);
    if (rule == FGS__MBAR_OK)
        rule = fgs__mbar_arrive(bar, count, how);
    if (rule != FGS__MBAR_OK) {
        fgs__sim_mbar_broken(w, i, lane, rule);
        return false;
    }
    if (i->op[OP_DST] != FGS__SIM_NOREF)
        ((uint64_t *)fgs__sim_at(w, i->op[OP_DST]))[lane] = before;
    completed(w, owner, before, *bar);
    return true;
}

static const struct fgs__sim_insn *run_arrive(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);
        struct fgs__sim_block *owner;
        uint64_t *bar;

        if (i->op[OP_MASK] != FGS__SIM_NOREF) {
            if (!multicast(w, i, lane, arrive_at))
                return NULL;
            continue;
        }
        bar = any_object(w, i, lane, &owner);
        if (!bar || !arrive_at(w, i, lane, bar, owner))
            return NULL;
    }
    fgs__sim_warp_delay(w, FGS__SIM_MBAR_PS);
    return i + 1;
}

static const struct fgs__sim_insn *run_pending(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    const uint64_t *state = fgs__sim_at(w, i->op[OP_ARG]);
    uint32_t *dst = fgs__sim_at(w, i->op[OP_DST]);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);
        uint32_t count;
        enum fgs__mbar_rule rule = fgs__mbar_state_pending(state[lane], &count);

        if (rule != FGS__MBAR_OK)
            return fgs__sim_mbar_broken(w, i, lane, rule);
        dst[lane] = count;
    }
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

static bool is_wait(unsigned op)
{
    return op == FGS__OP_MBAR_TEST_WAIT || op == FGS__OP_MBAR_TRY_WAIT;
}

/* A destination that may be `_`: true also then. */
static bool take_dst(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_operand *o, enum fgs__ptx_type type,
                     fgs__sim_ref *ref)
{
    *ref = FGS__SIM_NOREF;
    if (o->kind == FGS__O_SINK)
        return true;
    *ref = fgs__sim_ref_dst(d, o, type);
    return *ref != FGS__SIM_NOREF;
}

/* Operands before the address: p, p|rp, then rv; or the state. */
static bool take_outputs(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src, unsigned before,
                         struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    bool pred = is_wait(src->op) || src->op == FGS__OP_MBAR_CHECK_LAYOUT;

    if (before > 0 && o[0].kind == FGS__O_PAIR) {
        if (!take_dst(d, &o[0].child[0], FGS__T_PRED, &out->op[OP_DST]) ||
            !take_dst(d, &o[0].child[1], FGS__T_PRED, &out->op[OP_REPORT]))
            return false;
    } else if (before > 0 &&
               !take_dst(d, &o[0], pred ? FGS__T_PRED : FGS__T_B64,
                         &out->op[OP_DST])) {
        return false;
    }
    return before < 2 || take_dst(d, &o[1], FGS__T_B8, &out->op[OP_VALUE]);
}

/* Operands behind the address: count, tx-count, parity or state; hint. */
static bool take_inputs(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src, unsigned behind,
                        struct fgs__sim_insn *out)
{
    bool state = is_wait(src->op) && !src->mod[FGS__G_PARITY];
    const struct fgs__ptx_operand *o = &src->operand[src->operands - behind];

    /* An arrival that has blocks and no count. */
    if (src->mod[FGS__G_MULTICAST] && behind == 1) {
        out->op[OP_ARG] = fgs__sim_ref_const(d, 1, 32);
        out->op[OP_MASK] = fgs__sim_ref_of(d, &o[0], FGS__T_U32);
        return out->op[OP_ARG] != FGS__SIM_NOREF &&
               out->op[OP_MASK] != FGS__SIM_NOREF;
    }
    out->op[OP_ARG] =
        behind > 0 ? fgs__sim_ref_of(d, &o[0], state ? FGS__T_B64 : FGS__T_U32)
                   : fgs__sim_ref_const(d, 1, 32);
    if (behind > 1)
        out->op[is_wait(src->op) ? OP_HINT : OP_MASK] =
            fgs__sim_ref_of(d, &o[1], FGS__T_U32);
    return out->op[OP_ARG] != FGS__SIM_NOREF &&
           (behind < 2 || out->op[OP_HINT] != FGS__SIM_NOREF ||
            out->op[OP_MASK] != FGS__SIM_NOREF);
}

static uint32_t facts_of(const struct fgs__ptx_insn *src)
{
    uint32_t facts = 0;

    if (src->mod[FGS__G_LAYOUT] == FGS__M_LAYOUT_V1)
        facts |= V1;
    if (src->mod[FGS__G_NOCOMPLETE])
        facts |= NOCOMPLETE;
    if (src->mod[FGS__G_PARITY])
        facts |= PARITY;
    if (src->mod[FGS__G_PHASE] == FGS__M_PHASE_CONDITIONAL)
        facts |= CONDITIONAL;
    if (src->op == FGS__OP_MBAR_TRY_WAIT)
        facts |= TRY;
    if (src->op == FGS__OP_MBAR_ARRIVE_DROP ||
        src->op == FGS__OP_MBAR_ARRIVE_DROP_EXPECT_TX)
        facts |= DROP;
    if (src->op == FGS__OP_MBAR_EXPECT_TX ||
        src->op == FGS__OP_MBAR_ARRIVE_EXPECT_TX ||
        src->op == FGS__OP_MBAR_ARRIVE_DROP_EXPECT_TX)
        facts |= EXPECT_TX;
    return facts;
}

static fgs__sim_fn handler_of(unsigned op)
{
    switch (op) {
    case FGS__OP_MBAR_INIT:
        return run_init;
    case FGS__OP_MBAR_INVAL:
        return run_inval;
    case FGS__OP_MBAR_CHECK_LAYOUT:
        return run_check_layout;
    case FGS__OP_MBAR_EXPECT_TX:
    case FGS__OP_MBAR_COMPLETE_TX:
        return run_tx;
    case FGS__OP_MBAR_TEST_WAIT:
    case FGS__OP_MBAR_TRY_WAIT:
        return fgs__sim_mbar_wait;
    default:
        return run_arrive;
    }
}

static bool select_pending(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src,
                           struct fgs__sim_insn *out)
{
    out->op[OP_DST] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_U32);
    out->op[OP_ARG] = fgs__sim_ref_of(d, &src->operand[1], FGS__T_B64);
    out->run = run_pending;
    return out->op[OP_DST] != FGS__SIM_NOREF &&
           out->op[OP_ARG] != FGS__SIM_NOREF;
}

static const uint8_t groups[] = {
    FGS__G_SPACE,  FGS__G_SEM,   FGS__G_SCOPE,      FGS__G_LAYOUT,
    FGS__G_PARITY, FGS__G_PHASE, FGS__G_NOCOMPLETE, FGS__G_MULTICAST};

bool fgs__sim_sel_mbar(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    unsigned before = 0;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->op == FGS__OP_MBAR_PENDING_COUNT)
        return select_pending(d, src, out);
    while (before < src->operands && src->operand[before].kind != FGS__O_ADDR)
        before++;
    if (before >= src->operands || before > 2) {
        fgs__sim_decode_error(d, src,
                              "the operands are not executed in this "
                              "form");
        return false;
    }
    for (int n = OP_DST; n <= OP_MASK; n++)
        out->op[n] = FGS__SIM_NOREF;
    out->aux[AUX_FACTS] = facts_of(src);
    out->run = handler_of(src->op);
    out->blocks = src->op == FGS__OP_MBAR_TRY_WAIT;
    return take_outputs(d, src, before, out) &&
           take_inputs(d, src, src->operands - before - 1, out) &&
           fgs__sim_access_decode(d, src, &src->operand[before], 8, out);
}
