/* module.h -- code of a context: modules, their functions, how they load
 *
 * Guarded as device.h says, which includes this.
 */
#ifndef FGS_SIM_MODULE_H
#define FGS_SIM_MODULE_H

#include "base/compat.h"
#include "sim/sim.h"

struct fgs__sim_ctx;

struct fgs__sim_func {
    uintptr_t handle;
    struct fgs__sim_module *module;
    const struct fgs__ptx_func *func;
    struct fgs__sim_code *code;
    int carveout;              /* -1 = default                               */
    struct {                   /* what the calls before CUDA 4.0 set         */
        uint32_t block[3], shared;
        unsigned char *params; /* code->param_bytes, NULL = none set         */
    } old;
    uint32_t cluster[3];       /* required, by the text or attributes; 0     */
    uint32_t cluster_policy;   /* CU_CLUSTER_SCHEDULING_POLICY_*             */
    bool non_portable;         /* more than 8 blocks of a cluster            */
    uint32_t max_dynamic;      /* dynamic shared memory allowed              */
    uint32_t shared_mode;      /* CU_SHARED_MEMORY_MODE_*, 0 = max_dynamic   */
};

struct fgs__sim_module {
    struct fgs__sim_module *next;
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    struct fgs__ptx_module *ptx; /* the first text; its lists hold all       */
    struct fgs__sim_func *func;
    uint32_t funcs;
    const struct fgs__sim_library *library; /* NULL = none                   */
};

/* Log buffers of a load; `text` may be NULL. */
struct fgs__sim_log {
    char *text;
    size_t size, used;
    bool cut;                  /* not all had room                           */
};
/* Append what fits; the log is always terminated. */
void fgs__sim_log_line(struct fgs__sim_log *log, const char *fmt, ...)
    FGS__PRINTF(2, 3);
/* The compute capability that the device presents, 10.7 = 107. */
int fgs__sim_cc(void);
/* Does code for sm_<cc><suffix> run on the device?  `a` code only on the same
 * architecture, `f` code on later ones of its family, other code on all later
 * ones. */
bool fgs__sim_runs(int cc, char suffix);
/* Parse and check one text, and what of its head only a device knows. */
CUresult fgs__sim_text_load(struct fgs__ptx_module **out, const char *text,
                            size_t bytes, const fgs_allocator *a,
                            struct fgs__sim_log *log);
struct fgs__sim_image;
struct fgs__sim_jit;
CUresult fgs__sim_module_load(struct fgs__sim_module **out,
                              struct fgs__sim_ctx *ctx,
                              const struct fgs__sim_image *img,
                              struct fgs__sim_jit *jit);
/* The mode that $CUDA_MODULE_LOADING sets, LAZY without it as in the driver.
 * A function of PTX counts as loaded once it is known in either (an H200: also
 * before any launch); what differs is that a capture allows a lazy load. */
bool fgs__sim_lazy(void);
struct fgs__sim_module *fgs__sim_module_of(struct fgs__sim_ctx *ctx,
                                           CUmodule handle);
/* Texts that are loaded into every context that needs them: library.c. */
struct fgs__sim_library;
struct fgs__sim_link;
void fgs__sim_link_destroy(struct fgs__sim_link *l);
/* Only inside pause/resume, or when nothing of the context runs. */
void fgs__sim_module_free(struct fgs__sim_module *m);

/* The live function of a handle, of this context; NULL = none. */
struct fgs__sim_func *fgs__sim_func_of(struct fgs__sim_ctx *ctx,
                                       CUfunction handle);
/* What a launch is given: a function, or a library's kernel, whose function in
 * this context it becomes; library.c. */
CUresult fgs__sim_launched(struct fgs__sim_ctx *ctx, CUfunction handle,
                           struct fgs__sim_func **out);
CUresult fgs__sim_func_get(int *value, CUfunction_attribute attrib,
                           const struct fgs__sim_func *f);
CUresult fgs__sim_func_set(struct fgs__sim_func *f,
                           CUfunction_attribute attrib, int value);
CUresult fgs__sim_param_info(const struct fgs__ptx_func *f, size_t index,
                             size_t *offset, size_t *bytes);
/* Most threads of a block of it. */
uint32_t fgs__sim_max_threads(const struct fgs__sim_func *f);
/* Most shared memory of a block, static and dynamic. */
uint32_t fgs__sim_max_shared(const fgs_sim_config *cfg);
/* Most dynamic shared memory of a launch of a mode, 0 = the function's. */
uint32_t fgs__sim_max_dynamic(const struct fgs__sim_func *f, uint32_t mode);

/* Write what kernels have printed; print.c. */
void fgs__sim_print_flush(struct fgs__sim_ctx *ctx);
void fgs__sim_print_free(struct fgs__sim_ctx *ctx);
/* The memory that device code allocates from, at its first use; heap.c. */
CUresult fgs__sim_heap_make(struct fgs__sim_ctx *ctx);
void fgs__sim_heap_free(struct fgs__sim_ctx *ctx);

/* What a launch of the module finds behind its references: reference.h. */
CUresult fgs__sim_references_bind(const struct fgs__sim_module *m,
                                  struct fgs__sim_bound **out);
void fgs__sim_bound_free(const fgs_allocator *a, struct fgs__sim_bound *b);
/* The references of a module, NULL = all of the context. */
void fgs__sim_references_free(struct fgs__sim_ctx *ctx,
                              const struct fgs__sim_module *m);

#endif
