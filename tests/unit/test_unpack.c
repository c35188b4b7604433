/* test_unpack.c -- LZ4 blocks and Zstandard frames */
#include "base/unpack.h"
#include "counting.h"
#include "unpack_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char text[8192];
static size_t bytes;

static int make_text(void **state)
{
    (void)state;
    bytes = 0;
    for (unsigned i = 0; i < 160; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes,
                                  "%u times %u is %u in a field\n", i, i,
                                  i * i % 9973);
    return 0;
}

static void block_of_lz4_is_unpacked(void **state)
{
    unsigned char out[sizeof text];

    (void)state;
    assert_true(fgs__unpack_lz4(out, bytes, by_lz4, sizeof by_lz4));
    assert_memory_equal(out, text, bytes);
    assert_false(fgs__unpack_lz4(out, bytes - 1, by_lz4, sizeof by_lz4));
    assert_false(fgs__unpack_lz4(out, bytes + 1, by_lz4, sizeof by_lz4));
    assert_true(fgs__unpack_lz4(out, 0, by_lz4, 0));
}

static void frame_of_zstd_is_unpacked(void **state)
{
    static const unsigned char raw[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 2,
                                         0x11, 0,    0,    'h',  'i' };
    static const unsigned char rle[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 9,
                                         0x4b, 0,    0,    'x' };
    unsigned char out[sizeof text];

    (void)state;
    assert_int_equal(fgs__unpack_zstd(out, bytes, by_zstd, sizeof by_zstd,
                                      &fgs__malloc), FGS_OK);
    assert_memory_equal(out, text, bytes);
    assert_int_equal(fgs__unpack_zstd(out, bytes + 1, by_zstd, sizeof by_zstd,
                                      &fgs__malloc), FGS_E_INVAL);
    assert_int_equal(fgs__unpack_zstd(out, 2, raw, sizeof raw, &fgs__malloc),
                     FGS_OK);
    assert_memory_equal(out, "hi", 2);
    assert_int_equal(fgs__unpack_zstd(out, 9, rle, sizeof rle, &fgs__malloc),
                     FGS_OK);
    assert_memory_equal(out, "xxxxxxxxx", 9);
}

/* Cut anywhere, and with every byte changed: refused or something else, but
 * never past the ends.  In blocks of their own, so that ASan sees. */
static void damaged_input_harms_nothing(void **state)
{
    static const struct {
        const unsigned char *in;
        size_t bytes;
    } row[] = { { by_zstd, sizeof by_zstd }, { by_lz4, sizeof by_lz4 } };
    unsigned char *out = malloc(bytes);

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3 * row[i].bytes; k++) {
            size_t n = k < row[i].bytes ? k : row[i].bytes;
            unsigned char *in = malloc(n + 1);
            bool ok;

            memcpy(in, row[i].in, n);
            if (k >= row[i].bytes)
                in[k % n] ^= k & 1 ? 0x55 : 0xff;
            ok = i ? fgs__unpack_lz4(out, bytes, in, n)
                   : !fgs__unpack_zstd(out, bytes, in, n, &fgs__malloc);
            if (k < row[i].bytes)
                assert_false(ok);
            free(in);
        }
    free(out);
}

static void failing_allocation_is_reported(void **state)
{
    struct counting c = { .at = 1 };
    fgs_allocator a = counting_allocator(&c);
    unsigned char out[sizeof text];

    (void)state;
    assert_int_equal(fgs__unpack_zstd(out, bytes, by_zstd, sizeof by_zstd, &a),
                     FGS_E_NOMEM);
    assert_int_equal(fgs__unpack_zstd(out, bytes, by_zstd, sizeof by_zstd, &a),
                     FGS_OK);
    assert_int_equal(c.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_of_lz4_is_unpacked),
        cmocka_unit_test(frame_of_zstd_is_unpacked),
        cmocka_unit_test(damaged_input_harms_nothing),
        cmocka_unit_test(failing_allocation_is_reported),
    };

    return cmocka_run_group_tests_name("unpack", tests, make_text, NULL);
}
