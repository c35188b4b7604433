/* load.c -- each stage's function, loaded, and able to be launched as stated
 *
 * What the driver would say at the first launch it says here, so that a plan
 * never breaks off in the middle of a round for what was known before.
 */
#include "core/compose.h"

enum { /* of the driver API, for any device */
    GRID_X = 0x7fffffff, GRID_YZ = 65535,
    BLOCK_XY = 1024, BLOCK_Z = 64, BLOCK_THREADS = 1024
};

/* Lazy loading would load a kernel at its first launch and serialize there, or
 * fail in a capture (guide 4.6.5).  What the driver calls no function is a
 * CUkernel, which stands for one. */
static fgs_result load(struct fgs__plan *p, struct fgs__stage *s,
                       fgs_error *err)
{
    const struct fgs__cu *cu = &p->dev->cu;
    CUresult r;
    int bytes;

    if (s->role)
        return FGS_OK;
    r = cu->cuFuncLoad ? cu->cuFuncLoad(s->function)
                       : cu->cuFuncGetAttribute(
                             &bytes, CU_FUNC_ATTRIBUTE_BINARY_VERSION,
                             s->function);
    if (r == CUDA_ERROR_INVALID_HANDLE && cu->cuKernelGetFunction) {
        CUfunction f;

        r = cu->cuKernelGetFunction(&f, (CUkernel)(void *)s->function);
        if (r == CUDA_SUCCESS)
            s->function = f;
        if (r == CUDA_SUCCESS && cu->cuFuncLoad)
            r = cu->cuFuncLoad(f);
    }
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuFuncLoad", "the function of %s",
                            s->name);
}

/* A stage's stream is one of the plan's context. */
static fgs_result check_stream(struct fgs__plan *p, const struct fgs__stage *s,
                               fgs_error *err)
{
    CUcontext ctx = NULL;
    fgs_result result;
    CUresult r;

    if (!s->asked_stream)
        return FGS_OK;
    result = FGS__NEED(p->dev, err, FGS__CU_cuStreamGetCtx);
    if (result < 0)
        return result;
    r = p->dev->cu.cuStreamGetCtx(s->asked_stream, &ctx);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(p->dev, err, r, "cuStreamGetCtx",
                                "the stream of %s", s->name);
    if (ctx != p->dev->ctx)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s: its stream belongs to another context than the "
                         "plan's device",
                         s->name);
    return FGS_OK;
}

fgs_result fgs__plan_load(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS__NEED(p->dev, err, FGS__CU_cuFuncGetAttribute);

    for (uint32_t i = 0; r >= 0 && i < p->stages; i++) {
        r = check_stream(p, &p->stage[i], err);
        if (r >= 0)
            r = load(p, &p->stage[i], err);
    }
    return r;
}

/* ---------------------------------------------------------------- launch -- */

fgs_result fgs__stage_launch(const struct fgs__stage *s, fgs_error *err)
{
    if (s->grid[0] > GRID_X || s->grid[1] > GRID_YZ || s->grid[2] > GRID_YZ)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: a grid of %u x %u x %u blocks; %d x %d x %d at "
                         "most",
                         s->name, s->grid[0], s->grid[1], s->grid[2], GRID_X,
                         GRID_YZ, GRID_YZ);
    if (s->block[0] > BLOCK_XY || s->block[1] > BLOCK_XY ||
        s->block[2] > BLOCK_Z ||
        s->block[0] * s->block[1] * s->block[2] > BLOCK_THREADS)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: a block of %u x %u x %u threads; %d x %d x %d, "
                         "and %d in all, at most",
                         s->name, s->block[0], s->block[1], s->block[2],
                         BLOCK_XY, BLOCK_XY, BLOCK_Z, BLOCK_THREADS);
    for (int i = 0; i < 3; i++) {
        if (s->cluster[i] && s->grid[i] % s->cluster[i])
            return fgs__fail(err, FGS_E_SIZE,
                             "%s: a grid of %u blocks is no multiple of a "
                             "cluster of %u",
                             s->name, s->grid[i], s->cluster[i]);
    }
    return FGS_OK;
}

static uint32_t threads_of(const struct fgs__stage *s)
{
    return s->block[0] * s->block[1] * s->block[2];
}

/* What the function itself allows. */
static fgs_result check_function(struct fgs__plan *p,
                                 const struct fgs__stage *s, fgs_error *err)
{
    const struct fgs__cu *cu = &p->dev->cu;
    int threads = 0, shared = 0;
    CUresult r = cu->cuFuncGetAttribute(
        &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, s->function);

    if (r == CUDA_SUCCESS)
        r = cu->cuFuncGetAttribute(
            &shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            s->function);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(p->dev, err, r, "cuFuncGetAttribute",
                                "the function of %s", s->name);
    if (threads_of(s) > (unsigned)threads)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: a block of %u threads; its kernel runs with %d "
                         "at most",
                         s->name, threads_of(s), threads);
    if (s->shared > (unsigned)shared)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: a block with %u bytes of dynamic shared memory; "
                         "its function allows %d "
                         "(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)",
                         s->name, s->shared, shared);
    return FGS_OK;
}

/* One block, or cluster, has to fit on the device. */
static fgs_result check_fit(struct fgs__plan *p, const struct fgs__stage *s,
                            fgs_error *err)
{
    const struct fgs__cu *cu = &p->dev->cu;
    int n = 1;
    CUresult r = CUDA_SUCCESS;

    if (s->cluster[0] && cu->cuOccupancyMaxActiveClusters) {
        CUlaunchAttribute a = {
            .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            .value.clusterDim = { s->cluster[0], s->cluster[1], s->cluster[2] }
        };
        CUlaunchConfig c = s->config;

        c.attrs = &a;
        c.numAttrs = 1;
        c.hStream = NULL;
        r = cu->cuOccupancyMaxActiveClusters(&n, s->function, &c);
    } else if (cu->cuOccupancyMaxActiveBlocksPerMultiprocessor) {
        r = cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, s->function, (int)threads_of(s), s->shared);
    }
    if (r == CUDA_SUCCESS && n > 0)
        return FGS_OK;
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE &&
        r != CUDA_ERROR_INVALID_CLUSTER_SIZE)
        return fgs__device_fail(
            p->dev, err, r,
            s->cluster[0] ? "cuOccupancyMaxActiveClusters"
                          : "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            "%s", s->name);
    return fgs__fail(err, FGS_E_UNSUPPORTED,
                     "%s: the device has no room for a %s of %u threads and %u "
                     "bytes of dynamic shared memory a block%s%s",
                     s->name, s->cluster[0] ? "cluster of blocks" : "block",
                     threads_of(s), s->shared, r ? ": " : "",
                     r ? fgs__cu_error_name(cu, r) : "");
}

fgs_result fgs__plan_launchable(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < p->stages; i++) {
        r = check_function(p, &p->stage[i], err);
        if (r >= 0)
            r = check_fit(p, &p->stage[i], err);
    }
    return r;
}
