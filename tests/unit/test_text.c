/* test_text.c -- kernel texts: tokens, rows of the table, public calls */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "text/embed.h"
#include "text/text.h"

/* ------------------------------------------------------------- expand -- */

static const struct fgs__var vars[] = {
    { "A", "one" }, { "AB", "two" }, { "A_1", "" }, { "IF", "// " },
};

static fgs_result expand(const char *src, size_t len, char **out, size_t *n,
                         fgs_error *err)
{
    return fgs__text_expand(out, n, src, len, vars, 4, "f.ptx.in", &fgs__malloc,
                            err);
}

static void expand_replaces_tokens_and_nothing_else(void **state)
{
    static const char *const row[][2] = {
        { "", "" },
        { "no token", "no token" },
        { "@A@", "one" },
        { "@A@@AB@", "onetwo" },
        { "x@AB@y@A_1@z", "xtwoyz" },
        { "    @IF@@%p_x bra L;", "    // @%p_x bra L;" },
        { "@%p bra A; @!%p bra B;", "@%p bra A; @!%p bra B;" }, /* guards */
        { "a@b.c @1@ @_@ @", "a@b.c @1@ @_@ @" }, /* no capital follows */
        { "@A@\n@A@\n", "one\none\n" },
    };
    char *out;
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(expand(row[i][0], strlen(row[i][0]), &out, &n, NULL),
                         FGS_OK);
        assert_string_equal(out, row[i][1]);
        assert_int_equal(n, strlen(row[i][1]));
        fgs__free(&fgs__malloc, out);
    }
}

static void expand_names_the_place_of_a_bad_token(void **state)
{
    static const struct {
        const char *src;
        size_t len; /* 0 = strlen */
        uint32_t line, column;
        const char *text;
    } row[] = {
        { "@NO@", 0, 1, 1, "f.ptx.in:1:1: unknown token @NO@" },
        { "a\nbc @A@ @NOPE_2@", 0, 2, 8,
          "f.ptx.in:2:8: unknown token @NOPE_2@" },
        { "x @A", 0, 1, 3, "f.ptx.in:1:3: unterminated token @A" },
        { "\n\n  @A\n@", 0, 3, 3, "f.ptx.in:3:3: unterminated token @A" },
        { "@A b@", 0, 1, 1, "f.ptx.in:1:1: unterminated token @A" },
        { "@Ab@", 0, 1, 1, "f.ptx.in:1:1: unterminated token @A" },
        { "ab\nc\0d", 6, 2, 2, "f.ptx.in:2:2: a NUL byte in the text" },
        { "@NO@\n\0", 6, 2, 1, "f.ptx.in:2:1: a NUL byte in the text" },
    };
    fgs_error err;
    char *out;
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(expand(row[i].src,
                                row[i].len ? row[i].len : strlen(row[i].src),
                                &out, &n, &err),
                         FGS_E_PTX);
        assert_null(out);
        assert_string_equal(err.text, row[i].text);
        assert_string_equal(err.file, "f.ptx.in");
        assert_int_equal(err.line, row[i].line);
        assert_int_equal(err.column, row[i].column);
    }
}

/* --------------------------------------------------------------- table -- */

/* A device that runs a stem; setmaxnreg is for 9.0 alone. */
static int cc_of(const char *stem)
{
    return strcmp(stem, "gemm_regs_stage") && strcmp(stem, "gemm_wgmma_stage")
        ? 107 : 90;
}

/* mma.sync is asked for f16 alone. */
static fgs_element element_of(const char *stem)
{
    return strncmp(stem, "gemm_", 5) ? FGS_ELEMENT_F32 : FGS_ELEMENT_F16;
}

/* A token that is there twice is taken once, whatever the row meant. */
static void no_token_has_two_values(void **state)
{
    (void)state;
    for (uint32_t i = 0; fgs__variant_at(i); i++) {
        struct fgs__vars v;

        fgs__variant_vars(&v, fgs__variant_at(i), &fgs__shape_default, 107);
        for (size_t a = 0; a < v.count; a++)
            for (size_t b = 0; b < a; b++)
                if (!strcmp(v.var[a].name, v.var[b].name))
                    fail_msg("%s: %s", fgs__variant_at(i)->stem,
                             v.var[a].name);
    }
}

