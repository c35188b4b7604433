/* test_sim_mbar_insn.c -- mbarrier instructions, as PTX on the device */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ptx_run.h"

#define BAR  ".shared .align 8 .b64 s_bar;\nmov.u32 %r30, s_bar;\n"
#define TILE ".shared .align 128 .b8 s_tile[4096];\nmov.u32 %r31, s_tile;\n"
#define V1   "mbarrier.init.layout::v1.shared::cta.b64 [%r30], "
#define V0   "mbarrier.init.shared::cta.b64 [%r30], "
/* A predicate as a bit of %r9. */
#define BIT(p, n) "@" p " or.b32 %r9, %r9, " #n ";\n"
#define OUT_R9    "cvt.u64.u32 %d9, %r9;\nst.global.u64 [%my], %d9;\n"

static uint64_t run_one(const char *text)
{
    uint64_t out[32] = {0};
    struct ptx_run r = {.body = text, .out = out, .out_bytes = sizeof out};

    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    return out[0];
}

/* ---------------------------------------------------------------- phases -- */

static void wait_by_parity_and_by_state_see_the_phase_end(void **state)
{
    (void)state;
    assert_int_equal(
        run_one(
            BAR V0
            "2;\nmov.u32 %r9, 0;\n"
            "mbarrier.arrive.shared::cta.b64 %d1, [%r30];\n"
            "mbarrier.test_wait.shared::cta.b64 %p1, [%r30], %d1;\n" BIT(
                "%p1",
                1) "mbarrier.test_wait.parity.shared::cta.b64 "
                   "%p1, [%r30], 0;\n" BIT(
                       "%p1",
                       2) "mbarrier.test_wait.parity.shared::cta.b64 "
                          "%p1, [%r30], 1;\n" BIT(
                              "%p1",
                              4) "mbarrier.arrive.release.cta.shared::cta.b64 "
                                 "%d2, [%r30];\n"
                                 "mbarrier.try_wait.shared::cta.b64 %p1, "
                                 "[%r30], %d1;\n" BIT(
                                     "%p1",
                                     8) "mbarrier.test_wait.shared::cta.b64 "
                                        "%p1, "
                                        "[%r30], %d2;\n" BIT(
                                            "%p1",
                                            16) "mbarrier.try_wait.parity."
                                                "acquire.cta.shared::cta.b64 "
                                                "%p1, [%r30], 0;\n" BIT(
                                                    "%p1",
                                                    32) "mbarrier.test_wait."
                                                        "parity.relaxed."
                                                        "cluster.shared::cta."
                                                        "b64 "
                                                        "%p1, [%r30], 1;\n" BIT(
                                                            "%p1", 64) OUT_R9),
        4 + 8 + 16 + 32);
}

static void generic_address_reaches_the_object(void **state)
{
    (void)state;
    assert_int_equal(
        run_one(
            BAR
            "mov.u64 %d1, s_bar;\ncvta.shared.u64 %d1, %d1;\n"
            "mov.u32 %r9, 0;\nmbarrier.init.b64 [%d1], 1;\n"
            "mbarrier.check_layout.layout::v0.b64 %p1, [%d1];\n" BIT(
                "%p1",
                1) "mbarrier.check_layout.layout::v1.b64 %p1, "
                   "[%d1];\n" BIT(
                       "%p1",
                       2) "mbarrier.arrive.b64 _, [%d1];\n"
                          "mbarrier.test_wait.parity.b64 %p1, [%d1], 0;\n" BIT(
                              "%p1", 4) "mbarrier.inval.b64 [%d1];\n"
                                        "mbarrier.init.layout::v1.shared::cta."
                                        "b64 [s_bar], 3;\n"
                                        "mbarrier.check_layout.layout::v1."
                                        "shared::cta.b64 %p1, "
                                        "[s_bar];\n" BIT("%p1", 8) OUT_R9),
        1 + 4 + 8);
}

