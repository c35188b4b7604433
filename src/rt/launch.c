/* launch.c -- launches and kernels of the CUDA runtime */
#include "rt/register.h"

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim,
                                     size_t sharedMem, cudaStream_t stream)
{
    struct fgs__rt_thread *t = &fgs__rt_self;
    struct fgs__rt_config *c;

    if (t->depth == FGS__RT_DEPTH) {
        fgs__rt_note(cudaErrorMissingConfiguration);
        return 1; /* the program then does not launch */
    }
    c = &t->config[t->depth++];
    c->grid = gridDim;
    c->block = blockDim;
    c->shared = sharedMem;
    c->stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim,
                                       size_t *sharedMem, void *stream)
{
    struct fgs__rt_thread *t = &fgs__rt_self;
    const struct fgs__rt_config *c;

    if (!t->depth)
        return fgs__rt_note(cudaErrorMissingConfiguration);
    c = &t->config[--t->depth];
    *gridDim = c->grid;
    *blockDim = c->block;
    *sharedMem = c->shared;
    memcpy(stream, &c->stream, sizeof c->stream);
    return cudaSuccess;
}

static int limit(int number)
{
    int device, v;

    if (cudaGetDevice(&device) ||
        fgs__rt_cu.cuDeviceGetAttribute(&v, (CUdevice_attribute)number, device))
        return 0x7fffffff;
    return v;
}

/* The runtime has a word of its own for dimensions that no device has; to the
 * driver they are any wrong value. */
static cudaError_t why(CUresult r, const dim3 *g, const dim3 *b)
{
    const unsigned d[] = { (unsigned)limit(1), b->x, b->y, b->z,
                           g->x,               g->y, g->z };
    unsigned long long threads = 1ull * b->x * b->y * b->z;

    if (r != CUDA_ERROR_INVALID_VALUE)
        return (cudaError_t)r;
    for (int i = 1; i < 7; i++) { /* attributes 2 to 7 */
        if (!d[i] || d[i] > (unsigned)limit(i + 1))
            return cudaErrorInvalidConfiguration;
    }
    return threads > d[0] ? cudaErrorInvalidConfiguration : (cudaError_t)r;
}

static cudaError_t launch(const cudaLaunchConfig_t *c, CUfunction f,
                          void **args)
{
    CUlaunchConfig d = { c->gridDim.x,
                         c->gridDim.y,
                         c->gridDim.z,
                         c->blockDim.x,
                         c->blockDim.y,
                         c->blockDim.z,
                         (unsigned)c->dynamicSmemBytes,
                         fgs__rt_stream(c->stream),
                         (CUlaunchAttribute *)(void *)c->attrs,
                         c->numAttrs };

    if (c->dynamicSmemBytes > 0xffffffffu)
        return fgs__rt_note(cudaErrorInvalidValue);
    return fgs__rt_note(why(fgs__rt_cu.cuLaunchKernelEx(&d, f, args, NULL),
                            &c->gridDim, &c->blockDim));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                const void *func, void **args)
{
    CUfunction f;
    cudaError_t e = fgs__rt_function(func, &f);

    if (e)
        return e;
    if (!config)
        return fgs__rt_note(cudaErrorInvalidValue);
    return launch(config, f, args);
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim,
                             void **args, size_t sharedMem,
                             cudaStream_t stream)
{
    cudaLaunchConfig_t c = { gridDim, blockDim, sharedMem, stream, NULL, 0 };

    return cudaLaunchKernelExC(&c, func, args);
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim,
                                        dim3 blockDim, void **args,
                                        size_t sharedMem, cudaStream_t stream)
{
    cudaLaunchAttribute a;
    cudaLaunchConfig_t c = { gridDim, blockDim, sharedMem, stream, &a, 1 };

    memset(&a, 0, sizeof a);
    a.same.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    a.same.value.cooperative = 1;
    return cudaLaunchKernelExC(&c, func, args);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
    return fgs__rt_kernel(func, kernel);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim,
                               dim3 blockDim, void **args, size_t sharedMem,
                               cudaStream_t stream)
{
    return cudaLaunchKernel((const void *)kernel, gridDim, blockDim, args,
                            sharedMem, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim,
                                    dim3 blockDim, void **args,
                                    size_t sharedMem, cudaStream_t stream)
{
    cudaError_t e;

    fgs__rt_self.per_thread = true;
    e = __cudaLaunchKernel(kernel, gridDim, blockDim, args, sharedMem, stream);
    fgs__rt_self.per_thread = false;
    return e;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    return fgs__rt_kernel(entryFuncAddr, kernelPtr);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr,
                                const void *symbolPtr)
{
    return fgs__rt_function(symbolPtr, functionPtr);
}

/* ---------------------------------------------------------- attributes -- */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr,
                                  const void *func)
{
    CUfunction f;
    cudaError_t e = fgs__rt_function(func, &f);
    int v[16] = { 0 };

    if (e)
        return e;
    if (!attr)
        return fgs__rt_note(cudaErrorInvalidValue);
    for (unsigned i = 0; i < 16; i++) {
        if (fgs__rt_cu.cuFuncGetAttribute(&v[i], i, f))
            v[i] = 0; /* one that the driver does not know */
    }
    memset(attr, 0, sizeof *attr);
    attr->maxThreadsPerBlock = v[0]; /* CU_FUNC_ATTRIBUTE_* in their order */
    attr->sharedSizeBytes = (size_t)v[1];
    attr->constSizeBytes = (size_t)v[2];
    attr->localSizeBytes = (size_t)v[3];
    attr->numRegs = v[4];
    attr->ptxVersion = v[5];
    attr->binaryVersion = v[6];
    attr->cacheModeCA = v[7];
    attr->maxDynamicSharedSizeBytes = v[8];
    attr->preferredShmemCarveout = v[9];
    attr->clusterDimMustBeSet = v[10];
    attr->requiredClusterWidth = v[11];
    attr->requiredClusterHeight = v[12];
    attr->requiredClusterDepth = v[13];
    attr->nonPortableClusterSizeAllowed = v[14];
    attr->clusterSchedulingPolicyPreference = v[15];
    return cudaSuccess;
}

