/* replace.h -- a kernel's text replaced in a folder, and loaded from there */
#ifndef REPLACE_H
#define REPLACE_H

#include "fakelib.h"
#include "rig.h"

static struct fake *fake;
static char dir[64];
static const char *replaced; /* stem of the text that put_* writes */

/* Set-up and teardown of each test: a fresh fake driver, an empty folder. */
static inline int fresh(void **state)
{
    (void)state;
    fake = fakelib_use();
    setenv("FGS_NVJITLINK", "none", 1);
    replaced = "scale_produce";
    snprintf(dir, sizeof dir, "/tmp/fgs_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int clean(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/%s.ptx", dir, replaced);
    remove(path);
    return remove(dir);
}

static inline void put_text(const char *text, size_t len)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.ptx", dir, replaced);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

/* The library's own text of it; the caller frees it. */
static inline char *own_text(void)
{
    size_t size = 0;
    char *text;

    assert_int_equal(fgs_ptx_text(replaced, 107, NULL, &size, NULL),
                     FGS_E_SIZE);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_text(replaced, 107, text, &size, NULL),
                     FGS_OK);
    return text;
}

/* Replace the first `from` and store the text; its line. */
static inline uint32_t put_changed(const char *from, const char *to)
{
    char *text = own_text(), *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *changed = malloc(size);
    uint32_t line = 1;

    assert_non_null(at);
    assert_non_null(changed);
    for (const char *p = text; p < at; p++)
        line += *p == '\n';
    snprintf(changed, size, "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    put_text(changed, strlen(changed));
    free(changed);
    free(text);
    return line;
}

static inline fgs_result load_producer(const char *provider, fgs_error *err)
{
    struct rig_opts o = { .provider = provider, .ptx_dir = dir };
    fgs_device *dev = NULL;
    fgs_kernel *k = NULL;
    fgs_result r = rig_open(&dev, &o, err);

    if (r >= 0)
        r = rig_kernel(&k, dev, FGS_ROLE_PRODUCER, NULL, FGS_ENGINE_AUTO, 0,
                       err);
    fgs_kernel_free(k);
    fgs_device_close(dev);
    assert_int_equal(fakelib_live(fake), 0);
    return r;
}

#endif
