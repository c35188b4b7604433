/* control.c -- bra, brx.idx, exit, trap */
#include "sim/exec.h"

static const struct fgs__sim_insn *run_bra(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    (void)w;
    return i->target;
}

static const struct fgs__sim_insn *run_bra_if(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    uint32_t p = *(const uint32_t *)fgs__sim_at(w, i->guard);

    p = (p ^ i->guard_flip) & w->exec;
    if (p == w->exec)
        return i->target;
    if (!p || i->target == i + 1)
        return i + 1;
    fgs__sim_warp_split(w, p, i->target);
    return i + 1;
}

static const struct fgs__sim_insn *run_trap(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    return fgs__sim_warp_fault(w, i, CUDA_ERROR_LAUNCH_FAILED,
                               __builtin_ctz(w->exec), "trap");
}

/* Nobody debugs: hardware ends the grid then. */
static const struct fgs__sim_insn *run_brkpt(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    return fgs__sim_warp_fault(w, i, CUDA_ERROR_LAUNCH_FAILED,
                               __builtin_ctz(w->exec), "brkpt");
}

static bool sel_bra(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
                    struct fgs__sim_insn *out)
{
    const struct fgs__ptx_sym *to;

    if (src->operands != 1 || src->operand[0].kind != FGS__O_LABEL) {
        fgs__sim_decode_error(d, src, "a label is needed");
        return false;
    }
    to = src->operand[0].sym;
    /* Instructions and their decoded form have the same index. */
    out->target = out + ((int64_t)to->target -
                         (src - fgs__sim_decode_func(d)->insn));
    out->own_guard = true;
    out->run = out->guard == FGS__SIM_NOREF ? run_bra : run_bra_if;
    return true;
}

/* Lanes that go elsewhere than the first one follow afterwards. */
static const struct fgs__sim_insn *run_brx(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    const struct fgs__ptx_targets *t = i->src->operand[1].sym->targets;
    const uint32_t *index = fgs__sim_at(w, i->op[0]);
    int first = __builtin_ctz(w->exec);
    uint32_t others = 0;

    for (uint32_t m = w->exec; m; m &= m - 1)
        if (index[__builtin_ctz(m)] != index[first])
            others |= m & -m;
    if (index[first] >= t->count)
        return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, first,
                                   "index %u, the list has %u targets",
                                   index[first], t->count);
    if (others)
        fgs__sim_warp_split(w, others, i);
    return i - i->aux[0] + t->list[index[first]].sym->target;
}

static bool sel_brx(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
                    struct fgs__sim_insn *out)
{
    out->aux[0] = (uint32_t)(src - fgs__sim_decode_func(d)->insn);
    out->op[0] = fgs__sim_ref_of(d, &src->operand[0], FGS__T_U32);
    out->blocks = true;
    out->run = run_brx;
    return out->op[0] != FGS__SIM_NOREF;
}

bool fgs__sim_sel_control(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    switch (src->op) {
    case FGS__OP_BRA:
        return sel_bra(d, src, out);
    case FGS__OP_BRX:
        return sel_brx(d, src, out);
    case FGS__OP_EXIT:
        out->run = fgs__sim_warp_exit;
        return true;
    case FGS__OP_BRKPT:
        out->run = run_brkpt;
        return true;
    case FGS__OP_TRAP:
        out->run = run_trap;
        return true;
    default:
        fgs__sim_decode_error(d, src, "not executed yet");
        return false;
    }
}
