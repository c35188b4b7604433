/* graph.h -- a plan's rounds in a CUDA graph */
#ifndef FGS_CORE_GRAPH_H
#define FGS_CORE_GRAPH_H

#include "core/plan.h"

/* Entry points with edge data. */
struct fgs__graph_cu {
    CUresult (*add)(CUgraph graph, const CUgraphNode *from,
                    const CUgraphNode *to, const CUgraphEdgeData *data,
                    size_t count);
    CUresult (*edges)(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                      CUgraphEdgeData *data, size_t *count);
    CUresult (*info)(CUstream stream, CUstreamCaptureStatus *status,
                     cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
                     const CUgraphEdgeData **data, size_t *count);
};

struct fgs__dep {
    CUgraphNode node;
    CUgraphEdgeData data;
};

struct fgs__deps {
    struct fgs__dep *dep;
    uint32_t count, room;
};

/* Rounds on their way into a graph.  stream, event: what the next node there
 * has to wait for; last: the node of each stage in this round. */
struct fgs__builder {
    struct fgs__plan *p;
    struct fgs__graph_cu cu;
    CUgraph graph;
    struct fgs__deps *stream, *event;
    CUgraphNode *last, tail;   /* tail: all of it ends there                 */
    uint64_t round;
    uint32_t room;             /* of p->gnode                                */
    int began;                 /* p->gnode is new                            */
    struct fgs__gnode *was;    /* the plan's nodes before, for a failure     */
    uint32_t was_count;
};

extern const struct fgs__sink fgs__sink_graph;

fgs_result fgs__graph_calls(struct fgs__device *d, struct fgs__graph_cu *out,
                            fgs_error *err);
fgs_result fgs__graph_begin(struct fgs__builder *b, const CUgraphNode *deps,
                            size_t count, fgs_error *err);
/* Take the nodes that were added out of the application's graph again. */
void fgs__graph_undo(struct fgs__builder *b);
fgs_result fgs__graph_tail(struct fgs__builder *b, fgs_error *err);
/* Remember a node for updates: a stage's, or a memset. */
fgs_result fgs__graph_note(struct fgs__builder *b, CUgraphNode node,
                           uint32_t stage, uint32_t use, CUdeviceptr at,
                           uint64_t words, uint32_t word, fgs_error *err);
/* Has the graph the programmatic edges that were meant?  Sets graph_port. */
fgs_result fgs__graph_verify(struct fgs__builder *b, uint32_t rounds,
                             fgs_error *err);
fgs_result fgs__graph_update(struct fgs__plan *p, CUgraphExec exec,
                             fgs_error *err);

#endif
