/* cu_launch_old.c -- entry points: launches as before CUDA 4.0
 *
 * Block shape, dynamic shared memory and parameters are set in the function,
 * one call each, and stay there for the next launch.
 */
#include "sim/device.h"

static CUresult enter(struct fgs__sim_ctx **ctx, CUfunction func,
                      struct fgs__sim_func **f)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    *f = fgs__sim_func_of(*ctx, func);
    return *f ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult fgs__sim_cuFuncSetBlockShape(CUfunction func, int x, int y, int z)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, func, &f);

    if (r)
        return r;
    if (x <= 0 || y <= 0 || z <= 0)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    f->old.block[0] = (uint32_t)x;
    f->old.block[1] = (uint32_t)y;
    f->old.block[2] = (uint32_t)z;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuFuncSetSharedSize(CUfunction func, unsigned int bytes)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, func, &f);

    if (r)
        return r;
    f->old.shared = bytes;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* The block of parameters has the kernel's own size; what is set is inside. */
CUresult fgs__sim_cuParamSetSize(CUfunction func, unsigned int numbytes)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, func, &f);

    if (r)
        return r;
    return fgs__sim_leave(numbytes > f->code->param_bytes
                              ? CUDA_ERROR_INVALID_VALUE
                              : CUDA_SUCCESS);
}

CUresult fgs__sim_cuParamSetv(CUfunction func, int offset, void *ptr,
                              unsigned int numbytes)
{
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, func, &f);

    if (r)
        return r;
    if (!ptr || offset < 0 || (uint32_t)offset > f->code->param_bytes ||
        numbytes > f->code->param_bytes - (uint32_t)offset)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    if (!f->old.params)
        f->old.params = fgs__zalloc(&ctx->dev->alloc,
                                    f->code->param_bytes + 16);
    if (!f->old.params)
        return fgs__sim_leave(CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(f->old.params + offset, ptr, numbytes);
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuParamSeti(CUfunction func, int offset, unsigned int value)
{
    return fgs__sim_cuParamSetv(func, offset, &value, sizeof value);
}

CUresult fgs__sim_cuParamSetf(CUfunction func, int offset, float value)
{
    return fgs__sim_cuParamSetv(func, offset, &value, sizeof value);
}

/* Other threads may set parameters meanwhile: the launch has a copy. */
CUresult fgs__sim_cuLaunchGridAsync(CUfunction func, int width, int height,
                                    CUstream stream)
{
    unsigned char params[4352]; /* more than any kernel has (ISA 9.4: 4352)  */
    size_t bytes;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER_, params,
                      CU_LAUNCH_PARAM_BUFFER_SIZE_, &bytes,
                      CU_LAUNCH_PARAM_END_ };
    uint32_t block[3], shared;
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, func, &f);

    if (r)
        return r;
    bytes = f->code->param_bytes;
    memcpy(block, f->old.block, sizeof block);
    shared = f->old.shared;
    if (width <= 0 || height <= 0 || !block[0] || bytes > sizeof params ||
        (bytes && !f->old.params))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (bytes)
        memcpy(params, f->old.params, bytes);
    fgs__sim_leave(r);
    return r ? r
             : fgs__sim_cuLaunchKernel(func, (unsigned int)width,
                                       (unsigned int)height, 1, block[0],
                                       block[1], block[2], shared, stream,
                                       NULL, extra);
}

CUresult fgs__sim_cuLaunchGrid(CUfunction func, int width, int height)
{
    return fgs__sim_cuLaunchGridAsync(func, width, height, NULL);
}

CUresult fgs__sim_cuLaunch(CUfunction func)
{
    return fgs__sim_cuLaunchGridAsync(func, 1, 1, NULL);
}
