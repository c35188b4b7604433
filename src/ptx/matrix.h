/* matrix.h -- products of matrices that a warp holds, for checker and sim */
#ifndef FGS_PTX_MATRIX_H
#define FGS_PTX_MATRIX_H

#include "ptx/module.h"

/* A row of matrix.def. */
struct fgs__product {
    uint16_t kind, op, shape;
    uint16_t m, n, k;
    uint64_t type[4];     /* of D, A, B, C                                   */
    int ptx, cc, family;
};

/* The matrices in the order of the operands. */
enum fgs__matrix { FGS__MATRIX_D, FGS__MATRIX_A, FGS__MATRIX_B, FGS__MATRIX_C };

/* The instruction's types of D, A, B, C. */
void fgs__product_types(const struct fgs__ptx_insn *i, uint8_t type[4]);

/* The row that fits shape and types; NULL = there is none.  *shape says
 * whether a row has that shape at all. */
const struct fgs__product *fgs__product_find(const struct fgs__ptx_insn *i,
                                             bool *shape);

/* Of a load or store of wmma: a row that has its shape and type for `which`. */
const struct fgs__product *fgs__product_part(const struct fgs__ptx_insn *i,
                                             enum fgs__matrix which);

/* Registers of a thread that hold its part of a matrix: 64 bits each for f64,
 * 32 for all others. */
unsigned fgs__product_regs(const struct fgs__product *p, enum fgs__matrix which,
                           enum fgs__ptx_type t);

/* Of a sparse product: columns of a chunk of A, of which two (four of 4 bits,
 * one of 32) are there, and how many of four lanes hold the places of those;
 * 0 = it is not sparse. */
unsigned fgs__product_chunk(const struct fgs__product *p, enum fgs__ptx_type a);
unsigned fgs__product_lanes(const struct fgs__product *p, enum fgs__ptx_type a);

/* Bits of an element as it lies in registers. */
unsigned fgs__product_bits(const struct fgs__product *p, enum fgs__ptx_type t);

/* Scales of a row of A and of a column of B, 1, 2 or 4; 0 = none. */
unsigned fgs__product_scales(const struct fgs__ptx_insn *i);

#endif
