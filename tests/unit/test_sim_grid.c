/* test_sim_grid.c -- residency, programmatic serialization, faults */
#include "sim_calls.h"

struct span {
    uint64_t start, end;
};

static void read_spans(struct span *out, CUdeviceptr at, size_t n)
{
    OK(cuMemcpyDtoH(out, at, n * sizeof *out));
}

/* Most blocks whose life times overlap. */
static size_t most_at_once(const struct span *t, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        size_t now = 0;

        for (size_t k = 0; k < n; k++)
            now += t[k].start <= t[i].start && t[i].start < t[k].end;
        most = now > most ? now : most;
    }
    return most;
}

enum { BLOCKS = 24 };

/* How many of BLOCKS stamp blocks of `threads` run at once. */
static size_t resident(const fgs_sim_config *cfg, const char *text,
                       uint32_t threads, uint32_t dynamic)
{
    struct sim s = sim_open(cfg, text);
    CUfunction f = sim_func(&s, "stamp");
    CUdeviceptr out = sim_alloc(BLOCKS * sizeof(struct span));
    uint64_t run = 20000, zero = 0;
    void *params[] = { &out, &run, &zero, &zero };
    struct span t[BLOCKS];

    if (dynamic > 48 * 1024)
        OK(cuFuncSetAttribute(
            f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic));
    OK(cuLaunchKernel(f, BLOCKS, 1, 1, threads, 1, 1, dynamic, NULL, params,
                      NULL));
    read_spans(t, out, BLOCKS);
    sim_close(&s);
    return most_at_once(t, BLOCKS);
}

static void block_slots_limit_residency(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.sms = 2;
    cfg.sm_blocks = 3;
    assert_int_equal(resident(&cfg, HEAD STAMP, 32, 0), 6);
    cfg.sms = 1;
    cfg.sm_blocks = 32;
    assert_int_equal(resident(&cfg, HEAD STAMP, 32, 0), BLOCKS);
}

static void threads_limit_residency(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.sms = 1;
    cfg.sm_threads = 2048;
    assert_int_equal(resident(&cfg, HEAD STAMP, 512, 0), 4);
}

static void shared_memory_limits_residency(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.sms = 1;
    /* 228 KiB: 100 + 1 of each block fit twice, 227 + 1 once */
    assert_int_equal(resident(&cfg, HEAD STAMP, 32, 100 * 1024), 2);
    assert_int_equal(resident(&cfg, HEAD STAMP, 32, 227 * 1024), 1);
}

static void registers_limit_residency(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s;
    int regs = 0, blocks = 0;
    uint32_t block_regs;

    (void)state;
    cfg.sms = 1;
    s = sim_open(&cfg, HEAD STAMP);
    OK(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS,
                          sim_func(&s, "stamp")));
    assert_true(regs > 0 && regs <= 255);
    sim_close(&s);
    block_regs = ((uint32_t)regs * 32 + 255) / 256 * 256 * 2;
    cfg.sm_registers = 5 * block_regs > 1024 ? 5 * block_regs : 1024;
    assert_int_equal(resident(&cfg, HEAD STAMP, 64, 0),
                     cfg.sm_registers / block_regs);
    s = sim_open(&cfg, HEAD STAMP);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, sim_func(&s, "stamp"), 64, 0));
    assert_int_equal(blocks, cfg.sm_registers / block_regs);
    sim_close(&s);
}

static void blocks_go_round_over_the_sms(void **state)
{
    static const char text[] = HEAD
        ".visible .entry where(.param .u64 p_out)\n{\n"
        "    .reg .u64 %out;\n    .reg .u32 %b, %sm;\n"
        "    ld.param.u64 %out, [p_out];\n"
        "    mov.u32 %b, %ctaid.x;\n"
        "    mov.u32 %sm, %smid;\n"
        "    mad.wide.u32 %out, %b, 4, %out;\n"
        "    st.global.u32 [%out], %sm;\n"
        "    ret;\n}\n";
    fgs_sim_config cfg = sim_config();
    uint32_t sm[8], first;
    CUdeviceptr out;
    struct sim s;
    void *params[] = { &out };

    (void)state;
    cfg.sms = 4;
    s = sim_open(&cfg, text);
    out = sim_alloc(sizeof sm);
    assert_int_equal(sim_launch(sim_func(&s, "where"), 8, 32, NULL, 0, params),
                     0);
    OK(cuMemcpyDtoH(sm, out, sizeof sm));
    first = sm[0];
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(sm[i], (first + i) % 4);
    sim_close(&s);
}

/* Producer and consumer of 4 blocks; spans[0..3] and [4..7]. */
static void pair(struct span *t, const fgs_sim_config *cfg, uint64_t early,
                 int pdl, int between)
{
    struct sim s = sim_open(cfg, HEAD STAMP);
    CUfunction f = sim_func(&s, "stamp");
    CUdeviceptr out = sim_alloc(8 * sizeof *t + 4);
    CUstream st;

    OK(cuStreamCreate(&st, CU_STREAM_NON_BLOCKING));
    sim_stamp(f, 4, 64, st, 0, out, 100000, early, 0);
    if (between)
        OK(cuMemsetD8Async(out + 8 * sizeof *t, 0, 4, st));
    sim_stamp(f, 4, 64, st, pdl, out + 4 * sizeof *t, 1000, 0, pdl ? 1 : 0);
    OK(cuStreamSynchronize(st));
    read_spans(t, out, 8);
    sim_close(&s);
}

