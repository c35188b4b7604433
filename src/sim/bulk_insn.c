/* bulk_insn.c -- cp.async.bulk and its groups */
#include "sim/access.h"
#include "sim/bulk.h"
#include "sim/latency.h"
#include "sim/mbar.h"

enum {
    OP_SHARED = 0,
    OP_GLOBAL = 1,
    OP_BYTES = 2,
    OP_BAR = 3,
    AUX_MECH = 0,
    AUX_FLAGS = 1
};
/* Flags; an address operand keeps its offset in aux[] or imm. */
enum { STORE = 1, SHARED32 = 2, GLOBAL32 = 4, BAR32 = 8, READ = 1 };
enum { AUX_SHARED_OFF = 2, AUX_BAR_OFF = 3 };

/* Global side: 16-byte aligned and inside one allocation. */
static bool check_global(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, struct fgs__sim_copy_req *r)
{
    const char *what = r->store ? "destination" : "source";

    if (r->global & 15) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "the %s of a bulk copy, global address 0x%llx, is "
                            "not 16-byte aligned",
                            what, (unsigned long long)r->global);
        return false;
    }
    r->generation = fgs__sim_mem_generation(w->sm->mem);
    r->host = fgs__sim_global(w, r->global, r->bytes);
    if (!r->host && r->bytes) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "the %s of a bulk copy, %u bytes at global "
                            "address 0x%llx, is not inside any allocation",
                            what, r->bytes, (unsigned long long)r->global);
        return false;
    }
    return true;
}

/* A load is tracked by an initialized barrier; one that reports needs a v1
 * barrier, which stores the report (guide 4.6.3.1). */
static bool check_bar(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, struct fgs__sim_copy_req *r)
{
    uint64_t addr =
        fgs__sim_lane_addr(w, i->op[OP_BAR], i->aux[AUX_FLAGS] & BAR32,
                           (int32_t)i->aux[AUX_BAR_OFF], lane);
    uint64_t bar;

    if (!fgs__sim_shared_offset(w, i, lane, addr, false, 8, 8,
                                "mbarrier object of a bulk copy", &r->bar))
        return false;
    if (!w->block->mbar_live[r->bar / 8]) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "there is no initialized mbarrier object at "
                            "shared address 0x%x",
                            r->bar);
        return false;
    }
    memcpy(&bar, w->block->shared + r->bar, sizeof bar);
    if (r->mech != FGS_MECHANISM_DISABLED && !fgs__mbar_layout(bar)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "a copy with a validity report mechanism must be "
                            "tracked by a layout::v1 barrier; the one at "
                            "shared address 0x%x is layout::v0",
                            r->bar);
        return false;
    }
    return true;
}

static bool issue_lane(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane)
{
    uint32_t flags = i->aux[AUX_FLAGS];
    struct fgs__sim_copy_req r = {.src = i->src, .store = flags & STORE};
    uint64_t shared = fgs__sim_lane_addr(w, i->op[OP_SHARED], flags & SHARED32,
                                         (int32_t)i->aux[AUX_SHARED_OFF], lane);

    r.thread = (int64_t)w->id * 32 + lane;
    r.mech = (fgs_mechanism)i->aux[AUX_MECH];
    r.bytes = ((const uint32_t *)fgs__sim_at(w, i->op[OP_BYTES]))[lane];
    r.global =
        fgs__sim_lane_addr(w, i->op[OP_GLOBAL], flags & GLOBAL32, i->imm, lane);
    if (r.bytes & 15) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the size of a bulk copy, %u bytes, is not a "
                            "multiple of 16",
                            r.bytes);
        return false;
    }
    if (!fgs__sim_shared_offset(w, i, lane, shared, false, r.bytes, 16,
                                r.store ? "source of a bulk copy"
                                        : "destination of a bulk copy",
                                &r.shared) ||
        !check_global(w, i, lane, &r) ||
        (!r.store && !check_bar(w, i, lane, &r)))
        return false;
    if (fgs__sim_copy_start(w->block, &r, w->now_ps))
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, lane,
                        "the host has no memory for a bulk copy");
    return false;
}

