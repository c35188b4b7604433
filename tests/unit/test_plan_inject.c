/* test_plan_inject.c -- each allocation and each driver call of a plan fails
 *
 * The n-th one fails, n = 1, 2, 3 ... until nothing fails any more, in each
 * call of the API that a plan has.  Nothing is lost, and the same plan, or the
 * same call, does its work afterwards.
 */
#include "counting.h"
#include "fakelib.h"
#include "graph_calls.h"

static struct net net;
static struct fake *fake;
static struct counting counts;
static CUstream run, other;
static CUgraph graph;
static CUgraphExec exec;
static CUdeviceptr place[2];
static uint32_t where; /* place that `out` is in */

/* ---------------------------------------------------------------- forms -- */

enum { BYTES = NET_TILES * RIG_TILE_BYTES };
static const uint32_t same[NET_TILES] = { 0,  1,  2,  3,  4,  5,  6,  7,
                                          8,  9,  10, 11, 12, 13, 14, 15,
                                          16, 17, 18, 19, 20, 21, 22, 23 };

/* `out` lies in memory of the application's. */
static void own_out(void)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = "out", .tiles = NET_TILES,
                          .pointer_bytes = BYTES };
    fgs_error err;

    where = 0;
    d.pointer = place[0];
    fgs_buffer_free(net.b[2]);
    RIG_OK(fgs_buffer_make(&net.b[2], net.dev, &d, &err), err);
    net.access[1][1].buffer = net.b[2];
}

/* Two streams, slots filled ahead by memsets, a trace. */
static void streams(void)
{
    net_pair(&net, 1);
    own_out();
    fgs_buffer_free(net.b[1]);
    net.buffers = 1;
    net.b[1] = net_buffer(&net, "mid", 2);
    net.buffers = 3;
    net.access[0][1].buffer = net.access[1][0].buffer = net.b[1];
    net.stage[1].stream = other;
    net.spec.order = FGS_ORDER_SENTINEL;
    net.spec.receipt = 2;
}

/* Flags and a table of tiles. */
static void flags(void)
{
    net_pair(&net, 1);
    own_out();
    net.stage[1].ordered = net_plain(&net);
    net.access[1][0].table = same;
    net.access[1][0].tables = NET_TILES;
    net.spec.order = FGS_ORDER_FLAG;
    net.spec.receipt = 1;
}

/* A kernel fills, more shared memory than needed, no receipt. */
static void filled(void)
{
    net_pair(&net, 1);
    own_out();
    net_use(&net, net.b[1], FGS_FILL_KERNEL, net_filler(&net));
    net.stage[1].shared_bytes = 64 * 1024;
    net.spec.order = FGS_ORDER_SENTINEL;
    net.spec.receipt = 0;
}

static void (*const forms[])(void) = { streams, flags, filled };
enum { FORMS = sizeof forms / sizeof forms[0] };

static void open_form(int i)
{
    fgs_allocator a = counting_allocator(&counts);
    struct rig_opts o = { .provider = "cuda", .allocator = &a };
    CUcontext ctx;
    fgs_error err;

    fake = fakelib_use();
    setenv("FGS_NVJITLINK", "none", 1);
    memset(&counts, 0, sizeof counts);
    memset(&net, 0, sizeof net);
    RIG_OK(rig_open(&net.dev, &o, &err), err);
    net.spec = (fgs_plan_spec){ .size = sizeof net.spec, .stages = net.stage,
                                .uses = net.use };
    calls_get(net.dev);
    assert_int_equal(cu.retain(&ctx, 0), 0);
    assert_int_equal(cu.push(ctx), 0);
    assert_int_equal(cu.stream_create(&run, 1), 0);
    assert_int_equal(cu.stream_create(&other, 1), 0);
    assert_int_equal(cu.alloc(&place[0], BYTES), 0);
    assert_int_equal(cu.alloc(&place[1], BYTES), 0);
    forms[i]();
}

static void close_form(void)
{
    CUcontext ctx;

    fgs_plan_free(net.plan);
    net.plan = NULL;
    assert_int_equal(cu.free(place[0]), 0);
    assert_int_equal(cu.free(place[1]), 0);
    assert_int_equal(cu.stream_destroy(run), 0);
    assert_int_equal(cu.stream_destroy(other), 0);
    assert_int_equal(cu.pop(&ctx), 0);
    assert_int_equal(cu.release(0), 0);
    net_close(&net);
    assert_int_equal(counts.live, 0);
    assert_int_equal(fakelib_live(fake), 0);
}

static void compose(void)
{
    fgs_error err;

    RIG_OK(net_compose(&net, &err), err);
}

