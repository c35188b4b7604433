/* memory.c -- memory and symbols of the CUDA runtime */
#include "rt/rt.h"

static CUdeviceptr dev(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    cudaError_t e = fgs__rt_enter();
    CUdeviceptr p = 0;

    if (e)
        return e;
    if (!devPtr)
        return fgs__rt_note(cudaErrorInvalidValue);
    *devPtr = NULL;
    if (!size)
        return cudaSuccess; /* the driver has no empty memory */
    e = fgs__rt_done(fgs__rt_cu.cuMemAlloc(&p, size));
    if (!e)
        *devPtr = (void *)(uintptr_t)p;
    return e;
}

/* NULL is free, and programs call it so to make a context. */
cudaError_t cudaFree(void *devPtr)
{
    cudaError_t e = fgs__rt_enter();

    if (e || !devPtr)
        return e;
    return fgs__rt_done(fgs__rt_cu.cuMemFree(dev(devPtr)));
}

cudaError_t cudaFreeHost(void *ptr)
{
    cudaError_t e = fgs__rt_enter();

    if (e || !ptr)
        return e;
    return fgs__rt_done(fgs__rt_cu.cuMemFreeHost(ptr));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width,
                            size_t height)
{
    cudaError_t e = fgs__rt_enter();
    CUdeviceptr p = 0;

    if (e)
        return e;
    if (!devPtr || !pitch)
        return fgs__rt_note(cudaErrorInvalidValue);
    *devPtr = NULL;
    *pitch = 0;
    if (!width || !height)
        return cudaSuccess;
    e = fgs__rt_done(fgs__rt_cu.cuMemAllocPitch(&p, pitch, width, height, 16));
    if (!e)
        *devPtr = (void *)(uintptr_t)p;
    return e;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr,
                         struct cudaExtent extent)
{
    cudaError_t e;

    if (!pitchedDevPtr ||
        (extent.depth && extent.height > SIZE_MAX / extent.depth))
        return fgs__rt_note(cudaErrorInvalidValue);
    e = cudaMallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch,
                        extent.width, extent.height * extent.depth);
    pitchedDevPtr->xsize = extent.width;
    pitchedDevPtr->ysize = extent.height;
    return e;
}

static unsigned number_of(const void *ptr, CUpointer_attribute attr)
{
    unsigned v = 0;

    return fgs__rt_cu.cuPointerGetAttribute(&v, attr, dev(ptr)) ? 0 : v;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *ptr)
{
    cudaError_t e = fgs__rt_enter();
    CUdeviceptr p = 0;
    void *host = NULL;
    unsigned type;

    if (e)
        return e;
    if (!attributes)
        return fgs__rt_note(cudaErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes);
    type = number_of(ptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    if (!type) { /* the driver knows nothing of it */
        attributes->device = -2; /* cudaInvalidDeviceId */
        attributes->hostPointer = (void *)(uintptr_t)ptr;
        return cudaSuccess;
    }
    attributes->type = (enum cudaMemoryType)type;
    if (number_of(ptr, CU_POINTER_ATTRIBUTE_IS_MANAGED) & 0xff)
        attributes->type = cudaMemoryTypeManaged;
    attributes->device =
        (int)number_of(ptr, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    if (!fgs__rt_cu.cuPointerGetAttribute(
            &p, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, dev(ptr)))
        attributes->devicePointer = (void *)(uintptr_t)p;
    if (!fgs__rt_cu.cuPointerGetAttribute(
            &host, CU_POINTER_ATTRIBUTE_HOST_POINTER, dev(ptr)))
        attributes->hostPointer = host;
    return cudaSuccess;
}

/* ------------------------------------------------------------- symbols -- */

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    CUdeviceptr at;
    size_t size;
    cudaError_t e = fgs__rt_symbol(symbol, &at, &size);

    if (e)
        return e;
    if (!devPtr)
        return fgs__rt_note(cudaErrorInvalidValue);
    *devPtr = (void *)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr at;
    size_t bytes;
    cudaError_t e = fgs__rt_symbol(symbol, &at, &bytes);

    if (e)
        return e;
    if (!size)
        return fgs__rt_note(cudaErrorInvalidValue);
    *size = bytes;
    return cudaSuccess;
}

/* Where `count` bytes at `offset` of a symbol are. */
static cudaError_t inside(const void *symbol, size_t count, size_t offset,
                          void **out)
{
    CUdeviceptr at;
    size_t size;
    cudaError_t e = fgs__rt_symbol(symbol, &at, &size);

    if (e)
        return e;
    if (offset > size || count > size - offset)
        return fgs__rt_note(cudaErrorInvalidValue);
    *out = (void *)(uintptr_t)(at + offset);
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src,
                               size_t count, size_t offset,
                               enum cudaMemcpyKind kind)
{
    void *at = NULL;
    cudaError_t e = inside(symbol, count, offset, &at);

    return e ? e : cudaMemcpy(at, src, count, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count,
                                 size_t offset, enum cudaMemcpyKind kind)
{
    void *at = NULL;
    cudaError_t e = inside(symbol, count, offset, &at);

    return e ? e : cudaMemcpy(dst, at, count, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src,
                                    size_t count, size_t offset,
                                    enum cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    void *at = NULL;
    cudaError_t e = inside(symbol, count, offset, &at);

    return e ? e : cudaMemcpyAsync(at, src, count, kind, stream);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol,
                                      size_t count, size_t offset,
                                      enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    void *at = NULL;
    cudaError_t e = inside(symbol, count, offset, &at);

    return e ? e : cudaMemcpyAsync(dst, at, count, kind, stream);
}
