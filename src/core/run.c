/* run.c -- launch a plan's rounds into the application's stream */
#include "core/compose.h"

static fgs_result captured(fgs_error *err)
{
    return fgs__fail(err, FGS_E_STATE,
                     "the stream is being captured, or is the legacy stream "
                     "while another is; a plan is launched, not captured");
}

/* The stream must be one of the plan's context, and not one that is being
 * captured: a run's record is read once, after its wait.  For the legacy
 * stream, driver 580 answers either query with IMPLICIT while a blocking
 * stream is captured. */
static fgs_result check_stream(struct fgs__plan *p, CUstream stream,
                               fgs_error *err)
{
    struct fgs__device *d = p->dev;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUcontext ctx = NULL;
    CUresult r = d->cu.cuStreamGetCtx(stream, &ctx);

    if (r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return captured(err);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuStreamGetCtx",
                                "the stream of the run");
    if (ctx != d->ctx)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "the stream belongs to another context than the "
                         "plan's device");
    r = d->cu.cuStreamIsCapturing(stream, &status);
    if (r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
        (r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE))
        return captured(err);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuStreamIsCapturing",
                                "the stream of the run");
    return FGS_OK;
}

/* What the plan was made of must live until here. */
fgs_result fgs__plan_parts(const struct fgs__plan *p, fgs_error *err)
{
    struct fgs__obj *o;
    char what[96];
    fgs_result r;

    if (!p->stale)
        return FGS_OK;
    for (uint32_t i = 0; i < p->stages; i++) {
        if (!p->stage[i].handle)
            continue;
        snprintf(what, sizeof what, "kernel %s of the plan",
                 p->stage[i].entry);
        r = fgs__obj_get(&o, p->stage[i].handle, FGS__KERNEL, what, err);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < p->uses; i++) {
        snprintf(what, sizeof what, "buffer '%s' of the plan", p->use[i].name);
        r = fgs__obj_get(&o, p->use[i].handle, FGS__BUFFER, what, err);
        if (r < 0)
            return r;
    }
    return FGS_OK;
}

/* --------------------------------------------------------------- a round -- */

static CUdeviceptr slot_ptr(const struct fgs__use *u, uint64_t slot)
{
    return u->ptr + slot * (u->bytes / u->slots);
}

void fgs__plan_follow(struct fgs__plan *p, uint64_t round)
{
    for (uint32_t i = 0; i < p->patches; i++) {
        const struct fgs__use *u = &p->use[p->patch[i].use];

        *p->patch[i].value = p->patch[i].tiles
            ? u->tiles
            : slot_ptr(u, fgs__slot(u, round, p->patch[i].shift)) +
                p->patch[i].offset;
    }
    fgs__maps_follow(p, round);
    for (uint32_t i = 0; i < p->stages; i++) {
        if (p->stage[i].round)
            *p->stage[i].round = (uint32_t)round + 1;
    }
}

/* The use that an operation fills, NULL = none. */
static struct fgs__use *filled(struct fgs__plan *p, const struct fgs__op *op)
{
    if (op->kind == FGS__OP_MEMSET)
        return &p->use[op->index];
    if (op->kind == FGS__OP_KERNEL && p->stage[op->index].fills != FGS__NOWHERE)
        return &p->use[p->stage[op->index].fills];
    return NULL;
}

static int is_clean(const struct fgs__use *u, uint64_t slot)
{
    return (u->clean >> slot & 1) && u->clean_tiles[slot] >= u->tiles;
}

static fgs_result fill(struct fgs__plan *p, const struct fgs__sink *sink,
                       const struct fgs__op *op, uint64_t round,
                       fgs_error *err)
{
    struct fgs__use *u = filled(p, op);
    uint64_t slot = fgs__slot(u, op->ahead ? round + 1 : round, op->shift);
    fgs_result r;

    if (is_clean(u, slot) || (op->ahead && p->no_ahead))
        return FGS_OK;
    if (op->kind == FGS__OP_MEMSET) {
        r = sink->set(sink->cookie, p, op->stream, slot_ptr(u, slot),
                      fgs_element_get_info(u->element)->fill,
                      u->tiles * u->tile_bytes / 4, u->name,
                      (uint32_t)(u - p->use), err);
    } else {
        struct fgs__stage *s = &p->stage[op->index];

        s->args.p_mid = slot_ptr(u, slot);
        s->args.p_tiles = u->tiles;
        r = sink->kernel(sink->cookie, p, op->index, op->stream, err);
    }
    if (r < 0)
        return r;
    u->clean |= 1ull << slot;
    u->clean_tiles[slot] = u->tiles;
    return FGS_OK;
}

