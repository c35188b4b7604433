/* cancel.c -- clusterlaunchcontrol: blocks that never begin, and who knows it
 *
 * A request is on its way for a time drawn from the seed; then a cluster that
 * has no place yet is canceled, or none.  A request may also fail while there
 * still are some, as it does on a device that wants the places for a kernel of
 * a higher priority: the draws below let one in eight.
 *
 * The response has its fields where code for sm_100 takes them from: the first
 * word is %ctaid.x of the canceled cluster's first block, the second has .y
 * and .z in its halves, bit 0 of the third says that there is such a cluster.
 * Bit 1 is our own: such a response was written by this device.
 */
#include "sim/access.h"
#include "sim/cluster.h"
#include "sim/device.h"
#include "sim/latency.h"
#include "sim/mbar.h"

enum { OP_TO, OP_BAR };
enum { AUX_FLAGS, AUX_BAR_OFF };
enum { TO32 = 1, BAR32 = 2, TO_GENERIC = 4, BAR_GENERIC = 8, ALL = 16 };
enum { CANCELED = 1, OURS = 2 }; /* of the third word                      */
enum { BYTES = 16 };

struct fgs__sim_request {
    struct fgs__sim_request *next; /* by due_ps                            */
    const struct fgs__ptx_insn *src;
    int64_t thread;
    uint64_t due_ps;
    uint32_t at, bar;
    bool all;                      /* to each block of the cluster         */
};

void fgs__sim_requests_free(struct fgs__sim_block *b)
{
    while (b->requests) {
        struct fgs__sim_request *r = b->requests;

        b->requests = r->next;
        fgs__free(b->grid->code->alloc, r);
    }
}

/* ------------------------------------------------------------- landing -- */

static void fault(struct fgs__sim_block *b, const struct fgs__sim_request *r,
                  CUresult cu, const char *text)
{
    fgs__sim_fault(b->grid, cu, r->src, b->linear, r->thread, "%s", text);
    b->faulted = true;
}

/* What the response holds besides of a request that fails is undefined (ISA,
 * clusterlaunchcontrol.query_cancel). */
static void decide(struct fgs__sim_block *b, uint32_t word[4])
{
    struct fgs__sim_grid *g = b->grid;
    uint64_t draw = fgs__sim_random(&b->rng), index;
    uint32_t id[3];

    word[0] = (uint32_t)draw;
    word[1] = (uint32_t)(draw >> 32);
    word[2] = OURS;
    word[3] = 0;
    if (!(draw >> 8 & 7) || !fgs__sim_grid_cancel(g, draw, &index))
        return;
    fgs__sim_cluster_ctaid(g, index / g->cluster_size, 0, id);
    word[0] = id[0];
    word[1] = id[1] | id[2] << 16;
    word[2] |= CANCELED;
}

static void answer(struct fgs__sim_block *b, const struct fgs__sim_request *r,
                   struct fgs__sim_block *to, const uint32_t word[4])
{
    enum fgs__mbar_rule rule;
    uint64_t *bar, before;

    if (!to->mbar_live[r->bar / 8]) {
        fault(b, r, CUDA_ERROR_ILLEGAL_INSTRUCTION,
              "there is no initialized mbarrier object where a response of "
              "clusterlaunchcontrol.try_cancel completes");
        return;
    }
    memcpy(to->shared + r->at, word, BYTES);
    bar = (uint64_t *)(void *)(to->shared + r->bar);
    before = *bar;
    rule = fgs__mbar_complete_tx(bar, BYTES);
    if (rule != FGS__MBAR_OK)
        fault(b, r, CUDA_ERROR_ILLEGAL_INSTRUCTION, fgs__mbar_text(rule));
    if (fgs__mbar_primary(before) != fgs__mbar_primary(*bar))
        fgs__sim_peer_event(to, r->due_ps);
}

