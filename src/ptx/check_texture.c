/* check_texture.c -- rules of textures, surfaces and their queries
 *
 * ISA 9.7.11 and 9.7.12; what the 13.4 assembler takes where the two differ:
 * a coordinate may be any register of its size, and a vector longer than the
 * shape needs, as long as it has 1, 2 or 4 elements.
 */
#include "ptx/parse.h"
#include "base/compat.h"

/* Coordinates of a shape; the first of a layered one is the layer. */
struct geometry {
    uint8_t coords, least; /* of the vector */
    bool layered, cube;
};

static struct geometry geometry_of(const struct fgs__ptx_insn *i)
{
    switch (i->mod[FGS__G_GEOM]) {
    case FGS__M_GEOM_1D:
        return (struct geometry){ 1, 1, false, false };
    case FGS__M_GEOM_2D:
        return (struct geometry){ 2, 2, false, false };
    case FGS__M_GEOM_3D:
        return (struct geometry){ 3, 4, false, false };
    case FGS__M_GEOM_A1D:
        return (struct geometry){ 2, 2, true, false };
    case FGS__M_GEOM_A2D:
        return (struct geometry){ 3, 4, true, false };
    case FGS__M_GEOM_CUBE:
        return (struct geometry){ 3, 4, false, true };
    default:
        return (struct geometry){ 4, 4, true, true };
    }
}

/* One element or a vector of 1, 2 or 4. */
static unsigned elements(const struct fgs__ptx_operand *o,
                         const struct fgs__ptx_operand **out)
{
    *out = o->kind == FGS__O_VEC ? o->child : o;
    return o->kind == FGS__O_VEC ? o->children : 1;
}

static bool check_length(struct fgs__check *c,
                         const struct fgs__ptx_operand *o, unsigned n,
                         unsigned least)
{
    if (n >= least && n != 3 && n <= 4)
        return true;
    fgs__check_operand_error(c, o, "a vector of %u expected", least);
    return false;
}

/* The handle of an object: a register of 64 bits, or a reference. */
static bool check_object(struct fgs__check *c,
                         const struct fgs__ptx_operand *o, unsigned opaque)
{
    const struct fgs__ptx_sym *s = o->kind == FGS__O_ADDR ? o->sym : NULL;
    const char *want = opaque == FGS__OPAQUE_TEXREF ? "texref" : "surfref";

    if (s && !o->offset &&
        ((s->kind == FGS__SYM_REG &&
          fgs__check_fits(s->type, FGS__T_U64, false)) ||
         (s->kind == FGS__SYM_VAR && s->opaque == opaque))) {
        if (s->kind == FGS__SYM_REG)
            fgs__check_version(c->p, c->i->pos, 31, 20, 0,
                               "%s through a register", c->name);
        return !c->p->failed;
    }
    fgs__check_operand_error(c, o, ".%s or a .u64 register in [] expected",
                             want);
    return false;
}

/* {layer,} x, y, z of type `t`. */
static bool check_coords(struct fgs__check *c,
                         const struct fgs__ptx_operand *o,
                         enum fgs__ptx_type t)
{
    struct geometry g = geometry_of(c->i);
    const struct fgs__ptx_operand *at;
    unsigned n = elements(o, &at);

    if (!check_length(c, o, n, g.least))
        return false;
    if (g.cube && t != FGS__T_F32) {
        fgs__check_error(c, "a cube's coordinates are .f32");
        return false;
    }
    for (unsigned k = 0; k < n; k++) {
        enum fgs__ptx_type want = g.layered && !k ? FGS__T_U32 : t;

        /* what fills a vector up is not looked at */
        if (k >= g.coords && at[k].kind == FGS__O_REG &&
            fgs__ptx_types[at[k].sym->type].bits == 32)
            continue;
        if (want == FGS__T_F32 && at[k].kind == FGS__O_INT) {
            fgs__check_operand_error(c, &at[k], "a .f32 coordinate expected");
            return false;
        }
        if (!fgs__check_value(c, &at[k], want, FGS__USE_SOURCE))
            return false;
    }
    return true;
}

