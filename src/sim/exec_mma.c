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

static const uint8_t groups[] = {
    FGS__G_ALIGNED, FGS__G_SHAPE, FGS__G_ORDER_A, FGS__G_ORDER_B,
    FGS__G_ROUND,   FGS__G_POPC,  FGS__G_BOOL,    FGS__G_SATFINITE};

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
    out->run = pick(p, src->mod[FGS__G_SHAPE]);
    return true;
}
