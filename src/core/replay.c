/* replay.c -- put a plan's rounds into a graph: the calls of the API */
#include "core/compose.h"
#include "core/graph.h"

/* A stream sink that also learns the node of each launch. */
static fgs_result capture_node(struct fgs__builder *b, uint32_t stream,
                               CUgraphNode *out, fgs_error *err)
{
    struct fgs__plan *p = b->p;
    CUstreamCaptureStatus status;
    const CUgraphEdgeData *data = NULL;
    const CUgraphNode *deps = NULL;
    size_t count = 0;
    CUresult r = b->cu.info(stream ? p->stream[stream] : p->run_stream,
                            &status, NULL, &b->graph, &deps, &data, &count);

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(p->dev, err, r, "cuStreamGetCaptureInfo",
                                "a node of the capture");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1)
        return fgs__fail(err, FGS_E_STATE,
                         "the capture ended, or was changed, while the plan "
                         "was captured");
    *out = deps[0];
    return FGS_OK;
}

static fgs_result capture_kernel(void *cookie, struct fgs__plan *p,
                                 uint32_t stage, uint32_t stream,
                                 fgs_error *err)
{
    struct fgs__builder *b = cookie;
    const struct fgs__stage *s = &p->stage[stage];
    CUgraphNode node;
    fgs_result r = fgs__sink_streams.kernel(NULL, p, stage, stream, err);

    if (r >= 0)
        r = capture_node(b, stream, &node, err);
    if (r >= 0)
        r = fgs__graph_note(b, node, stage, s->fills,
                            s->fills == FGS__NOWHERE ? 0 : s->args.p_mid, 0, 0,
                            err);
    return r;
}

static fgs_result capture_set(void *cookie, struct fgs__plan *p,
                              uint32_t stream, CUdeviceptr at, uint32_t word,
                              uint64_t words, const char *what, uint32_t use,
                              fgs_error *err)
{
    struct fgs__builder *b = cookie;
    CUgraphNode node;
    fgs_result r = fgs__sink_streams.set(NULL, p, stream, at, word, words,
                                         what, use, err);

    if (r >= 0)
        r = capture_node(b, stream, &node, err);
    return r < 0 ? r : fgs__graph_note(b, node, FGS__NOWHERE, use, at, words,
                                       word, err);
}

static fgs_result capture_record(void *cookie, struct fgs__plan *p,
                                 uint32_t stream, uint32_t event,
                                 fgs_error *err)
{
    (void)cookie;
    return fgs__sink_streams.record(NULL, p, stream, event, err);
}

static fgs_result capture_wait(void *cookie, struct fgs__plan *p,
                               uint32_t stream, uint32_t event, fgs_error *err)
{
    (void)cookie;
    return fgs__sink_streams.wait(NULL, p, stream, event, err);
}

static const struct fgs__sink sink_capture = {
    .kernel = capture_kernel, .set = capture_set, .record = capture_record,
    .wait = capture_wait
};

/* --------------------------------------------------------------- rounds -- */

/*
 * The rounds of a graph begin as a run does: the abort word cleared, flags at
 * 0, no slot clean.  So a replay does not depend on what was before it; the
 * last round fills nothing ahead.
 */
static fgs_result put_rounds(struct fgs__builder *b, struct fgs__sink *sink,
                             uint32_t rounds, fgs_error *err)
{
    struct fgs__plan *p = b->p;
    fgs_result r = sink->set(sink->cookie, p, 0, p->ctl, 0,
                             sizeof(struct fgs__ctl) / 4, "control block",
                             FGS__NOWHERE, err);

    if (r >= 0 && p->flag_bytes)
        r = sink->set(sink->cookie, p, 0, p->flags, 0, p->flag_bytes / 4,
                      "flags", FGS__NOWHERE, err);
    for (uint32_t i = 0; r >= 0 && i < rounds; i++) {
        b->round = i;
        p->no_ahead = i + 1 == rounds;
        r = fgs__plan_round(p, sink, i, err);
    }
    return r;
}

static void forget_slots(struct fgs__plan *p)
{
    for (uint32_t i = 0; i < p->uses; i++)
        p->use[i].clean = 0;
}

