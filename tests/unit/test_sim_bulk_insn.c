/* test_sim_bulk_insn.c -- cp.async.bulk, as PTX on the device
 *
 * TSAN: a bulk copy reads what another worker's block writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counting.h"
#include "ptx_run.h"

#define BAR  ".shared .align 8 .b64 s_bar;\nmov.u32 %r30, s_bar;\n"
#define TILE ".shared .align 128 .b8 s_tile[4096];\nmov.u32 %r31, s_tile;\n"
#define V1   "mbarrier.init.layout::v1.shared::cta.b64 [%r30], "
#define V0   "mbarrier.init.shared::cta.b64 [%r30], "
/* A predicate as a bit of %r9. */
#define BIT(p, n) "@" p " or.b32 %r9, %r9, " #n ";\n"
#define OUT_R9    "cvt.u64.u32 %d9, %r9;\nst.global.u64 [%my], %d9;\n"

/* ---------------------------------------------------------------- copies -- */

/* Copy 4096 bytes with a mechanism and give back: report 1, primary done 2,
 * conditional done 4, report value 8 bits above. */
#define COPY_AND_LOOK(mech)                                                    \
    BAR TILE V1                                                                \
        "1;\nmov.u32 %r9, 0;\n"                                                \
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r30], "    \
        "4096;\ncp.async.bulk.relaxed.gpu.shared::cta.global"                  \
        ".mbarrier::complete_tx::bytes.mbarrier::report::" mech ".b128 "       \
        "[%r31], [%in], 4096, [%r30];\nL_wait:\n"                              \
        "mbarrier.try_wait.parity.phase_type::primary.acquire.cta.shared::cta" \
        ".b64 %p1|%p2, %c1, [%r30], 0;\n@!%p1 bra L_wait;\n" BIT("%p2", 1)     \
            BIT("%p1", 2) "mbarrier.test_wait.parity.phase_type::conditional." \
                          "shared::cta.b64 "                                   \
                          "%p3, [%r30], 0;\n" BIT("%p3", 4) OUT_R9             \
        "st.global.u8 [%my+9], %c1;\n"                                         \
        "mov.u32 %r1, 0;\nL_back:\nadd.u32 %r2, %r31, %r1;\n"                  \
        "ld.shared.b128 %q1, [%r2];\ncvt.u64.u32 %d1, %r1;\n"                  \
        "add.u64 %d1, %d1, %out;\nst.global.b128 [%d1+16], %q1;\n"             \
        "add.u32 %r1, %r1, 16;\nsetp.lt.u32 %p4, %r1, 4096;\n@%p4 bra L_back;"

static unsigned copy_and_look(const char *text, unsigned sample,
                              const unsigned char *in)
{
    static unsigned char out[4096 + 16];
    fgs_sim_config cfg = {.size = sizeof cfg};
    struct ptx_run r = {.body = text,
                        .in = in,
                        .in_bytes = 4096,
                        .out = out,
                        .out_bytes = sizeof out,
                        .cfg = &cfg};

    assert_int_equal(fgs_sim_config_get(&cfg, NULL), FGS_OK);
    cfg.sample = sample;
    memset(out, 0x77, sizeof out);
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    /* Data lands whatever is reported. */
    assert_memory_equal(out + 16, in, 4096);
    assert_int_equal(out[9], 0); /* rv: copies report the value 0 */
    return out[0];
}

static void validity_copy_reports_by_mechanism_and_policy(void **state)
{
    static unsigned char in[4096];
    static const struct {
        const char *text;
        unsigned at, sample;
        unsigned char byte, want;
    } row[] = {
        {COPY_AND_LOOK("validity::per_16bytes::80000000"), 1603, 1, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::80000000"), 1607, 1, 0x80, 6},
        {COPY_AND_LOOK("validity::per_16bytes::80000000"), 1615, 2, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::80000000"), 1607, 3, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::8000"), 17, 1, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::8000"), 31, 2, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::8000"), 31, 1, 0x80, 6},
        {COPY_AND_LOOK("validity::per_16bytes::80"), 4080, 1, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::80"), 4095, 2, 0x80, 3},
        {COPY_AND_LOOK("validity::per_16bytes::8"), 0, 1, 0x08, 3},
        {COPY_AND_LOOK("validity::per_16bytes::8"), 0, 1, 0x80, 6},
        {COPY_AND_LOOK("validity::per_16bytes::8"), 15, 2, 0x80, 3},
        {COPY_AND_LOOK("validity::per_element::ff"), 2222, 1, 0xff, 3},
        {COPY_AND_LOOK("validity::per_element::ff"), 2222, 3, 0x3f, 6},
        {COPY_AND_LOOK("disabled"), 3, 3, 0x80, 6},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        memset(in, 0, sizeof in);
        in[row[n].at] = row[n].byte;
        assert_int_equal(copy_and_look(row[n].text, row[n].sample, in),
                         row[n].want);
        in[row[n].at] = 0;
        assert_int_equal(copy_and_look(row[n].text, row[n].sample, in), 6);
    }
}

