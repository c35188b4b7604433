/* approx.h -- approximate functions as the code of an H200 computes them
 *
 * raw_*: what the unit itself does; it takes subnormals for zeros.  The others
 * are the instruction sequences that the assembler makes of an instruction.
 */
#ifndef FGS_SIM_APPROX_H
#define FGS_SIM_APPROX_H

#include "sim/half.h"
#include "sim/mufu.h"

#define INF_F32 __builtin_inff()

/* a or b, by their bits: a choice that compilers never make a jump of, which
 * would end the loop of vectors. */
static FGS__INLINE FGS__UNUSED float pick(bool c, float a, float b)
{
    uint32_t m = 0 - (uint32_t)c;

    return bits_float((float_bits(a) & m) | (float_bits(b) & ~m));
}

/* x^2 without columns below 19, over 2^19. */
static FGS__INLINE FGS__UNUSED uint32_t mufu_square(uint32_t x)
{
    uint32_t drop = 0;

#define COLUMN(i)                                                              \
    drop += (0u - (x >> i & 1)) &                                              \
        (((x & ((1u << (18 - i)) - 1) & ~((2u << i) - 1)) << (i + 1)) +        \
         (1u << 2 * i));
    COLUMN(0) COLUMN(1) COLUMN(2) COLUMN(3) COLUMN(4)
    COLUMN(5) COLUMN(6) COLUMN(7) COLUMN(8) COLUMN(9)
#undef COLUMN
    return (uint32_t)(((uint64_t)x * x - drop) >> 19);
}

/* In 2^-17 of the last place. */
static FGS__INLINE FGS__UNUSED uint64_t mufu(unsigned row, uint32_t x, int bias)
{
    const struct fgs__mufu *c = &fgs__mufu[row];

    return (uint64_t)(((int64_t)c->c0 << 15) + bias + (int64_t)c->c1 * x +
                      (int64_t)c->c2 * 2 * (int64_t)mufu_square(x));
}

/* v times scale, cut off to 24 bits; v < 2^52, the scale a power of two. */
static FGS__INLINE FGS__UNUSED float mufu_float(uint64_t v, double scale)
{
    double d = bits_double(v | 0x4330000000000000ull) - 0x1p52;

    return (float)(bits_double(double_bits(d) & ~(uint64_t)0x1fffffff) * scale);
}

static FGS__INLINE FGS__UNUSED double power_of_two(int e)
{
    return bits_double((uint64_t)(1023 + e) << 52);
}

/* ------------------------------------------------------------- the unit -- */

static FGS__INLINE FGS__UNUSED float raw_rcp(float x)
{
    uint32_t u = float_bits(x), m = u & 0x7fffff;
    int e = (int)(u >> 23 & 255);
    uint64_t v = mufu(FGS__MUFU_RCP + (m >> 16), (m & 0xffff) << 1,
                      FGS__BIAS_RCP) >> 17;
    float r = flush_f32(mufu_float(v, power_of_two(127 - e - 24)));

    r = pick(e == 0, INF_F32, pick(e == 255, 0.0f, r));
    return pick(x == x, __builtin_copysignf(r, x), NAN_F32);
}

/* x = 2^2k * [1, 4): k, and the row and argument in *row, *arg. */
static FGS__INLINE FGS__UNUSED int root_parts(float x, unsigned *row,
                                              uint32_t *arg)
{
    uint32_t u = float_bits(x);
    int e = (int)(u >> 23 & 255) - 127;

    *row = (unsigned)(e & 1) * 64 + (u >> 17 & 63);
    *arg = u & 0x1ffff;
    return (e - (e & 1)) / 2;
}

static FGS__INLINE FGS__UNUSED float raw_rsq(float x)
{
    unsigned row;
    uint32_t arg;
    int k = root_parts(x, &row, &arg);
    uint64_t v = mufu(FGS__MUFU_RSQ + row, arg, FGS__BIAS_RSQ) >> 17;
    float r = mufu_float(row || arg ? v : 1u << 24, power_of_two(-k - 24));

    r = pick(x > 0x1.fffffep127f, 0.0f, pick(x < 0, NAN_F32, r));
    r = pick(__builtin_fabsf(x) < 0x1p-126f, __builtin_copysignf(INF_F32, x),
             r);
    return pick(x == x, r, NAN_F32);
}

static FGS__INLINE FGS__UNUSED float raw_sqrt(float x)
{
    unsigned row;
    uint32_t arg;
    int k = root_parts(x, &row, &arg);
    uint64_t v = mufu(FGS__MUFU_SQRT + row, arg, FGS__BIAS_SQRT) >> 17;
    float r = mufu_float(v, power_of_two(k - 23));

    r = pick(x > 0x1.fffffep127f, x, pick(x < 0, NAN_F32, r));
    r = pick(__builtin_fabsf(x) < 0x1p-126f, __builtin_copysignf(0.0f, x), r);
    return pick(x == x, r, NAN_F32);
}

