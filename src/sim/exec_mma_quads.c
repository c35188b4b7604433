/* exec_mma_quads.c -- mma.m8n8k4 of f16: four products at once
 *
 * Each is held by 8 lanes, 4q... and 16 + 4q... (ISA 9.7.14.5.1).  From sm_80
 * on the assembler calls a routine for it, whose arithmetic this is: for f32
 * the products are added to +0 one after the other, each step fused and
 * rounded, and the sum to C.
 */
#include "sim/mma.h"

enum { QUADS_K = 4 };

struct quad {
    float a[GROUP][QUADS_K], b[QUADS_K][GROUP], c[GROUP][GROUP];
};

static uint32_t lane_of(int q, int j)
{
    return (uint32_t)(j < QUAD ? q * QUAD + j : 16 + q * QUAD + j - QUAD);
}

/* Element i of four that lane l holds. */
static float quad_half(const struct fgs__sim_warp *w, const fgs__sim_ref *ref,
                       uint32_t l, int i)
{
    return float_of_f16(mma_reg(w, ref[i / 2])[l] >> i % 2 * 16 & 0xffff);
}

static void load_factors(const struct fgs__sim_warp *w,
                         const struct fgs__sim_product *p, struct quad *x,
                         const fgs__sim_ref *a, const fgs__sim_ref *b, int q)
{
    for (int j = 0; j < GROUP; j++)
        for (int i = 0; i < QUADS_K; i++) {
            float va = quad_half(w, a, lane_of(q, j), i);
            float vb = quad_half(w, b, lane_of(q, j), i);
            int other = i + (j & QUAD), k = j % QUAD;

            if (p->a_col)
                x->a[other][k] = va;
            else
                x->a[j][i] = va;
            if (p->b_row)
                x->b[k][other] = vb;
            else
                x->b[i][j] = vb;
        }
}

/* Row and column of element i in the j-th of the 8 lanes. */
static void sum_place(int j, int i, bool half, int *row, int *col)
{
    if (half) {
        *row = j;
        *col = i;
        return;
    }
    *row = (j & 1) + (i & 2) + (j & QUAD);
    *col = (i & 4) + (j & 2) + (i & 1);
}

static void load_sums(const struct fgs__sim_warp *w, struct quad *x,
                      const fgs__sim_ref *c, int q, bool half)
{
    for (int j = 0; j < GROUP; j++)
        for (int i = 0; i < GROUP; i++) {
            uint32_t l = lane_of(q, j);
            int row, col;

            sum_place(j, i, half, &row, &col);
            x->c[row][col] = half ? quad_half(w, c, l, i)
                                  : bits_float(mma_reg(w, c[i])[l]);
        }
}

static float dot_f32(const struct quad *x, int row, int col)
{
    float sum = 0;

    for (int k = 0; k < QUADS_K; k++)
        sum = __builtin_fmaf(x->a[row][k], x->b[k][col], sum);
    return x->c[row][col] + sum;
}

/* Pairs: a sum of two products, added to C, then the other. */
static float dot_f16(const struct quad *x, int row, int col)
{
    float sum = x->c[row][col];

    for (int k = 0; k < QUADS_K; k += 2)
        sum += __builtin_fmaf(x->a[row][k + 1], x->b[k + 1][col],
                              x->a[row][k] * x->b[k][col]);
    return sum;
}

static void store_sums(const struct fgs__sim_warp *w, const struct quad *x,
                       const fgs__sim_ref *d, int q, bool half)
{
    for (int j = 0; j < GROUP; j++)
        for (int i = 0; i < GROUP; i++) {
            uint32_t l = lane_of(q, j);
            int row, col;
            float v;

            sum_place(j, i, half, &row, &col);
            if (half) {
                v = dot_f16(x, row, col);
                ((l_u16 *)fgs__sim_at(w, d[i / 2]))[2 * l + (uint32_t)(i % 2)] =
                    f16_of_float(v);
            } else {
                v = dot_f32(x, row, col);
                ((l_u32 *)fgs__sim_at(w, d[i]))[l] =
                    v == v ? float_bits(v) : 0x7fffffff;
            }
        }
}

/* All is read before anything is written: D may be A, B or C. */
MMA_TILE(FGS__LEVEL(fgs__mma_quads))
{
    struct quad x[QUAD];

    for (int q = 0; q < QUAD; q++) {
        load_factors(w, p, &x[q], a, b, q);
        load_sums(w, &x[q], c, q, p->type[FGS__MATRIX_C] == FGS__T_F16);
    }
    for (int q = 0; q < QUAD; q++)
        store_sums(w, &x[q], d, q, p->type[FGS__MATRIX_D] == FGS__T_F16);
}
