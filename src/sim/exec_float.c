/* exec_float.c -- floating-point arithmetic
 *
 * rn without .sat is what programs use and has handlers of its own; other
 * rounding modes are the host's, set around the lanes.
 */
#include "sim/approx.h"

enum { AUX_ROUND, AUX_FTZ, AUX_SAT, AUX_NAN };

static FGS__INLINE float in_f32(const struct fgs__sim_insn *i, float x)
{
    return i->aux[AUX_FTZ] ? flush_f32(x) : x;
}

static FGS__INLINE float out_f32(const struct fgs__sim_insn *i, float r)
{
    r = in_f32(i, fix_f32(r));
    return i->aux[AUX_SAT] ? sat_f32(r) : r;
}

/* A handler in the rounding mode of its instruction: NAME_all to a temporary,
 * done before the mode is put back. */
#define ROUNDED(name, T, CALL)                                                 \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) T t[LANES];                                             \
        fesetround((int)i->aux[AUX_ROUND]);                                    \
        CALL;                                                                  \
        FGS__BARRIER(t);                                                       \
        fesetround(FE_TONEAREST);                                              \
        blend(LANE_DST(w, i->op[0]), t, w->exec, sizeof(T));                   \
        return i + 1;                                                          \
    }

#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define DIV(x, y) ((x) / (y))

/* The second NaN of add, sub, mul goes on, the first of div; the order b, c, a
 * of fma is seen for b before c only. */
/* .ftz looks at the result as it is when 24 bits may have any exponent (seen on
 * an H200): what only the coarser steps of subnormal numbers round up to the
 * least normal one is zero.  Rare, so the lanes are asked at once; `tiny` says
 * whether lane k is so. */
#define SETTLE(d, tiny)                                                        \
    do {                                                                       \
        uint32_t least = 0;                                                    \
        int k;                                                                 \
        for (k = 0; k < LANES; k++)                                            \
            least |= (float_bits(d[k]) & 0x7fffffff) == 0x800000;              \
        if (FGS__LIKELY(!least) || !i->aux[AUX_FTZ])                           \
            break;                                                             \
        for (k = 0; k < LANES; k++)                                            \
            if (__builtin_fabsf(d[k]) == 0x1p-126f && (tiny))                  \
                d[k] = __builtin_copysignf(0, d[k]);                           \
    } while (0)

/* Magnitudes below it are tiny, and it too where the rounding is away from
 * zero; to nearest the number between two steps goes to the even one. */
static FGS__INLINE double tiny_bound(const struct fgs__sim_insn *i)
{
    return i->aux[AUX_ROUND] == FE_TONEAREST ? 0x1p-126 - 0x1p-151
                                             : 0x1p-126 - 0x1p-150;
}

/* Is m, or m and a bit, which is the sign of err, tiny? */
static FGS__INLINE bool is_tiny(double m, double err,
                                const struct fgs__sim_insn *i)
{
    double t = tiny_bound(i);

    return m < t || (m == t && (i->aux[AUX_ROUND] == FE_TONEAREST ? err < 0
                                                                  : err <= 0));
}

static FGS__UNUSED void settle_mul(l_f32 *d, const l_f32 *a, const l_f32 *b,
                                   const struct fgs__sim_insn *i)
{
    SETTLE(d, is_tiny(__builtin_fabs((double)flush_f32(a[k]) *
                                     (double)flush_f32(b[k])), 0, i));
}

static FGS__UNUSED void settle_div(l_f32 *d, const l_f32 *a, const l_f32 *b,
                                   const struct fgs__sim_insn *i)
{
    double t = tiny_bound(i);

    SETTLE(d, is_tiny(t, __builtin_fabs((double)flush_f32(a[k])) -
                      __builtin_fabs((double)flush_f32(b[k])) * t, i));
}

/* The product is exact in f64, the sum is with its error. */
static bool sum_is_tiny(float x, float y, float z,
                        const struct fgs__sim_insn *i)
{
    double p = (double)flush_f32(x) * (double)flush_f32(y);
    double c = (double)flush_f32(z), s = p + c, v = s - p;
    double err = (p - (s - v)) + (c - v);

    return is_tiny(__builtin_fabs(s), s < 0 ? -err : err, i);
}

static FGS__UNUSED void settle_fma(l_f32 *d, const l_f32 *a, const l_f32 *b,
                                   const l_f32 *c,
                                   const struct fgs__sim_insn *i)
{
    SETTLE(d, sum_is_tiny(a[k], b[k], c[k], i));
}

