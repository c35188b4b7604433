/* test_sim_cond.c -- conditional nodes of graphs
 *
 * The errors and values are those of an H200 (driver 580) for the same calls
 * and kernels, with cudaGraphSetConditional from libcudadevrt there.
 */
#include "sim_calls.h"

/* count: ++*p, and go on while it is below 5; choose: set the value. */
#define SET                                                                    \
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"   \
    ".visible .entry count(.param .u64 h, .param .u64 p)\n{\n"                 \
    "    .reg .b64 %h, %a;\n    .reg .b32 %v;\n    .reg .pred %q;\n"           \
    "    ld.param.u64 %h, [h];\n    ld.param.u64 %a, [p];\n"                   \
    "    ld.global.u32 %v, [%a];\n    add.u32 %v, %v, 1;\n"                    \
    "    st.global.u32 [%a], %v;\n    setp.lt.u32 %q, %v, 5;\n"                \
    "    selp.u32 %v, 1, 0, %q;\n    {\n"                                      \
    "    .param .b64 p0;\n    st.param.b64 [p0], %h;\n"                        \
    "    .param .b32 p1;\n    st.param.b32 [p1], %v;\n"                        \
    "    call.uni cudaGraphSetConditional, (p0, p1);\n    }\n    ret;\n}\n"    \
    ".visible .entry choose(.param .u64 h, .param .u32 w)\n{\n"                \
    "    .reg .b64 %h;\n    .reg .b32 %v;\n"                                   \
    "    ld.param.u64 %h, [h];\n    ld.param.u32 %v, [w];\n    {\n"            \
    "    .param .b64 p0;\n    st.param.b64 [p0], %h;\n"                        \
    "    .param .b32 p1;\n    st.param.b32 [p1], %v;\n"                        \
    "    call.uni cudaGraphSetConditional, (p0, p1);\n    }\n    ret;\n}\n"

static struct sim s;
static CUdeviceptr x;
static CUstream t;
static CUgraph g, body[3];
static CUgraphConditionalHandle h;
static CUgraphNode n;
static CUgraphExec e;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD SET);
    x = sim_alloc(64);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&g, 0));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static void put(uint32_t v)
{
    OK(cuMemsetD32(x, v, 1));
    OK(cuCtxSynchronize());
}

static uint32_t word(void)
{
    uint32_t v = 0;

    OK(cuStreamSynchronize(t));
    OK(cuMemcpyDtoH(&v, x, 4));
    return v;
}

static CUresult node(CUgraph in, CUgraphConditionalHandle of,
                     const CUgraphNode *dep, unsigned type, unsigned size,
                     CUgraph *out)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    CUresult r;

    p.u.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){ of, type, size, NULL,
                                                      s.ctx };
    r = fgs__sim_cuGraphAddNode(&n, in, dep, dep != NULL, &p);
    for (unsigned i = 0; !r && out && i < size; i++)
        out[i] = p.u.conditional.phGraph_out[i];
    return r;
}

static void fill(CUgraph in, uint32_t value)
{
    CUDA_MEMSET_NODE_PARAMS p = { .dst = x, .value = value, .elementSize = 4,
                                  .width = 1, .height = 1 };
    CUgraphNode m;

    OK(cuGraphAddMemsetNode(&m, in, NULL, 0, &p, s.ctx));
}

static CUgraphNode kernel(CUgraph in, const char *name, void **params)
{
    CUDA_KERNEL_NODE_PARAMS p = { sim_func(&s, name), 1, 1, 1, 1, 1, 1, 0,
                                  params, NULL, NULL, NULL };
    CUgraphNode k;

    OK(cuGraphAddKernelNode_v2(&k, in, NULL, 0, &p));
    return k;
}

static uint32_t run(void)
{
    put(100);
    OK(cuGraphLaunch(e, t));
    return word();
}

static void if_takes_one_of_two(void **state)
{
    static const uint32_t want[3] = { 20, 10, 10 };

    (void)state;
    for (unsigned v = 0; v < 3; v++) {
        OK(cuGraphCreate(&g, 0));
        OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, v, 1));
        assert_int_equal(node(g, h, NULL, 0, 2, body), CUDA_SUCCESS);
        fill(body[0], 10);
        fill(body[1], 20);
        OK(cuGraphInstantiateWithFlags(&e, g, 0));
        assert_int_equal(run(), want[v]);
        assert_int_equal(run(), want[v]);
        OK(cuGraphExecDestroy(e));
        OK(cuGraphDestroy(g));
    }
    /* Without an else nothing is run; without the flag a value stays. */
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 0, 0));
    assert_int_equal(node(g, h, NULL, 0, 1, body), CUDA_SUCCESS);
    fill(body[0], 10);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    assert_int_equal(run(), 100);
}

