/* exec_special.c -- reciprocal, roots, transcendentals, testp, copysign
 *
 * Approximate functions have the bits of an H200, see approx.h.
 */
#include "sim/approx.h"

enum { AUX_ROUND, AUX_FTZ, AUX_X2 };

static FGS__INLINE float in_f32(const struct fgs__sim_insn *i, float x)
{
    return i->aux[AUX_FTZ] ? flush_f32(x) : x;
}

static FGS__INLINE float out_f32(const struct fgs__sim_insn *i, float r)
{
    return in_f32(i, fix_f32(r));
}

/* ------------------------------------------------------------ functions -- */

#define FTZ (i->aux[AUX_FTZ] != 0)
MAP1(rcp_f32, l_f32, l_f32, out_f32(i, rcp_approx(x, FTZ)))
MAP1(rsqrt_f32, l_f32, l_f32, out_f32(i, rsq_approx(x, FTZ)))
MAP1(root_f32, l_f32, l_f32, out_f32(i, sqrt_approx(x, FTZ)))
MAP1(lg2_f32, l_f32, l_f32, out_f32(i, lg2_approx(x, FTZ)))
MAP1(ex2_f32, l_f32, l_f32, out_f32(i, ex2_approx(x, FTZ)))
MAP1(sin_f32, l_f32, l_f32, raw_sin(turns(x), 0))
MAP1(cos_f32, l_f32, l_f32, raw_sin(turns(x), 1))
MAP1(tanh_f32, l_f32, l_f32, raw_tanh(x))

MAP1(sqrt_f32, l_f32, l_f32,
     in_f32(i, fix_f32(__builtin_sqrtf(in_f32(i, x)))))
MAP1(rcp_f64, l_f64, l_f64, fix_f64(x, 1.0 / x))
MAP1(sqrt_f64, l_f64, l_f64, fix_f64(x, __builtin_sqrt(x)))
MAP1(rsqrt_f64, l_f64, l_f64, rsq_approx_f64(x))
MAP1(rcp_high_f64, l_f64, l_f64, raw_rcp_f64(x))
MAP1(rsqrt_high_f64, l_f64, l_f64, raw_rsq_f64(x))

/* In another rounding mode, done before it is put back. */
#define ROUNDED1(name, T, base)                                                \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) T t[LANES];                                             \
        fesetround((int)i->aux[AUX_ROUND]);                                    \
        base##_all(t, LANE_PTR(w, i->op[1]), i);                               \
        FGS__BARRIER(t);                                                       \
        fesetround(FE_TONEAREST);                                              \
        blend(LANE_PTR(w, i->op[0]), t, w->exec, sizeof(T));                   \
        return i + 1;                                                          \
    }
MAP1(rcp_once_f32, l_f32, l_f32, in_f32(i, fix_f32(1.0f / in_f32(i, x))))
ROUNDED1(rcp_any_f32, l_f32, rcp_once_f32)
ROUNDED1(rcp_any_f64, l_f64, rcp_f64)
ROUNDED1(sqrt_any_f32, l_f32, sqrt_f32)
ROUNDED1(sqrt_any_f64, l_f64, sqrt_f64)

/* -------------------------------------------------------------- halves -- */

/* What the unit gives for the value in f32, cut off. */
#define HALF1(name, FROM, TO, EXPR)                                            \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_u16 t[2 * LANES];                                     \
        const l_u16 *a = LANE_PTR(w, i->op[1]);                                \
        int k, n = HALVES(i->aux[AUX_X2]);                                     \
        FGS__EACH                                                              \
        for (k = 0; k < n; k++) {                                              \
            const float x = FROM(a[k]);                                        \
            t[k] = TO(EXPR);                                                   \
        }                                                                      \
        blend_halves(w, i->op[0], t, i->aux[AUX_X2]);                          \
        return i + 1;                                                          \
    }
#define FLUSHED_BF16(h) flush_f32(float_of_bf16(h))
HALF1(ex2_f16, float_of_f16, cut_f16, ex2_approx(x, false))
HALF1(ex2_bf16, FLUSHED_BF16, cut_bf16, raw_ex2(x))
HALF1(tanh_f16, float_of_f16, cut_f16, raw_tanh(x))
HALF1(tanh_bf16, float_of_bf16, cut_bf16, raw_tanh(x))

/* ----------------------------------------------------- testp, copysign -- */

/* A zero is a normal number (ISA 9.7.3.1). */
#define TESTP(name, U, ACC, EXPR)                                              \
    HANDLER(name)                                                              \
    {                                                                          \
        const U *a = LANE_PTR(w, i->op[1]);                                    \
        ACC r = 0;                                                             \
        int k;                                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            const U m = a[k] & ((U)-1 >> 1);                                   \
            r |= (EXPR) ? (ACC)1 << k : 0;                                     \
        }                                                                      \
        put_mask(w, i->op[0], (uint32_t)r);                                    \
        return i + 1;                                                          \
    }
