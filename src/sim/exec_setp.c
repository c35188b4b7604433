/* exec_setp.c -- setp, set: compare, combine with a predicate, write */
#include "sim/compare.h"
#include "sim/half.h"

enum { SETP_P, SETP_A, SETP_B, SETP_Q, SETP_C };
enum { AUX_FLIP, AUX_BOOL, AUX_C_FLIP, AUX_SET };

/* AUX_SET: what set writes, 0 = setp.  `imm` is the value for true; a pair
 * has two, and also setp of pairs says so. */
enum { SET_16 = 1, SET_32, SET_PAIR, SETP_PAIR };

/* .and .or .xor with predicate c. */
static FGS__INLINE uint32_t combined(struct fgs__sim_warp *w,
                                     const struct fgs__sim_insn *i, uint32_t r)
{
    uint32_t c;

    if (!i->aux[AUX_BOOL])
        return r;
    c = *(const l_u32 *)fgs__sim_at(w, i->op[SETP_C]) ^ i->aux[AUX_C_FLIP];
    return i->aux[AUX_BOOL] == FGS__M_BOOL_AND ? r & c
        : i->aux[AUX_BOOL] == FGS__M_BOOL_OR   ? r | c
                                               : r ^ c;
}

/* set: the value for true in the lanes of r, else zero. */
static void write_set(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      uint32_t r)
{
    FGS__ALIGN(64) l_u32 t[LANES];
    l_u16 *half = (l_u16 *)t;
    uint32_t yes = (uint32_t)i->imm;
    int k;

    if (i->aux[AUX_SET] == SET_32) {
        for (k = 0; k < LANES; k++)
            t[k] = (r >> k & 1) ? yes : 0;
        blend_32(LANE_DST(w, i->op[SETP_P]), t, w->exec);
        return;
    }
    for (k = 0; k < LANES; k++)
        half[k] = (uint16_t)((r >> k & 1) ? yes : 0);
    blend_16(LANE_DST(w, i->op[SETP_P]), half, w->exec);
}

/* Two comparisons a lane, low and high half. */
static lane_next finish_pair(struct fgs__sim_warp *w,
                             const struct fgs__sim_insn *i, uint32_t low,
                             uint32_t high)
{
    FGS__ALIGN(64) l_u32 t[LANES];
    uint32_t yes = (uint32_t)i->imm & 0xffff;
    int k;

    low = combined(w, i, low ^ i->aux[AUX_FLIP]);
    high = combined(w, i, high ^ i->aux[AUX_FLIP]);
    if (i->aux[AUX_SET] == SETP_PAIR) {
        put_mask(w, i->op[SETP_P], low);
        if (i->op[SETP_Q] != FGS__SIM_NOREF)
            put_mask(w, i->op[SETP_Q], high);
        return i + 1;
    }
    for (k = 0; k < LANES; k++)
        t[k] = ((low >> k & 1) ? yes : 0) | ((high >> k & 1) ? yes << 16 : 0);
    blend_32(LANE_DST(w, i->op[SETP_P]), t, w->exec);
    return i + 1;
}

/* r compared, before .and .or .xor with predicate c (ISA: q = !r op c). */
static FGS__INLINE lane_next finish(struct fgs__sim_warp *w,
                                    const struct fgs__sim_insn *i, uint32_t r)
{
    uint32_t c, q;

    r ^= i->aux[AUX_FLIP];
    if (FGS__UNLIKELY(i->aux[AUX_SET])) {
        write_set(w, i, combined(w, i, r));
        return i + 1;
    }
    q = ~r;
    if (FGS__UNLIKELY(i->aux[AUX_BOOL])) {
        c = *(const l_u32 *)fgs__sim_at(w, i->op[SETP_C]) ^
            i->aux[AUX_C_FLIP];
        if (i->aux[AUX_BOOL] == FGS__M_BOOL_AND) {
            r &= c;
            q &= c;
        } else if (i->aux[AUX_BOOL] == FGS__M_BOOL_OR) {
            r |= c;
            q |= c;
        } else {
            r ^= c;
            q ^= c;
        }
    }
    put_mask(w, i->op[SETP_P], r);
    if (i->op[SETP_Q] != FGS__SIM_NOREF)
        put_mask(w, i->op[SETP_Q], q);
    return i + 1;
}

