/* test_sim_order.c -- per-thread streams, values in stream order, callbacks */
#include "sim_calls.h"
#include <fgs/fgs_sim.h>
#include <pthread.h>

static struct sim s;
static CUdeviceptr x;
static uint32_t *host; /* pinned: the same address on both sides */

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();
    void *p;

    (void)state;
    s = sim_open(&cfg, HEAD AFFINE STAMP POKE);
    x = sim_alloc(4096);
    OK(cuMemsetD8(x, 0, 4096));
    OK(cuMemHostAlloc(&p, 64, 0));
    host = p;
    memset(host, 0, 64);
    OK(cuCtxSynchronize());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static uint32_t word(CUstream stream)
{
    uint32_t v = 0;

    OK(cuMemcpyDtoHAsync(&v, x, 4, stream));
    return v;
}

/* ------------------------------------------------------------ per thread -- */

struct seen {
    unsigned long long id, again;
    CUresult r;
};

static void *ask_ids(void *arg)
{
    struct seen *t = arg;
    CUresult (*of_null)(CUstream, unsigned long long *);

    memcpy(&of_null, &(void *){ fgs_sim_get_proc("cuStreamGetId_ptsz") },
           sizeof of_null);
    t->r = fgs__sim_cuCtxSetCurrent(s.ctx);
    if (!t->r)
        t->r = fgs__sim_cuStreamGetId(CU_STREAM_PER_THREAD_, &t->id);
    if (!t->r)
        t->r = of_null(NULL, &t->again);
    return NULL;
}

static void each_thread_has_a_stream_of_its_own(void **state)
{
    unsigned long long legacy, mine;
    struct seen other = { 0, 0, CUDA_SUCCESS };
    pthread_t t;

    (void)state;
    OK(cuStreamGetId(NULL, &legacy));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD_, &mine));
    assert_int_equal(pthread_create(&t, NULL, ask_ids, &other), 0);
    pthread_join(t, NULL);
    assert_int_equal(other.r, CUDA_SUCCESS);
    assert_int_equal(other.id, other.again);
    assert_true(mine != legacy);
    assert_true(other.id != mine && other.id != legacy);
    CU(cuStreamDestroy(CU_STREAM_PER_THREAD_), ERROR_INVALID_VALUE);
}

static void stream_of_a_thread_waits_for_the_legacy_one(void **state)
{
    (void)state;
    sim_affine(sim_func(&s, "affine"), 1, 1, NULL, 0, x, 1, 5);
    sim_affine(sim_func(&s, "affine"), 1, 1, CU_STREAM_PER_THREAD_, 0, x, 3,
               0);
    sim_affine(sim_func(&s, "affine"), 1, 1, NULL, 0, x, 1, 1);
    assert_int_equal(word(CU_STREAM_PER_THREAD_), 16);
}

static void two_threads_streams_do_not_wait_for_each_other(void **state)
{
    CUstream mine = CU_STREAM_PER_THREAD_;
    struct seen other = { 0, 0, CUDA_SUCCESS };
    pthread_t t;

    (void)state;
    /* Mine waits for ever; the other thread's is not held up. */
    OK(cuStreamWaitValue32(mine, (uintptr_t)host, 1, CU_STREAM_WAIT_VALUE_EQ));
    assert_int_equal(pthread_create(&t, NULL, ask_ids, &other), 0);
    pthread_join(t, NULL);
    assert_int_equal(other.r, CUDA_SUCCESS);
    CU(cuStreamQuery(mine), ERROR_NOT_READY);
    atomic_store((_Atomic uint32_t *)host, 1);
    OK(cuStreamSynchronize(mine));
}

/* A wait in its stream must not keep the thread's end from being seen. */
static void *leave_work(void *arg)
{
    CUresult *r = arg;

    *r = fgs__sim_cuCtxSetCurrent(s.ctx);
    if (!*r)
        *r = fgs__sim_cuStreamWaitValue32(CU_STREAM_PER_THREAD_,
                                          (uintptr_t)host, 1, 1);
    if (!*r)
        *r = fgs__sim_cuStreamWriteValue32(CU_STREAM_PER_THREAD_, x, 77, 0);
    return NULL;
}

