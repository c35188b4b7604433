/* grid.c -- which blocks become resident where, and grids that depend
 *
 * Blocks are handed out in index order, SM by SM in a round, as long as the
 * threads, registers, shared memory and block slots of an SM last.  A later
 * grid gets places only when every earlier one has all its blocks resident or
 * done: so a consumer never takes a producer's place (guide 4.6.5).
 */
#include "sim/device.h"
#include <sched.h>

void fgs__sim_grid_trigger(struct fgs__sim_grid *g)
{
    atomic_fetch_add_explicit(&g->triggered, 1, memory_order_release);
}

/* Registers are given to warps in units of 256. */
uint32_t fgs__sim_block_regs(const struct fgs__sim_code *code,
                             uint32_t threads)
{
    uint32_t warps = (threads + 31) / 32;

    return (code->regs * 32 + 255) / 256 * 256 * warps;
}

/* On a GPU it lies before the block's own, which begins at 0x400 from compute
 * capability 9.0 on; here a block's own begins at 0. */
uint32_t fgs__sim_reserved_at(const struct fgs__sim_grid *g)
{
    return (g->shared_bytes + 127) / 128 * 128;
}

/* Shared memory goes in units of 128 bytes; 1 KiB of each block is the
 * system's (programming guide, compute capability 8.0 and later). */
uint32_t fgs__sim_block_shared(const fgs_sim_config *cfg, uint32_t shared)
{
    return (shared + 127) / 128 * 128 +
        (cfg->cc >= 80 ? FGS__SIM_RESERVED_SHARED : 0);
}

uint32_t fgs__sim_fit(const fgs_sim_config *cfg,
                      const struct fgs__sim_code *code, uint32_t threads,
                      uint32_t shared)
{
    uint32_t regs = fgs__sim_block_regs(code, threads);
    uint32_t bytes = fgs__sim_block_shared(cfg, shared);
    uint32_t n = cfg->sm_blocks;

    if (n > cfg->sm_threads / threads)
        n = cfg->sm_threads / threads;
    if (regs && n > cfg->sm_registers / regs)
        n = cfg->sm_registers / regs;
    if (bytes && n > cfg->sm_shared / bytes)
        n = cfg->sm_shared / bytes;
    return n;
}

struct fgs__sim_slot *fgs__sim_sm_take(struct fgs__sim_sm *sm,
                                       struct fgs__sim_grid *g,
                                       uint64_t now_ps)
{
    struct fgs__sim_slot *slot = sm->slot;

    while (slot->grid)
        slot++;
    slot->grid = g;
    slot->block = NULL;
    slot->wake_ps = now_ps;
    sm->used_blocks++;
    sm->used_threads += g->threads;
    sm->used_regs += fgs__sim_block_regs(g->code, g->threads);
    sm->used_shared += fgs__sim_block_shared(&g->dev->cfg, g->shared_bytes);
    if (sm->wake_ps > now_ps)
        sm->wake_ps = now_ps;
    return slot;
}

/* False = the next block fits nowhere now. */
static bool place_block(struct fgs__sim_device *dev, struct fgs__sim_grid *g)
{
    for (uint32_t i = 0; i < dev->cfg.sms; i++) {
        uint32_t id = (dev->next_sm + i) % dev->cfg.sms;

        if (!fgs__sim_sm_room(&dev->sm[id], g))
            continue;
        if (dev->next_block_ps < dev->now_ps)
            dev->next_block_ps = dev->now_ps;
        fgs__sim_sm_take(&dev->sm[id], g, dev->next_block_ps)->linear =
            g->next_block++;
        dev->next_block_ps += FGS__SIM_BLOCK_PS;
        dev->next_sm = (id + 1) % dev->cfg.sms;
        return true;
    }
    return false;
}

void fgs__sim_grids_dispatch(struct fgs__sim_device *dev)
{
    fgs__sim_clusters_sweep(dev);
    for (struct fgs__sim_grid *g = dev->grids; g; g = g->next) {
        if (fgs__sim_stopped(g))
            continue;
        while (fgs__sim_grid_pending(g)) {
            if (g->cluster_size > 1 ? !fgs__sim_cluster_place(dev, g)
                                    : !place_block(dev, g))
                return;
        }
    }
}

/* Workers change next_block and last_block in an epoch, several at once; the
 * scheduler does between epochs. */
static void take(struct fgs__sim_grid *g)
{
    while (atomic_exchange_explicit(&g->taking, true, memory_order_acquire))
        sched_yield();
}

static void untake(struct fgs__sim_grid *g)
{
    atomic_store_explicit(&g->taking, false, memory_order_release);
}

