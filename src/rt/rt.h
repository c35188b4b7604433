/* rt.h -- a CUDA runtime on the driver API, for programs that nvcc makes
 *
 * NVIDIA's own runtime asks the driver for private tables, and one of them for
 * proof that it is theirs; this one knows the documented API alone, so it runs
 * on any driver, the software device's too.  Objects of the runtime are those
 * of the driver.  Every call makes the thread's device current (its primary
 * context) unless the thread has a context of its own making.
 *
 * Threads: any.
 */
#ifndef FGS_RT_RT_H
#define FGS_RT_RT_H

#include "base/compat.h"
#include "rt/types.h"
#include <stdbool.h>

enum {
    FGS__RT_VERSION = 13040,
    FGS__RT_DEVICES = 64, /* at most, as the driver has                      */
    FGS__RT_DEPTH = 16    /* of launches among the arguments of a launch     */
};

/* The driver's functions, looked up once. */
struct fgs__rt_driver {
#define ENTRY(name, abi, need, forms, params)    CUresult(*name) params;
#define FORM(fn, name, abi, forms, params)       CUresult(*fn) params;
#include "table/entry.def"
#undef ENTRY
#undef FORM
};

struct fgs__rt_config {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

struct fgs__rt_thread {
    int device;
    bool per_thread;  /* this call is a _ptsz or _ptds one                   */
    cudaError_t last;
    CUcontext bound;  /* made current by us; NULL = none                     */
    unsigned resets;  /* of devices, when that was                           */
    struct fgs__rt_config config[FGS__RT_DEPTH]; /* of <<<>>>                */
    unsigned depth;
};

extern struct fgs__rt_driver fgs__rt_cu;
extern _Thread_local struct fgs__rt_thread fgs__rt_self;

/* Opens the driver if need be and makes a context current.  What fails is
 * kept as the thread's last error. */
cudaError_t fgs__rt_enter(void);
/* Opens the driver alone. */
cudaError_t fgs__rt_open(void);
/* Keeps an error as the thread's last one; an unready object is none. */
cudaError_t fgs__rt_note(cudaError_t e);
/* After these a context is of no use any more. */
bool fgs__rt_sticks(cudaError_t e);
#define fgs__rt_done(r) fgs__rt_note((cudaError_t)(r))
/* A device's primary context, kept until the device is reset. */
cudaError_t fgs__rt_primary(int device, CUcontext *out);
CUcontext fgs__rt_context(void); /* the current one; NULL = none             */
cudaStream_t fgs__rt_stream(cudaStream_t s);

/* A kernel or a variable by its address in the host's program; both load what
 * they need.  A kernel's own handle is a kernel, too. */
cudaError_t fgs__rt_kernel(const void *host, CUkernel *out);
cudaError_t fgs__rt_function(const void *host, CUfunction *out);
cudaError_t fgs__rt_symbol(const void *host, CUdeviceptr *at, size_t *size);

/* The description of a copy for the driver. */
cudaError_t fgs__rt_copy_3d(const struct cudaMemcpy3DParms *p,
                            CUDA_MEMCPY3D *out);

/* What programs call is seen outside of the library; rt.map says it, too. */
#pragma GCC visibility push(default)
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   int f);
#define OWN(name, forms, params)        cudaError_t name params;
#define CALL(name, forms, params, call) cudaError_t name params;
#include "rt/runtime.def"
#undef OWN
#undef CALL
#pragma GCC visibility pop

#endif
