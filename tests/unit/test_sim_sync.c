/* test_sim_sync.c -- barriers, fences, sleep, griddepcontrol, as PTX */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ptx_run.h"

#define STORE_R9 "cvt.u64.u32 %d9, %r9;\nst.global.u64 [%my], %d9;"

/* ---------------------------------------------------------- bar.sync -- */

static void bar_sync_separates_writes_from_reads_of_other_warps(void **state)
{
    uint64_t out[2 * 200] = {0};
    struct ptx_run r = {
        .out = out, .out_bytes = sizeof out, .blocks = 2, .threads = 200};

    (void)state;
    /* Each thread reads its mirror's word, ten rounds; 200 is not a multiple
     * of the warp size. */
    r.body = ".shared .align 4 .b32 s_w[200];\nmov.u32 %r1, %tid.x;\n"
             "mov.u32 %r2, s_w;\nmad.lo.u32 %r3, %r1, 4, %r2;\n"
             "sub.u32 %r4, 199, %r1;\nmad.lo.u32 %r4, %r4, 4, %r2;\n"
             "mov.u32 %r9, %r1;\nmov.u32 %r5, 0;\nL_round:\n"
             "st.shared.u32 [%r3], %r9;\nbar.sync 0;\n"
             "ld.shared.u32 %r9, [%r4];\nadd.u32 %r9, %r9, 1;\nbar.sync 0;\n"
             "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 9;\n"
             "@%p1 bra L_round;\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 400; t++)
        assert_int_equal(out[t], 199 - t % 200 + 9);
}

static void threads_that_exited_are_not_waited_for(void **state)
{
    uint64_t out[96] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 96};

    (void)state;
    /* A whole warp and some lanes of another leave, some of them late. */
    r.body = "setp.lt.u32 %p1, %t, 40;\n@%p1 bra L_stay;\n"
             "setp.lt.u32 %p2, %t, 80;\n@%p2 ret;\n"
             "nanosleep.u32 5000;\nret;\nL_stay:\nbar.sync 0;\n"
             "mov.u32 %r9, 6;\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 96; t++)
        assert_int_equal(out[t], t < 40 ? 6 : 0);
}

static void diverged_lanes_arrive_one_by_one(void **state)
{
    uint64_t out[64] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 64};

    (void)state;
    r.body = ".shared .b32 s_x;\nsetp.eq.u32 %p1, %t, 3;\n"
             "@%p1 bra L_three;\nbarrier.sync 0;\n"
             "ld.shared.u32 %r9, [s_x];\nbra L_end;\n"
             "L_three:\nst.shared.u32 [s_x], 42;\nbarrier.sync 0;\n"
             "mov.u32 %r9, 43;\nL_end:\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(out[t], t == 3 ? 43 : 42);
}

/* A producer warp and a consumer warp on two barriers, as the ISA shows. */
static void named_barriers_hand_over_between_two_warps(void **state)
{
    uint64_t out[96] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 96};

    (void)state;
    r.body = ".shared .align 4 .b32 s_w[32];\nmov.u32 %r1, %laneid;\n"
             "mov.u32 %r2, s_w;\nmad.lo.u32 %r2, %r1, 4, %r2;\n"
             "mov.u32 %r9, 0;\nmov.u32 %r5, 0;\nmov.u32 %r6, %warpid;\n"
             "shr.u32 %r6, %t, 5;\nsetp.eq.u32 %p1, %r6, 0;\n"
             "setp.eq.u32 %p2, %r6, 2;\n@%p2 bra L_end;\n"
             "@%p1 bra L_produce;\nL_consume:\nbar.arrive 1, 64;\n"
             "bar.sync 2, 64;\nld.shared.u32 %r3, [%r2];\n"
             "add.u32 %r9, %r9, %r3;\nadd.u32 %r5, %r5, 1;\n"
             "setp.lt.u32 %p3, %r5, 10;\n@%p3 bra L_consume;\nbra L_end;\n"
             "L_produce:\nbar.sync 1, 64;\nst.shared.u32 [%r2], %r5;\n"
             "bar.arrive 2, 64;\nadd.u32 %r5, %r5, 1;\n"
             "setp.lt.u32 %p3, %r5, 10;\n@%p3 bra L_produce;\n"
             "L_end:\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 96; t++)
        assert_int_equal(out[t], t / 32 == 1 ? 45 : 0);
}

