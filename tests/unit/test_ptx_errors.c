/* test_ptx_errors.c -- what is said of wrong texts, and of no memory */
#include "base/compat.h"
#include "counting.h"
#include "ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void errors_are_in_text_order_and_counted(void **state)
{
    struct loaded l = load(HEAD
        ".entry k()\n{\n    bra nowhere;\n    foo;\n    add.u32 x, 1, 2;\n"
        "    mov.u32 x, 1;\n    ld.global.u32 1;\n}\n"
        ".entry l() { bar; }\n.global .u32 q = ;\n.entry m() { ret ret; }\n");
    static const uint32_t lines[] = { 7, 8, 9, 11, 13, 14, 15 };

    (void)state;
    assert_int_equal(l.r, FGS_E_PTX);
    assert_null(l.m);
    assert_int_equal(l.d.count, sizeof lines / sizeof lines[0]);
    for (uint32_t i = 0; i < l.d.count; i++)
        assert_int_equal(l.d.item[i].pos.line, lines[i]);
    assert_string_equal(l.d.item[0].text, "no label 'nowhere' in this scope");
    unload(&l);
}

/* The '}' of a list is not the body's. */
static void error_in_a_list_of_operands_is_one(void **state)
{
    struct loaded l = load(HEAD
        ".entry k()\n{\n    .reg .b32 %a;\n    .reg .b64 %d;\n"
        "    mov.b64 %d, {%a, %b};\n    mov.b64 {%a, %c}, %d;\n"
        "    mov.b64 %d, {%a, [%a};\n    mov.b64 %d, {%a, %a;\n"
        "    foo;\n}\n.entry l() { bar; }\n");
    static const uint32_t lines[] = { 9, 10, 11, 12, 13, 15 };

    (void)state;
    assert_int_equal(l.d.count, sizeof lines / sizeof lines[0]);
    for (uint32_t i = 0; i < l.d.count; i++)
        assert_int_equal(l.d.item[i].pos.line, lines[i]);
    unload(&l);
}

static void first_thirty_two_errors_are_kept(void **state)
{
    static char text[8000] = HEAD ".entry k() {\nbra late;\n";
    struct loaded l;

    (void)state;
    for (int i = 0; i < 100; i++)
        strncat(text, "foo;\n", sizeof text - strlen(text) - 1);
    strncat(text, "}", sizeof text - strlen(text) - 1);
    l = load(text);
    assert_int_equal(l.d.count, 101);
    for (uint32_t i = 0; i < FGS__PTX_DIAGS; i++)
        assert_int_equal(l.d.item[i].pos.line, 6 + i);
    unload(&l);
}

static const char whole[] = HEAD
    ".shared .b8 s[12];\n.global .u64 t[] = {1, 2, generic(t0)};\n"
    ".func (.reg .u32 r) f(.reg .u32 a) { mov.u32 r, a; }\n"
    ".entry k(.param .u64 p)\n{\n    .reg .u32 %r<100>, v;\n"
    "    .reg .u64 d; .reg .pred q;\n    .local .b8 x[4];\n"
    "    ld.param.u64 d, [p];\n    mov.u32 %r1, s;\n"
    "    { .reg .u32 %r2; mov.b64 {%r2, _}, d; @q bra L; }\n"
    "    setp.eq.u32 q|_, %r1, 5;\nL:  bar.sync 0;\n}\n";

/* Errors allocate too: a name that is missing, and its message. */
static void memory_that_ends_anywhere_is_no_leak(void **state)
{
    static char text[sizeof whole + 40];
    static const char *const t0[] = { ".global .u32 t0;", "" };

    (void)state;
    for (int n = 0; n < 2; n++) {
        struct counting c = { 0 };
        fgs_allocator a = counting_allocator(&c);
        fgs_result r = FGS_E_NOMEM;

        snprintf(text, sizeof text, "%.*s%s%s", (int)strlen(HEAD), whole, t0[n],
                 whole + strlen(HEAD));
        for (c.at = 1; r == FGS_E_NOMEM; c.at++) {
            struct fgs__ptx_module *m;
            struct fgs__ptx_diags d;

            c.calls = 0;
            fgs__ptx_diags_init(&d, &a);
            r = fgs__ptx_load(&m, text, strlen(text), &a, &d);
            assert_true(r == FGS_OK ? m != NULL : m == NULL);
            fgs__ptx_free(m);
            fgs__ptx_diags_free(&d);
            assert_int_equal(c.live, 0);
        }
        assert_int_equal(r, n ? FGS_E_PTX : FGS_OK);
        assert_true(c.at > 8);
    }
}

static void count_report(void *cookie, const char *file, uint32_t line,
                         uint32_t column, const char *text)
{
    assert_string_equal(file, "x.ptx");
    assert_true(line && column && *text);
    ++*(unsigned *)cookie;
}

static void check_reports_every_error_and_the_first(void **state)
{
    static const char text[] = HEAD ".entry k() { foo; bar.sync 99; }\n";
    unsigned count = 0;
    fgs_error e;

    (void)state;
    assert_int_equal(fgs_ptx_check("x.ptx", text, strlen(text), count_report,
                                   &count, &e), FGS_E_PTX);
    assert_int_equal(count, 2);
    assert_string_equal(e.text, "x.ptx:5:14: unknown instruction 'foo'");
    assert_string_equal(e.file, "x.ptx");
    assert_int_equal(e.line, 5);
    assert_int_equal(e.column, 14);
    assert_int_equal(fgs_ptx_check("x.ptx", HEAD, strlen(HEAD), count_report,
                                   &count, NULL), FGS_OK);
    assert_int_equal(fgs_ptx_check(NULL, text, 0, NULL, NULL, &e), FGS_E_NULL);
    assert_int_equal(fgs_ptx_check("x", NULL, 0, NULL, NULL, &e), FGS_E_NULL);
    assert_int_equal(fgs_ptx_check("x", ".version 9.9", 12, NULL, NULL, &e),
                     FGS_E_PTXVERSION);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_in_text_order_and_counted),
        cmocka_unit_test(error_in_a_list_of_operands_is_one),
        cmocka_unit_test(first_thirty_two_errors_are_kept),
        cmocka_unit_test(memory_that_ends_anywhere_is_no_leak),
        cmocka_unit_test(check_reports_every_error_and_the_first),
    };

    return cmocka_run_group_tests_name("ptx_errors", tests, NULL, NULL);
}
