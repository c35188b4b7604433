/* plan.c -- handles of plans, and who uses which memory now */
#include "core/compose.h"

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
    for (uint32_t i = 0; i < p->uses; i++) {
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

static fgs_result can_rebind(const struct fgs__plan *p,
                             const struct fgs__buffer *b, CUdeviceptr ptr,
                             fgs_error *err)
{
    int mine = 0;

    for (uint32_t i = 0; i < p->uses; i++)
        mine |= (uintptr_t)p->use[i].handle == b->obj.handle;
    if (!mine)
        return FGS_OK;
    if (unfinished(p))
        return fgs__fail(err, FGS_E_BUSY,
                         "buffer '%s': an unfinished run uses it", b->name);
    for (uint32_t i = 0; i < p->uses; i++) {
        const struct fgs__use *u = &p->use[i];

        if ((uintptr_t)u->handle != b->obj.handle &&
            fgs__overlap(u->ptr, u->bytes, ptr, b->bytes))
            return fgs__fail(err, FGS_E_MISMATCH,
                             "buffers '%s' and '%s' would overlap", u->name,
                             b->name);
    }
    return fgs__maps_try(p, (fgs_buffer *)b->obj.handle, ptr, err);
}

fgs_result fgs__plans_rebind(const struct fgs__buffer *b, CUdeviceptr ptr,
                             fgs_error *err)
{
    struct fgs__device *d = b->dev;
    fgs_result r = FGS_OK;

    pthread_mutex_lock(&d->lock);
    for (struct fgs__plan *p = d->plans; p && r >= 0; p = p->next)
        r = can_rebind(p, b, ptr, err);
    for (struct fgs__plan *p = d->plans; p && r >= 0; p = p->next) {
        fgs__maps_rebind(p, (fgs_buffer *)b->obj.handle, ptr);
        for (uint32_t i = 0; i < p->uses; i++) {
            if ((uintptr_t)p->use[i].handle != b->obj.handle)
                continue;
            p->use[i].ptr = ptr;
            p->use[i].clean = 0;
        }
        fgs__plan_sort_places(p);
    }
    if (r >= 0)
        d->ran_last = NULL;
    pthread_mutex_unlock(&d->lock);
    return r;
}

static int has_kernel(const struct fgs__plan *p, const fgs_kernel *kernel)
{
    for (uint32_t i = 0; kernel && i < p->stages; i++) {
        if (p->stage[i].handle == kernel)
            return 1;
    }
    return 0;
}

void fgs__plans_wait(struct fgs__device *d, CUdeviceptr ptr, uint64_t bytes,
                     const fgs_kernel *kernel)
{
    pthread_mutex_lock(&d->lock);
    for (struct fgs__plan *p = d->plans; p; p = p->next) {
        if (!(bytes && uses(p, ptr, bytes)) && !has_kernel(p, kernel))
            continue;
        p->stale = 1;
        if (!p->running || !fgs__device_enter_quiet(d))
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
        if (o == p || o->run_stream == stream || !o->running)
            continue;
        for (uint32_t i = 0; i < p->uses; i++) {
            const struct fgs__use *u = &p->use[i];
            const struct fgs__use *with = uses(o, u->ptr, u->bytes);

            /* Two readers do each other no harm. */
            if (!with || (!u->written && !with->written))
                continue;
            if (unfinished(o))
                return fgs__fail(err, FGS_E_BUSY,
                                 "buffer '%s': an unfinished run of another "
                                 "plan on another stream uses this memory as "
                                 "'%s'",
                                 u->name, with->name);
        }
    }
    return FGS_OK;
}

/* ------------------------------------------------------------------ API -- */

static void unlink_plan(struct fgs__plan *p)
{
    struct fgs__plan **link = &p->dev->plans;

    pthread_mutex_lock(&p->dev->lock);
    while (*link && *link != p)
        link = &(*link)->next;
    if (*link)
        *link = p->next;
    if (p->dev->ran_last == p)
        p->dev->ran_last = NULL;
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
        fgs__plan_release(p);
        fgs__device_leave(d);
    }
    fgs__plan_let_go(p);
    fgs__plan_drop(p);
    fgs__device_unref(d);
}
