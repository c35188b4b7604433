/* cu_vmm.c -- entry points: addresses, memory and mappings apart
 *
 * A reservation is a range that the host cannot touch, beside a second one of
 * the same size for the bytes; memory is an anonymous file, mapped there once
 * for each cuMemMap.  So neighbours in addresses are neighbours in bytes.
 */
#include "sim/device.h"
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULE = 2 << 20 };

struct reservation {
    struct reservation *next;
    char *space, *bytes;       /* both aligned                               */
    char *raw;                 /* what mmap gave for `space`                 */
    uint64_t raw_size, size;
};

struct memory {
    struct memory *next;
    uintptr_t handle;
    uint64_t size;
    uint32_t refs;             /* of the program: create, retain             */
    uint32_t maps;
    int fd;
    CUmemAllocationProp prop;
};

struct fgs__sim_vmm {
    struct reservation *reservations;
    struct memory *memories;
};

static struct fgs__sim_vmm *vmm_of(struct fgs__sim_device *dev)
{
    if (!dev->vmm)
        dev->vmm = fgs__zalloc(&dev->alloc, sizeof *dev->vmm);
    return dev->vmm;
}

static void free_reservation(struct fgs__sim_device *dev,
                             struct reservation *v)
{
    munmap(v->raw, v->raw_size);
    munmap(v->bytes, v->size);
    fgs__free(&dev->alloc, v);
}

static void drop_memory(struct fgs__sim_device *dev, struct memory *m)
{
    struct memory **at = &dev->vmm->memories;

    if (m->refs || m->maps)
        return;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    fgs__sim_mem_count(dev->mem, -(int64_t)m->size);
    close(m->fd);
    if (m->handle)
        fgs__sim_handle_free(&dev->handles, m->handle);
    fgs__free(&dev->alloc, m);
}

void fgs__sim_vmm_free(struct fgs__sim_device *dev)
{
    struct fgs__sim_vmm *v = dev->vmm;

    if (!v)
        return;
    while (v->reservations) {
        struct reservation *r = v->reservations;

        v->reservations = r->next;
        free_reservation(dev, r);
    }
    while (v->memories) {
        v->memories->refs = v->memories->maps = 0;
        drop_memory(dev, v->memories);
    }
    fgs__free(&dev->alloc, v);
    dev->vmm = NULL;
}

/* -------------------------------------------------------- reservations -- */

