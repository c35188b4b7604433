/* check_value.c -- registers, immediates and addresses against types
 *
 * What goes together (ISA 9.4 tables 28 and 29, tried with the assembler): .bX
 * takes any register of its size; integers take integer and .bX registers;
 * floats take their own type and .bX.  In ld, st and cvt the register may be
 * wider.  What an opcode fixes itself, counts and masks of lanes, .u32 in a
 * shape, is exact: no .f16x2, nothing wider in a sum, no address of 64 bits.
 * A floating literal is .f32 or .f64 data; an arithmetic instruction
 * on floats converts it.
 */
#include "ptx/parse.h"
#include "base/compat.h"

bool fgs__check_fits(enum fgs__ptx_type reg, enum fgs__ptx_type t, bool wide)
{
    const struct fgs__ptx_type_info *r = &fgs__ptx_types[reg];
    const struct fgs__ptx_type_info *i = &fgs__ptx_types[t];
    /* As integers the assembler takes registers of type .f16x2 too. */
    bool integer = r->kind == FGS__K_UINT || r->kind == FGS__K_SINT ||
        reg == FGS__T_F16X2;

    if (r->kind == FGS__K_PRED || i->kind == FGS__K_PRED)
        return r->kind == i->kind;
    if (wide ? r->bits < i->bits : r->bits != i->bits)
        return false;
    if (r->kind == FGS__K_BITS || i->kind == FGS__K_BITS)
        return true;
    if (i->kind == FGS__K_UINT || i->kind == FGS__K_SINT)
        return integer;
    return reg == t;
}

static bool check_reg(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      enum fgs__ptx_type t, unsigned use)
{
    const struct fgs__ptx_sym *s = o->sym;

    if (o->neg && (t != FGS__T_PRED || use & FGS__USE_DEST)) {
        fgs__check_operand_error(c, o, "'!' is for predicates that are read");
        return false;
    }
    if (s->vec && !o->comp) {
        fgs__check_operand_error(c, o, "'%s' is a vector, write a component",
                                 s->name);
        return false;
    }
    if (fgs__check_fits(s->type, t, use & FGS__USE_WIDE) &&
        !(use & FGS__USE_EXACT && s->type == FGS__T_F16X2))
        return true;
    fgs__check_operand_error(c, o, "register '%s' is .%s, %s.%s is needed",
                             s->name, fgs__ptx_types[s->type].word,
                             use & FGS__USE_WIDE ? "at least " : "",
                             fgs__ptx_types[t].word);
    return false;
}

/* Register + constant, which insn.c makes an instruction of: the register is
 * an integer whatever the type is, or .bX where that is a float, and not
 * narrower than it, else the upper bits would be nobody's (as the assembler
 * has them). */
static bool check_sum(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      enum fgs__ptx_type t, unsigned use)
{
    const struct fgs__ptx_type_info *r = &fgs__ptx_types[o->sym->type];
    unsigned bits = fgs__ptx_types[t].bits;
    bool other = use & FGS__USE_EXACT &&
        (r->bits != bits || o->sym->type == FGS__T_F16X2);

    if (fgs__ptx_types[t].kind == FGS__K_FLOAT && r->kind != FGS__K_BITS)
        other = true;
    if (other || o->comp || o->neg || r->kind == FGS__K_PRED ||
        r->kind == FGS__K_FLOAT || r->bits < bits || bits < 16 || bits > 64 ||
        !fgs__sum_note(c, o, t)) {
        fgs__check_operand_error(c, o, "'%s' plus a constant cannot be .%s",
                                 o->sym->name, fgs__ptx_types[t].word);
        return false;
    }
    return true;
}

/* A variable's address + constant is a source of integers; the upper bits of
 * one in a window would be nobody's. */
