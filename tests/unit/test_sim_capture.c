/* test_sim_capture.c -- capture into a given graph, what a capture forbids */
#include "sim_calls.h"
#include <pthread.h>

static struct sim s;
static CUdeviceptr x;
static CUstream t;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD AFFINE);
    x = sim_alloc(64);
    OK(cuMemsetD8(x, 0, 64));
    OK(cuStreamCreate(&t, 0));
    OK(cuCtxSynchronize());
    return 0;
}

static int teardown(void **state)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

    (void)state;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    sim_clean();
    return 0;
}

static uint32_t word(void)
{
    uint32_t v = 0;

    OK(cuMemcpyDtoH(&v, x, 4));
    return v;
}

static void affine(uint32_t mul, uint32_t add)
{
    sim_affine(sim_func(&s, "affine"), 1, 1, t, 0, x, mul, add);
}

static void launch(CUgraph g)
{
    CUgraphExec exec;

    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphExecDestroy(exec));
    OK(cuCtxSynchronize());
}

static CUgraphNode fill(CUgraph g, const CUgraphNode *deps, size_t n,
                        uint32_t value)
{
    CUDA_MEMSET_NODE_PARAMS p = { .dst = x, .value = value, .elementSize = 4,
                                  .width = 1, .height = 1 };
    CUgraphNode node;

    OK(cuGraphAddMemsetNode(&node, g, deps, n, &p, s.ctx));
    return node;
}

static void capture_goes_into_a_given_graph(void **state)
{
    const CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUgraphNode first, deps[4];
    CUgraph g, out;
    size_t n = 4;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    first = fill(g, NULL, 0, 6);
    OK(cuStreamBeginCaptureToGraph(t, g, &first, NULL, 1, mode));
    CU(cuStreamBeginCaptureToGraph(CU_STREAM_PER_THREAD_, g, NULL, NULL, 0,
                                   mode),
       ERROR_INVALID_VALUE); /* one at a time */
    affine(7, 0);
    OK(cuStreamEndCapture(t, &out));
    assert_ptr_equal(out, g);
    OK(cuGraphGetNodes(g, deps, &n));
    assert_int_equal(n, 2);
    n = 4;
    OK(cuGraphGetRootNodes(g, deps, &n));
    assert_int_equal(n, 1);
    launch(g);
    assert_int_equal(word(), 42);
}

static void graph_of_another_context_takes_a_capture(void **state)
{
    const CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUgraphNode node = NULL;
    CUcontext other;
    CUgraph g, out;
    size_t n = 4;

    (void)state;
    OK(cuCtxCreate(&other, 0, 0));
    OK(cuGraphCreate(&g, 0));
    OK(cuCtxSetCurrent(s.ctx));
    CU(cuStreamBeginCaptureToGraph(t, g, &node, NULL, 1, mode),
       ERROR_INVALID_VALUE);
    OK(cuStreamBeginCaptureToGraph(t, g, NULL, NULL, 0, mode));
    OK(cuCtxSetCurrent(other));
    CU(cuGraphDestroy(g), ERROR_INVALID_VALUE);
    CU(cuStreamBeginCaptureToGraph(CU_STREAM_PER_THREAD_, g, NULL, NULL, 0,
                                   mode),
       ERROR_INVALID_VALUE);
    OK(cuCtxSetCurrent(s.ctx));
    affine(1, 1);
    OK(cuStreamEndCapture(t, &out));
    assert_ptr_equal(out, g);
    OK(cuGraphGetNodes(g, NULL, &n));
    assert_int_equal(n, 1);
    /* which goes with the context */
    OK(cuStreamBeginCaptureToGraph(t, g, NULL, NULL, 0, mode));
    OK(cuCtxDestroy(other));
    CU(cuStreamEndCapture(t, &out), ERROR_ILLEGAL_STATE);
}

static void failed_capture_leaves_the_given_graph(void **state)
{
    CUgraphNode node = NULL;
    CUgraph g, out;
    size_t n = 4;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    CU(cuStreamBeginCaptureToGraph(t, g, &node, NULL, 1, 0),
       ERROR_INVALID_VALUE);
    OK(cuStreamBeginCaptureToGraph(t, g, NULL, NULL, 0, 0));
    affine(1, 1);
    CU(cuStreamSynchronize(t), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(t, &out), ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuGraphGetNodes(g, NULL, &n));
    assert_int_equal(n, 1);
    OK(cuGraphDestroy(g));
}

