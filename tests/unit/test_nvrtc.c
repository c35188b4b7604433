/* test_nvrtc.c -- CUDA C++ by NVRTC: found, compiled, refused, absent */
#include "counting.h"
#include "cuda/nvrtc.h"
#include "rtc.h"

static const char good[] = "extern \"C\" __global__ void f(int *p)\n"
                           "{ *p = VALUE; }\n";

static const char *const value[] = { "-DVALUE=7" };

static struct fgs__nvrtc_job job_of(const char *text)
{
    return (struct fgs__nvrtc_job){ .file = "n.cu", .text = text,
                                    .option = value, .options = 1,
                                    .target = "compute_90" };
}

static fgs_result compile(const struct fgs__nvrtc_job *j,
                          struct fgs__nvrtc_out *out, fgs_error *err)
{
    struct fgs__nvrtc n;

    fgs__nvrtc_open(&n);
    return fgs__nvrtc_compile(&n, j, &fgs__malloc, out, err);
}

static fgs_result refusal(const char *text, fgs_error *err)
{
    struct fgs__nvrtc_job j = job_of(text);
    struct fgs__nvrtc_out out;
    fgs_result r = compile(&j, &out, err);

    assert_null(out.text);
    fgs__nvrtc_free(&out, &fgs__malloc);
    return r;
}

/* ---------------------------------------------------------------- found -- */

static void nvrtc_can_be_hidden(void **state)
{
    fgs_error err;

    (void)state;
    setenv("FGS_NVRTC", "none", 1);
    assert_int_equal(refusal(good, &err), FGS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "n.cu"));
    assert_non_null(strstr(err.text, "hidden by FGS_NVRTC=none"));
    assert_non_null(strstr(err.text, "the kernels in PTX need none"));
}

static void nvrtc_that_is_asked_for_and_missing_is_named(void **state)
{
    fgs_error err;

    (void)state;
    setenv("FGS_NVRTC", "/nowhere/libnvrtc.so", 1);
    assert_int_equal(refusal(good, &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "FGS_NVRTC: /nowhere/libnvrtc.so"));
}

static void library_that_is_no_nvrtc_is_told_apart(void **state)
{
    struct fgs__nvrtc n;

    (void)state;
    setenv("FGS_NVRTC", "libm.so.6", 1);
    fgs__nvrtc_open(&n);
    assert_false(n.lib.found);
    assert_string_equal(n.lib.why, "libm.so.6: no nvrtcCreateProgram in it");
}

static void nvrtc_has_version_and_build(void **state)
{
    struct fgs__nvrtc n;
    char name[24];

    (void)state;
    rtc_fake()->major = 12;
    fgs__nvrtc_open(&n);
    assert_true(n.lib.found);
    assert_int_equal(n.lib.version, 120);
    assert_true(strlen(n.lib.build) > 0);
    assert_string_equal(fgs__nvrtc_name(&n, name), "NVRTC 12.0");
}

/* --------------------------------------------------------------- passes -- */

static void job_arrives_whole(void **state)
{
    static const char *const text[] = { "int a;", "int b;" };
    static const char *const name[] = { "a.h", "fgs/b.cuh" };
    struct fakertc *fake = rtc_fake();
    struct fgs__nvrtc_job j = job_of(good);
    struct fgs__nvrtc_out out;
    fgs_error err;

    (void)state;
    j.header = text;
    j.include = name;
    j.headers = 2;
    fake->log = "n.cu(1): warning #177-D: unused\n";
    assert_int_equal(compile(&j, &out, &err), FGS_OK);
    assert_string_equal(out.text, "// n.cu for compute_90\n");
    assert_int_equal(out.len, strlen(out.text));
    assert_string_equal(out.log, fake->log);
    assert_string_equal(fake->headers, "a.h=\nint a;\nfgs/b.cuh=\nint b;\n");
    assert_string_equal(fake->options, "-DVALUE=7\n--std=c++17\n"
                                       "--gpu-architecture=compute_90\n");
    fgs__nvrtc_free(&out, &fgs__malloc);
    assert_int_equal(fake->live, 0);
    assert_int_equal(fake->compiled, 1);
}

static void real_nvrtc_makes_ptx(void **state)
{
    struct fgs__nvrtc_job j = job_of(good);
    struct fgs__nvrtc_out out;
    fgs_error err;

    (void)state;
    rtc_real();
    assert_int_equal(compile(&j, &out, &err), FGS_OK);
    assert_null(out.log);
    assert_non_null(strstr(out.text, ".target sm_90"));
    assert_non_null(strstr(out.text, ".entry f("));
    assert_non_null(strstr(out.text, ", 7;"));
    fgs__nvrtc_free(&out, &fgs__malloc);
}

/* -------------------------------------------------------------- refusals -- */

