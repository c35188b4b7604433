/* matrix.h -- what the handlers of matrices share
 *
 * An instruction on matrices, as tensormap.cp_fenceproxy and setmaxnreg, is one
 * of the whole warp: a split that comes to it waits for the others (.sync), and
 * lanes that cannot come any more are a fault (.aligned; ISA 9.7.14: all must
 * execute the same one).
 */
#ifndef FGS_SIM_MATRIX_H
#define FGS_SIM_MATRIX_H

#include "ptx/matrix.h"
#include "sim/exec.h"

/* True: all 32 lanes are here.  Else the handler returns NULL: the split waits
 * or there was a fault. */
bool fgs__sim_matrix_all(struct fgs__sim_warp *w,
                         const struct fgs__sim_insn *i);

enum {
    FGS__SIM_FRAGMENT = 8,    /* registers of a thread for one matrix         */
    TILE_STEP = 256           /* bytes of such a register in a bank, at most  */
};

/* A product's operands, too many for the instruction itself.  They hang in
 * the code, i->imm is the address. */
struct fgs__sim_product {
    struct fgs__sim_product *next;
    fgs__sim_ref op[4][FGS__SIM_FRAGMENT]; /* D, A, B, C                      */
    uint8_t type[4];       /* enum fgs__ptx_type                              */
    uint16_t m, n, k;
    uint16_t round;        /* of f64: enum fgs__ptx_mod                       */
    bool saturate, xor_bits, a_col, b_row;
    uint8_t tiles, step[4]; /* of wmma: registers from tile to tile           */
    fgs__sim_ref scratch;   /* where its D is made                            */
    fgs__sim_ref places;    /* of a sparse one: where elements of A belong    */
    uint8_t lanes, selector, chunk; /* 0 lanes = it is not sparse             */
    bool ordered;
    const uint8_t *at;      /* while it runs: columns of A, NULL = all        */
    bool narrow;            /* its own step for elements of 8, 6 and 4 bits   */
    bool ue4m3;             /* the scales, else ue8m0                         */
    uint8_t scales;         /* of a row of A, a column of B                   */
    fgs__sim_ref scale[2], pick[2][2]; /* of A, of B: data, {byte, thread}    */
    const struct fgs__sim_scales *scaled; /* while it runs; NULL = no scales  */
};

/* Scales as bytes: of the rows of A, of the columns of B. */
struct fgs__sim_scales {
    uint8_t a[16][4], b[8][4];
};

static inline const struct fgs__sim_product *
fgs__sim_product_of(const struct fgs__sim_insn *i)
{
    return (const struct fgs__sim_product *)(uintptr_t)i->imm;
}

/* Columns of the elements that A has, a row each; a fault and false where the
 * places are none.  `at` has room for 16 rows of FGS__SIM_SPARSE. */
enum { FGS__SIM_SPARSE = 64 };
bool fgs__sim_matrix_places(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i,
                            const struct fgs__sim_product *p, uint8_t *at);

/* The scales of a product that has some; a fault and false where a selector is
 * none, or not the same in all lanes. */
bool fgs__sim_matrix_scales(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i,
                            const struct fgs__sim_product *p,
                            struct fgs__sim_scales *out);

/* A place in the bank, of FGS__SIM_FRAGMENT registers, for what is made
 * within one instruction. */
fgs__sim_ref fgs__sim_matrix_scratch(struct fgs__sim_decoder *d);

/* Operands of a checked product; NULL after an error or without memory. */
struct fgs__sim_product *fgs__sim_product_make(struct fgs__sim_decoder *d,
                                               const struct fgs__ptx_insn *src);
void fgs__sim_product_free(struct fgs__sim_code *c);

#endif
