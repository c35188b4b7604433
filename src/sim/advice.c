/* advice.c -- what a program said of its managed memory
 *
 * dev->advice: pages about which something was said, sorted, none twice.  Those
 * of an allocation that is gone stay until its addresses are advised again; the
 * id tells them from those of the next allocation there.
 */
#include "sim/advice.h"
#include "sim/device.h"

const struct fgs__sim_advised fgs__sim_unadvised = {
    .preferred = FGS__SIM_NOWHERE, .prefetched = FGS__SIM_NOWHERE
};

/* Before item `i`; there is room. */
static void insert(struct fgs__sim_device *dev, size_t i,
                   struct fgs__sim_advised v)
{
    memmove(&dev->advice[i + 1], &dev->advice[i],
            (dev->advices++ - i) * sizeof v);
    dev->advice[i] = v;
}

/* An item that goes on behind `at` begins anew there. */
static void cut(struct fgs__sim_device *dev, uint64_t at)
{
    for (size_t i = 0; i < dev->advices; i++) {
        struct fgs__sim_advised v = dev->advice[i];

        if (v.lo >= at || v.hi <= at)
            continue;
        dev->advice[i].hi = v.lo = at;
        insert(dev, i + 1, v);
        return;
    }
}

/* Make items of all of `at`; the first one. */
static size_t cover(struct fgs__sim_device *dev,
                    const struct fgs__sim_advised *at)
{
    struct fgs__sim_advised gap = fgs__sim_unadvised;
    size_t first = 0, i;

    cut(dev, at->lo);
    cut(dev, at->hi);
    while (first < dev->advices && dev->advice[first].hi <= at->lo)
        first++;
    gap.id = at->id;
    gap.lo = at->lo;
    for (i = first; gap.lo < at->hi; i++) {
        bool more = i < dev->advices && dev->advice[i].lo < at->hi;

        gap.hi = more ? dev->advice[i].lo : at->hi;
        if (gap.lo < gap.hi)
            insert(dev, i, gap);
        else if (dev->advice[i].id != at->id) { /* of one that is gone */
            gap.hi = dev->advice[i].hi;
            dev->advice[i] = gap;
        }
        gap.lo = dev->advice[i].hi;
    }
    return first;
}

static void change(struct fgs__sim_advised *v, int advice, int place)
{
    switch (advice) {
    case FGS__SIM_PREFETCHED:
        v->prefetched = place;
        break;
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        v->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        v->preferred = place;
        break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        v->preferred = FGS__SIM_NOWHERE;
        break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        v->accessors |= fgs__sim_accessor(place);
        break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        v->accessors &= ~fgs__sim_accessor(place);
        break;
    }
}

static bool alike(const struct fgs__sim_advised *a,
                  const struct fgs__sim_advised *b)
{
    return a->hi == b->lo && a->id == b->id && a->preferred == b->preferred &&
        a->prefetched == b->prefetched && a->accessors == b->accessors &&
        a->read_mostly == b->read_mostly;
}

/* One item of neighbours that say the same. */
static void join(struct fgs__sim_device *dev)
{
    size_t to = 0;

    for (size_t i = 1; i < dev->advices; i++) {
        if (alike(&dev->advice[to], &dev->advice[i]))
            dev->advice[to].hi = dev->advice[i].hi;
        else
            dev->advice[++to] = dev->advice[i];
    }
    if (dev->advices)
        dev->advices = to + 1;
}

CUresult fgs__sim_advice_room(struct fgs__sim_device *dev, size_t ranges)
{
    void *items = dev->advice;

    /* Items lie between the ends of those that are there and of the ranges. */
    if (!fgs__vec_reserve(&dev->alloc, &items, &dev->advice_cap,
                          2 * (dev->advices + ranges), sizeof *dev->advice))
        return CUDA_ERROR_OUT_OF_MEMORY;
    dev->advice = items;
    return CUDA_SUCCESS;
}

void fgs__sim_advise(struct fgs__sim_device *dev,
                     const struct fgs__sim_advised *at, int advice, int place)
{
    size_t i;

    for (i = cover(dev, at); i < dev->advices && dev->advice[i].lo < at->hi;
         i++)
        change(&dev->advice[i], advice, place);
    join(dev);
}

static void keep_same(int *all, int one)
{
    if (*all != one)
        *all = FGS__SIM_NOWHERE;
}

void fgs__sim_advice_of(const struct fgs__sim_device *dev,
                        struct fgs__sim_advised *at)
{
    struct fgs__sim_advised none = fgs__sim_unadvised;
    uint64_t to = at->lo;
    bool any = false;

    for (size_t i = 0; i < dev->advices && to < at->hi; i++) {
        const struct fgs__sim_advised *v = &dev->advice[i];

        if (v->hi <= at->lo || v->id != at->id)
            continue;
        if (v->lo > to)
            break;
        if (!any) {
            at->preferred = v->preferred;
            at->prefetched = v->prefetched;
            at->accessors = v->accessors;
            at->read_mostly = v->read_mostly;
        }
        any = true;
        keep_same(&at->preferred, v->preferred);
        keep_same(&at->prefetched, v->prefetched);
        at->accessors &= v->accessors;
        at->read_mostly &= v->read_mostly;
        to = v->hi;
    }
    if (to >= at->hi)
        return;
    none.lo = at->lo;
    none.hi = at->hi;
    none.id = at->id;
    *at = none;
}

void fgs__sim_advice_free(struct fgs__sim_device *dev)
{
    fgs__free(&dev->alloc, dev->advice);
}