/* Of a number below 1 the magnitude is the complement, not the negative. */
static FGS__INLINE FGS__UNUSED float raw_lg2(float x)
{
    uint32_t u = float_bits(x);
    int64_t e = (int64_t)(u >> 23 & 255) - 127;
    int64_t v = (int64_t)(mufu(FGS__MUFU_LG2 + (u >> 17 & 63), u & 0x1ffff,
                               FGS__BIAS_LG2) >> 5) + e * ((int64_t)1 << 36);
    float r = mufu_float((uint64_t)(v ^ v >> 63), 0x1p-36);

    r = pick(x == 1, 0.0f, pick(v < 0, -r, r));
    r = pick(x > 0x1.fffffep127f, x, pick(x < 0, NAN_F32, r));
    r = pick(__builtin_fabsf(x) < 0x1p-126f, -INF_F32, r);
    return pick(x == x, r, NAN_F32);
}

/* The argument with 23 binary places, of a negative one the complement. */
static FGS__INLINE FGS__UNUSED float raw_ex2(float x)
{
    float m = __builtin_fabsf(x);
    int32_t v = (int32_t)(pick(m < 255, m, 255) * 0x1p23f);
    int32_t minus = -(int32_t)!(x >= 0), whole = (v & 0x7fffff) == 0;
    float r;

    v = (v ^ minus) + (whole & minus);
    r = mufu_float(mufu(FGS__MUFU_EX2 + ((uint32_t)v >> 17 & 63),
                        (uint32_t)v & 0x1ffff, FGS__BIAS_EX2) >> 17,
                   power_of_two((v >> 23) - 23));
    r = pick(x >= 128, INF_F32, flush_f32(r));
    return pick(x == x, r, NAN_F32);
}

/* Of an angle in turns, with 25 binary places; shift 1: cos. */
static FGS__INLINE FGS__UNUSED float raw_sin(float t, unsigned shift)
{
    float m = __builtin_fabsf(t);
    /* a large one is whole turns */
    float some = pick(m < 0x1p25f, m, 0), part = some - (float)(int32_t)some;
    uint32_t v = (uint32_t)(int32_t)(part * 0x1p25f), q = (v >> 23) + shift;
    uint32_t x = (v ^ (0 - (q & 1))) & 0x7fffff;
    float r = mufu_float(mufu(FGS__MUFU_SIN + (x >> 17), x & 0x1ffff, 0) >> 4,
                         0x1p-37);

    r = bits_float(float_bits(r) ^ (q & 2) << 30 ^
                   (shift ? 0 : float_bits(t) & 0x80000000u));
    return pick(m <= 0x1.fffffep127f, r, NAN_F32);
}

/* Rows an octave: 1, 1, 1, 2, 2, 4, 4, 4, 8, 16, 8 from 2^-8 on. */
static FGS__INLINE FGS__UNUSED float raw_tanh(float x)
{
    static const uint32_t first[12] = { 0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43 };
    static const uint32_t bits[12] = { 0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3 };
    uint32_t u = float_bits(x) & 0x7fffffff, m = u & 0x7fffff;
    int e = (int)(u >> 23) - 119;
    unsigned o = (unsigned)(e < 0 ? 0 : e > 10 ? 10 : e);
    float r = mufu_float(mufu(FGS__MUFU_TANH + first[o] + (m >> (23 - bits[o])),
                              m >> (6 - bits[o]) & 0x1ffff, 0), 0x1p-41);

    r = pick(e < 0, bits_float(u), pick(e > 10, 1.0f, r));
    return pick(x == x, __builtin_copysignf(r, x), NAN_F32);
}

/* Of high words alone: a number's low word is not looked at, the result's is
 * zero.  20 bits of the same tables, cut off. */
static FGS__INLINE FGS__UNUSED double high_float(uint64_t v, int e)
{
    double d = bits_double((v >> 20) | 0x4330000000000000ull) - 0x1p52;

    /* in two steps: the second factor alone may be subnormal */
    return d * 0x1p-21 * power_of_two(e + 21);
}

static FGS__INLINE FGS__UNUSED double raw_rcp_f64(double x)
{
    uint32_t u = (uint32_t)(double_bits(x) >> 32), m = u & 0xfffff;
    int e = (int)(u >> 20 & 2047);
    uint64_t v = mufu(FGS__MUFU_RCP + (m >> 13), (m & 0x1fff) << 4,
                      FGS__BIAS_RCP);
    /* what would be subnormal is zero */
    double r = e > 2045 || (e == 2045 && m) ? 0.0
        : high_float(v, 1023 - (e ? e : 1023) - 21);

    r = e == 0 ? __builtin_inf() : r;
    return e == 2047 && (u & 0xfffff || (uint32_t)double_bits(x))
        ? bits_double(0x7fffffff00000000ull) : __builtin_copysign(r, x);
}

