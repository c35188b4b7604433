/* line.h -- a whole warp at neighbouring addresses of global memory
 *
 * The fast way of ld and st: their selectors choose a mover for a form that has
 * one, and the handler asks fgs__sim_line_find each time.
 */
#ifndef FGS_SIM_LINE_H
#define FGS_SIM_LINE_H

#include "sim/access.h"

/* Has a form a mover?  The same on each level. */
static inline bool fgs__sim_line_moves(unsigned count, unsigned size)
{
    return fgs__sim_shapes_now()->line_load[__builtin_ctz(count)][size];
}

/* Is the address one of global memory in a register of 64 bits? */
bool fgs__sim_line_takes(const struct fgs__sim_insn *i);

/* Host bytes of lane 0, all others follow; NULL = this is for
 * fgs__sim_access_find. */
char *fgs__sim_line_find(struct fgs__sim_warp *w,
                         const struct fgs__sim_insn *i);

/* What follows is mostly what the next warp asks for. */
static inline void fgs__sim_line_hint(const char *next, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k += 64)
        __builtin_prefetch(next + k);
}

#endif