static void land(struct fgs__sim_block *b, const struct fgs__sim_request *r)
{
    const char *why;
    uint32_t word[4], n = r->all ? fgs__sim_ranks(b) : 1;

    decide(b, word);
    for (uint32_t k = 0; k < n && !b->faulted; k++) {
        struct fgs__sim_block *to = r->all ? fgs__sim_peer(b, k, &why) : b;

        if (to)
            answer(b, r, to, word);
        else
            fault(b, r, CUDA_ERROR_LAUNCH_FAILED,
                  "a block that clusterlaunchcontrol.try_cancel answers has "
                  "ended, or not begun yet");
    }
}

uint64_t fgs__sim_requests_run(struct fgs__sim_block *b, uint64_t now_ps)
{
    while (b->requests && b->requests->due_ps <= now_ps && !b->faulted) {
        struct fgs__sim_request *r = b->requests;

        b->requests = r->next;
        land(b, r);
        fgs__free(b->grid->code->alloc, r);
    }
    return b->requests ? b->requests->due_ps : FGS__SIM_NEVER;
}

bool fgs__sim_requests_orphaned(struct fgs__sim_block *b)
{
    if (!b->requests)
        return false;
    fault(b, b->requests, CUDA_ERROR_ILLEGAL_INSTRUCTION,
          "the block ended before this response was in its shared memory: "
          "wait for its mbarrier first");
    return true;
}

/* --------------------------------------------------------------- issue -- */

static bool aim(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                int lane, struct fgs__sim_request *r)
{
    uint32_t flags = i->aux[AUX_FLAGS];
    uint64_t to = fgs__sim_lane_addr(w, i->op[OP_TO], flags & TO32, i->imm,
                                     lane);
    uint64_t bar = fgs__sim_lane_addr(w, i->op[OP_BAR], flags & BAR32,
                                      (int32_t)i->aux[AUX_BAR_OFF], lane);

    if (!fgs__sim_shared_offset(w, i, lane, to, flags & TO_GENERIC, BYTES,
                                BYTES, "response of try_cancel", &r->at) ||
        !fgs__sim_shared_offset(w, i, lane, bar, flags & BAR_GENERIC, 8, 8,
                                "mbarrier object of try_cancel", &r->bar))
        return false;
    if (w->block->refused)
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the block has seen a request fail: it may make "
                            "no other");
    else if (!w->block->mbar_live[r->bar / 8])
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "there is no initialized mbarrier object at "
                            "shared address 0x%x",
                            w->block->shared_base + r->bar);
    else
        return true;
    return false;
}

static bool ask(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                int lane)
{
    struct fgs__sim_block *b = w->block;
    uint64_t copy_ps = (uint64_t)b->sm->cfg->copy_ns * FGS__SIM_PS_PER_NS;
    struct fgs__sim_request *r, **at = &b->requests;
    struct fgs__sim_request one = {
        .src = i->src,
        .thread = (int64_t)w->id * 32 + lane,
        .due_ps = w->now_ps + FGS__SIM_REMOTE_PS +
            fgs__sim_random(&b->rng) % (copy_ps + 1),
        .all = i->aux[AUX_FLAGS] & ALL,
    };

    if (!aim(w, i, lane, &one))
        return false;
    r = fgs__zalloc(b->grid->code->alloc, sizeof *r);
    if (!r) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, lane,
                            "the host has no memory for a request");
        return false;
    }
    while (*at && (*at)->due_ps <= one.due_ps)
        at = &(*at)->next;
    *r = one;
    r->next = *at;
    *at = r;
    return true;
}

static const struct fgs__sim_insn *run_ask(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1)
        if (!ask(w, i, fgs__sim_lane(m)))
            return NULL;
    return i + 1;
}

/* A shared variable gives its address in its own space. */
static bool is_generic(const struct fgs__ptx_insn *src,
                       const struct fgs__ptx_operand *o)
{
    return !src->space[0] && !(o->sym && o->sym->kind == FGS__SYM_VAR &&
                               o->sym->space == FGS__M_SHARED);
}