/* No graph has launch completion events.  Where it has no programmatic edges
 * either, readers in other streams wait for the end. */
static fgs_result launch(struct fgs__plan *p, const struct fgs__sink *sink,
                         const struct fgs__op *op, fgs_error *err)
{
    const struct fgs__stage *s = &p->stage[op->index];
    fgs_result r = sink->kernel(sink->cookie, p, op->index, op->stream, err);

    if (r < 0 || !p->graphing || s->launch_event == FGS__NOWHERE ||
        p->dev->cc >= fgs__crosses[FGS__CROSS_EVENT_EARLY].cc)
        return r;
    return sink->record(sink->cookie, p, op->stream, s->launch_event, err);
}

static fgs_result execute(struct fgs__plan *p, const struct fgs__sink *sink,
                          const struct fgs__op *op, uint64_t round,
                          fgs_error *err)
{
    if (filled(p, op))
        return fill(p, sink, op, round, err);
    if (op->after && p->graphing)
        return FGS_OK;
    switch (op->kind) {
    case FGS__OP_RECORD:
        p->ahead |= op->stream == p->side;
        return sink->record(sink->cookie, p, op->stream, op->index, err);
    case FGS__OP_WAIT:
        if (op->index == p->clean_event && p->side != FGS__NOWHERE &&
            !p->ahead)
            return FGS_OK; /* nothing was filled ahead yet */
        return sink->wait(sink->cookie, p, op->stream, op->index, err);
    default:
        return launch(p, sink, op, err);
    }
}

/* The slots that the round used hold data now; a reader that clears leaves
 * them as they were.  Of a ring the last one does, which the next round clears
 * before it comes to it. */
static void used(struct fgs__plan *p, uint64_t round)
{
    for (uint32_t i = 0; i < p->uses; i++) {
        struct fgs__use *u = &p->use[i];

        if (u->sentinel && u->fill != FGS_FILL_READER &&
            u->fill != FGS_FILL_RING)
            u->clean &= ~(1ull << fgs__slot(u, round, 0));
    }
}

fgs_result fgs__plan_round(struct fgs__plan *p, const struct fgs__sink *sink,
                           uint64_t round, fgs_error *err)
{
    fgs_result r = FGS_OK;

    fgs__plan_follow(p, round);
    for (uint32_t i = 0; r >= 0 && i < p->ops; i++)
        r = execute(p, sink, &p->op[i], round, err);
    used(p, round);
    return r;
}

/* --------------------------------------------------------------- streams -- */

static CUstream stream_of(const struct fgs__plan *p, uint32_t stream)
{
    return stream ? p->stream[stream] : p->run_stream;
}

static fgs_result sink_kernel(void *cookie, struct fgs__plan *p,
                              uint32_t stage, uint32_t stream, fgs_error *err)
{
    struct fgs__stage *s = &p->stage[stage];
    CUresult r;

    (void)cookie;
    s->config.hStream = stream_of(p, stream);
    r = p->dev->cu.cuLaunchKernelEx(&s->config, s->function, s->params, NULL);
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuLaunchKernelEx",
                            "%s, %u blocks, round %llu", s->entry, s->grid[0],
                            (unsigned long long)(p->round - p->first_round));
}

static fgs_result sink_set(void *cookie, struct fgs__plan *p, uint32_t stream,
                           CUdeviceptr at, uint32_t word, uint64_t words,
                           const char *what, uint32_t use, fgs_error *err)
{
    CUresult r = p->dev->cu.cuMemsetD32Async(at, word, (size_t)words,
                                             stream_of(p, stream));

    (void)cookie;
    (void)use;
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuMemsetD32Async", "fill of '%s'",
                            what);
}

