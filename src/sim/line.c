/* line.c -- a whole warp at neighbouring addresses of global memory */
#include "sim/line.h"

bool fgs__sim_line_takes(const struct fgs__sim_insn *i)
{
    uint32_t space = i->aux[FGS__SIM_AUX_SPACE];

    return space == FGS__SIM_GLOBAL || space == FGS__SIM_GENERIC;
}

/* An allocation is no window of generic addresses, never read-only. */
char *fgs__sim_line_far(struct fgs__sim_warp *w, uint64_t addr, uint32_t bytes)
{
    return addr < FGS__SIM_SHARED_WINDOW ? fgs__sim_global(w, addr, bytes)
                                         : NULL;
}
