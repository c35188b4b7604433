/* test_run.c -- runs on any provider: results, receipts, faults, bounds
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "rig.h"
#include "table/cu.h"

static void hand_over(fgs_engine engine, uint32_t weak, uint64_t tiles,
                      uint32_t rounds)
{
    struct rig_opts o = { .engine = engine, .weak = weak, .tiles = tiles,
                          .bound_ns = 20000000000ull };
    fgs_receipt receipt;
    uint32_t *in;
    struct rig r;
    fgs_error err;

    rig_need_engine(engine);
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 7);
    RIG_OK(fgs_plan_run(r.plan, NULL, rounds, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    receipt = rig_receipt(&r);
    assert_int_equal(receipt.tiles, tiles);
    assert_int_equal(receipt.rounds, rounds);
    if (engine != FGS_ENGINE_AUTO)
        assert_int_equal(receipt.engine, engine);
    assert_true(receipt.elapsed_ns > 0);
    assert_string_equal(receipt.note, weak ? "" : receipt.note);
    free(in);
    rig_free(&r);
}

static void report_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_REPORT, 0, 64, 1);
}

static void bulk_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_BULK, 0, 64, 1);
}

static void weak_bulk_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_BULK, 1, 64, 1);
}

static void poll_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_POLL, 0, 64, 1);
}

static void auto_takes_an_engine_that_runs(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_AUTO, 0, 64, 1);
}

static void rounds_refill_the_buffer(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_POLL, 0, 16, 5);
}

static void one_tile_is_enough(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_AUTO, 0, 1, 1);
}

static void statistics_grow_with_the_rounds(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_POLL, 0, 1, 300);
}

/* ---------------------------------------------------------- PDL, overlap -- */

static void slow_producer_overlaps_its_consumer(void **state)
{
    struct rig_opts o = { .tiles = 8, .work_ns = 300000 };
    fgs_receipt receipt;
    uint32_t *in;
    struct rig r;
    fgs_error err;

    (void)state;
    rig_need_engine(FGS_ENGINE_BULK); /* needs cc 9.0, as PDL does */
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 3);
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    receipt = rig_receipt(&r);
    assert_int_equal(receipt.pdl, 1);
    assert_non_null(strstr(receipt.pdl_why, "griddepcontrol.wait"));
    assert_int_equal(receipt.overlap, 1);
    assert_true(receipt.reissues > 0);
    assert_int_equal(rig_mismatches(&r, in), 0);
    free(in);
    rig_free(&r);
}

static void plain_order_never_overlaps(void **state)
{
    struct rig_opts o = { .tiles = 8, .work_ns = 300000, .no_pdl = 1 };
    fgs_receipt receipt;
    uint32_t *in;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 3);
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    receipt = rig_receipt(&r);
    assert_int_equal(receipt.pdl, 0);
    assert_string_equal(receipt.pdl_why,
                        "left out: no_pdl asks for plain stream order");
    assert_int_equal(receipt.overlap, 0);
    assert_int_equal(receipt.reissues, 0);
    assert_int_equal(rig_mismatches(&r, in), 0);
    free(in);
    rig_free(&r);
}

/* ---------------------------------------------------------------- faults -- */

static void check_leak(const fgs_error *err, uint64_t tile, uint32_t chunk)
{
    /* Four elements of -0.0, little endian. */
    static const uint8_t bits[16] = { 0, 0, 0, 0x80, 0, 0, 0, 0x80,
                                      0, 0, 0, 0x80, 0, 0, 0, 0x80 };

    assert_int_equal(err->result, FGS_E_LEAK);
    assert_string_equal(err->buffer, "mid");
    assert_non_null(strstr(err->kernel, "_consume"));
    assert_int_equal(err->tile, tile);
    assert_int_equal(err->block, tile);
    assert_int_equal(err->chunk, chunk);
    assert_memory_equal(err->bits, bits, 16);
    assert_true(err->tries > 0);
    assert_non_null(strstr(err->text, "'mid'"));
}

/* A producer that leaves, or stores, the sentinel in one chunk; then the same
 * buffers with a sound one: the context lives. */