/* After a function was found: one call of the driver. */
#define WITH(func, f, call)                                                    \
    CUfunction f;                                                              \
    cudaError_t e_ = fgs__rt_function(func, &f);                               \
                                                                               \
    return e_ ? e_ : fgs__rt_done(fgs__rt_cu.call)

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr,
                                 int value)
{
    WITH(func, f, cuFuncSetAttribute(f, (CUfunction_attribute)attr, value));
}

cudaError_t cudaFuncSetCacheConfig(const void *func,
                                   enum cudaFuncCache cacheConfig)
{
    WITH(func, f, cuFuncSetCacheConfig(f, (CUfunc_cache)cacheConfig));
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    WITH(func, f, cuFuncGetName(name, f));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex,
                                 size_t *paramOffset, size_t *paramSize)
{
    WITH(func, f, cuFuncGetParamInfo(f, paramIndex, paramOffset, paramSize));
}

cudaError_t cudaFuncGetParamCount(const void *func, size_t *paramCount)
{
    WITH(func, f, cuFuncGetParamCount(f, paramCount));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize)
{
    WITH(func, f,
         cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, f, blockSize,
                                                     dynamicSMemSize));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize,
    unsigned int flags)
{
    WITH(func, f,
         cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
             numBlocks, f, blockSize, dynamicSMemSize, flags));
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                      const void *func,
                                                      int numBlocks,
                                                      int blockSize)
{
    WITH(func, f,
         cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, f, numBlocks,
                                                 blockSize));
}

static CUlaunchConfig for_driver(const cudaLaunchConfig_t *c)
{
    static const cudaLaunchConfig_t none;

    c = c ? c : &none;
    return (CUlaunchConfig){ c->gridDim.x,
                             c->gridDim.y,
                             c->gridDim.z,
                             c->blockDim.x,
                             c->blockDim.y,
                             c->blockDim.z,
                             (unsigned)c->dynamicSmemBytes,
                             c->stream,
                             (CUlaunchAttribute *)(void *)c->attrs,
                             c->numAttrs };
}

cudaError_t
cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                     const cudaLaunchConfig_t *launchConfig)
{
    CUlaunchConfig c = for_driver(launchConfig);

    WITH(func, f,
         cuOccupancyMaxPotentialClusterSize(clusterSize, f,
                                            launchConfig ? &c : NULL));
}

cudaError_t
cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                               const cudaLaunchConfig_t *launchConfig)
{
    CUlaunchConfig c = for_driver(launchConfig);

    WITH(func, f,
         cuOccupancyMaxActiveClusters(numClusters, f,
                                      launchConfig ? &c : NULL));
}
