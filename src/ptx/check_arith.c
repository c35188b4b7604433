/* check_arith.c -- rules of arithmetic, comparisons, conversions, moves */
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

/* add, sub, fma, rcp. */
void fgs__check_float(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool approx = i->mod[FGS__G_ROUND] == FGS__M_APPROX;

    if (i->types == 2 && i->type[0] != FGS__T_F32)
        fgs__parse_error(c->p, c->type_at[1],
                         "%s: type .%s beside another is for .f32 only",
                         c->name, type_of(i, 1)->word);
    else if (i->types == 2 && i->mod[FGS__G_FTZ])
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' is not for a source of "
                             "type .%s", type_of(i, 1)->word);
    else if (i->mod[FGS__G_SAT] && i->mod[FGS__G_RELU])
        fgs__check_mod_error(c, FGS__G_RELU,
                             "'.relu' and '.sat' exclude each other");
    else if (i->mod[FGS__G_OOB] && i->mod[FGS__G_FTZ])
        fgs__check_mod_error(c, FGS__G_OOB,
                             "'.oob' and '.ftz' exclude each other");
    else if (i->op == FGS__OP_RCP && i->type[0] == FGS__T_F64 &&
             approx != !!i->mod[FGS__G_FTZ])
        fgs__check_error(c, "'.approx' and '.ftz' go together for .f64");
}

void fgs__check_arith(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->op == FGS__OP_CVTA) {
        check_cvta(c);
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
        else if (i->mod[FGS__G_CC] && i->mod[FGS__G_WIDTH] == FGS__M_WIDE)
            fgs__check_mod_error(c, FGS__G_CC,
                                 "'.cc' and '.wide' exclude each other");
    }
}

/* --------------------------------------------------------- setp, vote -- */

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
        return t->kind == FGS__K_UINT;
    default:
        return t->kind == FGS__K_FLOAT || t->kind == FGS__K_PACK;
    }
}

void fgs__check_setp(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned vote = i->mod[FGS__G_VOTE];

    if (i->op == FGS__OP_VOTE) {
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
    else if (type_of(i, 0)->kind == FGS__K_PACK &&
             i->operand[0].kind != FGS__O_PAIR)
        fgs__check_operand_error(c, &i->operand[0], "type .%s has two results, "
                                 "p|q", type_of(i, 0)->word);
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

void fgs__check_set(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned s = i->type[1], cmp = i->mod[FGS__G_CMP];

    if (i->mod[FGS__G_FTZ] && s != FGS__T_F32 &&
        (i->op == FGS__OP_SLCT || (s != FGS__T_F16 && s != FGS__T_F16X2)))
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' is not for type .%s",
                             type_of(i, 1)->word);
    else if (i->op == FGS__OP_SET && !is_set(i->type[0], s))
        fgs__parse_error(c->p, c->type_at[1], "%s: no result of type .%s from "
                         "type .%s", c->name, type_of(i, 0)->word,
                         type_of(i, 1)->word);
    else if (i->op == FGS__OP_SET && !has_comparison(type_of(i, 1), cmp))
        fgs__check_mod_error(c, FGS__G_CMP, "'.%s' does not compare type .%s",
                             fgs__mods[cmp].word, type_of(i, 1)->word);
}

/* ----------------------------------------------------------------- cvt -- */

#define R(id) ((uint64_t)1 << fgs__mods[FGS__M_##id].bit)
#define T(id) ((uint64_t)1 << FGS__T_##id)
#define NARROW (T(E4M3X2) | T(E5M2X2) | T(E2M3X2) | T(E3M2X2) | T(E2M1X2) |    \
                T(UE8M0X2) | T(UE5M3X2))

/* A conversion's rules (ISA 9.7.10.24). */
struct cvt {
    uint64_t rounds;   /* rounding words that it takes                       */
    bool required;     /* one of them                                        */
    uint8_t sources;   /* 0 = there is no such conversion                    */
};

static struct cvt cvt_of_packed(unsigned d, unsigned s)
{
    uint64_t both = R(RN) | R(RZ) | R(RS);
    bool x2 = s == FGS__T_F16X2 || s == FGS__T_BF16X2;

