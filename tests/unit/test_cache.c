/* test_cache.c -- results on disk: entries, damage, strangers, where */
#include "cache_rig.h"
#include "counting.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* --------------------------------------------------------------- entries -- */

static void result_is_there_in_the_next_process(void **state)
{
    struct fgs__cache c;
    struct stat st;
    char path[128];

    (void)state;
    open_here(&c, 0);
    assert_int_equal(c.most, FGS__CACHE_BYTES);
    assert_string_equal(get(&c, "a"), "");
    put(&c, "a", "result of a");
    put(&c, "b", "result of b");
    fgs__cache_close(&c);
    open_here(&c, 0);
    assert_string_equal(get(&c, "a"), "result of a");
    assert_string_equal(get(&c, "b"), "result of b");
    assert_string_equal(get(&c, "c"), "");
    put(&c, "a", "another");
    assert_string_equal(get(&c, "a"), "another");
    fgs__cache_close(&c);
    path_of("a", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_string_equal(said, "");
}

static void folder_is_made_private(void **state)
{
    struct fgs__cache c;
    struct stat st;
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/x/y", dir);
    fgs__cache_open(&c, path, 0, &log_);
    assert_true(c.fd >= 0);
    fgs__cache_close(&c);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void parts_of_a_key_do_not_run_together(void **state)
{
    struct fgs__key a = { .alloc = &fgs__malloc }, b = a;

    (void)state;
    fgs__key_text(&a, "x", "1");
    fgs__key_text(&a, "y", "2");
    fgs__key_text(&b, "x", "1\ny 1\n2");
    assert_true(a.len != b.len || memcmp(a.data, b.data, a.len));
    fgs__key_free(&a);
    fgs__key_free(&b);
}

static void each_flipped_bit_is_found_and_replaced(void **state)
{
    char path[128], good[512], bad[512];
    struct fgs__cache c;
    size_t n;

    (void)state;
    open_here(&c, 0);
    put(&c, "key", "the result");
    path_of("key", path);
    n = read_file(path, good, sizeof good);
    assert_int_equal(n, 32 + strlen("text 3\nkey\n") + strlen("the result"));
    for (size_t i = 0; i < n; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, good, n);
            bad[i] = (char)(bad[i] ^ 1 << bit);
            write_file(path, bad, n);
            said[0] = '\0';
            assert_string_equal(get(&c, "key"), "");
            assert_non_null(strstr(said, "cache.drop"));
        }
        put(&c, "key", "the result");
        assert_string_equal(get(&c, "key"), "the result");
    }
    fgs__cache_close(&c);
}

static void every_truncation_is_found_and_replaced(void **state)
{
    char path[128], good[512] = { 0 };
    struct fgs__cache c;
    size_t n;

    (void)state;
    open_here(&c, 0);
    put(&c, "key", "the result");
    path_of("key", path);
    n = read_file(path, good, sizeof good);
    for (size_t i = 0; i < n + 3; i++) {
        if (i == n)
            continue;
        write_file(path, good, i);
        assert_string_equal(get(&c, "key"), "");
    }
    put(&c, "key", "the result");
    assert_string_equal(get(&c, "key"), "the result");
    fgs__cache_close(&c);
}

/* As if two keys had one hash. */
static void entry_of_another_key_is_not_taken(void **state)
{
    char a[128], b[128];
    struct fgs__cache c;

    (void)state;
    open_here(&c, 0);
    put(&c, "a", "of a");
    path_of("a", a);
    path_of("b", b);
    assert_int_equal(rename(a, b), 0);
    assert_string_equal(get(&c, "b"), "");
    assert_non_null(strstr(said, "another key"));
    put(&c, "b", "of b");
    assert_string_equal(get(&c, "b"), "of b");
    fgs__cache_close(&c);
}

/* ------------------------------------------------------------- strangers -- */

static void entry_that_others_may_use_is_replaced(void **state)
{
    struct fgs__cache c;
    char path[128];

    (void)state;
    open_here(&c, 0);
    put(&c, "a", "good");
    path_of("a", path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_string_equal(get(&c, "a"), "");
    assert_non_null(strstr(said, "others may use it"));
    put(&c, "a", "again");
    assert_string_equal(get(&c, "a"), "again");
    fgs__cache_close(&c);
}

static void link_and_folder_and_fifo_are_no_entries(void **state)
{
    char path[128], other[128];
    struct fgs__cache c;

    (void)state;
    open_here(&c, 0);
    put(&c, "a", "good");
    path_of("a", path);
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_string_equal(get(&c, "a"), "");
    put(&c, "a", "again");
    assert_string_equal(get(&c, "a"), "again");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_string_equal(get(&c, "a"), "");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_string_equal(get(&c, "a"), "");
    put(&c, "a", "again"); /* it cannot be put there: a line of the log */
    assert_non_null(strstr(said, "cache.store"));
    fgs__cache_close(&c);
}

static void what_another_user_owns_is_not_taken(void **state)
{
    struct fgs__cache c;
    char path[128];

    (void)state;
    open_here(&c, 0);
    put(&c, "a", "good");
    path_of("a", path);
    if (chown(path, 12345, 12345) < 0) {
        fgs__cache_close(&c);
        print_message("only root can give files away\n");
        skip();
    }
    assert_string_equal(get(&c, "a"), "");
    assert_non_null(strstr(said, "another user's"));
    put(&c, "a", "again");
    assert_string_equal(get(&c, "a"), "again");
    fgs__cache_close(&c);
    assert_int_equal(chown(dir, 12345, 12345), 0);
    fgs__cache_open(&c, dir, 0, &log_);
    assert_int_equal(c.fd, -1);
    assert_non_null(strstr(said, "cache.off"));
    assert_non_null(strstr(said, "another user's"));
    assert_int_equal(chown(dir, geteuid(), getegid()), 0);
}

static void folder_that_others_may_write_is_refused(void **state)
{
    static const mode_t bad[] = { 0770, 0702, 0777, 01777 };
    struct fgs__cache c;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(chmod(dir, bad[i]), 0);
        fgs__cache_open(&c, dir, 0, &log_);
        assert_int_equal(c.fd, -1);
        assert_non_null(strstr(said, "others may write"));
    }
    assert_int_equal(chmod(dir, 0755), 0);
    open_here(&c, 0);
    fgs__cache_close(&c);
}

