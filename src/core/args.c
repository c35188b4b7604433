/* args.c -- what each launch is given, and what of it follows the round */
#include "core/compose.h"

/* Pointers of the library's kernels by access: what it reads, then what it
 * writes. */
static uint64_t *pointer(struct fgs__stage *s, uint32_t access)
{
    struct fgs__args *a = &s->args;

    if (s->access[access].write)
        return s->role == FGS_ROLE_PRODUCER ? &a->p_mid : &a->p_out;
    if (access)
        return &a->p_mid2; /* of a join */
    return s->role == FGS_ROLE_PRODUCER ? &a->p_in : &a->p_mid;
}

static void follow(struct fgs__plan *p, uint64_t *value, uint32_t use,
                   uint64_t offset, uint32_t shift)
{
    *value = p->use[use].ptr + offset;
    p->patch[p->patches++] = (struct fgs__patch){
        .value = value, .use = use, .offset = offset, .shift = shift
    };
}

/* Is the edge that ends in this access ordered so? */
static int taken(const struct fgs__plan *p, uint32_t stage, uint32_t access,
                 fgs_order order)
{
    for (uint32_t i = p->stage[stage].in; i < p->stage[stage].in_end; i++) {
        if (p->edge[i].access == access &&
            p->edge[i].taken == order)
            return 1;
    }
    return 0;
}

static void library_access(struct fgs__plan *p, uint32_t stage, uint32_t i)
{
    struct fgs__stage *s = &p->stage[stage];
    const struct fgs__access *a = &s->access[i];
    const struct fgs__use *u = &p->use[a->use];

    /* Block 0 takes tile `first`. */
    follow(p, pointer(s, i), a->use, a->first * u->tile_bytes, 0);
    if (a->table_dev)
        s->args.p_table = a->table_dev;
    if (a->write) {
        s->args.p_flags_out = u->flags ? u->flags + 4 * a->first : 0;
        return;
    }
    if (taken(p, stage, i, FGS_ORDER_FLAG))
        *(i ? &s->args.p_flags_in2 : &s->args.p_flags_in) =
            u->flags + 4 * a->first;
    if (fgs__role_joins(s->role) && taken(p, stage, i, FGS_ORDER_PDL))
        s->args.p_grids = 1;
    /* A reader clears what it reads; a ring's the slot before that. */
    if (!i && u->sentinel && s->role != FGS_ROLE_PRODUCER &&
        (u->fill == FGS_FILL_READER || u->fill == FGS_FILL_RING))
        follow(p, &s->args.p_clear, a->use, a->first * u->tile_bytes,
               u->fill == FGS_FILL_RING ? u->slots - 1 : 0);
}

static CUdeviceptr record_of(const struct fgs__plan *p, uint32_t stage)
{
    return p->rec_dev + stage * sizeof *p->rec;
}

static CUdeviceptr stat_of(const struct fgs__plan *p, uint32_t stage)
{
    return p->level ? p->ctl + sizeof(struct fgs__ctl) +
                          stage * sizeof(struct fgs__stat)
                    : 0;
}

static CUdeviceptr trace_of(const struct fgs__plan *p, uint32_t stage)
{
    return p->level > 1 ? p->trace + p->stage[stage].trace_at *
                                         sizeof(fgs_trace_row)
                        : 0;
}

static fgs_result library_args(struct fgs__plan *p, uint32_t stage,
                               const fgs_stage_desc *d, fgs_error *err)
{
    struct fgs__stage *s = &p->stage[stage];
    struct fgs__args *a = &s->args;
    void *const params[FGS__PARAMS] = {
#define PARAM(name, type, meaning) &a->name,
#include "table/param.def"
#undef PARAM
    };

    s->params = fgs__zalloc(&p->dev->alloc, sizeof params);
    if (!s->params)
        return fgs__nomem(err);
    memcpy(s->params, params, sizeof params);
    a->p_ctl = p->ctl;
    a->p_rec = record_of(p, stage);
    a->p_stat = stat_of(p, stage);
    a->p_trace = trace_of(p, stage);
    a->p_bound_ns = p->bound_ns;
    a->p_max_tries = p->max_tries;
    if (s->fills != FGS__NOWHERE) {
        a->p_mid = p->use[s->fills].ptr;
        return FGS_OK; /* p_tiles: of the round */
    }
    for (uint32_t i = 0; i < s->accesses; i++)
        library_access(p, stage, i);
    a->p_tiles = s->persistent ? fgs__stage_tiles(p, s) : s->grid[0];
    a->p_work_ns = d->work_ns;
    a->p_spread_ns = d->spread_ns;
    a->p_fault_tile = d->fault_tile;
    a->p_fault_chunk = d->fault_chunk;
    return FGS_OK;
}

