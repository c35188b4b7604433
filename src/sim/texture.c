/* texture.c -- the numbers of texture and surface objects */
#include "sim/texture.h"

/* A handle is a serial over a number from 1 on; those of a GPU are small
 * numbers too. */
enum { NUMBER_BITS = 20, CHUNK_BITS = 10, CHUNKS = 1 << 8 };
#define CHUNK (1u << CHUNK_BITS)

struct slot {
    struct fgs__sim_texture *_Atomic object;
    uint32_t serial;
    uint32_t next_free;        /* number, 0 = none                           */
};

struct fgs__sim_textures {
    struct slot *_Atomic chunk[CHUNKS];
    uint32_t count;            /* numbers that were given                    */
    uint32_t free_head;
};

static struct slot *slot_of(struct fgs__sim_textures *all, uint64_t number)
{
    struct slot *chunk;

    if (!all || !number || number >> CHUNK_BITS >= CHUNKS)
        return NULL;
    chunk = atomic_load_explicit(&all->chunk[number >> CHUNK_BITS],
                                 memory_order_acquire);
    return chunk ? &chunk[number & (CHUNK - 1)] : NULL;
}

struct fgs__sim_texture *fgs__sim_texture_find(struct fgs__sim_ctx *ctx,
                                               uint64_t handle)
{
    struct fgs__sim_textures *all =
        atomic_load_explicit(&ctx->textures, memory_order_acquire);
    uint64_t number = handle & ((1u << NUMBER_BITS) - 1);
    struct slot *s = slot_of(all, number);
    struct fgs__sim_texture *t =
        s ? atomic_load_explicit(&s->object, memory_order_acquire) : NULL;

    return t && t->handle == handle ? t : NULL;
}

/* A number that is free, and room for it; 0 = no memory. */
static uint32_t take_number(struct fgs__sim_textures *all,
                            const fgs_allocator *a)
{
    uint32_t number = all->free_head;
    struct slot *chunk;

    if (number) {
        all->free_head = slot_of(all, number)->next_free;
        return number;
    }
    number = all->count + 1;
    if (number >> CHUNK_BITS >= CHUNKS)
        return 0;
    if (!slot_of(all, number)) {
        chunk = fgs__zalloc(a, CHUNK * sizeof *chunk);
        if (!chunk)
            return 0;
        atomic_store_explicit(&all->chunk[number >> CHUNK_BITS], chunk,
                              memory_order_release);
    }
    all->count = number;
    return number;
}

CUresult fgs__sim_texture_add(struct fgs__sim_ctx *ctx,
                              struct fgs__sim_texture *t)
{
    const fgs_allocator *a = &ctx->dev->alloc;
    struct fgs__sim_textures *all = ctx->textures;
    struct slot *s;
    uint32_t number;

    if (!all) {
        all = fgs__zalloc(a, sizeof *all);
        if (!all)
            return CUDA_ERROR_OUT_OF_MEMORY;
        atomic_store_explicit(&ctx->textures, all, memory_order_release);
    }
    number = take_number(all, a);
    if (!number)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s = slot_of(all, number);
    t->ctx = ctx;
    t->handle = (uint64_t)s->serial << NUMBER_BITS | number;
    atomic_store_explicit(&s->object, t, memory_order_release);
    return CUDA_SUCCESS;
}

void fgs__sim_texture_drop(struct fgs__sim_texture *t)
{
    struct fgs__sim_textures *all = t->ctx->textures;
    uint32_t number = t->handle & ((1u << NUMBER_BITS) - 1);
    struct slot *s = slot_of(all, number);

    atomic_store_explicit(&s->object, NULL, memory_order_release);
    s->serial++;
    s->next_free = all->free_head;
    all->free_head = number;
    fgs__free(&t->ctx->dev->alloc, t);
}

void fgs__sim_textures_free(struct fgs__sim_ctx *ctx)
{
    const fgs_allocator *a = &ctx->dev->alloc;
    struct fgs__sim_textures *all = ctx->textures;

    if (!all)
        return;
    for (uint32_t n = 1; n <= all->count; n++)
        fgs__free(a, slot_of(all, n)->object);
    for (uint32_t k = 0; k < CHUNKS; k++)
        fgs__free(a, all->chunk[k]);
    fgs__free(a, all);
    ctx->textures = NULL;
}
