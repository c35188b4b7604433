/* test_ptx_lex.c -- tokens, their places and values */
#include "base/compat.h"
#include "ptx/lex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct fgs__lex lx;

static struct fgs__tok first(const char *text)
{
    struct fgs__tok t;

    fgs__lex_init(&lx, text, strlen(text));
    fgs__lex_next(&lx, &t);
    return t;
}

static void is_text(const struct fgs__tok *t, int kind, const char *s)
{
    assert_int_equal(t->kind, kind);
    assert_int_equal(t->n, strlen(s));
    assert_memory_equal(t->s, s, t->n);
}

static void names_hold_percent_dollar_and_underscore(void **state)
{
    static const char *const names[] = {
        "%tid", "a$b", "_a", "$L__BB0_2", "%_y", "%r12", "x", "WARP_SZ", "_0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct fgs__tok t = first(names[i]);

        is_text(&t, FGS__TOK_NAME, names[i]);
        assert_int_equal(t.hash, fgs__hash_more(FGS__HASH_START, names[i],
                                                strlen(names[i])));
    }
    assert_int_equal(first("_ ").kind, '_');
    assert_int_equal(first("$").kind, FGS__TOK_ERROR);
    assert_int_equal(first("% ").kind, '%');
}

static void words_hold_their_colon_parts(void **state)
{
    static const char report[] =
        ".mbarrier::report::validity::per_16bytes::80000000";
    struct fgs__tok t = first(report);

    (void)state;
    is_text(&t, FGS__TOK_WORD, report + 1);
    t = first(".shared::cta.b64");
    is_text(&t, FGS__TOK_WORD, "shared::cta");
    fgs__lex_next(&lx, &t);
    is_text(&t, FGS__TOK_WORD, "b64");
    t = first(".1d");
    is_text(&t, FGS__TOK_WORD, "1d");
    assert_int_equal(first(".").kind, FGS__TOK_ERROR);
    assert_int_equal(first(". u32").kind, FGS__TOK_ERROR);
}

static void integers_have_four_bases(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
        bool is_unsigned;
    } list[] = {
        { "0", 0, false }, { "12", 12, false }, { "017", 15, false },
        { "0x1f", 31, false }, { "0X1FU", 31, true }, { "0b101", 5, false },
        { "9223372036854775807", INT64_MAX, false },
        { "18446744073709551615", UINT64_MAX, true },
        { "0xffffffffffffffff", UINT64_MAX, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct fgs__tok t = first(list[i].text);

        assert_int_equal(t.kind, FGS__TOK_INT);
        assert_true(t.value == list[i].value);
        assert_int_equal(t.is_unsigned, list[i].is_unsigned);
    }
}

static void floats_are_bits(void **state)
{
    static const struct {
        const char *text;
        int kind;
        uint64_t bits;
    } list[] = {
        { "0f3F800000", FGS__TOK_F32, 0x3F800000u },
        { "0FfF800000", FGS__TOK_F32, 0xFF800000u },
        { "0d3FF0000000000000", FGS__TOK_F64, 0x3FF0000000000000u },
        { "1.0", FGS__TOK_F64, 0x3FF0000000000000u },
        { "5.", FGS__TOK_F64, 0x4014000000000000u },
        { ".5", FGS__TOK_F64, 0x3FE0000000000000u },
        { "1e3", FGS__TOK_F64, 0x408F400000000000u },
        { "1.5E+3", FGS__TOK_F64, 0x4097700000000000u },
        { "25e-2", FGS__TOK_F64, 0x3FD0000000000000u },
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct fgs__tok t = first(list[i].text);

        assert_int_equal(t.kind, list[i].kind);
        assert_true(t.value == list[i].bits);
    }
}