/* d or d|p: a vector, of which some may be _. */
static bool check_results(struct fgs__check *c,
                          const struct fgs__ptx_operand *o,
                          enum fgs__ptx_type t, unsigned count, unsigned use)
{
    unsigned sinks = 0;

    if (o->kind != FGS__O_VEC || o->children != count) {
        fgs__check_operand_error(c, o, "a vector of %u expected", count);
        return false;
    }
    for (unsigned k = 0; k < count; k++) {
        sinks += o->child[k].kind == FGS__O_SINK;
        if (!fgs__check_value(c, &o->child[k], t, use | FGS__USE_SINK))
            return false;
    }
    if (sinks < count)
        return true;
    fgs__check_operand_error(c, o, "a vector of nothing but _");
    return false;
}

static bool check_resident(struct fgs__check *c,
                           const struct fgs__ptx_operand **o)
{
    const struct fgs__ptx_operand *pair = *o;

    if (pair->kind != FGS__O_PAIR)
        return true;
    *o = &pair->child[0];
    if (pair->child[1].kind != FGS__O_REG ||
        pair->child[1].sym->type != FGS__T_PRED || pair->child[1].neg) {
        fgs__check_operand_error(c, &pair->child[1],
                                 "a predicate register expected");
        return false;
    }
    return fgs__check_version(c->p, pair->pos, 71, 0, 0, "%s with a predicate",
                              c->name);
}

/* The offsets behind the coordinates. */
static bool check_offsets(struct fgs__check *c,
                          const struct fgs__ptx_operand *o)
{
    struct geometry g = geometry_of(c->i);
    unsigned least = g.least - (g.layered ? g.least == 2 ? 1u : 2u : 0u);
    const struct fgs__ptx_operand *at;
    unsigned n = elements(o, &at);

    if (g.cube) {
        fgs__check_operand_error(c, o, "a cube has no offsets");
        return false;
    }
    if (!check_length(c, o, n, least))
        return false;
    for (unsigned k = 0; k < n; k++)
        if (!fgs__check_value(c, &at[k], FGS__T_S32, FGS__USE_SOURCE))
            return false;
    return fgs__check_version(c->p, o->pos, 43, 30, 0, "%s with offsets",
                              c->name);
}

static bool check_depth(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    if (c->i->mod[FGS__G_GEOM] == FGS__M_GEOM_3D) {
        fgs__check_operand_error(c, o, "'.3d' has no depth to compare with");
        return false;
    }
    if (c->i->type[1] != FGS__T_F32) {
        fgs__check_operand_error(c, o, "a depth needs coordinates of .f32");
        return false;
    }
    return fgs__check_value(c, o, FGS__T_F32, FGS__USE_SOURCE) &&
        fgs__check_version(c->p, o->pos, 43, 30, 0, "%s with a depth",
                           c->name);
}

/* A lone operand that is no f32 is an offset. */
static bool is_offset(const struct fgs__ptx_operand *o)
{
    return o->kind == FGS__O_VEC || o->kind == FGS__O_INT ||
        (o->kind == FGS__O_REG && o->sym->type != FGS__T_F32);
}

static void check_rest(struct fgs__check *c, unsigned n)
{
    const struct fgs__ptx_insn *i = c->i;

    if (n < i->operands && is_offset(&i->operand[n])) {
        if (!check_offsets(c, &i->operand[n++]))
            return;
    }
    if (n < i->operands && !check_depth(c, &i->operand[n++]))
        return;
    if (n < i->operands)
        fgs__check_error(c, "%u operands are too many", i->operands);
}

