/* handle.h -- handles of the driver's objects
 *
 * Guarded by the driver's lock.
 */
#ifndef FGS_SIM_HANDLE_H
#define FGS_SIM_HANDLE_H

#include "sim/sim.h"

enum fgs__sim_kind {
    FGS__SIM_KIND_NONE,
    FGS__SIM_KIND_CTX,
    FGS__SIM_KIND_MODULE,
    FGS__SIM_KIND_FUNC,
    FGS__SIM_KIND_STREAM,
    FGS__SIM_KIND_EVENT,
    FGS__SIM_KIND_POOL,
    FGS__SIM_KIND_VMM,
    FGS__SIM_KIND_LIBRARY,
    FGS__SIM_KIND_KERNEL,
    FGS__SIM_KIND_LINK,
    FGS__SIM_KIND_GRAPH,
    FGS__SIM_KIND_NODE,
    FGS__SIM_KIND_EXEC,
    FGS__SIM_KIND_USER,
    FGS__SIM_KIND_ARRAY,
    FGS__SIM_KIND_MIPMAP,
    FGS__SIM_KIND_REFERENCE
};

/* A handle is a number, no address: serial, kind and slot, in a range where
 * no host address lies.  A freed one is never taken for another object. */
struct fgs__sim_handles {
    struct fgs__sim_handle_slot *slot;
    size_t cap, count;
    size_t free_head; /* index + 1, 0 = none */
};
/* 0 = no memory. */
uintptr_t fgs__sim_handle_make(struct fgs__sim_handles *t,
                               const fgs_allocator *a, enum fgs__sim_kind kind,
                               void *obj);
void *fgs__sim_handle_get(const struct fgs__sim_handles *t,
                          enum fgs__sim_kind kind, const void *handle);
void fgs__sim_handle_free(struct fgs__sim_handles *t, uintptr_t handle);
void fgs__sim_handles_free(struct fgs__sim_handles *t, const fgs_allocator *a);

#endif
