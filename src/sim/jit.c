/* jit.c -- options of a load or a link
 *
 * Which values are refused, and with what, was seen on an H200 (driver 580).
 * There is no compiler behind them here: an option that only steers one is
 * taken and has no effect.
 */
#include "sim/jit.h"
#include "ptx/target.h"

enum {
    ACCELERATED = 0x10000, FAMILY = 0x20000, /* bases of CUjit_target        */
    LEAST_REGS = 24, MOST_REGS = 255
};

static bool find_target(uint64_t v, struct fgs__target *t)
{
    char name[24];
    int n;

    n = snprintf(name, sizeof name, "sm_%u%s", (unsigned)(v & 0xffff),
                 v & ACCELERATED ? "a" : v & FAMILY ? "f" : "");
    return v < FAMILY + ACCELERATED && fgs__target_find(name, (size_t)n, t);
}

/* Code of the same major revision runs, if it is not for a later device. */
static CUresult check_target(uint64_t v)
{
    struct fgs__target t;

    if (!find_target(v, &t))
        return CUDA_ERROR_INVALID_VALUE;
    return t.cc / 10 == fgs__sim_cc() / 10 && fgs__sim_runs(t.cc, t.suffix)
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_SOURCE;
}

static void read_regs(struct fgs__sim_jit *j, uint32_t n)
{
    if (n > MOST_REGS)
        fgs__sim_log_line(&j->info, "ptxas warning : Too big maxrregcount "
                          "value specified %d, will be ignored\n", (int)n);
    else if (n < LEAST_REGS)
        fgs__sim_log_line(&j->info, "ptxas warning : For profile sm_%d "
                          "adjusting per thread register count of %u to "
                          "lower bound of %d\n", fgs__sim_cc(), n, LEAST_REGS);
    j->max_regs = n > MOST_REGS ? 0 : n < LEAST_REGS ? LEAST_REGS : n;
}

/* What depends on the value alone. */
static CUresult read_one(struct fgs__sim_jit *j, CUjit_option option, void **at)
{
    uintptr_t v = (uintptr_t)*at;

    switch (option) {
    case CU_JIT_INFO_LOG_BUFFER:
    case CU_JIT_ERROR_LOG_BUFFER:
        (option == CU_JIT_INFO_LOG_BUFFER ? &j->info : &j->error)->text = *at;
        return v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        j->info.size = (uint32_t)v;
        j->info_size = at;
        return CUDA_SUCCESS;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        j->error.size = (uint32_t)v;
        j->error_size = at;
        return CUDA_SUCCESS;
    case CU_JIT_WALL_TIME:
        j->wall = at;
        return CUDA_SUCCESS;
    case CU_JIT_THREADS_PER_BLOCK:
        j->block = at;
        j->threads = v < FGS__SIM_MAX_BLOCK ? (uint32_t)(v + 31) / 32 * 32
                                            : FGS__SIM_MAX_BLOCK;
        return v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_MAX_REGISTERS:
        return (uint32_t)v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_TARGET:
        return check_target(v);
    case CU_JIT_OVERRIDE_DIRECTIVE_VALUES:
        j->override = (uint32_t)v;
        return CUDA_SUCCESS;
    case CU_JIT_LOG_VERBOSE:
        j->verbose = (uint32_t)v;
        return CUDA_SUCCESS;
    case CU_JIT_CACHE_MODE:
        return (uint32_t)v <= CU_JIT_CACHE_OPTION_CA
                   ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_REFERENCED_KERNEL_NAMES:
    case CU_JIT_REFERENCED_VARIABLE_NAMES:
        return v ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_GLOBAL_SYMBOL_NAMES: /* a host's addresses in device code */
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
    case CU_JIT_GLOBAL_SYMBOL_COUNT:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        return option <= CU_JIT_BINARY_LOADER_THREAD_COUNT
                   ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
}

static void start_log(struct fgs__sim_log *log)
{
    if (!log->size)
        log->text = NULL;
    if (log->text)
        log->text[0] = '\0';
}

/* What the assembler itself refuses, with a line in the log.  cuda.h speaks of
 * optimization levels 0 to 4, but ptxas -O9 assembles; it stops at what is no
 * 32-bit integer. */
static CUresult read_late(struct fgs__sim_jit *j, CUjit_option option,
                          uintptr_t v)
{
    if (option == CU_JIT_MAX_REGISTERS)
        read_regs(j, (uint32_t)v);
    if (option == CU_JIT_NEW_SM3X_OPT)
        fgs__sim_log_line(&j->error, "ptxas fatal   : Unknown option "
                          "'-new-sm3x-opt'\n");
    else if (option == CU_JIT_OPTIMIZATION_LEVEL && (uint32_t)v > INT32_MAX)
        fgs__sim_log_line(&j->error, "ptxas fatal   : 32-bit integer value "
                          "(%u) out of range\n", (unsigned)v);
    else
        return CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_PTX;
}

CUresult fgs__sim_jit_read(struct fgs__sim_jit *j, unsigned int count,
                           const CUjit_option *options, void **values)
{
    CUresult r = CUDA_SUCCESS;
    bool target = false;

    memset(j, 0, sizeof *j);
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count && !r; i++) {
        r = read_one(j, options[i], &values[i]);
        target |= options[i] == CU_JIT_TARGET;
    }
    if (target && j->block)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r)
        return r;
    start_log(&j->error);
    start_log(&j->info);
    for (unsigned int i = 0; i < count && !r; i++)
        r = read_late(j, options[i], (uintptr_t)values[i]);
    if (r)
        fgs__sim_jit_write(j);
    return r;
}

/* The last line has no end; a log that was too small counts as full. */
static void write_log(struct fgs__sim_log *log, void **size)
{
    size_t n = log->used;

    if (n && log->text[n - 1] == '\n' && !log->cut)
        log->text[--n] = '\0';
    if (size)
        *size = (void *)(uintptr_t)(log->cut ? log->size : n);
}

void fgs__sim_jit_write(struct fgs__sim_jit *j)
{
    write_log(&j->error, j->error_size);
    write_log(&j->info, j->info_size);
    if (j->block)
        *j->block = (void *)(uintptr_t)j->threads;
    if (j->wall) /* milliseconds as a float; no compiler ran */
        *j->wall = NULL;
}

void fgs__sim_jit_describe(struct fgs__sim_jit *j,
                           const struct fgs__sim_module *m)
{
    for (uint32_t k = 0; j->verbose && k < m->funcs; k++) {
        const struct fgs__sim_code *c = m->func[k].code;

        fgs__sim_log_line(&j->info, "ptxas info    : Compiling entry function "
                          "'%s' for 'sm_%d'\nptxas info    : Used %u "
                          "registers, %u bytes smem, %u bytes lmem\n",
                          m->func[k].func->name, fgs__sim_cc(), c->regs,
                          c->shared_bytes, c->local_bytes);
    }
}
