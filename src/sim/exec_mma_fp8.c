/* exec_mma_fp8.c -- products of fp8: two steps of f16
 *
 * For fp8 the assembler makes steps of f16 for sm_90, and for sm_100 to sm_110
 * (seen in their code): the low two elements of each register, then the high
 * two, from 0 on, and a rounded addition of C.  For sm_120: exec_mma_narrow.c.
 */
#include "sim/mma_float.h"

/* A byte to f16, exactly.  Subnormals of e4m3, f 2^-9, are normal in f16. */
static FGS__INLINE uint32_t f16_of_fp8(uint32_t v, bool e5m2)
{
    uint32_t sign = (v & 0x80) << 8, f = v & 0x7f;
    uint32_t tiny = float_bits((float)(int32_t)f * 0x1p-9f) >> 13;
    uint32_t normal = (f << 7) + ((15 - 7) << 10);

    tiny = f ? tiny - ((127 - 15) << 10) : 0;
    normal = f < 8 ? tiny : normal;
    normal = f == 0x7f ? NAN_HALF : normal;
    return e5m2 ? v << 8 : sign | normal;
}

static FGS__INLINE void unpack_fp8(l_u32 *out, const l_u32 *in, int half,
                                   bool e5m2)
{
    int l;

    FGS__EACH
    for (l = 0; l < LANES; l++) {
        uint32_t v = in[l] >> 16 * half;

        out[l] = f16_of_fp8(v & 0xff, e5m2) |
                 f16_of_fp8(v >> 8 & 0xff, e5m2) << 16;
    }
}

/* D = C + sum, rounded to nearest; `back` is C as it was. */
static void add_back(struct float_tile *t, const struct float_tile *back,
                     bool half)
{
    for (int n = 0; n < TILE_N; n++)
        for (int m = 0; m < TILE_M; m++) {
            float s = half ? float_of_f16(f16_round(t->sum[n][m]))
                           : bits_float(f32_cut(t->sum[n][m]));

            /* An f32 sum of two f16 rounds to f16 as the exact one does. */
            t->sum[n][m] = (double)(back->c[n][m] + s);
        }
}

/* The first step's result is the second's C. */
static void pass_on(struct float_tile *t, bool half)
{
    l_u32 v[TILE_M];

    for (int n = 0; n < TILE_N; n++) {
        for (int m = 0; m < TILE_M; m++)
            v[m] = half ? f16_round(t->sum[n][m]) : f32_cut(t->sum[n][m]);
        if (half)
            t->special |= decode(v, TILE_M, KIND_F16, t->c[n], t->ec[n]);
        else
            t->special |= decode(v, TILE_M, KIND_F32, t->c[n], t->ec[n]);
    }
}

/* Half h of the bytes of B; a sparse A needs all rows, each at its place. */
static void load_bytes(const struct fgs__sim_warp *w, struct float_tile *t,
                       const struct fgs__sim_product *p,
                       const fgs__sim_ref *b, int h)
{
    FGS__ALIGN(64) l_u32 x[LANES];
    struct float_tile part;
    bool e5m2 = p->type[FGS__MATRIX_B] == FGS__T_E5M2;

    part.special = 0;
    for (int r = 0; r < p->k / 16; r++) {
        unpack_fp8(x, mma_reg(w, b[r]), h, e5m2);
        load_b(p->at ? &part : t, x, r, KIND_F16);
    }
    t->special |= part.special;
    for (int g = 0; p->at && g < GROUP; g++)
        for (int q = 0; q < p->k / 2; q++) {
            int row = q / 2 * 4 + 2 * h + q % 2;

            t->b[g][row] = part.b[g][q];
            t->eb[g][row] = part.eb[g][q];
        }
}

/* Step h of a sparse product has the elements of every other chunk. */
static const uint8_t *step_places(const uint8_t *at, int k, int h, uint8_t *out)
{
    for (int m = 0; at && m < TILE_M; m++)
        for (int q = 0; q < k; q++)
            out[m * FGS__SIM_SPARSE + q] =
                at[m * FGS__SIM_SPARSE + q / 2 * 4 + 2 * h + q % 2];
    return at ? out : NULL;
}

MMA_TILE(FGS__LEVEL(fgs__mma_fp8))
{
    bool half = p->type[FGS__MATRIX_D] == FGS__T_F16;
    int k = p->at ? p->k / 4 : p->k / 2; /* of a step */
    uint8_t places[TILE_M * FGS__SIM_SPARSE];
    struct float_tile t, back;

    t.special = back.special = 0;
    memset(t.c, 0, sizeof t.c);
    for (int n = 0; n < TILE_N; n++)
        for (int m = 0; m < TILE_M; m++)
            t.ec[n][m] = NONE;
    load_sums(w, &back, c, half);
    for (int h = 0; h < 2; h++) {
        FGS__ALIGN(64) l_u32 x[LANES];

        if (h)
            pass_on(&t, half);
        for (int r = 0; r < k / 4; r++) {
            unpack_fp8(x, mma_reg(w, a[r]), h,
                       p->type[FGS__MATRIX_A] == FGS__T_E5M2);
            load_a(&t, x, r, KIND_F16);
        }
        if (!p->at || !h)
            load_bytes(w, &t, p, b, h);
        if (p->at && !h)
            load_bytes(w, &t, p, b, 1);
        t.at = step_places(p->at, k, h, places);
        step(&t, k, false);
    }
    add_back(&t, &back, half);
    store(w, &t, d, half);
}