#define TESTS(N, ACC, INF, LEAST)                                              \
    TESTP(finite_f##N, l_u##N, ACC, m < INF)                                   \
    TESTP(infinite_f##N, l_u##N, ACC, m == INF)                                \
    TESTP(number_f##N, l_u##N, ACC, m <= INF)                                  \
    TESTP(notanumber_f##N, l_u##N, ACC, m > INF)                               \
    TESTP(normal_f##N, l_u##N, ACC, !m || (m >= LEAST && m < INF))             \
    TESTP(subnormal_f##N, l_u##N, ACC, m && m < LEAST)
TESTS(32, uint32_t, 0x7f800000u, 0x800000u)
TESTS(64, uint64_t, 0x7ff0000000000000ull, 0x10000000000000ull)

/* The sign of a, the value of b. */
MAP2(copysign_f32, l_u32, l_u32, l_u32,
     (x & 0x80000000u) | (y & 0x7fffffffu))
MAP2(copysign_f64, l_u64, l_u64, l_u64,
     (x & (uint64_t)1 << 63) | (y & UINT64_MAX >> 1))

/* ------------------------------------------------------------- selector -- */

enum { NEAREST, ANY, APPROX, APPROX_FTZ };

#define ROW(OP, T, variant, run) { FGS__OP_##OP, FGS__T_##T, variant, run },
#define TEST_ROWS(N)                                                           \
    ROW(TESTP, F##N, FGS__M_TESTP_FINITE, finite_f##N)                         \
    ROW(TESTP, F##N, FGS__M_TESTP_INFINITE, infinite_f##N)                     \
    ROW(TESTP, F##N, FGS__M_TESTP_NUMBER, number_f##N)                         \
    ROW(TESTP, F##N, FGS__M_TESTP_NOTANUMBER, notanumber_f##N)                 \
    ROW(TESTP, F##N, FGS__M_TESTP_NORMAL, normal_f##N)                         \
    ROW(TESTP, F##N, FGS__M_TESTP_SUBNORMAL, subnormal_f##N)
static const struct lane_row rows[] = {
    ROW(RCP, F32, APPROX, rcp_f32)
    ROW(RCP, F32, NEAREST, rcp_once_f32)
    ROW(RCP, F32, ANY, rcp_any_f32)
    ROW(RCP, F64, NEAREST, rcp_f64)
    ROW(RCP, F64, ANY, rcp_any_f64)
    ROW(RCP, F64, APPROX_FTZ, rcp_high_f64)
    ROW(SQRT, F32, APPROX, root_f32)
    ROW(SQRT, F32, NEAREST, sqrt_f32)
    ROW(SQRT, F32, ANY, sqrt_any_f32)
    ROW(SQRT, F64, NEAREST, sqrt_f64)
    ROW(SQRT, F64, ANY, sqrt_any_f64)
    ROW(RSQRT, F32, APPROX, rsqrt_f32)
    ROW(RSQRT, F64, APPROX, rsqrt_f64)
    ROW(RSQRT, F64, APPROX_FTZ, rsqrt_high_f64)
    ROW(SIN, F32, APPROX, sin_f32)
    ROW(COS, F32, APPROX, cos_f32)
    ROW(LG2, F32, APPROX, lg2_f32)
    ROW(EX2, F32, APPROX, ex2_f32)
    ROW(EX2, F16, APPROX, ex2_f16)
    ROW(EX2, F16X2, APPROX, ex2_f16)
    ROW(EX2, BF16, APPROX, ex2_bf16)
    ROW(EX2, BF16X2, APPROX, ex2_bf16)
    ROW(TANH, F32, APPROX, tanh_f32)
    ROW(TANH, F16, APPROX, tanh_f16)
    ROW(TANH, F16X2, APPROX, tanh_f16)
    ROW(TANH, BF16, APPROX, tanh_bf16)
    ROW(TANH, BF16X2, APPROX, tanh_bf16)
    TEST_ROWS(32)
    TEST_ROWS(64)
    ROW(COPYSIGN, F32, NEAREST, copysign_f32)
    ROW(COPYSIGN, F64, NEAREST, copysign_f64)
};

static unsigned variant_of(const struct fgs__ptx_insn *src)
{
    if (src->op == FGS__OP_TESTP)
        return src->mod[FGS__G_TESTP];
    switch (src->mod[FGS__G_ROUND]) {
    case FGS__M_APPROX:
        return src->type[0] == FGS__T_F64 && src->mod[FGS__G_FTZ] ? APPROX_FTZ
                                                                  : APPROX;
    case FGS__M_RZ:
    case FGS__M_RM:
    case FGS__M_RP:
        return ANY;
    default:
        return NEAREST;
    }
}

bool FGS__LEVEL(fgs__sim_sel_special)(struct fgs__sim_decoder *d,
                                      const struct fgs__ptx_insn *src,
                                      struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_ROUND, FGS__G_FTZ, FGS__G_TESTP };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    out->run = find_row(rows, sizeof rows / sizeof *rows, src->op, t,
                        variant_of(src));
    out->aux[AUX_ROUND] = (uint32_t)host_round(src->mod[FGS__G_ROUND]);
    out->aux[AUX_FTZ] = src->mod[FGS__G_FTZ] != FGS__M_NONE;
    out->aux[AUX_X2] = t == FGS__T_F16X2 || t == FGS__T_BF16X2;
    if (!out->run)
        return false;
    if (src->op != FGS__OP_TESTP)
        return take_operands(d, src, out, src->op == FGS__OP_COPYSIGN ? 3 : 2,
                             t);
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_PRED);
    out->op[1] = fgs__sim_ref_of(d, &src->operand[1], t);
    return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF;
}
