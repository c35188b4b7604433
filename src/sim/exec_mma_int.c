/* exec_mma_int.c -- products of integers, bits and f64: exact, or IEEE */
#include "sim/mma.h"
#include "sim/float.h"

/* ------------------------------------------------------------- integers -- */

enum { INT_K = 128 };

struct int_tile {
    /* Sums of up to 64 products of bytes are exact in f32. */
    float a[INT_K][TILE_M], b[TILE_N][INT_K];
    int32_t c[TILE_N][TILE_M];
};

static FGS__INLINE float int_element(uint32_t v, int shift, int bits, bool sign)
{
    uint32_t up = v << (32 - bits - shift);

    return (float)(sign ? (int32_t)up >> (32 - bits)
                        : (int32_t)(up >> (32 - bits)));
}

static FGS__INLINE void load_int_a(struct int_tile *t, const l_u32 *reg, int r,
                                   int m, int bits, bool sign)
{
    FGS__ALIGN(64) l_u32 col[LANES];
    int per = 32 / bits;
    int row = m == GROUP ? 0 : GROUP * (r & 1);
    int first = (m == GROUP ? r : r / 2) * QUAD * per;

    to_columns(col, reg);
    for (int q = 0; q < QUAD; q++)
        for (int e = 0; e < per; e++) {
            float *to = &t->a[first + q * per + e][row];
            int g;

            FGS__EACH
            for (g = 0; g < GROUP; g++)
                to[g] = int_element(col[q * GROUP + g], e * bits, bits, sign);
        }
}

/* A column's elements are neighbours in the registers of its four lanes. */
static FGS__INLINE void load_int_b(struct int_tile *t, const l_u32 *reg, int r,
                                   int bits, bool sign)
{
    const l_u8 *byte = (const l_u8 *)reg;
    int half = 8 / bits; /* elements of a byte */

    for (int g = 0; g < GROUP; g++)
        for (int h = 0; h < half; h++) {
            float *to = &t->b[g][r * 16 * half + h];
            int j;

            FGS__EACH
            for (j = 0; j < 16; j++)
                to[j * half] = int_element(byte[g * 16 + j], h * bits, bits,
                                           sign);
        }
}

static FGS__INLINE void load_ints(const struct fgs__sim_warp *w,
                                  struct int_tile *t, const fgs__sim_ref *a,
                                  const fgs__sim_ref *b, int m, int k, int bits,
                                  bool a_sign, bool b_sign, const uint8_t *at)
{
    int block = QUAD * 32 / bits;

    for (int r = 0; r < (at ? k / 2 : k) * m / block / GROUP; r++)
        load_int_a(t, mma_reg(w, a[r]), r, m, bits, a_sign);
    for (int r = 0; r < k / block; r++)
        load_int_b(t, mma_reg(w, b[r]), r, bits, b_sign);
}

static void load_sums(const struct fgs__sim_warp *w, struct int_tile *t,
                      const fgs__sim_ref *c, int m)
{
    FGS__ALIGN(64) l_u32 col[LANES];

    for (int r = 0; r < m / 4; r++) {
        to_columns(col, mma_reg(w, c[r]));
        for (int q = 0; q < QUAD; q++)
            memcpy(&t->c[2 * q + (r & 1)][GROUP * (r / 2)], col + q * GROUP,
                   GROUP * sizeof *col);
    }
}

static void store_sums(const struct fgs__sim_warp *w, const struct int_tile *t,
                       const fgs__sim_ref *d, int m)
{
    FGS__ALIGN(64) l_u32 col[LANES];

    for (int r = 0; r < m / 4; r++) {
        for (int q = 0; q < QUAD; q++)
            memcpy(col + q * GROUP, &t->c[2 * q + (r & 1)][GROUP * (r / 2)],
                   GROUP * sizeof *col);
        from_columns(fgs__sim_at(w, d[r]), col);
    }
}

static FGS__INLINE int32_t int_sum(int32_t c, int32_t s, bool saturate)
{
    int32_t wrapped = (int32_t)((uint32_t)c + (uint32_t)s);
    bool over = ((c ^ wrapped) & (s ^ wrapped)) < 0;

    return saturate && over ? (c < 0 ? INT32_MIN : INT32_MAX) : wrapped;
}

static void add_products(struct int_tile *t, int k, bool saturate)
{
    for (int n = 0; n < TILE_N; n++) {
        float s[TILE_M] = { 0 };
        int m;

        /* k is a multiple of 16. */
        for (int q = 0; q < k; q += 8) {
            const float *b = &t->b[n][q];

            FGS__EACH
            for (m = 0; m < TILE_M; m++)
                s[m] += t->a[q][m] * b[0] + t->a[q + 1][m] * b[1] +
                    t->a[q + 2][m] * b[2] + t->a[q + 3][m] * b[3] +
                    t->a[q + 4][m] * b[4] + t->a[q + 5][m] * b[5] +
                    t->a[q + 6][m] * b[6] + t->a[q + 7][m] * b[7];
        }
        for (m = 0; m < TILE_M; m++)
            t->c[n][m] = int_sum(t->c[n][m], (int32_t)s[m], saturate);
    }
}

