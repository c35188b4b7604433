/* test_module.c -- who assembles a text: driver, nvJitLink, nobody */
#include "replace.h"
#include "table/cu.h"

#include <unistd.h>

/* A consumer on a driver that looks like an H200's: cc 9.0, PTX up to 9.0. */
static fgs_result load_consumer(fgs_engine e, uint32_t weak, const char *linker,
                                char stem[64], char by[16], char note[1024],
                                fgs_error *err)
{
    struct rig_opts o = { .provider = "cuda", .engine = e, .weak = weak,
                          .tiles = 2 };
    fgs_kernel_info info = { .size = sizeof info };
    struct rig r;
    fgs_result result;

    fake->cc = 90;
    fake->driver = 13000;
    fake->isa = 90;
    setenv("FGS_NVJITLINK", linker, 1);
    result = rig_make(&r, &o, err);
    if (result >= 0) {
        uint32_t *in = rig_fill(&r, 2);

        assert_int_equal(fgs_kernel_get_info(r.consumer, &info), FGS_OK);
        snprintf(stem, 64, "%s", info.stem);
        snprintf(by, 16, "%s", info.assembled_by);
        assert_int_equal(fgs_plan_run(r.plan, NULL, 1, err), FGS_OK);
        assert_int_equal(fgs_plan_wait(r.plan, err), FGS_OK);
        assert_string_equal(rig_receipt(&r).assembled_by, by);
        snprintf(note, 1024, "%s", rig_receipt(&r).note);
        assert_int_equal(rig_mismatches(&r, in), 0);
        free(in);
    }
    rig_free(&r);
    assert_int_equal(fakelib_live(fake), 0);
    return result;
}

static const char *real_linker(void)
{
    static char path[512];
    const char *tc = getenv("TC");

    snprintf(path, sizeof path, "%s/lib/libnvJitLink.so.13",
             tc ? tc : "build/toolchain/nvidia/cu13");
    if (access(path, R_OK)) {
        print_message("no nvJitLink: `make toolchain` fetches it\n");
        skip();
    }
    return path;
}

static const char *old_linker(void)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s", fakelib_path());
    memcpy(strrchr(path, '/'), "/fakelink.so", 13);
    return path;
}

static void strong_copy_goes_through_nvjitlink(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    RIG_OK(load_consumer(FGS_ENGINE_BULK, 0, real_linker(), stem, by, note,
                         &err), err);
    assert_string_equal(stem, "bulk_consume");
    assert_string_equal(by, "nvjitlink");
    assert_string_equal(note, "");
    assert_int_equal(fake->cubins, 1);
}

/* sm_107a code is for that architecture alone: "-arch=sm_107" would be refused
 * (guide 4.6.3). */
static void report_goes_through_nvjitlink_with_its_own_target(void **state)
{
    struct rig_opts o = { .provider = "cuda", .engine = FGS_ENGINE_REPORT,
                          .tiles = 2 };
    fgs_kernel_info info = { .size = sizeof info };
    struct rig r;
    fgs_error err;

    (void)state;
    setenv("FGS_NVJITLINK", real_linker(), 1);
    fake->driver = 13030;
    fake->isa = 93;
    RIG_OK(rig_make(&r, &o, &err), err);
    RIG_OK(fgs_kernel_get_info(r.consumer, &info), err);
    assert_string_equal(info.assembled_by, "nvjitlink");
    assert_int_equal(fake->cubins, 1);
    rig_free(&r);
}

static void weak_copy_is_taken_where_nobody_takes_the_strong_one(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    RIG_OK(load_consumer(FGS_ENGINE_BULK, 0, "none", stem, by, note, &err),
           err);
    assert_string_equal(stem, "bulk_weak_consume");
    assert_string_equal(by, "driver");
    assert_non_null(strstr(note, "bulk_weak_consume taken instead of "
                                 "bulk_consume: <bulk_consume.ptx>:"));
    assert_non_null(strstr(note, "the text is PTX 9.3: the driver (13.0) takes "
                                 "PTX up to 9.0, no nvJitLink: hidden by "
                                 "FGS_NVJITLINK=none"));
    assert_int_equal(fake->cubins, 0);
}

static void weak_copy_on_request_needs_no_excuse(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    RIG_OK(load_consumer(FGS_ENGINE_BULK, 1, "none", stem, by, note, &err),
           err);
    assert_string_equal(stem, "bulk_weak_consume");
    assert_string_equal(note, "");
}

/* Results that a device made and found for one consumer. */
static void start(fgs_device_info *info)
{
    struct rig_opts o = { .provider = "cuda" };
    fgs_kernel *k = NULL;
    fgs_device *dev;
    fgs_error err;

    RIG_OK(rig_open(&dev, &o, &err), err);
    RIG_OK(rig_kernel(&k, dev, FGS_ROLE_CONSUMER, NULL, FGS_ENGINE_BULK, 0,
                      &err), err);
    info->size = sizeof *info;
    assert_int_equal(fgs_device_get_info(dev, info, NULL), FGS_OK);
    fgs_kernel_free(k);
    fgs_device_close(dev);
}

