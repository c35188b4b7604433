/* exec_mma.c -- mma: pick the kernel of a product */
#include "sim/mma.h"

#define RUN(name)                                                              \
    HANDLER(run_##name)                                                        \
    {                                                                          \
        const struct fgs__sim_product *p = fgs__sim_product_of(i);             \
        if (!fgs__sim_matrix_all(w, i))                                        \
            return NULL;                                                       \
        FGS__LEVEL(fgs__mma_##name)(w, p, p->op[0], p->op[1], p->op[2],        \
                                    p->op[3]);                                 \
        return i + 1;                                                          \
    }
RUN(half)
RUN(tf32)
RUN(fp8)
RUN(int)
RUN(bits)
RUN(f64)
RUN(quads)

/* A has half of its elements. */
#define SPARSE(name)                                                           \
    HANDLER(sparse_##name)                                                     \
    {                                                                          \
        struct fgs__sim_product p = *fgs__sim_product_of(i);                   \
        uint8_t at[TILE_M * FGS__SIM_SPARSE];                                  \
        if (!fgs__sim_matrix_all(w, i) ||                                      \
            !fgs__sim_matrix_places(w, i, &p, at))                             \
            return NULL;                                                       \
        p.at = at;                                                             \
        FGS__LEVEL(fgs__mma_##name)(w, &p, p.op[0], p.op[1], p.op[2],          \
                                    p.op[3]);                                  \
        return i + 1;                                                          \
    }
SPARSE(half)
SPARSE(tf32)
SPARSE(fp8)
SPARSE(int)

/* Elements of 8, 6 and 4 bits, with or without scales, dense or sparse. */
static lane_next run_narrow(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, mma_tile tile)
{
    struct fgs__sim_product p = *fgs__sim_product_of(i);
    uint8_t at[TILE_M * FGS__SIM_SPARSE];
    struct fgs__sim_scales scales;

    if (!fgs__sim_matrix_all(w, i) ||
        (p.lanes && !fgs__sim_matrix_places(w, i, &p, at)) ||
        (p.scales && !fgs__sim_matrix_scales(w, i, &p, &scales)))
        return NULL;
    p.at = p.lanes ? at : NULL;
    p.scaled = p.scales ? &scales : NULL;
    tile(w, &p, p.op[0], p.op[1], p.op[2], p.op[3]);
    return i + 1;
}

HANDLER(run_bytes)
{
    return run_narrow(w, i, FGS__LEVEL(fgs__mma_bytes));
}

HANDLER(run_nibbles)
{
    return run_narrow(w, i, FGS__LEVEL(fgs__mma_nibbles));
}

/* wmma: a register of D may be one of A, B or C, so all tiles are made before
 * any is written.  Those of tf32 take two steps of four columns of A each, as
 * the assembler has it. */
static lane_next run_tiles(struct fgs__sim_warp *w,
                           const struct fgs__sim_insn *i, mma_tile tile,
                           bool halves)
{
    const struct fgs__sim_product *p = fgs__sim_product_of(i);
    struct fgs__sim_product half = *p;
    fgs__sim_ref d[FGS__SIM_FRAGMENT];
    size_t bytes = p->type[0] == FGS__T_F64 ? 8 * LANES : 4 * LANES;
    int n = 0, regs = p->tiles * (p->type[0] == FGS__T_F16 ? 2
                                  : p->type[0] == FGS__T_F32 ||
                                    p->tiles > 1 ? 4 : 2);

    if (!fgs__sim_matrix_all(w, i))
        return NULL;
    for (n = 0; n < regs; n++)
        d[n] = p->scratch + (fgs__sim_ref)n * TILE_STEP;
    half.k = halves ? QUAD : p->k;
    for (n = 0; n < p->tiles; n++) {
        const fgs__sim_ref *a = p->op[FGS__MATRIX_A] + n * p->step[1];
        const fgs__sim_ref *b = p->op[FGS__MATRIX_B] + n * p->step[2];
        fgs__sim_ref *out = d + n * p->step[0];

        tile(w, &half, out, a, b, p->op[FGS__MATRIX_C] + n * p->step[3]);
        if (halves)
            tile(w, &half, out, a + 2, b + 1, out);
    }
    for (n = 0; n < regs; n++)
        memcpy(fgs__sim_at(w, p->op[FGS__MATRIX_D][n]), fgs__sim_at(w, d[n]),
               bytes);
    return i + 1;
}

#define TILES(name, halves)                                                    \
    HANDLER(tiles_##name)                                                      \
    {                                                                          \
        return run_tiles(w, i, FGS__LEVEL(fgs__mma_##name), halves);           \
    }
TILES(half, false)
TILES(tf32, true)
TILES(int, false)
TILES(bits, false)
TILES(f64, false)

static fgs__sim_fn pick_tiles(unsigned type)
{
    switch (type) {
    case FGS__T_F16:
    case FGS__T_BF16:
        return tiles_half;
    case FGS__T_TF32:
        return tiles_tf32;
    case FGS__T_B1:
        return tiles_bits;
    case FGS__T_F64:
        return tiles_f64;
    default:
        return tiles_int;
    }
}

static fgs__sim_fn pick(const struct fgs__sim_product *p, unsigned shape)
{
    switch (p->type[FGS__MATRIX_A]) {
    case FGS__T_F16:
        return shape == FGS__M_M8N8K4 ? run_quads : run_half;
    case FGS__T_BF16:
        return run_half;
    case FGS__T_TF32:
        return run_tf32;
    case FGS__T_E4M3:
    case FGS__T_E5M2:
        return run_fp8;
    case FGS__T_B1:
        return run_bits;
    case FGS__T_F64:
        return run_f64;
    default:
        return run_int;
    }
}

static fgs__sim_fn pick_sparse(unsigned type)
{
    switch (type) {
    case FGS__T_F16:
    case FGS__T_BF16:
        return sparse_half;
    case FGS__T_TF32:
        return sparse_tf32;
    case FGS__T_E4M3:
    case FGS__T_E5M2:
        return sparse_fp8;
    default:
        return sparse_int;
    }
}

static const uint8_t groups[] = {
    FGS__G_ALIGNED, FGS__G_SHAPE, FGS__G_ORDER_A, FGS__G_ORDER_B,
    FGS__G_ROUND,   FGS__G_POPC,  FGS__G_BOOL,    FGS__G_SATFINITE,
    FGS__G_KIND,    FGS__G_BLOCK_SCALE, FGS__G_SCALE_VEC,
    FGS__G_SCALE_TYPE};

bool FGS__LEVEL(fgs__sim_sel_mma)(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_insn *src,
                                  struct fgs__sim_insn *out)
{
    struct fgs__sim_product *p;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    p = fgs__sim_product_make(d, src);
    if (!p)
        return false;
    out->imm = (int64_t)(uintptr_t)p;
    out->blocks = true;
    if (p->narrow)
        out->run = p->scales > 1 ? run_nibbles : run_bytes;
    else
        out->run = p->tiles ? pick_tiles(p->type[FGS__MATRIX_A])
            : p->lanes      ? pick_sparse(p->type[FGS__MATRIX_A])
                            : pick(p, src->mod[FGS__G_SHAPE]);
    return true;
}
