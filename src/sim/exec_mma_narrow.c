/* exec_mma_narrow.c -- products of 8, 6 and 4 bits as sm_120 computes them
 *
 * No GPU here has these instructions (QMMA, OMMA in sm_120a code); the steps
 * are those that Xie et al. 2025 ("MMA-Sim", RTX Blackwell) found to give the
 * bits of one.  What they have in common with those of f16 is in mma_float.h; a
 * step adds all K products and C at once:
 *
 *   - bytes (kind f8f6f4, mxf8f6f4): a product is exact, its exponent is the
 *     sum of those of its factors and, with scales, of the two ue8m0;
 *   - nibbles (mxf4, mxf4nvf4): 16 products are added exactly and multiplied
 *     with the significands of their two scales, which is exact too; the
 *     exponent of such a term is the sum of those of the scales alone;
 *   - all terms are cut off 25 (nibbles: 35) bits behind the point of the
 *     largest exponent; the sum is exact and becomes f32 by cutting off, or f16
 *     by rounding to nearest even.
 *
 * Where nothing is published it is as an H200 does it with f16: no exponent is
 * below 2^-133, a NaN or infinities of both signs make the one NaN, the unused
 * bits around an element are not looked at.  A sparse product is a step of the
 * elements that A has, as those of f16 are on an H200; of scales those of its
 * columns before packing.
 */
#include "sim/mma_float.h"

enum { BYTES_K = 32, BYTES_ROWS = 64, PART = 16, PARTS = 4, NIBBLES_ROWS = 128,
       FRACTION_NIBBLES = 35 };

/* C, and D in the making; what decode and store of mma_float.h take. */
static void begin(const struct fgs__sim_warp *w, struct float_tile *t,
                  const fgs__sim_ref *c, bool half)
{
    t->special = 0;
    load_sums(w, t, c, half);
}

/* ---------------------------------------------------------------- bytes -- */

struct bytes_tile {
    float a[BYTES_K][TILE_M], b[TILE_N][BYTES_ROWS];
    int32_t ea[BYTES_K][TILE_M], eb[TILE_N][BYTES_ROWS];
    uint32_t special;
};

/* How an element lies in its byte. */
struct narrow_byte {
    int shift;               /* left of it */
    uint32_t sign, magnitude;
    int man, bias;
    uint32_t inf, nan;       /* least codes of those, or above all */
};

static struct narrow_byte byte_of(unsigned type)
{
    switch (type) {
    case FGS__T_E4M3:
        return (struct narrow_byte){ 0, 0x80, 0x7f, 3, 7, 0x7f, 0x7f };
    case FGS__T_E5M2:
        return (struct narrow_byte){ 0, 0x80, 0x7f, 2, 15, 0x7c, 0x7d };
    case FGS__T_E3M2:
        return (struct narrow_byte){ 0, 0x20, 0x1f, 2, 3, 0x80, 0x80 };
    case FGS__T_E2M3:
        return (struct narrow_byte){ 0, 0x20, 0x1f, 3, 1, 0x80, 0x80 };
    default:
        return (struct narrow_byte){ 2, 0x08, 0x07, 1, 1, 0x80, 0x80 };
    }
}

/* Byte h of each word as value and exponent; not 0 when one is no number.  With
 * its exponent field where that of f32 is, a code is the number but for the
 * bias, subnormals too. */
static FGS__INLINE uint32_t decode_bytes(const l_u32 *v, int h,
                                         struct narrow_byte f, float *x,
                                         int32_t *e)
{
    const float scale = power_f32(127 - f.bias);
    uint32_t special = 0;
    int l;

    FGS__EACH
    for (l = 0; l < LANES; l++) {
        uint32_t u = v[l] >> (8 * h + f.shift), m = u & f.magnitude;
        int32_t field = (int32_t)(m >> f.man);
        uint32_t word = float_bits(bits_float(m << (23 - f.man)) * scale);

        word = m >= f.inf ? 0x7f800000 : word;
        word = m >= f.nan ? 0x7fffffff : word;
        word |= u & f.sign ? 0x80000000 : 0;
        x[l] = bits_float(word);
        e[l] = m ? (field ? field : 1) - f.bias : NONE;
        special |= m >= f.inf ? 1u : 0u;
    }
    return special;
}

static void bytes_a(struct bytes_tile *t, const l_u32 *reg, int r,
                    struct narrow_byte f)
{
    FGS__ALIGN(64) l_u32 col[LANES];
    FGS__ALIGN(64) float x[LANES];
    FGS__ALIGN(64) int32_t ex[LANES];

    to_columns(col, reg);
    for (int h = 0; h < 4; h++) {
        t->special |= decode_bytes(col, h, f, x, ex);
        for (int q = 0; q < QUAD; q++) {
            int k = (r / 2 * QUAD + q) * 4 + h, m = GROUP * (r & 1);

            memcpy(&t->a[k][m], x + q * GROUP, GROUP * sizeof *x);
            memcpy(&t->ea[k][m], ex + q * GROUP, GROUP * sizeof *ex);
        }
    }
}

