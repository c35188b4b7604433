/* check_matrix.c -- rules of ldmatrix, stmatrix and mma */
#include "ptx/matrix.h"
#include "ptx/parse.h"
#include "base/compat.h"

/* What a register of a fragment holds, of elements of type `t`: those of 8 bits
 * and less stand in any register of 32 bits, pairs of .f16 in .f16x2 or bits,
 * .bf16 and .tf32 in bits alone (as the assembler has it). */
static enum fgs__ptx_type held_as(enum fgs__ptx_type t)
{
    switch (t) {
    case FGS__T_F16:
        return FGS__T_F16X2;
    case FGS__T_BF16:
        return FGS__T_BF16X2;
    case FGS__T_F32:
    case FGS__T_F64:
    case FGS__T_S32:
    case FGS__T_TF32:
        return t;
    default:
        return FGS__T_B32;
    }
}

static bool check_held(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       enum fgs__ptx_type t)
{
    enum fgs__ptx_type as = held_as(t);

    if (o->kind != FGS__O_REG ||
        (fgs__check_fits(o->sym->type, as, false) &&
         (t != FGS__T_S32 || o->sym->type != FGS__T_F16X2)))
        return true;
    fgs__check_operand_error(c, o, "register '%s' is .%s, .%s needs .%s",
                             o->sym->name,
                             fgs__ptx_types[o->sym->type].word,
                             fgs__ptx_types[t].word,
                             as == FGS__T_BF16X2 || as == FGS__T_TF32
                                 ? "b32" : fgs__ptx_types[as].word);
    return false;
}

/* {r, r ...}: exactly `n` registers for elements of type `t`; sources may be
 * constants when there are several (as the assembler has it). */
static bool check_fragment(struct fgs__check *c,
                           const struct fgs__ptx_operand *o, unsigned n,
                           enum fgs__ptx_type t, bool dest)
{
    unsigned use = dest ? FGS__USE_DEST | FGS__USE_SINK : FGS__USE_SOURCE;

    if (o->kind != FGS__O_VEC || o->children != n) {
        fgs__check_operand_error(c, o, "%u register%s in {} expected", n,
                                 n == 1 ? "" : "s");
        return false;
    }
    if (n == 1 && o->child[0].kind != FGS__O_REG &&
        (!dest || o->child[0].kind != FGS__O_SINK)) {
        fgs__check_operand_error(c, &o->child[0], "a register expected");
        return false;
    }
    for (unsigned k = 0; k < n; k++) {
        if (o->child[k].kind == FGS__O_REG && o->child[k].comp) {
            fgs__check_operand_error(c, o, "a component of a vector must be "
                                     "moved to a register first");
            return false;
        }
        if (!fgs__check_value(c, &o->child[k], t == FGS__T_F64
                              ? FGS__T_F64 : FGS__T_B32, use) ||
            !check_held(c, &o->child[k], t))
            return false;
    }
    return true;
}

static bool count_operands(struct fgs__check *c, unsigned n)
{
    if (c->i->operands == n)
        return true;
    fgs__check_error(c, "%u operands expected, not %u", n, c->i->operands);
    return false;
}

/* ------------------------------------------------- ldmatrix, stmatrix -- */

/* Elements of 8 bits and their packed forms need the larger shapes, which are
 * of sm_100a on (as the assembler has it). */
static void check_bytes(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned shape = i->mod[FGS__G_SHAPE];

    if ((shape == FGS__M_M16N16 || shape == FGS__M_M16N8) &&
        !i->mod[FGS__G_TRANS])
        fgs__check_mod_error(c, FGS__G_SHAPE, "'.%s' requires '.trans'",
                             fgs__mods[shape].word);
    else if (shape == FGS__M_M8N16 && i->mod[FGS__G_TRANS])
        fgs__check_mod_error(c, FGS__G_TRANS, "'.m8n16' has no '.trans'");
    else if (shape == FGS__M_M16N16 && i->mod[FGS__G_MATRICES] == FGS__M_X4)
        fgs__check_mod_error(c, FGS__G_MATRICES, "'.m16n16' has '.x1' and "
                             "'.x2'");
    else
        fgs__check_version(c->p, c->mod_at[FGS__G_SHAPE], 86, 100, 120110100,
                           "%s with '.%s'", c->name, fgs__mods[shape].word);
}

