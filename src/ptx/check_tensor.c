/* check_tensor.c -- rules of tensor copies, tensor maps and bulk reductions */
#include "ptx/parse.h"
#include "base/compat.h"

enum { LOAD = 1, STORE = 2, REDUCE = 4, PREFETCH = 8 };

/* What a mode goes with (ISA 9.7.10.28.5); the assembler takes scatter4 in
 * reductions too. */
static const struct mode {
    uint8_t word, uses, least; /* least rank */
    bool four;                 /* rank 2 only, a column and four rows */
} modes[] = {
    { FGS__M_TILE, LOAD | STORE | REDUCE | PREFETCH, 1, false },
    { FGS__M_TILE_GATHER4, LOAD | PREFETCH, 2, true },
    { FGS__M_TILE_SCATTER4, STORE | REDUCE, 2, true },
    { FGS__M_IM2COL, LOAD | PREFETCH, 3, false },
    { FGS__M_IM2COL_W, LOAD | PREFETCH, 3, false },
    { FGS__M_IM2COL_W128, LOAD | PREFETCH, 3, false },
    { FGS__M_IM2COL_NO_OFFS, STORE | REDUCE, 3, false },
    { FGS__M_IM2COL_NO_OFFS_W, STORE | REDUCE, 3, false },
};

static unsigned rank_of(const struct fgs__ptx_insn *i)
{
    return i->mod[FGS__G_DIM] - FGS__M_DIM_1 + 1u;
}

static unsigned use_of(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool from_shared = i->space[1] == FGS__M_SHARED_CTA;

    if (i->op == FGS__OP_TENSOR_PREFETCH || i->op == FGS__OP_APPLY_TENSOR)
        return PREFETCH;
    if (i->space[0] == FGS__M_GLOBAL && from_shared)
        return i->op == FGS__OP_TENSOR_REDUCE ? REDUCE : STORE;
    if (i->space[0] && i->space[0] != FGS__M_GLOBAL &&
        i->space[1] == FGS__M_GLOBAL && i->op == FGS__OP_TENSOR_COPY)
        return LOAD;
    fgs__check_mod_error(c, FGS__G_SPACE, i->space[1]
                         ? "no tensor is copied from .%s to .%s"
                         : "two state spaces are needed, to and from",
                         fgs__mods[i->space[1]].word,
                         fgs__mods[i->space[0]].word);
    return 0;
}

/* -------------------------------------------------------- modifiers -- */

static const struct mode *check_mode(struct fgs__check *c, unsigned use)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned word = i->mod[FGS__G_LOAD_MODE], k = 0;
    const struct mode *m;

    while (word && modes[k].word != word)
        k++;
    m = &modes[k];
    if (!(m->uses & use)) {
        fgs__check_mod_error(c, FGS__G_LOAD_MODE, "'.%s' is not allowed here",
                             fgs__mods[word].word);
        return NULL;
    }
    if (rank_of(i) < m->least || (m->four && rank_of(i) != 2)) {
        fgs__check_mod_error(c, FGS__G_LOAD_MODE, "'.%s' needs a tensor of "
                             "%s", fgs__mods[word].word,
                             m->four ? "two dimensions"
                                     : "three dimensions or more");
        return NULL;
    }
    return m;
}

static bool check_words(struct fgs__check *c, unsigned use)
{
    static const struct {
        uint8_t group, uses;
    } list[] = {
        { FGS__G_REPORT, LOAD },
        { FGS__G_MULTICAST, LOAD },
        { FGS__G_CTA_GROUP, LOAD },
    };
    const struct fgs__ptx_insn *i = c->i;
    unsigned wanted = use == LOAD ? FGS__M_MBAR_BYTES : FGS__M_BULK_GROUP;

    if (use != PREFETCH && i->mod[FGS__G_COMPLETION] != wanted)
        fgs__check_mod_error(c, FGS__G_COMPLETION, "a copy to .%s needs '.%s'",
                             fgs__mods[i->space[0]].word,
                             fgs__mods[wanted].word);
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        if (i->mod[list[k].group] && !(list[k].uses & use))
            fgs__check_mod_error(c, list[k].group, "'.%s' is for copies from "
                                 ".global", fgs__mods[i->mod[list[k].group]]
                                 .word);
    }
    if (i->mod[FGS__G_MULTICAST] && i->space[0] != FGS__M_SHARED_CLUSTER)
        fgs__check_mod_error(c, FGS__G_MULTICAST, "'.%s' needs a copy to "
                             ".shared::cluster",
                             fgs__mods[i->mod[FGS__G_MULTICAST]].word);
    else if (i->mod[FGS__G_CACHE_HINT] && i->mod[FGS__G_EVICT2])
        fgs__check_mod_error(c, FGS__G_EVICT2, "'.L2::cache_hint' and '.%s' "
                             "exclude each other",
                             fgs__mods[i->mod[FGS__G_EVICT2]].word);
    return !c->p->failed;
}