static void second_start_compiles_nothing(void **state)
{
    char cache[80], command[96];
    fgs_device_info info;

    (void)state;
    setenv("FGS_NVJITLINK", real_linker(), 1);
    fake->cc = 90;
    fake->driver = 13000;
    fake->isa = 90;
    snprintf(cache, sizeof cache, "%s/cache", dir);
    setenv("FGS_CACHE_DIR", cache, 1);
    start(&info);
    assert_int_equal(info.compiled, 1);
    assert_int_equal(info.cached, 0);
    start(&info);
    assert_int_equal(info.compiled, 0);
    assert_int_equal(info.cached, 1);
    fake->driver = 13010; /* another driver: another key */
    start(&info);
    assert_int_equal(info.compiled, 1);
    setenv("FGS_CACHE_DIR", "none", 1);
    start(&info);
    assert_int_equal(info.compiled, 1);
    snprintf(command, sizeof command, "rm -r %s", cache);
    assert_int_equal(system(command), 0);
}

static void linker_that_is_too_old_is_named_with_its_version(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    RIG_OK(load_consumer(FGS_ENGINE_BULK, 0, old_linker(), stem, by, note,
                         &err), err);
    assert_string_equal(stem, "bulk_weak_consume");
    assert_non_null(strstr(note, "the driver (13.0) takes PTX up to 9.0, "
                                 "nvJitLink 13.0 ("));
    assert_non_null(strstr(note, ") up to 9.0"));
}

static void linker_that_was_asked_for_is_an_error_when_needed(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    assert_int_equal(load_consumer(FGS_ENGINE_BULK, 0, "/nowhere/link.so", stem,
                                   by, note, &err),
                     FGS_E_FILE);
    assert_non_null(strstr(err.text, "/nowhere/link.so"));
    /* Not needed: PTX 8.3 is for the driver. */
    RIG_OK(load_consumer(FGS_ENGINE_POLL, 0, "/nowhere/link.so", stem, by, note,
                         &err), err);
    assert_string_equal(by, "driver");
}

/* Any text may be newer than the driver, not only a consumer's. */
static void new_text_without_a_linker_is_refused(void **state)
{
    uint32_t line = put_changed(".version 8.3", ".version 9.3");
    fgs_error err;

    (void)state;
    fake->cc = 90;
    fake->driver = 13000;
    fake->isa = 90;
    assert_int_equal(load_producer("cuda", &err), FGS_E_PTXVERSION);
    assert_non_null(strstr(err.file, "/scale_produce.ptx"));
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, 10);
    assert_non_null(strstr(err.text, ": the text is PTX 9.3: the driver (13.0) "
                                     "takes PTX up to 9.0, no nvJitLink"));
    setenv("FGS_NVJITLINK", "/nowhere/link.so", 1);
    assert_int_equal(load_producer("cuda", &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/nowhere/link.so"));
}

static void auto_says_what_was_refused(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    RIG_OK(load_consumer(FGS_ENGINE_AUTO, 0, "none", stem, by, note, &err),
           err);
    assert_string_equal(stem, "bulk_weak_consume");
    assert_non_null(strstr(note, "report refused: engine report needs"));
    assert_non_null(strstr(note, "bulk_weak_consume taken instead"));
}

static void engine_that_was_named_is_not_replaced(void **state)
{
    char stem[64], by[16], note[1024];
    fgs_error err;

    (void)state;
    assert_int_equal(load_consumer(FGS_ENGINE_REPORT, 0, "none", stem, by, note,
                                   &err),
                     FGS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "Fake GPU has compute capability 9.0"));
}

static void driver_s_log_line_is_a_line_of_the_text(void **state)
{
    fgs_error err;

    (void)state;
    fake->jit_result = CUDA_ERROR_INVALID_PTX;
    fake->jit_log = "ptxas application ptx input, line 40; error   : Unknown "
                    "symbol '%x'\nptxas fatal   : Ptx assembly aborted\n";
    assert_int_equal(load_producer("cuda", &err), FGS_E_JIT);
    assert_string_equal(err.name, "CUDA_ERROR_INVALID_PTX");
    assert_int_equal(err.driver, 218);
    assert_int_equal(err.line, 40);
    assert_string_equal(err.file, "<scale_produce.ptx>");
    assert_string_equal(err.text,
                        "<scale_produce.ptx>:40: Unknown symbol '%x' "
                        "(refused by driver, CUDA_ERROR_INVALID_PTX)");
    fake->jit_log = "out of registers\n";
    assert_int_equal(load_producer("cuda", &err), FGS_E_JIT);
    assert_string_equal(err.text, "<scale_produce.ptx>: out of registers "
                                  "(refused by driver, "
                                  "CUDA_ERROR_INVALID_PTX)");
    fake->jit_result = CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    assert_int_equal(load_producer("cuda", &err), FGS_E_DRIVER);
    assert_string_equal(err.name, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND");
}

static void missing_entry_point_is_named_before_loading(void **state)
{
    fgs_error err;

    (void)state;
    fake->hide = "cuModuleGetFunction";
    assert_int_equal(load_producer("cuda", &err), FGS_E_ENTRY);
    assert_non_null(strstr(err.text, "cuModuleGetFunction: not in this "
                                     "driver"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)
        TEST(strong_copy_goes_through_nvjitlink),
        TEST(report_goes_through_nvjitlink_with_its_own_target),
        TEST(weak_copy_is_taken_where_nobody_takes_the_strong_one),
        TEST(weak_copy_on_request_needs_no_excuse),
        TEST(second_start_compiles_nothing),
        TEST(linker_that_is_too_old_is_named_with_its_version),
        TEST(linker_that_was_asked_for_is_an_error_when_needed),
        TEST(new_text_without_a_linker_is_refused),
        TEST(auto_says_what_was_refused),
        TEST(engine_that_was_named_is_not_replaced),
        TEST(driver_s_log_line_is_a_line_of_the_text),
        TEST(missing_entry_point_is_named_before_loading),
    };

    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
