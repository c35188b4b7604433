/* test_alloc.c -- the allocator's helpers, and the arena */
#include "base/alloc.h"
#include "base/compat.h"
#include "counting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void block_of_no_bytes_is_a_block(void **state)
{
    void *p = fgs__alloc(&fgs__malloc, 0);

    (void)state;
    assert_non_null(p);
    fgs__free(&fgs__malloc, p);
    fgs__free(&fgs__malloc, NULL);
}

static void array_that_overflows_is_no_memory(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);

    (void)state;
    assert_null(fgs__alloc_array(&a, SIZE_MAX / 2, 3));
    assert_int_equal(c.calls, 0);
}

static void grow_keeps_the_old_block_on_failure(void **state)
{
    struct counting c = { .at = 2 };
    fgs_allocator a = counting_allocator(&c);
    char *p = fgs__strdup(&a, "abc");

    (void)state;
    assert_null(fgs__grow(&a, p, 4, 100));
    assert_string_equal(p, "abc");
    fgs__free(&a, p);
    assert_int_equal(c.live, 0);
}

static void vector_grows_to_the_index_asked_for(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    void *items = NULL;
    size_t cap = 0;

    (void)state;
    assert_true(fgs__vec_reserve(&a, &items, &cap, 0, 4));
    assert_true(cap > 0);
    memset(items, 7, cap * 4);
    assert_true(fgs__vec_reserve(&a, &items, &cap, 1000, 4));
    assert_true(cap > 1000);
    assert_int_equal(((char *)items)[0], 7);
    c.at = c.calls + 1;
    assert_false(fgs__vec_reserve(&a, &items, &cap, 100000, 4));
    assert_int_equal(((char *)items)[0], 7);
    assert_false(fgs__vec_reserve(&a, &items, &cap, SIZE_MAX / 8, 64));
    fgs__free(&a, items);
    assert_int_equal(c.live, 0);
}

static void arena_gives_zeroed_aligned_blocks(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    struct fgs__arena ar;

    (void)state;
    fgs__arena_init(&ar, &a);
    for (size_t n = 1; n < 200000; n = n * 3 + 1) {
        unsigned char *p = fgs__arena_zalloc(&ar, n);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    assert_string_equal(fgs__arena_strndup(&ar, "words", 4), "word");
    fgs__arena_free(&ar);
    assert_int_equal(c.live, 0);
}

static void arena_survives_a_page_that_cannot_be_had(void **state)
{
    struct counting c = { .at = 2 };
    fgs_allocator a = counting_allocator(&c);
    struct fgs__arena ar;
    char *p;

    (void)state;
    fgs__arena_init(&ar, &a);
    p = fgs__arena_strndup(&ar, "kept", 4);
    assert_null(fgs__arena_zalloc(&ar, 1 << 20));
    assert_null(fgs__arena_zalloc(&ar, SIZE_MAX));
    assert_string_equal(p, "kept");
    assert_non_null(fgs__arena_zalloc(&ar, 100));
    fgs__arena_free(&ar);
    assert_int_equal(c.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_of_no_bytes_is_a_block),
        cmocka_unit_test(array_that_overflows_is_no_memory),
        cmocka_unit_test(grow_keeps_the_old_block_on_failure),
        cmocka_unit_test(vector_grows_to_the_index_asked_for),
        cmocka_unit_test(arena_gives_zeroed_aligned_blocks),
        cmocka_unit_test(arena_survives_a_page_that_cannot_be_had),
    };

    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