static uint64_t last_end(const struct span *t, size_t n)
{
    uint64_t last = 0;

    for (size_t i = 0; i < n; i++)
        last = t[i].end > last ? t[i].end : last;
    return last;
}

static void dependent_starts_at_the_trigger_and_waits_for_the_end(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[8];

    (void)state;
    pair(t, &cfg, 1, 1, 0);
    for (int i = 4; i < 8; i++) {
        assert_true(t[i].start < t[0].start + 10000); /* early */
        assert_true(t[i].end >= last_end(t, 4));      /* its wait */
    }
}

static void dependent_without_a_trigger_starts_at_the_end(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[8];

    (void)state;
    pair(t, &cfg, 0, 1, 0);
    for (int i = 4; i < 8; i++)
        assert_true(t[i].start >= last_end(t, 4));
}

static void plain_kernel_ignores_the_trigger(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[8];

    (void)state;
    pair(t, &cfg, 1, 0, 0);
    for (int i = 4; i < 8; i++)
        assert_true(t[i].start >= last_end(t, 4));
}

static void op_in_between_takes_the_overlap_away(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[8];

    (void)state;
    pair(t, &cfg, 1, 1, 1);
    for (int i = 4; i < 8; i++)
        assert_true(t[i].start >= last_end(t, 4));
}

static void overlap_can_be_forbidden(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[8];

    (void)state;
    cfg.overlap = 0;
    pair(t, &cfg, 1, 1, 0);
    for (int i = 4; i < 8; i++)
        assert_true(t[i].start >= last_end(t, 4));
}

/* The producer has more blocks than places: the consumer comes behind all of
 * them, though each triggers at once (guide 4.6.5, progress guarantee). */
static void dependent_never_takes_a_producers_place(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[12];
    CUfunction f;
    CUdeviceptr out;
    struct sim s;

    (void)state;
    cfg.sms = 2;
    cfg.sm_blocks = 2;
    s = sim_open(&cfg, HEAD STAMP);
    f = sim_func(&s, "stamp");
    out = sim_alloc(sizeof t);
    sim_stamp(f, 10, 64, NULL, 0, out, 50000, 1, 0);
    sim_stamp(f, 2, 64, NULL, 1, out + 10 * sizeof *t, 1000, 0, 1);
    read_spans(t, out, 12);
    for (int p = 0; p < 10; p++) {
        assert_true(t[10].start >= t[p].start);
        assert_true(t[11].start >= t[p].start);
    }
    assert_true(t[10].end >= last_end(t, 10));
    sim_close(&s);
}

/* One block of the first grid leaves room for the second grid's, but three
 * more are still to come. */
static void later_grid_comes_behind_all_blocks_of_earlier_ones(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[5];
    CUdeviceptr out;
    CUfunction f;
    struct sim s;
    CUstream a, b;

    (void)state;
    cfg.sms = 1;
    cfg.sm_threads = 1024;
    s = sim_open(&cfg, HEAD STAMP);
    f = sim_func(&s, "stamp");
    out = sim_alloc(sizeof t);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    sim_stamp(f, 4, 768, a, 0, out, 20000, 0, 0);
    sim_stamp(f, 1, 128, b, 0, out + 4 * sizeof *t, 20000, 0, 0);
    OK(cuCtxSynchronize());
    read_spans(t, out, 5);
    assert_true(t[4].start >= t[3].start);
    assert_true(t[4].start < t[3].end);
    sim_close(&s);
}

/* k+2 may be resident while k runs; its wait covers k all the same. */
static void wait_covers_all_earlier_grids_of_a_chain(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUfunction f = sim_func(&s, "stamp");
    CUdeviceptr out = sim_alloc(4 * sizeof(struct span));
    struct span t[4];

    (void)state;
    sim_stamp(f, 1, 32, NULL, 0, out, 100000, 1, 0);
    sim_stamp(f, 1, 32, NULL, 1, out + 16, 1000, 1, 0); /* no wait */
    sim_stamp(f, 1, 32, NULL, 1, out + 32, 1000, 1, 1);
    sim_stamp(f, 1, 32, NULL, 0, out + 48, 1000, 0, 0); /* plain */
    read_spans(t, out, 4);
    assert_true(t[1].end < t[0].end);
    assert_true(t[2].start < t[0].end);
    assert_true(t[2].end >= t[0].end);
    assert_true(t[3].start >= t[0].end && t[3].start >= t[2].end);
    sim_close(&s);
}

