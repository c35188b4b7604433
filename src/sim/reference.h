/* reference.h -- texture and surface references of old programs
 *
 * A .texref or .surfref of a module and what the driver's calls say of it.  A
 * launch has a copy of what was said until then; a call behind it changes the
 * next launch alone.
 */
#ifndef FGS_SIM_REFERENCE_H
#define FGS_SIM_REFERENCE_H

#include "sim/texture.h"

struct fgs__sim_reference {
    struct fgs__sim_reference *next; /* of the context                       */
    struct fgs__sim_ctx *ctx;
    const struct fgs__sim_module *module; /* NULL = of cuTexRefCreate        */
    const struct fgs__ptx_sym *var;
    uintptr_t handle;
    bool surface, bound;
    CUDA_RESOURCE_DESC res;    /* if bound                                   */
    uint64_t given;            /* address as the program gave it             */
    CUDA_TEXTURE_DESC tex;
    unsigned format, channels; /* channels 0 = none said                     */
};

/* One of a launch's. */
struct fgs__sim_bound {
    struct fgs__sim_bound *next;
    uint64_t va;               /* of the variable                            */
    struct fgs__sim_texture t;
};

/* Bound from now on, if a texture can be; what was bound stays otherwise.
 * given: an address as the program gave it. */
CUresult fgs__sim_reference_take(struct fgs__sim_reference *ref,
                                 const CUDA_RESOURCE_DESC *res,
                                 uint64_t given);

struct fgs__sim_func;
bool fgs__sim_references_used(const struct fgs__sim_func *f);

/* Enter and find it; the lock is held only after CUDA_SUCCESS. */
CUresult fgs__sim_reference_enter(struct fgs__sim_reference **ref,
                                  const void *handle, bool surface);

#endif
