/* gang.c -- clusters: made, given places all at once, taken away
 *
 * The SMs are one processing cluster: a cluster of blocks may have its places
 * on any of them.  By default it goes to one SM if that has room for all of
 * it (few SMs are joined then, and the others run on other host threads),
 * else to as few as possible; where the launch asks for it, the blocks are
 * spread over the SMs.
 */
#include "sim/cluster.h"
#include "sim/device.h"

uint32_t fgs__sim_sm_room(const struct fgs__sim_sm *sm,
                          const struct fgs__sim_grid *g)
{
    const fgs_sim_config *cfg = sm->cfg;
    uint32_t n = cfg->sm_blocks - sm->used_blocks;
    uint32_t threads = (cfg->sm_threads - sm->used_threads) / g->threads;
    uint32_t one = fgs__sim_block_regs(g->code, g->threads), most;
    uint32_t bytes = fgs__sim_block_shared(cfg, g->shared_bytes);

    n = threads < n ? threads : n;
    most = one ? (cfg->sm_registers - sm->used_regs) / one : n;
    n = most < n ? most : n;
    /* Below compute capability 8.0 a block may need none. */
    most = bytes ? (cfg->sm_shared - sm->used_shared) / bytes : n;
    return most < n ? most : n;
}

bool fgs__sim_cluster_fits(const fgs_sim_config *cfg,
                           const struct fgs__sim_code *code, uint32_t threads,
                           uint32_t shared, uint32_t size)
{
    return (uint64_t)fgs__sim_fit(cfg, code, threads, shared) * cfg->sms >=
        size;
}

/* ----------------------------------------------------------- coordinates -- */

/* Cluster number `index` of the grid, the first coordinate fastest. */
static void place_id(const struct fgs__sim_grid *g, uint64_t index,
                     uint32_t id[3])
{
    uint32_t x = g->grid[0] / g->cluster[0], y = g->grid[1] / g->cluster[1];

    id[0] = (uint32_t)(index % x);
    id[1] = (uint32_t)(index / x % y);
    id[2] = (uint32_t)(index / x / y);
}

void fgs__sim_cluster_ctaid(const struct fgs__sim_grid *g, uint64_t index,
                            uint32_t rank, uint32_t ctaid[3])
{
    uint32_t id[3], at[3];

    place_id(g, index, id);
    at[0] = rank % g->cluster[0];
    at[1] = rank / g->cluster[0] % g->cluster[1];
    at[2] = rank / g->cluster[0] / g->cluster[1];
    for (int k = 0; k < 3; k++)
        ctaid[k] = id[k] * g->cluster[k] + at[k];
}

/* ---------------------------------------------------------------- places -- */

static void seat(struct fgs__sim_cluster *c, uint32_t rank, uint64_t index,
                 struct fgs__sim_sm *sm, uint64_t start_ps)
{
    struct fgs__sim_slot *slot = fgs__sim_sm_take(sm, c->grid, start_ps);
    uint32_t at[3];

    fgs__sim_cluster_ctaid(c->grid, index, rank, at);
    slot->linear = at[0] + (uint64_t)c->grid->grid[0] *
        (at[1] + (uint64_t)c->grid->grid[1] * at[2]);
    slot->cluster = c;
    slot->rank = rank;
    c->slot[rank] = slot;
}

/* The SM, from `first` on, that has room for the whole cluster; sms = none. */
static uint32_t find_one(const struct fgs__sim_device *dev,
                         const struct fgs__sim_grid *g)
{
    for (uint32_t i = 0; i < dev->cfg.sms; i++) {
        uint32_t id = (dev->next_sm + i) % dev->cfg.sms;

        if (fgs__sim_sm_room(&dev->sm[id], g) >= g->cluster_size)
            return id;
    }
    return dev->cfg.sms;
}

static bool find_all(const struct fgs__sim_device *dev,
                     const struct fgs__sim_grid *g)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < dev->cfg.sms && room < g->cluster_size; i++)
        room += fgs__sim_sm_room(&dev->sm[i], g);
    return room >= g->cluster_size;
}

/* The blocks begin one after another, or up to a microsecond later: nothing
 * orders the begin of the blocks of a cluster but barrier.cluster. */
static uint64_t begin(struct fgs__sim_device *dev, uint64_t *rng)
{
    uint64_t late = fgs__sim_random(rng) % (1000 * FGS__SIM_PS_PER_NS);

    if (dev->next_block_ps < dev->now_ps)
        dev->next_block_ps = dev->now_ps;
    dev->next_block_ps += FGS__SIM_BLOCK_PS;
    return dev->next_block_ps - FGS__SIM_BLOCK_PS + late;
}

static void seat_all(struct fgs__sim_device *dev, struct fgs__sim_cluster *c,
                     uint64_t index)
{
    struct fgs__sim_grid *g = c->grid;
    uint64_t rng = g->rng ^ (index + 1) * 0xd1b54a32d192ed03ull;
    uint32_t one = g->spread ? dev->cfg.sms : find_one(dev, g), rank = 0;

    for (uint32_t i = one < dev->cfg.sms ? one : dev->next_sm; rank < c->size;
         i = (i + 1) % dev->cfg.sms) {
        uint32_t n = fgs__sim_sm_room(&dev->sm[i], g);

        if (g->spread && n > 1)
            n = 1;
        for (; n && rank < c->size; n--, rank++)
            seat(c, rank, index, &dev->sm[i], begin(dev, &rng));
        dev->next_sm = (i + 1) % dev->cfg.sms;
    }
}

bool fgs__sim_cluster_place(struct fgs__sim_device *dev,
                            struct fgs__sim_grid *g)
{
    uint64_t index = g->next_block / g->cluster_size;
    struct fgs__sim_cluster *c;

    if (!find_all(dev, g))
        return false;
    c = fgs__zalloc(&dev->alloc, sizeof *c);
    if (!c) {
        fgs__sim_fault(g, CUDA_ERROR_OUT_OF_MEMORY, NULL, g->next_block, -1,
                       "no host memory for the cluster");
        return false;
    }
    c->grid = g;
    c->size = c->left = g->cluster_size;
    place_id(g, index, c->id);
    seat_all(dev, c, index);
    g->next_block += g->cluster_size;
    c->next = dev->clusters;
    dev->clusters = c;
    return true;
}

/* ------------------------------------------------------------------- end -- */

void fgs__sim_cluster_leave(struct fgs__sim_slot *slot)
{
    struct fgs__sim_cluster *c = slot->cluster;

    if (!c)
        return;
    c->slot[slot->rank] = NULL;
    c->block[slot->rank] = NULL;
    c->left--;
}

void fgs__sim_clusters_sweep(struct fgs__sim_device *dev)
{
    struct fgs__sim_cluster **at = &dev->clusters, *c;

    while ((c = *at)) {
        if (c->left) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        fgs__free(&dev->alloc, c);
    }
}
