/* bulk.h -- bulk copies in flight
 *
 * A copy ends later than it is issued, part by part; within its parts the
 * 16-byte chunks move in an order drawn from the seed.  All of a block's
 * copies belong to the worker of its SM.
 */
#ifndef FGS_SIM_BULK_H
#define FGS_SIM_BULK_H

#include "sim/exec.h"
#include "sim/tensor.h"

/* What a reduction makes of each element. */
struct fgs__sim_reduction {
    uint8_t op;   /* word of group ATOM, 0 = none: the copy overwrites       */
    uint8_t type; /* enum fgs__ptx_type                                      */
    bool keep;    /* subnormals of f32                                       */
};

/* What one thread asks for; addresses and sizes are checked already.  What is
 * zero is not asked for. */
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
    bool peer;          /* shared to shared: `from`, not global */
    uint32_t from;      /* a peer copy's source                 */
    uint32_t targets;   /* a load's or peer copy's blocks, a bit a rank; 0 =
                           the block itself                     */
    bool pair;          /* cta_group::2: the barrier is in the block of the
                           pair that has the parity of ...      */
    uint32_t bar_rank;  /* ... this rank                        */
    bool masked;        /* a store's: bytes of each chunk       */
    uint16_t mask;
    uint8_t left, right; /* a load's: bytes that may not exist  */
    struct fgs__sim_reduction reduction;
    const struct fgs__tensor_walk *tensor; /* copied; `global` is not used   */
};

/* Elements of `bytes` bytes of memory, each by an atomic operation. */
void fgs__sim_reduce(void *to, const void *from, uint32_t bytes,
                     const struct fgs__sim_reduction *r);

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
