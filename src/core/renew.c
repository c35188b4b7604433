/* renew.c -- a plan takes what its kernels hold now */
#include "core/plan.h"

/* ------------------------------------------------------------------ PDL -- */

/* Without griddepcontrol.wait in the consumer nothing would order its end
 * behind the producer; without a trigger nothing would overlap. */
static void decide_pdl(struct fgs__plan *p)
{
    const struct fgs__launch_attr *row =
        fgs__launch_attr_find("PROGRAMMATIC_STREAM_SERIALIZATION");
    const struct fgs__stage *producer = &p->stage[FGS_ROLE_PRODUCER];
    const struct fgs__stage *consumer = &p->stage[FGS_ROLE_CONSUMER];
    char *why = p->pdl_why;
    size_t size = sizeof p->pdl_why;

    p->pdl = 0;
    if (p->no_pdl)
        snprintf(why, size, "left out: no_pdl asks for plain stream order");
    else if (p->dev->cc < row->cc)
        snprintf(why, size,
                 "left out: it needs compute capability %d.%d, this is %d.%d",
                 row->cc / 10, row->cc % 10, (int)p->dev->cc / 10,
                 (int)p->dev->cc % 10);
    else if (!consumer->waits)
        snprintf(why, size, "left out: %s does not execute %s",
                 consumer->entry, row->needs);
    else if (!producer->triggers)
        snprintf(why, size,
                 "left out: %s does not execute "
                 "griddepcontrol.launch_dependents",
                 producer->entry);
    else
        p->pdl = 1;
    if (p->pdl)
        snprintf(why, size,
                 "set: %s executes %s, %s griddepcontrol.launch_dependents",
                 consumer->entry, row->needs, producer->entry);
    fgs__log(&p->dev->log, FGS__LOG_PLAN_PDL,
             "programmatic serialization %s", why);
}

/* Kernels with different carveouts serialize behind the reconfiguration of the
 * SM: both ends ask for the same one (guide 4.6.5). */
static fgs_result set_carveout(struct fgs__plan *p, fgs_error *err)
{
    for (int i = FGS_ROLE_PRODUCER; i <= FGS_ROLE_CONSUMER; i++) {
        CUresult r = p->dev->cu.cuFuncSetAttribute(
            p->stage[i].function,
            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
            CU_SHAREDMEM_CARVEOUT_MAX_SHARED);

        if (r != CUDA_SUCCESS)
            return fgs__device_fail(p->dev, err, r, "cuFuncSetAttribute",
                                    "carveout of %s", p->stage[i].entry);
    }
    return FGS_OK;
}

/* --------------------------------------------------------------- texts -- */

/* The consumer's own note, and what the watch kept of any kernel. */
static void write_note(struct fgs__plan *p,
                       struct fgs__kernel *const k[FGS__ROLE_COUNT])
{
    size_t size = sizeof p->note, n;

    memcpy(p->note, k[FGS_ROLE_CONSUMER]->note, size);
    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        n = strlen(p->note);
        if (k[i]->kept[0])
            snprintf(p->note + n, size - n, "%s%s", n ? "; " : "", k[i]->kept);
    }
}

/* Under the lock.  Did a kernel change since the plan looked last? */
static int take(struct fgs__plan *p,
                struct fgs__kernel *const k[FGS__ROLE_COUNT])
{
    const struct fgs__kernel *c = k[FGS_ROLE_CONSUMER];
    int changed = 0;

    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        struct fgs__stage *s = &p->stage[i];

        if (!s->held)
            s->held = fgs__loaded_ref(k[i]->loaded);
        changed |= s->generation != k[i]->generation;
        s->generation = k[i]->generation;
        s->function = k[i]->loaded->function;
        s->waits = k[i]->waits;
        s->triggers = k[i]->triggers;
    }
    p->assembled_by = c->assembled_by;
    p->ptx_version = c->ptx_version;
    memcpy(p->ptx_target, c->ptx_target, sizeof p->ptx_target);
    p->compiled = p->cached = 0;
    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        p->compiled += k[i]->compiled;
        p->cached += k[i]->cached;
    }
    return changed;
}

fgs_result fgs__plan_renew(struct fgs__plan *p, int all, fgs_error *err)
{
    struct fgs__kernel *k[FGS__ROLE_COUNT] = { NULL };
    fgs_result r;
    int changed;

    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        r = fgs__kernel_get(&k[i], p->stage[i].handle, p->stage[i].entry, err);
        if (r < 0)
            return r;
        if (p->dev->watch)
            fgs__kernel_watch(k[i]);
    }
    pthread_mutex_lock(&p->dev->lock);
    changed = take(p, k) || all;
    if (changed)
        write_note(p, k);
    pthread_mutex_unlock(&p->dev->lock);
    if (!changed)
        return FGS_OK;
    decide_pdl(p);
    r = set_carveout(p, err);
    if (r < 0) /* the next round or run tries again */
        p->stage[FGS_ROLE_PRODUCER].generation = UINT64_MAX;
    return r;
}

/* ---------------------------------------------------------- references -- */

void fgs__plan_let_go(struct fgs__plan *p)
{
    struct fgs__loaded *held[FGS__ROLE_COUNT];

    pthread_mutex_lock(&p->dev->lock);
    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        held[i] = p->stage[i].held;
        p->stage[i].held = NULL;
    }
    pthread_mutex_unlock(&p->dev->lock);
    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++)
        fgs__loaded_unref(held[i]);
}

void fgs__plans_let_go(struct fgs__device *d, const fgs_kernel *kernel)
{
    pthread_mutex_lock(&d->lock);
    for (struct fgs__plan *p = d->plans; p; p = p->next) {
        for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
            if (p->stage[i].handle != kernel)
                continue;
            fgs__loaded_unref(p->stage[i].held);
            p->stage[i].held = NULL;
        }
    }
    pthread_mutex_unlock(&d->lock);
}