static void every_file_has_a_stem_and_every_stem_a_file(void **state)
{
    (void)state;
    for (const struct fgs__embedded *e = fgs__embedded; e->name; e++) {
        size_t n = strcspn(e->name, ".") + 1;
        /* What twins and templates include. */
        int found = strstr(e->name, ".cuh") || strstr(e->name, ".ptx.inc");

        /* A twin has the template's name up to the dot. */
        for (uint32_t i = 0; fgs__variant_at(i); i++)
            found |= !strncmp(fgs__variant_at(i)->file, e->name, n);
        if (!found)
            fail_msg("ptx/%s is in no row of variant.def", e->name);
    }
    for (uint32_t i = 0; fgs_ptx_stem(i); i++) {
        struct fgs__shape shape = fgs__shape_default;
        struct fgs__text t;

        for (int k = 0; k < FGS_LANGUAGE_COUNT; k++) {
            const char *stem = fgs_ptx_stem(i);
            fgs_result r;

            shape.language = (fgs_language)k;
            shape.element = element_of(stem);
            r = fgs__text_load(&t, stem, cc_of(stem), &shape, NULL,
                               &fgs__malloc, NULL);
            /* what a plan does not launch may have no twin */
            if (k == FGS_LANGUAGE_PTX || fgs__variant_find(stem)->role)
                assert_int_equal(r, FGS_OK);
            fgs__text_free(&t);
        }
    }
    for (uint32_t threads = 64; threads <= 96; threads += 32) {
        struct fgs__shape shape = fgs__shape_default;
        struct fgs__text t;
        fgs_error err = { .result = FGS_OK };

        shape.threads = threads;
        assert_int_equal(fgs__text_load(&t, "bulk_retry_consume", 107, &shape,
                                        NULL, &fgs__malloc, &err),
                         threads < 96 ? FGS_E_SIZE : FGS_OK);
        assert_true(threads == 96 || strstr(err.text, "96 threads at least"));
        fgs__text_free(&t);
    }
    assert_null(fgs_ptx_stem(1000));
    assert_null(fgs_ptx_stem(UINT32_MAX));
}

static unsigned lines(const char *s)
{
    unsigned n = 0;

    for (; *s; s++)
        n += *s == '\n';
    return n;
}

/* Of a template, with the files in place of the lines that name them. */
static unsigned lines_of(const char *file)
{
    const struct fgs__embedded *e = fgs__embedded;
    unsigned n;

    while (strcmp(e->name, file))
        e++;
    n = lines(e->text);
    for (const char *s = e->text; (s = strstr(s, "\n@INCLUDE "));) {
        char name[64];

        s += strlen("\n@INCLUDE ");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(s, "@"), s);
        n += lines_of(name) - 1;
    }
    return n;
}

static void tokens_never_change_the_number_of_lines(void **state)
{
    (void)state;
    for (uint32_t i = 0; fgs__variant_at(i); i++) {
        const struct fgs__variant *v = fgs__variant_at(i);
        struct fgs__shape shape = fgs__shape_default;
        struct fgs__text t;

        shape.element = element_of(v->stem);
        assert_int_equal(
            fgs__text_load(&t, v->stem, cc_of(v->stem), &shape, NULL,
                           &fgs__malloc, NULL),
            FGS_OK);
        assert_int_equal(lines(t.text), lines_of(v->file));
        assert_int_equal(strlen(t.text), t.len);
        assert_null(strstr(t.text, "@I")); /* no flag, no file */
        fgs__text_free(&t);
    }
}

static void load(const char *stem, int cc, struct fgs__text *t)
{
    fgs_error err;

    if (fgs__text_load(t, stem, cc, NULL, NULL, &fgs__malloc, &err) < 0)
        fail_msg("%s: %s", stem, err.text);
}

static void version_and_target_follow_the_device(void **state)
{
    /* PTX versions and lowest targets: ISA 9.4, features of the texts. */
    static const struct {
        const char *stem;
        int cc;
        const char *head;
    } row[] = {
        { "sentinel_fill", 75, "\n.version 8.3\n.target sm_70\n" },
        { "sentinel_fill", 90, "\n.version 8.3\n.target sm_90\n" },
        { "scale_produce", 89, "\n.version 8.3\n.target sm_70\n" },
        { "scale_produce", 121, "\n.version 8.3\n.target sm_90\n" },
        { "poll_consume", 80, "\n.version 8.3\n.target sm_70\n" },
        { "poll_consume", 107, "\n.version 8.3\n.target sm_90\n" },
        { "bulk_consume", 90, "\n.version 9.3\n.target sm_90\n" },
        { "bulk_weak_consume", 120, "\n.version 8.6\n.target sm_90\n" },
        { "report_consume", 107, "\n.version 9.4\n.target sm_107a\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct fgs__text t;

        load(row[i].stem, row[i].cc, &t);
        if (!strstr(t.text, row[i].head))
            fail_msg("%s for %d: not%s", row[i].stem, row[i].cc, row[i].head);
        fgs__text_free(&t);
    }
}

static void griddepcontrol_is_left_out_below_sm_90(void **state)
{
    static const char *const stems[] = { "sentinel_fill", "scale_produce",
                                         "scale_produce_leak",
                                         "scale_produce_sentinel",
                                         "poll_consume" };

    (void)state;
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) {
        struct fgs__text t;

        load(stems[i], 89, &t);
        assert_null(strstr(t.text, "\n    griddepcontrol."));
        fgs__text_free(&t);
    }
    for (size_t i = 1; i < sizeof stems / sizeof stems[0]; i++) {
        struct fgs__text t;

        load(stems[i], 90, &t);
        assert_non_null(strstr(t.text, "\n    griddepcontrol."));
        fgs__text_free(&t);
    }
}

