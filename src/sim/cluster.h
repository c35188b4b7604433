/* cluster.h -- blocks that run together, and each other's shared memory
 *
 * All blocks of a cluster are resident at once, on one SM or several; the SMs
 * that a cluster joins are run by one host thread in an epoch (sm.c), so the
 * blocks reach into each other without locks.
 *
 * Addresses, as an H200 forms them: the cluster's window holds 16 MiB of
 * addresses for each rank, a block's shared memory lies at the begin of those
 * of its rank:
 *
 *     shared::cluster address = rank << 24 | offset in the block
 *     generic address         = FGS__SIM_SHARED_WINDOW + that
 *
 * The address of a .shared variable is the one in the window, so a block can
 * hand its own address to the others as it is.  An access of .shared{::cta}
 * takes addresses of the block's own rank only (an H200 answers others with
 * ILLEGAL_INSTRUCTION).  A block without a cluster has rank 0.
 */
#ifndef FGS_SIM_CLUSTER_H
#define FGS_SIM_CLUSTER_H

#include "sim/exec.h"

enum {
    FGS__SIM_RANK_SHIFT = 24,
    FGS__SIM_CLUSTER_MOST = 16,    /* blocks                                 */
    FGS__SIM_CLUSTER_PORTABLE = 8  /* without the kernel's consent           */
};

struct fgs__sim_cluster {
    struct fgs__sim_cluster *next; /* of the device                          */
    struct fgs__sim_grid *grid;
    uint32_t size, left;           /* blocks, those that have not ended      */
    uint32_t id[3];                /* %clusterid                             */
    struct fgs__sim_slot *slot[FGS__SIM_CLUSTER_MOST];   /* NULL = ended     */
    struct fgs__sim_block *block[FGS__SIM_CLUSTER_MOST]; /* NULL = ended, or
                                      it has not begun                       */
};

static inline uint32_t fgs__sim_rank_of(uint64_t shared)
{
    return (uint32_t)(shared >> FGS__SIM_RANK_SHIFT);
}
static inline uint32_t fgs__sim_in_block(uint64_t shared)
{
    return (uint32_t)shared & ((1u << FGS__SIM_RANK_SHIFT) - 1);
}

/* Blocks of the cluster; 1 without one. */
static inline uint32_t fgs__sim_ranks(const struct fgs__sim_block *b)
{
    return b->cluster ? b->cluster->size : 1;
}

/* The block of a rank in the cluster of `b`, which may be `b` itself.  NULL =
 * there is none: the rank is too high, the block has ended or not begun yet
 * (*why says which).  A copy in flight keeps the rank and asks again when it
 * lands. */
struct fgs__sim_block *fgs__sim_peer(const struct fgs__sim_block *b,
                                     uint32_t rank, const char **why);

/* Where a lane's address of space .shared::cluster, or a generic one, points
 * to: the block that owns the bytes and their offset in its shared memory
 * (owner->shared + *out, owner->mbar_live[*out / 8]).  False after a fault;
 * `what` names the thing. */
bool fgs__sim_cluster_offset(struct fgs__sim_warp *w,
                             const struct fgs__sim_insn *i, int lane,
                             uint64_t addr, bool generic, uint64_t bytes,
                             uint32_t align, const char *what,
                             struct fgs__sim_block **owner, uint32_t *out);

/* As fgs__sim_block_event, for a block that may be another one of the same
 * cluster: its SM looks at it again in time. */
void fgs__sim_peer_event(struct fgs__sim_block *b, uint64_t ps);

/* Threads of the block exited or arrived at barrier.cluster: does it complete?
 * barrier_cluster.c */
void fgs__sim_cluster_check(struct fgs__sim_block *b, uint64_t ps);

/* The block of the slot has ended: the others of its cluster look again at
 * what they wait for. */
void fgs__sim_cluster_ended(const struct fgs__sim_slot *slot, uint64_t ps);

/* Does another block of the cluster live that may go on by itself? */
bool fgs__sim_cluster_moves(const struct fgs__sim_block *b);

#endif
