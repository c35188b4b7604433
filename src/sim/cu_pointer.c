/* cu_pointer.c -- entry points: what a pointer is, advice about its memory */
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

/* ------------------------------------------------------ managed memory -- */

static CUresult check_managed(struct fgs__sim_ctx *ctx, uint64_t ptr,
                              uint64_t count)
{
    struct fgs__sim_alloc_info info;

    if (!count || !fgs__sim_mem_info(ctx->dev->mem, ptr, &info) ||
        info.kind != FGS__SIM_MEM_MANAGED || count > info.range.hi - ptr)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Advice and prefetches move pages on a GPU; here there is one memory. */
CUresult fgs__sim_cuMemAdvise(CUdeviceptr ptr, size_t count,
                              CUmem_advise advice, CUdevice device)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = check_managed(ctx, ptr, count);
    if (!r && (advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
               advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && device != 0 && device != -1 /* the host */)
        r = CUDA_ERROR_INVALID_DEVICE;
    return fgs__sim_leave(r);
}

static CUresult device_of(const CUmemLocation *at, CUdevice *out)
{
    *out = at->type == CU_MEM_LOCATION_TYPE_DEVICE ? at->id : -1;
    return at->type == CU_MEM_LOCATION_TYPE_DEVICE ||
            at->type == CU_MEM_LOCATION_TYPE_HOST
        ? CUDA_SUCCESS
        : CUDA_ERROR_INVALID_VALUE;
}

CUresult fgs__sim_cuMemAdvise_v2(CUdeviceptr ptr, size_t count,
                                 CUmem_advise advice, CUmemLocation location)
{
    CUdevice device;
    CUresult r = device_of(&location, &device);

    return r ? r : fgs__sim_cuMemAdvise(ptr, count, advice, device);
}

CUresult fgs__sim_cuMemPrefetchAsync(CUdeviceptr ptr, size_t count,
                                     CUdevice device, CUstream stream)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && fgs__sim_captured(s))
        r = fgs__sim_capture_refuse(s);
    if (!r)
        r = check_managed(ctx, ptr, count);
    if (!r && device != 0 && device != -1)
        r = CUDA_ERROR_INVALID_DEVICE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t count,
                                        CUmemLocation location,
                                        unsigned int flags, CUstream stream)
{
    CUdevice device;
    CUresult r = device_of(&location, &device);

    if (!r && flags)
        r = CUDA_ERROR_INVALID_VALUE;
    return r ? r : fgs__sim_cuMemPrefetchAsync(ptr, count, device, stream);
}

/* Many ranges at once, each place for those from its index on.  A batch is
 * not captured, and spoils the capture. */
struct ranges {
    const CUdeviceptr *ptr;
    const size_t *bytes;
    size_t count;
    const CUmemLocation *loc;
    const size_t *idx;
    size_t locs;
    unsigned long long flags;
};

static CUresult check_places(const struct ranges *q)
{
    CUdevice device;
    CUresult r;

    if (!q->loc || !q->idx || !q->locs || q->locs > q->count || q->idx[0])
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < q->locs; k++) {
        r = device_of(&q->loc[k], &device);
        if (r || device > 0 || q->idx[k] >= q->count ||
            (k && q->idx[k] <= q->idx[k - 1]))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult enter_ranges(struct fgs__sim_ctx **ctx, CUstream stream,
                             const struct ranges *q, bool places,
                             struct fgs__sim_stream **s)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(*ctx, stream, s);
    if (!r && (*s == (*ctx)->legacy || q->flags || !q->count || !q->ptr ||
               !q->bytes))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && fgs__sim_captured(*s))
        r = fgs__sim_capture_refuse(*s);
    if (!r && places)
        r = check_places(q);
    for (size_t i = 0; !r && i < q->count; i++)
        r = check_managed(*ctx, q->ptr[i], q->bytes[i]);
    return r ? fgs__sim_leave(r) : r;
}

/* A discarded range reads as anything: here as one byte that the seed draws.
 * All of a batch or nothing of it. */
static CUresult discard(struct fgs__sim_stream *s, const struct ranges *q)
{
    struct fgs__sim_device *dev = s->ctx->dev;
    uint64_t seed = dev->cfg.seed ^ ++dev->next_grid << 32;
    struct fgs__sim_op *list = NULL, *op;
    CUresult r = CUDA_SUCCESS;

    for (size_t i = q->count; !r && i-- > 0;) {
        op = fgs__sim_op_make(s, FGS__SIM_OP_FILL);
        if (!op) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        op->u.fill.va = q->ptr[i];
        op->u.fill.count = q->bytes[i];
        op->u.fill.rows = op->u.fill.width = 1;
        op->u.fill.value = fgs__sim_random(&seed) & 0xff;
        op->next = list;
        list = op;
    }
    while (list) {
        op = list;
        list = op->next;
        op->next = NULL;
        if (r)
            fgs__sim_op_free(op);
        else
            fgs__sim_op_enqueue(op);
    }
    return r;
}

CUresult fgs__sim_cuMemPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *bytes,
                                          size_t count, CUmemLocation *locs,
                                          size_t *idxs, size_t nlocs,
                                          unsigned long long flags,
                                          CUstream stream)
{
    struct ranges q = { ptrs, bytes, count, locs, idxs, nlocs, flags };
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_ranges(&ctx, stream, &q, true, &s);

    return r ? r : fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *bytes,
                                         size_t count,
                                         unsigned long long flags,
                                         CUstream stream)
{
    struct ranges q = { ptrs, bytes, count, NULL, NULL, 0, flags };
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_ranges(&ctx, stream, &q, false, &s);

    return r ? r : fgs__sim_leave(discard(s, &q));
}

CUresult fgs__sim_cuMemDiscardAndPrefetchBatchAsync(
    CUdeviceptr *ptrs, size_t *bytes, size_t count, CUmemLocation *locs,
    size_t *idxs, size_t nlocs, unsigned long long flags, CUstream stream)
{
    struct ranges q = { ptrs, bytes, count, locs, idxs, nlocs, flags };
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_ranges(&ctx, stream, &q, true, &s);

    return r ? r : fgs__sim_leave(discard(s, &q));
}

/* No advice has an effect, so none is remembered: -2 says "nowhere". */
CUresult fgs__sim_cuMemRangeGetAttribute(void *data, size_t size,
                                         CUmem_range_attribute attribute,
                                         CUdeviceptr ptr, size_t count)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    int none = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0 : -2;

    if (r)
        return r;
    r = check_managed(ctx, ptr, count);
    if (!r && (!data || !size || size % sizeof none || !attribute ||
               attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION))
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < size; i += sizeof none)
        memcpy((char *)data + i, &none, sizeof none);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemRangeGetAttributes(void **data, size_t *sizes_of,
                                          CUmem_range_attribute *attributes,
                                          size_t n, CUdeviceptr ptr,
                                          size_t count)
{
    CUresult r = data && sizes_of && attributes && n
        ? CUDA_SUCCESS
        : CUDA_ERROR_INVALID_VALUE;

    for (size_t i = 0; !r && i < n; i++)
        r = fgs__sim_cuMemRangeGetAttribute(data[i], sizes_of[i],
                                            attributes[i], ptr, count);
    return r;
}