/* ISA 9.7.10.28.5.2: sizes only with the address, .1d without strides. */
static bool check_override(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned dim = i->mod[FGS__G_OVERRIDE_DIM];
    unsigned mode = i->mod[FGS__G_LOAD_MODE];
    unsigned cast = i->mod[FGS__G_MULTICAST];

    if (!dim)
        return true;
    if (!i->mod[FGS__G_OVERRIDE])
        fgs__check_mod_error(c, FGS__G_OVERRIDE_DIM, "'.%s' needs "
                             "'.override::global_address'",
                             fgs__mods[dim].word);
    else if ((dim == FGS__M_OVERRIDE_SIZE) != (rank_of(i) == 1))
        fgs__check_mod_error(c, FGS__G_OVERRIDE_DIM, "'.%s' is for %s",
                             fgs__mods[dim].word, rank_of(i) == 1
                             ? "tensors of two dimensions or more" : "'.1d'");
    else if (mode && mode != FGS__M_TILE)
        fgs__check_mod_error(c, FGS__G_LOAD_MODE, "'.%s' needs '.tile'",
                             fgs__mods[dim].word);
    else if (cast && cast != FGS__M_MULTICAST_32B)
        fgs__check_mod_error(c, FGS__G_MULTICAST, "'.%s' needs "
                             "'.multicast::cluster::32b'",
                             fgs__mods[dim].word);
    return !c->p->failed;
}

/* --------------------------------------------------------- operands -- */

static bool check_list(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       unsigned n, enum fgs__ptx_type t, const char *what)
{
    if (o->kind != FGS__O_VEC || o->children != n) {
        fgs__check_operand_error(c, o, "%s: a list of %u expected", what, n);
        return false;
    }
    for (unsigned k = 0; k < n; k++) {
        const struct fgs__ptx_operand *e = &o->child[k];
        bool byte = t == FGS__T_B8 && e->kind == FGS__O_REG &&
            fgs__ptx_types[e->sym->type].bits == 16;

        if (!fgs__check_value(c, e, byte ? FGS__T_B16 : t, FGS__USE_SOURCE))
            return false;
    }
    return true;
}

/* [map {, address {, {sizes} {, {strides}, upper}}}, {coordinates}] */
static bool check_map(struct fgs__check *c, const struct fgs__ptx_operand *o,
                      const struct mode *m)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned rank = rank_of(i), dim = i->mod[FGS__G_OVERRIDE_DIM];
    const struct fgs__ptx_operand *e = o->child;
    unsigned want = 1u + !!i->mod[FGS__G_OVERRIDE] +
        (dim == FGS__M_OVERRIDE_STRIDE ? 3 : !!dim);

    if (o->kind != FGS__O_ADDR || o->children != want || o->offset ||
        !o->sym) {
        fgs__check_operand_error(c, o, "[tensor map, %s{coordinates}] expected",
                                 want > 1 ? "what overrides it, " : "");
        return false;
    }
    if (!fgs__check_addr(c, o, FGS__M_NONE))
        return false;
    if (i->mod[FGS__G_OVERRIDE] &&
        !fgs__check_value(c, e++, FGS__T_B64, FGS__USE_SOURCE))
        return false;
    if (dim && !check_list(c, e++, rank, FGS__T_B8, "the sizes"))
        return false;
    if (dim == FGS__M_OVERRIDE_STRIDE &&
        (!check_list(c, e, rank - 1, FGS__T_B32, "the strides") ||
         !fgs__check_value(c, e + 1, FGS__T_B16, FGS__USE_SOURCE)))
        return false;
    return check_list(c, &o->child[want - 1], m->four ? 5 : rank, FGS__T_B32,
                      "the coordinates");
}