static void while_goes_round(void **state)
{
    void *params[] = { &h, &x };

    (void)state;
    OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 1, 1));
    assert_int_equal(node(g, h, NULL, 1, 1, body), CUDA_SUCCESS);
    kernel(body[0], "count", params);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    for (unsigned i = 0; i < 2; i++) {
        put(0);
        OK(cuGraphLaunch(e, t));
        assert_int_equal(word(), 5);
    }
    put(0); /* a launch whose graph goes meanwhile */
    OK(cuGraphLaunch(e, t));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    assert_int_equal(word(), 5);
}

static void switch_takes_the_value(void **state)
{
    static const uint32_t want[4] = { 10, 20, 30, 100 };
    void *params[2];
    CUgraphNode k;

    (void)state;
    for (unsigned v = 0; v < 4; v++) {
        OK(cuGraphCreate(&g, 0));
        OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 0, 1));
        params[0] = &h;
        params[1] = &v;
        k = kernel(g, "choose", params);
        assert_int_equal(node(g, h, &k, 2, 3, body), CUDA_SUCCESS);
        for (unsigned i = 0; i < 3; i++)
            fill(body[i], 10 * (i + 1));
        OK(cuGraphInstantiateWithFlags(&e, g, 0));
        assert_int_equal(run(), want[v]);
        OK(cuGraphExecDestroy(e));
        OK(cuGraphDestroy(g));
    }
}

static void bodies_hold_conditions(void **state)
{
    CUgraphConditionalHandle in, own;
    CUgraph inner = NULL, third = NULL;

    (void)state;
    OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 1, 1));
    OK(cuGraphConditionalHandleCreate(&in, g, s.ctx, 1, 1));
    assert_int_equal(node(g, h, NULL, 0, 1, body), CUDA_SUCCESS);
    assert_int_equal(node(body[0], in, NULL, 0, 1, &inner), CUDA_SUCCESS);
    OK(cuGraphConditionalHandleCreate(&own, inner, s.ctx, 1, 1));
    assert_int_equal(node(inner, own, NULL, 0, 1, &third), CUDA_SUCCESS);
    fill(third, 7);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    assert_int_equal(run(), 7);
}

static void gate_does_not_hold_a_running_graph(void **state)
{
    void *params[] = { &h, &x };
    CUevent ev;

    (void)state;
    OK(cuEventCreate(&ev, CU_EVENT_DISABLE_TIMING));
    OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 1, 1));
    assert_int_equal(node(g, h, NULL, 1, 1, body), CUDA_SUCCESS);
    kernel(body[0], "count", params);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    put(0);
    OK(cuGraphLaunch(e, t));
    OK(cuEventRecord(ev, t));
    OK(cuCtxWaitEvent(s.ctx, ev));
    assert_int_equal(word(), 5);
}

static void bodies_can_be_captured(void **state)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph out;

    (void)state;
    OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 1, 1));
    assert_int_equal(node(g, h, NULL, 0, 1, body), CUDA_SUCCESS);
    OK(cuStreamBeginCaptureToGraph(t, body[0], NULL, NULL, 0, 0));
    OK(cuMemsetD32Async(x, 8, 1, t));
    OK(cuStreamEndCapture(t, &out));
    assert_ptr_equal(out, body[0]);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    assert_int_equal(run(), 8);
    OK(cuGraphExecUpdate_v2(e, g, &info));
    assert_int_equal(run(), 8);
}

