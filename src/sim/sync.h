/* sync.h -- what the scheduler of a block asks about its barriers */
#ifndef FGS_SIM_SYNC_H
#define FGS_SIM_SYNC_H

#include "sim/exec.h"

/*
 * The block can never go on: every live thread waits at a block barrier, a
 * warp barrier or for a bulk group, each has looked at its condition after the
 * last event, and nothing that makes an event is under way.  A thread that
 * waits with a time limit, or for other grids, is not stuck.
 */
bool fgs__sim_block_stuck(const struct fgs__sim_block *b);

/* Report that as a fault, with who waits where. */
void fgs__sim_block_stuck_fault(struct fgs__sim_block *b);

#endif
