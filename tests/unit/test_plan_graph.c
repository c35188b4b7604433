/* test_plan_graph.c -- plans in CUDA graphs: captured, built, replayed, updated
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 * FGS_REPLAYS=N replays each graph N times.
 */
#include "graph_calls.h"

static struct net net;

static CUstream run, other;

static int setup(void **state)
{
    CUcontext ctx;

    (void)state;
    net_open(&net);
    calls_get(net.dev);
    assert_int_equal(cu.retain(&ctx, 0), 0);
    assert_int_equal(cu.push(ctx), 0);
    assert_int_equal(cu.stream_create(&run, 1), 0);
    assert_int_equal(cu.stream_create(&other, 1), 0);
    return 0;
}

static int teardown(void **state)
{
    CUcontext ctx;

    (void)state;
    fgs_plan_free(net.plan);
    net.plan = NULL;
    cu.stream_destroy(run);
    cu.stream_destroy(other);
    cu.pop(&ctx);
    cu.release(0);
    net_close(&net);
    return 0;
}

static void pair(uint32_t slots)
{
    fgs_engine e = fgs_device_can(net.dev, FGS_ENGINE_BULK, NULL) >= 0
        ? FGS_ENGINE_BULK : FGS_ENGINE_POLL;
    fgs_buffer *in = net_buffer(&net, "in", 1);
    fgs_buffer *mid = net_buffer(&net, "mid", slots);
    fgs_buffer *out = net_buffer(&net, "out", slots);

    net_stage(&net, "produce",
              net_kernel(&net, &(fgs_kernel_desc){ .role = FGS_ROLE_PRODUCER }),
              in, NULL, mid);
    net_stage(&net, "consume",
              net_kernel(&net, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                                   .engine = e }),
              mid, NULL, out);
    net_write(in, 1);
}

static void compose(void)
{
    fgs_error err;

    RIG_OK(net_compose(&net, &err), err);
}

static int port(uint32_t i)
{
    fgs_edge_info e = { .size = sizeof e };
    fgs_error err;

    RIG_OK(fgs_plan_get_edge(net.plan, i, &e, &err), err);
    return e.graph_port;
}

static CUgraph captured(uint32_t rounds)
{
    CUgraph graph = NULL;
    fgs_error err;

    assert_int_equal(cu.begin(run, 0), 0);
    RIG_OK(fgs_plan_capture(net.plan, run, rounds, &err), err);
    assert_int_equal(cu.end(run, &graph), 0);
    return graph;
}

static CUgraph built(uint32_t rounds)
{
    CUgraph graph = NULL;
    CUgraphNode tail = NULL;
    fgs_error err;

    assert_int_equal(cu.create(&graph, 0), 0);
    RIG_OK(fgs_plan_graph(net.plan, graph, NULL, 0, rounds, &tail, &err), err);
    assert_non_null(tail);
    return graph;
}

/* Replays with another input each: the output of each is right. */
static void replay(CUgraph graph, uint32_t rounds, uint32_t slots, int times)
{
    const char *asked = getenv("FGS_REPLAYS");
    CUgraphExec exec;
    fgs_error err;

    if (asked)
        times = atoi(asked);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    for (int i = 0; i < times; i++) {
        if (i % 16 == 0)
            net_write(net.b[0], (uint32_t)i);
        assert_int_equal(cu.launch(exec, run), 0);
        if (i % 16 && i + 1 < times)
            continue;
        assert_int_equal(cu.stream_synchronize(run), 0);
        RIG_OK(fgs_plan_check_graph(net.plan, &err), err);
        for (uint32_t s = 0; s < slots && s < rounds; s++)
            net_expect(net.b[0], 0, net.b[2], s, 1);
    }
    cu.exec_destroy(exec);
    cu.destroy(graph);
}

static void capture_of_one_stream_has_the_programmatic_edge(void **state)
{
    (void)state;
    pair(1);
    compose();
    assert_int_equal(port(0), -1);
    replay(captured(1), 1, 1, 40);
    assert_int_equal(port(0), 1);
}

static void graph_that_is_built_has_the_programmatic_edge(void **state)
{
    (void)state;
    pair(1);
    compose();
    replay(built(1), 1, 1, 40);
    assert_int_equal(port(0), 1);
}

