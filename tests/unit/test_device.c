/* test_device.c -- opening: providers, contexts, what a device can run */
#include "fakelib.h"
#include "rig.h"
#include "table/cu.h"

static struct fake *fake;

static int fresh(void **state)
{
    (void)state;
    fake = fakelib_use();
    unsetenv("FGS_PROVIDER");
    unsetenv("FGS_LOG");
    unsetenv("FGS_PTX_DIR");
    setenv("FGS_NVJITLINK", "none", 1);
    return 0;
}

static fgs_device_info info_of(fgs_device *dev)
{
    fgs_device_info i = { .size = sizeof i };

    assert_int_equal(fgs_device_get_info(dev, &i, NULL), FGS_OK);
    return i;
}

static fgs_result open_named(fgs_device **dev, const char *provider,
                             fgs_error *err)
{
    fgs_device_opts o = { .size = sizeof o, .provider = provider };

    return fgs_device_open(dev, &o, err);
}

/* ------------------------------------------------------------- provider -- */

static void default_takes_a_gpu_that_can_run_an_engine(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_device_open(&dev, NULL, &err), err);
    assert_string_equal(info_of(dev).provider, "cuda");
    assert_string_equal(info_of(dev).name, "Fake GPU");
    assert_string_equal(info_of(dev).why,
                        "nothing was asked for, and Fake GPU can run engine "
                        "report");
    fgs_device_close(dev);
    assert_int_equal(fakelib_live(fake), 0);
}

static void default_takes_the_software_device_and_says_why(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    fake->no_device = 1;
    RIG_OK(fgs_device_open(&dev, NULL, &err), err);
    assert_string_equal(info_of(dev).provider, "sim");
    assert_non_null(strstr(info_of(dev).why, "cuInit finds no device"));
    fgs_device_close(dev);
    setenv("FGS_LIBCUDA", "/nowhere/libcuda.so", 1);
    RIG_OK(fgs_device_open(&dev, NULL, &err), err);
    assert_string_equal(info_of(dev).provider, "sim");
    assert_non_null(strstr(info_of(dev).why, "/nowhere/libcuda.so"));
    fgs_device_close(dev);
}

static void default_passes_by_a_gpu_that_runs_no_engine(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    fake->cc = 61;
    RIG_OK(fgs_device_open(&dev, NULL, &err), err);
    assert_string_equal(info_of(dev).provider, "sim");
    assert_non_null(strstr(info_of(dev).why, "compute capability 6.1"));
    fgs_device_close(dev);
}

static void environment_chooses_where_the_caller_does_not(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    setenv("FGS_PROVIDER", "sim", 1);
    RIG_OK(fgs_device_open(&dev, NULL, &err), err);
    assert_string_equal(info_of(dev).provider, "sim");
    assert_string_equal(info_of(dev).why, "FGS_PROVIDER=sim asks for it");
    fgs_device_close(dev);
    RIG_OK(open_named(&dev, "cuda", &err), err);
    assert_string_equal(info_of(dev).provider, "cuda");
    assert_string_equal(info_of(dev).why, "the caller asked for it");
    fgs_device_close(dev);
}

static void provider_that_was_asked_for_is_never_replaced(void **state)
{
    fgs_device *dev = (fgs_device *)16;
    fgs_error err;

    (void)state;
    fake->no_device = 1;
    assert_int_equal(open_named(&dev, "cuda", &err), FGS_E_NODEVICE);
    assert_null(dev);
    setenv("FGS_PROVIDER", "cuda", 1);
    setenv("FGS_LIBCUDA", "/nowhere/libcuda.so", 1);
    assert_int_equal(fgs_device_open(&dev, NULL, &err), FGS_E_NODRIVER);
    assert_non_null(strstr(err.text, "/nowhere/libcuda.so"));
    setenv("FGS_LIBCUDA", "libm.so.6", 1);
    assert_int_equal(fgs_device_open(&dev, NULL, &err), FGS_E_ENTRY);
    assert_int_equal(open_named(&dev, "metal", &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "cuda, sim"));
    setenv("FGS_PROVIDER", "rocm", 1);
    assert_int_equal(fgs_device_open(&dev, NULL, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "rocm"));
}