/* The plan does its work. */
static void expect_run(void)
{
    static uint32_t seed;

    net_write(net.b[0], ++seed);
    net_run(&net, run, 3);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

static void expect_replay(void)
{
    static uint32_t seed = 1000;
    fgs_error err;

    net_write(net.b[0], ++seed);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cu.launch(exec, run), 0);
    assert_int_equal(cu.stream_synchronize(run), 0);
    RIG_OK(fgs_plan_check_graph(net.plan, &err), err);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

/* -------------------------------------------------------------- failing -- */

enum what { ALLOCATION, CALL };

/* One call of the API while the n-th of something fails; 0 = nothing did. */
static int fails(fgs_result (*act)(fgs_error *), enum what what, int n,
                 fgs_result *result)
{
    fgs_error err = { .result = FGS_OK };
    int fired;

    fake->failed[0] = '\0';
    fake->fail_with = CUDA_ERROR_UNKNOWN;
    fake->fail_at = what == CALL ? n : 0;
    counts.at = what == ALLOCATION ? atomic_load(&counts.calls) + n : 0;
    *result = act(&err);
    fired = what == CALL ? fake->failed[0] != '\0'
                         : atomic_load(&counts.calls) >= counts.at;
    fake->fail_at = 0;
    counts.at = 0;
    if (*result >= 0)
        return fired;
    assert_true(fired);
    /* A driver that does not say how many blocks fit has room for none. */
    if (*result == FGS_E_UNSUPPORTED &&
        !strncmp(fake->failed, "cuOccupancy", 11)) {
        assert_non_null(strstr(err.text, "CUDA_ERROR_UNKNOWN"));
        return 1;
    }
    if (*result != (what == CALL ? FGS_E_DRIVER : FGS_E_NOMEM))
        print_error("%s %d: %s\n", what == CALL ? fake->failed : "allocation",
                    n, err.text);
    assert_int_equal(*result, what == CALL ? FGS_E_DRIVER : FGS_E_NOMEM);
    assert_int_equal(err.result, *result);
    if (what == CALL)
        assert_string_equal(err.name, "CUDA_ERROR_UNKNOWN");
    return 1;
}

/* Every point of an act; `after` finds the plan well, whatever came of it, and
 * leaves nothing of its own.  How many points failed? */
static int each_point(fgs_result (*act)(fgs_error *), void (*after)(fgs_result))
{
    int failed = 0;

    for (int what = ALLOCATION; what <= CALL; what++) {
        int fired = 1;

        for (int n = 1; fired; n++) {
            long live = counts.live, driver = fakelib_live(fake);
            fgs_result r;

            assert_true(n < 2000);
            fired = fails(act, (enum what)what, n, &r);
            failed += r < 0;
            after(r);
            /* The first run makes what later ones keep. */
            if (n > 1 && (counts.live != live || fakelib_live(fake) != driver))
                print_error("%s %d leaks\n",
                            what == CALL ? fake->failed : "allocation", n);
            assert_true(n == 1 || counts.live == live);
            assert_true(n == 1 || fakelib_live(fake) == driver);
        }
    }
    return failed;
}

/* ---------------------------------------------------------------- tests -- */

static fgs_result act_compose(fgs_error *err)
{
    return fgs_plan_compose(&net.plan, net.dev, &net.spec, err);
}

static void after_compose(fgs_result r)
{
    if (r < 0) {
        assert_null(net.plan);
        compose();
    }
    expect_run();
    fgs_plan_free(net.plan);
    net.plan = NULL;
}

static void compose_fails_whole_or_not_at_all(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        open_form(i);
        assert_true(each_point(act_compose, after_compose) > 20);
        close_form();
    }
}

static fgs_result act_run(fgs_error *err)
{
    fgs_result r = fgs_plan_run(net.plan, run, 2, err);

    return r < 0 ? r : fgs_plan_wait(net.plan, err);
}

static void after_run(fgs_result r)
{
    fgs_error err;

    /* A wait that failed is waited for again; a run that failed is over. */
    if (r < 0 && fgs_plan_wait(net.plan, &err) < 0)
        assert_int_equal(err.result, FGS_E_STATE);
    expect_run();
}

static void plan_runs_again_after_a_run_that_failed(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        open_form(i);
        compose();
        expect_run();
        assert_true(each_point(act_run, after_run) > 10);
        close_form();
    }
}

static fgs_result act_capture(fgs_error *err)
{
    assert_int_equal(cu.begin(run, 0), 0);
    return fgs_plan_capture(net.plan, run, 2, err);
}

static void after_graph(void)
{
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    expect_replay();
    cu.exec_destroy(exec);
    cu.destroy(graph);
    expect_run();
}

