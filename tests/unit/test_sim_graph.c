/* test_sim_graph.c -- explicit graphs, captured ones, their edges */
#include "sim_calls.h"

static struct sim s;
static CUdeviceptr x;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD AFFINE STAMP);
    x = sim_alloc(4096);
    OK(cuMemsetD8(x, 0, 4096));
    OK(cuCtxSynchronize());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static uint32_t word(uint32_t i)
{
    uint32_t v = 0;

    OK(cuMemcpyDtoH(&v, x + 4 * i, 4));
    return v;
}

/* word = word * mul + add */
static CUgraphNode kernel(CUgraph g, const CUgraphNode *deps, size_t n,
                          uint32_t mul, uint32_t add)
{
    CUdeviceptr at = x;
    void *params[] = { &at, &mul, &add };
    CUDA_KERNEL_NODE_PARAMS p = { .func = sim_func(&s, "affine"),
                                  .gridDimX = 1, .gridDimY = 1,
                                  .gridDimZ = 1, .blockDimX = 1,
                                  .blockDimY = 1, .blockDimZ = 1,
                                  .kernelParams = params };
    CUgraphNode node = NULL;

    OK(cuGraphAddKernelNode_v2(&node, g, deps, n, &p));
    return node;
}

static void launch(CUgraph g)
{
    CUgraphExec exec;

    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphExecDestroy(exec)); /* the launch goes on */
    OK(cuCtxSynchronize());
}

static void nodes_run_in_the_order_of_edges(void **state)
{
    CUgraphNode n[4], roots[4];
    size_t count = 4;
    CUgraphExec exec;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    n[0] = kernel(g, NULL, 0, 1, 5);    /* 5 */
    n[1] = kernel(g, &n[0], 1, 3, 0);   /* 15 */
    n[2] = kernel(g, &n[1], 1, 1, 1);   /* 16 */
    n[3] = kernel(g, &n[2], 1, 10, 0);  /* 160 */
    OK(cuGraphGetRootNodes(g, roots, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(roots[0], n[0]);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    assert_int_equal(word(0), 0); /* nothing has run */
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(word(0), 160);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    /* x -> ((x + 5) * 3 + 1) * 10 */
    assert_int_equal(word(0), (((160 + 5) * 3 + 1) * 10 + 5) * 30 + 10);
    OK(cuGraphExecDestroy(exec));
    CU(cuGraphLaunch(exec, NULL), ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(g));
    CU(cuGraphDestroy(g), ERROR_INVALID_VALUE);
}

static void called(void *data)
{
    ++*(int *)data;
}

static void every_kind_of_node_runs(void **state)
{
    CUDA_MEMSET_NODE_PARAMS set = { .dst = x, .value = 7, .elementSize = 4,
                                    .width = 2, .height = 1 };
    uint32_t out[2] = { 0, 0 };
    CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = x,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out, .WidthInBytes = 8, .Height = 1,
                           .Depth = 1 };
    int calls = 0;
    CUDA_HOST_NODE_PARAMS host = { called, &calls };
    CUgraphNode n[6];
    CUgraphNodeType type;
    CUgraph g, child, same;
    CUevent e;

    (void)state;
    OK(cuEventCreate(&e, 0));
    OK(cuGraphCreate(&child, 0));
    kernel(child, NULL, 0, 2, 0);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemsetNode(&n[0], g, NULL, 0, &set, s.ctx));
    OK(cuGraphAddChildGraphNode(&n[1], g, &n[0], 1, child));
    OK(cuGraphAddEmptyNode(&n[2], g, &n[1], 1));
    OK(cuGraphAddMemcpyNode(&n[3], g, &n[2], 1, &copy, s.ctx));
    OK(cuGraphAddHostNode(&n[4], g, &n[3], 1, &host));
    OK(cuGraphAddEventRecordNode(&n[5], g, &n[4], 1, e));
    OK(cuGraphNodeGetType(n[1], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    OK(cuGraphChildGraphNodeGetGraph(n[1], &same));
    assert_true(same != child); /* a copy */
    launch(g);
    assert_int_equal(out[0], 14);
    assert_int_equal(out[1], 7);
    assert_int_equal(calls, 1);
    OK(cuEventSynchronize(e));
    CU(cuGraphAddEventRecordNode(&n[5], g, NULL, 0, (CUevent)5),
       ERROR_INVALID_HANDLE);
    CU(cuGraphAddHostNode(&n[5], g, NULL, 0, NULL), ERROR_INVALID_VALUE);
    CU(cuGraphAddChildGraphNode(&n[5], g, NULL, 0, g), ERROR_INVALID_VALUE);
    set.elementSize = 3;
    CU(cuGraphAddMemsetNode(&n[5], g, NULL, 0, &set, s.ctx),
       ERROR_INVALID_VALUE);
}

static void wrong_edges_are_refused(void **state)
{
    CUgraphEdgeData data = { .from_port = 1, .type = 1 };
    CUgraphNode a, b, empty, deps[2];
    CUgraph g, other;
    size_t count;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphCreate(&other, 0));
    a = kernel(g, NULL, 0, 1, 1);
    b = kernel(g, &a, 1, 1, 1);
    CU(cuGraphAddDependencies(g, &a, &b, 1), ERROR_INVALID_VALUE); /* twice */
    CU(cuGraphAddDependencies(g, &a, &a, 1), ERROR_INVALID_VALUE);
    CU(cuGraphAddDependencies(g, &b, &a, 1), ERROR_INVALID_VALUE); /* ring */
    CU(cuGraphAddDependencies(other, &a, &b, 1), ERROR_INVALID_VALUE);
    OK(cuGraphRemoveDependencies(g, &a, &b, 1));
    CU(cuGraphRemoveDependencies(g, &a, &b, 1), ERROR_INVALID_VALUE);
    OK(cuGraphAddDependencies_v2(g, &a, &b, &data, 1));
    count = 2;
    CU(cuGraphNodeGetDependencies(b, deps, &count), ERROR_LOSSY_QUERY);
    memset(&data, 0, sizeof data);
    OK(cuGraphNodeGetDependencies_v2(b, deps, &data, &count));
    assert_int_equal(count, 1);
    assert_int_equal(data.type, 1);
    assert_int_equal(data.from_port, 1);
    OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
    CU(cuGraphAddDependencies_v2(g, &a, &empty, &data, 1),
       ERROR_INVALID_VALUE); /* to a kernel only */
    data.to_port = 1;
    CU(cuGraphAddDependencies_v2(g, &a, &empty, &data, 1),
       ERROR_INVALID_VALUE);
}

static void parameters_are_given_and_taken(void **state)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUgraphExec exec;
    CUgraphNode n;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    n = kernel(g, NULL, 0, 1, 5);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphKernelNodeGetParams_v2(n, &p));
    assert_int_equal(*(uint32_t *)p.kernelParams[2], 5);
    assert_int_equal(p.gridDimX, 1);
    {
        uint32_t mul = 1, add = 70;
        void *params[] = { p.kernelParams[0], &mul, &add };

        p.kernelParams = params;
        OK(cuGraphExecKernelNodeSetParams_v2(exec, n, &p));
    }
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(word(0), 70);
    launch(g); /* the graph itself has kept its own */
    assert_int_equal(word(0), 75);
    p.blockDimX = 5000;
    CU(cuGraphKernelNodeSetParams_v2(n, &p), ERROR_INVALID_VALUE);
    CU(cuGraphKernelNodeGetParams_v2(NULL, &p), ERROR_INVALID_VALUE);
}

