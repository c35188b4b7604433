/* surf_insn.c -- suld, sust, sured
 *
 * ISA 9.7.12: .b takes x in bytes and bits as they are, .p takes x in elements
 * and values of the surface's format.  An access lies inside a row or it is
 * outside: .trap ends the kernel, .clamp moves it to the nearest place, .zero
 * reads zeros and drops what is written.
 */
#include "sim/access.h"
#include "sim/atom_value.h"
#include "sim/chunk.h"
#include "sim/latency.h"
#include "sim/texture.h"

/* op[]: data, object, coordinates. */
enum { OP_DATA = 0, OP_OBJECT = 4, OP_COORD = 5 };
enum { AUX_GEOMETRY = 0, AUX_FACTS = 1, AUX_WIDTHS = 2 };
enum {
    COUNT = 7,
    SIZE_SHIFT = 4,        /* log2 of a component's bytes                    */
    FORMATTED = 1 << 8     /* .p                                             */
};

/* One coordinate in [0, size), or where .clamp puts it; false = outside. */
static bool limit(int64_t *at, int64_t size, bool clamp)
{
    if (*at >= 0 && *at < size)
        return true;
    if (!clamp)
        return false;
    *at = *at < 0 ? 0 : size - 1;
    return true;
}

/* Address of a lane's access of `bytes`, and x; false = outside. */
static bool locate(const struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                   int lane, const struct fgs__sim_texture *t, uint32_t bytes,
                   uint64_t *out, int64_t *x)
{
    const struct fgs__sim_level *l = &t->level[0];
    bool clamp = i->src->mod[FGS__G_SURF] == FGS__M_SURF_CLAMP;
    bool formatted = i->aux[AUX_FACTS] & FORMATTED;
    const fgs__sim_ref *op = &i->op[OP_COORD];
    int64_t at[3] = { 0, 0, 0 };
    int64_t step = formatted ? t->element : bytes;
    int64_t row = (int64_t)l->size[0] * t->element;

    if (t->layered) {
        at[2] = ((const uint32_t *)fgs__sim_at(w, *op++))[lane];
        if (!limit(&at[2], t->layers, clamp))
            return false;
    }
    for (unsigned d = 0; d < t->dims; d++)
        at[d] = ((const int32_t *)fgs__sim_at(w, op[d]))[lane];
    if (formatted)
        at[0] *= step;
    if (at[0] < 0 || at[0] + step > row) {
        if (!clamp || row < step)
            return false;
        at[0] = at[0] < 0 ? 0 : (row - step) / step * step;
    }
    for (unsigned d = 1; d < t->dims; d++)
        if (!limit(&at[d], l->size[d], clamp))
            return false;
    *x = at[0];
    *out = l->va + (uint64_t)at[2] * l->slice + (uint64_t)at[1] * l->pitch +
        (uint64_t)at[0];
    return true;
}

/* Bytes of all components of a lane in memory. */
static uint32_t access_bytes(const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS];

    return (facts & COUNT) << (facts >> SIZE_SHIFT & 7);
}

/* The surface of a lane; NULL after a fault. */
static struct fgs__sim_texture *surface_of(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i,
                                           int lane)
{
    uint64_t handle = ((const uint64_t *)fgs__sim_at(w,
                                                     i->op[OP_OBJECT]))[lane];
    struct fgs__sim_texture *t = fgs__sim_object(w, i, lane, handle, true);

    if (!t)
        return NULL;
    if (t->dims == (i->aux[AUX_GEOMETRY] & FGS__SIM_DIMS) &&
        t->layered == !!(i->aux[AUX_GEOMETRY] & FGS__SIM_LAYERED))
        return t;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                        "the surface has another shape than the instruction");
    return NULL;
}

/* Host bytes of a lane's access.  False after a fault; NULL = outside, nothing
 * is done. */
static bool find(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                 int lane, struct fgs__sim_texture **t, char **out)
{
    bool formatted = i->aux[AUX_FACTS] & FORMATTED;
    uint32_t bytes = access_bytes(i);
    uint64_t addr;
    int64_t x;

    *out = NULL;
    *t = surface_of(w, i, lane);
    if (!*t)
        return false;
    if (!locate(w, i, lane, *t, bytes, &addr, &x)) {
        if (i->src->mod[FGS__G_SURF] == FGS__M_SURF_ZERO)
            return true;
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "the access lies outside the surface");
        return false;
    }
    if (!formatted && x & (bytes - 1)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "the surface's coordinate is no multiple of %u "
                            "bytes", bytes);
        return false;
    }
    *out = fgs__sim_global(w, addr, formatted ? (*t)->element : bytes);
    if (*out)
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                        "the surface's memory is gone");
    return false;
}

