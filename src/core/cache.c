/* cache.c -- what compilers made, kept on disk */
#include "core/cache.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Numbers as the host has them: a cache does not travel. */
struct header {
    char magic[8];
    uint64_t key, data;  /* bytes of each                                    */
    uint64_t sum;        /* of this with sum 0, of the key, of the data      */
};

static const char magic[8] = { 'f', 'g', 's', 'c', 'a', 'c', 'h', '1' };

static const char no_memory[] = "no memory";

enum { NAME_LEN = 36, STALE_S = 3600 };

/* FNV-1a: a changed byte always changes it, since each step can be undone. */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

static uint64_t sum_of(struct header h, const void *key, const void *data)
{
    h.sum = 0;
    return hash(hash(hash(0xCBF29CE484222325u, &h, sizeof h), key, h.key),
                data, h.data);
}

/* ----------------------------------------------------------------- key -- */

static void append(struct fgs__key *k, const void *data, size_t len)
{
    size_t want = k->len + len;

    if (k->nomem)
        return;
    if (want > k->cap) {
        size_t cap = want * 2;
        char *bytes = want < len || cap < want
            ? NULL : fgs__grow(k->alloc, k->data, k->len, cap);

        if (!bytes) {
            k->nomem = 1;
            return;
        }
        k->data = bytes;
        k->cap = cap;
    }
    if (len)
        memcpy(k->data + k->len, data, len);
    k->len = want;
}

void fgs__key_add(struct fgs__key *k, const char *name, const void *data,
                  size_t len)
{
    char head[80];
    int n = snprintf(head, sizeof head, "%.40s %zu\n", name, len);

    append(k, head, (size_t)n);
    append(k, data, len);
    append(k, "\n", 1);
}

void fgs__key_text(struct fgs__key *k, const char *name, const char *text)
{
    fgs__key_add(k, name, text, strlen(text));
}

void fgs__key_free(struct fgs__key *k)
{
    fgs__free(k->alloc, k->data);
    k->data = NULL;
    k->len = k->cap = 0;
    k->nomem = 0;
}

void fgs__cache_name(const struct fgs__key *k, char *name)
{
    snprintf(name, 40, "%016llx%016llx.fgs",
             (unsigned long long)hash(0xCBF29CE484222325u, k->data, k->len),
             (unsigned long long)hash(0x9E3779B97F4A7C15u, k->data, k->len));
}

/* -------------------------------------------------------------- folder -- */

fgs_result fgs__cache_bytes(uint64_t *most, fgs_error *err)
{
    const char *env = getenv("FGS_CACHE_BYTES");
    char *end;

    *most = 0;
    if (!env || !*env)
        return FGS_OK;
    errno = 0;
    *most = strtoull(env, &end, 10);
    if (errno || *end || strspn(env, "0123456789") != strlen(env) || !*most) {
        *most = 0;
        return fgs__fail(err, FGS_E_INVAL,
                         "FGS_CACHE_BYTES is \"%s\"; it is a number of bytes "
                         "above 0", env);
    }
    return FGS_OK;
}

/* 0 = there is no place for it, or it is too long. */
static int default_dir(char *path, size_t size)
{
    const char *env = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;

    /* A relative one is to be ignored, says the XDG specification. */
    if (env && *env == '/')
        n = snprintf(path, size, "%s/fgsync", env);
    else if (home && *home == '/')
        n = snprintf(path, size, "%s/.cache/fgsync", home);
    return n > 0 && (size_t)n < size;
}

static void make_dirs(char *path)
{
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    mkdir(path, 0700);
}

static void off(const struct fgs__cache *c, const char *dir, const char *why)
{
    fgs__log(c->log, FGS__LOG_CACHE_OFF, "no cache in %s: %s", dir, why);
}

/* What was opened is asked, not the path: it may be another folder by now. */
static int open_dir(struct fgs__cache *c, char *path)
{
    struct stat st;
    int fd;

    make_dirs(path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        off(c, path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) < 0)
        off(c, path, strerror(errno));
    else if (st.st_uid != geteuid())
        off(c, path, "the folder is another user's");
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        off(c, path, "others may write to the folder");
    else
        return fd;
    close(fd);
    return -1;
}

