/* cu_launch.c -- entry points: kernel launch and occupancy */
#include "sim/graph.h"
#include "sim/reference.h"

/* A launch as both entry points describe it. */
struct launch {
    uint32_t grid[3], block[3];
    uint32_t dynamic;
    bool programmatic, cooperative;
    bool node_only;            /* for a launch that becomes a node           */
    int priority;
    CUevent trigger, launched;
    unsigned char trigger_port;
    struct fgs__sim_ask ask;
    const CUlaunchConfig *config; /* of the attributes; NULL = it had none   */
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

/* The knob that lets no block of the kernel onto an SM, as the text of the
 * refusal: the driver's code alone does not say which it is. */
static CUresult no_place(const fgs_sim_config *cfg,
                         const struct fgs__sim_func *f,
                         uint32_t threads, uint32_t shared)
{
    uint32_t regs = fgs__sim_block_regs(f->code, threads);
    const char *name = f->func->name;

    if (threads > cfg->sm_threads)
        fgs__sim_refused("%s: a block of %u threads, an SM has %u "
                         "(FGS_SIM_SM_THREADS)", name, (unsigned)threads,
                         (unsigned)cfg->sm_threads);
    else if (regs > cfg->sm_registers)
        fgs__sim_refused("%s: a block of %u registers, an SM has %u "
                         "(FGS_SIM_SM_REGISTERS)", name, (unsigned)regs,
                         (unsigned)cfg->sm_registers);
    else
        fgs__sim_refused("%s: a block of %u bytes of shared memory, an SM has "
                         "%u (FGS_SIM_SM_SHARED)", name,
                         (unsigned)fgs__sim_block_shared(cfg, shared),
                         (unsigned)cfg->sm_shared);
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static CUresult check_launch(const struct fgs__sim_func *f,
                             const struct launch *l)
{
    const fgs_sim_config *cfg = &f->module->ctx->dev->cfg;
    uint32_t shared = f->code->shared_bytes + l->dynamic;
    CUresult r = check_dims(l);
    uint32_t threads;

    if (!r)
        r = check_threads(f, l);
    if (!r && l->dynamic > fgs__sim_max_dynamic(f, l->ask.shared_mode))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && f->code->heap)
        r = fgs__sim_heap_make(f->module->ctx);
    threads = l->block[0] * l->block[1] * l->block[2];
    if (!r && !fgs__sim_fit(cfg, f->code, threads, shared))
        r = no_place(cfg, f, threads, shared);
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
    g->last_block = g->blocks;
    g->threads = l->block[0] * l->block[1] * l->block[2];
    g->dynamic_bytes = l->dynamic;
    g->shared_bytes = f->code->shared_bytes + l->dynamic;
    g->params = params;
    if (f->code->deep) /* how deep is not known at load */
        g->stack_bytes = (uint32_t)g->ctx->limit[CU_LIMIT_STACK_SIZE];
}

/* All blocks of a cooperative grid are resident at once. */
static CUresult check_cooperative(const struct fgs__sim_func *f,
                                  const struct launch *l)
{
    const fgs_sim_config *cfg = &f->module->ctx->dev->cfg;
    uint64_t fit = fgs__sim_fit(cfg, f->code,
                                l->block[0] * l->block[1] * l->block[2],
                                f->code->shared_bytes + l->dynamic);

    if (l->cooperative &&
        (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > fit * cfg->sms)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_SUCCESS;
}

/* .blocksareclusters: the launch counts clusters (ISA 11.8.1). */
static CUresult count_clusters(const struct fgs__sim_func *f, struct launch *l)
{
    for (int k = 0; k < 3 && f->func->blocksareclusters; k++) {
        if (l->grid[k] > UINT32_MAX / f->func->reqcluster[k])
            return CUDA_ERROR_INVALID_VALUE;
        l->grid[k] *= f->func->reqcluster[k];
    }
    return CUDA_SUCCESS;
}

static CUresult make_op(struct fgs__sim_op **out, struct fgs__sim_ctx *ctx,
                        CUfunction func, struct launch *l,
                        struct fgs__sim_stream *s, void **params, void **extra)
{
    const fgs_allocator *a = &ctx->dev->alloc;
    struct fgs__sim_func *f;
    struct fgs__sim_op *op;
    CUresult r = fgs__sim_launched(ctx, func, &f);

    if (!r)
        r = count_clusters(f, l);
    if (!r)
        r = check_launch(f, l);
    if (!r)
        r = check_cooperative(f, l);
    if (!r && fgs__sim_captured(s) && fgs__sim_references_used(f))
        r = fgs__sim_capture_refuse(s);
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
    r = fgs__sim_references_bind(f->module, &op->u.kernel.grid.bound);
    op->u.kernel.ask = l->ask;
    op->u.kernel.cooperative = l->cooperative;
    if (!r)
        r = fgs__sim_cluster_apply(f, &l->ask, &op->u.kernel.grid);
    if (!r)
        r = fgs__sim_workspace_make(op);
    if (r) {
        fgs__sim_op_free(op);
        return r;
    }
    op->u.kernel.func = (CUfunction)f->handle;
    op->u.kernel.programmatic = l->programmatic;
    op->u.kernel.priority = l->priority;
    op->u.kernel.trigger = l->trigger;
    op->u.kernel.trigger_port = l->trigger_port;
    op->u.kernel.launched = l->launched;
    *out = op;
    return CUDA_SUCCESS;
}

bool fgs__sim_kernel_alive(struct fgs__sim_ctx *ctx,
                           const struct fgs__sim_op *op)
{
    struct fgs__sim_func *f = fgs__sim_func_of(ctx, op->u.kernel.func);

    return f && f->code == op->u.kernel.grid.code;
}

/* An event that a launch fires has no timing. */
static CUresult fired_event(struct fgs__sim_ctx *ctx, CUevent handle,
                            struct fgs__sim_event **out)
{
    *out = NULL;
    if (!handle)
        return CUDA_SUCCESS;
    *out = fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_EVENT,
                               handle);
    if (!*out)
        return CUDA_ERROR_INVALID_HANDLE;
    return (*out)->flags & CU_EVENT_DISABLE_TIMING ? CUDA_SUCCESS
                                                   : CUDA_ERROR_NOT_SUPPORTED;
}

static void set_mark(struct fgs__sim_event *e, struct fgs__sim_mark *m)
{
    fgs__sim_mark_drop(e->ctx->dev, e->mark);
    e->mark = m;
    e->capture = 0;
    m->refs++;
}

/* The event of the triggers, outside a graph: fired when the grid has ended, as
 * driver 580 does (seen on an H200), or, as the API allows, before that.  What
 * waits for it then is behind the grid all the same: a kernel's
 * griddepcontrol.wait, or the whole of anything else. */
static struct fgs__sim_mark *triggered(struct fgs__sim_op *op)
{
    struct fgs__sim_device *dev = op->stream->ctx->dev;
    struct fgs__sim_mark *m, *over = fgs__sim_op_over(op);

