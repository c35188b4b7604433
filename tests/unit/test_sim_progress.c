/* test_sim_progress.c -- programs whose threads wait for each other
 *
 * Each runs on one SM with one host thread and on eight SMs with two.  The
 * environment variable FGS_TEST_SEEDS says over how many seeds (default 5).
 *
 * TSAN: blocks of two grids hand data to each other.
 */
#include "sim_calls.h"
#include <stdlib.h>

static int seeds(void)
{
    const char *text = getenv("FGS_TEST_SEEDS");

    return text ? atoi(text) : 5;
}

/* `run` on both devices with each seed. */
static void over_seeds(const char *what,
                       void (*run)(const fgs_sim_config *cfg))
{
    fgs_sim_config cfg = sim_config();
    int runs = 0;

    for (int seed = 1; seed <= seeds(); seed++) {
        cfg.seed = (uint64_t)seed;
        cfg.sms = 1;
        cfg.threads = 1;
        run(&cfg);
        cfg.sms = 8;
        cfg.threads = 2;
        run(&cfg);
        runs += 2;
    }
    printf("%s: %d runs, %d seeds\n", what, runs, seeds());
}

/* ------------------------------------------------------------------ ring -- */

/* A token goes round the cluster p_rounds times: each block waits on its
 * barrier, adds its rank + 1 to the word that lies beside it, writes that into
 * the next block and arrives at the barrier there. */
#define RING                                                                   \
    ".visible .entry ring(.param .u64 p_out, .param .u32 p_rounds)\n{\n"       \
    "    .shared .align 8 .b64 s_bar;\n    .shared .u32 s_word;\n"             \
    "    .reg .u64 %out, %at, %st;\n"                                          \
    "    .reg .u32 %rank, %size, %next, %bar, %word, %v, %k, %n, %par;\n"     \
    "    .reg .u32 %id;\n"                                                    \
    "    .reg .pred %p, %first;\n"                                             \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    ld.param.u32 %n, [p_rounds];\n"                                       \
    "    mov.u32 %rank, %cluster_ctarank;\n"                                   \
    "    mov.u32 %size, %cluster_nctarank;\n"                                  \
    "    mbarrier.init.shared::cta.b64 [s_bar], 1;\n"                          \
    "    fence.mbarrier_init.release.cluster;\n"                               \
    "    barrier.cluster.arrive.release;\n"                                    \
    "    barrier.cluster.wait.acquire;\n"                                      \
    "    add.u32 %next, %rank, 1;\n"                                           \
    "    rem.u32 %next, %next, %size;\n"                                       \
    "    mapa.shared::cluster.u32 %bar, s_bar, %next;\n"                       \
    "    mapa.shared::cluster.u32 %word, s_word, %next;\n"                     \
    "    setp.eq.u32 %first, %rank, 0;\n"                                      \
    "    mov.u32 %k, 0;\n"                                                     \
    "    mov.u32 %v, 0;\n"                                                     \
    "    @%first bra L_send;\n"                                                \
    "L_wait:\n"                                                                \
    "    and.b32 %par, %k, 1;\n"                                               \
    "    @%first xor.b32 %par, %par, 1;\n"                                     \
    "L_try:\n"                                                                 \
    "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64\n"           \
    "        %p, [s_bar], %par;\n"                                             \
    "    @!%p bra L_try;\n"                                                    \
    "    ld.shared.u32 %v, [s_word];\n"                                        \
    "    setp.ge.u32 %p, %k, %n;\n"                                            \
    "    @%p bra L_end;\n"                                                     \
    "L_send:\n"                                                                \
    "    add.u32 %v, %v, %rank;\n"                                             \
    "    add.u32 %v, %v, 1;\n"                                                 \
    "    st.shared::cluster.u32 [%word], %v;\n"                                \
    "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%bar];\n"     \
    "    add.u32 %k, %k, 1;\n"                                                 \
    "    setp.lt.u32 %p, %k, %n;\n"                                            \
    "    @%p bra L_wait;\n"                                                    \
    "    @%first bra L_wait;\n"                                                \
    "L_end:\n"                                                                 \
    "    mov.u32 %id, %clusterid.x;\n"                                         \
    "    mul.wide.u32 %at, %id, 4;\n"                                          \
    "    add.u64 %out, %out, %at;\n"                                           \
    "    @%first st.global.u32 [%out], %v;\n"                                  \
    "    barrier.cluster.arrive;\n"                                            \
    "    barrier.cluster.wait;\n"                                              \
    "    ret;\n}\n"

