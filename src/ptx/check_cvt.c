/* check_cvt.c -- rules of conversions (ISA 9.7.10.24) */
#include "ptx/parse.h"
#include "base/compat.h"

#define R(id) ((uint64_t)1 << fgs__mods[FGS__M_##id].bit)
#define T(id) ((uint64_t)1 << FGS__T_##id)
/* Pairs of unsigned and of other narrow formats. */
#define UNSIGNED (T(UE8M0X2) | T(UE5M3X2))
#define SIGNED   (T(E4M3X2) | T(E5M2X2) | T(E2M3X2) | T(E3M2X2) | T(E2M1X2))
#define NARROW   (UNSIGNED | SIGNED)
#define FIXED    T(S2F6X2)
#define FOURS    (T(E4M3X4) | T(E5M2X4) | T(E2M3X4) | T(E3M2X4) | T(E2M1X4))
#define PAIRS    (T(F16X2) | T(BF16X2))

static const struct fgs__ptx_type_info *type_of(const struct fgs__ptx_insn *i,
                                                unsigned n)
{
    return &fgs__ptx_types[i->type[n]];
}

static bool is_int(const struct fgs__ptx_type_info *t)
{
    return t->kind == FGS__K_UINT || t->kind == FGS__K_SINT;
}

/* A conversion's rules. */
struct cvt {
    uint64_t rounds;   /* rounding words that it takes                       */
    bool required;     /* one of them                                        */
    uint8_t sources;   /* 0 = there is no such conversion                    */
};

static struct cvt cvt_of_packed(unsigned d, unsigned s)
{
    uint64_t db = (uint64_t)1 << d, sb = (uint64_t)1 << s;
    bool f32 = s == FGS__T_F32;

    if (d == FGS__T_TF32 && f32)
        return (struct cvt){ R(RN) | R(RZ) | R(RNA), true, 1 };
    if (db & PAIRS && f32)
        return (struct cvt){ R(RN) | R(RZ) | R(RS), true, 2 };
    if (db & FOURS && f32)
        return (struct cvt){ R(RS), true, 1 }; /* a vector of four */
    if (db & FIXED && (f32 || s == FGS__T_BF16X2))
        return (struct cvt){ R(RN) | R(RZ), true, f32 ? 2 : 1 };
    if (sb & FIXED && d == FGS__T_BF16X2)
        return (struct cvt){ R(RN), true, 1 };
    if (db & PAIRS && sb & NARROW)
        return (struct cvt){ R(RN), true, d == FGS__T_F16X2 &&
                             s == FGS__T_UE8M0X2 ? 0 : 1 };
    if (d == FGS__T_UE8M0X2)
        return (struct cvt){ R(RZ) | R(RP), true,
                             f32 ? 2 : s == FGS__T_BF16X2 ? 1 : 0 };
    if (d == FGS__T_UE5M3X2 && (f32 || sb & PAIRS))
        return (struct cvt){ R(RN) | R(RZ) | R(RP), true, f32 ? 2 : 1 };
    if (db & SIGNED && (f32 || sb & PAIRS))
        return (struct cvt){ R(RN) | R(RZ), true, f32 ? 2 : 1 };
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
    if ((d == FGS__T_BF16 && ts->bits == 8) ||
        (s == FGS__T_BF16 && td->bits == 8))
        return (struct cvt){ 0, false, 0 }; /* the assembler has none */
    if (is_int(td))
        return (struct cvt){ whole, true, 1 };
    if (is_int(ts) || td->bits < ts->bits)
        return (struct cvt){ rounds, true, 1 };
    if (d == s)
        return (struct cvt){ whole, false, 1 };
    if (td->bits == ts->bits) /* between f16 and bf16 */
        return (struct cvt){ rounds, false, 1 };
    /* A wider float has every value; bf16 may say how it is rounded. */
    return (struct cvt){ s == FGS__T_BF16 ? rounds : 0, false, 1 };
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
    uint64_t s = (uint64_t)1 << i->type[1];
    unsigned round = i->mod[FGS__G_ROUND];

    if (round == FGS__M_RS || round == FGS__M_RNA || i->mod[FGS__G_SAT] ||
        i->mod[FGS__G_FTZ])
        return false;
    if (s & PAIRS)
        return (d & SIGNED) != 0;
    return i->type[1] == FGS__T_F32 &&
        d & (SIGNED | T(F16) | T(BF16) | PAIRS | T(TF32));
}

static bool takes_relu(const struct fgs__ptx_insn *i)
{
    uint64_t d = (uint64_t)1 << i->type[0];
    uint64_t s = (uint64_t)1 << i->type[1];
    unsigned round = i->mod[FGS__G_ROUND];

    if (s & UNSIGNED || round == FGS__M_RNA)
        return false;
    if ((d | s) & FIXED)
        return true;
    if (i->type[1] == FGS__T_F32)
        return d & (SIGNED | FOURS | PAIRS | T(TF32)) ||
            (d & (T(F16) | T(BF16)) &&
             (round == FGS__M_RN || round == FGS__M_RZ));
    return (d & SIGNED && s & PAIRS) || (d & PAIRS && s & SIGNED);
}

