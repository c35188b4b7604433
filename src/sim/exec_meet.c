/* exec_meet.c -- shfl.sync and redux.sync of a whole warp
 *
 * ISA, shfl.sync: c holds the segments' mask in bits 12..8 and the clamp value
 * in bits 4..0; a lane out of range reads itself and has a false predicate.
 */
#include "sim/lanes.h"
#include "sim/meet.h"
#if defined __AVX2__
#include <immintrin.h>
#endif

/* Each lane is a member with all others. */
static FGS__INLINE bool whole(const struct fgs__sim_warp *w, fgs__sim_ref mask)
{
    const uint32_t *member = LANE_PTR(w, mask);
    uint32_t no = ~w->exec;
    int k;

    for (k = 0; k < LANES; k++)
        no |= ~member[k];
    return !no;
}

/* ----------------------------------------------------------------- shfl -- */

static const int32_t number[LANES] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* d[k] = a[from[k]]; all are registers or aligned as they are. */
static FGS__INLINE void take(const uint32_t *a, const int32_t *from,
                             uint32_t *d)
{
#if defined __AVX512F__
    __m512i low = _mm512_load_si512(a), high = _mm512_load_si512(a + 16);

    for (int k = 0; k < LANES; k += 16)
        _mm512_store_si512(
            d + k, _mm512_permutex2var_epi32(
                       low, _mm512_load_si512(from + k), high));
#elif defined __AVX2__
    __m256i part[4];

    for (int n = 0; n < 4; n++)
        part[n] = _mm256_load_si256((const void *)(a + 8 * n));
    for (int k = 0; k < LANES; k += 8) {
        __m256i j = _mm256_load_si256((const void *)(from + k));
        __m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(j, 28));
        __m256 far = _mm256_castsi256_ps(_mm256_slli_epi32(j, 27));
        __m256 v[4];

        for (int n = 0; n < 4; n++)
            v[n] = _mm256_castsi256_ps(
                _mm256_permutevar8x32_epi32(part[n], j));
        v[0] = _mm256_blendv_ps(v[0], v[1], odd);
        v[2] = _mm256_blendv_ps(v[2], v[3], odd);
        _mm256_store_ps((float *)(void *)(d + k),
                        _mm256_blendv_ps(v[0], v[2], far));
    }
#else
    uint32_t t[LANES];

    for (int k = 0; k < LANES; k++)
        t[k] = a[from[k]];
    memcpy(d, t, sizeof t);
#endif
}

/* Bit k is set where in[k] is -1, not 0. */
static FGS__INLINE uint32_t signs(const int32_t *in)
{
    uint32_t m = 0;

#if defined __AVX2__
    for (int k = 0; k < LANES; k += 8)
        m |= (uint32_t)_mm256_movemask_ps(
                 _mm256_load_ps((const float *)(const void *)(in + k)))
             << k;
#else
    for (int k = 0; k < LANES; k++)
        m |= (uint32_t)(in[k] & 1) << k;
#endif
    return m;
}

/* Lane k reads lane EXPR if IN, by itself (`lane`), its b (`y`), the first lane
 * of its segment and the farthest that c allows. */
