/* test_sim_exec.c -- warps: guards, splits, meeting, blocking, time, faults */
#include "counting.h"
#include "exec_kernel.h"

/* -------------------------------------------------------- lanes, guards -- */

static void lanes_past_the_block_do_nothing(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e, HEAD "add.u32 %r0, %t, 100;\n" TAIL, 40);
    for (k = 0; k < 40; k++)
        assert_int_equal(word(&e, k), 100 + k);
    assert_int_equal(word(&e, 40), 0);
    assert_int_equal(word(&e, 63), 0);
    exec_close(&e);
}

static void guard_leaves_other_lanes_alone(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "mov.u32 %r0, 7;\nsetp.lt.u32 %p0, %l, 5;\n"
                "setp.lt.u32 %p2, %l, 9;\n"
                "@%p0 selp.u32 %r0, 17, 99, %p2;\n"
                "@!%p2 selp.u32 %r0, 99, 7, %p2;\n"
                "@!%p0 mul.lo.u32 %r0, %r0, 3;\n"
                "setp.gt.u32 %p1, %l, 99;\n@%p1 mov.u32 %r0, 1;\n"
                "@!%p1 add.u32 %r0, %r0, 1;\n" TAIL,
           32);
    for (k = 0; k < 32; k++)
        assert_int_equal(word(&e, k), k < 5 ? 18 : 22);
    exec_close(&e);
}

static void code_without_ret_ends_the_threads(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e, HEAD "st.shared.b32 [%q0], 9;\n}\n", 3);
    assert_int_equal(word(&e, 2), 9);
    exec_close(&e);
}

/* ----------------------------------------------- operands, predicates -- */

static void literals_take_the_type_they_are_read_as(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           HEAD ".reg .f32 %f;\n.reg .f64 %d;\n"
                "mov.f32 %f, 1.5;\nmov.b32 %r1, %f;\n"
                "mov.f64 %d, 0d3ff0000000000000;\n"
                "add.f64 %d, %d, 0f40000000;\nmov.b64 {_, %r2}, %d;\n"
                "mov.u32 %r3, -1;\nadd.s32 %r4, %r3, -2;\n"
                "mov.u64 %q2, -1;\nshr.u64 %q2, %q2, 40;\n"
                "cvt.u32.u64 %r5, %q2;\nmov.b32 %r6, 0f3f800000;\n" STORE6,
           32);
    assert_int_equal(word(&e, 186), 0x3fc00000);
    assert_int_equal(word(&e, 187), 0x40080000); /* 3.0 */
    assert_int_equal(word(&e, 188), UINT32_MAX);
    assert_int_equal(word(&e, 189), UINT32_MAX - 2);
    assert_int_equal(word(&e, 190), 0xffffff);
    assert_int_equal(word(&e, 191), 0x3f800000);
    exec_close(&e);
}

static void setp_writes_both_predicates(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    /* ISA: p = (a < b) and c, q = !(a < b) and c; here c = lane is odd */
    run_ok(&e,
           HEAD "and.b32 %r9, %l, 1;\nsetp.eq.u32 %p0, %r9, 0;\n"
                "setp.lt.and.u32 %p1|%p2, %l, 7, !%p0;\n"
                "setp.lt.u32 _|%p3, %l, 7;\n"
                "selp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, 1, 0, %p2;\n"
                "selp.u32 %r3, 1, 0, %p3;\nselp.u32 %r4, 1, 0, !%p3;\n"
                "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\n" STORE6,
           32);
    for (k = 0; k < 32; k++) {
        assert_int_equal(word(&e, 6 * k), k < 7 && k % 2);
        assert_int_equal(word(&e, 6 * k + 1), k >= 7 && k % 2);
        assert_int_equal(word(&e, 6 * k + 2), k >= 7);
        assert_int_equal(word(&e, 6 * k + 3), k < 7);
    }
    exec_close(&e);
}

