/* library.c -- code that belongs to no context: its copies in contexts */
#include "sim/library.h"
#include "sim/jit.h"

/* Apart from other handles by their kind: handle.c. */
#define MARK      ((uint64_t)1 << 62)
#define KIND_BITS 52

static uint64_t encode(enum fgs__sim_kind kind, uint64_t number)
{
    return MARK | (uint64_t)kind << KIND_BITS | number;
}

CUlibrary fgs__sim_library_handle(const struct fgs__sim_library *lib)
{
    return (CUlibrary)(uintptr_t)encode(FGS__SIM_KIND_LIBRARY, lib->number);
}

CUkernel fgs__sim_kernel_handle(const struct fgs__sim_library *lib, uint32_t k)
{
    return (CUkernel)(uintptr_t)encode(FGS__SIM_KIND_KERNEL,
                                       lib->number + 1 + k);
}

struct fgs__sim_library *fgs__sim_library_of(CUlibrary handle)
{
    struct fgs__sim_library *l = fgs__sim_driver.libraries;

    while (l && fgs__sim_library_handle(l) != handle)
        l = l->next;
    return l;
}

struct fgs__sim_kernel *fgs__sim_kernel_of(CUkernel handle,
                                           struct fgs__sim_library **lib)
{
    uint64_t h = (uintptr_t)handle;

    for (*lib = fgs__sim_driver.libraries; *lib; *lib = (*lib)->next) {
        uint64_t first = encode(FGS__SIM_KIND_KERNEL, (*lib)->number + 1);

        if (h >= first && h - first < (*lib)->kernels)
            return &(*lib)->kernel[h - first];
    }
    return NULL;
}

/* What cuKernelSetAttribute was told before; it was checked then. */
static void apply(const struct fgs__sim_library *lib, struct fgs__sim_module *m)
{
    for (uint32_t k = 0; k < lib->kernels && k < m->funcs; k++) {
        const struct fgs__sim_kernel *from = &lib->kernel[k];

        if (from->dynamic_set)
            fgs__sim_func_set(&m->func[k],
                              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              from->dynamic);
        if (from->carveout_set)
            fgs__sim_func_set(
                &m->func[k],
                CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                from->carveout);
    }
}

CUresult fgs__sim_library_module(struct fgs__sim_ctx *ctx,
                                 struct fgs__sim_library *lib,
                                 struct fgs__sim_module **out)
{
    struct fgs__sim_jit jit;
    CUresult r;

    for (*out = ctx->modules; *out; *out = (*out)->next)
        if ((*out)->library == lib)
            return CUDA_SUCCESS;
    fgs__sim_jit_read(&jit, 0, NULL, NULL);
    r = fgs__sim_module_load(out, ctx, &lib->img, &jit);
    if (r)
        return r;
    (*out)->library = lib;
    apply(lib, *out);
    return CUDA_SUCCESS;
}

CUresult fgs__sim_launched(struct fgs__sim_ctx *ctx, CUfunction handle,
                           struct fgs__sim_func **out)
{
    struct fgs__sim_library *lib;
    struct fgs__sim_kernel *k;
    struct fgs__sim_module *m;
    CUresult r;

    *out = fgs__sim_func_of(ctx, handle);
    if (*out)
        return CUDA_SUCCESS;
    k = fgs__sim_kernel_of((CUkernel)handle, &lib);
    if (!k)
        return CUDA_ERROR_INVALID_HANDLE;
    r = fgs__sim_library_module(ctx, lib, &m);
    if (!r)
        *out = &m->func[k - lib->kernel];
    return r;
}
