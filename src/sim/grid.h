/* grid.h -- grids, clusters and SMs: how blocks get their places
 *
 * Guarded as device.h says, which includes this.
 */
#ifndef FGS_SIM_GRID_H
#define FGS_SIM_GRID_H

#include "sim/exec.h"
#include "sim/sim.h"

struct fgs__sim_ask;
struct fgs__sim_ctx;
struct fgs__sim_device;
struct fgs__sim_func;
struct fgs__sim_op;

/* -------------------------------------------------------- grids: grid.c -- */

/* A grid joins the dispatch list at its start. */
/* Where reserved shared memory begins, behind a block's own. */
uint32_t fgs__sim_reserved_at(const struct fgs__sim_grid *g);
void fgs__sim_grid_start(struct fgs__sim_device *dev,
                         struct fgs__sim_grid *g);
void fgs__sim_grid_remove(struct fgs__sim_device *dev,
                          struct fgs__sim_grid *g);
/* Give blocks to SMs while they fit. */
void fgs__sim_grids_dispatch(struct fgs__sim_device *dev);
/* Are there blocks without a place? */
bool fgs__sim_grids_wait(const struct fgs__sim_device *dev);
void fgs__sim_grid_deps_done(struct fgs__sim_device *dev,
                             struct fgs__sim_grid *g);
/* Blocks of a kernel that fit on one SM; 0 = never. */
uint32_t fgs__sim_fit(const fgs_sim_config *cfg,
                      const struct fgs__sim_code *code, uint32_t threads,
                      uint32_t shared);
uint32_t fgs__sim_block_regs(const struct fgs__sim_code *code,
                             uint32_t threads);
uint32_t fgs__sim_block_shared(const fgs_sim_config *cfg, uint32_t shared);
/* Nothing runs and nothing will: fault the contexts whose blocks wait for
 * ever.  False = there are none. */
bool fgs__sim_grids_stuck(struct fgs__sim_device *dev);

/* ---------------------------------------------------- clusters: gang.c -- */

/* What a launch attribute, which was checked, asks for; false = it is about
 * something else.  cu_cluster.c */
bool fgs__sim_cluster_attr(struct fgs__sim_ask *ask, unsigned int id,
                           const CUlaunchAttributeValue *v);
/* Set the grid's clusters, whose blocks, threads and memory are set. */
CUresult fgs__sim_cluster_apply(const struct fgs__sim_func *f,
                                const struct fgs__sim_ask *ask,
                                struct fgs__sim_grid *g);
/* A kernel in place of another one of a graph keeps its attributes. */
CUresult fgs__sim_cluster_keep(struct fgs__sim_ctx *ctx,
                               struct fgs__sim_op *op,
                               const struct fgs__sim_op *from);
/* Attributes of a function; false = about something else. */
bool fgs__sim_cluster_get(const struct fgs__sim_func *f,
                          CUfunction_attribute attrib, int *value);
CUresult fgs__sim_cluster_set(struct fgs__sim_func *f,
                              CUfunction_attribute attrib, int value);
/* More blocks of the grid that fit on the SM now. */
uint32_t fgs__sim_sm_room(const struct fgs__sim_sm *sm,
                          const struct fgs__sim_grid *g);
/* Take the resources of a block; the caller fills the slot's `linear`. */
struct fgs__sim_slot *fgs__sim_sm_take(struct fgs__sim_sm *sm,
                                       struct fgs__sim_grid *g,
                                       uint64_t now_ps);
/* Can a cluster of `size` blocks ever be resident? */
bool fgs__sim_cluster_fits(const fgs_sim_config *cfg,
                           const struct fgs__sim_code *code, uint32_t threads,
                           uint32_t shared, uint32_t size);
/* Give the grid's next cluster its places; false = not now. */
bool fgs__sim_cluster_place(struct fgs__sim_device *dev,
                            struct fgs__sim_grid *g);
/* %ctaid of a rank of the grid's cluster number `index`. */
void fgs__sim_cluster_ctaid(const struct fgs__sim_grid *g, uint64_t index,
                            uint32_t rank, uint32_t ctaid[3]);
/* The block of the slot is gone; its cluster, if it has one, is freed by the
 * sweep behind the last one (no worker may run then). */
void fgs__sim_cluster_leave(struct fgs__sim_slot *slot);
void fgs__sim_clusters_sweep(struct fgs__sim_device *dev);

/* ------------------------------------------------------------ SMs: sm.c -- */

bool fgs__sim_sms_make(struct fgs__sim_device *dev);
void fgs__sim_sms_free(struct fgs__sim_device *dev);
/* Nothing is left to do: give memory for blocks back. */
void fgs__sim_sms_trim(struct fgs__sim_device *dev);
/* Run the SMs of a group, which clusters join, for one turn of their blocks,
 * at most up to device time `until`. */
void fgs__sim_sm_turn(struct fgs__sim_sm *const *group, uint32_t count,
                      uint64_t until, uint64_t mean_ps);
void fgs__sim_sm_clear(struct fgs__sim_sm *sm, struct fgs__sim_slot *slot);
/* Free all blocks of a context. */
void fgs__sim_sms_drop(struct fgs__sim_device *dev,
                       const struct fgs__sim_ctx *ctx);
/* Least wake time of all SMs. */
uint64_t fgs__sim_sms_next(const struct fgs__sim_device *dev);
/* Blocks so far that ended on any SM and left their place. */
uint64_t fgs__sim_sms_ended(const struct fgs__sim_device *dev);

/* ------------------------------------------------------ threads: pool.c -- */

bool fgs__sim_pool_make(struct fgs__sim_device *dev);
void fgs__sim_pool_free(struct fgs__sim_device *dev);
/* Run all SMs that have something to do before `until`. */
void fgs__sim_pool_epoch(struct fgs__sim_device *dev, uint64_t until);

#endif
