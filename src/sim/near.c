/* near.c -- a whole warp at 32-bit addresses of its block's shared memory */
#include "sim/near.h"
#include "sim/chunk.h"

bool fgs__sim_near_takes(const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE];

    return (facts & FGS__SIM_SPACE_MASK) == FGS__SIM_SHARED &&
           facts & (FGS__SIM_ADDR32 | FGS__SIM_UNIFORM);
}

/* A base that is the same in all lanes may have 64 bits: a variable has. */
int fgs__sim_near_find(const struct fgs__sim_warp *w,
                       const struct fgs__sim_insn *i, uint32_t off[32])
{
    const uint32_t *base = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE];
    uint32_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    uint64_t size = w->block->grid->shared_bytes, at;

    if (w->exec != UINT32_MAX || size < bytes)
        return -1;
    if (!(facts & FGS__SIM_UNIFORM))
        return w->sm->shapes->offsets(
            base, (uint32_t)i->imm - w->block->shared_base,
            (uint32_t)(size - bytes), bytes, off);
    if (facts & FGS__SIM_ADDR32)
        at = base[0] + (uint32_t)i->imm;
    else
        memcpy(&at, base, sizeof at), at += (uint64_t)i->imm;
    at -= w->block->shared_base;
    if (at > size - bytes || at & (bytes - 1))
        return -1;
    off[0] = (uint32_t)at;
    return FGS__SIM_SAME;
}

/* --------------------------------------------------------------- movers -- */

#define MOVER static FGS__DEVICE_MEMORY void
#define AT(p, n) ((char *)(p) + 16 * (size_t)(n))

/* One component of a word each. */
#define WORDS(size, bits)                                                      \
    MOVER load_##size(void *const reg[], char *memory, const uint32_t *off)    \
    {                                                                          \
        fgs__dev##bits *r = reg[0];                                            \
                                                                               \
        for (int l = 0; l < 32; l++)                                           \
            r[l] = *(const volatile fgs__dev##bits *)(memory + off[l]);        \
    }                                                                          \
    MOVER store_##size(void *const reg[], char *memory, const uint32_t *off)   \
    {                                                                          \
        const fgs__dev##bits *r = reg[0];                                      \
                                                                               \
        for (int l = 0; l < 32; l++)                                           \
            *(volatile fgs__dev##bits *)(memory + off[l]) = r[l];              \
    }
WORDS(0, 8)
WORDS(1, 16)
WORDS(2, 32)
WORDS(3, 64)

/* Two words of 32 bits a lane are one of 64. */
MOVER load_2x2(void *const reg[], char *memory, const uint32_t *off)
{
    fgs__dev32 *a = reg[0], *b = reg[1];

    for (int l = 0; l < 32; l++) {
        uint64_t v = *(const volatile fgs__dev64 *)(memory + off[l]);

        a[l] = (uint32_t)v;
        b[l] = (uint32_t)(v >> 32);
    }
}

MOVER store_2x2(void *const reg[], char *memory, const uint32_t *off)
{
    const fgs__dev32 *a = reg[0], *b = reg[1];

    for (int l = 0; l < 32; l++)
        *(volatile fgs__dev64 *)(memory + off[l]) = a[l] | (uint64_t)b[l] << 32;
}

/* Two of 64 bits are a chunk. */
MOVER load_2x3(void *const reg[], char *memory, const uint32_t *off)
{
    for (int n = 0; n < 16; n++) {
        fgs__chunk x = fgs__chunk_load(memory + off[2 * n]);
        fgs__chunk y = fgs__chunk_load(memory + off[2 * n + 1]);

        fgs__chunk_store(AT(reg[0], n), _mm_unpacklo_epi64(x, y));
        fgs__chunk_store(AT(reg[1], n), _mm_unpackhi_epi64(x, y));
    }
}

MOVER store_2x3(void *const reg[], char *memory, const uint32_t *off)
{
    for (int n = 0; n < 16; n++) {
        fgs__chunk x = fgs__chunk_load(AT(reg[0], n));
        fgs__chunk y = fgs__chunk_load(AT(reg[1], n));

        fgs__chunk_store(memory + off[2 * n], _mm_unpacklo_epi64(x, y));
        fgs__chunk_store(memory + off[2 * n + 1], _mm_unpackhi_epi64(x, y));
    }
}

/* And so are four of 32. */
MOVER load_4x2(void *const reg[], char *memory, const uint32_t *off)
{
    fgs__chunk c[4];
    int n, k;

    for (n = 0; n < 8; n++) {
        for (k = 0; k < 4; k++)
            c[k] = fgs__chunk_load(memory + off[4 * n + k]);
        fgs__chunk_turn(c);
        for (k = 0; k < 4; k++)
            fgs__chunk_store(AT(reg[k], n), c[k]);
    }
}

MOVER store_4x2(void *const reg[], char *memory, const uint32_t *off)
{
    fgs__chunk c[4];
    int n, k;

    for (n = 0; n < 8; n++) {
        for (k = 0; k < 4; k++)
            c[k] = fgs__chunk_load(AT(reg[k], n));
        fgs__chunk_turn(c);
        for (k = 0; k < 4; k++)
            fgs__chunk_store(memory + off[4 * n + k], c[k]);
    }
}

MOVER load_4(void *const reg[], char *memory, const uint32_t *off)
{
    for (int l = 0; l < 32; l++)
        fgs__chunk_store(AT(reg[0], l), fgs__chunk_load(memory + off[l]));
}

MOVER store_4(void *const reg[], char *memory, const uint32_t *off)
{
    for (int l = 0; l < 32; l++)
        fgs__chunk_store(memory + off[l], fgs__chunk_load(AT(reg[0], l)));
}

#define MOVERS(dir)                                                            \
    {                                                                          \
        { dir##_0, dir##_1, dir##_2, dir##_3, dir##_4 },                       \
        { NULL, NULL, dir##_2x2, dir##_2x3, NULL },                            \
        { NULL, NULL, dir##_4x2, NULL, NULL },                                 \
        { NULL, NULL, NULL, NULL, NULL }                                       \
    }
const fgs__sim_near_move fgs__sim_near_load[4][5] = MOVERS(load);
const fgs__sim_near_move fgs__sim_near_store[4][5] = MOVERS(store);
