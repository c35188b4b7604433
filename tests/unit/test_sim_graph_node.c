/* test_sim_graph_node.c -- nodes by the general calls, attributes, owners */
#include "sim_calls.h"
#include <unistd.h>

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

static uint32_t word(void)
{
    uint32_t v = 0;

    OK(cuMemcpyDtoH(&v, x, 4));
    return v;
}

/* word = word * mul + add, by cuGraphAddNode. */
static CUgraphNodeParams affine(uint32_t mul, uint32_t add)
{
    static uint32_t m, a;
    static void *params[3];
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

    m = mul;
    a = add;
    params[0] = &x;
    params[1] = &m;
    params[2] = &a;
    p.u.kernel = (CUDA_KERNEL_NODE_PARAMS){
        sim_func(&s, "affine"), 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL
    };
    return p;
}

static CUgraphNode kernel(CUgraph g, const CUgraphNode *dep, uint32_t mul,
                          uint32_t add)
{
    CUgraphNodeParams p = affine(mul, add);
    CUgraphNode n = NULL;

    OK(cuGraphAddNode(&n, g, dep, dep ? 1 : 0, &p));
    return n;
}

static CUgraphExec instantiate(CUgraph g)
{
    CUgraphExec exec = NULL;

    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    return exec;
}

static void run(CUgraphExec exec)
{
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
}

static void general_call_adds_every_type(void **state)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMSET }, got;
    CUstreamBatchMemOpParams item = {
        .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32
    };
    CUgraph g, child;
    CUgraphNode n[6];
    CUevent e;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphCreate(&child, 0));
    kernel(child, NULL, 2, 0);
    OK(cuEventCreate(&e, 0));
    p.u.memset = (CUDA_MEMSET_NODE_PARAMS){ x, 0, 10, 4, 1, 1 };
    OK(cuGraphAddNode(&n[0], g, NULL, 0, &p));
    p = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH };
    p.u.graph.graph = child;
    p.u.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    OK(cuGraphAddNode(&n[1], g, &n[0], 1, &p));
    CU(cuGraphDestroy(child), ERROR_INVALID_VALUE); /* the node's now */
    n[2] = kernel(g, &n[1], 2, 1);
    p = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    item.writeValue.address = x + 4;
    item.writeValue.value64 = 5;
    p.u.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ s.ctx, 1, &item, 0 };
    OK(cuGraphAddNode(&n[3], g, &n[2], 1, &p));
    p = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };
    p.u.event.event = e;
    OK(cuGraphAddNode(&n[4], g, &n[3], 1, &p));
    p = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY };
    OK(cuGraphAddNode(&n[5], g, &n[4], 1, &p));
    run(instantiate(g));
    assert_int_equal(word(), 41);
    OK(cuEventQuery(e));
    OK(cuGraphNodeGetParams(n[0], &got));
    assert_int_equal(got.u.memset.value, 10);
    OK(cuGraphNodeGetParams(n[3], &got));
    assert_int_equal(got.u.memOp.paramArray[0].writeValue.value64, 5);
    OK(cuGraphNodeGetParams(n[4], &got));
    assert_ptr_equal(got.u.event.event, e);
    p.type = 8; /* signals to semaphores of other interfaces */
    CU(cuGraphAddNode(&n[5], g, NULL, 0, &p), ERROR_NOT_SUPPORTED);
    p.type = 99;
    CU(cuGraphAddNode(&n[5], g, NULL, 0, &p), ERROR_INVALID_VALUE);
}

static void edge_data_is_checked_when_a_node_is_added(void **state)
{
    CUgraphEdgeData data = { .from_port = 1, .type = 1 };
    CUgraphNodeParams p = affine(1, 1);
    CUgraphNode first, n;
    size_t count = 0;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    first = kernel(g, NULL, 1, 1);
    OK(cuGraphAddNode_v2(&n, g, &first, &data, 1, &p));
    data.from_port = 9;
    CU(cuGraphAddNode_v2(&n, g, &first, &data, 1, &p), ERROR_INVALID_VALUE);
    OK(cuGraphGetNodes(g, NULL, &count));
    assert_int_equal(count, 2);
}

static void general_call_sets_parameters(void **state)
{
    CUgraphNodeParams p;
    CUgraphExec exec;
    CUgraphNode n;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    n = kernel(g, NULL, 0, 1);
    exec = instantiate(g);
    p = affine(0, 7); /* the parameters are static there */
    OK(cuGraphExecNodeSetParams(exec, n, &p));
    run(exec);
    assert_int_equal(word(), 7);
    run(instantiate(g)); /* the graph itself is as it was */
    assert_int_equal(word(), 1);
    p = affine(0, 9);
    OK(cuGraphNodeSetParams(n, &p));
    run(instantiate(g));
    assert_int_equal(word(), 9);
    p.type = CU_GRAPH_NODE_TYPE_MEMSET;
    CU(cuGraphNodeSetParams(n, &p), ERROR_INVALID_VALUE);
}

