/* test_sim_graph_mem.c -- memory that graphs allocate and free
 *
 * The errors are those of an H200 (driver 580) for the same calls.
 */
#include "sim_calls.h"

enum { BYTES = 4096 };

static struct sim s;
static CUdeviceptr x, q;
static CUstream t;
static CUgraph g;
static CUgraphNode a, k, c, f;
static CUgraphExec e;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD POKE AFFINE);
    x = sim_alloc(64);
    OK(cuMemsetD8(x, 0, 64));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&g, 0));
    OK(cuCtxSynchronize());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static CUDA_MEM_ALLOC_NODE_PARAMS wish(size_t bytes)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
        .bytesize = bytes
    };
}

static CUdeviceptr alloc_node(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p = wish(BYTES);

    OK(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p));
    return p.dptr;
}

/* A kernel that stores 7 at `at`, behind `dep`. */
static void poke_node(const CUgraphNode *dep, CUdeviceptr at)
{
    void *params[] = { &at };
    CUDA_KERNEL_NODE_PARAMS p = { sim_func(&s, "poke"), 1, 1, 1, 1, 1, 1, 0,
                                  params, NULL, NULL, NULL };

    OK(cuGraphAddKernelNode_v2(&k, g, dep, 1, &p));
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t v = 0;

    OK(cuStreamSynchronize(t));
    OK(cuMemcpyDtoH(&v, at, 4));
    return v;
}

static uint64_t memory(CUgraphMem_attribute attr)
{
    uint64_t v = 99;

    OK(cuDeviceGetGraphMemAttribute(0, attr, &v));
    return v;
}

/* alloc, kernel, copy to x, free */
static void whole(void)
{
    CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = x, .WidthInBytes = 4, .Height = 1,
                        .Depth = 1 };

    q = alloc_node();
    poke_node(&a, q);
    p.srcDevice = q;
    OK(cuGraphAddMemcpyNode(&c, g, &k, 1, &p, s.ctx));
    OK(cuGraphAddMemFreeNode(&f, g, &c, 1, q));
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
}