static FGS__INLINE FGS__UNUSED double raw_rsq_f64(double x)
{
    uint32_t u = (uint32_t)(double_bits(x) >> 32), m = u & 0xfffff;
    int e = (int)(u >> 20 & 2047) - 1023, odd = e & 1;
    uint64_t v = mufu(FGS__MUFU_RSQ + (unsigned)odd * 64 + (m >> 14),
                      (m & 0x3fff) << 3, FGS__BIAS_RSQ);
    double r = high_float(odd || m ? v : (uint64_t)1 << 41, (odd - e) / 2 - 21);

    r = x > 0x1.fffffffffffffp1023 ? 0.0 : r;
    r = e == -1023 ? __builtin_copysign(__builtin_inf(), x)
        : x < 0 ? bits_double(0x7fffffff00000000ull) : r;
    return x == x ? r : bits_double(0x7fffffff00000000ull);
}

/* --------------------------------------------------------- instructions -- */

static FGS__INLINE FGS__UNUSED float rcp_approx(float x, bool ftz)
{
    float m = __builtin_fabsf(x);
    float s = pick(m < 0x1p-126f, 0x1p24f, pick(m > 0x1p126f, 0.25f, 1.0f));

    s = pick(ftz, 1.0f, s);
    return raw_rcp(x * s) * s;
}

static FGS__INLINE FGS__UNUSED bool is_small(float x, bool ftz)
{
    return !ftz & (__builtin_fabsf(x) < 0x1p-126f);
}

static FGS__INLINE FGS__UNUSED float rsq_approx(float x, bool ftz)
{
    bool small = is_small(x, ftz);

    return raw_rsq(pick(small, x * 0x1p24f, x)) * pick(small, 0x1p12f, 1.0f);
}

static FGS__INLINE FGS__UNUSED float sqrt_approx(float x, bool ftz)
{
    bool small = is_small(x, ftz);

    return raw_sqrt(pick(small, x * 0x1p24f, x)) *
           pick(small, 0x1p-12f, 1.0f);
}

static FGS__INLINE FGS__UNUSED float lg2_approx(float x, bool ftz)
{
    bool small = is_small(x, ftz);

    return raw_lg2(pick(small, x * 0x1p24f, x)) - pick(small, 24.0f, 0.0f);
}

static FGS__INLINE FGS__UNUSED float ex2_approx(float x, bool ftz)
{
    bool low = !ftz & (x < -126);
    float r = raw_ex2(pick(low, x * 0.5f, x));

    return pick(low, r * r, r);
}

/* One step from the high word's root. */
static FGS__INLINE FGS__UNUSED double rsq_step(double x)
{
    double y = raw_rsq_f64(x), h = __builtin_fma(x, -(y * y), 1.0);

    return __builtin_fma(__builtin_fma(h, 0.375, 0.5), y * h, y);
}

static FGS__INLINE FGS__UNUSED double rsq_approx_f64(double x)
{
    bool small = x < 0x1p-1022;
    double r = rsq_step(small ? x * 0x1p54 : x) * (small ? 0x1p27 : 1.0);

    r = x == 0 ? __builtin_copysign(__builtin_inf(), x)
        : x < 0 ? -bits_double(0x7ff8000000000000ull)
        : x > 0x1.fffffffffffffp1023 ? 0.0 : r;
    return fix_f64(x, r);
}

/* f32 to f16 and bf16, cut off. */
static FGS__INLINE FGS__UNUSED uint16_t cut_f16(float f)
{
    uint32_t u = float_bits(f), sign = u >> 16 & 0x8000;
    float m = __builtin_fabsf(f);
    uint32_t low = (uint32_t)(int32_t)((m < 1 ? m : 1) * 0x1p24f);
    uint32_t r = m < 0x1p-14f ? low : ((u & 0x7fffffff) >> 13) - (112 << 10);

    r = m >= 0x1p16f ? 0x7c00 : r;
    return (uint16_t)(f == f ? sign | r : NAN_HALF);
}

static FGS__INLINE FGS__UNUSED uint16_t cut_bf16(float f)
{
    return (uint16_t)(f == f ? float_bits(f) >> 16 : NAN_HALF);
}

/* x / 2pi, rounded to zero. */
static FGS__INLINE FGS__UNUSED float turns(float x)
{
    double t = (double)x * (double)0x1.45f306p-3f;

    return pick(x - x == 0,
                (float)bits_double(double_bits(t) & ~(uint64_t)0x1fffffff), x);
}

/* a times the reciprocal of b.  Both are scaled when it would be subnormal. */
static FGS__INLINE FGS__UNUSED float div_approx(float a, float b, bool ftz,
                                                bool full)
{
    float m = __builtin_fabsf(b);
    float s = is_small(b, ftz) ? 0x1p24f : full && m > 0x1p126f ? 0.25f : 1.0f;

    float x = a * s, y = raw_rcp(b * s);
    /* .ftz as that of mul */
    bool tiny = ftz &&
        __builtin_fabs((double)x * (double)y) < 0x1p-126 - 0x1p-151;

    return tiny ? __builtin_copysignf(0.0f, x * y) : x * y;
}

#endif
