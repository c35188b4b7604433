/* check.c -- instructions against their rows of opcode.def
 *
 * The columns of a row, in a notation of their own:
 *
 *   types   sets of types, one for each type word, separated by blanks.  A set
 *           is types and classes (bits int flt half simd packed, see words.c)
 *           with | between them; ? in front: the word may be absent.
 *   mods    groups of modifier.def, separated by blanks:
 *             GROUP{2}{!}{=word,word}{:types}
 *           2: two words of it (state spaces of a copy); !: required; =: only
 *           these words; :types: with these (first) types only.  A group may
 *           stand several times with different types.
 *   shape   operands in order, separated by blanks:
 *             role{v}{:type}{?{!}{condition}}
 *           v: a vector with .v2 .v4 .v8; :type: this instead of the first of
 *           the instruction, exact if not .bX (check_value.c), :1 its second,
 *           :- address whose space the opcode's rule checks; ?: optional,
 *           ?word or ?GROUP: when that modifier is there, ?!: when it is not.
 *           Roles:
 *             d  result register                D  may be wider than the type
 *             e  result register or _           w  result, doubled by .wide
 *             s  source, register or immediate  S  may be wider than the type
 *             t  source, doubled by .wide       X  may be wider or special
 *             m  source, of the second type if there is one
 *             n  source, of the third type if there is one
 *             k  as n, else as m
 *             y  source, or address of a variable
 *             r  register only                  i  immediate only
 *             p  predicate result               P  p or p|q
 *             Q  result or result|predicate     E  (result or _)|predicate
 *             W  p or p|q, where q may be _ and p may not
 *             A  address in a register of 32 or 64 bits, or constant
 *             V  as Q or E, the result has 32 bits
 *             c  predicate source or its !      a  address    l  label
 *             g  label of .branchtargets
 *           * alone: the opcode's rule looks at the operands.
 *
 * What a row cannot say is a function, listed in `rules` by opcode.
 */
#include "ptx/parse.h"
#include "base/compat.h"

#include <stdarg.h>

typedef void (*rule_fn)(struct fgs__check *c);

