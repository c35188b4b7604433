/* test_sim_mem.c -- ld, st and cvta, as PTX on the device
 *
 * TSAN: workers share device memory, whose races are the program's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ptx_run.h"

static char body[8192];

static void FGS__PRINTF(1, 2) say(const char *fmt, ...)
{
    size_t n = strlen(body);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(body + n, sizeof body - n, fmt, ap);
    va_end(ap);
}

/* --------------------------------------------------- widths and extension --
 */

/* The register's bytes after a load of a type from 8 bytes 80 91 a2 ... */
static void load_extends_by_the_sign_of_its_type(void **state)
{
    static const unsigned char in[8] = {0x80, 0x91, 0xa2, 0xb3,
                                        0xc4, 0xd5, 0xe6, 0xf7};
    static const struct {
        const char *type, *reg, *store;
        uint64_t want;
    } row[] = {
        {"u8", "%h1", "u16", 0x0080},
        {"s8", "%h1", "u16", 0xff80},
        {"b8", "%h1", "b16", 0x0080},
        {"b8", "%c1", "b8", 0x80},
        {"u8", "%r1", "u32", 0x00000080},
        {"s8", "%r1", "u32", 0xffffff80},
        {"s8", "%d1", "u64", 0xffffffffffffff80},
        {"u8", "%d1", "u64", 0x80},
        {"u16", "%h1", "u16", 0x9180},
        {"u16", "%r1", "u32", 0x00009180},
        {"s16", "%r1", "u32", 0xffff9180},
        {"s16", "%d1", "u64", 0xffffffffffff9180},
        {"u32", "%r1", "u32", 0xb3a29180},
        {"f32", "%f1", "f32", 0xb3a29180},
        {"s32", "%d1", "u64", 0xffffffffb3a29180},
        {"u32", "%d1", "u64", 0xb3a29180},
        {"b64", "%d1", "b64", 0xf7e6d5c4b3a29180},
        {"f64", "%g1", "f64", 0xf7e6d5c4b3a29180},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        uint64_t out[33] = {0};
        struct ptx_run r = {.body = body,
                            .in = in,
                            .in_bytes = 8,
                            .out = out,
                            .out_bytes = sizeof out,
                            .threads = 32};

        body[0] = 0;
        say("ld.global.%s %s, [%%in];\nst.global.%s [%%my], %s;", row[n].type,
            row[n].reg, row[n].store, row[n].reg);
        assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
        for (int t = 0; t < 32; t++)
            assert_true(out[t] == row[n].want);
    }
}

static void store_takes_the_low_bits_of_a_wider_register(void **state)
{
    static const struct {
        const char *type, *reg;
        uint64_t want;
    } row[] = {
        {"u8", "%h1", 0x78},
        {"u8", "%r1", 0x78},
        {"s8", "%d1", 0x88},
        {"u16", "%r1", 0x5678},
        {"b16", "%d1", 0x7788},
        {"u32", "%d1", 0x55667788},
        {"b64", "%d1", 0x1122334455667788},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        uint64_t out[32] = {0};
        struct ptx_run r = {
            .body = body, .out = out, .out_bytes = sizeof out, .threads = 32};

        body[0] = 0;
        say("mov.u64 %%d1, 0x1122334455667788;\nmov.u32 %%r1, 0x12345678;\n"
            "mov.u16 %%h1, 0x5678;\nst.global.%s [%%my], %s;",
            row[n].type, row[n].reg);
        assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
        for (int t = 0; t < 32; t++)
            assert_true(out[t] == row[n].want);
    }
}

static void store_of_an_immediate_has_the_width_of_its_type(void **state)
{
    uint64_t out[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out};

    (void)state;
    r.body = "st.global.u8 [%out], 44;\nst.global.s16 [%out+8], -2;\n"
             "st.global.f32 [%out+16], 0f3F800000;\n"
             "st.global.v2.u32 [%out+24], {1, 2};";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_true(out[0] == 0xffffffffffffff2c);
    assert_true(out[1] == 0xfffffffffffffffe);
    assert_true(out[2] == 0xffffffff3f800000);
    assert_true(out[3] == 0x0000000200000001);
}

