/* test_kernels_ref.c -- the C mirrors against the guide's formulas */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/ref.h"

static void scale_doubles_and_canonicalizes_special_values(void **state)
{
    /* in, 2 * in by hand (IEEE 754 binary32) */
    static const uint32_t row[][2] = {
        { 0x00000000, 0x00000000 }, /* +0 */
        { 0x80000000, 0x00000000 }, /* -0 is the sentinel, so +0 */
        { 0x3f800000, 0x40000000 }, /* 1 -> 2 */
        { 0xbfc00000, 0xc0400000 }, /* -1.5 -> -3 */
        { 0x00000001, 0x00000002 }, /* least subnormal */
        { 0x80000001, 0x80000002 }, /* its negative is no zero */
        { 0x007fffff, 0x00fffffe }, /* greatest subnormal becomes normal */
        { 0x80400000, 0x80800000 }, /* half of the least normal */
        { 0x00800000, 0x01000000 },
        { 0x7effffff, 0x7f7fffff }, /* greatest that does not overflow */
        { 0x7f000000, 0x7f800000 }, /* 2^127 -> infinity */
        { 0xff7fffff, 0xff800000 },
        { 0x7f800000, 0x7f800000 },
        { 0xff800000, 0xff800000 },
        { 0x7fc00000, 0x7fffffff }, /* NaN */
        { 0xff800001, 0x7fffffff }, /* signaling, negative, with payload */
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        assert_int_equal(fgs__ref_scale_one(row[i][0]), row[i][1]);
}

static void scale_is_the_guides_float_formula(void **state)
{
    (void)state;
    /* canonicalize(2.0f * x) of 4.6.6; 4093 is prime, so all exponents and
     * both signs come by. */
    for (uint64_t bits = 0; bits < 0x100000000u; bits += 4093) {
        volatile float x, y;
        float z;
        uint32_t want, b = (uint32_t)bits;

        memcpy(&z, &b, sizeof z);
        x = z;
        y = 2.0f * x;
        y = y + 0.0f;
        z = y;
        memcpy(&want, &z, sizeof want);
        if (z != z)
            want = 0x7fffffff;
        if (fgs__ref_scale_one(b) != want)
            fail_msg("0x%08x: 0x%08x, not 0x%08x", b, fgs__ref_scale_one(b),
                     want);
    }
}

static void scale_never_makes_the_sentinel(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < 0x100000000u; bits += 257)
        assert_int_not_equal(fgs__ref_scale_one((uint32_t)bits), 0x80000000u);
}

static void reverse_turns_each_tile_by_itself(void **state)
{
    static const uint32_t in[8] = { 1, 2, 3, 4, 5, 6, 7, 0xff812345 };
    static const uint32_t want[8] = { 4, 3, 2, 1, 0xff812345, 7, 6, 5 };
    uint32_t out[8] = { 0 };

    (void)state;
    fgs__ref_reverse(out, in, 2, 4);
    assert_memory_equal(out, want, sizeof want);
}

static void fill_writes_every_lane(void **state)
{
    uint32_t a[6] = { 1, 1, 1, 1, 1, 1 };
    static const uint32_t want[6] = { 1, 9, 9, 9, 9, 1 };

    (void)state;
    fgs__ref_fill(a + 1, 4, 9);
    assert_memory_equal(a, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_doubles_and_canonicalizes_special_values),
        cmocka_unit_test(scale_is_the_guides_float_formula),
        cmocka_unit_test(scale_never_makes_the_sentinel),
        cmocka_unit_test(reverse_turns_each_tile_by_itself),
        cmocka_unit_test(fill_writes_every_lane),
    };

    return cmocka_run_group_tests_name("kernels_ref", tests, NULL, NULL);
}
