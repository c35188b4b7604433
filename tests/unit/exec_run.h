/* exec_run.h -- run one block of a kernel on the executor, without a device */
#ifndef EXEC_RUN_H
#define EXEC_RUN_H

#include "sim/device.h"

/* A kernel, a grid of one block, one SM.  Its shared memory is the way in and
 * out: a test's kernel declares it first and stores what is to be seen. */
struct exec {
    const fgs_allocator *alloc;
    struct fgs__ptx_diags diags;
    struct fgs__ptx_module *mod;
    struct fgs__sim_code *code;
    struct fgs__sim_ctx ctx;
    struct fgs__sim_grid grid;
    struct fgs__sim_sm sm;
    struct fgs__sim_slot slot;
    fgs_sim_config cfg;
    struct fgs__sim_block *block;
    uint64_t end_ps;
};

/* Load and decode; exec_close in any case. */
static inline fgs_result exec_open(struct exec *e, const char *ptx,
                                   const fgs_allocator *a)
{
    fgs_result r;

    memset(e, 0, sizeof *e);
    e->alloc = a;
    fgs__ptx_diags_init(&e->diags, a);
    r = fgs__ptx_load(&e->mod, ptx, strlen(ptx), a, &e->diags);
    if (r == FGS_OK)
        r = fgs__sim_code_make(&e->code, e->mod->funcs, a, &e->diags);
    e->cfg.sms = 16;
    e->cfg.sm_threads = 2048;
    e->cfg.copy_ns = 600;
    e->sm.cfg = &e->cfg;
    e->sm.id = 5;
    e->grid.ctx = &e->ctx;
    e->grid.code = e->code;
    e->grid.id = 77;
    e->grid.rng = 1;
    return r;
}

/* A block of that shape, the last of a grid of 1 x 2 x 3; NULL = no memory. */
static inline struct fgs__sim_block *exec_block(struct exec *e, uint32_t x,
                                                uint32_t y, uint32_t z)
{
    struct fgs__sim_grid *g = &e->grid;

    g->grid[0] = 1;
    g->grid[1] = 2;
    g->grid[2] = 3;
    g->blocks = 6;
    g->cluster[0] = g->cluster[1] = g->cluster[2] = g->cluster_size = 1;
    g->block[0] = x;
    g->block[1] = y;
    g->block[2] = z;
    g->threads = x * y * z;
    g->shared_bytes = g->window_bytes = e->code->shared_bytes;
    e->slot = (struct fgs__sim_slot){ .sm = &e->sm, .grid = g, .linear = 5 };
    e->block = fgs__sim_block_make(&e->slot, 0);
    if (e->block) /* else it holds anything */
        memset(e->block->shared, 0, g->shared_bytes);
    return e->block;
}

/* Run it, 1 us at a time, until it ends, faults or comes to limit_ps. */
static inline enum fgs__sim_state exec_run(struct exec *e, uint64_t limit_ps)
{
    enum fgs__sim_state s = FGS__SIM_RUNNING;
    uint64_t wake;

    while (e->sm.now_ps < limit_ps) {
        s = fgs__sim_block_run(e->block, e->sm.now_ps + 1000000, &wake,
                               &e->end_ps);
        if (s == FGS__SIM_ENDED || s == FGS__SIM_FAULTED)
            break;
        e->sm.now_ps += 1000000;
    }
    return s;
}

static inline void exec_close(struct exec *e)
{
    fgs__sim_block_free(e->block);
    fgs__sim_code_free(e->code);
    fgs__ptx_free(e->mod);
    fgs__ptx_diags_free(&e->diags);
}

#endif
