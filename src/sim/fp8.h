/* fp8.h -- the conversions of e4m3 and e5m2 that programs use most, a lane
 *
 * Without branches or calls, so that a loop over lanes becomes vectors; the
 * general way through double is narrow.h.
 */
#ifndef FGS_SIM_FP8_H
#define FGS_SIM_FP8_H

#include "sim/half.h"

/* f32 to nearest, ties to even, satfinite.  Below the least normal number an
 * addition of 2^(23 + exponent of the least subnormal) rounds. */
#define FP8_OF_FLOAT(name, MAN, BIAS, MAX)                                     \
    static FGS__INLINE FGS__UNUSED uint32_t name(float v)                      \
    {                                                                          \
        const uint32_t one = 1u << (23 - MAN);                                 \
        const uint32_t magic = (uint32_t)(127 + 23 + 1 - BIAS - MAN) << 23;    \
        uint32_t u = float_bits(v), m = u & 0x7fffffffu;                       \
        uint32_t big = (m + one / 2 - 1 + (m / one & 1)) / one -               \
                       ((127u - BIAS) << MAN);                                 \
        uint32_t small = float_bits(bits_float(m) + bits_float(magic)) -       \
                         magic;                                                \
        uint32_t code = m < (uint32_t)(128 - BIAS) << 23 ? small : big;        \
        code = code > MAX ? MAX : code;                                        \
        code |= u >> 24 & 0x80;                                                \
        return m > 0x7f800000u ? 0x7f : code;                                  \
    }
FP8_OF_FLOAT(e4m3_of_float, 3, 7, 0x7e)
FP8_OF_FLOAT(e5m2_of_float, 2, 15, 0x7b)

static FGS__INLINE FGS__UNUSED uint32_t f16_of_e5m2(uint32_t c)
{
    return (c & 0x7f) > 0x7c ? 0x7fff : c << 8;
}

/* A subnormal is a count of 2^-9: the difference to a number whose last bit
 * that is. */
static FGS__INLINE FGS__UNUSED uint32_t f16_of_e4m3(uint32_t c)
{
    uint32_t m = c & 0x7f;
    uint32_t small = float_bits(bits_float((127u + 14) << 23 | m) - 0x1p14f);
    uint32_t code = m >= 8 ? (m << 7) + (8u << 10)
                  : m      ? (small >> 13) - ((127u - 15) << 10)
                           : 0;

    return m == 0x7f ? 0x7fff : code | (c & 0x80) << 8;
}

#endif
