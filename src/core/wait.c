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
static fgs_result tell(const struct fgs__plan *p, const char *kernel,
                       const char *place, fgs_error *err)
{
    const struct fgs__rec *rec = p->rec;
    const char *buffer = p->use[FGS__MID].name;

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

static fgs_result gave_up(struct fgs__plan *p, fgs_error *err)
{
    const struct fgs__rec *rec = p->rec;
    int role = rec->role >= FGS_ROLE_INIT && rec->role < FGS__ROLE_COUNT
        ? (int)rec->role : FGS_ROLE_CONSUMER;
    const char *kernel = p->stage[role].entry;
    const char *buffer = p->use[FGS__MID].name;
    char place[96];
    fgs_result r;

    write_place(rec, place, sizeof place);
    fgs__log(&p->dev->log, FGS__LOG_RUN_GAVE_UP,
             "%s block %llu: buffer '%s' tile %llu%s", kernel,
             (unsigned long long)rec->block, buffer,
             (unsigned long long)rec->tile, place);
    r = tell(p, kernel, place, err);
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

/* ------------------------------------------------------------- receipt -- */

static void write_receipt(struct fgs__plan *p, float ms)
{
    fgs_receipt *r = &p->receipt;

    memset(r, 0, sizeof *r);
    r->size = sizeof *r;
    r->engine = p->engine;
    r->rounds = p->rounds;
    r->tiles = p->tiles;
    r->pdl = p->pdl;
    r->pdl_why = p->pdl_why;
    r->assembled_by = p->assembled_by;
    r->ptx_version = p->ptx_version;
    memcpy(r->ptx_target, p->ptx_target, sizeof r->ptx_target);
    r->note = p->note;
    r->compiled = p->compiled;
    r->cached = p->cached;
    r->elapsed_ns = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
    for (uint32_t i = 0; i < p->rounds; i++) {
        const struct fgs__stat *from = &p->stats[i].stat[FGS_ROLE_PRODUCER];
        const struct fgs__stat *to = &p->stats[i].stat[FGS_ROLE_CONSUMER];

        r->reissues += to->reissues;
        /* `first` holds the complement, so that a maximum finds the earliest
         * start; 0 = no consumer block ran. */
        if (to->first && ~to->first < from->last)
            r->overlap = 1;
    }
}

static void set_idle(struct fgs__plan *p)
{
    pthread_mutex_lock(&p->dev->lock);
    p->running = 0;
    pthread_mutex_unlock(&p->dev->lock);
    fgs__plan_let_go(p);
}

/* The run is over and the device is well: read what it left. */
static fgs_result finish(struct fgs__plan *p, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    float ms = 0;
    CUresult r = d->cu.cuEventElapsedTime(&ms, p->start, p->end);

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuEventElapsedTime", "the run");
    write_receipt(p, ms);
    p->waited = 1;
    set_idle(p);
    if (p->rec->code)
        return gave_up(p, err);
    if (p->stats[p->rounds - 1].ctl.abort)
        return fgs__fail(err, FGS_E_ABORTED,
                         "the run was aborted, and no kernel recorded why");
    return FGS_OK;
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

fgs_result fgs_plan_get_receipt(const fgs_plan *plan, fgs_receipt *out,
                                fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = fgs__plan_get(&p, plan, err);
    fgs_receipt all;

    if (r < 0)
        return r;
    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    if (out->size < offsetof(fgs_receipt, compiled))
        return fgs__fail(err, FGS_E_INVAL,
                         "fgs_receipt.size is %zu; set it to %zu", out->size,
                         sizeof *out);
    if (!p->waited)
        return fgs__fail(err, FGS_E_STATE,
                         "no run of the plan was waited for");
    all = p->receipt;
    all.size = out->size;
    /* A program of an earlier header has room for less. */
    memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return FGS_OK;
}