void fgs__cache_open(struct fgs__cache *c, const char *dir, uint64_t most,
                     const struct fgs__log *log)
{
    static const char none[] = "none";
    const char *env = getenv("FGS_CACHE_DIR");
    struct timespec now;
    char path[4096];

    memset(c, 0, sizeof *c);
    c->fd = -1;
    c->log = log;
    c->most = most ? most : FGS__CACHE_BYTES;
    clock_gettime(CLOCK_REALTIME, &now);
    c->seed = (uint32_t)now.tv_nsec ^ (uint32_t)(uintptr_t)c;
    if (!dir)
        dir = env && *env ? env : NULL;
    if (dir && (!*dir || !strcmp(dir, none)))
        return;
    if (dir && strlen(dir) >= sizeof path)
        off(c, "a path of more than 4095 bytes", strerror(ENAMETOOLONG));
    else if (!dir && !default_dir(path, sizeof path))
        off(c, "the home folder", "neither XDG_CACHE_HOME nor HOME says where");
    else {
        if (dir)
            snprintf(path, sizeof path, "%s", dir);
        c->fd = open_dir(c, path);
    }
}

void fgs__cache_close(struct fgs__cache *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* ----------------------------------------------------------------- get -- */

static bool read_all(int fd, void *to, size_t size)
{
    char *p = to;

    while (size) {
        ssize_t n = read(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* NULL = it is an entry of ours by its metadata. */
static const char *foreign(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "it is no file";
    if (st->st_uid != geteuid())
        return "it is another user's";
    if (st->st_mode & 077)
        return "others may use it";
    return NULL;
}

/* Key and data out of an open file into one block at *all.  NULL = good; else
 * why the file is not taken. */
static const char *read_entry(struct fgs__cache *c, const struct fgs__key *k,
                              int fd, struct header *h, char **all)
{
    struct stat st;
    const char *why;
    uint64_t size;

    if (fstat(fd, &st) < 0)
        return strerror(errno);
    why = foreign(&st);
    if (why)
        return why;
    size = (uint64_t)st.st_size;
    if (size < sizeof *h || size > c->most || !read_all(fd, h, sizeof *h) ||
        memcmp(h->magic, magic, sizeof magic))
        return "it is no entry";
    size -= sizeof *h;
    if (h->key != k->len || h->key > size)
        return "it is for another key";
    if (h->data != size - h->key)
        return "it is cut";
    *all = fgs__alloc(k->alloc, size + 1);
    if (!*all)
        return no_memory;
    if (!read_all(fd, *all, size))
        return "it is cut";
    if (memcmp(*all, k->data, k->len))
        return "it is for another key";
    if (sum_of(*h, *all, *all + h->key) != h->sum)
        return "its checksum is wrong";
    return NULL;
}

fgs_result fgs__cache_get(struct fgs__cache *c, const struct fgs__key *k,
                          void **data, size_t *len)
{
    char name[40], *all = NULL;
    struct header h;
    const char *why;
    int fd;

    *data = NULL;
    *len = 0;
    if (k->nomem)
        return FGS_E_NOMEM;
    if (c->fd < 0)
        return FGS_OK;
    fgs__cache_name(k, name);
    /* Neither a link to elsewhere nor a FIFO that blocks. */
    fd = openat(c->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            fgs__log(c->log, FGS__LOG_CACHE_DROP, "%s: %s", name,
                     strerror(errno));
        return FGS_OK;
    }
    why = read_entry(c, k, fd, &h, &all);
    if (!why) {
        /* The oldest are dropped first: this one is new again. */
        futimens(fd, NULL);
        memmove(all, all + h.key, h.data);
        all[h.data] = '\0';
        *data = all;
        *len = h.data;
    }
    close(fd);
    if (!why)
        return FGS_OK;
    fgs__free(k->alloc, all);
    if (why == no_memory)
        return FGS_E_NOMEM;
    fgs__log(c->log, FGS__LOG_CACHE_DROP, "%s: %s", name, why);
    return FGS_OK;
}

/* ----------------------------------------------------------------- put -- */

static bool write_all(int fd, struct iovec *v, int count)
{
    while (count) {
        ssize_t n = writev(fd, v, count);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        while (count && (size_t)n >= v->iov_len) {
            n -= (ssize_t)v->iov_len;
            v++;
            count--;
        }
        if (count) {
            v->iov_base = (char *)v->iov_base + n;
            v->iov_len -= (size_t)n;
        }
    }
    return true;
}

/* "<32 digits>.fgs", or ".<...>.tmp" of ours: nothing else in the folder is
 * counted or touched. */
static int kind_of(const char *name)
{
    size_t n = strlen(name);

    if (n == NAME_LEN && strspn(name, "0123456789abcdef") == 32 &&
        !strcmp(name + 32, ".fgs"))
        return 1;
    return n > 9 && !memcmp(name, ".fgs-", 5) && !strcmp(name + n - 4, ".tmp")
        ? 2 : 0;
}

static bool is_older(const struct stat *a, const char *a_name,
                     const struct stat *b, const char *b_name)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec < b->st_mtim.tv_sec;
    if (a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
        return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
    return strcmp(a_name, b_name) < 0;
}

/* Bytes of all entries, and the oldest of them; temporary files that a process
 * left when it died are taken away. */
static uint64_t survey(struct fgs__cache *c, DIR *d, char oldest[40])
{
    struct stat st, old = { 0 };
    time_t now = time(NULL);
    uint64_t total = 0;

    oldest[0] = '\0';
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
        int kind = kind_of(e->d_name);

        if (!kind || fstatat(c->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (kind == 2) {
            if (st.st_mtim.tv_sec < now - STALE_S)
                unlinkat(c->fd, e->d_name, 0);
            continue;
        }
        total += (uint64_t)st.st_size;
        if (!oldest[0] || is_older(&st, e->d_name, &old, oldest)) {
            old = st;
            snprintf(oldest, 40, "%.39s", e->d_name);
        }
    }
    return total;
}

/* Down to the bound, oldest use first.  Each round looks anew: other processes
 * store and drop at the same time. */
static void evict(struct fgs__cache *c)
{
    int fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    char oldest[40];

    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (survey(c, d, oldest) > c->most && oldest[0]) {
        if (unlinkat(c->fd, oldest, 0) < 0 && errno != ENOENT) {
            fgs__log(c->log, FGS__LOG_CACHE_STORE, "%s cannot be dropped: %s",
                     oldest, strerror(errno));
            break;
        }
    }
    closedir(d);
}

static const char *store(struct fgs__cache *c, const char *name,
                         struct iovec *v, int count)
{
    const char *why = NULL;
    char temp[64];
    int fd;

    snprintf(temp, sizeof temp, ".fgs-%ld-%08x-%u.tmp", (long)getpid(),
             c->seed, c->count++);
    fd = openat(c->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return strerror(errno);
    if (!write_all(fd, v, count))
        why = strerror(errno);
    /* Some file systems say only here that there is no room. */
    if (close(fd) < 0 && !why)
        why = strerror(errno);
    if (!why && renameat(c->fd, temp, c->fd, name) < 0)
        why = strerror(errno);
    if (why)
        unlinkat(c->fd, temp, 0);
    return why;
}

void fgs__cache_put(struct fgs__cache *c, const struct fgs__key *k,
                    const void *data, size_t len)
{
    struct header h = { .key = k->len, .data = len };
    struct iovec v[3] = { { &h, sizeof h },
                          { k->data, k->len },
                          { (void *)(uintptr_t)data, len } };
    const char *why;
    char name[40];

    if (c->fd < 0 || k->nomem ||
        sizeof h + (uint64_t)k->len + len > c->most)
        return;
    memcpy(h.magic, magic, sizeof magic);
    h.sum = sum_of(h, k->data, data);
    fgs__cache_name(k, name);
    why = store(c, name, v, 3);
    if (why)
        fgs__log(c->log, FGS__LOG_CACHE_STORE, "%s is not kept: %s", name,
                 why);
    else
        evict(c);
}
