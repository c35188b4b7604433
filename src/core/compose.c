/* compose.c -- a plan of a description */
#include "core/compose.h"

#include <stdarg.h>

enum { BOUND_NS = 2000000000, STAGES_MAX = 1 << 20 };

fgs_result fgs__plan_broken(fgs_error *err, const struct fgs__stage *s,
                            const struct fgs__use *u, uint64_t tile,
                            const char *fmt, ...)
{
    char text[sizeof err->text];
    va_list ap;
    fgs_result r;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    r = fgs__fail(err, FGS_E_PLAN, "%s", text);
    if (!err)
        return r;
    if (s)
        snprintf(err->kernel, sizeof err->kernel, "%s", s->name);
    if (u)
        snprintf(err->buffer, sizeof err->buffer, "%s", u->name);
    if (tile != UINT64_MAX)
        err->tile = tile;
    return r;
}

/* ----------------------------------------------------------------- uses -- */

static fgs_result take_use(struct fgs__plan *p, const fgs_use *d,
                           fgs_error *err)
{
    struct fgs__kernel *k;
    struct fgs__use *u;
    uint32_t index;
    fgs_result r;

    if ((unsigned)d->fill >= FGS_FILL_COUNT || d->reserved)
        return fgs__fail(err, FGS_E_INVAL, "fgs_use: fill is %u, reserved %u",
                         (unsigned)d->fill, d->reserved);
    r = fgs__plan_use(p, d->buffer, "fgs_use.buffer", &index, err);
    if (r < 0)
        return r;
    u = &p->use[index];
    if (!d->kernel != (d->fill != FGS_FILL_KERNEL) &&
        !(d->kernel && d->fill == FGS_FILL_AUTO))
        return fgs__fail(err, FGS_E_INVAL,
                         "buffer '%s': a kernel goes with fill `kernel`, and "
                         "with no other",
                         u->name);
    if (d->fill == FGS_FILL_RING)
        return FGS_OK; /* ring.c has it */
    if (u->named)
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_plan_spec.uses names buffer '%s' twice",
                         u->name);
    u->named = 1;
    u->fill = d->fill;
    u->filler = d->kernel;
    if (!d->kernel)
        return FGS_OK;
    r = fgs__kernel_get(&k, d->kernel, "fgs_use.kernel", err);
    if (r < 0)
        return r;
    if (k->dev != p->dev || k->role != FGS_ROLE_INIT ||
        k->shape.element != u->element || k->shape.tile_bytes != u->tile_bytes)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "buffer '%s' (%s, tiles of %llu bytes) cannot be "
                         "filled by %s: a kernel for %s, %s, tiles of %u bytes",
                         u->name, fgs_element_get_info(u->element)->name,
                         (unsigned long long)u->tile_bytes, k->entry,
                         fgs__roles[k->role].name,
                         fgs_element_get_info(k->shape.element)->name,
                         k->shape.tile_bytes);
    u->fill = FGS_FILL_KERNEL;
    return FGS_OK;
}

/* ------------------------------------------------------------------ API -- */

static fgs_result check_spec(struct fgs__device *d, const fgs_plan_spec *spec,
                             fgs_error *err)
{
    fgs_result r;

    if (!spec)
        return fgs__fail(err, FGS_E_NULL, "spec is NULL");
    r = fgs__check_size(err, "fgs_plan_spec", spec, spec->size, sizeof *spec,
                        sizeof *spec);
    if (r < 0)
        return r;
    if (!spec->stages || (spec->use_count && !spec->uses))
        return fgs__fail(err, FGS_E_NULL, "fgs_plan_spec: stages or uses is "
                                          "NULL");
    if (!spec->stage_count || spec->stage_count > STAGES_MAX)
        return fgs__fail(err, FGS_E_SIZE,
                         "fgs_plan_spec.stage_count is %u, not in 1 ... %d",
                         spec->stage_count, STAGES_MAX);
    if ((unsigned)spec->order >= FGS_ORDER_COUNT || spec->receipt > 2)
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_plan_spec: order is %u, receipt %u",
                         (unsigned)spec->order, spec->receipt);
    return FGS__NEED(d, err, FGS__CU_cuFuncSetAttribute, FGS__CU_cuMemAlloc,
                     FGS__CU_cuMemFree, FGS__CU_cuMemHostAlloc,
                     FGS__CU_cuMemFreeHost, FGS__CU_cuMemHostGetDevicePointer,
                     FGS__CU_cuEventCreate, FGS__CU_cuEventDestroy,
                     FGS__CU_cuEventSynchronize, FGS__CU_cuEventQuery);
}

