/* cu_mipmap.c -- entry points: mipmapped arrays */
#include "sim/array.h"

struct fgs__sim_mipmap *fgs__sim_mipmap_of(struct fgs__sim_ctx *ctx,
                                           CUmipmappedArray handle)
{
    return fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_MIPMAP,
                               handle);
}

/* How many levels there are until all sizes that shrink are 1. */
static uint32_t most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layers = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    size_t size = d->Width > d->Height ? d->Width : d->Height;
    uint32_t n = 1;

    if (!layers && d->Depth > size)
        size = d->Depth;
    for (; size > 1; size >>= 1)
        n++;
    return n;
}

static size_t halved(size_t size, uint32_t level)
{
    return !size ? 0 : size >> level ? size >> level : 1;
}

static CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR *d,
                                        uint32_t level)
{
    CUDA_ARRAY3D_DESCRIPTOR out = *d;

    out.Width = halved(d->Width, level);
    out.Height = halved(d->Height, level);
    if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
        out.Depth = halved(d->Depth, level);
    return out;
}

static void free_mipmap(struct fgs__sim_mipmap *m)
{
    struct fgs__sim_device *dev = m->ctx->dev;

    fgs__sim_handle_free(&dev->handles, m->handle);
    fgs__free(&dev->alloc, m);
}

void fgs__sim_mipmaps_free(struct fgs__sim_ctx *ctx)
{
    while (ctx->mipmaps) {
        struct fgs__sim_mipmap *m = ctx->mipmaps;

        ctx->mipmaps = m->next;
        free_mipmap(m);
    }
}

static CUresult make(struct fgs__sim_ctx *ctx, struct fgs__sim_mipmap **out,
                     const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_mipmap *m = fgs__zalloc(&dev->alloc, sizeof *m);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

    if (!m)
        return r;
    m->ctx = ctx;
    m->desc = *d;
    m->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_MIPMAP, m);
    if (!m->handle) {
        fgs__free(&dev->alloc, m);
        return r;
    }
    for (; m->levels < levels; m->levels++) {
        CUDA_ARRAY3D_DESCRIPTOR one = level_of(d, m->levels);

        r = fgs__sim_array_make(ctx, &m->level[m->levels], &one);
        if (r)
            goto drop;
        m->level[m->levels]->level = true;
    }
    m->next = ctx->mipmaps;
    ctx->mipmaps = m;
    *out = m;
    return CUDA_SUCCESS;
drop:
    while (m->levels)
        fgs__sim_array_drop(m->level[--m->levels]);
    free_mipmap(m);
    return r;
}

/* More levels than the sizes have are as many as they have. */
CUresult fgs__sim_cuMipmappedArrayCreate(CUmipmappedArray *out,
                                         const CUDA_ARRAY3D_DESCRIPTOR *desc,
                                         unsigned int levels)
{
    struct fgs__sim_mipmap *m;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    r = out && desc ? fgs__sim_array_check(desc) : CUDA_ERROR_INVALID_VALUE;
    if (!levels)
        levels = 1;
    if (!r && levels > most_levels(desc))
        levels = most_levels(desc);
    if (!r)
        r = make(ctx, &m, desc, levels);
    if (!r)
        *out = (CUmipmappedArray)m->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMipmappedArrayGetLevel(CUarray *out,
                                           CUmipmappedArray array,
                                           unsigned int level)
{
    struct fgs__sim_mipmap *m;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    m = fgs__sim_mipmap_of(ctx, array);
    if (!m)
        r = CUDA_ERROR_INVALID_HANDLE;
    else if (!out || level >= m->levels)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *out = (CUarray)m->level[level]->handle;
    return fgs__sim_leave(r);
}

/* Waits for the context's work, as cuArrayDestroy does. */
CUresult fgs__sim_cuMipmappedArrayDestroy(CUmipmappedArray array)
{
    struct fgs__sim_mipmap *m, **at;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    m = fgs__sim_mipmap_of(ctx, array);
    if (!m || m->ctx != ctx)
        return fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
    for (at = &ctx->mipmaps; *at != m; at = &(*at)->next)
        ;
    *at = m->next;
    fgs__sim_handle_free(&ctx->dev->handles, m->handle);
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    fgs__sim_pause(ctx->dev);
    while (m->levels)
        fgs__sim_array_drop(m->level[--m->levels]);
    fgs__sim_resume(ctx->dev);
    fgs__free(&ctx->dev->alloc, m);
    fgs__sim_ctx_unuse(ctx);
    return fgs__sim_leave(r);
}