/* A component of a lane's register, which may be wider than it. */
static void put(void *reg, unsigned log2_reg, int lane, uint64_t v)
{
    switch (log2_reg) {
    case 0:
        ((uint8_t *)reg)[lane] = (uint8_t)v;
        break;
    case 1:
        ((uint16_t *)reg)[lane] = (uint16_t)v;
        break;
    case 2:
        ((uint32_t *)reg)[lane] = (uint32_t)v;
        break;
    default:
        ((uint64_t *)reg)[lane] = v;
    }
}

static uint64_t get(const void *reg, unsigned log2_reg, int lane)
{
    switch (log2_reg) {
    case 0:
        return ((const uint8_t *)reg)[lane];
    case 1:
        return ((const uint16_t *)reg)[lane];
    case 2:
        return ((const uint32_t *)reg)[lane];
    default:
        return ((const uint64_t *)reg)[lane];
    }
}

/* Rows may begin anywhere, so a component need not be aligned. */
static FGS__DEVICE_MEMORY uint64_t load(const char *from, unsigned log2)
{
    fgs__dev16 h = 0;
    fgs__dev32 v = 0;
    fgs__dev64 d = 0;

    switch (log2) {
    case 0:
        return (unsigned char)*from;
    case 1:
        memcpy(&h, from, sizeof h);
        return h;
    case 2:
        memcpy(&v, from, sizeof v);
        return v;
    default:
        memcpy(&d, from, sizeof d);
        return d;
    }
}

static FGS__DEVICE_MEMORY void store(char *to, unsigned log2, uint64_t v)
{
    fgs__dev8 b = (fgs__dev8)v;
    fgs__dev16 h = (fgs__dev16)v;
    fgs__dev32 u = (fgs__dev32)v;

    switch (log2) {
    case 0:
        memcpy(to, &b, sizeof b);
        break;
    case 1:
        memcpy(to, &h, sizeof h);
        break;
    case 2:
        memcpy(to, &u, sizeof u);
        break;
    default:
        memcpy(to, &v, sizeof v);
    }
}

static const struct fgs__sim_insn *run_load(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], widths = i->aux[AUX_WIDTHS];
    unsigned log2 = facts >> SIZE_SHIFT & 7;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        struct fgs__sim_texture *t;
        uint64_t v[4] = { 0 };
        char *from;

        if (!find(w, i, l, &t, &from))
            return NULL;
        for (unsigned k = 0; k < (facts & COUNT) && from; k++)
            v[k] = load(from + ((size_t)k << log2), log2);
        for (unsigned k = 0; k < (facts & COUNT); k++)
            if (i->op[OP_DATA + k] != FGS__SIM_NOREF)
                put(fgs__sim_at(w, i->op[OP_DATA + k]), widths >> 4 * k & 7, l,
                    v[k]);
    }
    fgs__sim_warp_delay(w, FGS__SIM_GLOBAL_PS);
    return i + 1;
}

static const struct fgs__sim_insn *run_store(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], widths = i->aux[AUX_WIDTHS];
    unsigned log2 = facts >> SIZE_SHIFT & 7, count = facts & COUNT;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        struct fgs__sim_texture *t;
        uint64_t v[4] = { 0 };
        uint32_t word[4];
        char *to;

        if (!find(w, i, l, &t, &to))
            return NULL;
        for (unsigned k = 0; k < count; k++) {
            v[k] = get(fgs__sim_at(w, i->op[OP_DATA + k]), widths >> 4 * k & 7,
                       l);
            word[k] = (uint32_t)v[k];
        }
        if (to && facts & FORMATTED)
            fgs__sim_texel_write(t, to, word, count);
        for (unsigned k = 0; k < count && to && !(facts & FORMATTED); k++)
            store(to + ((size_t)k << log2), log2, v[k]);
    }
    return i + 1;
}

/* sured.p knows how to compare by the surface's format. */
static unsigned reduce_type(const struct fgs__sim_insn *i,
                            const struct fgs__sim_texture *t)
{
    unsigned type = i->src->type[0];

    if (i->src->op == FGS__OP_SURED)
        return type;
    if (type == FGS__T_B64)
        return t->format == CU_AD_FORMAT_SIGNED_INT32 ? FGS__T_S64
                                                      : FGS__T_U64;
    return t->format == CU_AD_FORMAT_SIGNED_INT32 ? FGS__T_S32 : FGS__T_U32;
}