static bool takes_satfinite(const struct fgs__ptx_insn *i)
{
    uint64_t d = (uint64_t)1 << i->type[0];
    uint64_t s = (uint64_t)1 << i->type[1];
    unsigned round = i->mod[FGS__G_ROUND];

    if (i->type[1] == FGS__T_F32)
        return d & (NARROW | FIXED | FOURS | PAIRS | T(TF32)) ||
            (d & (T(F16) | T(BF16)) &&
             (round == FGS__M_RN || round == FGS__M_RZ));
    return (d & NARROW && s & PAIRS) || (d | s) & FIXED ||
        (i->type[0] == FGS__T_BF16X2 && s & (NARROW & ~T(UE8M0X2)));
}

/* One scale goes with what becomes narrow, a scale an element with what comes
 * from it, and with fixed point both ways. */
static bool takes_scale(const struct fgs__ptx_insn *i)
{
    uint64_t d = (uint64_t)1 << i->type[0];
    uint64_t s = (uint64_t)1 << i->type[1];

    if (i->mod[FGS__G_SCALED] == FGS__M_SCALED_N1)
        return d & (NARROW & ~T(UE8M0X2)) &&
            i->mod[FGS__G_ROUND] != FGS__M_RP;
    return d & FIXED || (i->type[0] == FGS__T_BF16X2 &&
                         s & ((NARROW & ~T(UE8M0X2)) | FIXED));
}

static void misplaced(struct fgs__check *c, unsigned group)
{
    fgs__check_mod_error(c, group, "'.%s' is not allowed from .%s to .%s",
                         fgs__mods[c->i->mod[group]].word,
                         type_of(c->i, 1)->word, type_of(c->i, 0)->word);
}

/* .sat from integer to integer: something must be cut off. */
static bool cuts(const struct fgs__ptx_type_info *d,
                 const struct fgs__ptx_type_info *s)
{
    if (s->kind == FGS__K_UINT)
        return d->bits < s->bits + (d->kind == FGS__K_SINT);
    return d->kind == FGS__K_UINT || d->bits < s->bits;
}

static void check_cvt_mods(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_type_info *d = type_of(i, 0), *s = type_of(i, 1);
    uint64_t dbit = (uint64_t)1 << i->type[0];
    bool packed = d->kind == FGS__K_PACK || s->kind == FGS__K_PACK;
    bool bf16 = i->type[0] == FGS__T_BF16 || i->type[1] == FGS__T_BF16;

    if (i->mod[FGS__G_FTZ] && i->type[0] != FGS__T_F32 &&
        i->type[1] != FGS__T_F32)
        fgs__check_mod_error(c, FGS__G_FTZ, "'.ftz' requires .f32");
    else if (i->mod[FGS__G_FTZ] && packed)
        misplaced(c, FGS__G_FTZ);
    else if (i->mod[FGS__G_SAT] && d->kind == FGS__K_PACK)
        fgs__check_mod_error(c, FGS__G_SAT, "'.sat' does not exist for .%s",
                             d->word);
    else if (i->mod[FGS__G_SAT] &&
             (packed || bf16 || (is_int(d) && is_int(s) && !cuts(d, s))))
        misplaced(c, FGS__G_SAT);
    else if ((i->mod[FGS__G_SAT] || i->mod[FGS__G_FTZ]) &&
             (i->mod[FGS__G_RELU] || i->mod[FGS__G_SATFINITE]))
        fgs__check_error(c, "'.relu' and '.satfinite' go without .sat and "
                         ".ftz");
    else if (i->mod[FGS__G_PZO] && !takes_pzo(i))
        misplaced(c, FGS__G_PZO);
    else if (dbit & (SIGNED | FIXED | FOURS) && !i->mod[FGS__G_SATFINITE])
        fgs__check_error(c, "type .%s needs .satfinite", d->word);
    else if (i->mod[FGS__G_RELU] && !takes_relu(i))
        misplaced(c, FGS__G_RELU);
    else if (i->mod[FGS__G_SATFINITE] && !takes_satfinite(i))
        misplaced(c, FGS__G_SATFINITE);
    else if (i->mod[FGS__G_SCALED] && !takes_scale(i))
        misplaced(c, FGS__G_SCALED);
}

/* Floats of 16 bits and packed ones stand in registers of their size, others
 * in wider ones too. */
static unsigned width_of(unsigned type)
{
    bool exact = fgs__ptx_types[type].kind == FGS__K_PACK ||
        type == FGS__T_F16 || type == FGS__T_BF16;

    return exact ? 0 : FGS__USE_WIDE;
}

static bool check_four(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    if (o->kind != FGS__O_VEC || o->children != 4) {
        fgs__check_operand_error(c, o, "a vector of 4 expected");
        return false;
    }
    for (unsigned k = 0; k < 4; k++)
        if (!fgs__check_value(c, &o->child[k], FGS__T_F32, FGS__USE_SOURCE))
            return false;
    return true;
}

