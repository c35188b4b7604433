/* plan.c -- make and free a plan, and who uses which memory now */
#include "core/plan.h"

enum { BOUND_NS = 2000000000, STATS_ROUNDS = 256, FILL_BLOCKS_PER_SM = 8 };

fgs_result fgs__plan_get(struct fgs__plan **out, const fgs_plan *plan,
                         fgs_error *err)
{
    struct fgs__obj *o;
    fgs_result r = fgs__obj_get(&o, plan, FGS__PLAN, "plan", err);

    *out = (struct fgs__plan *)(void *)o;
    return r;
}

/* -------------------------------------------------------- memory in use -- */

static const struct fgs__use *uses(const struct fgs__plan *p, CUdeviceptr ptr,
                                   uint64_t bytes)
{
    for (int i = 0; i < FGS__BUFFERS; i++) {
        if (fgs__overlap(p->use[i].ptr, p->use[i].bytes, ptr, bytes))
            return &p->use[i];
    }
    return NULL;
}

/* Launched, and not at its end yet.  A query that fails counts as unfinished:
 * the run's own wait tells what is wrong. */
static int unfinished(const struct fgs__plan *p)
{
    return p->launching ||
        (p->running && p->dev->cu.cuEventQuery(p->end) != CUDA_SUCCESS);
}

fgs_result fgs__plans_idle(struct fgs__device *d, CUdeviceptr ptr,
                           uint64_t bytes, const char *name, fgs_error *err)
{
    fgs_result r = FGS_OK;

    pthread_mutex_lock(&d->lock);
    for (const struct fgs__plan *p = d->plans; p && r >= 0; p = p->next) {
        if (uses(p, ptr, bytes) && unfinished(p))
            r = fgs__fail(err, FGS_E_BUSY,
                          "buffer '%s': an unfinished run uses it", name);
    }
    pthread_mutex_unlock(&d->lock);
    return r;
}

void fgs__plans_wait(struct fgs__device *d, CUdeviceptr ptr, uint64_t bytes,
                     const fgs_kernel *kernel)
{
    pthread_mutex_lock(&d->lock);
    for (struct fgs__plan *p = d->plans; p; p = p->next) {
        int mine = bytes && uses(p, ptr, bytes);

        for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++)
            mine |= kernel && p->stage[i].handle == kernel;
        if (!mine || !p->running || !fgs__device_enter_quiet(d))
            continue;
        fgs__device_lost(d, d->cu.cuEventSynchronize(p->end),
                         "cuEventSynchronize", "an unfinished run");
        fgs__device_leave(d);
    }
    pthread_mutex_unlock(&d->lock);
}

fgs_result fgs__plan_alone(struct fgs__plan *p, CUstream stream, fgs_error *err)
{
    for (const struct fgs__plan *o = p->dev->plans; o; o = o->next) {
        if (o == p || o->stream == stream || !o->running)
            continue;
        for (int i = 0; i < FGS__BUFFERS; i++) {
            const struct fgs__use *with =
                uses(o, p->use[i].ptr, p->use[i].bytes);

            /* Two readers do each other no harm. */
            if (!with || (i == FGS__IN && with == &o->use[FGS__IN]))
                continue;
            if (unfinished(o))
                return fgs__fail(err, FGS_E_BUSY,
                                 "buffer '%s': an unfinished run of another "
                                 "plan on another stream uses this memory as "
                                 "'%s'",
                                 p->use[i].name, with->name);
        }
    }
    return FGS_OK;
}

/* --------------------------------------------------------------- checks -- */

static fgs_result take_kernel(struct fgs__plan *p, fgs_role role,
                              fgs_kernel *handle, struct fgs__kernel **out,
                              fgs_error *err)
{
    struct fgs__stage *s = &p->stage[role];
    struct fgs__kernel *k;
    char what[48];
    fgs_result r;

    snprintf(what, sizeof what, "fgs_plan_desc.%s", fgs__roles[role].name);
    r = fgs__kernel_get(&k, handle, what, err);
    if (r < 0)
        return r;
    if (k->dev != p->dev)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s (%s) was made from another device", what,
                         k->entry);
    if (k->role != role)
        return fgs__fail(err, FGS_E_MISMATCH, "%s (%s) is a kernel for %s",
                         what, k->entry, fgs__roles[k->role].name);
    s->handle = handle;
    memcpy(s->entry, k->entry, sizeof s->entry);
    s->threads = k->shape.threads;
    s->shared = k->shared_bytes;
    *out = k;
    return FGS_OK;
}

