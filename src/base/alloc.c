/* alloc.c -- the one allocator, and an arena on top of it */
#include "base/alloc.h"
#include "base/compat.h"

static void *libc_alloc(void *cookie, size_t size)
{
    (void)cookie;
    return malloc(size);
}

static void libc_release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

const fgs_allocator fgs__malloc = { libc_alloc, libc_release, NULL };

void *fgs__alloc(const fgs_allocator *a, size_t size)
{
    return a->alloc(a->cookie, size ? size : 1);
}

void *fgs__zalloc(const fgs_allocator *a, size_t size)
{
    void *p = fgs__alloc(a, size);

    if (p)
        memset(p, 0, size);
    return p;
}

void *fgs__alloc_array(const fgs_allocator *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return fgs__alloc(a, count * size);
}

void fgs__free(const fgs_allocator *a, void *ptr)
{
    if (ptr)
        a->release(a->cookie, ptr);
}

char *fgs__strdup(const fgs_allocator *a, const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = fgs__alloc(a, n);

    return p ? memcpy(p, s, n) : NULL;
}

void *fgs__grow(const fgs_allocator *a, void *ptr, size_t old_size,
                size_t new_size)
{
    void *p = fgs__alloc(a, new_size);

    if (!p)
        return NULL;
    if (ptr)
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    fgs__free(a, ptr);
    return p;
}

int fgs__vec_reserve(const fgs_allocator *a, void **items, size_t *cap,
                     size_t count, size_t size)
{
    size_t n = *cap ? *cap : 8;
    void *p;

    if (count < *cap)
        return 1;
    while (n <= count) {
        if (n > SIZE_MAX / 2 / size)
            return 0;
        n *= 2;
    }
    p = fgs__grow(a, *items, *cap * size, n * size);
    if (!p)
        return 0;
    *items = p;
    *cap = n;
    return 1;
}

struct fgs__arena_page {
    struct fgs__arena_page *next;
    size_t used, size;
    FGS__ALIGN(16) char data[];
};

enum { PAGE_BYTES = 64 * 1024 };

void fgs__arena_init(struct fgs__arena *ar, const fgs_allocator *a)
{
    ar->alloc = a;
    ar->page = NULL;
    ar->total = 0;
}

static struct fgs__arena_page *add_page(struct fgs__arena *ar, size_t size)
{
    size_t bytes = sizeof(struct fgs__arena_page) +
        (size > PAGE_BYTES ? size : PAGE_BYTES);
    struct fgs__arena_page *p = fgs__alloc(ar->alloc, bytes);

    if (!p)
        return NULL;
    p->next = ar->page;
    p->used = 0;
    p->size = bytes - sizeof *p;
    ar->page = p;
    ar->total += bytes;
    return p;
}

void *fgs__arena_zalloc(struct fgs__arena *ar, size_t size)
{
    struct fgs__arena_page *p = ar->page;
    void *r;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + 15) & ~(size_t)15;
    if (!p || p->size - p->used < size) {
        p = add_page(ar, size);
        if (!p)
            return NULL;
    }
    r = p->data + p->used;
    p->used += size;
    return memset(r, 0, size);
}

char *fgs__arena_strndup(struct fgs__arena *ar, const char *s, size_t len)
{
    char *p = fgs__arena_zalloc(ar, len + 1);

    if (p)
        memcpy(p, s, len);
    return p;
}

void fgs__arena_free(struct fgs__arena *ar)
{
    while (ar->page) {
        struct fgs__arena_page *next = ar->page->next;

        fgs__free(ar->alloc, ar->page);
        ar->page = next;
    }
    ar->total = 0;
}
