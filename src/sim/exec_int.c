/* exec_int.c -- integer arithmetic */
#include "sim/lanes.h"

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

/* T lanes, U the same unsigned, M multiplies without overflow of a signed
 * type, W twice as wide, UW that unsigned. */
#define COMMON(t, N, T, U, M, W, UW)                                           \
    MAP2(add_##t, T, T, T, (U)x + (U)y)                                        \
    MAP2(sub_##t, T, T, T, (U)x - (U)y)                                        \
    MAP2(mul_lo_##t, T, T, T, (M)x * (M)y)                                     \
    MAP2(mul_hi_##t, T, T, T, (UW)((W)x * (W)y) >> N)                          \
    MAP3(mad_lo_##t, T, T, T, T, (M)x * (M)y + (M)z)                           \
    MAP3(mad_hi_##t, T, T, T, T, ((UW)((W)x * (W)y) >> N) + (M)z)              \
    MAP2(min_##t, T, T, T, x < y ? x : y)                                      \
    MAP2(max_##t, T, T, T, x > y ? x : y)
COMMON(u16, 16, l_u16, uint32_t, uint32_t, uint32_t, uint32_t)
COMMON(s16, 16, l_s16, uint32_t, uint32_t, int32_t, uint32_t)
COMMON(u32, 32, l_u32, uint32_t, uint32_t, uint64_t, uint64_t)
COMMON(s32, 32, l_s32, uint32_t, uint32_t, int64_t, uint64_t)
COMMON(u64, 64, l_u64, uint64_t, uint64_t, u128, u128)
COMMON(s64, 64, l_s64, uint64_t, uint64_t, s128, u128)

#define WIDE(t, T, W, TW)                                                      \
    MAP2(mul_wide_##t, TW, T, T, (W)x * (W)y)                                  \
    MAP3(mad_wide_##t, TW, T, T, TW, (W)x * (W)y + (W)z)
WIDE(u16, l_u16, uint32_t, l_u32)
WIDE(s16, l_s16, uint32_t, l_s32)
WIDE(u32, l_u32, uint64_t, l_u64)
WIDE(s32, l_s32, uint64_t, l_s64)

/* Quotient and remainder by zero are all ones (seen on an H200; the ISA leaves
 * them open); least / -1 wraps. */
#define UDIV(t, T)                                                             \
    MAP2(div_##t, T, T, T, y ? x / y : (T)-1)                                  \
    MAP2(rem_##t, T, T, T, y ? x % y : (T)-1)
#define SDIV(t, T, U)                                                          \
    MAP2(div_##t, T, T, T, !y ? (T)-1 : y == -1 ? (T)(0 - (U)x) : x / y)       \
    MAP2(rem_##t, T, T, T, !y ? (T)-1 : y == -1 ? (T)0 : x % y)                \
    MAP1(abs_##t, T, T, x < 0 ? (T)(0 - (U)x) : x)                             \
    MAP1(neg_##t, T, T, 0 - (U)x)
UDIV(u16, l_u16)
UDIV(u32, l_u32)
UDIV(u64, l_u64)
SDIV(s16, l_s16, uint32_t)
SDIV(s32, l_s32, uint32_t)
SDIV(s64, l_s64, uint64_t)

static FGS__INLINE int32_t clamp_s32(int64_t v)
{
    return (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

MAP2(add_sat_s32, l_s32, l_s32, l_s32, clamp_s32((int64_t)x + y))
MAP2(sub_sat_s32, l_s32, l_s32, l_s32, clamp_s32((int64_t)x - y))
MAP3(mad_hi_sat_s32, l_s32, l_s32, l_s32, l_s32,
     clamp_s32(((int64_t)x * y >> 32) + z))

MAP2(add_sat_u32, l_u32, l_u32, l_u32, x + y < x ? UINT32_MAX : x + y)
MAP2(min_relu_s32, l_s32, l_s32, l_s32,
     (x < y ? x : y) > 0 ? (x < y ? x : y) : 0)
MAP2(max_relu_s32, l_s32, l_s32, l_s32,
     (x > y ? x : y) > 0 ? (x > y ? x : y) : 0)

/* ------------------------------------------------------------- selector -- */

#define ROWS(t, T)                                                             \
    { FGS__OP_ADD, FGS__T_##T, 0, add_##t },                                   \
    { FGS__OP_SUB, FGS__T_##T, 0, sub_##t },                                   \
    { FGS__OP_MUL, FGS__T_##T, FGS__M_LO, mul_lo_##t },                        \
    { FGS__OP_MUL, FGS__T_##T, FGS__M_HI, mul_hi_##t },                        \
    { FGS__OP_MAD, FGS__T_##T, FGS__M_LO, mad_lo_##t },                        \
    { FGS__OP_MAD, FGS__T_##T, FGS__M_HI, mad_hi_##t },                        \
    { FGS__OP_MIN, FGS__T_##T, 0, min_##t },                                   \
    { FGS__OP_MAX, FGS__T_##T, 0, max_##t },                                   \
    { FGS__OP_DIV, FGS__T_##T, 0, div_##t },                                   \
    { FGS__OP_REM, FGS__T_##T, 0, rem_##t },
#define SIGNED(t, T)                                                           \
    { FGS__OP_ABS, FGS__T_##T, 0, abs_##t },                                   \
    { FGS__OP_NEG, FGS__T_##T, 0, neg_##t },
#define WIDE_ROWS(t, T)                                                        \
    { FGS__OP_MUL, FGS__T_##T, FGS__M_WIDE, mul_wide_##t },                    \
    { FGS__OP_MAD, FGS__T_##T, FGS__M_WIDE, mad_wide_##t },
static const struct lane_row rows[] = {
    ROWS(u16, U16)
    ROWS(s16, S16)
    ROWS(u32, U32)
    ROWS(s32, S32)
    ROWS(u64, U64)
    ROWS(s64, S64)
    SIGNED(s16, S16)
    SIGNED(s32, S32)
    SIGNED(s64, S64)
    WIDE_ROWS(u16, U16)
    WIDE_ROWS(s16, S16)
    WIDE_ROWS(u32, U32)
    WIDE_ROWS(s32, S32)
};
static const struct lane_row sat_rows[] = {
    { FGS__OP_ADD, FGS__T_S32, 0, add_sat_s32 },
    { FGS__OP_SUB, FGS__T_S32, 0, sub_sat_s32 },
    { FGS__OP_MAD, FGS__T_S32, FGS__M_HI, mad_hi_sat_s32 },
    { FGS__OP_ADD, FGS__T_U32, 0, add_sat_u32 },
    { FGS__OP_MIN, FGS__T_S32, 0, min_relu_s32 }, /* .relu */
    { FGS__OP_MAX, FGS__T_S32, 0, max_relu_s32 },
};

bool FGS__LEVEL(fgs__sim_sel_int)(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_insn *src,
                                  struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_WIDTH, FGS__G_SAT, FGS__G_RELU };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0], wide;
    unsigned width = src->mod[FGS__G_WIDTH], k;
    unsigned count = src->op == FGS__OP_ABS || src->op == FGS__OP_NEG ? 2
        : src->op == FGS__OP_MAD                                      ? 4
                                                                      : 3;

    if (src->mod[FGS__G_CC])
        return FGS__FAR(fgs__sim_sel_carry)(d, src, out);
    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->mod[FGS__G_SAT] || src->mod[FGS__G_RELU])
        out->run = find_row(sat_rows, sizeof sat_rows / sizeof *sat_rows,
                            src->op, t, width);
    else
        out->run = find_row(rows, sizeof rows / sizeof *rows, src->op, t,
                            width);
    if (!out->run || src->operands != count)
        return false;
    wide = width == FGS__M_WIDE ? fgs__ptx_widened(t) : t;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], wide);
    if (out->op[0] == FGS__SIM_NOREF)
        return false;
    for (k = 1; k < count; k++) {
        out->op[k] = fgs__sim_ref_of(d, &src->operand[k], k == 3 ? wide : t);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}
