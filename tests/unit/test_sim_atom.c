/* test_sim_atom.c -- atom and red, as PTX on the device
 *
 * TSAN: blocks on several workers update one word.
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

/* --------------------------------------------------------------- atomics -- */

static void atomics_return_the_old_value_and_store_the_new_one(void **state)
{
    static const struct {
        const char *op;
        uint64_t old, b, c, want;
    } row[] = {
        {"add.u32", 0xffffffff, 2, 0, 1},
        {"add.s32", 5, 0xfffffffe, 0, 3},
        {"add.u64", 0xffffffffffffffff, 3, 0, 2},
        {"min.u32", 7, 0xffffffff, 0, 7},
        {"min.s32", 7, 0xffffffff, 0, 0xffffffff},
        {"max.u32", 7, 0xffffffff, 0, 0xffffffff},
        {"max.s32", 7, 0xffffffff, 0, 7},
        {"min.u64", 7, UINT64_MAX, 0, 7},
        {"min.s64", 7, UINT64_MAX, 0, UINT64_MAX},
        {"max.u64", 7, UINT64_MAX, 0, UINT64_MAX},
        {"max.s64", 7, UINT64_MAX, 0, 7},
        {"inc.u32", 4, 5, 0, 5},
        {"inc.u32", 5, 5, 0, 0},
        {"inc.u32", 9, 5, 0, 0},
        {"dec.u32", 4, 5, 0, 3},
        {"dec.u32", 0, 5, 0, 5},
        {"dec.u32", 9, 5, 0, 5},
        {"and.b32", 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
        {"or.b32", 0xf0, 0x0f, 0, 0xff},
        {"xor.b64", 0xff, 0xf000000000000001, 0, 0xf0000000000000fe},
        {"exch.b32", 1, 2, 0, 2},
        {"exch.b64", 1, UINT64_MAX, 0, UINT64_MAX},
        {"cas.b32", 3, 3, 9, 9},
        {"cas.b32", 3, 4, 9, 3},
        {"cas.b64", 1ull << 40, 1ull << 40, 9, 9},
        {"add.f32", 0x3f800000, 0x40000000, 0, 0x40400000},
        /* subnormal + subnormal: flushed on global memory */
        {"add.f32", 0x00000001, 0x00000001, 0, 0},
        {"add.f64", 0x3ff0000000000000, 0x4000000000000000, 0,
         0x4008000000000000},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        bool wide = strstr(row[n].op, "64"), cas = row[n].op[0] == 'c';
        const char *type = wide ? "b64" : "b32", *reg = wide ? "d" : "r";
        bool real = strchr(row[n].op, 'f') && !cas && row[n].op[0] == 'a';
        const char *dst = real ? wide ? "g" : "f" : reg;
        uint64_t out[2] = {row[n].old, 0};
        uint64_t in[2] = {row[n].b, row[n].c};
        struct ptx_run r = {.body = body,
                            .in = in,
                            .in_bytes = sizeof in,
                            .out = out,
                            .out_bytes = sizeof out};

        body[0] = 0;
        say("ld.global.%s %%%s1, [%%in];\nld.global.%s %%%s2, [%%in+8];\n"
            "atom.global.%s %%%s3, [%%out], %%%s1%s%s%s;\n"
            "st.global.%s [%%out+8], %%%s3;",
            type, dst, type, dst, row[n].op, dst, dst, cas ? ", %" : "",
            cas ? reg : "", cas ? "2" : "", type, dst);
        assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
        assert_true(out[0] == row[n].want);
        assert_true(out[1] == row[n].old);
    }
}

/* Several host threads run the blocks: no update is lost. */
static void atomics_of_many_blocks_lose_nothing(void **state)
{
    uint64_t out[8] = {0};
    fgs_sim_config cfg = {.size = sizeof cfg};
    struct ptx_run r = {.out = out,
                        .out_bytes = sizeof out,
                        .blocks = 96,
                        .threads = 64,
                        .cfg = &cfg};

    (void)state;
    assert_int_equal(fgs_sim_config_get(&cfg, NULL), FGS_OK);
    cfg.threads = 4;
    r.body = "mov.u32 %r1, 20;\nmov.f32 %f1, 0f3F800000;\nL_loop:\n"
             "red.relaxed.gpu.global.add.u32 [%out], 1;\n"
             "atom.global.add.u64 %d1, [%out+8], 3;\n"
             "red.global.add.f32 [%out+16], %f1;\n"
             "red.global.max.u32 [%out+24], %t;\n"
             "red.global.inc.u32 [%out+32], 99;\n"
             "sub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra L_loop;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out[0], 96 * 64 * 20);
    assert_int_equal(out[1], 96 * 64 * 20 * 3);
    assert_int_equal(out[2], 0x47f00000); /* 122880.0f */
    assert_int_equal(out[3], 96 * 64 - 1);
    assert_int_equal(out[4], 96 * 64 * 20 % 100);
    cfg.threads = 0;
    assert_int_equal(fgs_sim_config_set(&cfg, NULL), FGS_OK);
}

static void atomics_on_shared_memory_serve_the_block(void **state)
{
    uint64_t out[128] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 128};
    bool seen[128] = {false};

    (void)state;
    r.body = ".shared .align 8 .u32 s_next;\nsetp.eq.u32 %p1, %t, 0;\n"
             "@%p1 st.shared.u32 [s_next], 0;\nbar.sync 0;\n"
             "atom.shared.add.u32 %r1, [s_next], 1;\n"
             "cvt.u64.u32 %d1, %r1;\nst.global.u64 [%my], %d1;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 128; t++) {
        assert_in_range(out[t], 0, 127);
        assert_false(seen[out[t]]);
        seen[out[t]] = true;
    }
}

static void shared_float_add_keeps_subnormals(void **state)
{
    uint64_t out[1] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out};

    (void)state;
    r.body = ".shared .f32 s_x;\nmov.f32 %f1, 0f00000001;\n"
             "st.shared.f32 [s_x], %f1;\nred.shared.add.f32 [s_x], %f1;\n"
             "ld.shared.b32 %r1, [s_x];\nst.global.u32 [%out], %r1;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_return_the_old_value_and_store_the_new_one),
        cmocka_unit_test(atomics_of_many_blocks_lose_nothing),
        cmocka_unit_test(atomics_on_shared_memory_serve_the_block),
        cmocka_unit_test(shared_float_add_keeps_subnormals),
    };

    return cmocka_run_group_tests_name("sim_atom", tests, NULL, NULL);
}
