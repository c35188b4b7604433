/* bench.h -- the parts of `fgs bench sim`: measures, kernels, bounds */
#ifndef FGS_TOOL_BENCH_H
#define FGS_TOOL_BENCH_H

#include "tool.h"

/* What was asked for. */
struct bench_asked {
    uint64_t ms;      /* least time of a measurement                         */
    uint64_t repeat;  /* measurements of each; the best counts               */
    const char *only; /* one row, NULL = all                                 */
    bool json;
};

/* Of the best repetition: host seconds, CPU seconds of the process. */
struct bench_time {
    double wall, cpu;
};

/* Best of asked->repeat calls of once(cookie); false = a call failed. */
bool bench_time(const struct bench_asked *a, bool (*once)(void *), void *cookie,
                struct bench_time *best);
double bench_cpu_seconds(void); /* of the process */

/* -------------------------------------- bench_launch.c, bench_chain.c -- */

extern const char usage_bench_launch[], usage_bench_chain[];
int bench_launch_plan(int argc, char **argv);
int bench_chain(int argc, char **argv);

/* ------------------------------------------------------ bench_device.c -- */

/* The software device through fgs_sim_get_proc, one context. */
struct bench_device {
    void *ctx, *module, *kernel;
    unsigned long long in, out; /* device addresses                          */
    size_t bytes;               /* of each                                   */
    const char *what;           /* the call that failed                      */
    int code;                   /* its result                                */
    char log[600];
};

/* `threads` host threads, 0 = one a core.  Two buffers of `bytes`. */
bool bench_open(struct bench_device *d, uint32_t threads, size_t bytes);
bool bench_open_with(struct bench_device *d, uint32_t threads, size_t bytes,
                     const fgs_allocator *allocator);
/* SMs, blocks that fit on one, registers and shared bytes of a block of
 * `threads` of the kernel. */
bool bench_model(struct bench_device *d, unsigned threads, uint64_t *blocks,
                 uint64_t *bytes);
/* Allocate and free, without a look at the memory. */
bool bench_touch_nothing(struct bench_device *d, size_t bytes,
                         bool (*then)(void *), void *cookie);
bool bench_load(struct bench_device *d, const char *text, const char *entry);
void bench_unload(struct bench_device *d);
bool bench_launch(struct bench_device *d, unsigned blocks, unsigned threads,
                  uint32_t n);
bool bench_wait(struct bench_device *d);
void bench_close(struct bench_device *d);

/* ----------------------------------------------------- bench_kernels.c -- */

enum bench_bound {
    BOUND_NONE,
    BOUND_F32,  /* lane loops in C, fma and add                               */
    BOUND_INT,  /* lane loops in C, add, xor, shift                           */
    BOUND_COPY  /* memcpy                                                     */
};

/*
 * A kernel is a loop: `before`, then `n` times `body` and three instructions
 * that count, then `after`.  Thread-instructions are those of the loop alone,
 * counted in the text: one a semicolon, less `unused`, those of a round that a
 * thread does not execute on average (the other side of a branch).
 */
struct bench_kernel {
    const char *name, *what;
    const char *vars, *before, *body, *after;
    unsigned blocks, threads;
    double unused;
    double bytes; /* that a thread reads and writes in a round            */
    enum bench_bound bound;
    const char *version;   /* and target; NULL = PTX 7.0 for sm_80          */
};
extern const struct bench_kernel bench_kernels[];

/* The text, from malloc; NULL = no memory. */
char *bench_kernel_text(const struct bench_kernel *k);
double bench_kernel_instructions(const struct bench_kernel *k);
/* Run it for the time that was asked for; *count thread-instructions.  False:
 * d->what and d->log say why. */
bool bench_measure(const struct bench_asked *a, struct bench_device *d,
                   const struct bench_kernel *k, struct bench_time *t,
                   double *count);
/* Of each of the two buffers; the texts know it. */
enum { BENCH_BYTES = 64 << 20 };

/* ------------------------------------------------------- bench_bound.c -- */

/* Measured on one thread: lane operations or bytes a second. */
struct bench_bounds {
    double f32, integer; /* lane loops in C, operands in the first cache     */
    double peak;         /* fma in registers                                 */
    double copy;         /* memcpy of BENCH_BYTES: bytes read and written    */
    const char *vectors;
};
void bench_bounds(const struct bench_asked *a, struct bench_bounds *b);

/* ------------------------------------------------------ bench_report.c -- */

/* Seconds of a round of the guide's example, engine report; false = it does
 * not run, *why says why. */
struct bench_example {
    uint64_t tiles, rounds;
    double instructions, bytes; /* of a round                                 */
};
bool bench_example(const struct bench_asked *a, uint32_t threads,
                   struct bench_example *x, struct bench_time *t,
                   fgs_error *err);

/* ---------------------------------------------------- bench_handlers.c -- */

/* An instruction alone in a loop. */
struct bench_handler {
    const char *text;
    const char *why; /* it is slow, NULL = nothing is known                   */
    double rate; /* thread-instructions a CPU second                          */
};
/* All handlers that are measured, the slowest first, and the arithmetic loop
 * they are compared with.  NULL = one failed, d says why. */
const struct bench_handler *bench_handlers(const struct bench_asked *a,
                                           struct bench_device *d,
                                           size_t *count, double *loop);

/* Seconds of a launch: of each in a row of many, and with a wait for each. */
bool bench_launches(const struct bench_asked *a, struct bench_device *d,
                    double *each, double *waited);

/* ------------------------------------- bench_text.c, bench_memory.c -- */

/* Print how fast large texts are checked and loaded; how much memory resident
 * blocks take.  False = it could not be measured. */
bool bench_text_rows(const struct bench_asked *a, struct json *j);
bool bench_memory_row(const struct bench_asked *a, struct json *j);

/* ------------------------------------------------------- bench_cores.c -- */

/* By how much two host threads are faster than one, by the clock, medians of
 * pieces in turn: the device with the kernel of that name, and plain C or, if
 * the kernel's bound is that, memcpy, which have the cores that are really
 * there.  False = d says why. */
bool bench_cores_row(const struct bench_asked *a, const char *kernel,
                     double *device, double *host, struct bench_device *d);

/* ------------------------------------------------------- bench_retry.c -- */

int bench_retry(int argc, char **argv);

#endif
