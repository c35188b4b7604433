/* state.c -- the driver, contexts and errors of the CUDA runtime */
#include "rt/rt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

struct fgs__rt_driver fgs__rt_cu;
_Thread_local struct fgs__rt_thread fgs__rt_self;

static struct {
    pthread_once_t once;
    cudaError_t error;                  /* of opening the driver             */
    pthread_mutex_t lock;               /* of the contexts                   */
    CUcontext context[FGS__RT_DEVICES]; /* retained                          */
    atomic_uint resets;
} state = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

typedef CUresult (*get_proc)(const char *, void **, int, cuuint64_t,
                             CUdriverProcAddressQueryResult *);

/* What an older driver lacks is a call that it refuses. */
static CUresult lacks(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void look_up(get_proc get, const char *name, int abi, void *to)
{
    CUresult (*none)(void) = lacks;
    void *fn = NULL;

    if (get(name, &fn, abi, 0, NULL) || !fn)
        memcpy(to, &none, sizeof none);
    else
        memcpy(to, &fn, sizeof fn);
}

static void open_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    void *sym = lib ? dlsym(lib, "cuGetProcAddress_v2") : NULL;
    get_proc get;

    state.error = cudaErrorInsufficientDriver;
    if (!sym)
        return;
    memcpy(&get, &sym, sizeof get);
#define ENTRY(name, abi, need, forms, params)                                  \
    look_up(get, #name, abi, &fgs__rt_cu.name);
#define FORM(fn, name, abi, forms, params)                                     \
    look_up(get, #name, abi, &fgs__rt_cu.fn);
#include "table/entry.def"
#undef ENTRY
#undef FORM
    state.error = (cudaError_t)fgs__rt_cu.cuInit(0);
}

/* Every call comes by here, so no lock is taken. */
cudaError_t fgs__rt_open(void)
{
    pthread_once(&state.once, open_driver);
    return fgs__rt_note(state.error);
}

cudaError_t fgs__rt_primary(int device, CUcontext *out)
{
    CUresult r = CUDA_SUCCESS;

    if (device < 0 || device >= FGS__RT_DEVICES)
        return cudaErrorInvalidDevice;
    pthread_mutex_lock(&state.lock);
    if (!state.context[device])
        r = fgs__rt_cu.cuDevicePrimaryCtxRetain(&state.context[device], device);
    if (r)
        state.context[device] = NULL;
    *out = state.context[device];
    pthread_mutex_unlock(&state.lock);
    return (cudaError_t)r;
}

static cudaError_t bind(int device)
{
    CUcontext ctx;
    unsigned resets = atomic_load(&state.resets);
    cudaError_t e = fgs__rt_primary(device, &ctx);

    if (!e)
        e = (cudaError_t)fgs__rt_cu.cuCtxSetCurrent(ctx);
    if (!e) {
        fgs__rt_self.bound = ctx;
        fgs__rt_self.resets = resets;
    }
    return e;
}

CUcontext fgs__rt_context(void)
{
    CUcontext ctx = NULL;

    return fgs__rt_cu.cuCtxGetCurrent(&ctx) ? NULL : ctx;
}

/* A context that we made current may be one of a device that another thread
 * has reset since: then it is looked up anew. */
cudaError_t fgs__rt_enter(void)
{
    cudaError_t e = fgs__rt_open();
    CUcontext ctx;

    if (e)
        return e;
    ctx = fgs__rt_context();
    if (ctx && (ctx != fgs__rt_self.bound ||
                fgs__rt_self.resets == atomic_load(&state.resets)))
        return e;
    return fgs__rt_note(bind(fgs__rt_self.device));
}

cudaStream_t fgs__rt_stream(cudaStream_t s)
{
    return s || !fgs__rt_self.per_thread ? s : CU_STREAM_PER_THREAD_;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t e = fgs__rt_open();

    if (!e)
        e = bind(device);
    if (!e)
        fgs__rt_self.device = device;
    return fgs__rt_note(e);
}

/* Made ready, but not this thread's. */
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags,
                           unsigned int flags)
{
    cudaError_t e = fgs__rt_open();
    CUcontext ctx;

    if (!e && (flags & 1)) /* cudaInitDeviceFlagsAreValid */
        e = (cudaError_t)fgs__rt_cu.cuDevicePrimaryCtxSetFlags(device,
                                                               deviceFlags);
    if (!e)
        e = fgs__rt_primary(device, &ctx);
    return fgs__rt_note(e);
}

/* A thread that uses a context of its own is on that one's device. */
cudaError_t cudaGetDevice(int *device)
{
    cudaError_t e = fgs__rt_open();
    CUdevice dev;

    if (e)
        return e;
    if (!device)
        return fgs__rt_note(cudaErrorInvalidValue);
    *device = fgs__rt_self.device;
    if (fgs__rt_context() && !fgs__rt_cu.cuCtxGetDevice(&dev))
        *device = dev;
    return cudaSuccess;
}

/* Code stays registered and is loaded anew by whoever needs it. */
cudaError_t cudaDeviceReset(void)
{
    int device;
    cudaError_t e = cudaGetDevice(&device);

    if (e)
        return e;
    pthread_mutex_lock(&state.lock);
    if (device < FGS__RT_DEVICES && state.context[device]) {
        e = (cudaError_t)fgs__rt_cu.cuDevicePrimaryCtxReset(device);
        fgs__rt_cu.cuDevicePrimaryCtxRelease(device);
        state.context[device] = NULL;
        atomic_fetch_add(&state.resets, 1);
    }
    pthread_mutex_unlock(&state.lock);
    fgs__rt_cu.cuCtxSetCurrent(NULL);
    fgs__rt_self.last = cudaSuccess;
    return fgs__rt_note(e);
}

/* -------------------------------------------------------------- errors -- */

bool fgs__rt_sticks(cudaError_t e)
{
    return (e >= cudaErrorIllegalAddress && e <= cudaErrorLaunchTimeout &&
            e != cudaErrorLaunchOutOfResources) ||
           e == cudaErrorAssert || e == cudaErrorECCUncorrectable ||
           (e >= cudaErrorHardwareStackError && e <= cudaErrorLaunchFailure);
}

cudaError_t fgs__rt_note(cudaError_t e)
{
    if (e && e != cudaErrorNotReady)
        fgs__rt_self.last = e;
    return e;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = fgs__rt_self.last;

    if (!fgs__rt_sticks(e))
        fgs__rt_self.last = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    return fgs__rt_self.last;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) {
#define RTERR(name, value, text)                                               \
    case value:                                                                \
        return #name;
#include "rt/error.def"
#undef RTERR
    default:
        return "unrecognized error code";
    }
}

static const char *driver_text(cudaError_t error)
{
    switch ((int)error) {
#define CURES(name, value, text)                                               \
    case value:                                                                \
        return text;
#include "table/curesult.def"
#undef CURES
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    const char *own = NULL;

    switch ((int)error) {
#define RTERR(name, value, text)                                               \
    case value:                                                                \
        own = text;                                                            \
        break;
#include "rt/error.def"
#undef RTERR
    default:
        break;
    }
    return own ? own : driver_text(error);
}
