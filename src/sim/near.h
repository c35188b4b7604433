/* near.h -- a whole warp at 32-bit addresses of its block's shared memory
 *
 * The fast way of ld and st in the memory that most code keeps near: one look
 * at all addresses, then the lanes are moved without a check each.
 */
#ifndef FGS_SIM_NEAR_H
#define FGS_SIM_NEAR_H

#include "sim/access.h"

/* Between registers of 32 lanes, one a component, and memory; off[] are the
 * lanes' offsets there.  A word is one access, in the order of the lanes. */
typedef void (*fgs__sim_near_move)(void *const reg[], char *memory,
                                   const uint32_t *off);

/* By log2 of the components and of their bytes; NULL = there is none. */
extern const fgs__sim_near_move fgs__sim_near_load[4][5];
extern const fgs__sim_near_move fgs__sim_near_store[4][5];

/* Is the address one of .shared{::cta}, of 32 bits or the same everywhere? */
bool fgs__sim_near_takes(const struct fgs__sim_insn *i);

/* The lanes' offsets in w->block->shared and their shape; -1 = this is for
 * fgs__sim_access_find. */
int fgs__sim_near_find(const struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *i, uint32_t off[32]);

#endif
