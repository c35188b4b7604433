/* line.h -- a whole warp at neighbouring addresses of global memory
 *
 * The fast way of ld and st: their selectors choose a mover for a form that has
 * one, and the handler asks fgs__sim_line_find each time.
 */
#ifndef FGS_SIM_LINE_H
#define FGS_SIM_LINE_H

#include "sim/access.h"

/* Between registers of 32 lanes, one a component, and memory in which the
 * components of a lane are neighbours. */
typedef void (*fgs__sim_line_move)(void *const reg[], char *memory);

/* By log2 of the components and of their bytes; NULL = there is none. */
extern const fgs__sim_line_move fgs__sim_line_load[4][5];
extern const fgs__sim_line_move fgs__sim_line_store[4][5];

/* Is the address one of global memory in a register of 64 bits? */
bool fgs__sim_line_takes(const struct fgs__sim_insn *i);

/* Host bytes of lane 0, all others follow; NULL = this is for
 * fgs__sim_access_find. */
char *fgs__sim_line_find(const struct fgs__sim_warp *w,
                         const struct fgs__sim_insn *i);

#endif
