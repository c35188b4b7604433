/* barrier_cluster.c -- barrier.cluster: all threads of a cluster meet
 *
 * A thread arrives, later it waits; between the two it may not arrive again
 * (ISA 9.7.15.3).  Each warp keeps the lanes that arrived at the barrier that
 * is open, and those whose barrier completed but that have not waited yet.
 * Threads that exited are not waited for, those of a block that has not begun
 * are.
 */
#include "sim/cluster.h"
#include "sim/latency.h"

static bool block_arrived(const struct fgs__sim_block *b)
{
    for (uint32_t k = 0; k < b->warps; k++)
        if (b->warp[k].live & ~b->warp[k].met_open)
            return false;
    return true;
}

static void let_go(struct fgs__sim_block *b, uint64_t ps)
{
    for (uint32_t k = 0; k < b->warps; k++) {
        struct fgs__sim_warp *w = &b->warp[k];

        w->met_done |= w->met_open;
        w->met_open = 0;
        w->met_at = NULL;
    }
    fgs__sim_peer_event(b, ps);
}

void fgs__sim_cluster_check(struct fgs__sim_block *b, uint64_t ps)
{
    const struct fgs__sim_cluster *c = b->cluster;

    if (!block_arrived(b))
        return;
    for (uint32_t k = 0; c && k < c->size; k++)
        if (c->slot[k] && (!c->block[k] || !block_arrived(c->block[k])))
            return;
    if (!c)
        let_go(b, ps);
    for (uint32_t k = 0; c && k < c->size; k++)
        if (c->block[k])
            let_go(c->block[k], ps);
}

static const struct fgs__sim_insn *run_arrive(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    uint32_t twice = w->exec & (w->met_open | w->met_done);

    if (twice)
        return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                   __builtin_ctz(twice),
                                   "the thread has arrived already: "
                                   "barrier.cluster.wait comes first");
    if (i->aux[0] && w->met_at && w->met_at != i)
        return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                   __builtin_ctz(w->exec),
                                   "the threads of the warp arrive with "
                                   "different .aligned instructions");
    if (i->aux[0])
        w->met_at = i;
    w->met_open |= w->exec;
    w->block->meets = true;
    atomic_thread_fence(memory_order_acq_rel);
    fgs__sim_warp_delay(w, FGS__SIM_BAR_PS);
    fgs__sim_cluster_check(w->block, w->now_ps);
    return i + 1;
}

static const struct fgs__sim_insn *run_wait(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t never = w->exec & ~(w->met_open | w->met_done);

    if (never)
        return fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                   __builtin_ctz(never),
                                   "the thread has not arrived: "
                                   "barrier.cluster.arrive comes first");
    if (w->exec & w->met_open)
        return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT, FGS__SIM_NEVER);
    w->met_done &= ~w->exec;
    atomic_thread_fence(memory_order_acq_rel);
    fgs__sim_warp_delay(w, FGS__SIM_BAR_PS);
    return i + 1;
}

bool fgs__sim_sel_cluster(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    (void)d;
    out->aux[0] = src->mod[FGS__G_ALIGNED] != FGS__M_NONE;
    out->run = src->op == FGS__OP_CLUSTER_ARRIVE ? run_arrive : run_wait;
    out->blocks = src->op == FGS__OP_CLUSTER_WAIT;
    return true;
}
