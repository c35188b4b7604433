/* sim_calls.h -- calls of the software device, and kernels that tests share */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H

#include "base/compat.h"
#include "counting.h"
#include "sim/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* A call of an entry point and its result. */
#define CU(call, result) assert_int_equal(fgs__sim_##call, CUDA_##result)
#define OK(call)         CU(call, SUCCESS)
#define COUNT(a)         (sizeof(a) / sizeof((a)[0]))

#define HEAD                                                                   \
    ".version 9.4\n.target sm_107a\n.address_size 64\n"

/* Stamps of a block: out[2b] = its start, out[2b+1] = its end, ns.  It lasts
 * p_run ns; p_early: trigger at once; p_wait: griddepcontrol.wait first. */
#define STAMP                                                                  \
    ".visible .entry stamp(.param .u64 p_out, .param .u64 p_run,\n"            \
    "    .param .u64 p_early, .param .u64 p_wait)\n{\n"                        \
    "    .reg .u64 %out, %start, %now, %run, %early, %wait, %span;\n"          \
    "    .reg .u32 %block, %nap;\n    .reg .pred %p;\n"                        \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    ld.param.u64 %run, [p_run];\n"                                        \
    "    ld.param.u64 %early, [p_early];\n"                                    \
    "    ld.param.u64 %wait, [p_wait];\n"                                      \
    "    mov.u32 %block, %ctaid.x;\n"                                          \
    "    mad.wide.u32 %out, %block, 16, %out;\n"                               \
    "    shr.u64 %now, %run, 8;\n"                                             \
    "    add.u64 %now, %now, 100;\n"                                           \
    "    min.u64 %now, %now, 1000000;\n"                                       \
    "    cvt.u32.u64 %nap, %now;\n"                                            \
    "    mov.u64 %start, %globaltimer;\n"                                      \
    "    setp.eq.u64 %p, %early, 0;\n"                                         \
    "    @%p bra L_loop;\n"                                                    \
    "    griddepcontrol.launch_dependents;\n"                                  \
    "L_loop:\n"                                                                \
    "    mov.u64 %now, %globaltimer;\n"                                        \
    "    sub.u64 %span, %now, %start;\n"                                       \
    "    setp.ge.u64 %p, %span, %run;\n"                                       \
    "    @%p bra L_done;\n"                                                    \
    "    nanosleep.u32 %nap;\n"                                                \
    "    bra L_loop;\n"                                                        \
    "L_done:\n"                                                                \
    "    setp.eq.u64 %p, %wait, 0;\n"                                          \
    "    @%p bra L_store;\n"                                                   \
    "    griddepcontrol.wait;\n"                                               \
    "L_store:\n"                                                               \
    "    mov.u64 %now, %globaltimer;\n"                                        \
    "    st.global.u64 [%out], %start;\n"                                      \
    "    st.global.u64 [%out+8], %now;\n"                                      \
    "    ret;\n}\n"

/* x = x * mul + add for one word a thread. */
#define AFFINE                                                                 \
    ".visible .entry affine(.param .u64 p_x, .param .u32 p_mul,\n"             \
    "    .param .u32 p_add)\n{\n"                                              \
    "    .reg .u64 %x;\n    .reg .u32 %v, %mul, %add, %i, %n, %t;\n"           \
    "    ld.param.u64 %x, [p_x];\n"                                            \
    "    ld.param.u32 %mul, [p_mul];\n"                                        \
    "    ld.param.u32 %add, [p_add];\n"                                        \
    "    mov.u32 %i, %ctaid.x;\n"                                              \
    "    mov.u32 %n, %ntid.x;\n"                                               \
    "    mov.u32 %t, %tid.x;\n"                                                \
    "    mad.lo.u32 %i, %i, %n, %t;\n"                                         \
    "    mad.wide.u32 %x, %i, 4, %x;\n"                                        \
    "    ld.global.u32 %v, [%x];\n"                                            \
    "    mad.lo.u32 %v, %v, %mul, %add;\n"                                     \
    "    st.global.u32 [%x], %v;\n"                                            \
    "    ret;\n}\n"

