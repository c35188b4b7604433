/* exec_special.c -- reciprocal, roots, transcendentals, testp, copysign
 *
 * Approximate functions are made in double precision and rounded once, which
 * is within the bounds of ISA 9.7.3.
 */
#include "sim/half.h"

enum { AUX_ROUND, AUX_FTZ, AUX_X2 };

static FGS__INLINE float in_f32(const struct fgs__sim_insn *i, float x)
{
    return i->aux[AUX_FTZ] ? flush_f32(x) : x;
}

static FGS__INLINE float out_f32(const struct fgs__sim_insn *i, double r)
{
    return in_f32(i, fix_f32((float)r));
}

/* ------------------------------------------------------------ functions -- */

/* 2^x; a result beyond f32 comes out as its infinity or zero. */
static FGS__INLINE double exp2_of(double x)
{
    double in = x > 300 ? 300 : x < -300 ? -300 : x;
    double n = __builtin_rint(in), r = (in - n) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 39916800;
    double scale = bits_double(double_bits(n + 0x1.8p52 + 1023) << 52);

    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return x == x ? p * scale : x;
}

/* log2 of a positive finite number that is no subnormal f64. */
static FGS__INLINE double log2_of(double x)
{
    /* The bits of sqrt(1/2): the rest is between it and sqrt(2). */
    uint64_t u =
        double_bits(x) - 0x3fe6a09e667f3bcdull + ((uint64_t)2048 << 52);
    uint64_t e = u >> 52;
    double m = bits_double(double_bits(x) - ((e - 2048) << 52));
    double s = (m - 1) / (m + 1), q = s * s;
    double p = 1.0 / 17;
    /* e as a double: 2^52 with it in the low bits */
    double k = bits_double(0x4330000000000000ull | e) - 0x1p52 - 2048;

    p = p * q + 1.0 / 15;
    p = p * q + 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    p = p * q + 1.0;
    return k + s * p * 0x1.71547652b82fep+1;
}

static FGS__INLINE double lg2_one(float x)
{
    double in = x > 0 && x <= 0x1.fffffep127f ? (double)x : 1.0;
    double r = log2_of(in);

    r = x == 0 ? -(double)__builtin_inff() : r;
    r = x > 0x1.fffffep127f ? (double)x : r;
    return x < 0 || x != x ? (double)NAN_F32 : r;
}

/* sin(2 pi t), |t| <= 3/4. */
static FGS__INLINE double sin_turns(double t)
{
    double u = t > 0.5 ? t - 1 : t;
    double v = u > 0.25 ? 0.5 - u : u < -0.25 ? -0.5 - u : u;
    double a = v * 0x1.921fb54442d18p+2, q = a * a;
    double p = 1.0 / 355687428096000;

    p = p * q - 1.0 / 1307674368000;
    p = p * q + 1.0 / 6227020800;
    p = p * q - 1.0 / 39916800;
    p = p * q + 1.0 / 362880;
    p = p * q - 1.0 / 5040;
    p = p * q + 1.0 / 120;
    p = p * q - 1.0 / 6;
    p = p * q + 1.0;
    return p * a;
}

/* The angle in turns, rounded to f32 as hardware does before its table; of a
 * large angle little is left. */
static FGS__INLINE double turns(float x)
{
    double t = (double)(x * 0x1.45f306p-3f);

    return t - __builtin_rint(t);
}

static FGS__INLINE double sin_one(float x)
{
    return x == 0 ? (double)x : sin_turns(turns(x));
}

static FGS__INLINE double cos_one(float x)
{
    return sin_turns(turns(x) + 0.25);
}

static FGS__INLINE double tanh_one(float x)
{
    double m = __builtin_fabs((double)x);
    double e = exp2_of((m > 20 ? 20 : m) * 0x1.71547652b82fep+1);
    double r = m < 0x1p-13 ? m : (e - 1) / (e + 1);

    return x == x ? __builtin_copysign(r, (double)x) : (double)x;
}

MAP1(rcp_f32, l_f32, l_f32, out_f32(i, 1.0 / (double)in_f32(i, x)))
MAP1(sqrt_f32, l_f32, l_f32,
     in_f32(i, fix_f32(__builtin_sqrtf(in_f32(i, x)))))
MAP1(rsqrt_f32, l_f32, l_f32,
     out_f32(i, 1.0 / __builtin_sqrt((double)in_f32(i, x))))
MAP1(sin_f32, l_f32, l_f32, out_f32(i, sin_one(in_f32(i, x))))
MAP1(cos_f32, l_f32, l_f32, out_f32(i, cos_one(in_f32(i, x))))
MAP1(lg2_f32, l_f32, l_f32, out_f32(i, lg2_one(in_f32(i, x))))
MAP1(ex2_f32, l_f32, l_f32, out_f32(i, exp2_of((double)in_f32(i, x))))
MAP1(tanh_f32, l_f32, l_f32, out_f32(i, tanh_one(x)))
MAP1(rcp_f64, l_f64, l_f64, fix_f64(x, 1.0 / x))
MAP1(sqrt_f64, l_f64, l_f64, fix_f64(x, __builtin_sqrt(x)))
MAP1(rsqrt_f64, l_f64, l_f64, fix_f64(x, 1.0 / __builtin_sqrt(x)))

/* .approx.ftz.f64: of the high words only (ISA: 1.11.20 format). */
static FGS__INLINE double high_word(double x)
{
    double m = __builtin_fabs(x);
    double in = bits_double(double_bits(x) & 0xffffffff00000000ull);

    return m < 0x1p-1022 ? __builtin_copysign(0.0, x) : in;
}

static FGS__INLINE double high_result(double r)
{
    return r == r ? high_word(r) : bits_double(0x7fffffff00000000ull);
}
MAP1(rcp_high_f64, l_f64, l_f64, high_result(1.0 / high_word(x)))
MAP1(rsqrt_high_f64, l_f64, l_f64,
     high_result(1.0 / __builtin_sqrt(high_word(x))))

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

#define HALF1(name, FROM, TO, EXPR)                                            \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_u16 t[2 * LANES];                                     \
        const l_u16 *a = LANE_PTR(w, i->op[1]);                                \
        int k, n = HALVES(i->aux[AUX_X2]);                                     \
        FGS__EACH                                                              \
        for (k = 0; k < n; k++) {                                              \
            const float x = FROM(a[k]);                                        \
            t[k] = TO(odd_float(EXPR));                                        \
        }                                                                      \
        blend_halves(w, i->op[0], t, i->aux[AUX_X2]);                          \
        return i + 1;                                                          \
    }
#define FLUSHED_BF16(h) flush_f32(float_of_bf16(h))
#define TO_FLUSHED(f)   bf16_of_float(flush_f32(f))
HALF1(ex2_f16, float_of_f16, f16_of_float, exp2_of((double)x))
HALF1(ex2_bf16, FLUSHED_BF16, TO_FLUSHED, exp2_of((double)x))
HALF1(tanh_f16, float_of_f16, f16_of_float, tanh_one(x))
HALF1(tanh_bf16, float_of_bf16, bf16_of_float, tanh_one(x))

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
    ROW(SQRT, F32, APPROX, sqrt_f32)
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
