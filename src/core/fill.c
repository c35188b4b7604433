/* fill.c -- how each buffer gets its sentinels, guide 4.6.4.2 and 4.6.4.5 */
#include "core/compose.h"

/* What of the buffer's writers does not fill; NULL = all do. */
static const struct fgs__stage *not_filling(const struct fgs__plan *p,
                                            uint32_t use)
{
    for (uint32_t i = 0; i < p->stages; i++) {
        const struct fgs__stage *s = &p->stage[i];

        for (uint32_t j = 0; j < s->accesses; j++) {
            if (s->access[j].write && s->access[j].use == use && !s->self)
                return s;
        }
    }
    return NULL;
}

static fgs_result by_writer(const struct fgs__plan *p, const struct fgs__use *u,
                            const struct fgs__stage *lacks, fgs_error *err)
{
    (void)p;
    if (!lacks)
        return FGS_OK;
    if (!lacks->role && lacks->triggers_at == FGS_TRIGGERS_START)
        return fgs__plan_broken(err, lacks, u, UINT64_MAX,
                                "buffer '%s': %s is to fill it, and triggers "
                                "at its start: the trigger has to follow "
                                "barrier and fence (guide 4.6.4.2)",
                                u->name, lacks->name);
    return fgs__plan_broken(err, lacks, u, UINT64_MAX,
                            "buffer '%s' would be waited for without ever "
                            "being filled: fill is `self`, and %s does not "
                            "fill its output",
                            u->name, lacks->name);
}

/* Only where each tile has one reader, which is a kernel that clears. */
static fgs_result by_reader(struct fgs__plan *p, uint32_t use, fgs_error *err)
{
    struct fgs__use *u = &p->use[use];
    const struct fgs__stage *only = NULL;
    uint64_t tile = 0;
    fgs_result r;

    for (uint32_t i = 0; i < p->edges; i++) {
        const struct fgs__stage *s = &p->stage[p->edge[i].to];

        if (p->edge[i].use != use)
            continue;
        if (only && only != s)
            return fgs__plan_broken(err, s, u, UINT64_MAX,
                                    "buffer '%s': %s would clear tiles that %s "
                                    "may still read (guide 4.6.4.5)",
                                    u->name, only->name, s->name);
        only = s;
    }
    if (only && !only->role)
        return fgs__plan_broken(err, only, u, UINT64_MAX,
                                "buffer '%s': fill is `reader`, and %s is no "
                                "kernel of the library",
                                u->name, only->name);
    if (only && fgs__role_joins(only->role) && only->access[1].use == use)
        return fgs__plan_broken(err, only, u, UINT64_MAX,
                                "buffer '%s': fill is `reader`, and %s clears "
                                "its first input alone",
                                u->name, only->name);
    r = (fgs_result)fgs__plan_reads_once(p, use, &tile, err);
    if (r < 0)
        return r;
    if (!r)
        return fgs__plan_broken(err, only, u, tile,
                                "buffer '%s': two blocks read tile %llu, so "
                                "neither can clear it (guide 4.6.4.5)",
                                u->name, (unsigned long long)tile);
    return FGS_OK;
}

/* A kernel that fills is a stage of its own, behind the others. */
static void add_stage(struct fgs__plan *p, uint32_t use)
{
    struct fgs__use *u = &p->use[use];
    struct fgs__stage *s = &p->stage[p->stages];

    s->given = s->event = s->early_event = FGS__NOWHERE;
    snprintf(s->name, sizeof s->name, "fill %.25s", u->name);
    s->kernel = s->handle = u->filler;
    s->role = FGS_ROLE_INIT;
    s->fills = use;
    s->tile_bytes = (uint32_t)u->tile_bytes;
    u->fill_stage = p->stages++;
}

static fgs_result take_filler(struct fgs__plan *p, uint32_t use,
                              fgs_error *err)
{
    enum { BLOCKS_PER_SM = 8 };
    struct fgs__use *u = &p->use[use];
    uint64_t most = (uint64_t)p->dev->sm_count * BLOCKS_PER_SM;
    struct fgs__stage *s;
    struct fgs__kernel *k;
    fgs_result r = fgs__kernel_get(&k, u->filler, u->name, err);

    if (r < 0)
        return r;
    add_stage(p, use);
    s = &p->stage[u->fill_stage];
    memcpy(s->entry, k->entry, sizeof s->entry);
    s->grid[0] = (uint32_t)(u->tiles < most || !most ? u->tiles : most);
    s->block[0] = k->shape.threads;
    for (int i = 1; i < 3; i++)
        s->grid[i] = s->block[i] = 1;
    s->shared = k->shared_bytes;
    return FGS_OK;
}

static fgs_result settle(struct fgs__plan *p, uint32_t use, fgs_error *err)
{
    struct fgs__use *u = &p->use[use];
    const struct fgs__stage *lacks = not_filling(p, use);
    fgs_result r;

    if (u->fill == FGS_FILL_AUTO)
        u->fill = lacks ? FGS_FILL_MEMSET : FGS_FILL_SELF;
    if (u->fill != FGS_FILL_SELF && !lacks)
        return fgs__plan_broken(err, NULL, u, UINT64_MAX,
                                "buffer '%s' is filled by its writer; fill "
                                "`%s` would fill it again",
                                u->name, fgs__fills[u->fill].name);
    if (u->fill == FGS_FILL_SELF)
        return by_writer(p, u, lacks, err);
    r = fgs__plan_keeps_preset(p, use, err);
    if (r < 0)
        return r;
    switch (u->fill) {
    case FGS_FILL_READER:
        return by_reader(p, use, err);
    case FGS_FILL_KERNEL:
        return take_filler(p, use, err);
    default:
        return FGS_OK;
    }
}

fgs_result fgs__plan_fills(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = fgs__rings_check(p, err);

    for (uint32_t i = 0; r >= 0 && i < p->uses; i++) {
        struct fgs__use *u = &p->use[i];

        if (u->ring != FGS__NOWHERE)
            continue;
        if (u->sentinel)
            r = settle(p, i, err);
        else if (u->fill != FGS_FILL_AUTO && !u->written)
            return fgs__plan_broken(err, NULL, u, UINT64_MAX,
                                    "buffer '%s' is to be filled, and no stage "
                                    "writes it",
                                    u->name);
    }
    return r;
}
