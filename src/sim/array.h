/* array.h -- arrays: memory that is named by elements, without an address */
#ifndef FGS_SIM_ARRAY_H
#define FGS_SIM_ARRAY_H

#include "sim/device.h"

/* Rows lie behind each other, planes and layers too; textures and copies find
 * them here, kernels have no pointer to them. */
struct fgs__sim_array {
    struct fgs__sim_array *next; /* of the context                           */
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    CUDA_ARRAY3D_DESCRIPTOR desc; /* as the program gave it                  */
    uint64_t va;
    uint32_t element;          /* bytes                                      */
    uint64_t pitch, rows, planes; /* of a row in bytes; at least 1           */
};

/* NULL = none of that handle. */
struct fgs__sim_array *fgs__sim_array_of(struct fgs__sim_ctx *ctx,
                                         CUarray handle);

#endif