static void predicates_combine_lane_by_lane(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "setp.lt.u32 %p0, %l, 8;\nsetp.gt.u32 %p1, %l, 3;\n"
                "and.pred %p2, %p0, %p1;\nselp.u32 %r1, 1, 0, %p2;\n"
                "or.pred %p2, %p0, !%p1;\nselp.u32 %r2, 1, 0, %p2;\n"
                "xor.pred %p2, %p0, %p1;\nselp.u32 %r3, 1, 0, %p2;\n"
                "not.pred %p2, %p0;\nselp.u32 %r4, 1, 0, %p2;\n"
                "mov.pred %p2, !%p1;\nselp.u32 %r5, 1, 0, %p2;\n"
                "mov.pred %p2, %p1;\n@%p0 xor.pred %p2, %p2, 1;\n"
                "selp.u32 %r6, 1, 0, %p2;\n" STORE6,
           32);
    for (k = 0; k < 32; k++) {
        bool a = k < 8, b = k > 3;

        assert_int_equal(word(&e, 6 * k), a && b);
        assert_int_equal(word(&e, 6 * k + 1), a || !b);
        assert_int_equal(word(&e, 6 * k + 2), a != b);
        assert_int_equal(word(&e, 6 * k + 3), !a);
        assert_int_equal(word(&e, 6 * k + 4), !b);
        assert_int_equal(word(&e, 6 * k + 5), a ? !b : b);
    }
    exec_close(&e);
}

static void dynamic_array_begins_behind_the_static_ones(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           ".version 9.4\n.target sm_107a\n.address_size 64\n"
           ".extern .shared .align 128 .b8 dyn[];\n"
           ".visible .entry k()\n{\n.shared .b8 out[20];\n"
           ".reg .b32 %r;\nmov.u32 %r, dyn;\n"
           "st.shared.b32 [out], %r;\nret;\n}\n",
           1);
    assert_int_equal(e.code->shared_bytes, 128);
    assert_int_equal(word(&e, 0), 128);
    exec_close(&e);
}

/* ----------------------------------------------------------- divergence -- */

static void arms_of_a_branch_join_again(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "setp.lt.u32 %p0, %l, 8;\n@%p0 bra A;\n"
                "mov.u32 %r1, 200;\nactivemask.b32 %r2;\nbra J;\n"
                "A: mov.u32 %r1, 100;\nactivemask.b32 %r2;\n"
                "J: activemask.b32 %r3;\n"
                "setp.eq.u32 %p1, %r3, -1;\nselp.u32 %r4, 1, 0, %p1;\n"
                "setp.eq.u32 %p2, %r2, 255;\nselp.u32 %r5, 2, 0, %p2;\n"
                "add.u32 %r0, %r1, %r4;\nadd.u32 %r0, %r0, %r5;\n" TAIL,
           32);
    for (k = 0; k < 32; k++)
        assert_int_equal(word(&e, k), k < 8 ? 103 : 201);
    exec_close(&e);
}

static void loop_of_unequal_length_joins_behind_it(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "mov.u32 %r0, 0;\nmov.u32 %r1, 0;\n"
                "L: add.u32 %r0, %r0, %r1;\nadd.u32 %r1, %r1, 1;\n"
                "setp.le.u32 %p0, %r1, %l;\n@%p0 bra L;\n"
                "activemask.b32 %r2;\nadd.u32 %r0, %r0, %r2;\n" TAIL,
           32);
    for (k = 0; k < 32; k++)
        assert_int_equal(word(&e, k), k * (k + 1) / 2 + UINT32_MAX);
    exec_close(&e);
}

static void lanes_that_exit_in_a_branch_are_gone(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           HEAD "setp.ge.u32 %p0, %l, 4;\n@%p0 exit;\n"
                "activemask.b32 %r0;\n" TAIL,
           32);
    assert_int_equal(word(&e, 3), 15);
    assert_int_equal(word(&e, 4), 0);
    exec_close(&e);
}

/* Independent thread scheduling: a lock that each lane of a warp takes. */
static void spin_lock_between_lanes_finishes(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           HEAD "mov.u64 %q1, flag;\n"
                "L: atom.shared.cas.b32 %r1, [%q1], 0, 1;\n"
                "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra L;\n"
                "ld.shared.b32 %r2, [%o];\nadd.u32 %r2, %r2, 1;\n"
                "st.shared.b32 [%o], %r2;\n"
                "atom.shared.exch.b32 %r1, [%q1], 0;\nret;\n}\n",
           64);
    assert_int_equal(word(&e, 0), 64);
    exec_close(&e);
}