static void text_for_a_device_that_lacks_the_feature_is_refused(void **state)
{
    static const struct {
        const char *stem;
        int cc;
        const char *text;
    } row[] = {
        { "report_consume", 103,
          "report_consume needs bulk copies that report validity, which "
          "compute capability 10.3 does not have" },
        { "report_consume", 120, NULL },
        { "bulk_consume", 89,
          "bulk_consume needs bulk copies (cp.async.bulk), which compute "
          "capability 8.9 does not have" },
        { "poll_consume", 61,
          "poll_consume needs 128-bit strong loads and stores, which compute "
          "capability 6.1 does not have" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct fgs__text t;
        fgs_error err;

        assert_int_equal(fgs__text_load(&t, row[i].stem, row[i].cc, NULL, NULL,
                                        &fgs__malloc, &err),
                         FGS_E_UNSUPPORTED);
        assert_null(t.text);
        if (row[i].text)
            assert_string_equal(err.text, row[i].text);
    }
}

/* -------------------------------------------------------------- public -- */

static void text_in_the_callers_buffer(void **state)
{
    size_t need = 0, size;
    fgs_error err;
    char *buf;

    (void)state;
    assert_int_equal(fgs_ptx_text("poll_consume", 90, NULL, &need, &err),
                     FGS_E_SIZE);
    assert_true(need > 1000);
    buf = malloc(need);
    assert_non_null(buf);
    size = need - 1;
    assert_int_equal(fgs_ptx_text("poll_consume", 90, buf, &size, &err),
                     FGS_E_SIZE);
    assert_int_equal(size, need);
    assert_int_equal(fgs_ptx_text("poll_consume", 90, buf, &size, &err),
                     FGS_OK);
    assert_int_equal(strlen(buf) + 1, need);
    assert_memory_equal(buf, "// poll_consume", 15);
    free(buf);

    size = 0;
    assert_int_equal(fgs_ptx_text("nothing", 90, NULL, &size, &err),
                     FGS_E_INVAL);
    assert_non_null(strstr(err.text, "nothing"));
    assert_int_equal(fgs_ptx_text(NULL, 90, NULL, &size, &err), FGS_E_NULL);
    assert_int_equal(fgs_ptx_text("poll_consume", 90, NULL, NULL, &err),
                     FGS_E_NULL);
    size = 10;
    assert_int_equal(fgs_ptx_text("poll_consume", 90, NULL, &size, &err),
                     FGS_E_NULL);
    assert_int_equal(fgs_ptx_text("report_consume", 90, NULL, &need, NULL),
                     FGS_E_NULL);
    need = 0;
    assert_int_equal(fgs_ptx_text("report_consume", 90, NULL, &need, NULL),
                     FGS_E_UNSUPPORTED);
}

/* Descriptions out of odd numbers: a text that the loader takes, or words. */
static void odd_descriptions_are_texts_or_words(void **state)
{
    static const uint32_t odd[] = { 0, 1, 16, 17, 31, 32, 33, 48, 64, 1024,
                                    1056, 4096, 232448, 1u << 30, 0x7fffffff,
                                    0x80000000, 0xfffffff0, 0xffffffff };
    static const int32_t cc[] = { 107, 90, 75, 70, 12, 0, -1, 999, 91,
                                  INT32_MIN, INT32_MAX };
    static char text[65536];
    enum { N = sizeof odd / sizeof *odd, C = sizeof cc / sizeof *cc };
    int made = 0;

    (void)state;
    for (uint32_t i = 0; i < N * N * C; i++) {
        fgs_ptx_desc d = {
            .size = sizeof d, .stem = fgs_ptx_stem(i % 5), .cc = cc[i % C],
            .element = (fgs_element)(i % 7 ? i % FGS_ELEMENT_COUNT
                                           : odd[i % N]),
            .saturate = (fgs_saturate)(i % 3 ? 0 : odd[i / N % N]),
            .tile_bytes = odd[i / C % N], .threads = odd[i / C / N % N]
        };
        size_t size = sizeof text;
        fgs_error err = { 0 };
        fgs_result r = fgs_ptx_expand(&d, text, &size, &err);

        if (r < 0) {
            assert_int_equal(err.result, r);
            assert_true(strlen(err.text) > 10);
            continue;
        }
        made++;
        if (fgs_ptx_check("odd", text, strlen(text), NULL, NULL, &err) < 0)
            fail_msg("tile %u, %u threads: %s", d.tile_bytes, d.threads,
                     err.text);
    }
    assert_true(made > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_descriptions_are_texts_or_words),
        cmocka_unit_test(expand_replaces_tokens_and_nothing_else),
        cmocka_unit_test(expand_names_the_place_of_a_bad_token),
        cmocka_unit_test(every_file_has_a_stem_and_every_stem_a_file),
        cmocka_unit_test(no_token_has_two_values),
        cmocka_unit_test(tokens_never_change_the_number_of_lines),
        cmocka_unit_test(version_and_target_follow_the_device),
        cmocka_unit_test(griddepcontrol_is_left_out_below_sm_90),
        cmocka_unit_test(text_for_a_device_that_lacks_the_feature_is_refused),
        cmocka_unit_test(text_in_the_callers_buffer),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
