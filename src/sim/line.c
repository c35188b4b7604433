/* line.c -- a whole warp at neighbouring addresses of global memory */
#include "sim/line.h"

bool fgs__sim_line_takes(const struct fgs__sim_insn *i)
{
    uint32_t space = i->aux[FGS__SIM_AUX_SPACE];

    return space == FGS__SIM_GLOBAL || space == FGS__SIM_GENERIC;
}

static bool holds(const struct fgs__sim_range *r, uint64_t addr, uint64_t bytes)
{
    return addr >= r->lo && addr < r->hi && r->hi - addr >= bytes;
}

/* The allocation of an address, cached or looked up.  It is no window of
 * generic addresses, never read-only. */
static const struct fgs__sim_range *
range_of(struct fgs__sim_warp *w, uint64_t addr, uint64_t bytes)
{
    if (FGS__LIKELY(w->cache_gen == fgs__sim_mem_generation(w->sm->mem))) {
        if (holds(&w->cache, addr, bytes))
            return &w->cache;
        if (holds(&w->before, addr, bytes))
            return &w->before;
    }
    return addr < FGS__SIM_SHARED_WINDOW &&
                   fgs__sim_global(w, addr, (uint32_t)bytes)
               ? &w->cache
               : NULL;
}

char *fgs__sim_line_find(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    const uint64_t *base = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);
    uint64_t first = base[0] + (uint64_t)i->imm;
    uint64_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    const struct fgs__sim_range *r;

    if (w->exec != UINT32_MAX || first & (bytes - 1) ||
        w->sm->shapes->of(base, bytes) != FGS__SIM_RUN)
        return NULL;
    r = range_of(w, first, 32 * bytes);
    return r ? r->host + (first - r->lo) : NULL;
}
