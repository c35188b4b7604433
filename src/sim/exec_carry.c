/* exec_carry.c -- extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc
 *
 * The carry flag is a mask over the lanes, as a predicate (ISA 9.7.2).  A
 * subtraction adds the complement: its flag is set where nothing was borrowed.
 * The ISA is silent, but NVRTC's 128-bit division reads it so, with addc.
 */
#include "sim/lanes.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

enum { CARRY_D, CARRY_A, CARRY_B, CARRY_C, CARRY_FLAG };
enum { AUX_IN, AUX_SET, AUX_OUT };

/* s: x, y (and z) with c, the flag, in one more bit than U has. */
#define CARRY(name, U, W, N, SUM)                                              \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) U t[LANES];                                             \
        const U *a = LANE_PTR(w, i->op[CARRY_A]);                              \
        const U *b = LANE_PTR(w, i->op[CARRY_B]);                              \
        const U *e = LANE_PTR(w, i->op[CARRY_C]);                              \
        uint32_t in = *(const l_u32 *)fgs__sim_at(w, i->op[CARRY_FLAG]);       \
        uint32_t flags = 0;                                                    \
        int k;                                                                 \
        in = (in & i->aux[AUX_IN]) | i->aux[AUX_SET];                          \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            const U x = a[k], y = b[k], z = e[k];                              \
            const U c = in >> k & 1;                                           \
            const W s = SUM;                                                   \
            (void)z;                                                           \
            t[k] = (U)s;                                                       \
            flags |= ((uint32_t)(s >> N) & 1) << k;                            \
        }                                                                      \
        blend(LANE_PTR(w, i->op[CARRY_D]), t, w->exec, sizeof(U));             \
        if (i->aux[AUX_OUT])                                                   \
            put_mask(w, i->op[CARRY_FLAG], flags);                             \
        return i + 1;                                                          \
    }

#define HIGH(W, N, S) (((W)(S)x * (W)(S)y) >> N)

CARRY(add_32, l_u32, uint64_t, 32, (uint64_t)x + y + c)
CARRY(sub_32, l_u32, uint64_t, 32, (uint64_t)x + (uint32_t)~y + c)
CARRY(mad_lo_32, l_u32, uint64_t, 32, (uint64_t)(uint32_t)(x * y) + z + c)
CARRY(mad_hi_u32, l_u32, uint64_t, 32,
      (uint64_t)(uint32_t)HIGH(uint64_t, 32, uint32_t) + z + c)
CARRY(mad_hi_s32, l_u32, uint64_t, 32,
      (uint64_t)(uint32_t)HIGH(int64_t, 32, int32_t) + z + c)
CARRY(add_16, l_u16, uint32_t, 16, (uint32_t)x + y + c)
CARRY(sub_16, l_u16, uint32_t, 16, (uint32_t)x + (uint16_t)~y + c)
CARRY(mad_lo_16, l_u16, uint32_t, 16,
      (uint32_t)(uint16_t)((uint32_t)x * y) + z + c)
CARRY(add_64, l_u64, u128, 64, (u128)x + y + c)
CARRY(sub_64, l_u64, u128, 64, (u128)x + (uint64_t)~y + c)
CARRY(mad_lo_64, l_u64, u128, 64, (u128)(uint64_t)(x * y) + z + c)
CARRY(mad_hi_u64, l_u64, u128, 64,
      (u128)(uint64_t)HIGH(u128, 64, uint64_t) + z + c)
CARRY(mad_hi_s64, l_u64, u128, 64,
      (u128)(uint64_t)HIGH(s128, 64, int64_t) + z + c)

#define ROWS(OP, WIDTH, N, u, s)                                               \
    { FGS__OP_##OP, FGS__T_U##N, WIDTH, u },                                   \
    { FGS__OP_##OP, FGS__T_S##N, WIDTH, s },
#define ALL(ADD, SUB, MAD, N)                                                  \
    ROWS(ADD, 0, N, add_##N, add_##N)                                          \
    ROWS(SUB, 0, N, sub_##N, sub_##N)                                          \
    ROWS(MAD, FGS__M_LO, N, mad_lo_##N, mad_lo_##N)                            \
    ROWS(MAD, FGS__M_HI, N, mad_hi_u##N, mad_hi_s##N)
static const struct lane_row rows[] = {
    ALL(ADD, SUB, MAD, 32)
    ALL(ADD, SUB, MAD, 64)
    ALL(ADDC, SUBC, MADC, 32)
    ALL(ADDC, SUBC, MADC, 64)
    ROWS(ADDC, 0, 16, add_16, add_16)
    ROWS(SUBC, 0, 16, sub_16, sub_16)
    ROWS(MADC, FGS__M_LO, 16, mad_lo_16, mad_lo_16)
};

bool FGS__LEVEL(fgs__sim_sel_carry)(struct fgs__sim_decoder *d,
                                    const struct fgs__ptx_insn *src,
                                    struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_WIDTH, FGS__G_CC };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    bool mad = src->op == FGS__OP_MAD || src->op == FGS__OP_MADC;
    bool in = src->op == FGS__OP_ADDC || src->op == FGS__OP_SUBC ||
        src->op == FGS__OP_MADC;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    out->run = find_row(rows, sizeof rows / sizeof *rows, src->op, t,
                        src->mod[FGS__G_WIDTH]);
    out->aux[AUX_IN] = in ? UINT32_MAX : 0;
    out->aux[AUX_SET] = src->op == FGS__OP_SUB ? UINT32_MAX : 0;
    out->aux[AUX_OUT] = src->mod[FGS__G_CC] != FGS__M_NONE;
    out->op[CARRY_FLAG] = fgs__sim_ref_carry(d);
    if (!out->run || !take_operands(d, src, out, mad ? 4 : 3, t))
        return false;
    if (!mad)
        out->op[CARRY_C] = out->op[CARRY_B]; /* read, not used */
    return true;
}
