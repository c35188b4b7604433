/* tensormap.c -- tensormap.replace, tensormap.cp_fenceproxy
 *
 * ISA 9.7.10.29, table 36.  Values that make no map are kept and found by the
 * copy that uses it; the ISA leaves them undefined.
 */
#include "sim/access.h"
#include "sim/bulk.h"
#include "sim/bulk_issue.h"
#include "sim/matrix.h"
#include "sim/latency.h"
#include "sim/tensor.h"

enum { OP_VALUE = 0, AUX_ORDINAL = 0 };

/* Element types of the table, whose order differs from the driver's. */
static const uint8_t types[] = {
    FGS__TENSOR_U8,  FGS__TENSOR_U16,     FGS__TENSOR_U32,
    FGS__TENSOR_S32, FGS__TENSOR_U64,     FGS__TENSOR_S64,
    FGS__TENSOR_F16, FGS__TENSOR_F32,     FGS__TENSOR_F32_FTZ,
    FGS__TENSOR_F64, FGS__TENSOR_BF16,    FGS__TENSOR_TF32,
    FGS__TENSOR_TF32_FTZ, FGS__TENSOR_U4, FGS__TENSOR_U4_PAD,
    FGS__TENSOR_U6_PAD,
};

/* What does not fit a field becomes a value that no map may have. */
static void replace(struct fgs__tensor *t, unsigned field, unsigned ord,
                    uint64_t v)
{
    switch (field) {
    case FGS__M_MAP_ADDRESS:
        t->address = v;
        break;
    case FGS__M_MAP_RANK: /* less one */
        t->rank = v < FGS__TENSOR_RANK ? (uint32_t)v + 1 : 0;
        break;
    case FGS__M_MAP_BOX_DIM:
        t->box[ord] = (uint16_t)(v <= UINT16_MAX ? v : 0);
        break;
    case FGS__M_MAP_GLOBAL_DIM:
        t->dim[ord] = v ? v : 1ull << 32;
        break;
    case FGS__M_MAP_GLOBAL_STRIDE: /* 0: of the second dimension */
        if (ord + 1 < FGS__TENSOR_RANK)
            t->stride[ord + 1] = v;
        break;
    case FGS__M_MAP_ELEMENT_STRIDE:
        t->step[ord] = (uint8_t)(v <= UINT8_MAX ? v : 0);
        break;
    case FGS__M_MAP_ELEMTYPE:
        t->type = types[v & 15];
        break;
    case FGS__M_MAP_INTERLEAVE:
        t->interleave = (uint8_t)v;
        break;
    case FGS__M_MAP_SWIZZLE:
        t->swizzle = (uint8_t)v;
        break;
    case FGS__M_MAP_ATOMICITY:
        t->atom = (uint8_t)v;
        break;
    default:
        t->fill = (uint8_t)v;
    }
}

static const struct fgs__sim_insn *run_replace(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    const void *values = fgs__sim_at(w, i->op[OP_VALUE]);
    bool wide = i->src->type[0] == FGS__T_B64;
    struct fgs__sim_access acc;

    if (!fgs__sim_access_find(w, i, true, &acc))
        return NULL;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        char *map = acc.shape == FGS__SIM_SCATTER ? acc.lane[l]
                    : acc.shape == FGS__SIM_SAME
                        ? acc.lane[0]
                        : acc.lane[0] + (size_t)l * FGS__TENSOR_MAP_BYTES;
        struct fgs__tensor t;

        if (!fgs__tensor_read(&t, map))
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, l,
                                       "there is no tensor map of this "
                                       "device's driver at this address");
        replace(&t, i->src->mod[FGS__G_MAP_FIELD], i->aux[AUX_ORDINAL],
                wide ? ((const uint64_t *)values)[l]
                     : ((const uint32_t *)values)[l]);
        fgs__tensor_write(&t, map);
    }
    fgs__sim_warp_delay(w, acc.latency_ps);
    return i + 1;
}

bool fgs__sim_sel_tensormap(struct fgs__sim_decoder *d,
                            const struct fgs__ptx_insn *src,
                            struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *value = &src->operand[src->operands - 1];

    out->run = run_replace;
    out->op[OP_VALUE] =
        fgs__sim_ref_of(d, value, (enum fgs__ptx_type)src->type[0]);
    if (src->operands > 2)
        out->aux[AUX_ORDINAL] = (uint32_t)src->operand[1].imm;
    return out->op[OP_VALUE] != FGS__SIM_NOREF &&
           fgs__sim_access_decode(d, src, &src->operand[0],
                                  FGS__TENSOR_MAP_BYTES, out);
}

/* --------------------------------------------------------- cp_fenceproxy -- */

/* A lane's part of a map.  The assembler has lane k load word k of the map that
 * it names and exchange it (seen in sm_90 code): lanes that name one map, as
 * they should, copy it together. */
enum { SHARE = FGS__TENSOR_MAP_BYTES / 32 };

/* From the block's shared memory to global memory, and a release: proxies see
 * one memory here. */
static FGS__DEVICE_MEMORY const struct fgs__sim_insn *
run_cp_fence(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    if (!fgs__sim_matrix_all(w, i))
        return NULL;
    for (int lane = 0; lane < 32; lane++) {
        uint64_t from = fgs__sim_lane_addr(
            w, i->op[FGS__BULK_SHARED],
            i->aux[FGS__BULK_FLAGS] & FGS__BULK_SHARED32,
            (int32_t)i->aux[FGS__BULK_SHARED_OFF], lane);
        uint64_t to = fgs__sim_lane_addr(
            w, i->op[FGS__BULK_MEMORY],
            i->aux[FGS__BULK_FLAGS] & FGS__BULK_MEMORY32, i->imm, lane);
        char *map;
        uint32_t at;

        if (!fgs__sim_shared_offset(w, i, lane, from, false,
                                    FGS__TENSOR_MAP_BYTES, SHARE,
                                    "source of tensormap.cp_fenceproxy", &at))
            return NULL;
        if (to % SHARE)
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS,
                                       lane, "the destination of "
                                       "tensormap.cp_fenceproxy at 0x%llx is "
                                       "not %d-byte aligned",
                                       (unsigned long long)to, SHARE);
        map = fgs__sim_generic(w, lane, to, FGS__TENSOR_MAP_BYTES);
        if (!map)
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                                       "there is no global memory of %d bytes "
                                       "at 0x%llx", FGS__TENSOR_MAP_BYTES,
                                       (unsigned long long)to);
        memcpy(map + lane * SHARE, w->block->shared + at + lane * SHARE, SHARE);
    }
    atomic_thread_fence(memory_order_acq_rel);
    fgs__sim_warp_delay(w, FGS__SIM_GLOBAL_PS);
    return i + 1;
}

bool fgs__sim_sel_cp_fence(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src,
                           struct fgs__sim_insn *out)
{
    uint32_t offset;

    out->run = run_cp_fence;
    out->blocks = true;
    if (!fgs__sim_bulk_take(d, src, &src->operand[1], FGS__BULK_SHARED,
                            FGS__BULK_SHARED32,
                            &out->aux[FGS__BULK_SHARED_OFF], out) ||
        !fgs__sim_bulk_take(d, src, &src->operand[0], FGS__BULK_MEMORY,
                            FGS__BULK_MEMORY32, &offset, out))
        return false;
    out->imm = (int32_t)offset;
    return true;
}
