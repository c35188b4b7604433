/* use.c -- the buffers that a plan's stages touch */
#include "core/compose.h"

fgs_result fgs__plan_new_use(struct fgs__plan *p, fgs_buffer *handle,
                             const char *what, uint32_t *index,
                             fgs_error *err)
{
    struct fgs__buffer *b;
    struct fgs__use *u;
    fgs_result r = fgs__buffer_get(&b, handle, what, err);

    if (r < 0)
        return r;
    if (b->dev != p->dev)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s ('%s') was made from another device", what,
                         b->name);
    for (uint32_t i = 0; i < p->uses; i++) {
        if (p->use[i].handle != handle &&
            fgs__overlap(p->use[i].ptr, p->use[i].bytes, b->ptr, b->bytes))
            return fgs__fail(err, FGS_E_MISMATCH,
                             "buffers '%s' and '%s' overlap", p->use[i].name,
                             b->name);
    }
    *index = p->uses;
    u = &p->use[p->uses++];
    u->handle = handle;
    memcpy(u->name, b->name, sizeof u->name);
    u->ptr = b->ptr;
    u->bytes = b->bytes;
    u->slots = b->slots;
    u->element = b->element;
    u->tiles = u->room = b->tiles;
    u->tile_bytes = b->tile_bytes;
    u->fill_stage = u->ring = FGS__NOWHERE;
    u->step = 1;
    return FGS_OK;
}

fgs_result fgs__plan_use(struct fgs__plan *p, fgs_buffer *handle,
                         const char *what, uint32_t *index, fgs_error *err)
{
    for (*index = 0; *index < p->uses; ++*index) {
        if (p->use[*index].handle == handle) {
            struct fgs__buffer *b;

            return fgs__buffer_get(&b, handle, what, err);
        }
    }
    return fgs__plan_new_use(p, handle, what, index, err);
}