static void memory_lives_inside_a_launch(void **state)
{
    CUgraphNodeType type;
    CUdeviceptr p = 0;

    (void)state;
    whole();
    assert_int_equal(memory(0) + memory(1), 0);
    for (unsigned i = 0; i < 3; i++) {
        OK(cuMemsetD32(x, 0, 1));
        OK(cuStreamSynchronize(NULL));
        OK(cuGraphLaunch(e, t));
        assert_int_equal(word(x), 7);
    }
    CU(cuMemcpyDtoH(&p, q, 4), ERROR_INVALID_VALUE);
    CU(cuMemFree(q), ERROR_INVALID_VALUE);
    assert_int_equal(memory(0), 0);
    assert_int_equal(memory(1), BYTES);
    assert_int_equal(memory(2), 0);
    assert_int_equal(memory(3), BYTES);
    OK(cuGraphNodeGetType(a, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    OK(cuGraphNodeGetType(f, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
    OK(cuGraphMemFreeNodeGetParams(f, &p));
    assert_int_equal(p, q);
    CU(cuGraphMemFreeNodeGetParams(a, &p), ERROR_INVALID_VALUE);
}

/* A kernel behind the free finds no memory. */
static void freed_memory_faults(void **state)
{
    (void)state;
    q = alloc_node();
    OK(cuGraphAddMemFreeNode(&f, g, &a, 1, q));
    poke_node(&f, q);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphLaunch(e, t));
    CU(cuStreamSynchronize(t), ERROR_ILLEGAL_ADDRESS);
}

static void memory_is_not_there_before_a_launch(void **state)
{
    unsigned int type;
    CUdeviceptr base;
    uint32_t v;
    size_t n;

    (void)state;
    q = alloc_node();
    assert_int_equal(q % 512, 0);
    CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q),
       ERROR_INVALID_VALUE);
    CU(cuMemGetAddressRange(&base, &n, q), ERROR_NOT_FOUND);
    CU(cuMemcpyDtoH(&v, q, 4), ERROR_INVALID_VALUE);
    CU(cuMemsetD8(q, 0, 4), ERROR_INVALID_VALUE);
    CU(cuMemFree(q), ERROR_INVALID_VALUE);
    CU(cuMemFreeAsync(q, t), ERROR_INVALID_VALUE);
}

static void alloc_node_refuses_bad_wishes(void **state)
{
    CUmemAccessDesc d = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 3 };
    CUDA_MEM_ALLOC_NODE_PARAMS p, got;

    (void)state;
#define WISH(change, result)                                                   \
    p = wish(64);                                                              \
    change;                                                                    \
    CU(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p), result)
    WISH(p.bytesize = 0, ERROR_INVALID_VALUE);
    WISH(p.poolProps.handleTypes = 1, ERROR_NOT_SUPPORTED);
    WISH(p.poolProps.location.id = 5, ERROR_INVALID_VALUE);
    WISH(p.poolProps.location.type = 2, ERROR_NOT_SUPPORTED);
    WISH(p.poolProps.allocType = 0, ERROR_INVALID_VALUE);
    WISH(p.bytesize = (size_t)1 << 50, ERROR_OUT_OF_MEMORY);
    WISH(p.accessDescCount = 1, ERROR_INVALID_VALUE);
    p.accessDescs = &d;
    d.location.id = 3;
    CU(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p), ERROR_INVALID_DEVICE);
    d.location.id = 0;
    OK(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p));
    OK(cuGraphMemAllocNodeGetParams(a, &got));
    assert_int_equal(got.dptr, p.dptr);
    assert_int_equal(got.bytesize, 64);
    assert_int_equal(got.accessDescs->flags, 3);
    WISH(p.poolProps.maxSize = 77, SUCCESS);
    CU(cuGraphAddMemAllocNode(&a, g, NULL, 0, NULL), ERROR_INVALID_VALUE);
}

static void free_node_takes_a_begin_once(void **state)
{
    (void)state;
    q = alloc_node();
    CU(cuGraphAddMemFreeNode(&f, g, &a, 1, x), ERROR_INVALID_VALUE);
    CU(cuGraphAddMemFreeNode(&f, g, &a, 1, 0), ERROR_INVALID_VALUE);
    CU(cuGraphAddMemFreeNode(&f, g, &a, 1, q + 16), ERROR_INVALID_VALUE);
    OK(cuGraphAddMemFreeNode(&f, g, &a, 1, q));
    CU(cuGraphAddMemFreeNode(&c, g, &f, 1, q), ERROR_INVALID_VALUE);
}

static void graph_with_memory_is_one_of_a_kind(void **state)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
    CUgraphExecUpdateResultInfo info;
    CUgraph copy, parent;
    CUgraphExec again;
    CUgraphNode n;

    (void)state;
    whole();
    CU(cuGraphDestroyNode(f), ERROR_NOT_SUPPORTED);
    CU(cuGraphDestroyNode(k), ERROR_NOT_SUPPORTED);
    CU(cuGraphClone(&copy, g), ERROR_NOT_SUPPORTED);
    CU(cuGraphRemoveDependencies(g, &k, &c, 1), ERROR_NOT_SUPPORTED);
    OK(cuGraphCreate(&parent, 0));
    CU(cuGraphAddChildGraphNode(&n, parent, NULL, 0, g), ERROR_NOT_SUPPORTED);
    p.u.graph.graph = g;
    CU(cuGraphAddNode(&n, parent, NULL, 0, &p), ERROR_NOT_SUPPORTED);
    CU(cuGraphInstantiateWithFlags(&again, g, 0), ERROR_NOT_SUPPORTED);
    CU(cuGraphNodeSetEnabled(e, a, 0), ERROR_INVALID_VALUE);
    OK(cuGraphExecUpdate_v2(e, g, &info));
    OK(cuGraphAddEmptyNode(&n, g, NULL, 0));
    CU(cuGraphExecUpdate_v2(e, g, &info), ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphExecDestroy(e));
    p.u.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    OK(cuGraphAddNode(&n, parent, NULL, 0, &p));
    OK(cuGraphInstantiateWithFlags(&e, parent, 0));
    OK(cuGraphLaunch(e, t));
    assert_int_equal(word(x), 7);
}