static fgs_result sink_record(void *cookie, struct fgs__plan *p,
                              uint32_t stream, uint32_t event, fgs_error *err)
{
    CUresult r = p->dev->cu.cuEventRecord(p->event[event].event,
                                          stream_of(p, stream));

    (void)cookie;
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuEventRecord", "%s",
                            p->event[event].what);
}

static fgs_result sink_wait(void *cookie, struct fgs__plan *p, uint32_t stream,
                            uint32_t event, fgs_error *err)
{
    CUresult r = p->dev->cu.cuStreamWaitEvent(stream_of(p, stream),
                                              p->event[event].event, 0);

    (void)cookie;
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuStreamWaitEvent", "%s",
                            p->event[event].what);
}

const struct fgs__sink fgs__sink_streams = {
    .kernel = sink_kernel, .set = sink_set, .record = sink_record,
    .wait = sink_wait
};

/* ------------------------------------------------------------ statistics -- */

/*
 * Zeroed before a round and copied behind it, where they cannot come between a
 * writer and its reader: that would undo the overlap.  The abort word is
 * cleared in a run's first round only: once a kernel gave up, those of the
 * later rounds return at once.
 */
static fgs_result clear_stats(struct fgs__plan *p, CUstream stream, int first,
                              fgs_error *err)
{
    size_t skip = first ? 0 : sizeof(struct fgs__ctl);
    size_t bytes = p->level ? (size_t)p->ctl_bytes : sizeof(struct fgs__ctl);
    CUresult r;

    if (!p->level && !(first && p->aborted))
        return FGS_OK;
    r = p->dev->cu.cuMemsetD8Async(p->ctl + skip, 0, bytes - skip, stream);
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(p->dev, err, r, "cuMemsetD8Async",
                            "control block, round %llu",
                            (unsigned long long)(p->round - p->first_round));
}

static fgs_result copy_stats(struct fgs__plan *p, CUstream stream,
                             uint32_t round, int last, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    CUresult r;

    if (!p->level)
        return FGS_OK;
    r = d->cu.cuMemcpyDtoHAsync(p->stats + round * p->ctl_bytes, p->ctl,
                                (size_t)p->ctl_bytes, stream);
    if (r == CUDA_SUCCESS && last && p->level > 1)
        r = d->cu.cuMemcpyDtoHAsync(p->trace_host, p->trace,
                                    (size_t)(p->trace_rows *
                                             sizeof(fgs_trace_row)), stream);
    if (r == CUDA_SUCCESS)
        return FGS_OK;
    return fgs__device_fail(d, err, r, "cuMemcpyDtoHAsync",
                            "statistics of round %u", round);
}

/* ------------------------------------------------------------------- run -- */

static fgs_result launch_round(struct fgs__plan *p, uint32_t i, int last,
                               fgs_error *err)
{
    fgs_result r = fgs__plan_renew(p, 0, err);

    if (r >= 0)
        r = clear_stats(p, p->run_stream, !i, err);
    if (r >= 0)
        r = fgs__plan_round(p, &fgs__sink_streams, p->round, err);
    if (r >= 0)
        r = copy_stats(p, p->run_stream, i, last, err);
    if (r >= 0)
        p->round++;
    return r;
}

static fgs_result launch_all(struct fgs__plan *p, CUstream stream,
                             uint32_t rounds, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    CUresult r = d->cu.cuEventRecord(p->start, stream);
    fgs_result result = FGS_OK;

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuEventRecord", "start of the run");
    p->first_round = p->round;
    for (uint32_t i = 0; result >= 0 && i < rounds; i++)
        result = launch_round(p, i, i + 1 == rounds, err);
    /* A fill ahead belongs to the run, too. */
    if (result >= 0 && p->side != FGS__NOWHERE)
        result = sink_wait(NULL, p, 0, p->clean_event, err);
    if (result < 0)
        return result;
    r = d->cu.cuEventRecord(p->end, stream);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuEventRecord", "end of the run");
    return FGS_OK;
}

/* A launch sequence broke off: wait for what was launched, so that nothing of
 * it touches the buffers after this call.  What it left in the slots, and in
 * the abort word, is not known. */
