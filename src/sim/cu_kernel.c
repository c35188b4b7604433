/* cu_kernel.c -- entry points: cuKernel*, a library's kernels */
#include "sim/library.h"

static CUresult enter(CUkernel handle, struct fgs__sim_kernel **k,
                      struct fgs__sim_library **l)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    *k = fgs__sim_kernel_of(handle, l);
    return *k ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult fgs__sim_cuKernelGetFunction(CUfunction *func, CUkernel kernel)
{
    struct fgs__sim_library *l;
    struct fgs__sim_func *f;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!fgs__sim_kernel_of(kernel, &l))
        r = CUDA_ERROR_INVALID_HANDLE;
    else
        r = func ? fgs__sim_launched(ctx, (CUfunction)kernel, &f)
                 : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *func = (CUfunction)f->handle;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    struct fgs__sim_library *l;
    struct fgs__sim_kernel *k;
    CUresult r = enter(kernel, &k, &l);

    if (r)
        return r;
    if (library)
        *library = fgs__sim_library_handle(l);
    return fgs__sim_leave(library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuKernelGetName(const char **name, CUkernel kernel)
{
    struct fgs__sim_library *l;
    struct fgs__sim_kernel *k;
    CUresult r = enter(kernel, &k, &l);

    if (r)
        return r;
    if (name)
        *name = k->func->name;
    return fgs__sim_leave(name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuKernelGetParamInfo(CUkernel kernel, size_t index,
                                       size_t *offset, size_t *bytes)
{
    struct fgs__sim_library *l;
    struct fgs__sim_kernel *k;
    CUresult r = enter(kernel, &k, &l);

    if (r)
        return r;
    return fgs__sim_leave(fgs__sim_param_info(k->func, index, offset, bytes));
}

CUresult fgs__sim_cuKernelGetParamCount(CUkernel kernel, size_t *count)
{
    struct fgs__sim_library *l;
    struct fgs__sim_kernel *k;
    CUresult r = enter(kernel, &k, &l);

    if (r)
        return r;
    if (count)
        *count = k->func->param_count;
    return fgs__sim_leave(count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ----------------------------------------------------------- attributes -- */

/* Attributes are the device's, not a context's: what the assembled code needs
 * is known in a context, so without one the primary context is taken for as
 * long as the call lasts. */
static CUresult borrow(bool *borrowed)
{
    CUcontext ctx = NULL;
    CUresult r = fgs__sim_cuCtxGetCurrent(&ctx);

    *borrowed = false;
    if (r || ctx)
        return r;
    r = fgs__sim_cuDevicePrimaryCtxRetain(&ctx, 0);
    if (r)
        return r;
    r = fgs__sim_cuCtxPushCurrent(ctx);
    if (r)
        fgs__sim_cuDevicePrimaryCtxRelease(0);
    else
        *borrowed = true;
    return r;
}

static void give_back(bool borrowed)
{
    CUcontext ctx;

    if (!borrowed)
        return;
    fgs__sim_cuCtxPopCurrent(&ctx);
    fgs__sim_cuDevicePrimaryCtxRelease(0);
}

/* A live kernel, of the only device, in some context. */
static CUresult begin(CUkernel kernel, CUdevice dev, bool *borrowed)
{
    struct fgs__sim_library *l;
    struct fgs__sim_kernel *k;
    CUresult r = enter(kernel, &k, &l);

    if (r)
        return r;
    fgs__sim_leave(r);
    return dev ? CUDA_ERROR_INVALID_DEVICE : borrow(borrowed);
}

CUresult fgs__sim_cuKernelGetAttribute(int *value, CUfunction_attribute attrib,
                                       CUkernel kernel, CUdevice dev)
{
    struct fgs__sim_ctx *ctx;
    struct fgs__sim_func *f;
    bool borrowed;
    CUresult r = begin(kernel, dev, &borrowed);

    if (r)
        return r;
    r = fgs__sim_enter_calm(&ctx);
    if (!r && !value)
        r = fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    else if (!r) {
        r = fgs__sim_launched(ctx, (CUfunction)kernel, &f);
        if (!r)
            r = fgs__sim_func_get(value, attrib, f);
        fgs__sim_leave(r);
    }
    give_back(borrowed);
    return r;
}

/* In every context that has a copy, and in those that get one. */
static void set_everywhere(const struct fgs__sim_library *l, size_t index,
                           CUfunction_attribute attrib, int value)
{
    struct fgs__sim_device *dev = fgs__sim_driver.dev;

    for (struct fgs__sim_ctx *c = dev ? dev->ctxs : NULL; c; c = c->next)
        for (struct fgs__sim_module *m = c->modules; m; m = m->next)
            if (m->library == l)
                fgs__sim_func_set(&m->func[index], attrib, value);
}

static CUresult set(struct fgs__sim_ctx *ctx, CUkernel kernel,
                    CUfunction_attribute attrib, int value)
{
    struct fgs__sim_library *l;
    struct fgs__sim_func *f;
    struct fgs__sim_kernel *k = fgs__sim_kernel_of(kernel, &l);
    CUresult r = fgs__sim_launched(ctx, (CUfunction)kernel, &f);

    if (!r)
        r = fgs__sim_func_set(f, attrib, value);
    if (r)
        return r;
    if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        k->dynamic_set = true;
        k->dynamic = value;
    } else {
        k->carveout_set = true;
        k->carveout = value;
    }
    set_everywhere(l, (size_t)(k - l->kernel), attrib, value);
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuKernelSetAttribute(CUfunction_attribute attrib, int value,
                                       CUkernel kernel, CUdevice dev)
{
    struct fgs__sim_ctx *ctx;
    bool borrowed;
    CUresult r = begin(kernel, dev, &borrowed);

    if (r)
        return r;
    r = fgs__sim_enter(&ctx);
    if (!r)
        r = fgs__sim_leave(set(ctx, kernel, attrib, value));
    give_back(borrowed);
    return r;
}

/* A preference; the split of an SM's memory is not modelled. */
CUresult fgs__sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config,
                                         CUdevice dev)
{
    struct fgs__sim_library *l;
    struct fgs__sim_kernel *k;
    CUresult r = enter(kernel, &k, &l);

    if (r)
        return r;
    return fgs__sim_leave(dev ? CUDA_ERROR_INVALID_DEVICE
                          : config <= CU_FUNC_CACHE_PREFER_EQUAL
                              ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
