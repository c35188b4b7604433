/* fit.c -- do the kernels and buffers of a plan fit together? */
#include "core/plan.h"

/* The kernels work on tiles of one kind. */
static fgs_result
check_kernels(struct fgs__kernel *const k[FGS_ROLE_CONSUMER + 1],
              fgs_error *err)
{
    const struct fgs__kernel *c = k[FGS_ROLE_CONSUMER];

    for (int r = FGS_ROLE_INIT; r < FGS_ROLE_CONSUMER; r++) {
        if (k[r]->shape.element != c->shape.element)
            return fgs__fail(err, FGS_E_MISMATCH,
                             "kernel %s works on %s, kernel %s on %s",
                             k[r]->entry,
                             fgs_element_get_info(k[r]->shape.element)->name,
                             c->entry,
                             fgs_element_get_info(c->shape.element)->name);
        if (k[r]->shape.tile_bytes != c->shape.tile_bytes)
            return fgs__fail(err, FGS_E_MISMATCH,
                             "kernel %s works on tiles of %u bytes, kernel %s "
                             "on %u",
                             k[r]->entry, k[r]->shape.tile_bytes, c->entry,
                             c->shape.tile_bytes);
    }
    return FGS_OK;
}

fgs_result fgs__fit_check(struct fgs__buffer *const b[FGS__BUFFERS],
                          struct fgs__kernel *const k[FGS_ROLE_CONSUMER + 1],
                          fgs_error *err)
{
    fgs_result r = check_kernels(k, err);

    for (int i = 0; r >= 0 && i < FGS__BUFFERS; i++) {
        if (b[i]->tiles != b[FGS__MID]->tiles)
            return fgs__fail(err, FGS_E_MISMATCH,
                             "buffer '%s' has %llu tiles, buffer '%s' %llu",
                             b[i]->name, (unsigned long long)b[i]->tiles,
                             b[FGS__MID]->name,
                             (unsigned long long)b[FGS__MID]->tiles);
        for (int j = 0; j < i; j++) {
            if (fgs__overlap(b[i]->ptr, b[i]->bytes, b[j]->ptr, b[j]->bytes))
                return fgs__fail(err, FGS_E_MISMATCH,
                                 "buffers '%s' and '%s' overlap", b[j]->name,
                                 b[i]->name);
        }
    }
    return r;
}
