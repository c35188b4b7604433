/* exec_pack.c -- two 16-bit or four 8-bit integers in a register, two f32 */
#include "sim/float.h"

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
#define TWO(name, EXPR)                                                        \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) l_f32 t[PAIRS];                                         \
        const l_f32 *a = LANE_PTR(w, i->op[1]);                                \
        const l_f32 *b = LANE_PTR(w, i->op[2]);                                \
        const l_f32 *c = LANE_PTR(w, i->op[3]);                                \
        int round = (int)i->aux[AUX_ROUND], ftz = i->aux[AUX_FTZ] != 0, k;     \
        if (round != FE_TONEAREST)                                             \
            fesetround(round);                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < PAIRS; k++) {                                          \
            const float x = IN(a[k]), y = IN(b[k]), z = IN(c[k]);              \
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
TWO(add_f32x2, x + y)
TWO(sub_f32x2, x - y)
TWO(mul_f32x2, x * y)
TWO(fma_f32x2, __builtin_fmaf(x, y, z))

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