static bool check_sym(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      enum fgs__ptx_type t, unsigned use)
{
    const struct fgs__ptx_type_info *i = &fgs__ptx_types[t];
    unsigned exact = use & FGS__USE_EXACT ? 32 : 0;
    bool small = o->sym->kind == FGS__SYM_VAR &&
        o->sym->space != FGS__M_GLOBAL && o->sym->space != FGS__M_CONST;

    if (fgs__is_sum(o) && o->sym->kind == FGS__SYM_VAR &&
        i->kind != FGS__K_FLOAT && i->kind != FGS__K_PRED &&
        i->kind != FGS__K_PACK && i->bits >= 16 &&
        i->bits <= (small ? 32 : 64) && (!exact || i->bits == exact))
        return true;
    fgs__check_operand_error(c, o, "an address must be moved to a register "
                             "first");
    return false;
}

static bool check_int(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      enum fgs__ptx_type t)
{
    const struct fgs__ptx_type_info *i = &fgs__ptx_types[t];

    /* What has too many bits is cut off without a word (as the assembler has
     * it). */
    if (i->kind != FGS__K_FLOAT && i->kind != FGS__K_PACK)
        return true;
    fgs__check_operand_error(c, o, "an integer constant cannot be .%s, write "
                             "1.0 or 0f3F800000", i->word);
    return false;
}

static bool check_float(struct fgs__check *c, const struct fgs__ptx_operand *o,
                        enum fgs__ptx_type t)
{
    const struct fgs__ptx_type_info *i = &fgs__ptx_types[t];

    if (t == FGS__T_F32 || t == FGS__T_F64)
        return true;
    if (i->kind == FGS__K_BITS && i->bits == (o->kind == FGS__O_F32 ? 32 : 64))
        return true;
    fgs__check_operand_error(c, o, "a floating constant of %d bits cannot be "
                             ".%s", o->kind == FGS__O_F32 ? 32 : 64, i->word);
    return false;
}

/* Those that once had 16 bits, and %gridid that had 32, are still read as
 * such. */
static bool is_old_sreg(unsigned sreg)
{
    return (fgs__sregs[sreg].comps && fgs__sregs[sreg].cc < 90) ||
        sreg == FGS__SR_GRIDID;
}

static bool check_sreg(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       enum fgs__ptx_type t, unsigned use)
{
    const struct fgs__sreg_info *r = &fgs__sregs[o->sreg];

    if (!(use & FGS__USE_SREG)) {
        fgs__check_operand_error(c, o, "special register '%s' can only be read "
                                 "by mov and cvt", r->name);
        return false;
    }
    if (fgs__check_fits((enum fgs__ptx_type)r->type, t, is_old_sreg(o->sreg)) &&
        fgs__ptx_types[t].kind != FGS__K_FLOAT)
        return true;
    fgs__check_operand_error(c, o, "special register '%s' is .%s, not .%s",
                             r->name, fgs__ptx_types[r->type].word,
                             fgs__ptx_types[t].word);
    return false;
}

bool fgs__check_value(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      enum fgs__ptx_type t, unsigned use)
{
    const char *why = "this operand is not allowed here";

    if (use & FGS__USE_DEST && o->kind == FGS__O_REG && fgs__is_sum(o)) {
        fgs__check_operand_error(c, o, "a sum is no place for the result");
        return false;
    }
    if (use & FGS__USE_DEST) {
        if (o->kind == FGS__O_REG)
            return check_reg(c, o, t, use);
        if (o->kind == FGS__O_SINK && use & FGS__USE_SINK)
            return true;
        fgs__check_operand_error(c, o, o->kind == FGS__O_SINK
                                 ? "the result cannot be thrown away with _"
                                 : "a register for the result expected");
        return false;
    }
    switch (o->kind) {
    case FGS__O_REG:
        return fgs__is_sum(o) ? check_sum(c, o, t, use)
                              : check_reg(c, o, t, use);
    case FGS__O_INT:
        return check_int(c, o, t);
    case FGS__O_F32:
    case FGS__O_F64:
        return check_float(c, o, t);
    case FGS__O_SREG:
        return check_sreg(c, o, t, use);
    case FGS__O_SYM:
        return check_sym(c, o, t, use);
    case FGS__O_SINK:
        if (use & FGS__USE_SINK)
            return true;
        why = "_ is no source";
        break;
    case FGS__O_VEC:
        why = "a vector is not allowed here";
        break;
    case FGS__O_ADDR:
        why = "a memory operand is not allowed here";
        break;
    default:
        break;
    }
    fgs__check_operand_error(c, o, "%s", why);
    return false;
}

