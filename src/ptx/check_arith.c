/* check_arith.c -- rules of arithmetic, comparisons, moves */
#include "ptx/parse.h"
#include "base/compat.h"

static const struct fgs__ptx_type_info *type_of(const struct fgs__ptx_insn *i,
                                                unsigned n)
{
    return &fgs__ptx_types[i->type[n]];
}

static bool is_int(const struct fgs__ptx_type_info *t)
{
    return t->kind == FGS__K_UINT || t->kind == FGS__K_SINT;
}

/* ------------------------------------------- mul, mad, min, max, cvta -- */

static void check_cvta(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = &c->i->operand[1];
    struct fgs__ptx_operand addr;

    if (c->i->type[0] != FGS__T_U64) {
        fgs__parse_error(c->p, c->type_at[0],
                         "cvta: addresses have 64 bits, type .u64");
        return;
    }
    if (o->kind != FGS__O_SYM || o->sym->kind == FGS__SYM_FUNC)
        return;
    if (c->i->mod[FGS__G_TO]) {
        fgs__check_operand_error(c, o, "a generic address in a register "
                                 "expected");
        return;
    }
    addr = *o;
    addr.kind = FGS__O_ADDR;
    fgs__check_addr(c, &addr, (enum fgs__ptx_mod)c->i->space[0]);
}

static void check_minmax(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->operands == 4 && i->type[0] != FGS__T_F32)
        fgs__check_operand_error(c, &i->operand[3],
                                 "three sources are for .f32 only");
    else if (i->operands == 4 && i->mod[FGS__G_XORSIGN])
        fgs__check_mod_error(c, FGS__G_XORSIGN,
                             "'.xorsign' is for two sources");
    else if (i->operands == 3 &&
             !i->mod[FGS__G_XORSIGN] != !i->mod[FGS__G_ABS])
        fgs__check_error(c, "'.xorsign' and '.abs' go together");
}

static bool is_pair(unsigned type)
{
    return type == FGS__T_F16X2 || type == FGS__T_BF16X2;
}

/* Pairs of two widths (ISA 9.7.5): d and c f32x2, a of 16 bits, or d of 16 bits
 * and the rest f32x2, which is cut off.  The assembler takes add and sub
 * to .bf16x2 without '.rz' too. */
static void check_pairs(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned round = i->mod[FGS__G_ROUND], sources = i->operands - 1u;
    bool up = i->type[0] == FGS__T_F32X2, fma = i->op == FGS__OP_FMA;
    bool ok = i->types == sources + 1 && (up || is_pair(i->type[0])) &&
        is_pair(i->type[1]) == up &&
        (up ? i->op != FGS__OP_MUL : !fma && i->type[1] == FGS__T_F32X2);

    if (!ok)
        fgs__check_error(c, "these types do not go together");
    else if (i->mod[FGS__G_SAT] || i->mod[FGS__G_RELU] || i->mod[FGS__G_OOB])
        fgs__check_error(c, "pairs of two widths have '.rnd' and '.ftz' alone");
    else if (!up && round != FGS__M_RZ)
        fgs__check_error(c, "needs '.rz'");
    else if (!!i->mod[FGS__G_FTZ] != (i->type[0] == FGS__T_F16X2))
        fgs__check_error(c, i->mod[FGS__G_FTZ] ? "'.ftz' is for .f16x2 here"
                                               : "needs '.ftz'");
    else
        fgs__check_version(c->p, c->type_at[2], 94, 107, 107,
                           "%s of pairs of two widths", c->name);
}

static bool check_narrow(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    /* fma.bf16x2 has all and rounds to nearest: its row. */
    if (i->types < 3 && fgs__ptx_types[i->type[0]].bits <= 32 &&
        i->type[0] != FGS__T_F32 && i->op != FGS__OP_FMA &&
        i->mod[FGS__G_ROUND] == FGS__M_RZ)
        fgs__check_mod_error(c, FGS__G_ROUND, "'.rz' is not allowed with "
                             "type .%s",
                             type_of(i, 0)->word);
    return !c->p->failed;
}

