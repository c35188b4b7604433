/* compose.h -- the steps in which a plan is made
 *
 * compose.c takes the parts, edge.c makes edges of the accesses and brings the
 * stages into launch order, cover.c looks at the tiles, order.c decides each
 * edge, attr.c each launch, ops.c writes down a round as a list of operations.
 */
#ifndef FGS_CORE_COMPOSE_H
#define FGS_CORE_COMPOSE_H

#include "core/plan.h"

/* ring.c: the buffers of fill `ring`; before the stages are taken. */
fgs_result fgs__rings_take(struct fgs__plan *p, const fgs_plan_spec *spec,
                           fgs_error *err);
/* Index of the ring of a buffer, NOWHERE = it is none. */
uint32_t fgs__ring_find(const struct fgs__plan *p, const fgs_buffer *handle);
/* The use of a stage's access to a ring: the edge behind it, or a new one.
 * FGS_E_PLAN where the chain has no such edge. */
fgs_result fgs__ring_access(struct fgs__plan *p, struct fgs__stage *s,
                            uint32_t ring, const fgs_access *d,
                            const char *what, uint32_t *use, fgs_error *err);
/* All stages are taken: FGS_E_PLAN where a chain has no end. */
fgs_result fgs__rings_close(struct fgs__plan *p, fgs_error *err);
/* Edges have their orders: FGS_E_PLAN where the slots of a ring could be
 * cleared or written too early. */
fgs_result fgs__rings_check(struct fgs__plan *p, fgs_error *err);

/* use.c: a use of a buffer; that of a buffer, made on its first mention. */
fgs_result fgs__plan_new_use(struct fgs__plan *p, fgs_buffer *handle,
                             const char *what, uint32_t *index,
                             fgs_error *err);
fgs_result fgs__plan_use(struct fgs__plan *p, fgs_buffer *handle,
                         const char *what, uint32_t *index, fgs_error *err);
/* stage.c */
fgs_result fgs__plan_stage(struct fgs__plan *p, uint32_t index,
                           const fgs_stage_desc *d, fgs_error *err);

/* box.c: what an access says of boxes, checked; how many there are. */
fgs_result fgs__plan_box(struct fgs__plan *p, struct fgs__stage *s,
                         struct fgs__access *a, const fgs_access *d,
                         fgs_error *err);
uint64_t fgs__boxes(const fgs_box *b);

/* edge.c: the access by which a stage writes a use, NULL = it does not. */
const struct fgs__access *fgs__stage_writes(const struct fgs__stage *s,
                                            uint32_t use);

/* edge.c: edges by the stage that they end in: its `in`. */
void fgs__plan_index(struct fgs__plan *p);

/* edge.c: edges of the accesses; stages into launch order.  FGS_E_PLAN: a
 * cycle. */
fgs_result fgs__plan_edges(struct fgs__plan *p, fgs_error *err);

/* cover.c: FGS_E_PLAN when two blocks write a tile, or one that is read is
 * written by none; FGS_E_SIZE for tiles that a buffer does not have,
 * FGS_E_MISMATCH for blocks that no table or box has something for.  Edges
 * whose ends share no tile are dropped. */
fgs_result fgs__plan_cover(struct fgs__plan *p, fgs_error *err);
/* Those edges alone, for stages in any order. */
fgs_result fgs__plan_drop_edges(struct fgs__plan *p, fgs_error *err);
/* Does one block at most read each tile?  0 = no, *tile is one; or an error. */
int fgs__plan_reads_once(struct fgs__plan *p, uint32_t use, uint64_t *tile,
                         fgs_error *err);
/* FGS_E_PLAN where a fill of the whole buffer reaches tiles that a reader takes
 * to be preset. */
fgs_result fgs__plan_keeps_preset(const struct fgs__plan *p, uint32_t use,
                                  fgs_error *err);

/* order.c: takes an order for each edge, and the kernel of each stage. */
fgs_result fgs__plan_orders(struct fgs__plan *p, fgs_error *err);

/* fill.c: settle how each buffer gets its sentinels. */
fgs_result fgs__plan_fills(struct fgs__plan *p, fgs_error *err);

/* attr.c: the launch attributes of all stages; again after a reload. */
void fgs__plan_attrs(struct fgs__plan *p);

/* ops.c: the list of operations, events and streams of a round. */
fgs_result fgs__plan_ops(struct fgs__plan *p, fgs_error *err);

/* Tiles that a stage's blocks take, of its first access. */
uint64_t fgs__stage_tiles(const struct fgs__plan *p,
                          const struct fgs__stage *s);

/* attr.c: may readers start as soon as all blocks of the stage have? */
int fgs__at_block_start(const struct fgs__plan *p, const struct fgs__stage *s);

/* load.c: FGS_E_SIZE: a grid or block that no device has, a cluster that does
 * not fill the grid. */
fgs_result fgs__stage_launch(const struct fgs__stage *s, fgs_error *err);
/* load.c: the functions of the application are loaded; streams are of the
 * plan's context.  Then, with what renew.c took: can each stage be launched?
 * FGS_E_SIZE, FGS_E_UNSUPPORTED. */
fgs_result fgs__plan_load(struct fgs__plan *p, fgs_error *err);
fgs_result fgs__plan_launchable(struct fgs__plan *p, fgs_error *err);

/* args.c: the parameters of each stage, and what follows the round. */
fgs_result fgs__plan_args(struct fgs__plan *p, const fgs_plan_spec *spec,
                          fgs_error *err);

/* map.c: the map of an argument, aimed at each slot of its buffer; plan->map
 * has room.  *to gets the one of a round. */
fgs_result fgs__map_take(struct fgs__plan *p, uint32_t use,
                         const fgs_arg *arg, void *to, fgs_error *err);
void fgs__maps_follow(struct fgs__plan *p, uint64_t round);
/* Would all maps of a buffer do at another address?  Then `rebind` does it. */
fgs_result fgs__maps_try(const struct fgs__plan *p, fgs_buffer *handle,
                         CUdeviceptr ptr, fgs_error *err);
void fgs__maps_rebind(struct fgs__plan *p, fgs_buffer *handle,
                      CUdeviceptr ptr);
void fgs__maps_free(struct fgs__plan *p);

/* compose.c: the plan of a description, with a handle. */
fgs_result fgs__plan_compose(fgs_plan **out, struct fgs__device *d,
                             const fgs_plan_spec *spec, int no_pdl,
                             fgs_error *err);

#endif