static void after_capture(fgs_result r)
{
    fgs_error err;

    graph = NULL;
    if (cu.end(run, &graph) && r >= 0)
        fail_msg("%s", "the capture has no graph");
    if (r < 0) {
        if (graph)
            cu.destroy(graph);
        expect_run();
        RIG_OK(act_capture(&err), err);
        assert_int_equal(cu.end(run, &graph), 0);
    }
    after_graph();
}

static void plan_is_captured_again_after_a_capture_that_failed(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        open_form(i);
        compose();
        expect_run();
        assert_true(each_point(act_capture, after_capture) > 10);
        close_form();
    }
}

static fgs_result act_graph(fgs_error *err)
{
    assert_int_equal(cu.create(&graph, 0), 0);
    return fgs_plan_graph(net.plan, graph, NULL, 0, 2, NULL, err);
}

static void after_build(fgs_result r)
{
    fgs_error err;

    if (r < 0) {
        cu.destroy(graph);
        expect_run();
        RIG_OK(act_graph(&err), err);
    }
    after_graph();
}

static void plan_is_built_again_after_a_graph_that_failed(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        open_form(i);
        compose();
        expect_run();
        assert_true(each_point(act_graph, after_build) > 10);
        close_form();
    }
}

static fgs_result act_rebind(fgs_error *err)
{
    return fgs_buffer_rebind(net.b[2], place[1 - where], BYTES, err);
}

static void after_rebind(fgs_result r)
{
    where ^= r >= 0;
    assert_int_equal(fgs_buffer_get_pointer(net.b[2]), place[where]);
    expect_run();
}

static fgs_result act_update(fgs_error *err)
{
    return fgs_plan_update_exec(net.plan, exec, err);
}

static void after_update(fgs_result r)
{
    fgs_error err;

    if (r < 0)
        RIG_OK(act_update(&err), err);
    expect_replay();
    expect_run();
    RIG_OK(act_rebind(&err), err);
    where = 1 - where;
}

static void graph_follows_after_an_update_that_failed(void **state)
{
    fgs_error err;

    (void)state;
    for (int i = 0; i < FORMS; i++) {
        open_form(i);
        compose();
        expect_run();
        RIG_OK(act_graph(&err), err);
        assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
        each_point(act_rebind, after_rebind);
        assert_true(each_point(act_update, after_update) >= 2);
        cu.exec_destroy(exec);
        cu.destroy(graph);
        close_form();
    }
}

/* Updates are for the graph before, and its ports are still told. */
static void graph_that_failed_leaves_the_one_before(void **state)
{
    CUgraph first;
    fgs_result r = FGS_E_DRIVER;
    fgs_error err;

    (void)state;
    open_form(0);
    compose();
    RIG_OK(act_graph(&err), err);
    first = graph;
    assert_int_equal(cu.instantiate(&exec, first, 0), 0);
    for (int n = 1; r < 0; n++) {
        int port = net_edge(&net, 0).graph_port;

        fails(act_graph, CALL, n, &r);
        cu.destroy(graph);
        if (r >= 0)
            continue;
        assert_int_equal(net_edge(&net, 0).graph_port, port);
        RIG_OK(act_rebind(&err), err);
        where = 1 - where;
        RIG_OK(act_update(&err), err);
        expect_replay();
    }
    cu.exec_destroy(exec);
    cu.destroy(first);
    close_form();
}

static uint64_t tiles = NET_TILES;

static fgs_result act_tiles(fgs_error *err)
{
    return fgs_plan_set_tiles(net.plan, tiles = NET_TILES + 1 - tiles, err);
}

static void after_tiles(fgs_result r)
{
    fgs_error err;

    assert_int_equal(r, FGS_OK);
    RIG_OK(fgs_plan_set_tiles(net.plan, NET_TILES, &err), err);
    expect_run();
}

/* It needs neither. */
static void number_of_tiles_cannot_fail(void **state)
{
    (void)state;
    open_form(2);
    compose();
    expect_run();
    assert_int_equal(each_point(act_tiles, after_tiles), 0);
    close_form();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compose_fails_whole_or_not_at_all),
        cmocka_unit_test(plan_runs_again_after_a_run_that_failed),
        cmocka_unit_test(plan_is_captured_again_after_a_capture_that_failed),
        cmocka_unit_test(plan_is_built_again_after_a_graph_that_failed),
        cmocka_unit_test(graph_follows_after_an_update_that_failed),
        cmocka_unit_test(graph_that_failed_leaves_the_one_before),
        cmocka_unit_test(number_of_tiles_cannot_fail),
    };

    return cmocka_run_group_tests_name("plan_inject", tests, NULL, NULL);
}
