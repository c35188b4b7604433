/* test_sim_cancel.c -- blocks take over the work of blocks not begun yet
 *
 * TSAN: SMs take blocks of one grid at the same time.
 */
#include "sim_calls.h"

/* Each thread of a cluster's blocks counts up at its block's index; then the
 * cluster asks for the next one, as in the example of the ISA (try_cancel). */
#define STEAL                                                                  \
    ".visible .entry steal(.param .u64 p_count, .param .u64 p_stolen)\n{\n"    \
    "    .shared .align 16 .b8 s_answer[16];\n"                                \
    "    .shared .align 8 .b64 s_bar;\n"                                       \
    "    .reg .u64 %count, %stolen, %at, %st;\n"                               \
    "    .reg .u32 %x, %y, %z, %cx, %cy, %cz, %nx, %ny, %i, %t, %r, %par;\n"   \
    "    .reg .b128 %answer;\n    .reg .pred %p, %lead, %first;\n"             \
    "    ld.param.u64 %count, [p_count];\n"                                    \
    "    ld.param.u64 %stolen, [p_stolen];\n"                                  \
    "    mov.u32 %nx, %nctaid.x;\n    mov.u32 %ny, %nctaid.y;\n"               \
    "    mov.u32 %cx, %cluster_ctaid.x;\n"                                     \
    "    mov.u32 %cy, %cluster_ctaid.y;\n"                                     \
    "    mov.u32 %cz, %cluster_ctaid.z;\n"                                     \
    "    mov.u32 %i, %ctaid.x;\n    sub.u32 %x, %i, %cx;\n"                    \
    "    mov.u32 %i, %ctaid.y;\n    sub.u32 %y, %i, %cy;\n"                    \
    "    mov.u32 %i, %ctaid.z;\n    sub.u32 %z, %i, %cz;\n"                    \
    "    mov.u32 %t, %tid.x;\n    mov.u32 %r, %cluster_ctarank;\n"             \
    "    mov.u32 %par, 0;\n"                                                   \
    "    setp.eq.u32 %lead, %t, 0;\n"                                          \
    "    setp.eq.and.u32 %first, %r, 0, %lead;\n"                              \
    "    @%lead mbarrier.init.shared::cta.b64 [s_bar], 1;\n"                   \
    "    @%lead fence.mbarrier_init.release.cluster;\n"                        \
    "    barrier.cluster.arrive;\n"                                            \
    "    barrier.cluster.wait;\n"                                              \
    "L_work:\n"                                                                \
    "    @%lead mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64\n"   \
    "        %st, [s_bar], 16;\n"                                              \
    "    @%first clusterlaunchcontrol.try_cancel.async.shared::cta\n"          \
    "        .mbarrier::complete_tx::bytes.multicast::cluster::all.b128\n"     \
    "        [s_answer], [s_bar];\n"                                           \
    "    add.u32 %i, %z, %cz;\n"                                               \
    "    mad.lo.u32 %i, %i, %ny, %y;\n    add.u32 %i, %i, %cy;\n"              \
    "    mad.lo.u32 %i, %i, %nx, %x;\n    add.u32 %i, %i, %cx;\n"              \
    "    mad.wide.u32 %at, %i, 4, %count;\n"                                   \
    "    red.global.add.u32 [%at], 1;\n"                                       \
    "L_wait:\n"                                                                \
    "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p,\n"       \
    "        [s_bar], %par;\n"                                                 \
    "    @!%p bra L_wait;\n"                                                   \
    "    ld.shared.b128 %answer, [s_answer];\n"                                \
    "    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p,\n"        \
    "        %answer;\n"                                                       \
    "    @!%p ret;\n"                                                          \
    "    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128\n"      \
    "        {%x, %y, %z, _}, %answer;\n"                                      \
    "    @%first red.global.add.u32 [%stolen], 1;\n"                           \
    "    fence.proxy.async::generic.release\n"                                 \
    "        .sync_restrict::shared::cta.cluster;\n"                           \
    "    barrier.cluster.arrive.relaxed;\n"                                    \
    "    barrier.cluster.wait;\n"                                              \
    "    fence.proxy.async::generic.acquire\n"                                 \
    "        .sync_restrict::shared::cluster.cluster;\n"                       \
    "    xor.b32 %par, %par, 1;\n"                                             \
    "    bra L_work;\n}\n"

