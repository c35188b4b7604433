/* async_store.c -- st.async and red.async
 *
 * One is on its way for a time drawn from the seed; when it lands the block
 * that it goes to is asked for again, since it may have ended.  With .release
 * it goes to global memory and lands before its own block is over.
 */
#include "sim/access.h"
#include "sim/bulk.h"
#include "sim/cluster.h"
#include "sim/latency.h"
#include "sim/mbar.h"

enum { OP_TO, OP_BAR, OP_VALUE };        /* up to 4 values                 */
enum { AUX_FLAGS, AUX_BAR_OFF, AUX_BYTES }; /* bytes of one value           */
enum { TO32 = 1, BAR32 = 2, GENERIC = 4, GLOBAL = 8, RED = 16, COUNT = 8 };

struct fgs__sim_sent {
    struct fgs__sim_sent *next; /* by due_ps                              */
    const struct fgs__ptx_insn *src;
    int64_t thread;
    uint64_t due_ps, global;
    uint32_t rank, at, bar;     /* of a block of the cluster              */
    uint32_t bytes;
    bool to_global;
    struct fgs__sim_reduction red;
    _Alignas(16) unsigned char value[16];
};

void fgs__sim_sent_free(struct fgs__sim_block *b)
{
    while (b->sent) {
        struct fgs__sim_sent *s = b->sent;

        b->sent = s->next;
        fgs__free(b->grid->code->alloc, s);
    }
}

/* ------------------------------------------------------------- landing -- */

static void fault(struct fgs__sim_block *b, const struct fgs__sim_sent *s,
                  CUresult cu, const char *text)
{
    fgs__sim_fault(b->grid, cu, s->src, b->linear, s->thread, "%s", text);
    b->faulted = true;
}

FGS__DEVICE_MEMORY
static void put(const struct fgs__sim_sent *s, void *to)
{
    if (s->red.op)
        fgs__sim_reduce(to, s->value, s->bytes, &s->red);
    else
        memcpy(to, s->value, s->bytes);
}

FGS__DEVICE_MEMORY
static void land_global(struct fgs__sim_block *b, const struct fgs__sim_sent *s)
{
    struct fgs__sim_range r;

    if (!fgs__sim_mem_find(b->sm->mem, s->global, &r) ||
        r.hi - s->global < s->bytes) {
        fault(b, s, CUDA_ERROR_ILLEGAL_ADDRESS,
              "global memory was freed while an asynchronous store was on "
              "its way");
        return;
    }
    atomic_thread_fence(memory_order_release);
    put(s, r.host + (s->global - r.lo));
}

static void land_block(struct fgs__sim_block *b, const struct fgs__sim_sent *s)
{
    const char *why;
    struct fgs__sim_block *to = fgs__sim_peer(b, s->rank, &why);
    enum fgs__mbar_rule rule;
    uint64_t *bar, before;

    if (!to) {
        fault(b, s, CUDA_ERROR_LAUNCH_FAILED,
              "the block that an asynchronous store goes to has ended");
        return;
    }
    if (!to->mbar_live[s->bar / 8]) {
        fault(b, s, CUDA_ERROR_ILLEGAL_INSTRUCTION,
              "there is no initialized mbarrier object where an asynchronous "
              "store completes");
        return;
    }
    put(s, to->shared + s->at);
    bar = (uint64_t *)(void *)(to->shared + s->bar);
    before = *bar;
    rule = fgs__mbar_complete_tx(bar, s->bytes);
    if (rule != FGS__MBAR_OK)
        fault(b, s, CUDA_ERROR_ILLEGAL_INSTRUCTION, fgs__mbar_text(rule));
    if (fgs__mbar_primary(before) != fgs__mbar_primary(*bar))
        fgs__sim_peer_event(to, s->due_ps);
}

uint64_t fgs__sim_sent_run(struct fgs__sim_block *b, uint64_t now_ps)
{
    while (b->sent && b->sent->due_ps <= now_ps && !b->faulted) {
        struct fgs__sim_sent *s = b->sent;

        b->sent = s->next;
        if (s->to_global)
            land_global(b, s);
        else
            land_block(b, s);
        fgs__free(b->grid->code->alloc, s);
    }
    return b->sent ? b->sent->due_ps : FGS__SIM_NEVER;
}

/* --------------------------------------------------------------- issue -- */

static void gather(const struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                   int lane, struct fgs__sim_sent *s)
{
    uint32_t one = i->aux[AUX_BYTES], n = (uint32_t)i->aux[AUX_FLAGS] / 256;

    for (uint32_t k = 0; k < n; k++)
        memcpy(s->value + k * one,
               (const char *)fgs__sim_at(w, i->op[OP_VALUE + k]) +
                   (size_t)lane * one,
               one);
    s->bytes = n * one;
}

static bool aim_global(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane, uint64_t addr, struct fgs__sim_sent *s)
{
    s->to_global = true;
    s->global = addr;
    if (addr & (s->bytes - 1)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "address 0x%llx is not a multiple of the %u bytes "
                            "accessed", (unsigned long long)addr, s->bytes);
        return false;
    }
    if (fgs__sim_global(w, addr, s->bytes))
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                        "%u bytes at address 0x%llx are not inside any "
                        "allocation", s->bytes, (unsigned long long)addr);
    return false;
}

