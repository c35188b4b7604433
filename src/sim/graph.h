/* graph.h -- graphs of work, and capture of streams into them
 *
 * A node holds an op that is never run itself: a launch of the instantiated
 * graph makes copies of all ops and hands them to streams of its own.
 */
#ifndef FGS_SIM_GRAPH_H
#define FGS_SIM_GRAPH_H

#include "sim/lease.h"

/* An object of the program that graphs hold: cu_user.c. */
struct fgs__sim_user {
    struct fgs__sim_user *next;
    uintptr_t handle;
    uint64_t refs;
    struct fgs__sim_op *last; /* calls the destructor, made with the object  */
};
/* References of one owner; to be dropped as often as they were taken. */
struct fgs__sim_users {
    struct { struct fgs__sim_user *user; uint64_t count; } *item;
    size_t count, cap;
};

struct fgs__sim_node {
    struct fgs__sim_node *next;
    struct fgs__sim_graph *graph;
    uintptr_t handle;          /* 0 in an instantiated graph                 */
    uint64_t source;           /* which node of the program it stands for    */
    uint64_t origin;           /* the node that it was cloned from           */
    bool frees;                /* counted as its lease's free node           */
    bool disabled;             /* of an instantiated graph: runs as empty    */
    struct fgs__sim_stream_attr attr[FGS__SIM_ATTRS]; /* of a kernel          */
    CUgraphNodeType type;
    struct fgs__sim_op *op;    /* owned; EMPTY where there is nothing to run */
    struct fgs__sim_edges deps;
    CUevent event;             /* of event nodes                             */
    struct fgs__sim_graph *child; /* of a child graph node, owned            */
    CUDA_MEMCPY3D copy;        /* as the program gave it                     */
    void **params;             /* for GetParams: into op's parameter block   */
    uint32_t mark;             /* free for a walk                            */
};

struct fgs__sim_graph {
    struct fgs__sim_graph *next; /* of the context                           */
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    struct fgs__sim_node *head, **tail;
    size_t count;
    bool instantiated;
    bool owned;                /* by a child graph or conditional node       */
    struct fgs__sim_graph *parent; /* of a body: its node's graph            */
    unsigned long long flags;
    unsigned int id;           /* no other one of the process has it         */
    unsigned int made_of;      /* of an instantiated one: that graph's id    */
    struct fgs__sim_mark *last; /* end of its last launch                    */
    struct fgs__sim_users users;
};

struct fgs__sim_capture {
    struct fgs__sim_capture *next;
    uint64_t id;
    struct fgs__sim_graph *graph;
    struct fgs__sim_stream *origin;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool invalid;
    bool borrowed;             /* the graph is the program's                 */
};

/* Into a graph of the program, or NULL = a new one; capture.c. */
CUresult fgs__sim_capture_begin(struct fgs__sim_stream *s,
                                CUstreamCaptureMode mode,
                                struct fgs__sim_graph *into);

/* One that goes into a graph, or into any of a context's (NULL); its stream
 * may be of another context.  NULL = none. */
struct fgs__sim_capture *
fgs__sim_capture_into(const struct fgs__sim_ctx *of,
                      const struct fgs__sim_graph *g);

struct fgs__sim_graph *fgs__sim_graph_make(struct fgs__sim_ctx *ctx);
void fgs__sim_graph_free(struct fgs__sim_graph *g);
/* All of a context. */
void fgs__sim_graphs_free(struct fgs__sim_ctx *ctx);
struct fgs__sim_graph *fgs__sim_graph_of(struct fgs__sim_ctx *ctx,
                                         CUgraph handle);
struct fgs__sim_node *fgs__sim_node_of(struct fgs__sim_ctx *ctx,
                                       CUgraphNode handle);
/* Takes the op, also when it fails (NULL = no memory). */
struct fgs__sim_node *fgs__sim_node_add(struct fgs__sim_graph *g,
                                        CUgraphNodeType type,
                                        struct fgs__sim_op *op,
                                        const struct fgs__sim_edges *deps);
void fgs__sim_node_free(struct fgs__sim_node *n);
/* CUDA_SUCCESS, INVALID_VALUE for an edge that is there or closes a ring. */
CUresult fgs__sim_edge_add(struct fgs__sim_node *from,
                           struct fgs__sim_node *to,
                           const CUgraphEdgeData *data);
bool fgs__sim_edges_push(const fgs_allocator *a, struct fgs__sim_edges *e,
                         struct fgs__sim_node *node,
                         const CUgraphEdgeData *data);
bool fgs__sim_edges_copy(const fgs_allocator *a, struct fgs__sim_edges *to,
                         const struct fgs__sim_edges *from);
void fgs__sim_edges_free(const fgs_allocator *a, struct fgs__sim_edges *e);
/* Has any node that follows it? */
bool fgs__sim_node_followed(const struct fgs__sim_node *n);

/* What every call that adds a node is given. */
struct fgs__sim_place {
    CUgraphNode *out;
    CUgraph graph;
    const CUgraphNode *deps;
    size_t count;
    const CUgraphEdgeData *data; /* NULL = plain edges                       */
};
struct fgs__sim_params;
CUresult fgs__sim_add_node(const struct fgs__sim_place *p,
                           const struct fgs__sim_params *q, CUevent event);
/* The same for a child graph: a copy of it, or itself. */
CUresult fgs__sim_add_child(const struct fgs__sim_place *p, CUgraph child,
                            bool move);
