/* test_sim_attribute.c -- launch attributes of launches, streams and nodes */
#include "sim_calls.h"

/* A kernel with 1024 bytes of static shared memory. */
#define OWN                                                     \
    ".visible .entry own()\n{\n"                                \
    "    .shared .align 16 .b8 s_x[1024];\n"                    \
    "    .reg .u32 %r<2>;\n"                                    \
    "    mov.u32 %r1, s_x;\n"                                   \
    "    st.shared.u32 [%r1], %r1;\n"                           \
    "    ret;\n}\n"
/* Where cooperative groups count, 0 of a launch that is none of theirs. */
#define COUNTER                                                 \
    ".visible .entry counter(.param .u64 p_out)\n{\n"           \
    "    .reg .u64 %a;\n    .reg .u32 %v, %w;\n"                \
    "    ld.param.u64 %a, [p_out];\n"                           \
    "    mov.u32 %v, %envreg1;\n"                               \
    "    mov.u32 %w, %envreg2;\n"                               \
    "    or.b32 %v, %v, %w;\n"                                  \
    "    st.global.u32 [%a], %v;\n"                             \
    "    ret;\n}\n"
enum {
    BAD = CUDA_ERROR_INVALID_VALUE, NO = CUDA_ERROR_NOT_SUPPORTED,
    KIB = 1024, OPTIN = 227 * KIB, /* of an H200 */
    PORTABLE = CU_SHARED_MEMORY_MODE_REQUIRE_PORTABLE,
    WIDE = CU_SHARED_MEMORY_MODE_ALLOW_NON_PORTABLE
};

static struct sim s;
static CUfunction own;
static CUstream stream;
static CUgraph graph;
static CUgraphNode node;