/* ------------------------------------------------------- shapes of a warp --
 */

/* A transfer of `bytes` a lane by one instruction each way. */
static const struct {
    const char *suffix, *regs;
    unsigned bytes;
} moves[] = {
    {"b8", "%c1", 1},
    {"b16", "%h1", 2},
    {"b32", "%r10", 4},
    {"b64", "%d10", 8},
    {"b128", "%q1", 16},
    {"v2.b8", "{%c1, %c2}", 2},
    {"v4.b8", "{%c1, %c2, %c3, %c4}", 4},
    {"v2.b16", "{%h1, %h2}", 4},
    {"v4.u16", "{%h1, %h2, %h3, %h4}", 8},
    {"v2.f32", "{%f1, %f2}", 8},
    {"v4.b32", "{%r10, %r11, %r12, %r13}", 16},
    {"v2.u64", "{%d10, %d11}", 16},
    {"v4.u8", "{%r10, %r11, %r12, %r13}", 4},
};

enum { SHAPES = 5, THREADS = 64 };

/* Place of thread t's bytes, in units of its access. */
static unsigned place(unsigned shape, unsigned t)
{
    switch (shape) {
    case 0:
        return t; /* neighbours */
    case 1:
        return THREADS - 1 - t; /* backwards */
    case 2:
        return 7; /* one place */
    case 3:
        return t * 37 % 101; /* scattered */
    default:
        return t ^ (t % 32 == 31); /* neighbours but for two */
    }
}

/* out[place] = in[place], both by index tables at the front of `in`. */
static void move_once(unsigned m, const char *sem, unsigned shape,
                      unsigned threads)
{
    enum { FRONT = 2 * THREADS * 4, PLACES = 128 };
    static unsigned char in[FRONT + PLACES * 16], out[PLACES * 16],
        want[PLACES * 16];
    unsigned bytes = moves[m].bytes;
    struct ptx_run r = {.body = body,
                        .in = in,
                        .in_bytes = sizeof in,
                        .out = out,
                        .out_bytes = sizeof out,
                        .threads = threads};

    for (unsigned n = 0; n < sizeof in; n++)
        in[n] = (unsigned char)(n * 13 + n / 251);
    memset(out, 0xee, sizeof out);
    memset(want, 0xee, sizeof want);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t from = place(shape, t), to = place((shape + m) % SHAPES, t);

        memcpy(in + 8 * t, &from, 4);
        memcpy(in + 8 * t + 4, &to, 4);
    }
    for (unsigned t = 0; t < threads; t++)
        memcpy(want + place((shape + m) % SHAPES, t) * bytes,
               in + FRONT + place(shape, t) * bytes, bytes);
    body[0] = 0;
    say("mul.wide.u32 %%d1, %%t, 8;\nadd.u64 %%d1, %%d1, %%in;\n"
        "ld.global.v2.u32 {%%r1, %%r2}, [%%d1];\n"
        "mul.wide.u32 %%d2, %%r1, %u;\nadd.u64 %%d2, %%d2, %%in;\n"
        "mul.wide.u32 %%d3, %%r2, %u;\nadd.u64 %%d3, %%d3, %%out;\n"
        "ld%s.global.%s %s, [%%d2+%d];\nst%s.global.%s [%%d3], %s;",
        bytes, bytes, sem, moves[m].suffix, moves[m].regs, FRONT, sem,
        moves[m].suffix, moves[m].regs);
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    /* Where all store to one place, the last lane's bytes are there; any
     * lane's would do, but all read the same. */
    if ((shape + m) % SHAPES != 2 || shape == 2)
        assert_memory_equal(out, want, sizeof out);
}

