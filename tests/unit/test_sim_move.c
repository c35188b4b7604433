/* test_sim_move.c -- moving chunks and looking for the sentinel in them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compat.h"
#include "sim/move.h"

static void put(unsigned char *chunk, unsigned bits, unsigned e, uint32_t v)
{
    for (unsigned bit = 0; bit < bits; bit++) {
        unsigned at = e * bits + bit;

        chunk[at / 8] &= (unsigned char)~(1u << at % 8);
        chunk[at / 8] |= (unsigned char)((v >> bit & 1) << at % 8);
    }
}

static const struct {
    fgs_mechanism mech;
    unsigned bits;
    uint32_t sentinel, near; /* near: one bit away from it */
    bool every;
} mechs[] = {
    {FGS_MECHANISM_W32, 32, 0x80000000u, 0x80000001u, false},
    {FGS_MECHANISM_W16, 16, 0x8000u, 0x0000u, false},
    {FGS_MECHANISM_W8, 8, 0x80u, 0x81u, false},
    {FGS_MECHANISM_W4, 4, 0x8u, 0x9u, false},
    {FGS_MECHANISM_EACH_FF, 8, 0xffu, 0xfeu, true},
};

enum { MECHS = sizeof mechs / sizeof *mechs, CHUNKS = 5 };

/* Move CHUNKS chunks with one sentinel at element e of chunk k. */
static bool inspect(unsigned m, fgs_sim_sample sample, unsigned k, unsigned e,
                    uint32_t value, bool backward, uint64_t *rng)
{
    static FGS__ALIGN(16) unsigned char src[16 * CHUNKS], dst[16 * CHUNKS];
    struct fgs__sim_check c = fgs__sim_check_make(mechs[m].mech, sample);
    bool hit;

    memset(src, 0x11, sizeof src);
    memset(dst, 0, sizeof dst);
    put(src + 16 * k, mechs[m].bits, e, value);
    hit = fgs__sim_move((char *)dst, (const char *)src, CHUNKS, backward, &c,
                        rng);
    assert_memory_equal(src, dst, sizeof src);
    return hit;
}

static void
sentinel_is_found_where_the_policy_looks_and_nowhere_else(void **state)
{
    uint64_t rng = 3;

    (void)state;
    for (unsigned m = 0; m < MECHS; m++)
        for (unsigned k = 0; k < CHUNKS; k++)
            for (unsigned e = 0; e < 128 / mechs[m].bits; e++) {
                unsigned last = 128 / mechs[m].bits - 1;
                bool all = mechs[m].every, back = (k + e) & 1;
                uint32_t s = mechs[m].sentinel;

                assert_int_equal(
                    inspect(m, FGS_SIM_SAMPLE_FIRST, k, e, s, back, &rng),
                    all || e == 0);
                assert_int_equal(
                    inspect(m, FGS_SIM_SAMPLE_LAST, k, e, s, back, &rng),
                    all || e == last);
                assert_true(
                    inspect(m, FGS_SIM_SAMPLE_ALL, k, e, s, back, &rng));
                assert_false(inspect(m, FGS_SIM_SAMPLE_ALL, k, e, mechs[m].near,
                                     back, &rng));
            }
}

static void random_sample_looks_at_every_element_in_turn(void **state)
{
    uint64_t rng = 9;

    (void)state;
    for (unsigned m = 0; m < MECHS; m++)
        for (unsigned e = 0; e < 128 / mechs[m].bits; e++) {
            unsigned hits = 0, elements = 128 / mechs[m].bits;

            for (unsigned n = 0; n < 64 * elements; n++)
                hits += inspect(m, FGS_SIM_SAMPLE_RANDOM, 2, e,
                                mechs[m].sentinel, n & 1, &rng);
            if (mechs[m].every)
                assert_int_equal(hits, 64 * elements);
            else
                assert_in_range(hits, 30, 110);
        }
}

static void chunk_full_of_sentinels_is_found_under_every_policy(void **state)
{
    static FGS__ALIGN(16) unsigned char src[16], dst[16];
    uint64_t rng = 4;

    (void)state;
    for (unsigned m = 0; m < MECHS; m++) {
        for (unsigned e = 0; e < 128 / mechs[m].bits; e++)
            put(src, mechs[m].bits, e, mechs[m].sentinel);
        for (int s = FGS_SIM_SAMPLE_RANDOM; s <= FGS_SIM_SAMPLE_ALL; s++) {
            struct fgs__sim_check c =
                fgs__sim_check_make(mechs[m].mech, (fgs_sim_sample)s);

            assert_true(fgs__sim_move((char *)dst, (const char *)src, 1, false,
                                      &c, &rng));
        }
    }
}

static void copy_without_a_mechanism_inspects_nothing(void **state)
{
    static FGS__ALIGN(16) unsigned char src[64], dst[64];
    struct fgs__sim_check c =
        fgs__sim_check_make(FGS_MECHANISM_DISABLED, FGS_SIM_SAMPLE_ALL);
    uint64_t rng = 1;

    (void)state;
    memset(src, 0, sizeof src);
    assert_false(
        fgs__sim_move((char *)dst, (const char *)src, 4, false, &c, &rng));
    memset(src, 0xff, sizeof src);
    assert_false(
        fgs__sim_move((char *)dst, (const char *)src, 4, true, &c, &rng));
    assert_memory_equal(src, dst, sizeof src);
}

/* A 4-bit sentinel does not match across the border of two nibbles. */
static void nibbles_are_compared_where_they_lie(void **state)
{
    static FGS__ALIGN(16) unsigned char src[16], dst[16];
    struct fgs__sim_check c =
        fgs__sim_check_make(FGS_MECHANISM_W4, FGS_SIM_SAMPLE_ALL);
    uint64_t rng = 1;

    (void)state;
    memset(src, 0x11, sizeof src);
    src[7] = 0x20; /* bits 5..2 read 1000 */
    assert_false(
        fgs__sim_move((char *)dst, (const char *)src, 1, false, &c, &rng));
    src[7] = 0x80;
    assert_true(
        fgs__sim_move((char *)dst, (const char *)src, 1, false, &c, &rng));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            sentinel_is_found_where_the_policy_looks_and_nowhere_else),
        cmocka_unit_test(random_sample_looks_at_every_element_in_turn),
        cmocka_unit_test(chunk_full_of_sentinels_is_found_under_every_policy),
        cmocka_unit_test(copy_without_a_mechanism_inspects_nothing),
        cmocka_unit_test(nibbles_are_compared_where_they_lie),
    };

    return cmocka_run_group_tests_name("sim_move", tests, NULL, NULL);
}
