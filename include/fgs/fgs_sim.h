/* fgs_sim.h -- the software device: knobs and entry points
 *
 * A CUDA device on the CPU, of compute capability 10.7 or any other one from
 * 7.5 on, behind the driver API.
 * Most programs reach it through fgs_device_open(provider = "sim"); this
 * header is for tools and tests that turn its knobs or call cu* directly.  It
 * may change before 1.0.
 */
#ifndef FGS_SIM_H
#define FGS_SIM_H

#include <fgs/fgs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which element of a 16-byte chunk a SAMPLED mechanism looks at (the ISA
 * leaves it open: a correct program is right under all of them). */
typedef enum fgs_sim_sample {
    FGS_SIM_SAMPLE_RANDOM = 0,
    FGS_SIM_SAMPLE_FIRST,
    FGS_SIM_SAMPLE_LAST,
    FGS_SIM_SAMPLE_ALL
} fgs_sim_sample;

/* Every knob as one row: member, type, environment variable, default, least,
 * most, meaning.  A default below the least is good too. */
#define FGS_SIM_KNOBS(X)                                                       \
    X(seed, uint64_t, "FGS_SIM_SEED", 1, 0, UINT64_MAX,                        \
      "seed of all choices that the ISA leaves open")                          \
    X(sms, uint32_t, "FGS_SIM_SMS", 16, 1, 1024,                               \
      "streaming multiprocessors")                                             \
    X(threads, uint32_t, "FGS_SIM_THREADS", 0, 0, 256,                         \
      "host threads; 0 = one a core; with 1 a run can be repeated exactly")    \
    X(mode, uint32_t, "FGS_SIM_MODE", 0, 0, 1,                                 \
      "0 fast; 1 check: one host thread, and warps, blocks and parts of a "    \
      "diverged warp take much shorter turns")                                 \
    X(sample, uint32_t, "FGS_SIM_SAMPLE", 0, 0, 3,                             \
      "sampled element: 0 random, 1 first, 2 last, 3 all")                     \
    X(overlap, uint32_t, "FGS_SIM_OVERLAP", 1, 0, 1,                           \
      "0 = a grid never starts before the one it depends on has ended")        \
    X(early_event, uint32_t, "FGS_SIM_EARLY_EVENT", 0, 0, 1,                   \
      "a programmatic event outside a graph fires 1 when its kernel triggers, "\
      "0 when that has ended")                                                 \
    X(memory, uint64_t, "FGS_SIM_MEMORY", 16ull << 30, 1u << 20, 1ull << 40,   \
      "device memory, bytes; committed when touched")                          \
    X(cc, uint32_t, "FGS_SIM_CC", 107, 75, 121,                                \
      "compute capability times ten; what that lacks is refused")              \
    X(limit, uint64_t, "FGS_SIM_LIMIT", 0, 0, UINT64_MAX,                      \
      "warp instructions of a block until it faults; 0 = no limit")            \
    X(sm_threads, uint32_t, "FGS_SIM_SM_THREADS", 0, 32, 65536,                \
      "resident threads of an SM; 0 = those of cc")                            \
    X(sm_blocks, uint32_t, "FGS_SIM_SM_BLOCKS", 0, 1, 1024,                    \
      "resident blocks of an SM; 0 = those of cc")                             \
    X(sm_registers, uint32_t, "FGS_SIM_SM_REGISTERS", 65536, 1024, 1u << 24,   \
      "32-bit registers of an SM")                                             \
    X(sm_shared, uint32_t, "FGS_SIM_SM_SHARED", 0, 1024, 1u << 24,             \
      "shared memory of an SM, bytes; 0 = that of cc")                         \
    X(stuck_ns, uint64_t, "FGS_SIM_STUCK_NS", 0, 0, UINT64_MAX / 1000,         \
      "device time, ns, that all threads of a block may wait where a bound "   \
      "in time, or a word in global memory, alone can end it; 0 = any time")   \
    X(copy_ns, uint32_t, "FGS_SIM_COPY_NS", 600, 1, 1000000,                   \
      "least device time between issue and end of a bulk copy, ns")            \
    X(vectors, uint32_t, "FGS_SIM_VECTORS", 0, 0, 3,                           \
      "widest vectors of the host: 0 all it has, 1 portable, 2 AVX2, 3 AVX-512")

typedef struct fgs_sim_config {
    size_t size; /* sizeof(fgs_sim_config) */
#define FGS_SIM_MEMBER(name, type, env, def, lo, hi, text) type name;
    FGS_SIM_KNOBS(FGS_SIM_MEMBER)
#undef FGS_SIM_MEMBER
    const fgs_allocator *allocator; /* NULL = malloc; copied               */
} fgs_sim_config;

/* Defaults, then the environment on top.  FGS_E_INVAL names a variable whose
 * value is no number or out of range. */
FGS_API fgs_result fgs_sim_config_get(fgs_sim_config *cfg, fgs_error *err);

/*
 * Replace the configuration.  FGS_E_BUSY while any context of the software
 * device is alive.  Threads: setup.
 */
FGS_API fgs_result fgs_sim_config_set(const fgs_sim_config *cfg,
                                      fgs_error *err);

/*
 * The software device's entry point of a driver name ("cuInit",
 * "cuMemAlloc_v2"), NULL when no driver has it.  Entry points that this
 * device does not have return CUDA_ERROR_NOT_SUPPORTED.  Threads: any.
 */
FGS_API void *fgs_sim_get_proc(const char *name);

/*
 * The i-th symbol of the driver API, NULL past the last one; *present is 0
 * for one that answers CUDA_ERROR_NOT_SUPPORTED.  Threads: any.
 */
FGS_API const char *fgs_sim_symbol(size_t i, int *present);

/*
 * The last fault of the calling process's software device as a sentence:
 * kernel, PTX line, block, thread and rule; or the knob that a launch was
 * refused for (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES).  "" when there was none.
 * Owner: static, overwritten by the next fault.
 */
FGS_API const char *fgs_sim_last_fault(void);

/*
 * Write what the device runs, and when, to a file that Perfetto and
 * chrome://tracing open; FGS_SIM_TRACE=path does so from cuInit on.
 *
 * path  is replaced; its first "%p" stands for the process's id.  NULL ends the
 *       trace, as exit() does, behind what has ended by then
 *
 * Format: an array of JSON objects, one a line; without its end after a crash
 * or _exit().  A process is a device, from boot to halt; a thread one of the
 * blocks that an SM has at a time, or a stream.  "ts" and "dur" are us of
 * device time, as %globaltimer has it, to the ns.  A block is an "X" of
 * category "block" with its "grid", "stream" (cuStreamGetId), "block",
 * "ctaid" and "cluster_rank", a copy, fill or host function one of category
 * "stream", a grid a "b" and an "e" of category "grid".  What a fault stopped
 * is marked "stopped".  Blocks that were canceled have no event.  The order of
 * lines is open.
 *
 * FGS_E_BUSY  there is a trace already
 * FGS_E_SIZE  the path has 1024 bytes or more
 * FGS_E_FILE  the file cannot be written, or another process writes its trace
 *             there; at the end: something could not be written, and nothing
 *             was from there on
 *
 * cuInit returns CUDA_ERROR_OPERATING_SYSTEM for a variable's file that it
 * cannot write, fgs_sim_last_fault() says why.  A trace that this call began
 * before comes first.  A forked child has none.
 *
 * Owner: path stays the caller's.  Threads: any.
 */
FGS_API fgs_result fgs_sim_trace(const char *path, fgs_error *err);

#ifdef __cplusplus
}
#endif
#endif /* FGS_SIM_H */
