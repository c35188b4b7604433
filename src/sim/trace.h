/* trace.h -- what the device ran when, as events in a file */
#ifndef FGS_SIM_TRACE_H
#define FGS_SIM_TRACE_H

#include "sim/device.h"

/* The price of a trace where there is none is a look at this. */
extern atomic_bool fgs__sim_trace_on;

static inline bool fgs__sim_tracing(void)
{
    return atomic_load_explicit(&fgs__sim_trace_on, memory_order_relaxed);
}

/* The trace that FGS_SIM_TRACE asks for, with the driver's lock.  Not OK = it
 * cannot be written; the text is left for fgs_sim_last_fault(). */
CUresult fgs__sim_trace_env(void);
/* A device boots: its time begins anew. */
void fgs__sim_trace_boot(void);
/* What is known goes to the file. */
void fgs__sim_trace_flush(void);

/* The slot's block has ended, or is stopped at the latest then.  By its
 * worker or, between epochs, by the scheduler. */
void fgs__sim_trace_block(const struct fgs__sim_slot *slot, uint64_t end_ps,
                          bool stopped);
/* A copy or fill was begun, a kernel or host function has ended or is stopped;
 * other ops take no time.  By the scheduler. */
void fgs__sim_trace_begun(struct fgs__sim_op *op, uint64_t start_ps);
void fgs__sim_trace_ended(struct fgs__sim_op *op);

#endif