bool fgs__sim_sel_cancel(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_COMPLETION, FGS__G_MULTICAST };
    const struct fgs__ptx_operand *o = src->operand;
    unsigned to, bar;
    int64_t bar_off;

    if (!fgs__sim_only(d, src, groups, sizeof groups) ||
        !fgs__sim_ref_addr(d, src, &o[0], &out->op[OP_TO], &to, &out->imm) ||
        !fgs__sim_ref_addr(d, src, &o[1], &out->op[OP_BAR], &bar, &bar_off))
        return false;
    if (bar_off != (int32_t)bar_off) {
        fgs__sim_decode_error(d, src,
                              "an address offset needs more than 32 bits");
        return false;
    }
    out->aux[AUX_FLAGS] = (to == 32 ? TO32 : 0u) | (bar == 32 ? BAR32 : 0u) |
        (is_generic(src, &o[0]) ? TO_GENERIC : 0u) |
        (is_generic(src, &o[1]) ? BAR_GENERIC : 0u) |
        (src->mod[FGS__G_MULTICAST] ? ALL : 0u);
    out->aux[AUX_BAR_OFF] = (uint32_t)bar_off;
    out->run = run_ask;
    return true;
}

/* --------------------------------------------------------------- query -- */

enum { OP_RESPONSE = 0, OP_DST = 1 }; /* up to 4                            */
enum { AUX_FIRST = 0, AUX_COUNT = 1 };

static const uint32_t *response(const struct fgs__sim_warp *w,
                                const struct fgs__sim_insn *i, int lane)
{
    return (const uint32_t *)fgs__sim_at(w, i->op[OP_RESPONSE]) + 4 * lane;
}

static const struct fgs__sim_insn *run_is(struct fgs__sim_warp *w,
                                          const struct fgs__sim_insn *i)
{
    uint32_t *dst = fgs__sim_at(w, i->op[OP_DST]), mask = 0;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint32_t word = response(w, i, l)[2];

        mask |= (word & CANCELED) << l;
        if ((word & (OURS | CANCELED)) == OURS)
            w->block->refused = true;
    }
    *dst = (*dst & ~w->exec) | mask;
    return i + 1;
}

/* Where the request failed the behavior is undefined; no fault, since the
 * machine takes bits out and compilers ask before they look whether it did.
 * The fourth component is not specified. */
static const struct fgs__sim_insn *run_ctaid(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    uint32_t first = i->aux[AUX_FIRST], n = i->aux[AUX_COUNT];

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        const uint32_t *word = response(w, i, l);
        const uint32_t id[4] = { word[0], word[1] & 0xffff, word[1] >> 16,
                                 (uint32_t)fgs__sim_random(&w->block->rng) };

        for (uint32_t k = 0; k < n; k++)
            ((uint32_t *)fgs__sim_at(w, i->op[OP_DST + k]))[l] = id[first + k];
    }
    return i + 1;
}

bool fgs__sim_sel_query(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = &src->operand[0];
    bool is = src->op == FGS__OP_IS_CANCELED;
    unsigned dim = src->mod[FGS__G_CTAID];

    out->op[OP_RESPONSE] = fgs__sim_ref_of(d, &src->operand[1], FGS__T_B128);
    out->aux[AUX_FIRST] = dim ? dim - FGS__M_CTAID_X : 0;
    out->aux[AUX_COUNT] = o->kind == FGS__O_VEC ? o->children : 1;
    out->run = is ? run_is : run_ctaid;
    if (out->op[OP_RESPONSE] == FGS__SIM_NOREF)
        return false;
    for (uint32_t k = 0; k < out->aux[AUX_COUNT]; k++) {
        out->op[OP_DST + k] =
            fgs__sim_ref_dst(d, o->kind == FGS__O_VEC ? &o->child[k] : o,
                             is ? FGS__T_PRED : FGS__T_B32);
        if (out->op[OP_DST + k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}
