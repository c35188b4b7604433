/* ref_reverse.c -- mirror of the consumers in ptx/ */
#include "core/ref.h"

void fgs__ref_reverse(uint32_t *dst, const uint32_t *src, uint64_t tiles,
                      uint32_t elems)
{
    for (uint64_t t = 0; t < tiles; t++, dst += elems, src += elems) {
        for (uint32_t i = 0; i < elems; i++)
            dst[i] = src[elems - 1 - i];
    }
}