/* Destination and barrier lie in one block (ISA 9.7.10.12), for red.async in
 * another one than the thread's (9.7.15.7). */
static bool aim(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                int lane, struct fgs__sim_sent *s)
{
    uint32_t flags = i->aux[AUX_FLAGS];
    uint64_t to = fgs__sim_lane_addr(w, i->op[OP_TO], flags & TO32, i->imm,
                                     lane), bar;
    struct fgs__sim_block *owner, *with;
    const char *wrong = NULL;

    if (flags & GLOBAL)
        return aim_global(w, i, lane, to, s);
    bar = fgs__sim_lane_addr(w, i->op[OP_BAR], flags & BAR32,
                             (int32_t)i->aux[AUX_BAR_OFF], lane);
    if (!fgs__sim_cluster_offset(w, i, lane, to, flags & GENERIC, s->bytes,
                                 s->bytes, "destination of an asynchronous "
                                 "store", &owner, &s->at) ||
        !fgs__sim_cluster_offset(w, i, lane, bar, flags & GENERIC, 8, 8,
                                 "mbarrier object of an asynchronous store",
                                 &with, &s->bar))
        return false;
    s->rank = owner->rank;
    if (owner != with)
        wrong = "destination and mbarrier object are in different blocks";
    else if (fgs__sim_ranks(w->block) < 2)
        wrong = "an asynchronous store needs a cluster of several blocks";
    else if ((flags & RED) && owner == w->block)
        wrong = "red.async goes to another block than the thread's own";
    if (!wrong)
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane, "%s",
                        wrong);
    return false;
}

static bool send(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                 int lane)
{
    struct fgs__sim_block *b = w->block;
    uint64_t copy_ps = (uint64_t)b->sm->cfg->copy_ns * FGS__SIM_PS_PER_NS;
    struct fgs__sim_sent *s = fgs__zalloc(b->grid->code->alloc, sizeof *s);
    struct fgs__sim_sent **at;

    if (!s) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, lane,
                            "the host has no memory for a store");
        return false;
    }
    s->src = i->src;
    s->thread = (int64_t)w->id * 32 + lane;
    s->red.op = (uint8_t)i->src->mod[FGS__G_ATOM];
    s->red.type = i->src->type[0];
    gather(w, i, lane, s);
    s->due_ps = w->now_ps + FGS__SIM_REMOTE_PS +
        fgs__sim_random(&b->rng) % (copy_ps + 1);
    if (!aim(w, i, lane, s)) {
        fgs__free(b->grid->code->alloc, s);
        return false;
    }
    for (at = &b->sent; *at && (*at)->due_ps <= s->due_ps; at = &(*at)->next)
        ;
    s->next = *at;
    *at = s;
    return true;
}

static const struct fgs__sim_insn *run_send(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    for (uint32_t m = w->exec; m; m &= m - 1)
        if (!send(w, i, fgs__sim_lane(m)))
            return NULL;
    return i + 1;
}

/* ------------------------------------------------------------ selector -- */

static const uint8_t groups[] = { FGS__G_SPACE, FGS__G_SEM, FGS__G_SCOPE,
                                  FGS__G_VEC, FGS__G_MMIO, FGS__G_ATOM,
                                  FGS__G_COMPLETION };

bool fgs__sim_sel_send(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand, *v = &o[1];
    uint32_t n = v->kind == FGS__O_VEC ? v->children : 1, k;
    unsigned to, bar = 64;
    int64_t bar_off = 0;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (n > 4 ||
        !fgs__sim_ref_addr(d, src, &o[0], &out->op[OP_TO], &to, &out->imm) ||
        (src->operands > 2 &&
         !fgs__sim_ref_addr(d, src, &o[2], &out->op[OP_BAR], &bar, &bar_off)))
        return false;
    if (bar_off != (int32_t)bar_off) {
        fgs__sim_decode_error(d, src,
                              "an address offset needs more than 32 bits");
        return false;
    }
    for (k = 0; k < n; k++) {
        out->op[OP_VALUE + k] =
            fgs__sim_ref_of(d, v->kind == FGS__O_VEC ? &v->child[k] : v,
                            (enum fgs__ptx_type)src->type[0]);
        if (out->op[OP_VALUE + k] == FGS__SIM_NOREF)
            return false;
    }
    out->aux[AUX_FLAGS] = (to == 32 ? TO32 : 0u) | (bar == 32 ? BAR32 : 0u) |
        (src->space[0] ? 0u : GENERIC) | (src->operands > 2 ? 0u : GLOBAL) |
        (src->op == FGS__OP_RED_ASYNC ? RED : 0u) | n << COUNT;
    out->aux[AUX_BAR_OFF] = (uint32_t)bar_off;
    out->aux[AUX_BYTES] = fgs__ptx_types[src->type[0]].bits / 8;
    out->run = run_send;
    return true;
}