/* Every thread of every block stores to one address. */
#define POKE                                                                   \
    ".visible .entry poke(.param .u64 p_x)\n{\n"                               \
    "    .reg .u64 %x;\n"                                                      \
    "    ld.param.u64 %x, [p_x];\n"                                            \
    "    st.global.u32 [%x], 7;\n"                                             \
    "    ret;\n}\n"

static inline fgs_sim_config sim_config(void)
{
    fgs_sim_config cfg;

    assert_int_equal(fgs_sim_config_get(&cfg, NULL), FGS_OK);
    return cfg;
}

/* A test that failed may have left its contexts. */
static inline void sim_clean(void)
{
    CUcontext ctx = NULL;

    while (!fgs__sim_cuCtxGetCurrent(&ctx) && ctx) {
        if (fgs__sim_cuCtxDestroy(ctx))
            fgs__sim_cuCtxPopCurrent(NULL);
    }
}

static inline void sim_configure(const fgs_sim_config *cfg)
{
    sim_clean();
    assert_int_equal(fgs_sim_config_set(cfg, NULL), FGS_OK);
}

/* A context with one module, current on this thread. */
struct sim {
    CUcontext ctx;
    CUmodule module;
};

static inline struct sim sim_open(const fgs_sim_config *cfg, const char *text)
{
    struct sim s = { NULL, NULL };

    OK(cuInit(0));
    sim_configure(cfg);
    OK(cuCtxCreate(&s.ctx, 0, 0));
    if (text)
        OK(cuModuleLoadData(&s.module, text));
    return s;
}

static inline void sim_close(struct sim *s)
{
    OK(cuCtxDestroy(s->ctx));
}

static inline CUfunction sim_func(const struct sim *s, const char *name)
{
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, s->module, name));
    return f;
}

static inline CUdeviceptr sim_alloc(size_t bytes)
{
    CUdeviceptr p = 0;

    OK(cuMemAlloc(&p, bytes));
    return p;
}

static inline CUresult sim_launch(CUfunction f, uint32_t blocks,
                                  uint32_t threads, CUstream stream, int pdl,
                                  void **params)
{
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig config = { blocks, 1, 1,      threads, 1,
                              1,      0, stream, &attr,   pdl ? 1 : 0 };

    attr.value.programmaticStreamSerializationAllowed = 1;
    return fgs__sim_cuLaunchKernelEx(&config, f, params, NULL);
}

/* Launch `stamp`; blocks write at out. */
static inline void sim_stamp(CUfunction f, uint32_t blocks, uint32_t threads,
                             CUstream stream, int pdl, CUdeviceptr out,
                             uint64_t run_ns, uint64_t early, uint64_t wait)
{
    void *params[] = { &out, &run_ns, &early, &wait };

    assert_int_equal(sim_launch(f, blocks, threads, stream, pdl, params), 0);
}

static inline void sim_affine(CUfunction f, uint32_t blocks, uint32_t threads,
                              CUstream stream, int pdl, CUdeviceptr x,
                              uint32_t mul, uint32_t add)
{
    void *params[] = { &x, &mul, &add };

    assert_int_equal(sim_launch(f, blocks, threads, stream, pdl, params), 0);
}

/* A device whose allocations are counted, with a context. */
static inline struct sim sim_counted(struct counting *c, fgs_allocator *a)
{
    fgs_sim_config cfg = sim_config();

    sim_clean();
    *a = counting_allocator(c);
    cfg.allocator = a;
    return sim_open(&cfg, NULL);
}

/* Its end: nothing of it is left. */
static inline void sim_counted_end(const struct counting *c)
{
    fgs_sim_config cfg = sim_config();

    sim_clean();
    assert_int_equal(c->live, 0);
    sim_configure(&cfg);
}

/* `call` with its n-th allocation failing, for each n up to the one at which it
 * succeeds: at least `least`.  A failed call leaves nothing but, once, a table
 * of handles that grew. */
static inline void sim_fail_each(struct counting *c, CUresult (*call)(void *),
                                 void *arg, long least)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    long n;

    for (n = 1; r == CUDA_ERROR_OUT_OF_MEMORY; n++) {
        long live = c->live;

        atomic_store(&c->calls, 0);
        c->at = n;
        r = call(arg);
        c->at = 0;
        if (r)
            assert_in_range(c->live - live, 0, 1);
    }
    assert_int_equal(r, CUDA_SUCCESS);
    assert_true(n > least);
}

#endif
