/* exec_half.c -- arithmetic of f16, bf16 and pairs of them */
#include "sim/half.h"

enum { AUX_FTZ, AUX_CLAMP, AUX_NAN, AUX_X2 };
enum { CLAMP_NONE, CLAMP_SAT, CLAMP_RELU };
enum { MINMAX_NAN = 1, MINMAX_XOR = 2 };

#define IN_F16(h)  float_of_f16(i->aux[AUX_FTZ] ? flush_f16(h) : (h))
#define IN_BF16(h) float_of_bf16(h)

/* .sat: to [+0, 1], NaN to +0.  .relu: what is below zero becomes +0. */
static FGS__INLINE uint16_t clamped(const struct fgs__sim_insn *i, uint16_t h,
                                    uint16_t one)
{
    uint16_t sat = h & 0x8000 ? 0 : h > one ? one : h;
    uint16_t relu = h & 0x8000 ? 0 : h;

    sat = h == NAN_HALF ? 0 : sat;
    return i->aux[AUX_CLAMP] == CLAMP_SAT ? sat
        : i->aux[AUX_CLAMP] == CLAMP_RELU ? relu
                                          : h;
}

static FGS__INLINE uint16_t out_f16(const struct fgs__sim_insn *i, double r)
{
    uint16_t h = f16_of_float(odd_float(r));

    return clamped(i, i->aux[AUX_FTZ] ? flush_f16(h) : h, 0x3c00);
}

static FGS__INLINE uint16_t out_bf16(const struct fgs__sim_insn *i, double r)
{
    return clamped(i, bf16_of_float(odd_float(r)), 0x3f80);
}

/* d = EXPR of x, y, z as doubles; operands that are not there are read from
 * the first source. */
#define HALF(name, IN, OUT, EXPR)                                              \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_u16 t[2 * LANES];                                     \
        const l_u16 *a = LANE_PTR(w, i->op[1]);                                \
        const l_u16 *b = LANE_PTR(w, i->op[2]);                                \
        const l_u16 *c = LANE_PTR(w, i->op[3]);                                \
        int k, n = HALVES(i->aux[AUX_X2]);                                     \
        FGS__EACH                                                              \
        for (k = 0; k < n; k++) {                                              \
            const double x = (double)IN(a[k]);                                 \
            const double y = (double)IN(b[k]);                                 \
            const double z = (double)IN(c[k]);                                 \
            (void)y;                                                           \
            (void)z;                                                           \
            t[k] = OUT(i, EXPR);                                               \
        }                                                                      \
        blend_halves(w, i->op[0], t, i->aux[AUX_X2]);                          \
        return i + 1;                                                          \
    }
