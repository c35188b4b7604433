/* sm.c -- an SM: its slots, and running their blocks through an epoch */
#include "sim/cluster.h"
#include "sim/device.h"
#include "sim/trace.h"

bool fgs__sim_sms_make(struct fgs__sim_device *dev)
{
    const fgs_sim_config *cfg = &dev->cfg;
    struct fgs__sim_sm *sm = fgs__alloc_array(&dev->alloc, cfg->sms,
                                              sizeof *sm);
    struct fgs__sim_slot *slot = fgs__alloc_array(
        &dev->alloc, (size_t)cfg->sms * cfg->sm_blocks, sizeof *slot);

    if (!sm || !slot) {
        fgs__free(&dev->alloc, sm);
        fgs__free(&dev->alloc, slot);
        return false;
    }
    memset(sm, 0, cfg->sms * sizeof *sm);
    memset(slot, 0, (size_t)cfg->sms * cfg->sm_blocks * sizeof *slot);
    for (uint32_t i = 0; i < cfg->sms; i++) {
        uint64_t seed = cfg->seed + i;

        sm[i].dev = dev;
        sm[i].mem = dev->mem;
        sm[i].cfg = cfg;
        sm[i].id = i;
        sm[i].rng = fgs__sim_random(&seed);
        sm[i].slot = slot + (size_t)i * cfg->sm_blocks;
        for (uint32_t k = 0; k < cfg->sm_blocks; k++)
            sm[i].slot[k].sm = &sm[i];
        sm[i].wake_ps = FGS__SIM_NEVER;
    }
    dev->sm = sm;
    return true;
}

void fgs__sim_sms_trim(struct fgs__sim_device *dev)
{
    for (uint32_t i = 0; i < dev->cfg.sms; i++)
        fgs__sim_rooms_free(&dev->sm[i]);
}

void fgs__sim_sms_free(struct fgs__sim_device *dev)
{
    fgs__sim_sms_trim(dev);
    fgs__free(&dev->alloc, dev->sm[0].slot);
    fgs__free(&dev->alloc, dev->sm);
    dev->sm = NULL;
}

/* Give the slot's resources back. */
void fgs__sim_sm_clear(struct fgs__sim_sm *sm, struct fgs__sim_slot *slot)
{
    const struct fgs__sim_grid *g = slot->grid;

    /* While blocks wait for a place, one of them will use the memory. */
    if (slot->block && fgs__sim_grid_pending(g) && !fgs__sim_stopped(g))
        fgs__sim_block_park(slot->block);
    else
        fgs__sim_block_free(slot->block);
    fgs__sim_cluster_leave(slot);
    sm->used_blocks--;
    sm->used_threads -= g->threads;
    sm->used_regs -= fgs__sim_block_regs(g->code, g->threads);
    sm->used_shared -= fgs__sim_block_shared(&g->dev->cfg, g->shared_bytes);
    *slot = (struct fgs__sim_slot){ .sm = sm, .wake_ps = FGS__SIM_NEVER };
}

/* The same for one that a fault stops. */
static void stop(struct fgs__sim_sm *sm, struct fgs__sim_slot *slot)
{
    const struct fgs__sim_block *b = slot->block;

    if (b && fgs__sim_tracing())
        fgs__sim_trace_block(
            slot, b->now_ps > b->end_ps ? b->now_ps : b->end_ps, true);
    fgs__sim_sm_clear(sm, slot);
}

