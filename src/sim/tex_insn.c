/* tex_insn.c -- tex, tex.base, tex.level, tld4, txq, suq */
#include "sim/access.h"
#include "sim/half.h"
#include "sim/latency.h"
#include "sim/reference.h"

/* The places of the operands: op[] and, of offsets, aux[]. */
enum {
    OP_RESULT = 0, OP_OBJECT = 4, OP_COORD = 5, OP_LOD = 9
};
/* imm: the place of the predicate. */
enum { AUX_FACTS = 0, AUX_OFFSET = 1 };
enum {
    DIMS = FGS__SIM_DIMS,
    LAYERED = FGS__SIM_LAYERED,
    CUBE = FGS__SIM_CUBE,
    INTEGERS = 1 << 3,
    HALF = 1 << 5,         /* results of 16 bits                             */
    PACKED = 1 << 6,       /* ... two a register                             */
    GATHER = 1 << 7,
    COMPONENT = 8          /* shift                                          */
};

/* The object of a lane's handle.  A reference is a variable that holds it: a
 * register with its address does as well (ISA 5.3.1).  What the driver's calls
 * bound to a reference is the launch's. */
static struct fgs__sim_texture *find(struct fgs__sim_warp *w, uint64_t handle)
{
    const char *at;

    for (struct fgs__sim_bound *b = w->block->grid->bound; b; b = b->next)
        if (b->va == handle)
            return &b->t;
    if (handle >> 40 && (at = fgs__sim_global(w, handle, sizeof handle)))
        memcpy(&handle, at, sizeof handle);
    return fgs__sim_texture_find(w->block->grid->ctx, handle);
}

struct fgs__sim_texture *fgs__sim_object(struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i,
                                         int lane, uint64_t handle,
                                         bool surface)
{
    struct fgs__sim_texture *t = find(w, handle);

    if (t && t->surface == surface)
        return t;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                        "0x%llx is no %s object of this context",
                        (unsigned long long)handle,
                        surface ? "surface" : "texture");
    return NULL;
}

/* The instruction's shape must be the object's. */
static bool fits(const struct fgs__sim_texture *t, uint32_t facts)
{
    unsigned dims = facts & CUBE ? 2 : facts & DIMS;

    return t->dims == dims && t->layered == !!(facts & LAYERED) &&
        t->cube == !!(facts & CUBE) && (!t->fetched || facts & INTEGERS);
}

/* Reads whose bits are not known; NULL = none.  Hardware filters integers too,
 * and gathers them at a seamless corner; a level that is given is another one
 * where the texture is anisotropic. */
static const char *unknown(const struct fgs__sim_texture *t, uint32_t facts,
                           bool level)
{
    if (t->fetched || facts & INTEGERS)
        return NULL;
    if (level && t->levels > 1 && t->tex.maxAnisotropy > 1)
        return "levels of anisotropic textures are not executed";
    if (!t->integer ||
        (facts & GATHER ? !t->seamless
                        : t->tex.filterMode != CU_TR_FILTER_MODE_LINEAR))
        return NULL;
    return "means of integers are not executed";
}

static uint32_t word(const struct fgs__sim_warp *w, fgs__sim_ref r, int lane)
{
    return ((const uint32_t *)fgs__sim_at(w, r))[lane];
}

static void take_coords(const struct fgs__sim_warp *w,
                        const struct fgs__sim_insn *i, int lane,
                        struct fgs__sim_sample *s)
{
    uint32_t facts = i->aux[AUX_FACTS];
    const fgs__sim_ref *op = &i->op[OP_COORD];

    if (facts & LAYERED) {
        uint32_t at = word(w, *op++, lane), most = s->t->layers - 1;

        /* One below 0 is the last: an H200 takes it for a large one. */
        s->layer = at > most && !(facts & INTEGERS) ? most : at;
    }
    if (facts & CUBE)
        s->layer *= 6;
    for (unsigned d = 0; d < (facts & DIMS); d++) {
        s->coord[d] = word(w, op[d], lane);
        s->offset[d] = i->aux[AUX_OFFSET + d] == FGS__SIM_NOREF
            ? 0 : (int32_t)word(w, i->aux[AUX_OFFSET + d], lane);
    }
    s->integers = facts & INTEGERS;
    s->gather = facts & GATHER;
    s->component = facts >> COMPONENT & 3;
    s->level = i->op[OP_LOD] != FGS__SIM_NOREF;
    if (!s->level)
        s->lod = 0;
    else if (facts & INTEGERS)
        s->lod = (float)(int32_t)word(w, i->op[OP_LOD], lane);
    else
        s->lod = bits_float(word(w, i->op[OP_LOD], lane));
}

