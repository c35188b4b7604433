/* test_inject.c -- each allocation and each driver call fails once
 *
 * The n-th one fails, n = 1, 2, 3 ... until nothing fails any more.  After
 * each failure all is given back, and the error names what failed.
 */
#include "counting.h"
#include "fakelib.h"
#include "rig.h"

static struct fake *fake;

static int fresh(void **state)
{
    (void)state;
    fake = fakelib_use();
    setenv("FGS_NVJITLINK", "none", 1);
    return 0;
}

/* Everything from open to the receipt. */
static fgs_result whole(struct rig *r, const fgs_allocator *a, fgs_error *err)
{
    struct rig_opts o = { .provider = "cuda", .allocator = a, .tiles = 2 };
    fgs_receipt c = { .size = sizeof c };
    static const char zero[2 * RIG_TILE_BYTES];
    fgs_result e = rig_make(r, &o, err);

    if (e >= 0)
        e = fgs_buffer_write(r->in, 0, zero, sizeof zero, err);
    if (e >= 0)
        e = fgs_plan_run(r->plan, NULL, 2, err);
    if (e >= 0)
        e = fgs_plan_wait(r->plan, err);
    if (e >= 0)
        e = fgs_plan_get_receipt(r->plan, &c, err);
    return e;
}

static void failing_allocator_leaves_nothing_behind(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    fgs_result r = FGS_E_NOMEM;
    long n;

    (void)state;
    for (n = 1; r == FGS_E_NOMEM; n++) {
        struct rig rig;
        fgs_error err = { .result = FGS_OK };

        atomic_store(&c.calls, 0);
        c.at = n;
        r = whole(&rig, &a, &err);
        if (r < 0)
            assert_int_equal(err.result, FGS_E_NOMEM);
        rig_free(&rig);
        assert_int_equal(c.live, 0);
        assert_int_equal(fakelib_live(fake), 0);
    }
    assert_int_equal(r, FGS_OK);
    assert_true(n > 10);
}

/* Calls that give something back: their failure is logged, since what the
 * caller asked for was done. */
static int is_release(const char *call)
{
    static const char *const calls[] = { "cuCtxPopCurrent", "cuMemFree",
                                         "cuMemFreeHost", "cuModuleUnload",
                                         "cuEventDestroy",
                                         "cuDevicePrimaryCtxRelease" };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!strcmp(call, calls[i]))
            return 1;
    }
    return 0;
}

static void failing_driver_call_leaves_nothing_behind(void **state)
{
    int fired = 1, n;

    (void)state;
    for (n = 1; fired; n++) {
        struct rig rig;
        fgs_error err = { .result = FGS_OK };
        fgs_result r;

        fake->failed[0] = '\0';
        fake->fail_with = CUDA_ERROR_UNKNOWN;
        fake->fail_at = n;
        r = whole(&rig, NULL, &err);
        fired = fake->failed[0] != '\0';
        fake->fail_at = 0;
        if (fired && !is_release(fake->failed)) {
            if (r != FGS_E_DRIVER ||
                strncmp(err.text, fake->failed, strlen(fake->failed)) != 0)
                print_error("call %d, %s: %s\n", n, fake->failed, err.text);
            assert_int_equal(r, FGS_E_DRIVER);
            assert_string_equal(err.name, "CUDA_ERROR_UNKNOWN");
            assert_int_equal(err.driver, CUDA_ERROR_UNKNOWN);
            assert_memory_equal(err.text, fake->failed, strlen(fake->failed));
        } else {
            assert_int_equal(r, FGS_OK);
        }
        rig_free(&rig);
        if (fakelib_live(fake))
            print_error("call %d, %s leaks\n", n, fake->failed);
        assert_int_equal(fakelib_live(fake), 0);
    }
    assert_true(n > 50);
}

/* The plan that met the failure runs again, and well. */
static void plan_runs_again_after_a_failed_driver_call(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 2 };
    struct rig rig;
    fgs_error err;
    uint32_t *in;
    int fired = 1;

    (void)state;
    RIG_OK(rig_make(&rig, &o, &err), err);
    in = rig_fill(&rig, 5);
    for (int n = 1; fired; n++) {
        fgs_result r;

        fake->failed[0] = '\0';
        fake->fail_with = CUDA_ERROR_UNKNOWN;
        fake->fail_at = n;
        r = fgs_plan_run(rig.plan, NULL, 3, &err);
        if (r < 0 && !strcmp(fake->failed, "cuLaunchKernelEx"))
            assert_non_null(strstr(err.text, "round "));
        if (r >= 0)
            r = fgs_plan_wait(rig.plan, &err);
        fired = fake->failed[0] != '\0';
        fake->fail_at = 0;
        if (r < 0) {
            assert_int_equal(r, FGS_E_DRIVER);
            /* A wait that failed is waited for again, a run is run again. */
            r = fgs_plan_wait(rig.plan, &err);
            if (r == FGS_E_STATE) {
                RIG_OK(fgs_plan_run(rig.plan, NULL, 1, &err), err);
                r = fgs_plan_wait(rig.plan, &err);
            }
            RIG_OK(r, err);
        }
        assert_int_equal(rig_mismatches(&rig, in), 0);
        assert_int_equal(fake->live[FAKE_PUSHED], 0);
    }
    free(in);
    rig_free(&rig);
    assert_int_equal(fakelib_live(fake), 0);
}

