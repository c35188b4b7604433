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

/* Operands of shfl, of match and redux. */
enum {
    FGS__SIM_SHFL_D,
    FGS__SIM_SHFL_P,
    FGS__SIM_SHFL_A,
    FGS__SIM_SHFL_B,
    FGS__SIM_SHFL_C,
    FGS__SIM_SHFL_MASK
};
enum {
    FGS__SIM_COLLECT_D,
    FGS__SIM_COLLECT_P,
    FGS__SIM_COLLECT_A,
    FGS__SIM_COLLECT_MASK
};

/* Handlers of whole warps for this CPU, by the word of the mode or operation
 * (exec_meet.c), and of lanes that meet as they come (shuffle.c, collect.c). */
fgs__sim_fn fgs__sim_shfl_run(unsigned mode);
fgs__sim_fn fgs__sim_redux_run(unsigned mod, bool sign);
const struct fgs__sim_insn *fgs__sim_shfl_meet(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i);
const struct fgs__sim_insn *fgs__sim_redux_meet(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i);

#endif
