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

/* Element i of packed ones, lower ones in lower bits. */
static uint32_t get(const uint8_t *p, uint64_t i, uint32_t bits)
{
    uint32_t v = 0;

    if (bits == 4)
        return p[i / 2] >> (i % 2 * 4) & 0xf;
    memcpy(&v, p + i * (bits / 8), bits / 8);
    return v;
}

fgs_result fgs_ref_consume(fgs_element e, const void *in, void *out,
                           uint64_t tiles, uint64_t tile_bytes)
{
    const fgs_element_info *info = fgs_element_get_info(e);
    const uint8_t *from = in;
    uint8_t *to = out;
    uint64_t elems;

    if (!in || !out)
        return FGS_E_NULL;
    if (!info)
        return FGS_E_INVAL;
    if (tile_bytes % 16 || (tile_bytes && tiles > SIZE_MAX / tile_bytes))
        return FGS_E_SIZE;
    elems = tile_bytes * 8 / info->bits;
    for (uint64_t t = 0; t < tiles; t++, from += tile_bytes, to += tile_bytes) {
        for (uint64_t i = 0; i < elems; i++) {
            uint32_t v = get(from, elems - 1 - i, info->bits);

            if (info->bits == 4)
                to[i / 2] = (uint8_t)(i % 2 ? to[i / 2] | v << 4 : v);
            else
                memcpy(to + i * (info->bits / 8), &v, info->bits / 8);
        }
    }
    return FGS_OK;
}
