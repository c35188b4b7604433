/* atom.c -- atom and red
 *
 * Blocks run on several host threads, so an operation is a host atomic one,
 * sequentially consistent: that covers every order the ISA offers.  The lanes
 * of a warp take their turns, at one place within one host operation, and so
 * do the elements of a vector, which are atomic each by itself (ISA 9.7.15,
 * atom).
 */
#include "sim/access.h"
#include "sim/atom_value.h"
#include "sim/chunk.h"
#include "sim/latency.h"

/* A scalar's operands; of a vector, op[n] is a constant that holds places of
 * the element, `struct element`. */
enum { OP_DST = 0, OP_B = 1, OP_C = 2 };
enum { AUX_OP = 0, AUX_FACTS = 1 };
enum { TYPE_MASK = 0xff, KEEP = 1 << 8, COUNT_SHIFT = 12 };

/* One lane's operation; the old value. */
#define ATOM(bits)                                                             \
    static FGS__DEVICE_MEMORY uint##bits##_t atom_##bits(                      \
        fgs__dev##bits *p, unsigned op, unsigned type, uint##bits##_t b,       \
        uint##bits##_t c, bool keep)                                           \
    {                                                                          \
        bool whole = fgs__ptx_types[type].kind != FGS__K_FLOAT &&              \
                     fgs__ptx_types[type].kind != FGS__K_PACK;                 \
        fgs__dev##bits old;                                                    \
                                                                               \
        switch (op) {                                                          \
        case FGS__M_ATOM_AND:                                                  \
            return __atomic_fetch_and(p, b, __ATOMIC_SEQ_CST);                 \
        case FGS__M_ATOM_OR:                                                   \
            return __atomic_fetch_or(p, b, __ATOMIC_SEQ_CST);                  \
        case FGS__M_ATOM_XOR:                                                  \
            return __atomic_fetch_xor(p, b, __ATOMIC_SEQ_CST);                 \
        case FGS__M_ATOM_EXCH:                                                 \
            return __atomic_exchange_n(p, b, __ATOMIC_SEQ_CST);                \
        case FGS__M_ATOM_CAS:                                                  \
            old = b;                                                           \
            __atomic_compare_exchange_n(p, &old, c, 0, __ATOMIC_SEQ_CST,       \
                                        __ATOMIC_SEQ_CST);                     \
            return old;                                                        \
        case FGS__M_ATOM_ADD:                                                  \
            if (whole)                                                         \
                return __atomic_fetch_add(p, b, __ATOMIC_SEQ_CST);             \
            break;                                                             \
        default:                                                               \
            break;                                                             \
        }                                                                      \
        old = __atomic_load_n(p, __ATOMIC_RELAXED);                            \
        while (!__atomic_compare_exchange_n(                                   \
            p, &old, atom_value_##bits(op, type, old, b, keep), 0,             \
            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))                               \
            ;                                                                  \
        return old;                                                            \
    }
ATOM(16)
ATOM(32)
ATOM(64)

/* What a lane leaves of the old value. */
#define NEXT(bits)                                                             \
    static uint##bits##_t next_##bits(unsigned op, unsigned type,              \
                                      uint##bits##_t old, uint##bits##_t b,    \
                                      uint##bits##_t c, bool keep)             \
    {                                                                          \
        switch (op) {                                                          \
        case FGS__M_ATOM_AND:                                                  \
            return old & b;                                                    \
        case FGS__M_ATOM_OR:                                                   \
            return old | b;                                                    \
        case FGS__M_ATOM_XOR:                                                  \
            return old ^ b;                                                    \
        case FGS__M_ATOM_EXCH:                                                 \
            return b;                                                          \
        case FGS__M_ATOM_CAS:                                                  \
            return old == b ? c : old;                                         \
        default:                                                               \
            if (op == FGS__M_ATOM_ADD &&                                       \
                fgs__ptx_types[type].kind != FGS__K_FLOAT &&                   \
                fgs__ptx_types[type].kind != FGS__K_PACK)                      \
                return (uint##bits##_t)(old + b);                              \
            return atom_value_##bits(op, type, old, b, keep);                  \
        }                                                                      \
    }
NEXT(16)
NEXT(32)
NEXT(64)

/* All lanes of exec at one place: one host operation for all of them, in which
 * each sees what the one before it left.  The values that they saw go to
 * seen[]; the operands are not overwritten before it is done. */
#define FOLD(bits)                                                             \
    static FGS__DEVICE_MEMORY void fold_##bits(                                \
        fgs__dev##bits *p, const struct fgs__sim_insn *i, uint32_t exec,       \
        const uint##bits##_t *b, const uint##bits##_t *c, bool keep,           \
        uint##bits##_t *seen)                                                  \
    {                                                                          \
        unsigned op = i->aux[AUX_OP], type = i->aux[AUX_FACTS] & TYPE_MASK;    \
        fgs__dev##bits old = __atomic_load_n(p, __ATOMIC_RELAXED);             \
        uint##bits##_t v;                                                      \
                                                                               \
        do {                                                                   \
            v = old;                                                           \
            for (uint32_t m = exec; m; m &= m - 1) {                           \
                int l = fgs__sim_lane(m);                                      \
                                                                               \
                seen[l] = v;                                                   \
                v = next_##bits(op, type, v, b[l], c[l], keep);                \
            }                                                                  \
        } while (!__atomic_compare_exchange_n(                                 \
            p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));               \
    }
FOLD(16)
FOLD(32)
FOLD(64)

/* cas with `c`, exch of `b`. */
static fgs__chunk atom_128(void *p, unsigned op, fgs__chunk b, fgs__chunk c)
{
    fgs__chunk old = b;

    if (op == FGS__M_ATOM_CAS) {
        fgs__chunk_cas(p, &old, c);
        return old;
    }
    old = fgs__chunk_load(p);
    while (!fgs__chunk_cas(p, &old, b))
        ;
    return old;
}

static char *place_of(const struct fgs__sim_access *acc, int l, uint32_t bytes)
{
    return acc->shape == FGS__SIM_SCATTER ? acc->lane[l]
           : acc->shape == FGS__SIM_SAME
               ? acc->lane[0]
               : acc->lane[0] + (size_t)l * bytes;
}

/* The lanes of a generic address may point to several spaces. */
static bool in_shared(const struct fgs__sim_warp *w, const char *p)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)w->block->shared;

    return at < w->block->grid->window_bytes;
}

