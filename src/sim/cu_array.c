/* cu_array.c -- entry points: arrays
 *
 * What is refused is what an H200 refuses (driver 580).
 */
#include "sim/array.h"

struct fgs__sim_array *fgs__sim_array_of(struct fgs__sim_ctx *ctx,
                                         CUarray handle)
{
    return fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_ARRAY,
                               handle);
}

uint32_t fgs__sim_component(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

/* Attributes that hold the largest width, height and depth or layers, of a
 * texture and of a surface; 0 = that extent must be 0. */
struct most {
    unsigned char texture[3], surface[3];
};
enum { ONE, TWO, THREE, ONE_LAYERED, TWO_LAYERED, CUBE, CUBE_LAYERED, GATHER };
static const struct most most[] = {
    [ONE] = { { 21, 0, 0 }, { 55, 0, 0 } },
    [TWO] = { { 22, 23, 0 }, { 56, 57, 0 } },
    [THREE] = { { 24, 25, 26 }, { 58, 59, 60 } },
    [ONE_LAYERED] = { { 42, 0, 43 }, { 61, 0, 62 } },
    [TWO_LAYERED] = { { 27, 28, 29 }, { 63, 64, 65 } },
    [CUBE] = { { 52, 52, 0 }, { 66, 66, 0 } },
    [CUBE_LAYERED] = { { 53, 53, 54 }, { 67, 67, 68 } },
    [GATHER] = { { 45, 46, 0 }, { 56, 57, 0 } },
};

/* -1 = no such shape. */
static int shape_of(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = d->Flags & CUDA_ARRAY3D_LAYERED;

    if (!d->Width)
        return -1;
    if (d->Flags & CUDA_ARRAY3D_CUBEMAP) {
        if (d->Width != d->Height || !d->Depth || d->Depth % 6 ||
            (!layered && d->Depth != 6))
            return -1;
        return layered ? CUBE_LAYERED : CUBE;
    }
    if (layered)
        return !d->Depth ? -1 : d->Height ? TWO_LAYERED : ONE_LAYERED;
    if (d->Depth)
        return d->Height && !(d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) ? THREE
                                                                      : -1;
    if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
        return d->Height ? GATHER : -1;
    return d->Height ? TWO : ONE;
}

static bool within(size_t extent, unsigned attribute)
{
    int limit = 0;

    return !attribute || (!fgs__sim_attribute(&limit, attribute) &&
                          extent <= (size_t)limit);
}

CUresult fgs__sim_array_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
        CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
    const size_t extent[3] = { d->Width, d->Height, d->Depth };
    int shape = shape_of(d);

    if (shape < 0 || d->Flags & ~known ||
        (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    /* Normalized, compressed and planar ones have no component. */
    if (!fgs__sim_component(d->Format))
        return d->Format >= CU_AD_FORMAT_UNORM_INT_101010_2
            ? CUDA_ERROR_NOT_SUPPORTED
            : CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; i++) {
        if (!within(extent[i], most[shape].texture[i]) ||
            (d->Flags & CUDA_ARRAY3D_SURFACE_LDST &&
             !within(extent[i], most[shape].surface[i])))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult fgs__sim_array_make(struct fgs__sim_ctx *ctx,
                             struct fgs__sim_array **out,
                             const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_array *a = fgs__zalloc(&dev->alloc, sizeof *a);
    struct fgs__sim_range range;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

    if (!a)
        return r;
    a->ctx = ctx;
    a->desc = *d;
    a->element = fgs__sim_component(d->Format) * d->NumChannels;
    a->pitch = (uint64_t)d->Width * a->element;
    a->rows = d->Height ? d->Height : 1;
    a->planes = d->Depth ? d->Depth : 1;
    a->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_ARRAY, a);
    if (!a->handle)
        goto free_array;
    r = fgs__sim_mem_alloc(dev->mem, a->pitch * a->rows * a->planes, 1,
                           FGS__SIM_MEM_ARRAY, ctx, &range);
    if (r)
        goto free_handle;
    a->va = range.lo;
    a->next = ctx->arrays;
    ctx->arrays = a;
    *out = a;
    return CUDA_SUCCESS;
free_handle:
    fgs__sim_handle_free(&dev->handles, a->handle);
free_array:
    fgs__free(&dev->alloc, a);
    return r;
}

/* Takes it from its context; the memory stays. */
static void forget(struct fgs__sim_array *a)
{
    struct fgs__sim_device *dev = a->ctx->dev;
    struct fgs__sim_array **at = &a->ctx->arrays;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    fgs__sim_handle_free(&dev->handles, a->handle);
    fgs__free(&dev->alloc, a);
}

void fgs__sim_array_drop(struct fgs__sim_array *a)
{
    struct fgs__sim_ctx *ctx = a->ctx;
    uint64_t va = a->va;

    forget(a);
    fgs__sim_mem_release(ctx->dev->mem, va, FGS__SIM_MEM_ARRAY, ctx);
}

void fgs__sim_arrays_free(struct fgs__sim_ctx *ctx)
{
    fgs__sim_mipmaps_free(ctx);
    while (ctx->arrays)
        forget(ctx->arrays);
}

/* ---------------------------------------------------------- entry points -- */

CUresult fgs__sim_cuArray3DCreate(CUarray *out,
                                  const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    struct fgs__sim_array *a;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    r = out && desc ? fgs__sim_array_check(desc) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_array_make(ctx, &a, desc);
    if (!r)
        *out = (CUarray)a->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuArrayCreate(CUarray *out,
                                const CUDA_ARRAY_DESCRIPTOR *desc)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 0 };

    if (!desc)
        return CUDA_ERROR_INVALID_VALUE;
    d.Width = desc->Width;
    d.Height = desc->Height;
    d.Format = desc->Format;
    d.NumChannels = desc->NumChannels;
    return fgs__sim_cuArray3DCreate(out, &d);
}

/* Waits for the context's work: copies of it may still be there. */
CUresult fgs__sim_cuArrayDestroy(CUarray array)
{
    struct fgs__sim_array *a;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);
    uint64_t va;

    if (r)
        return r;
    a = fgs__sim_array_of(ctx, array);
    if (a && a->level) /* its mipmapped array keeps it, and no error is told */
        return fgs__sim_leave(CUDA_SUCCESS);
    if (!a || a->ctx != ctx)
        return fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
    va = a->va;
    forget(a);
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    fgs__sim_pause(ctx->dev);
    fgs__sim_mem_release(ctx->dev->mem, va, FGS__SIM_MEM_ARRAY, ctx);
    fgs__sim_resume(ctx->dev);
    fgs__sim_ctx_unuse(ctx);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *out,
                                         CUarray array)
{
    struct fgs__sim_array *a;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    a = fgs__sim_array_of(ctx, array);
    if (!out)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (!a)
        r = CUDA_ERROR_INVALID_HANDLE;
    else
        *out = a->desc;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *out,
                                       CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult r = out ? fgs__sim_cuArray3DGetDescriptor(&d, array)
                     : CUDA_ERROR_INVALID_VALUE;

    if (!r)
        *out = (CUDA_ARRAY_DESCRIPTOR){ d.Width, d.Height, d.Format,
                                        d.NumChannels };
    return r;
}

