/* jit.h -- options of a load or a link */
#ifndef FGS_SIM_JIT_H
#define FGS_SIM_JIT_H

#include "sim/device.h"

/* Options that change what is loaded, and where results go. */
struct fgs__sim_jit {
    struct fgs__sim_log error, info;
    void **error_size, **info_size, **wall, **block; /* NULL = nobody asks   */
    uint32_t threads;          /* of a block, rounded to whole warps         */
    uint32_t max_regs;         /* 0 = as many as needed                      */
    bool override;             /* ... also where the text says otherwise     */
    bool verbose;
};

/* INVALID_VALUE leaves all outputs as they were. */
CUresult fgs__sim_jit_read(struct fgs__sim_jit *j, unsigned int count,
                           const CUjit_option *options, void **values);
/* End the logs and write what the options ask for. */
void fgs__sim_jit_write(struct fgs__sim_jit *j);
/* What a verbose load says of a module's kernels. */
void fgs__sim_jit_describe(struct fgs__sim_jit *j,
                           const struct fgs__sim_module *m);

#endif