/* Elements of 4 bits that become bytes with their sign (ISA 9.7.14.5.15, PTX
 * 9.4): also of sm_90a. */
static void check_nibbles(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_module *m = c->p->m;
    bool hopper = m->target_cc == 90 && m->target_suffix == 'a';

    if (i->types != 2 || i->type[0] != FGS__T_S8)
        fgs__check_error(c, "two types are .s8.s4");
    else if (i->mod[FGS__G_SHAPE] != FGS__M_M8N16)
        fgs__check_mod_error(c, FGS__G_SHAPE, "'.%s' has no elements of type "
                             ".s4", fgs__mods[i->mod[FGS__G_SHAPE]].word);
    else if (i->mod[FGS__G_TRANS])
        fgs__check_mod_error(c, FGS__G_TRANS, "'.m8n16' has no '.trans'");
    else if (i->mod[FGS__G_B8X16] || i->mod[FGS__G_PACKED16])
        fgs__check_error(c, "packed elements have no type");
    else
        fgs__check_version(c->p, c->type_at[1], 94, hopper ? 90 : 100,
                           hopper ? 0 : 120110100, "%s with .s8.s4", c->name);
}

static void check_elements(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool packed = i->mod[FGS__G_B8X16] || i->mod[FGS__G_PACKED16];
    unsigned shape = i->mod[FGS__G_SHAPE];
    unsigned want = shape == FGS__M_M8N8 ? FGS__T_B16
        : shape == FGS__M_M8N16 || packed ? FGS__T_NONE : FGS__T_B8;

    if (i->types > 1 || (i->types && i->type[0] == FGS__T_S8))
        check_nibbles(c);
    else if (packed && (!i->mod[FGS__G_B8X16] || !i->mod[FGS__G_PACKED16]))
        fgs__check_error(c, "'.b8x16' and a packed format go together");
    else if (packed && shape == FGS__M_M8N8)
        fgs__check_mod_error(c, FGS__G_B8X16, "'.m8n8' has elements of type "
                             ".b16");
    else if (shape == FGS__M_M8N16 && !packed)
        fgs__check_mod_error(c, FGS__G_SHAPE, "'.m8n16' requires '.b8x16'");
    else if ((i->types ? i->type[0] : FGS__T_NONE) != want)
        fgs__check_error(c, want ? "'.%s' needs type .%s"
                                 : "'.%s' of packed elements has no type",
                         fgs__mods[shape].word, fgs__ptx_types[want].word);
    else if (shape != FGS__M_M8N8)
        check_bytes(c);
}

void fgs__check_ldmatrix(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool load = i->op == FGS__OP_LDMATRIX;
    unsigned n = 1u << (i->mod[FGS__G_MATRICES] - FGS__M_X1);

    if (i->mod[FGS__G_SHAPE] == FGS__M_M16N16)
        n *= 2;
    check_elements(c);
    if (!c->p->failed && count_operands(c, 2) &&
        fgs__check_addr(c, &i->operand[!!load],
                        (enum fgs__ptx_mod)i->space[0]))
        check_fragment(c, &i->operand[!load], n, FGS__T_B32, load);
}

/* ------------------------------------------------------------------ mma -- */

static bool is_integer(unsigned type)
{
    return type == FGS__T_S8 || type == FGS__T_U8 || type == FGS__T_S4 ||
        type == FGS__T_U4;
}

