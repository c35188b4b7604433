/* meet.h -- does a whole warp meet at one instruction, all lanes members? */
#ifndef FGS_SIM_MEET_H
#define FGS_SIM_MEET_H

#include "sim/exec.h"

/* Then nobody is waited for, and fgs__sim_warp_meet need not look at each. */
static inline bool fgs__sim_meets_whole(const struct fgs__sim_warp *w,
                                        fgs__sim_ref mask)
{
    const uint32_t *member = fgs__sim_at(w, mask);
    uint32_t all = w->exec, lane;

    for (lane = 0; lane < 32; lane++)
        all &= member[lane];
    return all == UINT32_MAX;
}

#endif
