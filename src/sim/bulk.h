/* bulk.h -- bulk copies in flight
 *
 * A copy ends later than it is issued, part by part; within its parts the
 * 16-byte chunks move in an order drawn from the seed.  All of a block's
 * copies belong to the worker of its SM.
 */
#ifndef FGS_SIM_BULK_H
#define FGS_SIM_BULK_H

#include "sim/exec.h"

/* What one thread asks for; addresses and sizes are checked already. */
struct fgs__sim_copy_req {
    const struct fgs__ptx_insn *src; /* for messages                         */
    int64_t thread;                  /* in the block                         */
    uint64_t global;
    char *host; /* of `global` at that generation       */
    uint32_t generation;
    uint32_t shared, bytes;
    uint32_t bar;       /* a load's: offset of the mbarrier     */
    fgs_mechanism mech; /* a load's                             */
    bool store;         /* shared to global, by bulk_group      */
};

/* Put it on its way at device time now_ps.  False = no memory. */
bool fgs__sim_copy_start(struct fgs__sim_block *b,
                         const struct fgs__sim_copy_req *req, uint64_t now_ps);

/* Bulk groups of a thread: close the current one; are more than `newest`
 * groups, or older ones than those, still on their way (`read`: their source
 * not read yet)? */
void fgs__sim_copies_commit(struct fgs__sim_block *b, int64_t thread);
bool fgs__sim_copies_pending(const struct fgs__sim_block *b, int64_t thread,
                             uint32_t newest, bool read);

/* All threads have exited: a copy that still uses the block's shared memory is
 * a fault (the ISA leaves it undefined).  True when one was reported; call it
 * behind fgs__sim_copies_run. */
bool fgs__sim_copies_orphaned(struct fgs__sim_block *b);

#endif