#define ARITH2(name, OP, P, Q)                                                 \
    FIXED2(name##_f32, OP(x, y))                                               \
    FIXED2(name##_ftz_f32, flush_f32(OP(flush_f32(x), flush_f32(y))))          \
    MAP2(name##_sat_f32, l_f32, l_f32, l_f32,                                  \
         out_f32(i, OP(in_f32(i, x), in_f32(i, y))))                           \
    MAP2(name##_f64, l_f64, l_f64, l_f64,                                      \
         fix_f64(P, fix_f64(Q, OP(x, y))))                                     \
    ROUNDED(name##_any_f32, l_f32,                                             \
            name##_sat_f32_all(t, LANE_SRC(w, i, 1),                           \
                               LANE_SRC(w, i, 2), i))                          \
    ROUNDED(name##_any_f64, l_f64,                                             \
            name##_f64_all(t, LANE_SRC(w, i, 1), LANE_SRC(w, i, 2), i))
ARITH2(add, ADD, y, x)
ARITH2(sub, SUB, y, x)
ARITH2(mul, MUL, y, x)
ARITH2(div, DIV, x, y)

FIXED3(fma_f32, __builtin_fmaf(x, y, z))
FIXED3(fma_ftz_f32,
       flush_f32(__builtin_fmaf(flush_f32(x), flush_f32(y), flush_f32(z))))
MAP3(fma_sat_f32, l_f32, l_f32, l_f32, l_f32,
     out_f32(i, __builtin_fmaf(in_f32(i, x), in_f32(i, y), in_f32(i, z))))
MAP3(fma_f64, l_f64, l_f64, l_f64, l_f64,
     fix_f64(y, fix_f64(z, fix_f64(x, __builtin_fma(x, y, z)))))
ROUNDED(fma_any_f32, l_f32,
        fma_sat_f32_all(t, LANE_SRC(w, i, 1), LANE_SRC(w, i, 2),
                        LANE_SRC(w, i, 3), i))
ROUNDED(fma_any_f64, l_f64,
        fma_f64_all(t, LANE_SRC(w, i, 1), LANE_SRC(w, i, 2),
                    LANE_SRC(w, i, 3), i))

/* The same with their results settled, in any rounding mode. */
#define SETTLED(name, CALL, AFTER)                                             \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_f32 t[LANES];                                         \
        const l_f32 *a = LANE_SRC(w, i, 1), *b = LANE_SRC(w, i, 2);            \
        const l_f32 *c =                                                       \
            i->op[3] == FGS__SIM_NOREF ? b : LANE_SRC(w, i, 3);                \
        bool other = i->aux[AUX_ROUND] != FE_TONEAREST;                        \
        (void)c;                                                               \
        if (other)                                                             \
            fesetround((int)i->aux[AUX_ROUND]);                                \
        CALL;                                                                  \
        FGS__BARRIER(t);                                                       \
        if (other)                                                             \
            fesetround(FE_TONEAREST);                                          \
        AFTER;                                                                 \
        blend(LANE_DST(w, i->op[0]), t, w->exec, sizeof(l_f32));               \
        return i + 1;                                                          \
    }
#define SETTLED_ALL(name, args)                                                \
    SETTLED(name##_flush_f32, name##_ftz_f32_all args, settle_##name args)     \
    SETTLED(name##_flush_any_f32, name##_sat_f32_all args, settle_##name args)
SETTLED_ALL(mul, (t, a, b, i))
SETTLED_ALL(div, (t, a, b, i))
SETTLED_ALL(fma, (t, a, b, c, i))

/* AUX_NAN stands for .full. */
MAP2(div_approx_f32, l_f32, l_f32, l_f32,
     out_f32(i, div_approx(in_f32(i, x), in_f32(i, y), i->aux[AUX_FTZ] != 0,
                           i->aux[AUX_NAN] != 0)))

/* f32 with sources of 16 bits, in any rounding mode. */
#define MIXED(name, FROM)                                                      \
    MAP2(add_##name, l_f32, l_u16, l_f32, out_f32(i, FROM(x) + y))             \
    MAP2(sub_##name, l_f32, l_u16, l_f32, out_f32(i, FROM(x) - y))             \
    MAP3(fma_##name, l_f32, l_u16, l_u16, l_f32,                               \
         out_f32(i, __builtin_fmaf(FROM(x), FROM(y), z)))                      \
    ROUNDED(add_any_##name, l_f32,                                             \
            add_##name##_all(t, LANE_SRC(w, i, 1),                             \
                             LANE_SRC(w, i, 2), i))                            \
    ROUNDED(sub_any_##name, l_f32,                                             \
            sub_##name##_all(t, LANE_SRC(w, i, 1),                             \
                             LANE_SRC(w, i, 2), i))                            \
    ROUNDED(fma_any_##name, l_f32,                                             \
            fma_##name##_all(t, LANE_SRC(w, i, 1),                             \
                             LANE_SRC(w, i, 2), LANE_SRC(w, i, 3), i))
MIXED(f16, float_of_f16)
MIXED(bf16, float_of_bf16)

/* -------------------------------------------------------- sign, min, max */

MAP1(abs_f32, l_f32, l_f32, fix_f32(__builtin_fabsf(in_f32(i, x))))
MAP1(neg_f32, l_f32, l_f32, fix_f32(-in_f32(i, x)))
MAP1(abs_f64, l_f64, l_f64, fix_f64(x, __builtin_fabs(x)))
MAP1(neg_f64, l_f64, l_f64, fix_f64(x, -x))

/* -0 is less than +0: of two that are equal the bits or the common ones.  NaNs
 * are dealt with by the callers. */
#define ORDERED(name, T, OP, BITS, JOIN)                                       \
    static FGS__INLINE T name(T x, T y)                                        \
    {                                                                          \
        T z = bits_##T(BITS(x) JOIN BITS(y));                                  \
        return x == y ? z : x OP y ? x : y;                                    \
    }
ORDERED(least_f32, float, <, float_bits, |)
ORDERED(most_f32, float, >, float_bits, &)
ORDERED(least_f64, double, <, double_bits, |)
ORDERED(most_f64, double, >, double_bits, &)

/* A NaN is ignored unless both are, or .NaN. */
static FGS__INLINE float skip_nan_f32(const struct fgs__sim_insn *i, float x,
                                      float y, float r)
{
    float nan = NAN_F32;

    r = x == x ? r : i->aux[AUX_NAN] ? nan : y;
    r = y == y ? r : i->aux[AUX_NAN] ? nan : x;
    return fix_f32(r);
}

static FGS__INLINE double skip_nan_f64(double x, double y, double r)
{
    double quiet = y == y ? y : y + y;

    r = x == x ? r : quiet;
    return y == y ? r : x == x ? x : quiet;
}

static FGS__INLINE float min_one(const struct fgs__sim_insn *i, float x,
                                 float y)
{
    return skip_nan_f32(i, x, y, least_f32(x, y));
}

static FGS__INLINE float max_one(const struct fgs__sim_insn *i, float x,
                                 float y)
{
    return skip_nan_f32(i, x, y, most_f32(x, y));
}

/* Without .ftz, with .xorsign.abs: of the magnitudes, with both signs. */
static FGS__INLINE float signed_by(float r, float x, float y)
{
    uint32_t s = (float_bits(x) ^ float_bits(y)) & 0x80000000u;

    return r == r ? bits_float((float_bits(r) & 0x7fffffffu) | s) : r;
}
#define MAGNITUDE(x) __builtin_fabsf(in_f32(i, x))
MAP2(min_xor_f32, l_f32, l_f32, l_f32,
     signed_by(min_one(i, MAGNITUDE(x), MAGNITUDE(y)), x, y))
MAP2(max_xor_f32, l_f32, l_f32, l_f32,
     signed_by(max_one(i, MAGNITUDE(x), MAGNITUDE(y)), x, y))

/* Three sources; .abs stands in AUX_SAT's place. */
enum { AUX_ABS = AUX_SAT };
static FGS__INLINE float in_abs(const struct fgs__sim_insn *i, float x)
{
    return i->aux[AUX_ABS] ? MAGNITUDE(x) : in_f32(i, x);
}
MAP3(min3_f32, l_f32, l_f32, l_f32, l_f32,
     min_one(i, min_one(i, in_abs(i, x), in_abs(i, y)), in_abs(i, z)))
MAP3(max3_f32, l_f32, l_f32, l_f32, l_f32,
     max_one(i, max_one(i, in_abs(i, x), in_abs(i, y)), in_abs(i, z)))

/* The common ones as vectors: what the instruction says is read before the
 * lanes, which could lie there for all that the compiler knows. */
#define FIRST_OF(name, PICK)                                                   \
    static FGS__INLINE void name##_all(l_f32 *d, const l_f32 *a,               \
                                       const l_f32 *b,                         \
                                       const struct fgs__sim_insn *i)          \
    {                                                                          \
        const float tiny = i->aux[AUX_FTZ] ? 0x1p-126f : 0;                    \
        const uint32_t nan = i->aux[AUX_NAN] ? UINT32_MAX : 0;                 \
        int k;                                                                 \
                                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++)                                            \
            d[k] = without_nan(flush_below(a[k], tiny),                        \
                               flush_below(b[k], tiny), nan,                   \
                               PICK(flush_below(a[k], tiny),                   \
                                    flush_below(b[k], tiny)));                 \
    }                                                                          \
    RUN2(name, l_f32, l_f32, l_f32)

