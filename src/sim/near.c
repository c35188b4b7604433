/* near.c -- a whole warp at 32-bit addresses of its block's shared memory */
#include "sim/near.h"

bool fgs__sim_near_takes(const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE];

    return (facts & FGS__SIM_SPACE_MASK) == FGS__SIM_SHARED &&
           facts & (FGS__SIM_ADDR32 | FGS__SIM_UNIFORM);
}

/* A base that is the same in all lanes may have 64 bits: a variable has. */
int fgs__sim_near_find(const struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *i, uint32_t off[32])
{
    const uint32_t *base = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE];
    uint32_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    uint64_t size = w->block->grid->window_bytes, at;

    if (size < bytes)
        return -1;
    if (!(facts & FGS__SIM_UNIFORM))
        return w->sm->shapes->offsets(
            base, (uint32_t)i->imm - w->block->shared_base,
            (uint32_t)(size - bytes), bytes, off);
    if (facts & FGS__SIM_ADDR32)
        at = base[0] + (uint32_t)i->imm;
    else
        memcpy(&at, base, sizeof at), at += (uint64_t)i->imm;
    at -= w->block->shared_base;
    if (at > size - bytes || at & (bytes - 1))
        return -1;
    off[0] = (uint32_t)at;
    return FGS__SIM_SAME;
}
