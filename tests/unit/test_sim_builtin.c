/* test_sim_builtin.c -- what vprintf and __assertfail write, and when */
#include "ptx_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

static char caught[1 << 16];

/* Everything that the run writes to a file descriptor. */
static CUresult run_caught(struct ptx_run *r, int fd)
{
    FILE *f = tmpfile();
    int kept = dup(fd);
    CUresult cu;

    assert_non_null(f);
    fflush(stdout);
    dup2(fileno(f), fd);
    cu = ptx_run(r);
    fflush(stdout);
    fflush(stderr);
    dup2(kept, fd);
    close(kept);
    rewind(f);
    caught[fread(caught, 1, sizeof caught - 1, f)] = 0;
    fclose(f);
    return cu;
}

/* The format in bytes, and one argument of 8 bytes. */
static CUresult print(const char *format, const char *arg)
{
    static char vars[4000], body[1000];
    struct ptx_run r = { .vars = vars, .body = body };
    size_t n = 0;

    n += (size_t)snprintf(vars, sizeof vars,
                          ".extern .func (.param .b32 r) vprintf(.param .b64 f,"
                          " .param .b64 a);\n.global .b8 g_word[4] = {97, 98, "
                          "99, 0};\n.global .b8 g_text[%zu] = {",
                          strlen(format) + 1);
    for (const char *c = format; *c; c++)
        n += (size_t)snprintf(vars + n, sizeof vars - n, "%d, ", *c);
    snprintf(vars + n, sizeof vars - n, "0};\n");
    snprintf(body, sizeof body,
             ".local .align 8 .b8 l_args[32];\nmov.u64 %%d1, l_args;\n"
             "cvta.local.u64 %%d1, %%d1;\nmov.u64 %%d2, g_text;\n%s\n"
             "call (%%r0), vprintf, (%%d2, %%d1);", arg);
    return run_caught(&r, STDOUT_FILENO);
}

static void vprintf_writes_what_the_format_says(void **state)
{
#define INT(v)  "mov.u32 %r1, " v "; st.local.u32 [l_args], %r1;"
#define LONG(v) "mov.u64 %d3, " v "; st.local.u64 [l_args], %d3;"
#define REAL(v) "mov.f64 %g1, " v "; st.local.f64 [l_args], %g1;"
    static const struct {
        const char *format, *arg, *out;
    } list[] = {
        { "plain\n", "", "plain\n" },
        { "100%%", "", "100%" },
        { "%d", INT("-5"), "-5" },
        { "%i|", INT("7"), "7|" },
        { "%u", INT("0xFFFFFFFF"), "4294967295" },
        { "%5d|%", INT("42"), "   42|%" },
        { "%-5d|", INT("42"), "42   |" },
        { "%05d", INT("-42"), "-0042" },
        { "%+d", INT("3"), "+3" },
        { "% d", INT("3"), " 3" },
        { "%.3d", INT("5"), "005" },
        { "%hd", INT("65535"), "-1" },
        { "%hhu", INT("257"), "1" },
        { "%x %%", INT("0xAB"), "ab %" },
        { "%#X", INT("0xAB"), "0XAB" },
        { "%o", INT("8"), "10" },
        { "%ld", LONG("-1234567890123"), "-1234567890123" },
        { "%llx", LONG("0x123456789ABCDEF0"), "123456789abcdef0" },
        { "%zu", LONG("0x100000000"), "4294967296" },
        { "%f", REAL("0.5"), "0.500000" },
        { "%8.2f|", REAL("3.14159"), "    3.14|" },
        { "%e", REAL("12345.0"), "1.234500e+04" },
        { "%G", REAL("1e-10"), "1E-10" },
        { "%a", REAL("1.0"), "0x1p+0" },
        { "%c", INT("65"), "A" },
        { "%3c|", INT("65"), "  A|" },
        { "%s", LONG("g_word"), "abc" },
        { "%-5s|", LONG("g_word"), "abc  |" },
        { "%.2s", LONG("g_word"), "ab" },
        { "%s", LONG("0"), "(null)" },
        { "%p", LONG("0x1234"), "0x1234" },
        { "%*d", INT("4") "st.local.u32 [l_args+4], 9;", "   9" },
        { "%d %ld", INT("1") "st.local.u64 [l_args+8], 2;", "1 2" },
        { "%y", "", "%y" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        assert_int_equal(print(list[k].format, list[k].arg), CUDA_SUCCESS);
        assert_string_equal(caught, list[k].out);
    }
}

static void vprintf_faults_at_a_bad_string(void **state)
{
    (void)state;
    assert_int_equal(print("%s", LONG("8")), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_string_equal(caught, "");
}

static void full_buffer_loses_its_oldest_texts(void **state)
{
    struct ptx_run r = {
        .vars = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param "
                ".b64 a);\n.global .b8 g_text[8] = {37, 54, 100, 10, 0};",
        .body = ".local .align 8 .b8 l_args[8];\nmov.u64 %d1, l_args;\n"
                "cvta.local.u64 %d1, %d1;\nmov.u64 %d2, g_text;\n"
                "mov.u32 %r1, 0;\nL: st.local.u32 [l_args], %r1;\n"
                "call (%r0), vprintf, (%d2, %d1);\nadd.u32 %r1, %r1, 1;\n"
                "setp.lt.u32 %p1, %r1, 100000;\n@%p1 bra L;",
    };

    (void)state;
    assert_int_equal(run_caught(&r, STDOUT_FILENO), CUDA_SUCCESS);
    /* 1 MiB of 7 bytes and 8 of their heads each: the first ones are gone. */
    assert_int_equal(strtol(caught, NULL, 10), 100000 - (1 << 20) / 15);
}

static void assertfail_writes_place_and_text(void **state)
{
    struct ptx_run r = {
        .vars = ".extern .func __assertfail(.param .b64 t, .param .b64 f, "
                ".param .b32 l, .param .b64 n, .param .b64 c);\n"
                ".global .b8 g_text[4] = {120, 60, 51, 0};\n"
                ".global .b8 g_file[4] = {97, 46, 99, 0};\n"
                ".global .b8 g_func[2] = {107, 0};",
        .body = "mov.u64 %d1, g_text;\nmov.u64 %d2, g_file;\n"
                "mov.u64 %d3, g_func;\nsetp.eq.u32 %p1, %t, 33;\n"
                "@%p1 call __assertfail, (%d1, %d2, 12, %d3, 1);",
        .threads = 64,
    };

    (void)state;
    assert_int_equal(run_caught(&r, STDERR_FILENO), CUDA_ERROR_ASSERT);
    assert_string_equal(caught, "a.c:12: k: block: [0,0,0], thread: [33,0,0] "
                                "Assertion `x<3` failed.\n");
}

static void unknown_function_is_refused_by_name(void **state)
{
    struct ptx_run r = { .vars = ".extern .func nope;", .body = "call nope;",
                         .quiet = true };

    (void)state;
    assert_int_equal(ptx_run(&r), CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(r.log, "Unresolved extern function 'nope'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vprintf_writes_what_the_format_says),
        cmocka_unit_test(vprintf_faults_at_a_bad_string),
        cmocka_unit_test(full_buffer_loses_its_oldest_texts),
        cmocka_unit_test(assertfail_writes_place_and_text),
        cmocka_unit_test(unknown_function_is_refused_by_name),
    };

    return cmocka_run_group_tests_name("sim_builtin", tests, NULL, NULL);
}