static void capture_of_two_streams_starts_the_reader_early(void **state)
{
    (void)state;
    pair(1);
    net.stage[1].stream = other;
    compose();
    replay(captured(1), 1, 1, 40);
    assert_int_equal(port(0), 2);
    replay(built(1), 1, 1, 40);
    assert_int_equal(port(0), 2);
    net_run(&net, run, 3);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

static void plain_edge_stays_plain(void **state)
{
    (void)state;
    pair(1);
    net.access[1][0].order = FGS_ORDER_STREAM;
    compose();
    replay(captured(1), 1, 1, 4);
    assert_int_equal(port(0), 0);
    replay(built(2), 1, 1, 4);
    assert_int_equal(port(0), 0);
}

static void flags_begin_anew_with_each_replay(void **state)
{
    (void)state;
    pair(2);
    net.stage[1].ordered = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                  .engine = FGS_ENGINE_PLAIN });
    net.access[1][0].order = FGS_ORDER_FLAG;
    compose();
    net_run(&net, run, 1);
    replay(captured(2), 2, 2, 40);
    assert_int_equal(port(0), 1);
    net_write(net.b[0], 77);
    net_run(&net, run, 4);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    net_expect(net.b[0], 0, net.b[2], 1, 1);
    replay(built(4), 4, 2, 20);
}

static void slots_take_turns_across_replays(void **state)
{
    (void)state;
    pair(3);
    compose();
    replay(captured(3), 3, 3, 40);
    replay(built(6), 6, 3, 40);
    net_run(&net, run, 4);
    replay(built(3), 3, 3, 20);
}

static void rounds_that_do_not_close_the_ring_are_refused(void **state)
{
    CUgraph graph;
    fgs_error err;

    (void)state;
    pair(2);
    compose();
    assert_int_equal(cu.create(&graph, 0), 0);
    assert_int_equal(fgs_plan_graph(net.plan, graph, NULL, 0, 3, NULL, &err),
                     FGS_E_SIZE);
    assert_non_null(strstr(err.text, "'mid' has 2 slots"));
    assert_int_equal(fgs_plan_graph(net.plan, graph, NULL, 0, 0, NULL, &err),
                     FGS_E_SIZE);
    assert_int_equal(fgs_plan_graph(net.plan, NULL, NULL, 0, 2, NULL, &err),
                     FGS_E_NULL);
    assert_int_equal(fgs_plan_capture(net.plan, run, 2, &err), FGS_E_STATE);
    assert_int_equal(fgs_plan_update_exec(net.plan, (CUgraphExec)graph, &err),
                     FGS_E_STATE);
    cu.destroy(graph);
}

static void update_follows_a_buffer_to_its_new_place(void **state)
{
    const uint64_t bytes = NET_TILES * (uint64_t)RIG_TILE_BYTES;
    fgs_buffer_desc d = { .size = sizeof d, .name = "out", .tiles = NET_TILES,
                          .pointer_bytes = bytes };
    CUdeviceptr at[2];
    CUgraph graph;
    CUgraphExec exec;
    fgs_error err;

    (void)state;
    pair(1);
    assert_int_equal(cu.alloc(&at[0], bytes), 0);
    assert_int_equal(cu.alloc(&at[1], bytes), 0);
    d.pointer = at[0];
    fgs_buffer_free(net.b[2]);
    RIG_OK(fgs_buffer_make(&net.b[2], net.dev, &d, &err), err);
    net.access[1][1].buffer = net.b[2];
    compose();
    graph = built(1);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    for (uint32_t i = 1; i < 5; i++) {
        RIG_OK(fgs_buffer_rebind(net.b[2], at[i % 2], bytes, &err), err);
        RIG_OK(fgs_plan_update_exec(net.plan, exec, &err), err);
        net_write(net.b[0], i);
        assert_int_equal(cu.launch(exec, run), 0);
        assert_int_equal(cu.stream_synchronize(run), 0);
        net_expect(net.b[0], 0, net.b[2], 0, 1);
        net_write(net.b[0], i + 50);
        net_run(&net, run, 1);
        net_expect(net.b[0], 0, net.b[2], 0, 1);
    }
    assert_int_equal(fgs_buffer_rebind(net.b[0], at[0], bytes, &err),
                     FGS_E_STATE);
    assert_int_equal(fgs_buffer_rebind(net.b[2], at[0], bytes - 1, &err),
                     FGS_E_SIZE);
    assert_int_equal(fgs_buffer_rebind(net.b[2],
                                       fgs_buffer_get_pointer(net.b[1]), bytes,
                                       &err), FGS_E_MISMATCH);
    cu.exec_destroy(exec);
    cu.destroy(graph);
    fgs_plan_free(net.plan);
    net.plan = NULL;
    cu.free(at[0]);
    cu.free(at[1]);
}