/* The waiting lanes stand before or behind those they wait for. */
#define WAIT_FIRST(guard)                                                      \
    HEAD "setp.eq.u32 %p0, %l, 3;\n" guard " bra S;\n"                         \
         "W: ld.volatile.shared.b32 %r0, [flag];\n"                            \
         "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra W;\nbra J;\n"                     \
         "S: mov.u32 %r0, 5;\nst.shared.b32 [flag], 1;\nJ:\n" TAIL
#define WAIT_LAST(guard)                                                       \
    HEAD "setp.eq.u32 %p0, %l, 3;\n" guard " bra W;\n"                         \
         "mov.u32 %r0, 5;\nst.shared.b32 [flag], 1;\nbra J;\n"                 \
         "W: ld.volatile.shared.b32 %r0, [flag];\n"                            \
         "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra W;\nJ:\n" TAIL

static void lane_may_wait_for_another_lane(void **state)
{
    static const struct {
        const char *ptx;
        uint32_t of_3, of_4;
    } rows[] = {
        { WAIT_FIRST("@%p0"), 5, 1 },
        { WAIT_FIRST("@!%p0"), 1, 5 },
        { WAIT_LAST("@%p0"), 1, 5 },
        { WAIT_LAST("@!%p0"), 5, 1 },
    };
    struct exec e;
    size_t k;

    (void)state;
    for (k = 0; k < sizeof rows / sizeof *rows; k++) {
        run_ok(&e, rows[k].ptx, 32);
        assert_int_equal(word(&e, 3), rows[k].of_3);
        assert_int_equal(word(&e, 4), rows[k].of_4);
        exec_close(&e);
    }
}

static void warp_that_spins_does_not_starve_another(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           HEAD "setp.ge.u32 %p0, %t, 96;\n@%p0 bra S;\n"
                "W: ld.volatile.shared.b32 %r0, [flag];\n"
                "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra W;\nbra J;\n"
                "S: mov.u32 %r0, 5;\nst.shared.b32 [flag], 1;\nJ:\n" TAIL,
           128);
    assert_int_equal(word(&e, 0), 1);
    assert_int_equal(word(&e, 127), 5);
    exec_close(&e);
}

static void block_that_can_never_go_on_is_a_fault(void **state)
{
    struct exec e;

    (void)state;
    assert_int_equal(run(&e,
                         HEAD "setp.lt.u32 %p0, %l, 6;\n@%p0 bra A;\n"
                              "bar.sync 0;\nbra J;\n"
                              "A: bar.warp.sync -1;\nJ:\n" TAIL,
                         32),
                     FGS__SIM_FAULTED);
    assert_non_null(strstr(fgs_sim_last_fault(), "deadlock"));
    exec_close(&e);
}

/* ------------------------------------------------- registers, time, trap */

static void special_registers_tell_the_place(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    if (exec_open(&e,
                  HEAD "mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\n"
                       "mad.lo.u32 %r0, %r2, 3, %r1;\n"
                       "mad.lo.u32 %r0, %r0, 5, %t;\n"
                       "mul.wide.u32 %q1, %r0, 24;\nadd.u64 %q1, %q1, %o;\n"
                       "mov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %ctaid.z;\n"
                       "mov.u32 %r5, %nctaid.z;\nmov.u32 %r6, %ntid.y;\n"
                       "mov.u32 %r7, %warpid;\nmov.u32 %r8, %smid;\n"
                       "st.shared.b32 [%q1], %r3;\n"
                       "st.shared.b32 [%q1+4], %r4;\n"
                       "st.shared.b32 [%q1+8], %r5;\n"
                       "st.shared.b32 [%q1+12], %r6;\n"
                       "st.shared.b32 [%q1+16], %r7;\n"
                       "st.shared.b32 [%q1+20], %r8;\nret;\n}\n",
                  &fgs__malloc) != FGS_OK)
        show_errors(&e);
    assert_non_null(exec_block(&e, 5, 3, 4));
    assert_int_equal(exec_run(&e, 1000000000), FGS__SIM_ENDED);
    for (k = 0; k < 60; k++) {
        assert_int_equal(word(&e, 6 * k), 1);
        assert_int_equal(word(&e, 6 * k + 1), 2);
        assert_int_equal(word(&e, 6 * k + 2), 3);
        assert_int_equal(word(&e, 6 * k + 3), 3);
        assert_int_equal(word(&e, 6 * k + 4), k / 32);
        assert_int_equal(word(&e, 6 * k + 5), 5);
    }
    exec_close(&e);
}