static FGS__INLINE float flush_below(float x, float tiny)
{
    return __builtin_fabsf(x) < tiny ? __builtin_copysignf(0, x) : x;
}

/* As skip_nan_f32; `nan` has ones for .NaN. */
static FGS__INLINE float without_nan(float x, float y, uint32_t nan, float r)
{
    uint32_t all = nan & 0x7fffffffu;
    float for_x = bits_float((float_bits(y) & ~nan) | all);
    float for_y = bits_float((float_bits(x) & ~nan) | all);

    r = x == x ? r : for_x;
    r = y == y ? r : for_y;
    return fix_f32(r);
}
FIRST_OF(min_f32, least_f32)
FIRST_OF(max_f32, most_f32)
MAP2(min_f64, l_f64, l_f64, l_f64, skip_nan_f64(x, y, least_f64(x, y)))
MAP2(max_f64, l_f64, l_f64, l_f64, skip_nan_f64(x, y, most_f64(x, y)))

/* ------------------------------------------------------------- selector -- */

enum { PLAIN, FLUSH, SATURATE, ANY, APPROX, XORSIGN, THREE, SETTLE,
       SETTLE_ANY };

#define ROWS2(OP, name)                                                        \
    { FGS__OP_##OP, FGS__T_F32, PLAIN, name##_f32 },                           \
    { FGS__OP_##OP, FGS__T_F32, FLUSH, name##_ftz_f32 },                       \
    { FGS__OP_##OP, FGS__T_F32, SATURATE, name##_sat_f32 },                    \
    { FGS__OP_##OP, FGS__T_F32, ANY, name##_any_f32 },                         \
    { FGS__OP_##OP, FGS__T_F64, PLAIN, name##_f64 },                           \
    { FGS__OP_##OP, FGS__T_F64, ANY, name##_any_f64 },
#define ROWS1(OP, name)                                                        \
    { FGS__OP_##OP, FGS__T_F32, PLAIN, name##_f32 },                           \
    { FGS__OP_##OP, FGS__T_F32, FLUSH, name##_f32 },                           \
    { FGS__OP_##OP, FGS__T_F64, PLAIN, name##_f64 },
static const struct lane_row rows[] = {
    ROWS2(ADD, add)
    ROWS2(SUB, sub)
    ROWS2(MUL, mul)
    ROWS2(DIV, div)
    ROWS2(FMA, fma)
    ROWS2(MAD, fma)
    ROWS1(ABS, abs)
    ROWS1(NEG, neg)
    ROWS1(MIN, min)
    ROWS1(MAX, max)
#define SETTLED_ROWS(OP, name)                                                 \
    { FGS__OP_##OP, FGS__T_F32, SETTLE, name##_flush_f32 },                    \
    { FGS__OP_##OP, FGS__T_F32, SETTLE_ANY, name##_flush_any_f32 },
    SETTLED_ROWS(MUL, mul)
    SETTLED_ROWS(DIV, div)
    SETTLED_ROWS(FMA, fma)
    SETTLED_ROWS(MAD, fma)
    { FGS__OP_DIV, FGS__T_F32, APPROX, div_approx_f32 },
    { FGS__OP_MIN, FGS__T_F32, XORSIGN, min_xor_f32 },
    { FGS__OP_MAX, FGS__T_F32, XORSIGN, max_xor_f32 },
    { FGS__OP_MIN, FGS__T_F32, THREE, min3_f32 },
    { FGS__OP_MAX, FGS__T_F32, THREE, max3_f32 },
};
static const struct lane_row mixed_rows[] = {
#define MIXED_ROWS(name, T)                                                    \
    { FGS__OP_ADD, FGS__T_##T, PLAIN, add_##name },                            \
    { FGS__OP_SUB, FGS__T_##T, PLAIN, sub_##name },                            \
    { FGS__OP_FMA, FGS__T_##T, PLAIN, fma_##name },                            \
    { FGS__OP_ADD, FGS__T_##T, ANY, add_any_##name },                          \
    { FGS__OP_SUB, FGS__T_##T, ANY, sub_any_##name },                          \
    { FGS__OP_FMA, FGS__T_##T, ANY, fma_any_##name },
    MIXED_ROWS(f16, F16)
    MIXED_ROWS(bf16, BF16)
};

static unsigned variant_of(const struct fgs__ptx_insn *src)
{
    switch (src->mod[FGS__G_ROUND]) {
    case FGS__M_RZ:
    case FGS__M_RM:
    case FGS__M_RP:
        return ANY;
    case FGS__M_APPROX:
    case FGS__M_FULL:
        return APPROX;
    case FGS__M_RN:
    case FGS__M_NONE:
        break;
    default:
        return UINT8_MAX;
    }
    if (src->mod[FGS__G_XORSIGN])
        return XORSIGN;
    if ((src->op == FGS__OP_MIN || src->op == FGS__OP_MAX) &&
        src->operands == 4)
        return THREE;
    if (src->mod[FGS__G_SAT])
        return src->types > 1 ? PLAIN : SATURATE;
    return src->mod[FGS__G_FTZ] ? FLUSH : PLAIN;
}

/* Products and quotients may come out below the least normal number. */
static unsigned settled(const struct fgs__ptx_insn *src, unsigned variant)
{
    bool may = src->op == FGS__OP_MUL || src->op == FGS__OP_DIV ||
        src->op == FGS__OP_FMA || src->op == FGS__OP_MAD;

    if (!may || !src->mod[FGS__G_FTZ])
        return variant;
    return variant == FLUSH                         ? SETTLE
        : variant == SATURATE || variant == ANY ? SETTLE_ANY : variant;
}

/* The last source is f32. */
static bool take_mixed(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    unsigned k, count = src->op == FGS__OP_FMA ? 4 : 3;

    if (src->operands != count)
        return false;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_F32);
    for (k = 1; k < count; k++)
        out->op[k] = fgs__sim_ref_of(d, &src->operand[k],
                                     k < count - 1
                                         ? (enum fgs__ptx_type)src->type[1]
                                         : FGS__T_F32);
    for (k = 0; k < count; k++)
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    return true;
}

bool FGS__LEVEL(fgs__sim_sel_float)(struct fgs__sim_decoder *d,
                                    const struct fgs__ptx_insn *src,
                                    struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_ROUND, FGS__G_FTZ, FGS__G_SAT,
                                      FGS__G_NAN, FGS__G_XORSIGN,
                                      FGS__G_ABS };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    unsigned op = src->op;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (t != FGS__T_F32 && t != FGS__T_F64) {
        fgs__sim_decode_error(d, src, ".%s is not executed yet",
                              fgs__ptx_types[t].word);
        return false;
    }
    if (src->types > 1)
        out->run = find_row(mixed_rows, sizeof mixed_rows / sizeof *mixed_rows,
                            op, src->type[1], variant_of(src));
    else
        out->run = find_row(rows, sizeof rows / sizeof *rows, op, t,
                            settled(src, variant_of(src)));
    if (!out->run)
        return false;
    out->aux[AUX_ROUND] = (uint32_t)host_round(src->mod[FGS__G_ROUND]);
    out->aux[AUX_FTZ] = src->mod[FGS__G_FTZ] != FGS__M_NONE;
    out->aux[AUX_SAT] = src->mod[FGS__G_SAT] != FGS__M_NONE;
    out->aux[AUX_NAN] = src->mod[FGS__G_NAN] != FGS__M_NONE ||
        src->mod[FGS__G_ROUND] == FGS__M_FULL;
    if (src->types > 1)
        return take_mixed(d, src, out);
    if (op == FGS__OP_MIN || op == FGS__OP_MAX) {
        out->aux[AUX_ABS] = src->mod[FGS__G_ABS] != FGS__M_NONE;
        return take_operands(d, src, out, src->operands, t);
    }
    return take_operands(d, src, out,
                         op == FGS__OP_ABS || op == FGS__OP_NEG    ? 2
                             : op == FGS__OP_FMA || op == FGS__OP_MAD ? 4
                                                                      : 3,
                         t);
}