static void weak_copy_is_tracked_by_a_v0_barrier(void **state)
{
    uint64_t in[512], out[512] = {0};
    struct ptx_run r = {.in = in,
                        .in_bytes = sizeof in,
                        .out = out,
                        .out_bytes = sizeof out,
                        .threads = 64};

    (void)state;
    for (unsigned n = 0; n < 512; n++)
        in[n] = n * 0x0101010101010101ull;
    r.body = BAR TILE
        "setp.eq.u32 %p1, %t, 0;\n@!%p1 bra L_start;\n" V0 "1;\nL_start:\n"
        "bar.sync 0;\n@!%p1 bra L_wait;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 4096;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r31], [%in], 2048, [%r30];\nadd.u64 %d1, %in, 2048;\n"
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
        "[%r31+2048], [%d1], 2048, [%r30];\nL_wait:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r30], 0;\n"
        "@!%p2 bra L_wait;\nmul.lo.u32 %r1, %t, 64;\n"
        "add.u32 %r2, %r1, %r31;\ncvt.u64.u32 %d2, %r1;\n"
        "add.u64 %d2, %d2, %out;\nmov.u32 %r3, 0;\nL_back:\n"
        "ld.shared.b128 %q1, [%r2];\nst.global.b128 [%d2], %q1;\n"
        "add.u32 %r2, %r2, 16;\nadd.u64 %d2, %d2, 16;\n"
        "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 4;\n@%p3 bra L_back;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_memory_equal(in, out, sizeof in);
}

static void bulk_store_is_awaited_by_its_group(void **state)
{
    uint64_t out[512] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 64};

    (void)state;
    /* Each thread fills 64 bytes of the tile; thread 0 stores it in two
     * groups, strong and weak, waits, and checks the result itself. */
    r.body = TILE
        "mul.lo.u32 %r1, %t, 64;\nadd.u32 %r1, %r1, %r31;\n"
        "mov.u64 %d1, 0x0807060504030201;\nmov.u32 %r2, 0;\nL_fill:\n"
        "st.shared.u64 [%r1], %d1;\nadd.u32 %r1, %r1, 8;\n"
        "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra L_fill;\n"
        "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
        "setp.ne.u32 %p2, %t, 0;\n@%p2 ret;\n"
        "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 "
        "[%out], [%r31], 2048;\ncp.async.bulk.commit_group;\n"
        "add.u64 %d2, %out, 2048;\nadd.u32 %r3, %r31, 2048;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%d2], [%r3], 2048;\n"
        "cp.async.bulk.commit_group;\n"
        "cp.async.bulk.wait_group.read 0;\nst.shared.u64 [%r31], 0;\n"
        "cp.async.bulk.wait_group 1;\nld.relaxed.gpu.global.u64 %d3, [%out];\n"
        "setp.ne.u64 %p3, %d3, %d1;\n@%p3 trap;\n"
        "cp.async.bulk.wait_group 0;\n"
        "ld.relaxed.gpu.global.u64 %d3, [%out+4088];\n"
        "setp.ne.u64 %p3, %d3, %d1;\n@%p3 trap;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned n = 0; n < 512; n++)
        assert_true(out[n] == 0x0807060504030201);
}

static void wait_group_read_returns_before_the_writes_are_done(void **state)
{
    uint64_t out[512] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out};

    (void)state;
    r.body = TILE
        "mov.u64 %d1, %globaltimer;\nadd.u64 %d4, %out, 2048;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%d4], [%r31], 2048;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
        "mov.u64 %d2, %globaltimer;\ncp.async.bulk.wait_group 0;\n"
        "mov.u64 %d3, %globaltimer;\nsub.u64 %d2, %d2, %d1;\n"
        "sub.u64 %d3, %d3, %d1;\nst.global.v2.u64 [%out], {%d2, %d3};";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_in_range(out[0], 300, 660);
    assert_in_range(out[1], out[0] + 1, 1900);
}

/* The loop of guide 4.6.6: the tile is produced by another block while this
 * one copies; the conditional phase lets the others go once. */
