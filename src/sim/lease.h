/* lease.h -- memory that graphs allocate and free */
#ifndef FGS_SIM_LEASE_H
#define FGS_SIM_LEASE_H

#include "sim/device.h"

/* Memory of an alloc node: lease.c. */
struct fgs__sim_lease {
    struct fgs__sim_lease *next; /* of the context                           */
    uint64_t va, bytes;
    uint32_t refs;
    uint32_t outer;            /* free nodes in other graphs                 */
    unsigned int graph;        /* id of the one that allocates it            */
    bool inner;                /* that one frees it                          */
    bool booked, live;         /* there for calls, for kernels               */
    bool begins, ends;         /* of the graph that is launched              */
    CUmemPoolProps props;
    CUmemAccessDesc access;
    size_t accesses;
};

/* What an op of that kind does. */
void fgs__sim_lease_run(struct fgs__sim_ctx *ctx, struct fgs__sim_lease *l,
                        bool on);
void fgs__sim_lease_drop(struct fgs__sim_ctx *ctx, struct fgs__sim_lease *l);
void fgs__sim_leases_free(struct fgs__sim_ctx *ctx);
/* An op that begins or ends it; NULL = no memory. */
struct fgs__sim_op *fgs__sim_lease_op(struct fgs__sim_stream *s,
                                      struct fgs__sim_lease *l, bool on);
/* Is it there for calls that come from now on? */
void fgs__sim_lease_book(struct fgs__sim_ctx *ctx, struct fgs__sim_lease *l,
                         bool on);
/* The one that holds an address, NULL = none. */
struct fgs__sim_lease *fgs__sim_lease_at(const struct fgs__sim_ctx *ctx,
                                         uint64_t addr);
/* The allocation that a call names; `later`: in a graph, whose memory may
 * only be there when it runs.  range.host may be NULL. */
bool fgs__sim_call_range(const struct fgs__sim_ctx *ctx, uint64_t addr,
                         bool later, struct fgs__sim_range *out);
/* An allocation or a free in a capture. */
CUresult fgs__sim_capture_alloc(struct fgs__sim_stream *s, uint64_t bytes,
                                CUdeviceptr *ptr);
CUresult fgs__sim_capture_free(struct fgs__sim_stream *s, CUdeviceptr ptr);

struct fgs__sim_graph;
struct fgs__sim_node;
struct fgs__sim_place;

/* What the program makes a lease of, and where it frees it: an op, in an own
 * stream or for a node.  cu_graph_mem.c */
CUresult fgs__sim_lease_make(struct fgs__sim_lease **out,
                             struct fgs__sim_graph *g, uint64_t bytes);
CUresult fgs__sim_lease_new(struct fgs__sim_op **op, struct fgs__sim_stream *s,
                            struct fgs__sim_graph *g,
                            const CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult fgs__sim_lease_end(struct fgs__sim_op **op, struct fgs__sim_stream *s,
                            const struct fgs__sim_graph *g, CUdeviceptr ptr);
/* A node of the program's that frees it is made, or goes. */
void fgs__sim_lease_node(struct fgs__sim_node *n, bool made);
CUresult fgs__sim_add_alloc(const struct fgs__sim_place *at,
                            CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult fgs__sim_add_free(const struct fgs__sim_place *at, CUdeviceptr ptr);
/* May it be launched now?  It has been. */
CUresult fgs__sim_leases_check(const struct fgs__sim_graph *exec);
void fgs__sim_leases_book(const struct fgs__sim_graph *exec);

#endif
