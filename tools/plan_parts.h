/* plan_parts.h -- what the library makes of a plan file */
#ifndef FGS_TOOL_PLAN_PARTS_H
#define FGS_TOOL_PLAN_PARTS_H

#include "plan.h"

enum { PLAN_STREAMS = 64 };

/* What the command line says over the file. */
struct plan_asked {
    const char *provider;
    uint64_t ordinal;
    const char *order;  /* of all edges, NULL = as the file says            */
    fgs_engine engine;  /* of all stages that say none                      */
    uint32_t receipt;   /* of fgs_plan_spec                                 */
    bool quiet;         /* do not say which device it is                    */
};

/* A kernel of the library that stages share, by its description. */
struct plan_kernel {
    fgs_kernel_desc desc;
    fgs_kernel *kernel;
};

/* A file with kernels of the user's. */
struct plan_module {
    const char *file;
    void *module;
};

/* Zeroed = nothing was made. */
struct plan_parts {
    const struct plan_file *f;
    fgs_device *dev;
    fgs_device_info info;
    fgs_buffer **buffers;
    struct plan_kernel *kernels;
    struct plan_module *modules;
    uint32_t kernel_count, module_count;
    fgs_plan_spec spec;
    fgs_stage_desc *stages;
    fgs_use *uses;
    fgs_plan *plan;
    void *ctx;          /* current, where streams or modules were made      */
    int ordinal;
    void *streams[PLAN_STREAMS];
};

/* The device alone; plan_parts_make does it where it was not done. */
fgs_result plan_parts_open(struct plan_parts *p, const struct plan_file *f,
                           const struct plan_asked *asked, fgs_error *err);
/* Device, buffers, kernels: all but the plan. */
fgs_result plan_parts_make(struct plan_parts *p, const struct plan_file *f,
                           const struct plan_asked *asked, fgs_error *err);
/* The plan: nothing but the library's call. */
fgs_result plan_parts_compose(struct plan_parts *p, fgs_error *err);
void plan_parts_free(struct plan_parts *p);

/* The device's context, current from here on. */
fgs_result plan_context(struct plan_parts *p, fgs_error *err);
/* A text in place of the file of that name. */
fgs_result plan_module(struct plan_parts *p, const char *file,
                       const char *text, fgs_error *err);
/* CUDA C++ of the user's to what the driver loads, from malloc. */
fgs_result plan_compile(struct plan_parts *p, const char *file,
                        const char *text, char **out, fgs_error *err);
/* Streams and modules of the user's, by the device's driver. */
fgs_result plan_stream(struct plan_parts *p, uint64_t n, CUstream *out,
                       fgs_error *err);
fgs_result plan_function(struct plan_parts *p, const struct plan_stage *s,
                         CUfunction *out, fgs_error *err);
void plan_driver_end(struct plan_parts *p);

#endif