/* add, sub, fma, rcp. */
void fgs__check_float(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool approx = i->mod[FGS__G_ROUND] == FGS__M_APPROX;

    if (i->types > 2) {
        check_pairs(c);
        return;
    }
    if (!check_narrow(c))
        return;
    if (i->types == 2 &&
        (i->type[0] != FGS__T_F32 || (i->type[1] != FGS__T_F16 &&
                                      i->type[1] != FGS__T_BF16)))
        fgs__parse_error(c->p, c->type_at[1],
                         "%s: type .%s beside another is for .f32 only",
                         c->name, type_of(i, 1)->word);
    else if (i->types == 2 && i->mod[FGS__G_FTZ])
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' is not for a source of "
                             "type .%s", type_of(i, 1)->word);
    else if (i->mod[FGS__G_SAT] && i->mod[FGS__G_CC])
        fgs__check_mod_error(c, FGS__G_CC,
                             "'.cc' and '.sat' exclude each other");
    else if (i->mod[FGS__G_SAT] && i->mod[FGS__G_RELU])
        fgs__check_mod_error(c, FGS__G_RELU,
                             "'.relu' and '.sat' exclude each other");
    else if (i->mod[FGS__G_OOB] && i->mod[FGS__G_FTZ])
        fgs__check_mod_error(c, FGS__G_OOB,
                             "'.oob' and '.ftz' exclude each other");
    else if (i->op == FGS__OP_RCP && i->type[0] == FGS__T_F64 &&
             approx && !i->mod[FGS__G_FTZ])
        fgs__check_error(c, "'.approx' needs '.ftz' for .f64");
}

void fgs__check_arith(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->op == FGS__OP_CVTA) {
        check_cvta(c);
    } else if (i->op == FGS__OP_MUL && i->types > 1) {
        check_pairs(c);
    } else if (i->op == FGS__OP_MUL && !check_narrow(c)) {
        return;
    } else if (i->op == FGS__OP_BFE || i->op == FGS__OP_BFI) {
        const struct fgs__ptx_operand *at = &i->operand[i->operands - 2];

        if (fgs__check_range(c, at, 0, 255, "position"))
            fgs__check_range(c, at + 1, 0, 255, "length");
    } else if (i->op == FGS__OP_MIN || i->op == FGS__OP_MAX) {
        check_minmax(c);
    } else {
        if (i->mod[FGS__G_WIDTH] == FGS__M_WIDE && type_of(i, 0)->bits == 64)
            fgs__parse_error(c->p, c->type_at[0],
                             "%s: '.wide' is for 16 and 32 bits", c->name);
        else if (i->type[0] == FGS__T_S32 && i->mod[FGS__G_SAT] &&
                 i->mod[FGS__G_WIDTH] != FGS__M_HI)
            fgs__check_mod_error(c, FGS__G_SAT, "'.sat' requires '.hi'");
        else if (i->mod[FGS__G_CC] &&
                 (i->mod[FGS__G_SAT] || i->mod[FGS__G_WIDTH] == FGS__M_WIDE))
            fgs__check_mod_error(c, FGS__G_CC, "'.cc' and '.%s' exclude each "
                                 "other", i->mod[FGS__G_SAT] ? "sat" : "wide");
    }
}

/* --------------------------------------------------------- setp, vote -- */

static bool is_simd(unsigned type)
{
    return type == FGS__T_U16X2 || type == FGS__T_S16X2 ||
        type == FGS__T_U8X4 || type == FGS__T_S8X4;
}

/* Which comparisons a kind of type has (ISA 9.3.1, 9.3.2). */
static bool has_comparison(const struct fgs__ptx_type_info *t, unsigned cmp)
{
    switch (cmp) {
    case FGS__M_EQ:
    case FGS__M_NE:
        return true;
    case FGS__M_LT:
    case FGS__M_LE:
    case FGS__M_GT:
    case FGS__M_GE:
        return t->kind != FGS__K_BITS;
    case FGS__M_CMP_LO:
    case FGS__M_CMP_LS:
    case FGS__M_CMP_HI:
    case FGS__M_CMP_HS:
        return t->kind == FGS__K_UINT ||
            t == &fgs__ptx_types[FGS__T_U16X2] ||
            t == &fgs__ptx_types[FGS__T_U8X4];
    default:
        return (t->kind == FGS__K_FLOAT || t->kind == FGS__K_PACK) &&
            !is_simd((unsigned)(t - fgs__ptx_types));
    }
}

/* Since PTX 6.4 the lanes that take part are named on sm_70 and later. */
void fgs__check_unsynced(struct fgs__check *c)
{
    const struct fgs__ptx_module *m = c->p->m;

    if (m->version >= 64 && m->target_cc >= 70)
        fgs__check_error(c, "without '.sync' it is for PTX below 6.4 or "
                         "targets below sm_70, .version is %d.%d, .target %s",
                         m->version / 10, m->version % 10, m->target);
}

