/* test_sim_fp8.c -- e4m3, e5m2 in 32 bits give what the way by double does */
#include "sim/fp8.h"
#include "sim/narrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void every_code_widens_alike(void **state)
{
    const struct narrow *f16 = &narrows[NARROW_F16];
    struct rounding r = { .mode = FGS__M_RN };

    (void)state;
    for (uint32_t c = 0; c < 256; c++) {
        assert_int_equal(f16_of_e5m2(c),
                         to_narrow(f16, of_narrow(NARROW_E5M2, c), &r));
        assert_int_equal(f16_of_e4m3(c),
                         to_narrow(f16, of_narrow(NARROW_E4M3, c), &r));
    }
}

static void narrows_alike(uint32_t bits)
{
    struct rounding r = { .mode = FGS__M_RN, .satfinite = true };
    float v = bits_float(bits);

    if (e4m3_of_float(v) != to_narrow(&narrows[NARROW_E4M3], (double)v, &r) ||
        e5m2_of_float(v) != to_narrow(&narrows[NARROW_E5M2], (double)v, &r))
        fail_msg("f32 0x%08x", bits);
}

/* Whatever is at or beside a tie, and a walk through all of the rest. */
static void floats_narrow_alike(void **state)
{
    (void)state;
    for (uint32_t high = 0; high < 65536; high++) {
        narrows_alike((high << 16) - 1);
        narrows_alike(high << 16);
        narrows_alike((high << 16) + 1);
    }
    for (uint64_t u = 0; u <= UINT32_MAX; u += 9973)
        narrows_alike((uint32_t)u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_widens_alike),
        cmocka_unit_test(floats_narrow_alike),
    };

    return cmocka_run_group_tests_name("fp8", tests, NULL, NULL);
}
