/* mma_float.h -- products of f16, bf16 and tf32 as a GPU adds them
 *
 * The tensor cores do not round each step.  A step adds K products and C at
 * once (published measurements: Fasi et al. 2021; Xie et al. 2025, "MMA-Sim";
 * Khattak and Mikaitis 2025), here as those of sm_90 do it:
 *
 *   - a product is exact; its exponent is the sum of those of its factors, its
 *     significand is in [1, 4) and is not normalized;
 *   - all terms are aligned to the largest exponent, never below 2^-133, and
 *     cut off 25 bits behind its point (towards zero);
 *   - the sum of what is left is exact; it becomes f32 by cutting off, or f16
 *     by rounding to nearest even.
 *
 * An instruction is one step of its whole K (up to 16 elements of 16 bits).
 * A sparse one is a step of the elements that A has.
 */
#ifndef FGS_SIM_MMA_FLOAT_H
#define FGS_SIM_MMA_FLOAT_H

#include "sim/mma.h"

enum { STEP_K = 16, B_K = 64, FRACTION = 25, E_ZERO = -133, NONE = -4096 };

struct float_tile {
    float a[STEP_K][TILE_M], b[TILE_N][B_K];
    int32_t ea[STEP_K][TILE_M], eb[TILE_N][B_K]; /* NONE = zero               */
    float c[TILE_N][TILE_M];
    int32_t ec[TILE_N][TILE_M];
    double sum[TILE_N][TILE_M];
    uint32_t special; /* an infinity or NaN in A, B or C */
    const uint8_t *at; /* columns of A, FGS__SIM_SPARSE a row; NULL = all */
};

/* Kinds of elements; the bits lie at the low end. */
enum { KIND_F16, KIND_BF16, KIND_TF32, KIND_F32 };

/* Values and exponents of `count` elements; not 0 when one is no number. */
static FGS__INLINE uint32_t decode(const l_u32 *v, int count, int kind,
                                   float *x, int32_t *e)
{
    const int32_t top = kind == KIND_F16 ? 31 : 255, bias = top >> 1;
    uint32_t special = 0;
    int i;

    FGS__EACH
    for (i = 0; i < count; i++) {
        uint32_t u = kind == KIND_BF16   ? v[i] << 16
                     : kind == KIND_TF32 ? v[i] & 0xffffe000
                                         : v[i];
        uint32_t magnitude = kind == KIND_F16 ? u & 0x7fff : u << 1;
        int32_t field = (int32_t)(kind == KIND_F16 ? u >> 10 & 31
                                                   : u >> 23 & 255);
        int32_t exponent = (field ? field : 1) - bias;

        x[i] = kind == KIND_F16 ? float_of_f16(u) : bits_float(u);
        e[i] = magnitude ? exponent : NONE;
        special |= field == top ? 1u : 0u;
    }
    return special;
}

/* Half h of each word. */
static FGS__INLINE void halves(l_u32 *out, const l_u32 *in, int h)
{
    int l;

    FGS__EACH
    for (l = 0; l < LANES; l++)
        out[l] = in[l] >> 16 * h & 0xffff;
}

static FGS__INLINE void load_a(struct float_tile *t, const l_u32 *reg, int r,
                               int kind)
{
    FGS__ALIGN(64) l_u32 col[LANES], part[LANES];
    FGS__ALIGN(64) float x[LANES];
    FGS__ALIGN(64) int32_t ex[LANES];
    int per = kind == KIND_TF32 ? 1 : 2;

    to_columns(col, reg);
    for (int e = 0; e < per; e++) {
        if (per == 2)
            halves(part, col, e);
        t->special |= decode(per == 2 ? part : col, LANES, kind, x, ex);
        for (int q = 0; q < QUAD; q++) {
            int k = (r / 2 * QUAD + q) * per + e, m = GROUP * (r & 1);

            memcpy(&t->a[k][m], x + q * GROUP, GROUP * sizeof *x);
            memcpy(&t->ea[k][m], ex + q * GROUP, GROUP * sizeof *ex);
        }
    }
}