static void real_refusals_have_their_place(void **state)
{
    fgs_error err;

    (void)state;
    rtc_real();
    assert_int_equal(refusal("/* */\nextern \"C\" __global__ void f(int *p)\n"
                             "{\n\tint q = 0; \n   *p = zork + 1;\n}\n", &err),
                     FGS_E_COMPILE);
    assert_string_equal(err.file, "n.cu");
    assert_int_equal(err.line, 5);
    assert_int_equal(err.column, 9);
    assert_non_null(strstr(err.text, "n.cu:5:9"));
    assert_non_null(strstr(err.text, "identifier \"zork\" is undefined"));
    assert_non_null(strstr(err.text, "for compute_90"));

    assert_int_equal(refusal("#include <nope.h>\n", &err), FGS_E_COMPILE);
    assert_int_equal(err.line, 1);
    assert_non_null(strstr(err.text, "nope.h"));
}

static void real_refusal_in_a_header_names_the_header(void **state)
{
    static const char *const text[] = { "//\n\n __device__ int z = ;\n" };
    static const char *const name[] = { "fgs/b.cuh" };
    struct fgs__nvrtc_job j = job_of("#include <fgs/b.cuh>\n");
    struct fgs__nvrtc_out out;
    fgs_error err;

    (void)state;
    rtc_real();
    j.header = text;
    j.include = name;
    j.headers = 1;
    assert_int_equal(compile(&j, &out, &err), FGS_E_COMPILE);
    assert_string_equal(err.file, "fgs/b.cuh");
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 21);
    fgs__nvrtc_free(&out, &fgs__malloc);
}

static void refusal_without_a_line_has_the_logs_words(void **state)
{
    struct fgs__nvrtc_job j = job_of(good);
    struct fgs__nvrtc_out out;
    fgs_error err;

    (void)state;
    rtc_real();
    j.target = "compute_999";
    assert_int_equal(compile(&j, &out, &err), FGS_E_COMPILE);
    assert_int_equal(err.line, 0);
    assert_non_null(strstr(err.text, "NVRTC_ERROR_INVALID_OPTION"));
    assert_non_null(strstr(err.text, "--gpu-architecture"));
    fgs__nvrtc_free(&out, &fgs__malloc);
}

/* What the library of 13.4 writes, but for the made-up ones. */
static void logs_are_read(void **state)
{
    static const struct {
        const char *log, *file;
        uint32_t line, column;
        const char *text;
    } row[] = {
        { "n.cu(2): warning #177-D: variable \"q\" was declared\n  int q;\n"
          "      ^\n\nn.cu(12): error: expected a \";\"\n  int q\n      ^\n",
          "n.cu", 12, 5, "expected a \";\"" },
        { "/x y/(1)/k.cu(7): catastrophic error: no such file\n  x\n  ^\n",
          "/x y/(1)/k.cu", 7, 1, "no such file" },
        { "<a.cu>(3): error #20-D: undefined\n", "<a.cu>", 3, 0, "undefined" },
        { "a(3): error: cut", "a", 3, 0, "cut" },
        { "a(3): error: cut\n  \tx", "a", 3, 0, "cut" },
        { "a(3): error: cut\n  \tx\n  \t^", "a", 3, 2, "cut" },
        { "a(3): error", "", 0, 0, "" },
        { "a(3): errors: 4", "", 0, 0, "" },
        { "a(): error: 4", "", 0, 0, "" },
        { "nvrtc: error: invalid value\n", "", 0, 0, "" },
        { "a(1): note: an error: here\nb(2): error: this\n", "b", 2, 0,
          "this" },
        { "", "", 0, 0, "" },
        { "(", "", 0, 0, "" },
    };
    struct fgs__nvrtc_place at;

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(fgs__nvrtc_log_place(row[i].log, &at),
                         row[i].line > 0);
        assert_string_equal(at.file, row[i].file);
        assert_int_equal(at.line, row[i].line);
        assert_int_equal(at.column, row[i].column);
        assert_string_equal(at.text, row[i].text);
    }
}

static void each_failing_call_is_an_error_and_loses_nothing(void **state)
{
    static const enum fakertc_call call[] = {
        FAKERTC_CREATE, FAKERTC_COMPILE, FAKERTC_PTX_SIZE, FAKERTC_PTX
    };
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        for (int code = 2; code < 12; code++) {
            struct fakertc *fake = rtc_fake();

            fake->fails = call[i];
            fake->code = code;
            assert_int_equal(refusal(good, &err), FGS_E_COMPILE);
            assert_non_null(strstr(err.text, code > 7 ? "no name"
                                                      : "NVRTC_ERROR_"));
            assert_int_equal(fake->live, 0);
        }
    }
    for (enum fakertc_call c = FAKERTC_CREATE; c <= FAKERTC_COMPILE; c++) {
        struct fakertc *fake = rtc_fake();

        fake->fails = c;
        fake->code = 1;
        assert_int_equal(refusal(good, &err), FGS_E_NOMEM);
        assert_int_equal(fake->live, 0);
    }
}

/* The log is a help, not a need. */
static void failing_log_hides_no_result(void **state)
{
    (void)state;
    for (enum fakertc_call c = FAKERTC_LOG_SIZE; c <= FAKERTC_DESTROY; c++) {
        struct fakertc *fake = rtc_fake();
        struct fgs__nvrtc_job j = job_of(good);
        struct fgs__nvrtc_out out;

        fake->fails = c;
        fake->code = 4;
        fake->log = "something";
        assert_int_equal(compile(&j, &out, NULL), FGS_OK);
        assert_int_equal(out.log != NULL, c == FAKERTC_DESTROY);
        fgs__nvrtc_free(&out, &fgs__malloc);
        assert_int_equal(fake->live, 0);
    }
}