static void kernel_node_has_attributes(void **state)
{
    CUkernelNodeAttrValue v = { .priority = -9 };
    CUgraphNode a, b;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    a = kernel(g, NULL, 1, 1);
    b = kernel(g, &a, 1, 1);
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    OK(cuGraphKernelNodeCopyAttributes(b, a));
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    assert_int_equal(v.priority, -5); /* clamped */
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    assert_int_equal(v.cooperative, 0);
    v.memSyncDomain = 2;
    CU(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                                     &v), ERROR_INVALID_VALUE);
    CU(cuGraphKernelNodeGetAttribute(a, 99, &v), ERROR_INVALID_VALUE);
}

static void disabled_node_does_nothing(void **state)
{
    CUgraphExec exec;
    CUgraphNode n[3];
    unsigned int on;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    n[0] = kernel(g, NULL, 0, 1);
    n[1] = kernel(g, &n[0], 10, 0);
    n[2] = kernel(g, &n[1], 1, 3);
    exec = instantiate(g);
    OK(cuGraphNodeSetEnabled(exec, n[1], 0));
    OK(cuGraphNodeGetEnabled(exec, n[1], &on));
    assert_int_equal(on, 0);
    run(exec);
    assert_int_equal(word(), 4);
    OK(cuGraphNodeSetEnabled(exec, n[1], 1));
    run(exec);
    assert_int_equal(word(), 13);
}

static void clone_and_child_graph_have_nodes_of_their_own(void **state)
{
    CUgraph g, clone, child, other, inner, of;
    CUgraphNode n, found, child_node, in;
    unsigned int a, b, id;
    CUgraphExec exec;
    size_t count = 1;

    (void)state;
    OK(cuGraphCreate(&child, 0));
    kernel(child, NULL, 0, 20);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddChildGraphNode(&child_node, g, NULL, 0, child));
    n = kernel(g, &child_node, 2, 0);
    OK(cuGraphClone(&clone, g));
    OK(cuGraphNodeFindInClone(&found, n, clone));
    assert_ptr_not_equal(found, n);
    OK(cuGraphNodeGetContainingGraph(found, &of));
    assert_ptr_equal(of, clone);
    CU(cuGraphNodeFindInClone(&found, n, g), ERROR_INVALID_VALUE);
    OK(cuGraphGetId(g, &a));
    OK(cuGraphGetId(clone, &b));
    assert_int_not_equal(a, b);
    OK(cuGraphNodeGetLocalId(n, &id));
    assert_int_equal(id, 1);
    /* Another child of the same shape, and a node inside the child. */
    exec = instantiate(g);
    OK(cuGraphCreate(&other, 0));
    kernel(other, NULL, 0, 30);
    OK(cuGraphExecChildGraphNodeSetParams(exec, child_node, other));
    run(exec);
    assert_int_equal(word(), 60);
    OK(cuGraphChildGraphNodeGetGraph(child_node, &inner));
    OK(cuGraphGetNodes(inner, &in, &count));
    OK(cuGraphExecNodeSetParams(exec, in,
                                &(CUgraphNodeParams[]){ affine(0, 4) }[0]));
    run(exec);
    assert_int_equal(word(), 8);
    kernel(other, NULL, 0, 1);
    CU(cuGraphExecChildGraphNodeSetParams(exec, child_node, other),
       ERROR_INVALID_VALUE);
}

static void event_of_a_node_is_changed(void **state)
{
    CUevent e[2], got;
    CUgraphExec exec;
    CUgraphNode n;
    CUgraph g;

    (void)state;
    OK(cuEventCreate(&e[0], 0));
    OK(cuEventCreate(&e[1], 0));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddEventRecordNode(&n, g, NULL, 0, e[0]));
    exec = instantiate(g);
    OK(cuGraphExecEventRecordNodeSetEvent(exec, n, e[1]));
    OK(cuGraphEventRecordNodeGetEvent(n, &got));
    assert_ptr_equal(got, e[0]);
    run(exec);
    OK(cuEventRecord(e[0], NULL));
    OK(cuCtxSynchronize());
    {
        float ms = -1; /* the graph recorded the second one, earlier */

        OK(cuEventElapsedTime(&ms, e[1], e[0]));
        assert_true(ms >= 0);
    }
    CU(cuGraphEventWaitNodeSetEvent(n, e[1]), ERROR_INVALID_VALUE);
    CU(cuGraphEventRecordNodeSetEvent(n, (CUevent)5), ERROR_INVALID_HANDLE);
}

/* ---------------------------------------------------------- user objects -- */