static void fault(fgs_engine engine, const char *stem, uint32_t rounds)
{
    struct rig_opts o = { .engine = engine, .tiles = 32, .producer = stem,
                          .bound_ns = 20000000, .fault_tile = 17,
                          .fault_chunk = 3 };
    struct rig r;
    fgs_plan_desc d;
    fgs_kernel *sound = NULL;
    fgs_plan *plan = NULL;
    fgs_error err;
    uint32_t *in;

    rig_need_engine(engine);
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 11);
    for (int again = 0; again < 2; again++) {
        RIG_OK(fgs_plan_run(r.plan, NULL, rounds, &err), err);
        assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_LEAK);
        check_leak(&err, 17, 3);
        assert_true(err.elapsed_ns >= o.bound_ns);
        /* The abort word of the first round stays: others return at once. */
        assert_true(rig_receipt(&r).elapsed_ns < 5 * o.bound_ns);
    }
    RIG_OK(rig_kernel(&sound, r.dev, FGS_ROLE_PRODUCER, NULL, FGS_ENGINE_AUTO,
                      0, &err), err);
    d = rig_desc(&r, &o);
    d.producer = sound;
    RIG_OK(fgs_plan_make(&plan, r.dev, &d, &err), err);
    RIG_OK(fgs_plan_run(plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(plan, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    fgs_plan_free(plan);
    fgs_kernel_free(sound);
    free(in);
    rig_free(&r);
}

static void report_names_the_leaked_chunk(void **state)
{
    (void)state;
    fault(FGS_ENGINE_REPORT, "scale_produce_leak", 1);
}

static void bulk_names_the_leaked_chunk(void **state)
{
    (void)state;
    fault(FGS_ENGINE_BULK, "scale_produce_leak", 1);
}

static void poll_names_the_leaked_chunk(void **state)
{
    (void)state;
    fault(FGS_ENGINE_POLL, "scale_produce_leak", 1);
}

static void stored_sentinel_is_named_too(void **state)
{
    (void)state;
    fault(FGS_ENGINE_AUTO, "scale_produce_sentinel", 1);
}

static void later_rounds_return_at_once(void **state)
{
    (void)state;
    fault(FGS_ENGINE_POLL, "scale_produce_leak", 50);
}

static void bound_on_tries_ends_the_wait(void **state)
{
    struct rig_opts o = { .engine = FGS_ENGINE_POLL, .tiles = 4,
                          .producer = "scale_produce_leak", .fault_tile = 2,
                          .fault_chunk = 255, .max_tries = 10,
                          .bound_ns = 60000000000ull, .no_pdl = 1 };
    struct rig r;
    fgs_error err;
    uint32_t *in;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 1);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_LEAK);
    check_leak(&err, 2, 255);
    assert_int_equal(err.tries, 10);
    assert_non_null(strstr(err.text, "the bound on tries"));
    free(in);
    rig_free(&r);
}

/* ---------------------------------------------------------------- states -- */

static void run_is_waited_for_once(void **state)
{
    struct rig_opts o = { .tiles = 2 };
    fgs_receipt c = { .size = sizeof c };
    struct rig r;
    fgs_error err;
    uint32_t *in;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 1);
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_STATE);
    assert_int_equal(fgs_plan_query(r.plan, &err), FGS_E_STATE);
    assert_int_equal(fgs_plan_get_receipt(r.plan, &c, &err), FGS_E_STATE);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 0, &err), FGS_E_SIZE);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_BUSY);
    assert_int_equal(fgs_plan_get_receipt(r.plan, &c, &err), FGS_E_STATE);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_STATE);
    RIG_OK(fgs_plan_query(r.plan, &err), err);
    c.size = 8;
    assert_int_equal(fgs_plan_get_receipt(r.plan, &c, &err), FGS_E_INVAL);
    assert_int_equal(fgs_plan_get_receipt(r.plan, NULL, &err), FGS_E_NULL);
    free(in);
    rig_free(&r);
}

static void query_sees_the_end(void **state)
{
    struct rig_opts o = { .tiles = 4, .work_ns = 1000000 };
    struct rig r;
    fgs_error err;
    fgs_result q = FGS_E_BUSY;
    uint32_t *in;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 1);
    RIG_OK(fgs_plan_run(r.plan, NULL, 3, &err), err);
    while (q == FGS_E_BUSY)
        q = fgs_plan_query(r.plan, &err);
    assert_int_equal(q, FGS_OK);
    /* Over, though not waited for: the buffers can be read. */
    assert_int_equal(rig_mismatches(&r, in), 0);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    free(in);
    rig_free(&r);
}