enum { CLUSTERS = 3, ROUNDS = 5 };

static void ring_runs(const fgs_sim_config *cfg, unsigned size, bool spread)
{
    CUlaunchAttribute a[2] = {
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION },
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE }
    };
    CUlaunchConfig c = { CLUSTERS * size, 1, 1, 1, 1, 1, 0, NULL, a, 2 };
    struct sim s = sim_open(cfg, HEAD RING);
    CUfunction f = sim_func(&s, "ring");
    CUdeviceptr out = sim_alloc(4 * CLUSTERS);
    uint32_t rounds = ROUNDS, got[CLUSTERS];
    void *params[] = { &out, &rounds };

    a[0].value.clusterDim.x = size;
    a[0].value.clusterDim.y = a[0].value.clusterDim.z = 1;
    a[1].value.clusterSchedulingPolicyPreference =
        spread ? CU_CLUSTER_SCHEDULING_POLICY_SPREAD : 0;
    OK(cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(got, out, sizeof got));
    for (int k = 0; k < CLUSTERS; k++)
        assert_int_equal(got[k], ROUNDS * size * (size + 1) / 2);
    sim_close(&s);
}

static void ring_of_seed(const fgs_sim_config *cfg)
{
    ring_runs(cfg, 2u + (unsigned)cfg->seed % 15, cfg->seed & 1);
}

static void ring_over_distributed_shared_memory_ends(void **state)
{
    (void)state;
    over_seeds("ring", ring_of_seed);
}

/* ------------------------------------------------------- cross-grid spin -- */

/* Block b of `produce` writes 32 words, says so in flag b and waits, as block
 * b of `consume` does for them, until that has answered.  All threads poll. */
#define SPIN_BEGIN(name)                                                       \
    ".visible .entry " name "(.param .u64 p_data, .param .u64 p_flag,\n"       \
    "    .param .u64 p_out, .param .u32 p_rounds)\n{\n"                        \
    "    .reg .u64 %data, %flag, %out;\n"                                      \
    "    .reg .u32 %b, %t, %i, %k, %n, %v, %want, %sum;\n"                     \
    "    .reg .pred %p, %lead;\n"                                              \
    "    ld.param.u64 %data, [p_data];\n"                                      \
    "    ld.param.u64 %flag, [p_flag];\n"                                      \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    ld.param.u32 %n, [p_rounds];\n"                                       \
    "    mov.u32 %b, %ctaid.x;\n"                                              \
    "    mov.u32 %t, %tid.x;\n"                                                \
    "    setp.eq.u32 %lead, %t, 0;\n"                                          \
    "    mad.lo.u32 %i, %b, 32, %t;\n"                                         \
    "    mad.wide.u32 %data, %i, 4, %data;\n"                                  \
    "    mad.wide.u32 %out, %i, 4, %out;\n"                                    \
    "    mad.wide.u32 %flag, %b, 4, %flag;\n"                                  \
    "    mov.u32 %k, 0;\n"                                                     \
    "    mov.u32 %sum, 0;\n"                                                   \
    "L_round:\n"
#define SPIN_WAIT(label, value)                                                \
    "    mad.lo.u32 %want, %k, 2, " value ";\n" label ":\n"                    \
    "    ld.acquire.gpu.global.u32 %v, [%flag];\n"                             \
    "    setp.ne.u32 %p, %v, %want;\n"                                         \
    "    @%p bra " label ";\n"                                                 \
    "    bar.sync 0;\n"
/* The words of all threads are ordered before the leader's store. */
#define SPIN_TELL                                                              \
    "    bar.sync 0;\n"                                                        \
    "    add.u32 %want, %want, 1;\n"                                           \
    "    @%lead st.release.gpu.global.u32 [%flag], %want;\n"
#define SPIN_END                                                               \
    "    add.u32 %k, %k, 1;\n"                                                 \
    "    setp.lt.u32 %p, %k, %n;\n"                                            \
    "    @%p bra L_round;\n"                                                   \
    "    st.global.u32 [%out], %sum;\n"                                        \
    "    ret;\n}\n"
#define PRODUCE                                                                \
    SPIN_BEGIN("produce") SPIN_WAIT("L_poll", "0")                             \
    "    mad.lo.u32 %v, %k, 1000, %i;\n"                                       \
    "    st.global.u32 [%data], %v;\n" SPIN_TELL SPIN_END