#define LANES_OF(bits)                                                         \
    static void lanes_##bits(struct fgs__sim_warp *w,                          \
                             const struct fgs__sim_insn *i,                    \
                             struct fgs__sim_access *acc)                      \
    {                                                                          \
        const uint##bits##_t *b = fgs__sim_at(w, i->op[OP_B]);                 \
        const uint##bits##_t *c = fgs__sim_at(w, i->op[OP_C]);                 \
        uint##bits##_t *dst = i->op[OP_DST] == FGS__SIM_NOREF                  \
                                  ? NULL                                       \
                                  : fgs__sim_at(w, i->op[OP_DST]);             \
        uint32_t facts = i->aux[AUX_FACTS];                                    \
        unsigned type = facts & TYPE_MASK;                                     \
        uint##bits##_t seen[32];                                               \
                                                                               \
        if (acc->shape == FGS__SIM_SAME) {                                     \
            char *p = acc->lane[0];                                            \
                                                                               \
            fold_##bits((fgs__dev##bits *)p, i, w->exec, b, c,                 \
                        facts & KEEP || in_shared(w, p), seen);                \
            for (uint32_t m = w->exec; dst && m; m &= m - 1)                   \
                dst[fgs__sim_lane(m)] = seen[fgs__sim_lane(m)];                \
            return;                                                            \
        }                                                                      \
        for (uint32_t m = w->exec; m; m &= m - 1) {                            \
            int l = fgs__sim_lane(m);                                          \
            char *p = place_of(acc, l, bits / 8);                              \
            uint##bits##_t old = atom_##bits(                                  \
                (fgs__dev##bits *)p, i->aux[AUX_OP], type, b[l], c[l],         \
                facts & KEEP || in_shared(w, p));                              \
                                                                               \
            if (dst)                                                           \
                dst[l] = old;                                                  \
        }                                                                      \
    }
LANES_OF(16)
LANES_OF(32)
LANES_OF(64)

static void lanes_128(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      struct fgs__sim_access *acc)
{
    const fgs__chunk *b = fgs__sim_at(w, i->op[OP_B]);
    const fgs__chunk *c = fgs__sim_at(w, i->op[OP_C]);
    fgs__chunk *dst = fgs__sim_at(w, i->op[OP_DST]);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);

        dst[l] = atom_128(place_of(acc, l, 16), i->aux[AUX_OP], b[l], c[l]);
    }
}

static const struct fgs__sim_insn *run_atom(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    struct fgs__sim_access acc;

    if (!fgs__sim_access_find(w, i, true, &acc))
        return NULL;
    switch (i->aux[FGS__SIM_AUX_BYTES]) {
    case 2:
        lanes_16(w, i, &acc);
        break;
    case 4:
        lanes_32(w, i, &acc);
        break;
    case 8:
        lanes_64(w, i, &acc);
        break;
    default:
        lanes_128(w, i, &acc);
    }
    /* Nobody waits for the result of red. */
    if (i->op[OP_DST] != FGS__SIM_NOREF)
        fgs__sim_warp_delay(w, acc.latency_ps);
    return i + 1;
}

/* ---------------------------------------------------------------- vectors - */

/* Places of an element's registers; dst NOREF = it is thrown away. */
union element {
    uint64_t bits;
    fgs__sim_ref ref[2]; /* dst, b */
};

