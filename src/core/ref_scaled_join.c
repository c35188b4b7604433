/* ref_scaled_join.c -- mirror of the joins of data and scales in ptx/ */
#include "core/ref.h"
#include "table/table.h"
#include "text/text.h"

#include <float.h>

/* A product is rounded once, to f32. */
_Static_assert(FLT_EVAL_METHOD == 0, "f32 is computed in more bits");

/* x * 2^(s - 127): the bits of f32, of ue8m0. */
static uint32_t scaled(uint32_t x, uint8_t s)
{
    enum { NAN_BITS = 0x7fffffff, LEAST = 0x00400000 };
    uint32_t power = s ? (uint32_t)s << 23 : LEAST; /* 2^-127 is subnormal   */
    float a, b;

    memcpy(&a, &x, sizeof a);
    memcpy(&b, &power, sizeof b);
    if (a != a || s == 0xff)
        return NAN_BITS;
    a *= b;
    memcpy(&x, &a, sizeof x);
    return x == 0x80000000u ? 0 : x;
}

fgs_result fgs_ref_scaled_join(const void *data, const void *scales, void *out,
                               uint64_t tiles, uint64_t tile_bytes)
{
    const uint64_t elems = tile_bytes / sizeof(float);
    const uint8_t *x = data, *s = scales;
    uint8_t *to = out;

    if (!data || !scales || !out)
        return FGS_E_NULL;
    if (!tile_bytes || tile_bytes % (FGS__SCALED_BYTES * FGS__CHUNK_BYTES))
        return FGS_E_SIZE;
    for (uint64_t t = 0; t < tiles; t++) {
        for (uint64_t i = elems; i-- > 0; to += sizeof(float)) {
            uint32_t bits;

            memcpy(&bits, x + i * sizeof bits, sizeof bits);
            bits = scaled(bits, s[i / FGS__SCALE_ELEMS]);
            memcpy(to, &bits, sizeof bits);
        }
        x += tile_bytes;
        s += elems / FGS__SCALE_ELEMS;
    }
    return FGS_OK;
}