static void bytes_b(struct bytes_tile *t, const l_u32 *reg, int r,
                    struct narrow_byte f)
{
    FGS__ALIGN(64) float x[LANES];
    FGS__ALIGN(64) int32_t ex[LANES];

    for (int h = 0; h < 4; h++) {
        t->special |= decode_bytes(reg, h, f, x, ex);
        for (int l = 0; l < LANES; l++) {
            int k = r * 16 + l % QUAD * 4 + h;

            t->b[l / QUAD][k] = x[l];
            t->eb[l / QUAD][k] = ex[l];
        }
    }
}

/* Column n of B beside each row of A: as it is, or what a sparse row takes. */
static void bytes_beside(const struct bytes_tile *t, const uint8_t *at, int n,
                         int k, float b[][TILE_M], int32_t e[][TILE_M])
{
    for (int q = 0; q < k; q++)
        for (int m = 0; m < TILE_M; m++) {
            int row = at ? at[m * FGS__SIM_SPARSE + q] : q;

            b[q][m] = t->b[n][row];
            e[q][m] = t->eb[n][row];
        }
}

/* A ue8m0. */
static int32_t exponent_of(uint32_t code)
{
    return (int32_t)code - 127;
}

static double value_of(uint32_t code)
{
    return code == 0xff ? (double)NAN_F32 : power(exponent_of(code));
}

/* Row m where a NaN or an infinity is about: *out is that, or false. */
static bool is_special(const struct bytes_tile *t, float b[][TILE_M],
                       double scale, double c, int m, int k, double *out)
{
    double all = c;

    for (int q = 0; q < k; q++)
        all += (double)t->a[q][m] * (double)b[q][m] * scale;
    *out = all;
    return !(__builtin_fabs(all) <= 0x1p1023);
}

/* Adds the products of row m; all rows of a column are done at once where each
 * is finite, so that it becomes vectors. */
static FGS__INLINE void add_products(const struct bytes_tile *t,
                                     float b[][TILE_M], const double *up,
                                     double *sum, int k, int from, int to)
{
    for (int q = 0; q < k; q++) {
        int m;

        FGS__EACH
        for (m = from; m < to; m++)
            sum[m] += (double)(int32_t)((double)(t->a[q][m] * b[q][m]) * up[m]);
    }
}

static void bytes_column(const struct bytes_tile *t, struct float_tile *d,
                         const struct fgs__sim_product *p, int n, int k)
{
    float b[BYTES_K][TILE_M];
    int32_t e[BYTES_K][TILE_M], top[TILE_M];
    double up[TILE_M], sum[TILE_M], value[TILE_M];
    bool out[TILE_M] = { false };
    int m;

    bytes_beside(t, p->at, n, k, b, e);
    for (m = 0; m < TILE_M; m++)
        top[m] = NONE;
    for (int q = 0; q < k; q++) {
        FGS__EACH
        for (m = 0; m < TILE_M; m++)
            top[m] = larger(top[m], t->ea[q][m] + e[q][m]);
    }
    for (m = 0; m < TILE_M; m++) {
        uint32_t sa = p->scaled ? p->scaled->a[m][0] : 127;
        uint32_t sb = p->scaled ? p->scaled->b[n][0] : 127;
        int32_t scale = exponent_of(sa) + exponent_of(sb);
        double c = (double)d->c[n][m];

        out[m] = d->special && is_special(t, b, value_of(sa) * value_of(sb), c,
                                          m, k, &value[m]);
        top[m] = larger(larger(top[m] + scale, d->ec[n][m]), E_ZERO);
        up[m] = power(FRACTION - top[m] + scale);
        sum[m] = out[m] ? 0 : (double)cut(c, d->ec[n][m], top[m]);
    }
    if (!d->special)
        add_products(t, b, up, sum, k, 0, TILE_M);
    for (m = 0; m < TILE_M; m++) {
        if (d->special && !out[m])
            add_products(t, b, up, sum, k, m, m + 1);
        d->sum[n][m] = out[m] ? value[m] : sum[m] * power(top[m] - FRACTION);
    }
}

static bool nan_scale(const struct fgs__sim_product *p)
{
    uint8_t nan = p->ue4m3 ? 0x7f : 0xff;

    for (unsigned k = 0; p->scaled && k < p->scales; k++)
        for (int g = 0; g < TILE_M; g++)
            if ((p->scaled->a[g][k] & nan) == nan ||
                (p->scaled->b[g % TILE_N][k] & nan) == nan)
                return true;
    return false;
}

