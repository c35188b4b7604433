/* bulk_insn.c -- cp.async.bulk, cp.reduce.async.bulk, their groups, st.bulk */
#include "sim/bulk_issue.h"
#include "sim/cluster.h"
#include "sim/latency.h"

enum {
    OP_BYTES = FGS__BULK_REST,
    OP_LEFT,
    OP_RIGHT,
    OP_MASK
};

/* Global side: 16-byte aligned and inside one allocation, but for the bytes
 * that may be missing. */
static bool check_global(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, struct fgs__sim_copy_req *r)
{
    const char *what = r->store ? "destination" : "source";
    uint32_t bytes = r->bytes > r->left + (uint32_t)r->right
                         ? r->bytes - r->left - r->right : 0;

    r->global = fgs__sim_lane_addr(w, i->op[FGS__BULK_MEMORY],
                                   i->aux[FGS__BULK_FLAGS] & FGS__BULK_MEMORY32,
                                   i->imm, lane);
    if (r->global & 15) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "the %s of a bulk copy, global address 0x%llx, is "
                            "not 16-byte aligned",
                            what, (unsigned long long)r->global);
        return false;
    }
    r->generation = fgs__sim_mem_generation(w->sm->mem);
    r->host = fgs__sim_global(w, r->global + r->left, bytes);
    if (!r->host && bytes) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "the %s of a bulk copy, %u bytes at global "
                            "address 0x%llx, is not inside any allocation",
                            what, bytes,
                            (unsigned long long)r->global + r->left);
        return false;
    }
    return true;
}

/* A peer copy's source is the block's own, its destination another's. */
static bool check_peer(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane, struct fgs__sim_copy_req *r)
{
    bool narrow = i->aux[FGS__BULK_FLAGS] & FGS__BULK_MEMORY32;
    uint64_t addr = fgs__sim_lane_addr(w, i->op[FGS__BULK_MEMORY], narrow,
                                       i->imm, lane);

    if (!r->targets) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the destination of a bulk copy from .shared::cta "
                            "must be in another block of the cluster");
        return false;
    }
    return fgs__sim_shared_offset(w, i, lane, addr, false, r->bytes, 16,
                                  "source of a bulk copy", &r->from);
}

static bool read_oob(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                     int lane, struct fgs__sim_copy_req *r)
{
    uint32_t left = ((const uint32_t *)fgs__sim_at(w, i->op[OP_LEFT]))[lane];
    uint32_t right = ((const uint32_t *)fgs__sim_at(w, i->op[OP_RIGHT]))[lane];

    if (left > 15 || right > 15) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "%u bytes of a bulk copy cannot be ignored, 15 "
                            "are the most",
                            left > right ? left : right);
        return false;
    }
    r->left = (uint8_t)left;
    r->right = (uint8_t)right;
    return true;
}

static bool issue_lane(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane)
{
    const struct fgs__ptx_insn *src = i->src;
    uint32_t flags = i->aux[FGS__BULK_FLAGS];
    struct fgs__sim_copy_req r = {
        .bytes = ((const uint32_t *)fgs__sim_at(w, i->op[OP_BYTES]))[lane]};

    if (r.bytes & 15) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the size of a bulk copy, %u bytes, is not a "
                            "multiple of 16",
                            r.bytes);
        return false;
    }
    if (flags & FGS__BULK_OOB && !read_oob(w, i, lane, &r))
        return false;
    if (src->op == FGS__OP_BULK_REDUCE) {
        r.reduction.op = (uint8_t)src->mod[FGS__G_ATOM];
        r.reduction.type = src->type[0];
        r.reduction.keep = src->mod[FGS__G_NOFTZ];
    }
    if (flags & FGS__BULK_MASK) {
        r.masked = true;
        r.mask = ((const uint16_t *)fgs__sim_at(w, i->op[OP_MASK]))[lane];
    }
    return fgs__sim_bulk_where(w, i, lane, r.bytes, 16, &r) &&
           (r.peer ? check_peer(w, i, lane, &r)
                   : check_global(w, i, lane, &r)) &&
           fgs__sim_bulk_start(w, i, lane, &r);
}

static const struct fgs__sim_insn *run_copy(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    return fgs__sim_bulk_issue(w, i, issue_lane);
}

/* ---------------------------------------------------------------- groups -- */

static const struct fgs__sim_insn *run_commit(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1)
        fgs__sim_copies_commit(w->block,
                               (int64_t)w->id * 32 + fgs__sim_lane(m));
    return i + 1;
}

static const struct fgs__sim_insn *run_wait(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    bool read = i->aux[FGS__BULK_FLAGS] & FGS__BULK_READ;

    for (uint32_t m = w->exec; m; m &= m - 1)
        if (fgs__sim_copies_pending(w->block,
                                    (int64_t)w->id * 32 + fgs__sim_lane(m),
                                    (uint32_t)i->imm, read))
            return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT,
                                       FGS__SIM_NEVER);
    return i + 1;
}

/* --------------------------------------------------------------- st.bulk -- */

