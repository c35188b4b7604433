/* test_sim_nomem.c -- calls whose n-th allocation fails, n = 1, 2, 3, ...
 *
 * The call says OUT_OF_MEMORY, does the same as ever when it is made again,
 * and nothing is left when the device is gone.
 */
#include "sim_calls.h"

static struct sim s;
static CUdeviceptr x;
static CUgraph graph, other;
static CUgraphNode node, child;
static CUgraphExec exec;
static CUstream stream;
static CUuserObject object;

static void nothing(void *data)
{
    (void)data;
}

static void told(CUstream st, CUresult status, void *data)
{
    (void)st;
    (void)status;
    (void)data;
}

static CUgraphNodeParams affine(void)
{
    static uint32_t one = 1;
    static void *params[3];
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

    params[0] = &x;
    params[1] = params[2] = &one;
    p.u.kernel = (CUDA_KERNEL_NODE_PARAMS){
        sim_func(&s, "affine"), 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL
    };
    return p;
}

/* What the calls need: a graph with a kernel and a child graph that holds an
 * object, instantiated; a stream; memory. */
static void prepare(fgs_allocator *a)
{
    fgs_sim_config cfg = sim_config();
    CUgraphNodeParams p;

    cfg.allocator = a;
    s = sim_open(&cfg, HEAD AFFINE);
    x = sim_alloc(4096);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&other, 0));
    p = affine();
    OK(cuGraphAddNode(&node, other, NULL, 0, &p));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddNode(&node, graph, NULL, 0, &p));
    OK(cuGraphAddChildGraphNode(&child, graph, &node, 1, other));
    OK(cuUserObjectCreate(&object, NULL, nothing, 2, 1));
    OK(cuGraphRetainUserObject(graph, object, 1, 1));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuCtxSynchronize());
}

static CUstreamBatchMemOpParams item(void)
{
    CUstreamBatchMemOpParams p = {
        .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32
    };

    p.writeValue.address = x;
    return p;
}

#define CALL(name) static CUresult name(void)

CALL(thread_stream)
{
    unsigned long long id;

    return fgs__sim_cuStreamGetId(CU_STREAM_PER_THREAD_, &id);
}

CALL(wait_value)
{
    return fgs__sim_cuStreamWaitValue32(stream, x, 0, 0);
}

CALL(batch)
{
    CUstreamBatchMemOpParams p = item();

    return fgs__sim_cuStreamBatchMemOp_v2(stream, 1, &p, 0);
}

CALL(callback)
{
    return fgs__sim_cuStreamAddCallback(stream, told, NULL, 0);
}

CALL(old_parameter)
{
    return fgs__sim_cuParamSeti(sim_func(&s, "affine"), 8, 1);
}

CALL(capture_to_graph)
{
    return fgs__sim_cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1,
                                                2);
}

CALL(user_object)
{
    CUuserObject o;

    return fgs__sim_cuUserObjectCreate(&o, NULL, nothing, 1, 1);
}

CALL(retain_object)
{
    return fgs__sim_cuGraphRetainUserObject(other, object, 1, 0);
}

CALL(add_kernel_node)
{
    CUgraphNodeParams p = affine();
    CUgraphNode n;

    return fgs__sim_cuGraphAddNode(&n, graph, &node, 1, &p);
}

CALL(add_node_with_edge_data)
{
    CUgraphEdgeData data = { .from_port = 1, .type = 1 };
    CUgraphNodeParams p = affine();
    CUgraphNode n;

    return fgs__sim_cuGraphAddNode_v2(&n, graph, &node, &data, 1, &p);
}

CALL(add_batch_node)
{
    CUstreamBatchMemOpParams p = item();
    CUDA_BATCH_MEM_OP_NODE_PARAMS v = { s.ctx, 1, &p, 0 };
    CUgraphNode n;

    return fgs__sim_cuGraphAddBatchMemOpNode(&n, graph, &node, 1, &v);
}

CALL(add_child)
{
    CUgraphNode n;

    return fgs__sim_cuGraphAddChildGraphNode(&n, graph, NULL, 0, other);
}

CALL(set_kernel)
{
    CUgraphNodeParams p = affine();

    return fgs__sim_cuGraphExecNodeSetParams(exec, node, &p);
}

CALL(set_child)
{
    return fgs__sim_cuGraphExecChildGraphNodeSetParams(exec, child, other);
}

CALL(clone_graph)
{
    CUgraph g;

    return fgs__sim_cuGraphClone(&g, graph);
}