static char *hold(void *hint, uint64_t bytes)
{
    void *p = mmap(hint, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static CUresult reserve(struct fgs__sim_ctx *ctx, CUdeviceptr *ptr,
                        uint64_t size, uint64_t align, uint64_t hint)
{
    struct fgs__sim_vmm *vmm = vmm_of(ctx->dev);
    struct reservation *v =
        vmm ? fgs__zalloc(&ctx->dev->alloc, sizeof *v) : NULL;

    if (!v)
        return CUDA_ERROR_OUT_OF_MEMORY;
    v->size = size;
    v->raw_size = size + align;
    v->raw = hold((void *)(uintptr_t)hint, v->raw_size);
    v->bytes = hold(NULL, size);
    if (!v->raw || !v->bytes) {
        if (v->raw)
            munmap(v->raw, v->raw_size);
        if (v->bytes)
            munmap(v->bytes, size);
        fgs__free(&ctx->dev->alloc, v);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    v->space = v->raw + (-(uintptr_t)v->raw & (align - 1));
    v->next = vmm->reservations;
    vmm->reservations = v;
    *ptr = (uintptr_t)v->space;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size,
                                      size_t alignment, CUdeviceptr addr,
                                      unsigned long long flags)
{
    uint64_t align = alignment > GRANULE ? alignment : GRANULE;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    if (!ptr || !size || size % GRANULE || (align & (align - 1)) || flags)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (size > FGS__SIM_VMM_MOST || align > FGS__SIM_VMM_MOST)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    else
        r = reserve(ctx, ptr, size, align, addr);
    return fgs__sim_leave(r);
}

/* The reservation that holds [ptr, ptr + size). */
static struct reservation *reservation_of(struct fgs__sim_device *dev,
                                          uint64_t ptr, uint64_t size)
{
    struct reservation *v = dev->vmm ? dev->vmm->reservations : NULL;

    for (; v; v = v->next) {
        uint64_t at = ptr - (uintptr_t)v->space;

        if (at < v->size && size <= v->size - at)
            return v;
    }
    return NULL;
}

CUresult fgs__sim_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    struct fgs__sim_alloc_info info;
    struct reservation *v, **at;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    v = reservation_of(ctx->dev, ptr, size);
    if (!v || (uintptr_t)v->space != ptr || v->size != size)
        r = CUDA_ERROR_INVALID_VALUE;
    for (uint64_t a = ptr; !r && a < ptr + size; a += GRANULE) {
        if (fgs__sim_mem_info(ctx->dev->mem, a, &info))
            r = CUDA_ERROR_INVALID_VALUE; /* still mapped */
    }
    if (!r) {
        at = &ctx->dev->vmm->reservations;
        while (*at != v)
            at = &(*at)->next;
        *at = v->next;
        free_reservation(ctx->dev, v);
    }
    return fgs__sim_leave(r);
}

/* -------------------------------------------------------------- memory -- */

static CUresult check_prop(const CUmemAllocationProp *prop)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        prop->requestedHandleTypes)
        return CUDA_ERROR_NOT_SUPPORTED; /* device memory of one process */
    return prop->location.id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult create(struct fgs__sim_ctx *ctx, struct memory **out,
                       uint64_t size, const CUmemAllocationProp *prop)
{
    struct fgs__sim_device *dev = ctx->dev;
    struct fgs__sim_vmm *vmm = vmm_of(dev);
    struct memory *m = vmm ? fgs__zalloc(&dev->alloc, sizeof *m) : NULL;

    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!fgs__sim_mem_count(dev->mem, (int64_t)size))
        goto free_memory;
    m->fd = memfd_create("fgs-device-memory", MFD_CLOEXEC);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)size))
        goto close_file;
    m->handle = fgs__sim_handle_make(&dev->handles, &dev->alloc,
                                     FGS__SIM_KIND_VMM, m);
    if (!m->handle)
        goto close_file;
    m->size = size;
    m->refs = 1;
    m->prop = *prop;
    m->next = vmm->memories;
    vmm->memories = m;
    *out = m;
    return CUDA_SUCCESS;
close_file:
    if (m->fd >= 0)
        close(m->fd);
    fgs__sim_mem_count(dev->mem, -(int64_t)size);
free_memory:
    fgs__free(&dev->alloc, m);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fgs__sim_cuMemCreate(CUmemGenericAllocationHandle *handle,
                              size_t size, const CUmemAllocationProp *prop,
                              unsigned long long flags)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);
    struct memory *m;

    if (r)
        return r;
    r = handle && size && size % GRANULE == 0 && !flags &&
            size <= FGS__SIM_VMM_MOST
        ? check_prop(prop)
        : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = create(ctx, &m, size, prop);
    if (!r)
        *handle = m->handle;
    return fgs__sim_leave(r);
}

static struct memory *memory_of(struct fgs__sim_device *dev,
                                CUmemGenericAllocationHandle handle)
{
    struct memory *m = fgs__sim_handle_get(&dev->handles, FGS__SIM_KIND_VMM,
                                           (void *)(uintptr_t)handle);

    return m && m->refs ? m : NULL;
}

/* What is mapped stays until it is unmapped. */
CUresult fgs__sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct memory *m;

    if (r)
        return r;
    m = memory_of(ctx->dev, handle);
    if (m) {
        m->refs--;
        drop_memory(ctx->dev, m);
    } else {
        r = CUDA_ERROR_INVALID_VALUE;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemRetainAllocationHandle(
    CUmemGenericAllocationHandle *handle, void *addr)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct memory *m;

    if (r)
        return r;
    if (!handle ||
        !fgs__sim_mem_info(ctx->dev->mem, (uintptr_t)addr, &info) ||
        info.kind != FGS__SIM_MEM_MAPPED) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        m = info.vmm;
        m->refs++;
        *handle = m->handle;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemGetAllocationGranularity(
    size_t *granularity, const CUmemAllocationProp *prop,
    CUmemAllocationGranularity_flags option)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = granularity && option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
        ? check_prop(prop)
        : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *granularity = GRANULE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct memory *m;

    if (r)
        return r;
    m = memory_of(ctx->dev, handle);
    if (!prop || !m)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *prop = m->prop;
    return fgs__sim_leave(r);
}

