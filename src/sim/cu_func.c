/* cu_func.c -- entry points: what a function is, how much of it fits */
#include "sim/device.h"
#include <stdlib.h>

static CUresult func_of(struct fgs__sim_ctx **ctx, CUfunction handle,
                        struct fgs__sim_func **f)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    *f = fgs__sim_func_of(*ctx, handle);
    return *f ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
}

/* Modules are loaded as a whole. */
bool fgs__sim_lazy(void)
{
    const char *env = getenv("CUDA_MODULE_LOADING");

    return !env || strcmp(env, "EAGER");
}

CUresult fgs__sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = fgs__sim_lazy() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuFuncIsLoaded(CUfunctionLoadingState *state,
                                 CUfunction func)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = func_of(&ctx, func, &f);

    if (r)
        return r;
    if (state)
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return fgs__sim_leave(state ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuFuncGetName(const char **name, CUfunction func)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = func_of(&ctx, func, &f);

    if (r)
        return r;
    if (name)
        *name = f->func->name;
    return fgs__sim_leave(name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuFuncGetModule(CUmodule *module, CUfunction func)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = func_of(&ctx, func, &f);

    if (r)
        return r;
    if (module)
        *module = (CUmodule)f->module->handle;
    return fgs__sim_leave(module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_param_info(const struct fgs__ptx_func *f, size_t index,
                             size_t *offset, size_t *bytes)
{
    const struct fgs__ptx_sym *p = f->params;

    while (p && index--)
        p = p->next;
    if (!p || !offset)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = p->offset;
    if (bytes)
        *bytes = p->bytes;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuFuncGetParamInfo(CUfunction func, size_t paramIndex,
                                     size_t *paramOffset, size_t *paramSize)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r;

    if (!func)
        return CUDA_ERROR_INVALID_VALUE;
    r = func_of(&ctx, func, &f);
    if (r)
        return r;
    return fgs__sim_leave(fgs__sim_param_info(f->func, paramIndex,
                                              paramOffset, paramSize));
}

CUresult fgs__sim_cuFuncGetParamCount(CUfunction func, size_t *count)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = func_of(&ctx, func, &f);

    if (r)
        return r;
    if (count)
        *count = f->func->param_count;
    return fgs__sim_leave(count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* A preference; the split of an SM's memory is not modelled. */
CUresult fgs__sim_cuFuncSetCacheConfig(CUfunction func, CUfunc_cache config)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = func_of(&ctx, func, &f);

    if (r)
        return r;
    return fgs__sim_leave(config <= CU_FUNC_CACHE_PREFER_EQUAL
                              ? CUDA_SUCCESS
                              : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuFuncSetSharedMemConfig(CUfunction func,
                                           CUsharedconfig config)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = func_of(&ctx, func, &f);

    if (r)
        return r;
    return fgs__sim_leave(config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
                              ? CUDA_SUCCESS
                              : CUDA_ERROR_INVALID_VALUE);
}

/* ----------------------------------------------------------- occupancy -- */

CUresult fgs__sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction func, int block_size, size_t bytes,
    unsigned int flags)
{
    if (flags > 1) /* 1: no override of caching */
        return CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, func, block_size, bytes);
}

/* The most bytes with which so many blocks are resident still, within what
 * the function may ask for. */
CUresult fgs__sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes,
                                                          CUfunction func,
                                                          int blocks,
                                                          int block_size)
{
    int top, n = 0;
    size_t low = 0, high;
    CUresult r = fgs__sim_cuFuncGetAttribute(
        &top, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, func);

    if (!r)
        r = fgs__sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, func, block_size, 0);
    if (!r && (!bytes || blocks <= 0 || blocks > n))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r)
        return r;
    for (high = (size_t)top; low < high;) {
        size_t mid = high - (high - low) / 2;

        r = fgs__sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, func, block_size, mid);
        if (r)
            return r;
        if (n >= blocks)
            low = mid;
        else
            high = mid - 1;
    }
    *bytes = low;
    return CUDA_SUCCESS;
}

/* The size with most resident threads, the largest of equal ones. */
CUresult fgs__sim_cuOccupancyMaxPotentialBlockSize(
    int *grid, int *block, CUfunction func, CUoccupancyB2DSize shared_of,
    size_t bytes, int limit)
{
    int most = 0, best = 0, sms = 0, n, top;
    CUresult r = fgs__sim_cuFuncGetAttribute(
        &top, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func);

    if (r)
        return r;
    if (!grid || !block)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit > 0 && limit < top)
        top = limit;
    r = fgs__sim_cuDeviceGetAttribute(
        &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    *grid = *block = 0;
    for (int size = top; !r && size > 0;
         size = (size - 1) / 32 * 32) { /* then whole warps */
        r = fgs__sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, func, size, shared_of ? shared_of(size) : bytes);
        if (r || n * size <= most)
            continue;
        most = n * size;
        best = size;
        *grid = n * sms;
        *block = best;
    }
    return r;
}

CUresult fgs__sim_cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *grid, int *block, CUfunction func, CUoccupancyB2DSize shared_of,
    size_t bytes, int limit, unsigned int flags)
{
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_cuOccupancyMaxPotentialBlockSize(grid, block, func,
                                                     shared_of, bytes, limit);
}

CUresult fgs__sim_cuLaunchCooperativeKernel(
    CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
    CUstream stream, void **params)
{
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE };
    CUlaunchConfig c = { gx, gy, gz, bx, by, bz, shared, stream, &attr, 1 };

    attr.value.programmaticStreamSerializationAllowed = 1;
    return fgs__sim_cuLaunchKernelEx(&c, f, params, NULL);
}

/* ------------------------------------------------------------- streams -- */

static CUresult stream_of(struct fgs__sim_ctx **ctx, CUstream handle,
                          struct fgs__sim_stream **s)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(*ctx, handle, s);
    return r ? fgs__sim_leave(r) : CUDA_SUCCESS;
}

/* An H200 gives neither flags nor id of a stream that is captured, and spoils
 * the capture; its priority it gives. */
CUresult fgs__sim_cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = stream_of(&ctx, stream, &s);

    if (r)
        return r;
    r = flags ? fgs__sim_uncaptured(s) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *flags = s->flags;
    return fgs__sim_leave(r);
}

/* There is one priority. */
CUresult fgs__sim_cuStreamGetPriority(CUstream stream, int *priority)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = stream_of(&ctx, stream, &s);

    if (r)
        return r;
    if (priority)
        *priority = s->attr[FGS__SIM_ATTR_PRIORITY].value.priority;
    return fgs__sim_leave(priority ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuStreamGetId(CUstream stream, unsigned long long *id)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = stream_of(&ctx, stream, &s);

    if (r)
        return r;
    r = id ? fgs__sim_uncaptured(s) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *id = s->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = stream_of(&ctx, stream, &s);

    if (r)
        return r;
    if (device)
        *device = 0;
    return fgs__sim_leave(device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