static const rule_fn rules[FGS__OP_COUNT] = {
    [FGS__OP_MOV] = fgs__check_mov,
    [FGS__OP_LD] = fgs__check_memory,
    [FGS__OP_ST] = fgs__check_memory,
    [FGS__OP_CVTA] = fgs__check_arith,
    [FGS__OP_CVT] = fgs__check_cvt,
    [FGS__OP_MUL] = fgs__check_arith,
    [FGS__OP_MAD] = fgs__check_arith,
    [FGS__OP_MAD24] = fgs__check_arith,
    [FGS__OP_BFE] = fgs__check_arith,
    [FGS__OP_BFI] = fgs__check_arith,
    [FGS__OP_ADD] = fgs__check_float,
    [FGS__OP_SUB] = fgs__check_float,
    [FGS__OP_FMA] = fgs__check_float,
    [FGS__OP_RCP] = fgs__check_float,
    [FGS__OP_MIN] = fgs__check_arith,
    [FGS__OP_MAX] = fgs__check_arith,
    [FGS__OP_SETP] = fgs__check_setp,
    [FGS__OP_SET] = fgs__check_set,
    [FGS__OP_SLCT] = fgs__check_set,
    [FGS__OP_VOTE] = fgs__check_setp,
    [FGS__OP_VOTE_OLD] = fgs__check_setp,
    [FGS__OP_SHFL_OLD] = fgs__check_unsynced,
    [FGS__OP_CALL] = fgs__check_call,
    [FGS__OP_CVT_PACK] = fgs__check_pack,
    [FGS__OP_VADD] = fgs__check_video,
    [FGS__OP_VSUB] = fgs__check_video,
    [FGS__OP_VABSDIFF] = fgs__check_video,
    [FGS__OP_VMIN] = fgs__check_video,
    [FGS__OP_VMAX] = fgs__check_video,
    [FGS__OP_VSHL] = fgs__check_video,
    [FGS__OP_VSHR] = fgs__check_video,
    [FGS__OP_VMAD] = fgs__check_video,
    [FGS__OP_VSET] = fgs__check_video,
    [FGS__OP_VADD2] = fgs__check_video,
    [FGS__OP_VSUB2] = fgs__check_video,
    [FGS__OP_VAVRG2] = fgs__check_video,
    [FGS__OP_VABSDIFF2] = fgs__check_video,
    [FGS__OP_VMIN2] = fgs__check_video,
    [FGS__OP_VMAX2] = fgs__check_video,
    [FGS__OP_VSET2] = fgs__check_video,
    [FGS__OP_VADD4] = fgs__check_video,
    [FGS__OP_VSUB4] = fgs__check_video,
    [FGS__OP_VAVRG4] = fgs__check_video,
    [FGS__OP_VABSDIFF4] = fgs__check_video,
    [FGS__OP_VMIN4] = fgs__check_video,
    [FGS__OP_VMAX4] = fgs__check_video,
    [FGS__OP_VSET4] = fgs__check_video,
    [FGS__OP_ALLOCA] = fgs__check_stack,
    [FGS__OP_APPLYPRIORITY] = fgs__check_hint,
    [FGS__OP_DISCARD] = fgs__check_hint,
    [FGS__OP_POLICY_FRACTIONAL] = fgs__check_hint,
    [FGS__OP_LDU] = fgs__check_memory,
    [FGS__OP_ATOM] = fgs__check_atom,
    [FGS__OP_RED] = fgs__check_atom,
    [FGS__OP_BAR_SYNC] = fgs__check_barrier,
    [FGS__OP_BARRIER_SYNC] = fgs__check_barrier,
    [FGS__OP_BAR_ARRIVE] = fgs__check_barrier,
    [FGS__OP_BARRIER_ARRIVE] = fgs__check_barrier,
    [FGS__OP_BAR_RED] = fgs__check_bar_red,
    [FGS__OP_BARRIER_RED] = fgs__check_bar_red,
    [FGS__OP_PMEVENT] = fgs__check_hint,
    [FGS__OP_SETMAXNREG] = fgs__check_hint,
    [FGS__OP_FENCE] = fgs__check_fence,
    [FGS__OP_FENCE_PROXY] = fgs__check_order,
    [FGS__OP_MBAR_INIT] = fgs__check_mbarrier,
    [FGS__OP_MBAR_INVAL] = fgs__check_mbarrier,
    [FGS__OP_MBAR_CHECK_LAYOUT] = fgs__check_mbarrier,
    [FGS__OP_MBAR_EXPECT_TX] = fgs__check_mbarrier,
    [FGS__OP_MBAR_COMPLETE_TX] = fgs__check_mbarrier,
    [FGS__OP_MBAR_ARRIVE] = fgs__check_mbarrier,
    [FGS__OP_MBAR_ARRIVE_DROP] = fgs__check_mbarrier,
    [FGS__OP_MBAR_ARRIVE_EXPECT_TX] = fgs__check_mbarrier,
    [FGS__OP_MBAR_ARRIVE_DROP_EXPECT_TX] = fgs__check_mbarrier,
    [FGS__OP_MBAR_TEST_WAIT] = fgs__check_mbarrier,
    [FGS__OP_MBAR_TRY_WAIT] = fgs__check_mbarrier,
    [FGS__OP_CP_ASYNC] = fgs__check_async,
    [FGS__OP_BULK_COPY] = fgs__check_bulk,
    [FGS__OP_ST_ASYNC] = fgs__check_send,
    [FGS__OP_RED_ASYNC] = fgs__check_send,
    [FGS__OP_BULK_WAIT] = fgs__check_bulk,
    [FGS__OP_BULK_PREFETCH] = fgs__check_bulk_size,
    [FGS__OP_BULK_REDUCE] = fgs__check_reduce,
    [FGS__OP_ST_BULK] = fgs__check_bulk_size,
    [FGS__OP_TENSOR_COPY] = fgs__check_tensor,
    [FGS__OP_TENSOR_REDUCE] = fgs__check_tensor,
    [FGS__OP_TENSOR_PREFETCH] = fgs__check_tensor,
    [FGS__OP_APPLY_BULK] = fgs__check_bulk_size,
    [FGS__OP_APPLY_TENSOR] = fgs__check_tensor,
    [FGS__OP_CP_FENCEPROXY] = fgs__check_cp_fence,
    [FGS__OP_TENSORMAP_REPLACE] = fgs__check_tensormap,
    [FGS__OP_PREFETCH] = fgs__check_hint,
    [FGS__OP_PREFETCHU] = fgs__check_hint,
    [FGS__OP_POLICY_RANGE] = fgs__check_hint,
    [FGS__OP_POLICY_CVT] = fgs__check_hint,
    [FGS__OP_MAPA] = fgs__check_hint,
    [FGS__OP_GETCTARANK] = fgs__check_hint,
    [FGS__OP_LDMATRIX] = fgs__check_ldmatrix,
    [FGS__OP_STMATRIX] = fgs__check_ldmatrix,
    [FGS__OP_MMA] = fgs__check_mma,
    [FGS__OP_MMA_SP] = fgs__check_mma,
    [FGS__OP_MMA_SP_ORDERED] = fgs__check_mma,
    [FGS__OP_WMMA] = fgs__check_mma,
    [FGS__OP_WMMA_XOR] = fgs__check_mma,
    [FGS__OP_WMMA_AND] = fgs__check_mma,
    [FGS__OP_WMMA_LOAD_A] = fgs__check_wmma,
    [FGS__OP_WMMA_LOAD_B] = fgs__check_wmma,
    [FGS__OP_WMMA_LOAD_C] = fgs__check_wmma,
    [FGS__OP_WMMA_STORE] = fgs__check_wmma,
    [FGS__OP_TEX] = fgs__check_texture,
    [FGS__OP_TEX_BASE] = fgs__check_texture,
    [FGS__OP_TEX_LEVEL] = fgs__check_texture,
    [FGS__OP_TLD4] = fgs__check_texture,
    [FGS__OP_TXQ] = fgs__check_query,
    [FGS__OP_TXQ_LEVEL] = fgs__check_query,
    [FGS__OP_SULD] = fgs__check_surface,
    [FGS__OP_SUST] = fgs__check_surface,
    [FGS__OP_SUST_P] = fgs__check_surface,
    [FGS__OP_SURED] = fgs__check_surface,
    [FGS__OP_SURED_P] = fgs__check_surface,
    [FGS__OP_SUQ] = fgs__check_query,
};

