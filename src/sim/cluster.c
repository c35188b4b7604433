/* cluster.c -- the blocks of a cluster and the window of their addresses */
#include "sim/cluster.h"
#include "sim/access.h"

struct fgs__sim_block *fgs__sim_peer(const struct fgs__sim_block *b,
                                     uint32_t rank, const char **why)
{
    const struct fgs__sim_cluster *c = b->cluster;

    if (rank == b->rank && (!c || c->block[rank]))
        return (struct fgs__sim_block *)(uintptr_t)b;
    if (!c || rank >= c->size)
        *why = "does not exist in the cluster";
    else if (c->block[rank])
        return c->block[rank];
    else if (c->slot[rank])
        *why = "has not begun yet: barrier.cluster comes first";
    else
        *why = "has ended already";
    return NULL;
}

static bool misplaced(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, uint64_t shared, uint64_t bytes, uint32_t align,
                      const char *what)
{
    uint32_t at = fgs__sim_in_block(shared);
    uint64_t size = w->block->grid->window_bytes;

    if (at & (align - 1)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "the %s at shared address 0x%llx is not %u-byte "
                            "aligned",
                            what, (unsigned long long)shared, align);
        return true;
    }
    if (at <= size && size - at >= bytes)
        return false;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                        "the %s (%llu bytes at shared address 0x%llx) is not "
                        "inside the %llu bytes of shared memory of block %u "
                        "of the cluster",
                        what, (unsigned long long)bytes,
                        (unsigned long long)shared, (unsigned long long)size,
                        fgs__sim_rank_of(shared));
    return true;
}

bool fgs__sim_cluster_offset(struct fgs__sim_warp *w,
                             const struct fgs__sim_insn *i, int lane,
                             uint64_t addr, bool generic, uint64_t bytes,
                             uint32_t align, const char *what,
                             struct fgs__sim_block **owner, uint32_t *out)
{
    uint64_t shared = generic ? addr - FGS__SIM_SHARED_WINDOW : addr;
    const char *why = NULL;

    if (generic && shared >= FGS__SIM_WINDOW_BYTES) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE, lane,
                            "the %s at generic address 0x%llx is not in "
                            "shared memory",
                            what, (unsigned long long)addr);
        return false;
    }
    *owner = shared >> 32 ? NULL
                          : fgs__sim_peer(w->block, fgs__sim_rank_of(shared),
                                          &why);
    if (!*owner) {
        /* The codes are those of an H200. */
        fgs__sim_warp_fault(w, i, w->block->cluster
                                ? CUDA_ERROR_LAUNCH_FAILED
                                : CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "the %s is at shared address 0x%llx, but block "
                            "%llu %s",
                            what, (unsigned long long)shared,
                            (unsigned long long)(shared >>
                                                 FGS__SIM_RANK_SHIFT),
                            why ? why : "does not exist in the cluster");
        return false;
    }
    *out = fgs__sim_in_block(shared);
    return !misplaced(w, i, lane, shared, bytes, align, what);
}

void fgs__sim_peer_event(struct fgs__sim_block *b, uint64_t ps)
{
    struct fgs__sim_slot *slot = b->slot;

    fgs__sim_block_event(b, ps);
    if (!b->cluster || slot->wake_ps <= ps)
        return;
    slot->wake_ps = ps;
    slot->sm->woken = true;
}

void fgs__sim_cluster_ended(const struct fgs__sim_slot *slot, uint64_t ps)
{
    const struct fgs__sim_cluster *c = slot->cluster;

    for (uint32_t k = 0; c && k < c->size; k++) {
        struct fgs__sim_slot *other = c->slot[k];

        if (!other || other == slot || other->wake_ps <= ps)
            continue;
        other->wake_ps = ps;
        other->sm->woken = true;
    }
}

bool fgs__sim_cluster_moves(const struct fgs__sim_block *b)
{
    const struct fgs__sim_cluster *c = b->cluster;

    for (uint32_t k = 0; c && k < c->size; k++)
        if (c->slot[k] && c->slot[k] != b->slot &&
            c->slot[k]->wake_ps != FGS__SIM_NEVER)
            return true;
    return false;
}