/* The elements of a sparse A to their columns, zeros between them. */
static void spread(struct int_tile *t, const uint8_t *at, int k)
{
    float a[FGS__SIM_SPARSE][TILE_M];

    memcpy(a, t->a, (size_t)k / 2 * sizeof *a);
    memset(t->a, 0, (size_t)k * sizeof *a);
    for (int q = 0; q < k / 2; q++)
        for (int m = 0; m < TILE_M; m++)
            t->a[at[m * FGS__SIM_SPARSE + q]][m] = a[q][m];
}

MMA_TILE(FGS__LEVEL(fgs__mma_int))
{
    unsigned ta = p->type[FGS__MATRIX_A], tb = p->type[FGS__MATRIX_B];
    bool a_sign = ta == FGS__T_S8 || ta == FGS__T_S4;
    bool b_sign = tb == FGS__T_S8 || tb == FGS__T_S4;
    int m = p->m == GROUP ? GROUP : TILE_M;
    struct int_tile t;

    if (m == GROUP)
        memset(&t, 0, sizeof t);
    if (ta == FGS__T_S8 || ta == FGS__T_U8)
        load_ints(w, &t, a, b, m, p->k, 8, a_sign, b_sign, p->at);
    else
        load_ints(w, &t, a, b, m, p->k, 4, a_sign, b_sign, p->at);
    if (p->at)
        spread(&t, p->at, p->k);
    load_sums(w, &t, c, m);
    add_products(&t, p->k, p->saturate);
    store_sums(w, &t, d, m);
}

/* ----------------------------------------------------------------- bits -- */

MMA_TILE(FGS__LEVEL(fgs__mma_bits))
{
    struct int_tile t;
    int m = p->m, words = p->k / LANES;
    l_u32 x[TILE_M][LANES / QUAD], y[TILE_N][LANES / QUAD];

    load_sums(w, &t, c, m);
    for (int r = 0; r < m * words / LANES; r++)
        for (int l = 0; l < LANES; l++)
            x[l / QUAD + (m == GROUP ? 0 : GROUP * (r & 1))]
             [l % QUAD + QUAD * (r / (m / GROUP))] = mma_reg(w, a[r])[l];
    for (int r = 0; r < words / QUAD; r++)
        for (int l = 0; l < LANES; l++)
            y[l / QUAD][l % QUAD + QUAD * r] = mma_reg(w, b[r])[l];
    for (int n = 0; n < TILE_N; n++)
        for (int k = 0; k < m; k++) {
            uint32_t sum = (uint32_t)t.c[n][k];

            for (int q = 0; q < words; q++)
                sum += (uint32_t)__builtin_popcount(
                    p->xor_bits ? x[k][q] ^ y[n][q] : x[k][q] & y[n][q]);
            t.c[n][k] = (int32_t)sum;
        }
    store_sums(w, &t, d, m);
}

/* ------------------------------------------------------------------ f64 -- */

enum { F64_K = 16 };

struct f64_tile {
    double a[F64_K][TILE_M], b[TILE_N][F64_K], c[TILE_N][TILE_M];
};

static FGS__INLINE double fma_f64(double x, double y, double z)
{
    return fix_f64(y, fix_f64(z, fix_f64(x, __builtin_fma(x, y, z))));
}

/* One fused step after the other from C on, k upwards; of several NaN the one
 * of fma (both seen on an H200). */
static void add_f64(struct f64_tile *t, int k)
{
    for (int n = 0; n < TILE_N; n++)
        for (int q = 0; q < k; q++)
            for (int m = 0; m < TILE_M; m++)
                t->c[n][m] = fma_f64(t->a[q][m], t->b[n][q], t->c[n][m]);
}

MMA_TILE(FGS__LEVEL(fgs__mma_f64))
{
    struct f64_tile t;
    int m = p->m, k = p->k, l, r, mode = host_round(p->round);

    if (m == GROUP)
        memset(&t, 0, sizeof t);
    for (r = 0; r < m * k / LANES; r++)
        for (l = 0; l < LANES; l++)
            t.a[l % QUAD + QUAD * (r / (m / GROUP))]
               [l / QUAD + (m == GROUP ? 0 : GROUP * (r & 1))] =
                ((const l_f64 *)fgs__sim_at(w, a[r]))[l];
    for (r = 0; r < k / QUAD; r++)
        for (l = 0; l < LANES; l++)
            t.b[l / QUAD][l % QUAD + QUAD * r] =
                ((const l_f64 *)fgs__sim_at(w, b[r]))[l];
    for (r = 0; r < m / 4; r++)
        for (l = 0; l < LANES; l++)
            t.c[l % QUAD * 2 + (r & 1)][l / QUAD + GROUP * (r / 2)] =
                ((const l_f64 *)fgs__sim_at(w, c[r]))[l];
    if (mode != FE_TONEAREST) {
        fesetround(mode);
        FGS__BARRIER(&t);
    }
    add_f64(&t, k);
    if (mode != FE_TONEAREST) {
        FGS__BARRIER(&t);
        fesetround(FE_TONEAREST);
    }
    for (r = 0; r < m / 4; r++)
        for (l = 0; l < LANES; l++)
            ((l_f64 *)fgs__sim_at(w, d[r]))[l] =
                t.c[l % QUAD * 2 + (r & 1)][l / QUAD + GROUP * (r / 2)];
}