/* -------------------------------------------------------------- errors -- */

void fgs__check_error(struct fgs__check *c, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__parse_error(c->p, c->i->pos, "%s: %s", c->name, text);
}

void fgs__check_mod_error(struct fgs__check *c, unsigned group, const char *fmt,
                          ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__parse_error(c->p, c->i->mod[group] ? c->mod_at[group] : c->i->pos,
                     "%s: %s", c->name, text);
}

void fgs__check_operand_error(struct fgs__check *c,
                              const struct fgs__ptx_operand *o, const char *fmt,
                              ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__parse_error(c->p, o->pos, "%s: %s", c->name, text);
}

/* --------------------------------------------------------------- words -- */

/* A type .pred beside the others means nothing to the assembler where these
 * instructions have no predicate; mul names .lo or .hi of integers. */
static bool is_stray_pred(const struct fgs__check *c)
{
    static const uint16_t ops[] = {
        FGS__OP_CVT, FGS__OP_ADD, FGS__OP_SUB, FGS__OP_FMA, FGS__OP_ABS,
        FGS__OP_NEG, FGS__OP_MIN, FGS__OP_MAX, FGS__OP_SETP, FGS__OP_SET,
        FGS__OP_RCP, FGS__OP_SQRT, FGS__OP_RSQRT, FGS__OP_SIN, FGS__OP_COS,
        FGS__OP_LG2, FGS__OP_EX2, FGS__OP_TANH, FGS__OP_CVT_PACK,
        FGS__OP_LDMATRIX, FGS__OP_WMMA
    };
    size_t k = 0;

    while (k < sizeof ops / sizeof ops[0] && ops[k] != c->i->op)
        k++;
    return k < sizeof ops / sizeof ops[0] ||
        (c->i->op == FGS__OP_MUL && !c->i->mod[FGS__G_WIDTH]);
}

static bool add_type(struct fgs__check *c, const struct fgs__tok *tok,
                     unsigned type)
{
    struct fgs__ptx_insn *i = c->i;

    if (type == FGS__T_PRED && is_stray_pred(c))
        return true;

    if (i->types >= c->row->types) {
        fgs__parse_error(c->p, tok->pos, c->row->types
                         ? "%s: type %s is one type too many"
                         : "%s: no type is allowed, %s is one",
                         c->name, fgs__parse_text(tok).s);
        return false;
    }
    c->type_at[i->types] = tok->pos;
    i->type[i->types++] = (uint8_t)type;
    return true;
}