/* Behind the addresses: im2col offsets, mask of a multicast, policy. */
static bool check_rest(struct fgs__check *c, unsigned at)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned mode = i->mod[FGS__G_LOAD_MODE], cast = i->mod[FGS__G_MULTICAST];
    bool wide = mode == FGS__M_IM2COL_W || mode == FGS__M_IM2COL_W128;
    bool offsets = mode == FGS__M_IM2COL || wide;
    unsigned want = at + offsets + !!cast + !!i->mod[FGS__G_CACHE_HINT];

    if (i->operands != want) {
        fgs__check_error(c, "%u operands expected, not %u", want, i->operands);
        return false;
    }
    if (offsets && !check_list(c, &i->operand[at++], wide ? 2 : rank_of(i) - 2,
                               FGS__T_B16, "the offsets"))
        return false;
    if (cast && !fgs__check_value(c, &i->operand[at++],
                                  cast == FGS__M_MULTICAST_32B ? FGS__T_U32
                                                               : FGS__T_U16,
                                  FGS__USE_SOURCE))
        return false;
    return !i->mod[FGS__G_CACHE_HINT] ||
        fgs__check_value(c, &i->operand[at], FGS__T_U64, FGS__USE_EXACT);
}

/* ---------------------------------------------------------- targets -- */

/* "Target ISA Notes" of the three instructions, and what the assembler takes:
 * gather4 and im2col::w into .shared::cta are for every target from sm_100. */
static void check_targets(struct fgs__check *c, unsigned use)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned mode = i->mod[FGS__G_LOAD_MODE];
    bool plain = use == LOAD && i->space[0] == FGS__M_SHARED_CTA &&
        (mode == FGS__M_TILE_GATHER4 || mode == FGS__M_IM2COL_W);
    bool newer = mode == FGS__M_IM2COL_NO_OFFS_W;

    if (use == LOAD && i->space[0] == FGS__M_SHARED_CTA)
        fgs__check_version(c->p, c->mod_at[FGS__G_SPACE], 86, 90, 0,
                           "%s to .shared::cta", c->name);
    if (c->p->failed || !mode || mode == FGS__M_TILE ||
        mode == FGS__M_IM2COL || mode == FGS__M_IM2COL_NO_OFFS)
        return;
    fgs__check_version(c->p, c->mod_at[FGS__G_LOAD_MODE], newer ? 94 : 86,
                       newer ? 107 : 100,
                       plain ? 0 : newer ? 107 : 110100, "%s with '.%s'",
                       c->name, fgs__mods[mode].word);
}

void fgs__check_tensor(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned use = use_of(c), least = use == LOAD ? 3 : use == PREFETCH ? 1 : 2;
    const struct mode *m = use ? check_mode(c, use) : NULL;

    if (!m || !check_words(c, use) || !check_override(c))
        return;
    if (i->operands < least) {
        fgs__check_error(c, "%u operands expected at least", least);
        return;
    }
    if (use == LOAD &&
        (!fgs__check_addr(c, &i->operand[0], (enum fgs__ptx_mod)i->space[0]) ||
         !fgs__check_addr(c, &i->operand[2], FGS__M_SHARED)))
        return;
    if ((use == STORE || use == REDUCE) &&
        !fgs__check_addr(c, &i->operand[1], FGS__M_SHARED_CTA))
        return;
    if (check_map(c, &i->operand[use == LOAD], m) && check_rest(c, least))
        check_targets(c, use);
}

/* ------------------------------------------------ tensormap.replace -- */

