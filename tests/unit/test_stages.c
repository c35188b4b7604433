/* test_stages.c -- the consumer with tiles on their way by cp.async: stages 1
 * to 8, and what a missing wait or barrier does */
#include "lone.h"

#include "table/record.h"

enum { TILES = 13, TILE = 2048, WORDS = TILES * TILE / 4, SEEDS = 100 };

typedef uint64_t u64;
typedef uint32_t u32;
struct args {
#define PARAM(name, type, meaning) type name;
#include "table/param.def"
#undef PARAM
};

static uint32_t mid[WORDS], want[WORDS], got[WORDS];
static struct fgs__rec record;
static struct fgs__stat stat;

static void make_values(void)
{
    for (uint32_t i = 0; i < WORDS; i++)
        mid[i] = (i * 2654435761u) & 0x7fffffff;
    assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, mid, want, TILES, TILE),
                     FGS_OK);
}

struct how {
    uint32_t stages, blocks, threads;
    uint64_t bound_ns, max_tries;
};

static fgs_ptx_desc desc_of(const struct how *h)
{
    return (fgs_ptx_desc){ .stem = "async_stages_consume",
                           .tile_bytes = TILE, .threads = h->threads,
                           .stages = h->stages };
}

static int run(const char *text, const struct how *h, uint64_t seed)
{
    uint32_t zero[64] = { 0 };
    struct args a = { .p_tiles = TILES, .p_bound_ns = h->bound_ns,
                      .p_max_tries = h->max_tries };
    void *params[] = {
#define PARAM(name, type, meaning) &a.name,
#include "table/param.def"
#undef PARAM
    };
    struct lone l = lone_open(text, "fgs_async_stages_consume", seed);
    int wrong = 0;

    memset(got, 0x5a, sizeof got);
    a.p_mid = lone_put(mid, sizeof mid);
    a.p_out = lone_put(got, sizeof got);
    a.p_ctl = lone_put(zero, sizeof zero);
    a.p_rec = lone_put(zero, sizeof zero);
    a.p_stat = lone_put(zero, sizeof zero);
    if (lone_run(l.function, h->blocks, h->threads, h->stages * TILE, params))
        fail_msg("%u stages: %s", h->stages, fgs_sim_last_fault());
    OK(cuMemcpyDtoH(got, a.p_out, sizeof got));
    OK(cuMemcpyDtoH(&record, a.p_rec, sizeof record));
    OK(cuMemcpyDtoH(&stat, a.p_stat, sizeof stat));
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += got[i] != want[i];
    lone_close(&l);
    return wrong;
}

static void every_number_of_stages_and_blocks_is_right(void **state)
{
    static const uint32_t blocks[] = { 1, 2, 3, 7, TILES, TILES + 4 };

    (void)state;
    for (uint32_t s = 1; s <= 8; s++) {
        for (size_t i = 0; i < COUNT(blocks); i++) {
            struct how h = { s, blocks[i], i % 2 ? 32 : 64, 0, 0 };
            fgs_ptx_desc d = desc_of(&h);
            char *text = lone_text(&d, NULL);

            if (run(text, &h, s + i) || record.code || stat.reissues)
                fail_msg("%u stages, %u blocks", s, blocks[i]);
            free(text);
        }
    }
}

static void right_code_is_right_for_100_seeds(void **state)
{
    static const uint32_t stages[] = { 1, 2, 3, 8 };

    (void)state;
    for (size_t i = 0; i < COUNT(stages); i++) {
        struct how h = { stages[i], 3, 64, 0, 0 };
        fgs_ptx_desc d = desc_of(&h);
        char *text = lone_text(&d, NULL);

        for (uint64_t seed = 0; seed < SEEDS; seed++)
            assert_int_equal(run(text, &h, seed), 0);
        free(text);
    }
}

/* Each thread sees what it copied when it waited for it, so a missing wait
 * shows as sentinels of a stage that was not filled yet: as other data. */
static void each_missing_wait_and_barrier_shows(void **state)
{
    static const struct {
        const char *what;
        struct lone_edit edit[2];
    } row[] = {
        { "no wait", { { "cp.async.wait_group     1;", "" } } },
        { "wait_group 2", { { "wait_group     1;", "wait_group     2;" } } },
        { "no first barrier",
          { { "L_publish:\n    bar.sync                0;", "L_publish:" } } },
        { "no second barrier",
          { { "L_used:\n    bar.sync                0;", "L_used:" } } },
    };
    struct how h = { 2, 2, 32, 0, 0 };

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        fgs_ptx_desc d;
        char *text;
        int n = 0;

        h.threads = 64;
        d = desc_of(&h);
        text = lone_text(&d, row[i].edit);
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            n += run(text, &h, seed) != 0;
        free(text);
        print_message("%s: in %d of %d seeds\n", row[i].what, n, SEEDS);
        if (!n)
            fail_msg("%s is not seen", row[i].what);
    }
}

static void chunk_that_stays_sentinel_is_recorded(void **state)
{
    const uint32_t old = mid[7 * TILE / 4 + 41];

    (void)state;
    mid[7 * TILE / 4 + 41] = 0x80000000u; /* tile 7, chunk 10 */
    for (uint32_t s = 1; s <= 8; s++) {
        struct how h = { s, 2, 32, 1000000, 0 };
        fgs_ptx_desc d = desc_of(&h);
        char *text = lone_text(&d, NULL);

        run(text, &h, s);
        assert_int_equal(record.code, FGS__GIVEUP_TIME);
        assert_int_equal(record.tile, 7);
        assert_int_equal(record.chunk, 10);
        assert_int_equal(record.stage, 3 % s); /* block 1's tile 3 */
        assert_int_equal(record.block, 1);
        assert_true(stat.reissues > 0);
        h.bound_ns = 0;
        h.max_tries = 9;
        run(text, &h, s);
        assert_int_equal(record.code, FGS__GIVEUP_TRIES);
        assert_int_equal(record.tries, 9);
        free(text);
    }
    mid[7 * TILE / 4 + 41] = old;
}

static void stages_that_a_block_cannot_have_are_refused(void **state)
{
    fgs_ptx_desc d = { .size = sizeof d, .stem = "async_stages_consume",
                       .cc = 90, .stages = 9 };
    size_t size = 0;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_ptx_expand(&d, NULL, &size, &err), FGS_E_SIZE);
    assert_int_equal(size, 0);
    d.stages = 8;
    d.tile_bytes = 32768;
    assert_int_equal(fgs_ptx_expand(&d, NULL, &size, &err), FGS_E_SIZE);
    assert_non_null(strstr(err.text, "8 stages of 32768 bytes"));
}

static void twin_is_right(void **state)
{
    (void)state;
    for (uint32_t s = 1; s <= 8; s += 3) {
        struct how h = { s, 3, 64, 0, 0 };
        fgs_ptx_desc d = desc_of(&h);
        char *text = lone_twin(&d);

        for (uint64_t seed = 0; seed < 5; seed++)
            assert_int_equal(run(text, &h, seed), 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_stages_and_blocks_is_right),
        cmocka_unit_test(right_code_is_right_for_100_seeds),
        cmocka_unit_test(each_missing_wait_and_barrier_shows),
        cmocka_unit_test(chunk_that_stays_sentinel_is_recorded),
        cmocka_unit_test(stages_that_a_block_cannot_have_are_refused),
        cmocka_unit_test(twin_is_right),
    };

    make_values();
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
