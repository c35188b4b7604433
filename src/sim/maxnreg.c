/* maxnreg.c -- setmaxnreg: registers from warp to warp, by the block's pool
 *
 * A warp has so many registers a thread as the kernel at its entry
 * (fgs__ptx_entry_registers; without such a number the assembler leaves the
 * instruction out, so it does nothing).  .dec gives those above the count to
 * the pool of the block, .inc waits until the pool has what is lacking (ISA
 * 9.7.20.5); what warps had that exited does not come there, on an H200 either.
 * That .dec does not go up and .inc not down, that the warps of a warpgroup
 * execute the same ones, and meet before the next, is the program's to see to,
 * and a fault where it does not.
 */
#include "sim/matrix.h"
#include <stdio.h>

enum { GROUP = 4 };           /* warps of a warpgroup                        */

static const struct fgs__sim_insn *wrong(struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i,
                                         const char *what, uint32_t n)
{
    return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                               __builtin_ctz(w->exec), "%s %u", what, n);
}

/* Warps of the group that have executed another one, or one more. */
static bool differs(const struct fgs__sim_warp *w,
                    const struct fgs__sim_insn *i)
{
    const struct fgs__sim_block *b = w->block;
    uint32_t first = w->id / GROUP * GROUP;

    for (uint32_t k = first; k < first + GROUP && k < b->warps; k++) {
        const struct fgs__sim_warp *o = &b->warp[k];

        if (o->moved > w->moved + 1 ||
            (o->moved == w->moved + 1 && o->moved_at != i))
            return true;
    }
    return false;
}

static const struct fgs__sim_insn *run_maxnreg(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    struct fgs__sim_block *b = w->block;
    uint32_t to = (uint32_t)i->imm;
    bool inc = i->aux[0];

    if (!b->grid->code->pool)
        return i + 1;
    if (!fgs__sim_matrix_all(w, i))
        return NULL;
    if (inc ? to < w->registers : to > w->registers)
        return wrong(w, i, inc ? "setmaxnreg.inc to less than the warp has,"
                               : "setmaxnreg.dec to more than the warp has,",
                     w->registers);
    if (differs(w, i))
        return wrong(w, i, "the warps of a warpgroup execute different "
                     "setmaxnreg, or did not meet before this one: warpgroup",
                     w->id / GROUP);
    if (inc && b->pool < to - w->registers)
        return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT, FGS__SIM_NEVER);
    b->pool += w->registers - to;
    w->registers = to;
    w->moved++;
    w->moved_at = i;
    if (!inc)
        fgs__sim_block_event(b, w->now_ps);
    return i + 1;
}

size_t fgs__sim_maxnreg_text(const struct fgs__sim_block *b, char *out,
                             size_t len, size_t size)
{
    for (uint32_t k = 0; k < b->warps && len < size; k++) {
        const struct fgs__sim_warp *w = &b->warp[k];

        if (!w->live || w->split[0].pc->run != run_maxnreg ||
            w->split[0].wait != FGS__SIM_WAIT_EVENT)
            continue;
        len += (size_t)snprintf(
            out + len, size - len,
            "%swarp %u waits at line %u for %u registers a thread, of which "
            "it has %u and the block's pool %u",
            len ? "; " : "", k, w->split[0].pc->src->pos.line,
            (uint32_t)w->split[0].pc->imm, w->registers, b->pool);
        break;
    }
    return len < size ? len : size;
}

bool fgs__sim_sel_maxnreg(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    (void)d;
    out->imm = src->operand[0].imm;
    out->aux[0] = src->mod[FGS__G_MAXNREG] == FGS__M_MAXNREG_INC;
    out->blocks = true;
    out->run = run_maxnreg;
    return true;
}
