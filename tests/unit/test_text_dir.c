/* test_text_dir.c -- texts of a directory in place of the library's */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "counting.h"
#include "text/text.h"

/* Each test has an empty directory, and no block may be left at its end. */
static struct counting heap;
static fgs_allocator counted;
static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put_file(const char *name, const char *bytes, size_t len)
{
    FILE *f = fopen(in_dir(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static int make_dir(void **state)
{
    (void)state;
    memset(&heap, 0, sizeof heap);
    counted = counting_allocator(&heap);
    strncpy(dir, "/tmp/fgs-text-XXXXXX", sizeof dir);
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    static const char *const names[] = {
        "poll_consume.ptx", "poll_consume.ptx.in", "scale_produce.ptx.in",
        "mine.ptx", "file", "use.ptx.inc", "poll_consume.f16.ptx",
        "poll_consume.f32.ptx", "poll_consume.cu", "mine.cu", "role.cuh",
        "poll_consume.f16.cu", "scale_produce_leak.ptx.in",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)remove(in_dir(names[i]));
    return heap.live == 0 ? rmdir(dir) : -1;
}

static fgs_result from_dir(const char *stem, int cc, struct fgs__text *t,
                           fgs_error *err)
{
    return fgs__text_load(t, stem, cc, NULL, dir, &counted, err);
}

static void empty_directory_leaves_the_librarys_text(void **state)
{
    struct fgs__text t;

    (void)state;
    assert_int_equal(from_dir("poll_consume", 90, &t, NULL), FGS_OK);
    assert_string_equal(t.file, "<poll_consume.ptx>");
    fgs__text_free(&t);
}

static void plain_file_is_taken_as_it_stands(void **state)
{
    struct fgs__text t;

    (void)state;
    put_file("poll_consume.ptx", "@NO@ @A", 7);
    assert_int_equal(from_dir("poll_consume", 90, &t, NULL), FGS_OK);
    assert_string_equal(t.text, "@NO@ @A");
    assert_int_equal(t.len, 7);
    assert_string_equal(t.file, in_dir("poll_consume.ptx"));
    fgs__text_free(&t);
}

static void file_of_an_unknown_stem_is_found(void **state)
{
    struct fgs__text t;
    fgs_error err;

    (void)state;
    assert_int_equal(from_dir("mine", 90, &t, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "mine"));
    put_file("mine.ptx", "", 0);
    assert_int_equal(from_dir("mine", 90, &t, NULL), FGS_OK);
    assert_string_equal(t.text, "");
    fgs__text_free(&t);
}

static void template_in_the_directory_is_expanded(void **state)
{
    static const char src[] = "@STEM@ @VERSION@ @TARGET@ @SENTINEL@ @FILL@ "
                              "@CTL_ABORT@ @REC_TILE@ @GIVEUP_TIME@ @THREADS@";
    struct fgs__text t;

    (void)state;
    put_file("scale_produce.ptx.in", src, sizeof src - 1);
    assert_int_equal(from_dir("scale_produce_leak", 90, &t, NULL), FGS_OK);
    assert_string_equal(t.text, "scale_produce_leak 8.3 sm_90 0x80000000 "
                                "0x80000000 0 16 1 256");
    assert_string_equal(t.file, in_dir("scale_produce.ptx.in"));
    fgs__text_free(&t);
}

static void check_place(const struct fgs__text *t, uint32_t line,
                        const char *file, uint32_t want)
{
    assert_string_equal(fgs__text_place(t, &line), file);
    assert_int_equal(line, want);
}

static void lines_of_a_file_that_is_included_are_its_own(void **state)
{
    static const char bad[] = "a\nb @INCLUDE use.ptx.inc@\n";
    static const char src[] = "a\n@INCLUDE use.ptx.inc@\nb\n"
                              "@INCLUDE use.ptx.inc@\n"
                              "@INCLUDE scan.ptx.inc@\nc";
    struct fgs__text t;
    uint32_t end;

    (void)state;
    /* an INCLUDE that does not begin its line is a token like others */
    put_file("poll_consume.ptx.in", bad, sizeof bad - 1);
    put_file("use.ptx.inc", "1 @THREADS@\n2\n", 14);
    assert_int_equal(from_dir("poll_consume", 90, &t, NULL), FGS_E_PTX);
    put_file("poll_consume.ptx.in", src, sizeof src - 1);
    assert_int_equal(from_dir("poll_consume", 90, &t, NULL), FGS_OK);
    assert_int_equal(strncmp(t.text, "a\n1 256\n2\nb\n1 256\n2\n//", 22), 0);
    assert_int_equal(strlen(t.text), t.len);
    check_place(&t, 1, in_dir("poll_consume.ptx.in"), 1);
    check_place(&t, 2, in_dir("use.ptx.inc"), 1);
    check_place(&t, 3, in_dir("use.ptx.inc"), 2);
    check_place(&t, 4, in_dir("poll_consume.ptx.in"), 3);
    check_place(&t, 6, in_dir("use.ptx.inc"), 2);
    check_place(&t, 7, "<scan.ptx.inc>", 1);
    for (end = 1; strcmp(fgs__text_place(&t, &end), in_dir("use.ptx.inc"));)
        end++;
    end = 1;
    for (const char *s = t.text; *s; s++)
        end += *s == '\n';
    check_place(&t, end, in_dir("poll_consume.ptx.in"), 6);
    fgs__text_free(&t);
}

static void bad_file_that_is_included_is_named(void **state)
{
    struct fgs__text t;
    fgs_error err;
    char want[300];

    (void)state;
    put_file("poll_consume.ptx.in", "a\n@INCLUDE no.inc@\n", 19);
    assert_int_equal(from_dir("poll_consume", 90, &t, &err), FGS_E_PTX);
    assert_non_null(strstr(err.text, "includes no.inc, which is not there"));
    put_file("use.ptx.inc", "\n\n @FOO@", 8);
    assert_int_equal(from_dir("bulk_consume", 90, &t, &err), FGS_E_PTX);
    snprintf(want, sizeof want, "%s:3:2: unknown token @FOO@",
             in_dir("use.ptx.inc"));
    assert_string_equal(err.text, want);
}

static void bad_template_is_named_with_its_place(void **state)
{
    struct fgs__text t;
    fgs_error err;
    char want[300];

    (void)state;
    put_file("poll_consume.ptx.in", "a\n @FOO@", 8);
    assert_int_equal(from_dir("poll_consume", 90, &t, &err), FGS_E_PTX);
    snprintf(want, sizeof want, "%s:2:2: unknown token @FOO@",
             in_dir("poll_consume.ptx.in"));
    assert_string_equal(err.text, want);
    put_file("poll_consume.ptx", "ab\n\0c", 5);
    assert_int_equal(from_dir("poll_consume", 90, &t, &err), FGS_E_PTX);
    snprintf(want, sizeof want, "%s:2:1: a NUL byte in the text",
             in_dir("poll_consume.ptx"));
    assert_string_equal(err.text, want);
}

static void unreadable_file_is_an_error_that_names_it(void **state)
{
    struct fgs__text t;
    fgs_error err;
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(in_dir("mine.ptx"), 0700), 0);
    assert_int_equal(from_dir("mine", 90, &t, &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/mine.ptx: Is a directory"));
    assert_string_equal(err.file, in_dir("mine.ptx"));
    assert_int_equal(rmdir(in_dir("mine.ptx")), 0);

    assert_int_equal(mkfifo(in_dir("mine.ptx"), 0600), 0);
    assert_int_equal(from_dir("mine", 90, &t, &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/mine.ptx: not a regular file"));
    assert_int_equal(remove(in_dir("mine.ptx")), 0);

    f = fopen(in_dir("mine.ptx"), "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), (17 << 20)), 0);
    fclose(f);
    assert_int_equal(from_dir("mine", 90, &t, &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/mine.ptx: larger than 16 MiB"));

    if (geteuid() != 0) { /* root reads everything */
        put_file("mine.ptx", "x", 1);
        assert_int_equal(chmod(in_dir("mine.ptx"), 0), 0);
        assert_int_equal(from_dir("mine", 90, &t, &err), FGS_E_FILE);
        assert_non_null(strstr(err.text, "/mine.ptx: Permission denied"));
    }
}

/* The notes of what lies there and is not read, one row each, the files of the
 * rows before still there where `more` says so. */
static void file_that_is_not_read_is_told(void **state)
{
    static const struct {
        const char *put, *stem, *note;
        fgs_element element;
        fgs_language language;
        int more;
    } row[] = {
        { "poll_consume.ptx", "poll_consume", "poll_consume.ptx (the text is "
          "<poll_consume.ptx>; a file that is would be poll_consume.f16.ptx)",
          FGS_ELEMENT_F16, FGS_LANGUAGE_PTX, 0 },
        { "poll_consume.ptx.in", "poll_consume", "poll_consume.ptx (the text "
          "is poll_consume.ptx.in; a file that is would be "
          "poll_consume.f16.ptx)", FGS_ELEMENT_F16, FGS_LANGUAGE_PTX, 1 },
        { "poll_consume.f16.ptx", "poll_consume", "poll_consume.ptx.in (the "
          "text is poll_consume.f16.ptx)",
          FGS_ELEMENT_F16, FGS_LANGUAGE_PTX, 1 },
        { "poll_consume.f16.ptx", "poll_consume", NULL, 0, 0, 0 },
        { "poll_consume.f32.ptx", "poll_consume", "poll_consume.f32.ptx (the "
          "text is <poll_consume.ptx>; a file that is would be "
          "poll_consume.ptx)", 0, 0, 0 },
        { "poll_consume.cu", "poll_consume", "poll_consume.cu (the text is "
          "<poll_consume.ptx>; a file that is would be poll_consume.ptx)",
          0, 0, 0 },
        { "poll_consume.ptx", "poll_consume", NULL, 0, 0, 1 },
        { "poll_consume.f16.cu", "poll_consume", "poll_consume.f16.cu (the "
          "text is poll_consume.cu)", FGS_ELEMENT_F16, FGS_LANGUAGE_CUDA, 1 },
        { "poll_consume.ptx.in", "poll_consume", "poll_consume.ptx.in (the "
          "text is <poll_consume.cu>; a file that is would be "
          "poll_consume.cu)", FGS_ELEMENT_F16, FGS_LANGUAGE_CUDA, 0 },
        { "role.cuh", "poll_consume", "role.cuh (the text is "
          "<poll_consume.cu>; a file that is would be poll_consume.cu)",
          0, FGS_LANGUAGE_CUDA, 0 },
        { "role.cuh", "poll_consume", NULL, 0, FGS_LANGUAGE_PTX, 0 },
        { "scale_produce_leak.ptx.in", "scale_produce_leak",
          "scale_produce_leak.ptx.in (the text is <scale_produce_leak.ptx>; "
          "a file that is would be scale_produce_leak.ptx)", 0, 0, 0 },
        { "mine.ptx", "mine", NULL, 0, 0, 0 },
        { "mine.cu", "mine", NULL, 0, 0, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct fgs__shape shape = fgs__shape_default;
        char want[400] = "";
        struct fgs__text t;

        for (size_t j = 0; !row[i].more && j < i; j++)
            (void)remove(in_dir(row[j].put));
        put_file(row[i].put, "x", 1);
        shape.element = row[i].element;
        shape.language = row[i].language;
        assert_int_equal(fgs__text_load(&t, row[i].stem, 90, &shape, dir,
                                        &counted, NULL), FGS_OK);
        if (row[i].note)
            snprintf(want, sizeof want, "not read in %s: %s", dir,
                     row[i].note);
        assert_string_equal(t.note, want);
        fgs__text_free(&t);
    }
}

/* The file that would be found, where a stem of one's own has another. */
static void missing_file_of_an_element_is_named(void **state)
{
    struct fgs__shape shape = fgs__shape_default;
    struct fgs__text t;
    fgs_error err;

    (void)state;
    put_file("mine.ptx", "", 0);
    shape.element = FGS_ELEMENT_F16;
    assert_int_equal(fgs__text_load(&t, "mine", 90, &shape, dir, &counted,
                                    &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "mine.f16.ptx in "));
}

static void missing_directory_is_an_error(void **state)
{
    struct fgs__text t;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs__text_load(&t, "poll_consume", 90, NULL,
                                    "/no/such/dir",
                                    &counted, &err),
                     FGS_E_FILE);
    assert_string_equal(
        err.text, "PTX directory /no/such/dir: No such file or directory");
    put_file("file", "", 0);
    assert_int_equal(fgs__text_load(&t, "poll_consume", 90, NULL,
                                    in_dir("file"),
                                    &counted, &err),
                     FGS_E_FILE);
    assert_non_null(strstr(err.text, "Not a directory"));
}

static void stem_is_never_a_path(void **state)
{
    static const char *const bad[] = { "", "../poll_consume", "a/b", "a.b",
                                       "/etc/passwd", "a b", "poll_consume%" };
    struct fgs__text t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(from_dir(bad[i], 90, &t, NULL), FGS_E_INVAL);
}

static void each_failed_allocation_leaves_nothing(void **state)
{
    struct fgs__text t;
    fgs_result r = FGS_E_NOMEM;
    int n;

    (void)state;
    for (n = 1; r == FGS_E_NOMEM; n++) {
        heap.calls = 0;
        heap.at = n;
        r = from_dir("scale_produce", 107, &t, NULL);
        if (r == FGS_E_NOMEM) {
            assert_int_equal(heap.live, 0);
            assert_null(t.text);
            assert_null(t.file);
        }
    }
    assert_int_equal(r, FGS_OK);
    assert_true(n > 4);
    fgs__text_free(&t);

    put_file("scale_produce.ptx.in", "@STEM@", 6);
    r = FGS_E_NOMEM;
    for (n = 1; r == FGS_E_NOMEM; n++) {
        heap.calls = 0;
        heap.at = n;
        r = from_dir("scale_produce", 107, &t, NULL);
        if (r == FGS_E_NOMEM)
            assert_int_equal(heap.live, 0);
    }
    assert_int_equal(r, FGS_OK);
    fgs__text_free(&t);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(empty_directory_leaves_the_librarys_text),
        IN_DIR(plain_file_is_taken_as_it_stands),
        IN_DIR(file_of_an_unknown_stem_is_found),
        IN_DIR(template_in_the_directory_is_expanded),
        IN_DIR(lines_of_a_file_that_is_included_are_its_own),
        IN_DIR(bad_file_that_is_included_is_named),
        IN_DIR(bad_template_is_named_with_its_place),
        IN_DIR(unreadable_file_is_an_error_that_names_it),
        IN_DIR(file_that_is_not_read_is_told),
        IN_DIR(missing_file_of_an_element_is_named),
        IN_DIR(missing_directory_is_an_error),
        IN_DIR(stem_is_never_a_path),
        IN_DIR(each_failed_allocation_leaves_nothing),
    };

    return cmocka_run_group_tests_name("text_dir", tests, NULL, NULL);
}