#define ARITH(t, IN, OUT)                                                      \
    HALF(add_##t, IN, OUT, odd_sum(x, y))                                      \
    HALF(sub_##t, IN, OUT, odd_sum(x, -y))                                     \
    HALF(mul_##t, IN, OUT, x * y)                                              \
    HALF(fma_##t, IN, OUT, odd_sum(x * y, z))                                  \
    HALF(abs_##t, IN, OUT, __builtin_fabs(x))                                  \
    HALF(neg_##t, IN, OUT, -x)
ARITH(f16, IN_F16, out_f16)
ARITH(bf16, IN_BF16, out_bf16)

/* -------------------------------------------------------------- min, max -- */

/* Bits as a number of the same order: -0 lies below +0. */
static FGS__INLINE int32_t order(uint32_t h)
{
    return h & 0x8000 ? -1 - (int32_t)(h & 0x7fff) : (int32_t)h;
}

static FGS__INLINE uint16_t smaller(uint16_t x, uint16_t y)
{
    return order(x) < order(y) ? x : y;
}

static FGS__INLINE uint16_t larger(uint16_t x, uint16_t y)
{
    return order(x) > order(y) ? x : y;
}

/* A NaN is left out unless both are or .NaN is there; INF is the format's. */
#define PICK(name, INF, BEST)                                                  \
    static FGS__INLINE uint16_t name##_one(const struct fgs__sim_insn *i,      \
                                           uint16_t x, uint16_t y)             \
    {                                                                          \
        uint32_t flags = i->aux[AUX_NAN];                                      \
        uint16_t sign = (uint16_t)(flags & MINMAX_XOR ? (x ^ y) & 0x8000 : 0); \
        uint16_t keep = flags & MINMAX_XOR ? 0x7fff : 0xffff;                  \
        uint16_t a = x & keep, b = y & keep, r = BEST(a, b);                   \
        int an = (a & 0x7fff) > INF, bn = (b & 0x7fff) > INF;                  \
        int nan = flags & MINMAX_NAN ? an | bn : an & bn;                      \
        r = an ? b : bn ? a : r;                                               \
        return nan ? NAN_HALF : (uint16_t)(r | sign);                          \
    }                                                                          \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_u16 t[2 * LANES];                                     \
        const l_u16 *a = LANE_PTR(w, i->op[1]);                                \
        const l_u16 *b = LANE_PTR(w, i->op[2]);                                \
        int k, n = HALVES(i->aux[AUX_X2]), ftz = i->aux[AUX_FTZ] != 0;         \
        FGS__EACH                                                              \
        for (k = 0; k < n; k++)                                                \
            t[k] = name##_one(i, ftz ? flush_f16(a[k]) : a[k],                 \
                              ftz ? flush_f16(b[k]) : b[k]);                   \
        blend_halves(w, i->op[0], t, i->aux[AUX_X2]);                          \
        return i + 1;                                                          \
    }
PICK(min_f16, 0x7c00, smaller)
PICK(max_f16, 0x7c00, larger)
PICK(min_bf16, 0x7f80, smaller)
PICK(max_bf16, 0x7f80, larger)

/* ------------------------------------------------------------- selector -- */

enum { F16, BF16 };

static const struct lane_row rows[] = {
#define ROWS(t, T)                                                             \
    { FGS__OP_ADD, T, 0, add_##t },                                            \
    { FGS__OP_SUB, T, 0, sub_##t },                                            \
    { FGS__OP_MUL, T, 0, mul_##t },                                            \
    { FGS__OP_FMA, T, 0, fma_##t },                                            \
    { FGS__OP_ABS, T, 0, abs_##t },                                            \
    { FGS__OP_NEG, T, 0, neg_##t },                                            \
    { FGS__OP_MIN, T, 0, min_##t },                                            \
    { FGS__OP_MAX, T, 0, max_##t },
    ROWS(f16, F16)
    ROWS(bf16, BF16)
};

bool FGS__LEVEL(fgs__sim_sel_half)(struct fgs__sim_decoder *d,
                                   const struct fgs__ptx_insn *src,
                                   struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_ROUND, FGS__G_FTZ, FGS__G_SAT,
                                      FGS__G_RELU, FGS__G_NAN, FGS__G_XORSIGN,
                                      FGS__G_ABS };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    bool bf = t == FGS__T_BF16 || t == FGS__T_BF16X2;
    unsigned count = src->op == FGS__OP_FMA ? 4
        : src->op == FGS__OP_ABS || src->op == FGS__OP_NEG ? 2
                                                           : 3;
    unsigned k;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    out->run = find_row(rows, sizeof rows / sizeof *rows, src->op,
                        bf ? BF16 : F16, 0);
    if (!out->run || !take_operands(d, src, out, count, t))
        return false;
    for (k = count; k < 4; k++)
        out->op[k] = out->op[1];
    out->aux[AUX_FTZ] = src->mod[FGS__G_FTZ] != FGS__M_NONE;
    out->aux[AUX_CLAMP] = src->mod[FGS__G_SAT] ? CLAMP_SAT
        : src->mod[FGS__G_RELU]                ? CLAMP_RELU
                                               : CLAMP_NONE;
    out->aux[AUX_NAN] = (src->mod[FGS__G_NAN] ? MINMAX_NAN : 0) |
        (src->mod[FGS__G_XORSIGN] ? MINMAX_XOR : 0);
    out->aux[AUX_X2] = t == FGS__T_F16X2 || t == FGS__T_BF16X2;
    return true;
}