    if (d == FGS__T_TF32 && s == FGS__T_F32)
        return (struct cvt){ R(RN) | R(RZ) | R(RNA), true, 1 };
    if ((d == FGS__T_F16X2 || d == FGS__T_BF16X2) && s == FGS__T_F32)
        return (struct cvt){ both, true, 2 };
    if ((d == FGS__T_F16X2 || d == FGS__T_BF16X2) && NARROW >> s & 1)
        return (struct cvt){ R(RN), true, 1 };
    if (d == FGS__T_UE8M0X2)
        return (struct cvt){ R(RZ) | R(RP), true, s == FGS__T_F32 ? 2
                             : s == FGS__T_BF16X2 ? 1 : 0 };
    if (d == FGS__T_UE5M3X2 && s == FGS__T_F32)
        return (struct cvt){ R(RN) | R(RP), true, 2 };
    if (NARROW >> d & 1 && d != FGS__T_UE5M3X2 && (x2 || s == FGS__T_F32))
        return (struct cvt){ R(RN) | R(RZ), true, x2 ? 1 : 2 };
    return (struct cvt){ 0, false, 0 };
}

static struct cvt cvt_of(unsigned d, unsigned s)
{
    const struct fgs__ptx_type_info *td = &fgs__ptx_types[d];
    const struct fgs__ptx_type_info *ts = &fgs__ptx_types[s];
    uint64_t rounds = R(RN) | R(RZ) | R(RM) | R(RP);
    uint64_t whole = R(RNI) | R(RZI) | R(RMI) | R(RPI);

    if (td->kind == FGS__K_PACK || ts->kind == FGS__K_PACK)
        return cvt_of_packed(d, s);
    if (is_int(td) && is_int(ts))
        return (struct cvt){ 0, false, 1 };
    if (is_int(td))
        return (struct cvt){ whole, true, 1 };
    if (is_int(ts))
        return (struct cvt){ rounds, true, 1 };
    if (td->bits < ts->bits)
        return (struct cvt){ d == FGS__T_BF16 ? R(RN) | R(RZ) | R(RM) | R(RP)
                                              : rounds, true, 1 };
    if (d == s)
        return (struct cvt){ whole, false, 1 };
    if (td->bits == ts->bits) /* between f16 and bf16 */
        return (struct cvt){ rounds, true, 1 };
    return (struct cvt){ 0, false, 1 };
}

static void check_round(struct fgs__check *c, const struct cvt *v)
{
    unsigned round = c->i->mod[FGS__G_ROUND];

    if (!round && v->required)
        fgs__check_error(c, "a rounding word is needed from .%s to .%s",
                         type_of(c->i, 1)->word, type_of(c->i, 0)->word);
    else if (round && !(v->rounds >> fgs__mods[round].bit & 1))
        fgs__check_mod_error(c, FGS__G_ROUND, "'.%s' is not allowed from .%s "
                             "to .%s", fgs__mods[round].word,
                             type_of(c->i, 1)->word, type_of(c->i, 0)->word);
}

/* -0 becomes +0: where a result has a zero with a sign. */
static bool takes_pzo(const struct fgs__ptx_insn *i)
{
    uint64_t d = (uint64_t)1 << i->type[0];
    bool narrow = (NARROW & ~T(UE8M0X2) & ~T(UE5M3X2) & d) != 0;
    bool from_pair = i->type[1] == FGS__T_F16X2 || i->type[1] == FGS__T_BF16X2;

    if (i->mod[FGS__G_ROUND] == FGS__M_RS)
        return false;
    if (from_pair)
        return narrow;
    return i->type[1] == FGS__T_F32 &&
        (narrow || d & (T(F16) | T(BF16) | T(F16X2) | T(BF16X2) | T(TF32)));
}