void fgs__check_texture(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool packed = i->type[0] == FGS__T_F16X2;
    enum fgs__ptx_type t = i->type[0] == FGS__T_F16 ? FGS__T_B16 : FGS__T_B32;
    enum fgs__ptx_type ct = (enum fgs__ptx_type)i->type[1];
    const struct fgs__ptx_operand *d = &i->operand[0], *a = &i->operand[1];
    unsigned n = 2;

    if (i->operands < 2 + (i->op == FGS__OP_TEX_LEVEL)) {
        fgs__check_error(c, "%u operands are too few", i->operands);
        return;
    }
    if (!check_resident(c, &d) ||
        !check_results(c, d, t, packed ? 2 : 4, FGS__USE_DEST) ||
        !check_object(c, a, FGS__OPAQUE_TEXREF))
        return;
    if (a->children != 1 && a->children != 2) {
        fgs__check_operand_error(c, a, "[texture, {coordinates}] expected");
        return;
    }
    if (a->children == 2 && !fgs__check_value(c, &a->child[0], FGS__T_U64,
                                              FGS__USE_SOURCE))
        return;
    if (!check_coords(c, &a->child[a->children - 1], ct))
        return;
    if (i->op == FGS__OP_TEX_LEVEL &&
        !fgs__check_value(c, &i->operand[n++], ct, FGS__USE_SOURCE))
        return;
    check_rest(c, n);
}

/* ------------------------------------------------------------ surfaces -- */

/* One value, or a vector of the length that is said; a vector of one passes
 * for the value of all but reductions. */
static bool check_data(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       unsigned use)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned vec = i->mod[FGS__G_VEC], sinks = 0;
    unsigned want = vec == FGS__M_V4 ? 4 : vec ? 2 : 1;
    bool reduce = i->op == FGS__OP_SURED || i->op == FGS__OP_SURED_P;
    enum fgs__ptx_type t = (enum fgs__ptx_type)i->type[0];
    const struct fgs__ptx_operand *at;
    unsigned n = elements(o, &at);

    if (n != want || (o->kind != FGS__O_VEC && vec) ||
        (o->kind == FGS__O_VEC && reduce)) {
        fgs__check_operand_error(c, o, want > 1 ? "a vector of %u expected"
                                                : "a single value expected",
                                 want);
        return false;
    }
    if (fgs__ptx_types[t].bits * want > 128) {
        fgs__check_error(c, "a vector has 128 bits at most");
        return false;
    }
    for (unsigned k = 0; k < n; k++) {
        bool sink = use & FGS__USE_DEST && want > 1;

        sinks += at[k].kind == FGS__O_SINK;
        if (!fgs__check_value(c, &at[k], t,
                              use | FGS__USE_WIDE | (sink ? FGS__USE_SINK
                                                          : 0u)))
            return false;
    }
    if (sinks < n)
        return true;
    fgs__check_operand_error(c, o, "a vector of nothing but _");
    return false;
}

void fgs__check_surface(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool load = i->op == FGS__OP_SULD;
    const struct fgs__ptx_operand *a = &i->operand[load];

    if (i->operands != 2) {
        fgs__check_error(c, "2 operands expected, not %u", i->operands);
        return;
    }
    if (!check_object(c, a, FGS__OPAQUE_SURFREF))
        return;
    if (a->children != 1) {
        fgs__check_operand_error(c, a, "[surface, {coordinates}] expected");
        return;
    }
    if (!check_coords(c, &a->child[0], FGS__T_S32))
        return;
    check_data(c, &i->operand[!load], load ? FGS__USE_DEST : FGS__USE_SOURCE);
}

/* ------------------------------------------------------------- queries -- */

void fgs__check_query(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned want = i->op == FGS__OP_TXQ_LEVEL ? 3 : 2;

    if (i->operands != want) {
        fgs__check_error(c, "%u operands expected, not %u", want, i->operands);
        return;
    }
    if (!fgs__check_value(c, &i->operand[0], FGS__T_B32, FGS__USE_DEST) ||
        !check_object(c, &i->operand[1], i->op == FGS__OP_SUQ
                      ? FGS__OPAQUE_SURFREF : FGS__OPAQUE_TEXREF))
        return;
    if (i->operand[1].children)
        fgs__check_operand_error(c, &i->operand[1], "no coordinates expected");
    else if (want == 3)
        fgs__check_value(c, &i->operand[2], FGS__T_U32, FGS__USE_SOURCE);
}
