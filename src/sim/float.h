/* float.h -- what NVIDIA hardware does to floating-point values, a lane */
#ifndef FGS_SIM_FLOAT_H
#define FGS_SIM_FLOAT_H

#include "sim/lanes.h"
#include <fenv.h>
#if defined __AVX2__
#include <immintrin.h>
#endif

/* An f32 operation that gives a NaN gives 0x7fffffff (ISA 9.7.3). */
#define NAN_F32 __builtin_nanf("0x3fffff")

static FGS__INLINE FGS__UNUSED float fix_f32(float r)
{
    return r == r ? r : NAN_F32;
}

/* A NaN is rare: asking 32 results at once costs less than choosing in each. */
static FGS__INLINE FGS__UNUSED bool any_nan_f32(const l_f32 *d)
{
#if defined __AVX512F__
    __m512 x = _mm512_load_ps(d), y = _mm512_load_ps(d + 16);

    return _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q) != 0;
#elif defined __AVX2__
    __m256 x = _mm256_cmp_ps(_mm256_load_ps(d), _mm256_load_ps(d + 8),
                             _CMP_UNORD_Q);
    __m256 y = _mm256_cmp_ps(_mm256_load_ps(d + 16), _mm256_load_ps(d + 24),
                             _CMP_UNORD_Q);

    x = _mm256_or_ps(x, y);
    return !_mm256_testz_ps(x, x);
#else
    uint32_t any = 0;
    int k;

    for (k = 0; k < LANES; k++)
        any |= d[k] != d[k];
    return any;
#endif
}

static FGS__INLINE FGS__UNUSED void fix_all_f32(l_f32 *d)
{
    int k;

    if (FGS__LIKELY(!any_nan_f32(d)))
        return;
    FGS__EACH
    for (k = 0; k < LANES; k++)
        d[k] = fix_f32(d[k]);
}

/* MAP2 and MAP3 of f32, and the NaNs of EXPR fixed. */
#define FIXED2(name, EXPR)                                                     \
    EACH2(name##_raw, l_f32, l_f32, l_f32, EXPR)                               \
    static FGS__INLINE void name##_all(l_f32 *d, const l_f32 *a,               \
                                       const l_f32 *b,                         \
                                       const struct fgs__sim_insn *i)          \
    {                                                                          \
        name##_raw_all(d, a, b, i);                                            \
        fix_all_f32(d);                                                        \
    }                                                                          \
    RUN2(name, l_f32, l_f32, l_f32)
#define FIXED3(name, EXPR)                                                     \
    EACH3(name##_raw, l_f32, l_f32, l_f32, l_f32, EXPR)                        \
    static FGS__INLINE void name##_all(l_f32 *d, const l_f32 *a,               \
                                       const l_f32 *b, const l_f32 *c,         \
                                       const struct fgs__sim_insn *i)          \
    {                                                                          \
        name##_raw_all(d, a, b, c, i);                                         \
        fix_all_f32(d);                                                        \
    }                                                                          \
    RUN3(name, l_f32, l_f32, l_f32, l_f32)

/* An f64 operation passes a NaN on, made quiet: which one of several was
 * asked of an H200.  One that it makes itself is the host's too. */
static FGS__INLINE FGS__UNUSED double fix_f64(double x, double r)
{
    return x == x ? r : x + x;
}

/* .ftz: a subnormal becomes a zero of its sign. */
static FGS__INLINE FGS__UNUSED float flush_f32(float x)
{
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}

/* .sat: to [+0, 1], NaN to +0. */
static FGS__INLINE FGS__UNUSED float sat_f32(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}

static FGS__INLINE FGS__UNUSED double sat_f64(double x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}

/* Host's rounding mode of a PTX word; absent is rn. */
static FGS__INLINE FGS__UNUSED int host_round(unsigned mod)
{
    switch (mod) {
    case FGS__M_RZ:
    case FGS__M_RZI:
        return FE_TOWARDZERO;
    case FGS__M_RM:
    case FGS__M_RMI:
        return FE_DOWNWARD;
    case FGS__M_RP:
    case FGS__M_RPI:
        return FE_UPWARD;
    default:
        return FE_TONEAREST;
    }
}

#endif
