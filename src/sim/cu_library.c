/* cu_library.c -- entry points: cuLibrary*, code that belongs to no context
 *
 * A library is parsed and checked when it is loaded, as CUDA_MODULE_LOADING=
 * EAGER has it; a context gets its copy at the first need.
 */
#include "sim/library.h"
#include "sim/jit.h"

static void free_library(struct fgs__sim_library *l)
{
    fgs_allocator a = l->alloc;

    while (l->ptx) {
        struct fgs__ptx_module *m = l->ptx;

        l->ptx = m->next;
        fgs__ptx_free(m);
    }
    if (l->img.alloc)
        fgs__sim_image_free(&l->img);
    fgs__free(&a, l->code);
    fgs__free(&a, l->kernel);
    fgs__free(&a, l);
}

/* Copy the texts. */
static CUresult keep(struct fgs__sim_library *l, const struct fgs__sim_image *i)
{
    struct fgs__sim_log log = { .text = NULL };
    size_t bytes = 0;
    CUresult r;

    l->code = fgs__sim_image_write(i->text, i->texts, &l->alloc, &bytes);
    if (!l->code)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = fgs__sim_image_read(&l->img, l->code, bytes, &l->alloc, &log);
    l->img.linked = i->linked;
    return r;
}

/* Its kernels, in the order in which a module has them. */
static CUresult list(struct fgs__sim_library *l, struct fgs__sim_jit *jit)
{
    CUresult r = fgs__sim_texts_load(&l->ptx, &l->img, &l->alloc, jit);
    uint32_t n = 0;

    if (r)
        return r;
    for (const struct fgs__ptx_func *f = l->ptx->funcs; f; f = f->next)
        n += fgs__sim_is_kernel(f);
    l->kernel = fgs__zalloc(&l->alloc, (n + 1u) * sizeof *l->kernel);
    if (!l->kernel)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (const struct fgs__ptx_func *f = l->ptx->funcs; f; f = f->next)
        if (fgs__sim_is_kernel(f))
            l->kernel[l->kernels++].func = f;
    return CUDA_SUCCESS;
}

static CUresult load(CUlibrary *out, const void *code, size_t most,
                     struct fgs__sim_jit *jit)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    struct fgs__sim_library *l = fgs__zalloc(&d->alloc, sizeof *l);
    struct fgs__sim_image img;
    CUresult r;

    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->alloc = d->alloc;
    r = fgs__sim_image_read(&img, code, most, &l->alloc, &jit->error);
    if (!r) {
        r = keep(l, &img);
        fgs__sim_image_free(&img);
    }
    if (!r)
        r = list(l, jit);
    if (r) {
        free_library(l);
        return r;
    }
    l->number = d->next_kernel;
    d->next_kernel += 1 + (uint64_t)l->kernels;
    l->next = d->libraries;
    d->libraries = l;
    *out = fgs__sim_library_handle(l);
    return CUDA_SUCCESS;
}