/* Random bits, in .b32 alone (as the assembler has it), or a scale: a register
 * only. */
static void check_extra(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    unsigned scaled = c->i->mod[FGS__G_SCALED];

    if (o->kind != FGS__O_REG)
        fgs__check_operand_error(c, o, "a register expected");
    else if (!scaled && o->sym->type != FGS__T_B32)
        fgs__check_operand_error(c, o, "register '%s' is .%s, random bits "
                                 "need .b32", o->sym->name,
                                 fgs__ptx_types[o->sym->type].word);
    else
        fgs__check_value(c, o, scaled == FGS__M_SCALED_N1 ? FGS__T_B8
                         : scaled ? FGS__T_B16 : FGS__T_B32, FGS__USE_SOURCE);
}

static void check_operands(struct fgs__check *c, unsigned sources)
{
    const struct fgs__ptx_insn *i = c->i;
    enum fgs__ptx_type s = (enum fgs__ptx_type)i->type[1];
    bool random = i->mod[FGS__G_ROUND] == FGS__M_RS;
    bool scaled = i->mod[FGS__G_SCALED] != FGS__M_NONE;
    unsigned want = 1 + sources + random + scaled, k, sreg;

    if (i->operands != want) {
        fgs__check_error(c, "%u operands expected, not %u", want, i->operands);
        return;
    }
    if (!fgs__check_value(c, &i->operand[0], (enum fgs__ptx_type)i->type[0],
                          FGS__USE_DEST | width_of(i->type[0])))
        return;
    /* Special registers are read by conversions between integers. */
    sreg = fgs__ptx_types[i->type[0]].kind == FGS__K_UINT ||
        fgs__ptx_types[i->type[0]].kind == FGS__K_SINT ? FGS__USE_SREG : 0;
    for (k = 1; k <= sources; k++)
        if ((uint64_t)1 << i->type[0] & FOURS
            ? !check_four(c, &i->operand[k])
            : !fgs__check_value(c, &i->operand[k], s, FGS__USE_SOURCE |
                              sreg | width_of(s)))
            return;
    if (random || scaled)
        check_extra(c, &i->operand[k]);
}

static void needs_suffix_a(struct fgs__check *c, struct fgs__ptx_pos at,
                           const char *what)
{
    if (c->p->m->target_suffix != 'a')
        fgs__parse_error(c->p, at, "%s with %s needs a target with suffix a, "
                         ".target is %s", c->name, what, c->p->m->target);
}

static void check_cvt_needs(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    uint64_t d = (uint64_t)1 << i->type[0];
    uint64_t s = (uint64_t)1 << i->type[1];
    struct fgs__ptx_pos at = c->mod_at[FGS__G_ROUND];

    if (i->mod[FGS__G_ROUND] == FGS__M_RS) {
        if (fgs__check_version(c->p, at, 87, 100, 100, "%s with '.rs'",
                               c->name))
            needs_suffix_a(c, at, "'.rs'");
    } else if (d & SIGNED && i->mod[FGS__G_ROUND] == FGS__M_RZ) {
        fgs__check_version(c->p, at, 94, 107, 107, "%s of .%s with '.rz'",
                           c->name, type_of(i, 0)->word);
    } else if ((d | s) & FIXED) {
        bool rz = i->mod[FGS__G_ROUND] == FGS__M_RZ;

        if (fgs__check_version(c->p, c->type_at[0], rz ? 94 : 91,
                               rz ? 107 : 100, rz ? 107 : 0,
                               "%s with .s2f6x2", c->name))
            needs_suffix_a(c, c->type_at[d & FIXED ? 0 : 1], ".s2f6x2");
    } else if (d & T(TF32) && i->mod[FGS__G_ROUND] != FGS__M_RNA &&
               i->mod[FGS__G_SATFINITE]) {
        fgs__check_version(c->p, at, 86, 100, 0, "%s to .tf32 with "
                           "'.satfinite' and '.%s'", c->name,
                           fgs__mods[i->mod[FGS__G_ROUND]].word);
    } else if (d & (T(E4M3X2) | T(E5M2X2)) && s & T(BF16X2)) {
        fgs__check_version(c->p, c->type_at[0], 91, 100, 120110100,
                           "%s from .bf16x2 to .%s", c->name,
                           type_of(i, 0)->word);
    } else if ((d | s) & T(BF16) && !((d | s) & T(F32))) {
        fgs__check_version(c->p, c->type_at[0], 78, 90, 0, "%s from .%s to .%s",
                           c->name, type_of(i, 1)->word, type_of(i, 0)->word);
    } else if (i->type[0] == FGS__T_BF16X2 && s & NARROW &&
               i->type[1] != FGS__T_UE8M0X2) {
        fgs__check_version(c->p, c->type_at[0], 92, 100, 120110100,
                           "%s from .%s to .bf16x2", c->name,
                           type_of(i, 1)->word);
    }
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
    check_operands(c, v.sources);
    if (!c->p->failed)
        check_round(c, &v);
    if (!c->p->failed)
        check_cvt_mods(c);
    if (!c->p->failed)
        check_cvt_needs(c);
}
