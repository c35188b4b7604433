/* check_async.c -- rules of cp.async */
#include "ptx/parse.h"
#include "base/compat.h"

static bool is_pred(const struct fgs__ptx_operand *o)
{
    return o->kind == FGS__O_REG && o->sym->type == FGS__T_PRED;
}

static bool check_size(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    bool cg = c->i->mod[FGS__G_CACHE] == FGS__M_CG;

    if (o->kind == FGS__O_INT &&
        (o->imm == 16 || (!cg && (o->imm == 4 || o->imm == 8))))
        return true;
    fgs__check_operand_error(c, o, cg ? "the size of '.cg' is 16"
                                      : "the size is 4, 8 or 16");
    return false;
}

/* [to], [from], size {, bytes that are read, or a predicate} {, policy} */
void fgs__check_async(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned hint = i->mod[FGS__G_CACHE_HINT] ? 1 : 0, n = i->operands - hint;
    const struct fgs__ptx_operand *o = i->operand;

    if (i->space[1] != FGS__M_GLOBAL || i->space[0] == FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_SPACE, "the copy goes to .shared from "
                             ".global");
    else if (i->operands < 3 + hint || n > 4)
        fgs__check_error(c, "3 or 4 operands%s expected, not %u",
                         hint ? " and a policy" : "", i->operands);
    if (c->p->failed ||
        !fgs__check_addr(c, &o[0], (enum fgs__ptx_mod)i->space[0]) ||
        !fgs__check_addr(c, &o[1], FGS__M_GLOBAL) || !check_size(c, &o[2]))
        return;
    if (n == 4 && !is_pred(&o[3]) &&
        (!fgs__check_value(c, &o[3], FGS__T_U32, FGS__USE_EXACT) ||
         !fgs__check_range(c, &o[3], 0, (int64_t)o[2].imm,
                           "the number of bytes read")))
        return;
    if (hint)
        fgs__check_value(c, &o[n], FGS__T_U64, FGS__USE_EXACT);
}