static CUresult check_options(const CUlibraryOption *option, void **values,
                              unsigned int count)
{
    if (count && !option)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int k = 0; k < count; k++) {
        /* A table of functions that device code calls on the host. */
        if (option[k] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
            return values && values[k] ? CUDA_ERROR_NOT_SUPPORTED
                                       : CUDA_ERROR_INVALID_VALUE;
        if (option[k] != CU_LIBRARY_BINARY_IS_PRESERVED)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* `file` or `code`. */
static CUresult load_any(CUlibrary *out, const void *code, const char *file,
                         CUjit_option *jit_options, void **jit_values,
                         unsigned int jit_count, CUlibraryOption *options,
                         void **values, unsigned int count)
{
    CUresult r = fgs__sim_enter_driver();
    fgs_allocator a = fgs__sim_driver.alloc;
    size_t bytes = SIZE_MAX;
    struct fgs__sim_jit jit;
    char *text = NULL;

    if (r)
        return r;
    r = out && (code || file) ? check_options(options, values, count)
                              : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_jit_read(&jit, jit_count, jit_options, jit_values);
    if (r)
        return fgs__sim_leave(r);
    if (file)
        r = fgs__sim_file_read(file, &a, &text, &bytes);
    if (!r)
        r = load(out, file ? text : code, bytes, &jit);
    fgs__sim_jit_write(&jit);
    fgs__free(&a, text);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuLibraryLoadData(CUlibrary *library, const void *code,
                                    CUjit_option *jitOptions, void **jitValues,
                                    unsigned int jitCount,
                                    CUlibraryOption *options, void **values,
                                    unsigned int count)
{
    return load_any(library, code, NULL, jitOptions, jitValues, jitCount,
                    options, values, count);
}

CUresult fgs__sim_cuLibraryLoadFromFile(CUlibrary *library, const char *name,
                                        CUjit_option *jitOptions,
                                        void **jitValues,
                                        unsigned int jitCount,
                                        CUlibraryOption *options,
                                        void **values, unsigned int count)
{
    return load_any(library, NULL, name, jitOptions, jitValues, jitCount,
                    options, values, count);
}

/* A context that holds a copy, NULL = none. */
static struct fgs__sim_module *copy_of(const struct fgs__sim_library *l)
{
    struct fgs__sim_device *dev = fgs__sim_driver.dev;

    for (struct fgs__sim_ctx *c = dev ? dev->ctxs : NULL; c; c = c->next)
        for (struct fgs__sim_module *m = c->modules; m; m = m->next)
            if (m->library == l)
                return m;
    return NULL;
}

/* Waits for the work of every context that has a copy. */
CUresult fgs__sim_cuLibraryUnload(CUlibrary library)
{
    CUresult r = fgs__sim_enter_driver();
    struct fgs__sim_library *l, **at = &fgs__sim_driver.libraries;
    struct fgs__sim_module *m;

    if (r)
        return r;
    l = fgs__sim_library_of(library);
    if (!l)
        return fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
    while (*at != l)
        at = &(*at)->next;
    *at = l->next; /* nobody finds it from here on */
    while ((m = copy_of(l))) {
        struct fgs__sim_ctx *ctx = m->ctx;

        ctx->users++;
        fgs__sim_ctx_wait(ctx); /* a context that faulted runs nothing */
        fgs__sim_pause(ctx->dev);
        m = copy_of(l);
        if (m && m->ctx == ctx)
            fgs__sim_module_free(m);
        fgs__sim_resume(ctx->dev);
        fgs__sim_ctx_unuse(ctx);
    }
    free_library(l);
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------ what it holds --- */

/* Locked, with the library; else the result. */
static CUresult enter(CUlibrary handle, struct fgs__sim_library **l)
{
    CUresult r = fgs__sim_enter_driver();

    if (r)
        return r;
    *l = fgs__sim_library_of(handle);
    return *l ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult fgs__sim_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                                     const char *name)
{
    struct fgs__sim_library *l;
    CUresult r = enter(library, &l);

    if (r)
        return r;
    r = kernel && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    for (uint32_t k = 0; kernel && name && k < l->kernels; k++) {
        if (strcmp(l->kernel[k].func->name, name))
            continue;
        *kernel = fgs__sim_kernel_handle(l, k);
        r = CUDA_SUCCESS;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct fgs__sim_library *l;
    CUresult r = enter(lib, &l);

    if (r)
        return r;
    if (count)
        *count = l->kernels;
    return fgs__sim_leave(count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuLibraryEnumerateKernels(CUkernel *kernels,
                                            unsigned int most, CUlibrary lib)
{
    struct fgs__sim_library *l;
    CUresult r = enter(lib, &l);

    if (r)
        return r;
    for (uint32_t k = 0; kernels && k < most && k < l->kernels; k++)
        kernels[k] = fgs__sim_kernel_handle(l, k);
    return fgs__sim_leave(kernels ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Its module in the current context, locked; else the result. */
static CUresult enter_module(CUlibrary handle, struct fgs__sim_module **m)
{
    struct fgs__sim_library *l;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    l = fgs__sim_library_of(handle);
    r = l ? fgs__sim_library_module(ctx, l, m) : CUDA_ERROR_INVALID_HANDLE;
    return r ? fgs__sim_leave(r) : CUDA_SUCCESS;
}

CUresult fgs__sim_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    struct fgs__sim_module *m;
    CUresult r = enter_module(library, &m);

    if (r)
        return r;
    if (module)
        *module = (CUmodule)m->handle;
    return fgs__sim_leave(module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult get_variable(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
                             const char *name, bool managed)
{
    struct fgs__sim_module *m;
    CUresult r = enter_module(library, &m);
    const struct fgs__ptx_sym *v;

    if (r)
        return r;
    if (!name || (!ptr && !bytes))
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    v = fgs__ptx_find_var(m->ptx, name);
    if (!v || !v->address || (managed && !v->managed))
        return fgs__sim_leave(CUDA_ERROR_NOT_FOUND);
    if (ptr)
        *ptr = v->address;
    if (bytes)
        *bytes = v->bytes;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes,
                                     CUlibrary library, const char *name)
{
    return get_variable(ptr, bytes, library, name, false);
}

CUresult fgs__sim_cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes,
                                      CUlibrary library, const char *name)
{
    return get_variable(ptr, bytes, library, name, true);
}

/* The device has no functions that host and device call by one address
 * (attribute UNIFIED_FUNCTION_POINTERS); an H200 answers so too. */
CUresult fgs__sim_cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library,
                                              const char *symbol)
{
    struct fgs__sim_library *l;
    CUresult r = enter(library, &l);

    (void)fptr;
    (void)symbol;
    return r ? r : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}