/* ----------------------------------------------------------------- where -- */

static void environment_says_where(void **state)
{
    struct fgs__cache c;
    struct stat st;
    char path[128];

    (void)state;
    setenv("HOME", dir, 1);
    unsetenv("XDG_CACHE_HOME");
    fgs__cache_open(&c, NULL, 0, &log_);
    fgs__cache_close(&c);
    snprintf(path, sizeof path, "%s/.cache/fgsync", dir);
    assert_int_equal(stat(path, &st), 0);
    snprintf(path, sizeof path, "%s/xdg", dir);
    setenv("XDG_CACHE_HOME", path, 1);
    fgs__cache_open(&c, NULL, 0, &log_);
    fgs__cache_close(&c);
    snprintf(path, sizeof path, "%s/xdg/fgsync", dir);
    assert_int_equal(stat(path, &st), 0);
    snprintf(path, sizeof path, "%s/own", dir);
    setenv("FGS_CACHE_DIR", path, 1);
    fgs__cache_open(&c, NULL, 0, &log_);
    assert_true(c.fd >= 0);
    fgs__cache_close(&c);
    assert_int_equal(stat(path, &st), 0);
    assert_string_equal(said, "");
}

static void cache_can_be_switched_off(void **state)
{
    static const char *const way[] = { "none", "" };
    struct fgs__cache c;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fgs__cache_open(&c, way[i], 0, &log_);
        assert_int_equal(c.fd, -1);
        put(&c, "a", "b");
        assert_string_equal(get(&c, "a"), "");
        fgs__cache_close(&c);
    }
    setenv("FGS_CACHE_DIR", "none", 1);
    fgs__cache_open(&c, NULL, 0, &log_);
    assert_int_equal(c.fd, -1);
    assert_string_equal(said, "");
}

static void folder_that_cannot_be_is_a_line_of_the_log(void **state)
{
    struct fgs__cache c;

    (void)state;
    fgs__cache_open(&c, "/dev/null/x", 0, &log_);
    assert_int_equal(c.fd, -1);
    assert_non_null(strstr(said, "cache.off"));
    assert_non_null(strstr(said, "/dev/null/x"));
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    fgs__cache_open(&c, NULL, 0, &log_);
    assert_int_equal(c.fd, -1);
    assert_non_null(strstr(said, "neither XDG_CACHE_HOME nor HOME"));
}

static void bound_of_the_environment_is_a_number(void **state)
{
    static const char *const bad[] = { "0", "-1", "1k", "x", " 1",
                                       "99999999999999999999999" };
    uint64_t most = 1;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs__cache_bytes(&most, &err), FGS_OK);
    assert_int_equal(most, 0);
    setenv("FGS_CACHE_BYTES", "1000000", 1);
    assert_int_equal(fgs__cache_bytes(&most, &err), FGS_OK);
    assert_int_equal(most, 1000000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("FGS_CACHE_BYTES", bad[i], 1);
        assert_int_equal(fgs__cache_bytes(&most, &err), FGS_E_INVAL);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

/* ---------------------------------------------------------------- memory -- */

static fgs_result look_up(struct fgs__cache *c, struct counting *n)
{
    fgs_allocator a = counting_allocator(n);
    struct fgs__key k = { .alloc = &a };
    void *data;
    size_t len;
    fgs_result r;

    fgs__key_text(&k, "text", "key");
    r = fgs__cache_get(c, &k, &data, &len);
    fgs__free(&a, data);
    fgs__key_free(&k);
    assert_int_equal(n->live, 0);
    return r;
}

static void failing_allocations_are_nomem(void **state)
{
    struct counting n = { .at = 1 };
    struct fgs__cache c;
    fgs_result r;

    (void)state;
    open_here(&c, 0);
    put(&c, "key", "result");
    while ((r = look_up(&c, &n)) == FGS_E_NOMEM) {
        n.calls = 0;
        n.at++;
    }
    assert_int_equal(r, FGS_OK);
    assert_true(n.at >= 3);
    fgs__cache_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(result_is_there_in_the_next_process),
        TEST(folder_is_made_private),
        TEST(parts_of_a_key_do_not_run_together),
        TEST(each_flipped_bit_is_found_and_replaced),
        TEST(every_truncation_is_found_and_replaced),
        TEST(entry_of_another_key_is_not_taken),
        TEST(entry_that_others_may_use_is_replaced),
        TEST(link_and_folder_and_fifo_are_no_entries),
        TEST(what_another_user_owns_is_not_taken),
        TEST(folder_that_others_may_write_is_refused),
        TEST(environment_says_where),
        TEST(cache_can_be_switched_off),
        TEST(folder_that_cannot_be_is_a_line_of_the_log),
        TEST(bound_of_the_environment_is_a_number),
        TEST(failing_allocations_are_nomem),
    };

    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