static void work_of_a_thread_outlives_it(void **state)
{
    CUresult r;
    pthread_t t;

    (void)state;
    assert_int_equal(pthread_create(&t, NULL, leave_work, &r), 0);
    pthread_join(t, NULL);
    assert_int_equal(r, CUDA_SUCCESS);
    atomic_store((_Atomic uint32_t *)host, 1);
    OK(cuCtxSynchronize());
    assert_int_equal(word(NULL), 77);
}

static void per_thread_flag_gives_the_per_thread_form(void **state)
{
    void *plain, *thread, *symbol = fgs_sim_get_proc("cuStreamQuery_ptsz");

    (void)state;
    OK(cuGetProcAddress("cuStreamQuery", &plain, 12000, 1, NULL));
    OK(cuGetProcAddress("cuStreamQuery", &thread, 12000, 2, NULL));
    assert_ptr_equal(thread, symbol);
    assert_ptr_not_equal(plain, symbol);
}

/* ---------------------------------------------------------------- values -- */

struct wait_case {
    unsigned int how;
    uint32_t want, no, yes;
};

static void waits_end_when_their_condition_holds(void **state)
{
    static const struct wait_case c[] = {
        { CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6 },
        { CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0, 0xffffffef, 3 }, /* cyclic */
        { CU_STREAM_WAIT_VALUE_EQ, 9, 10, 9 },
        { CU_STREAM_WAIT_VALUE_AND, 6, 9, 2 },
        { CU_STREAM_WAIT_VALUE_NOR, 0xffff0000, 0xffff, 0xfffe },
    };
    _Atomic uint32_t *word32 = (_Atomic uint32_t *)host;
    CUstream t;

    (void)state;
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; i < COUNT(c); i++) {
        atomic_store(word32, c[i].no);
        OK(cuStreamWaitValue32_v2(t, (uintptr_t)host, c[i].want, c[i].how));
        CU(cuStreamQuery(t), ERROR_NOT_READY);
        atomic_store(word32, c[i].yes);
        OK(cuStreamSynchronize(t));
    }
    memset(host, 0, 64);
    for (size_t i = 0; i < COUNT(c); i++) {
        _Atomic uint64_t *word64 = (_Atomic uint64_t *)(void *)host;
        uint64_t high = i == 4 ? 0xffffffffull << 32 : 0;

        if (i == 1) /* the wrap of 64 bits is elsewhere */
            continue;
        atomic_store(word64, c[i].no | high);
        OK(cuStreamWaitValue64_v2(t, (uintptr_t)host, c[i].want | high,
                                  c[i].how));
        CU(cuStreamQuery(t), ERROR_NOT_READY);
        atomic_store(word64, c[i].yes | high);
        OK(cuStreamSynchronize(t));
    }
}

static void streams_hand_values_to_each_other(void **state)
{
    CUstream a, b;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue32(a, x + 64, 1, CU_STREAM_WAIT_VALUE_GEQ));
    sim_affine(sim_func(&s, "affine"), 1, 1, a, 0, x, 10, 0);
    OK(cuStreamWriteValue64(a, x + 72, 0x100000002, 0));
    sim_affine(sim_func(&s, "affine"), 1, 1, b, 0, x, 1, 4);
    OK(cuStreamWriteValue32(b, x + 64, 1, 0));
    OK(cuStreamWaitValue64(b, x + 72, 0x100000002, CU_STREAM_WAIT_VALUE_EQ));
    sim_affine(sim_func(&s, "affine"), 1, 1, b, 0, x, 1, 2);
    assert_int_equal(word(b), 42);
}

