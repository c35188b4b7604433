/* exec_near.c -- movers between registers and places of shared memory
 *
 * Only the thread that runs the block touches its shared memory, so what is
 * read may be gathered.  Registers are written in wide vectors: exec_line.c
 * says why.
 */
#include "sim/chunk.h"
#include "sim/lanes.h"
#include "sim/near.h"
#if defined __AVX2__
#include <immintrin.h>
#endif

#define MOVER static FGS__DEVICE_MEMORY void
#define AT(p, n) ((char *)(p) + 16 * (size_t)(n))

/* Words at the offsets, into a register. */
#if defined __AVX512F__
MOVER take_32(void *reg, const char *memory, const uint32_t *off)
{
    for (int k = 0; k < LANES; k += 16)
        _mm512_store_si512(AT(reg, k / 4),
                           _mm512_i32gather_epi32(
                               _mm512_loadu_si512(off + k), memory, 1));
}

MOVER take_64(void *reg, const char *memory, const uint32_t *off)
{
    for (int k = 0; k < LANES; k += 8)
        _mm512_store_si512(
            AT(reg, k / 2),
            _mm512_i32gather_epi64(
                _mm256_loadu_si256((const void *)(off + k)), memory, 1));
}
#elif defined __AVX2__
MOVER take_32(void *reg, const char *memory, const uint32_t *off)
{
    for (int k = 0; k < LANES; k += 8)
        _mm256_store_si256(
            (void *)AT(reg, k / 4),
            _mm256_i32gather_epi32((const void *)memory,
                                   _mm256_loadu_si256((const void *)(off + k)),
                                   1));
}

MOVER take_64(void *reg, const char *memory, const uint32_t *off)
{
    for (int k = 0; k < LANES; k += 4)
        _mm256_store_si256(
            (void *)AT(reg, k / 2),
            _mm256_i32gather_epi64((const void *)memory,
                                   _mm_loadu_si128((const void *)(off + k)),
                                   1));
}
#else
MOVER take_32(void *reg, const char *memory, const uint32_t *off)
{
    l_u32 *r = reg;

    for (int l = 0; l < LANES; l++)
        r[l] = *(const l_u32 *)(const void *)(memory + off[l]);
}

MOVER take_64(void *reg, const char *memory, const uint32_t *off)
{
    l_u64 *r = reg;

    for (int l = 0; l < LANES; l++)
        r[l] = *(const l_u64 *)(const void *)(memory + off[l]);
}
#endif

