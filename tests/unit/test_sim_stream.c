/* test_sim_stream.c -- streams and events: what is ordered, what overlaps */
#include "sim_calls.h"

/* Start and end of a block, from its stamps. */
struct span {
    uint64_t start, end;
};

static void read_spans(struct span *out, CUdeviceptr at, size_t n)
{
    OK(cuMemcpyDtoH(out, at, n * sizeof *out));
}

static void ops_of_a_stream_run_in_order(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD AFFINE);
    CUfunction f = sim_func(&s, "affine");
    CUdeviceptr x = sim_alloc(4 * 256);
    uint32_t h[256];
    CUstream st;

    (void)state;
    OK(cuStreamCreate(&st, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32Async(x, 3, 256, st));
    sim_affine(f, 4, 64, st, 0, x, 5, 1);  /* 16 */
    sim_affine(f, 4, 64, st, 0, x, 10, 2); /* 162 */
    OK(cuMemcpyDtoHAsync(h, x, sizeof h, st));
    OK(cuStreamSynchronize(st));
    for (int i = 0; i < 256; i++)
        assert_int_equal(h[i], 162);
    sim_close(&s);
}

static void independent_streams_overlap(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUfunction f = sim_func(&s, "stamp");
    CUdeviceptr out = sim_alloc(64);
    struct span t[2];
    CUstream a, b;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    sim_stamp(f, 1, 32, a, 0, out, 50000, 0, 0);
    sim_stamp(f, 1, 32, b, 0, out + 16, 50000, 0, 0);
    OK(cuCtxSynchronize());
    read_spans(t, out, 2);
    assert_true(t[0].start < t[1].end && t[1].start < t[0].end);
    sim_close(&s);
}

static void legacy_stream_orders_blocking_streams(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUfunction f = sim_func(&s, "stamp");
    CUdeviceptr out = sim_alloc(64);
    struct span t[4];
    CUstream a, b, free_one;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING));
    sim_stamp(f, 1, 32, a, 0, out, 30000, 0, 0);
    sim_stamp(f, 1, 32, NULL, 0, out + 16, 30000, 0, 0);
    sim_stamp(f, 1, 32, b, 0, out + 32, 30000, 0, 0);
    sim_stamp(f, 1, 32, free_one, 0, out + 48, 30000, 0, 0);
    OK(cuCtxSynchronize());
    read_spans(t, out, 4);
    assert_true(t[1].start >= t[0].end);
    assert_true(t[2].start >= t[1].end);
    assert_true(t[3].start < t[0].end); /* non-blocking: with the first */
    sim_close(&s);
}

static void wait_for_an_event_orders_two_streams(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUfunction f = sim_func(&s, "stamp");
    CUdeviceptr out = sim_alloc(64);
    struct span t[3];
    CUstream a, b;
    CUevent e;

    (void)state;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamWaitEvent(b, e, 0)); /* never recorded: no wait */
    sim_stamp(f, 1, 32, a, 0, out, 30000, 0, 0);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    sim_stamp(f, 1, 32, b, 0, out + 16, 1000, 0, 0);
    /* A later record does not move the wait. */
    sim_stamp(f, 1, 32, a, 0, out + 32, 60000, 0, 0);
    OK(cuEventRecord(e, a));
    OK(cuEventDestroy(e)); /* legal while pending */
    OK(cuCtxSynchronize());
    read_spans(t, out, 3);
    assert_true(t[1].start >= t[0].end);
    assert_true(t[1].end < t[2].end);
    sim_close(&s);
}

/* 2 s of device time: the device jumps over its naps. */
static void event_times_are_device_times(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUdeviceptr out = sim_alloc(16);
    struct span t;
    CUevent a, b;
    float ms = 0;
    double inner;

    (void)state;
    OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&b, CU_EVENT_DEFAULT));
    OK(cuEventRecord(a, NULL));
    sim_stamp(sim_func(&s, "stamp"), 1, 32, NULL, 0, out, 2000000000, 0, 0);
    OK(cuEventRecord(b, NULL));
    OK(cuEventSynchronize(b));
    OK(cuEventElapsedTime(&ms, a, b));
    read_spans(&t, out, 1);
    inner = (double)(t.end - t.start) / 1e6;
    assert_true(inner >= 2000.0 && inner < 2002.0);
    assert_true(ms >= inner && ms < inner + 0.01); /* the launch */
    sim_close(&s);
}