static const struct fgs__sim_insn *run_copy(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1)
        if (!issue_lane(w, i, fgs__sim_lane(m)))
            return NULL;
    fgs__sim_warp_delay(w, FGS__SIM_ISSUE_PS);
    return i + 1;
}

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
    for (uint32_t m = w->exec; m; m &= m - 1)
        if (fgs__sim_copies_pending(w->block,
                                    (int64_t)w->id * 32 + fgs__sim_lane(m),
                                    (uint32_t)i->imm, i->aux[AUX_FLAGS] & READ))
            return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT,
                                       FGS__SIM_NEVER);
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

static bool take_addr(struct fgs__sim_decoder *d,
                      const struct fgs__ptx_insn *src,
                      const struct fgs__ptx_operand *o, unsigned slot,
                      uint32_t flag32, int64_t *offset,
                      struct fgs__sim_insn *out)
{
    unsigned bits;

    if (!fgs__sim_ref_addr(d, src, o, &out->op[slot], &bits, offset))
        return false;
    if (bits == 32)
        out->aux[AUX_FLAGS] |= flag32;
    if (*offset == (int32_t)*offset)
        return true;
    fgs__sim_decode_error(d, src, "an address offset needs more than 32 bits");
    return false;
}

static bool is_shared(unsigned word)
{
    return word == FGS__M_SHARED || word == FGS__M_SHARED_CTA ||
           word == FGS__M_SHARED_CLUSTER;
}

/* The two directions that are executed; a destination .shared::cluster is
 * the block itself, as long as there are no clusters.  A cache policy, last of
 * the operands, has no effect. */
static bool take_direction(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src, bool *store)
{
    unsigned dst = src->space[0], from = src->space[1];
    unsigned done = src->mod[FGS__G_COMPLETION];
    unsigned operands = src->operands - !!src->mod[FGS__G_CACHE_HINT];
    bool plain = !src->mod[FGS__G_MULTICAST] && !src->mod[FGS__G_IGNORE_OOB] &&
                 !src->mod[FGS__G_CP_MASK];

    if (plain && is_shared(dst) && from == FGS__M_GLOBAL && operands == 4 &&
        done == FGS__M_MBAR_BYTES) {
        *store = false;
        return true;
    }
    if (plain && dst == FGS__M_GLOBAL && from == FGS__M_SHARED_CTA &&
        operands == 3 && done == FGS__M_BULK_GROUP) {
        *store = true;
        return true;
    }
    fgs__sim_decode_error(d, src,
                          "this form (spaces, masks, multicast, "
                          "ignore_oob) is not executed");
    return false;
}

static fgs_mechanism mechanism_of(unsigned word)
{
    switch (word) {
#define MECH(id, name, sentinel, bits, checks)                                 \
    case FGS__M_REPORT_##id:                                                   \
        return FGS_MECHANISM_##id;
#include "table/mechanism.def"
#undef MECH
    default:
        return FGS_MECHANISM_DISABLED;
    }
}

static bool select_copy(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    int64_t shared_off, global_off, bar_off = 0;
    bool store;

    if (!take_direction(d, src, &store))
        return false;
    out->run = run_copy;
    out->aux[AUX_FLAGS] = store ? STORE : 0;
    out->aux[AUX_MECH] = mechanism_of(src->mod[FGS__G_REPORT]);
    out->op[OP_BYTES] = fgs__sim_ref_of(d, &o[2], FGS__T_U32);
    if (out->op[OP_BYTES] == FGS__SIM_NOREF ||
        !take_addr(d, src, &o[store], OP_SHARED, SHARED32, &shared_off, out) ||
        !take_addr(d, src, &o[!store], OP_GLOBAL, GLOBAL32, &global_off, out) ||
        (!store && !take_addr(d, src, &o[3], OP_BAR, BAR32, &bar_off, out)))
        return false;
    out->aux[AUX_SHARED_OFF] = (uint32_t)shared_off;
    out->aux[AUX_BAR_OFF] = (uint32_t)bar_off;
    out->imm = global_off;
    return true;
}

bool fgs__sim_sel_bulk(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    if (src->op == FGS__OP_BULK_COPY)
        return select_copy(d, src, out);
    if (src->op == FGS__OP_BULK_COMMIT) {
        out->run = run_commit;
        return true;
    }
    out->run = run_wait;
    out->blocks = true;
    out->imm = (int64_t)src->operand[0].imm;
    out->aux[AUX_FLAGS] = src->mod[FGS__G_READ] ? READ : 0;
    return true;
}
