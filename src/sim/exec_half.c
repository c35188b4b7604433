/* exec_half.c -- arithmetic of f16, bf16 and pairs of them */
#include "sim/half.h"

enum { AUX_FTZ, AUX_CLAMP, AUX_NAN, AUX_X2, AUX_ONE = AUX_NAN };
enum { CLAMP_NONE, CLAMP_SAT, CLAMP_RELU };
enum { MINMAX_NAN = 1, MINMAX_XOR = 2 };

/* .sat: to [+0, 1], NaN to +0.  .relu: what is below zero becomes +0. */
static void clamp_all(l_u16 *t, int n, uint32_t how, uint16_t one)
{
    int k;

    if (how == CLAMP_SAT) {
        FGS__EACH
        for (k = 0; k < n; k++) {
            uint16_t h = t[k] > one ? one : t[k];

            t[k] = t[k] >= NAN_HALF ? 0 : h;
        }
    } else if (how == CLAMP_RELU) {
        FGS__EACH
        for (k = 0; k < n; k++)
            t[k] = t[k] & 0x8000 ? 0 : t[k];
    }
}

static void flush_all(l_u16 *t, const l_u16 *a, int n)
{
    int k;

    FGS__EACH
    for (k = 0; k < n; k++)
        t[k] = flush_f16(a[k]);
}

/* .ftz of f16 looks at the result as it is when 11 bits may have any exponent
 * (an H200): what would be the least normal number then stays. */
static void flush_exact(l_f32 *c, int n)
{
    const float least = 0x1p-14f - 0x1p-26f;
    int k;

    FGS__EACH
    for (k = 0; k < n; k++)
        c[k] = __builtin_fabsf(c[k]) < least ? __builtin_copysignf(0, c[k])
                                             : c[k];
}

/* A source as f32; `t` holds it flushed. */
static void read_f16(l_f32 *x, const l_u16 *a, int n, uint32_t ftz)
{
    FGS__ALIGN(64) l_u16 t[2 * LANES];
    int k;

    if (ftz) {
        flush_all(t, a, n);
        a = t;
    }
    FGS__EACH
    for (k = 0; k < n; k++)
        x[k] = float_of_f16(a[k]);
}

static void read_bf16(l_f32 *x, const l_u16 *a, int n, uint32_t ftz)
{
    int k;

    (void)ftz;
    FGS__EACH
    for (k = 0; k < n; k++)
        x[k] = float_of_bf16(a[k]);
}

/* p + z with round-to-odd; the product of two f16 is exact in f32. */
static FGS__INLINE float odd_sum_f32(float p, float z)
{
    float s = p + z, b = s - p;
    float err = (p - (s - b)) + (z - b);
    uint32_t u = float_bits(s);
    uint32_t odd = (u - ((err < 0) != (s < 0))) | 1;

    return bits_float(err < 0 || err > 0 ? odd : u);
}

/* d = EXPR of x, y, z, in R, which holds products exactly; operands that are
 * not there are the first source.  Step by step, so that each is a loop of
 * vectors. */
#define HALF(name, READ, R, WRITE, EXPR)                                       \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_f32 a[2 * LANES], b[2 * LANES], c[2 * LANES];         \
        FGS__ALIGN(64) l_u16 t[2 * LANES];                                     \
        uint32_t ftz = i->aux[AUX_FTZ], x2 = i->aux[AUX_X2];                   \
        int k, n = HALVES(x2);                                                 \
        READ(a, LANE_PTR(w, i->op[1]), n, ftz);                                \
        READ(b, LANE_PTR(w, i->op[2]), n, ftz);                                \
        READ(c, LANE_PTR(w, i->op[3]), n, ftz);                                \
        FGS__EACH                                                              \
        for (k = 0; k < n; k++) {                                              \
            const R x = (R)a[k], y = (R)b[k], z = (R)c[k];                     \
            (void)y;                                                           \
            (void)z;                                                           \
            c[k] = EXPR;                                                       \
        }                                                                      \
        if (ftz)                                                               \
            flush_exact(c, n);                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < n; k++)                                                \
            t[k] = WRITE(c[k]);                                                \
        clamp_all(t, n, i->aux[AUX_CLAMP], i->aux[AUX_ONE] & 0xffff);          \
        blend_halves(w, i->op[0], t, x2);                                      \
        return i + 1;                                                          \
    }
#define F16_OP(name, EXPR)                                                     \
    HALF(name##_f16, read_f16, float, f16_of_float, EXPR)
#define BF16_OP(name, EXPR)                                                    \
    HALF(name##_bf16, read_bf16, double, bf16_of_float, odd_float(EXPR))
/* 24 bits are twice 11 and two: a sum of f16 may be rounded twice. */
F16_OP(add, x + y)
F16_OP(sub, x - y)
F16_OP(mul, x * y)
F16_OP(fma, odd_sum_f32(x * y, z))
F16_OP(abs, __builtin_fabsf(x))
F16_OP(neg, -x)
BF16_OP(add, odd_sum(x, y))
BF16_OP(sub, odd_sum(x, -y))
BF16_OP(mul, x * y)
BF16_OP(fma, odd_sum(x * y, z))
BF16_OP(abs, __builtin_fabs(x))
BF16_OP(neg, -x)

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
    if (src->op == FGS__OP_MIN || src->op == FGS__OP_MAX)
        out->aux[AUX_NAN] = (src->mod[FGS__G_NAN] ? MINMAX_NAN : 0) |
            (src->mod[FGS__G_XORSIGN] ? MINMAX_XOR : 0);
    else
        out->aux[AUX_ONE] = bf ? 0x3f80 : 0x3c00;
    out->aux[AUX_X2] = t == FGS__T_F16X2 || t == FGS__T_BF16X2;
    return true;
}