static fgs_result check_rounds(const struct fgs__plan *p, uint32_t rounds,
                               fgs_error *err)
{
    if (!rounds)
        return fgs__fail(err, FGS_E_SIZE, "rounds is 0");
    if (p->running)
        return fgs__fail(err, FGS_E_BUSY,
                         "the plan's last run was not waited for");
    for (uint32_t i = 0; i < p->uses; i++) {
        if (rounds % p->use[i].slots)
            return fgs__fail(err, FGS_E_SIZE,
                             "%u rounds in a graph, and buffer '%s' has %u "
                             "slots: a replay would begin in another slot than "
                             "the last one ended before",
                             rounds, p->use[i].name, p->use[i].slots);
    }
    return FGS_OK;
}

static fgs_result acquire(struct fgs__builder *b, uint32_t rounds,
                          fgs_error *err)
{
    struct fgs__plan *p = b->p;
    const fgs_allocator *a = &p->dev->alloc;
    uint64_t room = (uint64_t)rounds * p->ops + 4;

    b->began = 1;
    b->was = p->gnode;
    b->was_count = p->gnodes;
    p->gnodes = 0;
    p->gnode = room < UINT32_MAX ? fgs__zalloc(a, room * sizeof *p->gnode)
                                 : NULL;
    b->room = (uint32_t)room;
    b->stream = fgs__zalloc(a, p->streams * sizeof *b->stream);
    b->event = fgs__zalloc(a, (p->events + 1) * sizeof *b->event);
    b->last = fgs__zalloc(a, p->stages * sizeof *b->last);
    if (!p->gnode || !b->stream || !b->event || !b->last)
        return fgs__nomem(err);
    return FGS_OK;
}

static void release(struct fgs__builder *b)
{
    const fgs_allocator *a = &b->p->dev->alloc;

    for (uint32_t i = 0; b->stream && i < b->p->streams; i++)
        fgs__free(a, b->stream[i].dep);
    for (uint32_t i = 0; b->event && i < b->p->events; i++)
        fgs__free(a, b->event[i].dep);
    fgs__free(a, b->stream);
    fgs__free(a, b->event);
    fgs__free(a, b->last);
}

/* Before and behind the rounds: what the plan holds now, and edges where a run
 * would have a launch completion event, which no graph has. */
static fgs_result enter(struct fgs__builder *b, uint32_t rounds,
                        fgs_error *err)
{
    struct fgs__plan *p = b->p;
    fgs_result r = fgs__graph_calls(p->dev, &b->cu, err);

    if (r >= 0)
        r = fgs__plan_renew(p, 0, err);
    if (r >= 0)
        r = acquire(b, rounds, err);
    if (r < 0)
        return r;
    forget_slots(p);
    pthread_mutex_lock(&p->dev->lock);
    p->replayed = 1;
    pthread_mutex_unlock(&p->dev->lock);
    p->graphing = 1;
    p->ahead = 0;
    fgs__plan_attrs(p);
    return FGS_OK;
}

static void leave(struct fgs__builder *b, uint32_t rounds, fgs_result r)
{
    struct fgs__plan *p = b->p;
    const fgs_allocator *a = &p->dev->alloc;

    if (p->graphing) {
        p->graphing = p->no_ahead = p->ahead = 0;
        fgs__plan_attrs(p);
    }
    /* Flags that a replay leaves are older than any later run's. */
    if (p->round < rounds)
        p->round = rounds;
    forget_slots(p);
    release(b);
    if (!b->began)
        return;
    /* What failed leaves the graph of before as it was. */
    fgs__free(a, r < 0 ? p->gnode : b->was);
    if (r < 0) {
        p->gnode = b->was;
        p->gnodes = b->was_count;
    }
}

/* ------------------------------------------------------------------ API -- */

static fgs_result check_capture(struct fgs__plan *p, CUstream stream,
                                fgs_error *err)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = p->dev->cu.cuStreamIsCapturing(stream, &status);

    if (r != CUDA_SUCCESS)
        return fgs__device_fail(p->dev, err, r, "cuStreamIsCapturing",
                                "the stream of the capture");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return fgs__fail(err, FGS_E_STATE,
                         "the stream is not being captured");
    for (uint32_t i = 1; i < p->streams; i++) {
        if (p->stream[i] == stream)
            return fgs__fail(err, FGS_E_INVAL,
                             "the plan is captured in a stream that one of "
                             "its stages names; such a stage leaves it NULL");
    }
    return FGS_OK;
}

