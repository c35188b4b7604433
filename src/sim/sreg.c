/* sreg.c -- values of the special registers */
#include "sim/access.h"
#include "sim/decode.h"
#include "sim/device.h"

bool fgs__sim_sreg_moves(enum fgs__ptx_sreg s)
{
    switch (s) {
    case FGS__SR_CLOCK:
    case FGS__SR_CLOCK_HI:
    case FGS__SR_CLOCK64:
    case FGS__SR_GLOBALTIMER:
    case FGS__SR_GLOBALTIMER_LO:
    case FGS__SR_GLOBALTIMER_HI:
        return true;
    default:
        return false;
    }
}

bool fgs__sim_reads_time(const struct fgs__ptx_insn *src)
{
    const struct fgs__ptx_operand *o = src->operand;

    return (src->op == FGS__OP_MOV || src->op == FGS__OP_CVT) &&
        src->operands > 1 && o[1].kind == FGS__O_SREG &&
        fgs__sim_sreg_moves((enum fgs__ptx_sreg)o[1].sreg);
}

bool fgs__sim_sreg_reserved(enum fgs__ptx_sreg s)
{
    return s >= FGS__SR_RESERVED_SMEM_BEGIN && s <= FGS__SR_RESERVED_SMEM_1;
}

uint64_t fgs__sim_sreg_time(const struct fgs__sim_warp *w,
                            enum fgs__ptx_sreg s)
{
    /* 1.75 GHz: 7 cycles are 4000 ps. */
    uint64_t ps = w->block->still_ps ? w->block->still_ps : w->now_ps;
    uint64_t clock = ps / 4000 * 7 + ps % 4000 * 7 / 4000;
    uint64_t timer = ps / FGS__SIM_PS_PER_NS;

    switch (s) {
    case FGS__SR_CLOCK:
        return (uint32_t)clock;
    case FGS__SR_CLOCK_HI:
        return clock >> 32;
    case FGS__SR_CLOCK64:
        return clock;
    case FGS__SR_GLOBALTIMER_LO:
        return (uint32_t)timer;
    case FGS__SR_GLOBALTIMER_HI:
        return timer >> 32;
    default:
        return timer;
    }
}

static int64_t extended(uint64_t v, const struct fgs__ptx_type_info *t)
{
    unsigned rest = 64u - t->bits;

    return t->kind == FGS__K_SINT ? (int64_t)(v << rest) >> rest
                                  : (int64_t)(v << rest >> rest);
}

/* Time fits into 63 bits, so a signed number holds it whatever its type. */
static const struct fgs__sim_insn *run_cvt_time(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i)
{
    const struct fgs__ptx_insn *src = i->src;
    const struct fgs__ptx_type_info *to = &fgs__ptx_types[src->type[0]];
    uint64_t v = fgs__sim_sreg_time(
        w, (enum fgs__ptx_sreg)src->operand[1].sreg);
    int64_t x = extended(v, &fgs__ptx_types[src->type[1]]);
    unsigned cut = 64u - to->bits + (to->kind == FGS__K_SINT);
    int64_t most = (int64_t)(UINT64_MAX >> (cut ? cut : 1));
    int64_t least = to->kind == FGS__K_SINT ? -most - 1 : 0;
    unsigned char *d = fgs__sim_at(w, i->op[0]);
    size_t bytes = i->aux[0] / 8;

    if (src->mod[FGS__G_SAT])
        x = x < least ? least : x > most ? most : x;
    x = extended((uint64_t)x, to);
    for (uint32_t m = w->exec; m; m &= m - 1)
        memcpy(d + fgs__sim_lane(m) * bytes, &x, bytes);
    return i + 1;
}

bool fgs__sim_sel_cvt_time(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src,
                           struct fgs__sim_insn *out)
{
    out->run = run_cvt_time;
    out->op[0] = fgs__sim_ref_reg(d, &src->operand[0], &out->aux[0]);
    return out->op[0] != FGS__SIM_NOREF;
}

static uint64_t tid_of(const struct fgs__sim_grid *g, uint32_t thread,
                       unsigned comp)
{
    if (comp == 0)
        return thread % g->block[0];
    if (comp == 1)
        return thread / g->block[0] % g->block[1];
    return thread / g->block[0] / g->block[1];
}

static uint64_t by_lane(enum fgs__ptx_sreg s, unsigned lane)
{
    uint32_t eq = 1u << lane;

    switch (s) {
    case FGS__SR_LANEID:
        return lane;
    case FGS__SR_LANEMASK_EQ:
        return eq;
    case FGS__SR_LANEMASK_LT:
        return eq - 1;
    case FGS__SR_LANEMASK_LE:
        return (eq - 1) | eq;
    case FGS__SR_LANEMASK_GT:
        return (uint32_t)~((eq - 1) | eq);
    default:
        return (uint32_t)~(eq - 1);
    }
}

