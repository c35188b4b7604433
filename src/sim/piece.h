/* piece.h -- one 16-byte chunk of a bulk copy that is more than a plain one
 *
 * Tensor copies, copies with a byte mask or with bytes that do not exist,
 * reductions, copies between blocks.
 */
#ifndef FGS_SIM_PIECE_H
#define FGS_SIM_PIECE_H

#include "sim/bulk.h"
#include "sim/move.h"

struct fgs__sim_piece {
    const struct fgs__sim_copy_req *r;
    const struct fgs__tensor_walk *walk; /* NULL = no tensor                 */
    const struct fgs__sim_check *check;  /* a load's                         */
    struct fgs__sim_mem *mem;
    uint64_t *rng;
    uint32_t chunks;              /* of the copy                             */
    struct fgs__sim_range *range; /* allocation of the last access           */
    uint32_t *generation;
    /* A tensor's row that was asked for last. */
    struct fgs__tensor_row row;
    uint32_t row_at;
    uint64_t missing; /* after a failure: the address that does not exist     */
};

/* Bytes of shared memory that a tensor copy spans from its first byte. */
uint64_t fgs__sim_piece_span(const struct fgs__tensor_walk *w);

/* Where chunk n lies when the copy begins at shared-memory offset `base`.  Of
 * an odd multiple of 8 the halves change places. */
uint32_t fgs__sim_piece_at(const struct fgs__sim_piece *p, uint32_t base,
                           uint32_t n);
/* Chunk n of a load as shared memory shall hold it; *hit when the inspection
 * finds the sentinel.  Padding gets no value of its own.  False = memory is
 * missing. */
bool fgs__sim_piece_load(struct fgs__sim_piece *p, uint32_t n, char out[16],
                         bool *hit);
/* Chunk n of a store, as shared memory held it, to global memory. */
bool fgs__sim_piece_store(struct fgs__sim_piece *p, uint32_t n,
                          const char data[16]);
/* A chunk to and from shared memory at a place of fgs__sim_piece_at. */
void fgs__sim_piece_put(unsigned char *shared, uint32_t at,
                        const char chunk[16]);
void fgs__sim_piece_get(const unsigned char *shared, uint32_t at,
                        char chunk[16]);

#endif
