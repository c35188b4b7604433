/* graph.c -- a plan's rounds in a CUDA graph: captured, or built node by node
 *
 * Both forms execute the list of operations that a run executes.  Capture lets
 * the driver make edges of streams, events and launch attributes; the explicit
 * form follows streams and events itself, and gives an edge the data that the
 * attribute would have given it (guide 4.5.3; as seen on driver 580):
 *
 *   programmatic serialization         type 1 port 1
 *   programmatic event                 type 1 port 1
 *   the same, at block start           type 1 port 2
 */
#include "core/compose.h"
#include "core/graph.h"

enum { PROGRAMMATIC = 1, PORT_TRIGGER = 1, PORT_STARTED = 2 };

static fgs_result failed(struct fgs__plan *p, fgs_error *err, CUresult r,
                         const char *call, const char *what)
{
    return fgs__device_fail(p->dev, err, r, call, "%s, in a graph", what);
}

/* Entry points with edge data, at the version of that signature; without them
 * the data would be lost (CUDA_ERROR_LOSSY_QUERY). */
fgs_result fgs__graph_calls(struct fgs__device *d, struct fgs__graph_cu *out,
                            fgs_error *err)
{
    enum { VERSION = 12030 };
    const struct {
        const char *name;
        void *at;
    } calls[] = {
        { "cuGraphAddDependencies", &out->add },
        { "cuGraphGetEdges", &out->edges },
        { "cuStreamGetCaptureInfo", &out->info },
    };

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CUdriverProcAddressQueryResult status;
        void *proc = NULL;

        if (d->cu.cuGetProcAddress(calls[i].name, &proc, VERSION, 0,
                                   &status) != CUDA_SUCCESS || !proc)
            return fgs__fail(err, FGS_E_ENTRY,
                             "the driver lacks %s with edge data (12.3)",
                             calls[i].name);
        memcpy(calls[i].at, &proc, sizeof proc);
    }
    return FGS__NEED(d, err, FGS__CU_cuGraphAddKernelNode,
                     FGS__CU_cuGraphAddMemsetNode, FGS__CU_cuGraphAddEmptyNode,
                     FGS__CU_cuGraphKernelNodeSetAttribute,
                     FGS__CU_cuGraphDestroyNode,
                     FGS__CU_cuGraphExecKernelNodeSetParams,
                     FGS__CU_cuGraphExecMemsetNodeSetParams,
                     FGS__CU_cuMemsetD32Async, FGS__CU_cuLaunchKernelEx,
                     FGS__CU_cuStreamIsCapturing);
}

/* ---------------------------------------------------------- dependencies -- */

static fgs_result put(struct fgs__plan *p, struct fgs__deps *d,
                      CUgraphNode node, CUgraphEdgeData data, fgs_error *err)
{
    if (d->count == d->room) {
        uint32_t room = d->room ? 2 * d->room : 4;
        struct fgs__dep *more = fgs__zalloc(&p->dev->alloc,
                                            room * sizeof *more);

        if (!more)
            return fgs__nomem(err);
        if (d->count)
            memcpy(more, d->dep, d->count * sizeof *more);
        fgs__free(&p->dev->alloc, d->dep);
        d->dep = more;
        d->room = room;
    }
    d->dep[d->count++] = (struct fgs__dep){ node, data };
    return FGS_OK;
}

/* Each node once; a plain edge is the stronger one. */
static fgs_result join(struct fgs__plan *p, struct fgs__deps *to,
                       const struct fgs__deps *from, fgs_error *err)
{
    fgs_result r = FGS_OK;

    for (uint32_t i = 0; r >= 0 && i < from->count; i++) {
        uint32_t j = 0;

        while (j < to->count && to->dep[j].node != from->dep[i].node)
            j++;
        if (j == to->count)
            r = put(p, to, from->dep[i].node, from->dep[i].data, err);
        else if (!from->dep[i].data.type)
            to->dep[j].data = from->dep[i].data;
    }
    return r;
}

static fgs_result only(struct fgs__plan *p, struct fgs__deps *d,
                       CUgraphNode node, CUgraphEdgeData data, fgs_error *err)
{
    d->count = 0;
    return put(p, d, node, data, err);
}

