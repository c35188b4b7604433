/* cu_texture.c -- entry points: texture and surface objects
 *
 * The driver's documentation of cuTexObjectCreate lists rules; here are those
 * that an H200's driver keeps.  It lets pass sizes and filters that make no
 * sense, objects that are none, and memory that is none until a kernel reads.
 */
#include "sim/texture.h"

/* Limits of linear memory, and how its addresses and rows must lie. */
enum {
    LINEAR_WIDTH = 69, PITCH_WIDTH = 70, PITCH_HEIGHT = 71, PITCH_BYTES = 72,
    TEXTURE_ALIGN = 14, PITCH_ALIGN = 51 /* device attributes               */
};

static uint64_t attribute(unsigned id)
{
    int v = 0;

    fgs__sim_attribute(&v, id);
    return (uint64_t)v;
}

uint64_t fgs__sim_texture_align(void)
{
    return attribute(TEXTURE_ALIGN);
}

uint64_t fgs__sim_linear_width(void)
{
    return attribute(LINEAR_WIDTH);
}

static bool aligned(uint64_t v, unsigned id)
{
    uint64_t to = attribute(id);

    return !to || !(v % to);
}

static bool take_format(struct fgs__sim_texture *t, unsigned format,
                        unsigned channels)
{
    uint32_t bytes = fgs__sim_component(format);

    if (!bytes || (channels != 1 && channels != 2 && channels != 4))
        return false;
    t->format = (uint8_t)format;
    t->channels = (uint8_t)channels;
    t->element = (uint8_t)(bytes * channels);
    return true;
}

static struct fgs__sim_level level_of(const struct fgs__sim_array *a)
{
    bool layered = a->desc.Flags & (CUDA_ARRAY3D_LAYERED |
                                    CUDA_ARRAY3D_CUBEMAP);

    return (struct fgs__sim_level){
        .va = a->va,
        .pitch = a->pitch,
        .slice = a->pitch * a->rows,
        .size = { (uint32_t)a->desc.Width, (uint32_t)a->rows,
                  layered ? 1 : (uint32_t)a->planes },
    };
}

static CUresult bind_arrays(struct fgs__sim_texture *t,
                            struct fgs__sim_array *const *a, uint32_t levels)
{
    const CUDA_ARRAY3D_DESCRIPTOR *d = &a[0]->desc;

    take_format(t, d->Format, d->NumChannels);
    t->cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    t->layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    t->dims = !d->Height ? 1 : t->layered || t->cube || !d->Depth ? 2 : 3;
    t->layers = t->layered ? (uint32_t)d->Depth : 1;
    if (t->cube && t->surface) { /* a layer for each face */
        t->cube = false;
        t->layered = true;
        t->layers = (uint32_t)d->Depth;
    } else if (t->cube && t->layered) {
        t->layers /= 6;
    }
    t->levels = levels;
    for (uint32_t k = 0; k < levels; k++)
        t->level[k] = level_of(a[k]);
    return CUDA_SUCCESS;
}

static CUresult bind_linear(struct fgs__sim_texture *t,
                            const CUDA_RESOURCE_DESC *res)
{
    uint64_t va = res->res.linear.devPtr, bytes = res->res.linear.sizeInBytes;

    if (!take_format(t, res->res.linear.format, res->res.linear.numChannels) ||
        !va || !aligned(va, TEXTURE_ALIGN))
        return CUDA_ERROR_INVALID_VALUE;
    /* What lies behind the device's greatest width is not reached. */
    if (bytes / t->element > attribute(LINEAR_WIDTH))
        bytes = attribute(LINEAR_WIDTH) * t->element;
    t->dims = 1;
    t->fetched = true;
    t->level[0] = (struct fgs__sim_level){
        .va = va, .size = { (uint32_t)(bytes / t->element), 1, 1 }
    };
    return CUDA_SUCCESS;
}