/* The words that some types require and others do not have. */
static bool check_words(struct fgs__check *c, const struct fgs__product *p,
                        const uint8_t type[4])
{
    const struct fgs__ptx_insn *i = c->i;
    bool bits = type[FGS__MATRIX_A] == FGS__T_B1 && i->op == FGS__OP_MMA;
    bool sparse = p->op != FGS__OP_MMA && p->op != FGS__OP_WMMA;
    bool any_order = sparse ? false : i->op == FGS__OP_MMA
        ? p->shape == FGS__M_M8N8K4 && type[FGS__MATRIX_A] == FGS__T_F16
        : p->shape != FGS__M_M8N8K32 && p->shape != FGS__M_M8N8K128;

    if (i->mod[FGS__G_SATFINITE] && !is_integer(type[FGS__MATRIX_A]))
        fgs__check_mod_error(c, FGS__G_SATFINITE, "'.satfinite' is for "
                             "integers, not type .%s",
                             fgs__ptx_types[type[FGS__MATRIX_A]].word);
    else if (!any_order && i->mod[FGS__G_ORDER_A] != FGS__M_A_ROW)
        fgs__check_mod_error(c, FGS__G_ORDER_A, "A must be '.row' here");
    else if (!any_order && i->mod[FGS__G_ORDER_B] != FGS__M_B_COL)
        fgs__check_mod_error(c, FGS__G_ORDER_B, "B must be '.col' here");
    else if (bits != !!i->mod[FGS__G_POPC] || bits != !!i->mod[FGS__G_BOOL])
        fgs__check_error(c, bits ? "type .b1 needs '.xor.popc' or '.and.popc'"
                                 : "'.popc' and its operation are for type "
                                   ".b1");
    return !c->p->failed;
}

/* Words of a product with scales (ISA 9.7.14.3, table 39). */
static bool check_scaled(struct fgs__check *c, const struct fgs__product *p)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned vec = i->mod[FGS__G_SCALE_VEC], type = i->mod[FGS__G_SCALE_TYPE];
    bool mx = p->kind && p->kind != FGS__M_F8F6F4;
    bool nv = p->kind == FGS__M_MXF4NVF4;

    if (mx != !!i->mod[FGS__G_BLOCK_SCALE])
        fgs__check_error(c, mx ? "'.%s' needs '.block_scale'"
                         : "'.block_scale' needs a kind that begins with mx",
                         fgs__mods[p->kind].word);
    else if (mx != !!type)
        fgs__check_error(c, mx ? "the type of the scales is missing"
                               : "it has no scales and no type of those");
    else if (nv ? !vec || vec == FGS__M_SCALE_1X
                : vec && (!mx || vec != (p->kind == FGS__M_MXF4
                                         ? FGS__M_SCALE_2X : FGS__M_SCALE_1X)))
        fgs__check_error(c, vec ? "'.%s' is not for it"
                                : "needs '.scale_vec::2X' or '.scale_vec::4X'",
                         fgs__mods[vec].word);
    else if (type == FGS__M_UE4M3 && (!nv || vec != FGS__M_SCALE_4X))
        fgs__check_mod_error(c, FGS__G_SCALE_TYPE, "'.ue4m3' is for "
                             "'.kind::mxf4nvf4' with '.scale_vec::4X'");
    else if (type == FGS__M_UE8M0 && vec == FGS__M_SCALE_4X)
        fgs__check_version(c->p, c->mod_at[FGS__G_SCALE_TYPE], 91, 120, 0,
                           "'.scale_vec::4X' with '.ue8m0'");
    return !c->p->failed;
}

/* Sparse ones of .e2m1 without padding are of sm_120a and sm_121a, not of their
 * family (ISA 9.7.14.6.3, target notes). */
static bool check_suffix(struct fgs__check *c, const struct fgs__product *p)
{
    const struct fgs__ptx_module *m = c->p->m;

    if (p->op == FGS__OP_MMA || m->target_suffix != 'f' ||
        (p->kind != FGS__M_MXF4 && p->kind != FGS__M_MXF4NVF4))
        return true;
    fgs__check_mod_error(c, FGS__G_KIND, "%s with '.%s' needs target sm_120a "
                         "or sm_121a, .target is %s", c->name,
                         fgs__mods[p->kind].word, m->target);
    return false;
}

