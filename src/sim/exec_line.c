/* exec_line.c -- a whole warp at neighbouring places of memory
 *
 * The movers between registers and memory, and the handlers of ld and st that
 * use them: one look at all addresses, one at the allocation, one move.
 *
 * Registers are written in vectors as wide as the handlers read them: a CPU
 * does not hand narrower stores that are still on their way to a wider load,
 * but waits until they are in the cache.  Weak accesses: the lanes together
 * need not be aligned, and may be moved in any pieces.
 */
#include "sim/chunk.h"
#include "sim/lanes.h"
#include "sim/latency.h"
#include "sim/line.h"
#if defined __AVX2__
#include <immintrin.h>
#endif

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

/* ------------------------------------------------------------- handlers -- */

/* Is lane l's address that of lane 0 and l steps? */
static FGS__INLINE bool in_line(const uint64_t *addr, int64_t step)
{
#if defined __AVX512F__
    __m512i want = _mm512_add_epi64(
        _mm512_set1_epi64((int64_t)addr[0]),
        _mm512_setr_epi64(0, step, 2 * step, 3 * step, 4 * step, 5 * step,
                          6 * step, 7 * step));
    __m512i next = _mm512_set1_epi64(8 * step);
    __m512i off = _mm512_xor_si512(want, _mm512_load_si512(addr));

    for (int k = 8; k < LANES; k += 8) {
        want = _mm512_add_epi64(want, next);
        off = _mm512_ternarylogic_epi64(off, want,
                                        _mm512_load_si512(addr + k), 0xf6);
    }
    return !_mm512_test_epi64_mask(off, off);
#elif defined __AVX2__
    __m256i want = _mm256_add_epi64(
        _mm256_set1_epi64x((int64_t)addr[0]),
        _mm256_setr_epi64x(0, step, 2 * step, 3 * step));
    __m256i next = _mm256_set1_epi64x(4 * step);
    __m256i off =
        _mm256_xor_si256(want, _mm256_load_si256((const void *)addr));

    for (int k = 4; k < LANES; k += 4) {
        want = _mm256_add_epi64(want, next);
        off = _mm256_or_si256(
            off, _mm256_xor_si256(
                     want, _mm256_load_si256((const void *)(addr + k))));
    }
    return _mm256_testz_si256(off, off);
#else
    uint64_t off = 0;

    for (int l = 0; l < LANES; l++)
        off |= addr[l] ^ (addr[0] + (uint64_t)(l * step));
    return !off;
#endif
}

static FGS__INLINE bool holds(const struct fgs__sim_range *r, uint64_t addr,
                              uint64_t bytes)
{
    return addr >= r->lo && addr < r->hi && r->hi - addr >= bytes;
}

/* Host bytes of lane 0, all others follow inside the allocation, those that do
 * not run too; NULL = this is for the handler of any addresses. */
static FGS__INLINE char *find(struct fgs__sim_warp *w,
                              const struct fgs__sim_insn *i, unsigned step)
{
    const uint64_t *addr = LANE_PTR(w, i->op[FGS__SIM_ADDR]);
    uint64_t first = addr[0] + (uint64_t)i->imm, bytes = LANES * step;
    const struct fgs__sim_range *r = &w->cache;

    if (FGS__UNLIKELY(!in_line(addr, step) || first & (step - 1)))
        return NULL;
    if (FGS__UNLIKELY(w->cache_gen != fgs__sim_mem_generation(w->sm->mem)))
        return fgs__sim_line_far(w, first, (uint32_t)bytes);
    if (!holds(r, first, bytes)) {
        r = &w->before;
        if (FGS__UNLIKELY(!holds(r, first, bytes)))
            return fgs__sim_line_far(w, first, (uint32_t)bytes);
    }
    return r->host + (first - r->lo);
}

/* What follows is mostly what the next warps ask for: of two, since one is
 * sooner there than the memory.  (The same warp's own next round, guessed from
 * its last two, comes too late: it was tried.) */
static FGS__INLINE void hint(const char *next, unsigned bytes)
{
    for (unsigned k = 0; k < 2 * bytes; k += 64)
        __builtin_prefetch(next + k);
}

/* The lanes of m of a register; `size` is the log2 of their bytes. */
static FGS__INLINE void keep(void *reg, const void *from, uint32_t m,
                             unsigned size)
{
    if (size < 4) {
        blend(reg, from, m, (size_t)1 << size);
        return;
    }
    for (; m; m &= m - 1)
        ((fgs__chunk *)reg)[fgs__sim_lane(m)] =
            ((const fgs__chunk *)from)[fgs__sim_lane(m)];
}