static uint64_t value_of(const struct fgs__sim_warp *w, enum fgs__ptx_sreg s,
                         unsigned comp, unsigned lane)
{
    const struct fgs__sim_block *b = w->block;
    const struct fgs__sim_grid *g = b->grid;

    if (comp > 2) /* .w of all that have components */
        return 0;
    switch (s) {
    case FGS__SR_TID:
        return tid_of(g, w->id * 32 + lane, comp);
    case FGS__SR_NTID:
        return g->block[comp];
    case FGS__SR_CTAID:
        return b->ctaid[comp];
    case FGS__SR_NCTAID:
        return g->grid[comp];
    case FGS__SR_CLUSTERID:
        return b->ctaid[comp] / g->cluster[comp];
    case FGS__SR_NCLUSTERID:
        return g->grid[comp] / g->cluster[comp];
    case FGS__SR_CLUSTER_CTAID:
        return b->ctaid[comp] % g->cluster[comp];
    case FGS__SR_CLUSTER_NCTAID:
        return g->cluster[comp];
    case FGS__SR_CLUSTER_CTARANK:
        return b->rank;
    case FGS__SR_CLUSTER_NCTARANK:
        return g->cluster_size;
    case FGS__SR_IS_EXPLICIT_CLUSTER:
        return g->explicit_cluster ? UINT32_MAX : 0;
    case FGS__SR_WARPID:
        return w->id;
    case FGS__SR_NWARPID:
        return w->sm->cfg->sm_threads / 32;
    case FGS__SR_SMID:
        return w->sm->id;
    case FGS__SR_NSMID:
        return w->sm->cfg->sms;
    case FGS__SR_GRIDID:
        return g->id;
    case FGS__SR_DYNAMIC_SMEM_SIZE:
        return g->dynamic_bytes;
    case FGS__SR_TOTAL_SMEM_SIZE: /* in units of 128 bytes, as on an H200 */
        return (g->shared_bytes + 127) / 128 * 128;
    case FGS__SR_AGGR_SMEM_SIZE:
        return g->shared_bytes + FGS__SIM_RESERVED_SHARED;
    case FGS__SR_ENVREG1: /* as cooperative groups read it: stream.c */
        return (uint32_t)(g->workspace >> 32);
    case FGS__SR_ENVREG2:
        return (uint32_t)g->workspace;
    case FGS__SR_RESERVED_SMEM_BEGIN:
    case FGS__SR_RESERVED_SMEM_0:
        return b->shared_base + fgs__sim_reserved_at(g);
    case FGS__SR_RESERVED_SMEM_1: /* 288 bytes for cooperative groups' tiles */
        return b->shared_base + fgs__sim_reserved_at(g) +
            FGS__SIM_RESERVED_SHARED / 2;
    case FGS__SR_RESERVED_SMEM_END:
        return b->shared_base + fgs__sim_reserved_at(g) +
            FGS__SIM_RESERVED_SHARED;
    case FGS__SR_RESERVED_SMEM_CAP:
        return FGS__SIM_RESERVED_SHARED;
    default: /* no graph was launched by a kernel, nobody counts, nobody set
                other %envreg */
        return 0;
    }
}

enum fgs__sim_base fgs__sim_sreg_base(enum fgs__ptx_sreg s)
{
    switch (s) {
    case FGS__SR_TID:
    case FGS__SR_WARPID:
        return FGS__SIM_BANK;
    case FGS__SR_LANEID:
    case FGS__SR_LANEMASK_EQ:
    case FGS__SR_LANEMASK_LT:
    case FGS__SR_LANEMASK_LE:
    case FGS__SR_LANEMASK_GT:
    case FGS__SR_LANEMASK_GE:
        return FGS__SIM_KONST;
    default:
        return FGS__SIM_COMMON;
    }
}

bool fgs__sim_sreg_steady(enum fgs__ptx_sreg s)
{
    switch (s) {
    case FGS__SR_TID:
    case FGS__SR_NTID:
    case FGS__SR_NCTAID:
    case FGS__SR_WARPID:
    case FGS__SR_SMID:
    case FGS__SR_GRIDID:
        return true;
    default:
        return false;
    }
}

void fgs__sim_broadcast(struct fgs__sim_warp *w, fgs__sim_ref ref, uint64_t v,
                        unsigned bits)
{
    unsigned char *at = fgs__sim_at(w, ref);
    size_t lane;

    if (bits == 1) /* a predicate is one mask */
        memcpy(at, &v, 4);
    else if (bits >= 32)
        w->sm->shapes->splat(at, v, bits / 8);
    for (lane = 0; (bits == 16 || bits == 8) && lane < 32; lane++)
        memcpy(at + lane * (bits / 8), &v, bits / 8);
}

void fgs__sim_sreg_fill(struct fgs__sim_warp *w,
                        const struct fgs__sim_sreg_slot *s)
{
    unsigned char *at = fgs__sim_at(w, s->ref);
    enum fgs__ptx_sreg sreg = (enum fgs__ptx_sreg)s->sreg;
    uint64_t v;
    unsigned lane;

    if (sreg != FGS__SR_TID) {
        v = value_of(w, sreg, s->comp, 0);
        fgs__sim_broadcast(w, s->ref, v, s->bits);
        return;
    }
    for (lane = 0; lane < 32; lane++) {
        v = value_of(w, sreg, s->comp, lane);
        memcpy(at + lane * (s->bits / 8u), &v, s->bits / 8u);
    }
}

void fgs__sim_sreg_lanes(unsigned char *at, enum fgs__ptx_sreg sreg,
                         unsigned bits)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        uint64_t v = by_lane(sreg, lane);

        memcpy(at + lane * (bits / 8u), &v, bits / 8u);
    }
}
