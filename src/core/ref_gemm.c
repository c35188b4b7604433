/* ref_gemm.c -- the mirror of ptx/gemm_stage.ptx.in */
#include "core/ref.h"

#include <math.h>

/* Binary16 as a number; its NaNs and infinities too. */
static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent == 31 ? (mantissa ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                              : ldexp(mantissa, -24);

    return h >> 15 ? -v : v;
}

/* To the nearest binary16, ties to even; what would be -0 is +0. */
static uint16_t to_half(double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int exponent;
    double m = fabs(v);

    if (isnan(v))
        return 0x7fff;
    if (m >= 65520)
        return sign | 0x7c00;
    frexp(m, &exponent); /* m in [2^(e-1), 2^e) */
    if (exponent < -13)
        exponent = -13; /* a subnormal, in steps of 2^-24 */
    m = nearbyint(ldexp(m, 11 - exponent));
    if (m == 0)
        return 0;
    /* m's top bit, where it has one, is the exponent's lowest; a carry out of
     * it is the next exponent. */
    return sign | (uint16_t)((uint32_t)m + ((uint32_t)(exponent + 13) << 10));
}

fgs_result fgs_ref_gemm(const void *in, const void *weights, void *out,
                        uint32_t rows, uint32_t depth, uint32_t columns)
{
    const uint16_t *x = in, *w = weights;
    uint16_t *y = out;

    if (!in || !weights || !out)
        return FGS_E_NULL;
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            double sum = 0;

            for (uint32_t k = 0; k < depth; k++)
                sum += from_half(x[(size_t)r * depth + k]) *
                       from_half(w[(size_t)c * depth + k]);
            y[(size_t)r * columns + c] = to_half((float)sum);
        }
    }
    return FGS_OK;
}

fgs_result fgs_ref_gemm_pack(const void *weights, void *packed, uint32_t depth,
                             uint32_t columns)
{
    const uint16_t *from = weights;
    uint16_t *to = packed;

    if (!weights || !packed)
        return FGS_E_NULL;
    if (depth % 128 || columns % 16)
        return FGS_E_SIZE;
    /* 16 columns and 128 of the depth; 8 products of m16n8k16 deep, two wide */
    for (uint32_t c = 0; c < columns; c += 16)
        for (uint32_t k = 0; k < depth; k += 16)
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t w = 0; w < 8; w++)
                    *to++ = from[(size_t)(c + w / 4 * 8 + lane / 4) * depth +
                                 k + w / 2 % 2 * 8 + lane % 4 * 2 + w % 2];
    return FGS_OK;
}