CALL(instantiate)
{
    CUgraphExec e;

    return fgs__sim_cuGraphInstantiateWithFlags(&e, graph, 0);
}

CALL(update)
{
    CUgraphExecUpdateResultInfo info;

    return fgs__sim_cuGraphExecUpdate_v2(exec, graph, &info);
}

CALL(launch)
{
    return fgs__sim_cuGraphLaunch(exec, stream);
}

CALL(alloc_async)
{
    CUdeviceptr p;

    return fgs__sim_cuMemAllocAsync(&p, 64, stream);
}

CALL(reserve)
{
    CUdeviceptr p;

    return fgs__sim_cuMemAddressReserve(&p, 2 << 20, 0, 0, 0);
}

CALL(create_array)
{
    CUDA_ARRAY_DESCRIPTOR d = { 16, 16, CU_AD_FORMAT_FLOAT, 1 };
    CUarray a;

    return fgs__sim_cuArrayCreate(&a, &d);
}

/* What it answers in a context with a fault: the fault, or as ever (graphs
 * and their objects have no work for the device), or it looks a function up
 * in the test, which is told already. */
enum { TOLD, CALM, OTHER };

static const struct {
    const char *name;
    CUresult (*call)(void);
    int after_fault;
} calls[] = {
#define ROW(name)         { #name, name, TOLD }
#define KIND(name, after) { #name, name, after }
    ROW(thread_stream), ROW(wait_value), ROW(batch), ROW(callback),
    KIND(old_parameter, OTHER), ROW(capture_to_graph),
    KIND(user_object, CALM), KIND(retain_object, CALM),
    KIND(add_kernel_node, OTHER), KIND(add_node_with_edge_data, OTHER),
    KIND(add_batch_node, CALM), KIND(add_child, CALM),
    KIND(set_kernel, OTHER), KIND(set_child, CALM), KIND(clone_graph, CALM),
    ROW(instantiate), ROW(update), ROW(launch), ROW(alloc_async),
    KIND(reserve, CALM), ROW(create_array),
};

/* One run with the n-th allocation failing; did one fail? */
static bool failed_at(size_t which, long n)
{
    struct counting c = { 0, 0, 0 };
    fgs_allocator a = counting_allocator(&c);
    CUresult r;

    prepare(&a);
    c.at = atomic_load(&c.calls) + n;
    r = calls[which].call();
    c.at = 0;
    if (r && r != CUDA_ERROR_OUT_OF_MEMORY)
        print_error("%s: %d at %ld\n", calls[which].name, (int)r, n);
    assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_OUT_OF_MEMORY);
    if (r)
        assert_int_equal(calls[which].call(), CUDA_SUCCESS);
    OK(cuCtxDestroy(s.ctx));
    if (atomic_load(&c.live))
        print_error("%s: %ld blocks are left, failing at %ld\n",
                    calls[which].name, (long)atomic_load(&c.live), n);
    assert_int_equal(atomic_load(&c.live), 0);
    return r != CUDA_SUCCESS;
}

static void failed_allocation_leaves_no_trace(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        long n = 1;

        while (failed_at(i, n))
            n++;
        assert_true(n < 200);
    }
}

/* Which call says so and which does as ever is what an H200 answers. */
static void calls_with_work_are_told_of_a_fault(void **state)
{
    struct counting c = { 0, 0, 0 };
    fgs_allocator a = counting_allocator(&c);
    CUdeviceptr wild = 16;
    uint32_t one = 1;
    void *params[] = { &wild, &one, &one };

    (void)state;
    prepare(&a);
    OK(cuParamSeti(sim_func(&s, "affine"), 8, 1));
    assert_int_equal(sim_launch(sim_func(&s, "affine"), 1, 1, NULL, 0,
                                params), 0);
    CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    for (size_t i = 0; i < COUNT(calls); i++) {
        CUresult want = calls[i].after_fault == TOLD
            ? CUDA_ERROR_ILLEGAL_ADDRESS
            : CUDA_SUCCESS;
        CUresult r;

        if (calls[i].after_fault == OTHER)
            continue;
        r = calls[i].call();
        if (r != want)
            print_error("%s: %d\n", calls[i].name, (int)r);
        assert_int_equal(r, want);
    }
    OK(cuCtxDestroy(s.ctx));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_allocation_leaves_no_trace),
        cmocka_unit_test(calls_with_work_are_told_of_a_fault),
    };

    return cmocka_run_group_tests_name("sim_nomem", tests, NULL, NULL);
}