#define REDUCE(bits)                                                           \
    static FGS__DEVICE_MEMORY void reduce_##bits(                              \
        void *at, unsigned op, unsigned type, uint##bits##_t v)                \
    {                                                                          \
        fgs__dev##bits *p = at, old;                                           \
                                                                               \
        if (op == FGS__M_ATOM_ADD) {                                           \
            __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                        \
        } else if (op == FGS__M_ATOM_AND) {                                    \
            __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                        \
        } else if (op == FGS__M_ATOM_OR) {                                     \
            __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                         \
        } else {                                                               \
            old = __atomic_load_n(p, __ATOMIC_RELAXED);                        \
            while (!__atomic_compare_exchange_n(                               \
                p, &old, atom_value_##bits(op, type, old, v, false), 0,        \
                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))                           \
                ;                                                              \
        }                                                                      \
    }
REDUCE(32)
REDUCE(64)

static const struct fgs__sim_insn *run_reduce(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], widths = i->aux[AUX_WIDTHS];
    unsigned log2 = facts >> SIZE_SHIFT & 7;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        struct fgs__sim_texture *t;
        uint64_t v;
        char *at;

        if (!find(w, i, l, &t, &at))
            return NULL;
        if (at && facts & FORMATTED && t->element != 1u << log2)
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, l,
                                       "the surface's elements have %u bytes",
                                       t->element);
        v = get(fgs__sim_at(w, i->op[OP_DATA]), widths & 7, l);
        if (at && log2 == 2)
            reduce_32(at, i->src->mod[FGS__G_ATOM], reduce_type(i, t),
                      (uint32_t)v);
        else if (at)
            reduce_64(at, i->src->mod[FGS__G_ATOM], reduce_type(i, t), v);
    }
    return i + 1;
}

/* ------------------------------------------------------------- selector -- */

static bool take_data(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_insn *src,
                      const struct fgs__ptx_operand *o, unsigned log2,
                      struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *at = o->kind == FGS__O_VEC ? o->child : o;
    unsigned n = o->kind == FGS__O_VEC ? o->children : 1;

    for (unsigned k = 0; k < n; k++) {
        unsigned bits = fgs__ptx_types[src->type[0]].bits, log2_reg = log2;

        if (at[k].kind == FGS__O_SINK) {
            out->op[OP_DATA + k] = FGS__SIM_NOREF;
            continue;
        }
        if (at[k].kind == FGS__O_REG) {
            out->op[OP_DATA + k] = fgs__sim_ref_reg(d, &at[k], &bits);
            log2_reg = (unsigned)__builtin_ctz(bits | 64) - 3;
        } else {
            out->op[OP_DATA + k] =
                fgs__sim_ref_of(d, &at[k], (enum fgs__ptx_type)src->type[0]);
        }
        if (out->op[OP_DATA + k] == FGS__SIM_NOREF)
            return false;
        out->aux[AUX_WIDTHS] |= log2_reg << 4 * k;
    }
    out->aux[AUX_FACTS] = n | log2 << SIZE_SHIFT;
    return true;
}

static const uint8_t groups[] = { FGS__G_GEOM, FGS__G_VEC, FGS__G_CACHE,
                                  FGS__G_SURF, FGS__G_ATOM };

bool fgs__sim_sel_surf(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    bool from = src->op == FGS__OP_SULD;
    const struct fgs__ptx_operand *a = &src->operand[from];
    unsigned bits = fgs__ptx_types[src->type[0]].bits;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    out->run = from ? run_load
        : src->mod[FGS__G_ATOM] ? run_reduce : run_store;
    out->aux[AUX_GEOMETRY] = fgs__sim_geometry(src);
    if (!take_data(d, src, &src->operand[!from],
                   (unsigned)__builtin_ctz(bits) - 3, out))
        return false;
    if (src->op == FGS__OP_SUST_P || src->op == FGS__OP_SURED_P)
        out->aux[AUX_FACTS] |= FORMATTED;
    return fgs__sim_ref_object(d, a, &out->op[OP_OBJECT]) &&
        fgs__sim_ref_coords(d, &a->child[0], out->aux[AUX_GEOMETRY],
                            FGS__T_S32, &out->op[OP_COORD]);
}
