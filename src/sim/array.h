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
    bool level;                /* of a mipmapped array, which destroys it    */
};

/* Sizes halve from level to level, down to 1. */
enum { FGS__SIM_LEVELS = 18 }; /* of 2^17 elements                          */
struct fgs__sim_mipmap {
    struct fgs__sim_mipmap *next; /* of the context                          */
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    uint32_t levels;
    struct fgs__sim_array *level[FGS__SIM_LEVELS]; /* held                   */
};

/* NULL = none of that handle. */
struct fgs__sim_array *fgs__sim_array_of(struct fgs__sim_ctx *ctx,
                                         CUarray handle);
struct fgs__sim_mipmap *fgs__sim_mipmap_of(struct fgs__sim_ctx *ctx,
                                           CUmipmappedArray handle);
/* Bytes of a component, 0 = another format. */
uint32_t fgs__sim_component(CUarray_format format);
CUresult fgs__sim_array_check(const CUDA_ARRAY3D_DESCRIPTOR *d);
CUresult fgs__sim_array_make(struct fgs__sim_ctx *ctx,
                             struct fgs__sim_array **out,
                             const CUDA_ARRAY3D_DESCRIPTOR *d);
/* Takes it from its context and frees its memory. */
void fgs__sim_array_drop(struct fgs__sim_array *a);
/* Mipmapped arrays of a context that ends; their levels stay. */
void fgs__sim_mipmaps_free(struct fgs__sim_ctx *ctx);

#endif
