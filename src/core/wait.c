/* wait.c -- the end of a run: what the kernels recorded, and the receipt */
#include "core/plan.h"

/* ------------------------------------------------------------- give-up -- */

/* The stage that recorded why it gave up, NOWHERE = none did. */
static uint32_t who_gave_up(const struct fgs__plan *p)
{
    for (uint32_t i = 0; i < p->stages; i++) {
        if (p->rec[i].code)
            return i;
    }
    return FGS__NOWHERE;
}

/* What it waited for, or was to write. */
static const char *buffer_of(const struct fgs__plan *p, uint32_t stage)
{
    const struct fgs__stage *s = &p->stage[stage];
    int write = p->rec[stage].code == FGS__GIVEUP_SENTINEL;
    uint32_t i = 0;

    if (fgs__role_joins(s->role) && p->rec[stage].stage)
        i = 1; /* its second input */
    for (; i < s->accesses; i++) {
        if (s->access[i].write == write)
            return p->use[s->access[i].use].name;
    }
    return "";
}

static fgs_result gave_up(struct fgs__plan *p, uint32_t stage, fgs_error *err)
{
    fgs_error e;
    fgs_result r = fgs_record_read(&p->rec[stage], p->stage[stage].entry,
                                   buffer_of(p, stage), &e);

    fgs__log(&p->dev->log, FGS__LOG_RUN_GAVE_UP, "%s", e.text);
    if (err)
        *err = e;
    return r;
}

fgs_result fgs__plan_recorded(struct fgs__plan *p, fgs_error *err)
{
    uint32_t stage = who_gave_up(p);

    p->aborted = stage != FGS__NOWHERE;
    if (!p->aborted)
        return FGS_OK;
    for (uint32_t i = 0; i < p->uses; i++)
        p->use[i].clean = 0;
    return gave_up(p, stage, err);
}

static void set_idle(struct fgs__plan *p)
{
    pthread_mutex_lock(&p->dev->lock);
    p->running = 0;
    pthread_mutex_unlock(&p->dev->lock);
    /* What was not reloaded is held on, for the next run. */
    if (p->retake || p->reloads != p->dev->reloads)
        fgs__plan_let_go(p);
}

/* The run is over and the device is well: read what it left. */
static fgs_result finish(struct fgs__plan *p, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    float ms = 0;
    CUresult r = d->cu.cuEventElapsedTime(&ms, p->start, p->end);
    const struct fgs__ctl *ctl;
    fgs_result result;

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuEventElapsedTime", "the run");
    fgs__plan_write_receipt(p, ms);
    p->waited = 1;
    set_idle(p);
    result = fgs__plan_recorded(p, err);
    if (result < 0 || !p->level)
        return result;
    ctl = (const void *)(p->stats + (p->rounds - 1) * p->ctl_bytes);
    if (!ctl->abort)
        return FGS_OK;
    p->aborted = 1;
    return fgs__fail(err, FGS_E_ABORTED,
                     "the run was aborted, and no kernel recorded why");
}

/* After a fault the context is lost and nothing of the run goes on; after any
 * other failure the run may still go on, and can be waited for again. */
static fgs_result failed(struct fgs__plan *p, CUresult r, const char *call,
                         fgs_error *err)
{
    fgs_error e;
    fgs_result result = fgs__device_fail(p->dev, &e, r, call, "the plan's run");

    fgs__log(&p->dev->log, FGS__LOG_RUN_FAILED, "%s", e.text);
    if (result == FGS_E_FAULT)
        set_idle(p);
    if (err)
        *err = e;
    return result;
}

/* ------------------------------------------------------------------ API -- */

static fgs_result check_running(const struct fgs__plan *p, fgs_error *err)
{
    if (p->running)
        return FGS_OK;
    return fgs__fail(err, FGS_E_STATE,
                     p->waited ? "the plan's last run was waited for already"
                               : "the plan has no run to wait for");
}

fgs_result fgs_plan_wait(fgs_plan *plan, fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result result = fgs__plan_get(&p, plan, err);
    CUresult r;

    if (result >= 0)
        result = check_running(p, err);
    if (result >= 0)
        result = fgs__device_enter(p->dev, err);
    if (result < 0)
        return result;
    r = p->dev->cu.cuEventSynchronize(p->end);
    if (r == CUDA_SUCCESS)
        result = finish(p, err);
    else
        result = failed(p, r, "cuEventSynchronize", err);
    fgs__device_leave(p->dev);
    return result;
}

fgs_result fgs_plan_query(fgs_plan *plan, fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result result = fgs__plan_get(&p, plan, err);
    CUresult r;

    if (result < 0)
        return result;
    if (!p->running && p->waited)
        return FGS_OK;
    result = check_running(p, err);
    if (result >= 0)
        result = fgs__device_enter(p->dev, err);
    if (result < 0)
        return result;
    r = p->dev->cu.cuEventQuery(p->end);
    if (r == CUDA_ERROR_NOT_READY)
        result = fgs__fail(err, FGS_E_BUSY, "the run is not over yet");
    else if (r != CUDA_SUCCESS)
        result = failed(p, r, "cuEventQuery", err);
    fgs__device_leave(p->dev);
    return result;
}
