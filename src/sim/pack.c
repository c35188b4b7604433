/* pack.c -- cvt.pack and clmad */
#include "sim/exec.h"

enum { D, A, B, C };
enum { AUX_BITS, AUX_SIGNED, AUX_REGS }; /* widths of registers, 8 bits each  */

static uint64_t get(const struct fgs__sim_warp *w, fgs__sim_ref r,
                    unsigned bits, unsigned k)
{
    const void *at = fgs__sim_at(w, r);

    return bits == 64 ? ((const uint64_t *)at)[k] : ((const uint32_t *)at)[k];
}

static uint32_t clamp(int32_t v, unsigned bits, bool is_signed)
{
    int32_t most = (int32_t)((1u << (bits - is_signed)) - 1);
    int32_t least = is_signed ? -most - 1 : 0;

    v = v > most ? most : v < least ? least : v;
    return (uint32_t)v & ((1u << bits) - 1);
}

/* The result of the second source below that of the first, and the low bits
 * of the third above both (ISA 9.7.10.25). */
static const struct fgs__sim_insn *cvt_pack(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    unsigned bits = i->aux[AUX_BITS], k, regs = i->aux[AUX_REGS];
    bool is_signed = i->aux[AUX_SIGNED] != 0;
    void *d = fgs__sim_at(w, i->op[D]);

    for (k = 0; k < 32; k++) {
        int32_t a = (int32_t)get(w, i->op[A], regs >> 8 & 255, k);
        int32_t b = (int32_t)get(w, i->op[B], regs >> 16 & 255, k);
        uint32_t v = clamp(a, bits, is_signed) << bits |
            clamp(b, bits, is_signed);

        if (!(w->exec >> k & 1))
            continue;
        if (bits < 16)
            v |= (uint32_t)get(w, i->op[C], regs >> 24, k) << 2 * bits;
        if ((regs & 255) == 64)
            ((uint64_t *)d)[k] = v;
        else
            ((uint32_t *)d)[k] = v;
    }
    return i + 1;
}

/* The upper or the lower half of the product without carries. */
static uint64_t carryless(uint64_t a, uint64_t b, bool high)
{
    uint64_t v = 0;
    unsigned k;

    for (k = high; k < 64; k++)
        if (a >> k & 1)
            v ^= high ? b >> (64 - k) : b << k;
    return v;
}

static const struct fgs__sim_insn *clmad(struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i)
{
    uint64_t *d = fgs__sim_at(w, i->op[D]);
    unsigned k;

    for (k = 0; k < 32; k++)
        if (w->exec >> k & 1)
            d[k] = carryless(get(w, i->op[A], 64, k), get(w, i->op[B], 64, k),
                             i->imm != 0) ^ get(w, i->op[C], 64, k);
    return i + 1;
}

/* A register of 32 bits or more, or a constant. */
static fgs__sim_ref source(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_operand *o, unsigned *bits)
{
    *bits = 32;
    return o->kind == FGS__O_REG ? fgs__sim_ref_reg(d, o, bits)
                                 : fgs__sim_ref_of(d, o, FGS__T_B32);
}

bool fgs__sim_sel_pack(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_SAT, FGS__G_WIDTH };
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    bool pack = src->op == FGS__OP_CVT_PACK;
    unsigned k, bits = 0;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    for (k = 0; k < src->operands; k++) {
        const struct fgs__ptx_operand *o = &src->operand[k];

        out->op[k] = pack ? source(d, o, &bits)
            : k           ? fgs__sim_ref_of(d, o, t)
                          : fgs__sim_ref_dst(d, o, t);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
        if (pack && bits > 64) {
            fgs__sim_decode_error(d, src, "a register of 128 bits is too wide");
            return false;
        }
        out->aux[AUX_REGS] |= bits << 8 * k;
    }
    out->imm = src->mod[FGS__G_WIDTH] == FGS__M_HI;
    out->aux[AUX_BITS] = fgs__ptx_types[t].bits;
    out->aux[AUX_SIGNED] = t == FGS__T_S2 || t == FGS__T_S4 ||
        t == FGS__T_S8 || t == FGS__T_S16;
    out->run = pack ? cvt_pack : clmad;
    return true;
}
