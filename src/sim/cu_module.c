/* cu_module.c -- entry points: what a module holds, functions' attributes */
#include "sim/device.h"
#include "table/table.h"

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
    m = fgs__sim_module_of(ctx, module);
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

/* Kernels: the module's own order. */
CUresult fgs__sim_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_module *m;

    if (r)
        return r;
    m = fgs__sim_module_of(ctx, mod);
    r = !m ? CUDA_ERROR_INVALID_HANDLE
           : count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *count = m->funcs;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuModuleEnumerateFunctions(CUfunction *functions,
                                             unsigned int most, CUmodule mod)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_module *m;

    if (r)
        return r;
    m = fgs__sim_module_of(ctx, mod);
    r = !m ? CUDA_ERROR_INVALID_HANDLE
           : functions ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; !r && i < m->funcs && i < most; i++)
        functions[i] = (CUfunction)m->func[i].handle;
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
    m = fgs__sim_module_of(ctx, module);
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

/* Oversized memory is none here: such a mode allows what the device has. */
uint32_t fgs__sim_max_dynamic(const struct fgs__sim_func *f, uint32_t mode)
{
    uint32_t own = f->code->shared_bytes;
    uint32_t most = fgs__sim_max_shared(&f->module->ctx->dev->cfg);

    mode = mode ? mode : f->shared_mode;
    if (!mode)
        return f->max_dynamic;
    if (mode == CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE) /* attribute 8 */
        most = least(most, FGS__SIM_STATIC_SHARED);
    return own < most ? most - own : 0;
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
        if (v->space == FGS__M_CONST && !v->def)
            n += v->bytes;
    }
    return n;
}

CUresult fgs__sim_func_get(int *value, CUfunction_attribute attrib,
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
    case CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED:
        *value = 0;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE:
        *value = (int)f->shared_mode;
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
        r = value ? fgs__sim_func_get(value, attrib, f)
                  : CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_func_set(struct fgs__sim_func *f,
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
    case CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE:
        if (value < 0 ||
            value > CU_SHARED_MEMORY_MODE_PREFER_OVERSIZED_SHARED_MEMORY)
            return CUDA_ERROR_INVALID_VALUE;
        f->shared_mode = (uint32_t)value;
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
    r = f ? fgs__sim_func_set(f, attrib, value) : CUDA_ERROR_INVALID_HANDLE;
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
