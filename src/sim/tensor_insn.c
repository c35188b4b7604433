/* tensor_insn.c -- cp.async.bulk.tensor and cp.reduce.async.bulk.tensor
 *
 * The map is read when the instruction is issued: the ISA lets that happen at
 * any time up to the copy's end and forbids changes meanwhile.
 */
#include "sim/bulk_issue.h"
#include "sim/piece.h"

/* Operands as leaves of a tree of constants that hold two places each. */
enum {
    LEAF_COORD = 0,
    LEAF_OFFSET = 5,
    LEAF_ADDRESS = 8,
    LEAF_UPPER = 9,
    LEAF_SIZE = 10,
    LEAF_STRIDE = 15,
    DEPTH = 5,
    LEAVES = 1 << DEPTH
};
enum { OP_TREE = FGS__BULK_REST };
/* aux[FGS__BULK_AUX]: the mode, and which sizes are registers of 16 bits. */
enum { AUX_MODE = 15, AUX_SIZE_16 = 4, AUX_OFFSETS = 12 };

static const void *leaf(const struct fgs__sim_warp *w,
                        const struct fgs__sim_insn *i, unsigned n)
{
    fgs__sim_ref r = i->op[OP_TREE];

    for (unsigned d = DEPTH; d--; )
        r = ((const fgs__sim_ref *)fgs__sim_at(w, r))[n >> d & 1];
    return fgs__sim_at(w, r);
}

/* ----------------------------------------------------------------- map -- */

/* ISA 9.7.10.28.5.2: the operand's values in place of the map's. */
static void override(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                     int lane, struct fgs__tensor *t)
{
    const struct fgs__ptx_insn *src = i->src;
    uint32_t upper;

    if (src->mod[FGS__G_OVERRIDE])
        t->address = ((const uint64_t *)leaf(w, i, LEAF_ADDRESS))[lane];
    if (!src->mod[FGS__G_OVERRIDE_DIM])
        return;
    for (unsigned d = 0; d < t->rank; d++) {
        const void *v = leaf(w, i, LEAF_SIZE + d);

        t->dim[d] = i->aux[FGS__BULK_AUX] >> (AUX_SIZE_16 + d) & 1
                        ? ((const uint16_t *)v)[lane] & 0xff
                        : ((const uint8_t *)v)[lane];
    }
    if (src->mod[FGS__G_OVERRIDE_DIM] != FGS__M_OVERRIDE_STRIDE)
        return;
    upper = ((const uint16_t *)leaf(w, i, LEAF_UPPER))[lane];
    for (unsigned d = 1; d < t->rank; d++)
        t->stride[d] =
            (((const uint32_t *)leaf(w, i, LEAF_STRIDE + d - 1))[lane] +
             ((uint64_t)(upper >> 4 * (d - 1) & 15) << 32))
            << 4;
}

static bool read_map(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                     int lane, struct fgs__tensor *t)
{
    bool narrow = i->aux[FGS__BULK_FLAGS] & FGS__BULK_MEMORY32;
    uint64_t addr = fgs__sim_lane_addr(w, i->op[FGS__BULK_MEMORY], narrow, 0,
                                       lane);
    unsigned rank = i->src->mod[FGS__G_DIM] - FGS__M_DIM_1 + 1u;
    const char *map = addr & 63 ? NULL
                                : fgs__sim_generic(w, lane, addr,
                                                   FGS__TENSOR_MAP_BYTES);
    const char *rule = "it was not made by this device's driver";

    if (!map) {
        fgs__sim_warp_fault(w, i, addr & 63 ? CUDA_ERROR_MISALIGNED_ADDRESS
                                            : CUDA_ERROR_ILLEGAL_ADDRESS,
                            lane, "the tensor map at generic address 0x%llx "
                            "%s", (unsigned long long)addr,
                            addr & 63 ? "is not 64-byte aligned"
                                      : "is not inside any allocation or "
                                        "window");
        return false;
    }
    if (fgs__tensor_read(t, map)) {
        override(w, i, lane, t);
        rule = t->rank != rank ? "its rank is not the instruction's"
                               : fgs__tensor_rule(t);
    }
    if (!rule)
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                        "the tensor map at generic address 0x%llx: %s",
                        (unsigned long long)addr, rule);
    return false;
}

/* ------------------------------------------------------------- reduction -- */

/* Which PTX type an element is (ISA, table of cp.reduce.async.bulk.tensor);
 * false = the operation does not exist for it. */
