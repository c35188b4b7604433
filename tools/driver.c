/* driver.c -- bind the driver's calls, enter a context, name an error */
#include "driver.h"

#include <fgs/fgs_sim.h>

#include <stdio.h>
#include <string.h>

struct driver_calls cu;

bool driver_find(fgs_device *dev, char *why, size_t size)
{
    void *p;

    /* ISO C has no conversion from an object's address to a function's. */
#define FIND(name, params)                                                     \
    p = fgs_device_get_proc(dev, #name);                                       \
    if (!p) {                                                                  \
        snprintf(why, size, "%s: not in this driver", #name);                  \
        return false;                                                          \
    }                                                                          \
    memcpy(&cu.name, &p, sizeof p);
    DRIVER_CALLS(FIND)
#undef FIND
    return true;
}

const char *driver_name(int code)
{
    const char *name = NULL;

    return cu.cuGetErrorName(code, &name) || !name ? "error" : name;
}

bool driver_good(const char *call, int code, char *why, size_t size)
{
    const char *fault = fgs_sim_last_fault();

    if (!code)
        return true;
    snprintf(why, size, "%s: %s (%d)%s%.800s", call, driver_name(code), code,
             *fault ? ": " : "", fault);
    return false;
}

bool driver_enter(fgs_device *dev, int32_t ordinal, int *device, void **ctx,
                  char *why, size_t size)
{
    void *made = NULL;

    if (!driver_find(dev, why, size) ||
        !driver_good("cuInit", cu.cuInit(0), why, size) ||
        !driver_good("cuDeviceGet", cu.cuDeviceGet(device, ordinal), why,
                     size) ||
        !driver_good("cuDevicePrimaryCtxRetain",
                     cu.cuDevicePrimaryCtxRetain(&made, *device), why, size))
        return false;
    if (!driver_good("cuCtxPushCurrent", cu.cuCtxPushCurrent(made), why,
                     size)) {
        cu.cuDevicePrimaryCtxRelease(*device);
        return false;
    }
    *ctx = made;
    return true;
}

void driver_leave(void *ctx, int device)
{
    void *old;

    if (!ctx)
        return;
    cu.cuCtxPopCurrent(&old);
    cu.cuDevicePrimaryCtxRelease(device);
}
