/* bulk_issue.c -- what bulk and tensor copies share when they are issued */
#include "sim/bulk_issue.h"
#include "sim/latency.h"
#include "sim/cluster.h"
#include "sim/mbar.h"

bool fgs__sim_bulk_take(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        const struct fgs__ptx_operand *o, unsigned slot,
                        uint32_t flag32, uint32_t *offset,
                        struct fgs__sim_insn *out)
{
    unsigned bits;
    int64_t off;

    if (!fgs__sim_ref_addr(d, src, o, &out->op[slot], &bits, &off))
        return false;
    if (bits == 32)
        out->aux[FGS__BULK_FLAGS] |= flag32;
    *offset = (uint32_t)off;
    if (off == (int32_t)off)
        return true;
    fgs__sim_decode_error(d, src, "an address offset needs more than 32 bits");
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

void fgs__sim_bulk_flags(const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    unsigned cast = src->mod[FGS__G_MULTICAST];
    uint32_t flags = (uint32_t)mechanism_of(src->mod[FGS__G_REPORT]) << 16;

    if (src->space[0] == FGS__M_GLOBAL)
        flags |= FGS__BULK_STORE;
    else if (src->space[1] != FGS__M_GLOBAL)
        flags |= FGS__BULK_PEER;
    if (src->space[0] == FGS__M_SHARED_CLUSTER)
        flags |= FGS__BULK_CLUSTER;
    if (cast)
        flags |= FGS__BULK_CAST_ON;
    if (cast && cast != FGS__M_MULTICAST_32B)
        flags |= FGS__BULK_CAST_16;
    if (src->mod[FGS__G_CTA_GROUP] == FGS__M_CTA_GROUP_2)
        flags |= FGS__BULK_PAIR;
    out->aux[FGS__BULK_FLAGS] |= flags;
}

/* A load is tracked by an initialized barrier; one that reports needs a v1
 * barrier, which stores the report (guide 4.6.3.1).  Of a multicast the other
 * blocks' barriers are looked at when data lands. */
static bool check_bar(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, const struct fgs__sim_block *owner,
                      const struct fgs__sim_copy_req *r)
{
    uint64_t bar;

    if (!owner->mbar_live[r->bar / 8]) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "there is no initialized mbarrier object at "
                            "shared address 0x%x",
                            owner->shared_base + r->bar);
        return false;
    }
    memcpy(&bar, owner->shared + r->bar, sizeof bar);
    if (r->mech != FGS_MECHANISM_DISABLED && !fgs__mbar_layout(bar)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "a copy with a validity report mechanism must be "
                            "tracked by a layout::v1 barrier; the one at "
                            "shared address 0x%x is layout::v0",
                            owner->shared_base + r->bar);
        return false;
    }
    return true;
}

static bool find(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                 int lane, uint64_t addr, uint64_t bytes, uint32_t align,
                 const char *what, struct fgs__sim_block **owner,
                 uint32_t *out)
{
    *owner = w->block;
    if (i->aux[FGS__BULK_FLAGS] & FGS__BULK_CLUSTER)
        return fgs__sim_cluster_offset(w, i, lane, addr, false, bytes, align,
                                       what, owner, out);
    return fgs__sim_shared_offset(w, i, lane, addr, false, bytes, align, what,
                                  out);
}

/* Barrier and blocks of a load or peer copy. */
static bool find_targets(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, const struct fgs__sim_block *to,
                         struct fgs__sim_copy_req *r)
{
    uint32_t flags = i->aux[FGS__BULK_FLAGS];
    uint64_t addr = fgs__sim_lane_addr(
        w, i->op[FGS__BULK_BAR], flags & FGS__BULK_BAR32,
        (int32_t)i->aux[FGS__BULK_BAR_OFF], lane);
    struct fgs__sim_block *with;
    bool cast = flags & FGS__BULK_CAST_ON;

    if (!find(w, i, lane, addr, 8, 8, "mbarrier object of a bulk copy", &with,
              &r->bar))
        return false;
    r->pair = flags & FGS__BULK_PAIR;
    r->bar_rank = with->rank;
    if (!cast && with != to && !(r->pair && with->rank >> 1 == to->rank >> 1)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the mbarrier object is in block %u of the "
                            "cluster, the destination in block %u",
                            with->rank, to->rank);
        return false;
    }
    r->targets = to == w->block && with == to ? 0 : 1u << to->rank;
    if (cast) {
        const void *mask = fgs__sim_at(w, i->op[FGS__BULK_CAST]);

        r->targets = flags & FGS__BULK_CAST_16
                         ? ((const uint16_t *)mask)[lane]
                         : ((const uint32_t *)mask)[lane];
        if (!r->targets) {
            fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                                "the mask of a multicast names no block");
            return false;
        }
        return true;
    }
    return check_bar(w, i, lane, with, r);
}

bool fgs__sim_bulk_where(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, uint64_t span, uint32_t align,
                         struct fgs__sim_copy_req *r)
{
    uint32_t flags = i->aux[FGS__BULK_FLAGS];
    uint64_t addr = fgs__sim_lane_addr(
        w, i->op[FGS__BULK_SHARED], flags & FGS__BULK_SHARED32,
        (int32_t)i->aux[FGS__BULK_SHARED_OFF], lane);
    struct fgs__sim_block *to;

    r->src = i->src;
    r->thread = (int64_t)w->id * 32 + lane;
    r->mech = (fgs_mechanism)(flags >> 16);
    r->store = flags & FGS__BULK_STORE;
    r->peer = flags & FGS__BULK_PEER;
    if (!find(w, i, lane, addr, span, align,
              r->store ? "source of a bulk copy" : "destination of a bulk copy",
              &to, &r->shared))
        return false;
    return r->store || find_targets(w, i, lane, to, r);
}

bool fgs__sim_bulk_start(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, const struct fgs__sim_copy_req *r)
{
    if (fgs__sim_copy_start(w->block, r, w->now_ps))
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, lane,
                        "the host has no memory for a bulk copy");
    return false;
}

const struct fgs__sim_insn *
fgs__sim_bulk_issue(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                    bool (*lane_issues)(struct fgs__sim_warp *w,
                                        const struct fgs__sim_insn *i,
                                        int lane))
{
    for (uint32_t m = w->exec; m; m &= m - 1)
        if (!lane_issues(w, i, fgs__sim_lane(m)))
            return NULL;
    fgs__sim_warp_delay(w, FGS__SIM_ISSUE_PS);
    return i + 1;
}