static CUgraphNode add_node(uint32_t dynamic)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
    CUgraphNode n = NULL;

    p.u.kernel = (CUDA_KERNEL_NODE_PARAMS){ own, 1, 1, 1,    1,    1,
                                            1,   dynamic, NULL, NULL, NULL,
                                            NULL };
    OK(cuGraphAddNode(&n, graph, NULL, 0, &p));
    return n;
}

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD OWN COUNTER);
    own = sim_func(&s, "own");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    node = add_node(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static CUresult launch(uint32_t dynamic, const CUlaunchAttribute *a)
{
    CUlaunchAttribute copy = *a;
    CUlaunchConfig c = { 1, 1, 1, 1, 1, 1, dynamic, stream, &copy, 1 };

    return fgs__sim_cuLaunchKernelEx(&c, own, NULL, NULL);
}

/* A value as its first words. */
static CUlaunchAttribute attribute(unsigned id, const uint32_t word[3])
{
    CUlaunchAttribute a = { .id = id };

    memcpy(&a.value, word, 12);
    return a;
}

/* What cuda.h's CUlaunchAttributeID says of each id's place and values.  The
 * code for a wrong place, but 2 of a stream and 3 of a launch, is a choice. */
static const struct row {
    unsigned id;
    uint32_t word[3];
    int launch, node, stream;
} rows[] = {
    { 0, { 0, 0, 0 }, 0, NO, BAD },
    { 1, { 0, 0, 0 }, 0, 0, 0 },             /* window: base, num_bytes     */
    { 1, { 64, 0, 128 }, BAD, BAD, BAD },
    { 2, { 1, 0, 0 }, 0, 0, BAD },
    { 3, { 4, 0, 0 }, NO, NO, 0 },
    { 3, { 5, 0, 0 }, NO, NO, BAD },
    { 4, { 1, 1, 1 }, 0, 0, BAD },
    { 5, { 2, 0, 0 }, 0, 0, BAD },
    { 5, { 3, 0, 0 }, BAD, BAD, BAD },
    { 6, { 1, 0, 0 }, 0, NO, BAD },
    { 8, { 0, 0, 0 }, 0, 0, 0 },
    { 9, { 0x0100, 0, 0 }, 0, 0, 0 },        /* remote 1                    */
    { 9, { 0xc800, 0, 0 }, BAD, BAD, BAD },  /* remote 200                  */
    { 9, { 0x0101, 0, 0 }, BAD, BAD, BAD },
    { 10, { 1, 0, 0 }, 0, 0, 0 },
    { 10, { 2, 0, 0 }, BAD, BAD, BAD },
    { 13, { 0, 0, 0 }, BAD, 0, BAD },        /* no captured stream          */
    { 13, { 1, 0, 0 }, NO, NO, BAD },        /* no updates from kernels     */
    { 13, { 2, 0, 0 }, BAD, BAD, BAD },
    { 14, { 100, 0, 0 }, 0, 0, BAD },
    { 14, { 101, 0, 0 }, BAD, BAD, BAD },
    { 15, { 0, 0, 0 }, BAD, BAD, BAD },
    { 16, { 0, 0, 0 }, 0, 0, 0 },
    { 16, { 1, 0, 0 }, 0, 0, 0 },
    { 16, { 2, 0, 0 }, BAD, BAD, BAD },
    { 17, { 2, 0, 0 }, 0, 0, BAD },
    { 17, { 3, 0, 0 }, BAD, BAD, BAD },
    { 18, { 4, 0, 0 }, 0, 0, BAD },
    { 18, { 5, 0, 0 }, BAD, BAD, BAD },
    { 19, { 0, 0, 0 }, BAD, BAD, BAD },
    { 99, { 0, 0, 0 }, BAD, BAD, BAD }
};

static void check(const struct row *row)
{
    CUlaunchAttribute a = attribute(row->id, row->word);
    CUlaunchAttributeValue v;
    int n, t, l = (int)launch(0, &a);

    n = (int)fgs__sim_cuGraphKernelNodeSetAttribute(node, row->id, &a.value);
    t = (int)fgs__sim_cuStreamSetAttribute(stream, row->id, &a.value);
    if (l != row->launch || n != row->node || t != row->stream)
        print_error("attribute %u, %u: %d %d %d\n", row->id,
                    (unsigned)row->word[0], l, n, t);
    assert_int_equal(l, row->launch);
    assert_int_equal(n, row->node);
    assert_int_equal(t, row->stream);
    if (!n) {
        OK(cuGraphKernelNodeGetAttribute(node, row->id, &v));
        assert_memory_equal(&v, row->word, row->id == 9 ? 2 : 4);
    }
    if (!t) {
        OK(cuStreamGetAttribute(stream, row->id, &v));
        assert_memory_equal(&v, row->word, row->id == 9 ? 2 : 4);
    }
}

static void all_places_take_the_same_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
    OK(cuCtxSynchronize());
}

static void asking_for_an_attribute_needs_its_place(void **state)
{
    CUlaunchAttributeValue v;

    (void)state;
    OK(cuGraphKernelNodeGetAttribute(node, 13, &v));
    assert_int_equal(v.deviceUpdatableKernelNode.deviceUpdatable, 0);
    assert_null(v.deviceUpdatableKernelNode.devNode);
    OK(cuGraphKernelNodeGetAttribute(node, 9, &v));
    assert_int_equal(v.memSyncDomainMap.remote, 1);
    OK(cuGraphKernelNodeGetAttribute(node, 14, &v));
    assert_int_equal(v.sharedMemCarveout, 0); /* an H200's; -1 is not taken */
    OK(cuGraphKernelNodeGetAttribute(node, 16, &v));
    assert_int_equal(v.nvlinkUtilCentricScheduling, 0);
    OK(cuStreamGetAttribute(stream, 16, &v));
    assert_int_equal(v.nvlinkUtilCentricScheduling, 0);
    CU(cuGraphKernelNodeGetAttribute(node, 3, &v), ERROR_NOT_SUPPORTED);
    CU(cuGraphKernelNodeGetAttribute(node, 99, &v), ERROR_INVALID_VALUE);
    CU(cuStreamGetAttribute(stream, 18, &v), ERROR_INVALID_VALUE);
}

/* ------------------------------------------------ shared memory's modes -- */