static bool add_space(struct fgs__check *c, const struct fgs__tok *tok,
                      unsigned mod)
{
    struct fgs__ptx_insn *i = c->i;
    unsigned n = i->space[0] ? i->space[1] ? 2 : 1 : 0;

    if (n >= c->row->spaces || n > 1) {
        fgs__parse_error(c->p, tok->pos, "%s: %s is one state space too many",
                         c->name, fgs__parse_text(tok).s);
        return false;
    }
    i->space[n] = (uint8_t)mod;
    if (!n) {
        c->groups |= (fgs__groups)1 << FGS__G_SPACE;
        i->mod[FGS__G_SPACE] = (uint16_t)mod;
        c->mod_at[FGS__G_SPACE] = tok->pos;
    }
    return true;
}

/* Words that the assembler also takes twice. */
static bool may_repeat(unsigned mod)
{
    switch (fgs__mods[mod].group) {
    case FGS__G_SAT:
    case FGS__G_SATFINITE:
    case FGS__G_RELU:
    case FGS__G_NAN:
    case FGS__G_CC:
    case FGS__G_SHIFTAMT:
    case FGS__G_UNI:
    case FGS__G_SYNC:
        return true;
    default:
        return mod == FGS__M_APPROX;
    }
}

static bool add_mod(struct fgs__check *c, const struct fgs__tok *tok,
                    unsigned mod)
{
    unsigned g = fgs__mods[mod].group;

    if (g == FGS__G_SPACE)
        return add_space(c, tok, mod);
    if (c->i->mod[g] == mod && may_repeat(mod))
        return true;
    if (c->i->mod[g] == mod) {
        fgs__parse_error(c->p, tok->pos, "%s: %s is given twice", c->name,
                         fgs__parse_text(tok).s);
        return false;
    }
    if (c->i->mod[g]) {
        fgs__parse_error(c->p, tok->pos, "%s: '.%s' and %s exclude each other",
                         c->name, fgs__mods[c->i->mod[g]].word,
                         fgs__parse_text(tok).s);
        return false;
    }
    c->groups |= (fgs__groups)1 << g;
    c->i->mod[g] = (uint16_t)mod;
    c->mod_at[g] = tok->pos;
    return true;
}

/* Groups of which a second word is looked for in another group. */
static bool is_first(unsigned group)
{
    return group == FGS__G_POLICY || group == FGS__G_ORDER_A;
}

/* Words of which the assembler makes its names of instructions. */
static bool is_part(unsigned mod)
{
    unsigned g = fgs__mods[mod].group;

    return g == FGS__G_WIDTH || g == FGS__G_SHF || mod == FGS__M_FULL ||
        mod == FGS__M_PARITY || mod == FGS__M_TO;
}

/* Words of testp, tensormap.replace and ldmatrix may stand in any instruction
 * and mean nothing there, says the assembler; one of each of the first two.
 * So does a second .sync. */
static bool is_stray(struct fgs__check *c, unsigned m)
{
    size_t n = strlen(c->row->word);

    for (; m; m = fgs__mods[m].same) {
        unsigned g = fgs__mods[m].group;
        fgs__groups bit = (fgs__groups)1 << g;

        if (g == FGS__G_B8X16 || g == FGS__G_PACKED16 ||
            (g == FGS__G_SYNC && n > 5 && !strcmp(c->row->word + n - 5,
                                                  ".sync")))
            return true;
        if (g != FGS__G_TESTP && g != FGS__G_MAP_FIELD)
            continue;
        if (c->strays & bit)
            return false;
        c->strays |= bit;
        return true;
    }
    return false;
}

bool fgs__check_word(struct fgs__check *c, const struct fgs__tok *tok,
                     bool first)
{
    const struct fgs__word *w = fgs__word_find(tok->hash, tok->s, tok->n);
    unsigned m = w ? w->mod : 0;

    while (m && (!(c->row->groups >> fgs__mods[m].group & 1) ||
                 (is_first(fgs__mods[m].group) &&
                  c->i->mod[fgs__mods[m].group])))
        m = fgs__mods[m].same;
    if (m && is_part(m) && !first && c->i->mod[fgs__mods[m].group] != m) {
        fgs__parse_error(c->p, tok->pos, "%s: '.%s' must follow the opcode "
                         "directly", c->name, fgs__mods[m].word);
        return false;
    }
    if (m)
        return add_mod(c, tok, m);
    if (w && is_stray(c, w->mod))
        return true;
    if (w && w->type)
        return add_type(c, tok, w->type);
    fgs__parse_error(c->p, tok->pos,
                     w && w->known ? "%s: %s is not supported yet"
                     : w && w->mod ? "%s: modifier %s is not allowed"
                                   : "%s: unknown modifier %s",
                     c->name, fgs__parse_text(tok).s);
    return false;
}

