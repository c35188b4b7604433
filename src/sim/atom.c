/* atom.c -- atom and red
 *
 * Blocks run on several host threads, so an operation is a host atomic one,
 * sequentially consistent: that covers every order the ISA offers.  The lanes
 * of a warp take their turns.
 */
#include "sim/access.h"
#include "sim/chunk.h"
#include "sim/latency.h"

enum { OP_DST = 0, OP_B = 1, OP_C = 2, AUX_OP = 0, AUX_TYPE = 1 };

/* Subnormals: atom.add.f32 on global memory flushes them, on shared memory it
 * does not (ISA 9.7.15, atom). */
static float flush(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7f800000u) == 0)
        bits &= 0x80000000u;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t add_f32(uint32_t a, uint32_t b, bool keep_subnormal)
{
    float x, y;
    uint32_t bits;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = keep_subnormal ? x + y : flush(flush(x) + flush(y));
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fffffffu : bits;
}

static uint64_t add_f64(uint64_t a, uint64_t b)
{
    double x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return x != x ? 0x7fffffffffffffffull : a;
}

static uint32_t apply_32(unsigned op, unsigned type, uint32_t old, uint32_t b,
                         bool shared)
{
    bool less = type == FGS__T_S32 ? (int32_t)b < (int32_t)old : b < old;

    switch (op) {
    case FGS__M_ATOM_ADD: /* f32 only: integers have a host instruction */
        return add_f32(old, b, shared);
    case FGS__M_ATOM_MIN:
        return less ? b : old;
    case FGS__M_ATOM_MAX:
        return less ? old : b;
    case FGS__M_ATOM_INC:
        return old >= b ? 0 : old + 1;
    default: /* dec */
        return old == 0 || old > b ? b : old - 1;
    }
}

static uint64_t apply_64(unsigned op, unsigned type, uint64_t old, uint64_t b,
                         bool shared)
{
    bool less = type == FGS__T_S64 ? (int64_t)b < (int64_t)old : b < old;

    (void)shared;
    switch (op) {
    case FGS__M_ATOM_ADD:
        return add_f64(old, b);
    case FGS__M_ATOM_MIN:
        return less ? b : old;
    default: /* max */
        return less ? old : b;
    }
}

/* One lane's operation; the old value. */
#define ATOM(bits)                                                             \
    static FGS__DEVICE_MEMORY uint##bits##_t atom_##bits(                      \
        fgs__dev##bits *p, unsigned op, unsigned type, uint##bits##_t b,       \
        uint##bits##_t c, bool shared)                                         \
    {                                                                          \
        bool real = fgs__ptx_types[type].kind == FGS__K_FLOAT;                 \
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
            if (!real)                                                         \
                return __atomic_fetch_add(p, b, __ATOMIC_SEQ_CST);             \
            break;                                                             \
        default:                                                               \
            break;                                                             \
        }                                                                      \
        old = __atomic_load_n(p, __ATOMIC_RELAXED);                            \
        while (!__atomic_compare_exchange_n(                                   \
            p, &old, apply_##bits(op, type, old, b, shared), 0,                \
            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))                               \
            ;                                                                  \
        return old;                                                            \
    }
ATOM(32)
ATOM(64)

#define LANES(bits)                                                            \
    static void lanes_##bits(struct fgs__sim_warp *w,                          \
                             const struct fgs__sim_insn *i,                    \
                             struct fgs__sim_access *acc)                      \
    {                                                                          \
        const uint##bits##_t *b = fgs__sim_at(w, i->op[OP_B]);                 \
        const uint##bits##_t *c = fgs__sim_at(w, i->op[OP_C]);                 \
        uint##bits##_t *dst = i->op[OP_DST] == FGS__SIM_NOREF                  \
                                  ? NULL                                       \
                                  : fgs__sim_at(w, i->op[OP_DST]);             \
                                                                               \
        for (uint32_t m = w->exec; m; m &= m - 1) {                            \
            int l = fgs__sim_lane(m);                                          \
            char *p = acc->shape == FGS__SIM_SCATTER ? acc->lane[l]            \
                      : acc->shape == FGS__SIM_SAME                            \
                          ? acc->lane[0]                                       \
                          : acc->lane[0] + (size_t)l * (bits / 8);             \
            uint##bits##_t old =                                               \
                atom_##bits((fgs__dev##bits *)p, i->aux[AUX_OP],               \
                            i->aux[AUX_TYPE], b[l], c[l], acc->shared);        \
                                                                               \
            if (dst)                                                           \
                dst[l] = old;                                                  \
        }                                                                      \
    }