/* Loads of `count` components, each as wide as its register.  Of a warp that
 * runs in part all lanes are read, which is no access of theirs. */
#define LOAD(name, count, size)                                                \
    static FGS__DEVICE_MEMORY void load_##name##_part(                         \
        struct fgs__sim_warp *w, const struct fgs__sim_insn *i, char *from)    \
    {                                                                          \
        FGS__ALIGN(64) unsigned char t[count][LANES << size];                  \
        void *reg[count];                                                      \
                                                                               \
        for (int n = 0; n < count; n++)                                        \
            reg[n] = t[n];                                                     \
        load_##name(reg, from);                                                \
        for (int n = 0; n < count; n++)                                        \
            keep(LANE_DST(w, i->op[n]), t[n], w->exec, size);                  \
    }                                                                          \
    HANDLER(ld_##name)                                                         \
    {                                                                          \
        enum { STEP = count << size };                                         \
        char *from = find(w, i, STEP);                                         \
        void *reg[count];                                                      \
                                                                               \
        if (FGS__UNLIKELY(!from))                                              \
            return fgs__sim_ld_any(w, i);                                      \
        w->now_ps += FGS__SIM_GLOBAL_PS;                                       \
        if (!FULL_MASK(w)) {                                                   \
            load_##name##_part(w, i, from);                                    \
            return i + 1;                                                      \
        }                                                                      \
        hint(from + LANES * STEP, LANES * STEP);                               \
        for (int n = 0; n < count; n++)                                        \
            reg[n] = LANE_DST(w, i->op[n]);                                    \
        load_##name(reg, from);                                                \
        return i + 1;                                                          \
    }

/* Stores; a lane that does not run writes nothing. */
#define STORE(name, count, size)                                               \
    static FGS__DEVICE_MEMORY void store_##name##_part(                        \
        void *const reg[], char *to, uint32_t m)                               \
    {                                                                          \
        for (; m; m &= m - 1)                                                  \
            for (int n = 0, l = fgs__sim_lane(m); n < count; n++)              \
                store_one_##size(to, (size_t)l * count + (size_t)n, reg[n],    \
                                 (size_t)l);                                   \
    }                                                                          \
    HANDLER(st_##name)                                                         \
    {                                                                          \
        enum { STEP = count << size };                                         \
        char *to = find(w, i, STEP);                                           \
        void *reg[count];                                                      \
                                                                               \
        if (FGS__UNLIKELY(!to))                                                \
            return fgs__sim_st_any(w, i);                                      \
        for (int n = 0; n < count; n++)                                        \
            reg[n] = LANE_PTR(w, i->op[n]);                                    \
        if (!FULL_MASK(w)) {                                                   \
            store_##name##_part(reg, to, w->exec);                             \
            return i + 1;                                                      \
        }                                                                      \
        hint(to + LANES * STEP, LANES * STEP);                                 \
        store_##name(reg, to);                                                 \
        return i + 1;                                                          \
    }

#define STORE_ONE(size, bits)                                                  \
    static FGS__INLINE FGS__DEVICE_MEMORY void store_one_##size(               \
        char *to, size_t at, const void *reg, size_t lane)                     \
    {                                                                          \
        ((l_u##bits *)(void *)to)[at] = ((const l_u##bits *)reg)[lane];        \
    }
STORE_ONE(0, 8)
STORE_ONE(1, 16)
STORE_ONE(2, 32)
STORE_ONE(3, 64)

static FGS__INLINE void store_one_4(char *to, size_t at, const void *reg,
                                    size_t lane)
{
    fgs__chunk_store(to + 16 * at, ((const fgs__chunk *)reg)[lane]);
}

#define BOTH(name, count, size) LOAD(name, count, size) STORE(name, count, size)
BOTH(0, 1, 0)
BOTH(1, 1, 1)
BOTH(2, 1, 2)
BOTH(3, 1, 3)
BOTH(4, 1, 4)
BOTH(2x2, 2, 2)
BOTH(2x3, 2, 3)
BOTH(4x2, 4, 2)

/* Of a register that is wider than the memory. */
#define WIDE(mem, bits)                                                        \
    static FGS__INLINE FGS__DEVICE_MEMORY void widen_##mem##_##bits(           \
        l_u##bits *d, const l_##mem *p)                                        \
    {                                                                          \
        int k;                                                                 \
                                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++)                                            \
            d[k] = (l_u##bits)p[k];                                            \
    }                                                                          \
    HANDLER(ld_##mem##_##bits)                                                 \
    {                                                                          \
        FGS__ALIGN(64) l_u##bits t[LANES];                                     \
        char *from = find(w, i, sizeof(l_##mem));                              \
                                                                               \
        if (FGS__UNLIKELY(!from))                                              \
            return fgs__sim_ld_any(w, i);                                      \
        w->now_ps += FGS__SIM_GLOBAL_PS;                                       \
        if (FULL_MASK(w)) {                                                    \
            hint(from + LANES * sizeof(l_##mem), LANES * sizeof(l_##mem));     \
            widen_##mem##_##bits(LANE_DST(w, i->op[0]), (void *)from);         \
            return i + 1;                                                      \
        }                                                                      \
        widen_##mem##_##bits(t, (void *)from);                                 \
        blend(LANE_DST(w, i->op[0]), t, w->exec, sizeof *t);                   \
        return i + 1;                                                          \
    }
#define NARROW(mem, bits)                                                      \
    static FGS__INLINE FGS__DEVICE_MEMORY void narrow_##mem##_##bits(          \
        l_u##mem *p, const l_u##bits *r)                                       \
    {                                                                          \
        int k;                                                                 \
                                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++)                                            \
            p[k] = (l_u##mem)r[k];                                             \
    }                                                                          \
    static FGS__DEVICE_MEMORY void narrow_##mem##_##bits##_part(               \
        l_u##mem *p, const l_u##bits *r, uint32_t m)                           \
    {                                                                          \
        for (; m; m &= m - 1)                                                  \
            p[fgs__sim_lane(m)] = (l_u##mem)r[fgs__sim_lane(m)];               \
    }                                                                          \
    HANDLER(st_##mem##_##bits)                                                 \
    {                                                                          \
        char *to = find(w, i, sizeof(l_u##mem));                               \
                                                                               \
        if (FGS__UNLIKELY(!to))                                                \
            return fgs__sim_st_any(w, i);                                      \
        if (FULL_MASK(w))                                                      \
            narrow_##mem##_##bits((void *)to, LANE_PTR(w, i->op[0]));          \
        else                                                                   \
            narrow_##mem##_##bits##_part((void *)to, LANE_PTR(w, i->op[0]),    \
                                         w->exec);                             \
        return i + 1;                                                          \
    }
WIDE(u8, 16)
WIDE(u8, 32)
WIDE(u8, 64)
WIDE(u16, 32)
WIDE(u16, 64)
WIDE(u32, 64)
WIDE(s8, 16)
WIDE(s8, 32)
WIDE(s8, 64)
WIDE(s16, 32)
WIDE(s16, 64)
WIDE(s32, 64)
NARROW(8, 16)
NARROW(8, 32)
NARROW(8, 64)
NARROW(16, 32)
NARROW(16, 64)
NARROW(32, 64)

fgs__sim_fn FGS__LEVEL(fgs__sim_line_run)(const struct fgs__sim_line_form *f);
fgs__sim_fn FGS__LEVEL(fgs__sim_line_run)(const struct fgs__sim_line_form *f)
{
    static const fgs__sim_fn same[2][4][5] = { MOVERS(ld), MOVERS(st) };
    /* by size in memory and that of the register */
    static const fgs__sim_fn zero[3][4] = {
        { NULL, ld_u8_16, ld_u8_32, ld_u8_64 },
        { NULL, NULL, ld_u16_32, ld_u16_64 },
        { NULL, NULL, NULL, ld_u32_64 },
    };
    static const fgs__sim_fn sign[3][4] = {
        { NULL, ld_s8_16, ld_s8_32, ld_s8_64 },
        { NULL, NULL, ld_s16_32, ld_s16_64 },
        { NULL, NULL, NULL, ld_s32_64 },
    };
    static const fgs__sim_fn low[3][4] = {
        { NULL, st_8_16, st_8_32, st_8_64 },
        { NULL, NULL, st_16_32, st_16_64 },
        { NULL, NULL, NULL, st_32_64 },
    };

    if (f->reg == f->size)
        return f->count > 8 ? NULL
                            : same[f->store][__builtin_ctz(f->count)][f->size];
    if (f->count != 1 || f->size > 2 || f->reg > 3)
        return NULL;
    return (f->store ? low : f->sign ? sign : zero)[f->size][f->reg];
}