static void bad_nodes_are_refused(void **state)
{
    CUgraphConditionalHandle two;
    CUgraph copy, other;
    CUgraphNodeType type;
    CUgraphNode m;

    (void)state;
#define HANDLE(out, graph, ctx, flags, result)                                 \
    CU(cuGraphConditionalHandleCreate(out, graph, ctx, 1, flags), result)
    HANDLE(NULL, g, s.ctx, 1, ERROR_INVALID_VALUE);
    HANDLE(&h, NULL, s.ctx, 1, ERROR_INVALID_VALUE);
    HANDLE(&h, g, NULL, 1, ERROR_INVALID_CONTEXT);
    HANDLE(&h, g, s.ctx, 2, ERROR_INVALID_VALUE);
    HANDLE(&h, g, s.ctx, 1, SUCCESS);
    HANDLE(&two, g, s.ctx, 0, SUCCESS);
#define NODE(graph, handle, type, size, result)                                \
    assert_int_equal(node(graph, handle, NULL, type, size, body), CUDA_##result)
    NODE(g, 0, 0, 1, ERROR_INVALID_VALUE);
    NODE(g, h, 3, 1, ERROR_INVALID_VALUE);
    NODE(g, h, 0, 0, ERROR_INVALID_VALUE);
    NODE(g, h, 0, 3, ERROR_INVALID_VALUE);
    NODE(g, h, 1, 2, ERROR_INVALID_VALUE);
    NODE(g, h, 2, 0, ERROR_INVALID_VALUE);
    OK(cuGraphCreate(&other, 0));
    NODE(other, h, 0, 1, ERROR_INVALID_VALUE);
    NODE(g, h, 0, 1, SUCCESS);
    OK(cuGraphNodeGetType(n, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    CU(cuGraphInstantiateWithFlags(&e, g, 0), ERROR_INVALID_VALUE); /* two */
    CU(cuGraphDestroy(body[0]), ERROR_INVALID_VALUE);
    CU(cuGraphClone(&copy, g), ERROR_NOT_SUPPORTED);
    CU(cuGraphClone(&copy, body[0]), ERROR_NOT_SUPPORTED);
    CU(cuGraphAddChildGraphNode(&m, other, NULL, 0, g), ERROR_NOT_SUPPORTED);
    CU(cuGraphInstantiateWithFlags(&e, body[0], 0), ERROR_NOT_SUPPORTED);
    m = n;
    NODE(g, h, 0, 1, ERROR_INVALID_VALUE); /* one node a handle */
    NODE(g, two, 0, 1, SUCCESS);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    CU(cuGraphInstantiateWithFlags(&e, g, 0), ERROR_NOT_SUPPORTED);
    CU(cuGraphNodeSetEnabled(e, m, 0), ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroyNode(m));
    CU(cuGraphInstantiateWithFlags(&e, g, 0), ERROR_INVALID_VALUE);
}

static void body_holds_no_memory_node(void **state)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = 1,
                                                    .location = { 1, 0 } },
                                     .bytesize = 64 };
    CUgraphNode m;

    (void)state;
    OK(cuGraphConditionalHandleCreate(&h, g, s.ctx, 1, 1));
    assert_int_equal(node(g, h, NULL, 0, 1, body), CUDA_SUCCESS);
    OK(cuGraphAddMemAllocNode(&m, body[0], NULL, 0, &p));
    CU(cuGraphInstantiateWithFlags(&e, g, 0), ERROR_INVALID_VALUE);
}

static void wrong_handle_faults(void **state)
{
    uint32_t one = 1;
    void *params[] = { &x, &one };

    (void)state;
    assert_int_equal(sim_launch(sim_func(&s, "choose"), 1, 1, t, 0, params),
                     0);
    CU(cuStreamSynchronize(t), ERROR_ILLEGAL_ADDRESS);
}

/* ---------------------------------------------------------------- memory -- */

static CUresult make_handle(void *arg)
{
    return fgs__sim_cuGraphConditionalHandleCreate(arg, g, s.ctx, 1, 1);
}

static CUresult make_node(void *arg)
{
    (void)arg;
    return node(g, h, NULL, 0, 2, body);
}

static CUresult make_exec(void *arg)
{
    return fgs__sim_cuGraphInstantiateWithFlags(arg, g, 0);
}

static void nodes_without_memory_leave_nothing(void **state)
{
    struct counting c = { 0, 0, 0 };
    fgs_allocator a;

    (void)state;
    s = sim_counted(&c, &a);
    x = sim_alloc(64);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&g, 0));
    sim_fail_each(&c, make_handle, &h, 1);
    sim_fail_each(&c, make_node, NULL, 6);
    fill(body[0], 3);
    sim_fail_each(&c, make_exec, &e, 6);
    assert_int_equal(run(), 3);
    sim_counted_end(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(if_takes_one_of_two),
        TEST(while_goes_round),
        TEST(switch_takes_the_value),
        TEST(bodies_hold_conditions),
        TEST(gate_does_not_hold_a_running_graph),
        TEST(bodies_can_be_captured),
        TEST(bad_nodes_are_refused),
        TEST(body_holds_no_memory_node),
        TEST(wrong_handle_faults),
        TEST(nodes_without_memory_leave_nothing),
    };

    return cmocka_run_group_tests_name("sim_cond", tests, NULL, NULL);
}
