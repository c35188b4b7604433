/* exec_selp.c -- selp, slct */
#include "sim/lanes.h"

#define SELECT(N)                                                              \
    HANDLER(selp_##N)                                                          \
    {                                                                          \
        l_u##N *d = LANE_DST(w, i->op[0]);                                     \
        const l_u##N *a = LANE_SRC(w, i, 1);                                   \
        const l_u##N *b = LANE_SRC(w, i, 2);                                   \
        uint32_t p = *(const l_u32 *)LANE_SRC(w, i, 3) ^ i->aux[0];            \
        uint32_t m = w->exec;                                                  \
        FGS__ALIGN(64) l_u##N t[LANES];                                        \
        if (m == UINT32_MAX) {                                                 \
            choose_##N(d, a, b, p);                                            \
            return i + 1;                                                      \
        }                                                                      \
        choose_##N(t, a, b, p);                                                \
        choose_##N(d, t, d, m);                                                \
        return i + 1;                                                          \
    }
SELECT(16)
SELECT(32)
SELECT(64)

/* slct: a where c is not negative, b else, also for a NaN.  .ftz makes a small
 * negative number a zero. */
static FGS__INLINE bool not_negative(const struct fgs__sim_insn *i, float c)
{
    return c >= (i->aux[0] ? -0x1.fffffcp-127f : 0.0f);
}
#define SLCT(N)                                                                \
    MAP3(slct_s_##N, l_u##N, l_u##N, l_u##N, l_s32, z >= 0 ? x : y)            \
    MAP3(slct_f_##N, l_u##N, l_u##N, l_u##N, l_f32, not_negative(i, z) ? x : y)
SLCT(16)
SLCT(32)
SLCT(64)

static bool select_slct(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_FTZ };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    enum fgs__ptx_type c = (enum fgs__ptx_type)src->type[1];
    bool flt = c == FGS__T_F32;
    int k;

    if (!fgs__sim_only(d, src, groups, sizeof groups) || src->operands != 4)
        return false;
    out->aux[0] = src->mod[FGS__G_FTZ] != FGS__M_NONE;
    switch (fgs__ptx_types[t].bits) {
    case 16:
        out->run = flt ? slct_f_16 : slct_s_16;
        break;
    case 32:
        out->run = flt ? slct_f_32 : slct_s_32;
        break;
    default:
        out->run = flt ? slct_f_64 : slct_s_64;
        break;
    }
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], t);
    for (k = 1; k < 4; k++)
        out->op[k] = fgs__sim_ref_of(d, &src->operand[k], k == 3 ? c : t);
    return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF &&
        out->op[2] != FGS__SIM_NOREF && out->op[3] != FGS__SIM_NOREF;
}

bool FGS__LEVEL(fgs__sim_sel_selp)(struct fgs__sim_decoder *d,
                                   const struct fgs__ptx_insn *src,
                                   struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];

    if (src->op == FGS__OP_SLCT)
        return select_slct(d, src, out);
    if (!fgs__sim_only(d, src, NULL, 0))
        return false;
    switch (fgs__ptx_types[t].bits) {
    case 16:
        out->run = selp_16;
        break;
    case 32:
        out->run = selp_32;
        break;
    case 64:
        out->run = selp_64;
        break;
    default:
        return false;
    }
    if (src->operands != 4)
        return false;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], t);
    out->op[1] = fgs__sim_ref_of(d, &src->operand[1], t);
    out->op[2] = fgs__sim_ref_of(d, &src->operand[2], t);
    out->op[3] = fgs__sim_ref_pred(d, &src->operand[3], &out->aux[0]);
    return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF &&
        out->op[2] != FGS__SIM_NOREF && out->op[3] != FGS__SIM_NOREF;
}
