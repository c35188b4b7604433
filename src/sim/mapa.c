/* mapa.c -- mapa and getctarank: addresses in the window of a cluster
 *
 * The assembler makes one byte permutation of mapa: the low byte of the rank
 * becomes the top byte of the low word (seen in code for sm_90).  So a rank
 * that the cluster lacks gives an address, and only its use is a fault.
 */
#include "sim/access.h"
#include "sim/cluster.h"

enum { OP_DST = 0, OP_SRC = 1, OP_RANK = 2 };
enum { AUX_BITS = 0, AUX_GENERIC = 1 };

static uint64_t source(const struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *i, int lane)
{
    const void *src = fgs__sim_at(w, i->op[OP_SRC]);

    return i->aux[AUX_BITS] == 64
               ? ((const uint64_t *)src)[lane] + (uint64_t)i->imm
               : (uint32_t)(((const uint32_t *)src)[lane] + (uint64_t)i->imm);
}

/* A generic address must point to shared memory. */
static bool is_shared(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, uint64_t addr)
{
    if (!i->aux[AUX_GENERIC] ||
        addr - FGS__SIM_SHARED_WINDOW < FGS__SIM_WINDOW_BYTES)
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE, lane,
                        "generic address 0x%llx is not in shared memory",
                        (unsigned long long)addr);
    return false;
}

static const struct fgs__sim_insn *run_mapa(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    const uint32_t *rank = fgs__sim_at(w, i->op[OP_RANK]);
    void *dst = fgs__sim_at(w, i->op[OP_DST]);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint64_t a = source(w, i, l);

        if (!is_shared(w, i, l, a))
            return NULL;
        a = (a & ~0xff000000ull) |
            (uint64_t)(rank[l] & 0xff) << FGS__SIM_RANK_SHIFT;
        if (i->aux[AUX_BITS] == 64)
            ((uint64_t *)dst)[l] = a;
        else
            ((uint32_t *)dst)[l] = (uint32_t)a;
    }
    return i + 1;
}

static const struct fgs__sim_insn *run_rank(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t *dst = fgs__sim_at(w, i->op[OP_DST]);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint64_t a = source(w, i, l);

        if (!is_shared(w, i, l, a))
            return NULL;
        dst[l] = fgs__sim_rank_of((uint32_t)a);
    }
    return i + 1;
}

bool fgs__sim_sel_mapa(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    bool mapa = src->op == FGS__OP_MAPA;
    enum fgs__ptx_type type = (enum fgs__ptx_type)src->type[0];

    out->aux[AUX_BITS] = fgs__ptx_types[type].bits;
    out->aux[AUX_GENERIC] = src->space[0] == FGS__M_NONE;
    out->op[OP_DST] = fgs__sim_ref_dst(d, &src->operand[0],
                                       mapa ? type : FGS__T_U32);
    out->op[OP_SRC] = fgs__sim_ref_of(d, &src->operand[1], type);
    out->op[OP_RANK] = mapa ? fgs__sim_ref_of(d, &src->operand[2], FGS__T_U32)
                            : FGS__SIM_NOREF;
    if (src->operand[1].kind == FGS__O_REG)
        out->imm = src->operand[1].offset;
    if (mapa && src->operand[2].offset) {
        fgs__sim_decode_error(d, src, "a rank plus a constant is not executed");
        return false;
    }
    out->run = mapa ? run_mapa : run_rank;
    return out->op[OP_DST] != FGS__SIM_NOREF &&
        out->op[OP_SRC] != FGS__SIM_NOREF &&
        (!mapa || out->op[OP_RANK] != FGS__SIM_NOREF);
}
