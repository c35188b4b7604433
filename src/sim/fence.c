/* fence.c -- fences, nanosleep, griddepcontrol */
#include "sim/exec.h"
#include "sim/latency.h"

/* ---------------------------------------------------------------- fences -- */

enum { AUX_SC = 0, AUX_PS = 1 };

/* The block's own threads share a host thread, so a fence matters between
 * SMs.  A host fence is at least as strong as one of the device, whatever its
 * scope: what a worker stored before an acq_rel fence is seen by a worker that
 * sees a strong store behind it. */
static const struct fgs__sim_insn *run_fence(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    if (i->aux[AUX_SC])
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_acq_rel);
    fgs__sim_warp_delay(w, i->aux[AUX_PS]);
    return i + 1;
}

/* Proxy fences: here all proxies see one memory.  (A checking memory would
 * look at them.) */
static const struct fgs__sim_insn *run_proxy(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    atomic_thread_fence(memory_order_acq_rel);
    fgs__sim_warp_delay(w, FGS__SIM_FENCE_CTA_PS);
    return i + 1;
}

bool fgs__sim_sel_fence(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = {FGS__G_SEM, FGS__G_SCOPE, FGS__G_LEVEL,
                                     FGS__G_PROXY, FGS__G_RESTRICT};
    unsigned scope = src->mod[FGS__G_SCOPE], level = src->mod[FGS__G_LEVEL];

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    /* membar.proxy is fence.proxy of its kind (ISA 9.7.15.5). */
    if (src->op == FGS__OP_FENCE_PROXY || src->op == FGS__OP_MEMBAR_PROXY ||
        src->op == FGS__OP_FENCE_MBARRIER_INIT) {
        out->run = run_proxy;
        return true;
    }
    out->run = run_fence;
    /* membar is fence.sc of its level (ISA 9.7.15.5). */
    out->aux[AUX_SC] =
        src->op == FGS__OP_MEMBAR || src->mod[FGS__G_SEM] == FGS__M_SC;
    out->aux[AUX_PS] = scope == FGS__M_CTA || level == FGS__M_LEVEL_CTA ||
                               scope == FGS__M_CLUSTER
                           ? FGS__SIM_FENCE_CTA_PS
                           : FGS__SIM_FENCE_GPU_PS;
    return true;
}

/* ------------------------------------------------------------- nanosleep -- */

enum { OP_NS = 0, SLEEP_MAX_NS = 1000000 };

/* A thread sleeps between 0 and twice the time that it asks for, at most a
 * millisecond; the lanes of a split sleep together, so the least of them
 * counts. */
static const struct fgs__sim_insn *run_sleep(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    struct fgs__sim_split *split = fgs__sim_cur(w);
    const uint32_t *ns = fgs__sim_at(w, i->op[OP_NS]);
    uint64_t most = SLEEP_MAX_NS;

    if (split->phase) /* woken */
        return i + 1;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        uint64_t twice = 2 * (uint64_t)ns[__builtin_ctz(m)];

        most = twice < most ? twice : most;
    }
    most *= FGS__SIM_PS_PER_NS;
    split->phase = 1;
    return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_TIME,
                               w->now_ps + fgs__sim_random(&w->block->rng) %
                                               (most + 1));
}

bool fgs__sim_sel_sleep(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    out->op[OP_NS] = fgs__sim_ref_of(d, &src->operand[0], FGS__T_U32);
    out->run = run_sleep;
    out->blocks = true;
    return out->op[OP_NS] != FGS__SIM_NOREF;
}

/* -------------------------------------------------------- griddepcontrol -- */

/* Block-wide at the first execution by any thread.  What the block stored
 * before its release fence is visible to a dependent grid: the trigger counts
 * with release order. */
static const struct fgs__sim_insn *run_launch(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    if (!w->block->triggered) {
        w->block->triggered = true;
        fgs__sim_grid_trigger(w->block->grid);
    }
    return i + 1;
}

static const struct fgs__sim_insn *run_grid_wait(struct fgs__sim_warp *w,
                                                 const struct fgs__sim_insn *i)
{
    if (!atomic_load_explicit(&w->block->grid->deps_done, memory_order_acquire))
        return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_DEPS, FGS__SIM_NEVER);
    return i + 1;
}

bool fgs__sim_sel_griddep(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_insn *src,
                          struct fgs__sim_insn *out)
{
    (void)d;
    if (src->op == FGS__OP_GRID_WAIT) {
        out->run = run_grid_wait;
        out->blocks = true;
    } else {
        out->run = run_launch;
    }
    return true;
}
