/* run.c -- launch a plan's rounds into the application's stream */
#include "core/plan.h"

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
static fgs_result check_parts(const struct fgs__plan *p, fgs_error *err)
{
    struct fgs__obj *o;
    char what[96];
    fgs_result r;

    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        snprintf(what, sizeof what, "kernel %s of the plan",
                 p->stage[i].entry);
        r = fgs__obj_get(&o, p->stage[i].handle, FGS__KERNEL, what, err);
        if (r < 0)
            return r;
    }
    for (int i = 0; i < FGS__BUFFERS; i++) {
        snprintf(what, sizeof what, "buffer '%s' of the plan", p->use[i].name);
        r = fgs__obj_get(&o, p->use[i].handle, FGS__BUFFER, what, err);
        if (r < 0)
            return r;
    }
    return FGS_OK;
}

/* Room for the statistics of each round.  Allocating may wait for the device,
 * so it is done only for more rounds than any run had before. */
static fgs_result grow_stats(struct fgs__plan *p, uint32_t rounds,
                             fgs_error *err)
{
    struct fgs__device *d = p->dev;
    void *stats;
    CUresult r;

    if (rounds <= p->stats_rounds)
        return FGS_OK;
    r = d->cu.cuMemHostAlloc(&stats, (size_t)rounds * sizeof *p->stats,
                             CU_MEMHOSTALLOC_PORTABLE);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuMemHostAlloc",
                                "statistics of %u rounds", rounds);
    fgs__device_lost(d, d->cu.cuMemFreeHost(p->stats), "cuMemFreeHost",
                     "statistics");
    p->stats = stats;
    p->stats_rounds = rounds;
    return FGS_OK;
}

static CUresult launch(struct fgs__plan *p, int role, CUstream stream)
{
    struct fgs__args args = p->args;
    void *params[] = {
#define PARAM(name, type, meaning) &args.name,
#include "table/param.def"
#undef PARAM
    };
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value.programmaticStreamSerializationAllowed = 1,
    };
    CUlaunchConfig config = {
        .gridDimX = p->stage[role].blocks, .gridDimY = 1, .gridDimZ = 1,
        .blockDimX = p->stage[role].threads, .blockDimY = 1, .blockDimZ = 1,
        .sharedMemBytes = p->stage[role].shared,
        .hStream = stream,
    };

    args.p_stat = p->ctl + offsetof(struct fgs__control, stat) +
        (size_t)role * sizeof(struct fgs__stat);
    /* Only the consumer: the init kernel's end is what orders the fill before
     * the producer's stores (guide 4.6.4.2, 4.6.6). */
    if (role == FGS_ROLE_CONSUMER && p->pdl) {
        config.attrs = &attr;
        config.numAttrs = 1;
    }
    return p->dev->cu.cuLaunchKernelEx(&config, p->stage[role].function, params,
                                       NULL);
}

/*
 * One round.  The abort word is cleared in the first one only: once a kernel
 * gave up, those of the later rounds return at once.  The copy and the memset
 * stand behind the consumer and before the next fill, where they cannot come
 * between producer and consumer: that would undo the overlap.
 */
static fgs_result launch_round(struct fgs__plan *p, CUstream stream,
                               uint32_t round, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    size_t skip = round ? offsetof(struct fgs__control, stat) : 0;
    CUresult r;

    r = d->cu.cuMemsetD8Async(p->ctl + skip, 0,
                              sizeof(struct fgs__control) - skip, stream);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuMemsetD8Async",
                                "control block, round %u", round);
    for (int i = FGS_ROLE_INIT; i < FGS__ROLE_COUNT; i++) {
        r = launch(p, i, stream);
        if (r != CUDA_SUCCESS)
            return fgs__device_fail(d, err, r, "cuLaunchKernelEx",
                                    "%s, %u blocks, round %u",
                                    p->stage[i].entry, p->stage[i].blocks,
                                    round);
    }
    r = d->cu.cuMemcpyDtoHAsync(&p->stats[round], p->ctl, sizeof *p->stats,
                                stream);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuMemcpyDtoHAsync",
                                "statistics of round %u", round);
    return FGS_OK;
}

static fgs_result launch_all(struct fgs__plan *p, CUstream stream,
                             uint32_t rounds, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    fgs_result result;
    CUresult r = d->cu.cuEventRecord(p->start, stream);

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuEventRecord", "start of the run");
    for (uint32_t i = 0; i < rounds; i++) {
        result = fgs__plan_renew(p, 0, err);
        if (result >= 0)
            result = launch_round(p, stream, i, err);
        if (result < 0)
            return result;
    }
    r = d->cu.cuEventRecord(p->end, stream);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuEventRecord", "end of the run");
    return FGS_OK;
}

/* A launch sequence broke off: wait for what was launched, so that nothing of
 * it touches the buffers after this call. */
static void drain(struct fgs__plan *p, CUstream stream)
{
    struct fgs__device *d = p->dev;

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
        p->stream = stream;
        p->rounds = rounds;
        p->waited = 0;
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
    if (!running)
        fgs__plan_let_go(p);
}

static fgs_result check_run(struct fgs__plan *p, uint32_t rounds,
                            fgs_error *err)
{
    fgs_result r;

    if (!rounds)
        return fgs__fail(err, FGS_E_SIZE, "rounds is 0");
    if (p->running)
        return fgs__fail(err, FGS_E_BUSY,
                         "the plan's last run was not waited for");
    r = check_parts(p, err);
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
    r = check_run(p, rounds, err);
    if (r >= 0)
        r = fgs__device_enter(d, err);
    if (r < 0)
        return r;
    r = check_stream(p, stream, err);
    if (r >= 0)
        r = grow_stats(p, rounds, err);
    if (r >= 0)
        r = claim(p, stream, rounds, err);
    if (r < 0)
        goto leave;
    /* No kernel of this plan runs now: the record is ours. */
    memset(p->rec, 0, sizeof *p->rec);
    r = launch_all(p, stream, rounds, err);
    if (r < 0)
        drain(p, stream);
    settle(p, r >= 0);
    fgs__log(&d->log, r < 0 ? FGS__LOG_RUN_FAILED : FGS__LOG_RUN_LAUNCH,
             "%u rounds of %llu tiles", rounds, (unsigned long long)p->tiles);
leave:
    fgs__device_leave(d);
    return r;
}
