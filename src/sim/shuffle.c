/* shuffle.c -- shfl.sync, vote.sync, elect.sync, activemask */
#include "sim/meet.h"

static uint32_t u32_of(const struct fgs__sim_warp *w, fgs__sim_ref r,
                       uint32_t lane)
{
    return ((const uint32_t *)fgs__sim_at(w, r))[lane];
}

static void put_u32(const struct fgs__sim_warp *w, fgs__sim_ref r,
                    uint32_t lane, uint32_t v)
{
    if (r != FGS__SIM_NOREF)
        ((uint32_t *)fgs__sim_at(w, r))[lane] = v;
}

static void put_pred(const struct fgs__sim_warp *w, fgs__sim_ref r,
                     uint32_t lane, bool v)
{
    uint32_t *p;

    if (r == FGS__SIM_NOREF)
        return;
    p = fgs__sim_at(w, r);
    *p = (*p & ~(1u << lane)) | (uint32_t)v << lane;
}

/* ----------------------------------------------------------------- shfl -- */

/* The lane that is read, and whether it is in range (ISA, shfl.sync). */
static FGS__INLINE uint32_t shfl_lane(uint32_t mode, uint32_t lane, uint32_t b,
                                      uint32_t c, bool *in)
{
    uint32_t seg = c >> 8 & 31, clamp = c & 31;
    int32_t most = (int32_t)((lane & seg) | (clamp & ~seg));
    int32_t j;

    b &= 31;
    switch (mode) {
    case FGS__M_SHFL_UP:
        j = (int32_t)lane - (int32_t)b;
        *in = j >= most;
        break;
    case FGS__M_SHFL_DOWN:
        j = (int32_t)(lane + b);
        *in = j <= most;
        break;
    case FGS__M_SHFL_BFLY:
        j = (int32_t)(lane ^ b);
        *in = j <= most;
        break;
    default:
        j = (int32_t)((lane & seg) | (b & ~seg));
        *in = j <= most;
        break;
    }
    return *in ? (uint32_t)j : lane;
}

static void meet_shfl(struct fgs__sim_warp *w,
                      const struct fgs__sim_insn *const at[32], uint32_t lanes)
{
    uint32_t value[32] = { 0 }, from[32], lane;
    bool in[32];

    for (lane = 0; lane < 32; lane++) {
        if (!at[lane])
            continue;
        value[lane] = u32_of(w, at[lane]->op[FGS__SIM_SHFL_A], lane);
        from[lane] = shfl_lane(at[lane]->aux[0], lane,
                               u32_of(w, at[lane]->op[FGS__SIM_SHFL_B], lane),
                               u32_of(w, at[lane]->op[FGS__SIM_SHFL_C], lane),
                               &in[lane]);
    }
    for (lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1))
            continue;
        put_u32(w, at[lane]->op[FGS__SIM_SHFL_D], lane, value[from[lane]]);
        put_pred(w, at[lane]->op[FGS__SIM_SHFL_P], lane, in[lane]);
    }
}

const struct fgs__sim_insn *fgs__sim_shfl_meet(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    return fgs__sim_warp_meet(w, i, i->op[FGS__SIM_SHFL_MASK], meet_shfl);
}

/* Without .sync: of the lanes that run, whoever they are.  One that is read
 * and does not run has an undefined value, here 0. */
static const struct fgs__sim_insn *run_old(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i,
                                           fgs__sim_meet meet)
{
    const struct fgs__sim_insn *at[32] = { NULL };

    for (uint32_t m = w->exec; m; m &= m - 1)
        at[__builtin_ctz(m)] = i;
    meet(w, at, w->exec);
    return i + 1;
}

static const struct fgs__sim_insn *run_shfl_old(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i)
{
    return run_old(w, i, meet_shfl);
}

/* d or d|p; either may be a sink. */
static bool dst_pair(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_operand *o, fgs__sim_ref *value,
                     fgs__sim_ref *pred)
{
    bool pair = o->kind == FGS__O_PAIR;

    *value = fgs__sim_ref_dst(d, pair ? &o->child[0] : o, FGS__T_B32);
    *pred = FGS__SIM_NOREF;
    if (*value == FGS__SIM_NOREF)
        return false;
    if (pair && o->child[1].kind != FGS__O_SINK) {
        *pred = fgs__sim_ref_dst(d, &o->child[1], FGS__T_PRED);
        return *pred != FGS__SIM_NOREF;
    }
    return true;
}

static bool sel_shfl(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     struct fgs__sim_insn *out)
{
    bool old = src->op == FGS__OP_SHFL_OLD;
    int k, last = old ? 4 : 5;

    if (src->operands != last)
        return false;
    if (!dst_pair(d, &src->operand[0], &out->op[FGS__SIM_SHFL_D],
                  &out->op[FGS__SIM_SHFL_P]))
        return false;
    for (k = 1; k < last; k++) {
        out->op[FGS__SIM_SHFL_P + k] =
            fgs__sim_ref_of(d, &src->operand[k], FGS__T_B32);
        if (out->op[FGS__SIM_SHFL_P + k] == FGS__SIM_NOREF)
            return false;
    }
    out->aux[0] = src->mod[FGS__G_SHFL];
    out->blocks = !old;
    out->run = old ? run_shfl_old : fgs__sim_shfl_run(out->aux[0]);
    return true;
}

/* ----------------------------------------------------------------- vote -- */

enum { VOTE_D, VOTE_A, VOTE_MASK };