static void retry_loop_ends_when_the_producer_has_stored_the_tile(void **state)
{
    static uint32_t tile[1024];
    uint64_t out[128] = {0};
    struct ptx_run r = {.in = tile,
                        .in_bytes = sizeof tile,
                        .out = out,
                        .out_bytes = sizeof out,
                        .blocks = 2,
                        .threads = 64};

    (void)state;
    r.body = BAR TILE
        "mov.u32 %r9, 0;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
        "setp.eq.u32 %p1, %r1, 1;\n@%p1 bra L_consume;\n"
        /* block 0: each thread stores four chunks, one a microsecond */
        "mov.u32 %r3, 0;\nL_store:\nmad.lo.u32 %r4, %r3, 64, %r2;\n"
        "mul.wide.u32 %d1, %r4, 16;\nadd.u64 %d1, %d1, %in;\n"
        "mov.b64 %d2, {%r4, %r4};\nmov.b128 %q1, {%d2, %d2};\n"
        "nanosleep.u32 1000;\nst.relaxed.gpu.global.b128 [%d1], %q1;\n"
        "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 4;\n@%p2 bra L_store;\n"
        "ret;\n"
        "L_consume:\nsetp.eq.u32 %p3, %r2, 0;\n@!%p3 bra L_ready;\n" V1
        "1;\nL_ready:\nbar.sync 0;\n@!%p3 bra L_wait;\nmov.u32 %r5, 0;\n"
        "L_issue:\n"
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r30], "
        "4096;\ncp.async.bulk.relaxed.gpu.shared::cta.global"
        ".mbarrier::complete_tx::bytes"
        ".mbarrier::report::validity::per_16bytes::80000000.b128 [%r31], "
        "[%in], 4096, [%r30];\nadd.u32 %r9, %r9, 1;\nL_primary:\n"
        "mbarrier.try_wait.parity.phase_type::primary.acquire.cta.shared::cta"
        ".b64 %p4|%p5, [%r30], %r5;\n@!%p4 bra L_primary;\n"
        "@!%p5 bra L_wait;\nxor.b32 %r5, %r5, 1;\nbra L_issue;\n"
        "L_wait:\n"
        "mbarrier.try_wait.parity.phase_type::conditional.acquire.cta"
        ".shared::cta.b64 %p6, [%r30], 0;\n@!%p6 bra L_wait;\n"
        "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nL_sum:\n"
        "mad.lo.u32 %r8, %r6, 64, %r2;\nmad.lo.u32 %r8, %r8, 16, %r31;\n"
        "ld.shared.u32 %r10, [%r8];\nadd.u32 %r7, %r7, %r10;\n"
        "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p7, %r6, 4;\n@%p7 bra L_sum;\n"
        "mov.b64 %d9, {%r7, %r9};\nst.global.u64 [%my], %d9;";
    for (unsigned n = 0; n < 1024; n++)
        tile[n] = 0x80000000;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal((uint32_t)out[64 + t], 4 * t + 64 * (1 + 2 + 3));
    assert_in_range(out[64] >> 32, 2, 1000); /* copies that it took */
    assert_int_equal(out[65] >> 32, 0);
}

/* ---------------------------------------------------------------- faults -- */

#define LOAD "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
#define VALID                                                                  \
    "cp.async.bulk.relaxed.gpu.shared::cta.global"                             \
    ".mbarrier::complete_tx::bytes"                                            \
    ".mbarrier::report::validity::per_16bytes::8000.b128 "
#define INSN CUDA_ERROR_ILLEGAL_INSTRUCTION