static CUresult bind_pitch(struct fgs__sim_texture *t,
                           const CUDA_RESOURCE_DESC *res)
{
    uint64_t va = res->res.pitch2D.devPtr;
    uint64_t pitch = res->res.pitch2D.pitchInBytes;
    uint64_t width = res->res.pitch2D.width, height = res->res.pitch2D.height;

    if (!take_format(t, res->res.pitch2D.format,
                     res->res.pitch2D.numChannels) ||
        !aligned(va, TEXTURE_ALIGN) || !aligned(pitch, PITCH_ALIGN) ||
        !va || width > attribute(PITCH_WIDTH) ||
        height > attribute(PITCH_HEIGHT) || pitch > attribute(PITCH_BYTES))
        return CUDA_ERROR_INVALID_VALUE;
    t->dims = 2;
    t->level[0] = (struct fgs__sim_level){
        .va = va, .pitch = pitch, .slice = pitch * height,
        .size = { width ? (uint32_t)width : 1, height ? (uint32_t)height : 1,
                  1 }
    };
    return CUDA_SUCCESS;
}

CUresult fgs__sim_texture_bind(struct fgs__sim_ctx *ctx,
                               struct fgs__sim_texture *t,
                               const CUDA_RESOURCE_DESC *res)
{
    struct fgs__sim_array *a;
    struct fgs__sim_mipmap *m;

    if (res->flags)
        return CUDA_ERROR_INVALID_VALUE;
    t->res = *res;
    t->layers = t->levels = 1;
    switch (res->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        a = fgs__sim_array_of(ctx, res->res.array.hArray);
        return a ? bind_arrays(t, &a, 1) : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        m = fgs__sim_mipmap_of(ctx, res->res.mipmap.hMipmappedArray);
        return m ? bind_arrays(t, m->level, m->levels)
                 : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_LINEAR:
        return bind_linear(t, res);
    case CU_RESOURCE_TYPE_PITCH2D:
        return bind_pitch(t, res);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ------------------------------------------------------------- textures -- */

static bool is_integer(unsigned format)
{
    return format != CU_AD_FORMAT_HALF && format != CU_AD_FORMAT_FLOAT;
}

/* Linear light whose bits are known: between planes, and between levels, an
 * H200 cuts sums in a way that 4 in 8192 do not follow here; a border that is
 * not 0 becomes bytes first.  A row has a border in y, too (sample.c). */
static bool srgb_known(const struct fgs__sim_texture *t)
{
    bool border = false, color = false;

    for (unsigned d = 0; d < t->dims || d < 2; d++)
        border |= t->tex.addressMode[d] == CU_TR_ADDRESS_MODE_BORDER;
    for (unsigned k = 0; k < t->channels; k++)
        color |= t->tex.borderColor[k] != 0;
    return !(border && color) && !(t->linear && t->dims > 2) &&
        (t->levels < 2 ||
         t->tex.mipmapFilterMode != CU_TR_FILTER_MODE_LINEAR);
}

/* How the resource is read.  sRGB is for normalized bytes, and nothing to the
 * others.  Anisotropy is for gradients, which no instruction here gives.  Two
 * flags that are none are let pass. */
CUresult fgs__sim_texture_sampler(struct fgs__sim_texture *t,
                                  const CUDA_TEXTURE_DESC *tex)
{
    const unsigned known = CU_TRSF_READ_AS_INTEGER |
        CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
        CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP |
        4 | 8;
    bool wide = t->element / t->channels == 4;

    for (unsigned d = 0; d < t->dims; d++)
        if (tex->addressMode[d] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
    if (tex->filterMode > CU_TR_FILTER_MODE_LINEAR || tex->flags & ~known ||
        tex->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    t->tex = *tex;
    t->mipmapped = t->res.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    t->normalized = tex->flags & CU_TRSF_NORMALIZED_COORDINATES ||
        t->mipmapped;
    t->integer = is_integer(t->format) &&
        (wide || tex->flags & CU_TRSF_READ_AS_INTEGER);
    t->linear = tex->filterMode == CU_TR_FILTER_MODE_LINEAR && !t->fetched &&
        !t->integer;
    t->seamless = t->cube && tex->flags & CU_TRSF_SEAMLESS_CUBEMAP;
    t->srgb = tex->flags & CU_TRSF_SRGB && !t->integer &&
        t->format == CU_AD_FORMAT_UNSIGNED_INT8;
    return t->srgb && !srgb_known(t) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* What a view's format is: threes of 1, 2 and 4 channels (cuda.h). */
static bool view_format(unsigned view, unsigned *format, unsigned *channels)
{
    static const uint8_t formats[8] = {
        CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT8,
        CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
        CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
        CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT
    };

    if (!view || view > 24)
        return false;
    *format = formats[(view - 1) / 3];
    *channels = 1u << (view - 1) % 3;
    return true;
}

/* Elements of 8 and 16 bytes as blocks of 4 x 4; what is in them is not known
 * here. */
static bool is_blocks(const struct fgs__sim_texture *t, unsigned view)
{
    enum { BC1 = 0x19, BC4 = 0x1c, BC4_SIGNED, BC7 = 0x22 };
    bool half = view == BC1 || view == BC4 || view == BC4_SIGNED;

    return view >= BC1 && view <= BC7 &&
        t->format == CU_AD_FORMAT_UNSIGNED_INT32 &&
        t->channels == (half ? 2 : 4);
}

/* Which levels and layers.  The last level may lie behind those that are
 * there; what a layer does that is not is not known here. */
static CUresult take_range(struct fgs__sim_texture *t,
                           const CUDA_RESOURCE_VIEW_DESC *v)
{
    bool mipmap = t->res.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    uint32_t last = v->lastMipmapLevel;

    if (v->firstMipmapLevel > last || (!mipmap && last) ||
        v->firstLayer > v->lastLayer || (!t->layered && v->lastLayer) ||
        v->firstMipmapLevel >= t->levels)
        return CUDA_ERROR_INVALID_VALUE;
    if (v->lastLayer >= t->layers)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (last >= t->levels)
        last = t->levels - 1;
    t->levels = last - v->firstMipmapLevel + 1;
    for (uint32_t k = 0; k < t->levels; k++) {
        t->level[k] = t->level[k + v->firstMipmapLevel];
        t->level[k].va += v->firstLayer * t->level[k].slice;
    }
    t->layers = v->lastLayer - v->firstLayer + 1;
    return CUDA_SUCCESS;
}

/* A view has the sizes of the array's descriptor, and elements of its size in
 * any format; a format must be given.  Memory has no views; the driver lets
 * them pass. */
static CUresult take_view(struct fgs__sim_ctx *ctx, struct fgs__sim_texture *t,
                          const CUDA_RESOURCE_VIEW_DESC *view)
{
    const CUDA_ARRAY3D_DESCRIPTOR *d;
    unsigned format, channels;
    CUresult r;

    if (!view || t->res.resType == CU_RESOURCE_TYPE_LINEAR ||
        t->res.resType == CU_RESOURCE_TYPE_PITCH2D)
        return CUDA_SUCCESS;
    d = t->res.resType == CU_RESOURCE_TYPE_ARRAY
        ? &fgs__sim_array_of(ctx, t->res.res.array.hArray)->desc
        : &fgs__sim_mipmap_of(ctx, t->res.res.mipmap.hMipmappedArray)->desc;
    if (is_blocks(t, view->format) && view->width == 4 * d->Width &&
        view->height == 4 * d->Height && view->depth == d->Depth)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!view_format(view->format, &format, &channels) ||
        fgs__sim_component(format) * channels != t->element ||
        view->width != d->Width || view->height != d->Height ||
        view->depth != d->Depth)
        return CUDA_ERROR_INVALID_VALUE;
    r = take_range(t, view);
    if (r)
        return r;
    take_format(t, format, channels);
    t->view = *view;
    t->viewed = true;
    return CUDA_SUCCESS;
}

static CUresult create(const CUDA_RESOURCE_DESC *res,
                       const CUDA_TEXTURE_DESC *tex,
                       const CUDA_RESOURCE_VIEW_DESC *view, bool surface,
                       unsigned long long *out)
{
    struct fgs__sim_texture *t;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (!out || !res || (!tex && !surface))
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    t = fgs__zalloc(&ctx->dev->alloc, sizeof *t);
    if (!t)
        return fgs__sim_leave(CUDA_ERROR_OUT_OF_MEMORY);
    t->surface = surface;
    r = surface && res->resType != CU_RESOURCE_TYPE_ARRAY
        ? CUDA_ERROR_INVALID_VALUE : fgs__sim_texture_bind(ctx, t, res);
    if (!r && !surface)
        r = take_view(ctx, t, view);
    if (!r && !surface)
        r = fgs__sim_texture_sampler(t, tex);
    if (!r)
        r = fgs__sim_texture_add(ctx, t);
    if (r)
        fgs__free(&ctx->dev->alloc, t);
    else
        *out = t->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuTexObjectCreate(CUtexObject *out,
                                    const CUDA_RESOURCE_DESC *res,
                                    const CUDA_TEXTURE_DESC *tex,
                                    const CUDA_RESOURCE_VIEW_DESC *view)
{
    return create(res, tex, view, false, out);
}

CUresult fgs__sim_cuSurfObjectCreate(CUsurfObject *out,
                                     const CUDA_RESOURCE_DESC *res)
{
    return create(res, NULL, NULL, true, out);
}

/* ------------------------------------------------------------ both kinds -- */

/* Enter and find the object; the lock is held only after CUDA_SUCCESS. */
static CUresult enter(struct fgs__sim_ctx **ctx, unsigned long long handle,
                      bool surface, struct fgs__sim_texture **t)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    *t = fgs__sim_texture_find(*ctx, handle);
    return *t && (*t)->surface == surface
        ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

/* To take away what is no object is no error. */
static CUresult destroy(unsigned long long handle, bool surface)
{
    struct fgs__sim_texture *t;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, handle, surface, &t);

    if (r)
        return r == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : r;
    ctx->users++;
    fgs__sim_pause(ctx->dev);
    t = fgs__sim_texture_find(ctx, handle); /* another thread may have been
                                               first while the lock was let
                                               go */
    if (t)
        fgs__sim_texture_drop(t);
    fgs__sim_resume(ctx->dev);
    fgs__sim_ctx_unuse(ctx);
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexObjectDestroy(CUtexObject object)
{
    return destroy(object, false);
}

CUresult fgs__sim_cuSurfObjectDestroy(CUsurfObject object)
{
    return destroy(object, true);
}

/* enter, for a question whose answer goes to `out`. */
static CUresult enter_for(const void *out, unsigned long long handle,
                          bool surface, struct fgs__sim_texture **t)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, handle, surface, t);

    if (!r && !out)
        r = fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    return r;
}

static CUresult resource(CUDA_RESOURCE_DESC *out, unsigned long long handle,
                         bool surface)
{
    struct fgs__sim_texture *t;
    CUresult r = enter_for(out, handle, surface, &t);

    if (r)
        return r;
    *out = t->res;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out,
                                             CUtexObject object)
{
    return resource(out, object, false);
}

CUresult fgs__sim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out,
                                              CUsurfObject object)
{
    return resource(out, object, true);
}

CUresult fgs__sim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out,
                                            CUtexObject object)
{
    struct fgs__sim_texture *t;
    CUresult r = enter_for(out, object, false, &t);

    if (r)
        return r;
    *out = t->tex;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* Of one without a view it is all 0. */
CUresult fgs__sim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out,
                                                 CUtexObject object)
{
    struct fgs__sim_texture *t;
    CUresult r = enter_for(out, object, false, &t);

    if (r)
        return r;
    *out = t->view;
    return fgs__sim_leave(CUDA_SUCCESS);
}
