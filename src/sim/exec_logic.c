/* exec_logic.c -- and, or, xor, not, shl, shr, popc, clz */
#include "sim/lanes.h"

#define BITS(N)                                                                \
    MAP2(and_##N, l_u##N, l_u##N, l_u##N, x & y)                               \
    MAP2(or_##N, l_u##N, l_u##N, l_u##N, x | y)                                \
    MAP2(xor_##N, l_u##N, l_u##N, l_u##N, x ^ y)                               \
    MAP1(not_##N, l_u##N, l_u##N, ~x)                                          \
    /* a shift by the width or more gives 0, or the sign */                    \
    MAP2(shl_##N, l_u##N, l_u##N, l_u32, y < N ? x << (y & (N - 1)) : 0)       \
    MAP2(shr_u##N, l_u##N, l_u##N, l_u32, y < N ? x >> (y & (N - 1)) : 0)      \
    MAP2(shr_s##N, l_s##N, l_s##N, l_u32, x >> (y < N ? y : N - 1))
BITS(16)
BITS(32)
BITS(64)

MAP1(popc_32, l_u32, l_u32, __builtin_popcount(x))
MAP1(popc_64, l_u32, l_u64, __builtin_popcountll(x))
MAP1(clz_32, l_u32, l_u32, x ? __builtin_clz(x) : 32)
MAP1(clz_64, l_u32, l_u64, x ? __builtin_clzll(x) : 64)

/* ------------------------------------------------------------ predicates -- */

static FGS__INLINE uint32_t mask_of(const struct fgs__sim_warp *w,
                                    const struct fgs__sim_insn *i, int n)
{
    return *(const l_u32 *)LANE_SRC(w, i, n) ^ i->aux[n];
}

HANDLER(and_pred)
{
    put_mask(w, i->op[0], mask_of(w, i, 1) & mask_of(w, i, 2));
    return i + 1;
}

HANDLER(or_pred)
{
    put_mask(w, i->op[0], mask_of(w, i, 1) | mask_of(w, i, 2));
    return i + 1;
}

HANDLER(xor_pred)
{
    put_mask(w, i->op[0], mask_of(w, i, 1) ^ mask_of(w, i, 2));
    return i + 1;
}

HANDLER(not_pred)
{
    put_mask(w, i->op[0], ~mask_of(w, i, 1));
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

#define ROWS(N)                                                                \
    { FGS__OP_AND, FGS__T_B##N, 0, and_##N },                                  \
    { FGS__OP_OR, FGS__T_B##N, 0, or_##N },                                    \
    { FGS__OP_XOR, FGS__T_B##N, 0, xor_##N },                                  \
    { FGS__OP_NOT, FGS__T_B##N, 0, not_##N },                                  \
    { FGS__OP_SHL, FGS__T_B##N, 0, shl_##N },                                  \
    { FGS__OP_SHR, FGS__T_B##N, 0, shr_u##N },                                 \
    { FGS__OP_SHR, FGS__T_U##N, 0, shr_u##N },                                 \
    { FGS__OP_SHR, FGS__T_S##N, 0, shr_s##N },
static const struct lane_row rows[] = {
    ROWS(16)
    ROWS(32)
    ROWS(64)
    { FGS__OP_POPC, FGS__T_B32, 0, popc_32 },
    { FGS__OP_POPC, FGS__T_B64, 0, popc_64 },
    { FGS__OP_CLZ, FGS__T_B32, 0, clz_32 },
    { FGS__OP_CLZ, FGS__T_B64, 0, clz_64 },
    { FGS__OP_AND, FGS__T_PRED, 0, and_pred },
    { FGS__OP_OR, FGS__T_PRED, 0, or_pred },
    { FGS__OP_XOR, FGS__T_PRED, 0, xor_pred },
    { FGS__OP_NOT, FGS__T_PRED, 0, not_pred },
};

static bool pred_operands(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    unsigned k;

    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_PRED);
    if (out->op[0] == FGS__SIM_NOREF)
        return false;
    for (k = 1; k < src->operands && k < 3; k++) {
        out->op[k] = fgs__sim_ref_pred(d, &src->operand[k], &out->aux[k]);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

bool FGS__LEVEL(fgs__sim_sel_logic)(struct fgs__sim_decoder *d,
                                    const struct fgs__ptx_insn *src,
                                    struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    bool one = src->op == FGS__OP_NOT || src->op == FGS__OP_POPC ||
        src->op == FGS__OP_CLZ;

    if (!fgs__sim_only(d, src, NULL, 0))
        return false;
    out->run = find_row(rows, sizeof rows / sizeof *rows, src->op, t, 0);
    if (!out->run || src->operands != (one ? 2 : 3))
        return false;
    if (t == FGS__T_PRED)
        return pred_operands(d, src, out);
    if (src->op == FGS__OP_SHL || src->op == FGS__OP_SHR) {
        out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], t);
        out->op[1] = fgs__sim_ref_of(d, &src->operand[1], t);
        out->op[2] = fgs__sim_ref_of(d, &src->operand[2], FGS__T_U32);
        return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF &&
            out->op[2] != FGS__SIM_NOREF;
    }
    if (src->op == FGS__OP_POPC || src->op == FGS__OP_CLZ) {
        out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_U32);
        out->op[1] = fgs__sim_ref_of(d, &src->operand[1], t);
        return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF;
    }
    return take_operands(d, src, out, one ? 2 : 3, t);
}