static void put(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                int lane, const struct fgs__sim_texel *e)
{
    uint32_t facts = i->aux[AUX_FACTS];
    uint16_t h[4];

    if (!(facts & (HALF | PACKED))) {
        for (unsigned k = 0; k < 4; k++)
            ((uint32_t *)fgs__sim_at(w, i->op[k]))[lane] = e->v[k];
        return;
    }
    /* Integers too are taken for floats: so does an H200. */
    for (unsigned k = 0; k < 4; k++)
        h[k] = f16_of_float(bits_float(e->v[k]));
    for (unsigned k = 0; k < 4 && facts & HALF; k++)
        ((uint16_t *)fgs__sim_at(w, i->op[k]))[lane] = h[k];
    for (unsigned k = 0; k < 2 && facts & PACKED; k++)
        ((uint32_t *)fgs__sim_at(w, i->op[k]))[lane] =
            h[2 * k] | (uint32_t)h[2 * k + 1] << 16;
}

static const struct fgs__sim_insn *run_tex(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    const uint64_t *handle = fgs__sim_at(w, i->op[OP_OBJECT]);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        struct fgs__sim_texture *t = fgs__sim_object(w, i, l, handle[l],
                                                     false);
        struct fgs__sim_sample s = { .t = t };
        struct fgs__sim_texel e;
        const char *why;

        if (!t)
            return NULL;
        if (!fits(t, i->aux[AUX_FACTS]))
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, l,
                                       "the texture has another shape than "
                                       "the instruction");
        why = unknown(t, i->aux[AUX_FACTS], i->op[OP_LOD] != FGS__SIM_NOREF);
        if (why)
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_NOT_SUPPORTED, l, "%s",
                                       why);
        take_coords(w, i, l, &s);
        if (t->cube)
            fgs__sim_cube_place(&s);
        if (!fgs__sim_sample(w, &s, &e))
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, l,
                                       "the texture's memory is gone");
        put(w, i, l, &e);
    }
    if (i->imm != FGS__SIM_NOREF)
        *(uint32_t *)fgs__sim_at(w, (fgs__sim_ref)i->imm) |= w->exec;
    fgs__sim_warp_delay(w, FGS__SIM_GLOBAL_PS);
    return i + 1;
}

/* ------------------------------------------------------------- selector -- */

bool fgs__sim_ref_object(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_operand *o, fgs__sim_ref *out)
{
    struct fgs__ptx_operand plain = *o;

    plain.kind = o->sym->kind == FGS__SYM_REG ? FGS__O_REG : FGS__O_SYM;
    *out = fgs__sim_ref_of(d, &plain, FGS__T_U64);
    return *out != FGS__SIM_NOREF;
}

uint32_t fgs__sim_geometry(const struct fgs__ptx_insn *src)
{
    switch (src->mod[FGS__G_GEOM]) {
    case FGS__M_GEOM_1D:
        return 1;
    case FGS__M_GEOM_2D:
        return 2;
    case FGS__M_GEOM_3D:
        return 3;
    case FGS__M_GEOM_A1D:
        return 1 | LAYERED;
    case FGS__M_GEOM_A2D:
        return 2 | LAYERED;
    case FGS__M_GEOM_CUBE:
        return 3 | CUBE;
    default:
        return 3 | CUBE | LAYERED;
    }
}

bool fgs__sim_ref_coords(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_operand *o, uint32_t geometry,
                         enum fgs__ptx_type type, fgs__sim_ref *out)
{
    const struct fgs__ptx_operand *at = o->kind == FGS__O_VEC ? o->child : o;
    unsigned n = (geometry & DIMS) + !!(geometry & LAYERED);

