/* kernel.h -- a role's kernel, loaded */
#ifndef FGS_CORE_KERNEL_H
#define FGS_CORE_KERNEL_H

#include "core/device.h"
#include "ptx/module.h"
#include "text/text.h"

struct fgs__kernel {
    struct fgs__obj obj;
    struct fgs__device *dev; /* a reference */
    fgs_role role;
    fgs_engine engine;       /* consumer: what runs, never AUTO              */
    struct fgs__shape shape;
    uint32_t shared_bytes;   /* dynamic shared memory of a launch            */
    struct fgs__text text;
    char stem[64], entry[68];
    CUmodule module;
    CUfunction function;
    const char *assembled_by;
    int ptx_version;
    char ptx_target[16];
    int waits, triggers;
    uint32_t compiled, cached; /* results made, or taken from the cache      */
    char note[1024];         /* what was refused before this one was taken   */
};

fgs_result fgs__kernel_get(struct fgs__kernel **out, const fgs_kernel *k,
                           const char *what, fgs_error *err);

/*
 * Check a text and make a module of it.  contract.c: what a role asks of its
 * text; module.c: who assembles it.
 *
 * FGS_E_CONTRACT  entry or parameter list is not what the plan launches
 */
fgs_result fgs__contract_check(const struct fgs__kernel *k,
                               const struct fgs__ptx_module *m,
                               const struct fgs__ptx_func **entry,
                               fgs_error *err);

/*
 * Load k->text into the current context: by the driver, or through nvJitLink
 * where the text is newer than the driver.  Sets module, assembled_by.
 *
 * FGS_E_JIT, FGS_E_PTXVERSION, FGS_E_FILE (FGS_NVJITLINK), FGS_E_DRIVER
 */
fgs_result fgs__module_load(struct fgs__kernel *k,
                            const struct fgs__ptx_module *m, fgs_error *err);

/* k->text, CUDA C++, becomes the PTX that NVRTC makes of it.  compile.c
 *
 * FGS_E_COMPILE, FGS_E_UNSUPPORTED (no NVRTC), FGS_E_FILE (FGS_NVRTC) */
fgs_result fgs__kernel_compile(struct fgs__kernel *k, fgs_error *err);

/* Line, column (0 = none) and message of the first error in an assembler's
 * log; 0 = it names no line.  `text` is cut at its end. */
int fgs__log_place(const char *log, uint32_t *line, uint32_t *column,
                   char *text, size_t size);

#endif
