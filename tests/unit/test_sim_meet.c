/* test_sim_meet.c -- lanes that meet: shfl, vote, elect, activemask */
#include "exec_kernel.h"

static void shuffle_reads_the_lane_of_its_mode(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    /* Segments of 8 lanes (0x18..) and 16 (0x10..); the low byte clamps. */
    run_ok(&e,
           HEAD "add.u32 %r9, %l, 1000;\n"
                "shfl.sync.idx.b32 %r1|%p1, %r9, 3, 31, -1;\n"
                "shfl.sync.up.b32 %r2|%p2, %r9, 2, 0x1000, -1;\n"
                "shfl.sync.down.b32 %r3|%p3, %r9, 1, 0x181f, -1;\n"
                "shfl.sync.bfly.b32 %r4, %r9, 5, 31, -1;\n"
                "selp.u32 %r5, 1, 0, %p2;\nselp.u32 %r6, 1, 0, %p3;\n" STORE6,
           32);
    for (k = 0; k < 32; k++) {
        assert_int_equal(word(&e, 6 * k), 1003);
        assert_int_equal(word(&e, 6 * k + 1), 1000 + (k % 16 >= 2 ? k - 2 : k));
        assert_int_equal(word(&e, 6 * k + 2), 1000 + (k % 8 == 7 ? k : k + 1));
        assert_int_equal(word(&e, 6 * k + 3), 1000 + (k ^ 5));
        assert_int_equal(word(&e, 6 * k + 4), k % 16 >= 2);
        assert_int_equal(word(&e, 6 * k + 5), k % 8 != 7);
    }
    exec_close(&e);
}

static void vote_asks_the_members(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "setp.lt.u32 %p0, %l, 20;\n"
                "vote.sync.ballot.b32 %r1, %p0, -1;\n"
                "vote.sync.all.pred %p1, %p0, -1;\n"
                "vote.sync.any.pred %p2, %p0, -1;\n"
                "vote.sync.uni.pred %p3, %p0, -1;\n"
                "vote.sync.ballot.b32 %r6, !%p0, -1;\n"
                "selp.u32 %r2, 1, 0, %p1;\nselp.u32 %r3, 1, 0, %p2;\n"
                "selp.u32 %r4, 1, 0, %p3;\n"
                "elect.sync %r5|%p4, -1;\n@%p4 add.u32 %r5, %r5, 50;\n" STORE6,
           32);
    for (k = 0; k < 32; k++) {
        assert_int_equal(word(&e, 6 * k), 0x000fffff);
        assert_int_equal(word(&e, 6 * k + 1), 0);
        assert_int_equal(word(&e, 6 * k + 2), 1);
        assert_int_equal(word(&e, 6 * k + 3), 0);
        assert_int_equal(word(&e, 6 * k + 4), k ? 0 : 50);
        assert_int_equal(word(&e, 6 * k + 5), 0xfff00000);
    }
    exec_close(&e);
}

static void members_meet_from_both_arms_of_a_branch(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "add.u32 %r9, %l, 1000;\nsetp.lt.u32 %p0, %l, 8;\n"
                "@%p0 bra A;\n"
                "shfl.sync.bfly.b32 %r0, %r9, 31, 31, -1;\nbra J;\n"
                "A: shfl.sync.bfly.b32 %r0, %l, 31, 31, -1;\n"
                "J:\n" TAIL,
           32);
    for (k = 0; k < 32; k++)
        assert_int_equal(word(&e, k), (31 - k < 8 ? 0 : 1000) + 31 - k);
    exec_close(&e);
}

static void members_that_exited_are_not_waited_for(void **state)
{
    struct exec e;

    (void)state;
    /* The others exit later than the first six lanes come to the vote. */
    run_ok(&e,
           HEAD "setp.ge.u32 %p0, %l, 6;\n@%p0 bra E;\n"
                "vote.sync.ballot.b32 %r0, 1, -1;\n"
                "st.shared.b32 [%q0], %r0;\nret;\n"
                "E: mov.u32 %r1, %clock;\nexit;\n}\n",
           32);
    assert_int_equal(word(&e, 5), 63);
    exec_close(&e);
}