static void update_takes_the_same_shape_only(void **state)
{
    CUgraphExecUpdateResultInfo info;
    CUgraphNode a, b;
    CUgraph g, h, longer;
    CUgraphExec exec;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    a = kernel(g, NULL, 0, 1, 5);
    kernel(g, &a, 1, 2, 0);
    OK(cuGraphCreate(&h, 0));
    b = kernel(h, NULL, 0, 1, 6);
    kernel(h, &b, 1, 3, 0);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphExecUpdate_v2(exec, h, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(word(0), 18);
    OK(cuGraphClone(&longer, h));
    kernel(longer, NULL, 0, 1, 1);
    CU(cuGraphExecUpdate_v2(exec, longer, &info),
       ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result,
                     CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

static void capture_makes_a_graph_of_two_streams(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    CUstreamCaptureStatus status;
    CUstream a, b;
    CUevent fork, join;
    CUgraph g = NULL;
    size_t count = 0;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(a, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    sim_affine(f, 1, 1, a, 0, x, 1, 4);
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    sim_affine(f, 1, 1, b, 0, x, 5, 0);
    OK(cuEventRecord(join, b));
    OK(cuStreamWaitEvent(a, join, 0));
    sim_affine(f, 1, 1, a, 0, x, 1, 1);
    CU(cuEventQuery(join), ERROR_CAPTURED_EVENT);
    CU(cuStreamEndCapture(b, &g), ERROR_STREAM_CAPTURE_UNMATCHED);
    CU(cuStreamEndCapture(a, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(g);
    /* Once more, rightly. */
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    sim_affine(f, 1, 1, a, 0, x, 1, 4);
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    sim_affine(f, 1, 1, b, 0, x, 5, 0);
    OK(cuEventRecord(join, b));
    OK(cuStreamWaitEvent(a, join, 0));
    sim_affine(f, 1, 1, a, 0, x, 1, 1);
    OK(cuStreamEndCapture(a, &g));
    OK(cuGraphGetNodes(g, NULL, &count));
    assert_int_equal(count, 3);
    assert_int_equal(word(0), 0); /* only captured */
    launch(g);
    assert_int_equal(word(0), 21);
    CU(cuStreamEndCapture(a, &g), ERROR_ILLEGAL_STATE);
}

static void capture_refuses_what_it_cannot_hold(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    CUstream a, b;
    CUevent e, outside;
    CUgraph g;

    (void)state;
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, 0));
    OK(cuEventCreate(&outside, 0));
    OK(cuEventRecord(outside, b));
    CU(cuStreamBeginCapture(NULL, 0), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamBeginCapture(a, 9), ERROR_INVALID_VALUE);
    /* The host cannot wait for it. */
    OK(cuStreamBeginCapture(a, 0));
    CU(cuStreamBeginCapture(a, 0), ERROR_ILLEGAL_STATE);
    CU(cuStreamSynchronize(a), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(a, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
    /* The legacy stream would wait for it. */
    OK(cuStreamBeginCapture(a, 0));
    CU(cuMemsetD8Async(x, 0, 4, NULL), ERROR_STREAM_CAPTURE_IMPLICIT);
    CU(cuStreamEndCapture(a, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
    /* An event of outside. */
    OK(cuStreamBeginCapture(a, 0));
    CU(cuStreamWaitEvent(a, outside, 0), ERROR_STREAM_CAPTURE_ISOLATION);
    CU(cuStreamEndCapture(a, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
    /* Work that does not come back. */
    OK(cuStreamBeginCapture(a, 0));
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    sim_affine(f, 1, 1, b, 0, x, 1, 1);
    CU(cuStreamEndCapture(a, &g), ERROR_STREAM_CAPTURE_UNJOINED);
    OK(cuMemsetD8Async(x, 0, 4, b)); /* b is free again */
    OK(cuCtxSynchronize());
}

/* PDL in a stream becomes a programmatic edge, and the consumer overlaps. */
static void programmatic_edges_overlap(void **state)
{
    CUfunction f = sim_func(&s, "stamp");
    CUgraphEdgeData data;
    CUgraphNode from, to;
    uint64_t t[4];
    size_t count = 1;
    CUstream a;
    CUgraph g;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(a, 0));
    sim_stamp(f, 1, 32, a, 0, x, 100000, 1, 0);
    sim_stamp(f, 1, 32, a, 1, x + 16, 10, 0, 1);
    OK(cuStreamEndCapture(a, &g));
    CU(cuGraphGetEdges(g, &from, &to, &count), ERROR_LOSSY_QUERY);
    OK(cuGraphGetEdges_v2(g, &from, &to, &data, &count));
    assert_int_equal(count, 1);
    assert_int_equal(data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    assert_int_equal(data.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    launch(g);
    OK(cuMemcpyDtoH(t, x, sizeof t));
    assert_true(t[2] < t[1]);  /* began while the first ran */
    assert_true(t[3] >= t[1]); /* its wait covers the first */
}

/* The event of a launch's start lets another stream in; that of the triggers
 * waits for the end outside a graph. */
static void launch_events_are_fired(void **state)
{
    CUfunction f = sim_func(&s, "stamp");
    CUlaunchAttribute attr = { .id = 0 };
    CUstream a, b;
    CUlaunchConfig c = { 1, 1, 1, 32, 1, 1, 0, NULL, &attr, 1 };
    uint64_t run = 100000, early = 1, wait = 0, t[4];
    CUdeviceptr out = x;
    void *params[] = { &out, &run, &early, &wait };
    CUevent e, timed;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&timed, 0));
    c.hStream = a;
    attr.value.programmaticEvent.event = e;
    for (int trigger = 0; trigger < 2; trigger++) {
        attr.id = trigger ? CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
                          : CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
        OK(cuLaunchKernelEx(&c, f, params, NULL));
        OK(cuStreamWaitEvent(b, e, 0));
        sim_stamp(f, 1, 32, b, 0, x + 16, 10, 0, 0);
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH(t, x, sizeof t));
        assert_int_equal(t[2] < t[1], !trigger);
    }
    attr.value.programmaticEvent.event = timed;
    CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_NOT_SUPPORTED);
    attr.value.programmaticEvent.event = e;
    attr.value.programmaticEvent.flags = 1;
    CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_INVALID_VALUE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(nodes_run_in_the_order_of_edges),
        T(every_kind_of_node_runs),
        T(wrong_edges_are_refused),
        T(parameters_are_given_and_taken),
        T(update_takes_the_same_shape_only),
        T(capture_makes_a_graph_of_two_streams),
        T(capture_refuses_what_it_cannot_hold),
        T(programmatic_edges_overlap),
        T(launch_events_are_fired),
    };
#undef T

    return cmocka_run_group_tests_name("sim_graph", tests, NULL, NULL);
}
