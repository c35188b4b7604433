/* values.c -- input from a seed, and a digest; words of options */
#include "tool.h"

/* Zeros, subnormals, the ends of the normal range, values that overflow when
 * doubled, infinities, NaNs quiet and signalling with payload. */
static const uint32_t special[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF,
    0x00400000, 0x80400000, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000,
    0x7EFFFFFF, 0xFEFFFFFF, 0x7F000000, 0xFF000000, 0x7F7FFFFF, 0xFF7FFFFF,
    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001,
    0x7FC12345, 0xFFC54321, 0x7FFFFFFF, 0xFFFFFFFF,
};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* Steele, Lea, Flood: splitmix64, as a function of its state. */
static uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void values_make(uint32_t *data, uint64_t count, uint64_t seed)
{
    uint64_t i, r, base = mix(seed);

    for (i = 0; i < count; i++) {
        r = mix(base + i);
        if (i < SPECIALS)
            data[i] = special[i];
        else if ((r & 7) == 0)
            data[i] = special[(r >> 3) % SPECIALS];
        else
            data[i] = (uint32_t)(r >> 32);
    }
}

fgs_saturate saturate_value(const char *word)
{
    return *word == 'u' ? FGS_SATURATE_UP
        : *word == 'd'  ? FGS_SATURATE_DOWN
                        : FGS_SATURATE_REFUSE;
}

uint64_t values_digest(const void *data, uint64_t bytes)
{
    const unsigned char *p = data;
    uint64_t i, h = 0xCBF29CE484222325u;

    for (i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}
