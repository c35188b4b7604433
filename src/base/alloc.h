/* alloc.h -- the one allocator, and an arena on top of it */
#ifndef FGS_BASE_ALLOC_H
#define FGS_BASE_ALLOC_H

#include <fgs/fgs.h>

/* malloc and free. */
extern const fgs_allocator fgs__malloc;

/* All return NULL when the allocator does; sizes that overflow count as that.
 * fgs__zalloc zeroes.  fgs__free accepts NULL. */
void *fgs__alloc(const fgs_allocator *a, size_t size);
void *fgs__zalloc(const fgs_allocator *a, size_t size);
void *fgs__alloc_array(const fgs_allocator *a, size_t count, size_t size);
void fgs__free(const fgs_allocator *a, void *ptr);
char *fgs__strdup(const fgs_allocator *a, const char *s);
/* malloc's realloc: the old block stays on failure. */
void *fgs__grow(const fgs_allocator *a, void *ptr, size_t old_size,
                size_t new_size);

/* Many small blocks that die together.  Zeroed struct + allocator = empty. */
struct fgs__arena {
    const fgs_allocator *alloc;
    struct fgs__arena_page *page;
    size_t total; /* bytes asked of the allocator */
};
void fgs__arena_init(struct fgs__arena *ar, const fgs_allocator *a);
void *fgs__arena_zalloc(struct fgs__arena *ar, size_t size); /* 16-aligned */
char *fgs__arena_strndup(struct fgs__arena *ar, const char *s, size_t len);
void fgs__arena_free(struct fgs__arena *ar);

/* Grow *items (of `size` bytes each) so that index `count` is valid; *cap is
 * kept by the call.  0 = no memory, items unchanged. */
int fgs__vec_reserve(const fgs_allocator *a, void **items, size_t *cap,
                     size_t count, size_t size);

#endif