enum { MOST = 4 * 6 * 5, THREADS = 33 };

struct shape {
    uint32_t grid[3], cluster[3];
};

/* Clusters that were taken over; `event`: when all blocks have begun. */
static uint32_t run(const fgs_sim_config *cfg, const struct shape *g,
                    bool event)
{
    CUlaunchAttribute a[2] = {
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION },
        { .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT }
    };
    CUlaunchConfig c = { g->grid[0], g->grid[1], g->grid[2], THREADS, 1, 1,
                         0, NULL, a, event ? 2 : 1 };
    uint32_t blocks = g->grid[0] * g->grid[1] * g->grid[2];
    struct sim s = sim_open(cfg, HEAD STEAL);
    CUdeviceptr count = sim_alloc(4 * MOST), stolen = sim_alloc(4);
    void *params[] = { &count, &stolen };
    uint32_t got[MOST], n;
    CUstream stream, other;
    CUevent e;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuMemsetD32(count, 0, MOST));
    OK(cuMemsetD32(stolen, 0, 1));
    a[0].value.clusterDim.x = g->cluster[0];
    a[0].value.clusterDim.y = g->cluster[1];
    a[0].value.clusterDim.z = g->cluster[2];
    a[1].value.programmaticEvent.event = e;
    a[1].value.programmaticEvent.flags = 0;
    c.hStream = stream;
    OK(cuLaunchKernelEx(&c, sim_func(&s, "steal"), params, NULL));
    if (event)
        OK(cuStreamWaitEvent(other, e, 0));
    OK(cuStreamSynchronize(other));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(got, count, sizeof got));
    OK(cuMemcpyDtoH(&n, stolen, 4));
    for (uint32_t i = 0; i < blocks; i++)
        assert_int_equal(got[i], THREADS);
    sim_close(&s);
    return n;
}

static const struct shape shapes[] = {
    { { 120, 1, 1 }, { 1, 1, 1 } },
    { { 4, 6, 5 }, { 1, 1, 1 } },
    { { 120, 1, 1 }, { 2, 1, 1 } },
    { { 4, 6, 5 }, { 2, 3, 1 } },
    { { 6, 4, 4 }, { 1, 2, 4 } },
};

static void each_block_is_worked_on_exactly_once(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    for (unsigned seed = 1; seed <= 10; seed++) {
        const struct shape *g = &shapes[seed % COUNT(shapes)];
        uint32_t n;

        cfg.seed = seed;
        cfg.sms = 1;
        cfg.threads = 1;
        cfg.sm_blocks = 8;
        n = run(&cfg, g, seed & 1);
        /* Far more wait than have places. */
        assert_true(n > 0);
        cfg.sms = 4;
        cfg.threads = 2;
        cfg.sm_blocks = 2;
        run(&cfg, g, seed & 1);
    }
}

/* A request fails while blocks wait for a place: more begin than have places
 * at first. */
static void request_may_fail_though_blocks_wait(void **state)
{
    fgs_sim_config cfg = sim_config();
    unsigned early = 0, seeds = 8;

    (void)state;
    cfg.sms = 1;
    cfg.threads = 1;
    cfg.sm_blocks = 2;
    for (cfg.seed = 1; cfg.seed <= seeds; cfg.seed++)
        early += 120 - run(&cfg, &shapes[0], false) > 2;
    assert_true(early > 0);
}

static void nothing_is_left_to_cancel_when_all_have_places(void **state)
{
    static const struct shape g = { { 4, 1, 1 }, { 2, 1, 1 } };
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.sms = 8;
    assert_int_equal(run(&cfg, &g, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_is_worked_on_exactly_once),
        cmocka_unit_test(request_may_fail_though_blocks_wait),
        cmocka_unit_test(nothing_is_left_to_cancel_when_all_have_places),
    };

    return cmocka_run_group_tests_name("sim_cancel", tests, NULL, NULL);
}