bool fgs__check_range(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      int64_t low, int64_t high, const char *what)
{
    int64_t v = (int64_t)o->imm;

    if (o->kind != FGS__O_INT || (v >= low && v <= high))
        return true;
    fgs__check_operand_error(c, o, "%s %lld is not in %lld..%lld", what,
                             (long long)v, (long long)low, (long long)high);
    return false;
}

/* ----------------------------------------------------------- addresses -- */

static bool is_shared(enum fgs__ptx_mod m)
{
    return m == FGS__M_SHARED || m == FGS__M_SHARED_CTA ||
        m == FGS__M_SHARED_CLUSTER;
}

/* The space in which a variable must lie for this space word. */
static enum fgs__ptx_mod plain(enum fgs__ptx_mod m)
{
    if (is_shared(m))
        return FGS__M_SHARED;
    if (m == FGS__M_PARAM_ENTRY || m == FGS__M_PARAM_FUNC)
        return FGS__M_PARAM;
    return m;
}

static bool check_base_var(struct fgs__check *c,
                           const struct fgs__ptx_operand *o,
                           enum fgs__ptx_mod space)
{
    const struct fgs__ptx_sym *v = o->sym;

    if (v->kind != FGS__SYM_VAR) {
        fgs__check_operand_error(c, o, "'%s' is no variable", v->name);
        return false;
    }
    /* A generic address reaches what has one by its name: not parameters, and
     * constants by cvta alone. */
    if (space ? plain(space) == v->space
              : v->space != FGS__M_PARAM && v->space != FGS__M_CONST)
        return true;
    fgs__check_operand_error(c, o, "'%s' lies in .%s, the instruction is for "
                             "%s%s", v->name, fgs__mods[v->space].word,
                             space ? "." : "generic addresses",
                             space ? fgs__mods[space].word : "");
    return false;
}

static bool check_base_reg(struct fgs__check *c,
                           const struct fgs__ptx_operand *o,
                           enum fgs__ptx_mod space)
{
    const struct fgs__ptx_sym *s = o->sym;
    const struct fgs__ptx_type_info *t = &fgs__ptx_types[s->type];

    if (t->kind != FGS__K_BITS && t->kind != FGS__K_UINT &&
        t->kind != FGS__K_SINT) {
        fgs__check_operand_error(c, o, "'%s' is .%s, an address is an integer",
                                 s->name, t->word);
        return false;
    }
    if (s->vec && !o->comp) {
        fgs__check_operand_error(c, o, "'%s' is a vector, write a component",
                                 s->name);
        return false;
    }
    if (t->bits == 64 || (t->bits == 32 && space && space != FGS__M_GLOBAL))
        return true;
    fgs__check_operand_error(c, o, "'%s' has %u bits, a %s address has %s",
                             s->name, t->bits,
                             space ? fgs__mods[space].word : "generic",
                             !space || space == FGS__M_GLOBAL ? "64"
                                                              : "32 or 64");
    return false;
}

bool fgs__check_addr(struct fgs__check *c, const struct fgs__ptx_operand *o,
                     enum fgs__ptx_mod space)
{
    if (o->kind != FGS__O_ADDR) {
        fgs__check_operand_error(c, o, "an address in [ ] expected");
        return false;
    }
    if (!o->sym && space != FGS__M_LOCAL) {
        fgs__check_operand_error(c, o, "a constant address is allowed in "
                                 ".local only");
        return false;
    }
    if (!o->sym)
        return true;
    return o->sym->kind == FGS__SYM_REG ? check_base_reg(c, o, space)
                                        : check_base_var(c, o, space);
}