static void element_run(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                        char *p, int l, const union element *e)
{
    unsigned type = i->aux[AUX_FACTS] & TYPE_MASK, op = i->aux[AUX_OP];
    bool keep = i->aux[AUX_FACTS] & KEEP;
    uint32_t old;

    if (fgs__ptx_types[type].bits == 16) {
        const uint16_t *b = fgs__sim_at(w, e->ref[1]);
        old = atom_16((fgs__dev16 *)p, op, type, b[l], 0, keep);
        if (e->ref[0] != FGS__SIM_NOREF)
            ((uint16_t *)fgs__sim_at(w, e->ref[0]))[l] = (uint16_t)old;
    } else {
        const uint32_t *b = fgs__sim_at(w, e->ref[1]);
        old = atom_32((fgs__dev32 *)p, op, type, b[l], 0, keep);
        if (e->ref[0] != FGS__SIM_NOREF)
            ((uint32_t *)fgs__sim_at(w, e->ref[0]))[l] = old;
    }
}

static const struct fgs__sim_insn *run_vector(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    unsigned count = i->aux[AUX_FACTS] >> COUNT_SHIFT;
    uint32_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    struct fgs__sim_access acc;

    if (!fgs__sim_access_find(w, i, true, &acc))
        return NULL;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        char *p = place_of(&acc, l, bytes);

        if (in_shared(w, p))
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                       l, "a vector is operated on in global "
                                          "memory only, not in shared memory");
        for (unsigned n = 0; n < count; n++) {
            union element e;

            e.bits = *(const uint64_t *)fgs__sim_at(w, i->op[n]);
            element_run(w, i, p + n * (bytes / count), l, &e);
        }
    }
    fgs__sim_warp_delay(w, acc.latency_ps);
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

static const uint8_t groups[] = {FGS__G_SPACE, FGS__G_SEM,   FGS__G_SCOPE,
                                 FGS__G_ATOM,  FGS__G_NOFTZ, FGS__G_VEC,
                                 FGS__G_CACHE_HINT};

static bool select_vector(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_operand *dst,
                          const struct fgs__ptx_operand *b,
                          struct fgs__sim_insn *out)
{
    enum fgs__ptx_type type = out->aux[AUX_FACTS] & TYPE_MASK;
    unsigned count = out->aux[AUX_FACTS] >> COUNT_SHIFT;

    for (unsigned n = 0; n < count; n++) {
        const struct fgs__ptx_operand *to =
            dst && dst->kind == FGS__O_VEC ? &dst->child[n] : NULL;
        union element e = {.ref = {FGS__SIM_NOREF, FGS__SIM_NOREF}};

        if (to && to->kind != FGS__O_SINK) {
            e.ref[0] = fgs__sim_ref_dst(d, to, type);
            if (e.ref[0] == FGS__SIM_NOREF)
                return false;
        }
        e.ref[1] = fgs__sim_ref_of(d, &b->child[n], type);
        if (e.ref[1] == FGS__SIM_NOREF)
            return false;
        out->op[n] = fgs__sim_ref_const(d, e.bits, 64);
        if (out->op[n] == FGS__SIM_NOREF)
            return false;
    }
    out->run = run_vector;
    return true;
}

static bool select_scalar(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_operand *dst,
                          const struct fgs__ptx_operand *b, bool cas,
                          struct fgs__sim_insn *out)
{
    enum fgs__ptx_type type = out->aux[AUX_FACTS] & TYPE_MASK;

    out->op[OP_DST] = dst ? fgs__sim_ref_dst(d, dst, type) : FGS__SIM_NOREF;
    if (dst && out->op[OP_DST] == FGS__SIM_NOREF)
        return false;
    out->op[OP_B] = fgs__sim_ref_of(d, b, type);
    out->op[OP_C] = cas ? fgs__sim_ref_of(d, b + 1, type) : out->op[OP_B];
    out->run = run_atom;
    return out->op[OP_B] != FGS__SIM_NOREF && out->op[OP_C] != FGS__SIM_NOREF;
}

bool fgs__sim_sel_atom(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *dst =
        src->op == FGS__OP_RED ? NULL : &src->operand[0];
    const struct fgs__ptx_operand *o = src->operand + !!dst;
    unsigned op = src->mod[FGS__G_ATOM], type = src->type[0], count = 1;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->mod[FGS__G_VEC] && o[1].kind != FGS__O_VEC) {
        fgs__sim_decode_error(d, src, "a vector in { } is needed");
        return false;
    }
    if (src->mod[FGS__G_VEC])
        count = o[1].children;
    out->aux[AUX_OP] = op;
    out->aux[AUX_FACTS] = type | count << COUNT_SHIFT |
                          (src->mod[FGS__G_NOFTZ] ? (uint32_t)KEEP : 0);
    if (count > 1 ? !select_vector(d, dst, &o[1], out)
                  : !select_scalar(d, dst, &o[1], op == FGS__M_ATOM_CAS, out))
        return false;
    if (!fgs__sim_access_decode(d, src, &o[0],
                                fgs__ptx_types[type].bits / 8 * count, out))
        return false;
    /* A generic address must be one of .global or .shared (ISA, atom). */
    out->aux[FGS__SIM_AUX_SPACE] |= FGS__SIM_NOT_LOCAL;
    return true;
}
