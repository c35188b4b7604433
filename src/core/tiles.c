/* tiles.c -- another number of tiles for the rounds that follow */
#include "core/plan.h"

/* One block a tile, in x alone? */
static int by_tile(const struct fgs__plan *p, const struct fgs__stage *s)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        const struct fgs__access *a = &s->access[i];

        if (a->table || a->first || a->step || a->count || a->box.rank ||
            (!s->persistent && s->grid[0] != p->use[a->use].tiles))
            return 0;
    }
    return s->grid[1] == 1 && s->grid[2] == 1 && !s->cluster[0];
}

static fgs_result check(const struct fgs__plan *p, uint64_t tiles,
                        fgs_error *err)
{
    if (p->running)
        return fgs__fail(err, FGS_E_BUSY,
                         "the plan's last run was not waited for");
    if (p->gnodes)
        return fgs__fail(err, FGS_E_STATE,
                         "the plan stands in a graph, with the tiles of then");
    for (uint32_t i = 0; i < p->uses; i++) {
        if (tiles && tiles <= p->use[i].room)
            continue;
        return fgs__fail(err, FGS_E_SIZE,
                         "%llu tiles; buffer '%s' has room for 1 ... %llu",
                         (unsigned long long)tiles, p->use[i].name,
                         (unsigned long long)p->use[i].room);
    }
    for (uint32_t i = 0; i < p->stages; i++) {
        if (p->stage[i].fills == FGS__NOWHERE && !by_tile(p, &p->stage[i]))
            return fgs__fail(err, FGS_E_STATE,
                             "%s does not take one block a tile",
                             p->stage[i].name);
    }
    return FGS_OK;
}

fgs_result fgs_plan_set_tiles(fgs_plan *plan, uint64_t tiles, fgs_error *err)
{
    struct fgs__plan *p;
    fgs_result r = fgs__plan_get(&p, plan, err);

    if (r >= 0)
        r = check(p, tiles, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < p->uses; i++) {
        /* The slot that a ring's last round left holds as many as then. */
        if (p->use[i].ring != FGS__NOWHERE && p->use[i].tiles != tiles)
            p->use[i].clean = 0;
        p->use[i].tiles = tiles;
    }
    for (uint32_t i = 0; i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];

        if (s->fills != FGS__NOWHERE)
            continue;
        if (s->role)
            s->args.p_tiles = tiles;
        if (s->persistent)
            continue;
        s->grid[0] = (uint32_t)tiles;
        s->config.gridDimX = s->grid[0];
    }
    return FGS_OK;
}
