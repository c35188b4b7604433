/* cvta.c -- generic addresses from and to those of a state space
 *
 * A generic address is the window of the space plus the address in it; global
 * and constant memory have no window (they are device addresses).
 */
#include "sim/exec.h"

enum { OP_DST = 0, OP_SRC = 1 };

static const struct fgs__sim_insn *run_cvta(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    const uint64_t *src = fgs__sim_at(w, i->op[OP_SRC]);
    uint64_t *dst = fgs__sim_at(w, i->op[OP_DST]);
    uint64_t add = (uint64_t)i->imm;

    for (int l = 0; l < 32; l++)
        if (w->exec >> l & 1)
            dst[l] = src[l] + add;
    return i + 1;
}

static bool window_of(unsigned space, uint64_t *window)
{
    switch (space) {
    case FGS__M_GLOBAL:
    case FGS__M_CONST:
        *window = 0;
        return true;
    case FGS__M_SHARED:
    case FGS__M_SHARED_CTA:
    case FGS__M_SHARED_CLUSTER:
        *window = FGS__SIM_SHARED_WINDOW;
        return true;
    case FGS__M_LOCAL:
        *window = FGS__SIM_LOCAL_WINDOW;
        return true;
    case FGS__M_PARAM:
    case FGS__M_PARAM_ENTRY:
        *window = FGS__SIM_PARAM_WINDOW;
        return true;
    default:
        return false;
    }
}

bool fgs__sim_sel_cvta(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    bool to = src->mod[FGS__G_TO] != FGS__M_NONE;
    uint64_t window;

    if (fgs__ptx_types[src->type[0]].bits != 64 ||
        !window_of(src->space[0], &window)) {
        fgs__sim_decode_error(d, src, "this space or size is not executed");
        return false;
    }
    out->op[OP_DST] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_U64);
    out->op[OP_SRC] = fgs__sim_ref_of(d, &src->operand[1], FGS__T_U64);
    out->imm = (int64_t)(to ? 0 - window : window);
    out->run = run_cvta;
    return out->op[OP_DST] != FGS__SIM_NOREF &&
           out->op[OP_SRC] != FGS__SIM_NOREF;
}
