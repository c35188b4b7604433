/* test_wait.c -- states of a plan, streams, objects in use, on any provider
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "core/plan.h"
#include "rig.h"

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

/* What an earlier run recorded is not this one's. */
static void record_of_an_earlier_run_is_forgotten(void **state)
{
    struct rig_opts o = { .tiles = 2 };
    struct fgs__plan *inner;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs__plan_get(&inner, r.plan, &err), err);
    inner->rec->code = FGS__GIVEUP_TIME;
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
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

/* Wrapped memory is not freed, so nothing else waits for the run. */
static void unfinished_run_is_waited_for_by_free(void **state)
{
    struct rig_opts o = { .tiles = 4, .work_ns = 1000000 };
    fgs_buffer_desc b = { .size = sizeof b, .name = "wrap", .tiles = 4 };
    fgs_buffer *wrap = NULL;
    struct rig r;
    fgs_plan_desc d;
    fgs_error err;

    (void)state;
    RIG_OK(rig_parts(&r, &o, &err), err);
    b.pointer = fgs_buffer_get_pointer(r.mid);
    b.pointer_bytes = fgs_buffer_get_bytes(r.mid);
    RIG_OK(fgs_buffer_make(&wrap, r.dev, &b, &err), err);
    d = rig_desc(&r, &o);
    d.mid = wrap;
    RIG_OK(fgs_plan_make(&r.plan, r.dev, &d, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 3, &err), err);
    fgs_buffer_free(wrap);
    RIG_OK(fgs_plan_query(r.plan, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_FREED);
    assert_non_null(strstr(err.text, "buffer 'wrap'"));
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
    RIG_OK(fgs_plan_query(r.plan, &err), err);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_is_waited_for_once),
        cmocka_unit_test(record_of_an_earlier_run_is_forgotten),
        cmocka_unit_test(query_sees_the_end),
        cmocka_unit_test(unfinished_run_is_waited_for_by_free),
        cmocka_unit_test(plan_misses_its_freed_kernel),
        cmocka_unit_test(both_ends_ask_for_the_same_carveout),
        cmocka_unit_test(second_plan_on_the_same_memory_is_refused),
        cmocka_unit_test(stream_of_another_context_is_refused),
        cmocka_unit_test(buffer_of_an_unfinished_run_is_busy),
    };

    return cmocka_run_group_tests_name("wait", tests, rig_group, NULL);
}
