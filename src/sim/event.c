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
    if (m && !--m->refs)
        fgs__free(&dev->alloc, m);
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
