/* cu_memory.c -- entry points: allocations, copies, fills */
#include "sim/device.h"

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
    CUresult r = fgs__sim_enter(&ctx);

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
static CUresult release(struct fgs__sim_ctx *ctx, uint64_t addr,
                        enum fgs__sim_memkind kind)
{
    struct fgs__sim_alloc_info info;
    CUresult r;

    if (!fgs__sim_mem_info(ctx->dev->mem, addr, &info) ||
        info.range.lo != addr || info.kind != kind || info.owner != ctx)
        return CUDA_ERROR_INVALID_VALUE;
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    if (!r) {
        fgs__sim_pause(ctx->dev);
        if (!fgs__sim_mem_release(ctx->dev->mem, addr, kind, ctx))
            r = CUDA_ERROR_INVALID_VALUE; /* somebody was faster */
        fgs__sim_resume(ctx->dev);
    }
    fgs__sim_ctx_unuse(ctx);
    return r;
}

CUresult fgs__sim_cuMemFree(CUdeviceptr ptr)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (ptr) /* freeing 0 is a no-op in the driver too */
        r = release(ctx, ptr, FGS__SIM_MEM_DEVICE);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
    const unsigned int known = CU_MEMHOSTALLOC_PORTABLE |
        CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    struct fgs__sim_range range = { 0, 0, NULL };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!ptr || !bytes || flags & ~known)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_HOST, ctx,
                               &range);
    if (!r)
        *ptr = range.host;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemFreeHost(void *ptr)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    return fgs__sim_leave(
        release(ctx, (uint64_t)(uintptr_t)ptr, FGS__SIM_MEM_HOST));
}

CUresult fgs__sim_cuMemHostGetDevicePointer(CUdeviceptr *ptr, void *host,
                                            unsigned int flags)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!ptr || flags ||
        !fgs__sim_mem_info(ctx->dev->mem, (uint64_t)(uintptr_t)host, &info) ||
        info.kind != FGS__SIM_MEM_HOST)
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

CUresult fgs__sim_cuPointerGetAttribute(void *data, CUpointer_attribute attrib,
                                        CUdeviceptr ptr)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    bool host;

    if (r)
        return r;
    if (!data || !fgs__sim_mem_info(ctx->dev->mem, ptr, &info)) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    host = info.kind == FGS__SIM_MEM_HOST;
    switch (attrib) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data =
            (CUcontext)((const struct fgs__sim_ctx *)info.owner)->handle;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)data =
            host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (host)
            *(void **)data = (void *)(uintptr_t)ptr;
        else
            r = CUDA_ERROR_INVALID_VALUE;
        break;
    default:
        r = CUDA_ERROR_NOT_SUPPORTED;
    }
leave:
    return fgs__sim_leave(r);
}

/* -------------------------------------------------------------- copies -- */

/* One side of a copy: device memory (or pinned, by its address), or pageable
 * host memory. */
struct side {
    bool host;       /* the call says it is a host pointer */
    uint64_t addr;
    bool pageable;
};

static CUresult check_side(struct fgs__sim_ctx *ctx, struct side *s,
                           uint64_t bytes)
{
    struct fgs__sim_range range;
    bool found = fgs__sim_mem_find(ctx->dev->mem, s->addr, &range);

    s->pageable = s->host && !found;
    if (s->host && !found)
        return s->addr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!found || bytes > range.hi - s->addr)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* `wait`: for the copy to end.  Pageable memory is only looked at while the
 * call lasts: a source is staged, a destination waited for (the driver's
 * documented behaviour of such copies). */
static CUresult copy(struct fgs__sim_ctx *ctx, struct side dst,
                     struct side src, uint64_t bytes, CUstream stream,
                     bool wait)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_op *op;
    CUresult r = fgs__sim_stream_get(ctx, stream, &s);

    if (r || !bytes)
        return r;
    r = check_side(ctx, &dst, bytes);
    if (!r)
        r = check_side(ctx, &src, bytes);
    if (r)
        return r;
    op = fgs__sim_op_make(s, FGS__SIM_OP_COPY);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.copy.bytes = bytes;
    op->u.copy.dst_va = dst.addr;
    op->u.copy.src_va = src.addr;
    op->u.copy.local = !dst.host && !src.host;
    if (dst.pageable)
        op->u.copy.dst = (char *)(uintptr_t)dst.addr;
    if (src.pageable)
        op->u.copy.src = (const char *)(uintptr_t)src.addr;
    if (src.pageable && !wait) {
        op->u.copy.staged = fgs__alloc(&ctx->dev->alloc, bytes);
        if (!op->u.copy.staged) {
            fgs__sim_op_free(op);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memcpy(op->u.copy.staged, op->u.copy.src, bytes);
        op->u.copy.src = op->u.copy.staged;
    }
    fgs__sim_op_enqueue(op);
    return wait || dst.pageable ? fgs__sim_stream_wait(s) : CUDA_SUCCESS;
}

static struct side device_side(CUdeviceptr ptr)
{
    return (struct side){ .addr = ptr };
}

static struct side host_side(const void *ptr)
{
    return (struct side){ .host = true, .addr = (uint64_t)(uintptr_t)ptr };
}

static CUresult enter_copy(struct side dst, struct side src, uint64_t bytes,
                           CUstream stream, bool wait)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    return fgs__sim_leave(copy(ctx, dst, src, bytes, stream, wait));
}

CUresult fgs__sim_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t bytes)
{
    return enter_copy(device_side(dst), host_side(src), bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes)
{
    return enter_copy(host_side(dst), device_side(src), bytes, NULL, true);
}

/* Device to device does not wait on the host side. */
CUresult fgs__sim_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return enter_copy(device_side(dst), device_side(src), bytes, NULL, false);
}

CUresult fgs__sim_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src,
                                    size_t bytes, CUstream stream)
{
    return enter_copy(device_side(dst), host_side(src), bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes,
                                    CUstream stream)
{
    return enter_copy(host_side(dst), device_side(src), bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src,
                                    size_t bytes, CUstream stream)
{
    return enter_copy(device_side(dst), device_side(src), bytes, stream,
                      false);
}

static CUresult fill(CUdeviceptr dst, uint32_t value, uint32_t width,
                     size_t count, CUstream stream)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_range range;
    struct fgs__sim_op *op;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (r || !count)
        goto leave;
    r = CUDA_ERROR_INVALID_VALUE;
    if (dst % width || !fgs__sim_mem_find(ctx->dev->mem, dst, &range) ||
        count > (range.hi - dst) / width)
        goto leave;
    r = CUDA_ERROR_OUT_OF_MEMORY;
    op = fgs__sim_op_make(s, FGS__SIM_OP_FILL);
    if (!op)
        goto leave;
    op->u.fill.va = dst;
    op->u.fill.count = count;
    op->u.fill.value = value;
    op->u.fill.width = width;
    fgs__sim_op_enqueue(op);
    r = CUDA_SUCCESS;
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemsetD8(CUdeviceptr dst, unsigned char value,
                             size_t count)
{
    return fill(dst, value, 1, count, NULL);
}

CUresult fgs__sim_cuMemsetD32(CUdeviceptr dst, unsigned int value,
                              size_t count)
{
    return fill(dst, value, 4, count, NULL);
}

CUresult fgs__sim_cuMemsetD8Async(CUdeviceptr dst, unsigned char value,
                                  size_t count, CUstream stream)
{
    return fill(dst, value, 1, count, stream);
}

CUresult fgs__sim_cuMemsetD32Async(CUdeviceptr dst, unsigned int value,
                                   size_t count, CUstream stream)
{
    return fill(dst, value, 4, count, stream);
}
