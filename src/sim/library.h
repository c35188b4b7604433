/* library.h -- code that belongs to no context, and its kernels */
#ifndef FGS_SIM_LIBRARY_H
#define FGS_SIM_LIBRARY_H

#include "sim/image.h"

struct fgs__sim_kernel {
    const struct fgs__ptx_func *func; /* of the library's own copy           */
    bool dynamic_set, carveout_set; /* by cuKernelSetAttribute               */
    int dynamic, carveout;
};

/* Handles are numbers that follow each other: the library, its kernels.  They
 * outlive every context and the device with them. */
struct fgs__sim_library {
    struct fgs__sim_library *next;
    fgs_allocator alloc;
    uint64_t number;
    char *code;                /* its texts, as cuLinkComplete writes them   */
    struct fgs__sim_image img; /* ... of which this is made                  */
    struct fgs__ptx_module *ptx; /* for names, never run                     */
    struct fgs__sim_kernel *kernel;
    uint32_t kernels;
};

struct fgs__sim_library *fgs__sim_library_of(CUlibrary handle);
struct fgs__sim_kernel *fgs__sim_kernel_of(CUkernel handle,
                                           struct fgs__sim_library **lib);
CUkernel fgs__sim_kernel_handle(const struct fgs__sim_library *lib, uint32_t k);
CUlibrary fgs__sim_library_handle(const struct fgs__sim_library *lib);
/* Its module in a context, loaded at the first need. */
CUresult fgs__sim_library_module(struct fgs__sim_ctx *ctx,
                                 struct fgs__sim_library *lib,
                                 struct fgs__sim_module **out);

#endif