/* Init and producer were launched, the consumer was not: the call comes back
 * when they have ended. */
static void broken_launch_leaves_nothing_running(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 8, .work_ns = 3000000 };
    CUresult (*query)(CUstream), (*push)(CUcontext), (*pop)(CUcontext *);
    CUresult (*retain)(CUcontext *, CUdevice), (*release)(CUdevice);
    const struct {
        void *fn;
        const char *name;
    } procs[] = { { &query, "cuStreamQuery" },
                  { &push, "cuCtxPushCurrent" },
                  { &pop, "cuCtxPopCurrent" },
                  { &retain, "cuDevicePrimaryCtxRetain" },
                  { &release, "cuDevicePrimaryCtxRelease" } };
    CUcontext ctx, was;
    struct rig rig;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&rig, &o, &err), err);
    free(rig_fill(&rig, 5));
    for (size_t i = 0; i < sizeof procs / sizeof *procs; i++) {
        void *p = fgs_device_get_proc(rig.dev, procs[i].name);

        assert_non_null(p);
        memcpy(procs[i].fn, &p, sizeof p);
    }
    assert_int_equal(retain(&ctx, 0), CUDA_SUCCESS);
    assert_int_equal(push(ctx), CUDA_SUCCESS);
    fake->fail_call = "cuLaunchKernelEx";
    fake->fail_with = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    fake->fail_at = 3;
    assert_int_equal(fgs_plan_run(rig.plan, NULL, 1, &err), FGS_E_DRIVER);
    assert_int_equal(query(NULL), CUDA_SUCCESS);
    assert_string_equal(err.name, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    assert_non_null(strstr(err.text, "fgs_report_consume, 8 blocks, round 0"));
    fake->fail_call = NULL;
    assert_int_equal(pop(&was), CUDA_SUCCESS);
    assert_int_equal(release(0), CUDA_SUCCESS);
    rig_free(&rig);
    assert_int_equal(fakelib_live(fake), 0);
}

static void lost_context_is_a_fault(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 2 };
    struct rig rig;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&rig, &o, &err), err);
    free(rig_fill(&rig, 5));
    RIG_OK(fgs_plan_run(rig.plan, NULL, 1, &err), err);
    fake->fail_call = "cuEventSynchronize";
    fake->fail_with = CUDA_ERROR_LAUNCH_FAILED;
    fake->fail_at = 1;
    assert_int_equal(fgs_plan_wait(rig.plan, &err), FGS_E_FAULT);
    assert_string_equal(err.name, "CUDA_ERROR_LAUNCH_FAILED");
    assert_int_equal(err.driver, 719);
    assert_int_equal(fgs_plan_wait(rig.plan, &err), FGS_E_STATE);
    fake->fail_call = NULL;
    rig_free(&rig);
    assert_int_equal(fakelib_live(fake), 0);
}

/* Found when first needed, and before anything is changed. */
static void missing_entry_point_stops_a_run_before_it_starts(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 2 };
    struct rig rig;
    fgs_error err;

    (void)state;
    fake->hide = "cuLaunchKernelEx";
    RIG_OK(rig_make(&rig, &o, &err), err);
    free(rig_fill(&rig, 5));
    assert_int_equal(fgs_plan_run(rig.plan, NULL, 1, &err), FGS_E_ENTRY);
    assert_non_null(strstr(err.text, "cuLaunchKernelEx: not in this driver"));
    assert_non_null(strstr(err.text, "needed since 11.6"));
    assert_int_equal(fgs_plan_wait(rig.plan, &err), FGS_E_STATE);
    assert_int_equal(fake->launches, 0);
    rig_free(&rig);
    fake->hide = "cuEventCreate";
    assert_int_equal(rig_make(&rig, &o, &err), FGS_E_ENTRY);
    rig_free(&rig);
    assert_int_equal(fakelib_live(fake), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fresh)
        TEST(failing_allocator_leaves_nothing_behind),
        TEST(failing_driver_call_leaves_nothing_behind),
        TEST(plan_runs_again_after_a_failed_driver_call),
        TEST(broken_launch_leaves_nothing_running),
        TEST(lost_context_is_a_fault),
        TEST(missing_entry_point_stops_a_run_before_it_starts),
    };

    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
