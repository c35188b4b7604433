/* test_sim_launch.c -- when a launch lets the next one begin */
#include "sim_calls.h"

static struct sim s;
static CUdeviceptr x;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD STAMP);
    x = sim_alloc(4096);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

/* A graph of two streams: the first kernel's programmatic event lets the
 * second one in.  It runs 100 us and triggers if `early`.  Did they overlap? */
static bool overlaps(int at_start, uint64_t early)
{
    CUfunction f = sim_func(&s, "stamp");
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT };
    CUlaunchConfig c = { 1, 1, 1, 32, 1, 1, 0, NULL, &attr, 1 };
    uint64_t run = 100000, wait = 0, t[4];
    void *params[] = { &x, &run, &early, &wait };
    CUgraphEdgeData data;
    CUgraphNode from, to;
    size_t count = 1;
    CUgraphExec exec;
    CUstream a, b;
    CUevent e, join;
    CUgraph g;

    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(a, 0));
    c.hStream = a;
    attr.value.programmaticEvent.event = e;
    attr.value.programmaticEvent.triggerAtBlockStart = at_start;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    OK(cuStreamWaitEvent(b, e, 0));
    sim_stamp(f, 1, 32, b, 0, x + 16, 10, 0, 0);
    OK(cuEventRecord(join, b));
    OK(cuStreamWaitEvent(a, join, 0));
    OK(cuStreamEndCapture(a, &g));
    OK(cuGraphGetEdges_v2(g, &from, &to, &data, &count));
    assert_int_equal(count, 1);
    assert_int_equal(data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    assert_int_equal(data.from_port,
                     at_start ? CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
                              : CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyDtoH(t, x, sizeof t));
    assert_true(t[2] >= t[0]);
    return t[2] < t[1];
}

/* Port 2: all blocks have begun; port 1: all have triggered or ended. */
static void edges_of_a_graph_let_the_next_kernel_in(void **state)
{
    (void)state;
    assert_true(overlaps(1, 0));
    assert_true(overlaps(1, 1));
    assert_true(overlaps(0, 1));
    assert_false(overlaps(0, 0));
}

enum { BLOCKS = 6 };

/* Two places for six blocks: the last two begin when four have ended. */
static void launch_completes_when_the_last_block_begins(void **state)
{
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
    };
    CUlaunchConfig c = { BLOCKS, 1, 1, 32, 1, 1, 0, NULL, &attr, 1 };
    fgs_sim_config cfg = sim_config();
    uint64_t run = 20000, early = 0, wait = 0, t[2 * BLOCKS + 2], last = 0;
    uint64_t end = 0;
    struct sim two;
    CUdeviceptr out;
    void *params[] = { &out, &run, &early, &wait };
    CUstream a, b;
    CUfunction f;
    CUevent e;

    (void)state;
    cfg.sms = 1;
    cfg.sm_blocks = 2;
    two = sim_open(&cfg, HEAD STAMP);
    f = sim_func(&two, "stamp");
    out = sim_alloc(sizeof t);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    c.hStream = a;
    attr.value.programmaticEvent.event = e;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    OK(cuStreamWaitEvent(b, e, 0));
    sim_stamp(f, 1, 32, b, 0, out + 16 * BLOCKS, 10, 0, 0);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(t, out, sizeof t));
    for (int k = 0; k < BLOCKS; k++) {
        last = t[2 * k] > last ? t[2 * k] : last;
        end = t[2 * k + 1] > end ? t[2 * k + 1] : end;
    }
    assert_true(t[2 * BLOCKS] >= last);
    assert_true(last >= t[1]); /* it waited for a place */
    sim_close(&two);
}

/* The attribute is taken where there is nothing to trigger with, and the
 * second kernel begins after the first. */
static void serialization_attribute_is_taken_before_sm_90(void **state)
{
    static const char text[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry count(.param .u64 p_x)\n{\n"
        "    .reg .u64 %x, %t, %now;\n    .reg .u32 %v, %old;\n"
        "    .reg .pred %p;\n"
        "    ld.param.u64 %x, [p_x];\n"
        "    ld.global.u32 %old, [%x];\n"
        "    mov.u64 %t, %globaltimer;\n"
        "    add.u64 %t, %t, 20000;\n"
        "L_loop:\n"
        "    mov.u64 %now, %globaltimer;\n"
        "    setp.lt.u64 %p, %now, %t;\n"
        "    @%p bra L_loop;\n"
        "    add.u32 %v, %old, 1;\n"
        "    st.global.u32 [%x], %v;\n"
        "    ret;\n}\n";
    fgs_sim_config cfg = sim_config();
    uint32_t got, zero = 0;
    struct sim old;
    CUdeviceptr at;
    void *params[] = { &at };

    (void)state;
    cfg.cc = 80;
    old = sim_open(&cfg, text);
    at = sim_alloc(4);
    OK(cuMemcpyHtoD(at, &zero, 4));
    for (int k = 0; k < 5; k++)
        assert_int_equal(sim_launch(sim_func(&old, "count"), 1, 1, NULL, 1,
                                    params), 0);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&got, at, 4));
    assert_int_equal(got, 5);
    sim_close(&old);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(edges_of_a_graph_let_the_next_kernel_in),
        T(launch_completes_when_the_last_block_begins),
        T(serialization_attribute_is_taken_before_sm_90),
    };
#undef T

    return cmocka_run_group_tests_name("sim_launch", tests, NULL, NULL);
}