/* Set a node's parameters, in a graph (exec NULL) or an instantiated one. */
CUresult fgs__sim_set_params(CUgraphExec exec, CUgraphNode node,
                             const struct fgs__sim_params *q);
/* The same for an event node. */
CUresult fgs__sim_set_event(CUgraphExec exec, CUgraphNode node,
                            CUgraphNodeType type, CUevent event);
/* A node of the program in an instantiated graph, NULL = not there. */
struct fgs__sim_node *fgs__sim_exec_node(struct fgs__sim_ctx *ctx,
                                         CUgraphExec exec,
                                         const struct fgs__sim_node *n);
/* The first difference between two graphs that an update cannot take; NULL =
 * none.  cu_graph_run.c */
struct fgs__sim_node *fgs__sim_graph_differs(struct fgs__sim_graph *old,
                                             struct fgs__sim_graph *now,
                                             CUgraphExecUpdateResult *why);

bool fgs__sim_graph_holds(const struct fgs__sim_graph *g,
                          CUgraphNodeType type);
/* Memory nodes: no node or edge can be taken away. */
bool fgs__sim_graph_fixed(const struct fgs__sim_graph *g);
/* It cannot be copied, and be instantiated once at a time; lease.c. */
bool fgs__sim_graph_unique(const struct fgs__sim_graph *g);
/* Adds a node with an op that is made already; takes the op.  cu_graph.c */
CUresult fgs__sim_place_node(struct fgs__sim_ctx *ctx,
                             const struct fgs__sim_place *p,
                             CUgraphNodeType type, struct fgs__sim_op *op,
                             struct fgs__sim_node **made);

/* References that an owner holds: cu_user.c.  False = no memory. */
bool fgs__sim_users_copy(struct fgs__sim_device *dev,
                         struct fgs__sim_users *to,
                         const struct fgs__sim_users *from);
void fgs__sim_users_drop(struct fgs__sim_device *dev,
                         struct fgs__sim_users *users);

/* A copy of a graph: for the program (`flat` false, handles), or to be
 * launched: in order, child graphs dissolved. */
CUresult fgs__sim_graph_copy(struct fgs__sim_graph **out,
                             const struct fgs__sim_graph *g, bool flat);
CUresult fgs__sim_graph_launch(struct fgs__sim_graph *exec,
                               struct fgs__sim_stream *s);

/* A stream that the program does not know: the scheduler frees it when it is
 * empty and its `waiting` is 0.  NULL = no memory.  graph_launch.c */
struct fgs__sim_stream *fgs__sim_lane_make(struct fgs__sim_ctx *ctx);

/* An op for a node; the same entry points make those of streams. */
struct fgs__sim_op *fgs__sim_op_copy(const struct fgs__sim_op *op,
                                     struct fgs__sim_stream *s);
/* was: the op whose attributes hold, or NULL. */
CUresult fgs__sim_kernel_op(struct fgs__sim_op **out,
                            struct fgs__sim_ctx *ctx,
                            const CUlaunchConfig *config,
                            const struct fgs__sim_op *was, CUfunction func,
                            void **params, void **extra);
/* Attributes of a kernel node that `ask` holds, nothing is done about others;
 * is it one?  cu_cluster.c. */
CUresult fgs__sim_cluster_node_set(struct fgs__sim_ctx *ctx,
                                   struct fgs__sim_node *n,
                                   CUkernelNodeAttrID attr,
                                   const CUkernelNodeAttrValue *value);
bool fgs__sim_cluster_node_get(const struct fgs__sim_node *n,
                               CUkernelNodeAttrID attr,
                               CUkernelNodeAttrValue *value);
/* The attributes of a captured launch: those of its op, and those of the
 * program's list, which were checked; cu_graph_attr.c. */
void fgs__sim_node_attrs(struct fgs__sim_node *n);
void fgs__sim_node_keep(struct fgs__sim_node *n, const CUlaunchConfig *config);
/* Is the function of a kernel's op still there? */
bool fgs__sim_kernel_alive(struct fgs__sim_ctx *ctx,
                           const struct fgs__sim_op *op);
/* The op begins after that mark. */
bool fgs__sim_op_wait_for(struct fgs__sim_op *op, struct fgs__sim_mark *m);
/* The op's end as a mark, made at the first call. */
struct fgs__sim_mark *fgs__sim_op_over(struct fgs__sim_op *op);

/* Parameters of a node of any of the four kinds that have some. */
struct fgs__sim_params {
    CUgraphNodeType type;
    const void *p;
    CUkernel kern;
};
/* The op that they describe, for `n`, whose attributes hold, or NULL;
 * cu_graph.c. */
CUresult fgs__sim_node_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                          const struct fgs__sim_params *q,
                          const struct fgs__sim_node *n);

/* A batch of waits and writes; cu_value.c.  False = no memory. */
CUresult fgs__sim_values_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *p);
bool fgs__sim_values_copy(struct fgs__sim_op *op,
                          const CUstreamBatchMemOpParams *item,
                          uint32_t count);

/* Nodes and edges that the program names, as edges to a node of `g`; `data`
 * may be NULL.  cu_graph.c */
CUresult fgs__sim_read_deps(struct fgs__sim_ctx *ctx, struct fgs__sim_graph *g,
                            const CUgraphNode *deps,
                            const CUgraphEdgeData *data, size_t count,
                            struct fgs__sim_edges *out);

/* Enter, and the graph of a handle that its owner may change or free;
 * cu_graph_exec.c. */
CUresult fgs__sim_own_graph(struct fgs__sim_ctx **ctx, CUgraph handle,
                            struct fgs__sim_graph **g);

#endif