static bool check_types(struct fgs__check *c, const struct fgs__product *p,
                        const uint8_t type[4])
{
    unsigned d = type[FGS__MATRIX_D], a = type[FGS__MATRIX_A];
    unsigned b = type[FGS__MATRIX_B];
    bool mixed = p->op == FGS__OP_WMMA ||
        (p->shape == FGS__M_M8N8K4 && d == FGS__T_F32);

    if (d != type[FGS__MATRIX_C] && !mixed)
        fgs__parse_error(c->p, c->type_at[c->i->types - 1],
                         "%s: D and C must have one type here, not .%s and "
                         ".%s", c->name,
                         fgs__ptx_types[d].word,
                         fgs__ptx_types[type[FGS__MATRIX_C]].word);
    else if (p->op == FGS__OP_WMMA && a != b)
        fgs__parse_error(c->p, c->type_at[2], "%s: A and B must have one type",
                         c->name);
    return !c->p->failed && check_words(c, p, type) && check_scaled(c, p) &&
        check_suffix(c, p) &&
        fgs__check_version(c->p, c->mod_at[FGS__G_SHAPE], p->ptx, p->cc,
                           p->family, "%s.%s of .%s and .%s", c->name,
                           fgs__mods[p->shape].word, fgs__ptx_types[a].word,
                           fgs__ptx_types[b].word) &&
        (c->i->mod[FGS__G_BOOL] != FGS__M_BOOL_AND ||
         fgs__check_version(c->p, c->mod_at[FGS__G_BOOL], 71, 80, 0,
                            "%s with '.and'", c->name));
}

/* Where the elements of A belong, and which lanes say so.  The assembler takes
 * selectors of four lanes for .m16n8k32 of .f16, of which an H200 makes an
 * illegal instruction. */
static bool check_places(struct fgs__check *c, unsigned lanes)
{
    const struct fgs__ptx_operand *o = c->i->operand;

    if (o[4].kind != FGS__O_REG) {
        fgs__check_operand_error(c, &o[4], "a register expected");
        return false;
    }
    if (o[5].kind != FGS__O_INT) {
        fgs__check_operand_error(c, &o[5], "an integer constant expected");
        return false;
    }
    return fgs__check_value(c, &o[4], FGS__T_B32, FGS__USE_SOURCE) &&
        fgs__check_range(c, &o[5], 0, 4 / lanes - 1, "the selector");
}

/* {byte, thread}: which bytes of which lanes are the scales, of A or of B.
 * Registers have 16 bits; their values are looked at when it runs. */
static bool check_selector(struct fgs__check *c,
                           const struct fgs__ptx_operand *o, unsigned scales,
                           bool of_b)
{
    const struct fgs__ptx_operand *byte;

    if (o->kind != FGS__O_VEC || o->children != 2) {
        fgs__check_operand_error(c, o, "{byte, thread} expected");
        return false;
    }
    for (unsigned k = 0; k < 2; k++)
        if (!fgs__check_value(c, &o->child[k], FGS__T_U16, FGS__USE_SOURCE))
            return false;
    byte = &o->child[0];
    if (!fgs__check_range(c, byte, 0, 4 - (int)scales, "the byte"))
        return false;
    if (byte->kind == FGS__O_INT && scales == 2 && byte->imm & 1) {
        fgs__check_operand_error(c, byte, "the byte must be 0 or 2");
        return false;
    }
    return fgs__check_range(c, &o->child[1], 0, of_b ? 3 : 1, "the thread");
}

/* scale-a, {byte, thread}, scale-b, {byte, thread} behind the rest. */
static bool check_scales(struct fgs__check *c, unsigned first, unsigned scales)
{
    const struct fgs__ptx_operand *o = &c->i->operand[first];

    for (unsigned k = 0; scales && k < 4; k += 2) {
        if (o[k].kind != FGS__O_REG) {
            fgs__check_operand_error(c, &o[k], "a register expected");
            return false;
        }
        if (!fgs__check_value(c, &o[k], FGS__T_B32, FGS__USE_SOURCE) ||
            !check_selector(c, &o[k + 1], scales, k != 0))
            return false;
    }
    return true;
}

/* PTX 6.3 brought .aligned of wmma, and since then it must be there; what was
 * made for versions before has none. */
