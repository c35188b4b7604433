/* kernel.h -- a role's kernel, loaded */
#ifndef FGS_CORE_KERNEL_H
#define FGS_CORE_KERNEL_H

#include "core/device.h"
#include "ptx/module.h"
#include "text/text.h"

/*
 * A text's code in the context.  Its kernel holds a reference, and each plan
 * with an unfinished run that launched it.  A plan holds only the code that
 * its run began with: what a reload put in its place is held by `newer`, so
 * that a run between two reloads needs no list, and no memory.
 */
struct fgs__loaded {
    struct fgs__device *dev;   /* whoever holds a reference holds the device */
    atomic_uint refs;
    struct fgs__loaded *newer; /* a reference; under the device's lock       */
    CUmodule module;
    CUfunction function;
    char entry[68];
};

struct fgs__kernel {
    struct fgs__obj obj;
    struct fgs__device *dev; /* a reference */
    fgs_role role;
    fgs_engine engine;       /* consumer: what runs, never AUTO              */
    struct fgs__shape shape;
    uint32_t shared_bytes;   /* dynamic shared memory of a launch            */
    uint32_t second_bytes;   /* a tile of a join's second input, else 0      */
    char stem[64], entry[68];
    /* What a reload replaces, under the device's lock. */
    uint64_t generation;     /* of what follows                              */
    struct fgs__stamp stamp; /* of the files that a load looked at last      */
    char kept[512];          /* why the watch kept an older text, "" = it did
                                not                                          */
    struct fgs__text text;
    struct fgs__loaded *loaded;
    const char *assembled_by;
    int ptx_version;
    char ptx_target[16];
    int waits, triggers;
    uint32_t compiled, cached; /* results made, or taken from the cache, by
                                all loads                                    */
    char note[1024];         /* what was refused before this one was taken   */
};

fgs_result fgs__kernel_get(struct fgs__kernel **out, const fgs_kernel *k,
                           const char *what, fgs_error *err);

/* kernel_desc.c: may a kernel be asked for so?  FGS_E_INVAL, FGS_E_UNSUPPORTED
 * (no twin), FGS_E_MISMATCH; and the shape that its text is made for. */
fgs_result fgs__kernel_check(const fgs_kernel_desc *d, fgs_error *err);
struct fgs__shape fgs__kernel_shape(const fgs_kernel_desc *d);

/* Load one stem into k, whose dev, role and shape are set; on failure k holds
 * nothing of it. */
fgs_result fgs__kernel_load(struct fgs__kernel *k, const char *stem,
                            fgs_error *err);

/* reload.c: read k->text, and what the watch compares with later. */
fgs_result fgs__kernel_read(struct fgs__kernel *k, const char *stem,
                            fgs_error *err);

/* reload.c: a reference more, or one less; NULL is accepted.  The last one
 * unloads the code. */
struct fgs__loaded *fgs__loaded_ref(struct fgs__loaded *l);
void fgs__loaded_unref(struct fgs__loaded *l);

/* reload.c: load k anew when a file of its text changed.  A text that is
 * refused leaves the old one, is logged, kept in k->kept, and not looked at
 * again before a file changes. */
void fgs__kernel_watch(struct fgs__kernel *k);

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
 * where the text is newer than the driver.  Sets k->loaded->module,
 * assembled_by.
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