static void warps_move_every_width_in_every_shape(void **state)
{
    (void)state;
    for (unsigned m = 0; m < sizeof moves / sizeof *moves; m++)
        for (unsigned shape = 0; shape < SHAPES; shape++) {
            move_once(m, "", shape, THREADS);
            move_once(m, ".relaxed.gpu", shape, THREADS);
            move_once(m, ".volatile", shape, 45);
        }
}

static void sink_of_a_vector_load_is_not_written(void **state)
{
    uint32_t in[4] = {1, 2, 3, 4}, out[2] = {0};
    struct ptx_run r = {
        .in = in, .in_bytes = sizeof in, .out = out, .out_bytes = sizeof out};

    (void)state;
    r.body = "ld.global.v4.u32 {_, %r1, _, %r2}, [%in];\n"
             "st.global.v2.u32 [%out], {%r1, %r2};";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out[0], 2);
    assert_int_equal(out[1], 4);
}

static void guarded_access_leaves_the_other_lanes_alone(void **state)
{
    uint64_t out[32], in[32];
    struct ptx_run r = {.in = in,
                        .in_bytes = sizeof in,
                        .out = out,
                        .out_bytes = sizeof out,
                        .threads = 32};

    (void)state;
    for (unsigned t = 0; t < 32; t++) {
        in[t] = 1000 + t;
        out[t] = 7;
    }
    /* Lanes above 20 would fault: their address is wild. */
    r.body = "mov.u64 %d2, 5;\nsetp.le.u32 %p1, %t, 20;\n"
             "mul.wide.u32 %d1, %t, 8;\nadd.u64 %d1, %d1, %in;\n"
             "@!%p1 mov.u64 %d1, 0x123;\n@%p1 ld.global.u64 %d2, [%d1];\n"
             "setp.ge.u32 %p2, %t, 4;\n@%p2 st.global.u64 [%my], %d2;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(out[t], t < 4 ? 7 : t <= 20 ? 1000 + t : 5);
}

/* ---------------------------------------------------------------- spaces -- */

static void
every_space_is_reached_by_its_own_and_by_generic_addresses(void **state)
{
    uint64_t out[64] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 64};

    (void)state;
    r.vars = ".const .align 4 .b32 k_table[4] = { 10, 20, 30, 40 };\n"
             ".global .align 8 .u64 g_word = 5000;\n";
    r.body =
        ".shared .align 8 .b64 s_words[64];\n.local .align 8 .b64 l_word;\n"
        /* shared by offset, then by generic address */
        "mul.wide.u32 %d1, %t, 8;\nmov.u64 %d2, s_words;\n"
        "add.u64 %d2, %d2, %d1;\ncvt.u64.u32 %d3, %t;\n"
        "st.shared.u64 [%d2], %d3;\ncvta.shared.u64 %d4, %d2;\n"
        "ld.u64 %d5, [%d4];\ncvta.to.shared.u64 %d6, %d4;\n"
        "setp.eq.u64 %p1, %d6, %d2;\n@!%p1 trap;\n"
        /* local: each thread its own */
        "st.local.u64 [l_word], %d5;\nmov.u64 %d7, l_word;\n"
        "cvta.local.u64 %d7, %d7;\nld.u64 %d8, [%d7];\n"
        "add.u64 %d8, %d8, 1;\nst.u64 [%d7], %d8;\n"
        "ld.local.u64 %d8, [l_word];\n"
        /* constant and global variables */
        "ld.const.u32 %r1, [k_table+8];\ncvt.u64.u32 %d9, %r1;\n"
        "ld.global.u64 %d10, [g_word];\nmov.u64 %d11, g_word;\n"
        "cvta.global.u64 %d11, %d11;\nld.u64 %d12, [%d11];\n"
        "setp.eq.u64 %p2, %d12, %d10;\n@!%p2 trap;\n"
        "add.u64 %d8, %d8, %d9;\nadd.u64 %d8, %d8, %d10;\n"
        "st.u64 [%my], %d8;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(out[t], t + 1 + 30 + 5000);
}