static void counts_drop_and_pend(void **state)
{
    (void)state;
    /* init 6: noComplete 2 -> pending 6 before, drop 3 of the 4 left, arrive
     * 1 ends the phase; the next one expects 3. */
    assert_int_equal(
        run_one(BAR V0
                "6;\nmov.u32 %r9, 0;\n"
                "mbarrier.arrive.noComplete.shared::cta.b64 %d1, [%r30], 2;\n"
                "mbarrier.pending_count.b64 %r1, %d1;\n"
                "mbarrier.arrive_drop.noComplete.shared::cta.b64 "
                "%d2, [%r30], 3;\n"
                "mbarrier.pending_count.b64 %r2, %d2;\n"
                "mbarrier.arrive.shared::cta.b64 _, [%r30];\n"
                "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r30], 0;\n"
                "mbarrier.arrive.shared::cta.b64 %d3, [%r30], 3;\n"
                "mbarrier.test_wait.shared::cta.b64 %p2, [%r30], %d3;\n"
                "mad.lo.u32 %r9, %r1, 16, %r2;\n" BIT("%p1", 256)
                    BIT("%p2", 512) OUT_R9),
        6 * 16 + 4 + 256 + 512);
}

static void tx_count_holds_the_phase(void **state)
{
    (void)state;
    assert_int_equal(
        run_one(
            BAR V1
            "1;\nmov.u32 %r9, 0;\n"
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30], 100;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 28;\n"
            "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r30], 0;\n" BIT(
                "%p1",
                1) "mbarrier.complete_tx.shared::cta.b64 [%r30], 127;\n"
                   "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r30], "
                   "0;\n" BIT(
                       "%p1",
                       2) "mbarrier.complete_tx.shared::cta.b64 [%r30], 1;\n"
                          "mbarrier.test_wait.parity.phase_type::primary."
                          "shared::cta.b64 "
                          "%p1|%p2, [%r30], 0;\n" BIT("%p1", 4)
                              BIT("%p2", 8) "mbarrier.test_wait.parity.phase_"
                                            "type::conditional.shared::cta.b64 "
                                            "%p1, [%r30], 0;\n" BIT("%p1", 16)
                                                OUT_R9),
        4 + 16);
}

static void try_wait_suspends_until_the_phase_ends(void **state)
{
    uint64_t out[64] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 64};

    (void)state;
    /* Thread 0 arrives 7 us late and lives on, so that nothing but the end of
     * the phase can wake the other warp from its wait of a millisecond. */
    r.body =
        BAR "setp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared::cta.b64 "
            "[%r30], 1;\nbar.sync 0;\nmov.u64 %d1, %globaltimer;\n"
            "setp.lt.u32 %p4, %t, 32;\n@!%p4 bra L_wait;\n@!%p1 ret;\n"
            "L_spin:\nmov.u64 %d3, %globaltimer;\nsub.u64 %d3, %d3, %d1;\n"
            "setp.lt.u64 %p2, %d3, 7000;\n@%p2 bra L_spin;\n"
            "mbarrier.arrive.shared::cta.b64 _, [%r30];\nL_stay:\n"
            "mov.u64 %d3, %globaltimer;\nsub.u64 %d3, %d3, %d1;\n"
            "setp.lt.u64 %p2, %d3, 20000;\n@%p2 bra L_stay;\nret;\nL_wait:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r30], 0, "
            "1000000;\n@!%p3 trap;\nmov.u64 %d4, %globaltimer;\n"
            "sub.u64 %d4, %d4, %d1;\nst.global.u64 [%my], %d4;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 32; t < 64; t++)
        assert_in_range(out[t], 6900, 9500);
}

static void try_wait_gives_up_after_its_hint_or_the_limit(void **state)
{
    uint64_t t;

    (void)state;
    t = run_one(BAR V1 "1;\nmov.u64 %d1, %globaltimer;\n"
                       "mbarrier.try_wait.parity.shared::cta.b64 "
                       "%p1, [%r30], 0;\n@%p1 trap;\n"
                       "mov.u64 %d2, %globaltimer;\nsub.u64 %d2, %d2, %d1;\n"
                       "st.global.u64 [%my], %d2;");
    assert_in_range(t, 1900, 2200);
    t = run_one(BAR V1 "1;\nmov.u64 %d1, %globaltimer;\n"
                       "mbarrier.try_wait.parity.shared::cta.b64 "
                       "%p1, [%r30], 0, 50000;\n@%p1 trap;\n"
                       "mov.u64 %d2, %globaltimer;\nsub.u64 %d2, %d2, %d1;\n"
                       "st.global.u64 [%my], %d2;");
    assert_in_range(t, 49900, 50200);
}

