/* exec_pack.c -- two 16-bit or four 8-bit integers in a register, two f32 */
#include "sim/float.h"
#include "sim/half.h"

/* ------------------------------------------------------------- integers -- */

#define PACK(name, T, EXPR)                                                    \
    HANDLER(name)                                                              \
    {                                                                          \
        enum { N = LANES * 4 / sizeof(T) };                                    \
        FGS__ALIGN(64) T t[N];                                                 \
        const T *a = LANE_PTR(w, i->op[1]);                                    \
        const T *b = LANE_PTR(w, i->op[2]);                                    \
        int k;                                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < N; k++) {                                              \
            const int32_t x = a[k], y = b[k];                                  \
            (void)y;                                                           \
            t[k] = (T)(EXPR);                                                  \
        }                                                                      \
        blend(LANE_PTR(w, i->op[0]), t, w->exec, 4);                           \
        return i + 1;                                                          \
    }
#define LEAST(x, y)           ((x) < (y) ? (x) : (y))
#define MOST(x, y)            ((x) > (y) ? (x) : (y))
#define CLAMP(v, least, most) LEAST(MOST(v, least), most)
#define PACKED(t, T, least, most)                                              \
    PACK(add_##t, T, x + y)                                                    \
    PACK(sub_##t, T, x - y)                                                    \
    PACK(add_sat_##t, T, CLAMP(x + y, least, most))                            \
    PACK(sub_sat_##t, T, CLAMP(x - y, least, most))                            \
    PACK(min_##t, T, LEAST(x, y))                                              \
    PACK(max_##t, T, MOST(x, y))
PACKED(u16, l_u16, 0, 0xffff)
PACKED(s16, l_s16, -0x8000, 0x7fff)
PACKED(u8, l_u8, 0, 0xff)
PACKED(s8, l_s8, -0x80, 0x7f)
/* .relu: not below zero */
PACK(min_relu_s16, l_s16, MOST(LEAST(x, y), 0))
PACK(max_relu_s16, l_s16, MOST(MOST(x, y), 0))
PACK(min_relu_s8, l_s8, MOST(LEAST(x, y), 0))
PACK(max_relu_s8, l_s8, MOST(MOST(x, y), 0))
PACK(neg_s8, l_s8, -x)
/* set: all bits of an element that compares true */
#define COMPARED(t, T)                                                         \
    PACK(eq_##t, T, -(x == y))                                                 \
    PACK(ne_##t, T, -(x != y))                                                 \
    PACK(lt_##t, T, -(x < y))                                                  \
    PACK(le_##t, T, -(x <= y))                                                 \
    PACK(gt_##t, T, -(x > y))                                                  \
    PACK(ge_##t, T, -(x >= y))
COMPARED(u16, l_u16)
COMPARED(s16, l_s16)
COMPARED(u8, l_u8)
COMPARED(s8, l_s8)

/* ------------------------------------------------------------- two f32 -- */

enum { AUX_ROUND, AUX_FTZ };
enum { PAIRS = 2 * LANES };

#define IN(v)  (ftz ? flush_f32(v) : (v))
/* The first source of another type, by OF; the others and the result by IN. */
#define PAIRWISE(name, T, OF, IN, EXPR)                                        \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_f32 t[PAIRS];                                         \
        const T *a = LANE_PTR(w, i->op[1]);                                    \
        const l_f32 *b = LANE_PTR(w, i->op[2]);                                \
        const l_f32 *c = LANE_PTR(w, i->op[3]);                                \
        int round = (int)i->aux[AUX_ROUND], ftz = i->aux[AUX_FTZ] != 0, k;     \
        (void)ftz;                                                             \
        if (round != FE_TONEAREST)                                             \
            fesetround(round);                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < PAIRS; k++) {                                          \
            const float x = OF(a[k]), y = IN(b[k]), z = IN(c[k]);              \
            float r = EXPR;                                                    \
            (void)z;                                                           \
            r = fix_f32(r);                                                    \
            t[k] = IN(r);                                                      \
        }                                                                      \
        if (round != FE_TONEAREST) {                                           \
            FGS__BARRIER(t);                                                   \
            fesetround(FE_TONEAREST);                                          \
        }                                                                      \
        blend(LANE_PTR(w, i->op[0]), t, w->exec, 8);                           \
        return i + 1;                                                          \
    }
#define TWO(name, EXPR) PAIRWISE(name, l_f32, IN, IN, EXPR)
TWO(add_f32x2, x + y)
TWO(sub_f32x2, x - y)
TWO(mul_f32x2, x * y)
TWO(fma_f32x2, __builtin_fmaf(x, y, z))

/* ------------------------------------------------- pairs of two widths -- */

/* ISA 9.7.5, of sm_107f; no GPU at hand has them.  A NaN is f32's one NaN. */
static FGS__INLINE float of_f16(uint32_t u)
{
    return float_of_f16(u);
}

static FGS__INLINE float of_bf16(uint32_t u)
{
    return bits_float(u << 16);
}

#define AS_IT_IS(v) (v)
#define UPWARD(name, OF, EXPR) PAIRWISE(name, l_u16, OF, AS_IT_IS, EXPR)
#define UPWARDS(t)                                                             \
    UPWARD(add_##t##_up, of_##t, x + y)                                        \
    UPWARD(sub_##t##_up, of_##t, x - y)                                        \
    UPWARD(fma_##t##_up, of_##t, __builtin_fmaf(x, y, z))
UPWARDS(f16)
UPWARDS(bf16)

/* Cut off twice is cut off once.  What is subnormal in f16 becomes zero, as do
 * sources that are in f32: that is what .ftz, which this form must have, says
 * of either type. */
static FGS__INLINE uint32_t cut_f16(float v)
{
    uint32_t u = float_bits(v), m = u & 0x7fffffff, sign = u >> 16 & 0x8000;
    uint32_t code = m < 0x38800000 ? 0 : (m - 0x38000000) >> 13;

    code = m >= 0x47800000 ? 0x7bff : code;
    code = m == 0x7f800000 ? 0x7c00 : code;
    return m > 0x7f800000 ? NAN_HALF : sign | code;
}

static FGS__INLINE uint32_t cut_bf16(float v)
{
    uint32_t u = float_bits(v);

    return (u & 0x7fffffff) > 0x7f800000 ? NAN_HALF : u >> 16;
}

#define DOWNWARD(name, CUT, EXPR)                                              \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_f32 t[PAIRS];                                         \
        FGS__ALIGN(64) l_u16 h[PAIRS];                                         \
        const l_f32 *a = LANE_PTR(w, i->op[1]);                                \
        const l_f32 *b = LANE_PTR(w, i->op[2]);                                \
        int ftz = i->aux[AUX_FTZ] != 0, k;                                     \
        fesetround(FE_TOWARDZERO);                                             \
        FGS__EACH                                                              \
        for (k = 0; k < PAIRS; k++) {                                          \
            const float x = IN(a[k]), y = IN(b[k]);                            \
            t[k] = EXPR;                                                       \
        }                                                                      \
        FGS__BARRIER(t);                                                       \
        fesetround(FE_TONEAREST);                                              \
        FGS__EACH                                                              \
        for (k = 0; k < PAIRS; k++)                                            \
            h[k] = (l_u16)CUT(t[k]);                                           \
        blend(LANE_PTR(w, i->op[0]), h, w->exec, 4);                           \
        return i + 1;                                                          \
    }
#define DOWNWARDS(t)                                                           \
    DOWNWARD(add_##t##_down, cut_##t, x + y)                                   \
    DOWNWARD(sub_##t##_down, cut_##t, x - y)                                   \
    DOWNWARD(mul_##t##_down, cut_##t, x * y)
DOWNWARDS(f16)
DOWNWARDS(bf16)

/* By the narrow type; one that widens has it as its second. */
static const struct lane_row mixed_rows[] = {
    { FGS__OP_ADD, FGS__T_F16X2, 0, add_f16_down },
    { FGS__OP_SUB, FGS__T_F16X2, 0, sub_f16_down },
    { FGS__OP_MUL, FGS__T_F16X2, 0, mul_f16_down },
    { FGS__OP_ADD, FGS__T_BF16X2, 0, add_bf16_down },
    { FGS__OP_SUB, FGS__T_BF16X2, 0, sub_bf16_down },
    { FGS__OP_MUL, FGS__T_BF16X2, 0, mul_bf16_down },
    { FGS__OP_ADD, FGS__T_F16X2, 1, add_f16_up },
    { FGS__OP_SUB, FGS__T_F16X2, 1, sub_f16_up },
    { FGS__OP_FMA, FGS__T_F16X2, 1, fma_f16_up },
    { FGS__OP_ADD, FGS__T_BF16X2, 1, add_bf16_up },
    { FGS__OP_SUB, FGS__T_BF16X2, 1, sub_bf16_up },
    { FGS__OP_FMA, FGS__T_BF16X2, 1, fma_bf16_up },
};

static bool select_mixed(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    bool up = src->type[0] == FGS__T_F32X2;

    out->run = find_row(mixed_rows, sizeof mixed_rows / sizeof *mixed_rows,
                        src->op, src->type[up ? 1 : 0], up);
    if (!out->run)
        return false;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0],
                                  (enum fgs__ptx_type)src->type[0]);
    for (unsigned k = 1; k < src->operands; k++)
        out->op[k] = fgs__sim_ref_of(d, &src->operand[k],
                                     (enum fgs__ptx_type)src->type[k]);
    if (src->operands == 3)
        out->op[3] = out->op[2]; /* read and not used */
    for (unsigned k = 0; k < 4; k++)
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    out->aux[AUX_ROUND] = (uint32_t)host_round(src->mod[FGS__G_ROUND]);
    out->aux[AUX_FTZ] = src->mod[FGS__G_FTZ] != FGS__M_NONE;
    return true;
}

/* ------------------------------------------------------------- selector -- */

#define ROWS(t, T)                                                             \
    { FGS__OP_ADD, FGS__T_##T, 0, add_##t },                                   \
    { FGS__OP_SUB, FGS__T_##T, 0, sub_##t },                                   \
    { FGS__OP_ADD, FGS__T_##T, FGS__M_SAT, add_sat_##t },                      \
    { FGS__OP_SUB, FGS__T_##T, FGS__M_SAT, sub_sat_##t },                      \
    { FGS__OP_MIN, FGS__T_##T, 0, min_##t },                                   \
    { FGS__OP_MAX, FGS__T_##T, 0, max_##t },
#define RELU_ROWS(t, T)                                                        \
    { FGS__OP_MIN, FGS__T_##T, FGS__M_RELU, min_relu_##t },                    \
    { FGS__OP_MAX, FGS__T_##T, FGS__M_RELU, max_relu_##t },
#define SIGNED_SET(t, T)                                                       \
    { FGS__OP_SET, FGS__T_##T, FGS__M_EQ, eq_##t },                            \
    { FGS__OP_SET, FGS__T_##T, FGS__M_NE, ne_##t },                            \
    { FGS__OP_SET, FGS__T_##T, FGS__M_LT, lt_##t },                            \
    { FGS__OP_SET, FGS__T_##T, FGS__M_LE, le_##t },                            \
    { FGS__OP_SET, FGS__T_##T, FGS__M_GT, gt_##t },                            \
    { FGS__OP_SET, FGS__T_##T, FGS__M_GE, ge_##t },
#define UNSIGNED_SET(t, T)                                                     \
    SIGNED_SET(t, T)                                                           \
    { FGS__OP_SET, FGS__T_##T, FGS__M_CMP_LO, lt_##t },                        \
    { FGS__OP_SET, FGS__T_##T, FGS__M_CMP_LS, le_##t },                        \
    { FGS__OP_SET, FGS__T_##T, FGS__M_CMP_HI, gt_##t },                        \
    { FGS__OP_SET, FGS__T_##T, FGS__M_CMP_HS, ge_##t },
static const struct lane_row rows[] = {
    UNSIGNED_SET(u16, U16X2)
    SIGNED_SET(s16, S16X2)
    UNSIGNED_SET(u8, U8X4)
    SIGNED_SET(s8, S8X4)
    ROWS(u16, U16X2)
    ROWS(s16, S16X2)
    ROWS(u8, U8X4)
    ROWS(s8, S8X4)
    RELU_ROWS(s16, S16X2)
    RELU_ROWS(s8, S8X4)
    { FGS__OP_NEG, FGS__T_S8X4, 0, neg_s8 },
    { FGS__OP_ADD, FGS__T_F32X2, 0, add_f32x2 },
    { FGS__OP_SUB, FGS__T_F32X2, 0, sub_f32x2 },
    { FGS__OP_MUL, FGS__T_F32X2, 0, mul_f32x2 },
    { FGS__OP_FMA, FGS__T_F32X2, 0, fma_f32x2 },
};

bool FGS__LEVEL(fgs__sim_sel_pack)(struct fgs__sim_decoder *d,
                                   const struct fgs__ptx_insn *src,
                                   struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_ROUND, FGS__G_FTZ, FGS__G_SAT,
                                      FGS__G_RELU, FGS__G_CMP };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    unsigned count = src->op == FGS__OP_NEG ? 2
        : src->op == FGS__OP_FMA            ? 4
                                            : 3;
    unsigned variant = src->mod[FGS__G_SAT] ? src->mod[FGS__G_SAT]
        : src->mod[FGS__G_RELU]             ? src->mod[FGS__G_RELU]
                                            : src->mod[FGS__G_CMP];
    unsigned k;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->types > 2)
        return select_mixed(d, src, out);
    out->run = find_row(rows, sizeof rows / sizeof *rows, src->op, t, variant);
    if (!out->run || !take_operands(d, src, out, count, t))
        return false;
    /* Operands that are not there are read and not used. */
    for (k = count; k < 4; k++)
        out->op[k] = out->op[1];
    out->aux[AUX_ROUND] = (uint32_t)host_round(src->mod[FGS__G_ROUND]);
    out->aux[AUX_FTZ] = src->mod[FGS__G_FTZ] != FGS__M_NONE;
    return true;
}