static void lane_masks_count_from_the_lane(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "mov.u32 %r1, %lanemask_eq;\nmov.u32 %r2, %lanemask_lt;\n"
                "mov.u32 %r3, %lanemask_le;\nmov.u32 %r4, %lanemask_gt;\n"
                "mov.u32 %r5, %lanemask_ge;\nmov.u32 %r6, %nwarpid;\n" STORE6,
           32);
    for (k = 0; k < 32; k++) {
        uint64_t eq = 1ull << k;

        assert_int_equal(word(&e, 6 * k), eq);
        assert_int_equal(word(&e, 6 * k + 1), eq - 1);
        assert_int_equal(word(&e, 6 * k + 2), 2 * eq - 1);
        assert_int_equal(word(&e, 6 * k + 3), (uint32_t)(0 - 2 * eq));
        assert_int_equal(word(&e, 6 * k + 4), (uint32_t)(0 - eq));
        assert_int_equal(word(&e, 6 * k + 5), 64);
    }
    exec_close(&e);
}

static void timers_advance_with_the_work(void **state)
{
    struct exec e;

    (void)state;
    /* 1000 rounds of 3 instructions, 4 cycles each: 12000 cycles, 6857 ns. */
    run_ok(&e,
           HEAD "mov.u64 %q2, %globaltimer;\nmov.u32 %r3, %clock;\n"
                "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\n"
                "setp.lt.u32 %p0, %r1, 1000;\n@%p0 bra L;\n"
                "mov.u64 %q3, %globaltimer;\nmov.u32 %r4, %clock;\n"
                "sub.u64 %q3, %q3, %q2;\ncvt.u32.u64 %r5, %q3;\n"
                "sub.u32 %r6, %r4, %r3;\n" STORE6,
           1);
    assert_in_range(word(&e, 4), 6850, 6890);
    assert_in_range(word(&e, 5), 12000, 12020);
    assert_in_range(e.end_ps, 6800000, 7000000);
    exec_close(&e);
}

/* An SM issues 4 warp instructions a cycle: 32 warps that need 4 cycles an
 * instruction take twice the time of 16 or of one. */
static void warps_share_the_issue_slots(void **state)
{
    static const uint32_t threads[] = { 32, 256, 1024 };
    uint64_t took[3];
    struct exec e;
    int k;

    (void)state;
    for (k = 0; k < 3; k++) {
        run_ok(&e,
               HEAD "mov.u32 %r0, 0;\nL: add.u32 %r0, %r0, 1;\n"
                    "setp.lt.u32 %p0, %r0, 10000;\n@%p0 bra L;\nret;\n}\n",
               threads[k]);
        took[k] = e.end_ps;
        exec_close(&e);
    }
    assert_in_range(took[1], took[0], took[0] + took[0] / 20);
    assert_in_range(took[2], took[0] * 19 / 10, took[0] * 21 / 10);
}

static void values_are_packed_and_unpacked(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           HEAD ".reg .b8 %c<4>;\n.reg .b128 %w;\n"
                "mov.u32 %r7, 0x11223344;\nmov.u32 %r8, 0x55667788;\n"
                "mov.b64 %q2, {%r7, %r8};\nmov.b64 {_, %r1}, %q2;\n"
                "mov.b32 {%h0, %h1}, %r7;\nmov.b32 %r2, {%h1, %h0};\n"
                "mov.b16 {%c0, %c1}, %h1;\nmov.b16 %h2, {%c1, %c0};\n"
                "cvt.u32.u16 %r3, %h2;\n"
                "mov.b64 %q3, {%h0, %h1, %h2, %h0};\n"
                "shr.u64 %q4, %q3, 32;\ncvt.u32.u64 %r4, %q4;\n"
                "mov.b128 %w, {%q2, %q3};\nmov.b128 {%q5, %q6}, %w;\n"
                "cvt.u32.u64 %r5, %q6;\ncvt.u32.u64 %r6, %q5;\n" STORE6,
           32);
    assert_int_equal(word(&e, 6 * 31), 0x55667788);
    assert_int_equal(word(&e, 6 * 31 + 1), 0x33441122);
    assert_int_equal(word(&e, 6 * 31 + 2), 0x2211);
    assert_int_equal(word(&e, 6 * 31 + 3), 0x33442211);
    assert_int_equal(word(&e, 6 * 31 + 4), 0x11223344);
    assert_int_equal(word(&e, 6 * 31 + 5), 0x11223344);
    exec_close(&e);
}

