/* stack.c -- alloca, stacksave, stackrestore */
#include "sim/access.h"
#include "sim/call.h"
#include "sim/decode.h"

static uint64_t *lanes64(const struct fgs__sim_warp *w, fgs__sim_ref r)
{
    return fgs__sim_at(w, r);
}

static const struct fgs__sim_insn *run_alloca(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    uint64_t *sps = lanes64(w, w->block->grid->code->sp);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint64_t at = fgs__sim_align_up(sps[l], (uint64_t)i->imm), size;

        size = i->aux[1] == 32 ? ((uint32_t *)fgs__sim_at(w, i->op[1]))[l]
                               : lanes64(w, i->op[1])[l];
        if (fgs__sim_stack_overflow(w, i, l,
                                    size > UINT32_MAX ? size : at + size))
            return NULL;
        sps[l] = at + size;
        if (i->aux[1] == 32)
            ((uint32_t *)fgs__sim_at(w, i->op[0]))[l] = (uint32_t)at;
        else
            lanes64(w, i->op[0])[l] = at;
    }
    return i + 1;
}

static const struct fgs__sim_insn *run_stacksave(struct fgs__sim_warp *w,
                                                 const struct fgs__sim_insn *i)
{
    const uint64_t *sps = lanes64(w, w->block->grid->code->sp);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);

        if (i->aux[1] == 32)
            ((uint32_t *)fgs__sim_at(w, i->op[0]))[l] = (uint32_t)sps[l];
        else
            lanes64(w, i->op[0])[l] = sps[l];
    }
    return i + 1;
}

/* Back to what stacksave gave: between the frame's end and the stack's. */
static const struct fgs__sim_insn *
run_stackrestore(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    const struct fgs__sim_code *code = w->block->grid->code;
    const uint64_t *fps = lanes64(w, code->fp);
    uint64_t *sps = lanes64(w, code->sp);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint64_t v = i->aux[1] == 32
            ? ((uint32_t *)fgs__sim_at(w, i->op[0]))[l]
            : lanes64(w, i->op[0])[l];

        if (v < fps[l] + code->function[i->aux[0]].frame_bytes || v > sps[l])
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_HARDWARE_STACK_ERROR,
                                       l, "0x%llx is no earlier end of this "
                                       "function's stack",
                                       (unsigned long long)v);
        sps[l] = v;
    }
    return i + 1;
}

bool fgs__sim_sel_stack(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];

    out->aux[0] = d->func->number;
    out->aux[1] = fgs__ptx_types[t].bits;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], t);
    out->run = src->op == FGS__OP_STACKSAVE ? run_stacksave : run_stackrestore;
    if (src->op != FGS__OP_ALLOCA)
        return out->op[0] != FGS__SIM_NOREF;
    /* Natural alignment where none is given: of the largest element. */
    out->imm = src->operands > 2 ? (int64_t)src->operand[2].imm : 16;
    out->op[1] = fgs__sim_ref_of(d, &src->operand[1], t);
    out->run = run_alloca;
    return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF;
}
