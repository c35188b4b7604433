/* test_compile.c -- kernels in CUDA C++: compiled, run, kept, refused */
#include "counting.h"
#include "replace.h"
#include "rtc.h"

static fgs_result make(fgs_kernel **k, fgs_device *dev, fgs_role role,
                       fgs_engine e, const char *stem, fgs_error *err)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = role, .engine = e,
                          .stem = stem, .language = FGS_LANGUAGE_CUDA };

    return fgs_kernel_make(k, dev, &d, err);
}

/* All three kernels in CUDA C++; what the device made and found. */
static void hand_over(fgs_engine e, fgs_device_info *info)
{
    struct rig_opts o = { .provider = "sim", .tiles = 4, .engine = e };
    fgs_plan_desc d;
    struct rig r;
    uint32_t *in;
    fgs_error err;

    RIG_OK(rig_parts(&r, &o, &err), err);
    fgs_kernel_free(r.init);
    fgs_kernel_free(r.producer);
    fgs_kernel_free(r.consumer);
    RIG_OK(make(&r.init, r.dev, FGS_ROLE_INIT, 0, NULL, &err), err);
    RIG_OK(make(&r.producer, r.dev, FGS_ROLE_PRODUCER, 0, NULL, &err), err);
    RIG_OK(make(&r.consumer, r.dev, FGS_ROLE_CONSUMER, e, NULL, &err), err);
    d = rig_desc(&r, &o);
    RIG_OK(fgs_plan_make(&r.plan, r.dev, &d, &err), err);
    in = rig_fill(&r, 3);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    info->size = sizeof *info;
    assert_int_equal(fgs_device_get_info(r.dev, info, NULL), FGS_OK);
    free(in);
    rig_free(&r);
}

static void twins_of_all_engines_hand_over(void **state)
{
    fgs_device_info info;

    (void)state;
    rtc_real();
    for (fgs_engine e = FGS_ENGINE_AUTO + 1; e < FGS_ENGINE_PLAIN; e++) {
        hand_over(e, &info);
        assert_int_equal(info.compiled, 3);
    }
}

static void second_start_compiles_nothing(void **state)
{
    char cache[80], command[96];
    fgs_device_info info;

    (void)state;
    rtc_real();
    snprintf(cache, sizeof cache, "%s/cache", dir);
    setenv("FGS_CACHE_DIR", cache, 1);
    hand_over(FGS_ENGINE_POLL, &info);
    assert_int_equal(info.compiled, 3);
    assert_int_equal(info.cached, 0);
    hand_over(FGS_ENGINE_POLL, &info);
    assert_int_equal(info.compiled, 0);
    assert_int_equal(info.cached, 3);
    setenv("FGS_CACHE_DIR", "none", 1);
    snprintf(command, sizeof command, "rm -r %s", cache);
    assert_int_equal(system(command), 0);
}

static void put_source(const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/mine.cu", dir);
    f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static fgs_result load_mine(const fgs_allocator *a, fgs_error *err)
{
    struct rig_opts o = { .provider = "sim", .ptx_dir = dir, .allocator = a };
    fgs_device *dev = NULL;
    fgs_kernel *k = NULL;
    fgs_result r = rig_open(&dev, &o, err);

    if (r >= 0)
        r = make(&k, dev, FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, "mine", err);
    fgs_kernel_free(k);
    fgs_device_close(dev);
    return r;
}

static int clean_mine(void **state)
{
    char path[128];

    snprintf(path, sizeof path, "%s/mine.cu", dir);
    remove(path);
    return clean(state);
}

static const char mine[] =
    "#include <fgs/fgs_device.cuh>\n"
    "#include \"role.cuh\"\n"
    "extern \"C\" __global__ void fgs_mine(PARAMS)\n"
    "{\n"
    "}\n";

static void source_of_ones_own_is_refused_with_its_place(void **state)
{
    fgs_error err;

    (void)state;
    rtc_real();
    put_source(mine);
    RIG_OK(load_mine(NULL, &err), err);
    put_source("\nextern \"C\" __global__ void fgs_mine() { zork(); }\n");
    assert_int_equal(load_mine(NULL, &err), FGS_E_COMPILE);
    assert_non_null(strstr(err.file, "/mine.cu"));
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 41);
    put_source("extern \"C\" __global__ void fgs_mine(int a) { }\n");
    assert_int_equal(load_mine(NULL, &err), FGS_E_CONTRACT);
    assert_non_null(strstr(err.file, "/mine.cu.ptx"));
}