static void guard_splits_off_the_lanes_it_leaves_out(void **state)
{
    struct exec e;

    (void)state;
    /* Lanes from 6 on go past the vote, and come to the next one alone. */
    run_ok(&e,
           HEAD "mov.u32 %r0, 0;\nsetp.lt.u32 %p0, %l, 6;\n"
                "@%p0 vote.sync.ballot.b32 %r0, 1, 0x3f;\n"
                "@!%p0 vote.sync.ballot.b32 %r0, 1, 0xffffffc0;\n"
                "vote.sync.ballot.b32 %r1, 1, -1;\n"
                "xor.b32 %r0, %r0, %r1;\n" TAIL,
           32);
    assert_int_equal(word(&e, 5), ~0x3fu);
    assert_int_equal(word(&e, 6), 0x3f);
    exec_close(&e);
}

static void groups_of_one_warp_vote_apart(void **state)
{
    struct exec e;

    (void)state;
    run_ok(&e,
           HEAD "setp.lt.u32 %p0, %l, 12;\nselp.b32 %r1, 0xfff, 0xfffff000, "
                "%p0;\nsetp.ne.u32 %p1, %l, 2;\n"
                "vote.sync.ballot.b32 %r0, %p1, %r1;\n" TAIL,
           32);
    assert_int_equal(word(&e, 0), 0xffb);
    assert_int_equal(word(&e, 12), 0xfffff000);
    exec_close(&e);
}

/* Two groups in one split; the odd lanes' partners come only after the even
 * ones have met theirs. */
static void groups_wait_for_their_own_members(void **state)
{
    struct exec e;
    uint32_t k;

    (void)state;
    run_ok(&e,
           HEAD "and.b32 %r2, %l, 1;\nsetp.ne.u32 %p0, %r2, 0;\n"
                "selp.b32 %r1, 0xaaaaaaaa, 0x55555555, %p0;\n"
                "setp.lt.u32 %p1, %l, 16;\n@%p1 bra A;\n@%p0 bra W;\n"
                "shfl.sync.bfly.b32 %r0, %l, 16, 31, %r1;\n"
                "st.shared.b32 [flag], 1;\nbra J;\n"
                "W: ld.volatile.shared.b32 %r3, [flag];\n"
                "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra W;\n"
                "shfl.sync.bfly.b32 %r0, %l, 16, 31, %r1;\nbra J;\n"
                "A: shfl.sync.bfly.b32 %r0, %l, 16, 31, %r1;\nJ:\n" TAIL,
           32);
    for (k = 0; k < 32; k++)
        assert_int_equal(word(&e, k), k ^ 16);
    exec_close(&e);
}

static void lane_outside_its_own_mask_is_a_fault(void **state)
{
    struct exec e;

    (void)state;
    assert_int_equal(run(&e, HEAD "vote.sync.ballot.b32 %r0, 1, 1;\n" TAIL, 32),
                     FGS__SIM_FAULTED);
    assert_int_equal(e.ctx.sticky, CUDA_ERROR_ILLEGAL_INSTRUCTION);
    exec_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffle_reads_the_lane_of_its_mode),
        cmocka_unit_test(vote_asks_the_members),
        cmocka_unit_test(members_meet_from_both_arms_of_a_branch),
        cmocka_unit_test(members_that_exited_are_not_waited_for),
        cmocka_unit_test(guard_splits_off_the_lanes_it_leaves_out),
        cmocka_unit_test(groups_of_one_warp_vote_apart),
        cmocka_unit_test(groups_wait_for_their_own_members),
        cmocka_unit_test(lane_outside_its_own_mask_is_a_fault),
    };

    return cmocka_run_group_tests_name("sim_meet", tests, NULL, NULL);
}