static void empty_ptx_is_refused(void **state)
{
    fgs_error err;

    (void)state;
    rtc_fake()->ptx = "";
    assert_int_equal(refusal(good, &err), FGS_E_COMPILE);
    assert_non_null(strstr(err.text, "no PTX came of it"));
}

static void job_of_too_many_parts_is_refused(void **state)
{
    struct fgs__nvrtc_job j = job_of(good);
    struct fgs__nvrtc_out out;

    (void)state;
    rtc_fake();
    j.options = FGS__NVRTC_OPTIONS + 1;
    assert_int_equal(compile(&j, &out, NULL), FGS_E_SIZE);
    j = job_of(good);
    j.headers = FGS__NVRTC_HEADERS + 1;
    assert_int_equal(compile(&j, &out, NULL), FGS_E_SIZE);
}

static void every_failing_allocation_is_nomem(void **state)
{
    struct fakertc *fake = rtc_fake();
    struct fgs__nvrtc_job j = job_of(good);
    struct counting c = { .at = 1 };
    fgs_allocator a = counting_allocator(&c);
    struct fgs__nvrtc_out out;
    struct fgs__nvrtc n;
    fgs_result r;

    (void)state;
    fake->log = "a warning";
    fgs__nvrtc_open(&n);
    while ((r = fgs__nvrtc_compile(&n, &j, &a, &out, NULL)) == FGS_E_NOMEM) {
        fgs__nvrtc_free(&out, &a);
        assert_int_equal(c.live, 0);
        assert_int_equal(fake->live, 0);
        c.calls = 0;
        c.at++;
    }
    assert_int_equal(r, FGS_OK);
    assert_int_equal(c.at, 3); /* the log, the PTX */
    fgs__nvrtc_free(&out, &a);
    assert_int_equal(c.live, 0);
}

/* --------------------------------------------------------- read files -- */

static void texts_that_read_files_are_known(void **state)
{
    static const char *const name[] = { "fgs/a.cuh" };
    static const struct {
        const char *text, *header;
        int reads;
    } row[] = {
        { "int a;\n", "", 0 },
        { "// includes nothing\n#pragma once // include guard\n", "", 0 },
        { "#include <fgs/a.cuh>\n", "", 0 },
        { "#include \"fgs/a.cuh\"\n", "", 0 },
        { "  # /* x */ include /* y */ <fgs/a.cuh>\n", "", 1 }, /* in doubt */
        { "#include <fgs/b.cuh>\n", "", 1 },
        { "#include \"fgs/a.cuh2\"\n", "", 1 },
        { "#include \"fgs/a.cu\"\n", "", 1 },
        { "#include WHAT\n", "", 1 },
        { "#include", "", 1 },
        { "#\\\ninclude \"b\"\n", "", 1 },
        { "#inc\\\r\nlude \"b\"\n", "", 1 },
        { "%: include \"b\"\n", "", 1 },
        { "# /* x */ include \"b\"\n", "", 1 },
        { "#if __has_include(<b>)\n#endif\n", "", 1 },
        { "#if __has_include(<fgs/a.cuh>)\n#endif\n", "", 0 },
        { "#if __has_builtin(x)\n#endif\n", "", 0 },
        { "#embed \"b\"\n", "", 1 },
        { "int a;\n", "#include \"b\"\n", 1 },
        { "# /*", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fgs__nvrtc_job j = job_of(row[i].text);

        j.header = &row[i].header;
        j.include = name;
        j.headers = 1;
        if (fgs__nvrtc_reads_files(&j) != row[i].reads)
            fail_msg("row %zu: %s", i, row[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvrtc_can_be_hidden),
        cmocka_unit_test(nvrtc_that_is_asked_for_and_missing_is_named),
        cmocka_unit_test(library_that_is_no_nvrtc_is_told_apart),
        cmocka_unit_test(nvrtc_has_version_and_build),
        cmocka_unit_test(job_arrives_whole),
        cmocka_unit_test(real_nvrtc_makes_ptx),
        cmocka_unit_test(real_refusals_have_their_place),
        cmocka_unit_test(real_refusal_in_a_header_names_the_header),
        cmocka_unit_test(refusal_without_a_line_has_the_logs_words),
        cmocka_unit_test(logs_are_read),
        cmocka_unit_test(each_failing_call_is_an_error_and_loses_nothing),
        cmocka_unit_test(failing_log_hides_no_result),
        cmocka_unit_test(empty_ptx_is_refused),
        cmocka_unit_test(job_of_too_many_parts_is_refused),
        cmocka_unit_test(every_failing_allocation_is_nomem),
        cmocka_unit_test(texts_that_read_files_are_known),
    };

    return cmocka_run_group_tests_name("nvrtc", tests, NULL, NULL);
}