#define COMPARE(name, T)                                                       \
    HANDLER(name)                                                              \
    {                                                                          \
        const T *a = LANE_SRC(w, i, SETP_A);                                   \
        const T *b = LANE_SRC(w, i, SETP_B);                                   \
        return finish(w, i, mask_##name(a, b));                                \
    }

#define INT(N)                                                                 \
    COMPARE(eq_u##N, l_u##N)                                                   \
    COMPARE(lt_u##N, l_u##N)                                                   \
    COMPARE(le_u##N, l_u##N)                                                   \
    COMPARE(lt_s##N, l_s##N)                                                   \
    COMPARE(le_s##N, l_s##N)
INT(16)
INT(32)
INT(64)

#define FLT(N)                                                                 \
    COMPARE(eq_f##N, l_f##N)                                                   \
    COMPARE(ne_f##N, l_f##N)                                                   \
    COMPARE(lt_f##N, l_f##N)                                                   \
    COMPARE(le_f##N, l_f##N)                                                   \
    COMPARE(num_f##N, l_f##N)
FLT(32)
FLT(64)

static FGS__INLINE void flush(float *t, const l_f32 *a)
{
    int k;
    FGS__EACH
    for (k = 0; k < LANES; k++)
        t[k] = __builtin_fabsf(a[k]) < 0x1p-126f ? __builtin_copysignf(0, a[k])
                                                 : a[k];
}

#define COMPARE_FTZ(name)                                                      \
    HANDLER(name##_ftz)                                                        \
    {                                                                          \
        FGS__ALIGN(64) float a[LANES], b[LANES];                               \
        flush(a, LANE_SRC(w, i, SETP_A));                                      \
        flush(b, LANE_SRC(w, i, SETP_B));                                      \
        return finish(w, i, mask_##name(a, b));                                \
    }
COMPARE_FTZ(eq_f32)
COMPARE_FTZ(ne_f32)
COMPARE_FTZ(lt_f32)
COMPARE_FTZ(le_f32)

/* f16 and bf16 as f32, one or two a lane. */
#define HALF_COMPARE(base, name, IN)                                           \
    HANDLER(base##_##name)                                                     \
    {                                                                          \
        FGS__ALIGN(64) l_f32 x[2][LANES], y[2][LANES];                         \
        const l_u16 *a = LANE_SRC(w, i, SETP_A);                               \
        const l_u16 *b = LANE_SRC(w, i, SETP_B);                               \
        const l_u32 *aa = LANE_SRC(w, i, SETP_A);                              \
        const l_u32 *bb = LANE_SRC(w, i, SETP_B);                              \
        int k;                                                                 \
        if (i->aux[AUX_SET] < SET_PAIR) {                                      \
            FGS__EACH                                                          \
            for (k = 0; k < LANES; k++) {                                      \
                x[0][k] = IN(a[k]);                                            \
                y[0][k] = IN(b[k]);                                            \
            }                                                                  \
            return finish(w, i, mask_##base##_f32(x[0], y[0]));                \
        }                                                                      \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            x[0][k] = IN(aa[k] & 0xffff);                                      \
            y[0][k] = IN(bb[k] & 0xffff);                                      \
            x[1][k] = IN(aa[k] >> 16);                                         \
            y[1][k] = IN(bb[k] >> 16);                                         \
        }                                                                      \
        return finish_pair(w, i, mask_##base##_f32(x[0], y[0]),                \
                           mask_##base##_f32(x[1], y[1]));                     \
    }
#define FLUSHED_F16(h) float_of_f16(flush_f16(h))
#define HALF(name, IN)                                                         \
    HALF_COMPARE(eq, name, IN)                                                 \
    HALF_COMPARE(ne, name, IN)                                                 \
    HALF_COMPARE(lt, name, IN)                                                 \
    HALF_COMPARE(le, name, IN)                                                 \
    HALF_COMPARE(num, name, IN)
HALF(f16, float_of_f16)
HALF(f16_ftz, FLUSHED_F16)
HALF(bf16, float_of_bf16)

/* ------------------------------------------------------------- selector -- */

/* Every comparison is one of five, with operands swapped or result turned. */
enum { EQ, LT, LE, NE, NUM };
static const struct {
    uint16_t cmp;
    uint8_t base;
    bool swap, flip;
} forms[] = {
    { FGS__M_EQ, EQ, false, false },     { FGS__M_NE, NE, false, false },
    { FGS__M_LT, LT, false, false },     { FGS__M_LE, LE, false, false },
    { FGS__M_GT, LT, true, false },      { FGS__M_GE, LE, true, false },
    { FGS__M_CMP_LO, LT, false, false }, { FGS__M_CMP_LS, LE, false, false },
    { FGS__M_CMP_HI, LT, true, false },  { FGS__M_CMP_HS, LE, true, false },
    { FGS__M_EQU, NE, false, true },     { FGS__M_NEU, EQ, false, true },
    { FGS__M_LTU, LE, true, true },      { FGS__M_LEU, LT, true, true },
    { FGS__M_GTU, LE, false, true },     { FGS__M_GEU, LT, false, true },
    { FGS__M_NUM, NUM, false, false },   { FGS__M_CMP_NAN, NUM, false, true },
};

#define INT_ROWS(N)                                                            \
    { FGS__OP_SETP, FGS__T_B##N, EQ, eq_u##N },                                \
    { FGS__OP_SETP, FGS__T_U##N, EQ, eq_u##N },                                \
    { FGS__OP_SETP, FGS__T_S##N, EQ, eq_u##N },                                \
    { FGS__OP_SETP, FGS__T_U##N, LT, lt_u##N },                                \
    { FGS__OP_SETP, FGS__T_S##N, LT, lt_s##N },                                \
    { FGS__OP_SETP, FGS__T_U##N, LE, le_u##N },                                \
    { FGS__OP_SETP, FGS__T_S##N, LE, le_s##N },
static const struct lane_row rows[] = {
    INT_ROWS(16)
    INT_ROWS(32)
    INT_ROWS(64)
    { FGS__OP_SETP, FGS__T_F32, EQ, eq_f32 },
    { FGS__OP_SETP, FGS__T_F32, NE, ne_f32 },
    { FGS__OP_SETP, FGS__T_F32, LT, lt_f32 },
    { FGS__OP_SETP, FGS__T_F32, LE, le_f32 },
    { FGS__OP_SETP, FGS__T_F32, NUM, num_f32 },
    { FGS__OP_SETP, FGS__T_F64, EQ, eq_f64 },
    { FGS__OP_SETP, FGS__T_F64, NE, ne_f64 },
    { FGS__OP_SETP, FGS__T_F64, LT, lt_f64 },
    { FGS__OP_SETP, FGS__T_F64, LE, le_f64 },
    { FGS__OP_SETP, FGS__T_F64, NUM, num_f64 },
#define HALF_ROWS(T, name)                                                     \
    { FGS__OP_SETP, FGS__T_##T, EQ, eq_##name },                               \
    { FGS__OP_SETP, FGS__T_##T, NE, ne_##name },                               \
    { FGS__OP_SETP, FGS__T_##T, LT, lt_##name },                               \
    { FGS__OP_SETP, FGS__T_##T, LE, le_##name },                               \
    { FGS__OP_SETP, FGS__T_##T, NUM, num_##name },
    HALF_ROWS(F16, f16)
    HALF_ROWS(F16X2, f16)
    HALF_ROWS(BF16, bf16)
    HALF_ROWS(BF16X2, bf16)
};
static const struct lane_row ftz_rows[] = {
    { FGS__OP_SETP, FGS__T_F32, EQ, eq_f32_ftz },
    { FGS__OP_SETP, FGS__T_F32, NE, ne_f32_ftz },
    { FGS__OP_SETP, FGS__T_F32, LT, lt_f32_ftz },
    { FGS__OP_SETP, FGS__T_F32, LE, le_f32_ftz },
    { FGS__OP_SETP, FGS__T_F32, NUM, num_f32 },
    HALF_ROWS(F16, f16_ftz)
    HALF_ROWS(F16X2, f16_ftz)
};

static bool pick(const struct fgs__ptx_insn *src, struct fgs__sim_insn *out,
                 bool *swap)
{
    enum fgs__ptx_type t =
        (enum fgs__ptx_type)src->type[src->op == FGS__OP_SET];
    bool is_float = fgs__ptx_types[t].kind == FGS__K_FLOAT ||
        fgs__ptx_types[t].kind == FGS__K_PACK;
    size_t k, n = sizeof forms / sizeof *forms;
    unsigned base, flip;

    for (k = 0; k < n && forms[k].cmp != src->mod[FGS__G_CMP]; k++)
        ;
    if (k == n)
        return false;
    base = forms[k].base;
    flip = forms[k].flip;
    *swap = forms[k].swap;
    /* Without NaN the opposite of equal is all that is needed. */
    if (base == NE && !is_float) {
        base = EQ;
        flip = !flip;
    }
    out->aux[AUX_FLIP] = flip ? UINT32_MAX : 0;
    if (src->mod[FGS__G_FTZ])
        out->run = find_row(ftz_rows, sizeof ftz_rows / sizeof *ftz_rows,
                            FGS__OP_SETP, t, base);
    else
        out->run = find_row(rows, sizeof rows / sizeof *rows,
                            FGS__OP_SETP, t, base);
    return out->run != NULL;
}

static bool destinations(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_operand *o,
                         struct fgs__sim_insn *out)
{
    bool pair = o->kind == FGS__O_PAIR;

    out->op[SETP_P] =
        fgs__sim_ref_dst(d, pair ? &o->child[0] : o, FGS__T_PRED);
    if (!pair || o->child[1].kind == FGS__O_SINK)
        return out->op[SETP_P] != FGS__SIM_NOREF;
    out->op[SETP_Q] = fgs__sim_ref_dst(d, &o->child[1], FGS__T_PRED);
    return out->op[SETP_P] != FGS__SIM_NOREF &&
        out->op[SETP_Q] != FGS__SIM_NOREF;
}

/* set: integers get all ones, floats 1. */
static bool set_destination(struct fgs__sim_decoder *d,
                            const struct fgs__ptx_insn *src,
                            struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    bool pair = fgs__ptx_types[src->type[1]].kind == FGS__K_PACK;

    out->imm = t == FGS__T_F32                          ? 0x3f800000
        : t == FGS__T_F16 || t == FGS__T_F16X2          ? 0x3c00
        : t == FGS__T_BF16 || t == FGS__T_BF16X2        ? 0x3f80
                                                        : UINT32_MAX;
    out->aux[AUX_SET] = pair               ? SET_PAIR
        : fgs__ptx_types[t].bits == 16 ? SET_16
                                       : SET_32;
    out->op[SETP_P] = fgs__sim_ref_dst(d, &src->operand[0], t);
    return out->op[SETP_P] != FGS__SIM_NOREF;
}

bool FGS__LEVEL(fgs__sim_sel_setp)(struct fgs__sim_decoder *d,
                                   const struct fgs__ptx_insn *src,
                                   struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_CMP, FGS__G_BOOL, FGS__G_FTZ };
    enum fgs__ptx_type t =
        (enum fgs__ptx_type)src->type[src->op == FGS__OP_SET];
    bool swap;

    if (src->op == FGS__OP_SET && src->types == 1) /* packed integers */
        return FGS__FAR(fgs__sim_sel_pack)(d, src, out);
    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (!pick(src, out, &swap))
        return false;
    out->aux[AUX_BOOL] = src->mod[FGS__G_BOOL];
    if (src->operands != (out->aux[AUX_BOOL] ? 4 : 3))
        return false;
    if (src->op == FGS__OP_SET) {
        if (!set_destination(d, src, out))
            return false;
    } else {
        out->aux[AUX_SET] = fgs__ptx_types[t].kind == FGS__K_PACK ? SETP_PAIR
                                                                  : 0;
        if (!destinations(d, &src->operand[0], out))
            return false;
    }
    out->op[SETP_A] = fgs__sim_ref_of(d, &src->operand[swap ? 2 : 1], t);
    out->op[SETP_B] = fgs__sim_ref_of(d, &src->operand[swap ? 1 : 2], t);
    if (out->aux[AUX_BOOL]) {
        out->op[SETP_C] =
            fgs__sim_ref_pred(d, &src->operand[3], &out->aux[AUX_C_FLIP]);
        if (out->op[SETP_C] == FGS__SIM_NOREF)
            return false;
    }
    return out->op[SETP_A] != FGS__SIM_NOREF &&
        out->op[SETP_B] != FGS__SIM_NOREF;
}