static void ordinal_past_the_last_is_no_device(void **state)
{
    fgs_device_opts o = { .size = sizeof o, .provider = "sim", .ordinal = 99 };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_NODEVICE);
    assert_non_null(strstr(err.text, "device 99"));
    o.ordinal = -1;
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_NODEVICE);
}

static void missing_entry_point_is_named_when_needed(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    fake->driver = 12020;
    fake->hide = "cuDeviceGetName";
    assert_int_equal(open_named(&dev, "cuda", &err), FGS_E_ENTRY);
    assert_non_null(strstr(err.text, "cuDeviceGetName: not in this driver"));
    assert_non_null(strstr(err.text, "12.2"));
    fake->hide = "cuDevicePrimaryCtxRetain";
    assert_int_equal(open_named(&dev, "cuda", &err), FGS_E_ENTRY);
    assert_non_null(strstr(err.text, "cuDevicePrimaryCtxRetain"));
    fake->hide = "cuLaunchKernelEx";
    RIG_OK(open_named(&dev, "cuda", &err), err);
    fgs_device_close(dev);
    assert_int_equal(fakelib_live(fake), 0);
}

/* ------------------------------------------------------------- context -- */

typedef CUresult (*ctx_create_fn)(CUcontext *, unsigned int, CUdevice);
typedef CUresult (*ctx_one_fn)(CUcontext);
typedef CUresult (*ctx_get_fn)(CUcontext *);

#define PROC(dev, fn, name)                                                    \
    do {                                                                       \
        void *proc = fgs_device_get_proc(dev, name);                           \
                                                                               \
        assert_non_null(proc);                                                 \
        memcpy(&(fn), &proc, sizeof proc);                                     \
    } while (0)

static void context_of_the_application_is_used_and_left_as_found(void **state)
{
    fgs_device_opts o = { .size = sizeof o, .provider = "sim" };
    CUcontext mine = NULL, now = NULL;
    fgs_device *dev = NULL, *own = NULL;
    fgs_buffer *b = NULL;
    ctx_create_fn create;
    ctx_one_fn destroy;
    ctx_get_fn current;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_device_open(&dev, &o, &err), err);
    PROC(dev, create, "cuCtxCreate");
    PROC(dev, destroy, "cuCtxDestroy");
    PROC(dev, current, "cuCtxGetCurrent");
    assert_int_equal(create(&mine, 0, 0), CUDA_SUCCESS);
    o.context = mine;
    RIG_OK(fgs_device_open(&own, &o, &err), err);
    RIG_OK(rig_buffer(&b, own, "b", 1, &err), err);
    assert_int_equal(current(&now), CUDA_SUCCESS);
    assert_ptr_equal(now, mine);
    /* A call that fails leaves it too. */
    assert_int_equal(rig_buffer(&b, own, "b", 1ull << 30, &err), FGS_E_DRIVER);
    assert_non_null(strstr(err.text, "cuMemAlloc"));
    assert_string_equal(err.name, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_int_equal(err.driver, 2);
    assert_int_equal(current(&now), CUDA_SUCCESS);
    assert_ptr_equal(now, mine);
    fgs_device_close(own);
    assert_int_equal(destroy(mine), CUDA_SUCCESS);
    fgs_device_close(dev);
}