    if (!over || !dev->cfg.early_event)
        return over;
    m = op->u.kernel.fired = fgs__sim_mark_make(dev);
    if (m) {
        m->end = over;
        over->refs++;
    }
    return m;
}

/* The event of the launch is fired when the last block has begun. */
static CUresult fire(struct fgs__sim_ctx *ctx, struct fgs__sim_op *op)
{
    struct fgs__sim_event *trigger, *launched;
    struct fgs__sim_mark *m = NULL;
    CUresult r = fired_event(ctx, op->u.kernel.trigger, &trigger);

    if (!r)
        r = fired_event(ctx, op->u.kernel.launched, &launched);
    if (r || fgs__sim_captured(op->stream))
        return r;
    if (launched)
        op->u.kernel.started = fgs__sim_mark_make(ctx->dev);
    if (trigger)
        m = triggered(op);
    if ((trigger && !m) || (launched && !op->u.kernel.started))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (trigger)
        set_mark(trigger, m);
    if (launched)
        set_mark(launched, op->u.kernel.started);
    return CUDA_SUCCESS;
}

static CUresult launch(struct fgs__sim_ctx *ctx, CUfunction func,
                       struct launch *l, CUstream stream, void **params,
                       void **extra)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_op *op;
    CUresult r = fgs__sim_stream_get(ctx, stream, &s);

