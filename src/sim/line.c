/* line.c -- a whole warp at neighbouring addresses of global memory */
#include "sim/line.h"
#include "sim/chunk.h"

bool fgs__sim_line_takes(const struct fgs__sim_insn *i)
{
    uint32_t space = i->aux[FGS__SIM_AUX_SPACE];

    return space == FGS__SIM_GLOBAL || space == FGS__SIM_GENERIC;
}

static bool holds(const struct fgs__sim_range *r, uint64_t addr, uint64_t bytes)
{
    return addr >= r->lo && addr < r->hi && r->hi - addr >= bytes;
}

/* A cached range is an allocation: no window of generic addresses, never
 * read-only. */
char *fgs__sim_line_find(const struct fgs__sim_warp *w,
                         const struct fgs__sim_insn *i)
{
    const uint64_t *base = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);
    uint64_t first = base[0] + (uint64_t)i->imm;
    uint64_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    const struct fgs__sim_range *r = &w->cache;

    if (w->exec != UINT32_MAX || first & (bytes - 1) ||
        w->cache_gen != fgs__sim_mem_generation(w->sm->mem))
        return NULL;
    if (!holds(r, first, 32 * bytes)) {
        r = &w->before;
        if (!holds(r, first, 32 * bytes))
            return NULL;
    }
    if (w->sm->shapes->of(base, bytes) != FGS__SIM_RUN)
        return NULL;
    return r->host + (first - r->lo);
}

/* --------------------------------------------------------------- movers -- */

#define MOVER static FGS__DEVICE_MEMORY void
#define AT(p, n) ((char *)(p) + 16 * (size_t)(n))

/* Weak accesses: the lanes together need not be aligned. */
static FGS__DEVICE_MEMORY fgs__chunk peek(const void *p)
{
    return _mm_loadu_si128(p);
}

MOVER poke(void *p, fgs__chunk v)
{
    _mm_storeu_si128(p, v);
}

/* One component: the register is as the memory.  Chunks may be strong. */
#define PLAIN(size, chunks, peek, poke)                                        \
    MOVER load_##size(void *const reg[], char *memory)                         \
    {                                                                          \
        for (int n = 0; n < chunks; n++)                                       \
            fgs__chunk_store(AT(reg[0], n), peek(AT(memory, n)));              \
    }                                                                          \
    MOVER store_##size(void *const reg[], char *memory)                        \
    {                                                                          \
        for (int n = 0; n < chunks; n++)                                       \
            poke(AT(memory, n), fgs__chunk_load(AT(reg[0], n)));               \
    }
PLAIN(0, 2, peek, poke)
PLAIN(1, 4, peek, poke)
PLAIN(2, 8, peek, poke)
PLAIN(3, 16, peek, poke)
PLAIN(4, 32, fgs__chunk_load, fgs__chunk_store)

static __m128 as_f(fgs__chunk v)
{
    return _mm_castsi128_ps(v);
}

/* Words 0 and 2 of two chunks, or 1 and 3. */
#define EVEN(x, y) _mm_castps_si128(_mm_shuffle_ps(as_f(x), as_f(y), 0x88))
#define ODD(x, y)  _mm_castps_si128(_mm_shuffle_ps(as_f(x), as_f(y), 0xdd))

/* Two words a lane. */
MOVER load_2x2(void *const reg[], char *memory)
{
    for (int n = 0; n < 8; n++) {
        fgs__chunk x = peek(AT(memory, 2 * n));
        fgs__chunk y = peek(AT(memory, 2 * n + 1));

        fgs__chunk_store(AT(reg[0], n), EVEN(x, y));
        fgs__chunk_store(AT(reg[1], n), ODD(x, y));
    }
}

MOVER store_2x2(void *const reg[], char *memory)
{
    for (int n = 0; n < 8; n++) {
        fgs__chunk x = fgs__chunk_load(AT(reg[0], n));
        fgs__chunk y = fgs__chunk_load(AT(reg[1], n));

        poke(AT(memory, 2 * n), _mm_unpacklo_epi32(x, y));
        poke(AT(memory, 2 * n + 1), _mm_unpackhi_epi32(x, y));
    }
}

/* Two words of 64 bits a lane. */
MOVER load_2x3(void *const reg[], char *memory)
{
    for (int n = 0; n < 16; n++) {
        fgs__chunk x = peek(AT(memory, 2 * n));
        fgs__chunk y = peek(AT(memory, 2 * n + 1));

        fgs__chunk_store(AT(reg[0], n), _mm_unpacklo_epi64(x, y));
        fgs__chunk_store(AT(reg[1], n), _mm_unpackhi_epi64(x, y));
    }
}

MOVER store_2x3(void *const reg[], char *memory)
{
    for (int n = 0; n < 16; n++) {
        fgs__chunk x = fgs__chunk_load(AT(reg[0], n));
        fgs__chunk y = fgs__chunk_load(AT(reg[1], n));

        poke(AT(memory, 2 * n), _mm_unpacklo_epi64(x, y));
        poke(AT(memory, 2 * n + 1), _mm_unpackhi_epi64(x, y));
    }
}

MOVER load_4x2(void *const reg[], char *memory)
{
    fgs__chunk c[4];
    int n, k;

    for (n = 0; n < 8; n++) {
        for (k = 0; k < 4; k++)
            c[k] = peek(AT(memory, 4 * n + k));
        fgs__chunk_turn(c);
        for (k = 0; k < 4; k++)
            fgs__chunk_store(AT(reg[k], n), c[k]);
    }
}

MOVER store_4x2(void *const reg[], char *memory)
{
    fgs__chunk c[4];
    int n, k;

    for (n = 0; n < 8; n++) {
        for (k = 0; k < 4; k++)
            c[k] = fgs__chunk_load(AT(reg[k], n));
        fgs__chunk_turn(c);
        for (k = 0; k < 4; k++)
            poke(AT(memory, 4 * n + k), c[k]);
    }
}

#define MOVERS(dir)                                                            \
    {                                                                          \
        { dir##_0, dir##_1, dir##_2, dir##_3, dir##_4 },                       \
        { NULL, NULL, dir##_2x2, dir##_2x3, NULL },                            \
        { NULL, NULL, dir##_4x2, NULL, NULL },                                 \
        { NULL, NULL, NULL, NULL, NULL }                                       \
    }
const fgs__sim_line_move fgs__sim_line_load[4][5] = MOVERS(load);
const fgs__sim_line_move fgs__sim_line_store[4][5] = MOVERS(store);
