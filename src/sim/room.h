/* room.h -- memory for the blocks of an SM */
#ifndef FGS_SIM_ROOM_H
#define FGS_SIM_ROOM_H

#include "sim/sim.h"

/* Bytes for a block, 128-byte aligned, not cleared; NULL = no memory. */
char *fgs__sim_room_take(struct fgs__sim_sm *sm, const fgs_allocator *a,
                         size_t bytes);
/* They are the SM's again, or free. */
void fgs__sim_room_give(struct fgs__sim_sm *sm, const fgs_allocator *a,
                        void *block);

#endif