/* ISA: undefined when p is false.  Both values must be seen. */
static void report_is_noise_while_the_wait_is_false(void **state)
{
    uint64_t out[64] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .blocks = 64};
    unsigned set = 0;

    (void)state;
    r.body =
        BAR V1 "1;\nmov.u32 %r9, 0;\n"
               "mbarrier.test_wait.parity.phase_type::primary.shared::cta.b64 "
               "%p1|%p2, [%r30], 0;\n@%p1 trap;\n" BIT("%p2", 1) OUT_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned n = 0; n < 64; n++)
        set += out[n] != 0;
    assert_in_range(set, 10, 54);
}

/* ---------------------------------------------------------------- faults -- */

#define INSN   CUDA_ERROR_ILLEGAL_INSTRUCTION
#define ARRIVE "mbarrier.arrive.shared::cta.b64 _, [%r30]"

static void broken_rules_are_faults_that_name_the_rule(void **state)
{
    static const struct {
        const char *body;
        CUresult cu;
        const char *rule;
    } row[] = {
        /* the object */
        {BAR ARRIVE ";", INSN, "no initialized mbarrier object"},
        {BAR "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r30], 0;", INSN,
         "no initialized mbarrier object"},
        {BAR "mbarrier.inval.shared::cta.b64 [%r30];", INSN,
         "no initialized mbarrier object"},
        {BAR V0 "1;\nmbarrier.inval.shared::cta.b64 [%r30];\n" ARRIVE ";", INSN,
         "no initialized mbarrier object"},
        {BAR V0 "1;\n" V0 "1;", INSN, "initialized already"},
        {BAR "mbarrier.init.shared::cta.b64 [%r30+4], 1;",
         CUDA_ERROR_MISALIGNED_ADDRESS, "not 8-byte aligned"},
        {BAR "mbarrier.init.shared::cta.b64 [%r30+8], 1;",
         CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory"},
        {BAR "mbarrier.init.b64 [%in], 1;", CUDA_ERROR_INVALID_ADDRESS_SPACE,
         "not in shared memory"},
        /* counts */
        {BAR "mov.u32 %r1, 0;\n" V0 "%r1;", INSN, "1 to 1048575"},
        {BAR "mov.u32 %r1, 1048576;\n" V0 "%r1;", INSN, "1 to 1048575"},
        {BAR "mov.u32 %r1, 512;\n" V1 "%r1;", INSN, "1 to 511"},
        {BAR V0 "2;\nmov.u32 %r1, 3;\n" ARRIVE ", %r1;", INSN, "more arrivals"},
        {BAR V0 "2;\nmov.u32 %r1, 0;\n" ARRIVE ", %r1;", INSN, "1 to 1048575"},
        {BAR V0 "1;\nmbarrier.arrive.noComplete.shared::cta.b64 %d1, "
                "[%r30], 1;",
         INSN, "would complete the phase"},
        {BAR V0 "1;\nmbarrier.expect_tx.shared::cta.b64 [%r30], 1048575;\n"
                "mbarrier.expect_tx.shared::cta.b64 [%r30], 1;",
         INSN, "tx-count"},
        {BAR V0 "1;\nmov.u32 %r1, 1048576;\n"
                "mbarrier.complete_tx.shared::cta.b64 [%r30], %r1;",
         INSN, "tx-count"},
        {BAR V1 "3;\nmbarrier.arrive.shared::cta.b64 %d1, [%r30];\n"
                "mbarrier.pending_count.b64 %r1, %d1;",
         INSN, "layout::v0 barrier only"},
        {BAR V1 "1;\n" ARRIVE ";\n" ARRIVE ";", INSN, "report would be lost"},
        {BAR V0 "1;\nmbarrier.arrive.shared::cta.b64 %d1, [%r30];\n" ARRIVE
                ";\nmbarrier.test_wait.shared::cta.b64 %p1, [%r30], %d1;",
         INSN, "nor of the preceding phase"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_by_parity_and_by_state_see_the_phase_end),
        cmocka_unit_test(generic_address_reaches_the_object),
        cmocka_unit_test(counts_drop_and_pend),
        cmocka_unit_test(tx_count_holds_the_phase),
        cmocka_unit_test(try_wait_suspends_until_the_phase_ends),
        cmocka_unit_test(try_wait_gives_up_after_its_hint_or_the_limit),
        cmocka_unit_test(report_is_noise_while_the_wait_is_false),
        cmocka_unit_test(broken_rules_are_faults_that_name_the_rule),
    };

    return cmocka_run_group_tests_name("sim_mbar_insn", tests, NULL, NULL);
}
