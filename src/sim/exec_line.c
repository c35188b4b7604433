/* exec_line.c -- movers between registers and neighbouring places of memory
 *
 * Registers are written in vectors as wide as the handlers read them: a CPU
 * does not hand narrower stores that are still on their way to a wider load,
 * but waits until they are in the cache.  Weak accesses: the lanes together
 * need not be aligned, and may be moved in any pieces.
 */
#include "sim/chunk.h"
#include "sim/lanes.h"
#include "sim/line.h"

#define MOVER static FGS__DEVICE_MEMORY void
#define REG(n) FGS__ALIGNED(reg[n], 64)

/* One component: the register is as the memory. */
#define PLAIN(size, bits)                                                      \
    MOVER load_##size(void *const reg[], char *memory)                         \
    {                                                                          \
        memcpy(REG(0), memory, LANES * bits / 8);                              \
    }                                                                          \
    MOVER store_##size(void *const reg[], char *memory)                        \
    {                                                                          \
        memcpy(memory, REG(0), LANES * bits / 8);                              \
    }
PLAIN(0, 8)
PLAIN(1, 16)
PLAIN(2, 32)
PLAIN(3, 64)

/* Chunks may be strong. */
MOVER load_4(void *const reg[], char *memory)
{
    fgs__chunk *to = reg[0];

    for (int k = 0; k < LANES; k++)
        fgs__chunk_store(to + k, fgs__chunk_load(memory + 16 * k));
}

MOVER store_4(void *const reg[], char *memory)
{
    const fgs__chunk *from = reg[0];

    for (int k = 0; k < LANES; k++)
        fgs__chunk_store(memory + 16 * k, fgs__chunk_load(from + k));
}

/* Two words a lane. */
#define PAIRS(size, bits)                                                      \
    MOVER load_2x##size(void *const reg[], char *memory)                       \
    {                                                                          \
        const l_u##bits *p = (const l_u##bits *)(void *)memory;                \
        l_u##bits *a = REG(0), *b = REG(1);                                    \
        int k;                                                                 \
                                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            a[k] = p[2 * k];                                                   \
            b[k] = p[2 * k + 1];                                               \
        }                                                                      \
    }                                                                          \
    MOVER store_2x##size(void *const reg[], char *memory)                      \
    {                                                                          \
        const l_u##bits *a = REG(0), *b = REG(1);                              \
        l_u##bits *p = (l_u##bits *)(void *)memory;                            \
        int k;                                                                 \
                                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            p[2 * k] = a[k];                                                   \
            p[2 * k + 1] = b[k];                                               \
        }                                                                      \
    }
PAIRS(2, 32)
PAIRS(3, 64)

MOVER load_4x2(void *const reg[], char *memory)
{
    const l_u32 *p = (const l_u32 *)(void *)memory;
    l_u32 *a = REG(0), *b = REG(1), *c = REG(2), *d = REG(3);
    int k;

    FGS__EACH
    for (k = 0; k < LANES; k++) {
        a[k] = p[4 * k];
        b[k] = p[4 * k + 1];
        c[k] = p[4 * k + 2];
        d[k] = p[4 * k + 3];
    }
}

MOVER store_4x2(void *const reg[], char *memory)
{
    const l_u32 *a = REG(0), *b = REG(1), *c = REG(2), *d = REG(3);
    l_u32 *p = (l_u32 *)(void *)memory;
    int k;

    FGS__EACH
    for (k = 0; k < LANES; k++) {
        p[4 * k] = a[k];
        p[4 * k + 1] = b[k];
        p[4 * k + 2] = c[k];
        p[4 * k + 3] = d[k];
    }
}

#define MOVERS(dir)                                                            \
    {                                                                          \
        { dir##_0, dir##_1, dir##_2, dir##_3, dir##_4 },                       \
        { NULL, NULL, dir##_2x2, dir##_2x3, NULL },                            \
        { NULL, NULL, dir##_4x2, NULL, NULL },                                 \
        { NULL, NULL, NULL, NULL, NULL }                                       \
    }
extern const fgs__sim_line_move FGS__LEVEL(fgs__sim_line_load)[4][5];
const fgs__sim_line_move FGS__LEVEL(fgs__sim_line_load)[4][5] = MOVERS(load);
extern const fgs__sim_line_move FGS__LEVEL(fgs__sim_line_store)[4][5];
const fgs__sim_line_move FGS__LEVEL(fgs__sim_line_store)[4][5] = MOVERS(store);

void FGS__LEVEL(fgs__sim_splat)(void *reg, uint64_t v, uint32_t bytes);
void FGS__LEVEL(fgs__sim_splat)(void *reg, uint64_t v, uint32_t bytes)
{
    l_u32 *word = FGS__ALIGNED(reg, 64);
    l_u64 *wide = FGS__ALIGNED(reg, 64);
    int k;

    FGS__EACH
    for (k = 0; bytes == 4 && k < LANES; k++)
        word[k] = (uint32_t)v;
    FGS__EACH
    for (k = 0; bytes == 8 && k < LANES; k++)
        wide[k] = v;
}