static void left_memory_is_the_program_s(void **state)
{
    CUdeviceptr base;
    size_t n;

    (void)state;
    q = alloc_node();
    poke_node(&a, q);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphLaunch(e, t));
    CU(cuGraphLaunch(e, t), ERROR_INVALID_VALUE); /* it is there already */
    assert_int_equal(word(q), 7);
    OK(cuMemGetAddressRange(&base, &n, q));
    assert_int_equal(n, BYTES);
    assert_int_equal(memory(0), BYTES);
    OK(cuMemFree(q));
    assert_int_equal(memory(0), 0);
    CU(cuMemFree(q), ERROR_INVALID_VALUE);
    OK(cuGraphLaunch(e, t));
    OK(cuMemFreeAsync(q, t));
    OK(cuGraphLaunch(e, t));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    assert_int_equal(word(q), 7); /* stays until it is freed */
    OK(cuMemFree(q));
}

static void another_graph_may_free(void **state)
{
    CUgraphExec other;
    CUgraph h;

    (void)state;
    q = alloc_node();
    poke_node(&a, q);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphCreate(&h, 0));
    OK(cuGraphAddMemFreeNode(&f, h, NULL, 0, q));
    CU(cuGraphAddMemFreeNode(&c, g, &k, 1, q), ERROR_INVALID_VALUE);
    OK(cuGraphInstantiateWithFlags(&other, h, 0));
    CU(cuGraphLaunch(other, t), ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < 2; i++) {
        OK(cuGraphLaunch(e, t));
        OK(cuGraphLaunch(other, t));
    }
    CU(cuGraphLaunch(other, t), ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(t));
    assert_int_equal(memory(0), 0);
    OK(cuGraphExecDestroy(other));
    OK(cuGraphDestroy(h));
    OK(cuGraphAddMemFreeNode(&c, g, &k, 1, q));
}

static void launch_frees_by_itself_when_asked(void **state)
{
    (void)state;
    q = alloc_node();
    poke_node(&a, q);
    OK(cuGraphInstantiateWithFlags(
        &e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for (unsigned i = 0; i < 3; i++)
        OK(cuGraphLaunch(e, t));
    assert_int_equal(word(q), 7);
    assert_int_equal(memory(0), BYTES);
    OK(cuMemFree(q));
    OK(cuGraphLaunch(e, t));
    OK(cuGraphExecDestroy(e));
    OK(cuMemFree(q));
    assert_int_equal(memory(0), 0);
}

static void captures_allocate_and_free(void **state)
{
    CUstreamCaptureStatus st;
    CUgraphNode n[4];
    CUdeviceptr plain;
    size_t count = 4;
    CUgraph h;

    (void)state;
    OK(cuMemAllocAsync(&plain, 64, t));
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&q, BYTES, t));
    assert_int_equal(
        sim_launch(sim_func(&s, "poke"), 1, 1, t, 0, (void *[]){ &q }), 0);
    OK(cuMemcpyDtoDAsync(x, q, 4, t));
    CU(cuMemFreeAsync(plain, t), ERROR_INVALID_VALUE);
    CU(cuMemFreeAsync(q + 8, t), ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(q, t));
    CU(cuMemFreeAsync(q, t), ERROR_INVALID_VALUE);
    CU(cuMemAllocAsync(&q, (size_t)1 << 50, t), ERROR_OUT_OF_MEMORY);
    OK(cuStreamIsCapturing(t, &st));
    assert_int_equal(st, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamEndCapture(t, &h));
    OK(cuGraphGetNodes(h, n, &count));
    assert_int_equal(count, 4);
    OK(cuGraphInstantiateWithFlags(&e, h, 0));
    OK(cuGraphLaunch(e, t));
    OK(cuGraphLaunch(e, t));
    assert_int_equal(word(x), 7);
}