/* The first grid with blocks left, as in fgs__sim_grids_dispatch.  The last
 * wave is the scheduler's: it spreads it over the SMs, and a grid that waits
 * for this one's triggers or end does not come late. */
bool fgs__sim_grid_next(struct fgs__sim_grid *g, uint64_t *index)
{
    const struct fgs__sim_grid *first = g->dev->grids;
    bool any;

    if (!fgs__sim_grid_early(g) || fgs__sim_stopped(g))
        return false;
    /* Others may stop g meanwhile, or cancel its last blocks. */
    while (first != g &&
           (fgs__sim_stopped(first) || !fgs__sim_grid_pending(first)))
        first = first->next;
    if (first != g)
        return false;
    take(g);
    any = fgs__sim_grid_early(g);
    if (any)
        *index = atomic_fetch_add(&g->next_block, 1);
    untake(g);
    return any;
}

/* Only blocks of the grid call this, in an epoch.  Canceled blocks count as
 * ended, and never keep a dependent grid waiting. */
bool fgs__sim_grid_cancel(struct fgs__sim_grid *g, uint64_t draw,
                          uint64_t *index)
{
    uint64_t size = g->cluster_size;
    bool any;

    take(g);
    any = fgs__sim_grid_pending(g);
    if (any && draw & 1)
        *index = atomic_fetch_add(&g->next_block, size);
    else if (any)
        *index = atomic_fetch_sub(&g->last_block, size) - size;
    untake(g);
    if (!any)
        return false;
    atomic_fetch_add_explicit(&g->triggered, size, memory_order_release);
    atomic_fetch_add_explicit(&g->ended, size, memory_order_release);
    return true;
}

bool fgs__sim_grids_wait(const struct fgs__sim_device *dev)
{
    for (const struct fgs__sim_grid *g = dev->grids; g; g = g->next) {
        if (fgs__sim_grid_pending(g))
            return true;
    }
    return false;
}

static bool before(const struct fgs__sim_grid *a,
                   const struct fgs__sim_grid *b)
{
    return a->start_ps != b->start_ps ? a->start_ps < b->start_ps
                                      : a->id < b->id;
}

/* By start, at the same time by launch. */
void fgs__sim_grid_start(struct fgs__sim_device *dev, struct fgs__sim_grid *g)
{
    struct fgs__sim_grid **at = &dev->grids;

    g->window_bytes = g->code->reserved
        ? fgs__sim_reserved_at(g) + FGS__SIM_RESERVED_SHARED
        : g->shared_bytes;
    g->wave = (uint64_t)dev->cfg.sms *
        fgs__sim_fit(&dev->cfg, g->code, g->threads, g->shared_bytes);
    while (*at && before(*at, g))
        at = &(*at)->next;
    g->next = *at;
    *at = g;
}

void fgs__sim_grid_remove(struct fgs__sim_device *dev,
                          struct fgs__sim_grid *g)
{
    struct fgs__sim_grid **at = &dev->grids;

    while (*at && *at != g)
        at = &(*at)->next;
    if (*at)
        *at = g->next;
    for (uint32_t i = 0; g->parked && i < dev->cfg.sms; i++)
        fgs__sim_blocks_unpark(&dev->sm[i], g);
    g->parked = false;
}

void fgs__sim_grid_deps_done(struct fgs__sim_device *dev,
                             struct fgs__sim_grid *g)
{
    atomic_store_explicit(&g->deps_done, true, memory_order_release);
    for (uint32_t s = 0; s < dev->cfg.sms; s++) {
        struct fgs__sim_sm *sm = &dev->sm[s];

        for (uint32_t i = 0; i < dev->cfg.sm_blocks; i++) {
            if (sm->slot[i].grid != g)
                continue;
            sm->slot[i].wake_ps = dev->now_ps;
            sm->wake_ps = dev->now_ps;
        }
    }
}

bool fgs__sim_grids_stuck(struct fgs__sim_device *dev)
{
    bool any = false;

    for (uint32_t s = 0; s < dev->cfg.sms; s++) {
        for (uint32_t i = 0; i < dev->cfg.sm_blocks; i++) {
            struct fgs__sim_slot *slot = &dev->sm[s].slot[i];

            if (!slot->grid || fgs__sim_stopped(slot->grid))
                continue;
            fgs__sim_fault(slot->grid, CUDA_ERROR_LAUNCH_TIMEOUT, NULL,
                           slot->linear, -1,
                           "all threads wait and nothing can wake them");
            any = true;
        }
    }
    return any;
}