    if (!r && l->node_only && !fgs__sim_captured(s))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = make_op(&op, ctx, func, l, s, params, extra);
    if (r)
        return r;
    r = fire(ctx, op);
    if (r) {
        fgs__sim_op_free(op);
        return r;
    }
    r = fgs__sim_submit(op);
    if (!r && l->config && fgs__sim_captured(s)) /* its node is the last */
        fgs__sim_node_keep(s->last.item[0].node, l->config);
    return r;
}

CUresult fgs__sim_cuLaunchKernel(CUfunction func, unsigned int gx,
                                 unsigned int gy, unsigned int gz,
                                 unsigned int bx, unsigned int by,
                                 unsigned int bz, unsigned int shared_bytes,
                                 CUstream stream, void **params, void **extra)
{
    struct launch l = { { gx, gy, gz },
                        { bx, by, bz },
                        .dynamic = shared_bytes };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    return fgs__sim_leave(launch(ctx, func, &l, stream, params, extra));
}

static void read_value(struct launch *l, unsigned int id,
                       const CUlaunchAttributeValue *v)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        l->programmatic = v->programmaticStreamSerializationAllowed != 0;
        break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        l->cooperative = v->cooperative != 0;
        break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        l->trigger = v->programmaticEvent.event;
        l->trigger_port = v->programmaticEvent.triggerAtBlockStart
            ? CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
            : CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        break;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        l->launched = v->programmaticEvent.event;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: /* kept; no effect */
        l->priority = v->priority;
        break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        l->node_only = true;
        break;
    default: /* others are hints: attribute.c */
        fgs__sim_cluster_attr(&l->ask, id, v);
    }
}

static CUresult read_attrs(struct launch *l, const CUlaunchConfig *config)
{
    CUresult r = CUDA_SUCCESS;

    if (config->numAttrs && !config->attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < config->numAttrs && !r; i++) {
        CUlaunchAttributeValue v = config->attrs[i].value;
        unsigned int at, id = config->attrs[i].id;

        r = fgs__sim_attribute_check(&at, FGS__SIM_OF_LAUNCH, id, &v);
        if (!r)
            read_value(l, id, &v);
    }
    return r;
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
        .dynamic = config->sharedMemBytes,
        .config = config
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
    r = fgs__sim_launched(ctx, func, &f);
    if (r)
        ; /* as it is */
    else if (!blocks || block_size <= 0)
        r = CUDA_ERROR_INVALID_VALUE;
    else if ((uint32_t)block_size > fgs__sim_max_threads(f) ||
             shared_bytes > fgs__sim_max_dynamic(f, 0))
        *blocks = 0;
    else
        *blocks = (int)fgs__sim_fit(&ctx->dev->cfg, f->code,
                                    (uint32_t)block_size,
                                    f->code->shared_bytes +
                                        (uint32_t)shared_bytes);
    return fgs__sim_leave(r);
}

/* "Kernels launched using graphs must not use texture and surface references"
 * (cuGraphAddKernelNode): the driver refuses them. */
CUresult fgs__sim_kernel_op(struct fgs__sim_op **out,
                            struct fgs__sim_ctx *ctx,
                            const CUlaunchConfig *config,
                            const struct fgs__sim_op *was, CUfunction func,
                            void **params, void **extra)
{
    struct launch l = {
        { config->gridDimX, config->gridDimY, config->gridDimZ },
        { config->blockDimX, config->blockDimY, config->blockDimZ },
        .dynamic = config->sharedMemBytes
    };
    struct fgs__sim_func *f;
    CUresult r = fgs__sim_launched(ctx, func, &f);

    if (was) {
        l.ask = was->u.kernel.ask;
        l.cooperative = was->u.kernel.cooperative;
    }
    if (r)
        return r;
    if (fgs__sim_references_used(f))
        return CUDA_ERROR_NOT_SUPPORTED;
    return make_op(out, ctx, func, &l, ctx->legacy, params, extra);
}