static void destroyed(void *data)
{
    CUcontext ctx;

    /* As in a host function the driver may not be called. */
    if (fgs__sim_cuCtxGetCurrent(&ctx) == CUDA_ERROR_NOT_PERMITTED)
        atomic_fetch_add((atomic_int *)data, 1);
}

/* The destructor runs on a thread of the device; a host function behind it in
 * the same thread's queue has run when the stream is empty. */
static void nothing(void *data)
{
    (void)data;
}

static int settled(atomic_int *calls)
{
    OK(cuLaunchHostFunc(NULL, nothing, NULL));
    OK(cuCtxSynchronize());
    return atomic_load(calls);
}

static CUuserObject object(atomic_int *calls, unsigned int refs)
{
    CUuserObject o = NULL;

    OK(cuUserObjectCreate(&o, calls, destroyed, refs,
                          CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return o;
}

static void object_goes_with_its_last_owner(void **state)
{
    atomic_int calls = 0;
    CUuserObject o = object(&calls, 1);
    CUgraph g, clone;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CU(cuUserObjectRelease(o, 1), ERROR_INVALID_VALUE); /* the graph's */
    OK(cuGraphClone(&clone, g));
    OK(cuGraphDestroy(g));
    assert_int_equal(settled(&calls), 0);
    OK(cuGraphDestroy(clone));
    assert_int_equal(settled(&calls), 1);
    CU(cuUserObjectRetain(o, 1), ERROR_INVALID_VALUE);
}

static void launch_holds_what_its_graph_held(void **state)
{
    atomic_int calls = 0;
    CUuserObject o = object(&calls, 2);
    CUgraphExec exec;
    CUgraph g;
    void *p;
    CUstream t;

    (void)state;
    OK(cuMemHostAlloc(&p, 64, 0));
    memset(p, 0, 64);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&g, 0));
    kernel(g, NULL, 1, 1);
    OK(cuGraphRetainUserObject(g, o, 1, 0));
    OK(cuUserObjectRelease(o, 2));
    exec = instantiate(g);
    OK(cuStreamWaitValue32(t, (uintptr_t)p, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuGraphLaunch(exec, t));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
    OK(cuLaunchHostFunc(NULL, nothing, NULL));
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(atomic_load(&calls), 0); /* the launch waits */
    atomic_store((_Atomic uint32_t *)p, 1);
    OK(cuStreamSynchronize(t));
    assert_int_equal(settled(&calls), 1);
}

static void references_are_counted(void **state)
{
    atomic_int calls = 0;
    CUuserObject o = object(&calls, 1);
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    OK(cuUserObjectRetain(o, 2));
    CU(cuUserObjectRelease(o, 4), ERROR_INVALID_VALUE);
    OK(cuGraphRetainUserObject(g, o, 3, 0));
    CU(cuGraphReleaseUserObject(g, o, 4), ERROR_INVALID_VALUE);
    OK(cuUserObjectRelease(o, 3));
    OK(cuGraphReleaseUserObject(g, o, 2));
    assert_int_equal(settled(&calls), 0);
    OK(cuGraphReleaseUserObject(g, o, 1));
    assert_int_equal(settled(&calls), 1);
    CU(cuUserObjectCreate(&o, NULL, destroyed, 1, 0), ERROR_INVALID_VALUE);
    CU(cuUserObjectCreate(&o, NULL, NULL, 1, 1), ERROR_INVALID_VALUE);
}

/* -------------------------------------------------------------- drawing -- */

static void graph_is_drawn(void **state)
{
    char path[] = "/tmp/fgs_dot_XXXXXX", text[1024] = "";
    int fd = mkstemp(path);
    CUgraphNode n;
    CUgraph g;

    (void)state;
    assert_true(fd >= 0);
    OK(cuGraphCreate(&g, 0));
    n = kernel(g, NULL, 1, 1);
    kernel(g, &n, 1, 1);
    OK(cuGraphDebugDotPrint(g, path, 1));
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    unlink(path);
    assert_non_null(strstr(text, "KERNEL\\naffine\\n(1,1,1) x (1,1,1)"));
    assert_non_null(strstr(text, "n0 -> n1\n"));
    CU(cuGraphDebugDotPrint(g, "/no/such/folder/x", 0),
       ERROR_OPERATING_SYSTEM);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(general_call_adds_every_type),
        T(edge_data_is_checked_when_a_node_is_added),
        T(general_call_sets_parameters),
        T(kernel_node_has_attributes),
        T(disabled_node_does_nothing),
        T(clone_and_child_graph_have_nodes_of_their_own),
        T(event_of_a_node_is_changed),
        T(object_goes_with_its_last_owner),
        T(launch_holds_what_its_graph_held),
        T(references_are_counted),
        T(graph_is_drawn),
    };

    return cmocka_run_group_tests_name("sim_graph_node", tests, NULL, NULL);
}