static void batch_takes_effect_in_order(void **state)
{
    CUstreamBatchMemOpParams p[5];
    uint64_t out[2] = { 0, 0 };

    (void)state;
    memset(p, 0, sizeof p);
    p[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    p[0].writeValue.address = x;
    p[0].writeValue.value64 = 40;
    p[1].operation = CU_STREAM_MEM_OP_BARRIER;
    p[2].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    p[2].waitValue.address = x;
    p[2].waitValue.value64 = 40;
    p[2].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    p[3].operation = CU_STREAM_MEM_OP_ATOMIC_REDUCTION;
    p[3].atomicReduction.reductionOp = CU_STREAM_ATOMIC_REDUCTION_OP_ADD;
    p[3].atomicReduction.dataType = CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32;
    p[3].atomicReduction.address = x;
    p[3].atomicReduction.value = 2;
    p[4] = p[3];
    p[4].atomicReduction.reductionOp = CU_STREAM_ATOMIC_REDUCTION_OP_OR;
    p[4].atomicReduction.dataType = CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64;
    p[4].atomicReduction.address = x + 8;
    p[4].atomicReduction.value = 1ull << 40;
    OK(cuStreamBatchMemOp_v2(NULL, 5, p, 0));
    OK(cuMemcpyDtoH(out, x, 16));
    assert_int_equal(out[0], 42);
    assert_true(out[1] == 1ull << 40);
    /* The first version has no barriers. */
    CU(cuStreamBatchMemOp(NULL, 5, p, 0), ERROR_NOT_SUPPORTED);
}

static void wrong_values_are_refused(void **state)
{
    CUstreamBatchMemOpParams p = { .operation = 7 };

    (void)state;
    CU(cuStreamWaitValue32(NULL, x + 2, 0, 0), ERROR_INVALID_VALUE);
    CU(cuStreamWaitValue64(NULL, x + 4, 0, 0), ERROR_INVALID_VALUE);
    CU(cuStreamWaitValue32(NULL, 64, 0, 0), ERROR_INVALID_VALUE);
    CU(cuStreamWaitValue32(NULL, x, 0, 4), ERROR_INVALID_VALUE);
    CU(cuStreamWaitValue32(NULL, x, 0, CU_STREAM_WAIT_VALUE_FLUSH),
       ERROR_NOT_SUPPORTED);
    CU(cuStreamWriteValue32(NULL, x, 0, 2), ERROR_INVALID_VALUE);
    CU(cuStreamWriteValue32((CUstream)77, x, 0, 0), ERROR_INVALID_HANDLE);
    CU(cuStreamBatchMemOp(NULL, 1, &p, 0), ERROR_INVALID_VALUE);
    CU(cuStreamBatchMemOp(NULL, 0, &p, 0), ERROR_INVALID_VALUE);
    CU(cuStreamBatchMemOp(NULL, 1, NULL, 0), ERROR_INVALID_VALUE);
}

static void memory_that_goes_faults_the_wait(void **state)
{
    CUdeviceptr y = sim_alloc(64);
    CUstream other;

    (void)state;
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD8(y, 0, 64));
    OK(cuStreamSynchronize(NULL));
    OK(cuStreamWaitValue32(NULL, y, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemFreeAsync(y, other));
    CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    assert_string_equal(fgs_sim_last_fault(),
                        "the memory of a value that a stream waits for or "
                        "writes was freed before");
    CU(cuStreamWriteValue32(NULL, x, 1, 0), ERROR_ILLEGAL_ADDRESS);
}

static void captured_batch_is_a_node(void **state)
{
    CUgraphNodeType type;
    CUgraphNode node;
    CUgraphExec exec;
    size_t count = 1;
    CUstream t;
    CUgraph g;

    (void)state;
    OK(cuStreamCreate(&t, 0));
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamWriteValue32(t, x, 31, 0));
    OK(cuStreamEndCapture(t, &g));
    OK(cuGraphGetNodes(g, &node, &count));
    OK(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphDestroy(g));
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(word(NULL), 31);
}

/* ------------------------------------------------------------- callbacks -- */

struct told {
    atomic_int calls;
    CUstream stream;
    CUresult status;
};

static void tell(CUstream stream, CUresult status, void *data)
{
    struct told *t = data;

    t->stream = stream;
    t->status = status;
    atomic_fetch_add(&t->calls, 1);
}

