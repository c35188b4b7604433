/* access.h -- where the lanes of a memory instruction point to
 *
 * A selector calls fgs__sim_access_decode once, the handler
 * fgs__sim_access_find at each execution.
 */
#ifndef FGS_SIM_ACCESS_H
#define FGS_SIM_ACCESS_H

#include "sim/exec.h"

/* Fields of an instruction that the two functions use. */
enum {
    FGS__SIM_ADDR = 9,      /* op[]: the base address; imm is the offset    */
    FGS__SIM_AUX_BYTES = 2, /* aux[]: bytes that a lane accesses            */
    FGS__SIM_AUX_SPACE = 3  /* aux[]: enum fgs__sim_space | flags           */
};

enum fgs__sim_space {
    FGS__SIM_GENERIC,
    FGS__SIM_GLOBAL, /* .const too: it lies in device memory */
    FGS__SIM_SHARED,
    FGS__SIM_PARAM,
    FGS__SIM_LOCAL,
    FGS__SIM_CLUSTER, /* shared memory of any block of the cluster */
    FGS__SIM_SPACE_MASK = 7,
    FGS__SIM_ADDR32 = 8,  /* the base has 32-bit lanes */
    FGS__SIM_UNIFORM = 16, /* the base is the same in all lanes */
    FGS__SIM_NOT_LOCAL = 32 /* generic addresses of other spaces only */
};

enum fgs__sim_shape {
    FGS__SIM_SCATTER, /* lane[] of the lanes in w->exec                      */
    FGS__SIM_RUN,     /* all 32 lanes, one after another from lane[0]        */
    FGS__SIM_SAME     /* all lanes of w->exec at lane[0]                     */
};

struct fgs__sim_access {
    enum fgs__sim_shape shape;
    uint64_t latency_ps; /* of a load                                       */
    bool shared;         /* the first lane's is shared memory               */
    char *lane[32];
};

/* `at` bytes into what lane[0] names, NULL where lanes go their own ways: the
 * first of them may be none that runs. */
static inline char *fgs__sim_access_first(const struct fgs__sim_access *acc,
                                          size_t at)
{
    return acc->shape == FGS__SIM_SCATTER ? NULL : acc->lane[0] + at;
}

/* The address operand `o`, for `bytes` a lane (a power of two: also the
 * alignment).  False after a decode error. */
bool fgs__sim_access_decode(struct fgs__sim_decoder *d,
                            const struct fgs__ptx_insn *src,
                            const struct fgs__ptx_operand *o, uint32_t bytes,
                            struct fgs__sim_insn *out);

/* False after a fault: the handler returns NULL. */
bool fgs__sim_access_find(struct fgs__sim_warp *w,
                          const struct fgs__sim_insn *i, bool write,
                          struct fgs__sim_access *acc);

/* Host bytes of a lane's generic address; NULL = not all of them exist. */
char *fgs__sim_generic(struct fgs__sim_warp *w, int lane, uint64_t addr,
                       uint64_t bytes);

/* A shared-memory address of a lane as an offset into block->shared: of space
 * .shared::cta, or a generic one in the window; in both cases the block's own
 * (cluster.h has what takes those of other blocks).  False after a fault;
 * `what` names the thing. */
bool fgs__sim_shared_offset(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, int lane,
                            uint64_t addr, bool generic, uint64_t bytes,
                            uint32_t align, const char *what, uint32_t *out);

/* Lane l of an address operand (the register, with 32- or 64-bit lanes). */
static inline uint64_t fgs__sim_lane_addr(const struct fgs__sim_warp *w,
                                          fgs__sim_ref ref, bool addr32,
                                          int64_t offset, int l)
{
    const void *base = fgs__sim_at(w, ref);

    return (addr32 ? ((const uint32_t *)base)[l]
                   : ((const uint64_t *)base)[l]) +
           (uint64_t)offset;
}

/* Next lane of a mask: for (m = mask; m; m &= m - 1) l = fgs__sim_lane(m). */
static inline int fgs__sim_lane(uint32_t m)
{
    return __builtin_ctz(m);
}

#endif
