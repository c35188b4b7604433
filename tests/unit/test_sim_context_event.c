/* test_sim_context_event.c -- events of whole contexts
 *
 * The errors are those of an H200 (driver 580) for the same calls.
 */
#include "sim_calls.h"

static struct sim s;
static CUdeviceptr x;
static CUstream t;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD AFFINE);
    x = sim_alloc(16);
    OK(cuMemsetD8(x, 0, 16));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t v = 0;

    OK(cuStreamSynchronize(t));
    OK(cuMemcpyDtoH(&v, at, 4));
    return v;
}

static uint32_t *flag;
static CUdeviceptr held;

/* `stream` stands still until go(). */
static void hold(CUstream stream)
{
    OK(cuMemHostAlloc((void **)&flag, 4, 0));
    *flag = 0;
    OK(cuMemHostGetDevicePointer(&held, flag, 0));
    OK(cuStreamWaitValue32(stream, held, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void go(void)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static void record_waits_for_all_streams(void **state)
{
    CUstream u;
    CUevent e;

    (void)state;
    OK(cuStreamCreate(&u, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuMemsetD32Async(x, 1, 1, t));
    hold(u);
    OK(cuCtxRecordEvent(s.ctx, e));
    OK(cuStreamSynchronize(t));
    CU(cuEventQuery(e), ERROR_NOT_READY);
    go();
    OK(cuEventSynchronize(e));
    OK(cuCtxRecordEvent(s.ctx, e)); /* of nothing */
    OK(cuEventSynchronize(e));
    OK(cuEventDestroy(e));
}

static void wait_holds_all_streams_back(void **state)
{
    CUstream u, later;
    CUevent e;

    (void)state;
    OK(cuStreamCreate(&u, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    hold(u);
    OK(cuEventRecord(e, u));
    OK(cuCtxWaitEvent(s.ctx, e));
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32Async(x, 1, 1, t));
    OK(cuMemsetD32Async(x + 4, 1, 1, later));
    OK(cuMemsetD32Async(x + 8, 1, 1, NULL));
    CU(cuStreamQuery(t), ERROR_NOT_READY);
    CU(cuStreamQuery(later), ERROR_NOT_READY);
    CU(cuStreamQuery(NULL), ERROR_NOT_READY);
    go();
    OK(cuCtxSynchronize());
    assert_int_equal(word(x) + word(x + 4) + word(x + 8), 3);
}

static void events_of_contexts_refuse_as_the_driver(void **state)
{
    CUcontext other;
    CUevent e, timed, never;
    CUgraph g;

    (void)state;
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&timed, 0));
    OK(cuEventCreate(&never, CU_EVENT_DISABLE_TIMING));
    OK(cuCtxRecordEvent(s.ctx, timed));
    OK(cuCtxWaitEvent(s.ctx, timed));
    OK(cuCtxWaitEvent(s.ctx, never));
    CU(cuCtxRecordEvent(NULL, e), ERROR_INVALID_CONTEXT);
    CU(cuCtxWaitEvent(NULL, e), ERROR_INVALID_CONTEXT);
    CU(cuCtxRecordEvent(s.ctx, NULL), ERROR_INVALID_HANDLE);
    CU(cuCtxWaitEvent(s.ctx, NULL), ERROR_INVALID_HANDLE);
    OK(cuCtxCreate(&other, 0, 0));
    CU(cuCtxRecordEvent(other, e), ERROR_INVALID_HANDLE);
    OK(cuCtxRecordEvent(s.ctx, e));
    OK(cuCtxWaitEvent(other, e));
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxRecordEvent(s.ctx, e));
    OK(cuCtxSetCurrent(s.ctx));
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuCtxRecordEvent(s.ctx, e), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(t, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuCtxWaitEvent(s.ctx, e), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(t, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
}

static CUresult record_all(void *arg)
{
    return fgs__sim_cuCtxRecordEvent(s.ctx, arg);
}

static CUresult wait_all(void *arg)
{
    return fgs__sim_cuCtxWaitEvent(s.ctx, arg);
}

static void events_without_memory_leave_nothing(void **state)
{
    struct counting c = { 0, 0, 0 };
    fgs_allocator a;
    CUevent e, f;

    (void)state;
    s = sim_counted(&c, &a);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
    hold(t);
    OK(cuEventRecord(e, t));
    sim_fail_each(&c, record_all, f, 3);
    sim_fail_each(&c, wait_all, e, 3);
    go();
    OK(cuCtxSynchronize());
    OK(cuMemFreeHost(flag));
    sim_counted_end(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(record_waits_for_all_streams),
        TEST(wait_holds_all_streams_back),
        TEST(events_of_contexts_refuse_as_the_driver),
        TEST(events_without_memory_leave_nothing),
    };

    return cmocka_run_group_tests_name("sim_context_event", tests, NULL, NULL);
}
