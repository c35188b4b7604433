/* cu_load.c -- entry points: loading and unloading of modules */
#include "sim/image.h"
#include "sim/jit.h"

/* The texts of an image in the current context; locked. */
static CUresult load_image(CUmodule *module, struct fgs__sim_ctx *ctx,
                           const void *image, size_t most,
                           struct fgs__sim_jit *j)
{
    struct fgs__sim_image img;
    struct fgs__sim_module *m;
    CUresult r = fgs__sim_image_read(&img, image, most, &ctx->dev->alloc,
                                     &j->error);

    if (r)
        return r;
    r = fgs__sim_module_load(&m, ctx, &img, j);
    fgs__sim_image_free(&img);
    if (r)
        return r;
    fgs__sim_jit_describe(j, m);
    *module = (CUmodule)m->handle;
    return CUDA_SUCCESS;
}

/* An H200 loads lazily within a capture; what EAGER does there is not known,
 * so it is refused as what allocates. */
static CUresult enter_load(struct fgs__sim_ctx **ctx)
{
    return fgs__sim_lazy() ? fgs__sim_enter(ctx) : fgs__sim_enter_unsafe(ctx);
}

CUresult fgs__sim_cuModuleLoadDataEx(CUmodule *module, const void *image,
                                     unsigned int count,
                                     CUjit_option *options, void **values)
{
    struct fgs__sim_jit j;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_load(&ctx);

    if (r)
        return r;
    r = module && image ? fgs__sim_jit_read(&j, count, options, values)
                        : CUDA_ERROR_INVALID_VALUE;
    if (r)
        return fgs__sim_leave(r);
    r = load_image(module, ctx, image, SIZE_MAX, &j);
    fgs__sim_jit_write(&j);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuModuleLoadData(CUmodule *module, const void *image)
{
    return fgs__sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult fgs__sim_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return fgs__sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult fgs__sim_cuModuleLoad(CUmodule *module, const char *fname)
{
    struct fgs__sim_jit j;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter_load(&ctx);
    char *image = NULL;
    size_t bytes = 0;

    if (r)
        return r;
    r = CUDA_ERROR_INVALID_VALUE;
    if (module && fname)
        r = fgs__sim_file_read(fname, &ctx->dev->alloc, &image, &bytes);
    if (!r)
        r = fgs__sim_jit_read(&j, 0, NULL, NULL);
    if (!r)
        r = load_image(module, ctx, image, bytes, &j);
    fgs__free(&ctx->dev->alloc, image);
    return fgs__sim_leave(r);
}

struct fgs__sim_module *fgs__sim_module_of(struct fgs__sim_ctx *ctx,
                                           CUmodule handle)
{
    struct fgs__sim_module *m = fgs__sim_handle_get(
        &ctx->dev->handles, FGS__SIM_KIND_MODULE, handle);

    return m && m->ctx == ctx ? m : NULL;
}

/* Waits for the context's work: a kernel of the module may still run. */
CUresult fgs__sim_cuModuleUnload(CUmodule module)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);
    struct fgs__sim_module *m;

    if (r)
        return r;
    m = fgs__sim_module_of(ctx, module);
    if (!m || m->library) {
        r = m ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_HANDLE;
        goto leave;
    }
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    if (!r) {
        fgs__sim_pause(ctx->dev);
        m = fgs__sim_module_of(ctx, module);
        if (m)
            fgs__sim_module_free(m);
        else
            r = CUDA_ERROR_INVALID_HANDLE; /* somebody was faster */
        fgs__sim_resume(ctx->dev);
    }
    fgs__sim_ctx_unuse(ctx);
leave:
    return fgs__sim_leave(r);
}
