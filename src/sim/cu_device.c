/* cu_device.c -- entry points: start, device queries, error names */
#include "sim/device.h"
#include "table/table.h"

static void after_fork(void)
{
    /* The child has none of our threads; its copy of the lock may be taken. */
    fgs__sim_driver.forked = true;
    pthread_mutex_init(&fgs__sim_driver.lock, NULL);
}

CUresult fgs__sim_cuInit(unsigned int flags)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    CUresult r = CUDA_SUCCESS;

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (fgs__sim_in_hostfn())
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&d->lock);
    if (d->forked) {
        r = CUDA_ERROR_NOT_INITIALIZED;
        goto unlock;
    }
    if (!d->configured) {
        if (fgs_sim_config_get(&d->cfg, NULL)) {
            r = CUDA_ERROR_INVALID_VALUE; /* a FGS_SIM_* variable */
            goto unlock;
        }
        d->alloc = fgs__malloc;
        d->configured = true;
    }
    if (!d->inited && pthread_atfork(NULL, NULL, after_fork))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    else
        d->inited = true;
unlock:
    pthread_mutex_unlock(&d->lock);
    return r;
}

CUresult fgs__sim_cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = FGS__SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuGetErrorName(CUresult error, const char **str)
{
    if (!str)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)error) {
#define CURES(name, value, text)                                               \
    case value:                                                                \
        *str = #name;                                                          \
        return CUDA_SUCCESS;
#include "table/curesult.def"
#undef CURES
    default:
        *str = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult fgs__sim_cuGetErrorString(CUresult error, const char **str)
{
    if (!str)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)error) {
#define CURES(name, value, text)                                               \
    case value:                                                                \
        *str = text;                                                           \
        return CUDA_SUCCESS;
#include "table/curesult.def"
#undef CURES
    default:
        *str = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult fgs__sim_cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (!device)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (ordinal)
        r = CUDA_ERROR_INVALID_DEVICE;
    else
        *device = 0;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetCount(int *count)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (count)
        *count = 1;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (dev)
        r = CUDA_ERROR_INVALID_DEVICE;
    else if (!name || len <= 0)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        snprintf(name, (size_t)len, "fgsync software device");
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (dev)
        r = CUDA_ERROR_INVALID_DEVICE;
    else if (!bytes)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        *bytes = fgs__sim_driver.cfg.memory;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    static const char id[16] = "fgsync-sim-dev-";
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (dev)
        r = CUDA_ERROR_INVALID_DEVICE;
    else if (!uuid)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        memcpy(uuid->bytes, id, sizeof id);
    return fgs__sim_leave(r);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static CUresult attribute(int *value, CUdevice_attribute attrib)
{
    const fgs_sim_config *cfg = &fgs__sim_driver.cfg;
    const struct fgs__arch *arch = fgs__arch_find(FGS__SIM_CC);
    uint32_t optin = least(arch->block_smem_kib * 1024,
                           cfg->sm_shared - least(cfg->sm_shared,
                                                  FGS__SIM_RESERVED_SHARED));

    switch (attrib) {
#define IS(name, v)                                                            \
    case CU_DEVICE_ATTRIBUTE_##name:                                           \
        *value = (int)(v);                                                     \
        return CUDA_SUCCESS;
        IS(MAX_THREADS_PER_BLOCK, least(FGS__SIM_MAX_BLOCK, cfg->sm_threads))
        IS(MAX_BLOCK_DIM_X, FGS__SIM_MAX_BLOCK)
        IS(MAX_BLOCK_DIM_Y, FGS__SIM_MAX_BLOCK)
        IS(MAX_BLOCK_DIM_Z, 64)
        IS(MAX_GRID_DIM_X, 0x7fffffff)
        IS(MAX_GRID_DIM_Y, 65535)
        IS(MAX_GRID_DIM_Z, 65535)
        IS(MAX_SHARED_MEMORY_PER_BLOCK, least(FGS__SIM_STATIC_SHARED, optin))
        IS(TOTAL_CONSTANT_MEMORY, 64 * 1024)
        IS(WARP_SIZE, 32)
        IS(MAX_REGISTERS_PER_BLOCK, cfg->sm_registers)
        IS(CLOCK_RATE, 1000000) /* kHz: %clock counts ns */
        IS(MULTIPROCESSOR_COUNT, cfg->sms)
        IS(CAN_MAP_HOST_MEMORY, 1)
        IS(CONCURRENT_KERNELS, 1)
        IS(MAX_THREADS_PER_MULTIPROCESSOR, cfg->sm_threads)
        IS(ASYNC_ENGINE_COUNT, 1)
        IS(UNIFIED_ADDRESSING, 1)
        IS(COMPUTE_CAPABILITY_MAJOR, FGS__SIM_CC / 10)
        IS(COMPUTE_CAPABILITY_MINOR, FGS__SIM_CC % 10)
        IS(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, cfg->sm_shared)
        IS(MAX_REGISTERS_PER_MULTIPROCESSOR, cfg->sm_registers)
        IS(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, optin)
        IS(MAX_BLOCKS_PER_MULTIPROCESSOR, cfg->sm_blocks)
        IS(CLUSTER_LAUNCH, 0) /* not modelled yet */
#undef IS
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult fgs__sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attrib,
                                       CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    if (dev)
        r = CUDA_ERROR_INVALID_DEVICE;
    else if (!value)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = attribute(value, attrib);
    return fgs__sim_leave(r);
}
