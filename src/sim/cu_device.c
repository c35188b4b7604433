/* cu_device.c -- entry points: start, device queries, error names */
#include "sim/trace.h"
#include "base/log.h"

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
        fgs__sim_config_fill(&d->cfg);
        d->alloc = fgs__malloc;
        d->configured = true;
    }
    if (!d->inited)
        r = fgs__sim_trace_env();
    if (r)
        goto unlock;
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

CUresult fgs__sim_attribute(int *value, CUdevice_attribute attrib)
{
    const fgs_sim_config *cfg = &fgs__sim_driver.cfg;
    uint32_t optin = fgs__sim_max_shared(cfg);

    switch (attrib) {
#define ATTR(number, v)                                                        \
    case number:                                                               \
        *value = (int)(v);                                                     \
        return CUDA_SUCCESS;
#include "sim/devattr.def"
#undef ATTR
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
        r = fgs__sim_attribute(value, attrib);
    return fgs__sim_leave(r);
}

/* ------------------------------------------------- old and other queries -- */

static CUresult check(CUdevice dev)
{
    return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult fgs__sim_cuDeviceComputeCapability(int *major, int *minor,
                                            CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = check(dev);
    if (!r && (!major || !minor))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_attribute(
            major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    if (!r)
        r = fgs__sim_attribute(
            minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();
    /* In the order of the struct, which is all ints. */
    static const CUdevice_attribute id[] = { 1, 2,  3,  4,  5,  6, 7,
                                             8, 9, 10, 11, 12, 13, 14 };

    if (r)
        return r;
    r = check(dev);
    if (!r && !prop)
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < sizeof id / sizeof id[0]; i++) {
        int v;

        r = fgs__sim_attribute(&v, id[i]);
        memcpy((char *)prop + i * sizeof v, &v, sizeof v);
    }
    return fgs__sim_leave(r);
}

static void pci_name(char text[16])
{
    snprintf(text, 16, "0000:%02x:%02x.0", FGS__SIM_PCI_BUS,
             FGS__SIM_PCI_DEVICE);
}

CUresult fgs__sim_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();
    char name[16];

    if (r)
        return r;
    r = check(dev);
    if (!r && (!pciBusId || len <= 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        pci_name(name);
        snprintf(pciBusId, (size_t)len, "%s", name);
    }
    return fgs__sim_leave(r);
}

/* "[domain]:[bus]:[device].[function]", the first and last one optional. */
CUresult fgs__sim_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    CUresult r = fgs__sim_enter_driver();
    unsigned int d = 0, b = 0, n = 0, f = 0;

    if (r)
        return r;
    if (!dev || !pciBusId)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (sscanf(pciBusId, "%x:%x:%x.%x", &d, &b, &n, &f) < 3 &&
             (d = 0, sscanf(pciBusId, "%x:%x.%x", &b, &n, &f)) < 2)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (d || b != FGS__SIM_PCI_BUS || n != FGS__SIM_PCI_DEVICE || f)
        r = CUDA_ERROR_INVALID_DEVICE;
    else
        *dev = 0;
    return fgs__sim_leave(r);
}

/* There is one device, which is no peer of itself. */
CUresult fgs__sim_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev,
                                        CUdevice peerDev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = check(dev);
    if (!r)
        r = check(peerDev);
    if (!r && !canAccessPeer)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *canAccessPeer = 0;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetP2PAttribute(int *value,
                                          CUdevice_P2PAttribute attrib,
                                          CUdevice srcDevice,
                                          CUdevice dstDevice)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    /* Two devices are asked for; source and destination are the same here. */
    r = check(srcDevice);
    if (!r)
        r = check(dstDevice);
    if (!r && (!value || attrib < 1 || attrib > 5))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = CUDA_ERROR_INVALID_DEVICE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuDeviceGetExecAffinitySupport(int *pi,
                                                 CUexecAffinityType type,
                                                 CUdevice dev)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    r = check(dev);
    if (!r && (!pi || type))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *pi = 0;
    return fgs__sim_leave(r);
}

static void say_refused(const CUuuid *id)
{
    struct fgs__log log;
    char hex[2 * sizeof id->bytes + 1];

    if (fgs__log_init(&log, NULL, NULL, NULL))
        return;
    for (size_t i = 0; i < sizeof id->bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
    fgs__log(&log, FGS__LOG_SIM_TABLE,
             "cuGetExportTable: no private table %s; NVIDIA's CUDA runtime "
             "needs it, drop-in/libcudart.so.13 does not",
             hex);
}

/* The driver's private tables are not there; callers that can do without go
 * on, NVIDIA's CUDA runtime does not (README). */
CUresult fgs__sim_cuGetExportTable(const void **ppExportTable,
                                   const CUuuid *pExportTableId)
{
    if (ppExportTable)
        *ppExportTable = NULL;
    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    say_refused(pExportTableId);
    return CUDA_ERROR_NOT_FOUND;
}

/* No profiler is attached: starting and stopping change nothing. */
CUresult fgs__sim_cuProfilerInitialize(const char *configFile,
                                       const char *outputFile,
                                       CUoutput_mode outputMode)
{
    (void)configFile;
    (void)outputFile;
    (void)outputMode;
    return CUDA_ERROR_NOT_SUPPORTED; /* removed from the driver in 11.0 */
}

static CUresult profiler(void)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    return r ? r : fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuProfilerStart(void)
{
    return profiler();
}

CUresult fgs__sim_cuProfilerStop(void)
{
    return profiler();
}
