/* test_cache.c -- results on disk: damage, strangers, full disks, processes */
#include "core/cache.h"
#include "counting.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];
static char said[1024]; /* the last line of the log */
static struct fgs__log log_;

static void on_log(void *cookie, fgs_log_level level, const char *id,
                   const char *text)
{
    (void)cookie;
    (void)level;
    snprintf(said, sizeof said, "%s: %s", id, text);
}

static int fresh(void **state)
{
    (void)state;
    unsetenv("FGS_CACHE_DIR");
    unsetenv("FGS_CACHE_BYTES");
    said[0] = '\0';
    log_ = (struct fgs__log){ .fn = on_log };
    snprintf(dir, sizeof dir, "/tmp/fgs_cache.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int clean(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void open_here(struct fgs__cache *c, uint64_t most)
{
    fgs__cache_open(c, dir, most, &log_);
    assert_true(c->fd >= 0);
}

static struct fgs__key key_of(const char *text)
{
    struct fgs__key k = { .alloc = &fgs__malloc };

    fgs__key_text(&k, "text", text);
    assert_false(k.nomem);
    return k;
}

static void path_of(const char *text, char *path)
{
    struct fgs__key k = key_of(text);
    char name[40];

    fgs__cache_name(&k, name);
    snprintf(path, 128, "%s/%s", dir, name);
    fgs__key_free(&k);
}

static void put(struct fgs__cache *c, const char *key, const char *data)
{
    struct fgs__key k = key_of(key);

    fgs__cache_put(c, &k, data, strlen(data));
    fgs__key_free(&k);
}

/* What is there under a key, "" = nothing. */
static const char *get(struct fgs__cache *c, const char *key)
{
    static char was[65536];
    struct fgs__key k = key_of(key);
    void *data;
    size_t len;

    assert_int_equal(fgs__cache_get(c, &k, &data, &len), FGS_OK);
    was[0] = '\0';
    if (data) {
        assert_int_equal(strlen(data), len);
        snprintf(was, sizeof was, "%s", (char *)data);
    }
    fgs__free(&fgs__malloc, data);
    fgs__key_free(&k);
    return was;
}

static size_t read_file(const char *path, char *to, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(to, 1, size, f);
    fclose(f);
    return n;
}

/* Over the same file: owner and mode stay. */
static void write_file(const char *path, const char *from, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(from, 1, size, f), size);
    fclose(f);
}

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

/* ----------------------------------------------------------------- bound -- */

static void set_age(const char *path, long s)
{
    struct timespec t[2] = { { .tv_sec = s }, { .tv_sec = s } };

    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void oldest_are_dropped_within_the_bound(void **state)
{
    char path[128], other[128], temp[128], big[512];
    struct fgs__cache c;
    struct stat st;

    (void)state;
    snprintf(other, sizeof other, "%s/other", dir);
    write_file(other, "mine", 4);
    snprintf(temp, sizeof temp, "%s/.fgs-1-2-3.tmp", dir);
    write_file(temp, "left", 4);
    set_age(temp, 1000);
    /* Entries are 32 + 9 + 10 bytes: three of them fit. */
    open_here(&c, 3 * 51 + 50);
    put(&c, "a", "0123456789");
    put(&c, "b", "0123456789");
    put(&c, "c", "0123456789");
    path_of("b", path);
    set_age(path, 2000);
    path_of("a", path);
    set_age(path, 3000);
    put(&c, "d", "0123456789");
    assert_string_equal(get(&c, "b"), "");
    assert_string_equal(get(&c, "a"), "0123456789"); /* used: now new */
    path_of("d", path);
    set_age(path, 4000);
    put(&c, "e", "0123456789");
    assert_string_equal(get(&c, "d"), "");
    assert_string_equal(get(&c, "a"), "0123456789");
    assert_string_equal(get(&c, "c"), "0123456789");
    assert_string_equal(get(&c, "e"), "0123456789");
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    put(&c, "f", big); /* larger than the bound: nothing is dropped for it */
    assert_string_equal(get(&c, "f"), "");
    assert_string_equal(get(&c, "e"), "0123456789");
    fgs__cache_close(&c);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(stat(temp, &st), -1);
}

static int files_in(const char *path)
{
    char command[128];
    FILE *f;
    int n = -1;

    snprintf(command, sizeof command, "ls -A %s | wc -l", path);
    f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

/* In a child: a limit of its own.  77 = the place cannot be made. */
static int child(int (*what)(void))
{
    pid_t pid = fork();
    int status;

    if (!pid)
        _exit(what());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int store_too_much(void)
{
    static char big[60000];
    struct fgs__key k = key_of("big");
    struct fgs__cache c;
    void *data;
    size_t len;

    memset(big, 'x', sizeof big);
    fgs__cache_open(&c, dir, 0, &log_);
    if (c.fd < 0)
        return 1;
    put(&c, "small", "it fits");
    fgs__cache_put(&c, &k, big, sizeof big);
    if (!strstr(said, "cache.store"))
        return 2;
    if (fgs__cache_get(&c, &k, &data, &len) != FGS_OK || data)
        return 3;
    if (strcmp(get(&c, "small"), "it fits") || files_in(dir) != 1)
        return 4;
    fgs__key_free(&k);
    fgs__cache_close(&c);
    return 0;
}

static int under_a_limit(void)
{
    struct rlimit limit = { 20000, 20000 };

    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) ? 77 : store_too_much();
}

static int on_a_small_disk(void)
{
    if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("fgs", dir, "tmpfs", 0, "size=20480,mode=0700"))
        return 77;
    return store_too_much();
}

static void file_that_may_not_grow_is_not_kept(void **state)
{
    (void)state;
    assert_int_equal(child(under_a_limit), 0);
}

static void full_disk_is_no_cache_and_no_failure(void **state)
{
    int r = child(on_a_small_disk);

    (void)state;
    if (r == 77) {
        print_message("no tmpfs can be mounted here\n");
        skip();
    }
    assert_int_equal(r, 0);
}

/* ------------------------------------------------------------- processes -- */

enum { PROCESSES = 8, ROUNDS = 150, KEYS = 12 };

/* Stores and reads all keys, with a bound that half of them pass. */
static int work(int seed)
{
    char key[16], want[600];
    struct fgs__cache c;

    fgs__cache_open(&c, dir, 6 * 700, &log_);
    if (c.fd < 0)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        int k = (i * 7 + seed * 5) % KEYS;
        const char *was;

        snprintf(key, sizeof key, "key %d", k);
        memset(want, 'a' + k, sizeof want - 1);
        want[sizeof want - 1] = '\0';
        was = get(&c, key);
        if (*was && strcmp(was, want))
            return 2;
        if (!*was)
            put(&c, key, want);
    }
    fgs__cache_close(&c);
    return 0;
}

/* Entries that are there at the end: each is what was stored. */
static int left_over(void)
{
    struct fgs__cache c;
    int n = 0;

    fgs__cache_open(&c, dir, 6 * 700, &log_);
    for (int k = 0; k < KEYS; k++) {
        char key[16];
        const char *was;

        snprintf(key, sizeof key, "key %d", k);
        was = get(&c, key);
        n += *was != '\0';
        assert_true(!*was || (strlen(was) == 599 && *was == 'a' + k));
    }
    fgs__cache_close(&c);
    return n;
}

static void eight_processes_share_it(void **state)
{
    pid_t pid[PROCESSES];
    int status;

    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        pid[i] = fork();
        if (!pid[i])
            _exit(work(i));
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_in_range(files_in(dir), 1, 6);
    assert_in_range(left_over(), 1, 6);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)

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
        TEST(oldest_are_dropped_within_the_bound),
        TEST(file_that_may_not_grow_is_not_kept),
        TEST(full_disk_is_no_cache_and_no_failure),
        TEST(eight_processes_share_it),
        TEST(failing_allocations_are_nomem),
    };

    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