/* The count takes in whole warps; the last warp of 48 threads is half one. */
static void count_of_whole_warps_covers_a_partial_one(void **state)
{
    uint64_t out[48] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 48};

    (void)state;
    r.body = "mov.u32 %r1, 5;\nmov.u32 %r2, 64;\nbar.sync %r1, %r2;\n"
             "mov.u32 %r9, 1;\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out[47], 1);
}

static void warp_barrier_joins_lanes_of_one_mask(void **state)
{
    uint64_t out[32] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 32};

    (void)state;
    /* Odd lanes write late; even ones read behind the barrier. */
    r.body = ".shared .align 4 .b32 s_w[32];\nmov.u32 %r2, s_w;\n"
             "mad.lo.u32 %r3, %t, 4, %r2;\nxor.b32 %r4, %t, 1;\n"
             "mad.lo.u32 %r4, %r4, 4, %r2;\nand.b32 %r5, %t, 1;\n"
             "setp.eq.u32 %p1, %r5, 0;\nmov.u32 %r9, 0;\n"
             "@%p1 bra L_even;\nnanosleep.u32 800;\n"
             "st.shared.u32 [%r3], %t;\nbar.warp.sync 0xffffffff;\nbra L_end;\n"
             "L_even:\nbar.warp.sync 0xffffffff;\nld.shared.u32 %r9, [%r4];\n"
             "L_end:\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(out[t], t & 1 ? 0 : t + 1);
}

/* ---------------------------------------------------------------- faults -- */

static void broken_barriers_are_faults(void **state)
{
    static const struct {
        const char *body, *rule;
    } row[] = {
        {"mov.u32 %r1, 16;\nbar.sync %r1;", "barrier 16 does not exist"},
        {"mov.u32 %r1, 40;\nbar.sync 1, %r1;", "multiple of 32, not 40"},
        {"mov.u32 %r1, 0;\nbar.arrive 1, %r1;", "multiple of 32, not 0"},
        {"shr.u32 %r1, %t, 5;\nadd.u32 %r1, %r1, 2;\nshl.b32 %r1, %r1, 5;\n"
         "bar.sync 1, %r1;",
         "different thread counts"},
        {"and.b32 %r1, %t, 1;\nbarrier.sync %r1;",
         "different barrier numbers (0 and 1)"},
        {"bar.warp.sync 0xffff;", "member mask"},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        struct ptx_run r = {.body = row[n].body, .threads = 64};

        assert_int_equal(ptx_run(&r), CUDA_ERROR_ILLEGAL_INSTRUCTION);
        assert_non_null(strstr(fgs_sim_last_fault(), "kernel k, PTX line "));
        assert_non_null(strstr(fgs_sim_last_fault(), row[n].rule));
    }
}

static void block_that_can_never_go_on_is_a_fault(void **state)
{
    static const char *const row[] = {
        /* half of the block waits for more threads than there are */
        "bar.sync 1, 128;",
        /* two barriers, crosswise */
        "setp.lt.u32 %p1, %t, 32;\n@%p1 bra L_a;\nbar.sync 1, 64;\n"
        "bar.sync 2, 64;\nret;\nL_a:\nbar.sync 2, 64;\nbar.sync 1, 64;",
        /* a bulk group that is complete, then a barrier that is not */
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
        "bar.sync 3, 96;",
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        struct ptx_run r = {.body = row[n], .threads = 64, .blocks = 3};

        assert_int_equal(ptx_run(&r), CUDA_ERROR_LAUNCH_FAILED);
        assert_non_null(strstr(fgs_sim_last_fault(), "kernel k, PTX line "));
        assert_non_null(strstr(fgs_sim_last_fault(), "deadlock: "));
    }
}

