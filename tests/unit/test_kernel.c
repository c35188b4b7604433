/* test_kernel.c -- loading: texts, contracts, assemblers, refusals */
#include "fakelib.h"
#include "rig.h"

#include <errno.h>
#include <sys/stat.h>

static struct fake *fake;
static char dir[64];

static int fresh(void **state)
{
    (void)state;
    fake = fakelib_use();
    setenv("FGS_NVJITLINK", "none", 1);
    snprintf(dir, sizeof dir, "/tmp/fgs_test_kernel.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int clean(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/scale_produce.ptx", dir);
    remove(path);
    remove(dir);
    return 0;
}

/* --------------------------------------------------- replacing a text -- */

static void put_text(const char *text, size_t len)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/scale_produce.ptx", dir);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

/* The library's own producer, as text; the caller frees it. */
static char *own_text(void)
{
    size_t size = 0;
    char *text;

    assert_int_equal(fgs_ptx_text("scale_produce", 107, NULL, &size, NULL),
                     FGS_E_SIZE);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_text("scale_produce", 107, text, &size, NULL),
                     FGS_OK);
    return text;
}

/* Replace the first `from` and store the text; its line. */
static uint32_t put_changed(const char *from, const char *to)
{
    char *text = own_text(), *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *changed = malloc(size);
    uint32_t line = 1;

    assert_non_null(at);
    assert_non_null(changed);
    for (const char *p = text; p < at; p++)
        line += *p == '\n';
    snprintf(changed, size, "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    put_text(changed, strlen(changed));
    free(changed);
    free(text);
    return line;
}

static fgs_result load_producer(const char *provider, fgs_error *err)
{
    struct rig_opts o = { .provider = provider, .ptx_dir = dir };
    fgs_device *dev = NULL;
    fgs_kernel *k = NULL;
    fgs_result r = rig_open(&dev, &o, err);

    if (r >= 0)
        r = rig_kernel(&k, dev, FGS_ROLE_PRODUCER, NULL, FGS_ENGINE_AUTO, 0,
                       err);
    fgs_kernel_free(k);
    fgs_device_close(dev);
    assert_int_equal(fakelib_live(fake), 0);
    return r;
}

static void text_that_is_broken_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *from, *to;
        int more; /* lines between the change and where the error is */
    } rows[] = {
        { "mul.rn.f32 ", "mull.rn.f32 ", 0 },          /* unknown word   */
        { "mul.rn.f32 ", "mul.rn.u32 ", 0 },           /* wrong type     */
        { "setp.ge.u64             %p_idle, %tile",
          "setp.ge.u64             %p_idle, %tilt", 0 }, /* unknown name */
        { "@%p_idle bra            L_end;",
          "@%p_idle bra            L_nowhere;", 0 },   /* no such label  */
    };
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t line = put_changed(rows[i].from, rows[i].to);
        fgs_result r = load_producer("cuda", &err);

        if (r != FGS_E_PTX)
            print_error("row %zu: %s\n", i, err.text);
        assert_int_equal(r, FGS_E_PTX);
        assert_int_equal(err.line, line);
        assert_true(err.column > 0);
        assert_non_null(strstr(err.file, "/scale_produce.ptx"));
        assert_int_equal(fake->launches, 0);
    }
}

static void text_that_is_cut_off_is_refused(void **state)
{
    char *text = own_text();
    fgs_error err;

    (void)state;
    put_text(text, strlen(text) / 2);
    free(text);
    assert_int_equal(load_producer("sim", &err), FGS_E_PTX);
    assert_non_null(strstr(err.file, "/scale_produce.ptx"));
    assert_true(err.line > 1);
    assert_true(err.column > 0);
    put_text("", 0);
    assert_int_equal(load_producer("sim", &err), FGS_E_PTX);
}

static void text_that_is_newer_than_all_is_refused(void **state)
{
    uint32_t line = put_changed(".version 8.3", ".version 99.0");
    fgs_error err;

    (void)state;
    assert_int_equal(load_producer("sim", &err), FGS_E_PTXVERSION);
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.text, "99.0"));
}

static void text_that_breaks_its_contract_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *text;
    } rows[] = {
        { ".entry fgs_scale_produce(", ".entry fgs_scale(",
          "the text has no entry fgs_scale_produce" },
        { ".param .u64 p_out", ".param .u64 p_result",
          "parameter 3 of entry fgs_scale_produce is .u64 p_result; it must be "
          ".u64 p_out" },
        { ".param .u64 p_rec", ".param .u32 p_rec", "is .u32 p_rec" },
        { ".param .u32 p_fault_chunk",
          ".param .u32 p_fault_chunk, .param .u32 p_more", "p_more" },
        { ",\n    .param .u32 p_fault_chunk", "",
          "has 10 parameters" },
        { ".reqntid 256, 1, 1", ".reqntid 128, 1, 1", "blocks of 256 threads" },
    };
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgs_result r;

        put_changed(rows[i].from, rows[i].to);
        r = load_producer("sim", &err);
        if (r != FGS_E_CONTRACT || !strstr(err.text, rows[i].text))
            print_error("row %zu: %s\n", i, err.text);
        assert_int_equal(r, FGS_E_CONTRACT);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_true(err.line > 0);
    }
}

