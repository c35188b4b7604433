/* map.c -- tensor maps among the parameters: one a slot, as pointers have it */
#include "core/compose.h"

enum { MAP_ALIGN = 64 }; /* of a map that the driver writes */

static unsigned char *map_at(const struct fgs__map *m, uint64_t slot)
{
    unsigned char *at = m->memory;

    at += (MAP_ALIGN - (uintptr_t)at % MAP_ALIGN) % MAP_ALIGN;
    return at + slot * FGS__MAP_BYTES;
}

/* What a map says but its address stays as the application encoded it: tiled,
 * im2col, any swizzle. */
static fgs_result aim(const struct fgs__plan *p, const struct fgs__map *m,
                      unsigned char *map, CUdeviceptr ptr, uint64_t slot,
                      fgs_error *err)
{
    const struct fgs__use *u = &p->use[m->use];
    CUdeviceptr at = ptr + slot * (u->bytes / u->slots) + m->offset;
    CUresult r = p->dev->cu.cuTensorMapReplaceAddress(
        (CUtensorMap *)(void *)map, (void *)(uintptr_t)at);

    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuTensorMapReplaceAddress",
                            "a tensor map of buffer '%s', slot %llu", u->name,
                            (unsigned long long)slot);
}

fgs_result fgs__map_take(struct fgs__plan *p, uint32_t use,
                         const fgs_arg *arg, void *to, fgs_error *err)
{
    struct fgs__map *m = &p->map[p->maps];
    struct fgs__use *u = &p->use[use];
    fgs_result r = FGS__NEED(p->dev, err, FGS__CU_cuTensorMapReplaceAddress);

    if (r >= 0 && arg->bytes >= u->bytes / u->slots)
        r = fgs__fail(err, FGS_E_SIZE,
                      "buffer '%s': a tensor map that begins at byte %u of a "
                      "slot of %llu",
                      u->name, arg->bytes,
                      (unsigned long long)(u->bytes / u->slots));
    if (r < 0)
        return r;
    *m = (struct fgs__map){ .use = use, .offset = arg->bytes, .to = to };
    m->memory = fgs__zalloc(&p->dev->alloc,
                            u->slots * FGS__MAP_BYTES + MAP_ALIGN);
    if (!m->memory)
        return fgs__nomem(err);
    p->maps++;
    for (uint64_t s = 0; r >= 0 && s < u->slots; s++) {
        memcpy(map_at(m, s), arg->value, FGS__MAP_BYTES);
        r = aim(p, m, map_at(m, s), u->ptr, s, err);
    }
    return r;
}

void fgs__maps_follow(struct fgs__plan *p, uint64_t round)
{
    for (uint32_t i = 0; i < p->maps; i++) {
        const struct fgs__map *m = &p->map[i];

        memcpy(m->to, map_at(m, round % p->use[m->use].slots), FGS__MAP_BYTES);
    }
}

fgs_result fgs__maps_try(const struct fgs__plan *p, fgs_buffer *handle,
                         CUdeviceptr ptr, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; i < p->maps; i++) {
        const struct fgs__map *m = &p->map[i];
        _Alignas(MAP_ALIGN) unsigned char map[FGS__MAP_BYTES];

        if (p->use[m->use].handle != handle)
            continue;
        memcpy(map, map_at(m, 0), sizeof map);
        for (uint64_t s = 0; r >= 0 && s < p->use[m->use].slots; s++)
            r = aim(p, m, map, ptr, s, err);
    }
    return r;
}

void fgs__maps_rebind(struct fgs__plan *p, fgs_buffer *handle, CUdeviceptr ptr)
{
    for (uint32_t i = 0; i < p->maps; i++) {
        struct fgs__map *m = &p->map[i];

        if (p->use[m->use].handle != handle)
            continue;
        /* tried before */
        for (uint64_t s = 0; s < p->use[m->use].slots; s++)
            aim(p, m, map_at(m, s), ptr, s, NULL);
    }
}

void fgs__maps_free(struct fgs__plan *p)
{
    for (uint32_t i = 0; p->map && i < p->maps; i++)
        fgs__free(&p->dev->alloc, p->map[i].memory);
    fgs__free(&p->dev->alloc, p->map);
}
