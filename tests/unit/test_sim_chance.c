/* test_sim_chance.c -- what the ISA leaves open is drawn from the seed
 *
 * Each kernel does what may end in more than one way; over SEEDS seeds it ends
 * in more than one, and with one seed always in the same.
 */
#include "sim_calls.h"

enum { SEEDS = 24, WORDS = 64 };

/* The first lane of each warp, or of each block, takes a number. */
#define TICKETS(name, id)                                                      \
    ".visible .entry " name "(.param .u64 p_out)\n{\n"                         \
    "    .reg .u64 %out, %at;\n    .reg .u32 %l, %w, %b, %n;\n"                \
    "    .reg .pred %p;\n"                                                     \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    mov.u32 %l, %laneid;\n"                                               \
    "    setp.ne.u32 %p, %l, 0;\n"                                             \
    "    @%p ret;\n"                                                           \
    "    mov.u32 %w, %tid.x;\n"                                                \
    "    shr.u32 %w, %w, 5;\n"                                                 \
    "    mov.u32 %b, %ctaid.x;\n"                                              \
    "    atom.global.add.u32 %n, [%out], 1;\n"                                 \
    "    mad.wide.u32 %at, " id ", 4, %out;\n"                                 \
    "    st.global.u32 [%at+4], %n;\n"                                         \
    "    ret;\n}\n"

static const char text[] = HEAD
    TICKETS("warps", "%w") TICKETS("blocks", "%b")
    /* two warps add to a sum and see who was there before: changes counted */
    ".visible .entry turns(.param .u64 p_out)\n{\n"
    "    .shared .b32 last, changes;\n"
    "    .reg .u64 %out;\n    .reg .u32 %t, %w, %l, %n, %v;\n"
    "    .reg .pred %p, %q;\n"
    "    ld.param.u64 %out, [p_out];\n"
    "    mov.u32 %t, %tid.x;\n"
    "    shr.u32 %w, %t, 5;\n"
    "    and.b32 %l, %t, 31;\n"
    "    st.shared.u32 [last], 0;\n"
    "    st.shared.u32 [changes], 0;\n"
    "    bar.sync 0;\n"
    "    setp.ne.u32 %p, %l, 0;\n"
    "    @%p bra L_end;\n"
    "    mov.u32 %n, 2000;\n"
    "L_again:\n"
    "    atom.shared.exch.b32 %v, [last], %w;\n"
    "    setp.ne.u32 %q, %v, %w;\n"
    "    @%q red.shared.add.u32 [changes], 1;\n"
    "    sub.u32 %n, %n, 1;\n"
    "    setp.ne.u32 %p, %n, 0;\n"
    "    @%p bra L_again;\n"
    "L_end:\n"
    "    bar.sync 0;\n"
    "    ld.shared.u32 %v, [changes];\n"
    "    st.global.u32 [%out], %v;\n"
    "    ret;\n}\n"
    /* both sides of a branch store to one word */
    ".visible .entry lanes(.param .u64 p_out)\n{\n"
    "    .reg .u64 %out;\n    .reg .u32 %l;\n    .reg .pred %p;\n"
    "    ld.param.u64 %out, [p_out];\n"
    "    mov.u32 %l, %laneid;\n"
    "    setp.lt.u32 %p, %l, 16;\n"
    "    @%p bra L_low;\n"
    "    st.global.u32 [%out], 1;\n"
    "    bra L_end;\n"
    "L_low:\n"
    "    st.global.u32 [%out], 2;\n"
    "L_end:\n"
    "    ret;\n}\n"
    /* what nobody has written: shared, local, a register */
    ".visible .entry contents(.param .u64 p_out)\n{\n"
    "    .shared .align 16 .b8 tile[4096];\n"
    "    .local .align 16 .b8 frame[64];\n"
    "    .reg .u64 %out;\n    .reg .u32 %v, %never;\n"
    "    ld.param.u64 %out, [p_out];\n"
    "    ld.shared.u32 %v, [tile+2048];\n"
    "    st.global.u32 [%out], %v;\n"
    "    ld.local.u32 %v, [frame+32];\n"
    "    st.global.u32 [%out+4], %v;\n"
    "    st.global.u32 [%out+8], %never;\n"
    "    ret;\n}\n";

static uint32_t mode;

static void run(const char *name, uint64_t seed, uint32_t blocks,
                uint32_t threads, uint32_t out[WORDS])
{
    fgs_sim_config cfg = sim_config();
    CUdeviceptr x;
    void *params[] = { &x };
    struct sim s;

    cfg.seed = seed;
    cfg.sms = 1;
    cfg.threads = mode ? 0 : 1;
    cfg.mode = mode;
    s = sim_open(&cfg, text);
    x = sim_alloc(WORDS * 4);
    OK(cuMemsetD8(x, 0, WORDS * 4));
    OK(cuLaunchKernel(sim_func(&s, name), blocks, 1, 1, threads, 1, 1, 0, NULL,
                      params, NULL));
    OK(cuMemcpyDtoH(out, x, WORDS * 4));
    sim_close(&s);
}

/* Words `first` to `last` of some seeds differ, of the same seed never. */
static void expect_chance(const char *name, uint32_t blocks, uint32_t threads,
                          size_t first, size_t last)
{
    static uint32_t one[WORDS], again[WORDS], other[WORDS];
    size_t bytes = (last - first + 1) * 4;
    uint32_t differ = 0;

    run(name, 1, blocks, threads, one);
    run(name, 1, blocks, threads, again);
    assert_memory_equal(one, again, sizeof one);
    for (uint64_t seed = 2; seed <= SEEDS; seed++) {
        run(name, seed, blocks, threads, other);
        differ += memcmp(one + first, other + first, bytes) != 0;
    }
    assert_true(differ > 0);
}

static void order_of_warps_is_drawn(void **state)
{
    (void)state;
    expect_chance("warps", 1, 256, 1, 8);
}

static void order_of_blocks_is_drawn(void **state)
{
    (void)state;
    expect_chance("blocks", 8, 32, 1, 8);
}

static void order_of_lanes_that_part_is_drawn(void **state)
{
    (void)state;
    expect_chance("lanes", 1, 32, 0, 0);
}

static void what_nobody_wrote_is_drawn(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        expect_chance("contents", 1, 32, i, i);
}

static void turns_are_short_in_mode_check(void **state)
{
    uint32_t fast[WORDS], check[WORDS], again[WORDS];
    fgs_sim_config cfg = sim_config();
    fgs_error err;

    (void)state;
    run("turns", 1, 1, 64, fast);
    mode = 1;
    run("turns", 1, 1, 64, check);
    run("turns", 1, 1, 64, again);
    mode = 0;
    assert_true(fast[0] > 0);
    assert_true(check[0] > 4 * fast[0]);
    assert_memory_equal(check, again, sizeof check);
    cfg.mode = 1;
    cfg.threads = 2;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "one host thread"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_warps_is_drawn),
        cmocka_unit_test(order_of_blocks_is_drawn),
        cmocka_unit_test(order_of_lanes_that_part_is_drawn),
        cmocka_unit_test(what_nobody_wrote_is_drawn),
        cmocka_unit_test(turns_are_short_in_mode_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
