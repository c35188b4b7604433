/* ref_fill.c -- mirror of ptx/sentinel_fill.ptx.in */
#include "core/ref.h"

void fgs__ref_fill(uint32_t *dst, uint64_t count, uint32_t word)
{
    for (uint64_t i = 0; i < count; i++)
        dst[i] = word;
}