static void trap_is_a_failed_launch_with_its_place(void **state)
{
    struct exec e;

    (void)state;
    assert_int_equal(run(&e,
                         HEAD "setp.eq.u32 %p0, %t, 35;\n@%p0 trap;\n"
                              "mov.u32 %r0, 1;\n" TAIL,
                         64),
                     FGS__SIM_FAULTED);
    /* an H200 answers 719 */
    assert_int_equal(e.ctx.sticky, CUDA_ERROR_LAUNCH_FAILED);
    assert_non_null(strstr(fgs_sim_last_fault(), "thread (35,0,0)"));
    assert_non_null(strstr(fgs_sim_last_fault(), "block (0,1,2)"));
    exec_close(&e);
}

/* ------------------------------------------------------- decode, memory -- */

#define DEEP "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%q1, {%r4, %r5}], %z;\n"

static void form_that_is_not_executed_is_refused_at_load(void **state)
{
    struct exec e;

    (void)state;
    assert_int_equal(exec_open(&e, HEAD ".reg .f32 %z;\n" DEEP DEEP TAIL,
                               &fgs__malloc),
                     FGS_E_PTX);
    assert_int_equal(e.diags.count, 2);
    assert_non_null(strstr(e.diags.item[0].text, "depth"));
    assert_int_equal(e.diags.item[1].pos.line, e.diags.item[0].pos.line + 1);
    exec_close(&e);
}

static void memory_that_is_refused_leaves_nothing(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    struct exec e;
    bool done = false;

    (void)state;
    for (c.at = 1; !done; c.at++) {
        c.calls = 0;
        if (exec_open(&e, HEAD "mov.u32 %r0, 70000;\n" TAIL, &a) == FGS_OK)
            done = exec_block(&e, 64, 1, 1) != NULL;
        if (!done)
            assert_true(c.calls >= c.at);
        exec_close(&e);
        assert_int_equal(c.live, 0);
    }
    assert_true(c.at > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_past_the_block_do_nothing),
        cmocka_unit_test(guard_leaves_other_lanes_alone),
        cmocka_unit_test(code_without_ret_ends_the_threads),
        cmocka_unit_test(literals_take_the_type_they_are_read_as),
        cmocka_unit_test(setp_writes_both_predicates),
        cmocka_unit_test(predicates_combine_lane_by_lane),
        cmocka_unit_test(dynamic_array_begins_behind_the_static_ones),
        cmocka_unit_test(arms_of_a_branch_join_again),
        cmocka_unit_test(loop_of_unequal_length_joins_behind_it),
        cmocka_unit_test(lanes_that_exit_in_a_branch_are_gone),
        cmocka_unit_test(spin_lock_between_lanes_finishes),
        cmocka_unit_test(lane_may_wait_for_another_lane),
        cmocka_unit_test(warp_that_spins_does_not_starve_another),
        cmocka_unit_test(block_that_can_never_go_on_is_a_fault),
        cmocka_unit_test(special_registers_tell_the_place),
        cmocka_unit_test(lane_masks_count_from_the_lane),
        cmocka_unit_test(timers_advance_with_the_work),
        cmocka_unit_test(warps_share_the_issue_slots),
        cmocka_unit_test(values_are_packed_and_unpacked),
        cmocka_unit_test(trap_is_a_failed_launch_with_its_place),
        cmocka_unit_test(form_that_is_not_executed_is_refused_at_load),
        cmocka_unit_test(memory_that_is_refused_leaves_nothing),
    };

    return cmocka_run_group_tests_name("sim_exec", tests, NULL, NULL);
}
