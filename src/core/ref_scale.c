/* ref_scale.c -- mirror of ptx/scale_produce.ptx.in */
#include "core/ref.h"

#define SIGN     0x80000000u
#define EXPONENT 0x7f800000u
#define ONE_MORE 0x00800000u /* the exponent's lowest bit */
#define NAN_BITS 0x7fffffffu

uint32_t fgs__ref_double(uint32_t bits)
{
    uint32_t sign = bits & SIGN, rest = bits & ~SIGN;

    if (rest > EXPONENT)
        return NAN_BITS;
    if (rest == EXPONENT || rest == 0)
        return bits; /* infinity, zero */
    if (rest < ONE_MORE)
        return sign | rest << 1; /* subnormal: exact, may become normal */
    rest += ONE_MORE;
    return sign | (rest < EXPONENT ? rest : EXPONENT);
}

uint32_t fgs__ref_scale_one(uint32_t bits)
{
    uint32_t twice = fgs__ref_double(bits);

    return twice == SIGN ? 0 : twice; /* -0 + +0 is +0 (guide 4.6.4.3) */
}

void fgs__ref_scale(uint32_t *dst, const uint32_t *src, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        dst[i] = fgs__ref_scale_one(src[i]);
}
