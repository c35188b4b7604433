/* event.c -- events: the moments of their records */
#include "sim/device.h"

struct fgs__sim_mark *fgs__sim_mark_make(struct fgs__sim_device *dev)
{
    struct fgs__sim_mark *m = fgs__zalloc(&dev->alloc, sizeof *m);

    if (m)
        m->refs = 1;
    return m;
}

void fgs__sim_mark_drop(struct fgs__sim_device *dev, struct fgs__sim_mark *m)
{
    if (!m || --m->refs)
        return;
    fgs__sim_mark_drop(dev, m->end);
    fgs__free(&dev->alloc, m);
}

bool fgs__sim_marks_add(struct fgs__sim_device *dev, struct fgs__sim_marks *to,
                        struct fgs__sim_mark *m)
{
    void *items = to->item;

    if (!fgs__vec_reserve(&dev->alloc, &items, &to->cap, to->count,
                          sizeof *to->item))
        return false;
    to->item = items;
    to->item[to->count++] = m;
    m->refs++;
    return true;
}

void fgs__sim_marks_free(struct fgs__sim_device *dev, struct fgs__sim_marks *m)
{
    for (size_t i = 0; i < m->count; i++)
        fgs__sim_mark_drop(dev, m->item[i]);
    fgs__free(&dev->alloc, m->item);
}

void fgs__sim_event_free(struct fgs__sim_event *e)
{
    struct fgs__sim_device *dev = e->ctx->dev;
    struct fgs__sim_event **at = &e->ctx->events;

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    fgs__sim_mark_drop(dev, e->mark);
    fgs__free(&dev->alloc, e->last.item);
    fgs__sim_handle_free(&dev->handles, e->handle);
    fgs__free(&dev->alloc, e);
}