/* Table 36: which type, is there an ordinal, the most that an immediate is. */
static const struct field {
    uint8_t word, type, most;
    bool ordinal, constant;
} fields[] = {
    { FGS__M_MAP_ADDRESS, FGS__T_B64, 0, false, false },
    { FGS__M_MAP_RANK, FGS__T_B32, 0, false, false },
    { FGS__M_MAP_BOX_DIM, FGS__T_B32, 0, true, false },
    { FGS__M_MAP_GLOBAL_DIM, FGS__T_B32, 0, true, false },
    { FGS__M_MAP_GLOBAL_STRIDE, FGS__T_B64, 0, true, false },
    { FGS__M_MAP_ELEMENT_STRIDE, FGS__T_B32, 0, true, false },
    { FGS__M_MAP_ELEMTYPE, FGS__T_B32, 15, false, true },
    { FGS__M_MAP_INTERLEAVE, FGS__T_B32, 2, false, true },
    { FGS__M_MAP_SWIZZLE, FGS__T_B32, 4, false, true },
    { FGS__M_MAP_ATOMICITY, FGS__T_B32, 3, false, true },
    { FGS__M_MAP_FILL, FGS__T_B32, 1, false, true },
};

static void check_field_target(struct fgs__check *c, const struct field *f,
                               const struct fgs__ptx_operand *value)
{
    bool packed = f->word == FGS__M_MAP_ELEMTYPE && value->imm > 12;
    bool sw96 = f->word == FGS__M_MAP_SWIZZLE && value->imm == 4;
    const struct fgs__ptx_module *m = c->p->m;

    if (f->word == FGS__M_MAP_ATOMICITY)
        fgs__check_version(c->p, c->mod_at[FGS__G_MAP_FIELD], 86, 100,
                           120110100, "%s with '.swizzle_atomicity'", c->name);
    else if (packed)
        fgs__check_version(c->p, value->pos, 87, 100, 120110100,
                           "%s with packed elements", c->name);
    else if (sw96)
        fgs__check_version(c->p, value->pos, 88, 103, 103,
                           "%s with swizzling of 96 bytes", c->name);
    else if (m->target_cc != 90 || !m->target_suffix)
        fgs__check_version(c->p, c->i->pos, 83, 90, 120110100,
                           "%s on another target than sm_90a", c->name);
}

void fgs__check_tensormap(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_operand *value;
    const struct field *f = fields;

    while (f->word != i->mod[FGS__G_MAP_FIELD])
        f++;
    if (i->type[0] != f->type) {
        fgs__parse_error(c->p, c->type_at[0], "%s: '.%s' has type .%s",
                         c->name, fgs__mods[f->word].word,
                         fgs__ptx_types[f->type].word);
        return;
    }
    if (i->operands != 2u + f->ordinal) {
        fgs__check_error(c, "%d operands expected, not %u", 2 + f->ordinal,
                         i->operands);
        return;
    }
    value = &i->operand[1 + f->ordinal];
    if (!fgs__check_addr(c, &i->operand[0], (enum fgs__ptx_mod)i->space[0]) ||
        !fgs__check_value(c, value, (enum fgs__ptx_type)f->type,
                          FGS__USE_SOURCE))
        return;
    if ((f->constant && value->kind != FGS__O_INT) ||
        (f->ordinal && i->operand[1].kind != FGS__O_INT))
        fgs__check_operand_error(c, f->constant ? value : &i->operand[1],
                                 "an integer constant expected");
    else if (f->ordinal)
        fgs__check_range(c, &i->operand[1], 0, 4, "the dimension");
    else if (f->constant)
        fgs__check_range(c, value, 0, f->most, fgs__mods[f->word].word);
    if (!c->p->failed)
        check_field_target(c, f, value);
}

/* ---------------------------------------- cp.reduce.async.bulk, st.bulk -- */

#define T(id) ((uint64_t)1 << FGS__T_##id)

static uint64_t reduce_types(unsigned op, bool global)
{
    uint64_t half = T(F16) | T(BF16);

    switch (op) {
    case FGS__M_ATOM_ADD:
        return T(U32) | T(S32) | T(U64) |
            (global ? half | T(F32) | T(F64) : 0);
    case FGS__M_ATOM_MIN:
    case FGS__M_ATOM_MAX:
        return T(U32) | T(S32) | (global ? half | T(U64) | T(S64) : 0);
    case FGS__M_ATOM_INC:
    case FGS__M_ATOM_DEC:
        return T(U32);
    default:
        return T(B32) | (global ? T(B64) : 0);
    }
}

