/* cu_pointer.c -- entry points: what a pointer is */
#include "sim/device.h"

static CUcontext owner_of(const struct fgs__sim_alloc_info *info)
{
    const struct fgs__sim_ctx *ctx = info->owner;

    return ctx ? (CUcontext)ctx->handle : NULL;
}

static bool is_host(const struct fgs__sim_alloc_info *info)
{
    return info->kind == FGS__SIM_MEM_HOST ||
        info->kind == FGS__SIM_MEM_REGISTERED;
}

/* Memory that the host reaches at the same address. */
static bool on_both(const struct fgs__sim_alloc_info *info)
{
    return is_host(info) || info->kind == FGS__SIM_MEM_MANAGED;
}

static const uint8_t sizes[] = {
    [CU_POINTER_ATTRIBUTE_CONTEXT] = sizeof(CUcontext),
    [CU_POINTER_ATTRIBUTE_MEMORY_TYPE] = 4,
    [CU_POINTER_ATTRIBUTE_DEVICE_POINTER] = 8,
    [CU_POINTER_ATTRIBUTE_HOST_POINTER] = sizeof(void *),
    [CU_POINTER_ATTRIBUTE_SYNC_MEMOPS] = 4,
    [CU_POINTER_ATTRIBUTE_BUFFER_ID] = 8,
    [CU_POINTER_ATTRIBUTE_IS_MANAGED] = 4,
    [CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL] = 4,
    [CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE] = 4,
    [CU_POINTER_ATTRIBUTE_RANGE_START_ADDR] = 8,
    [CU_POINTER_ATTRIBUTE_RANGE_SIZE] = 8,
    [CU_POINTER_ATTRIBUTE_MAPPED] = 4,
    [CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES] = 8,
    [CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE] = 4,
    [CU_POINTER_ATTRIBUTE_ACCESS_FLAGS] = 4,
    [CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE] = 8,
    [CU_POINTER_ATTRIBUTE_MAPPING_SIZE] = 8,
    [CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR] = 8,
    [CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID] = 8,
    [CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE] = 4,
};

static CUresult value_of(uint64_t *v, CUpointer_attribute attrib,
                         const struct fgs__sim_alloc_info *info, uint64_t ptr)
{
    *v = 0;
    switch (attrib) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *v = (uintptr_t)owner_of(info);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *v = is_host(info) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *v = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!on_both(info))
            return CUDA_ERROR_INVALID_VALUE;
        *v = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *v = info->flags >> 31;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *v = info->id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *v = info->kind == FGS__SIM_MEM_MANAGED;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        break; /* device 0; nothing is shared with other processes */
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *v = info->range.lo;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *v = info->range.hi - info->range.lo;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *v = 1;
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *v = info->kind == FGS__SIM_MEM_MAPPED && !info->access
            ? CU_MEM_ACCESS_FLAGS_PROT_NONE
            : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *v = info->pool ? info->pool->handle : 0;
        break;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

static bool is_bool(CUpointer_attribute a)
{
    return a == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
        a == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
        a == CU_POINTER_ATTRIBUTE_MAPPED;
}

/* Little-endian, as every host is that this runs on: the low bytes. */
static CUresult answer(void *data, CUpointer_attribute attrib,
                       const struct fgs__sim_alloc_info *info, uint64_t ptr)
{
    uint64_t v;
    uint32_t word;
    CUresult r = value_of(&v, attrib, info, ptr);

    word = (uint32_t)v;
    if (r)
        return r;
    if (is_bool(attrib)) /* of a byte in some callers, of a word in others */
        *(unsigned char *)data = (unsigned char)v;
    else if (sizes[attrib] == 4)
        memcpy(data, &word, 4);
    else
        memcpy(data, &v, 8);
    return CUDA_SUCCESS;
}

/* Documented: zero, and -2 for the device. */
static void nothing(void *data, CUpointer_attribute a)
{
    const int nowhere = -2;

    if (a == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        memcpy(data, &nowhere, sizeof nowhere);
    else
        memset(data, 0, is_bool(a) ? 1 : sizes[a]);
}

CUresult fgs__sim_cuPointerGetAttribute(void *data, CUpointer_attribute attrib,
                                        CUdeviceptr ptr)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    if (!data || !attrib || !fgs__sim_mem_info(ctx->dev->mem, ptr, &info))
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = answer(data, attrib, &info, ptr);
    return fgs__sim_leave(r);
}

/* A pointer that no call made gives zeros, and no error. */
CUresult fgs__sim_cuPointerGetAttributes(unsigned int n,
                                         CUpointer_attribute *attributes,
                                         void **data, CUdeviceptr ptr)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);
    bool found;

    if (r)
        return r;
    if (!n || !attributes || !data)
        r = CUDA_ERROR_INVALID_VALUE;
    found = fgs__sim_mem_info(ctx->dev->mem, ptr, &info);
    for (unsigned int i = 0; !r && i < n; i++) {
        CUpointer_attribute a = attributes[i];

        if (!data[i] || !a || a >= sizeof sizes || !sizes[a])
            r = CUDA_ERROR_INVALID_VALUE;
        else if (!found || answer(data[i], a, &info, ptr))
            nothing(data[i], a);
    }
    return fgs__sim_leave(r);
}

/* SYNC_MEMOPS is the only one that can be set; all copies here keep it. */
CUresult fgs__sim_cuPointerSetAttribute(const void *value,
                                        CUpointer_attribute attribute,
                                        CUdeviceptr ptr)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
        !fgs__sim_mem_info(ctx->dev->mem, ptr, &info)) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        info.flags = (info.flags & 0x7fffffffu) |
            (*(const unsigned int *)value ? 0x80000000u : 0);
        fgs__sim_mem_tag(ctx->dev->mem, info.range.lo, &info);
    }
    return fgs__sim_leave(r);
}
