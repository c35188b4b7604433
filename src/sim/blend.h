/* blend.h -- lanes of one array or of another, by the bits of a mask
 *
 * choose_N(d, a, b, m): d[k] is a[k] where bit k of m is set, else b[k]; d may
 * be a or b.  Compilers make a test of each bit; vectors have it for nothing:
 * AVX-512 takes mask bits, AVX2 a sign that a shift brings there.
 */
#ifndef FGS_SIM_BLEND_H
#define FGS_SIM_BLEND_H

#include "base/compat.h"
#include <stdint.h>
#if defined __AVX2__
#include <immintrin.h>
#endif

enum { LANES = 32 };

/* Lanes of the bank: the same bytes are seen as several types. */
typedef uint8_t FGS__MAY_ALIAS l_u8;
typedef uint16_t FGS__MAY_ALIAS l_u16;
typedef uint32_t FGS__MAY_ALIAS l_u32;
typedef uint64_t FGS__MAY_ALIAS l_u64;
typedef int8_t FGS__MAY_ALIAS l_s8;
typedef int16_t FGS__MAY_ALIAS l_s16;
typedef int32_t FGS__MAY_ALIAS l_s32;
typedef int64_t FGS__MAY_ALIAS l_s64;
typedef float FGS__MAY_ALIAS l_f32;
typedef double FGS__MAY_ALIAS l_f64;

#define CHOOSE(bits)                                                           \
    static FGS__INLINE FGS__UNUSED void choose_##bits(                         \
        l_u##bits *d, const l_u##bits *a, const l_u##bits *b, uint32_t m)

#define CHOOSE_LOOP(bits)                                                      \
    CHOOSE(bits)                                                               \
    {                                                                          \
        int k;                                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++)                                            \
            d[k] = (m >> k & 1) ? a[k] : b[k];                                 \
    }
CHOOSE_LOOP(8)
CHOOSE_LOOP(16)

#if defined __AVX512F__
CHOOSE(32)
{
    int k;

    for (k = 0; k < LANES; k += 16)
        _mm512_storeu_si512(d + k, _mm512_mask_blend_epi32(
                                      (__mmask16)(m >> k),
                                      _mm512_loadu_si512(b + k),
                                      _mm512_loadu_si512(a + k)));
}
CHOOSE(64)
{
    int k;

    for (k = 0; k < LANES; k += 8)
        _mm512_storeu_si512(d + k, _mm512_mask_blend_epi64(
                                      (__mmask8)(m >> k),
                                      _mm512_loadu_si512(b + k),
                                      _mm512_loadu_si512(a + k)));
}
#elif defined __AVX2__
CHOOSE(32)
{
    const __m256i to = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    int k;

    for (k = 0; k < LANES; k += 8) {
        __m256i sign = _mm256_sllv_epi32(_mm256_set1_epi32((int)(m >> k)), to);
        __m256 x = _mm256_loadu_ps((const float *)(const void *)(b + k));
        __m256 y = _mm256_loadu_ps((const float *)(const void *)(a + k));

        _mm256_storeu_ps((float *)(void *)(d + k),
                        _mm256_blendv_ps(x, y, _mm256_castsi256_ps(sign)));
    }
}
CHOOSE(64)
{
    const __m256i to = _mm256_setr_epi64x(63, 62, 61, 60);
    int k;

    for (k = 0; k < LANES; k += 4) {
        __m256i sign = _mm256_sllv_epi64(_mm256_set1_epi64x(m >> k), to);
        __m256d x = _mm256_loadu_pd((const double *)(const void *)(b + k));
        __m256d y = _mm256_loadu_pd((const double *)(const void *)(a + k));

        _mm256_storeu_pd((double *)(void *)(d + k),
                        _mm256_blendv_pd(x, y, _mm256_castsi256_pd(sign)));
    }
}
#else
CHOOSE_LOOP(32)
CHOOSE_LOOP(64)
#endif

/* d[k] = t[k] in the lanes of m. */
#define BLEND(bits)                                                            \
    static FGS__INLINE FGS__UNUSED void blend_##bits(                          \
        l_u##bits *d, const l_u##bits *t, uint32_t m)                          \
    {                                                                          \
        choose_##bits(d, t, d, m);                                             \
    }
BLEND(8)
BLEND(16)
BLEND(32)
BLEND(64)

#endif
