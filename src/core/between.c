/* between.c -- what else wrote to a plan's slots since its last run
 *
 * A plan remembers which slots hold sentinels.  Another plan, a replay of a
 * graph or fgs_buffer_write may have left data there, also by another buffer
 * over the same memory: so it is the memory that is looked at.
 */
#include "core/plan.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
    const struct fgs__place *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

void fgs__plan_sort_places(struct fgs__plan *p)
{
    p->places = 0;
    /* Of a ring the first edge knows what is clean. */
    for (uint32_t i = 0; i < p->uses; i++) {
        if (!p->use[i].at)
            p->place[p->places++] = (struct fgs__place){
                .at = p->use[i].ptr, .use = i
            };
    }
    qsort(p->place, p->places, sizeof *p->place, by_address);
}

fgs_result fgs__plan_places(struct fgs__plan *p, fgs_error *err)
{
    p->place = fgs__zalloc(&p->dev->alloc, p->uses * sizeof *p->place);
    if (!p->place)
        return fgs__nomem(err);
    fgs__plan_sort_places(p);
    return FGS_OK;
}

/* What one plan writes is foreign to the other.  The places of either lie
 * apart, so that both lists are gone through once. */
static void wrote(const struct fgs__plan *p, struct fgs__plan *to)
{
    uint32_t i = 0, j = 0;

    while (i < p->places && j < to->places) {
        const struct fgs__use *a = &p->use[p->place[i].use];
        struct fgs__use *b = &to->use[to->place[j].use];

        if (a->written && fgs__overlap(a->ptr, a->bytes, b->ptr, b->bytes))
            b->foreign = 1;
        if (a->ptr + a->bytes <= b->ptr + b->bytes)
            i++;
        else
            j++;
    }
}

void fgs__plans_between(struct fgs__plan *p)
{
    struct fgs__device *d = p->dev;

    for (struct fgs__plan *o = d->plans; o; o = o->next) {
        if (o->replayed)
            wrote(o, p);
        if (o != p && d->ran_last != p)
            wrote(p, o);
    }
    d->ran_last = p;
    /* A replay whose outcome nobody asked for may have raised it. */
    p->aborted |= p->replayed;
    for (uint32_t i = 0; i < p->uses; i++) {
        if (p->use[i].foreign)
            p->use[i].clean = 0;
        p->use[i].foreign = 0;
    }
}

void fgs__plans_wrote(struct fgs__device *d, CUdeviceptr ptr, uint64_t bytes)
{
    pthread_mutex_lock(&d->lock);
    for (struct fgs__plan *p = d->plans; p; p = p->next) {
        for (uint32_t i = 0; i < p->places; i++) {
            struct fgs__use *u = &p->use[p->place[i].use];

            u->foreign |= fgs__overlap(u->ptr, u->bytes, ptr, bytes);
        }
    }
    pthread_mutex_unlock(&d->lock);
}
