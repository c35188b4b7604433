/* heap.c -- malloc and free of device code: a buddy allocator
 *
 * Its notes lie on the host, where no stray store of a kernel reaches them.
 * An allocation takes the least power of two that holds it and gives back what
 * it does not need, so it consists of pieces of several orders.
 */
#include "sim/builtin.h"

enum { ORDERS = 40, UNIT = 32 /* bytes; malloc promises 16 */ };
#define NONE UINT32_MAX

struct fgs__sim_heap {
    pthread_mutex_t lock;
    uint64_t lo;           /* device address                                  */
    uint32_t units;
    uint32_t first[ORDERS]; /* free pieces of 2^order units                   */
    struct unit {
        uint32_t next, prev; /* of a free piece                              */
        uint32_t used;     /* units of the allocation that begins here        */
        uint8_t order;     /* 1 + order of the free piece that begins here    */
    } *unit;
};

static void link_piece(struct fgs__sim_heap *h, uint32_t at, unsigned order)
{
    struct unit *u = &h->unit[at];

    u->order = (uint8_t)(order + 1);
    u->prev = NONE;
    u->next = h->first[order];
    if (u->next != NONE)
        h->unit[u->next].prev = at;
    h->first[order] = at;
}

static void unlink_piece(struct fgs__sim_heap *h, uint32_t at)
{
    struct unit *u = &h->unit[at];

    if (u->prev != NONE)
        h->unit[u->prev].next = u->next;
    else
        h->first[u->order - 1] = u->next;
    if (u->next != NONE)
        h->unit[u->next].prev = u->prev;
    u->order = 0;
}

/* A piece becomes free and joins its other half as often as that is free. */
static void give_piece(struct fgs__sim_heap *h, uint32_t at, unsigned order)
{
    uint32_t buddy;

    for (;; order++) {
        buddy = at ^ 1u << order;
        if (order + 1 >= ORDERS || buddy >= h->units ||
            h->unit[buddy].order != order + 1)
            break;
        unlink_piece(h, buddy);
        at &= ~(1u << order);
    }
    link_piece(h, at, order);
}

/* [at, at + units) in pieces that lie at multiples of their size. */
static void give(struct fgs__sim_heap *h, uint32_t at, uint32_t units)
{
    unsigned order;

    while (units) {
        order = at ? (unsigned)__builtin_ctz(at) : 31;
        while (1u << order > units)
            order--;
        give_piece(h, at, order);
        at += 1u << order;
        units -= 1u << order;
    }
}

static uint32_t take(struct fgs__sim_heap *h, uint32_t units)
{
    unsigned order = 0, k;
    uint32_t at;

    while (order < 31 && 1u << order < units)
        order++;
    for (k = order; k < ORDERS && h->first[k] == NONE; k++)
        ;
    if (k == ORDERS)
        return NONE;
    at = h->first[k];
    unlink_piece(h, at);
    h->unit[at].used = units;
    give(h, at + units, (1u << k) - units);
    return at;
}

CUresult fgs__sim_heap_make(struct fgs__sim_ctx *ctx)
{
    const fgs_allocator *a = &ctx->dev->alloc;
    uint64_t bytes = ctx->limit[CU_LIMIT_MALLOC_HEAP_SIZE];
    struct fgs__sim_range range;
    struct fgs__sim_heap *h;
    CUresult r;

    if (ctx->heap)
        return CUDA_SUCCESS;
    if (bytes / UNIT > UINT32_MAX / 2)
        return CUDA_ERROR_OUT_OF_MEMORY;
    h = fgs__zalloc(a, sizeof *h);
    if (!h)
        return CUDA_ERROR_OUT_OF_MEMORY;
    h->units = (uint32_t)(bytes / UNIT);
    h->unit = fgs__zalloc(a, ((size_t)h->units + 1) * sizeof *h->unit);
    r = h->unit ? fgs__sim_mem_alloc(ctx->dev->mem, bytes, 512,
                                     FGS__SIM_MEM_MODULE, ctx, &range)
                : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && pthread_mutex_init(&h->lock, NULL))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        fgs__free(a, h->unit);
        fgs__free(a, h);
        return r;
    }
    for (unsigned k = 0; k < ORDERS; k++)
        h->first[k] = NONE;
    h->lo = range.lo;
    give(h, 0, h->units);
    ctx->heap = h;
    return CUDA_SUCCESS;
}

/* Its device memory goes with the context's. */
void fgs__sim_heap_free(struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_heap *h = ctx->heap;

    if (!h)
        return;
    pthread_mutex_destroy(&h->lock);
    fgs__free(&ctx->dev->alloc, h->unit);
    fgs__free(&ctx->dev->alloc, h);
    ctx->heap = NULL;
}

bool fgs__sim_malloc(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                     int lane, const uint64_t *arg, uint64_t *result)
{
    struct fgs__sim_heap *h = w->block->grid->ctx->heap;
    uint32_t at;

    (void)i;
    (void)lane;
    *result = 0;
    if (!arg[0] || arg[0] > (uint64_t)h->units * UNIT)
        return true;
    pthread_mutex_lock(&h->lock);
    at = take(h, (uint32_t)((arg[0] + UNIT - 1) / UNIT));
    pthread_mutex_unlock(&h->lock);
    if (at != NONE)
        *result = h->lo + (uint64_t)at * UNIT;
    return true;
}

bool fgs__sim_free(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                   int lane, const uint64_t *arg, uint64_t *result)
{
    struct fgs__sim_heap *h = w->block->grid->ctx->heap;
    uint64_t offset = arg[0] - h->lo;
    uint32_t units = 0;

    (void)result;
    if (!arg[0])
        return true;
    pthread_mutex_lock(&h->lock);
    if (offset < (uint64_t)h->units * UNIT && !(offset % UNIT))
        units = h->unit[offset / UNIT].used;
    if (units) {
        h->unit[offset / UNIT].used = 0;
        give(h, (uint32_t)(offset / UNIT), units);
    }
    pthread_mutex_unlock(&h->lock);
    if (!units)
        fgs__sim_warp_fault(w, i, CUDA_ERROR_LAUNCH_FAILED, lane,
                            "free of 0x%llx, which malloc did not give or "
                            "which is free already",
                            (unsigned long long)arg[0]);
    return units != 0;
}