/* Zeros to shared memory, a weak store of the thread (ISA 9.7.10, st.bulk). */
static const struct fgs__sim_insn *run_st_bulk(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    const void *sizes = fgs__sim_at(w, i->op[OP_BYTES]);
    bool wide = i->aux[FGS__BULK_AUX], generic = !i->src->space[0];

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);
        uint64_t bytes = wide ? ((const uint64_t *)sizes)[lane]
                              : ((const uint32_t *)sizes)[lane];
        uint64_t addr = fgs__sim_lane_addr(
            w, i->op[FGS__BULK_SHARED],
            i->aux[FGS__BULK_FLAGS] & FGS__BULK_SHARED32,
            (int32_t)i->aux[FGS__BULK_SHARED_OFF], lane);
        uint32_t at;

        if (bytes & 7)
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                       lane, "the size of st.bulk, %llu "
                                       "bytes, is not a multiple of 8",
                                       (unsigned long long)bytes);
        if (!fgs__sim_shared_offset(w, i, lane, addr, generic, bytes, 8,
                                    "destination of st.bulk", &at))
            return NULL;
        memset(w->block->shared + at, 0, bytes);
    }
    fgs__sim_warp_delay(w, FGS__SIM_SHARED_PS);
    return i + 1;
}

bool fgs__sim_sel_st_bulk(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *size = &src->operand[1];
    unsigned bits = 64;

    out->run = run_st_bulk;
    out->op[OP_BYTES] = size->kind == FGS__O_REG
                            ? fgs__sim_ref_reg(d, size, &bits)
                            : fgs__sim_ref_of(d, size, FGS__T_U64);
    out->aux[FGS__BULK_AUX] = bits == 64;
    return out->op[OP_BYTES] != FGS__SIM_NOREF &&
           fgs__sim_bulk_take(d, src, &src->operand[0], FGS__BULK_SHARED,
                              FGS__BULK_SHARED32,
                              &out->aux[FGS__BULK_SHARED_OFF], out);
}

/* -------------------------------------------------------------- selector -- */

static bool take_value(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_operand *o,
                       enum fgs__ptx_type type, unsigned slot,
                       struct fgs__sim_insn *out)
{
    out->op[slot] = fgs__sim_ref_of(d, o, type);
    return out->op[slot] != FGS__SIM_NOREF;
}

/* [to], [from], size {, left, right} {, [barrier]} {, blocks} {, policy}
 * {, bytes}; a cache policy has no effect. */
static bool select_copy(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    bool store = src->space[0] == FGS__M_GLOBAL;
    unsigned cast = src->mod[FGS__G_MULTICAST], n = 3;
    uint32_t offset;

    fgs__sim_bulk_flags(src, out);
    out->run = run_copy;
    if (!take_value(d, &o[2], FGS__T_U32, OP_BYTES, out) ||
        !fgs__sim_bulk_take(d, src, &o[store], FGS__BULK_SHARED,
                            FGS__BULK_SHARED32,
                            &out->aux[FGS__BULK_SHARED_OFF], out) ||
        !fgs__sim_bulk_take(d, src, &o[!store], FGS__BULK_MEMORY,
                            FGS__BULK_MEMORY32, &offset, out))
        return false;
    out->imm = (int32_t)offset;
    if (src->mod[FGS__G_IGNORE_OOB]) {
        out->aux[FGS__BULK_FLAGS] |= FGS__BULK_OOB;
        if (!take_value(d, &o[3], FGS__T_U32, OP_LEFT, out) ||
            !take_value(d, &o[4], FGS__T_U32, OP_RIGHT, out))
            return false;
        n += 2;
    }
    if (!store &&
        !fgs__sim_bulk_take(d, src, &o[n++], FGS__BULK_BAR, FGS__BULK_BAR32,
                            &out->aux[FGS__BULK_BAR_OFF], out))
        return false;
    if (cast && !take_value(d, &o[n++], cast == FGS__M_MULTICAST_32B
                            ? FGS__T_U32 : FGS__T_U16, FGS__BULK_CAST, out))
        return false;
    if (!src->mod[FGS__G_CP_MASK])
        return true;
    out->aux[FGS__BULK_FLAGS] |= FGS__BULK_MASK;
    return take_value(d, &o[n + !!src->mod[FGS__G_CACHE_HINT]], FGS__T_U16,
                      OP_MASK, out);
}

bool fgs__sim_sel_bulk(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    if (src->op == FGS__OP_BULK_COPY || src->op == FGS__OP_BULK_REDUCE)
        return select_copy(d, src, out);
    if (src->op == FGS__OP_BULK_COMMIT) {
        out->run = run_commit;
        return true;
    }
    out->run = run_wait;
    out->blocks = true;
    out->imm = (int64_t)src->operand[0].imm;
    out->aux[FGS__BULK_FLAGS] = src->mod[FGS__G_READ] ? FGS__BULK_READ : 0;
    return true;
}

/* Prefetches into a cache that this device does not have. */
static const struct fgs__sim_insn *run_hint(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    (void)w;
    return i + 1;
}

bool fgs__sim_sel_bulk_hint(struct fgs__sim_decoder *d,
                            const struct fgs__ptx_insn *src,
                            struct fgs__sim_insn *out)
{
    (void)d, (void)src;
    out->run = run_hint;
    return true;
}