static fgs_result take_buffer(struct fgs__plan *p, int i, fgs_buffer *handle,
                              const char *member, struct fgs__buffer **out,
                              fgs_error *err)
{
    struct fgs__use *u = &p->use[i];
    struct fgs__buffer *b;
    char what[48];
    fgs_result r;

    snprintf(what, sizeof what, "fgs_plan_desc.%s", member);
    r = fgs__buffer_get(&b, handle, what, err);
    if (r < 0)
        return r;
    if (b->dev != p->dev)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s ('%s') was made from another device", what,
                         b->name);
    u->handle = handle;
    memcpy(u->name, b->name, sizeof u->name);
    u->ptr = b->ptr;
    u->bytes = b->bytes;
    *out = b;
    return FGS_OK;
}

/* ------------------------------------------------------------ resources -- */

static fgs_result call_failed(struct fgs__plan *p, fgs_error *err, CUresult r,
                              const char *call, const char *what)
{
    return fgs__device_fail(p->dev, err, r, call, "%s of the plan", what);
}

/* Everything here is given back by release(), also when only part of it was
 * made. */
static fgs_result acquire(struct fgs__plan *p, fgs_error *err)
{
    const struct fgs__cu *cu = &p->dev->cu;
    CUdeviceptr rec;
    CUresult r;

    r = cu->cuMemAlloc(&p->ctl, sizeof(struct fgs__control));
    if (r != CUDA_SUCCESS) {
        p->ctl = 0;
        return call_failed(p, err, r, "cuMemAlloc", "control block");
    }
    r = cu->cuMemHostAlloc((void **)&p->rec, sizeof *p->rec,
                           CU_MEMHOSTALLOC_PORTABLE |
                               CU_MEMHOSTALLOC_DEVICEMAP);
    if (r != CUDA_SUCCESS) {
        p->rec = NULL;
        return call_failed(p, err, r, "cuMemHostAlloc", "record");
    }
    r = cu->cuMemHostGetDevicePointer(&rec, p->rec, 0);
    if (r != CUDA_SUCCESS)
        return call_failed(p, err, r, "cuMemHostGetDevicePointer", "record");
    r = cu->cuMemHostAlloc((void **)&p->stats, STATS_ROUNDS * sizeof *p->stats,
                           CU_MEMHOSTALLOC_PORTABLE);
    if (r != CUDA_SUCCESS) {
        p->stats = NULL;
        return call_failed(p, err, r, "cuMemHostAlloc", "statistics");
    }
    p->stats_rounds = STATS_ROUNDS;
    r = cu->cuEventCreate(&p->start, CU_EVENT_DEFAULT);
    if (r != CUDA_SUCCESS) {
        p->start = NULL;
        return call_failed(p, err, r, "cuEventCreate", "start event");
    }
    r = cu->cuEventCreate(&p->end, CU_EVENT_DEFAULT);
    if (r != CUDA_SUCCESS) {
        p->end = NULL;
        return call_failed(p, err, r, "cuEventCreate", "end event");
    }
    p->args.p_ctl = p->ctl;
    p->args.p_rec = rec;
    return FGS_OK;
}

static void release(struct fgs__plan *p)
{
    struct fgs__device *d = p->dev;

    if (p->end)
        fgs__device_lost(d, d->cu.cuEventDestroy(p->end), "cuEventDestroy",
                         "end event");
    if (p->start)
        fgs__device_lost(d, d->cu.cuEventDestroy(p->start), "cuEventDestroy",
                         "start event");
    if (p->stats)
        fgs__device_lost(d, d->cu.cuMemFreeHost(p->stats), "cuMemFreeHost",
                         "statistics");
    if (p->rec)
        fgs__device_lost(d, d->cu.cuMemFreeHost(p->rec), "cuMemFreeHost",
                         "record");
    if (p->ctl)
        fgs__device_lost(d, d->cu.cuMemFree(p->ctl), "cuMemFree",
                         "control block");
}

/* ------------------------------------------------------------------ API -- */

static void set_args(struct fgs__plan *p, const fgs_plan_desc *d)
{
    uint64_t fill = (uint64_t)p->dev->sm_count * FILL_BLOCKS_PER_SM;

    p->args.p_in = p->use[FGS__IN].ptr;
    p->args.p_mid = p->use[FGS__MID].ptr;
    p->args.p_out = p->use[FGS__OUT].ptr;
    p->args.p_tiles = p->tiles;
    p->args.p_bound_ns = d->bound_ns ? d->bound_ns : BOUND_NS;
    p->args.p_max_tries = d->max_tries;
    p->args.p_work_ns = d->work_ns;
    p->args.p_fault_tile = d->fault_tile;
    p->args.p_fault_chunk = d->fault_chunk;
    p->stage[FGS_ROLE_INIT].blocks =
        (uint32_t)(p->tiles < fill || !fill ? p->tiles : fill);
    p->stage[FGS_ROLE_PRODUCER].blocks = (uint32_t)p->tiles;
    p->stage[FGS_ROLE_CONSUMER].blocks = (uint32_t)p->tiles;
}

