/* wait.c -- the end of a run: what the kernels recorded, and the receipt */
#include "core/plan.h"

/* ------------------------------------------------------------- give-up -- */

static const char *giveup_text(uint32_t code)
{
    switch (code) {
#define GIVEUP(id, value, text)                                                \
    case value:                                                                \
        return text;
#include "table/record.def"
    default:
        return "for an unknown reason";
    }
}

static void write_bits(const struct fgs__rec *rec, uint8_t bits[16])
{
    memcpy(bits, &rec->bits0, 8);
    memcpy(bits + 8, &rec->bits1, 8);
}

static void write_place(const struct fgs__rec *rec, char *text, size_t size)
{
    uint8_t bits[16];
    size_t n;

    if (rec->code == FGS__GIVEUP_SENTINEL) {
        snprintf(text, size, " chunk %u", rec->chunk);
        return;
    }
    if (rec->code == FGS__GIVEUP_LANDING) {
        text[0] = '\0';
        return;
    }
    if (rec->chunk == FGS__NO_CHUNK) {
        snprintf(text, size, ", which has no sentinel any more");
        return;
    }
    n = (size_t)snprintf(text, size, " chunk %u", rec->chunk);
    write_bits(rec, bits);
    for (int i = 0; i < 16 && n + 4 < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%02x", i ? " " : " (",
                              bits[i]);
    snprintf(text + n, size - n, ")");
}

/* The sentence of a producer that refuses a result, or of a wait that ended. */
static fgs_result tell(const struct fgs__rec *rec, const char *kernel,
                       const char *buffer, const char *place, fgs_error *err)
{
    if (rec->code == FGS__GIVEUP_SENTINEL)
        return fgs__fail(err, FGS_E_SENTINEL,
                         "%s, block %llu: buffer '%s' tile %llu%s was not "
                         "stored: of the f32 input 0x%08x %s",
                         kernel, (unsigned long long)rec->block, buffer,
                         (unsigned long long)rec->tile, place,
                         (unsigned)rec->bits0, giveup_text(rec->code));
    return fgs__fail(err, FGS_E_LEAK,
                     "%s, block %llu: buffer '%s' tile %llu%s %s for "
                     "%llu.%03llu ms and %llu tries: %s",
                     kernel, (unsigned long long)rec->block, buffer,
                     (unsigned long long)rec->tile, place,
                     rec->code == FGS__GIVEUP_LANDING ? "was waited for"
                                                      : "kept its sentinel",
                     (unsigned long long)(rec->elapsed_ns / 1000000),
                     (unsigned long long)(rec->elapsed_ns / 1000 % 1000),
                     (unsigned long long)rec->tries, giveup_text(rec->code));
}

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

    for (uint32_t i = 0; i < s->accesses; i++) {
        if (s->access[i].write == write)
            return p->use[s->access[i].use].name;
    }
    return "";
}

static fgs_result gave_up(struct fgs__plan *p, uint32_t stage, fgs_error *err)
{
    const struct fgs__rec *rec = &p->rec[stage];
    const char *kernel = p->stage[stage].entry;
    const char *buffer = buffer_of(p, stage);
    char place[96];
    fgs_result r;

    write_place(rec, place, sizeof place);
    fgs__log(&p->dev->log, FGS__LOG_RUN_GAVE_UP,
             "%s block %llu: buffer '%s' tile %llu%s", kernel,
             (unsigned long long)rec->block, buffer,
             (unsigned long long)rec->tile, place);
    r = tell(rec, kernel, buffer, place, err);
    if (!err)
        return r;
    snprintf(err->kernel, sizeof err->kernel, "%.63s", kernel);
    snprintf(err->buffer, sizeof err->buffer, "%s", buffer);
    err->block = rec->block;
    err->tile = rec->tile;
    err->chunk = rec->chunk;
    write_bits(rec, err->bits);
    err->tries = rec->tries;
    err->elapsed_ns = rec->elapsed_ns;
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
