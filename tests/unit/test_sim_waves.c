/* test_sim_waves.c -- grids of many waves, whose blocks the SMs replace */
#include "sim_calls.h"

/* Blocks count themselves, and how many of their grid are there at once; one
 * may write where nothing is. */
static const char count_text[] = HEAD
    ".visible .entry count(.param .u64 p_out, .param .u32 p_bad)\n{\n"
    "    .reg .u64 %out, %at;\n    .reg .u32 %b, %bad, %n;\n"
    "    .reg .pred %p;\n"
    "    ld.param.u64 %out, [p_out];\n"
    "    ld.param.u32 %bad, [p_bad];\n"
    "    mov.u32 %b, %ctaid.x;\n"
    "    atom.global.add.u32 %n, [%out], 1;\n"
    "    add.u32 %n, %n, 1;\n"
    "    red.global.max.u32 [%out+4], %n;\n"
    "    mad.wide.u32 %at, %b, 4, %out;\n"
    "    red.global.add.u32 [%at+8], 1;\n"
    "    nanosleep.u32 200;\n"
    "    setp.eq.u32 %p, %b, %bad;\n"
    "    mov.u64 %at, 8;\n"
    "    @%p st.global.u32 [%at], %b;\n"
    "    red.global.add.u32 [%out], -1;\n"
    "    ret;\n}\n";

enum { MANY = 3001 };

static void many_waves_run_each_block_once(void **state)
{
    static const uint32_t threads[] = { 1, 2, 4 };
    static uint32_t left[2 + MANY];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fgs_sim_config cfg = sim_config();
        uint32_t bad = MANY;
        CUdeviceptr out;
        struct sim s;
        void *params[] = { &out, &bad };

        cfg.sms = 4;
        cfg.sm_blocks = 3;
        cfg.threads = threads[i];
        s = sim_open(&cfg, count_text);
        out = sim_alloc(sizeof left);
        OK(cuMemsetD8(out, 0, sizeof left));
        assert_int_equal(
            sim_launch(sim_func(&s, "count"), MANY, 1, NULL, 0, params), 0);
        OK(cuMemcpyDtoH(left, out, sizeof left));
        assert_int_equal(left[0], 0);
        assert_true(left[1] > 4 && left[1] <= 12);
        for (size_t b = 0; b < MANY; b++)
            assert_int_equal(left[2 + b], 1);
        sim_close(&s);
    }
}

/* The other SMs go on replacing their blocks until they see it. */
static void fault_ends_a_grid_of_many_waves(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        fgs_sim_config cfg = sim_config();
        uint32_t bad = (uint32_t)(seed * 150);
        CUdeviceptr out;
        struct sim s;
        void *params[] = { &out, &bad };

        cfg.sms = 8;
        cfg.sm_blocks = 2;
        cfg.threads = 4;
        cfg.seed = seed;
        s = sim_open(&cfg, count_text);
        out = sim_alloc(4 * (2 + MANY));
        OK(cuMemsetD8(out, 0, 4 * (2 + MANY)));
        assert_int_equal(
            sim_launch(sim_func(&s, "count"), MANY, 1, NULL, 0, params), 0);
        CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
        sim_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_waves_run_each_block_once),
        cmocka_unit_test(fault_ends_a_grid_of_many_waves),
    };

    return cmocka_run_group_tests_name("sim_waves", tests, NULL, NULL);
}
