/* driver.h -- the driver's calls of an open device, for tools that launch
 * kernels of their own
 *
 * One row a call, with its types as the driver's ABI has them: handles and
 * addresses.
 */
#ifndef TOOLS_DRIVER_H
#define TOOLS_DRIVER_H

#include <fgs/fgs.h>
#include <stdbool.h>

typedef unsigned long long dev_addr;
struct launch_attr {
    unsigned id, pad;
    union {
        char room[64];
        int flag;
        unsigned dim[3];
    } value;
};
struct launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct launch_attr *attrs;
    unsigned count;
};

#define DRIVER_CALLS(X)                                                        \
    X(cuInit, (unsigned))                                                      \
    X(cuDeviceGet, (int *, int))                                               \
    X(cuDeviceGetAttribute, (int *, int, int))                                 \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                \
    X(cuDevicePrimaryCtxRelease, (int))                                        \
    X(cuCtxPushCurrent, (void *))                                              \
    X(cuCtxPopCurrent, (void **))                                              \
    X(cuCtxSynchronize, (void))                                                \
    X(cuMemAlloc, (dev_addr *, size_t))                                        \
    X(cuMemFree, (dev_addr))                                                   \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                             \
    X(cuMemHostGetDevicePointer, (dev_addr *, void *, unsigned))               \
    X(cuMemFreeHost, (void *))                                                 \
    X(cuMemsetD32Async, (dev_addr, unsigned, size_t, void *))                  \
    X(cuMemcpyHtoD, (dev_addr, const void *, size_t))                          \
    X(cuMemcpyDtoH, (void *, dev_addr, size_t))                                \
    X(cuModuleLoadDataEx,                                                      \
      (void **, const void *, unsigned, int *, void **))                       \
    X(cuModuleUnload, (void *))                                                \
    X(cuModuleGetFunction, (void **, void *, const char *))                    \
    X(cuFuncSetAttribute, (void *, int, int))                                  \
    X(cuFuncGetAttribute, (int *, int, void *))                                \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                             \
      (int *, void *, int, size_t))                                            \
    X(cuStreamCreate, (void **, unsigned))                                     \
    X(cuStreamDestroy, (void *))                                               \
    X(cuEventCreate, (void **, unsigned))                                      \
    X(cuEventDestroy, (void *))                                                \
    X(cuEventRecord, (void *, void *))                                         \
    X(cuEventSynchronize, (void *))                                            \
    X(cuEventElapsedTime, (float *, void *, void *))                           \
    X(cuGetErrorName, (int, const char **))                                    \
    X(cuLaunchKernel,                                                          \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       unsigned, void *, void **, void **))                                    \
    X(cuLaunchKernelEx,                                                        \
      (const struct launch_config *, void *, void **, void **))

/* Filled by driver_find; one device at a time. */
extern struct driver_calls {
#define DRIVER_MEMBER(name, params) int (*name) params;
    DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} cu;

/* Bind the calls.  false: *why names the one that the driver lacks. */
bool driver_find(fgs_device *dev, char *why, size_t size);

/*
 * Bind the calls and make the device's primary context current; *device is the
 * driver's number of it.  false: *why is a sentence, nothing is kept.
 */
bool driver_enter(fgs_device *dev, int32_t ordinal, int *device, void **ctx,
                  char *why, size_t size);
/* The context, NULL is accepted. */
void driver_leave(void *ctx, int device);

/* true for code 0; else *why says which call, the error's name, and what the
 * software device knows of a fault. */
bool driver_good(const char *call, int code, char *why, size_t size);
/* "CUDA_ERROR_...", or "error" where the driver has no name. */
const char *driver_name(int code);

#endif