void fgs__check_setp(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned vote = i->mod[FGS__G_VOTE];

    if (i->op == FGS__OP_VOTE || i->op == FGS__OP_VOTE_OLD) {
        if (i->op == FGS__OP_VOTE_OLD)
            fgs__check_unsynced(c);
        if ((vote == FGS__M_VOTE_BALLOT) != (i->type[0] == FGS__T_B32))
            fgs__parse_error(c->p, c->type_at[0], "%s: '.%s' needs type .%s",
                             c->name, fgs__mods[vote].word,
                             vote == FGS__M_VOTE_BALLOT ? "b32" : "pred");
        return;
    }
    if (!has_comparison(type_of(i, 0), i->mod[FGS__G_CMP]))
        fgs__check_mod_error(c, FGS__G_CMP, "'.%s' does not compare type .%s",
                             fgs__mods[i->mod[FGS__G_CMP]].word,
                             type_of(i, 0)->word);
    else if ((i->type[0] == FGS__T_F16 || i->type[0] == FGS__T_BF16) &&
             i->operand[0].kind == FGS__O_PAIR)
        fgs__check_operand_error(c, &i->operand[0], "type .%s has one result",
                                 type_of(i, 0)->word);
}

/* Can a comparison of `s` give a result of `d`? (ISA 9.7.7, as the assembler
 * has it) */
static bool is_set(unsigned d, unsigned s)
{
    bool half = s == FGS__T_F16 || s == FGS__T_BF16;
    bool pair = s == FGS__T_F16X2 || s == FGS__T_BF16X2;

    switch (d) {
    case FGS__T_U16:
    case FGS__T_S16:
        return half;
    case FGS__T_F16X2:
    case FGS__T_BF16X2:
        return s == d;
    case FGS__T_F32:
        return !half && !pair;
    case FGS__T_F16:
        return !pair && s != FGS__T_BF16;
    case FGS__T_BF16:
        return !pair;
    default:
        return true;
    }
}

/* set of packed integers has one type and no predicate (ISA 9.4). */
static void check_set_simd(struct fgs__check *c)
{
    static const uint8_t groups[] = { FGS__G_BOOL, FGS__G_FTZ };
    const struct fgs__ptx_insn *i = c->i;
    const char *word = type_of(i, 0)->word;
    unsigned cmp = i->mod[FGS__G_CMP];

    for (size_t k = 0; k < sizeof groups; k++) {
        if (i->mod[groups[k]]) {
            fgs__check_mod_error(c, groups[k], "'.%s' is not allowed with type "
                                 ".%s", fgs__mods[i->mod[groups[k]]].word,
                                 word);
            return;
        }
    }
    if (i->types > 1)
        fgs__parse_error(c->p, c->type_at[1], "%s: type .%s has no second type",
                         c->name, word);
    else if (!has_comparison(type_of(i, 0), cmp))
        fgs__check_mod_error(c, FGS__G_CMP, "'.%s' does not compare type .%s",
                             fgs__mods[cmp].word, word);
}

void fgs__check_set(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned s = i->type[1], cmp = i->mod[FGS__G_CMP];

    if (is_simd(i->type[0]))
        check_set_simd(c);
    else if (i->types < 2)
        fgs__check_error(c, "a second type is missing");
    else if (i->mod[FGS__G_FTZ] && s != FGS__T_F32 &&
        (i->op == FGS__OP_SLCT || (s != FGS__T_F16 && s != FGS__T_F16X2)))
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' is not for type .%s",
                             type_of(i, 1)->word);
    else if (i->mod[FGS__G_FTZ] && i->type[0] == FGS__T_BF16)
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' is not for a result of "
                             "type .bf16");
    else if (i->op == FGS__OP_SET && !is_set(i->type[0], s))
        fgs__parse_error(c->p, c->type_at[1], "%s: no result of type .%s from "
                         "type .%s", c->name, type_of(i, 0)->word,
                         type_of(i, 1)->word);
    else if (i->op == FGS__OP_SET && !has_comparison(type_of(i, 1), cmp))
        fgs__check_mod_error(c, FGS__G_CMP, "'.%s' does not compare type .%s",
                             fgs__mods[cmp].word, type_of(i, 1)->word);
}

/* ----------------------------------------------------------------- mov -- */

