/* compare.h -- comparisons of 32 lanes as a mask, for exec_setp.c
 *
 * mask_CMP_TYPE(a, b): bit k is a[k] CMP b[k].  With AVX2 and AVX-512 a
 * compare gives the mask's bits; compilers do not find that in a loop.
 */
#ifndef FGS_SIM_COMPARE_H
#define FGS_SIM_COMPARE_H

#include "sim/lanes.h"

/* As a loop, for every type and level that has nothing better. */
#define MASK_LOOP(name, T, ACC, EXPR)                                          \
    static FGS__INLINE FGS__UNUSED uint32_t mask_##name(const T *a,            \
                                                        const T *b)            \
    {                                                                          \
        ACC r = 0;                                                             \
        int k;                                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            const T x = a[k], y = b[k];                                        \
            r |= (EXPR) ? (ACC)1 << k : 0;                                     \
        }                                                                      \
        return (uint32_t)r;                                                    \
    }
#define MASK_LOOPS(S, T, ACC)                                                  \
    MASK_LOOP(eq_##S, T, ACC, x == y)                                          \
    MASK_LOOP(lt_##S, T, ACC, x < y)                                           \
    MASK_LOOP(le_##S, T, ACC, x <= y)
#define MASK_LOOPS_F(S, T, ACC)                                                \
    MASK_LOOPS(S, T, ACC)                                                      \
    MASK_LOOP(ne_##S, T, ACC, x < y || x > y)                                  \
    MASK_LOOP(num_##S, T, ACC, x == x && y == y)

MASK_LOOPS(u16, l_u16, uint32_t)
MASK_LOOPS(s16, l_s16, uint32_t)

#if defined(__AVX512F__)
#include <immintrin.h>

/* PER lanes of a vector, VEC its bits as the compare takes them. */
#define MASK_512(name, T, PER, COMPARE)                                        \
    static FGS__INLINE FGS__UNUSED uint32_t mask_##name(const T *a,            \
                                                        const T *b)            \
    {                                                                          \
        uint32_t r = 0;                                                        \
        int k;                                                                 \
        for (k = 0; k < LANES; k += PER)                                       \
            r |= (uint32_t)(COMPARE) << k;                                     \
        return r;                                                              \
    }
#define INT_512(x) _mm512_load_si512(x + k)
#define MASK_INT_512(S, T, PER, N)                                             \
    MASK_512(eq_##S, T, PER,                                                   \
             _mm512_cmp_ep##N##_mask(INT_512(a), INT_512(b), _MM_CMPINT_EQ))   \
    MASK_512(lt_##S, T, PER,                                                   \
             _mm512_cmp_ep##N##_mask(INT_512(a), INT_512(b), _MM_CMPINT_LT))   \
    MASK_512(le_##S, T, PER,                                                   \
             _mm512_cmp_ep##N##_mask(INT_512(a), INT_512(b), _MM_CMPINT_LE))
#define MASK_F_512(name, T, PER, P, PRED)                                      \
    MASK_512(name, T, PER,                                                     \
             _mm512_cmp_##P##_mask(_mm512_load_##P(a + k),                     \
                                   _mm512_load_##P(b + k), PRED))
#define MASK_FLT_512(S, T, PER, P)                                             \
    MASK_F_512(eq_##S, T, PER, P, _CMP_EQ_OQ)                                  \
    MASK_F_512(lt_##S, T, PER, P, _CMP_LT_OQ)                                  \
    MASK_F_512(le_##S, T, PER, P, _CMP_LE_OQ)                                  \
    MASK_F_512(ne_##S, T, PER, P, _CMP_NEQ_OQ)                                 \
    MASK_F_512(num_##S, T, PER, P, _CMP_ORD_Q)
MASK_INT_512(u32, l_u32, 16, u32)
MASK_INT_512(s32, l_s32, 16, i32)
MASK_INT_512(u64, l_u64, 8, u64)
MASK_INT_512(s64, l_s64, 8, i64)
MASK_FLT_512(f32, l_f32, 16, ps)
MASK_FLT_512(f64, l_f64, 8, pd)

#elif defined(__AVX2__)
#include <immintrin.h>

/* `turned` compares have the operands' opposite: le is not greater. */
#define MASK_256(name, T, PER, P, COMPARE, turned)                             \
    static FGS__INLINE FGS__UNUSED uint32_t mask_##name(const T *a,            \
                                                        const T *b)            \
    {                                                                          \
        uint32_t r = 0;                                                        \
        int k;                                                                 \
        for (k = 0; k < LANES; k += PER)                                       \
            r |= (uint32_t)_mm256_movemask_##P(COMPARE) << k;                  \
        return turned ? ~r : r;                                                \
    }
/* Signed compares are all there is: unsigned ones with both signs turned. */
#define INT_256(x)     _mm256_load_si256((const __m256i *)(const void *)(x + k))
#define TURN_256(x, N) _mm256_xor_si256(INT_256(x), SIGN_##N)
#define SIGN_32        _mm256_set1_epi32(INT32_MIN)
#define SIGN_64        _mm256_set1_epi64x(INT64_MIN)
#define AS_32(x)       _mm256_castsi256_ps(x)
#define AS_64(x)       _mm256_castsi256_pd(x)
#define EQ_256(x, y, N) AS_##N(_mm256_cmpeq_epi##N(x, y))
#define GT_256(x, y, N) AS_##N(_mm256_cmpgt_epi##N(x, y))
#define MASK_INT_256(N, PER, P)                                                \
    MASK_256(eq_u##N, l_u##N, PER, P, EQ_256(INT_256(a), INT_256(b), N), 0)    \
    MASK_256(eq_s##N, l_s##N, PER, P, EQ_256(INT_256(a), INT_256(b), N), 0)    \
    MASK_256(lt_s##N, l_s##N, PER, P, GT_256(INT_256(b), INT_256(a), N), 0)    \
    MASK_256(le_s##N, l_s##N, PER, P, GT_256(INT_256(a), INT_256(b), N), 1)    \
    MASK_256(lt_u##N, l_u##N, PER, P,                                          \
             GT_256(TURN_256(b, N), TURN_256(a, N), N), 0)                     \
    MASK_256(le_u##N, l_u##N, PER, P,                                          \
             GT_256(TURN_256(a, N), TURN_256(b, N), N), 1)
#define MASK_F_256(name, T, PER, P, PRED)                                      \
    MASK_256(name, T, PER, P,                                                  \
             _mm256_cmp_##P(_mm256_load_##P(a + k), _mm256_load_##P(b + k),    \
                            PRED), 0)
#define MASK_FLT_256(S, T, PER, P)                                             \
    MASK_F_256(eq_##S, T, PER, P, _CMP_EQ_OQ)                                  \
    MASK_F_256(lt_##S, T, PER, P, _CMP_LT_OQ)                                  \
    MASK_F_256(le_##S, T, PER, P, _CMP_LE_OQ)                                  \
    MASK_F_256(ne_##S, T, PER, P, _CMP_NEQ_OQ)                                 \
    MASK_F_256(num_##S, T, PER, P, _CMP_ORD_Q)
MASK_INT_256(32, 8, ps)
MASK_INT_256(64, 4, pd)
MASK_FLT_256(f32, l_f32, 8, ps)
MASK_FLT_256(f64, l_f64, 4, pd)

#else
MASK_LOOPS(u32, l_u32, uint32_t)
MASK_LOOPS(s32, l_s32, uint32_t)
MASK_LOOPS(u64, l_u64, uint64_t)
MASK_LOOPS(s64, l_s64, uint64_t)
MASK_LOOPS_F(f32, l_f32, uint32_t)
MASK_LOOPS_F(f64, l_f64, uint64_t)
#endif

#endif
