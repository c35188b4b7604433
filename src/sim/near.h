/* near.h -- a whole warp at 32-bit addresses of its block's shared memory
 *
 * The fast way of ld and st in the memory that most code keeps near: one look
 * at all addresses, then the lanes are moved without a check each.
 */
#ifndef FGS_SIM_NEAR_H
#define FGS_SIM_NEAR_H

#include "sim/access.h"

/* Has a form a mover?  The same on each level. */
static inline bool fgs__sim_near_moves(unsigned count, unsigned size)
{
    return fgs__sim_shapes_now()->near_load[__builtin_ctz(count)][size];
}

/* Is the address one of .shared{::cta}, of 32 bits or the same everywhere? */
bool fgs__sim_near_takes(const struct fgs__sim_insn *i);

/* The offsets in w->block->shared of all lanes, those that do not run too, and
 * their shape; -1 = this is for fgs__sim_access_find. */
int fgs__sim_near_find(const struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *i, uint32_t off[32]);

#endif