static void check_cvt_mods(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_type_info *d = type_of(i, 0);
    uint64_t dbit = (uint64_t)1 << i->type[0];
    bool narrow = NARROW >> i->type[0] & 1;

    if (i->mod[FGS__G_FTZ] && i->type[0] != FGS__T_F32 &&
        i->type[1] != FGS__T_F32)
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' requires .f32");
    else if (i->mod[FGS__G_SAT] && d->kind == FGS__K_PACK)
        fgs__check_mod_error(c, FGS__G_SAT, "'.sat' does not exist for .%s",
                             d->word);
    else if (i->mod[FGS__G_PZO] && !takes_pzo(i))
        fgs__check_mod_error(c, FGS__G_PZO, "'.pzo' is not allowed from .%s to "
                             ".%s", type_of(i, 1)->word, d->word);
    else if (narrow && !i->mod[FGS__G_SATFINITE])
        fgs__check_error(c, "type .%s needs .satfinite", d->word);
    else if ((i->mod[FGS__G_RELU] || i->mod[FGS__G_SATFINITE]) && !narrow &&
             !(dbit & (T(F16) | T(BF16) | T(F16X2) | T(BF16X2) | T(TF32))))
        fgs__check_mod_error(c, i->mod[FGS__G_RELU] ? FGS__G_RELU
                                                    : FGS__G_SATFINITE,
                             "not allowed from .%s to .%s",
                             type_of(i, 1)->word, d->word);
}

void fgs__check_cvt(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    struct cvt v = cvt_of(i->type[0], i->type[1]);

    if (!v.sources) {
        fgs__check_error(c, "there is no conversion from .%s to .%s",
                         type_of(i, 1)->word, type_of(i, 0)->word);
        return;
    }
    /* Stochastic rounding has a source of random bits. */
    if (i->mod[FGS__G_ROUND] == FGS__M_RS)
        fgs__check_mod_error(c, FGS__G_ROUND, "'.rs' is not supported yet");
    else if (i->operands != v.sources + 1u)
        fgs__check_error(c, "%u operands expected, not %u", v.sources + 1u,
                         i->operands);
    if (!c->p->failed)
        check_round(c, &v);
    if (!c->p->failed)
        check_cvt_mods(c);
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
    bool small = o->sym->kind == FGS__SYM_VAR &&
        o->sym->space != FGS__M_GLOBAL && o->sym->space != FGS__M_CONST;

    if ((t->kind != FGS__K_BITS && !is_int(t)) ||
        (t->bits != 64 && !(t->bits == 32 && small)))
        fgs__check_operand_error(c, o, "the address of '%s' has %s bits, .%s "
                                 "does not hold it", o->sym->name,
                                 small ? "32 or 64" : "64", t->word);
}

static void check_mov_vector(struct fgs__check *c)
{
    unsigned n = c->i->mod[FGS__G_VEC] == FGS__M_V2 ? 2 : 4;

    for (unsigned k = 0; k < 2; k++) {
        const struct fgs__ptx_operand *o = &c->i->operand[k];

        if (o->kind == FGS__O_REG && o->sym->vec == n && !o->comp &&
            fgs__check_fits(o->sym->type, c->i->type[0], false))
            continue;
        if (o->kind != FGS__O_VEC || o->children != n) {
            fgs__check_operand_error(c, o, "a vector of %u expected", n);
            return;
        }
        for (unsigned e = 0; e < n; e++) {
            if (!fgs__check_value(c, &o->child[e], c->i->type[0],
                                  k ? FGS__USE_SOURCE : FGS__USE_DEST))
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
        if (s->kind == FGS__O_REG &&
            check_parts(c, d, FGS__USE_DEST | FGS__USE_SINK))
            fgs__check_value(c, s, i->type[0], FGS__USE_SOURCE);
        else if (!c->p->failed)
            fgs__check_operand_error(c, s, "a register expected");
    } else if (fgs__check_value(c, d, i->type[0], FGS__USE_DEST)) {
        if (s->kind == FGS__O_VEC)
            check_parts(c, s, FGS__USE_SOURCE);
        else if (s->kind == FGS__O_SYM)
            check_mov_sym(c, s);
        else
            fgs__check_value(c, s, i->type[0], FGS__USE_SREG);
    }
}