static void unfinished_run_is_waited_for_by_free(void **state)
{
    struct rig_opts o = { .tiles = 4, .work_ns = 1000000 };
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    fgs_buffer_free(r.mid);
    r.mid = NULL;
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_FREED);
    assert_non_null(strstr(err.text, "buffer 'mid'"));
    rig_free(&r);
}

static void plan_misses_its_freed_kernel(void **state)
{
    struct rig_opts o = { .tiles = 4, .work_ns = 1000000 };
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    fgs_kernel_free(r.producer);
    r.producer = NULL;
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_FREED);
    assert_non_null(strstr(err.text, "fgs_scale_produce"));
    rig_free(&r);
}

/* The application's own stream, in the device's primary context or in one of
 * its own. */
struct app {
    CUcontext ctx;
    CUstream stream;
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*create)(CUcontext *, unsigned int, CUdevice);
    CUresult (*destroy)(CUcontext);
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext *);
    CUresult (*release)(CUdevice);
    CUresult (*stream_create)(CUstream *, unsigned int);
    CUresult (*stream_destroy)(CUstream);
};

static void get_proc(fgs_device *dev, void *fn, const char *name)
{
    void *p = fgs_device_get_proc(dev, name);

    assert_non_null(p);
    memcpy(fn, &p, sizeof p);
}

static void app_open(struct app *a, fgs_device *dev, int own_context)
{
    CUcontext was;

    get_proc(dev, &a->retain, "cuDevicePrimaryCtxRetain");
    get_proc(dev, &a->create, "cuCtxCreate");
    get_proc(dev, &a->destroy, "cuCtxDestroy");
    get_proc(dev, &a->push, "cuCtxPushCurrent");
    get_proc(dev, &a->pop, "cuCtxPopCurrent");
    get_proc(dev, &a->release, "cuDevicePrimaryCtxRelease");
    get_proc(dev, &a->stream_create, "cuStreamCreate");
    get_proc(dev, &a->stream_destroy, "cuStreamDestroy");
    if (own_context) {
        assert_int_equal(a->create(&a->ctx, 0, 0), CUDA_SUCCESS);
    } else {
        assert_int_equal(a->retain(&a->ctx, 0), CUDA_SUCCESS);
        assert_int_equal(a->push(a->ctx), CUDA_SUCCESS);
    }
    assert_int_equal(a->stream_create(&a->stream, CU_STREAM_NON_BLOCKING),
                     CUDA_SUCCESS);
    assert_int_equal(a->pop(&was), CUDA_SUCCESS);
}

static void app_close(struct app *a, int own_context)
{
    CUcontext was;

    assert_int_equal(a->push(a->ctx), CUDA_SUCCESS);
    assert_int_equal(a->stream_destroy(a->stream), CUDA_SUCCESS);
    assert_int_equal(a->pop(&was), CUDA_SUCCESS);
    if (own_context)
        assert_int_equal(a->destroy(a->ctx), CUDA_SUCCESS);
    else
        assert_int_equal(a->release(0), CUDA_SUCCESS);
}

/* Guide 4.6.5: kernels with different carveouts serialize. */
static void both_ends_ask_for_the_same_carveout(void **state)
{
    CUresult (*get)(int *, CUfunction_attribute, CUfunction);
    struct rig_opts o = { .tiles = 1 };
    int producer = -1, consumer = -1;
    CUcontext was;
    struct app app;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    get_proc(r.dev, &get, "cuFuncGetAttribute");
    app_open(&app, r.dev, 0);
    assert_int_equal(app.push(app.ctx), CUDA_SUCCESS);
    get(&producer, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        fgs_kernel_get_function(r.producer));
    get(&consumer, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        fgs_kernel_get_function(r.consumer));
    assert_int_equal(app.pop(&was), CUDA_SUCCESS);
    app_close(&app, 0);
    assert_int_equal(producer, 100);
    assert_int_equal(consumer, 100);
    rig_free(&r);
}

