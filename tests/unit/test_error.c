/* test_error.c -- results as text, and the caller's error detail */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void result_has_name_and_sentence(void **state)
{
    (void)state;
    assert_string_equal(fgs_result_name(FGS_OK), "FGS_OK");
    assert_string_equal(fgs_result_name(FGS_E_LEAK), "FGS_E_LEAK");
    assert_string_equal(fgs_strerror(FGS_E_NOMEM), "out of host memory");
    assert_int_equal(FGS_E_LEAK, -20);
}

static void result_is_named_unknown_when_there_is_no_row(void **state)
{
    (void)state;
    assert_string_equal(fgs_result_name((fgs_result)12345), "FGS_?");
    assert_string_equal(fgs_strerror((fgs_result)12345), "unknown result");
}

static void version_matches_the_header(void **state)
{
    (void)state;
    assert_int_equal(fgs_version(), FGS_VERSION);
}

static void detail_is_replaced_as_a_whole(void **state)
{
    fgs_error err;

    (void)state;
    memset(&err, 0xff, sizeof err);
    assert_int_equal(fgs__fail(&err, FGS_E_SIZE, "tile %d", 7), FGS_E_SIZE);
    assert_int_equal(err.result, FGS_E_SIZE);
    assert_string_equal(err.name, "FGS_E_SIZE");
    assert_string_equal(err.text, "tile 7");
    assert_string_equal(err.file, "");
    assert_string_equal(err.kernel, "");
    assert_int_equal(err.line, 0);
    assert_int_equal(err.driver, 0);
}

static void detail_is_optional(void **state)
{
    (void)state;
    assert_int_equal(fgs__fail(NULL, FGS_E_SIZE, "x"), FGS_E_SIZE);
    assert_int_equal(fgs__fail_at(NULL, FGS_E_PTX, "f", 1, 2, "x"), FGS_E_PTX);
    assert_int_equal(fgs__nomem(NULL), FGS_E_NOMEM);
}

static void detail_names_the_place_in_a_file(void **state)
{
    fgs_error err;

    (void)state;
    fgs__fail_at(&err, FGS_E_PTX, "a.ptx", 12, 5, "unknown %s", "word");
    assert_string_equal(err.text, "a.ptx:12:5: unknown word");
    assert_string_equal(err.file, "a.ptx");
    assert_int_equal(err.line, 12);
    assert_int_equal(err.column, 5);
}

static void long_text_is_cut_and_ends_with_nul(void **state)
{
    static char text[5000];
    fgs_error err;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    fgs__fail(&err, FGS_E_INVAL, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    fgs__fail_at(&err, FGS_E_PTX, text, 1, 1, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
}

/* A program built with a newer header hands in a longer struct. */
static void longer_options_pass_only_while_the_rest_is_zero(void **state)
{
    struct {
        size_t size;
        char known[8], newer[8];
    } o = { 0 };
    fgs_error err;

    (void)state;
    assert_int_equal(fgs__check_size(&err, "o", &o, sizeof o, 16, 16), FGS_OK);
    o.newer[3] = 1;
    assert_int_equal(fgs__check_size(&err, "o", &o, sizeof o, 16, 16),
                     FGS_E_ABI);
    assert_non_null(strstr(err.text, "byte 19"));
    assert_int_equal(fgs__check_size(&err, "o", &o, 16, 16, 16), FGS_OK);
    assert_int_equal(fgs__check_size(&err, "o", &o, 15, 16, 16), FGS_E_INVAL);
    assert_int_equal(fgs__check_size(&err, "o", &o, 0, 16, 16), FGS_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_has_name_and_sentence),
        cmocka_unit_test(result_is_named_unknown_when_there_is_no_row),
        cmocka_unit_test(version_matches_the_header),
        cmocka_unit_test(detail_is_replaced_as_a_whole),
        cmocka_unit_test(detail_is_optional),
        cmocka_unit_test(detail_names_the_place_in_a_file),
        cmocka_unit_test(long_text_is_cut_and_ends_with_nul),
        cmocka_unit_test(longer_options_pass_only_while_the_rest_is_zero),
    };

    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
