/* latency.h -- modelled device times of memory and synchronization
 *
 * Rough figures of a large GPU: they make the virtual clock move plausibly
 * and give polling loops a pace; no result depends on them.  Stores do not
 * hold up a warp.  Bulk copies take theirs from the knob copy_ns.
 */
#ifndef FGS_SIM_LATENCY_H
#define FGS_SIM_LATENCY_H

#include "sim/sim.h"

enum {
    FGS__SIM_GLOBAL_PS = 400 * FGS__SIM_PS_PER_NS, /* load, atom; no cache */
    FGS__SIM_SHARED_PS = 15 * FGS__SIM_PS_PER_NS,
    FGS__SIM_REMOTE_PS = 110 * FGS__SIM_PS_PER_NS, /* another block's      */
    FGS__SIM_LOCAL_PS = 15 * FGS__SIM_PS_PER_NS, /* hits in L1           */
    FGS__SIM_PARAM_PS = 2 * FGS__SIM_PS_PER_NS,  /* constant cache       */
    FGS__SIM_MBAR_PS = 15 * FGS__SIM_PS_PER_NS,
    FGS__SIM_BAR_PS = 10 * FGS__SIM_PS_PER_NS,
    FGS__SIM_ISSUE_PS = 20 * FGS__SIM_PS_PER_NS, /* of a bulk copy       */
    FGS__SIM_FENCE_CTA_PS = 5 * FGS__SIM_PS_PER_NS,
    FGS__SIM_FENCE_GPU_PS = 300 * FGS__SIM_PS_PER_NS,
    /* How long try_wait suspends without a hint: the ISA's system limit. */
    FGS__SIM_TRY_WAIT_PS = 2000 * FGS__SIM_PS_PER_NS
};

#endif