/* Edges from what a stream has to wait for to its new node. */
static fgs_result tie(struct fgs__builder *b, uint32_t stream, CUgraphNode node,
                      fgs_error *err)
{
    const CUgraphEdgeData plain = { 0 };
    struct fgs__deps *d = &b->stream[stream];

    for (uint32_t i = 0; i < d->count; i++) {
        CUresult r = b->cu.add(b->graph, &d->dep[i].node, &node,
                               &d->dep[i].data, 1);

        if (r != CUDA_SUCCESS)
            return failed(b->p, err, r, "cuGraphAddDependencies", "an edge");
    }
    return only(b->p, d, node, plain, err);
}

/* ------------------------------------------------------------ explicit -- */

/* Attributes that a node has of its own; those that make edges are edges. */
static fgs_result set_attributes(struct fgs__builder *b,
                                 const struct fgs__stage *s, CUgraphNode node,
                                 fgs_error *err)
{
    for (uint32_t i = 0; i < s->config.numAttrs; i++) {
        const CUlaunchAttribute *a = &s->attr[i];
        CUresult r;

        if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
            a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
            a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            continue;
        r = b->p->dev->cu.cuGraphKernelNodeSetAttribute(node, a->id,
                                                        &a->value);
        if (r != CUDA_SUCCESS)
            return failed(b->p, err, r, "cuGraphKernelNodeSetAttribute",
                          s->name);
    }
    return FGS_OK;
}

static CUDA_KERNEL_NODE_PARAMS_v1 node_params(const struct fgs__stage *s)
{
    return (CUDA_KERNEL_NODE_PARAMS_v1){
        .func = s->function,
        .gridDimX = s->grid[0], .gridDimY = s->grid[1],
        .gridDimZ = s->grid[2], .blockDimX = s->block[0],
        .blockDimY = s->block[1], .blockDimZ = s->block[2],
        .sharedMemBytes = s->shared, .kernelParams = s->params
    };
}

