/* renew.c -- a plan takes what its kernels hold now */
#include "core/compose.h"

enum { SHARED_DEFAULT = 48 * 1024 };

/* Kernels with different carveouts serialize behind the reconfiguration of the
 * SM: all ask for the same one (guide 4.6.5). */
static fgs_result set_carveout(struct fgs__plan *p,
                               const struct fgs__stage *s, fgs_error *err)
{
    CUresult r = p->dev->cu.cuFuncSetAttribute(
        s->function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_SHAREDMEM_CARVEOUT_MAX_SHARED);

    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuFuncSetAttribute",
                            "carveout of %s", s->entry);
}

/* More dynamic shared memory than the kernel itself needs; never less than
 * another plan asked for. */
static fgs_result set_shared(struct fgs__plan *p, const struct fgs__stage *s,
                             fgs_error *err)
{
    int now = 0;
    CUresult r;

    if (s->shared <= SHARED_DEFAULT || s->asked_shared < s->shared)
        return FGS_OK;
    r = p->dev->cu.cuFuncGetAttribute(
        &now, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, s->function);
    if (r == CUDA_SUCCESS && now < (int)s->shared)
        r = p->dev->cu.cuFuncSetAttribute(
            s->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            (int)s->shared);
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    if (r == CUDA_ERROR_INVALID_VALUE)
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: a block with %u bytes of dynamic shared memory; "
                         "the device has fewer for %s",
                         s->name, s->shared, s->entry);
    return fgs__device_fail(p->dev, err, r, "cuFuncSetAttribute",
                            "%u bytes of shared memory for %s", s->shared,
                            s->entry);
}

static fgs_result prepare(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];

        if (!s->role || s->fills != FGS__NOWHERE)
            continue;
        r = set_carveout(p, s, err);
        if (r >= 0)
            r = set_shared(p, s, err);
    }
    return r;
}

/* --------------------------------------------------------------- texts -- */

static void append(struct fgs__plan *p, const char *note)
{
    size_t n = strlen(p->note);

    if (note[0])
        snprintf(p->note + n, sizeof p->note - n, "%s%s", n ? "; " : "",
                 note);
}

/* The main kernel's own note, and of any kernel which files of the folder were
 * not read, and what the watch kept. */
static void write_note(struct fgs__plan *p)
{
    p->note[0] = '\0';
    for (uint32_t i = 0; i < p->stages; i++) {
        struct fgs__kernel *k;

        if (!p->stage[i].handle ||
            fgs__kernel_get(&k, p->stage[i].handle, p->stage[i].entry,
                            NULL) < 0)
            continue;
        if (i == p->main_stage)
            append(p, k->note);
        append(p, k->text.note);
        append(p, k->kept);
    }
}

/* Under the lock.  Did the kernel change since the plan looked last? */
static int take(struct fgs__plan *p, struct fgs__stage *s,
                const struct fgs__kernel *k)
{
    int changed = s->generation != k->generation;

    if (!s->held)
        s->held = fgs__loaded_ref(k->loaded);
    p->retake |= s->held != k->loaded;
    s->generation = k->generation;
    s->function = k->loaded->function;
    s->waits = k->waits;
    s->triggers = k->triggers;
    s->assembled_by = k->assembled_by;
    return changed;
}

static void take_main(struct fgs__plan *p, const struct fgs__kernel *k)
{
    p->assembled_by = k->assembled_by;
    p->ptx_version = k->ptx_version;
    memcpy(p->ptx_target, k->ptx_target, sizeof p->ptx_target);
}

fgs_result fgs__plan_renew(struct fgs__plan *p, int all, fgs_error *err)
{
    uint64_t compiled = 0, cached = 0;
    int changed = all;
    fgs_result r;

    /* Nothing to look at: no kernel was reloaded since, none is watched. */
    if (!all && !p->dev->watch && !p->stale && p->reloads == p->dev->reloads)
        return FGS_OK;
    p->reloads = p->dev->reloads;
    for (uint32_t i = 0; i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];
        struct fgs__kernel *k;

        if (!s->handle)
            continue;
        r = fgs__kernel_get(&k, s->handle, s->entry, err);
        if (r < 0)
            return r;
        if (p->dev->watch)
            fgs__kernel_watch(k);
        pthread_mutex_lock(&p->dev->lock);
        changed |= take(p, s, k);
        if (i == p->main_stage)
            take_main(p, k);
        compiled += k->compiled;
        cached += k->cached;
        pthread_mutex_unlock(&p->dev->lock);
    }
    p->compiled = compiled;
    p->cached = cached;
    if (!changed)
        return FGS_OK;
    pthread_mutex_lock(&p->dev->lock);
    write_note(p);
    pthread_mutex_unlock(&p->dev->lock);
    fgs__plan_attrs(p);
    r = prepare(p, err);
    if (r < 0) /* the next round or run tries again */
        p->stage[p->main_stage].generation = UINT64_MAX;
    return r;
}

/* ---------------------------------------------------------- references -- */

void fgs__plan_let_go(struct fgs__plan *p)
{
    p->retake = 0;
    p->reloads = UINT64_MAX; /* takes them again before the next round */
    for (uint32_t i = 0; i < p->stages; i++) {
        struct fgs__loaded *held;

        pthread_mutex_lock(&p->dev->lock);
        held = p->stage[i].held;
        p->stage[i].held = NULL;
        pthread_mutex_unlock(&p->dev->lock);
        fgs__loaded_unref(held);
    }
}

void fgs__plans_let_go(struct fgs__device *d, const fgs_kernel *kernel,
                       int idle)
{
    pthread_mutex_lock(&d->lock);
    for (struct fgs__plan *p = d->plans; p; p = p->next) {
        if (idle && p->running)
            continue;
        for (uint32_t i = 0; i < p->stages; i++) {
            if (p->stage[i].handle != kernel)
                continue;
            fgs__loaded_unref(p->stage[i].held);
            p->stage[i].held = NULL;
        }
    }
    pthread_mutex_unlock(&d->lock);
}
