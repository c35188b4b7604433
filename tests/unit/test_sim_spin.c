/* test_sim_spin.c -- loops of try_wait: which are a deadlock, which are not
 *
 * Each kernel has a block of two warps, the first of which waits for a barrier
 * of one arrival; what the loop looks at besides and who ends it is the row's.
 */
#include "sim_calls.h"

#include <fgs/fgs_sim.h>

enum { SEEDS = 5 };

#define KERNEL(name, loop, other)                                              \
    ".visible .entry " name "(.param .u64 p_word)\n{\n"                        \
    "    .shared .align 8 .b64 bar;\n    .shared .u32 n;\n"                    \
    "    .reg .pred %p, %q, %w;\n    .reg .u32 %t, %b, %k, %x;\n"              \
    "    .reg .u64 %d, %from, %now;\n"                                         \
    "    ld.param.u64 %d, [p_word];\n"                                         \
    "    mov.u32 %t, %tid.x;\n    mov.u32 %b, %ctaid.x;\n"                     \
    "    setp.eq.u32 %q, %t, 0;\n"                                             \
    "    @%q mbarrier.init.shared::cta.b64 [bar], 1;\n"                        \
    "    @%q st.shared::cta.u32 [n], 0;\n"                                     \
    "    bar.sync 0;\n    mov.u32 %k, 0;\n"                                    \
    "    mov.u64 %from, %globaltimer;\n"                                       \
    "    setp.ge.u32 %w, %t, 32;\n    @%w bra L_other;\n"                      \
    "L_try:\n"                                                                 \
    "    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], 0;\n" \
    "    @%p bra L_end;\n" loop                                                \
    "    bra L_try;\n"                                                         \
    "L_other:\n" other                                                         \
    "L_end:\n    ret;\n}\n"

#define ARRIVE                                                                 \
    "    setp.eq.u32 %q, %t, 32;\n"                                            \
    "    @%q mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n"

static const struct row {
    const char *name, *text;
    unsigned blocks;
    bool ends;
} rows[] = {
    /* nobody arrives; the second warp has ended, or waits at a barrier */
    { "alone", KERNEL("alone", "", ""), 2, false },
    { "parked", KERNEL("parked", "", "    bar.sync 1, 64;\n"), 1, false },
    { "stop", KERNEL("stop", "    ld.relaxed.cta.shared::cta.u32 %x, [n];\n"
                             "    setp.ne.u32 %q, %x, 0;\n"
                             "    @%q bra L_end;\n", ""), 3, false },
    /* somebody is late */
    { "asleep", KERNEL("asleep", "",
                       "L_nap:\n    nanosleep.u32 500000;\n"
                       "    add.u32 %k, %k, 1;\n"
                       "    setp.lt.u32 %q, %k, 8;\n    @%q bra L_nap;\n"
                       ARRIVE), 2, true },
    { "busy", KERNEL("busy", "",
                     "L_add:\n    add.u32 %k, %k, 1;\n"
                     "    setp.lt.u32 %q, %k, 400000;\n    @%q bra L_add;\n"
                     ARRIVE), 2, true },
    { "awake", KERNEL("awake", "",
                      "L_poll:\n    ld.relaxed.gpu.global.u32 %x, [%d];\n"
                      "    mov.u64 %now, %globaltimer;\n"
                      "    sub.u64 %now, %now, %from;\n"
                      "    setp.lt.u64 %q, %now, 900000;\n    @%q bra L_poll;\n"
                      ARRIVE), 2, true },
    /* the loop ends itself: tries in a register, in memory, the time */
    { "counts", KERNEL("counts", "    add.u32 %k, %k, 1;\n"
                                 "    setp.ge.u32 %q, %k, 3000;\n"
                                 "    @%q bra L_end;\n", ""), 2, true },
    { "stores", KERNEL("stores", "    ld.shared::cta.u32 %k, [n];\n"
                                 "    add.u32 %k, %k, 1;\n"
                                 "    st.shared::cta.u32 [n], %k;\n"
                                 "    mov.u32 %x, %k;\n    mov.u32 %k, 0;\n"
                                 "    setp.ge.u32 %q, %x, 3000;\n"
                                 "    mov.u32 %x, 0;\n"
                                 "    @%q bra L_end;\n", ""), 2, true },
    { "clock", KERNEL("clock", "    mov.u64 %now, %globaltimer;\n"
                               "    sub.u64 %now, %now, %from;\n"
                               "    setp.gt.u64 %q, %now, 4000000;\n"
                               "    mov.u64 %now, 0;\n"
                               "    @%q bra L_end;\n", ""), 2, true },
    /* another block ends it by a word in global memory: the last one, whose
     * first warp gives up in time */
    { "word", KERNEL("word", "    ld.relaxed.gpu.global.u32 %x, [%d];\n"
                             "    setp.ne.u32 %q, %x, 0;\n"
                             "    @%q bra L_end;\n"
                             "    setp.eq.u32 %q, %b, 0;\n"
                             "    @%q bra L_try;\n"
                             "    mov.u64 %now, %globaltimer;\n"
                             "    sub.u64 %now, %now, %from;\n"
                             "    setp.lt.u64 %q, %now, 3000000;\n"
                             "    @%q bra L_try;\n"
                             "    st.relaxed.gpu.global.u32 [%d], 1;\n", ""),
      2, true },
};

static char *text_of(const struct row *r)
{
    size_t size = strlen(r->text) + 100;
    char *text = malloc(size);

    assert_non_null(text);
    snprintf(text, size, ".version 8.6\n.target sm_90\n.address_size 64\n%s",
             r->text);
    return text;
}

static void run(const struct row *r, const fgs_sim_config *cfg)
{
    char *text = text_of(r);
    struct sim s = sim_open(cfg, text);
    CUdeviceptr word = sim_alloc(4);
    void *params[] = { &word };
    CUlaunchConfig c = { r->blocks, 1, 1, 64, 1, 1, 0, NULL, NULL, 0 };
    CUresult cu;

    OK(cuMemsetD32(word, 0, 1));
    OK(cuLaunchKernelEx(&c, sim_func(&s, r->name), params, NULL));
    cu = fgs__sim_cuCtxSynchronize();
    if (r->ends && cu)
        fail_msg("%s, seed %u: %s", r->name, (unsigned)cfg->seed,
                 fgs_sim_last_fault());
    if (!r->ends) {
        if (!strstr(fgs_sim_last_fault(), "deadlock: all ") ||
            !strstr(fgs_sim_last_fault(), "lacks 1 of 1 arrivals and 0 bytes"))
            fail_msg("%s: %d, %s", r->name, (int)cu, fgs_sim_last_fault());
        assert_int_equal(cu, CUDA_ERROR_LAUNCH_FAILED);
    }
    sim_close(&s);
    free(text);
}

static void only_what_nothing_can_end_is_a_deadlock(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (unsigned seed = 1; seed <= SEEDS; seed++) {
            cfg.seed = seed;
            cfg.threads = 1 + seed % 2;
            run(&rows[i], &cfg);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_nothing_can_end_is_a_deadlock),
    };

    return cmocka_run_group_tests_name("sim_spin", tests, NULL, NULL);
}
