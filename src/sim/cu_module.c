/* cu_module.c -- entry points: modules, functions, variables */
#include "sim/device.h"
#include "table/table.h"

/* CU_JIT_NUM_OPTIONS of cuda.h 13.4.  Options below it are known and, but for
 * the logs, without effect here. */
enum { JIT_OPTIONS = 36 };

struct jit {
    struct fgs__sim_log error, info;
    int error_size_at, info_size_at; /* index of the size option, -1 = none */
};

static void read_size(struct fgs__sim_log *log, void *value)
{
    log->size = (uintptr_t)value & UINT32_MAX;
}

static CUresult read_options(struct jit *j, unsigned int count,
                             const CUjit_option *options, void **values)
{
    j->error_size_at = j->info_size_at = -1;
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++) {
        switch (options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            j->info.text = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            read_size(&j->info, values[i]);
            j->info_size_at = (int)i;
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            j->error.text = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            read_size(&j->error, values[i]);
            j->error_size_at = (int)i;
            break;
        default:
            if (options[i] >= JIT_OPTIONS)
                return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

static void start_log(struct fgs__sim_log *log)
{
    if (!log->size)
        log->text = NULL;
    if (log->text)
        log->text[0] = '\0';
}

/* The size options give back how much was written. */
static void write_sizes(const struct jit *j, void **values)
{
    if (j->error_size_at >= 0)
        values[j->error_size_at] = (void *)(uintptr_t)j->error.used;
    if (j->info_size_at >= 0)
        values[j->info_size_at] = (void *)(uintptr_t)j->info.used;
}

CUresult fgs__sim_cuModuleLoadDataEx(CUmodule *module, const void *image,
                                     unsigned int count,
                                     CUjit_option *options, void **values)
{
    struct jit j = { { NULL, 0, 0 }, { NULL, 0, 0 }, -1, -1 };
    struct fgs__sim_module *m;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_unsafe(&ctx);

    if (r)
        return r;
    r = module && image ? read_options(&j, count, options, values)
                        : CUDA_ERROR_INVALID_VALUE;
    if (r)
        goto leave;
    start_log(&j.error);
    start_log(&j.info);
    r = fgs__sim_module_load(&m, ctx, image, &j.error);
    write_sizes(&j, values);
    if (!r)
        *module = (CUmodule)m->handle;
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuModuleLoadData(CUmodule *module, const void *image)
{
    return fgs__sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

static struct fgs__sim_module *module_of(struct fgs__sim_ctx *ctx,
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
    if (!module_of(ctx, module)) {
        r = CUDA_ERROR_INVALID_HANDLE;
        goto leave;
    }
    ctx->users++;
    r = fgs__sim_ctx_wait(ctx);
    if (!r) {
        fgs__sim_pause(ctx->dev);
        m = module_of(ctx, module);
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

CUresult fgs__sim_cuModuleGetFunction(CUfunction *func, CUmodule module,
                                      const char *name)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_module *m;

    if (r)
        return r;
    if (!func || !name) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    m = module_of(ctx, module);
    r = m ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
    for (uint32_t i = 0; m && i < m->funcs; i++) {
        if (strcmp(m->func[i].func->name, name))
            continue;
        *func = (CUfunction)m->func[i].handle;
        r = CUDA_SUCCESS;
    }
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuModuleGetGlobal(CUdeviceptr *ptr, size_t *bytes,
                                    CUmodule module, const char *name)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_module *m;
    struct fgs__ptx_sym *v;

    if (r)
        return r;
    if (!name || (!ptr && !bytes)) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    m = module_of(ctx, module);
    if (!m) {
        r = CUDA_ERROR_INVALID_HANDLE;
        goto leave;
    }
    v = fgs__ptx_find_var(m->ptx, name);
    if (!v || !v->address) {
        r = CUDA_ERROR_NOT_FOUND;
        goto leave;
    }
    if (ptr)
        *ptr = v->address;
    if (bytes)
        *bytes = v->bytes;
leave:
    return fgs__sim_leave(r);
}

/* ----------------------------------------------------------- functions -- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t fgs__sim_max_threads(const struct fgs__sim_func *f)
{
    const uint32_t *n =
        f->func->reqntid[0] ? f->func->reqntid : f->func->maxntid;
    uint32_t most = FGS__SIM_MAX_BLOCK;
    uint64_t said = 1;

    for (int i = 0; i < 3; i++) /* no product of these overflows */
        said *= n[i] ? least(n[i], FGS__SIM_MAX_BLOCK) : 1;
    if (n[0] && said < most)
        most = (uint32_t)said;
    most = least(most, f->module->ctx->dev->cfg.sm_threads);
    while (most > 32 &&
           fgs__sim_block_regs(f->code, most) >
               f->module->ctx->dev->cfg.sm_registers)
        most -= 32;
    return most;
}

uint32_t fgs__sim_max_shared(const fgs_sim_config *cfg)
{
    uint32_t row = fgs__arch_find((int)cfg->cc)->block_smem_kib * 1024;
    uint32_t system = fgs__sim_block_shared(cfg, 0);

    return cfg->sm_shared > system ? least(cfg->sm_shared - system, row) : 0;
}

struct fgs__sim_func *fgs__sim_func_of(struct fgs__sim_ctx *ctx,
                                       CUfunction handle)
{
    struct fgs__sim_func *f = fgs__sim_handle_get(
        &ctx->dev->handles, FGS__SIM_KIND_FUNC, handle);

    return f && f->module->ctx == ctx ? f : NULL;
}

static uint64_t const_bytes(const struct fgs__sim_module *m)
{
    uint64_t n = 0;

    for (const struct fgs__ptx_sym *v = m->ptx->vars; v; v = v->next) {
        if (v->space == FGS__M_CONST)
            n += v->bytes;
    }
    return n;
}

static CUresult get_attribute(int *value, CUfunction_attribute attrib,
                              const struct fgs__sim_func *f)
{
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)fgs__sim_max_threads(f);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)f->code->shared_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)const_bytes(f->module);
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)f->code->local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)f->code->regs;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = f->module->ptx->target_cc;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)f->module->ctx->dev->cfg.cc;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)f->max_dynamic;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = f->carveout;
        break;
    default:
        return fgs__sim_cluster_get(f, attrib, value)
            ? CUDA_SUCCESS
            : CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuFuncGetAttribute(int *value, CUfunction_attribute attrib,
                                     CUfunction func)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_func *f;

    if (r)
        return r;
    f = fgs__sim_func_of(ctx, func);
    if (!f)
        r = CUDA_ERROR_INVALID_HANDLE;
    else
        r = value ? get_attribute(value, attrib, f) : CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

static CUresult set_attribute(struct fgs__sim_func *f,
                              CUfunction_attribute attrib, int value)
{
    uint32_t most = fgs__sim_max_shared(&f->module->ctx->dev->cfg);

    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || f->code->shared_bytes > most ||
            (uint32_t)value > most - f->code->shared_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic = (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > CU_SHAREDMEM_CARVEOUT_MAX_SHARED)
            return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value; /* a hint; the SM's split is not modelled */
        return CUDA_SUCCESS;
    default:
        return fgs__sim_cluster_set(f, attrib, value);
    }
}

CUresult fgs__sim_cuFuncSetAttribute(CUfunction func,
                                     CUfunction_attribute attrib, int value)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_func *f;

    if (r)
        return r;
    f = fgs__sim_func_of(ctx, func);
    r = f ? set_attribute(f, attrib, value) : CUDA_ERROR_INVALID_HANDLE;
    return fgs__sim_leave(r);
}

/* Modules are loaded as a whole: nothing is lazy. */
CUresult fgs__sim_cuFuncLoad(CUfunction func)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_func_of(ctx, func) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    return fgs__sim_leave(r);
}