/* Threads asleep, or in a timed wait, are not stuck. */
static void barrier_behind_a_long_sleep_is_no_deadlock(void **state)
{
    uint64_t out[64] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .threads = 64};

    (void)state;
    r.body = "mov.u32 %r5, 0;\nsetp.lt.u32 %p1, %t, 63;\n@%p1 bra L_wait;\n"
             "L_sleep:\nnanosleep.u32 1000000;\nadd.u32 %r5, %r5, 1;\n"
             "setp.lt.u32 %p2, %r5, 20;\n@%p2 bra L_sleep;\n"
             "L_wait:\nbar.sync 0;\nmov.u32 %r9, 1;\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out[0] + out[63], 2);
}

/* ----------------------------------------------------------------- times -- */

static void nanosleep_takes_up_to_twice_its_time(void **state)
{
    uint64_t out[64] = {0}, most = 0, least = UINT64_MAX;
    struct ptx_run r = {.out = out, .out_bytes = sizeof out, .blocks = 64};

    (void)state;
    r.body = "mov.u64 %d1, %globaltimer;\nnanosleep.u32 10000;\n"
             "mov.u64 %d2, %globaltimer;\nsub.u64 %d2, %d2, %d1;\n"
             "st.global.u64 [%my], %d2;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (unsigned t = 0; t < 64; t++) {
        assert_in_range(out[t], 0, 20600);
        most = out[t] > most ? out[t] : most;
        least = out[t] < least ? out[t] : least;
    }
    assert_true(most > 14000);
    assert_true(least < 6000);
}

static void nanosleep_ends_after_a_millisecond_at_most(void **state)
{
    uint64_t out[1] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out};

    (void)state;
    r.body = "mov.u64 %d1, %globaltimer;\nmov.u32 %r1, 4000000000;\n"
             "nanosleep.u32 %r1;\n"
             "mov.u64 %d2, %globaltimer;\nsub.u64 %d2, %d2, %d1;\n"
             "st.global.u64 [%my], %d2;";
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_in_range(out[0], 0, 1000600);
}

static void fences_and_griddepcontrol_go_through(void **state)
{
    uint64_t out[1] = {0};
    struct ptx_run r = {.out = out, .out_bytes = sizeof out};

    (void)state;
    r.body = "fence.acq_rel.gpu;\nfence.sc.sys;\nfence.acquire.cluster;\n"
             "fence.release.cta;\nmembar.gl;\nmembar.cta;\nmembar.sys;\n"
             "fence.proxy.async;\nfence.proxy.async.global;\n"
             "fence.proxy.async.shared::cta;\nfence.proxy.alias;\n"
             "fence.mbarrier_init.release.cluster;\n"
             "griddepcontrol.launch_dependents;\n"
             "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;\n"
             "griddepcontrol.wait;\nmov.u32 %r9, 1;\n" STORE_R9;
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    assert_int_equal(out[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bar_sync_separates_writes_from_reads_of_other_warps),
        cmocka_unit_test(threads_that_exited_are_not_waited_for),
        cmocka_unit_test(diverged_lanes_arrive_one_by_one),
        cmocka_unit_test(named_barriers_hand_over_between_two_warps),
        cmocka_unit_test(count_of_whole_warps_covers_a_partial_one),
        cmocka_unit_test(warp_barrier_joins_lanes_of_one_mask),
        cmocka_unit_test(broken_barriers_are_faults),
        cmocka_unit_test(block_that_can_never_go_on_is_a_fault),
        cmocka_unit_test(barrier_behind_a_long_sleep_is_no_deadlock),
        cmocka_unit_test(nanosleep_takes_up_to_twice_its_time),
        cmocka_unit_test(nanosleep_ends_after_a_millisecond_at_most),
        cmocka_unit_test(fences_and_griddepcontrol_go_through),
    };

    return cmocka_run_group_tests_name("sim_sync", tests, NULL, NULL);
}