static size_t nodes_of(CUgraph graph)
{
    size_t n = 0;

    assert_int_equal(cu.nodes(graph, NULL, &n), 0);
    return n;
}

/* A node of another graph breaks the rounds off when some nodes are made. */
static void graph_that_fails_leaves_no_nodes_and_the_one_before(void **state)
{
    CUgraph graph, foreign, good;
    CUgraphNode node, tail = (CUgraphNode)(uintptr_t)16;
    CUgraphExec exec;
    fgs_error err;

    (void)state;
    pair(1);
    compose();
    good = built(1);
    assert_int_equal(cu.instantiate(&exec, good, 0), 0);
    assert_int_equal(cu.create(&graph, 0), 0);
    assert_int_equal(cu.create(&foreign, 0), 0);
    assert_int_equal(cu.empty(&node, foreign, NULL, 0), 0);
    assert_int_equal(fgs_plan_graph(net.plan, graph, &node, 1, 1, &tail, &err),
                     FGS_E_DRIVER);
    assert_null(tail);
    assert_int_equal(nodes_of(graph), 0);
    RIG_OK(fgs_plan_update_exec(net.plan, exec, &err), err);
    assert_int_equal(fgs_plan_capture(net.plan, run, 1, &err), FGS_E_STATE);
    RIG_OK(fgs_plan_update_exec(net.plan, exec, &err), err);
    cu.exec_destroy(exec);
    cu.destroy(graph);
    cu.destroy(foreign);
    replay(good, 1, 1, 2);
}

static void graph_of_what_was_freed(void **state)
{
    CUgraph graph;
    CUgraphExec exec;
    fgs_error err;

    (void)state;
    pair(1);
    compose();
    graph = built(1);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    fgs_buffer_free(net.b[2]);
    net.b[2] = NULL;
    assert_int_equal(fgs_plan_update_exec(net.plan, exec, &err), FGS_E_FREED);
    assert_non_null(strstr(err.text, "buffer 'out' of the plan"));
    cu.exec_destroy(exec);
    cu.destroy(graph);
    assert_int_equal(cu.create(&graph, 0), 0);
    assert_int_equal(fgs_plan_graph(net.plan, graph, NULL, 0, 1, NULL, &err),
                     FGS_E_FREED);
    assert_int_equal(nodes_of(graph), 0);
    cu.destroy(graph);
    assert_int_equal(cu.begin(run, 0), 0);
    assert_int_equal(fgs_plan_capture(net.plan, run, 1, &err), FGS_E_FREED);
    assert_int_equal(cu.end(run, &graph), 0);
    assert_int_equal(nodes_of(graph), 0);
    cu.destroy(graph);
}

/* The application captures a stream that a stage names: neither its capture
 * nor the buffers are touched. */
static void run_beside_a_capture_of_a_stage_s_stream(void **state)
{
    CUgraph graph;
    fgs_error err;

    (void)state;
    pair(1);
    net.stage[1].stream = other;
    compose();
    assert_int_equal(cu.begin(other, 0), 0);
    assert_int_equal(fgs_plan_run(net.plan, run, 1, &err), FGS_E_STATE);
    assert_int_equal(cu.end(other, &graph), 0);
    assert_int_equal(nodes_of(graph), 0);
    cu.destroy(graph);
    net_run(&net, run, 1);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(capture_of_one_stream_has_the_programmatic_edge),
        TEST(graph_that_is_built_has_the_programmatic_edge),
        TEST(capture_of_two_streams_starts_the_reader_early),
        TEST(plain_edge_stays_plain),
        TEST(flags_begin_anew_with_each_replay),
        TEST(slots_take_turns_across_replays),
        TEST(rounds_that_do_not_close_the_ring_are_refused),
        TEST(update_follows_a_buffer_to_its_new_place),
        TEST(graph_that_fails_leaves_no_nodes_and_the_one_before),
        TEST(graph_of_what_was_freed),
        TEST(run_beside_a_capture_of_a_stage_s_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
