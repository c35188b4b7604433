/* cu_memory.c -- entry points: allocations */
#include "sim/lease.h"

CUresult fgs__sim_cuMemGetInfo(size_t *avail, size_t *total)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    uint64_t a, t;

    if (r)
        return r;
    if (!avail || !total) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        fgs__sim_mem_usage(ctx->dev->mem, &a, &t);
        *avail = a;
        *total = t;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemAlloc(CUdeviceptr *ptr, size_t bytes)
{
    struct fgs__sim_range range = { 0, 0, NULL };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (!ptr || !bytes)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_DEVICE,
                               ctx, &range);
    if (!r)
        *ptr = range.lo;
    return fgs__sim_leave(r);
}

/* A free waits for the context's work, as the driver's does, so that no op
 * loses its memory; then the memory goes between two epochs. */
static CUresult release_lease(struct fgs__sim_ctx *ctx, uint64_t addr)
{
    struct fgs__sim_lease *l = fgs__sim_lease_at(ctx, addr);
    CUresult r;

    if (!l->booked)
        return CUDA_ERROR_INVALID_VALUE;
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    if (!r) {
        fgs__sim_pause(ctx->dev);
        l = fgs__sim_lease_at(ctx, addr); /* somebody may have been faster */
        if (l && l->booked) {
            fgs__sim_lease_run(ctx, l, false);
            fgs__sim_lease_book(ctx, l, false);
        } else {
            r = CUDA_ERROR_INVALID_VALUE;
        }
        fgs__sim_resume(ctx->dev);
    }
    fgs__sim_ctx_unuse(ctx);
    return r;
}

static CUresult release(struct fgs__sim_ctx *ctx, uint64_t addr,
                        uint32_t kinds)
{
    struct fgs__sim_alloc_info info;
    CUresult r;

    if (!fgs__sim_mem_info(ctx->dev->mem, addr, &info) ||
        info.range.lo != addr || !(kinds >> info.kind & 1) || info.going ||
        info.owner != ctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (info.kind == FGS__SIM_MEM_GRAPH)
        return release_lease(ctx, addr);
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    if (!r) {
        fgs__sim_pause(ctx->dev);
        if (!fgs__sim_mem_release(ctx->dev->mem, addr, info.kind, ctx))
            r = CUDA_ERROR_INVALID_VALUE; /* somebody was faster */
        fgs__sim_resume(ctx->dev);
    }
    fgs__sim_ctx_unuse(ctx);
    return r;
}

CUresult fgs__sim_cuMemFree(CUdeviceptr ptr)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (ptr) /* freeing 0 is a no-op in the driver too */
        r = release(ctx, ptr, 1u << FGS__SIM_MEM_DEVICE |
                        1u << FGS__SIM_MEM_MANAGED | 1u << FGS__SIM_MEM_POOL |
                        1u << FGS__SIM_MEM_GRAPH);
    return fgs__sim_leave(r);
}

/* Rows begin at multiples of 512 bytes, what every access can use. */
CUresult fgs__sim_cuMemAllocPitch(CUdeviceptr *ptr, size_t *pPitch,
                                  size_t WidthInBytes, size_t Height,
                                  unsigned int ElementSizeBytes)
{
    size_t pitch = (WidthInBytes + FGS__SIM_ALLOC_ALIGN - 1) &
        ~(size_t)(FGS__SIM_ALLOC_ALIGN - 1);
    CUresult r;

    if (!ptr || !pPitch || !WidthInBytes || !Height ||
        WidthInBytes > 0x7fffffff || Height > SIZE_MAX / pitch ||
        (ElementSizeBytes != 4 && ElementSizeBytes != 8 &&
         ElementSizeBytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    r = fgs__sim_cuMemAlloc(ptr, pitch * Height);
    if (!r)
        *pPitch = pitch;
    return r;
}

/* Host and device are one machine here: the memory needs no migration. */
CUresult fgs__sim_cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes,
                                    unsigned int flags)
{
    struct fgs__sim_alloc_info tag = { .flags = flags };
    struct fgs__sim_range range = { 0, 0, NULL };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (!ptr || !bytes ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_MANAGED,
                               ctx, &range);
    if (!r) {
        fgs__sim_mem_tag(ctx->dev->mem, range.lo, &tag);
        *ptr = range.lo;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
    const unsigned int known = CU_MEMHOSTALLOC_PORTABLE |
        CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    /* With unified addressing all of it is portable and mapped. */
    struct fgs__sim_alloc_info tag = { .flags = flags |
                                           CU_MEMHOSTALLOC_DEVICEMAP };
    struct fgs__sim_range range = { 0, 0, NULL };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (!ptr || !bytes || flags & ~known)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_HOST, ctx,
                               &range);
    if (!r) {
        fgs__sim_mem_tag(ctx->dev->mem, range.lo, &tag);
        *ptr = range.host;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemAllocHost(void **ptr, size_t bytes)
{
    return fgs__sim_cuMemHostAlloc(ptr, bytes, 0);
}

CUresult fgs__sim_cuMemFreeHost(void *ptr)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    return fgs__sim_leave(
        release(ctx, (uint64_t)(uintptr_t)ptr, 1u << FGS__SIM_MEM_HOST));
}

CUresult fgs__sim_cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
    const unsigned int known = CU_MEMHOSTREGISTER_PORTABLE |
        CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        r = CUDA_ERROR_NOT_SUPPORTED;
    else if (!p || !bytes || flags & ~known ||
             bytes > UINTPTR_MAX - (uintptr_t)p ||
             fgs__sim_mem_is_device(ctx->dev->mem, (uintptr_t)p))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = fgs__sim_mem_register(ctx->dev->mem, (uintptr_t)p, bytes,
                                  flags | CU_MEMHOSTREGISTER_DEVICEMAP, ctx);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemHostUnregister(void *p)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (!p)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (!fgs__sim_mem_info(ctx->dev->mem, (uintptr_t)p, &info) ||
             info.kind != FGS__SIM_MEM_REGISTERED)
        r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    else
        r = release(ctx, (uintptr_t)p, 1u << FGS__SIM_MEM_REGISTERED);
    return fgs__sim_leave(r);
}

static bool pinned(struct fgs__sim_ctx *ctx, const void *host,
                   struct fgs__sim_alloc_info *info)
{
    return fgs__sim_mem_info(ctx->dev->mem, (uintptr_t)host, info) &&
        (info->kind == FGS__SIM_MEM_HOST ||
         info->kind == FGS__SIM_MEM_REGISTERED);
}

CUresult fgs__sim_cuMemHostGetFlags(unsigned int *flags, void *p)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!flags || !pinned(ctx, p, &info))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *flags = info.flags;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemHostGetDevicePointer(CUdeviceptr *ptr, void *host,
                                            unsigned int flags)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!ptr || flags || !pinned(ctx, host, &info))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *ptr = (uint64_t)(uintptr_t)host;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes,
                                       CUdeviceptr ptr)
{
    struct fgs__sim_range range;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!fgs__sim_mem_find(ctx->dev->mem, ptr, &range)) {
        r = CUDA_ERROR_NOT_FOUND;
    } else {
        if (base)
            *base = range.lo;
        if (bytes)
            *bytes = range.hi - range.lo;
    }
    return fgs__sim_leave(r);
}
