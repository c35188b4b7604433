/* copy.c -- copies and fills of the CUDA runtime */
#include "rt/rt.h"

static CUdeviceptr dev(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

/* A call without a stream in a per-thread form is one of the thread's stream,
 * and waits for it. */
static cudaError_t wait_here(cudaError_t e)
{
    if (e || !fgs__rt_self.per_thread)
        return e;
    return fgs__rt_done(fgs__rt_cu.cuStreamSynchronize(CU_STREAM_PER_THREAD_));
}

static CUresult copy_now(void *dst, const void *src, size_t n,
                         enum cudaMemcpyKind kind)
{
    switch ((int)kind) {
    case cudaMemcpyHostToHost:
        memcpy(dst, src, n);
        return CUDA_SUCCESS;
    case cudaMemcpyHostToDevice:
        return fgs__rt_cu.cuMemcpyHtoD(dev(dst), src, n);
    case cudaMemcpyDeviceToHost:
        return fgs__rt_cu.cuMemcpyDtoH(dst, dev(src), n);
    case cudaMemcpyDeviceToDevice:
        return fgs__rt_cu.cuMemcpyDtoD(dev(dst), dev(src), n);
    default:
        return fgs__rt_cu.cuMemcpy(dev(dst), dev(src), n);
    }
}

static CUresult copy_later(void *dst, const void *src, size_t n,
                           enum cudaMemcpyKind kind, cudaStream_t s)
{
    switch ((int)kind) {
    case cudaMemcpyHostToDevice:
        return fgs__rt_cu.cuMemcpyHtoDAsync(dev(dst), src, n, s);
    case cudaMemcpyDeviceToHost:
        return fgs__rt_cu.cuMemcpyDtoHAsync(dst, dev(src), n, s);
    case cudaMemcpyDeviceToDevice:
        return fgs__rt_cu.cuMemcpyDtoDAsync(dev(dst), dev(src), n, s);
    default:
        return fgs__rt_cu.cuMemcpyAsync(dev(dst), dev(src), n, s);
    }
}

/* Enters; an empty copy is done, a kind that is none is refused. */
static cudaError_t start(enum cudaMemcpyKind kind)
{
    cudaError_t e = fgs__rt_enter();

    if (!e && (unsigned)kind > cudaMemcpyDefault)
        e = fgs__rt_note(cudaErrorInvalidMemcpyDirection);
    return e;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                       enum cudaMemcpyKind kind)
{
    cudaError_t e = start(kind);

    if (e || !count)
        return e;
    if (!dst || !src)
        return fgs__rt_note(cudaErrorInvalidValue);
    if (fgs__rt_self.per_thread && kind != cudaMemcpyHostToHost)
        return wait_here(fgs__rt_done(
            copy_later(dst, src, count, kind, CU_STREAM_PER_THREAD_)));
    return fgs__rt_done(copy_now(dst, src, count, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t e = start(kind);

    if (e || !count)
        return e;
    return fgs__rt_done(
        copy_later(dst, src, count, kind, fgs__rt_stream(stream)));
}

/* Between the primary contexts of two devices, which may be the same one. */
static cudaError_t peers(int to_device, int from_device, CUcontext *to,
                         CUcontext *from)
{
    cudaError_t e = fgs__rt_enter();

    if (!e)
        e = fgs__rt_primary(to_device, to);
    if (!e)
        e = fgs__rt_primary(from_device, from);
    return fgs__rt_note(e);
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src,
                           int srcDevice, size_t count)
{
    CUcontext to, from;
    cudaError_t e = peers(dstDevice, srcDevice, &to, &from);

    if (e || !count)
        return e;
    return fgs__rt_done(
        fgs__rt_cu.cuMemcpyPeer(dev(dst), to, dev(src), from, count));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src,
                                int srcDevice, size_t count,
                                cudaStream_t stream)
{
    CUcontext to, from;
    cudaError_t e = peers(dstDevice, srcDevice, &to, &from);

    if (e || !count)
        return e;
    return fgs__rt_done(fgs__rt_cu.cuMemcpyPeerAsync(
        dev(dst), to, dev(src), from, count, fgs__rt_stream(stream)));
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   int f)
{
    return (struct cudaChannelFormatDesc){ x, y, z, w, f };
}

/* ------------------------------------------------------ rows and layers -- */

/* Which memory an end of a copy is in; what the driver shall find out is
 * unified. */
static CUmemorytype type_of(enum cudaMemcpyKind kind, bool source)
{
    static const CUmemorytype type[][2] = {
        [cudaMemcpyHostToHost] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST },
        [cudaMemcpyHostToDevice] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST },
        [cudaMemcpyDeviceToHost] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE },
        [cudaMemcpyDeviceToDevice] = { CU_MEMORYTYPE_DEVICE,
                                       CU_MEMORYTYPE_DEVICE },
        [cudaMemcpyDefault] = { CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED },
    };

    return type[kind][source];
}