LANES(32)
LANES(64)

static const struct fgs__sim_insn *run_atom(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    struct fgs__sim_access acc;

    if (!fgs__sim_access_find(w, i, true, &acc))
        return NULL;
    if (i->aux[FGS__SIM_AUX_BYTES] == 4)
        lanes_32(w, i, &acc);
    else
        lanes_64(w, i, &acc);
    /* Nobody waits for the result of red. */
    if (i->op[OP_DST] != FGS__SIM_NOREF)
        fgs__sim_warp_delay(w, acc.latency_ps);
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

/* Which types an operation takes, as bits. */
enum { B = 1, U = 2, S = 4, F = 8, ONLY_32 = 16 };

static unsigned types_of(unsigned op)
{
    switch (op) {
    case FGS__M_ATOM_ADD:
        return U | S | F;
    case FGS__M_ATOM_MIN:
    case FGS__M_ATOM_MAX:
        return U | S;
    case FGS__M_ATOM_INC:
    case FGS__M_ATOM_DEC:
        return U | ONLY_32;
    default:
        return B | U | S;
    }
}

static bool takes_type(unsigned op, unsigned type)
{
    unsigned types = types_of(op), bits = fgs__ptx_types[type].bits;

    if (bits != 32 && (bits != 64 || (types & ONLY_32)))
        return false;
    switch (fgs__ptx_types[type].kind) {
    case FGS__K_BITS:
        return types & B;
    case FGS__K_UINT:
        return types & U;
    case FGS__K_SINT:
        return types & S;
    case FGS__K_FLOAT:
        return types & F;
    default:
        return false;
    }
}

static const uint8_t groups[] = {FGS__G_SPACE, FGS__G_SEM, FGS__G_SCOPE,
                                 FGS__G_ATOM, FGS__G_CACHE_HINT};

bool fgs__sim_sel_atom(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    bool red = src->op == FGS__OP_RED;
    const struct fgs__ptx_operand *o = src->operand + !red;
    unsigned op = src->mod[FGS__G_ATOM], type = src->type[0];
    bool cas = op == FGS__M_ATOM_CAS;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (!takes_type(op, type) || src->types != 1 ||
        (red && (cas || op == FGS__M_ATOM_EXCH)) ||
        src->operands - !!src->mod[FGS__G_CACHE_HINT] != 2 + !red + cas) {
        fgs__sim_decode_error(d, src,
                              "this operation, type and shape is not "
                              "executed");
        return false;
    }
    out->op[OP_DST] =
        red ? FGS__SIM_NOREF : fgs__sim_ref_dst(d, &src->operand[0], type);
    if (!red && out->op[OP_DST] == FGS__SIM_NOREF &&
        src->operand[0].kind != FGS__O_SINK)
        return false;
    out->op[OP_B] = fgs__sim_ref_of(d, &o[1], type);
    out->op[OP_C] = cas ? fgs__sim_ref_of(d, &o[2], type) : out->op[OP_B];
    if (out->op[OP_B] == FGS__SIM_NOREF || out->op[OP_C] == FGS__SIM_NOREF)
        return false;
    out->aux[AUX_OP] = op;
    out->aux[AUX_TYPE] = type;
    out->run = run_atom;
    return fgs__sim_access_decode(d, src, &o[0], fgs__ptx_types[type].bits / 8,
                                  out);
}