static bool check_aligned(struct fgs__check *c)
{
    bool aligned = c->i->mod[FGS__G_ALIGNED] != 0;

    if (aligned == (c->p->m->version >= 63))
        return true;
    fgs__check_error(c, aligned ? "'.aligned' needs PTX 6.3"
                                : "needs .aligned since PTX 6.3");
    return false;
}

void fgs__check_mma(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__product *p;
    uint8_t type[4];
    unsigned lanes, scales, rest;
    bool shape;

    if (i->op == FGS__OP_WMMA && !check_aligned(c))
        return;
    p = fgs__product_find(i, &shape);
    fgs__product_types(i, type);
    if (!p && !shape)
        fgs__check_mod_error(c, FGS__G_SHAPE, "'.%s' is no shape of it",
                             fgs__mods[i->mod[FGS__G_SHAPE]].word);
    else if (!p)
        fgs__check_error(c, "'.%s' does not go with types .%s .%s .%s .%s",
                         fgs__mods[i->mod[FGS__G_SHAPE]].word,
                         fgs__ptx_types[type[0]].word,
                         fgs__ptx_types[type[1]].word,
                         fgs__ptx_types[type[2]].word,
                         fgs__ptx_types[type[3]].word);
    if (!p || !check_types(c, p, type))
        return;
    lanes = fgs__product_lanes(p, (enum fgs__ptx_type)type[FGS__MATRIX_A]);
    scales = fgs__product_scales(i);
    rest = lanes ? 6 : 4;
    if (!count_operands(c, rest + (scales ? 4 : 0)) ||
        (lanes && !check_places(c, lanes)) || !check_scales(c, rest, scales))
        return;
    for (unsigned k = 0; k < 4; k++) {
        enum fgs__ptx_type t = (enum fgs__ptx_type)type[k];

        if (!check_fragment(c, &i->operand[k],
                            fgs__product_regs(p, (enum fgs__matrix)k, t), t,
                            !k))
            return;
    }
}

/* ------------------------------------------- wmma's loads and the store -- */

/* r, [p] {, stride} and [p], r {, stride}. */
void fgs__check_wmma(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool store = i->op == FGS__OP_WMMA_STORE;
    enum fgs__matrix which = i->op == FGS__OP_WMMA_LOAD_A ? FGS__MATRIX_A
        : i->op == FGS__OP_WMMA_LOAD_B ? FGS__MATRIX_B : FGS__MATRIX_C;
    enum fgs__ptx_type t = (enum fgs__ptx_type)i->type[0];
    const struct fgs__product *p = fgs__product_part(i, which);

    if (!check_aligned(c))
        return;
    if (!p) {
        fgs__check_mod_error(c, FGS__G_SHAPE, "'.%s' does not go with type .%s",
                             fgs__mods[i->mod[FGS__G_SHAPE]].word,
                             fgs__ptx_types[t].word);
        return;
    }
    if ((t == FGS__T_S4 || t == FGS__T_U4 || t == FGS__T_B1) &&
        (i->mod[FGS__G_ORDER_A] == FGS__M_A_ROW) != (which == FGS__MATRIX_A)) {
        fgs__check_mod_error(c, FGS__G_ORDER_A, "A is '.row' and B '.col' with "
                             "type .%s", fgs__ptx_types[t].word);
        return;
    }
    if (!fgs__check_version(c->p, c->mod_at[FGS__G_SHAPE], p->ptx, p->cc, 0,
                            "%s.%s of .%s", c->name, fgs__mods[p->shape].word,
                            fgs__ptx_types[t].word))
        return;
    if (i->operands != 3 && !count_operands(c, 2))
        return;
    if (fgs__check_addr(c, &i->operand[!store],
                        (enum fgs__ptx_mod)i->space[0]) &&
        check_fragment(c, &i->operand[!!store], fgs__product_regs(p, which, t),
                       t, !store) &&
        i->operands == 3)
        fgs__check_value(c, &i->operand[2], FGS__T_U32, FGS__USE_SOURCE);
}