static fgs_result capture(struct fgs__builder *b, CUstream stream,
                          uint32_t rounds, fgs_error *err)
{
    struct fgs__plan *p = b->p;
    struct fgs__sink sink = sink_capture;
    fgs_result r = enter(b, rounds, err);

    sink.cookie = b;
    if (r >= 0)
        r = check_capture(p, stream, err);
    if (r >= 0) {
        p->run_stream = stream;
        r = put_rounds(b, &sink, rounds, err);
    }
    if (r >= 0 && p->side != FGS__NOWHERE)
        r = fgs__sink_streams.wait(NULL, p, 0, p->clean_event, err);
    return r < 0 ? r : fgs__graph_verify(b, rounds, err);
}

/* The plan may put `rounds` rounds into a graph now; its context is entered. */
static fgs_result open_plan(struct fgs__builder *b, fgs_plan *plan,
                            uint32_t rounds, fgs_error *err)
{
    fgs_result r = fgs__plan_get(&b->p, plan, err);

    if (r >= 0)
        r = check_rounds(b->p, rounds, err);
    if (r >= 0)
        r = fgs__plan_parts(b->p, err);
    return r < 0 ? r : fgs__device_enter(b->p->dev, err);
}

fgs_result fgs_plan_capture(fgs_plan *plan, CUstream stream, uint32_t rounds,
                            fgs_error *err)
{
    struct fgs__builder b = { 0 };
    fgs_result r = open_plan(&b, plan, rounds, err);

    if (r < 0)
        return r;
    r = capture(&b, stream, rounds, err);
    leave(&b, rounds, r);
    fgs__device_leave(b.p->dev);
    return r;
}

fgs_result fgs_plan_graph(fgs_plan *plan, CUgraph graph,
                          const CUgraphNode *deps, size_t dep_count,
                          uint32_t rounds, CUgraphNode *tail, fgs_error *err)
{
    struct fgs__builder b = { .graph = graph };
    struct fgs__sink sink = fgs__sink_graph;
    fgs_result r;

    if (tail)
        *tail = NULL;
    if (!graph || (dep_count && !deps))
        return fgs__fail(err, FGS_E_NULL, "%s is NULL",
                         graph ? "deps" : "graph");
    r = open_plan(&b, plan, rounds, err);
    if (r < 0)
        return r;
    sink.cookie = &b;
    r = enter(&b, rounds, err);
    if (r >= 0)
        r = fgs__graph_begin(&b, deps, dep_count, err);
    if (r >= 0)
        r = put_rounds(&b, &sink, rounds, err);
    if (r >= 0)
        r = fgs__graph_tail(&b, err);
    if (r >= 0)
        r = fgs__graph_verify(&b, rounds, err);
    if (r < 0 && b.began)
        fgs__graph_undo(&b);
    if (tail)
        *tail = r < 0 ? NULL : b.tail;
    leave(&b, rounds, r);
    fgs__device_leave(b.p->dev);
    return r;
}

fgs_result fgs_plan_update_exec(fgs_plan *plan, CUgraphExec exec,
                                fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = fgs__plan_get(&p, plan, err);

    if (r >= 0 && !exec)
        r = fgs__fail(err, FGS_E_NULL, "exec is NULL");
    if (r >= 0 && !p->gnodes)
        r = fgs__fail(err, FGS_E_STATE, "the plan is in no graph");
    if (r >= 0)
        r = fgs__plan_parts(p, err);
    if (r >= 0)
        r = fgs__device_enter(p->dev, err);
    if (r < 0)
        return r;
    r = fgs__plan_renew(p, 0, err);
    if (r >= 0)
        r = fgs__graph_update(p, exec, err);
    fgs__device_leave(p->dev);
    return r;
}

fgs_result fgs_plan_check_graph(fgs_plan *plan, fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = fgs__plan_get(&p, plan, err);

    if (r < 0)
        return r;
    r = fgs__plan_recorded(p, err);
    memset(p->rec, 0, p->stages * sizeof *p->rec);
    return r;
}
