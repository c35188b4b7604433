/* cu_capture.c -- entry points: capture into a graph, what comes next in one */
#include "sim/graph.h"

/* The stream's next node follows those nodes, beside what it follows now or in
 * its place. */
static CUresult follow(struct fgs__sim_stream *s, const CUgraphNode *deps,
                       const CUgraphEdgeData *data, size_t count, bool add)
{
    const fgs_allocator *a = &s->ctx->dev->alloc;
    struct fgs__sim_edges now = { NULL, 0, 0 };
    CUresult r = fgs__sim_read_deps(s->ctx, s->capture->graph, deps, data,
                                    count, &now);

    if (!r && add && !fgs__sim_edges_copy(a, &now, &s->last))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        fgs__sim_edges_free(a, &now);
    } else {
        fgs__sim_edges_free(a, &s->last);
        s->last = now;
    }
    return r;
}

struct fgs__sim_capture *
fgs__sim_capture_into(const struct fgs__sim_ctx *of,
                      const struct fgs__sim_graph *g)
{
    for (struct fgs__sim_ctx *o = of->dev->ctxs; o; o = o->next)
        for (struct fgs__sim_capture *c = o->captures; c; c = c->next)
            if (g ? c->graph == g : c->graph->ctx == of)
                return c;
    return NULL;
}

CUresult fgs__sim_cuStreamBeginCaptureToGraph(
    CUstream stream, CUgraph graph, const CUgraphNode *deps,
    const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    r = fgs__sim_sticky(ctx);
    if (r)
        return fgs__sim_leave(r);
    if (fgs__sim_capture_into(ctx, g)) /* one at a time */
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r)
        r = fgs__sim_capture_begin(s, mode, g);
    if (!r) {
        r = follow(s, deps, data, count, false);
        if (r)
            fgs__sim_capture_end(s->capture);
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamUpdateCaptureDependencies_v2(
    CUstream stream, CUgraphNode *deps, const CUgraphEdgeData *data,
    size_t count, unsigned int flags)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !s->capture)
        r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r && s->capture->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!r)
        r = follow(s, deps, data, count,
                   flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamUpdateCaptureDependencies(CUstream stream,
                                                    CUgraphNode *deps,
                                                    size_t count,
                                                    unsigned int flags)
{
    return fgs__sim_cuStreamUpdateCaptureDependencies_v2(stream, deps, NULL,
                                                         count, flags);
}

/* The first version has no mode and forbids no call meanwhile (driver 580). */
CUresult fgs__sim_cuStreamBeginCapture_v1(CUstream stream)
{
    return fgs__sim_cuStreamBeginCapture(stream,
                                         CU_STREAM_CAPTURE_MODE_RELAXED);
}