#define SHFL(name, EXPR, IN)                                                   \
    static FGS__INLINE void name##_from(const int32_t *b, const int32_t *c,    \
                                        int32_t *from, int32_t *ok)            \
    {                                                                          \
        int k;                                                                 \
                                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            int32_t lane = number[k], y = b[k] & 31, seg = c[k] >> 8 & 31;     \
            int32_t first = lane & seg, most = first | (c[k] & 31 & ~seg);     \
            int32_t j = EXPR, in = IN ? -1 : 0;                                \
                                                                               \
            (void)first;                                                       \
            from[k] = (j & in) | (lane & ~in);                                 \
            ok[k] = in;                                                        \
        }                                                                      \
    }                                                                          \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) int32_t from[LANES], in[LANES];                         \
                                                                               \
        if (FGS__UNLIKELY(!whole(w, i->op[FGS__SIM_SHFL_MASK])))               \
            return fgs__sim_shfl_meet(w, i);                                   \
        name##_from(LANE_PTR(w, i->op[FGS__SIM_SHFL_B]),                       \
                    LANE_PTR(w, i->op[FGS__SIM_SHFL_C]), from, in);            \
        if (i->op[FGS__SIM_SHFL_D] != FGS__SIM_NOREF)                          \
            take(LANE_PTR(w, i->op[FGS__SIM_SHFL_A]), from,                    \
                 LANE_DST(w, i->op[FGS__SIM_SHFL_D]));                         \
        if (i->op[FGS__SIM_SHFL_P] != FGS__SIM_NOREF)                          \
            *(l_u32 *)fgs__sim_at(w, i->op[FGS__SIM_SHFL_P]) = signs(in);      \
        return i + 1;                                                          \
    }
SHFL(shfl_up, lane - y, j >= most)
SHFL(shfl_down, lane + y, j <= most)
SHFL(shfl_bfly, lane ^ y, j <= most)
SHFL(shfl_idx, first | (y & ~seg), j <= most)

fgs__sim_fn FGS__LEVEL(fgs__sim_shfl_run)(unsigned mode);
fgs__sim_fn FGS__LEVEL(fgs__sim_shfl_run)(unsigned mode)
{
    switch (mode) {
    case FGS__M_SHFL_UP:
        return shfl_up;
    case FGS__M_SHFL_DOWN:
        return shfl_down;
    case FGS__M_SHFL_BFLY:
        return shfl_bfly;
    default:
        return shfl_idx;
    }
}

/* ---------------------------------------------------------------- redux -- */

/* The order of the lanes does not matter to any operation of integers. */
#define REDUX(name, T, EXPR)                                                   \
    HANDLER(name)                                                              \
    {                                                                          \
        const T *v = LANE_PTR(w, i->op[FGS__SIM_COLLECT_A]);                   \
        T *d = LANE_DST(w, i->op[FGS__SIM_COLLECT_D]);                         \
        T x = v[0];                                                            \
        int k;                                                                 \
                                                                               \
        if (FGS__UNLIKELY(!whole(w, i->op[FGS__SIM_COLLECT_MASK])))            \
            return fgs__sim_redux_meet(w, i);                                  \
        for (k = 1; k < LANES; k++) {                                          \
            T y = v[k];                                                        \
            x = EXPR;                                                          \
        }                                                                      \
        for (k = 0; k < LANES; k++)                                            \
            d[k] = x;                                                          \
        return i + 1;                                                          \
    }
REDUX(redux_add, l_u32, x + y)
REDUX(redux_min_u32, l_u32, x < y ? x : y)
REDUX(redux_max_u32, l_u32, x < y ? y : x)
REDUX(redux_min_s32, l_s32, x < y ? x : y)
REDUX(redux_max_s32, l_s32, x < y ? y : x)
REDUX(redux_and, l_u32, x & y)
REDUX(redux_or, l_u32, x | y)
REDUX(redux_xor, l_u32, x ^ y)

fgs__sim_fn FGS__LEVEL(fgs__sim_redux_run)(unsigned mod, bool sign);
fgs__sim_fn FGS__LEVEL(fgs__sim_redux_run)(unsigned mod, bool sign)
{
    switch (mod) {
    case FGS__M_ATOM_ADD:
        return redux_add;
    case FGS__M_ATOM_MIN:
        return sign ? redux_min_s32 : redux_min_u32;
    case FGS__M_ATOM_MAX:
        return sign ? redux_max_s32 : redux_max_u32;
    case FGS__M_ATOM_AND:
        return redux_and;
    case FGS__M_ATOM_OR:
        return redux_or;
    default:
        return redux_xor;
    }
}