static void context_on_another_device_is_refused(void **state)
{
    fgs_device_opts o = { .size = sizeof o, .provider = "cuda" };
    fgs_device *dev = NULL, *own = NULL;
    ctx_create_fn create;
    ctx_one_fn destroy;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_device_open(&dev, &o, &err), err);
    PROC(dev, create, "cuCtxCreate");
    PROC(dev, destroy, "cuCtxDestroy");
    assert_int_equal(create(&o.context, 0, 0), CUDA_SUCCESS);
    fake->elsewhere = 1;
    assert_int_equal(fgs_device_open(&own, &o, &err), FGS_E_MISMATCH);
    assert_non_null(strstr(err.text, "is not on device 0 of provider cuda"));
    assert_null(own);
    /* Whatever is no context is the driver's to refuse. */
    fake->elsewhere = 0;
    assert_int_equal(destroy(o.context), CUDA_SUCCESS);
    assert_int_equal(fgs_device_open(&own, &o, &err), FGS_E_DRIVER);
    assert_non_null(strstr(err.text, "cuCtxPushCurrent"));
    fgs_device_close(dev);
    assert_int_equal(fake->live[FAKE_PUSHED], 0);
}

static void no_context_is_current_after_a_call_that_found_none(void **state)
{
    CUcontext now = (CUcontext)16;
    ctx_get_fn current;
    struct rig r;
    struct rig_opts o = { .provider = "sim", .tiles = 1 };
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    PROC(r.dev, current, "cuCtxGetCurrent");
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(current(&now), CUDA_SUCCESS);
    assert_null(now);
    rig_free(&r);
}

/* ------------------------------------------------------------------ can -- */

static void engine_is_refused_with_what_the_device_lacks(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    fake->cc = 90;
    fake->driver = 13000;
    RIG_OK(open_named(&dev, "cuda", &err), err);
    assert_int_equal(info_of(dev).cc, 90);
    assert_int_equal(info_of(dev).ptx_version, 90);
    assert_int_equal(info_of(dev).nvjitlink, 0);
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_REPORT, &err),
                     FGS_E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "engine report needs bulk copies that report validity, "
                        "compute capability 10.7 or a later one of its family; "
                        "Fake GPU has compute capability 9.0");
    /* The weak form is PTX 8.6, which this driver takes. */
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_BULK, &err), FGS_OK);
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_POLL, &err), FGS_OK);
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_COUNT, &err), FGS_E_INVAL);
    fgs_device_close(dev);
}

static void engine_is_refused_by_an_old_driver(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    fake->cc = 90;
    fake->driver = 12020;
    RIG_OK(open_named(&dev, "cuda", &err), err);
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_POLL, &err),
                     FGS_E_PTXVERSION);
    assert_string_equal(err.text,
                        "engine poll needs PTX 8.3; on Fake GPU the driver "
                        "(12.2) takes PTX up to 8.2, no nvJitLink: hidden by "
                        "FGS_NVJITLINK=none");
    fgs_device_close(dev);
    setenv("FGS_NVJITLINK", "/nowhere/libnvJitLink.so.13", 1);
    RIG_OK(open_named(&dev, "cuda", &err), err);
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_POLL, &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/nowhere/libnvJitLink.so.13"));
    fgs_device_close(dev);
}

/* ----------------------------------------------------- options, handles -- */

static void options_that_are_wrong_are_refused(void **state)
{
    struct {
        fgs_device_opts o;
        char newer[8];
    } big = { .o = { .size = sizeof big, .provider = "sim" } };
    fgs_device_opts o = { .size = 4 };
    fgs_allocator half = { 0 };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_device_open(NULL, NULL, &err), FGS_E_NULL);
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_INVAL);
    o = (fgs_device_opts){ .size = sizeof o, .reserved = 1 };
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_ABI);
    o = (fgs_device_opts){ .size = sizeof o, .allocator = &half };
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_NULL);
    big.newer[0] = 1;
    assert_int_equal(fgs_device_open(&dev, &big.o, &err), FGS_E_ABI);
    big.newer[0] = 0;
    assert_int_equal(fgs_device_open(&dev, &big.o, &err), FGS_OK);
    fgs_device_close(dev);
    setenv("FGS_LOG", "loud", 1);
    assert_int_equal(open_named(&dev, "sim", &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "FGS_LOG=loud"));
    assert_null(dev);
}

