/* cu_pool.c -- entry points: memory in stream order, and its pools
 *
 * An allocation gets its address at the call, so the stream has nothing to
 * do; a free is an op of the stream.  Nothing is kept back for reuse, which
 * the pool's attributes allow but do not ask for.
 */
#include "sim/lease.h"

/* The default pool is there before any context; its handle is no object's. */
#define DEFAULT_POOL ((uintptr_t)0x70)

static struct fgs__sim_mempool *pool_of(CUmemoryPool handle)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;

    if ((uintptr_t)handle == DEFAULT_POOL) {
        if (!d->pool.handle) {
            d->pool = (struct fgs__sim_mempool){ .handle = DEFAULT_POOL,
                                                 .reuse = { 1, 1, 1 } };
        }
        return &d->pool;
    }
    return d->dev ? fgs__sim_handle_get(&d->dev->handles, FGS__SIM_KIND_POOL,
                                        handle)
                  : NULL;
}

static struct fgs__sim_mempool *current(void)
{
    struct fgs__sim_mempool *p = fgs__sim_driver.current_pool;

    return p && p->handle ? p : pool_of((CUmemoryPool)DEFAULT_POOL);
}

void fgs__sim_pools_free(struct fgs__sim_device *dev)
{
    struct fgs__sim_mempool *p, *next;

    for (p = dev->pools; p; p = next) {
        next = p->next;
        fgs__free(&dev->alloc, p);
    }
    dev->pools = NULL;
    fgs__sim_driver.current_pool = NULL;
    memset(&fgs__sim_driver.pool, 0, sizeof fgs__sim_driver.pool);
}

static CUresult alloc_from(CUdeviceptr *ptr, size_t bytes,
                           struct fgs__sim_mempool *pool,
                           struct fgs__sim_ctx *ctx, CUstream stream)
{
    struct fgs__sim_alloc_info tag = { .pool = pool };
    struct fgs__sim_range range = { 0, 0, NULL };
    struct fgs__sim_stream *s;
    CUresult r = fgs__sim_stream_get(ctx, stream, &s);

    if (r)
        return r;
    if (!ptr || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (fgs__sim_captured(s))
        return fgs__sim_capture_alloc(s, bytes, ptr);
    r = fgs__sim_capture_unsafe(ctx);
    if (r)
        return r;
    if (pool->max && bytes > pool->max - (pool->used < pool->max
                                              ? pool->used
                                              : pool->max))
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_POOL, ctx,
                           &range);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        /* Frees that wait in streams may make room. */
        ctx->users++;
        r = fgs__sim_ctx_wait(ctx);
        fgs__sim_ctx_unuse(ctx);
        if (!r)
            r = fgs__sim_mem_alloc(ctx->dev->mem, bytes, 1, FGS__SIM_MEM_POOL,
                                   ctx, &range);
    }
    if (r)
        return r;
    fgs__sim_mem_tag(ctx->dev->mem, range.lo, &tag);
    *ptr = range.lo;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes,
                                  CUstream stream)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    return r ? r
             : fgs__sim_leave(alloc_from(ptr, bytes, current(), ctx, stream));
}

CUresult fgs__sim_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes,
                                          CUmemoryPool pool, CUstream stream)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_mempool *p;

    if (r)
        return r;
    p = pool_of(pool);
    r = p ? alloc_from(ptr, bytes, p, ctx, stream) : CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* What a graph allocated and left. */
static CUresult free_lease(struct fgs__sim_stream *s, uint64_t ptr)
{
    struct fgs__sim_lease *l = fgs__sim_lease_at(s->ctx, ptr);
    struct fgs__sim_op *op;

    if (!l->booked)
        return CUDA_ERROR_INVALID_VALUE;
    op = fgs__sim_lease_op(s, l, false);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fgs__sim_lease_book(s->ctx, l, false);
    return fgs__sim_submit(op);
}