/* ------------------------------------------------------------ mappings -- */

static CUresult map(struct fgs__sim_device *dev, uint64_t ptr, uint64_t size,
                    struct memory *m)
{
    struct reservation *v = reservation_of(dev, ptr, size);
    struct fgs__sim_alloc_info info = { .kind = FGS__SIM_MEM_MAPPED,
                                        .vmm = m };
    char *at;
    CUresult r;

    if (!v)
        return CUDA_ERROR_INVALID_VALUE;
    at = v->bytes + (ptr - (uintptr_t)v->space);
    info.range = (struct fgs__sim_range){ ptr, ptr + size, at };
    r = fgs__sim_mem_map(dev->mem, &info);
    if (r)
        return r;
    if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd,
             0) == MAP_FAILED) {
        fgs__sim_mem_unmap(dev->mem, ptr, ptr + size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->maps++;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                           CUmemGenericAllocationHandle handle,
                           unsigned long long flags)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct memory *m;

    if (r)
        return r;
    m = memory_of(ctx->dev, handle);
    /* The driver takes whole allocations from their begin only. */
    if (!m || offset || flags || size != m->size || ptr % GRANULE)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = map(ctx->dev, ptr, size, m);
    return fgs__sim_leave(r);
}

/* CUDA_SUCCESS when [ptr, ptr + size) is covered by whole mappings. */
static CUresult covered(struct fgs__sim_device *dev, uint64_t ptr,
                        uint64_t size)
{
    struct fgs__sim_alloc_info info;

    for (uint64_t a = ptr; a < ptr + size; a = info.range.hi) {
        if (!fgs__sim_mem_info(dev->mem, a, &info) ||
            info.kind != FGS__SIM_MEM_MAPPED || info.range.lo != a ||
            info.range.hi > ptr + size)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void unmap(struct fgs__sim_device *dev, uint64_t ptr, uint64_t size)
{
    struct fgs__sim_alloc_info info;

    for (uint64_t a = ptr; a < ptr + size; a = info.range.hi) {
        struct memory *m;
        uint64_t n;

        fgs__sim_mem_info(dev->mem, a, &info);
        m = info.vmm;
        n = info.range.hi - info.range.lo;
        fgs__sim_mem_unmap(dev->mem, a, info.range.hi);
        mmap(info.range.host, n, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        m->maps--;
        drop_memory(dev, m);
    }
}

/* Waits for the context's work, as a free does. */
CUresult fgs__sim_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = covered(ctx->dev, ptr, size);
    if (r)
        goto leave;
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    if (!r) {
        fgs__sim_pause(ctx->dev);
        r = covered(ctx->dev, ptr, size); /* somebody may have been faster */
        if (!r)
            unmap(ctx->dev, ptr, size);
        fgs__sim_resume(ctx->dev);
    }
    fgs__sim_ctx_unuse(ctx);
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemSetAccess(CUdeviceptr ptr, size_t size,
                                 const CUmemAccessDesc *desc, size_t count)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = desc && count ? covered(ctx->dev, ptr, size)
                      : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) {
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            r = CUDA_ERROR_INVALID_VALUE;
        else if (desc[i].location.id)
            r = CUDA_ERROR_INVALID_DEVICE;
        else if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            r = CUDA_ERROR_NOT_SUPPORTED; /* stores are not checked for it */
        else if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
                 desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            r = CUDA_ERROR_INVALID_VALUE;
    }
    if (!r)
        fgs__sim_mem_access(ctx->dev->mem, ptr, ptr + size,
                            desc[count - 1].flags !=
                                CU_MEM_ACCESS_FLAGS_PROT_NONE);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemGetAccess(unsigned long long *flags,
                                 const CUmemLocation *location,
                                 CUdeviceptr ptr)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!flags || !location ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !fgs__sim_mem_info(ctx->dev->mem, ptr, &info) ||
        info.kind != FGS__SIM_MEM_MAPPED)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (location->id)
        r = CUDA_ERROR_INVALID_DEVICE;
    else
        *flags = info.access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                             : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return fgs__sim_leave(r);
}