/* [r + 4080] with r = s - 4080 is s: what an H200 does. */
static void shared_address_of_32_bits_wraps(void **state)
{
    uint64_t out = 0;
    struct ptx_run r = {
        .body = ".shared .align 16 .b8 s[64];\n"
                "mov.b32 %r1, s;\nst.shared.b32 [%r1], 77;\n"
                "sub.u32 %r2, %r1, 4080;\nld.shared.u32 %r3, [%r2+4080];\n"
                "st.global.u32 [%my], %r3;\n",
        .out = &out, .out_bytes = sizeof out};

    (void)state;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out, 77);
}

static void dynamic_shared_memory_lies_behind_the_static_one(void **state)
{
    uint64_t out[32] = {0};
    struct ptx_run r = {
        .out = out, .out_bytes = sizeof out, .threads = 32, .dynamic = 512};

    (void)state;
    r.vars = ".extern .shared .align 16 .b8 s_dynamic[];\n";
    r.body = ".shared .align 8 .b64 s_words[32];\n"
             "mul.lo.u32 %r1, %t, 8;\nmov.u32 %r2, s_words;\n"
             "add.u32 %r2, %r2, %r1;\nmov.u32 %r3, s_dynamic;\n"
             "add.u32 %r3, %r3, %r1;\nmov.u64 %d1, 11;\n"
             "st.shared.u64 [%r2], %d1;\ncvt.u64.u32 %d2, %t;\n"
             "st.shared.u64 [%r3+256], %d2;\nst.shared.u64 [%r3], %d2;\n"
             "ld.shared.u64 %d3, [%r2];\nld.shared.u64 %d4, [%r3+256];\n"
             "add.u64 %d3, %d3, %d4;\nst.global.u64 [%my], %d3;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(out[t], 11 + t);
}

/* ---------------------------------------------------------------- faults -- */

static void broken_accesses_are_faults_that_name_the_place(void **state)
{
    static const struct {
        const char *body;
        CUresult cu;
        const char *thread, *rule;
    } row[] = {
        {"ld.global.u32 %r1, [%in+16];", CUDA_ERROR_ILLEGAL_ADDRESS,
         "thread (0,0,0)", "not inside any allocation"},
        {"ld.global.b128 %q1, [%in+4];", CUDA_ERROR_MISALIGNED_ADDRESS,
         "thread (0,0,0)", "multiple of the 16 bytes"},
        {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in+8];",
         CUDA_ERROR_MISALIGNED_ADDRESS, "thread (0,0,0)", "16 bytes"},
        {"setp.eq.u32 %p1, %t, 37;\n@%p1 st.global.u32 [%out+-4], 1;",
         CUDA_ERROR_ILLEGAL_ADDRESS, "thread (37,0,0)", "allocation"},
        {"mul.wide.u32 %d1, %t, 4;\nadd.u64 %d1, %d1, %in;\n"
         "ld.global.u32 %r1, [%d1];",
         CUDA_ERROR_ILLEGAL_ADDRESS, "thread (4,0,0)", "4 bytes"},
        {"mov.u64 %d1, 0;\nld.u8 %r1, [%d1];", CUDA_ERROR_ILLEGAL_ADDRESS,
         "thread (0,0,0)", "0x0"},
        {".shared .b32 s_x[2];\nld.shared.u32 %r1, [s_x+8];",
         CUDA_ERROR_ILLEGAL_ADDRESS, "thread (0,0,0)", "shared memory"},
        {".shared .b32 s_x[2];\nmov.u64 %d1, s_x;\n"
         "cvta.shared.u64 %d1, %d1;\nld.u32 %r1, [%d1+-4];",
         CUDA_ERROR_ILLEGAL_ADDRESS, "thread (0,0,0)", "allocation"},
        {".local .b32 l_x[2];\nmov.u64 %d1, l_x;\nst.local.u32 [%d1+8], 1;",
         CUDA_ERROR_ILLEGAL_ADDRESS, "thread (0,0,0)", "local memory"},
        {"ld.global.u16 %h1, [%in+1];", CUDA_ERROR_MISALIGNED_ADDRESS,
         "thread (0,0,0)", "multiple of the 2 bytes"},
        {"atom.global.add.u32 %r1, [%in+2], 1;", CUDA_ERROR_MISALIGNED_ADDRESS,
         "thread (0,0,0)", "4 bytes"},
        {"red.global.add.u64 [%in+4096], 1;", CUDA_ERROR_ILLEGAL_ADDRESS,
         "thread (0,0,0)", "8 bytes"},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        uint64_t in[2] = {0}, out[64] = {0};
        /* where two warps do wrong, either may be the first */
        bool second = strstr(row[n].thread, "(37,") != NULL;
        struct ptx_run r = {.body = row[n].body,
                            .in = in,
                            .in_bytes = sizeof in,
                            .out = out,
                            .out_bytes = sizeof out,
                            .threads = second ? 64 : 32};

        assert_int_equal(ptx_run(&r), row[n].cu);
        assert_non_null(strstr(fgs_sim_last_fault(), "kernel k, PTX line "));
        assert_non_null(strstr(fgs_sim_last_fault(), "block (0,0,0)"));
        assert_non_null(strstr(fgs_sim_last_fault(), row[n].thread));
        assert_non_null(strstr(fgs_sim_last_fault(), row[n].rule));
    }
}

