/* test_kernels_run.c -- each kernel runs, against its C mirror; FGS_PROVIDER */
#include "kernels.h"

/* ------------------------------------------------------- init, producer -- */

static void fill_writes_each_chunk_whatever_the_grid(void **state)
{
    static const struct {
        uint32_t grid, block;
    } shape[] = { { 1, 1 },   { 1, 256 },  { 3, 33 }, { 7, 1000 },
                  { 20, 256 }, { 257, 96 }, { 2000, 32 } };
    static uint32_t want[WORDS];
    fgs_kernel *k = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        /* one tile less: what is behind the last must stay */
        memset(host_mid, 0x55, BYTES);
        put(g.mid, host_mid, BYTES);
        memset(want, 0x55, BYTES);
        fgs__ref_fill(want, WORDS - FGS__TILE_ELEMS, 0x80000000u);
        launch(k, (struct args){ .tiles = TILES - 1, .grid = shape[i].grid,
                                 .block = shape[i].block });
        OK(cuCtxSynchronize());
        get(host_mid, g.mid, BYTES);
        same(host_mid, want, WORDS, "filled");
    }
    fgs_kernel_free(k);
}

static void produce_is_its_mirror(void **state)
{
    static uint32_t want[WORDS];
    fgs_kernel *k = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);

    (void)state;
    memset(want, 0x55, BYTES);
    put(g.mid, want, BYTES);
    fgs__ref_scale(want, host_in, WORDS - FGS__TILE_ELEMS);
    /* more blocks than tiles: those behind the last do nothing */
    launch(k, (struct args){ .tiles = TILES - 1, .grid = TILES + 5 });
    OK(cuCtxSynchronize());
    get(host_mid, g.mid, BYTES);
    same(host_mid, want, WORDS, "produced");
    assert_true(get_stat(FGS_ROLE_PRODUCER).last > 0);
    assert_int_equal(get_ctl().abort, 0);
    fgs_kernel_free(k);
}

static void produce_takes_its_extra_time(void **state)
{
    fgs_kernel *k = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    uint64_t first;

    (void)state;
    launch(k, (struct args){ .tiles = 1 });
    OK(cuCtxSynchronize());
    first = get_stat(FGS_ROLE_PRODUCER).last;
    launch(k, (struct args){ .tiles = 1, .work_ns = 300000 });
    OK(cuCtxSynchronize());
    assert_true(get_stat(FGS_ROLE_PRODUCER).last >= first + 300000);
    fgs_kernel_free(k);
}

static void faults_hit_one_chunk_of_one_tile(void **state)
{
    static const struct {
        const char *stem;
        uint32_t word;
    } row[] = { { "scale_produce_leak", 0x55555555 },
                { "scale_produce_sentinel", 0x80000000 } };
    static uint32_t want[WORDS];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fgs_kernel *k = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0,
                             row[i].stem);

        memset(want, 0x55, BYTES);
        put(g.mid, want, BYTES);
        fgs__ref_scale(want, host_in, WORDS);
        fgs__ref_fill(want + 7 * FGS__TILE_ELEMS + 255 * 4, 4, row[i].word);
        launch(k, (struct args){ .tiles = TILES, .fault_tile = 7,
                                 .fault_chunk = 255 });
        OK(cuCtxSynchronize());
        get(host_mid, g.mid, BYTES);
        same(host_mid, want, WORDS, row[i].stem);
        fgs_kernel_free(k);
    }
}

/* ------------------------------------------------------------ consumers -- */

static void consumer_reverses_tiles_bit_by_bit(void **state)
{
    static uint32_t want[WORDS];

    (void)state;
    make_words(host_mid, 1);
    put(g.mid, host_mid, BYTES);
    EACH_CONSUMER(i, k)
    {
        reset(NULL);
        memset(want, 0xee, BYTES);
        fgs__ref_reverse(want, host_mid, TILES - 1, FGS__TILE_ELEMS);
        launch(k, (struct args){ .tiles = TILES - 1, .grid = TILES + 3 });
        OK(cuCtxSynchronize());
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, kinds[i].name);
        assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 0);
        assert_int_equal(get_ctl().abort, 0);
        assert_true(get_stat(FGS_ROLE_CONSUMER).first != 0);
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
    }
}

static void tiles_are_handed_over_while_both_run(void **state)
{
    static uint32_t doubled[WORDS], want[WORDS];
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);

    (void)state;
    fgs__ref_scale(doubled, host_in, WORDS);
    fgs__ref_reverse(want, doubled, TILES, FGS__TILE_ELEMS);
    /* four tiles fit beside their producers on any device, 20 may not */
    for (uint64_t tiles = 4; tiles <= TILES; tiles += TILES - 4) {
        EACH_CONSUMER(i, k)
        {
            struct fgs__stat from, to;

            reset(NULL);
            hand_over(p, k, (struct args){ .tiles = tiles, .work_ns = 100000,
                                           .bound_ns = 2000000000 });
            get(host_out, g.out, BYTES);
            same(host_out, want, (uint32_t)tiles * FGS__TILE_ELEMS,
                 kinds[i].name);
            from = get_stat(FGS_ROLE_PRODUCER);
            to = get_stat(FGS_ROLE_CONSUMER);
            assert_int_equal(get_ctl().abort, 0);
            /* started half the extra time before the end: it has waited */
            if (tiles == 4 && ~to.first + 50000 < from.last)
                assert_true(to.reissues > 0);
        }
    }
    fgs_kernel_free(p);
}

