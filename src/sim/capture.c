/* capture.c -- streams that are captured into a graph */
#include "sim/graph.h"

static _Thread_local CUstreamCaptureMode thread_mode;

bool fgs__sim_captured(const struct fgs__sim_stream *s)
{
    return s->capture != NULL;
}

CUresult fgs__sim_capture_refuse(struct fgs__sim_stream *s)
{
    s->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fgs__sim_capture_check(struct fgs__sim_ctx *ctx)
{
    if (!ctx->captures)
        return CUDA_SUCCESS;
    for (struct fgs__sim_capture *c = ctx->captures; c; c = c->next)
        c->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fgs__sim_capture_unsafe(struct fgs__sim_ctx *ctx)
{
    return fgs__sim_captures_unsafe(ctx->dev);
}

CUresult fgs__sim_captures_unsafe(struct fgs__sim_device *dev)
{
    CUresult r = CUDA_SUCCESS;

    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return r;
    for (struct fgs__sim_ctx *o = dev->ctxs; o; o = o->next) {
        for (struct fgs__sim_capture *c = o->captures; c; c = c->next) {
            bool mine = pthread_equal(c->thread, pthread_self());

            if (mine ? c->mode == CU_STREAM_CAPTURE_MODE_RELAXED
                     : c->mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
                        thread_mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
                continue;
            c->invalid = true;
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return r;
}

CUresult fgs__sim_enter_unsafe(struct fgs__sim_ctx **ctx)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    r = fgs__sim_capture_unsafe(*ctx);
    return r ? fgs__sim_leave(r) : CUDA_SUCCESS;
}

/* The legacy stream waits for all blocking ones, so for captured ones too. */
CUresult fgs__sim_capture_implicit(struct fgs__sim_stream *s)
{
    struct fgs__sim_ctx *ctx = s->ctx;

    if (s != ctx->legacy || !ctx->captures)
        return CUDA_SUCCESS;
    for (struct fgs__sim_stream *t = ctx->streams; t; t = t->next) {
        if (!t->capture || t->flags & CU_STREAM_NON_BLOCKING)
            continue;
        t->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

static CUgraphNodeType type_of(const struct fgs__sim_op *op)
{
    switch (op->kind) {
    case FGS__SIM_OP_KERNEL:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case FGS__SIM_OP_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case FGS__SIM_OP_FILL:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case FGS__SIM_OP_HOST:
        return CU_GRAPH_NODE_TYPE_HOST;
    case FGS__SIM_OP_VALUES:
        return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case FGS__SIM_OP_LEASE:
        return op->u.lease.on ? CU_GRAPH_NODE_TYPE_MEM_ALLOC
                              : CU_GRAPH_NODE_TYPE_MEM_FREE;
    default:
        return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

/* What comes next in the stream follows `n` alone. */
static bool follow(struct fgs__sim_stream *s, struct fgs__sim_node *n)
{
    s->last.count = 0;
    return fgs__sim_edges_push(&s->ctx->dev->alloc, &s->last, n, NULL);
}

/* The events that a launch fires stand for its node and one of its ports. */
static bool fire(struct fgs__sim_ctx *ctx, uint64_t capture, CUevent handle,
                 struct fgs__sim_node *n, unsigned char port)
{
    CUgraphEdgeData data = { .from_port = port };
    struct fgs__sim_event *e = fgs__sim_handle_get(
        &ctx->dev->handles, FGS__SIM_KIND_EVENT, handle);

    if (!e)
        return true;
    data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    e->capture = capture;
    e->last.count = 0;
    return fgs__sim_edges_push(&ctx->dev->alloc, &e->last, n, &data);
}

/* A programmatic edge needs a kernel at both ends; elsewhere it is a plain
 * one, which orders more. */
static void fit_edges(struct fgs__sim_node *n, bool programmatic)
{
    for (size_t i = 0; i < n->deps.count; i++) {
        struct fgs__sim_edge *e = &n->deps.item[i];
        bool kernels = n->type == CU_GRAPH_NODE_TYPE_KERNEL &&
            e->node->type == CU_GRAPH_NODE_TYPE_KERNEL;

        if (!kernels) {
            memset(&e->data, 0, sizeof e->data);
        } else if (programmatic && !e->data.type) {
            e->data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
            e->data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        }
    }
}

static CUresult capture(struct fgs__sim_op *op)
{
    struct fgs__sim_stream *s = op->stream;
    struct fgs__sim_capture *c = s->capture;
    struct fgs__sim_node *n;

    if (c->invalid) {
        fgs__sim_op_free(op);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    n = fgs__sim_node_add(c->graph, type_of(op), op, &s->last);
    if (!n || !follow(s, n))
        goto nomem;
    if (op->kind == FGS__SIM_OP_KERNEL) {
        fit_edges(n, op->u.kernel.programmatic);
        fgs__sim_node_attrs(n);
        if (!fire(s->ctx, c->id, op->u.kernel.trigger, n,
                  op->u.kernel.trigger_port) ||
            !fire(s->ctx, c->id, op->u.kernel.launched, n,
                  CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER))
            goto nomem;
    } else {
        fit_edges(n, false);
    }
    return CUDA_SUCCESS;
nomem:
    c->invalid = true;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fgs__sim_submit(struct fgs__sim_op *op)
{
    CUresult r;

    if (op->stream->capture)
        return capture(op);
    r = fgs__sim_capture_implicit(op->stream);
    if (r)
        fgs__sim_op_free(op);
    else
        fgs__sim_op_enqueue(op);
    return r;
}

/* -------------------------------------------------------------- events -- */

CUresult fgs__sim_capture_record(struct fgs__sim_event *e,
                                 struct fgs__sim_stream *s)
{
    struct fgs__sim_capture *c = s->capture;

    if (c->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    e->capture = c->id;
    e->last.count = 0;
    if (fgs__sim_edges_copy(&s->ctx->dev->alloc, &e->last, &s->last))
        return CUDA_SUCCESS;
    c->invalid = true;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static struct fgs__sim_capture *running(struct fgs__sim_ctx *ctx, uint64_t id)
{
    struct fgs__sim_capture *c = ctx->captures;

    while (c && c->id != id)
        c = c->next;
    return c;
}

CUresult fgs__sim_capture_event(struct fgs__sim_event *e)
{
    struct fgs__sim_capture *c = running(e->ctx, e->capture);

    if (c)
        c->invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

/* A wait of or in a capture: joins the stream to it.  *done = false: neither
 * is captured. */
CUresult fgs__sim_capture_wait(struct fgs__sim_stream *s,
                               struct fgs__sim_event *e, bool *done)
{
    struct fgs__sim_capture *c = e->capture ? running(e->ctx, e->capture)
                                            : NULL;

    *done = s->capture || e->capture;
    if (!*done)
        return CUDA_SUCCESS;
    if (s->capture && !e->capture) {
        s->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!c)
        return CUDA_ERROR_CAPTURED_EVENT; /* its capture is over */
    if (s->capture && s->capture != c) {
        s->capture->invalid = c->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (c->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (s == s->ctx->legacy) {
        c->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    s->capture = c;
    if (fgs__sim_edges_copy(&s->ctx->dev->alloc, &s->last, &e->last))
        return CUDA_SUCCESS;
    c->invalid = true;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* -------------------------------------------------------- entry points -- */

CUresult fgs__sim_capture_begin(struct fgs__sim_stream *s,
                                CUstreamCaptureMode mode,
                                struct fgs__sim_graph *into)
{
    struct fgs__sim_ctx *ctx = s->ctx;
    struct fgs__sim_capture *c;

    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (s == ctx->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    c = fgs__zalloc(&ctx->dev->alloc, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->graph = into ? into : fgs__sim_graph_make(ctx);
    if (!c->graph) {
        fgs__free(&ctx->dev->alloc, c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->borrowed = into != NULL;
    c->id = ++fgs__sim_driver.ctx_ids;
    c->origin = s;
    c->mode = mode;
    c->thread = pthread_self();
    c->next = ctx->captures;
    ctx->captures = c;
    s->capture = c;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuStreamBeginCapture(CUstream stream,
                                       CUstreamCaptureMode mode)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r)
        r = fgs__sim_capture_begin(s, mode, NULL);
    return fgs__sim_leave(r);
}

void fgs__sim_capture_end(struct fgs__sim_capture *c)
{
    struct fgs__sim_ctx *ctx = c->origin->ctx; /* not the graph's */
    struct fgs__sim_capture **at = &ctx->captures;

    for (struct fgs__sim_stream *s = ctx->streams; s; s = s->next) {
        if (s->capture != c)
            continue;
        s->capture = NULL;
        fgs__sim_edges_free(&ctx->dev->alloc, &s->last);
    }
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    fgs__free(&ctx->dev->alloc, c);
}

static bool ends_with(const struct fgs__sim_stream *s,
                      const struct fgs__sim_node *n)
{
    for (size_t i = 0; i < s->last.count; i++) {
        if (s->last.item[i].node == n)
            return true;
    }
    return false;
}

/* What any stream of it ended with is followed, or is what the first one ended
 * with.  A node that a stream was told to forget (cu_capture.c) does not
 * count, as documented. */
static bool joined(const struct fgs__sim_capture *c)
{
    const struct fgs__sim_stream *s = c->origin->ctx->streams;

    for (; s; s = s->next) {
        for (size_t i = 0; s->capture == c && i < s->last.count; i++) {
            struct fgs__sim_node *n = s->last.item[i].node;

            if (!ends_with(c->origin, n) && !fgs__sim_node_followed(n))
                return false;
        }
    }
    return true;
}

CUresult fgs__sim_cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_capture *c;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    bool borrowed;

    if (r)
        return r;
    if (out)
        *out = NULL;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && !out)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !s->capture)
        r = CUDA_ERROR_ILLEGAL_STATE;
    if (r)
        goto leave;
    c = s->capture;
    if (c->origin != s) {
        r = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
        c->invalid = true;
        goto leave;
    }
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(c->thread, pthread_self())) {
        r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
        goto leave;
    }
    if (c->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!joined(c))
        r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    g = c->graph;
    borrowed = c->borrowed;
    fgs__sim_capture_end(c);
    if (r && !borrowed)
        fgs__sim_graph_free(g);
    if (!r)
        *out = (CUgraph)g->handle;
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamIsCapturing(CUstream stream,
                                      CUstreamCaptureStatus *status)
{
    return fgs__sim_cuStreamGetCaptureInfo(stream, status, NULL);
}

struct info {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **deps;
    const CUgraphEdgeData **edges;
    size_t *count;
    bool lossy; /* the caller cannot be told of edge data */
};

/* Arrays that the driver owns, good until the stream's next call. */
static CUresult give_deps(struct fgs__sim_stream *s, const struct info *q)
{
    static _Thread_local CUgraphNode nodes[64];
    static _Thread_local CUgraphEdgeData data[64];

    if (s->last.count > 64)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < s->last.count; i++) {
        nodes[i] = (CUgraphNode)s->last.item[i].node->handle;
        data[i] = s->last.item[i].data;
        if ((q->lossy || !q->edges) && data[i].type)
            return CUDA_ERROR_LOSSY_QUERY;
    }
    *q->deps = nodes;
    if (q->edges)
        *q->edges = data;
    return CUDA_SUCCESS;
}

static CUresult ask(CUstream stream, const struct info *q)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    bool active;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r && !q->status)
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && s == ctx->legacy)
        r = fgs__sim_capture_implicit(s);
    if (r)
        goto leave;
    active = s->capture && !s->capture->invalid;
    *q->status = !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE
        : active             ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                             : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    if (!active)
        goto leave;
    if (q->id)
        *q->id = s->capture->id;
    if (q->graph)
        *q->graph = (CUgraph)s->capture->graph->handle;
    if (q->deps)
        r = give_deps(s, q);
    if (q->count)
        *q->count = s->last.count;
leave:
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamGetCaptureInfo(CUstream stream,
                                         CUstreamCaptureStatus *status,
                                         cuuint64_t *id)
{
    struct info q = { .status = status, .id = id };

    return ask(stream, &q);
}

CUresult fgs__sim_cuStreamGetCaptureInfo_v2(
    CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
    CUgraph *graph, const CUgraphNode **deps, size_t *count)
{
    struct info q = { status, id, graph, deps, NULL, count, true };

    return ask(stream, &q);
}

CUresult fgs__sim_cuStreamGetCaptureInfo_v3(
    CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
    CUgraph *graph, const CUgraphNode **deps, const CUgraphEdgeData **edges,
    size_t *count)
{
    struct info q = { status, id, graph, deps, edges, count, false };

    return ask(stream, &q);
}

CUresult fgs__sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode old = thread_mode;

    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    thread_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