CUresult fgs__sim_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_op *op;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (r || !ptr)
        goto leave;
    /* A graph frees only what graphs allocate; the capture goes on. */
    if (fgs__sim_captured(s)) {
        r = fgs__sim_capture_free(s, ptr);
        goto leave;
    }
    r = CUDA_ERROR_INVALID_VALUE;
    if (!fgs__sim_mem_info(ctx->dev->mem, ptr, &info) ||
        info.range.lo != ptr || info.owner != ctx || info.going ||
        (info.kind != FGS__SIM_MEM_POOL && info.kind != FGS__SIM_MEM_DEVICE &&
         info.kind != FGS__SIM_MEM_GRAPH))
        goto leave;
    r = fgs__sim_capture_unsafe(ctx);
    if (r)
        goto leave;
    if (info.kind == FGS__SIM_MEM_GRAPH) {
        r = free_lease(s, ptr);
        goto leave;
    }
    r = CUDA_ERROR_OUT_OF_MEMORY;
    op = fgs__sim_op_make(s, FGS__SIM_OP_FREE);
    if (!op)
        goto leave;
    op->u.free_va = ptr;
    info.going = true;
    fgs__sim_mem_tag(ctx->dev->mem, ptr, &info);
    r = fgs__sim_submit(op);
leave:
    return fgs__sim_leave(r);
}

/* ---------------------------------------------------------------- pools -- */

CUresult fgs__sim_cuMemPoolCreate(CUmemoryPool *pool,
                                  const CUmemPoolProps *props)
{
    struct fgs__sim_mempool *p;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    r = fgs__sim_capture_unsafe(ctx);
    if (r)
        goto leave;
    /* Another device is no INVALID_DEVICE here (H200, driver 580). */
    if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        (props->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         props->location.id)) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    if (props->handleTypes ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        r = CUDA_ERROR_NOT_SUPPORTED; /* no other process, device memory */
        goto leave;
    }
    r = CUDA_ERROR_OUT_OF_MEMORY;
    p = fgs__zalloc(&ctx->dev->alloc, sizeof *p);
    if (!p)
        goto leave;
    p->handle = fgs__sim_handle_make(&ctx->dev->handles, &ctx->dev->alloc,
                                     FGS__SIM_KIND_POOL, p);
    if (!p->handle) {
        fgs__free(&ctx->dev->alloc, p);
        goto leave;
    }
    p->max = props->maxSize;
    p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
    p->next = ctx->dev->pools;
    ctx->dev->pools = p;
    *pool = (CUmemoryPool)p->handle;
    r = CUDA_SUCCESS;
leave:
    return fgs__sim_leave(r);
}

/* What was allocated from it stays; the device keeps the count. */
CUresult fgs__sim_cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_mempool *p;

    if (r)
        return r;
    p = pool_of(pool);
    if (!p || p == &fgs__sim_driver.pool) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else {
        fgs__sim_handle_free(&fgs__sim_driver.dev->handles, p->handle);
        p->handle = 0;
    }
    return fgs__sim_leave(r);
}

static bool is_reuse(CUmemPool_attribute attr)
{
    return attr >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
        attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

static CUresult set(struct fgs__sim_mempool *p, CUmemPool_attribute attr,
                    const void *value)
{
    uint64_t v;

    if (is_reuse(attr)) {
        memcpy(&p->reuse[attr - 1], value, sizeof(int));
        return CUDA_SUCCESS;
    }
    if (attr < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ||
        attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&v, value, sizeof v);
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        p->threshold = v;
        return CUDA_SUCCESS;
    }
    /* A high mark can only be put back to now. */
    if (v || (attr != CU_MEMPOOL_ATTR_USED_MEM_HIGH &&
              attr != CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH))
        return CUDA_ERROR_INVALID_VALUE;
    p->high = p->used;
    return CUDA_SUCCESS;
}