static void twin_is_compiled_without_a_device(void **state)
{
    struct rig_opts o = { .provider = "sim" };
    fgs_ptx_desc d = { .size = sizeof d, .stem = "scale_produce", .cc = 107 };
    fgs_device *dev;
    fgs_kernel *k;
    size_t size = 0;
    fgs_error err;
    char *text;

    (void)state;
    rtc_real();
    RIG_OK(rig_open(&dev, &o, &err), err);
    RIG_OK(make(&k, dev, FGS_ROLE_PRODUCER, 0, NULL, &err), err);
    assert_int_equal(fgs_ptx_compile(&d, NULL, &size, &err), FGS_E_SIZE);
    text = malloc(size);
    assert_non_null(text);
    RIG_OK(fgs_ptx_compile(&d, text, &size, &err), err);
    assert_string_equal(text, fgs_kernel_get_ptx(k));
    d.stem = "report_consume";
    d.cc = 90;
    assert_int_equal(fgs_ptx_compile(&d, text, &size, &err),
                     FGS_E_UNSUPPORTED);
    assert_int_equal(fgs_ptx_compile(NULL, text, &size, &err), FGS_E_NULL);
    assert_int_equal(fgs_ptx_compile(&d, NULL, &size, &err), FGS_E_NULL);
    d.size = 8;
    assert_int_equal(fgs_ptx_compile(&d, text, &size, &err), FGS_E_INVAL);
    free(text);
    fgs_kernel_free(k);
    fgs_device_close(dev);
}

static void without_nvrtc_the_texts_in_ptx_work(void **state)
{
    struct rig_opts o = { .provider = "sim" };
    struct rig r;
    fgs_error err;
    fgs_kernel *k;

    (void)state;
    setenv("FGS_NVRTC", "none", 1);
    RIG_OK(rig_make(&r, &o, &err), err);
    assert_int_equal(make(&k, r.dev, FGS_ROLE_INIT, 0, NULL, &err),
                     FGS_E_UNSUPPORTED);
    assert_null(k);
    assert_non_null(strstr(err.text, "there is no NVRTC"));
    rig_free(&r);
}

static void every_failing_allocation_is_nomem(void **state)
{
    struct fakertc *f = rtc_fake();
    struct counting c = { .at = 1 };
    fgs_allocator a = counting_allocator(&c);
    char *text = own_text(), *at;
    char cache[80], command[96];
    fgs_result r;

    (void)state;
    /* The library's own producer, by another name, as what NVRTC makes. */
    while ((at = strstr(text, "fgs_scale_produce")) != NULL) {
        memcpy(at, "fgs_mine", 8);
        memmove(at + 8, at + 17, strlen(at + 17) + 1);
    }
    f->ptx = text;
    put_source(mine);
    snprintf(cache, sizeof cache, "%s/cache", dir);
    for (int off = 0; off < 2; off++) {
        setenv("FGS_CACHE_DIR", off ? "none" : cache, 1);
        c = (struct counting){ .at = 1 };
        while ((r = load_mine(&a, NULL)) == FGS_E_NOMEM) {
            assert_int_equal(c.live, 0);
            assert_int_equal(f->live, 0);
            c.calls = 0;
            c.at++;
        }
        assert_int_equal(r, FGS_OK);
        assert_int_equal(c.live, 0);
    }
    setenv("FGS_CACHE_DIR", "none", 1);
    snprintf(command, sizeof command, "rm -r %s", cache);
    assert_int_equal(system(command), 0);
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean_mine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(twins_of_all_engines_hand_over),
        TEST(second_start_compiles_nothing),
        TEST(source_of_ones_own_is_refused_with_its_place),
        TEST(twin_is_compiled_without_a_device),
        TEST(without_nvrtc_the_texts_in_ptx_work),
        TEST(every_failing_allocation_is_nomem),
    };

    setenv("FGS_CACHE_DIR", "none", 1);
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