static void attributes_of_graph_memory(void **state)
{
    uint64_t zero = 0, one = 1;

    (void)state;
    whole();
    OK(cuGraphLaunch(e, t));
    OK(cuStreamSynchronize(t));
    OK(cuDeviceGraphMemTrim(0));
    OK(cuDeviceSetGraphMemAttribute(0, 1, &zero));
    assert_int_equal(memory(1), 0);
    assert_int_equal(memory(3), BYTES);
    OK(cuDeviceSetGraphMemAttribute(0, 3, &zero));
    assert_int_equal(memory(3), 0);
    CU(cuDeviceSetGraphMemAttribute(0, 1, &one), ERROR_INVALID_VALUE);
    CU(cuDeviceSetGraphMemAttribute(0, 0, &zero), ERROR_INVALID_VALUE);
    CU(cuDeviceSetGraphMemAttribute(0, 9, &zero), ERROR_INVALID_VALUE);
    CU(cuDeviceSetGraphMemAttribute(0, 1, NULL), ERROR_INVALID_VALUE);
    CU(cuDeviceGetGraphMemAttribute(0, 9, &zero), ERROR_INVALID_VALUE);
    CU(cuDeviceGetGraphMemAttribute(0, 0, NULL), ERROR_INVALID_VALUE);
    CU(cuDeviceGetGraphMemAttribute(5, 0, &zero), ERROR_INVALID_DEVICE);
    CU(cuDeviceGraphMemTrim(5), ERROR_INVALID_DEVICE);
}

/* ---------------------------------------------------------------- memory -- */

static CUresult add_one(void *arg)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p = wish(64);
    CUresult r = fgs__sim_cuGraphAddMemAllocNode(&a, g, NULL, 0, &p);

    (void)arg;
    if (!r)
        q = p.dptr;
    return r;
}

static CUresult free_one(void *arg)
{
    (void)arg;
    return fgs__sim_cuGraphAddMemFreeNode(&f, g, &a, 1, q);
}

static CUresult launch_left(void *arg)
{
    return fgs__sim_cuGraphLaunch(arg, t);
}

static void nodes_without_memory_leave_nothing(void **state)
{
    struct counting n = { 0, 0, 0 };
    fgs_allocator alloc;
    CUgraphExec again;

    (void)state;
    s = sim_counted(&n, &alloc);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&g, 0));
    sim_fail_each(&n, add_one, NULL, 3);
    OK(cuGraphInstantiateWithFlags(
        &again, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    OK(cuGraphLaunch(again, t));
    OK(cuStreamSynchronize(t));
    n.at = atomic_load(&n.calls) + 4; /* the free before the launch */
    CU(cuGraphLaunch(again, t), ERROR_OUT_OF_MEMORY);
    n.at = 0;
    assert_int_equal(launch_left(again), CUDA_SUCCESS);
    OK(cuStreamSynchronize(t));
    OK(cuMemFree(q));
    OK(cuGraphExecDestroy(again));
    sim_fail_each(&n, free_one, NULL, 2);
    sim_counted_end(&n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(memory_lives_inside_a_launch),
        TEST(freed_memory_faults),
        TEST(memory_is_not_there_before_a_launch),
        TEST(alloc_node_refuses_bad_wishes),
        TEST(free_node_takes_a_begin_once),
        TEST(graph_with_memory_is_one_of_a_kind),
        TEST(left_memory_is_the_program_s),
        TEST(another_graph_may_free),
        TEST(launch_frees_by_itself_when_asked),
        TEST(captures_allocate_and_free),
        TEST(attributes_of_graph_memory),
        TEST(nodes_without_memory_leave_nothing),
    };

    return cmocka_run_group_tests_name("sim_graph_mem", tests, NULL, NULL);
}