/* A flag protocol between two blocks: the data is there when the flag is. */
static void release_and_acquire_order_data_before_its_flag(void **state)
{
    uint64_t out[64] = {0};
    struct ptx_run r = {
        .out = out, .out_bytes = sizeof out, .blocks = 2, .threads = 1};

    (void)state;
    r.body = "mov.u32 %r9, 0;\nsetp.eq.u32 %p1, %t, 1;\n@%p1 bra L_read;\n"
             "L_write:\nadd.u32 %r9, %r9, 1;\nst.global.u32 [%out+128], %r9;\n"
             "st.release.gpu.global.u32 [%out], %r9;\nL_ack:\n"
             "ld.acquire.gpu.global.u32 %r2, [%out+256];\n"
             "setp.ne.u32 %p2, %r2, %r9;\n@%p2 bra L_ack;\n"
             "setp.lt.u32 %p2, %r9, 200;\n@%p2 bra L_write;\nret;\n"
             "L_read:\nadd.u32 %r9, %r9, 1;\nL_poll:\n"
             "ld.acquire.gpu.global.u32 %r2, [%out];\n"
             "setp.ne.u32 %p2, %r2, %r9;\n@%p2 bra L_poll;\n"
             "ld.global.u32 %r3, [%out+128];\nsetp.ne.u32 %p3, %r3, %r9;\n"
             "@%p3 trap;\nst.release.gpu.global.u32 [%out+256], %r9;\n"
             "setp.lt.u32 %p2, %r9, 200;\n@%p2 bra L_read;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal((uint32_t)out[16], 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            every_space_is_reached_by_its_own_and_by_generic_addresses),
        cmocka_unit_test(load_extends_by_the_sign_of_its_type),
        cmocka_unit_test(store_takes_the_low_bits_of_a_wider_register),
        cmocka_unit_test(store_of_an_immediate_has_the_width_of_its_type),
        cmocka_unit_test(warps_move_every_width_in_every_shape),
        cmocka_unit_test(sink_of_a_vector_load_is_not_written),
        cmocka_unit_test(guarded_access_leaves_the_other_lanes_alone),
        cmocka_unit_test(shared_address_of_32_bits_wraps),
        cmocka_unit_test(dynamic_shared_memory_lies_behind_the_static_one),
        cmocka_unit_test(broken_accesses_are_faults_that_name_the_place),
        cmocka_unit_test(release_and_acquire_order_data_before_its_flag),
    };

    return cmocka_run_group_tests_name("sim_mem", tests, NULL, NULL);
}
