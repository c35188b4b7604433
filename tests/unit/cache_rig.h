/* cache_rig.h -- a cache in a folder of its own, for the tests of it */
#ifndef CACHE_RIG_H
#define CACHE_RIG_H

#include "base/alloc.h"
#include "core/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];
static char said[1024]; /* the last line of the log */
static struct fgs__log log_;

static inline void on_log(void *cookie, fgs_log_level level, const char *id,
                   const char *text)
{
    (void)cookie;
    (void)level;
    snprintf(said, sizeof said, "%s: %s", id, text);
}

static inline int fresh(void **state)
{
    (void)state;
    unsetenv("FGS_CACHE_DIR");
    unsetenv("FGS_CACHE_BYTES");
    said[0] = '\0';
    log_ = (struct fgs__log){ .fn = on_log };
    snprintf(dir, sizeof dir, "/tmp/fgs_cache.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int clean(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static inline void open_here(struct fgs__cache *c, uint64_t most)
{
    fgs__cache_open(c, dir, most, &log_);
    assert_true(c->fd >= 0);
}

static inline struct fgs__key key_of(const char *text)
{
    struct fgs__key k = { .alloc = &fgs__malloc };

    fgs__key_text(&k, "text", text);
    assert_false(k.nomem);
    return k;
}

static inline void path_of(const char *text, char *path)
{
    struct fgs__key k = key_of(text);
    char name[40];

    fgs__cache_name(&k, name);
    snprintf(path, 128, "%s/%s", dir, name);
    fgs__key_free(&k);
}

static inline void put(struct fgs__cache *c, const char *key, const char *data)
{
    struct fgs__key k = key_of(key);

    fgs__cache_put(c, &k, data, strlen(data));
    fgs__key_free(&k);
}

/* What is there under a key, "" = nothing. */
static inline const char *get(struct fgs__cache *c, const char *key)
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

static inline size_t read_file(const char *path, char *to, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(to, 1, size, f);
    fclose(f);
    return n;
}

/* Over the same file: owner and mode stay. */
static inline void write_file(const char *path, const char *from, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(from, 1, size, f), size);
    fclose(f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)

#endif