/* The rows that a launch of as many blocks as tiles left: a row a block, the
 * statistics are their ends. */
static void check_rows(const char *name, fgs_role role, uint32_t tiles)
{
    struct fgs__trace row[TRACE_ROWS];
    struct fgs__stat s = get_stat(role);
    uint64_t first = UINT64_MAX, last = 0;

    get(row, g.trace, sizeof row);
    for (uint32_t i = 0; i < tiles; i++) {
        const struct fgs__trace *t = &row[i];
        int waits = role == FGS_ROLE_CONSUMER;

        if (t->start > t->end || t->tries != (uint32_t)waits || t->sm > 1000 ||
            (waits ? t->ready <= t->start || t->ready > t->end : t->ready != 0))
            fail_msg("%s: row %u: %llu, %llu, %llu ns, sm %u, %u tries", name,
                     i, (unsigned long long)t->start,
                     (unsigned long long)t->ready, (unsigned long long)t->end,
                     t->sm, t->tries);
        first = t->start < first ? t->start : first;
        last = t->end > last ? t->end : last;
    }
    for (size_t i = tiles * sizeof *row; i < sizeof row; i++)
        assert_int_equal(((uint8_t *)row)[i], 0x77);
    assert_true(~s.first == first);
    assert_true(s.last == last);
}

static void blocks_leave_their_times_where_they_are_kept(void **state)
{
    struct fgs__stat zero = { 0 }, s;
    fgs_kernel *k[2] = { make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL),
                         make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL) };

    (void)state;
    for (int i = 0; i < 2; i++) {
        launch(k[i], (struct args){ .tiles = 7, .traced = 1 });
        OK(cuCtxSynchronize());
        check_rows(i ? "producer" : "init", FGS_ROLE_INIT + (fgs_role)i, 7);
    }
    EACH_CONSUMER(i, c)
    {
        reset(NULL);
        launch(c, (struct args){ .tiles = 7, .grid = 9, .traced = 1 });
        OK(cuCtxSynchronize());
        check_rows(kinds[i].name, FGS_ROLE_CONSUMER, 7);
        reset(NULL);
        launch(c, (struct args){ .tiles = 7, .unseen = 1 });
        OK(cuCtxSynchronize());
        s = get_stat(FGS_ROLE_CONSUMER);
        assert_memory_equal(&s, &zero, sizeof s);
    }
    fgs_kernel_free(k[0]);
    fgs_kernel_free(k[1]);
}

/* A block that had to wait: its row counts what it repeated. */
static void row_counts_the_tries(void **state)
{
    struct fgs__trace row;

    (void)state;
    EACH_CONSUMER(i, c)
    {
        reset(NULL);
        memset(host_mid, 0, BYTES);
        fgs__ref_fill(host_mid + 255 * 4, 4, 0x80000000u);
        put(g.mid, host_mid, BYTES);
        launch(c, (struct args){ .tiles = 1, .max_tries = 40, .traced = 1 });
        OK(cuCtxSynchronize());
        get(&row, g.trace, sizeof row);
        assert_int_equal(row.tries, 40);
        assert_int_equal(row.ready, 0);
        assert_true(row.start < row.end);
    }
}

/* Running shows nothing here: a device may order the stream by itself. */
static void texts_trigger_and_wait_from_cc_90_on(void **state)
{
    fgs_device_info dev = { .size = sizeof dev };
    fgs_kernel_info info = { .size = sizeof info };
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);

    (void)state;
    assert_int_equal(fgs_device_get_info(g.dev, &dev, NULL), FGS_OK);
    assert_int_equal(fgs_kernel_get_info(p, &info), FGS_OK);
    assert_int_equal(info.triggers, dev.cc >= 90);
    EACH_CONSUMER(i, k)
    {
        assert_int_equal(fgs_kernel_get_info(k, &info), FGS_OK);
        assert_int_equal(info.waits, dev.cc >= 90);
    }
    fgs_kernel_free(p);
}

#define T(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(fill_writes_each_chunk_whatever_the_grid),
        T(produce_is_its_mirror),
        T(produce_takes_its_extra_time),
        T(faults_hit_one_chunk_of_one_tile),
        T(consumer_reverses_tiles_bit_by_bit),
        T(tiles_are_handed_over_while_both_run),
        T(blocks_leave_their_times_where_they_are_kept),
        T(row_counts_the_tries),
        T(texts_trigger_and_wait_from_cc_90_on),
    };

    return cmocka_run_group_tests_name("kernels_run", tests, open_device,
                                       close_device);
}