uint64_t fgs__stage_tiles(const struct fgs__plan *p, const struct fgs__stage *s)
{
    const struct fgs__access *a = &s->access[0];

    return a->table ? a->tables : p->use[a->use].tiles - a->first;
}

/* ------------------------------------------------- of the application's -- */

static fgs_result find_use(const struct fgs__plan *p,
                           const struct fgs__stage *s, uint32_t index,
                           const fgs_arg *arg, uint32_t *use, fgs_error *err)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        *use = s->access[i].use;
        if (p->use[*use].handle == arg->buffer)
            return FGS_OK;
    }
    return fgs__fail(err, FGS_E_MISMATCH,
                     "%s: argument %u is of a buffer that the stage does not "
                     "touch",
                     s->name, index);
}

static uint32_t order_of(const struct fgs__plan *p, const struct fgs__stage *s,
                         uint32_t use)
{
    for (uint32_t i = s->in; i < s->in_end; i++) {
        if (p->edge[i].use == use)
            return p->edge[i].taken;
    }
    return 0;
}

/* The table by which the stage touches a buffer, in device memory; 0 = none. */
static CUdeviceptr table_of(const struct fgs__stage *s, uint32_t use)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        if (s->access[i].use == use && s->access[i].table)
            return s->access[i].table_dev;
    }
    return 0;
}

static uint32_t size_of(const fgs_arg *arg)
{
    if (arg->kind == FGS_ARG_VALUE)
        return arg->bytes;
    if (arg->kind == FGS_ARG_MAP)
        return FGS__MAP_BYTES;
    return arg->kind == FGS_ARG_ROUND || arg->kind == FGS_ARG_ORDER ? 4 : 8;
}

static fgs_result own_arg(struct fgs__plan *p, uint32_t stage, uint32_t index,
                          const fgs_arg *arg, void *at, fgs_error *err)
{
    struct fgs__stage *s = &p->stage[stage];
    uint64_t *value = at;
    uint32_t use = 0;
    fgs_result r = FGS_OK;

    switch (arg->kind) {
    case FGS_ARG_VALUE:
        memcpy(at, arg->value, arg->bytes);
        return FGS_OK;
    case FGS_ARG_BUFFER:
    case FGS_ARG_FLAGS:
    case FGS_ARG_TILES:
    case FGS_ARG_TABLE:
    case FGS_ARG_MAP:
        r = find_use(p, s, index, arg, &use, err);
        if (r < 0)
            return r;
        if (arg->kind == FGS_ARG_BUFFER)
            follow(p, value, use, 0, 0);
        else if (arg->kind == FGS_ARG_FLAGS)
            *value = p->use[use].flags;
        else if (arg->kind == FGS_ARG_TABLE)
            *value = table_of(s, use);
        else if (arg->kind == FGS_ARG_MAP)
            return fgs__map_take(p, use, arg, at, err);
        else
            p->patch[p->patches++] = (struct fgs__patch){
                .value = value, .use = use, .tiles = 1
            };
        return FGS_OK;
    case FGS_ARG_ORDER:
        r = find_use(p, s, index, arg, &use, err);
        if (r >= 0)
            *(uint32_t *)at = order_of(p, s, use);
        return r;
    case FGS_ARG_ROUND:
        s->round = at;
        return FGS_OK;
    case FGS_ARG_CTL:
        *value = p->ctl;
        return FGS_OK;
    case FGS_ARG_REC:
        *value = record_of(p, stage);
        return FGS_OK;
    case FGS_ARG_STAT:
        *value = stat_of(p, stage);
        return FGS_OK;
    case FGS_ARG_TRACE:
        *value = trace_of(p, stage);
        return FGS_OK;
    case FGS_ARG_BOUND_NS:
        *value = p->bound_ns;
        return FGS_OK;
    case FGS_ARG_MAX_TRIES:
        *value = p->max_tries;
        return FGS_OK;
    default:
        return FGS_OK;
    }
}

static fgs_result check_arg(const struct fgs__stage *s, uint32_t i,
                            const fgs_arg *arg, fgs_error *err)
{
    if ((unsigned)arg->kind >= FGS_ARG_COUNT)
        return fgs__fail(err, FGS_E_INVAL, "%s: argument %u: kind is %u",
                         s->name, i, (unsigned)arg->kind);
    if (arg->kind == FGS_ARG_VALUE && (!arg->value || !arg->bytes ||
                                       arg->bytes > 4096))
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: argument %u: a value has 1 ... 4096 bytes, "
                         "%u are stated%s",
                         s->name, i, arg->bytes,
                         arg->value ? "" : " and value is NULL");
    if (arg->kind == FGS_ARG_MAP && !arg->value)
        return fgs__fail(err, FGS_E_NULL,
                         "%s: argument %u: value of a tensor map is NULL",
                         s->name, i);
    return FGS_OK;
}