/* 4 x instead of 2 x, no rebuild. */
static void text_that_is_changed_takes_effect(void **state)
{
    struct rig_opts o = { .provider = "sim", .ptx_dir = dir, .tiles = 2 };
    float in = 3, out = 0;
    struct rig r;
    fgs_error err;
    fgs_kernel_info info = { .size = sizeof info };

    (void)state;
    put_changed("mul.rn.f32              %v0, %v0, 0f40000000",
                "mul.rn.f32              %v0, %v0, 0f40800000");
    RIG_OK(rig_make(&r, &o, &err), err);
    RIG_OK(fgs_kernel_get_info(r.producer, &info), err);
    assert_non_null(strstr(info.file, "/scale_produce.ptx"));
    free(rig_fill(&r, 1));
    RIG_OK(fgs_buffer_write(r.in, 0, &in, 4, &err), err);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    RIG_OK(fgs_buffer_read(r.out, 4092, &out, 4, &err), err);
    assert_true(out == 12);
    rig_free(&r);
}

static void attribute_is_set_on_the_consumer_alone(void **state)
{
    struct rig_opts o = { .provider = "cuda", .tiles = 2 };
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 4, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(fake->launches, 3 * 4);
    assert_int_equal(fake->pdl_launches, 4);
    assert_int_equal(fake->pdl_last, 3 * 4);
    rig_free(&r);
}

/* Without griddepcontrol.wait nothing would order the consumer's end. */
static void attribute_is_left_out_without_a_wait_in_the_text(void **state)
{
    struct rig_opts o = { .provider = "cuda", .ptx_dir = dir, .tiles = 2 };
    fgs_receipt c;
    struct rig r;
    fgs_error err;

    (void)state;
    put_changed("griddepcontrol.launch_dependents;", "");
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    c = rig_receipt(&r);
    assert_int_equal(c.pdl, 0);
    assert_string_equal(c.pdl_why,
                        "left out: fgs_scale_produce does not execute "
                        "griddepcontrol.launch_dependents");
    assert_int_equal(fake->launches, 3);
    assert_int_equal(fake->pdl_launches, 0);
    rig_free(&r);
}

/* ----------------------------------------------------------- assemblers -- */

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
                                 "bulk_consume: <bulk_consume.ptx> is PTX 9.3: "
                                 "the driver (13.0) takes PTX up to 9.0, no "
                                 "nvJitLink: hidden by FGS_NVJITLINK=none"));
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
    assert_non_null(strstr(err.text, "cuModuleGetFunction: not in this driver"));
}

/* ------------------------------------------------------- API, handles -- */

static void kernel_tells_what_it_is(void **state)
{
    struct rig_opts o = { .provider = "sim" };
    fgs_kernel_info info = { .size = sizeof info };
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_parts(&r, &o, &err), err);
    RIG_OK(fgs_kernel_get_info(r.consumer, &info), err);
    assert_string_equal(info.stem, "report_consume");
    assert_string_equal(info.entry, "fgs_report_consume");
    assert_string_equal(info.file, "<report_consume.ptx>");
    assert_string_equal(info.assembled_by, "sim");
    assert_int_equal(info.engine, FGS_ENGINE_REPORT);
    assert_int_equal(info.ptx_version, 94);
    assert_string_equal(info.ptx_target, "sm_107a");
    assert_int_equal(info.waits, 1);
    assert_int_equal(info.triggers, 0);
    RIG_OK(fgs_kernel_get_info(r.producer, &info), err);
    assert_int_equal(info.waits, 0);
    assert_int_equal(info.triggers, 1);
    assert_non_null(strstr(fgs_kernel_get_ptx(r.producer),
                           ".visible .entry fgs_scale_produce"));
    assert_non_null(fgs_kernel_get_function(r.producer));
    assert_int_equal(fgs_kernel_get_info(r.producer, NULL), FGS_E_NULL);
    info.size = 0;
    assert_int_equal(fgs_kernel_get_info(r.producer, &info), FGS_E_INVAL);
    rig_free(&r);
}

