/* half.h -- f16 and bf16, a lane
 *
 * Sums and products are made in double precision with round-to-odd: the last
 * bit is set when something was cut off, so that the one rounding to nearest
 * that follows is right although it is the second.
 */
#ifndef FGS_SIM_HALF_H
#define FGS_SIM_HALF_H

#include "sim/float.h"

enum { NAN_HALF = 0x7fff }; /* of both formats */

static FGS__INLINE FGS__UNUSED uint32_t float_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static FGS__INLINE FGS__UNUSED float bits_float(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

static FGS__INLINE FGS__UNUSED uint64_t double_bits(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static FGS__INLINE FGS__UNUSED double bits_double(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof x);
    return x;
}

/* Exact.  The exponent field moves over as it is, the product corrects its
 * bias and makes subnormals normal. */
static FGS__INLINE FGS__UNUSED float float_of_f16(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16;
    float m = bits_float((h & 0x7fff) << 13) * 0x1p112f;
    uint32_t special = 0x7f800000 | (h & 0x3ff) << 13;
    uint32_t u = (h & 0x7c00) == 0x7c00 ? special : float_bits(m);

    return bits_float(u | sign);
}

static FGS__INLINE FGS__UNUSED float float_of_bf16(uint32_t h)
{
    return bits_float(h << 16);
}

/* To the nearest, ties to even. */
static FGS__INLINE FGS__UNUSED uint16_t f16_of_float(float f)
{
    uint32_t u = float_bits(f), m = u & 0x7fffffff;
    uint32_t sign = u >> 16 & 0x8000;
    /* 1/2 has the weight of a subnormal's last bit below its own. */
    uint32_t small = float_bits(bits_float(m) + 0.5f) - 0x3f000000;
    uint32_t normal = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    uint32_t r = m < 0x38800000 ? small : normal;

    r = m >= 0x477ff000 ? 0x7c00 : r;
    return m > 0x7f800000 ? NAN_HALF : (uint16_t)(r | sign);
}

static FGS__INLINE FGS__UNUSED uint16_t bf16_of_float(float f)
{
    uint32_t u = float_bits(f);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (u & 0x7fffffff) > 0x7f800000 ? NAN_HALF : (uint16_t)r;
}

/* A subnormal becomes a zero of its sign; only f16 has .ftz. */
static FGS__INLINE FGS__UNUSED uint16_t flush_f16(uint32_t h)
{
    return (uint16_t)(h & 0x7c00 ? h : h & 0x8000);
}

static FGS__INLINE FGS__UNUSED float odd_float(double d)
{
    float f = (float)d;
    double back = (double)f;
    uint32_t u = float_bits(f);
    uint32_t odd = (u - (__builtin_fabs(back) > __builtin_fabs(d))) | 1;

    return bits_float(back < d || back > d ? odd : u);
}

/* p + z. */
static FGS__INLINE FGS__UNUSED double odd_sum(double p, double z)
{
    double s = p + z, b = s - p;
    double err = (p - (s - b)) + (z - b);
    uint64_t u = double_bits(s);
    uint64_t odd = (u - ((err < 0) != (s < 0))) | 1;

    return bits_double(err < 0 || err > 0 ? odd : u);
}

/* Loops over l_u16, 32 or 64 of them. */
#define HALVES(x2) ((x2) ? 2 * LANES : LANES)

static FGS__INLINE FGS__UNUSED void blend_halves(const struct fgs__sim_warp *w,
                                                 fgs__sim_ref r,
                                                 const l_u16 *t, bool x2)
{
    blend(LANE_PTR(w, r), t, w->exec, x2 ? 4 : 2);
}

#endif