/* ---------------------------------------------- copies of one dimension -- */

/* They stay within the first row (an H200). */
static CUresult line(CUDA_MEMCPY3D *c, size_t bytes, CUstream stream,
                     bool sync)
{
    c->WidthInBytes = bytes;
    c->Height = c->Depth = 1;
    return sync ? fgs__sim_cuMemcpy3D(c)
                : fgs__sim_cuMemcpy3DAsync(c, stream);
}

static CUDA_MEMCPY3D from_to(CUmemorytype from, CUmemorytype to)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = from, .dstMemoryType = to };
}

#define FROM_ARRAY(to)                                                         \
    CUDA_MEMCPY3D c = from_to(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_##to);        \
                                                                               \
    c.srcArray = src;                                                          \
    c.srcXInBytes = at
#define TO_ARRAY(from)                                                         \
    CUDA_MEMCPY3D c = from_to(CU_MEMORYTYPE_##from, CU_MEMORYTYPE_ARRAY);      \
                                                                               \
    c.dstArray = dst;                                                          \
    c.dstXInBytes = at

CUresult fgs__sim_cuMemcpyAtoD(CUdeviceptr dst, CUarray src, size_t at,
                               size_t bytes)
{
    FROM_ARRAY(DEVICE);
    c.dstDevice = dst;
    return line(&c, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyAtoH(void *dst, CUarray src, size_t at, size_t bytes)
{
    FROM_ARRAY(HOST);
    c.dstHost = dst;
    return line(&c, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyAtoHAsync(void *dst, CUarray src, size_t at,
                                    size_t bytes, CUstream stream)
{
    FROM_ARRAY(HOST);
    c.dstHost = dst;
    return line(&c, bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyDtoA(CUarray dst, size_t at, CUdeviceptr src,
                               size_t bytes)
{
    TO_ARRAY(DEVICE);
    c.srcDevice = src;
    return line(&c, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyHtoA(CUarray dst, size_t at, const void *src,
                               size_t bytes)
{
    TO_ARRAY(HOST);
    c.srcHost = src;
    return line(&c, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyHtoAAsync(CUarray dst, size_t at, const void *src,
                                    size_t bytes, CUstream stream)
{
    TO_ARRAY(HOST);
    c.srcHost = src;
    return line(&c, bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyAtoA(CUarray dst, size_t at, CUarray src,
                               size_t src_at, size_t bytes)
{
    TO_ARRAY(ARRAY);
    c.srcArray = src;
    c.srcXInBytes = src_at;
    return line(&c, bytes, NULL, true);
}