static enum fgs__ptx_type bits_type(unsigned bits)
{
    switch (bits) {
    case 8:
        return FGS__T_B8;
    case 16:
        return FGS__T_B16;
    case 32:
        return FGS__T_B32;
    case 64:
        return FGS__T_B64;
    default:
        return FGS__T_NONE;
    }
}

/* {a,b} and {a,b,c,d}: parts of one .bX value, low first (ISA 9.7.10.4). */
static bool check_parts(struct fgs__check *c, const struct fgs__ptx_operand *o,
                        unsigned use)
{
    const struct fgs__ptx_type_info *t = type_of(c->i, 0);
    enum fgs__ptx_type part = bits_type(t->bits / (o->children ? o->children
                                                               : 1u));
    bool flt = false, integer = false;

    if (t->kind != FGS__K_BITS || (o->children != 2 && o->children != 4) ||
        !part || t->bits % o->children) {
        fgs__check_operand_error(c, o, "%u parts do not make a .%s",
                                 o->children, t->word);
        return false;
    }
    for (unsigned k = 0; k < o->children; k++) {
        const struct fgs__ptx_operand *e = &o->child[k];

        if (!fgs__check_value(c, e, part, use))
            return false;
        if (e->kind != FGS__O_REG)
            continue;
        flt = flt || fgs__ptx_types[e->sym->type].kind == FGS__K_FLOAT;
        integer = integer || is_int(&fgs__ptx_types[e->sym->type]);
    }
    if (flt && integer)
        fgs__check_operand_error(c, o, "parts of integer and floating type "
                                 "are mixed");
    return !c->p->failed;
}

/* An address as a value: what it points to must not lose bits. */
static void check_mov_sym(struct fgs__check *c,
                          const struct fgs__ptx_operand *o)
{
    const struct fgs__ptx_type_info *t = type_of(c->i, 0);
    bool global = o->sym->kind == FGS__SYM_VAR &&
        o->sym->space == FGS__M_GLOBAL;

    /* 32 bits of a variable in .global are refused, 16 are not. */
    if ((t->kind != FGS__K_BITS && !is_int(t)) || t->bits < 16 ||
        t->bits > 64 || (t->bits == 32 && global && !fgs__is_sum(o)))
        fgs__check_operand_error(c, o, "the address of '%s' has %s bits, .%s "
                                 "does not hold it", o->sym->name,
                                 global ? "64" : "32 or 64", t->word);
}

static void check_mov_vector(struct fgs__check *c)
{
    unsigned n = c->i->mod[FGS__G_VEC] == FGS__M_V2 ? 2 : 4;
    const struct fgs__ptx_type_info *t = type_of(c->i, 0);

    if (t->kind == FGS__K_PRED || t->bits * n > 128) {
        fgs__check_mod_error(c, FGS__G_VEC, "a vector of .%s is none of 128 "
                             "bits at most", t->word);
        return;
    }
    for (unsigned k = 0; k < 2; k++) {
        const struct fgs__ptx_operand *o = &c->i->operand[k];

        if (o->kind != FGS__O_VEC || o->children != n) {
            fgs__check_operand_error(c, o, "a vector of %u expected", n);
            return;
        }
        for (unsigned e = 0; e < n; e++) {
            if (!fgs__check_value(c, &o->child[e], c->i->type[0],
                                  k ? FGS__USE_SREG
                                    : FGS__USE_DEST | FGS__USE_SINK))
                return;
        }
    }
}

void fgs__check_mov(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_operand *d = &i->operand[0], *s = &i->operand[1];

    if (i->operands != 2) {
        fgs__check_error(c, "2 operands expected, not %u", i->operands);
    } else if (i->mod[FGS__G_VEC]) {
        check_mov_vector(c);
    } else if (d->kind == FGS__O_VEC) {
        if ((s->kind == FGS__O_REG || s->kind == FGS__O_INT ||
             s->kind == FGS__O_F32 || s->kind == FGS__O_F64) &&
            check_parts(c, d, FGS__USE_DEST | FGS__USE_SINK))
            fgs__check_value(c, s, i->type[0], FGS__USE_SOURCE);
        else if (!c->p->failed)
            fgs__check_operand_error(c, s, "a register or constant expected");
    } else if (fgs__check_value(c, d, i->type[0], FGS__USE_DEST)) {
        if (s->kind == FGS__O_VEC)
            check_parts(c, s, FGS__USE_SOURCE);
        else if (s->kind == FGS__O_SYM)
            check_mov_sym(c, s);
        else
            fgs__check_value(c, s, i->type[0], FGS__USE_SREG);
    }
}
