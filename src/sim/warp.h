/* warp.h -- what block.c needs of warp.c */
#ifndef FGS_SIM_WARP_H
#define FGS_SIM_WARP_H

#include "sim/exec.h"

/* A new warp with `live` lanes at the start of the code, at w->now_ps; bank,
 * block, sm and id are set. */
void fgs__sim_warp_start(struct fgs__sim_warp *w, uint32_t live);
/* Earliest time at which some split can run; FGS__SIM_NEVER = none can. */
uint64_t fgs__sim_warp_ready(const struct fgs__sim_warp *w);
/* Run up to stop_ps, or until no split can run before it. */
void fgs__sim_warp_run(struct fgs__sim_warp *w, uint64_t stop_ps);

#endif
