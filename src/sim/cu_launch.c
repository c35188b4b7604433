/* cu_launch.c -- entry points: kernel launch and occupancy */
#include "sim/device.h"

/* A launch as both entry points describe it. */
struct launch {
    uint32_t grid[3], block[3];
    uint32_t dynamic;
    bool programmatic;
};

static CUresult check_dims(const struct launch *l)
{
    static const uint32_t most_grid[3] = { 0x7fffffff, 65535, 65535 };
    static const uint32_t most_block[3] = { FGS__SIM_MAX_BLOCK,
                                            FGS__SIM_MAX_BLOCK, 64 };

    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || l->grid[i] > most_grid[i] || !l->block[i] ||
            l->block[i] > most_block[i])
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* .reqntid must be met exactly, .maxntid bounds the number of threads. */
static CUresult check_threads(const struct fgs__sim_func *f,
                              const struct launch *l)
{
    const uint32_t *req = f->func->reqntid;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

    if (threads > FGS__SIM_MAX_BLOCK)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; req[0] && i < 3; i++) {
        if (l->block[i] != (req[i] ? req[i] : 1))
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (f->func->maxntid[0] && threads > fgs__sim_max_threads(f))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult check_launch(const struct fgs__sim_func *f,
                             const struct launch *l)
{
    const fgs_sim_config *cfg = &f->module->ctx->dev->cfg;
    CUresult r = check_dims(l);

    if (!r)
        r = check_threads(f, l);
    if (!r && l->dynamic > f->max_dynamic)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && f->code->heap)
        r = fgs__sim_heap_make(f->module->ctx);
    if (!r && !fgs__sim_fit(cfg, f->code,
                            l->block[0] * l->block[1] * l->block[2],
                            f->code->shared_bytes + l->dynamic))
        r = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return r;
}

/* `extra`: one packed buffer with the layout of the parameter block. */
static CUresult read_extra(unsigned char *out, uint32_t bytes, void **extra)
{
    const void *buffer = NULL;
    size_t size = 0;

    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END_; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER_)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE_ && extra[i + 1])
            size = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes && (!buffer || size < bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes)
        memcpy(out, buffer, bytes);
    return CUDA_SUCCESS;
}

static CUresult read_params(unsigned char *out, const struct fgs__sim_func *f,
                            void **params, void **extra)
{
    uint32_t n = 0;

    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        return read_extra(out, f->code->param_bytes, extra);
    for (const struct fgs__ptx_sym *p = f->func->params; p; p = p->next, n++) {
        if (!params || !params[n])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(out + p->offset, params[n], p->bytes);
    }
    return CUDA_SUCCESS;
}

static void fill_grid(struct fgs__sim_grid *g, const struct fgs__sim_func *f,
                      const struct launch *l, const unsigned char *params)
{
    struct fgs__sim_device *dev = f->module->ctx->dev;
    uint64_t seed;

    g->dev = dev;
    g->id = ++dev->next_grid;
    seed = dev->cfg.seed ^ g->id << 32;
    g->rng = fgs__sim_random(&seed);
    g->ctx = f->module->ctx;
    g->code = f->code;
    memcpy(g->grid, l->grid, sizeof g->grid);
    memcpy(g->block, l->block, sizeof g->block);
    g->blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    g->threads = l->block[0] * l->block[1] * l->block[2];
    g->dynamic_bytes = l->dynamic;
    g->shared_bytes = f->code->shared_bytes + l->dynamic;
    g->params = params;
    if (f->code->deep) /* how deep is not known at load */
        g->stack_bytes = (uint32_t)g->ctx->limit[CU_LIMIT_STACK_SIZE];
}

static CUresult launch(struct fgs__sim_ctx *ctx, CUfunction func,
                       const struct launch *l, CUstream stream, void **params,
                       void **extra)
{
    struct fgs__sim_func *f = fgs__sim_func_of(ctx, func);
    const fgs_allocator *a = &ctx->dev->alloc;
    struct fgs__sim_stream *s;
    struct fgs__sim_op *op;
    CUresult r;

    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r)
        r = check_launch(f, l);
    if (r)
        return r;
    op = fgs__sim_op_make(s, FGS__SIM_OP_KERNEL);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.kernel.params = fgs__zalloc(a, f->code->param_bytes + 16);
    r = op->u.kernel.params ? read_params(op->u.kernel.params, f, params,
                                          extra)
                            : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        fgs__sim_op_free(op);
        return r;
    }
    fill_grid(&op->u.kernel.grid, f, l, op->u.kernel.params);
    op->u.kernel.programmatic = l->programmatic;
    fgs__sim_op_enqueue(op);
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuLaunchKernel(CUfunction func, unsigned int gx,
                                 unsigned int gy, unsigned int gz,
                                 unsigned int bx, unsigned int by,
                                 unsigned int bz, unsigned int shared_bytes,
                                 CUstream stream, void **params, void **extra)
{
    struct launch l = { { gx, gy, gz }, { bx, by, bz }, shared_bytes, false };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    return fgs__sim_leave(launch(ctx, func, &l, stream, params, extra));
}

static CUresult read_attrs(struct launch *l, const CUlaunchConfig *config)
{
    if (config->numAttrs && !config->attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];

        switch (a->id) {
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            l->programmatic =
                a->value.programmaticStreamSerializationAllowed != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            if (a->value.sharedMemCarveout > CU_SHAREDMEM_CARVEOUT_MAX_SHARED)
                return CUDA_ERROR_INVALID_VALUE;
            break; /* a hint; the split is not modelled */
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuLaunchKernelEx(const CUlaunchConfig *config,
                                   CUfunction func, void **params,
                                   void **extra)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct launch l;

    if (r)
        return r;
    if (!config) {
        r = CUDA_ERROR_INVALID_VALUE;
        goto leave;
    }
    l = (struct launch){
        { config->gridDimX, config->gridDimY, config->gridDimZ },
        { config->blockDimX, config->blockDimY, config->blockDimZ },
        config->sharedMemBytes, false
    };
    r = read_attrs(&l, config);
    if (!r)
        r = launch(ctx, func, &l, config->hStream, params, extra);
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, CUfunction func, int block_size, size_t shared_bytes)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_func *f;

    if (r)
        return r;
    f = fgs__sim_func_of(ctx, func);
    if (!f)
        r = CUDA_ERROR_INVALID_HANDLE;
    else if (!blocks || block_size <= 0)
        r = CUDA_ERROR_INVALID_VALUE;
    else if ((uint32_t)block_size > fgs__sim_max_threads(f) ||
             shared_bytes > f->max_dynamic)
        *blocks = 0;
    else
        *blocks = (int)fgs__sim_fit(&ctx->dev->cfg, f->code,
                                    (uint32_t)block_size,
                                    f->code->shared_bytes +
                                        (uint32_t)shared_bytes);
    return fgs__sim_leave(r);
}
