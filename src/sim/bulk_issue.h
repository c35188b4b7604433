/* bulk_issue.h -- what bulk and tensor copies share when they are issued */
#ifndef FGS_SIM_BULK_ISSUE_H
#define FGS_SIM_BULK_ISSUE_H

#include "sim/access.h"
#include "sim/bulk.h"

/* Places of an instruction's operands; an address keeps its offset in aux[].
 * A tensor copy's map stands in MEMORY. */
enum {
    FGS__BULK_SHARED = 0,
    FGS__BULK_MEMORY = 1, /* global, or a peer copy's source                */
    FGS__BULK_BAR = 2,
    FGS__BULK_CAST = 3,   /* mask of a multicast                            */
    FGS__BULK_REST = 4    /* by instruction                                 */
};
enum {
    FGS__BULK_FLAGS = 0,  /* and the mechanism in bits 16 ...               */
    FGS__BULK_SHARED_OFF = 1,
    FGS__BULK_BAR_OFF = 2,
    FGS__BULK_AUX = 3     /* by instruction                                 */
};
enum {
    FGS__BULK_STORE = 1,
    FGS__BULK_PEER = 2,
    FGS__BULK_CLUSTER = 4, /* the destination is of .shared::cluster        */
    FGS__BULK_CAST_ON = 8, /* there is a mask ...                           */
    FGS__BULK_CAST_16 = 16, /* of 16 bits                                   */
    FGS__BULK_PAIR = 32,   /* cta_group::2                                  */
    FGS__BULK_SHARED32 = 64, /* addresses in registers of 32 bits           */
    FGS__BULK_MEMORY32 = 128,
    FGS__BULK_BAR32 = 256,
    FGS__BULK_READ = 512,
    FGS__BULK_OOB = 1024,  /* ignore_oob                                    */
    FGS__BULK_MASK = 2048  /* cp_mask                                       */
};

/* An address operand into a slot; *offset is what it adds, in 32 bits. */
bool fgs__sim_bulk_take(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        const struct fgs__ptx_operand *o, unsigned slot,
                        uint32_t flag32, uint32_t *offset,
                        struct fgs__sim_insn *out);
/* Flags that modifiers say: direction, multicast, mechanism, pair. */
void fgs__sim_bulk_flags(const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out);

/* A lane's shared memory, barrier and target blocks; r->mech, r->store and
 * r->peer are set here.  `span` bytes, aligned.  False after a fault. */
bool fgs__sim_bulk_where(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, uint64_t span, uint32_t align,
                         struct fgs__sim_copy_req *r);
/* Start it.  False after a fault. */
bool fgs__sim_bulk_start(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                         int lane, const struct fgs__sim_copy_req *r);

/* Issue a copy for each running lane by `lane_issues`. */
const struct fgs__sim_insn *
fgs__sim_bulk_issue(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                    bool (*lane_issues)(struct fgs__sim_warp *w,
                                        const struct fgs__sim_insn *i,
                                        int lane));

#endif
