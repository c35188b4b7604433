/* device.c -- devices and versions of the CUDA runtime */
#include "rt/rt.h"

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    cudaError_t e = fgs__rt_open();

    /* Without a driver the answer is 0. */
    if (e == cudaErrorInsufficientDriver && driverVersion) {
        *driverVersion = 0;
        fgs__rt_self.last = cudaSuccess;
        return cudaSuccess;
    }
    return e ? e : fgs__rt_done(fgs__rt_cu.cuDriverGetVersion(driverVersion));
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion)
        return fgs__rt_note(cudaErrorInvalidValue);
    *runtimeVersion = FGS__RT_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t e = fgs__rt_open();

    if (e) {
        if (count)
            *count = 0;
        return e;
    }
    return fgs__rt_done(fgs__rt_cu.cuDeviceGetCount(count));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    cudaError_t e = fgs__rt_open();

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuDevicePrimaryCtxSetFlags(
                   fgs__rt_self.device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    cudaError_t e = fgs__rt_open();
    int active;

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuDevicePrimaryCtxGetState(
                   fgs__rt_self.device, flags, &active));
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device)
{
    cudaError_t e = fgs__rt_open();

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuDeviceGetAttribute(
                   value, (CUdevice_attribute)attr, device));
}

/* An attribute that the driver does not know is 0. */
static int attribute(int number, int device)
{
    int v;

    return fgs__rt_cu.cuDeviceGetAttribute(&v, (CUdevice_attribute)number,
                                           device)
               ? 0
               : v;
}

static void attributes(int *to, const int *number, int count, int device)
{
    for (int i = 0; i < count; i++)
        to[i] = attribute(number[i], device);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t e = fgs__rt_open();

    if (e)
        return e;
    if (!prop)
        return fgs__rt_note(cudaErrorInvalidValue);
    memset(prop, 0, sizeof *prop);
    e = fgs__rt_done(fgs__rt_cu.cuDeviceGetName(
        prop->name, (int)sizeof prop->name, device));
    if (!e)
        e = fgs__rt_done(
            fgs__rt_cu.cuDeviceTotalMem(&prop->totalGlobalMem, device));
    if (!e)
        e = fgs__rt_done(fgs__rt_cu.cuDeviceGetUuid(&prop->uuid, device));
    if (e)
        return e;
#define FIELD(type, member)
#define BYTES(member, count)
#define PROP(type, member, attr) prop->member = (type)attribute(attr, device);
#define PROPS(member, count, ...)                                              \
    attributes(prop->member, (const int[]){ __VA_ARGS__ }, count, device);
#include "rt/devprop.def"
#undef FIELD
#undef BYTES
#undef PROP
#undef PROPS
    return cudaSuccess;
}

/* The one whose compute capability is nearest above what is asked. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    int count, best = 0, least = 1 << 30, want;
    cudaError_t e = cudaGetDeviceCount(&count);

    if (e)
        return e;
    if (!device || !prop)
        return fgs__rt_note(cudaErrorInvalidValue);
    want = prop->major * 10 + prop->minor;
    for (int i = 0; i < count; i++) {
        int has = attribute(75, i) * 10 + attribute(76, i);

        if (has >= want && has < least) {
            least = has;
            best = i;
        }
    }
    *device = best;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    cudaError_t e = fgs__rt_open();

    return e ? e
             : fgs__rt_done(
                   fgs__rt_cu.cuDeviceGetPCIBusId(pciBusId, len, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    cudaError_t e = fgs__rt_open();

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuDeviceGetByPCIBusId(device, pciBusId));
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion,
    unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t e = fgs__rt_open();
    CUdriverProcAddressQueryResult status = 0;
    CUresult r;

    if (e)
        return e;
    if (!flags && fgs__rt_self.per_thread)
        flags = 2; /* cudaEnablePerThreadDefaultStream */
    r = fgs__rt_cu.cuGetProcAddress(symbol, funcPtr, (int)cudaVersion, flags,
                                    &status);
    if (driverStatus)
        *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    /* That there is no such name is the status, not an error. */
    if (r == CUDA_ERROR_NOT_FOUND && driverStatus)
        r = CUDA_SUCCESS;
    return fgs__rt_done(r);
}

cudaError_t
cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                        unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return cudaGetDriverEntryPointByVersion(symbol, funcPtr, FGS__RT_VERSION,
                                            flags, driverStatus);
}