/* One component of a word each. */
#define LOAD(size, bits)                                                       \
    MOVER load_##size(void *const reg[], char *memory, const uint32_t *off)    \
    {                                                                          \
        l_u##bits *r = reg[0];                                                 \
                                                                               \
        for (int l = 0; l < LANES; l++)                                        \
            r[l] = *(const l_u##bits *)(const void *)(memory + off[l]);        \
    }
LOAD(0, 8)
LOAD(1, 16)
#define STORE(size, bits)                                                      \
    MOVER store_##size(void *const reg[], char *memory, const uint32_t *off)   \
    {                                                                          \
        const l_u##bits *r = reg[0];                                           \
                                                                               \
        for (int l = 0; l < LANES; l++)                                        \
            *(l_u##bits *)(void *)(memory + off[l]) = r[l];                    \
    }
STORE(0, 8)
STORE(1, 16)
STORE(2, 32)
STORE(3, 64)

MOVER load_2(void *const reg[], char *memory, const uint32_t *off)
{
    take_32(reg[0], memory, off);
}

MOVER load_3(void *const reg[], char *memory, const uint32_t *off)
{
    take_64(reg[0], memory, off);
}

/* Two words of 32 bits a lane. */
MOVER load_2x2(void *const reg[], char *memory, const uint32_t *off)
{
    take_32(reg[0], memory, off);
    take_32(reg[1], memory + 4, off);
}

MOVER store_2x2(void *const reg[], char *memory, const uint32_t *off)
{
    const l_u32 *a = reg[0], *b = reg[1];

    for (int l = 0; l < LANES; l++)
        *(l_u64 *)(void *)(memory + off[l]) = a[l] | (uint64_t)b[l] << 32;
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

/* And so are four of 32: of four lanes they are a word of each register. */
#if defined __AVX512F__
static FGS__DEVICE_MEMORY __m512i four(const char *memory, const uint32_t *off)
{
    __m512i v = _mm512_castsi128_si512(fgs__chunk_load(memory + off[0]));

    v = _mm512_inserti32x4(v, fgs__chunk_load(memory + off[4]), 1);
    v = _mm512_inserti32x4(v, fgs__chunk_load(memory + off[8]), 2);
    return _mm512_inserti32x4(v, fgs__chunk_load(memory + off[12]), 3);
}

MOVER load_4x2(void *const reg[], char *memory, const uint32_t *off)
{
    for (int k = 0; k < LANES; k += 16) {
        __m512i c0 = four(memory, off + k), c1 = four(memory, off + k + 1);
        __m512i c2 = four(memory, off + k + 2), c3 = four(memory, off + k + 3);
        __m512i a = _mm512_unpacklo_epi32(c0, c1);
        __m512i b = _mm512_unpackhi_epi32(c0, c1);
        __m512i x = _mm512_unpacklo_epi32(c2, c3);
        __m512i y = _mm512_unpackhi_epi32(c2, c3);

        _mm512_store_si512(AT(reg[0], k / 4), _mm512_unpacklo_epi64(a, x));
        _mm512_store_si512(AT(reg[1], k / 4), _mm512_unpackhi_epi64(a, x));
        _mm512_store_si512(AT(reg[2], k / 4), _mm512_unpacklo_epi64(b, y));
        _mm512_store_si512(AT(reg[3], k / 4), _mm512_unpackhi_epi64(b, y));
    }
}
#elif defined __AVX2__
static FGS__DEVICE_MEMORY __m256i two(const char *memory, const uint32_t *off)
{
    __m256i v = _mm256_castsi128_si256(fgs__chunk_load(memory + off[0]));

    return _mm256_inserti128_si256(v, fgs__chunk_load(memory + off[4]), 1);
}

MOVER load_4x2(void *const reg[], char *memory, const uint32_t *off)
{
    for (int k = 0; k < LANES; k += 8) {
        __m256i c0 = two(memory, off + k), c1 = two(memory, off + k + 1);
        __m256i c2 = two(memory, off + k + 2), c3 = two(memory, off + k + 3);
        __m256i a = _mm256_unpacklo_epi32(c0, c1);
        __m256i b = _mm256_unpackhi_epi32(c0, c1);
        __m256i x = _mm256_unpacklo_epi32(c2, c3);
        __m256i y = _mm256_unpackhi_epi32(c2, c3);

        _mm256_store_si256((void *)AT(reg[0], k / 4),
                           _mm256_unpacklo_epi64(a, x));
        _mm256_store_si256((void *)AT(reg[1], k / 4),
                           _mm256_unpackhi_epi64(a, x));
        _mm256_store_si256((void *)AT(reg[2], k / 4),
                           _mm256_unpacklo_epi64(b, y));
        _mm256_store_si256((void *)AT(reg[3], k / 4),
                           _mm256_unpackhi_epi64(b, y));
    }
}
#else
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
#endif

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
extern const fgs__sim_near_move FGS__LEVEL(fgs__sim_near_load)[4][5];
const fgs__sim_near_move FGS__LEVEL(fgs__sim_near_load)[4][5] = MOVERS(load);
extern const fgs__sim_near_move FGS__LEVEL(fgs__sim_near_store)[4][5];
const fgs__sim_near_move FGS__LEVEL(fgs__sim_near_store)[4][5] = MOVERS(store);
