/* room.c -- memory of blocks that are gone stays with their SM
 *
 * It serves blocks of other grids while there is work: taken anew, the host's
 * kernel would clear each page.
 */
#include "sim/room.h"

#include "base/alloc.h"
#include "sim/device.h"

struct fgs__sim_room {         /* below the block, which is 128-byte aligned */
    struct fgs__sim_room *next;
    void *raw;
    size_t bytes;
};
enum { KEEP_BYTES = 4 << 20 }; /* of an SM, at most                          */

static struct fgs__sim_room *room_of(void *block)
{
    return (struct fgs__sim_room *)block - 1;
}

/* One that is large enough, and not much too large. */
static struct fgs__sim_room *take_kept(struct fgs__sim_sm *sm, size_t bytes)
{
    struct fgs__sim_room **at = &sm->rooms, *r;

    while (*at && ((*at)->bytes < bytes || (*at)->bytes / 4 > bytes))
        at = &(*at)->next;
    r = *at;
    if (r) {
        *at = r->next;
        sm->room_bytes -= r->bytes;
    }
    return r;
}

char *fgs__sim_room_take(struct fgs__sim_sm *sm, const fgs_allocator *a,
                         size_t bytes)
{
    struct fgs__sim_room *r;
    char *raw, *p;

    r = take_kept(sm, bytes);
    if (r)
        return (char *)(r + 1);
    raw = fgs__alloc(a, bytes + 128 + sizeof *r);
    if (!raw)
        return NULL;
    p = raw + sizeof *r;
    p += -(uintptr_t)p & 127;
    r = (struct fgs__sim_room *)(void *)p - 1;
    r->raw = raw;
    r->bytes = bytes;
    return p;
}

/* An SM without a device, of a test, keeps nothing. */
void fgs__sim_room_give(struct fgs__sim_sm *sm, const fgs_allocator *a,
                        void *block)
{
    struct fgs__sim_room *r = room_of(block);

    if (!sm->dev || sm->room_bytes + r->bytes > KEEP_BYTES) {
        fgs__free(a, r->raw);
        return;
    }
    sm->room_bytes += r->bytes;
    r->next = sm->rooms;
    sm->rooms = r;
}

void fgs__sim_rooms_free(struct fgs__sim_sm *sm)
{
    struct fgs__sim_room *r;

    while ((r = sm->rooms)) {
        sm->rooms = r->next;
        fgs__free(&sm->dev->alloc, r->raw);
    }
    sm->room_bytes = 0;
}
