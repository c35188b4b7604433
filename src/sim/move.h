/* move.h -- move 16-byte chunks and look for the sentinel in them */
#ifndef FGS_SIM_MOVE_H
#define FGS_SIM_MOVE_H

#include <fgs/fgs_sim.h>
#include <stdbool.h>

/* What a copy inspects: a row of mechanism.def and the sample policy. */
struct fgs__sim_check {
    unsigned bits;    /* width of an element; 0 = nothing is inspected      */
    uint32_t pattern; /* the sentinel repeated over 32 bits                 */
    bool any;         /* every element counts, not only a sampled one       */
    fgs_sim_sample sample;
};
struct fgs__sim_check fgs__sim_check_make(fgs_mechanism mech,
                                          fgs_sim_sample sample);

/*
 * Move `chunks` chunks from `src` to `dst` (16-byte aligned), each by one
 * load and one store, from the last to the first if `backward`.  True if the
 * inspection found the sentinel.  What is inspected is what was moved.
 */
bool fgs__sim_move(char *dst, const char *src, uint32_t chunks, bool backward,
                   const struct fgs__sim_check *check, uint64_t *rng);

/* Does the inspection find the sentinel in one chunk of 16 bytes? */
bool fgs__sim_inspect(const char chunk[16],
                      const struct fgs__sim_check *check, uint64_t *rng);

#endif