static void broken_copies_are_faults_that_name_the_rule(void **state)
{
    static const struct {
        const char *body;
        CUresult cu;
        const char *rule;
    } row[] = {
        {BAR TILE V0 "1;\n" VALID "[%r31], [%in], 16, [%r30];", INSN,
         "must be tracked by a layout::v1 barrier"},
        {BAR TILE LOAD "[%r31], [%in], 16, [%r30];", INSN,
         "no initialized mbarrier object"},
        {BAR TILE V0 "1;\n" LOAD "[%r31+8], [%in], 16, [%r30];",
         CUDA_ERROR_MISALIGNED_ADDRESS, "destination of a bulk copy"},
        {BAR TILE V0 "1;\n" LOAD "[%r31], [%in+8], 16, [%r30];",
         CUDA_ERROR_MISALIGNED_ADDRESS, "source of a bulk copy"},
        {BAR TILE V0 "1;\nmov.u32 %r1, 24;\n" LOAD
                     "[%r31], [%in], %r1, [%r30];",
         INSN, "24 bytes, is not a multiple of 16"},
        {BAR TILE V0 "1;\n" LOAD "[%r31], [%in], 48, [%r30];",
         CUDA_ERROR_ILLEGAL_ADDRESS, "inside any allocation"},
        {BAR TILE V0 "1;\nmov.u32 %r1, 8192;\n" LOAD
                     "[%r31], [%in], %r1, [%r30];",
         CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory"},
        {BAR TILE V0 "1;\nmov.u32 %r1, 0xfffffff0;\n" LOAD
                     "[%r31], [%in], %r1, [%r30];",
         CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory"},
        {TILE "cp.async.bulk.global.shared::cta.bulk_group "
              "[%out], [%r31+8], 16;",
         CUDA_ERROR_MISALIGNED_ADDRESS, "source of a bulk copy"},
        {TILE "cp.async.bulk.global.shared::cta.bulk_group "
              "[%out+4096], [%r31], 16;",
         CUDA_ERROR_ILLEGAL_ADDRESS, "destination of a bulk copy"},
        /* the end of the block */
        {BAR TILE V0 "1;\n" LOAD "[%r31], [%in], 32, [%r30];", INSN,
         "wait for its mbarrier first"},
        {TILE "cp.async.bulk.global.shared::cta.bulk_group "
              "[%out], [%r31], 32;\ncp.async.bulk.commit_group;",
         INSN, "wait_group comes first"},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        uint64_t in[4] = {0}, out[4] = {0};
        struct ptx_run r = {.body = row[n].body,
                            .in = in,
                            .in_bytes = sizeof in,
                            .out = out,
                            .out_bytes = sizeof out};
        CUresult cu = ptx_run(&r);

        if (cu != row[n].cu || !strstr(fgs_sim_last_fault(), row[n].rule))
            print_error("row %zu: %d %s\n", n, cu, fgs_sim_last_fault());
        assert_int_equal(cu, row[n].cu);
        assert_non_null(strstr(fgs_sim_last_fault(), row[n].rule));
        assert_non_null(strstr(fgs_sim_last_fault(), "kernel k, PTX line "));
        assert_non_null(strstr(fgs_sim_last_fault(), "block (0,0,0)"));
        assert_non_null(strstr(fgs_sim_last_fault(), "thread (0,0,0)"));
    }
}

/* Wherever memory ends, the run fails with that error and leaves nothing; the
 * copy's own memory is among it. */
static void run_without_memory_fails_and_leaves_nothing(void **state)
{
    uint64_t in[4] = {0}, out[4];
    struct counting c = {0};
    fgs_allocator a = counting_allocator(&c);
    fgs_sim_config cfg = {.size = sizeof cfg}, plain;
    struct ptx_run r = {.in = in,
                        .in_bytes = sizeof in,
                        .out = out,
                        .out_bytes = sizeof out,
                        .cfg = &cfg,
                        .quiet = true};
    bool copy_failed = false;
    CUresult cu;

    (void)state;
    assert_int_equal(fgs_sim_config_get(&cfg, NULL), FGS_OK);
    plain = cfg;
    cfg.allocator = &a;
    cfg.threads = 1;
    r.body = BAR TILE V0
        "1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 32;\n" LOAD
        "[%r31], [%in], 32, [%r30];\nL_wait:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r30], 0;\n"
        "@!%p1 bra L_wait;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r31], 32;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    do {
        c.at++;
        atomic_store(&c.calls, 0);
        cu = ptx_run(&r);
        assert_true(cu == CUDA_SUCCESS || cu == CUDA_ERROR_OUT_OF_MEMORY ||
                    cu == CUDA_ERROR_UNKNOWN /* no context */);
        copy_failed |=
            cu && strstr(fgs_sim_last_fault(), "no memory for a bulk copy");
        assert_int_equal(fgs_sim_config_set(&plain, NULL), FGS_OK);
        assert_int_equal(atomic_load(&c.live), 0);
    } while (cu);
    assert_true(copy_failed);
    assert_true(atomic_load(&c.calls) < c.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validity_copy_reports_by_mechanism_and_policy),
        cmocka_unit_test(weak_copy_is_tracked_by_a_v0_barrier),
        cmocka_unit_test(bulk_store_is_awaited_by_its_group),
        cmocka_unit_test(wait_group_read_returns_before_the_writes_are_done),
        cmocka_unit_test(retry_loop_ends_when_the_producer_has_stored_the_tile),
        cmocka_unit_test(broken_copies_are_faults_that_name_the_rule),
        cmocka_unit_test(run_without_memory_fails_and_leaves_nothing),
    };

    return cmocka_run_group_tests_name("sim_bulk_insn", tests, NULL, NULL);
}