static void program_adds_nodes_to_a_capture(void **state)
{
    CUstreamCaptureStatus status;
    CUgraphNode node;
    cuuint64_t id;
    CUgraph g;

    (void)state;
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuStreamUpdateCaptureDependencies(NULL, NULL, 0, 1),
       ERROR_ILLEGAL_STATE);
    OK(cuStreamGetCaptureInfo_v2(t, &status, &id, &g, NULL, NULL));
    node = fill(g, NULL, 0, 20);
    OK(cuStreamUpdateCaptureDependencies(t, &node, 1,
                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    CU(cuStreamUpdateCaptureDependencies(t, &node, 1, 2),
       ERROR_INVALID_VALUE);
    affine(2, 2);
    OK(cuStreamEndCapture(t, &g));
    launch(g);
    assert_int_equal(word(), 42);
}

static void destroyed_node_is_forgotten_by_the_capture(void **state)
{
    const CUgraphNode *deps;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    size_t n;
    CUgraph g;

    (void)state;
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    affine(1, 1);
    OK(cuStreamGetCaptureInfo_v2(t, &status, &id, &g, &deps, &n));
    assert_int_equal(n, 1);
    OK(cuGraphDestroyNode(deps[0]));
    affine(1, 4);
    OK(cuStreamEndCapture(t, &g));
    launch(g);
    assert_int_equal(word(), 4);
}

/* ------------------------------------------------------- forbidden calls -- */

enum { CALLS = 9 };

static CUresult unsafe(int which)
{
    CUdeviceptr p;
    CUresult r;
    CUmodule m;
    CUevent e;
    void *h;

    switch (which) {
    case 0:
        return fgs__sim_cuMemAlloc(&p, 64);
    case 1:
        return fgs__sim_cuMemAllocHost(&h, 64);
    case 2:
        return fgs__sim_cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL);
    case 3:
        return fgs__sim_cuMemFree(x);
    case 4:
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        r = fgs__sim_cuModuleLoadData(&m, HEAD AFFINE);
        unsetenv("CUDA_MODULE_LOADING");
        return r;
    case 5:
        return fgs__sim_cuModuleUnload(s.module);
    case 6:
        return fgs__sim_cuStreamQuery(CU_STREAM_PER_THREAD_);
    case 7:
        return fgs__sim_cuStreamSynchronize(CU_STREAM_PER_THREAD_);
    default:
        OK(cuEventCreate(&e, 0));
        return fgs__sim_cuEventQuery(e);
    }
}

static void unsafe_calls_spoil_a_capture_of_the_thread(void **state)
{
    CUgraph g;

    (void)state;
    for (int i = 0; i < CALLS; i++) {
        OK(cuStreamBeginCapture(t, i % 2
                                    ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                    : CU_STREAM_CAPTURE_MODE_GLOBAL));
        assert_int_equal(unsafe(i), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CU(cuStreamEndCapture(t, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

static void relaxed_capture_and_relaxed_thread_allow_them(void **state)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUgraph g;

    (void)state;
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemFree(sim_alloc(64)));
    OK(cuStreamEndCapture(t, &g));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemFree(sim_alloc(64)));
    OK(cuStreamEndCapture(t, &g));
}

static void *allocate(void *arg)
{
    CUresult *r = arg;
    CUdeviceptr p;

    *r = fgs__sim_cuCtxSetCurrent(s.ctx);
    if (!*r)
        *r = fgs__sim_cuMemAlloc(&p, 64);
    return NULL;
}

static CUresult elsewhere(void)
{
    CUresult r = CUDA_ERROR_UNKNOWN;
    pthread_t other;

    assert_int_equal(pthread_create(&other, NULL, allocate, &r), 0);
    pthread_join(other, NULL);
    return r;
}

static void only_a_global_capture_concerns_other_threads(void **state)
{
    CUgraph g;

    (void)state;
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(elsewhere(), CUDA_SUCCESS);
    OK(cuStreamEndCapture(t, &g));
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(t, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(capture_goes_into_a_given_graph),
        T(graph_of_another_context_takes_a_capture),
        T(failed_capture_leaves_the_given_graph),
        T(program_adds_nodes_to_a_capture),
        T(destroyed_node_is_forgotten_by_the_capture),
        T(unsafe_calls_spoil_a_capture_of_the_thread),
        T(relaxed_capture_and_relaxed_thread_allow_them),
        T(only_a_global_capture_concerns_other_threads),
    };

    return cmocka_run_group_tests_name("sim_capture", tests, NULL, NULL);
}
