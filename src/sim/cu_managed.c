/* cu_managed.c -- entry points: advice, prefetches, discarding */
#include "sim/advice.h"
#include "sim/device.h"

/* *at: the pages of the range, as far as they are the allocation's. */
static CUresult check_managed(struct fgs__sim_ctx *ctx, uint64_t ptr,
                              uint64_t count, struct fgs__sim_advised *at)
{
    struct fgs__sim_alloc_info info;

    if (!count || !fgs__sim_mem_info(ctx->dev->mem, ptr, &info) ||
        info.kind != FGS__SIM_MEM_MANAGED || count > info.range.hi - ptr)
        return CUDA_ERROR_INVALID_VALUE;
    *at = fgs__sim_unadvised;
    at->id = info.id;
    at->lo = ptr & ~(uint64_t)(FGS__SIM_ADVICE_PAGE - 1);
    if (at->lo < info.range.lo)
        at->lo = info.range.lo;
    at->hi = (ptr + count + FGS__SIM_ADVICE_PAGE - 1) &
        ~(uint64_t)(FGS__SIM_ADVICE_PAGE - 1);
    if (at->hi > info.range.hi)
        at->hi = info.range.hi;
    return CUDA_SUCCESS;
}

/* Advice and prefetches move pages on a GPU; here there is one memory, and they
 * are remembered for who asks. */
CUresult fgs__sim_cuMemAdvise(CUdeviceptr ptr, size_t count,
                              CUmem_advise advice, CUdevice device)
{
    struct fgs__sim_advised at;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = check_managed(ctx, ptr, count, &at);
    if (!r && (advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
               advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && device != 0 && device != -1 /* the host */)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (!r)
        r = fgs__sim_advice_room(ctx->dev, 1);
    if (!r)
        fgs__sim_advise(ctx->dev, &at, advice, device);
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
    struct fgs__sim_advised at;
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r)
        r = fgs__sim_uncaptured(s);
    if (!r)
        r = check_managed(ctx, ptr, count, &at);
    if (!r && device != 0 && device != -1)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (!r)
        r = fgs__sim_advice_room(ctx->dev, 1);
    if (!r)
        fgs__sim_advise(ctx->dev, &at, FGS__SIM_PREFETCHED, device);
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
    struct fgs__sim_advised at;
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(*ctx, stream, s);
    if (!r && (*s == (*ctx)->legacy || q->flags || !q->count || !q->ptr ||
               !q->bytes))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_uncaptured(*s);
    if (!r && places)
        r = check_places(q);
    for (size_t i = 0; !r && i < q->count; i++)
        r = check_managed(*ctx, q->ptr[i], q->bytes[i], &at);
    if (!r && places)
        r = fgs__sim_advice_room((*ctx)->dev, q->count);
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

/* The place that is listed for each range.  They were checked, and there is
 * room for them. */
static void prefetch(struct fgs__sim_ctx *ctx, const struct ranges *q)
{
    struct fgs__sim_advised at;
    CUdevice device = -1;

    for (size_t i = 0, k = 0; i < q->count; i++) {
        if (k < q->locs && q->idx[k] == i)
            device_of(&q->loc[k++], &device);
        if (!check_managed(ctx, q->ptr[i], q->bytes[i], &at))
            fgs__sim_advise(ctx->dev, &at, FGS__SIM_PREFETCHED, device);
    }
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

    if (r)
        return r;
    prefetch(ctx, &q);
    return fgs__sim_leave(r);
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

    if (r)
        return r;
    r = discard(s, &q);
    if (!r)
        prefetch(ctx, &q);
    return fgs__sim_leave(r);
}

static int type_of(int place)
{
    return place >= 0    ? CU_MEM_LOCATION_TYPE_DEVICE
        : place == -1    ? CU_MEM_LOCATION_TYPE_HOST
                         : CU_MEM_LOCATION_TYPE_NONE;
}

/* Devices and the host, as many as fit; -2 behind them. */
static void list_accessors(const struct fgs__sim_advised *a, int *out,
                           size_t n)
{
    static const int place[] = { 0, -1 };
    size_t k = 0;

    for (size_t i = 0; i < sizeof place / sizeof *place && k < n; i++)
        if (a->accessors & fgs__sim_accessor(place[i]))
            memcpy(&out[k++], &place[i], sizeof *out);
    for (const int none = FGS__SIM_NOWHERE; k < n; k++)
        memcpy(&out[k], &none, sizeof none);
}

/* cuda.h, cuMemRangeGetAttribute. */
CUresult fgs__sim_cuMemRangeGetAttribute(void *data, size_t size,
                                         CUmem_range_attribute attribute,
                                         CUdeviceptr ptr, size_t count)
{
    struct fgs__sim_advised at;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    bool list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    int value;

    if (r)
        return r;
    r = check_managed(ctx, ptr, count, &at);
    if (!r && (!data || !size || size % sizeof value || !attribute ||
               (!list && size != sizeof value) ||
               attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r)
        return fgs__sim_leave(r);
    fgs__sim_advice_of(ctx->dev, &at);
    if (list)
        list_accessors(&at, data, size / sizeof value);
    else
        switch (attribute) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
            value = at.read_mostly;
            break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
            value = type_of(at.preferred);
            break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
            value = type_of(at.prefetched);
            break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
            value = at.prefetched;
            break;
        default:
            value = at.preferred;
        }
    if (!list)
        memcpy(data, &value, sizeof value);
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