static void broken_numbers_are_errors(void **state)
{
    static const char *const list[] = {
        "0f3F80000", "0f3F8000000", "0d3FF000000000000", "018", "0b102", "12u",
        "12x", "0x", "18446744073709551616", "1.5x", "0x10000000000000000",
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        assert_int_equal(first(list[i]).kind, FGS__TOK_ERROR);
}

static void long_float_is_an_error(void **state)
{
    char text[400];

    (void)state;
    memset(text, '1', sizeof text);
    text[300] = '.';
    text[sizeof text - 1] = 0;
    assert_int_equal(first(text).kind, FGS__TOK_ERROR);
}

static void comments_and_markers_are_space(void **state)
{
    struct fgs__tok t = first("// a\n/* b\n * c */ # 7\n  # 7 \"f\"\n x");

    (void)state;
    assert_int_equal(t.kind, FGS__TOK_NAME);
    assert_int_equal(t.pos.line, 5);
    assert_int_equal(t.pos.column, 2);
    assert_int_equal(first("x # 7\n").kind, FGS__TOK_NAME);
    fgs__lex_next(&lx, &t);
    assert_int_equal(t.kind, FGS__TOK_ERROR);
    assert_int_equal(first("#define X\n").kind, FGS__TOK_ERROR);
    assert_int_equal(first("").kind, FGS__TOK_END);
    assert_int_equal(first("// x").kind, FGS__TOK_END);
}

static void open_comment_is_reported_where_it_begins(void **state)
{
    struct fgs__tok t;

    (void)state;
    (void)first("a\n  /* b\n\n");
    fgs__lex_next(&lx, &t);
    assert_int_equal(t.kind, FGS__TOK_ERROR);
    assert_int_equal(t.pos.line, 2);
    assert_int_equal(t.pos.column, 3);
    fgs__lex_next(&lx, &t);
    assert_int_equal(t.kind, FGS__TOK_END);
}

static void strings_end_on_their_line(void **state)
{
    struct fgs__tok t = first("\"a\\\"b\" x");

    (void)state;
    is_text(&t, FGS__TOK_STRING, "a\\\"b");
    fgs__lex_next(&lx, &t);
    is_text(&t, FGS__TOK_NAME, "x");
    assert_int_equal(first("\"a\n\"").kind, FGS__TOK_ERROR);
    assert_int_equal(first("\"a").kind, FGS__TOK_ERROR);
    assert_int_equal(first("\"a\\").kind, FGS__TOK_ERROR);
}

static void operators_are_the_longest(void **state)
{
    static const int kinds[] = {
        FGS__TOK_SHL, FGS__TOK_SHR, FGS__TOK_EQ, FGS__TOK_NE, FGS__TOK_LE,
        FGS__TOK_GE, FGS__TOK_LAND, FGS__TOK_LOR, '<', '|', '@', '!',
        FGS__TOK_END,
    };
    struct fgs__tok t = first("<<>>==!=<=>=&&|| < | @!");

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_int_equal(t.kind, kinds[i]);
        fgs__lex_next(&lx, &t);
    }
}

static void text_ends_at_a_nul_or_at_its_length(void **state)
{
    struct fgs__tok t;

    (void)state;
    fgs__lex_init(&lx, "ab\0cd", 5);
    fgs__lex_next(&lx, &t);
    is_text(&t, FGS__TOK_NAME, "ab");
    fgs__lex_next(&lx, &t);
    assert_int_equal(t.kind, FGS__TOK_END);
    fgs__lex_init(&lx, "abcd", 2);
    fgs__lex_next(&lx, &t);
    is_text(&t, FGS__TOK_NAME, "ab");
}

/* Every prefix in a block of its own size, so that a sanitizer sees a read
 * behind its end. */
static void every_prefix_ends_without_reading_on(void **state)
{
    static const char text[] =
        "a .b::c /* x */ 0x1F 0f3F800000 1.5e+3 \"s\\\"\" << %r.x // y\n# 1\n"
        ".5 0b1 0d3FF0000000000000 $L: != 12U @";

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = malloc(n ? n : 1);
        struct fgs__tok t;
        unsigned count = 0;

        assert_non_null(copy);
        memcpy(copy, text, n);
        fgs__lex_init(&lx, copy, n);
        do {
            fgs__lex_next(&lx, &t);
        } while (t.kind != FGS__TOK_END && ++count < 1000);
        assert_true(count < 1000);
        free(copy);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_hold_percent_dollar_and_underscore),
        cmocka_unit_test(words_hold_their_colon_parts),
        cmocka_unit_test(integers_have_four_bases),
        cmocka_unit_test(floats_are_bits),
        cmocka_unit_test(broken_numbers_are_errors),
        cmocka_unit_test(long_float_is_an_error),
        cmocka_unit_test(comments_and_markers_are_space),
        cmocka_unit_test(open_comment_is_reported_where_it_begins),
        cmocka_unit_test(strings_end_on_their_line),
        cmocka_unit_test(operators_are_the_longest),
        cmocka_unit_test(text_ends_at_a_nul_or_at_its_length),
        cmocka_unit_test(every_prefix_ends_without_reading_on),
    };

    return cmocka_run_group_tests_name("ptx_lex", tests, NULL, NULL);
}