static void description_that_is_wrong_is_refused(void **state)
{
    static const struct {
        fgs_kernel_desc d;
        fgs_result want;
        const char *text;
    } rows[] = {
        { { .role = 0 }, FGS_E_INVAL, "0 is no role" },
        { { .role = 9 }, FGS_E_INVAL, "9 is no role" },
        { { .role = FGS_ROLE_CONSUMER, .engine = FGS_ENGINE_COUNT },
          FGS_E_INVAL, "is no engine" },
        { { .role = FGS_ROLE_INIT, .engine = FGS_ENGINE_POLL }, FGS_E_INVAL,
          "only a consumer has an engine" },
        { { .role = FGS_ROLE_CONSUMER, .engine = FGS_ENGINE_POLL, .weak = 1 },
          FGS_E_INVAL, "engine poll has no weak form" },
        { { .role = FGS_ROLE_CONSUMER, .engine = FGS_ENGINE_BULK, .weak = 1,
            .stem = "bulk_consume" },
          FGS_E_INVAL, "give one" },
        { { .role = FGS_ROLE_INIT, .element = FGS_ELEMENT_COUNT }, FGS_E_INVAL,
          "is no element type" },
        { { .role = FGS_ROLE_INIT, .element = FGS_ELEMENT_F16 },
          FGS_E_UNSUPPORTED, "f16" },
        { { .role = FGS_ROLE_PRODUCER, .stem = "no_such_text" }, FGS_E_INVAL,
          "no_such_text" },
        { { .role = FGS_ROLE_CONSUMER, .stem = "my_consume" }, FGS_E_INVAL,
          "name the engine" },
    };
    struct rig_opts o = { .provider = "sim" };
    fgs_device *dev = NULL;
    fgs_kernel *k;
    fgs_error err;

    (void)state;
    RIG_OK(rig_open(&dev, &o, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fgs_kernel_desc d = rows[i].d;
        fgs_result r;

        d.size = sizeof d;
        k = (fgs_kernel *)16;
        r = fgs_kernel_make(&k, dev, &d, &err);
        if (r != rows[i].want || !strstr(err.text, rows[i].text))
            print_error("row %zu: %s\n", i, err.text);
        assert_int_equal(r, rows[i].want);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_null(k);
    }
    assert_int_equal(fgs_kernel_make(NULL, dev, &rows[0].d, &err), FGS_E_NULL);
    assert_int_equal(fgs_kernel_make(&k, dev, NULL, &err), FGS_E_NULL);
    assert_int_equal(fgs_kernel_make(&k, NULL, &rows[0].d, &err), FGS_E_NULL);
    assert_int_equal(fgs_kernel_make(&k, dev, &rows[0].d, &err), FGS_E_INVAL);
    fgs_device_close(dev);
}

static void freed_kernel_is_known_as_freed(void **state)
{
    struct rig_opts o = { .provider = "sim" };
    fgs_kernel_info info = { .size = sizeof info };
    fgs_plan_desc d;
    fgs_kernel *old;
    fgs_plan *plan = NULL;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_parts(&r, &o, &err), err);
    d = rig_desc(&r, &o);
    old = r.init;
    fgs_kernel_free(r.init);
    r.init = NULL;
    assert_int_equal(fgs_kernel_get_info(old, &info), FGS_E_FREED);
    assert_null(fgs_kernel_get_ptx(old));
    assert_null(fgs_kernel_get_function(old));
    assert_int_equal(fgs_plan_make(&plan, r.dev, &d, &err), FGS_E_FREED);
    assert_non_null(strstr(err.text, "fgs_plan_desc.init"));
    fgs_kernel_free(old);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)
        TEST(text_that_is_broken_is_refused_with_its_place),
        TEST(text_that_is_cut_off_is_refused),
        TEST(text_that_is_newer_than_all_is_refused),
        TEST(text_that_breaks_its_contract_is_refused),
        TEST(text_that_is_changed_takes_effect),
        TEST(attribute_is_set_on_the_consumer_alone),
        TEST(attribute_is_left_out_without_a_wait_in_the_text),
        TEST(strong_copy_goes_through_nvjitlink),
        TEST(weak_copy_is_taken_where_nobody_takes_the_strong_one),
        TEST(weak_copy_on_request_needs_no_excuse),
        TEST(linker_that_is_too_old_is_named_with_its_version),
        TEST(linker_that_was_asked_for_is_an_error_when_needed),
        TEST(auto_says_what_was_refused),
        TEST(engine_that_was_named_is_not_replaced),
        TEST(driver_s_log_line_is_a_line_of_the_text),
        TEST(missing_entry_point_is_named_before_loading),
        TEST(kernel_tells_what_it_is),
        TEST(description_that_is_wrong_is_refused),
        TEST(freed_kernel_is_known_as_freed),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