static void callback_runs_in_its_turn(void **state)
{
    struct told t = { 0, NULL, CUDA_ERROR_UNKNOWN };
    CUstream stream;

    (void)state;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamWaitValue32(stream, (uintptr_t)host, 1, 1));
    OK(cuStreamAddCallback(stream, tell, &t, 0));
    CU(cuStreamQuery(stream), ERROR_NOT_READY);
    assert_int_equal(atomic_load(&t.calls), 0);
    atomic_store((_Atomic uint32_t *)host, 1);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.status, CUDA_SUCCESS);
    assert_ptr_equal(t.stream, stream);
    CU(cuStreamAddCallback(stream, tell, &t, 1), ERROR_INVALID_VALUE);
    CU(cuStreamAddCallback(stream, NULL, &t, 0), ERROR_INVALID_VALUE);
}

static void count_call(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

/* A host function of cuLaunchHostFunc is not called after a fault, a callback
 * is, with the error. */
static void callback_is_told_of_a_fault(void **state)
{
    struct told t = { 0, NULL, CUDA_SUCCESS };
    CUdeviceptr wild = 16;
    void *params[] = { &wild };
    atomic_int calls = 0;

    (void)state;
    OK(cuStreamWaitValue32(NULL, (uintptr_t)host, 1, 1));
    OK(cuLaunchKernel(sim_func(&s, "poke"), 1, 1, 1, 1, 1, 1, 0, NULL, params,
                      NULL));
    OK(cuLaunchHostFunc_v2(NULL, count_call, &calls, 0));
    OK(cuStreamAddCallback(NULL, tell, &t, 0));
    atomic_store((_Atomic uint32_t *)host, 1);
    CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy(s.ctx)); /* waits for what still runs */
    assert_int_equal(calls, 0);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.status, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ------------------------------------------------------------ attributes -- */

static void attributes_are_kept_and_copied(void **state)
{
    CUstreamAttrValue v;
    CUstream a, b;
    int priority;

    (void)state;
    OK(cuStreamCreateWithPriority(&a, 0, -99));
    OK(cuStreamCreate(&b, 0));
    OK(cuStreamGetPriority(a, &priority));
    assert_int_equal(priority, -5); /* clamped */
    OK(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                            &v));
    assert_int_equal(v.syncPolicy, CU_SYNC_POLICY_AUTO);
    v.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
    OK(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                            &v));
    OK(cuStreamCopyAttributes(b, a));
    memset(&v, 0, sizeof v);
    OK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                            &v));
    assert_int_equal(v.syncPolicy, CU_SYNC_POLICY_BLOCKING_SYNC);
    OK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    assert_int_equal(v.priority, -5);
    v.syncPolicy = 9;
    CU(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                            &v), ERROR_INVALID_VALUE);
    CU(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v),
       ERROR_INVALID_VALUE);
}

static void managed_memory_is_attached(void **state)
{
    CUdeviceptr m;
    CUstream t;

    (void)state;
    OK(cuStreamCreate(&t, 0));
    OK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuStreamAttachMemAsync(t, m, 0, CU_MEM_ATTACH_SINGLE));
    CU(cuStreamAttachMemAsync(NULL, m, 0, CU_MEM_ATTACH_SINGLE),
       ERROR_INVALID_VALUE);
    CU(cuStreamAttachMemAsync(t, x, 0, CU_MEM_ATTACH_SINGLE),
       ERROR_INVALID_VALUE);
    CU(cuStreamAttachMemAsync(t, m, 0, 3), ERROR_INVALID_VALUE);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(each_thread_has_a_stream_of_its_own),
        T(stream_of_a_thread_waits_for_the_legacy_one),
        T(two_threads_streams_do_not_wait_for_each_other),
        T(work_of_a_thread_outlives_it),
        T(per_thread_flag_gives_the_per_thread_form),
        T(waits_end_when_their_condition_holds),
        T(streams_hand_values_to_each_other),
        T(batch_takes_effect_in_order),
        T(wrong_values_are_refused),
        T(memory_that_goes_faults_the_wait),
        T(captured_batch_is_a_node),
        T(callback_runs_in_its_turn),
        T(callback_is_told_of_a_fault),
        T(attributes_are_kept_and_copied),
        T(managed_memory_is_attached),
    };

    return cmocka_run_group_tests_name("sim_order", tests, NULL, NULL);
}