static FGS__INLINE void load_b(struct float_tile *t, const l_u32 *reg, int r,
                               int kind)
{
    FGS__ALIGN(64) l_u32 wide[2 * LANES];
    FGS__ALIGN(64) float x[2 * LANES];
    FGS__ALIGN(64) int32_t ex[2 * LANES];
    const l_u16 *half = (const l_u16 *)reg;
    int n = kind == KIND_TF32 ? QUAD : 2 * QUAD; /* of a column, neighbours */
    int i;

    FGS__EACH
    for (i = 0; i < GROUP * n; i++)
        wide[i] = kind == KIND_TF32 ? reg[i] : half[i];
    t->special |= decode(wide, GROUP * n, kind, x, ex);
    for (int g = 0; g < GROUP; g++) {
        memcpy(&t->b[g][r * n], x + g * n, (size_t)n * sizeof *x);
        memcpy(&t->eb[g][r * n], ex + g * n, (size_t)n * sizeof *ex);
    }
}

/* 8 rows of column n from row m on. */
static FGS__INLINE void put_sums(struct float_tile *t, int n, int m,
                                 const l_u32 *v, int kind)
{
    t->special |= decode(v, GROUP, kind, &t->c[n][m], &t->ec[n][m]);
}

static FGS__INLINE void load_c(struct float_tile *t, const l_u32 *reg, int r,
                               bool half)
{
    FGS__ALIGN(64) l_u32 col[LANES], part[LANES];

    to_columns(col, reg);
    for (int e = 0; e < (half ? 2 : 1); e++) {
        if (half)
            halves(part, col, e);
        for (int q = 0; q < QUAD; q++) {
            if (half)
                put_sums(t, 2 * q + e, GROUP * r, part + q * GROUP, KIND_F16);
            else
                put_sums(t, 2 * q + (r & 1), GROUP * (r / 2), col + q * GROUP,
                         KIND_F32);
        }
    }
}

static void load_sums(const struct fgs__sim_warp *w, struct float_tile *t,
                      const fgs__sim_ref *c, bool half)
{
    for (int r = 0; r < (half ? 2 : 4); r++)
        load_c(t, mma_reg(w, c[r]), r, half);
}

/* ---------------------------------------------------------------- steps -- */

static FGS__INLINE double power(int32_t e)
{
    return bits_double((uint64_t)(uint32_t)(e + 1023) << 52);
}

/* 2^e, as near to it as f32 can. */
static FGS__INLINE float power_f32(int32_t e)
{
    e = e < -126 ? -126 : e > 127 ? 127 : e;
    return bits_float((uint32_t)(e + 127) << 23);
}

static FGS__INLINE int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/*
 * All factors are finite and no product leaves f32's normal numbers, so a
 * product scaled to the common exponent is cut off by its conversion.  Where
 * the scale is too large for f32 all products are zero.
 */
static FGS__INLINE void step_fast(struct float_tile *t, int k)
{
    for (int n = 0; n < TILE_N; n++) {
        int m;

        FGS__EACH
        for (m = 0; m < TILE_M; m++) {
            int32_t e = larger(t->ec[n][m], E_ZERO), sum = 0;
            float scale;
            double c;

            for (int q = 0; q < k; q++)
                e = larger(e, t->ea[q][m] + t->eb[n][q]);
            scale = power_f32(FRACTION - e);
            for (int q = 0; q < k; q++)
                sum += (int32_t)(t->a[q][m] * t->b[n][q] * scale);
            c = (double)t->c[n][m] * power(FRACTION - e);
            t->sum[n][m] =
                ((double)sum + (double)(int32_t)c) * power(e - FRACTION);
        }
    }
}

static int64_t cut(double x, int32_t e, int32_t top)
{
    return e == NONE ? 0 : (int64_t)(x * power(FRACTION - top));
}

/* Any values: a NaN, or infinities of both signs, make a NaN. */
static double step_one(const struct float_tile *t, int n, int m, int k)
{
    double c = (double)t->c[n][m], all = c, product[STEP_K];
    int32_t top = larger(t->ec[n][m], E_ZERO), e[STEP_K];
    int64_t sum;

    for (int q = 0; q < k; q++) {
        int row = t->at ? t->at[m * FGS__SIM_SPARSE + q] : q;

        product[q] = (double)t->a[q][m] * (double)t->b[n][row];
        e[q] = t->ea[q][m] + t->eb[n][row];
        all += product[q];
        top = larger(top, e[q]);
    }
    if (t->special && !(__builtin_fabs(all) <= 0x1p1023))
        return all;
    sum = cut(c, t->ec[n][m], top);
    for (int q = 0; q < k; q++)
        sum += cut(product[q], larger(e[q], NONE), top);
    return (double)sum * power(top - FRACTION);
}