static void overlap_does_not_change_results(void **state)
{
    fgs_sim_config cfg = sim_config();
    uint32_t h[2][512];

    (void)state;
    for (cfg.overlap = 0; cfg.overlap < 2; cfg.overlap++) {
        struct sim s = sim_open(&cfg, HEAD AFFINE);
        CUfunction f = sim_func(&s, "affine");
        CUdeviceptr x = sim_alloc(sizeof h[0]);

        OK(cuMemsetD32(x, 1, 512));
        for (uint32_t i = 0; i < 8; i++)
            sim_affine(f, 4, 128, NULL, 1, x, 3, i);
        OK(cuMemcpyDtoH(h[cfg.overlap], x, sizeof h[0]));
        sim_close(&s);
    }
    assert_memory_equal(h[0], h[1], sizeof h[0]);
}

static void one_thread_repeats_a_run_exactly(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct span t[3][32];

    (void)state;
    cfg.threads = 1;
    cfg.sms = 3;
    cfg.sm_blocks = 2;
    for (int run = 0; run < 3; run++) {
        struct sim s = sim_open(&cfg, HEAD STAMP);
        CUfunction f = sim_func(&s, "stamp");
        CUdeviceptr out = sim_alloc(sizeof t[0]);
        CUstream other;

        OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        sim_stamp(f, 16, 64, NULL, 0, out, 7000, 1, 0);
        sim_stamp(f, 8, 64, NULL, 1, out + 256, 3000, 0, 1);
        sim_stamp(f, 8, 64, other, 0, out + 384, 5000, 0, 0);
        OK(cuCtxSynchronize());
        read_spans(t[run], out, 32);
        sim_close(&s);
    }
    assert_memory_equal(t[0], t[1], sizeof t[0]);
    assert_memory_equal(t[0], t[2], sizeof t[0]);
}

static void fault_is_sticky_and_says_where(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD POKE);
    CUfunction f = sim_func(&s, "poke");
    CUdeviceptr p = sim_alloc(16), bad = p + 16;
    void *params[] = { &bad };
    const char *text;

    (void)state;
    assert_int_equal(sim_launch(f, 2, 32, NULL, 0, params), 0);
    CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    text = fgs_sim_last_fault();
    assert_non_null(strstr(text, "kernel poke"));
    assert_non_null(strstr(text, "PTX line 8:"));
    assert_non_null(strstr(text, "block ("));
    assert_non_null(strstr(text, "thread (0,0,0)"));
    CU(cuMemFree(p), ERROR_ILLEGAL_ADDRESS);
    CU(cuStreamSynchronize(NULL), ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(sim_launch(f, 1, 1, NULL, 0, params),
                     CUDA_ERROR_ILLEGAL_ADDRESS);
    sim_close(&s);
    /* The next context is a healthy one. */
    s = sim_open(&cfg, HEAD POKE);
    p = sim_alloc(16);
    params[0] = &p;
    assert_int_equal(
        sim_launch(sim_func(&s, "poke"), 1, 1, NULL, 0, params), 0);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void block_that_waits_for_ever_is_a_fault(void **state)
{
    static const char text[] = HEAD
        ".visible .entry half()\n{\n"
        "    .reg .u32 %t;\n    .reg .pred %p;\n"
        "    mov.u32 %t, %tid.x;\n"
        "    setp.ge.u32 %p, %t, 32;\n"
        "    @%p bra L_end;\n"
        "    barrier.sync 1, 64;\n"
        "L_end:\n"
        "    ret;\n}\n";
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, text);

    (void)state;
    assert_int_equal(sim_launch(sim_func(&s, "half"), 1, 64, NULL, 0, NULL),
                     0);
    CU(cuCtxSynchronize(), ERROR_LAUNCH_FAILED);
    assert_non_null(strstr(fgs_sim_last_fault(), "kernel half"));
    assert_non_null(strstr(fgs_sim_last_fault(), "deadlock"));
    sim_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_slots_limit_residency),
        cmocka_unit_test(threads_limit_residency),
        cmocka_unit_test(shared_memory_limits_residency),
        cmocka_unit_test(registers_limit_residency),
        cmocka_unit_test(blocks_go_round_over_the_sms),
        cmocka_unit_test(dependent_starts_at_the_trigger_and_waits_for_the_end),
        cmocka_unit_test(dependent_without_a_trigger_starts_at_the_end),
        cmocka_unit_test(plain_kernel_ignores_the_trigger),
        cmocka_unit_test(op_in_between_takes_the_overlap_away),
        cmocka_unit_test(overlap_can_be_forbidden),
        cmocka_unit_test(dependent_never_takes_a_producers_place),
        cmocka_unit_test(later_grid_comes_behind_all_blocks_of_earlier_ones),
        cmocka_unit_test(wait_covers_all_earlier_grids_of_a_chain),
        cmocka_unit_test(overlap_does_not_change_results),
        cmocka_unit_test(one_thread_repeats_a_run_exactly),
        cmocka_unit_test(fault_is_sticky_and_says_where),
        cmocka_unit_test(block_that_waits_for_ever_is_a_fault),
    };

    return cmocka_run_group_tests_name("sim_grid", tests, NULL, NULL);
}