static void closed_device_is_known_as_closed(void **state)
{
    fgs_device_info i = { .size = sizeof i };
    fgs_device *dev = NULL, *next = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(open_named(&dev, "sim", &err), err);
    fgs_device_close(dev);
    /* The next one may lie in the same memory; its handle is another. */
    RIG_OK(open_named(&next, "sim", &err), err);
    assert_int_equal(fgs_device_get_info(dev, &i, &err), FGS_E_FREED);
    assert_int_equal(fgs_device_can(dev, FGS_ENGINE_POLL, &err), FGS_E_FREED);
    assert_null(fgs_device_get_proc(dev, "cuInit"));
    assert_int_equal(fgs_device_get_info(NULL, &i, &err), FGS_E_NULL);
    assert_int_equal(fgs_device_get_info(next, NULL, &err), FGS_E_NULL);
    i.size = 3;
    assert_int_equal(fgs_device_get_info(next, &i, &err), FGS_E_INVAL);
    fgs_device_close(dev);
    fgs_device_close(NULL);
    fgs_device_close(next);
}

static void device_closed_early_lives_until_its_objects_are_freed(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 1 };
    struct rig r;
    fgs_error err;
    char byte = 0;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    fgs_device_close(r.dev);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_FREED);
    assert_int_equal(fgs_buffer_write(r.in, 0, &byte, 1, &err), FGS_E_FREED);
    assert_true(fake->live[FAKE_CONTEXT] > 0);
    rig_free(&r);
    assert_int_equal(fakelib_live(fake), 0);
}

static void entry_points_are_handed_out_by_name(void **state)
{
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(open_named(&dev, "cuda", &err), err);
    assert_non_null(fgs_device_get_proc(dev, "cuMemAlloc"));
    assert_null(fgs_device_get_proc(dev, "cuNoSuchCall"));
    assert_null(fgs_device_get_proc(dev, NULL));
    fgs_device_close(dev);
}

/* ------------------------------------------------------------------- log -- */

struct lines {
    int count, open;
    fgs_log_level level;
};

static void on_log(void *cookie, fgs_log_level level, const char *id,
                   const char *text)
{
    struct lines *l = cookie;

    l->count++;
    if (!strcmp(id, "device.open")) {
        l->open++;
        l->level = level;
        assert_non_null(strstr(text, "sim device 0"));
    }
}

static void log_goes_to_the_callback(void **state)
{
    struct lines l = { 0 };
    fgs_device_opts o = { .size = sizeof o, .provider = "sim", .log = on_log,
                          .log_cookie = &l };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    setenv("FGS_LOG", "error", 1);
    RIG_OK(fgs_device_open(&dev, &o, &err), err);
    assert_int_equal(l.open, 1);
    assert_int_equal(l.level, FGS_LOG_INFO);
    fgs_device_close(dev);
    assert_true(l.count > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, fresh)
        TEST(default_takes_a_gpu_that_can_run_an_engine),
        TEST(default_takes_the_software_device_and_says_why),
        TEST(default_passes_by_a_gpu_that_runs_no_engine),
        TEST(environment_chooses_where_the_caller_does_not),
        TEST(provider_that_was_asked_for_is_never_replaced),
        TEST(ordinal_past_the_last_is_no_device),
        TEST(missing_entry_point_is_named_when_needed),
        TEST(context_of_the_application_is_used_and_left_as_found),
        TEST(context_on_another_device_is_refused),
        TEST(no_context_is_current_after_a_call_that_found_none),
        TEST(engine_is_refused_with_what_the_device_lacks),
        TEST(engine_is_refused_by_an_old_driver),
        TEST(options_that_are_wrong_are_refused),
        TEST(closed_device_is_known_as_closed),
        TEST(device_closed_early_lives_until_its_objects_are_freed),
        TEST(entry_points_are_handed_out_by_name),
        TEST(log_goes_to_the_callback),
    };

    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