static CUresult get(const struct fgs__sim_mempool *p, CUmemPool_attribute attr,
                    void *value)
{
    uint64_t v;

    if (is_reuse(attr)) {
        memcpy(value, &p->reuse[attr - 1], sizeof(int));
        return CUDA_SUCCESS;
    }
    switch (attr) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        v = p->threshold;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: /* nothing is kept back */
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        v = p->used;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        v = p->high;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &v, sizeof v);
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuMemPoolSetAttribute(CUmemoryPool pool,
                                        CUmemPool_attribute attr, void *value)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_mempool *p;

    if (r)
        return r;
    p = pool_of(pool);
    r = p && value ? set(p, attr, value) : CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemPoolGetAttribute(CUmemoryPool pool,
                                        CUmemPool_attribute attr, void *value)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_mempool *p;

    if (r)
        return r;
    p = pool_of(pool);
    r = p && value ? get(p, attr, value) : CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* The one device always has access to its own pools. */
CUresult fgs__sim_cuMemPoolSetAccess(CUmemoryPool pool,
                                     const CUmemAccessDesc *map, size_t count)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (!pool_of(pool) || (count && !map))
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            r = CUDA_ERROR_INVALID_VALUE;
        else if (map[i].location.id)
            r = CUDA_ERROR_INVALID_DEVICE;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemPoolGetAccess(CUmemAccess_flags *flags,
                                     CUmemoryPool pool,
                                     CUmemLocation *location)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (!flags || !pool_of(pool) || !location ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (location->id)
        r = CUDA_ERROR_INVALID_DEVICE;
    else
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return fgs__sim_leave(r);
}

/* Nothing is kept back, so there is nothing to trim. */
CUresult fgs__sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    CUresult r = fgs__sim_enter_driver();

    (void)minBytesToKeep;
    if (r)
        return r;
    if (!pool_of(pool))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (fgs__sim_driver.dev)
        r = fgs__sim_captures_unsafe(fgs__sim_driver.dev);
    return fgs__sim_leave(r);
}

static CUresult give(CUmemoryPool *out, CUdevice dev, bool now)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (dev)
        r = CUDA_ERROR_INVALID_DEVICE;
    else if (!out)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *out = (CUmemoryPool)(now ? current()->handle : DEFAULT_POOL);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
    return give(out, dev, false);
}

CUresult fgs__sim_cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
    return give(out, dev, true);
}

/* Pools of managed memory and of the host's are the driver's to have; here
 * are pools of device memory.  What an H200 refuses as no place at all is
 * refused so. */
static CUresult place_check(const CUmemLocation *at, CUmemAllocationType type)
{
    bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;

    if (!at || (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) ||
        (at->type == CU_MEM_LOCATION_TYPE_NONE && !managed) ||
        (at->type == CU_MEM_LOCATION_TYPE_DEVICE && at->id) ||
        at->type > CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return CUDA_ERROR_INVALID_VALUE;
    return managed || at->type != CU_MEM_LOCATION_TYPE_DEVICE
        ? CUDA_ERROR_NOT_SUPPORTED
        : CUDA_SUCCESS;
}

CUresult fgs__sim_cuMemGetDefaultMemPool(CUmemoryPool *out,
                                         CUmemLocation *location,
                                         CUmemAllocationType type)
{
    CUresult r = out ? place_check(location, type) : CUDA_ERROR_INVALID_VALUE;

    return r ? r : give(out, 0, false);
}

CUresult fgs__sim_cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location,
                                  CUmemAllocationType type)
{
    CUresult r = out ? place_check(location, type) : CUDA_ERROR_INVALID_VALUE;

    return r ? r : give(out, 0, true);
}

/* No pool of ours has another place than the device. */
CUresult fgs__sim_cuMemSetMemPool(CUmemLocation *location,
                                  CUmemAllocationType type, CUmemoryPool pool)
{
    if (place_check(location, type))
        return CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_cuDeviceSetMemPool(0, pool);
}

CUresult fgs__sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_mempool *p;

    if (r)
        return r;
    p = pool_of(pool);
    if (dev)
        r = CUDA_ERROR_INVALID_DEVICE;
    else if (!p)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        fgs__sim_driver.current_pool = p;
    return fgs__sim_leave(r);
}