static bool reduction_of(const struct fgs__ptx_insn *src,
                         const struct fgs__tensor *t,
                         struct fgs__sim_reduction *out)
{
    static const uint8_t types[FGS__TENSOR_TYPES] = {
        [FGS__TENSOR_U32] = FGS__T_U32,  [FGS__TENSOR_S32] = FGS__T_S32,
        [FGS__TENSOR_U64] = FGS__T_U64,  [FGS__TENSOR_S64] = FGS__T_S64,
        [FGS__TENSOR_F16] = FGS__T_F16,  [FGS__TENSOR_BF16] = FGS__T_BF16,
        [FGS__TENSOR_F32] = FGS__T_F32,  [FGS__TENSOR_F32_FTZ] = FGS__T_F32,
    };
    unsigned type = types[t->type];
    bool real = type == FGS__T_F32;

    out->op = (uint8_t)src->mod[FGS__G_ATOM];
    out->type = (uint8_t)type;
    out->keep = t->type == FGS__TENSOR_F32;
    switch (out->op) {
    case FGS__M_ATOM_ADD:
        return type && type != FGS__T_S64;
    case FGS__M_ATOM_MIN:
    case FGS__M_ATOM_MAX:
        return type && !real;
    case FGS__M_ATOM_INC:
    case FGS__M_ATOM_DEC:
        return type == FGS__T_U32;
    default:
        return type && !real && fgs__ptx_types[type].bits != 16;
    }
}

/* ----------------------------------------------------------------- issue -- */

static void read_request(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, struct fgs__tensor_request *r)
{
    uint32_t facts = i->aux[FGS__BULK_AUX];
    bool four = (facts & AUX_MODE) == FGS__TENSOR_FOUR;
    unsigned n = four ? 5 : i->src->mod[FGS__G_DIM] - FGS__M_DIM_1 + 1u;

    *r = (struct fgs__tensor_request){
        .mode = (enum fgs__tensor_mode)(facts & AUX_MODE),
        .store = i->aux[FGS__BULK_FLAGS] & FGS__BULK_STORE};
    for (unsigned d = 0; d < n; d++)
        r->coord[d] = ((const int32_t *)leaf(w, i, LEAF_COORD + d))[lane];
    for (unsigned d = 0; d < facts >> AUX_OFFSETS; d++)
        r->offset[d] = ((const uint16_t *)leaf(w, i, LEAF_OFFSET + d))[lane];
}

static bool issue_lane(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane)
{
    struct fgs__tensor_request request;
    struct fgs__tensor_walk walk;
    struct fgs__tensor t;
    struct fgs__sim_copy_req r = {.tensor = &walk};
    const char *rule;

    if (!read_map(w, i, lane, &t))
        return false;
    read_request(w, i, lane, &request);
    rule = fgs__tensor_walk_make(&walk, &t, &request);
    if (!rule && i->src->op == FGS__OP_TENSOR_REDUCE &&
        !reduction_of(i->src, &t, &r.reduction))
        rule = "the operation does not exist for the elements of the tensor";
    if (rule) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "a tensor copy: %s", rule);
        return false;
    }
    r.bytes = walk.rows * walk.chunks * 16;
    return fgs__sim_bulk_where(w, i, lane, fgs__sim_piece_span(&walk), 128,
                               &r) &&
           fgs__sim_bulk_start(w, i, lane, &r);
}

static const struct fgs__sim_insn *run_tensor(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    return fgs__sim_bulk_issue(w, i, issue_lane);
}

/* -------------------------------------------------------------- selector -- */

static enum fgs__tensor_mode mode_of(const struct fgs__ptx_insn *src)
{
    switch (src->mod[FGS__G_LOAD_MODE]) {
    case FGS__M_TILE_GATHER4:
    case FGS__M_TILE_SCATTER4:
        return FGS__TENSOR_FOUR;
    case FGS__M_IM2COL:
    case FGS__M_IM2COL_NO_OFFS:
        return FGS__TENSOR_COLUMN;
    case FGS__M_IM2COL_W:
    case FGS__M_IM2COL_NO_OFFS_W:
        return FGS__TENSOR_COLUMN_W;
    case FGS__M_IM2COL_W128:
        return FGS__TENSOR_COLUMN_W128;
    default:
        return FGS__TENSOR_TILE;
    }
}

