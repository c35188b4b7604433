/* test_sim_spin.c -- loops of try_wait: which are a deadlock, which are not
 *
 * Each kernel has a block of two warps, the first of which waits for a barrier
 * of one arrival; what the loop looks at besides and who ends it is the row's.
 */
#include "sim_calls.h"

#include <fgs/fgs_sim.h>

enum { SEEDS = 5 };

#define TRY                                                                    \
    "    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], 0;\n" \
    "    @%p bra L_end;\n"
#define ARRIVE_ONE                                                             \
    "    mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n"

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
    "L_try:\n" TRY loop                                                        \
    "    bra L_try;\n"                                                         \
    "L_other:\n" other                                                         \
    "L_end:\n    ret;\n}\n"

#define ARRIVE                                                                 \
    "    setp.eq.u32 %q, %t, 32;\n    @!%q bra L_end;\n" ARRIVE_ONE

#define ADD "    add.u32 %x, %t, 0;\n"

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
    /* ... the tries of one lane, at three places, with turns shorter and longer
     * than those of the other lanes: it may be late for theirs */
    { "unrolled", KERNEL("unrolled",
                         "    @%q bra L_one;\n" ADD ADD ADD ADD
                         "    bra L_try;\n"
                         "L_one:\n" TRY TRY
                         "    add.u32 %k, %k, 3;\n"
                         ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
                         "    setp.lt.u32 %w, %k, 3000;\n"
                         "    @%w bra L_try;\n"
                         ARRIVE_ONE "    bra L_end;\n", ""), 2, true },
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
    /* ... which stays in a register, as compilers have it */
    { "keeps", KERNEL("keeps", "    mov.u64 %now, %globaltimer;\n"
                               "    sub.u64 %now, %now, %from;\n"
                               "    setp.lt.u64 %q, %now, 4000000;\n"
                               "    @!%q bra L_end;\n", ""), 2, true },
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

/* `told`: words of the fault, NULL = the kernel ends. */
static void run(const struct row *r, const fgs_sim_config *cfg,
                const char *told)
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
    if (!told && cu)
        fail_msg("%s, seed %u: %s", r->name, (unsigned)cfg->seed,
                 fgs_sim_last_fault());
    if (told) {
        if (!strstr(fgs_sim_last_fault(), told) ||
            !strstr(fgs_sim_last_fault(), "lacks 1 of 1 arrivals and 0 bytes"))
            fail_msg("%s: %d, %s", r->name, (int)cu, fgs_sim_last_fault());
        assert_int_equal(cu, *told == 'd' ? CUDA_ERROR_LAUNCH_FAILED
                                          : CUDA_ERROR_LAUNCH_TIMEOUT);
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
            run(&rows[i], &cfg, rows[i].ends ? NULL : "deadlock: all ");
        }
}

/* With FGS_SIM_STUCK_NS what a bound or a word in global memory alone can end
 * is told, sooner than it ends; what is alive is not, however slow. */
static void only_what_is_stuck_so_long_is_told(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (unsigned seed = 1; seed <= SEEDS; seed++) {
            bool bound = !strcmp(rows[i].name, "clock") ||
                !strcmp(rows[i].name, "keeps") ||
                !strcmp(rows[i].name, "word");
            const char *told = rows[i].ends ? NULL : "deadlock: all ";

            cfg.seed = seed;
            cfg.stuck_ns = 300000;
            run(&rows[i], &cfg, bound ? "stuck: all " : told);
            cfg.stuck_ns = 9000000; /* they end in 4 ms */
            run(&rows[i], &cfg, told);
        }
}

/* The second block of a cluster waits for an arrival of the first, which comes
 * late, by a nap or by polls, or never. */
static const char pair_text[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n"
    ".visible .entry pair(.param .u64 p_how)\n.reqnctapercluster 2, 1, 1\n{\n"
    "    .shared .align 8 .b64 bar;\n"
    "    .reg .pred %p, %q;\n    .reg .u32 %t, %k, %s, %r;\n"
    "    .reg .u64 %how, %from, %now;\n"
    "    ld.param.u64 %how, [p_how];\n    mov.u32 %t, %tid.x;\n"
    "    mov.u32 %r, %cluster_ctarank;\n    mov.u32 %s, bar;\n"
    "    mapa.shared::cluster.u32 %s, %s, 1;\n"
    "    setp.eq.u32 %q, %t, 0;\n"
    "    @%q mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "    barrier.cluster.arrive.release;\n    barrier.cluster.wait.acquire;\n"
    "    setp.eq.u32 %p, %r, 1;\n    @%p bra L_try;\n"
    "    setp.eq.u64 %p, %how, 0;\n    @%p bra L_end;\n"
    "    mov.u64 %from, %globaltimer;\n"
    "L_late:\n    setp.eq.u64 %p, %how, 1;\n    @%p nanosleep.u32 500000;\n"
    "    mov.u64 %now, %globaltimer;\n    sub.u64 %now, %now, %from;\n"
    "    setp.lt.u64 %p, %now, 3000000;\n    @%p bra L_late;\n"
    "    @%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%s];\n"
    "    bra L_end;\n"
    "L_try:\n"
    "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64\n"
    "        %p, [bar], 0;\n"
    "    @!%p bra L_try;\n"
    "L_end:\n"
    "    barrier.cluster.arrive.release;\n    barrier.cluster.wait.acquire;\n"
    "    ret;\n}\n";

static void block_that_its_peer_forgets_is_told(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.stuck_ns = 300000;
    for (unsigned seed = 1; seed <= SEEDS; seed++)
        for (uint64_t how = 0; how < 3; how++) {
            struct sim s;
            void *params[] = { &how };
            CUlaunchConfig c = { 4, 1, 1, 64, 1, 1, 0, NULL, NULL, 0 };
            const char *text;
            CUresult cu;

            cfg.seed = seed;
            cfg.threads = 1 + seed % 2;
            s = sim_open(&cfg, pair_text);
            OK(cuLaunchKernelEx(&c, sim_func(&s, "pair"), params, NULL));
            cu = fgs__sim_cuCtxSynchronize();
            if (how && cu)
                fail_msg("%s", fgs_sim_last_fault());
            text = fgs_sim_last_fault();
            if (!how && (cu != CUDA_ERROR_LAUNCH_FAILED ||
                         !strstr(text, "deadlock: all ") ||
                         !strstr(text, "lacks 1 of 1 arrivals") ||
                         !strstr(text, "of the cluster all wait")))
                fail_msg("%d: %s", (int)cu, text);
            sim_close(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_nothing_can_end_is_a_deadlock),
        cmocka_unit_test(only_what_is_stuck_so_long_is_told),
        cmocka_unit_test(block_that_its_peer_forgets_is_told),
    };

    return cmocka_run_group_tests_name("sim_spin", tests, NULL, NULL);
}