static CUresult wants(uint32_t dynamic, uint32_t mode)
{
    CUlaunchAttribute a =
        attribute(CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE,
                  (const uint32_t[3]){ mode, 0, 0 });

    return launch(dynamic, &a);
}

static void set(CUfunction_attribute id, int v)
{
    OK(cuFuncSetAttribute(own, id, v));
}

static void mode_of_a_launch_bounds_its_shared_memory(void **state)
{
    (void)state;
    assert_int_equal(wants(47 * KIB, 0), 0);
    assert_int_equal(wants(48 * KIB, 0), BAD); /* the function's bound */
    assert_int_equal(wants(48 * KIB, WIDE), 0);
    for (uint32_t mode = WIDE; mode <= 4; mode++) {
        assert_int_equal(wants(OPTIN - KIB, mode), 0);
        assert_int_equal(wants(OPTIN - KIB + 1, mode), BAD);
    }
    set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * KIB);
    assert_int_equal(wants(100 * KIB, 0), 0);
    assert_int_equal(wants(47 * KIB, PORTABLE), 0);
    assert_int_equal(wants(47 * KIB + 1, PORTABLE), BAD);
    OK(cuCtxSynchronize());
}

static void mode_of_a_function_holds_where_a_launch_has_none(void **state)
{
    int v = -1;

    (void)state;
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE, own));
    assert_int_equal(v, 0);
    set(CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE, WIDE);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE, own));
    assert_int_equal(v, WIDE);
    assert_int_equal(wants(OPTIN - KIB, 0), 0);
    assert_int_equal(wants(OPTIN - KIB, PORTABLE), BAD);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, own, 32, 100 * KIB));
    assert_int_equal(v, 2); /* of 228 KiB, 1 KiB a block for the system */
    for (int k = 0; k < 2; k++)
        CU(cuFuncSetAttribute(own, CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE,
                              k ? 5 : -1), ERROR_INVALID_VALUE);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED,
                          own));
    assert_int_equal(v, 0);
    OK(cuCtxSynchronize());
}

static void mode_of_a_node_bounds_what_it_has(void **state)
{
    CUlaunchAttributeValue v = { .sharedMemoryMode = PORTABLE };
    CUgraphNode n;

    (void)state;
    set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * KIB);
    n = add_node(100 * KIB);
    CU(cuGraphKernelNodeSetAttribute(n, 18, &v), ERROR_INVALID_VALUE);
    OK(cuGraphKernelNodeSetAttribute(node, 18, &v));
    v.sharedMemoryMode = WIDE;
    OK(cuGraphKernelNodeSetAttribute(n, 18, &v));
    v.sharedMemoryMode = 0;
    OK(cuGraphKernelNodeGetAttribute(n, 18, &v));
    assert_int_equal(v.sharedMemoryMode, WIDE);
}

/* -------------------------------------------------------------- capture -- */

static void captured_launch_leaves_its_attributes_to_the_node(void **state)
{
    CUlaunchAttribute a[4] = {
        { .id = CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
          .value.nvlinkUtilCentricScheduling = 1 },
        { .id = CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE,
          .value.sharedMemoryMode = WIDE },
        { .id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE },
        { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = -99 }
    };
    CUlaunchConfig c = { 1, 1, 1, 1, 1, 1, 100 * KIB, stream, a, 4 };
    CUlaunchAttributeValue v;
    CUgraphNode n = NULL;
    size_t count = 1;
    CUgraph g;

    (void)state;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuLaunchKernelEx(&c, own, NULL, NULL)); /* 13 is taken here */
    OK(cuStreamEndCapture(stream, &g));
    OK(cuGraphGetNodes(g, &n, &count));
    assert_int_equal(count, 1);
    OK(cuGraphKernelNodeGetAttribute(n, 16, &v));
    assert_int_equal(v.nvlinkUtilCentricScheduling, 1);
    OK(cuGraphKernelNodeGetAttribute(n, 18, &v));
    assert_int_equal(v.sharedMemoryMode, WIDE);
    OK(cuGraphKernelNodeGetAttribute(n, 8, &v));
    assert_int_equal(v.priority, -5); /* clamped */
    v = (CUlaunchAttributeValue){ .priority = 0 };
    v.sharedMemoryMode = PORTABLE;
    CU(cuGraphKernelNodeSetAttribute(n, 18, &v), ERROR_INVALID_VALUE);
}

