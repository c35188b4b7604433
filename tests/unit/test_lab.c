/* test_lab.c -- the cp.async lab: right for every count, wrong without each of
 * its waits and barriers */
#include "lone.h"

enum { MOST = 3 * 4 * 1024 + 77, TILE = 1024, SEEDS = 100 };

static float input[MOST], want[MOST], got[MOST + 4];

static void make_input(void)
{
    uint64_t x = 88172645463325252u;

    for (int i = 0; i < MOST; i++) {
        uint32_t w;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        w = (uint32_t)(x >> 32);
        if (i % 64 == 5) /* infinities and NaNs of both signs */
            w = i % 128 == 5 ? 0xff800001 : 0x7f800000 | (w & 0x80000000);
        memcpy(&input[i], &w, sizeof w);
    }
    assert_int_equal(fgs_ref_transform(input, want, MOST), FGS_OK);
}

struct shape {
    uint32_t block_tiles, tile_bytes, threads;
};

/* Elements that differ from the mirror, or were written behind the end. */
static int run(const char *text, const char *entry, const struct shape *s,
               uint64_t count, uint64_t seed)
{
    struct lone l = lone_open(text, entry, seed);
    CUdeviceptr in = lone_put(input, count * 4), out;
    uint64_t each = (uint64_t)s->block_tiles * s->tile_bytes / 4;
    void *params[] = { &in, &out, &count, (void *)(uintptr_t)&s->block_tiles };
    int wrong = 0;

    memset(got, 0x5a, sizeof got);
    out = lone_put(got, (count + 4) * 4);
    if (lone_run(l.function, (uint32_t)((count + each - 1) / each), s->threads,
                 2 * s->tile_bytes, params))
        fail_msg("%s, %u floats: %s", entry, (unsigned)count,
                 fgs_sim_last_fault());
    OK(cuMemcpyDtoH(got, out, (count + 4) * 4));
    for (uint64_t i = 0; i < count; i++)
        wrong += memcmp(&got[i], &want[i], 4) != 0;
    for (uint64_t i = count; i < count + 4; i++)
        wrong += memcmp(&got[i], "ZZZZ", 4) != 0;
    lone_close(&l);
    return wrong;
}

static const char *const stems[] = { "lab_sync", "lab_async" };

static char *text_of(const char *stem, const struct shape *s,
                     const struct lone_edit *edits)
{
    const fgs_ptx_desc d = { .stem = stem, .tile_bytes = s->tile_bytes,
                             .threads = s->threads };

    return lone_text(&d, edits);
}

static void expect_right(const struct shape *s, uint64_t count, uint64_t seed)
{
    for (int k = 0; k < 2; k++) {
        char *text = text_of(stems[k], s, NULL), entry[32];
        int wrong;

        snprintf(entry, sizeof entry, "fgs_%s", stems[k]);
        wrong = run(text, entry, s, count, seed);
        if (wrong)
            fail_msg("%s, %u floats, seed %u: %d are wrong", stems[k],
                     (unsigned)count, (unsigned)seed, wrong);
        free(text);
    }
}

static void both_are_right_for_every_count(void **state)
{
    static const uint64_t counts[] = {
        1, 2, 3, 4, 5, 31, 255, 257, 1023, 1024, 1025, 1027, 2047, 2048, 3073,
        4095, 4096, 4097, 5121, 8192, 12287, MOST
    };
    const struct shape s = { 4, 4 * TILE, 256 };

    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++)
        expect_right(&s, counts[i], 1 + i);
}

static void both_are_right_for_every_shape(void **state)
{
    static const struct shape shapes[] = {
        { 1, 4096, 256 }, { 2, 4096, 64 }, { 3, 16, 32 }, { 5, 48, 32 },
        { 4, 8208, 96 },  { 7, 1024, 1024 }, { 100, 1024, 128 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        expect_right(&shapes[i], 4 * 1024 + 3, i);
        expect_right(&shapes[i], 17, i);
    }
}

static void right_code_is_right_for_100_seeds(void **state)
{
    const struct shape s = { 4, 1024, 64 };
    char *text = text_of("lab_async", &s, NULL);

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_int_equal(run(text, "fgs_lab_async", &s, 2048 + 9, seed), 0);
    free(text);
}

/* In how many of the seeds it shows. */
static int seen(const struct shape *s, uint64_t seeds,
                const struct lone_edit *edits)
{
    char *text = text_of("lab_async", s, edits);
    int n = 0;

    for (uint64_t seed = 0; seed < seeds; seed++)
        n += run(text, "fgs_lab_async", s, s->tile_bytes, seed) != 0;
    free(text);
    return n;
}

static void each_missing_wait_and_barrier_shows(void **state)
{
    static const struct {
        const char *what;
        struct lone_edit edit[3];
    } row[] = {
        { "no wait", { { "cp.async.wait_group     1;", "" } } },
        { "no last wait", { { "cp.async.wait_group     0;", "" } } },
        { "wait_group 2", { { "wait_group     1;", "wait_group     2;" } } },
        { "last wait_group 1",
          { { "wait_group     0;", "wait_group     1;" } } },
        { "no first barrier",
          { { "L_landed:\n    bar.sync                0;", "L_landed:" } } },
        { "no second barrier",
          { { "L_used:\n    bar.sync                0;", "L_used:" } } },
    };
    const struct shape s = { 4, 1024, 128 }, lab = { 4, 4096, 256 };

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        int n = seen(&s, SEEDS, row[i].edit), m = seen(&lab, 10, row[i].edit);

        print_message("%s: in %d of %d seeds, in the lab's shape in %d of 10\n",
                      row[i].what, n, SEEDS, m);
        if (!n || !m)
            fail_msg("%s is not seen", row[i].what);
    }
}

static void twins_are_right(void **state)
{
    const struct shape s = { 4, 4096, 256 };

    (void)state;
    for (int k = 0; k < 2; k++) {
        const fgs_ptx_desc d = { .stem = stems[k] };
        char *text = lone_twin(&d), entry[32];

        snprintf(entry, sizeof entry, "fgs_%s", stems[k]);
        assert_int_equal(run(text, entry, &s, MOST, 1), 0);
        assert_int_equal(run(text, entry, &s, 4097, 2), 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_right_for_every_count),
        cmocka_unit_test(both_are_right_for_every_shape),
        cmocka_unit_test(right_code_is_right_for_100_seeds),
        cmocka_unit_test(each_missing_wait_and_barrier_shows),
        cmocka_unit_test(twins_are_right),
    };

    make_input();
    return cmocka_run_group_tests_name("lab", tests, NULL, NULL);
}
