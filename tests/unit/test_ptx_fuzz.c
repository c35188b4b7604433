/* test_ptx_fuzz.c -- damaged texts end in an error, never in a crash
 *
 * Mutations of the texts of tests/ptx from a fixed seed.  What is looked for is
 * found by the sanitizers; that the loader ends is what the run itself shows.
 */
#include "base/compat.h"
#include "ptx_text.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { TEXTS = 64, SIZE = 8192, ROUNDS = 6000 };

static char texts[TEXTS][SIZE];
static size_t lens[TEXTS];
static unsigned count;
static uint64_t seed = 0x9E3779B97F4A7C15u;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

static int read_texts(void **state)
{
    static const char *const folders[] = { "tests/ptx/accept",
                                           "tests/ptx/refuse" };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        DIR *dir = opendir(folders[k]);
        unsigned most = TEXTS / 2 * (k + 1);

        if (!dir)
            return -1;
        for (struct dirent *e; (e = readdir(dir)) && count < most; ) {
            char path[300];
            FILE *f;

            snprintf(path, sizeof path, "%s/%.200s", folders[k], e->d_name);
            f = strstr(e->d_name, ".ptx") ? fopen(path, "rb") : NULL;
            if (!f)
                continue;
            lens[count] = fread(texts[count], 1, SIZE - 1, f);
            count += lens[count] > 0;
            fclose(f);
        }
        closedir(dir);
    }
    return count > 20 ? 0 : -1;
}

/* One change to `t`; returns its new length. */
static size_t mutate(char *t, size_t n)
{
    static const char bytes[] = "{}[]();:,.|@!_%$+-0x9fF\"/*# \n\377";
    unsigned other = draw(count);
    size_t at = draw((uint32_t)n), len = draw(40) + 1, from;

    switch (draw(6)) {
    case 0:
        t[at] = bytes[draw(sizeof bytes - 1)];
        return n;
    case 1: /* remove */
        if (len > n - at)
            len = n - at;
        memmove(t + at, t + at + len, n - at - len);
        return n - len ? n - len : 1;
    case 2: /* repeat a piece of itself */
        from = draw((uint32_t)n);
        if (len > n - from)
            len = n - from;
        break;
    case 3: /* a piece of another text */
        from = draw((uint32_t)lens[other]);
        if (len > lens[other] - from)
            len = lens[other] - from;
        if (n + len > SIZE * 2)
            return n;
        memmove(t + at + len, t + at, n - at);
        memcpy(t + at, texts[other] + from, len);
        return n + len;
    case 4: /* cut off */
        return at ? at : 1;
    default: /* one bit */
        t[at] = (char)(t[at] ^ 1 << draw(8));
        return n;
    }
    if (n + len > SIZE * 2)
        return n;
    memmove(t + at + len, t + at, n - at);
    if (from >= at)
        from += len;
    memmove(t + at, t + from, len);
    return n + len;
}

static void load_exact(const char *t, size_t n)
{
    char *copy = malloc(n);
    struct fgs__ptx_diags d;
    struct fgs__ptx_module *m;
    fgs_result r;

    assert_non_null(copy);
    memcpy(copy, t, n);
    fgs__ptx_diags_init(&d, &fgs__malloc);
    r = fgs__ptx_load(&m, copy, n, &fgs__malloc, &d);
    assert_true(r == FGS_OK || r == FGS_E_PTX || r == FGS_E_PTXVERSION);
    assert_int_equal(r == FGS_OK, m != NULL);
    assert_int_equal(r == FGS_OK, d.count == 0);
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&d);
    free(copy);
}

static void damaged_texts_are_refused_or_loaded(void **state)
{
    static char t[SIZE * 3];

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned which = draw(count), changes = draw(6) + 1;
        size_t n = lens[which];

        memcpy(t, texts[which], n);
        while (changes--)
            n = mutate(t, n);
        load_exact(t, n);
    }
}

static void text_cut_off_anywhere_is_no_crash(void **state)
{
    (void)state;
    for (unsigned i = 0; i < count; i += 7) {
        for (size_t n = 1; n <= lens[i]; n += 3)
            load_exact(texts[i], n);
    }
}

static void deep_nesting_is_an_error(void **state)
{
    static const char open[] = "({[!-~";
    static char t[20000];

    (void)state;
    for (unsigned k = 0; k < sizeof open - 1; k++) {
        size_t n = (size_t)snprintf(t, sizeof t, HEAD ".entry k() { "
                                    ".reg .u32 r; mov.u32 r, ");

        memset(t + n, open[k], sizeof t - n);
        load_exact(t, sizeof t);
        n = (size_t)snprintf(t, sizeof t, HEAD ".global .u32 r = ");
        memset(t + n, open[k], sizeof t - n);
        load_exact(t, sizeof t);
        n = (size_t)snprintf(t, sizeof t, HEAD ".entry k() ");
        memset(t + n, open[k], sizeof t - n);
        load_exact(t, sizeof t);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_texts_are_refused_or_loaded),
        cmocka_unit_test(text_cut_off_anywhere_is_no_crash),
        cmocka_unit_test(deep_nesting_is_an_error),
    };

    return cmocka_run_group_tests_name("ptx_fuzz", tests, read_texts, NULL);
}
