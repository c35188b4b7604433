/* cond.h -- conditional nodes of graphs */
#ifndef FGS_SIM_COND_H
#define FGS_SIM_COND_H

#include "sim/graph.h"

/* A value that kernels set: a word of device memory, whose address is the
 * handle.  Its graph holds it, and the nodes that ask for it. */
struct fgs__sim_cond {
    struct fgs__sim_cond *next; /* of the context                            */
    uint64_t va;
    uint32_t refs;
    unsigned int graph;        /* id of the one it was made for, 0 = gone   */
    unsigned int value;        /* at the begin of a launch                   */
    bool assign;               /* at each one, else at the first alone       */
    bool used;                 /* a node of the program asks for it          */
};

/* What a conditional node runs: bodies of the program in its graph, flat
 * copies in an instantiated one, which launches share. */
struct fgs__sim_bodies {
    uint32_t refs;
    struct fgs__sim_cond *cond;
    CUgraphConditionalNodeType type;
    unsigned int size;
    bool flat;
    struct fgs__sim_graph **body;
    CUgraph *handle;           /* as the program gets them                   */
};

void fgs__sim_bodies_drop(struct fgs__sim_ctx *ctx, struct fgs__sim_bodies *b);
/* Give an op of an instantiated graph bodies of its own; false = failed. */
bool fgs__sim_bodies_flatten(struct fgs__sim_op *op);
/* The graph goes: its handles are nobody's. */
void fgs__sim_conds_drop(const struct fgs__sim_graph *g);
void fgs__sim_conds_free(struct fgs__sim_ctx *ctx);
/* Has every handle a node, every body only nodes that one may have? */
bool fgs__sim_conds_good(const struct fgs__sim_graph *g);
/* What a launch begins with: a write of every value; NULL = no memory. */
struct fgs__sim_op *fgs__sim_conds_begin(const struct fgs__sim_graph *exec,
                                         struct fgs__sim_stream *s);
/* Run the body that the value asks for, or end the op. */
void fgs__sim_cond_step(struct fgs__sim_op *op);
/* The body has ended. */
void fgs__sim_cond_next(struct fgs__sim_op *op);
CUresult fgs__sim_add_cond(const struct fgs__sim_place *at,
                           CUDA_CONDITIONAL_NODE_PARAMS *p);
CUresult fgs__sim_cond_params(CUgraphNode node,
                              CUDA_CONDITIONAL_NODE_PARAMS *p);

#endif
