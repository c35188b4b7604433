/* test_cache_room.c -- results on disk: bound, full disks, many processes */
#include "cache_rig.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(oldest_are_dropped_within_the_bound),
        TEST(file_that_may_not_grow_is_not_kept),
        TEST(full_disk_is_no_cache_and_no_failure),
        TEST(eight_processes_share_it),
    };

    return cmocka_run_group_tests_name("cache room", tests, NULL, NULL);
}
