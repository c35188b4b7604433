/* test_ptx_refuse.c -- the texts of tests/ptx/refuse and tests/ptx/accept
 *
 * A text to refuse says in its second line where the first error is and what
 * its message holds: // refuse: LINE:COLUMN words
 */
#include "base/compat.h"
#include <fgs/fgs.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <cmocka.h>

struct text {
    char path[300];
    char bytes[8192];
    size_t len;
};

static bool next_text(DIR *dir, const char *folder, struct text *t)
{
    for (struct dirent *e; (e = readdir(dir)); ) {
        size_t n = strlen(e->d_name);
        FILE *f;

        if (n < 4 || strcmp(e->d_name + n - 4, ".ptx"))
            continue;
        snprintf(t->path, sizeof t->path, "%s/%.200s", folder, e->d_name);
        f = fopen(t->path, "rb");
        assert_non_null(f);
        t->len = fread(t->bytes, 1, sizeof t->bytes - 1, f);
        t->bytes[t->len] = 0;
        fclose(f);
        return true;
    }
    return false;
}

/* Does the checker's answer match the text's second line? */
static bool refused_as_written(const struct text *t)
{
    const char *head = strstr(t->bytes, "\n// refuse: ");
    fgs_error e = { 0 };
    unsigned line, column;
    char words[200];
    fgs_result r;

    if (!head || sscanf(head, "\n// refuse: %u:%u %199[^\n]", &line, &column,
                        words) != 3) {
        printf("%s: no refuse line\n", t->path);
        return false;
    }
    r = fgs_ptx_check(t->path, t->bytes, t->len, NULL, NULL, &e);
    if (r == FGS_E_PTX && e.line == line && e.column == column &&
        strstr(e.text, words))
        return true;
    printf("%s: expected %u:%u %s\n  got %s\n", t->path, line, column, words,
           r < 0 ? e.text : "no error");
    return false;
}

static void refuse_texts_fail_at_their_place(void **state)
{
    static const char folder[] = "tests/ptx/refuse";
    static struct text t;
    DIR *dir = opendir(folder);
    unsigned good = 0, bad = 0;

    (void)state;
    assert_non_null(dir);
    while (next_text(dir, folder, &t)) {
        if (refused_as_written(&t))
            good++;
        else
            bad++;
    }
    closedir(dir);
    assert_int_equal(bad, 0);
    assert_true(good > 300);
}

static void accept_texts_pass(void **state)
{
    static const char folder[] = "tests/ptx/accept";
    static struct text t;
    DIR *dir = opendir(folder);
    unsigned good = 0, bad = 0;

    (void)state;
    assert_non_null(dir);
    while (next_text(dir, folder, &t)) {
        fgs_error e = { 0 };

        if (fgs_ptx_check(t.path, t.bytes, t.len, NULL, NULL, &e) < 0) {
            printf("%s\n", e.text);
            bad++;
        } else {
            good++;
        }
    }
    closedir(dir);
    assert_int_equal(bad, 0);
    assert_true(good > 10);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuse_texts_fail_at_their_place),
        cmocka_unit_test(accept_texts_pass),
    };

    return cmocka_run_group_tests_name("ptx_refuse", tests, NULL, NULL);
}