static void step_slow(struct float_tile *t, int k)
{
    for (int n = 0; n < TILE_N; n++)
        for (int m = 0; m < TILE_M; m++)
            t->sum[n][m] = step_one(t, n, m, k);
}

/* Exponents of products that step_fast can take: not those of bf16 and tf32
 * at the ends of their range. */
enum { PRODUCT_LOW = -100, PRODUCT_HIGH = 120 };

static bool is_wide(const struct float_tile *t, int k)
{
    int32_t low[2] = { 0, 0 }, high[2] = { 0, 0 };

    for (int q = 0; q < k; q++)
        for (int m = 0; m < TILE_M; m++) {
            int32_t e = t->ea[q][m];

            low[0] = e != NONE && e < low[0] ? e : low[0];
            high[0] = larger(high[0], e);
        }
    for (int n = 0; n < TILE_N; n++)
        for (int q = 0; q < k; q++) {
            int32_t e = t->eb[n][q];

            low[1] = e != NONE && e < low[1] ? e : low[1];
            high[1] = larger(high[1], e);
        }
    return low[0] + low[1] < PRODUCT_LOW || high[0] + high[1] > PRODUCT_HIGH;
}

static FGS__UNUSED void step(struct float_tile *t, int k, bool wide)
{
    if (t->special || t->at || (wide && is_wide(t, k)))
        step_slow(t, k);
    else if (k == 4)
        step_fast(t, 4);
    else if (k == 8)
        step_fast(t, 8);
    else
        step_fast(t, 16);
}

/* -------------------------------------------------------------- results -- */

/* Cut off to f32; overflow is an infinity. */
static FGS__INLINE uint32_t f32_cut(double v)
{
    double normal = bits_double(double_bits(v) & ~(uint64_t)0x1fffffff);
    bool sub = __builtin_fabs(v) < 0x1p-126;
    double small = (double)(int32_t)((sub ? v : 0) * 0x1p149) * 0x1p-149;
    uint32_t u = float_bits((float)(sub ? small : normal));

    return v == v ? u : 0x7fffffff;
}

/* A negative sum that is nothing in f16 gives +0 (seen on an H200). */
static FGS__INLINE uint32_t f16_round(double v)
{
    uint32_t u = f16_of_float(odd_float(v));

    return v != v ? NAN_HALF : u == 0x8000 && v != 0 ? 0 : u;
}

static void store_f32(const struct fgs__sim_warp *w, const struct float_tile *t,
                      const fgs__sim_ref *d)
{
    FGS__ALIGN(64) l_u32 bits[TILE_N][TILE_M], col[LANES];

    for (int n = 0; n < TILE_N; n++) {
        int m;

        FGS__EACH
        for (m = 0; m < TILE_M; m++)
            bits[n][m] = f32_cut(t->sum[n][m]);
    }
    for (int r = 0; r < 4; r++) {
        for (int q = 0; q < QUAD; q++)
            memcpy(col + q * GROUP, &bits[2 * q + (r & 1)][GROUP * (r / 2)],
                   GROUP * sizeof *col);
        from_columns(fgs__sim_at(w, d[r]), col);
    }
}

static void store_f16(const struct fgs__sim_warp *w, const struct float_tile *t,
                      const fgs__sim_ref *d)
{
    FGS__ALIGN(64) l_u32 col[LANES];

    for (int r = 0; r < 2; r++) {
        for (int q = 0; q < QUAD; q++) {
            int g;

            FGS__EACH
            for (g = 0; g < GROUP; g++)
                col[q * GROUP + g] =
                    f16_round(t->sum[2 * q][GROUP * r + g]) |
                    f16_round(t->sum[2 * q + 1][GROUP * r + g]) << 16;
        }
        from_columns(fgs__sim_at(w, d[r]), col);
    }
}

static void store(const struct fgs__sim_warp *w, const struct float_tile *t,
                  const fgs__sim_ref *d, bool half)
{
    if (half)
        store_f16(w, t, d);
    else
        store_f32(w, t, d);
}

#endif