/* Arrays are not there. */
cudaError_t fgs__rt_copy_3d(const struct cudaMemcpy3DParms *p,
                            CUDA_MEMCPY3D *out)
{
    if (!p)
        return cudaErrorInvalidValue;
    if ((unsigned)p->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (p->srcArray || p->dstArray)
        return cudaErrorNotSupported;
    memset(out, 0, sizeof *out);
    out->srcXInBytes = p->srcPos.x;
    out->srcY = p->srcPos.y;
    out->srcZ = p->srcPos.z;
    out->srcMemoryType = type_of(p->kind, true);
    out->srcHost = p->srcPtr.ptr;
    out->srcDevice = dev(p->srcPtr.ptr);
    out->srcPitch = p->srcPtr.pitch;
    out->srcHeight = p->srcPtr.ysize;
    out->dstXInBytes = p->dstPos.x;
    out->dstY = p->dstPos.y;
    out->dstZ = p->dstPos.z;
    out->dstMemoryType = type_of(p->kind, false);
    out->dstHost = p->dstPtr.ptr;
    out->dstDevice = dev(p->dstPtr.ptr);
    out->dstPitch = p->dstPtr.pitch;
    out->dstHeight = p->dstPtr.ysize;
    out->WidthInBytes = p->extent.width;
    out->Height = p->extent.height;
    out->Depth = p->extent.depth;
    return cudaSuccess;
}

static cudaError_t copy_box(const struct cudaMemcpy3DParms *p, bool now,
                            cudaStream_t stream)
{
    cudaError_t e = fgs__rt_enter();
    CUDA_MEMCPY3D c;

    if (!e)
        e = fgs__rt_note(fgs__rt_copy_3d(p, &c));
    if (e)
        return e;
    if (!c.WidthInBytes || !c.Height || !c.Depth)
        return cudaSuccess;
    if (now && !fgs__rt_self.per_thread)
        return fgs__rt_done(fgs__rt_cu.cuMemcpy3D(&c));
    e = fgs__rt_done(fgs__rt_cu.cuMemcpy3DAsync(&c, fgs__rt_stream(stream)));
    return now ? wait_here(e) : e;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return copy_box(p, true, NULL);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p,
                              cudaStream_t stream)
{
    return copy_box(p, false, stream);
}

static cudaError_t copy_rows(void *dst, size_t dpitch, const void *src,
                             size_t spitch, size_t width, size_t height,
                             enum cudaMemcpyKind kind, bool now,
                             cudaStream_t stream)
{
    struct cudaMemcpy3DParms p = {
        .srcPtr = { (void *)(uintptr_t)src, spitch, width, height },
        .dstPtr = { dst, dpitch, width, height },
        .extent = { width, height, 1 },
        .kind = kind
    };

    if (width > dpitch || width > spitch)
        return fgs__rt_note(cudaErrorInvalidPitchValue);
    return copy_box(&p, now, stream);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src,
                         size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind)
{
    return copy_rows(dst, dpitch, src, spitch, width, height, kind, true, NULL);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                              size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_rows(dst, dpitch, src, spitch, width, height, kind, false,
                     stream);
}

/* --------------------------------------------------------------- fills -- */

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    cudaError_t e = fgs__rt_enter();
    unsigned char v = (unsigned char)value;

    if (e || !count)
        return e;
    if (fgs__rt_self.per_thread)
        return wait_here(cudaMemsetAsync(devPtr, value, count, NULL));
    return fgs__rt_done(fgs__rt_cu.cuMemsetD8(dev(devPtr), v, count));
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                         size_t height)
{
    cudaError_t e = fgs__rt_enter();

    if (e || !width || !height)
        return e;
    if (fgs__rt_self.per_thread)
        return wait_here(
            cudaMemset2DAsync(devPtr, pitch, value, width, height, NULL));
    return fgs__rt_done(fgs__rt_cu.cuMemsetD2D8(
        dev(devPtr), pitch, (unsigned char)value, width, height));
}

/* A layer at a time: they need not lie behind each other. */
static cudaError_t fill_box(struct cudaPitchedPtr p, int value,
                            struct cudaExtent extent, bool now,
                            cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;

    for (size_t z = 0; z < extent.depth && !e; z++) {
        char *at = (char *)p.ptr + z * p.pitch * p.ysize;

        e = now ? cudaMemset2D(at, p.pitch, value, extent.width, extent.height)
                : cudaMemset2DAsync(at, p.pitch, value, extent.width,
                                    extent.height, stream);
    }
    return e;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                         struct cudaExtent extent)
{
    return fill_box(pitchedDevPtr, value, extent, true, NULL);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                              struct cudaExtent extent, cudaStream_t stream)
{
    return fill_box(pitchedDevPtr, value, extent, false, stream);
}