static void elapsed_time_needs_recorded_timing_events(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUevent a, b, quiet;
    float ms;

    (void)state;
    OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&b, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
    CU(cuEventElapsedTime(&ms, a, b), ERROR_INVALID_HANDLE);
    OK(cuEventQuery(a)); /* never recorded counts as complete */
    OK(cuEventSynchronize(a));
    OK(cuEventRecord(a, NULL));
    OK(cuEventRecord(quiet, NULL));
    OK(cuCtxSynchronize());
    CU(cuEventElapsedTime(&ms, a, quiet), ERROR_INVALID_HANDLE);
    OK(cuEventElapsedTime(&ms, a, a));
    assert_true(ms == 0.0f);
    CU(cuEventElapsedTime(NULL, a, a), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void query_ends_without_any_wait(void **state)
{
    fgs_sim_config cfg = sim_config();
    CUdeviceptr out;
    struct sim s;
    CUevent e;

    (void)state;
    for (cfg.threads = 0; cfg.threads < 2; cfg.threads++) {
        CUresult r;

        s = sim_open(&cfg, HEAD STAMP);
        out = sim_alloc(16);
        OK(cuEventCreate(&e, CU_EVENT_DEFAULT));
        sim_stamp(sim_func(&s, "stamp"), 1, 32, NULL, 0, out, 100000, 0, 0);
        OK(cuEventRecord(e, NULL));
        CU(cuStreamQuery(NULL), ERROR_NOT_READY);
        while ((r = fgs__sim_cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
            ;
        assert_int_equal(r, CUDA_SUCCESS);
        while ((r = fgs__sim_cuStreamQuery(NULL)) == CUDA_ERROR_NOT_READY)
            ;
        assert_int_equal(r, CUDA_SUCCESS);
        sim_close(&s);
    }
}

static void device_starts_for_a_host_that_only_looks(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD POKE);
    uint32_t *h = NULL;
    void *params[] = { &h };

    (void)state;
    OK(cuMemHostAlloc((void **)&h, 4, 0));
    *h = 1;
    assert_int_equal(sim_launch(sim_func(&s, "poke"), 1, 1, NULL, 0, params),
                     0);
    while (__atomic_load_n(h, __ATOMIC_RELAXED) != 7)
        ;
    sim_close(&s);
}

static void stream_may_be_destroyed_with_work_in_it(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD AFFINE STAMP);
    CUdeviceptr x = sim_alloc(4), out = sim_alloc(16);
    uint32_t v = 0;
    CUstream st;

    (void)state;
    OK(cuStreamCreate(&st, CU_STREAM_DEFAULT));
    sim_stamp(sim_func(&s, "stamp"), 1, 32, st, 0, out, 50000, 0, 0);
    OK(cuMemsetD32Async(x, 4, 1, st));
    sim_affine(sim_func(&s, "affine"), 1, 1, st, 0, x, 10, 2);
    OK(cuStreamDestroy(st));
    CU(cuStreamSynchronize(st), ERROR_INVALID_HANDLE);
    OK(cuMemcpyDtoH(&v, x, 4)); /* legacy: after the blocking stream */
    assert_int_equal(v, 42);
    sim_close(&s);
}

struct note {
    CUresult inner;
    uint32_t seen;
    const uint32_t *from;
};

static void take_note(void *data)
{
    struct note *n = data;
    int dev;

    n->inner = fgs__sim_cuCtxGetDevice(&dev);
    n->seen = *n->from;
}

static void host_function_runs_in_order_and_may_not_call(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD AFFINE);
    CUfunction f = sim_func(&s, "affine");
    struct note n = { CUDA_SUCCESS, 0, NULL };
    uint32_t *h = NULL;
    CUdeviceptr x;
    CUstream st;

    (void)state;
    OK(cuMemHostAlloc((void **)&h, 4, 0));
    *h = 1;
    x = (CUdeviceptr)(uintptr_t)h;
    n.from = h;
    OK(cuStreamCreate(&st, CU_STREAM_NON_BLOCKING));
    sim_affine(f, 1, 1, st, 0, x, 2, 1); /* 3 */
    OK(cuLaunchHostFunc(st, take_note, &n));
    sim_affine(f, 1, 1, st, 0, x, 2, 1); /* 7 */
    OK(cuStreamSynchronize(st));
    assert_int_equal(n.seen, 3);
    assert_int_equal(*h, 7);
    assert_int_equal(n.inner, CUDA_ERROR_NOT_PERMITTED);
    CU(cuLaunchHostFunc(st, NULL, NULL), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void nothing_is_ever_captured(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUstreamCaptureStatus status = 9;
    CUcontext ctx = NULL;

    (void)state;
    OK(cuStreamIsCapturing(NULL, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamGetCtx(NULL, &ctx));
    assert_ptr_equal(ctx, s.ctx);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD_));
    OK(cuStreamSynchronize(CU_STREAM_LEGACY_));
    sim_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_of_a_stream_run_in_order),
        cmocka_unit_test(independent_streams_overlap),
        cmocka_unit_test(legacy_stream_orders_blocking_streams),
        cmocka_unit_test(wait_for_an_event_orders_two_streams),
        cmocka_unit_test(event_times_are_device_times),
        cmocka_unit_test(elapsed_time_needs_recorded_timing_events),
        cmocka_unit_test(query_ends_without_any_wait),
        cmocka_unit_test(device_starts_for_a_host_that_only_looks),
        cmocka_unit_test(stream_may_be_destroyed_with_work_in_it),
        cmocka_unit_test(host_function_runs_in_order_and_may_not_call),
        cmocka_unit_test(nothing_is_ever_captured),
    };

    return cmocka_run_group_tests_name("sim_stream", tests, NULL, NULL);
}
