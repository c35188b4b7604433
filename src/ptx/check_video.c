/* check_video.c -- rules of video instructions (ISA 9.7.18), and of cvt.pack */
#include "ptx/parse.h"
#include "base/compat.h"

/* How many parts an instruction works on: 1, 2 or 4. */
static unsigned parts_of(unsigned op)
{
    if (op >= FGS__OP_VADD4)
        return 4;
    return op >= FGS__OP_VADD2 ? 2 : 1;
}

/* A register's selector: `count` digits below `limit` behind the letter that
 * fits, `mask`: one to `count` of them, falling. */
static bool check_select(struct fgs__check *c,
                         const struct fgs__ptx_operand *o, unsigned parts,
                         bool mask)
{
    unsigned n = FGS__SELECT_COUNT(o->select), limit = mask ? parts : 2 * parts;
    bool half = FGS__SELECT_HALF(o->select), ok;

    if (!o->select)
        return true;
    if (parts == 1) {
        ok = n == 1 && FGS__SELECT_DIGIT(o->select, 0) < (half ? 2u : 4u);
    } else {
        ok = half == (parts == 2) && (mask ? n <= parts : n == parts);
        for (unsigned k = 0; ok && k < n; k++) {
            unsigned digit = FGS__SELECT_DIGIT(o->select, k);

            ok = digit < limit &&
                (!mask || !k || digit > FGS__SELECT_DIGIT(o->select, k - 1));
        }
    }
    if (!ok)
        fgs__check_operand_error(c, o, "this selector is not one of '%s'",
                                 c->name);
    return ok;
}

static bool check_source(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    struct fgs__ptx_operand plain = *o;

    if (o->neg && c->i->op != FGS__OP_VMAD) {
        fgs__check_operand_error(c, o, "only sources of vmad may be negated");
        return false;
    }
    if (o->kind == FGS__O_REG && o->comp) {
        fgs__check_operand_error(c, o, "a component of a vector must be moved "
                                 "to a register first");
        return false;
    }
    if (o->kind == FGS__O_SYM && o != &c->i->operand[3]) {
        fgs__check_operand_error(c, o, "an address must be moved to a register "
                                 "first");
        return false;
    }
    plain.neg = o->kind == FGS__O_REG ? false : o->neg;
    return fgs__check_value(c, &plain, FGS__T_U32, FGS__USE_SOURCE);
}

static bool check_negation(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = c->i->operand;

    if (c->i->mod[FGS__G_PO] && (o[1].neg != o[2].neg || o[3].neg))
        fgs__check_mod_error(c, FGS__G_PO, "'.po' and a negated source exclude "
                             "each other");
    else if (o[1].neg != o[2].neg && o[3].neg)
        fgs__check_operand_error(c, &o[3], "the product or the third source "
                                 "may be negated, not both");
    return !c->p->failed;
}

/* What is there must suit: operands, the selector of the result, the second
 * operation. */
static bool check_form(struct fgs__check *c, unsigned parts)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned second = i->mod[FGS__G_VIDEO];
    bool four = parts > 1 || i->op == FGS__OP_VMAD;

    if (i->operands != 4 && (i->operands != 3 || four || second)) {
        fgs__check_error(c, "%s operands expected, not %u",
                         four || second ? "4" : "3 or 4", i->operands);
    } else if (parts == 1 && i->operand[0].select &&
               (i->operands == 3 || second || i->op == FGS__OP_VMAD)) {
        fgs__check_operand_error(c, &i->operand[0], "a selector of the result "
                                 "is for a third source that fills the rest");
    } else if (parts > 1 && second && i->mod[FGS__G_SAT]) {
        fgs__check_mod_error(c, FGS__G_SAT,
                             "'.add' and '.sat' exclude each other");
    } else if ((i->op == FGS__OP_VSHL || i->op == FGS__OP_VSHR) &&
               i->type[2] != FGS__T_U32) {
        fgs__parse_error(c->p, c->type_at[2], "%s: a count has type .u32",
                         c->name);
    }
    return !c->p->failed;
}

void fgs__check_video(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned parts = parts_of(i->op), k;
    struct fgs__ptx_operand *o = i->operand;

    if (!check_form(c, parts) || !check_select(c, &o[0], parts, true) ||
        !check_source(c, &o[0]) ||
        !fgs__check_value(c, &o[0], FGS__T_U32, FGS__USE_DEST))
        return;
    for (k = 1; k < i->operands; k++) {
        if (parts > 1 && o[k].kind != FGS__O_REG) {
            fgs__check_operand_error(c, &o[k], "a register expected");
            return;
        }
        if (k == 3 && o[k].select) {
            fgs__check_operand_error(c, &o[k], "the third source has no "
                                     "selector");
            return;
        }
        if (!check_select(c, &o[k], parts, false) || !check_source(c, &o[k]))
            return;
    }
    if (i->op == FGS__OP_VMAD)
        check_negation(c);
}

/* ------------------------------------------------------------ cvt.pack -- */

void fgs__check_pack(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool half = i->type[0] == FGS__T_U16 || i->type[0] == FGS__T_S16;
    unsigned want = half ? 3 : 4;

    if ((i->types == 3) == half)
        fgs__check_error(c, half ? "there is no third type with .%s"
                                 : "a third type is needed with .%s",
                         fgs__ptx_types[i->type[0]].word);
    else if (i->operands != want)
        fgs__check_error(c, "%u operands expected, not %u", want, i->operands);
    else if (fgs__check_value(c, &i->operand[0], FGS__T_U32,
                              FGS__USE_DEST | FGS__USE_WIDE) &&
             fgs__check_value(c, &i->operand[1], FGS__T_S32,
                              FGS__USE_SOURCE | FGS__USE_WIDE) &&
             fgs__check_value(c, &i->operand[2], FGS__T_S32,
                              FGS__USE_SOURCE | FGS__USE_WIDE) && !half)
        fgs__check_value(c, &i->operand[3], FGS__T_B32,
                         FGS__USE_SOURCE | FGS__USE_WIDE);
}
