/* ref_join.c -- mirror of the joins in ptx/ */
#include "core/ref.h"
#include "text/text.h"

fgs_result fgs_ref_join(fgs_element e, const void *a, const void *b, void *out,
                        uint64_t tiles, uint64_t tile_bytes)
{
    enum { CHUNK = FGS__CHUNK_BYTES };
    const uint8_t *from[2] = { a, b };
    uint8_t *to = out, chunk[CHUNK];
    uint64_t chunks = tile_bytes / CHUNK;
    fgs_result r = FGS_OK;

    if (!a || !b || !out)
        return FGS_E_NULL;
    for (uint64_t t = 0; r >= 0 && t < tiles; t++) {
        for (uint64_t c = 0; r >= 0 && c < chunks; c++) {
            memcpy(chunk, from[c % 2] + t * tile_bytes +
                              (chunks - 1 - c) * CHUNK, CHUNK);
            r = fgs_ref_consume(e, chunk, to, 1, CHUNK);
            to += CHUNK;
        }
    }
    return r;
}