#define CONSUME                                                                \
    SPIN_BEGIN("consume") SPIN_WAIT("L_poll", "1")                             \
    "    ld.global.u32 %v, [%data];\n"                                         \
    "    add.u32 %sum, %sum, %v;\n" SPIN_TELL SPIN_END

enum { SPIN_BLOCKS = 6, SPIN_ROUNDS = 4, SPIN_WORDS = 32 * SPIN_BLOCKS };

static void spin_runs(const fgs_sim_config *cfg)
{
    struct sim s = sim_open(cfg, HEAD PRODUCE CONSUME);
    CUfunction f[2] = { sim_func(&s, "produce"), sim_func(&s, "consume") };
    CUdeviceptr data = sim_alloc(4 * SPIN_WORDS);
    CUdeviceptr flag = sim_alloc(4 * SPIN_BLOCKS);
    CUdeviceptr out[2] = { sim_alloc(4 * SPIN_WORDS),
                           sim_alloc(4 * SPIN_WORDS) };
    uint32_t rounds = SPIN_ROUNDS, got[SPIN_WORDS];

    OK(cuMemsetD32(flag, 0, SPIN_BLOCKS));
    OK(cuCtxSynchronize());
    for (unsigned k = 0; k < 2; k++) { /* either grid may come first */
        unsigned which = (k + (unsigned)cfg->seed) & 1;
        void *params[] = { &data, &flag, &out[which], &rounds };
        CUstream stream;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuLaunchKernel(f[which], SPIN_BLOCKS, 1, 1, 32, 1, 1, 0, stream,
                          params, NULL));
    }
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(got, out[1], sizeof got));
    for (uint32_t i = 0; i < SPIN_WORDS; i++)
        assert_int_equal(got[i], SPIN_ROUNDS * i +
                                     1000 * SPIN_ROUNDS * (SPIN_ROUNDS - 1) /
                                         2);
    sim_close(&s);
}

static void blocks_poll_what_another_streams_blocks_write(void **state)
{
    (void)state;
    over_seeds("cross-grid spin", spin_runs);
}

/* ------------------------------------------------------------------ lock -- */

/* Every lane takes the lock p_rounds times and counts up behind it. */
#define LOCK                                                                   \
    ".visible .entry lock(.param .u64 p_lock, .param .u32 p_rounds)\n{\n"      \
    "    .reg .u64 %lock;\n    .reg .u32 %old, %v, %k, %n;\n"                  \
    "    .reg .pred %p;\n"                                                     \
    "    ld.param.u64 %lock, [p_lock];\n"                                      \
    "    ld.param.u32 %n, [p_rounds];\n"                                       \
    "    mov.u32 %k, 0;\n"                                                     \
    "L_round:\n"                                                               \
    "L_try:\n"                                                                 \
    "    atom.acquire.gpu.global.cas.b32 %old, [%lock], 0, 1;\n"               \
    "    setp.ne.u32 %p, %old, 0;\n"                                           \
    "    @%p bra L_try;\n"                                                     \
    "    ld.global.u32 %v, [%lock+4];\n"                                       \
    "    add.u32 %v, %v, 1;\n"                                                 \
    "    st.global.u32 [%lock+4], %v;\n"                                       \
    "    st.release.gpu.global.u32 [%lock], 0;\n"                              \
    "    add.u32 %k, %k, 1;\n"                                                 \
    "    setp.lt.u32 %p, %k, %n;\n"                                            \
    "    @%p bra L_round;\n"                                                   \
    "    ret;\n}\n"

static void lock_runs(const fgs_sim_config *cfg)
{
    struct sim s = sim_open(cfg, HEAD LOCK);
    CUdeviceptr lock = sim_alloc(8);
    uint32_t rounds = 2, got[2], blocks = 1 + (uint32_t)cfg->seed % 3;
    void *params[] = { &lock, &rounds };

    OK(cuMemsetD32(lock, 0, 2));
    OK(cuLaunchKernel(sim_func(&s, "lock"), blocks, 1, 1, 32, 1, 1, 0, NULL,
                      params, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(got, lock, sizeof got));
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], 32 * rounds * blocks);
    sim_close(&s);
}

static void lanes_of_a_warp_contend_for_one_lock(void **state)
{
    (void)state;
    over_seeds("intra-warp lock", lock_runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_over_distributed_shared_memory_ends),
        cmocka_unit_test(blocks_poll_what_another_streams_blocks_write),
        cmocka_unit_test(lanes_of_a_warp_contend_for_one_lock),
    };

    return cmocka_run_group_tests_name("sim_progress", tests, NULL, NULL);
}
