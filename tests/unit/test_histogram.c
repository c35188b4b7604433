/* test_histogram.c -- the privatized histogram against its mirror, and what a
 * missing barrier does to it */
#include "lone.h"

#include "table/record.h"

enum { MOST = 4099, SEEDS = 100, BINS_MOST = 1500 };

static float values[MOST + 4];

static void make_values(float most)
{
    static const uint32_t special[] = {
        0, 1, 0x00800000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000,
        0x80000001, 0xc0a00000, 0x411fffff, 0x41200000, 0x7f7fffff,
    };
    uint64_t x = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < MOST + 4; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        values[i] = (float)(x >> 40) / (float)(1 << 24) * most * 1.1f;
        if (i % 37 < 12)
            memcpy(&values[i], &special[i % 37], 4);
    }
}

struct how {
    const char *stem;
    uint32_t bins, blocks, threads;
    float width;
    uint64_t count, start; /* start: what each counter begins with            */
    uint64_t bound_ns, max_tries;
};

static uint64_t want[BINS_MOST + 3], got[BINS_MOST + 3];
static struct fgs__rec record;

static char *text_of(const struct how *h, const struct lone_edit *edits)
{
    const fgs_ptx_desc d = { .stem = h->stem, .threads = h->threads };

    return lone_text(&d, edits);
}

static uint32_t shared_of(const struct how *h)
{
    return strcmp(h->stem, "histogram") ? 0 : 4 * (h->bins + 3);
}

/* Slots that differ from the mirror; the record is left in `record`. */
static int run(const char *text, const struct how *h, uint64_t seed)
{
    uint32_t slots = h->bins + 3, private_bytes = 4 * slots * h->blocks;
    CUdeviceptr mid, hist, own, ctl, rec, none = 0;
    uint64_t bound = h->bound_ns, tries = h->max_tries, count = h->count;
    uint32_t bins = h->bins;
    float width = h->width;
    char entry[40], *junk = malloc(private_bytes), zero[256] = { 0 };
    void *params[] = { &mid, &count, &hist, &own, &ctl, &rec, &none, &none,
                       &bound, &tries, &bins, &width };
    struct lone l;
    int wrong = 0;

    for (uint32_t i = 0; i < slots; i++)
        got[i] = want[i] = h->start;
    assert_int_equal(fgs_ref_histogram(values, count, bins, width, want),
                     FGS_OK);
    snprintf(entry, sizeof entry, "fgs_%s", h->stem);
    l = lone_open(text, entry, seed);
    memset(junk, 0x33, private_bytes); /* nobody zeroed it before */
    mid = lone_put(values, (h->count + 3) / 4 * 16);
    hist = lone_put(got, slots * sizeof *got);
    own = lone_put(junk, private_bytes);
    ctl = lone_put(zero, sizeof zero);
    rec = lone_put(zero, sizeof zero);
    if (lone_run(l.function, h->blocks, h->threads, shared_of(h), params))
        fail_msg("%s: %s", h->stem, fgs_sim_last_fault());
    OK(cuMemcpyDtoH(got, hist, slots * sizeof *got));
    OK(cuMemcpyDtoH(&record, rec, sizeof record));
    for (uint32_t i = 0; i < slots; i++)
        wrong += got[i] != want[i];
    lone_close(&l);
    free(junk);
    return wrong;
}

static void expect_right(const struct how *h, uint64_t seed)
{
    char *text = text_of(h, NULL);
    int wrong = run(text, h, seed);

    if (wrong || record.code)
        fail_msg("%s, %u bins, %u values, %u blocks of %u, seed %u: %d slots "
                 "are wrong, code %u",
                 h->stem, h->bins, (unsigned)h->count, h->blocks, h->threads,
                 (unsigned)seed, wrong, record.code);
    free(text);
}

static const char *const stems[] = { "histogram", "histogram_global",
                                     "histogram_global_gpu",
                                     "histogram_direct" };

