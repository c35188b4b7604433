/* collect.c -- match.sync and redux.sync over the lanes that meet */
#include "sim/meet.h"

enum {
    OP_D = FGS__SIM_COLLECT_D,
    OP_P = FGS__SIM_COLLECT_P,
    OP_A = FGS__SIM_COLLECT_A,
    OP_MASK = FGS__SIM_COLLECT_MASK
};
enum { AUX_MOD, AUX_TYPE };

static uint32_t mask_of(const struct fgs__sim_warp *w,
                        const struct fgs__sim_insn *i, uint32_t lane)
{
    return ((const uint32_t *)fgs__sim_at(w, i->op[OP_MASK]))[lane];
}

static uint64_t value_of(const struct fgs__sim_warp *w,
                         const struct fgs__sim_insn *i, uint32_t lane)
{
    const void *a = fgs__sim_at(w, i->op[OP_A]);

    return fgs__ptx_types[i->aux[AUX_TYPE]].bits == 64
        ? ((const uint64_t *)a)[lane] : ((const uint32_t *)a)[lane];
}

/* ---------------------------------------------------------------- match -- */

static void put_match(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      uint32_t lane, uint32_t same, uint32_t member)
{
    uint32_t *d = fgs__sim_at(w, i->op[OP_D]), *p;
    bool all = same == member;

    if (i->src->op == FGS__OP_MATCH_ANY) {
        d[lane] = same;
        return;
    }
    d[lane] = all ? member : 0;
    if (i->op[OP_P] == FGS__SIM_NOREF)
        return;
    p = fgs__sim_at(w, i->op[OP_P]);
    *p = (*p & ~(1u << lane)) | (uint32_t)all << lane;
}

/* Lanes of `member` with the value of `lane`. */
static uint32_t same_as(const uint64_t value[32], uint32_t lane,
                        uint32_t member)
{
    uint32_t same = 0, other;

    for (other = 0; other < 32; other++)
        same |= (uint32_t)(value[other] == value[lane]) << other;
    return same & member;
}

/* Results may lie where values do: all are found before any is written.  Lanes
 * with one value and one member mask share their result. */
