/* ref.h -- the kernels of ptx/ in C: same input bits, same output bits
 *
 * Elements are f32 as their bits, in integer arithmetic: the host's rounding
 * mode, flush-to-zero mode and compiler flags have no say.
 */
#ifndef FGS_CORE_REF_H
#define FGS_CORE_REF_H

#include "table/table.h"

#include <stdint.h>
#include <string.h>

/* sentinel_fill: `count` 32-bit lanes. */
void fgs__ref_fill(uint32_t *dst, uint64_t count, uint32_t word);

/*
 * scale_produce: canonicalize(2 * x) of guide 4.6.6.  -0 becomes +0, a NaN
 * becomes 0x7fffffff, the one that arithmetic on the device makes.  dst may be
 * src.
 */
void fgs__ref_scale(uint32_t *dst, const uint32_t *src, uint64_t count);
uint32_t fgs__ref_scale_one(uint32_t bits);

/* 2 * x by bits: a NaN becomes 0x7fffffff, -0 stays. */
uint32_t fgs__ref_double(uint32_t bits);

/* The code of f32 bits, canonicalized; 0 = refused: it is the sentinel of an
 * integer type (its code is in *code). */
int fgs__ref_convert(uint32_t *code, fgs_element e, fgs_saturate saturate,
                     uint32_t bits);

/* *_consume: each tile of `elems` elements backwards.  dst is not src. */
void fgs__ref_reverse(uint32_t *dst, const uint32_t *src, uint64_t tiles,
                      uint32_t elems);

#endif
