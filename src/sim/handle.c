/* handle.c -- handles of the driver API as checked numbers */
#include "sim/device.h"

/* Bit 62 keeps a handle out of every address space; 5 bits kind, 28 bits
 * serial, 24 bits slot. */
#define MARK        ((uintptr_t)1 << 62)
#define SLOT_BITS   24
#define SERIAL_BITS 28
#define SLOT_MASK   (((uintptr_t)1 << SLOT_BITS) - 1)
#define SERIAL_MASK (((uint32_t)1 << SERIAL_BITS) - 1)

struct fgs__sim_handle_slot {
    void *obj;
    size_t next_free; /* index + 1 */
    uint32_t serial;
    uint8_t kind;
};

static uintptr_t encode(size_t index, uint32_t serial, unsigned kind)
{
    return MARK | (uintptr_t)kind << (SLOT_BITS + SERIAL_BITS) |
        (uintptr_t)serial << SLOT_BITS | index;
}

uintptr_t fgs__sim_handle_make(struct fgs__sim_handles *t,
                               const fgs_allocator *a, enum fgs__sim_kind kind,
                               void *obj)
{
    struct fgs__sim_handle_slot *s;
    size_t i;

    if (t->free_head) {
        i = t->free_head - 1;
        t->free_head = t->slot[i].next_free;
    } else {
        void *items = t->slot;

        if (t->count > SLOT_MASK ||
            !fgs__vec_reserve(a, &items, &t->cap, t->count, sizeof *t->slot))
            return 0;
        t->slot = items;
        i = t->count++;
        t->slot[i].serial = 0;
    }
    s = &t->slot[i];
    s->serial = (s->serial + 1) & SERIAL_MASK;
    s->kind = (uint8_t)kind;
    s->obj = obj;
    return encode(i, s->serial, kind);
}

static struct fgs__sim_handle_slot *find(const struct fgs__sim_handles *t,
                                         uintptr_t h)
{
    size_t i = h & SLOT_MASK;
    struct fgs__sim_handle_slot *s;

    if (!(h & MARK) || i >= t->count)
        return NULL;
    s = &t->slot[i];
    return s->kind && encode(i, s->serial, s->kind) == h ? s : NULL;
}

void *fgs__sim_handle_get(const struct fgs__sim_handles *t,
                          enum fgs__sim_kind kind, const void *handle)
{
    struct fgs__sim_handle_slot *s = find(t, (uintptr_t)handle);

    return s && s->kind == kind ? s->obj : NULL;
}

void fgs__sim_handle_free(struct fgs__sim_handles *t, uintptr_t handle)
{
    struct fgs__sim_handle_slot *s = find(t, handle);

    if (!s)
        return;
    s->kind = FGS__SIM_KIND_NONE;
    s->obj = NULL;
    s->next_free = t->free_head;
    t->free_head = (size_t)(s - t->slot) + 1;
}

void fgs__sim_handles_free(struct fgs__sim_handles *t, const fgs_allocator *a)
{
    fgs__free(a, t->slot);
    memset(t, 0, sizeof *t);
}