/* The driver copies as many bytes as the kernel's parameter has, and as many
 * parameters: it does not see where ours end. */
static fgs_result check_params(const struct fgs__plan *p,
                               const struct fgs__stage *s,
                               const fgs_stage_desc *d, fgs_error *err)
{
    size_t at, bytes;

    if (!p->dev->cu.cuFuncGetParamInfo)
        return FGS_OK;
    for (uint32_t i = 0; i <= d->arg_count; i++) {
        CUresult r = p->dev->cu.cuFuncGetParamInfo(s->function, i, &at, &bytes);
        int there = r == CUDA_SUCCESS;

        if (!there && r != CUDA_ERROR_INVALID_VALUE)
            return FGS_OK; /* not known */
        if (there != (i < d->arg_count))
            return fgs__fail(err, FGS_E_MISMATCH,
                             "%s: %u arguments are stated, and its kernel has "
                             "%s",
                             s->name, d->arg_count,
                             there ? "more parameters" : "fewer parameters");
        if (there && bytes != size_of(&d->args[i]))
            return fgs__fail(err, FGS_E_MISMATCH,
                             "%s: argument %u has %u bytes, its kernel's "
                             "parameter %zu",
                             s->name, i, size_of(&d->args[i]), bytes);
    }
    return FGS_OK;
}

/* Each value stands 16-byte aligned in the blob. */
static uint64_t room_of(const fgs_arg *arg)
{
    return (size_of(arg) + 15u) & ~15u;
}

static fgs_result own_args(struct fgs__plan *p, uint32_t stage,
                           const fgs_stage_desc *d, fgs_error *err)
{
    struct fgs__stage *s = &p->stage[stage];
    uint64_t bytes = 16, at = 0;
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < d->arg_count; i++) {
        r = check_arg(s, i, &d->args[i], err);
        bytes += room_of(&d->args[i]);
    }
    if (r >= 0)
        r = check_params(p, s, d, err);
    if (r < 0)
        return r;
    s->blob = fgs__zalloc(&p->dev->alloc, bytes);
    s->params = fgs__zalloc(&p->dev->alloc,
                            (d->arg_count + 1) * sizeof *s->params);
    if (!s->blob || !s->params)
        return fgs__nomem(err);
    for (uint32_t i = 0; r >= 0 && i < d->arg_count; i++) {
        s->params[i] = s->blob + at;
        r = own_arg(p, stage, i, &d->args[i], s->params[i], err);
        at += room_of(&d->args[i]);
    }
    return r;
}

/* ------------------------------------------------------------------ all -- */

static void set_config(struct fgs__stage *s)
{
    s->config.gridDimX = s->grid[0];
    s->config.gridDimY = s->grid[1];
    s->config.gridDimZ = s->grid[2];
    s->config.blockDimX = s->block[0];
    s->config.blockDimY = s->block[1];
    s->config.blockDimZ = s->block[2];
    s->config.sharedMemBytes = s->shared;
}

static fgs_result make_patches(struct fgs__plan *p, const fgs_plan_spec *spec,
                               fgs_error *err)
{
    uint64_t n = 1, maps = 0;

    for (uint32_t i = 0; i < p->stages; i++)
        n += p->stage[i].accesses + 1u;
    for (uint32_t i = 0; i < spec->stage_count; i++) {
        n += spec->stages[i].arg_count;
        for (uint32_t j = 0; j < spec->stages[i].arg_count; j++)
            maps += spec->stages[i].args[j].kind == FGS_ARG_MAP;
    }
    p->patch = fgs__zalloc(&p->dev->alloc, n * sizeof *p->patch);
    p->map = fgs__zalloc(&p->dev->alloc, (maps + 1) * sizeof *p->map);
    return p->patch && p->map ? FGS_OK : fgs__nomem(err);
}

fgs_result fgs__plan_args(struct fgs__plan *p, const fgs_plan_spec *spec,
                          fgs_error *err)
{
    fgs_result r = make_patches(p, spec, err);

    for (uint32_t i = 0; r >= 0 && i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];
        const fgs_stage_desc *d =
            s->given == FGS__NOWHERE ? NULL : &spec->stages[s->given];

        set_config(s);
        if (s->role)
            s->round = &s->args.p_round;
        r = s->role ? library_args(p, i, d, err) : own_args(p, i, d, err);
    }
    return r;
}