/* Two plans that share the buffers, each on a stream of its own. */
static void second_plan_on_the_same_memory_is_refused(void **state)
{
    struct rig_opts o = { .tiles = 4, .work_ns = 2000000 };
    fgs_plan *other = NULL;
    struct app app;
    struct rig r;
    fgs_plan_desc d;
    fgs_error err;
    fgs_result second;
    uint32_t *in;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    app_open(&app, r.dev, 0);
    d = rig_desc(&r, &o);
    RIG_OK(fgs_plan_make(&other, r.dev, &d, &err), err);
    in = rig_fill(&r, 1);
    RIG_OK(fgs_plan_run(r.plan, app.stream, 5, &err), err);
    second = fgs_plan_run(other, NULL, 1, &err);
    /* The software device may be through: its time is not the host's. */
    if (fgs_plan_query(r.plan, NULL) == FGS_E_BUSY) {
        assert_int_equal(second, FGS_E_BUSY);
        assert_non_null(strstr(err.text, "another plan on another stream"));
    }
    if (second == FGS_OK)
        RIG_OK(fgs_plan_wait(other, &err), err);
    /* In the same stream they follow each other. */
    RIG_OK(fgs_plan_run(other, app.stream, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    RIG_OK(fgs_plan_wait(other, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    fgs_plan_free(other);
    app_close(&app, 0);
    free(in);
    rig_free(&r);
}

static void stream_of_another_context_is_refused(void **state)
{
    struct rig_opts o = { .tiles = 1 };
    struct app app;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    app_open(&app, r.dev, 1);
    assert_int_equal(fgs_plan_run(r.plan, app.stream, 1, &err), FGS_E_MISMATCH);
    assert_non_null(strstr(err.text, "another context"));
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_STATE);
    app_close(&app, 1);
    rig_free(&r);
}

static void buffer_of_an_unfinished_run_is_busy(void **state)
{
    struct rig_opts o = { .tiles = 2, .work_ns = 2000000 };
    struct rig r;
    fgs_error err;
    char byte = 1;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 4, &err), err);
    /* The software device may be done already: its time is not the host's. */
    if (fgs_plan_query(r.plan, &err) == FGS_E_BUSY) {
        fgs_result w = fgs_buffer_write(r.in, 0, &byte, 1, &err);

        assert_true(w == FGS_E_BUSY || fgs_plan_query(r.plan, NULL) == FGS_OK);
    }
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    RIG_OK(fgs_buffer_write(r.in, 0, &byte, 1, &err), err);
    rig_free(&r);
}

static int no_device(void **state)
{
    struct rig_opts o = { 0 };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    if (rig_open(&dev, &o, &err) < 0 && !strcmp(rig_provider(), "cuda")) {
        print_message("%s\n", err.text);
        exit(77);
    }
    fgs_device_close(dev);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_hands_over_every_bit),
        cmocka_unit_test(bulk_hands_over_every_bit),
        cmocka_unit_test(weak_bulk_hands_over_every_bit),
        cmocka_unit_test(poll_hands_over_every_bit),
        cmocka_unit_test(auto_takes_an_engine_that_runs),
        cmocka_unit_test(rounds_refill_the_buffer),
        cmocka_unit_test(one_tile_is_enough),
        cmocka_unit_test(statistics_grow_with_the_rounds),
        cmocka_unit_test(both_ends_ask_for_the_same_carveout),
        cmocka_unit_test(slow_producer_overlaps_its_consumer),
        cmocka_unit_test(plain_order_never_overlaps),
        cmocka_unit_test(report_names_the_leaked_chunk),
        cmocka_unit_test(bulk_names_the_leaked_chunk),
        cmocka_unit_test(poll_names_the_leaked_chunk),
        cmocka_unit_test(stored_sentinel_is_named_too),
        cmocka_unit_test(later_rounds_return_at_once),
        cmocka_unit_test(bound_on_tries_ends_the_wait),
        cmocka_unit_test(run_is_waited_for_once),
        cmocka_unit_test(query_sees_the_end),
        cmocka_unit_test(unfinished_run_is_waited_for_by_free),
        cmocka_unit_test(plan_misses_its_freed_kernel),
        cmocka_unit_test(second_plan_on_the_same_memory_is_refused),
        cmocka_unit_test(stream_of_another_context_is_refused),
        cmocka_unit_test(buffer_of_an_unfinished_run_is_busy),
    };

    return cmocka_run_group_tests_name("run", tests, no_device, NULL);
}
