/* chunk.h -- single-copy atomic access to aligned device memory
 *
 * A 16-byte chunk is what the protocol hands over: one store by the producer,
 * one load by the copy (guide 4.6.4.3).  On x86-64 with AVX an aligned 16-byte
 * vector load or store is one access (documented by both vendors); volatile
 * keeps the compiler from cutting or repeating it.  Narrower accesses are one
 * access on every CPU when they are aligned.
 */
#ifndef FGS_SIM_CHUNK_H
#define FGS_SIM_CHUNK_H

#include "base/compat.h"
#include <stdbool.h>
#include <stdint.h>

#if !defined __SSE2__
#error "128-bit single-copy atomic access is written for x86-64 only"
#endif
#include <emmintrin.h>

typedef __m128i fgs__chunk;

/* Device memory has no C type of its own. */
typedef uint8_t FGS__MAY_ALIAS fgs__dev8;
typedef uint16_t FGS__MAY_ALIAS fgs__dev16;
typedef uint32_t FGS__MAY_ALIAS fgs__dev32;
typedef uint64_t FGS__MAY_ALIAS fgs__dev64;
typedef __m128i fgs__dev128; /* may alias by itself */

static inline FGS__DEVICE_MEMORY fgs__chunk fgs__chunk_load(const void *p)
{
    return *(const volatile fgs__chunk *)p;
}

static inline FGS__DEVICE_MEMORY void fgs__chunk_store(void *p, fgs__chunk v)
{
    *(volatile fgs__chunk *)p = v;
}

/* Store `v` where *old stands, as one access; *old becomes what stood there. */
static inline FGS__DEVICE_MEMORY bool fgs__chunk_cas(void *p, fgs__chunk *old,
                                                     fgs__chunk v)
{
    uint64_t was[2], next[2];
    bool done;

    _mm_storeu_si128((fgs__chunk *)was, *old);
    _mm_storeu_si128((fgs__chunk *)next, v);
    FGS__CAS_16(p, was, next, done);
    *old = _mm_loadu_si128((const fgs__chunk *)was);
    return done;
}

/* Four words a lane: a chunk of each of four lanes is a word of each of four
 * registers, and the other way round. */
static inline void fgs__chunk_turn(fgs__chunk c[4])
{
    fgs__chunk a = _mm_unpacklo_epi32(c[0], c[1]);
    fgs__chunk b = _mm_unpackhi_epi32(c[0], c[1]);
    fgs__chunk x = _mm_unpacklo_epi32(c[2], c[3]);
    fgs__chunk y = _mm_unpackhi_epi32(c[2], c[3]);

    c[0] = _mm_unpacklo_epi64(a, x);
    c[1] = _mm_unpackhi_epi64(a, x);
    c[2] = _mm_unpacklo_epi64(b, y);
    c[3] = _mm_unpackhi_epi64(b, y);
}

#endif