static fgs_result build(struct fgs__plan *p, const fgs_plan_desc *d,
                        fgs_error *err)
{
    fgs_kernel *const kernels[] = { NULL, d->init, d->producer, d->consumer };
    fgs_buffer *const buffers[] = { d->in, d->mid, d->out };
    static const char *const members[] = { "in", "mid", "out" };
    struct fgs__kernel *k[FGS__ROLE_COUNT];
    struct fgs__buffer *b[FGS__BUFFERS];
    fgs_result r;

    for (fgs_role i = FGS_ROLE_INIT; i <= FGS_ROLE_CONSUMER; i++) {
        r = take_kernel(p, i, kernels[i], &k[i], err);
        if (r < 0)
            return r;
    }
    for (int i = 0; i < FGS__BUFFERS; i++) {
        r = take_buffer(p, i, buffers[i], members[i], &b[i], err);
        if (r < 0)
            return r;
    }
    r = fgs__fit_check(b, k, err);
    if (r < 0)
        return r;
    p->tiles = b[FGS__MID]->tiles;
    p->engine = k[FGS_ROLE_CONSUMER]->engine;
    p->no_pdl = d->no_pdl != 0;
    set_args(p, d);
    r = fgs__device_enter(p->dev, err);
    if (r < 0)
        return r;
    r = fgs__plan_renew(p, 1, err);
    fgs__plan_let_go(p);
    if (r >= 0)
        r = acquire(p, err);
    if (r < 0)
        release(p);
    fgs__device_leave(p->dev);
    return r;
}

static fgs_result check_desc(struct fgs__device *d, const fgs_plan_desc *desc,
                             fgs_error *err)
{
    fgs_result r;

    if (!desc)
        return fgs__fail(err, FGS_E_NULL, "desc is NULL");
    r = fgs__check_size(err, "fgs_plan_desc", desc, desc->size, sizeof *desc,
                        sizeof *desc);
    if (r < 0)
        return r;
    if (desc->reserved || desc->reserved2)
        return fgs__fail(err, FGS_E_ABI,
                         "fgs_plan_desc: a reserved member is not zero");
    if (desc->no_pdl > 1)
        return fgs__fail(err, FGS_E_INVAL, "fgs_plan_desc.no_pdl is %u",
                         desc->no_pdl);
    return FGS__NEED(d, err, FGS__CU_cuFuncSetAttribute, FGS__CU_cuMemAlloc,
                     FGS__CU_cuMemFree, FGS__CU_cuMemHostAlloc,
                     FGS__CU_cuMemFreeHost, FGS__CU_cuMemHostGetDevicePointer,
                     FGS__CU_cuEventCreate, FGS__CU_cuEventDestroy,
                     FGS__CU_cuEventSynchronize, FGS__CU_cuEventQuery);
}

fgs_result fgs_plan_make(fgs_plan **out, fgs_device *dev,
                         const fgs_plan_desc *desc, fgs_error *err)
{
    struct fgs__device *d;
    struct fgs__plan *p;
    fgs_result r;

    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    *out = NULL;
    r = fgs__device_get(&d, dev, err);
    if (r >= 0)
        r = check_desc(d, desc, err);
    if (r < 0)
        return r;
    p = fgs__zalloc(&d->alloc, sizeof *p);
    if (!p)
        return fgs__nomem(err);
    p->dev = d;
    r = build(p, desc, err);
    if (r < 0) {
        fgs__free(&d->alloc, p);
        return r;
    }
    fgs__device_ref(d);
    pthread_mutex_lock(&d->lock);
    p->next = d->plans;
    d->plans = p;
    pthread_mutex_unlock(&d->lock);
    *out = fgs__obj_add(&p->obj, FGS__PLAN);
    return FGS_OK;
}

static void unlink_plan(struct fgs__plan *p)
{
    struct fgs__plan **link = &p->dev->plans;

    pthread_mutex_lock(&p->dev->lock);
    while (*link && *link != p)
        link = &(*link)->next;
    if (*link)
        *link = p->next;
    pthread_mutex_unlock(&p->dev->lock);
}

void fgs_plan_free(fgs_plan *plan)
{
    struct fgs__plan *p =
        (struct fgs__plan *)(void *)fgs__obj_take(plan, FGS__PLAN);
    struct fgs__device *d;

    if (!p)
        return;
    d = p->dev;
    unlink_plan(p);
    if (fgs__device_enter_quiet(d)) {
        if (p->running)
            fgs__device_lost(d, d->cu.cuEventSynchronize(p->end),
                             "cuEventSynchronize", "an unfinished run");
        release(p);
        fgs__device_leave(d);
    }
    fgs__plan_let_go(p);
    fgs__free(&d->alloc, p);
    fgs__device_unref(d);
}