static bool take_list(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_operand *list,
                      enum fgs__ptx_type type, fgs__sim_ref *out)
{
    for (unsigned k = 0; k < list->children; k++) {
        out[k] = fgs__sim_ref_of(d, &list->child[k], type);
        if (out[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

/* What stands between the map and the coordinates. */
static bool take_override(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          const struct fgs__ptx_operand *map,
                          fgs__sim_ref *leaves, struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = map->child;

    if (!src->mod[FGS__G_OVERRIDE])
        return true;
    leaves[LEAF_ADDRESS] = fgs__sim_ref_of(d, o, FGS__T_B64);
    if (leaves[LEAF_ADDRESS] == FGS__SIM_NOREF)
        return false;
    if (!src->mod[FGS__G_OVERRIDE_DIM])
        return true;
    for (unsigned k = 0; k < o[1].children; k++) {
        const struct fgs__ptx_operand *e = &o[1].child[k];
        bool wide = e->kind == FGS__O_REG &&
                    fgs__ptx_types[e->sym->type].bits == 16;

        out->aux[FGS__BULK_AUX] |= (uint32_t)wide << (AUX_SIZE_16 + k);
        leaves[LEAF_SIZE + k] =
            fgs__sim_ref_of(d, e, wide ? FGS__T_B16 : FGS__T_B8);
        if (leaves[LEAF_SIZE + k] == FGS__SIM_NOREF)
            return false;
    }
    if (src->mod[FGS__G_OVERRIDE_DIM] != FGS__M_OVERRIDE_STRIDE)
        return true;
    leaves[LEAF_UPPER] = fgs__sim_ref_of(d, &o[3], FGS__T_B16);
    return leaves[LEAF_UPPER] != FGS__SIM_NOREF &&
           take_list(d, &o[2], FGS__T_B32, leaves + LEAF_STRIDE);
}

static bool plant(struct fgs__sim_decoder *d, fgs__sim_ref *node,
                  struct fgs__sim_insn *out)
{
    for (unsigned n = LEAVES / 2; n; n /= 2)
        for (unsigned k = 0; k < n; k++) {
            fgs__sim_ref two[2] = {node[2 * k], node[2 * k + 1]};
            uint64_t bits;

            memcpy(&bits, two, sizeof bits);
            node[k] = fgs__sim_ref_const(d, bits, 64);
            if (node[k] == FGS__SIM_NOREF)
                return false;
        }
    out->op[OP_TREE] = node[0];
    return true;
}

static bool take_map(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     const struct fgs__ptx_operand *map,
                     const struct fgs__ptx_operand *offsets,
                     struct fgs__sim_insn *out)
{
    fgs__sim_ref leaves[LEAVES] = {0};
    uint32_t offset;

    out->aux[FGS__BULK_AUX] = (uint32_t)mode_of(src);
    if (offsets)
        out->aux[FGS__BULK_AUX] |= (uint32_t)offsets->children << AUX_OFFSETS;
    return fgs__sim_bulk_take(d, src, map, FGS__BULK_MEMORY, FGS__BULK_MEMORY32,
                              &offset, out) &&
           take_list(d, &map->child[map->children - 1], FGS__T_S32,
                     leaves + LEAF_COORD) &&
           (!offsets ||
            take_list(d, offsets, FGS__T_U16, leaves + LEAF_OFFSET)) &&
           take_override(d, src, map, leaves, out) && plant(d, leaves, out);
}

/* Loads: [to], [map, {}], [barrier] {, offsets} {, blocks} {, policy};
 * stores: [map, {}], [from] {, policy}. */
bool fgs__sim_sel_tensor(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    bool store = src->space[0] == FGS__M_GLOBAL;
    unsigned mode = src->mod[FGS__G_LOAD_MODE], n = store ? 2 : 3;
    unsigned cast = src->mod[FGS__G_MULTICAST];
    bool offsets = mode == FGS__M_IM2COL || mode == FGS__M_IM2COL_W ||
                   mode == FGS__M_IM2COL_W128;

    out->run = run_tensor;
    if (!take_map(d, src, &o[!store], offsets ? &o[n] : NULL, out) ||
        !fgs__sim_bulk_take(d, src, &o[store], FGS__BULK_SHARED,
                            FGS__BULK_SHARED32,
                            &out->aux[FGS__BULK_SHARED_OFF], out) ||
        (!store && !fgs__sim_bulk_take(d, src, &o[2], FGS__BULK_BAR,
                                       FGS__BULK_BAR32,
                                       &out->aux[FGS__BULK_BAR_OFF], out)))
        return false;
    fgs__sim_bulk_flags(src, out);
    if (!cast)
        return true;
    out->op[FGS__BULK_CAST] = fgs__sim_ref_of(
        d, &o[n + offsets],
        cast == FGS__M_MULTICAST_32B ? FGS__T_U32 : FGS__T_U16);
    return out->op[FGS__BULK_CAST] != FGS__SIM_NOREF;
}