static void drain(struct fgs__plan *p, CUstream stream)
{
    struct fgs__device *d = p->dev;

    for (uint32_t i = 0; i < p->uses; i++)
        p->use[i].clean = 0;
    p->aborted = 1;
    for (uint32_t i = 1; i < p->streams; i++)
        fgs__device_lost(d, d->cu.cuStreamSynchronize(p->stream[i]),
                         "cuStreamSynchronize", "a run that failed to launch");
    if (d->cu.cuEventRecord(p->end, stream) == CUDA_SUCCESS &&
        d->cu.cuEventSynchronize(p->end) == CUDA_SUCCESS)
        return;
    fgs__device_lost(d, d->cu.cuStreamSynchronize(stream),
                     "cuStreamSynchronize", "a run that failed to launch");
}

/* Between claim and settle the plan counts as running without an end: other
 * plans stay off its memory, and the lock is not held while launching, which
 * blocks when the stream's queue is full. */
static fgs_result claim(struct fgs__plan *p, CUstream stream, uint32_t rounds,
                        fgs_error *err)
{
    fgs_result r;

    pthread_mutex_lock(&p->dev->lock);
    r = fgs__plan_alone(p, stream, err);
    if (r >= 0) {
        p->running = p->launching = 1;
        p->run_stream = stream;
        p->rounds = rounds;
        p->waited = 0;
        fgs__plans_between(p);
    }
    pthread_mutex_unlock(&p->dev->lock);
    return r;
}

static void settle(struct fgs__plan *p, int running)
{
    pthread_mutex_lock(&p->dev->lock);
    p->launching = 0;
    p->running = running;
    pthread_mutex_unlock(&p->dev->lock);
    if (!running && (p->retake || p->reloads != p->dev->reloads))
        fgs__plan_let_go(p);
}

static fgs_result check_run(struct fgs__plan *p, CUstream stream,
                            uint32_t rounds, fgs_error *err)
{
    fgs_result r;

    if (!rounds)
        return fgs__fail(err, FGS_E_SIZE, "rounds is 0");
    if (p->running)
        return fgs__fail(err, FGS_E_BUSY,
                         "the plan's last run was not waited for");
    for (uint32_t i = 1; i < p->streams; i++) {
        if (p->stream[i] == stream)
            return fgs__fail(err, FGS_E_INVAL,
                             "the plan is run in a stream that one of its "
                             "stages names; such a stage leaves it NULL");
    }
    r = fgs__plan_parts(p, err);
    if (r < 0)
        return r;
    return FGS__NEED(p->dev, err, FGS__CU_cuStreamIsCapturing,
                     FGS__CU_cuStreamGetCtx, FGS__CU_cuEventRecord,
                     FGS__CU_cuMemsetD8Async, FGS__CU_cuLaunchKernelEx,
                     FGS__CU_cuMemcpyDtoHAsync, FGS__CU_cuStreamSynchronize,
                     FGS__CU_cuEventElapsedTime);
}

fgs_result fgs_plan_run(fgs_plan *plan, CUstream stream, uint32_t rounds,
                        fgs_error *err)
{
    struct fgs__plan *p;
    struct fgs__device *d;
    fgs_result r = fgs__plan_get(&p, plan, err);

    if (r < 0)
        return r;
    d = p->dev;
    r = check_run(p, stream, rounds, err);
    if (r >= 0)
        r = fgs__device_enter(d, err);
    if (r < 0)
        return r;
    r = check_stream(p, stream, err);
    for (uint32_t i = 1; r >= 0 && i < p->streams; i++) {
        if (i != p->side)
            r = check_stream(p, p->stream[i], err);
    }
    if (r >= 0)
        r = fgs__plan_grow(p, rounds, err);
    if (r >= 0)
        r = claim(p, stream, rounds, err);
    if (r < 0)
        goto leave;
    /* No kernel of this plan runs now: the record is ours. */
    memset(p->rec, 0, p->stages * sizeof *p->rec);
    r = launch_all(p, stream, rounds, err);
    if (r < 0)
        drain(p, stream);
    settle(p, r >= 0);
    fgs__log(&d->log, r < 0 ? FGS__LOG_RUN_FAILED : FGS__LOG_RUN_LAUNCH,
             "%u rounds of %llu tiles", rounds,
             (unsigned long long)fgs__plan_tiles(p));
leave:
    fgs__device_leave(d);
    return r;
}