static void raise_to(atomic_uint_fast64_t *at, uint64_t v)
{
    uint_fast64_t old = atomic_load_explicit(at, memory_order_relaxed);

    while (old < v &&
           !atomic_compare_exchange_weak_explicit(
               at, &old, v, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* The next block of the grid in the place of one that ended, in its memory,
 * which the host's caches still hold. */
static bool refill(struct fgs__sim_slot *slot, uint64_t end_ps)
{
    uint64_t next;

    if (!fgs__sim_grid_next(slot->grid, &next))
        return false;
    fgs__sim_block_park(slot->block);
    slot->block = NULL;
    slot->linear = next;
    slot->wake_ps = end_ps + FGS__SIM_BLOCK_PS;
    return true;
}

static void ended(struct fgs__sim_sm *sm, struct fgs__sim_slot *slot,
                  uint64_t end_ps)
{
    struct fgs__sim_grid *g = slot->grid;

    raise_to(&g->end_ps, end_ps);
    if (fgs__sim_tracing())
        fgs__sim_trace_block(slot, end_ps, false);
    if (!slot->block->triggered)
        fgs__sim_grid_trigger(g);
    fgs__sim_cluster_ended(slot, end_ps);
    if (!refill(slot, end_ps)) {
        sm->ended++;
        fgs__sim_sm_clear(sm, slot);
    }
    /* Last: with the count complete the scheduler may free the grid. */
    atomic_fetch_add_explicit(&g->ended, 1, memory_order_release);
}

static void run_slot(struct fgs__sim_sm *sm, struct fgs__sim_slot *slot,
                     uint64_t until)
{
    struct fgs__sim_grid *g = slot->grid;
    uint64_t wake = until, end = until;

    if (!slot->block) {
        slot->block = fgs__sim_block_make(slot, slot->wake_ps);
        if (!slot->block) {
            fgs__sim_fault(g, CUDA_ERROR_OUT_OF_MEMORY, NULL, slot->linear,
                           -1, "no host memory for the block");
            fgs__sim_sm_clear(sm, slot);
            return;
        }
    }
    switch (fgs__sim_block_run(slot->block, until, &wake, &end)) {
    case FGS__SIM_RUNNING:
        slot->wake_ps = until;
        break;
    case FGS__SIM_ASLEEP:
        slot->wake_ps = wake > until ? wake : until;
        break;
    case FGS__SIM_ENDED:
        ended(sm, slot, end);
        break;
    case FGS__SIM_FAULTED:
        stop(sm, slot);
        break;
    }
}

static void run_slots(struct fgs__sim_sm *sm, uint32_t first, uint64_t to)
{
    uint32_t n = sm->cfg->sm_blocks;

    for (uint32_t k = 0; k < n; k++) {
        struct fgs__sim_slot *slot = &sm->slot[first + k < n ? first + k
                                                             : first + k - n];

        while (slot->grid && slot->wake_ps < to)
            run_slot(sm, slot, to);
    }
}

/* A block that another one of its cluster woke runs again in the same turn. */
static void run_turn(struct fgs__sim_sm *const *group, uint32_t count,
                     uint64_t to, uint64_t *rng)
{
    bool again = true;
    uint64_t draw;

    while (again) {
        draw = fgs__sim_random(rng);
        again = false;
        for (uint32_t k = 0; k < count; k++) {
            struct fgs__sim_sm *sm = group[(k + draw) % count];

            sm->woken = false;
            run_slots(sm, (uint32_t)(draw >> 32) % sm->cfg->sm_blocks, to);
        }
        for (uint32_t k = 0; k < count; k++)
            again |= group[k]->woken;
    }
}

static void set_wake(struct fgs__sim_sm *sm)
{
    uint64_t wake = FGS__SIM_NEVER;

    for (uint32_t i = 0; i < sm->cfg->sm_blocks; i++) {
        if (sm->slot[i].grid && sm->slot[i].wake_ps < wake)
            wake = sm->slot[i].wake_ps;
    }
    sm->wake_ps = wake;
}

/* The blocks take turns, so that they see each other's stores and share the
 * issue slots as resident blocks do; where there are clusters, their blocks'
 * turns are shorter.  How long a turn is and which block runs first in it is
 * drawn from the seed. */
void fgs__sim_sm_turn(struct fgs__sim_sm *const *group, uint32_t count,
                      uint64_t until, uint64_t mean_ps)
{
    uint64_t t = group[0]->now_ps, *rng = &group[0]->rng;
    uint64_t least = mean_ps / (group[0]->dev->clusters ? 16 : 2);
    uint64_t turn = least + fgs__sim_random(rng) % mean_ps;

    t = until - t > turn ? t + turn : until;
    run_turn(group, count, t, rng);
    for (uint32_t k = 0; k < count; k++) {
        group[k]->now_ps = t;
        if (t == until)
            set_wake(group[k]);
    }
}

void fgs__sim_sms_drop(struct fgs__sim_device *dev,
                       const struct fgs__sim_ctx *ctx)
{
    for (uint32_t s = 0; s < dev->cfg.sms; s++) {
        for (uint32_t i = 0; i < dev->cfg.sm_blocks; i++) {
            struct fgs__sim_slot *slot = &dev->sm[s].slot[i];

            if (slot->grid && slot->grid->ctx == ctx)
                stop(&dev->sm[s], slot);
        }
    }
}

uint64_t fgs__sim_sms_next(const struct fgs__sim_device *dev)
{
    uint64_t least = FGS__SIM_NEVER;

    for (uint32_t i = 0; i < dev->cfg.sms; i++) {
        if (dev->sm[i].wake_ps < least)
            least = dev->sm[i].wake_ps;
    }
    return least;
}

uint64_t fgs__sim_sms_ended(const struct fgs__sim_device *dev)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < dev->cfg.sms; i++)
        n += dev->sm[i].ended;
    return n;
}