static fgs_result take_parts(struct fgs__plan *p, const fgs_plan_spec *spec,
                             fgs_error *err)
{
    const fgs_allocator *a = &p->dev->alloc;
    uint64_t uses = spec->use_count;
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; i < spec->stage_count; i++)
        uses += spec->stages[i].access_count;
    p->stage = fgs__zalloc(a, (spec->stage_count + uses) * sizeof *p->stage);
    p->use = fgs__zalloc(a, uses * sizeof *p->use);
    if (!p->stage || !p->use)
        return fgs__nomem(err);
    r = fgs__rings_take(p, spec, err);
    for (uint32_t i = 0; r >= 0 && i < spec->stage_count; i++) {
        p->stages++;
        r = fgs__plan_stage(p, i, &spec->stages[i], err);
    }
    if (r >= 0)
        r = fgs__rings_close(p, err);
    for (uint32_t i = 0; r >= 0 && i < spec->use_count; i++)
        r = take_use(p, &spec->uses[i], err);
    return r < 0 ? r : fgs__plan_places(p, err);
}

/* The stage that the receipt tells of: the last one that looks for sentinels,
 * else the last one. */
static void take_main(struct fgs__plan *p)
{
    uint32_t last = 0;

    p->main_stage = p->stages - 1;
    for (uint32_t i = 0; i < p->edges; i++) {
        const struct fgs__edge *e = &p->edge[i];

        if (e->taken != FGS_ORDER_SENTINEL || e->to < last)
            continue;
        last = p->main_stage = e->to;
    }
}

static fgs_result settle(struct fgs__plan *p, const fgs_plan_spec *spec,
                         fgs_error *err)
{
    fgs_result r = fgs__plan_edges(p, err);

    if (r >= 0)
        r = fgs__plan_cover(p, err);
    if (r >= 0)
        r = fgs__device_enter(p->dev, err);
    if (r < 0)
        return r;
    p->side = FGS__NOWHERE;
    r = fgs__plan_orders(p, err);
    if (r >= 0) {
        take_main(p);
        r = fgs__plan_fills(p, err);
    }
    if (r >= 0)
        r = fgs__plan_ops(p, err);
    if (r >= 0)
        r = fgs__plan_load(p, err);
    if (r >= 0)
        r = fgs__plan_acquire(p, err);
    if (r >= 0)
        r = fgs__plan_args(p, spec, err);
    if (r >= 0)
        r = fgs__plan_renew(p, 1, err);
    if (r >= 0)
        r = fgs__plan_launchable(p, err);
    fgs__plan_let_go(p);
    if (r < 0)
        fgs__plan_release(p);
    fgs__device_leave(p->dev);
    return r;
}

fgs_result fgs__plan_compose(fgs_plan **out, struct fgs__device *d,
                             const fgs_plan_spec *spec, int no_pdl,
                             fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = check_spec(d, spec, err);

    if (r < 0)
        return r;
    p = fgs__zalloc(&d->alloc, sizeof *p);
    if (!p)
        return fgs__nomem(err);
    p->dev = d;
    p->no_pdl = no_pdl;
    p->order = spec->order;
    p->level = spec->receipt;
    p->bound_ns = spec->bound_ns ? spec->bound_ns : BOUND_NS;
    p->max_tries = spec->max_tries;
    r = take_parts(p, spec, err);
    if (r >= 0)
        r = settle(p, spec, err);
    if (r < 0) {
        fgs__plan_drop(p);
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

fgs_result fgs_plan_compose(fgs_plan **out, fgs_device *dev,
                            const fgs_plan_spec *spec, fgs_error *err)
{
    struct fgs__device *d;
    fgs_result r;

    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    *out = NULL;
    r = fgs__device_get(&d, dev, err);
    return r < 0 ? r : fgs__plan_compose(out, d, spec, 0, err);
}