    for (unsigned k = 0; k < n; k++) {
        out[k] = fgs__sim_ref_of(d, &at[k],
                                 geometry & LAYERED && !k ? FGS__T_U32 : type);
        if (out[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

static bool take_results(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = &src->operand[0];
    uint32_t flip;

    out->imm = FGS__SIM_NOREF;
    if (o->kind == FGS__O_PAIR) {
        out->imm = fgs__sim_ref_pred(d, &o->child[1], &flip);
        if (out->imm == FGS__SIM_NOREF)
            return false;
        o = &o->child[0];
    }
    for (unsigned k = 0; k < o->children; k++) {
        out->op[k] = fgs__sim_ref_dst(d, &o->child[k],
                                      src->type[0] == FGS__T_F16 ? FGS__T_B16
                                                                 : FGS__T_B32);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

static bool take_offsets(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_operand *o,
                         struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *at = o->kind == FGS__O_VEC ? o->child : o;

    for (unsigned k = 0; k < (out->aux[AUX_FACTS] & DIMS); k++) {
        out->aux[AUX_OFFSET + k] = fgs__sim_ref_of(d, &at[k], FGS__T_S32);
        if (out->aux[AUX_OFFSET + k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

static uint32_t facts_of(const struct fgs__ptx_insn *src)
{
    uint32_t facts = fgs__sim_geometry(src);

    facts |= src->type[1] == FGS__T_S32 ? INTEGERS : 0;
    facts |= src->type[0] == FGS__T_F16 ? HALF : 0;
    facts |= src->type[0] == FGS__T_F16X2 ? PACKED : 0;
    if (src->op == FGS__OP_TLD4)
        facts |= GATHER | (uint32_t)(src->mod[FGS__G_GATHER] -
                                     FGS__M_GATHER_R) << COMPONENT;
    return facts;
}

/* Offsets are a vector, an integer or no f32; the depth behind them needs a
 * sampler that compares, which the driver has no way to make. */
static bool take_rest(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_insn *src, unsigned n,
                      struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = &src->operand[n];

    if (n == src->operands)
        return true;
    if (o->kind == FGS__O_VEC || o->kind == FGS__O_INT ||
        (o->kind == FGS__O_REG && o->sym->type != FGS__T_F32)) {
        if (!take_offsets(d, o, out))
            return false;
        n++;
    }
    if (n == src->operands)
        return true;
    fgs__sim_decode_error(d, src, "a depth to compare with is not executed");
    return false;
}

static const uint8_t groups[] = { FGS__G_GEOM, FGS__G_VEC, FGS__G_GATHER };

bool fgs__sim_sel_tex(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_insn *src,
                      struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *a = &src->operand[1];
    enum fgs__ptx_type ct = (enum fgs__ptx_type)src->type[1];
    unsigned n = 2;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (a->children != 1) {
        fgs__sim_decode_error(d, src, "a sampler of its own is not executed");
        return false;
    }
    out->run = run_tex;
    out->aux[AUX_FACTS] = facts_of(src);
    for (unsigned k = 0; k < 3; k++)
        out->aux[AUX_OFFSET + k] = FGS__SIM_NOREF;
    out->op[OP_LOD] = FGS__SIM_NOREF;
    if (!take_results(d, src, out) ||
        !fgs__sim_ref_object(d, a, &out->op[OP_OBJECT]) ||
        !fgs__sim_ref_coords(d, &a->child[0], out->aux[AUX_FACTS], ct,
                             &out->op[OP_COORD]))
        return false;
    if (src->op == FGS__OP_TEX_LEVEL) {
        out->op[OP_LOD] = fgs__sim_ref_of(d, &src->operand[n++], ct);
        if (out->op[OP_LOD] == FGS__SIM_NOREF)
            return false;
    }
    return take_rest(d, src, n, out);
}

/* -------------------------------------------------------------- queries -- */

static uint32_t answer(const struct fgs__sim_texture *t, unsigned what,
                       uint32_t level)
{
    const struct fgs__sim_level *l = &t->level[level];

    if (level >= t->levels)
        return 0;
    switch (what) {
    case FGS__M_QUERY_WIDTH:
        return l->size[0];
    case FGS__M_QUERY_HEIGHT:
        return l->size[1];
    case FGS__M_QUERY_DEPTH:
        return t->dims > 2 ? l->size[2] : t->layered ? t->layers : 0;
    case FGS__M_QUERY_LAYERS:
        return t->layered ? t->layers : 0;
    default:
        return t->levels;
    }
}

static const struct fgs__sim_insn *run_query(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    const uint64_t *handle = fgs__sim_at(w, i->op[OP_OBJECT]);
    bool surface = i->src->op == FGS__OP_SUQ;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        const struct fgs__sim_texture *t =
            fgs__sim_object(w, i, l, handle[l], surface);

        if (!t)
            return NULL;
        ((uint32_t *)fgs__sim_at(w, i->op[OP_RESULT]))[l] =
            answer(t, i->src->mod[FGS__G_QUERY],
                   i->op[OP_LOD] == FGS__SIM_NOREF
                       ? 0 : word(w, i->op[OP_LOD], l));
    }
    return i + 1;
}

bool fgs__sim_sel_texquery(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    out->run = run_query;
    out->op[OP_LOD] = FGS__SIM_NOREF;
    if (src->operands > 2) {
        out->op[OP_LOD] = fgs__sim_ref_of(d, &src->operand[2], FGS__T_U32);
        if (out->op[OP_LOD] == FGS__SIM_NOREF)
            return false;
    }
    out->op[OP_RESULT] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_B32);
    return out->op[OP_RESULT] != FGS__SIM_NOREF &&
        fgs__sim_ref_object(d, &src->operand[1], &out->op[OP_OBJECT]);
}
