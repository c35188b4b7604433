/* test_plan_between.c -- what else touches a plan's slots between its runs
 *
 * A plan remembers which slots hold sentinels.  Another plan, a replay or a
 * write of the application's may have left data there: the run behind it fills
 * them again.
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "ring_rig.h"

static const struct {
    uint32_t stages, slots;
    fgs_fill fill;
} rows[] = {
    { 5, 3, FGS_FILL_RING }, { 2, 2, FGS_FILL_MEMSET },
    { 2, 1, FGS_FILL_READER }, { 2, 3, FGS_FILL_READER },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void compose(int i)
{
    fgs_error err;

    chain_make(rows[i].stages, rows[i].slots, 1);
    c.uses[0].fill = rows[i].fill;
    chain_slow(20000);
    RIG_OK(chain_compose(&err), err);
}

static void run_and_expect(uint32_t seed, uint32_t rounds)
{
    chain_write(seed);
    chain_run(rounds);
    assert_int_equal(chain_wrong(RING_TILES), 0);
}

static void runs_of_another_plan_are_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        fgs_plan *first, *second;
        fgs_error err;

        compose(i);
        first = c.plan;
        c.plan = NULL;
        c.uses[0].fill = rows[i].fill == FGS_FILL_RING ? FGS_FILL_RING
                                                       : FGS_FILL_MEMSET;
        RIG_OK(chain_compose(&err), err);
        second = c.plan;
        for (uint32_t n = 1; n < 7; n++) {
            c.plan = n % 2 ? first : second;
            run_and_expect(n, 1 + n / 3);
        }
        c.plan = first;
        fgs_plan_free(second);
    }
}

static void replays_are_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        CUgraphExec exec;
        CUgraph graph;
        fgs_error err;

        compose(i);
        assert_int_equal(cu.create(&graph, 0), 0);
        RIG_OK(fgs_plan_graph(c.plan, graph, NULL, 0, 6, NULL, &err), err);
        assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
        for (uint32_t n = 1; n < 6; n++) {
            run_and_expect(2 * n, 1);
            chain_write(2 * n + 1);
            assert_int_equal(cu.launch(exec, c.run), 0);
            assert_int_equal(cu.stream_synchronize(c.run), 0);
            assert_int_equal(chain_wrong(RING_TILES), 0);
        }
        cu.exec_destroy(exec);
        cu.destroy(graph);
    }
}

static void writes_of_the_application_are_noticed(void **state)
{
    static uint32_t data[RING_ELEMS];
    fgs_error err;

    (void)state;
    memset(data, 0x11, sizeof data);
    for (int i = 0; i < ROWS; i++) {
        compose(i);
        for (uint32_t n = 0; n < 4; n++) {
            for (uint32_t s = 0; s < rows[i].slots; s++)
                RIG_OK(fgs_buffer_write(c.ring, s * RING_BYTES, data,
                                        RING_BYTES, &err), err);
            run_and_expect(n, 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAIN_TEST(runs_of_another_plan_are_noticed),
        CHAIN_TEST(replays_are_noticed),
        CHAIN_TEST(writes_of_the_application_are_noticed),
    };

    return cmocka_run_group_tests(tests, rig_group, NULL);
}