static void all_variants_are_the_mirror(void **state)
{
    static const struct {
        uint32_t bins, blocks, threads;
        uint64_t count;
        float width;
    } row[] = {
        { 10, 4, 256, 4096, 10 },   { 1, 1, 32, 1, 10 },
        { 12, 3, 64, 4099, 2.5f },  { 1500, 2, 32, 4001, 0.1f },
        { 300, 5, 96, 127, 1e-3f }, { 7, 9, 128, 2, 1e30f },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        make_values(row[i].width * (float)row[i].bins);
        for (size_t k = 0; k < COUNT(stems); k++) {
            struct how h = { stems[k], row[i].bins, row[i].blocks,
                             row[i].threads, row[i].width, row[i].count, 0, 0,
                             0 };

            expect_right(&h, i);
        }
    }
}

static void counts_pass_32_bits(void **state)
{
    (void)state;
    make_values(100);
    for (size_t k = 0; k < COUNT(stems); k++) {
        struct how h = { stems[k], 10, 3, 64, 10, 4000, 0xfffffffeu, 0, 0 };

        expect_right(&h, 1);
        assert_true(got[0] > 0xffffffffu); /* the mirror agreed: no wrap */
    }
}

static void right_code_is_right_for_100_seeds(void **state)
{
    (void)state;
    make_values(100);
    for (size_t k = 0; k < 2; k++) {
        struct how h = { stems[k], 20, 3, 128, 5, 1023, 0, 0, 0 };
        char *text = text_of(&h, NULL);

        for (uint64_t seed = 0; seed < SEEDS; seed++)
            assert_int_equal(run(text, &h, seed), 0);
        free(text);
    }
}

static void each_missing_barrier_shows(void **state)
{
    static const struct {
        const char *what;
        struct lone_edit edit[2];
    } row[] = {
        { "no barrier behind the zeroing",
          { { "L_cleared:\n    bar.sync                0;", "L_cleared:" } } },
        { "no barrier before the adds",
          { { "L_counted:\n    bar.sync                0;", "L_counted:" } } },
    };

    (void)state;
    make_values(100);
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < COUNT(row); i++) {
            struct how h = { stems[k], 200, 2, 128, 0.5f, 2000, 0, 0, 0 };
            char *text = text_of(&h, row[i].edit);
            int n = 0;

            for (uint64_t seed = 0; seed < SEEDS; seed++)
                n += run(text, &h, seed) != 0;
            free(text);
            print_message("%s, %s: in %d of %d seeds\n", h.stem, row[i].what,
                          n, SEEDS);
            if (!n)
                fail_msg("%s: %s is not seen", h.stem, row[i].what);
        }
    }
}

static void chunk_that_stays_sentinel_is_recorded(void **state)
{
    static const uint32_t neg0 = 0x80000000u;

    (void)state;
    make_values(100);
    memcpy(&values[2600 + 2], &neg0, 4); /* tile 2, chunk 138 */
    for (size_t k = 0; k < COUNT(stems); k++) {
        struct how h = { stems[k], 10, 3, 64, 10, 4000, 7, 1000000, 0 };
        char *text = text_of(&h, NULL);

        run(text, &h, k);
        assert_int_equal(record.code, FGS__GIVEUP_TIME);
        assert_int_equal(record.tile, 2);
        assert_int_equal(record.chunk, 138);
        assert_int_equal(record.bits1 & 0xffffffff, neg0);
        h.bound_ns = 0;
        h.max_tries = 5;
        run(text, &h, k);
        assert_int_equal(record.code, FGS__GIVEUP_TRIES);
        assert_int_equal(record.tries, 5);
        free(text);
    }
}

static void twins_are_the_mirror(void **state)
{
    (void)state;
    make_values(100);
    for (size_t k = 0; k < COUNT(stems); k++) {
        struct how h = { stems[k], 12, 3, 256, 10, 4001, 5, 0, 0 };
        const fgs_ptx_desc d = { .stem = stems[k] };
        char *text = lone_twin(&d);

        for (uint64_t seed = 0; seed < 5; seed++)
            assert_int_equal(run(text, &h, seed), 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants_are_the_mirror),
        cmocka_unit_test(counts_pass_32_bits),
        cmocka_unit_test(right_code_is_right_for_100_seeds),
        cmocka_unit_test(each_missing_barrier_shows),
        cmocka_unit_test(chunk_that_stays_sentinel_is_recorded),
        cmocka_unit_test(twins_are_the_mirror),
    };

    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
