/* mma.h -- products of matrices, for the exec_mma*.c files
 *
 * A tile is 16 x 8: with the rows of A and the columns of B side by side in
 * memory, 16 rows are computed at once.  In registers (ISA 9.7.14.5) lane
 * 4g+t of register r holds, of elements that are `per` to a register:
 *
 *   A  row g + 8 (r & 1), columns (r / 2) 4 per + t per ...
 *   B  column g, rows r 4 per + t per ...
 *   C  row g + 8 (r / 2), column 2t + (r & 1); two of f16 to a register
 */
#ifndef FGS_SIM_MMA_H
#define FGS_SIM_MMA_H

#include "sim/lanes.h"
#include "sim/half.h"
#include "sim/matrix.h"

enum { TILE_M = 16, TILE_N = 8, GROUP = 8, QUAD = 4 };

/* Lanes 4g+t to places 8t+g: the rows of one column become neighbours. */
static FGS__INLINE FGS__UNUSED void to_columns(l_u32 *out, const l_u32 *in)
{
    int g;

    FGS__EACH
    for (g = 0; g < GROUP; g++) {
        out[g] = in[g * QUAD];
        out[GROUP + g] = in[g * QUAD + 1];
        out[2 * GROUP + g] = in[g * QUAD + 2];
        out[3 * GROUP + g] = in[g * QUAD + 3];
    }
}

static FGS__INLINE FGS__UNUSED void from_columns(l_u32 *out, const l_u32 *in)
{
    int g;

    FGS__EACH
    for (g = 0; g < GROUP; g++) {
        out[g * QUAD] = in[g];
        out[g * QUAD + 1] = in[GROUP + g];
        out[g * QUAD + 2] = in[2 * GROUP + g];
        out[g * QUAD + 3] = in[3 * GROUP + g];
    }
}

static FGS__INLINE FGS__UNUSED const l_u32 *
mma_reg(const struct fgs__sim_warp *w, fgs__sim_ref r)
{
    return fgs__sim_at(w, r);
}

/* One tile; the references of D, A, B and C are those of the tile. */
typedef void (*mma_tile)(struct fgs__sim_warp *w,
                         const struct fgs__sim_product *p,
                         const fgs__sim_ref *d, const fgs__sim_ref *a,
                         const fgs__sim_ref *b, const fgs__sim_ref *c);
#define MMA_TILE(name)                                                         \
    void name(struct fgs__sim_warp *w, const struct fgs__sim_product *p,       \
              const fgs__sim_ref *d, const fgs__sim_ref *a,                    \
              const fgs__sim_ref *b, const fgs__sim_ref *c)

MMA_TILE(FGS__LEVEL(fgs__mma_half));
MMA_TILE(FGS__LEVEL(fgs__mma_tf32));
MMA_TILE(FGS__LEVEL(fgs__mma_fp8));
MMA_TILE(FGS__LEVEL(fgs__mma_bytes));
MMA_TILE(FGS__LEVEL(fgs__mma_nibbles));
MMA_TILE(FGS__LEVEL(fgs__mma_int));
MMA_TILE(FGS__LEVEL(fgs__mma_bits));
MMA_TILE(FGS__LEVEL(fgs__mma_f64));
MMA_TILE(FGS__LEVEL(fgs__mma_quads));

#endif