static void meet_match(struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *const at[32],
                       uint32_t lanes)
{
    uint32_t same[32] = { 0 }, member[32] = { 0 }, m, other, done = 0;
    uint64_t value[32] = { 0 };
    uint32_t lane;

    for (m = lanes; m; m &= m - 1) {
        lane = (uint32_t)__builtin_ctz(m);
        member[lane] = mask_of(w, at[lane], lane) & lanes;
        value[lane] = value_of(w, at[lane], lane);
    }
    for (m = lanes; m; m = lanes & ~done) {
        lane = (uint32_t)__builtin_ctz(m);
        same[lane] = same_as(value, lane, member[lane]);
        done |= 1u << lane;
        for (m = same[lane] & ~done; m; m &= m - 1) {
            other = (uint32_t)__builtin_ctz(m);
            if (member[other] != member[lane])
                continue;
            same[other] = same[lane];
            done |= 1u << other;
        }
    }
    for (lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            put_match(w, at[lane], lane, same[lane], member[lane]);
}

/* ---------------------------------------------------------------- redux -- */

static uint32_t join(unsigned op, bool sign, uint32_t a, uint32_t b)
{
    bool less = sign ? (int32_t)a < (int32_t)b : a < b;

    switch (op) {
    case FGS__M_ATOM_ADD:
        return a + b;
    case FGS__M_ATOM_MIN:
        return less ? a : b;
    case FGS__M_ATOM_MAX:
        return less ? b : a;
    case FGS__M_ATOM_AND:
        return a & b;
    case FGS__M_ATOM_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* As min.f32 and max.f32 do: -0 is below +0, a NaN loses unless .NaN is
 * written, one that is a result is 0x7fffffff. */
static uint32_t join_f32(const struct fgs__sim_insn *i, uint32_t a, uint32_t b)
{
    bool a_nan = (a & 0x7fffffff) > 0x7f800000;
    bool b_nan = (b & 0x7fffffff) > 0x7f800000;
    int32_t x = (int32_t)(a ^ (a >> 31 ? 0x7fffffffu : 0));
    int32_t y = (int32_t)(b ^ (b >> 31 ? 0x7fffffffu : 0));

    if (a_nan || b_nan)
        return (a_nan && b_nan) || i->src->mod[FGS__G_NAN] ? 0x7fffffffu
            : a_nan ? b : a;
    return (x < y) == (i->aux[AUX_MOD] == FGS__M_ATOM_MIN) ? a : b;
}

static uint32_t redux_value(const struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, uint32_t lane)
{
    uint32_t v = (uint32_t)value_of(w, i, lane);

    return i->src->mod[FGS__G_ABS] ? v & 0x7fffffff : v;
}

static void meet_redux(struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *const at[32],
                       uint32_t lanes)
{
    uint32_t result[32] = { 0 }, lane, m;
    uint32_t first = (uint32_t)__builtin_ctz(lanes);

    for (lane = 0; lane < 32; lane++) {
        bool sign, real;

        if (!(lanes >> lane & 1))
            continue;
        /* The order of the lanes does not matter to any operation. */
        if (lane != first && at[lane] == at[first] &&
            mask_of(w, at[lane], lane) == mask_of(w, at[first], first)) {
            result[lane] = result[first];
            continue;
        }
        sign = at[lane]->aux[AUX_TYPE] == FGS__T_S32;
        real = at[lane]->aux[AUX_TYPE] == FGS__T_F32;
        m = mask_of(w, at[lane], lane) & lanes;
        result[lane] = redux_value(w, at[lane], lane);
        if (real) /* a NaN alone is made quiet too */
            result[lane] = join_f32(at[lane], result[lane], result[lane]);
        for (m &= ~(1u << lane); m; m &= m - 1) {
            uint32_t other = (uint32_t)__builtin_ctz(m);
            uint32_t v = redux_value(w, at[other], other);

            result[lane] = real ? join_f32(at[lane], result[lane], v)
                : join(at[lane]->aux[AUX_MOD], sign, result[lane], v);
        }
    }
    for (lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            ((uint32_t *)fgs__sim_at(w, at[lane]->op[OP_D]))[lane] =
                result[lane];
}

/* ------------------------------------------------------------- selector -- */

static const struct fgs__sim_insn *run_meet(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i,
                                            fgs__sim_meet meet)
{
    const struct fgs__sim_insn *at[32];

    if (!fgs__sim_meets_whole(w, i->op[OP_MASK]))
        return fgs__sim_warp_meet(w, i, i->op[OP_MASK], meet);
    for (int lane = 0; lane < 32; lane++)
        at[lane] = i;
    meet(w, at, UINT32_MAX);
    return i + 1;
}

static const struct fgs__sim_insn *run_match(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    return run_meet(w, i, meet_match);
}

const struct fgs__sim_insn *fgs__sim_redux_meet(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i)
{
    return run_meet(w, i, meet_redux);
}

bool fgs__sim_sel_collect(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    bool pair = o[0].kind == FGS__O_PAIR;

    out->aux[AUX_MOD] = src->mod[FGS__G_ATOM];
    out->aux[AUX_TYPE] = t;
    out->op[OP_D] = fgs__sim_ref_dst(d, pair ? &o[0].child[0] : &o[0],
                                     FGS__T_B32);
    if (pair && o[0].child[1].kind != FGS__O_SINK) {
        out->op[OP_P] = fgs__sim_ref_dst(d, &o[0].child[1], FGS__T_PRED);
        if (out->op[OP_P] == FGS__SIM_NOREF)
            return false;
    }
    out->op[OP_A] = fgs__sim_ref_of(d, &o[1], t);
    out->op[OP_MASK] = fgs__sim_ref_of(d, &o[2], FGS__T_U32);
    out->blocks = true;
    out->run = src->op != FGS__OP_REDUX ? run_match
        : t == FGS__T_F32 ? fgs__sim_redux_meet
        : fgs__sim_redux_run(out->aux[AUX_MOD], t == FGS__T_S32);
    return out->op[OP_D] != FGS__SIM_NOREF && out->op[OP_A] != FGS__SIM_NOREF &&
        out->op[OP_MASK] != FGS__SIM_NOREF;
}
