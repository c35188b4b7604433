/* registers.c -- registers at a kernel's entry, which setmaxnreg goes by
 *
 * setmaxnreg moves registers between the warps of a block, so the assembler
 * must know how many each has at the start (ISA 9.7.20.5: "a valid maximum
 * number of per-thread registers").  What ptxas 13.4 takes as that, by the
 * register counts of its cubins:
 *   .maxnreg, at least 24; above 255 it is ignored;
 *   .maxntid or .reqntid together with .minnctapersm: what so many blocks
 *   leave of 65536 registers, where a block's warps are counted by fours, in
 *   eights; .minnctapersm is ignored if so many blocks or their threads are no
 *   SM's;
 *   the smaller one of both.
 * With neither it says that setmaxnreg is ignored, and leaves it out.
 */
#include "ptx/module.h"
#include "ptx/parse.h"
#include "table/table.h"

enum { MOST = 256, LEAST = 24, OF_AN_SM = 65536 };

/* More than an SM has registers for are all the same, whatever the text says:
 * products of these do not overflow. */
static uint64_t threads_of(const struct fgs__ptx_func *f)
{
    const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint64_t threads = n[0];

    for (int k = 1; k < 3; k++) {
        threads = threads > OF_AN_SM ? OF_AN_SM : threads;
        threads *= n[k] ? n[k] : 1;
    }
    return threads > OF_AN_SM ? OF_AN_SM : threads;
}

/* What .minnctapersm blocks leave a thread; 0 = it says nothing. */
static uint32_t by_blocks(const struct fgs__ptx_func *f)
{
    const struct fgs__arch *a = fgs__arch_find(f->module->target_cc);
    uint64_t threads = threads_of(f), n = f->minnctapersm, most;

    if (!threads || !n ||
        (a && (n > a->blocks || threads * n > a->threads)))
        return 0;
    most = OF_AN_SM / ((threads + 127) / 128 * 128 * n) / 8 * 8;
    return most < MOST ? (uint32_t)most : MOST;
}

uint32_t fgs__ptx_entry_registers(const struct fgs__ptx_func *f)
{
    uint32_t blocks = by_blocks(f), own = f->maxnreg;

    if (own && own < LEAST)
        own = LEAST;
    if (own >= MOST - 1)
        own = MOST;
    return !own || (blocks && blocks < own) ? blocks : own;
}

/* .dec must not go above all counts that the kernel ever has (ptxas C7406). */
void fgs__func_registers(struct fgs__parse *p, const struct fgs__ptx_func *f)
{
    uint32_t most = f->entry ? fgs__ptx_entry_registers(f) : 0, k;
    const struct fgs__ptx_insn *i;

    for (k = 0; most && k < f->insn_count; k++) {
        i = &f->insn[k];
        if (i->op == FGS__OP_SETMAXNREG && i->operand[0].imm > most &&
            i->mod[FGS__G_MAXNREG] == FGS__M_MAXNREG_INC)
            most = (uint32_t)i->operand[0].imm;
    }
    for (k = 0; most && k < f->insn_count; k++) {
        i = &f->insn[k];
        if (i->op == FGS__OP_SETMAXNREG && i->operand[0].imm > most)
            fgs__parse_error(p, i->operand[0].pos, "setmaxnreg: .dec to %llu "
                             "registers, a thread of '%s' has %u at most",
                             (unsigned long long)i->operand[0].imm, f->name,
                             most);
    }
}
