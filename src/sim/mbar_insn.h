/* mbar_insn.h -- what the mbarrier instructions' handlers share */
#ifndef FGS_SIM_MBAR_INSN_H
#define FGS_SIM_MBAR_INSN_H

#include "sim/access.h"
#include "sim/latency.h"
#include "sim/mbar.h"

enum {
    OP_DST = 0,    /* state, or predicate p                                 */
    OP_REPORT = 1, /* rp                                                    */
    OP_VALUE = 2,  /* rv                                                    */
    OP_ARG = 3,    /* count, tx-count, parity, state                        */
    OP_HINT = 4,   /* ns, of try_wait                                       */
    OP_MASK = 5,   /* ranks of a multicast                                  */
    AUX_FACTS = 0
};
enum {
    V1 = 1, /* .layout::v1                                        */
    DROP = 2,
    NOCOMPLETE = 4,
    EXPECT_TX = 8,
    PARITY = 16, /* wait by parity, not by state                       */
    CONDITIONAL = 32,
    TRY = 64
};

/* A fault by a rule of the object. */
const struct fgs__sim_insn *fgs__sim_mbar_broken(struct fgs__sim_warp *w,
                                                 const struct fgs__sim_insn *i,
                                                 int lane,
                                                 enum fgs__mbar_rule rule);
/* The initialized object of a lane in its own block; NULL after a fault. */
uint64_t *fgs__sim_mbar_object(struct fgs__sim_warp *w,
                               const struct fgs__sim_insn *i, int lane);
/* Handler of test_wait and try_wait. */
const struct fgs__sim_insn *fgs__sim_mbar_wait(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i);

/* A lane's 32-bit count, tx-count, parity. */
static inline uint32_t fgs__sim_mbar_arg(const struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i,
                                         int lane)
{
    return ((const uint32_t *)fgs__sim_at(w, i->op[OP_ARG]))[lane];
}

static inline void fgs__sim_mbar_put_pred(struct fgs__sim_warp *w,
                                          fgs__sim_ref ref, uint32_t mask)
{
    uint32_t *pred;

    if (ref == FGS__SIM_NOREF)
        return;
    pred = fgs__sim_at(w, ref);
    *pred = (*pred & ~w->exec) | (mask & w->exec);
}

#endif
