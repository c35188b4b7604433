/* exec_mma_float.c -- products of f16, bf16 and tf32 */
#include "sim/mma_float.h"

/* wmma with a C of f16 and a D of f32: the assembler converts C first, so that
 * its subnormals are normal. */
static void widen_sums(struct float_tile *t)
{
    l_u32 v[TILE_M];

    for (int n = 0; n < TILE_N; n++) {
        memcpy(v, t->c[n], sizeof v);
        t->special |= decode(v, TILE_M, KIND_F32, t->c[n], t->ec[n]);
    }
}

/* wmma with a C of f32 and a D of f16: a sum of f32 is converted, and keeps
 * its sign. */
static void narrow_sums(struct float_tile *t)
{
    for (int n = 0; n < TILE_N; n++)
        for (int m = 0; m < TILE_M; m++) {
            float v = bits_float(f32_cut(t->sum[n][m]));

            t->sum[n][m] = (double)float_of_f16(f16_of_float(v));
        }
}

/* --------------------------------------------------------------- kernels -- */

MMA_TILE(FGS__LEVEL(fgs__mma_half))
{
    bool bf16 = p->type[FGS__MATRIX_A] == FGS__T_BF16;
    struct float_tile t;
    int k = p->at ? p->k / 2 : p->k, r;

    t.special = 0;
    t.at = p->at;
    for (r = 0; r < k / 4; r++) {
        if (bf16)
            load_a(&t, mma_reg(w, a[r]), r, KIND_BF16);
        else
            load_a(&t, mma_reg(w, a[r]), r, KIND_F16);
    }
    for (r = 0; r < p->k / 8; r++) {
        if (bf16)
            load_b(&t, mma_reg(w, b[r]), r, KIND_BF16);
        else
            load_b(&t, mma_reg(w, b[r]), r, KIND_F16);
    }
    load_sums(w, &t, c, p->type[FGS__MATRIX_C] == FGS__T_F16);
    if (p->type[FGS__MATRIX_C] == FGS__T_F16 &&
        p->type[FGS__MATRIX_D] == FGS__T_F32)
        widen_sums(&t);
    step(&t, k, bf16);
    if (p->type[FGS__MATRIX_C] == FGS__T_F32 &&
        p->type[FGS__MATRIX_D] == FGS__T_F16)
        narrow_sums(&t);
    store(w, &t, d, p->type[FGS__MATRIX_D] == FGS__T_F16);
}

MMA_TILE(FGS__LEVEL(fgs__mma_tf32))
{
    struct float_tile t;
    int k = p->at ? p->k / 2 : p->k;

    t.special = 0;
    t.at = p->at;
    for (int r = 0; r < k / 2; r++)
        load_a(&t, mma_reg(w, a[r]), r, KIND_TF32);
    for (int r = 0; r < p->k / 4; r++)
        load_b(&t, mma_reg(w, b[r]), r, KIND_TF32);
    load_sums(w, &t, c, false);
    step(&t, k, true);
    store(w, &t, d, false);
}