static void meet_vote(struct fgs__sim_warp *w,
                      const struct fgs__sim_insn *const at[32], uint32_t lanes)
{
    uint32_t yes = 0, lane, p, member;
    const struct fgs__sim_insn *i;

    for (lane = 0; lane < 32; lane++) {
        i = at[lane];
        if (!(lanes >> lane & 1))
            continue;
        p = *(const uint32_t *)fgs__sim_at(w, i->op[VOTE_A]) ^ i->aux[1];
        yes |= p & 1u << lane;
    }
    for (lane = 0; lane < 32; lane++) {
        i = at[lane];
        if (!(lanes >> lane & 1))
            continue;
        member = u32_of(w, i->op[VOTE_MASK], lane) & lanes;
        p = yes & member;
        switch (i->aux[0]) {
        case FGS__M_VOTE_BALLOT:
            put_u32(w, i->op[VOTE_D], lane, p);
            break;
        case FGS__M_VOTE_ALL:
            put_pred(w, i->op[VOTE_D], lane, p == member);
            break;
        case FGS__M_VOTE_ANY:
            put_pred(w, i->op[VOTE_D], lane, p != 0);
            break;
        default:
            put_pred(w, i->op[VOTE_D], lane, !p || p == member);
            break;
        }
    }
}

/* All 32 lanes at one instruction, each a member with all others. */
static void vote_all(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    uint32_t *d = fgs__sim_at(w, i->op[VOTE_D]);
    uint32_t p = *(const uint32_t *)fgs__sim_at(w, i->op[VOTE_A]) ^ i->aux[1];
    bool all = p == UINT32_MAX;

    switch (i->aux[0]) {
    case FGS__M_VOTE_BALLOT:
        for (int lane = 0; lane < 32; lane++)
            d[lane] = p;
        break;
    case FGS__M_VOTE_ALL:
        *d = all ? UINT32_MAX : 0;
        break;
    case FGS__M_VOTE_ANY:
        *d = p ? UINT32_MAX : 0;
        break;
    default:
        *d = !p || all ? UINT32_MAX : 0;
        break;
    }
}

static const struct fgs__sim_insn *run_vote(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    if (fgs__sim_meets_whole(w, i->op[VOTE_MASK])) {
        vote_all(w, i);
        return i + 1;
    }
    return fgs__sim_warp_meet(w, i, i->op[VOTE_MASK], meet_vote);
}

static const struct fgs__sim_insn *run_vote_old(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i)
{
    return run_old(w, i, meet_vote);
}

static bool sel_vote(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     struct fgs__sim_insn *out)
{
    bool ballot = src->mod[FGS__G_VOTE] == FGS__M_VOTE_BALLOT;
    bool old = src->op == FGS__OP_VOTE_OLD;

    if (src->operands != (old ? 2 : 3))
        return false;
    out->op[VOTE_D] = fgs__sim_ref_dst(d, &src->operand[0],
                                       ballot ? FGS__T_B32 : FGS__T_PRED);
    out->op[VOTE_A] = fgs__sim_ref_pred(d, &src->operand[1], &out->aux[1]);
    out->op[VOTE_MASK] = old ? fgs__sim_ref_const(d, UINT32_MAX, 32)
        : fgs__sim_ref_of(d, &src->operand[2], FGS__T_B32);
    out->aux[0] = src->mod[FGS__G_VOTE];
    out->blocks = !old;
    out->run = old ? run_vote_old : run_vote;
    return out->op[VOTE_D] != FGS__SIM_NOREF &&
        out->op[VOTE_A] != FGS__SIM_NOREF &&
        out->op[VOTE_MASK] != FGS__SIM_NOREF;
}

/* ---------------------------------------------------------------- elect -- */

enum { ELECT_D, ELECT_P, ELECT_MASK };

static void meet_elect(struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *const at[32],
                       uint32_t lanes)
{
    uint32_t lane, leader;

    for (lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1))
            continue;
        leader = (uint32_t)__builtin_ctz(
            u32_of(w, at[lane]->op[ELECT_MASK], lane) & lanes);
        put_u32(w, at[lane]->op[ELECT_D], lane, leader);
        put_pred(w, at[lane]->op[ELECT_P], lane, lane == leader);
    }
}

static const struct fgs__sim_insn *run_elect(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    return fgs__sim_warp_meet(w, i, i->op[ELECT_MASK], meet_elect);
}

static bool sel_elect(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_insn *src,
                      struct fgs__sim_insn *out)
{
    if (src->operands != 2)
        return false;
    if (!dst_pair(d, &src->operand[0], &out->op[ELECT_D], &out->op[ELECT_P]))
        return false;
    out->op[ELECT_MASK] = fgs__sim_ref_of(d, &src->operand[1], FGS__T_B32);
    out->blocks = true;
    out->run = run_elect;
    return out->op[ELECT_MASK] != FGS__SIM_NOREF;
}

/* ----------------------------------------------------------- activemask -- */

static const struct fgs__sim_insn *run_activemask(struct fgs__sim_warp *w,
                                                  const struct fgs__sim_insn *i)
{
    uint32_t lane;

    for (lane = 0; lane < 32; lane++)
        if (w->exec >> lane & 1)
            put_u32(w, i->op[0], lane, w->exec);
    return i + 1;
}

bool fgs__sim_sel_warp(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    switch (src->op) {
    case FGS__OP_SHFL:
    case FGS__OP_SHFL_OLD:
        return sel_shfl(d, src, out);
    case FGS__OP_VOTE:
    case FGS__OP_VOTE_OLD:
        return sel_vote(d, src, out);
    case FGS__OP_ELECT:
        return sel_elect(d, src, out);
    case FGS__OP_ACTIVEMASK:
        if (src->operands != 1)
            return false;
        out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_B32);
        out->run = run_activemask;
        return out->op[0] != FGS__SIM_NOREF;
    default:
        return false;
    }
}