static int is_serial(const struct fgs__stage *s)
{
    for (uint32_t i = 0; i < s->config.numAttrs; i++) {
        if (s->attr[i].id ==
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return 1;
    }
    return 0;
}

/* The edge from the kernel right before becomes a programmatic one. */
static void make_serial(struct fgs__builder *b, const struct fgs__stage *s)
{
    struct fgs__deps *d = &b->stream[s->stream];
    CUgraphNode before = b->last[s->before];

    for (uint32_t i = 0; i < d->count; i++) {
        if (d->dep[i].node != before)
            continue;
        d->dep[i].data.type = PROGRAMMATIC;
        d->dep[i].data.from_port = PORT_TRIGGER;
    }
}

/* Readers in other streams: what waits for the launch's event. */
static fgs_result early_events(struct fgs__builder *b,
                               const struct fgs__stage *s, CUgraphNode node,
                               fgs_error *err)
{
    const uint32_t events[] = { s->early_event, s->launch_event };
    fgs_result r = FGS_OK;

    for (int i = 0; r >= 0 && i < 2; i++) {
        CUgraphEdgeData data = { .type = PROGRAMMATIC,
                                 .from_port = PORT_TRIGGER };

        if (events[i] == FGS__NOWHERE)
            continue;
        if (fgs__at_block_start(b->p, s))
            data.from_port = PORT_STARTED;
        r = only(b->p, &b->event[events[i]], node, data, err);
    }
    return r;
}

fgs_result fgs__graph_note(struct fgs__builder *b, CUgraphNode node,
                           uint32_t stage, uint32_t use, CUdeviceptr at,
                           uint64_t words, uint32_t word, fgs_error *err)
{
    struct fgs__plan *p = b->p;

    if (p->gnodes == b->room)
        return fgs__fail(err, FGS_E_STATE, "more nodes than were counted");
    p->gnode[p->gnodes++] = (struct fgs__gnode){
        .node = node, .stage = stage, .use = use, .round = b->round,
        .offset = use == FGS__NOWHERE ? 0 : at - p->use[use].ptr, .at = at,
        .words = words, .word = word
    };
    return FGS_OK;
}

static fgs_result build_kernel(void *cookie, struct fgs__plan *p,
                               uint32_t stage, uint32_t stream, fgs_error *err)
{
    struct fgs__builder *b = cookie;
    struct fgs__stage *s = &p->stage[stage];
    CUDA_KERNEL_NODE_PARAMS_v1 params = node_params(s);
    CUgraphNode node;
    CUresult c = p->dev->cu.cuGraphAddKernelNode(&node, b->graph, NULL, 0,
                                                 &params);
    fgs_result r;

    if (c != CUDA_SUCCESS)
        return failed(p, err, c, "cuGraphAddKernelNode", s->name);
    if (is_serial(s))
        make_serial(b, s);
    r = fgs__graph_note(b, node, stage, s->fills,
                        s->fills == FGS__NOWHERE ? 0 : s->args.p_mid, 0, 0,
                        err);
    if (r >= 0)
        r = set_attributes(b, s, node, err);
    if (r >= 0)
        r = tie(b, stream, node, err);
    if (r >= 0)
        r = early_events(b, s, node, err);
    b->last[stage] = node;
    return r;
}

static CUDA_MEMSET_NODE_PARAMS set_params(CUdeviceptr at, uint32_t word,
                                          uint64_t words)
{
    return (CUDA_MEMSET_NODE_PARAMS){ .dst = at, .value = word,
                                      .elementSize = 4, .width = words,
                                      .height = 1 };
}

static fgs_result build_set(void *cookie, struct fgs__plan *p, uint32_t stream,
                            CUdeviceptr at, uint32_t word, uint64_t words,
                            const char *what, uint32_t use, fgs_error *err)
{
    struct fgs__builder *b = cookie;
    CUDA_MEMSET_NODE_PARAMS params = set_params(at, word, words);
    CUgraphNode node;
    CUresult c = p->dev->cu.cuGraphAddMemsetNode(&node, b->graph, NULL, 0,
                                                 &params, p->dev->ctx);
    fgs_result r;

    if (c != CUDA_SUCCESS)
        return failed(p, err, c, "cuGraphAddMemsetNode", what);
    r = fgs__graph_note(b, node, FGS__NOWHERE, use, at, words, word, err);
    return r < 0 ? r : tie(b, stream, node, err);
}

static fgs_result build_record(void *cookie, struct fgs__plan *p,
                               uint32_t stream, uint32_t event, fgs_error *err)
{
    struct fgs__builder *b = cookie;

    b->event[event].count = 0;
    return join(p, &b->event[event], &b->stream[stream], err);
}

static fgs_result build_wait(void *cookie, struct fgs__plan *p,
                             uint32_t stream, uint32_t event, fgs_error *err)
{
    struct fgs__builder *b = cookie;

    return join(p, &b->stream[stream], &b->event[event], err);
}

const struct fgs__sink fgs__sink_graph = {
    .kernel = build_kernel, .set = build_set, .record = build_record,
    .wait = build_wait
};

/* The node in which all of the rounds end. */
fgs_result fgs__graph_tail(struct fgs__builder *b, fgs_error *err)
{
    struct fgs__plan *p = b->p;
    fgs_result r = FGS_OK;
    CUgraphNode node;
    CUresult c;

    if (p->side != FGS__NOWHERE)
        r = join(p, &b->stream[0], &b->stream[p->side], err);
    if (r < 0)
        return r;
    c = p->dev->cu.cuGraphAddEmptyNode(&node, b->graph, NULL, 0);
    if (c != CUDA_SUCCESS)
        return failed(p, err, c, "cuGraphAddEmptyNode", "the end");
    b->tail = node;
    return tie(b, 0, node, err);
}

void fgs__graph_undo(struct fgs__builder *b)
{
    struct fgs__plan *p = b->p;

    if (b->tail)
        fgs__device_lost(p->dev, p->dev->cu.cuGraphDestroyNode(b->tail),
                         "cuGraphDestroyNode", "rounds that failed");
    for (uint32_t i = 0; i < p->gnodes; i++)
        fgs__device_lost(p->dev,
                         p->dev->cu.cuGraphDestroyNode(p->gnode[i].node),
                         "cuGraphDestroyNode", "rounds that failed");
}

fgs_result fgs__graph_begin(struct fgs__builder *b, const CUgraphNode *deps,
                            size_t count, fgs_error *err)
{
    const CUgraphEdgeData plain = { 0 };
    fgs_result r = FGS_OK;

    for (size_t i = 0; r >= 0 && i < count; i++)
        r = put(b->p, &b->stream[0], deps[i], plain, err);
    return r;
}

/* ------------------------------------------------------------ read back -- */

struct edges {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t count;
};

static fgs_result read_edges(struct fgs__builder *b, struct edges *e,
                             fgs_error *err)
{
    const fgs_allocator *a = &b->p->dev->alloc;
    CUresult r = b->cu.edges(b->graph, NULL, NULL, NULL, &e->count);

    if (r != CUDA_SUCCESS)
        return failed(b->p, err, r, "cuGraphGetEdges", "their number");
    e->from = fgs__zalloc(a, (e->count + 1) * sizeof *e->from);
    e->to = fgs__zalloc(a, (e->count + 1) * sizeof *e->to);
    e->data = fgs__zalloc(a, (e->count + 1) * sizeof *e->data);
    if (!e->from || !e->to || !e->data)
        return fgs__nomem(err);
    r = b->cu.edges(b->graph, e->from, e->to, e->data, &e->count);
    if (r != CUDA_SUCCESS)
        return failed(b->p, err, r, "cuGraphGetEdges", "its edges");
    return FGS_OK;
}

static CUgraphNode node_of(const struct fgs__plan *p, uint32_t stage,
                           uint64_t round)
{
    for (uint32_t i = 0; i < p->gnodes; i++) {
        if (p->gnode[i].stage == stage && p->gnode[i].round == round)
            return p->gnode[i].node;
    }
    return NULL;
}

/* The port of the programmatic edge between two nodes, 0 = there is none. */
static int port(const struct edges *e, CUgraphNode from, CUgraphNode to)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->from[i] == from && e->to[i] == to &&
            e->data[i].type == PROGRAMMATIC)
            return e->data[i].from_port;
    }
    return 0;
}

