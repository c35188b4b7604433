/* exec_arith.c -- integer or floating-point arithmetic, by the type */
#include "sim/lanes.h"

bool FGS__LEVEL(fgs__sim_sel_arith)(struct fgs__sim_decoder *d,
                                    const struct fgs__ptx_insn *src,
                                    struct fgs__sim_insn *out)
{
    if (src->types > 2)
        return FGS__FAR(fgs__sim_sel_pack)(d, src, out);
    switch (fgs__ptx_types[src->type[0]].kind) {
    case FGS__K_UINT:
    case FGS__K_SINT:
        return FGS__LEVEL(fgs__sim_sel_int)(d, src, out);
    case FGS__K_FLOAT:
        if (src->type[0] != FGS__T_F32 && src->type[0] != FGS__T_F64)
            return FGS__FAR(fgs__sim_sel_half)(d, src, out);
        return FGS__LEVEL(fgs__sim_sel_float)(d, src, out);
    default:
        if (src->type[0] == FGS__T_F16X2 || src->type[0] == FGS__T_BF16X2)
            return FGS__FAR(fgs__sim_sel_half)(d, src, out);
        return FGS__FAR(fgs__sim_sel_pack)(d, src, out);
    }
}