static void check_types(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->types < c->row->types_least) {
        fgs__check_error(c, i->types ? "a second type is missing"
                                     : "a type is missing");
        return;
    }
    for (unsigned n = 0; n < i->types; n++) {
        if (!(c->row->type[n] >> i->type[n] & 1)) {
            fgs__parse_error(c->p, c->type_at[n], "%s: type .%s is not allowed",
                             c->name, fgs__ptx_types[i->type[n]].word);
            return;
        }
    }
}

/* "one of .lo .hi .wide": what a required group may be. */
static void missing(struct fgs__check *c, const struct fgs__row_mod *m)
{
    char text[200] = "";
    size_t n = 0;

    for (unsigned k = 1; k < FGS__M_COUNT; k++) {
        if (fgs__mods[k].group != m->group ||
            !(m->bits >> fgs__mods[k].bit & 1))
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, " .%s",
                              fgs__mods[k].word);
        if (n >= sizeof text)
            break;
    }
    fgs__check_error(c, strchr(text + 1, ' ') ? "one of%s is needed"
                                              : "needs%s", text);
}

static bool word_ok(const struct fgs__row_mod *m, unsigned mod)
{
    return !mod || m->bits >> fgs__mods[mod].bit & 1;
}

static void check_mods(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    uint64_t type = i->types ? (uint64_t)1 << i->type[0] : 0;
    fgs__groups good = 0;

    for (unsigned n = 0; n < c->row->mods; n++) {
        const struct fgs__row_mod *m = &c->row->mod[n];
        unsigned mod = i->mod[m->group];

        if (m->types != UINT64_MAX && !(m->types & type))
            continue;
        if (!mod && m->required) {
            missing(c, m);
            return;
        }
        if (word_ok(m, mod) && (m->group != FGS__G_SPACE ||
                                word_ok(m, i->space[1])))
            good |= (fgs__groups)1 << m->group;
    }
    for (unsigned g = 0; c->groups & ~good && g < FGS__G_COUNT; g++) {
        unsigned mod = i->mod[g];

        if (!mod || good >> g & 1)
            continue;
        if (i->types)
            fgs__check_mod_error(c, g, "'.%s' is not allowed with type .%s",
                                 fgs__mods[mod].word,
                                 fgs__ptx_types[i->type[0]].word);
        else
            fgs__check_mod_error(c, g, "'.%s' is not allowed",
                                 fgs__mods[mod].word);
        return;
    }
}

/* mad.f32 of targets below sm_20 names no rounding (ISA 9.7.3.6), and before
 * PTX 3.2 none does of the others.  It is the fused one, which keeps no
 * subnormals on the former, as the assembler makes it today. */
static void complete(struct fgs__check *c)
{
    struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_module *m = c->p->m;

    if (i->op != FGS__OP_MAD || i->type[0] != FGS__T_F32)
        return;
    if (i->mod[FGS__G_ROUND] && m->target_cc < 20) {
        fgs__check_version(c->p, c->mod_at[FGS__G_ROUND], 20, 20, 0,
                           "mad with '.%s'",
                           fgs__mods[i->mod[FGS__G_ROUND]].word);
    } else if (!i->mod[FGS__G_ROUND] &&
               (m->target_cc < 20 || m->version < 32)) {
        i->mod[FGS__G_ROUND] = FGS__M_RN;
        c->mod_at[FGS__G_ROUND] = i->pos;
        if (m->target_cc >= 20)
            return;
        i->mod[FGS__G_FTZ] = FGS__M_FTZ;
        c->mod_at[FGS__G_FTZ] = i->pos;
    }
}

void fgs__check_insn(struct fgs__check *c)
{
    struct fgs__parse *p = c->p;

    check_types(c);
    complete(c);
    if (!p->failed)
        check_mods(c);
    if (!p->failed)
        fgs__check_operands(c);
    if (!p->failed && rules[c->i->op])
        rules[c->i->op](c);
    if (!p->failed)
        fgs__check_needs(c);
}
