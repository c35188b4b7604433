/* warp.h -- what block.c needs of warp.c */
#ifndef FGS_SIM_WARP_H
#define FGS_SIM_WARP_H

#include "sim/exec.h"

/* A new warp with `live` lanes at the start of the code, at w->now_ps; bank,
 * block, sm and id are set. */
void fgs__sim_warp_start(struct fgs__sim_warp *w, uint32_t live);
void fgs__sim_warp_free(struct fgs__sim_warp *w);

static inline uint64_t fgs__sim_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When a split can run; FGS__SIM_NEVER = nobody knows. */
static inline uint64_t fgs__sim_split_ready(const struct fgs__sim_warp *w,
                                            const struct fgs__sim_split *s)
{
    const struct fgs__sim_block *b = w->block;

    switch (s->wait) {
    case FGS__SIM_READY:
        return w->now_ps;
    case FGS__SIM_WAIT_EVENT:
        if (s->seen != b->events)
            return fgs__sim_later(w->now_ps, b->event_ps);
        break;
    case FGS__SIM_WAIT_DEPS:
        if (atomic_load_explicit(&b->grid->deps_done, memory_order_acquire))
            return fgs__sim_later(w->now_ps, b->now_ps);
        break;
    default:
        break;
    }
    return fgs__sim_later(w->now_ps, s->wake_ps);
}

/* Earliest time at which one of several splits can run. */
uint64_t fgs__sim_warp_first(const struct fgs__sim_warp *w);

/* The same of a warp, which most often has one split; FGS__SIM_NEVER = no
 * lane lives, or none can run. */
static inline uint64_t fgs__sim_warp_ready(const struct fgs__sim_warp *w)
{
    return w->splits == 1 ? fgs__sim_split_ready(w, &w->split[0])
                          : fgs__sim_warp_first(w);
}

/* Run up to stop_ps, or until no split can run before it. */
void fgs__sim_warp_run(struct fgs__sim_warp *w, uint64_t stop_ps);

#endif