/* Which port an edge has to have in the graph; 0 = none, a plain path. */
static int meant(const struct fgs__plan *p, const struct fgs__edge *e)
{
    const struct fgs__stage *from = &p->stage[e->from], *to = &p->stage[e->to];

    if (e->cross == FGS__CROSS_SERIAL)
        return to->before == e->from ? PORT_TRIGGER : 0;
    if (e->cross == FGS__CROSS_EVENT_EARLY || e->cross == FGS__CROSS_LAUNCH)
        return fgs__at_block_start(p, from) ? PORT_STARTED : PORT_TRIGGER;
    return 0;
}

static int read_port(const struct fgs__plan *p, const struct edges *e,
                     const struct fgs__edge *x, uint32_t round)
{
    return port(e, node_of(p, x->from, round), node_of(p, x->to, round));
}

fgs_result fgs__graph_verify(struct fgs__builder *b, uint32_t rounds,
                             fgs_error *err)
{
    struct fgs__plan *p = b->p;
    struct edges e = { 0 };
    fgs_result r = read_edges(b, &e, err);

    for (uint32_t i = 0; r >= 0 && i < p->edges; i++) {
        const struct fgs__edge *x = &p->edge[i];

        for (uint32_t round = 0; r >= 0 && round < rounds; round++) {
            int got = read_port(p, &e, x, round);

            if (meant(p, x) && got != meant(p, x))
                r = fgs__fail(err, FGS_E_DRIVER,
                              "the graph has no programmatic edge of port %d "
                              "from %s to %s, round %u (port %d was read)",
                              meant(p, x), p->stage[x->from].name,
                              p->stage[x->to].name, round, got);
        }
    }
    /* Those of a graph that is not what was meant are not told. */
    for (uint32_t i = 0; r >= 0 && i < p->edges; i++)
        p->edge[i].graph_port = read_port(p, &e, &p->edge[i], rounds - 1);
    fgs__free(&p->dev->alloc, e.from);
    fgs__free(&p->dev->alloc, e.to);
    fgs__free(&p->dev->alloc, e.data);
    return r;
}

/* ---------------------------------------------------------------- update -- */

fgs_result fgs__graph_update(struct fgs__plan *p, CUgraphExec exec,
                             fgs_error *err)
{
    for (uint32_t i = 0; i < p->gnodes; i++) {
        struct fgs__gnode *n = &p->gnode[i];
        CUdeviceptr at = n->use == FGS__NOWHERE
            ? n->at : p->use[n->use].ptr + n->offset;
        CUresult r;

        if (n->stage == FGS__NOWHERE) {
            CUDA_MEMSET_NODE_PARAMS set = set_params(at, n->word, n->words);

            r = p->dev->cu.cuGraphExecMemsetNodeSetParams(exec, n->node, &set,
                                                          p->dev->ctx);
        } else {
            struct fgs__stage *s = &p->stage[n->stage];
            CUDA_KERNEL_NODE_PARAMS_v1 params = node_params(s);

            fgs__plan_follow(p, n->round);
            if (s->fills != FGS__NOWHERE)
                s->args.p_mid = at;
            r = p->dev->cu.cuGraphExecKernelNodeSetParams(exec, n->node,
                                                          &params);
        }
        if (r != CUDA_SUCCESS)
            return failed(p, err, r, "cuGraphExec...NodeSetParams",
                          n->stage == FGS__NOWHERE ? "a fill"
                                                   : p->stage[n->stage].name);
    }
    return FGS_OK;
}
