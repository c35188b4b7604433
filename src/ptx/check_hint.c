/* check_hint.c -- rules of cache hints and their policies */
#include "ptx/parse.h"
#include "base/compat.h"

/* 0 < fraction <= 1 */
static void check_fraction(struct fgs__check *c,
                           const struct fgs__ptx_operand *o)
{
    double x = 1;
    float f;
    uint32_t bits = (uint32_t)o->imm;

    if (o->kind == FGS__O_F64)
        memcpy(&x, &o->imm, sizeof x);
    if (o->kind == FGS__O_F32) {
        memcpy(&f, &bits, sizeof f);
        x = f;
    }
    if (!(x > 0 && x <= 1))
        fgs__check_operand_error(c, o, "the fraction must be above 0 and at "
                                 "most 1");
}

/* Only targets that are for one architecture or its family take it. */
static void check_maxnreg(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = &c->i->operand[0];

    if (!fgs__check_range(c, o, 24, 256, "the number of registers"))
        return;
    if (o->imm % 8)
        fgs__check_operand_error(c, o, "the number of registers %llu is no "
                                 "multiple of 8", (unsigned long long)o->imm);
    else if (!c->p->m->target_suffix)
        fgs__check_error(c, "needs a target with suffix a or f, "
                         ".target is %s", c->p->m->target);
}

/* Into a cache, or of a tensor map, which has spaces of its own. */
static void check_prefetch(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool map = i->mod[FGS__G_TENSORMAP], cache = i->mod[FGS__G_TO_CACHE];
    unsigned to = i->mod[FGS__G_TO_CACHE];
    bool held = i->space[0] == FGS__M_PARAM || i->space[0] == FGS__M_CONST;

    if (map && cache)
        fgs__check_mod_error(c, FGS__G_TO_CACHE, "'.tensormap' and '.%s' "
                             "exclude each other",
                             fgs__mods[i->mod[FGS__G_TO_CACHE]].word);
    else if (!map && !cache)
        fgs__check_error(c, "one of .L1 .L2 .L2::evict_last .L2::evict_normal "
                         "is needed");
    else if (!!i->mod[FGS__G_VALID_ADDR] != (to == FGS__M_TO_L1_32B))
        fgs__check_error(c, "'.L1::32B' and '.valid_addr' go together");
    else if (to == FGS__M_TO_L1_32B && i->space[0] &&
             i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_SPACE, "'.L1::32B' is for .global");
    else if (i->space[0] && map != held)
        fgs__check_mod_error(c, FGS__G_SPACE, "'.%s' is not allowed",
                             fgs__mods[i->space[0]].word);
    else if (i->space[0] == FGS__M_LOCAL &&
             (to == FGS__M_TO_L2_LAST || to == FGS__M_TO_L2_NORMAL))
        fgs__check_mod_error(c, FGS__G_TO_CACHE, "'.%s' is not for .local",
                             fgs__mods[to].word);
}

/* The address of a variable of shared memory, when it is one. */
static void check_shared(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = &c->i->operand[1];

    if (o->kind == FGS__O_SYM && (o->sym->kind != FGS__SYM_VAR ||
                                  o->sym->space != FGS__M_SHARED))
        fgs__check_operand_error(c, o, "'%s' does not lie in .shared",
                                 o->sym->name);
}

/* Rules of one line; false = the opcode has none of them. */
static bool check_small(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = c->i->operand;

    switch (c->i->op) {
    case FGS__OP_MAPA:
    case FGS__OP_GETCTARANK:
        check_shared(c);
        return true;
    case FGS__OP_PREFETCHU:
        if (o->sym && o->sym->kind == FGS__SYM_VAR &&
            o->sym->space != FGS__M_GLOBAL)
            fgs__check_operand_error(c, o, "'%s' lies in .%s, the address must "
                                     "be generic", o->sym->name,
                                     fgs__mods[o->sym->space].word);
        return true;
    case FGS__OP_POLICY_RANGE:
        if (o[2].kind == FGS__O_INT && o[3].kind == FGS__O_INT &&
            o[2].imm > o[3].imm)
            fgs__check_operand_error(c, &o[2], "the first part is larger than "
                                     "the whole");
        return true;
    case FGS__OP_POLICY_CVT:
        return true;
    default:
        return false;
    }
}

void fgs__check_hint(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (check_small(c))
        return;
    if (i->op == FGS__OP_PMEVENT)
        fgs__check_range(c, &i->operand[0], 0,
                         i->mod[FGS__G_EVENT_MASK] ? 65535 : 15, "the event");
    else if (i->op == FGS__OP_SETMAXNREG)
        check_maxnreg(c);
    else if (i->op == FGS__OP_PREFETCH)
        check_prefetch(c);
    else if (i->op != FGS__OP_POLICY_FRACTIONAL)
        fgs__check_range(c, &i->operand[1], 128, 128, "the size");
    else if (i->operands > 1)
        check_fraction(c, &i->operand[1]);
}