MMA_TILE(FGS__LEVEL(fgs__mma_bytes))
{
    bool half = p->type[FGS__MATRIX_D] == FGS__T_F16;
    struct narrow_byte fa = byte_of(p->type[FGS__MATRIX_A]);
    struct narrow_byte fb = byte_of(p->type[FGS__MATRIX_B]);
    int k = p->at ? p->k / 2 : p->k;
    struct bytes_tile t;
    struct float_tile sums;

    t.special = 0;
    begin(w, &sums, c, half);
    for (int r = 0; r < k / 8; r++)
        bytes_a(&t, mma_reg(w, a[r]), r, fa);
    for (int r = 0; r < p->k / 16; r++)
        bytes_b(&t, mma_reg(w, b[r]), r, fb);
    sums.special |= t.special | (nan_scale(p) ? 1u : 0u);
    for (int n = 0; n < TILE_N; n++)
        bytes_column(&t, &sums, p, n, k);
    store(w, &sums, d, half);
}

/* -------------------------------------------------------------- nibbles -- */

/* Elements times two, which are integers. */
struct nibbles_tile {
    int32_t a[PART * PARTS][TILE_M], b[TILE_N][NIBBLES_ROWS];
};

/* 0 1 2 3 4 6 8 12 */
static FGS__INLINE int32_t nibble(uint32_t u)
{
    uint32_t e = u >> 1 & 3, m = u & 1;
    int32_t v = (int32_t)(e ? (2 + m) << (e - 1) : m);

    return u & 8 ? -v : v;
}

static void nibbles_load(const struct fgs__sim_warp *w, struct nibbles_tile *t,
                         const struct fgs__sim_product *p,
                         const fgs__sim_ref *a, const fgs__sim_ref *b)
{
    for (int r = 0; r < 4; r++)
        for (int l = 0; l < LANES; l++)
            for (int h = 0; h < 8; h++)
                t->a[r / 2 * 32 + l % QUAD * 8 + h]
                    [l / QUAD + GROUP * (r & 1)] =
                        nibble(mma_reg(w, a[r])[l] >> 4 * h);
    for (int r = 0; r < p->k / 32; r++)
        for (int l = 0; l < LANES; l++)
            for (int h = 0; h < 8; h++)
                t->b[l / QUAD][r * 32 + l % QUAD * 8 + h] =
                    nibble(mma_reg(w, b[r])[l] >> 4 * h);
}

/* A scale as significand times eight and exponent; subnormals of ue4m3 keep the
 * least one. */
struct split {
    int32_t man, exp;
    bool nan;
};

static struct split split_of(uint32_t code, bool ue4m3)
{
    int32_t e = (int32_t)(code >> 3 & 15), m = (int32_t)(code & 7);

    if (!ue4m3)
        return (struct split){ 8, exponent_of(code), code == 0xff };
    return (struct split){ e ? 8 + m : m, (e ? e : 1) - 7,
                           (code & 0x7f) == 0x7f };
}

/* One element of D. */
static double nibbles_one(const struct nibbles_tile *t,
                          const struct float_tile *d,
                          const struct fgs__sim_product *p, int n, int m)
{
    int32_t term[PARTS], e[PARTS], top = larger(d->ec[n][m], E_ZERO);
    double c = (double)d->c[n][m], sum;

    for (int g = 0; g < PARTS; g++) {
        int k = g * p->scales / PARTS;
        struct split sa = split_of(p->scaled->a[m][k], p->ue4m3);
        struct split sb = split_of(p->scaled->b[n][k], p->ue4m3);
        int32_t dot = 0;

        if (sa.nan || sb.nan)
            return (double)NAN_F32;
        for (int q = g * PART; q < (g + 1) * PART; q++) {
            int row = p->at ? p->at[m * FGS__SIM_SPARSE + q] : q;

            dot += t->a[q][m] * t->b[n][row];
        }
        term[g] = dot * sa.man * sb.man;
        e[g] = term[g] ? sa.exp + sb.exp : NONE;
        top = larger(top, e[g]);
    }
    if (!(__builtin_fabs(c) <= 0x1p1023))
        return c;
    sum = d->ec[n][m] == NONE ? 0
        : __builtin_trunc(c * power(FRACTION_NIBBLES - top));
    for (int g = 0; g < PARTS; g++)
        if (term[g]) /* 1/4 of the elements, 1/64 of the scales */
            sum += __builtin_trunc((double)term[g] *
                                   power(FRACTION_NIBBLES - 8 - top + e[g]));
    return sum * power(top - FRACTION_NIBBLES);
}

MMA_TILE(FGS__LEVEL(fgs__mma_nibbles))
{
    struct nibbles_tile t;
    struct float_tile sums;

    begin(w, &sums, c, false);
    nibbles_load(w, &t, p, a, b);
    for (int n = 0; n < TILE_N; n++)
        for (int m = 0; m < TILE_M; m++)
            sums.sum[n][m] = nibbles_one(&t, &sums, p, n, m);
    store(w, &sums, d, false);
}
