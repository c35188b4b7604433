/* cu_context.c -- entry points: limits and settings of a context */
#include "sim/device.h"

/* The driver's defaults.  Only the stack is modelled (as a bound of what a
 * kernel may use); the others are kept and given back. */
static const size_t limits[FGS__SIM_LIMITS] = {
    [CU_LIMIT_STACK_SIZE] = 1024,
    [CU_LIMIT_PRINTF_FIFO_SIZE] = 1u << 20,
    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8u << 20,
    [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
    [CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0,
};

void fgs__sim_ctx_settings(struct fgs__sim_ctx *ctx, unsigned int flags)
{
    ctx->flags = flags;
    ctx->id = ++fgs__sim_driver.ctx_ids;
    memcpy(ctx->limit, limits, sizeof limits);
    ctx->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
}

/* Device runtime, shared memory of NVSHMEM, CIG: not there. */
static CUresult known_limit(CUlimit limit)
{
    if (limit >= FGS__SIM_LIMITS)
        return CUDA_ERROR_INVALID_VALUE;
    return limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH ||
            limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE
        ? CUDA_ERROR_UNSUPPORTED_LIMIT
        : CUDA_SUCCESS;
}

CUresult fgs__sim_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = pvalue ? known_limit(limit) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *pvalue = ctx->limit[limit];
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    r = known_limit(limit);
    if (!r && limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128)
        r = CUDA_ERROR_INVALID_VALUE;
    /* No cache is modelled: nothing of it can be set aside. */
    if (!r && limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        value = 0;
    if (!r && limit == CU_LIMIT_STACK_SIZE && value > FGS__SIM_MAX_STACK)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        ctx->limit[limit] = value;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (pconfig)
        *pconfig = ctx->cache_config;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* A preference; the split of an SM's memory is not modelled. */
CUresult fgs__sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    if (config <= CU_FUNC_CACHE_PREFER_EQUAL)
        ctx->cache_config = config;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (pConfig)
        *pConfig = ctx->shared_config;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* Banks of four bytes are what this device has; setting others is without
 * effect, as it is on every GPU since compute capability 5.0. */
CUresult fgs__sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetStreamPriorityRange(int *leastPriority,
                                              int *greatestPriority)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (leastPriority)
        *leastPriority = FGS__SIM_PRIORITY_LEAST;
    if (greatestPriority)
        *greatestPriority = FGS__SIM_PRIORITY_GREATEST;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxResetPersistingL2Cache(void)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    return r ? r : fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity,
                                       CUexecAffinityType type)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!pExecAffinity || type)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return fgs__sim_leave(r);
}

/* -------------------------------------------------------- what it is -- */

/* The context of a handle, the current one for NULL. */
static CUresult context_of(struct fgs__sim_ctx *current, CUcontext handle,
                           struct fgs__sim_ctx **out)
{
    *out = handle ? fgs__sim_handle_get(&current->dev->handles,
                                        FGS__SIM_KIND_CTX, handle)
                  : current;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult fgs__sim_cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
    struct fgs__sim_ctx *ctx, *of;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    r = context_of(ctx, handle, &of);
    if (!r && !version)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *version = 3020; /* 64-bit pointers; there was none after it */
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetId(CUcontext handle, unsigned long long *ctxId)
{
    struct fgs__sim_ctx *ctx, *of;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    r = context_of(ctx, handle, &of);
    if (!r && !ctxId)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *ctxId = of->id;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetFlags(unsigned int *flags)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    if (flags)
        *flags = ctx->flags;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_ctx_flags_check(unsigned int flags)
{
    unsigned int sched = flags & CU_CTX_SCHED_MASK;

    if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    if (sched != CU_CTX_SCHED_AUTO && sched != CU_CTX_SCHED_SPIN &&
        sched != CU_CTX_SCHED_YIELD && sched != CU_CTX_SCHED_BLOCKING_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuCtxSetFlags(unsigned int flags)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_ctx_flags_check(flags);
    if (!r)
        ctx->flags = flags;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    struct fgs__sim_ctx *ctx, *of;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = context_of(ctx, handle, &of);
    if (!r && !device)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *device = 0;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxSynchronize_v2(CUcontext handle)
{
    struct fgs__sim_ctx *ctx, *of;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = context_of(ctx, handle, &of);
    if (!r)
        r = fgs__sim_ctx_wait(of);
    return fgs__sim_leave(r);
}

/* There is no second device whose contexts could be peers. */
CUresult fgs__sim_cuCtxEnablePeerAccess(CUcontext peerContext,
                                        unsigned int Flags)
{
    struct fgs__sim_ctx *ctx, *of;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = context_of(ctx, peerContext, &of);
    if (!r && (!peerContext || of == ctx))
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r)
        r = Flags ? CUDA_ERROR_INVALID_VALUE
                  : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct fgs__sim_ctx *ctx, *of;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = context_of(ctx, peerContext, &of);
    if (!r)
        r = peerContext ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
                        : CUDA_ERROR_INVALID_CONTEXT;
    return fgs__sim_leave(r);
}