/* The mode is the node's, so new parameters may have what it allows. */
static void new_parameters_keep_the_mode_of_the_node(void **state)
{
    CUDA_KERNEL_NODE_PARAMS p = { own, 1, 1, 1,    1,    1,    1,
                                  100 * KIB, NULL, NULL, NULL, NULL };
    CUlaunchAttributeValue v = { .sharedMemoryMode = WIDE };
    CUgraphExec exec;

    (void)state;
    CU(cuGraphKernelNodeSetParams_v2(node, &p), ERROR_INVALID_VALUE);
    OK(cuGraphKernelNodeSetAttribute(node, 18, &v));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphKernelNodeSetParams_v2(node, &p));
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &p));
    p.sharedMemBytes = OPTIN;
    CU(cuGraphKernelNodeSetParams_v2(node, &p), ERROR_INVALID_VALUE);
    OK(cuGraphLaunch(exec, stream));
    OK(cuCtxSynchronize());
}

/* Does the graph's node count as a cooperative launch when it runs? */
static bool counts(CUdeviceptr out)
{
    CUgraphExec exec = NULL;
    uint32_t v = 0;

    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&v, out, 4));
    OK(cuGraphExecDestroy(exec));
    return v != 0;
}

static void cooperative_node_runs_as_one(void **state)
{
    CUdeviceptr out = sim_alloc(4);
    void *params[] = { &out };
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
    CUkernelNodeAttrValue v = { .cooperative = 1 };
    CUgraphNode a, b, c;

    (void)state;
    p.u.kernel = (CUDA_KERNEL_NODE_PARAMS){ sim_func(&s, "counter"), 1, 1, 1,
                                            1, 1, 1, 0, params, NULL, NULL,
                                            NULL };
    OK(cuGraphAddNode(&a, graph, NULL, 0, &p));
    assert_false(counts(out));
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    assert_true(counts(out));
    OK(cuGraphNodeSetParams(a, &p));
    assert_true(counts(out));
    OK(cuGraphDestroyNode(a));
    /* Too large is so for a copy of the attribute, too, and for new sizes; the
     * codes are those of an H200's driver. */
    OK(cuGraphAddNode(&a, graph, NULL, 0, &p));
    OK(cuGraphAddNode(&b, graph, NULL, 0, &p));
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    p.u.kernel.gridDimX = 1 << 20;
    CU(cuGraphNodeSetParams(a, &p), ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cuGraphAddNode(&c, graph, NULL, 0, &p));
    CU(cuGraphKernelNodeCopyAttributes(c, a), ERROR_INVALID_VALUE);
    OK(cuGraphDestroyNode(c));
    OK(cuGraphDestroyNode(a));
    assert_false(counts(out));
    p.u.kernel.gridDimX = 1;
    OK(cuGraphAddNode(&c, graph, NULL, 0, &p));
    OK(cuGraphKernelNodeSetAttribute(c, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    OK(cuGraphKernelNodeCopyAttributes(b, c));
    OK(cuGraphDestroyNode(c));
    assert_true(counts(out));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(all_places_take_the_same_values),
        T(asking_for_an_attribute_needs_its_place),
        T(mode_of_a_launch_bounds_its_shared_memory),
        T(mode_of_a_function_holds_where_a_launch_has_none),
        T(mode_of_a_node_bounds_what_it_has),
        T(captured_launch_leaves_its_attributes_to_the_node),
        T(new_parameters_keep_the_mode_of_the_node),
        T(cooperative_node_runs_as_one),
    };
#undef T

    return cmocka_run_group_tests_name("sim_attribute", tests, NULL, NULL);
}
