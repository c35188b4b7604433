/* test_plan_waits.c -- how long an edge's blocks waited, against the trace
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "compose_rig.h"
#include "counting.h"

static struct net net;
static struct counting counts;

static int open_pair(void **state)
{
    fgs_allocator a = counting_allocator(&counts);
    struct rig_opts o = { .allocator = &a };
    fgs_error err;

    (void)state;
    memset(&counts, 0, sizeof counts);
    memset(&net, 0, sizeof net);
    RIG_OK(rig_open(&net.dev, &o, &err), err);
    net.spec = (fgs_plan_spec){ .size = sizeof net.spec, .stages = net.stage,
                                .uses = net.use, .receipt = 2 };
    net_pair(&net, 1);
    net.spec.order = FGS_ORDER_SENTINEL;
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    net_close(&net);
    assert_int_equal(counts.live, 0);
    return 0;
}

static void compose(void)
{
    fgs_error err;

    RIG_OK(net_compose(&net, &err), err);
}

static fgs_edge_waits waits(void)
{
    fgs_edge_waits w = { .size = sizeof w };
    fgs_error err;

    RIG_OK(fgs_plan_get_waits(net.plan, 0, &w, &err), err);
    return w;
}

/* Of the reader's rows: waits of at most `ns`. */
static uint64_t within(const fgs_trace_row *row, uint64_t rows, uint64_t ns)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < rows; i++)
        n += row[i].ready - row[i].start <= ns;
    return n;
}

/* `ns` is the least of the waits that so many in a hundred do not exceed. */
static void expect_rank(const fgs_trace_row *row, uint64_t percent,
                        uint64_t ns)
{
    assert_true(within(row, NET_TILES, ns) * 100 >= percent * NET_TILES);
    assert_true(!ns || within(row, NET_TILES, ns - 1) * 100 <
                           percent * NET_TILES);
}

static void waits_are_those_of_the_trace(void **state)
{
    fgs_trace_row row[NET_TILES];
    uint64_t count = NET_TILES, sum = 0, most = 0, least = UINT64_MAX;
    fgs_edge_waits w;
    fgs_error err;

    (void)state;
    compose();
    net_run(&net, NULL, 2);
    w = waits();
    RIG_OK(fgs_plan_get_trace(net.plan, 1, row, &count, &err), err);
    assert_int_equal(count, NET_TILES);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t ns = row[i].ready - row[i].start;

        sum += ns;
        most = ns > most ? ns : most;
        least = ns < least ? ns : least;
    }
    assert_int_equal(w.blocks, NET_TILES);
    assert_int_equal(w.sum_ns, sum);
    assert_int_equal(w.min_ns, least);
    assert_int_equal(w.max_ns, most);
    assert_true(most > least && least > 0);
    expect_rank(row, 50, w.p50_ns);
    expect_rank(row, 90, w.p90_ns);
    expect_rank(row, 99, w.p99_ns);
    assert_int_equal(w.log2[0], within(row, count, 0));
    for (unsigned i = 1; i < FGS_WAIT_BUCKETS - 1; i++)
        assert_int_equal(w.log2[i],
                         within(row, count, (1ull << i) - 1) -
                             within(row, count, (1ull << (i - 1)) - 1));
}

/* The writer's blocks take 3 us and more before they store. */
static void reader_that_starts_early_waits_longer(void **state)
{
    uint64_t early, late;

    (void)state;
    net.stage[0].spread_ns = 0;
    net.stage[0].work_ns = 30000;
    compose();
    net_run(&net, NULL, 1);
    early = waits().p50_ns;
    net.stage[1].ordered = net_plain(&net);
    net.spec.order = FGS_ORDER_STREAM;
    compose();
    net_run(&net, NULL, 1);
    late = waits().p50_ns;
    assert_true(early > 20000 && late < 20000);
}

static void waits_are_kept_only_where_a_trace_is_asked_for(void **state)
{
    fgs_edge_waits w = { .size = sizeof w };
    fgs_error err;

    (void)state;
    net.spec.receipt = 1;
    compose();
    net_run(&net, NULL, 1);
    assert_int_equal(fgs_plan_get_waits(net.plan, 0, &w, &err), FGS_E_STATE);
    assert_non_null(strstr(err.text, "no trace"));
    net.spec.receipt = 2;
    compose();
    assert_int_equal(fgs_plan_get_waits(net.plan, 0, &w, &err), FGS_E_STATE);
    assert_non_null(strstr(err.text, "no run"));
}

static void wrong_questions_are_refused(void **state)
{
    fgs_edge_waits w = { .size = sizeof w };
    fgs_error err;

    (void)state;
    compose();
    net_run(&net, NULL, 1);
    assert_int_equal(fgs_plan_get_waits(NULL, 0, &w, &err), FGS_E_NULL);
    assert_int_equal(fgs_plan_get_waits(net.plan, 0, NULL, &err), FGS_E_NULL);
    assert_int_equal(fgs_plan_get_waits(net.plan, 1, &w, &err), FGS_E_INVAL);
    w.size--;
    assert_int_equal(fgs_plan_get_waits(net.plan, 0, &w, &err), FGS_E_INVAL);
    w.size++;
    counts.at = atomic_load(&counts.calls) + 1;
    assert_int_equal(fgs_plan_get_waits(net.plan, 0, &w, &err), FGS_E_NOMEM);
    assert_int_equal(waits().blocks, NET_TILES);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)
    const struct CMUnitTest tests[] = {
        TEST(waits_are_those_of_the_trace),
        TEST(reader_that_starts_early_waits_longer),
        TEST(waits_are_kept_only_where_a_trace_is_asked_for),
        TEST(wrong_questions_are_refused),
    };

    return cmocka_run_group_tests_name("plan_waits", tests, NULL, NULL);
}