static void check_reduce_type(struct fgs__check *c, bool global)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned op = i->mod[FGS__G_ATOM], t = i->type[0];
    bool half = t == FGS__T_F16 || t == FGS__T_BF16;

    if (!(reduce_types(op, global) >> t & 1))
        fgs__parse_error(c->p, c->type_at[0], "%s: '.%s' does not exist for "
                         "type .%s here", c->name, fgs__mods[op].word,
                         fgs__ptx_types[t].word);
    else if (half && op == FGS__M_ATOM_ADD && !i->mod[FGS__G_NOFTZ])
        fgs__check_error(c, "'.add' with type .%s needs .noftz",
                         fgs__ptx_types[t].word);
    else if (i->mod[FGS__G_NOFTZ] &&
             (op != FGS__M_ATOM_ADD || !(half || t == FGS__T_F32)))
        fgs__check_mod_error(c, FGS__G_NOFTZ, "'.noftz' is for '.add' of "
                             ".f16, .bf16 and .f32");
    else if (i->mod[FGS__G_NOFTZ] && t == FGS__T_F32)
        fgs__check_version(c->p, c->mod_at[FGS__G_NOFTZ], 94, 90, 0,
                           "%s with '.noftz' of .f32", c->name);
}

static bool check_size(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       unsigned unit)
{
    if (!fgs__check_range(c, o, 0, unit == 16 ? 1048560 : 4294967280,
                          "the size"))
        return false;
    if (o->kind != FGS__O_INT || o->imm % unit == 0)
        return true;
    fgs__check_operand_error(c, o, "the size %llu is no multiple of %u",
                             (unsigned long long)o->imm, unit);
    return false;
}

void fgs__check_reduce(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool global = i->space[0] == FGS__M_GLOBAL;
    unsigned wanted = global ? FGS__M_BULK_GROUP : FGS__M_MBAR_BYTES;
    unsigned scope = i->mod[FGS__G_SCOPE];

    if (i->space[1] != FGS__M_SHARED_CTA ||
        i->space[0] == FGS__M_SHARED_CTA)
        fgs__check_mod_error(c, FGS__G_SPACE, "a reduction goes from "
                             ".shared::cta to .global or .shared::cluster");
    else if (i->mod[FGS__G_COMPLETION] != wanted)
        fgs__check_mod_error(c, FGS__G_COMPLETION,
                             "a reduction to .%s needs '.%s'",
                             fgs__mods[i->space[0]].word,
                             fgs__mods[wanted].word);
    else if (!global && i->mod[FGS__G_CACHE_HINT])
        fgs__check_mod_error(c, FGS__G_CACHE_HINT, "'.L2::cache_hint' is for "
                             ".global");
    else if (!global && scope && scope != FGS__M_CTA &&
             scope != FGS__M_CLUSTER)
        fgs__check_mod_error(c, FGS__G_SCOPE, "a reduction within the cluster "
                             "has scope .cta or .cluster");
    else if (fgs__check_scope(c))
        check_reduce_type(c, global);
    if (c->p->failed ||
        !fgs__check_addr(c, &i->operand[0], (enum fgs__ptx_mod)i->space[0]) ||
        !fgs__check_addr(c, &i->operand[1], FGS__M_SHARED_CTA) ||
        !check_size(c, &i->operand[2], 16))
        return;
    if (!global)
        fgs__check_addr(c, &i->operand[3], FGS__M_SHARED);
}

void fgs__check_bulk_size(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->op == FGS__OP_ST_BULK) {
        if (check_size(c, &i->operand[1], 8))
            fgs__check_range(c, &i->operand[2], 0, 0, "the value");
        return;
    }
    if (i->mod[FGS__G_CACHE_HINT] && i->mod[FGS__G_EVICT2])
        fgs__check_mod_error(c, FGS__G_EVICT2, "'.L2::cache_hint' and '.%s' "
                             "exclude each other",
                             fgs__mods[i->mod[FGS__G_EVICT2]].word);
    else
        check_size(c, &i->operand[1], 16);
}
