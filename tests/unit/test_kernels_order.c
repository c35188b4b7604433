/* test_kernels_order.c -- plain consumers, flags, tables, work; FGS_PROVIDER */
#include "kernels_both.h"

static uint32_t doubled[WORDS], want[WORDS];

static fgs_kernel *plain(void)
{
    return make(FGS_ROLE_CONSUMER, FGS_ENGINE_PLAIN, 0, NULL);
}

static fgs_kernel *producer(void)
{
    return make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
}

/* What a hand-over of all of host_in makes of g.out. */
static void check_out(const char *name)
{
    fgs__ref_scale(doubled, host_in, WORDS);
    fgs__ref_reverse(want, doubled, TILES, FGS__TILE_ELEMS);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
}

/* --------------------------------------------------------------- plain -- */

static void plain_consumer_waits_for_the_grid(void **state)
{
    fgs_kernel *p = producer(), *k = plain();

    (void)state;
    for (int pdl = 0; pdl < 2; pdl++) {
        reset(NULL);
        OK(cuMemsetD8(g.mid, 0x55, BYTES));
        launch(p, (struct args){ .tiles = TILES, .work_ns = 100000 });
        launch(k, (struct args){ .tiles = TILES, .grid = TILES + 3,
                                 .pdl = pdl });
        OK(cuCtxSynchronize());
        check_out(pdl ? "dependent" : "behind");
        assert_int_equal(get_ctl().abort, 0);
        assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 0);
    }
    fgs_kernel_free(p);
    fgs_kernel_free(k);
}

/* By chunks and by bulk copies. */
static void flag_is_set_behind_its_tile(void **state)
{
    fgs_kernel *k = plain();

    (void)state;
    for (uint32_t bulk = 0; bulk < 2; bulk++) {
        fgs_kernel_desc desc = { .size = sizeof desc, .bulk_store = bulk,
                                 .role = FGS_ROLE_PRODUCER,
                                 .language = language };
        uint32_t flags[TILES];
        struct fgs__stat from, to;
        fgs_kernel *p;

        if (bulk && fgs_device_can(g.dev, FGS_ENGINE_BULK, NULL) < 0)
            continue;
        assert_int_equal(fgs_kernel_make(&p, g.dev, &desc, NULL), FGS_OK);
        reset(NULL);
        OK(cuMemsetD8(g.mid, 0x55, BYTES));
        hold_launches();
        launch(p, (struct args){ .tiles = TILES, .work_ns = 20000,
                                 .spread_ns = 100000, .flags_out = 1,
                                 .round = 7 });
        launch(k, (struct args){ .tiles = TILES, .flags_in = 1, .round = 7,
                                 .pdl = 1, .bound_ns = 2000000000 });
        finish_launches();
        check_out(bulk ? "bulk stores" : "chunks");
        get(flags, g.flags, sizeof flags);
        for (int i = 0; i < TILES; i++)
            assert_int_equal(flags[i], 7);
        from = get_stat(FGS_ROLE_PRODUCER);
        to = get_stat(FGS_ROLE_CONSUMER);
        if (~to.first + 30000 < from.last)
            assert_true(to.reissues > 0);
        fgs_kernel_free(p);
    }
    fgs_kernel_free(k);
}

static void flag_of_an_earlier_round_does_not_serve(void **state)
{
    static const uint32_t flag[TILES] = { 9, 8, 7 };
    fgs_kernel *k = plain();

    (void)state;
    put(g.mid, host_in, BYTES);
    put(g.flags, flag, sizeof flag);
    launch(k, (struct args){ .tiles = 2, .flags_in = 1, .round = 8 });
    OK(cuCtxSynchronize());
    assert_int_equal(g.rec->code, 0);
    launch(k, (struct args){ .tiles = 3, .flags_in = 1, .round = 8,
                             .max_tries = 50, .traced = 1 });
    OK(cuCtxSynchronize());
    assert_int_equal(g.rec->code, FGS__GIVEUP_FLAG);
    assert_int_equal(g.rec->role, FGS_ROLE_CONSUMER);
    assert_int_equal(g.rec->block, 2);
    assert_int_equal(g.rec->tile, 2);
    assert_int_equal(g.rec->chunk, FGS__NO_CHUNK);
    assert_int_equal(g.rec->bits0, 7);
    assert_int_equal(g.rec->bits1, 8);
    assert_int_equal(g.rec->tries, 50);
    assert_int_equal(get_ctl().abort, 1);
    assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 49);
    fgs__ref_reverse(want, host_in, 2, FGS__TILE_ELEMS);
    memset(want + 2 * FGS__TILE_ELEMS, 0xee, BYTES - 2 * FGS__TILE_BYTES);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, "tile without its flag");
    fgs_kernel_free(k);
}

static void flag_that_never_comes_is_given_up_in_time(void **state)
{
    fgs_kernel *k = plain();

    (void)state;
    launch(k, (struct args){ .tiles = TILES, .flags_in = 1,
                             .bound_ns = 1000000 });
    OK(cuCtxSynchronize());
    assert_int_equal(g.rec->code, FGS__GIVEUP_FLAG);
    assert_true(g.rec->elapsed_ns >= 1000000);
    assert_true(within_ns(g.rec->elapsed_ns, 1100000));
    fgs_kernel_free(k);
}

static void abort_ends_a_plain_consumer(void **state)
{
    static const uint32_t flag[TILES] = { 1, 0 };
    struct fgs__ctl c = { .abort = 1 };
    fgs_kernel *k = plain();

    (void)state;
    memset(want, 0xee, BYTES);
    /* the grid before has ended; the flag of tile 0 is there, 1 never comes */
    for (int flags = 0; flags < 2; flags++) {
        reset(NULL);
        put(g.ctl, &c, sizeof c);
        put(g.flags, flag, sizeof flag);
        launch(k, (struct args){ .tiles = 2, .flags_in = flags });
        OK(cuCtxSynchronize());
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, flags ? "flags" : "grid");
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
    }
    fgs_kernel_free(k);
}

/* ------------------------------------------------------------- all roles -- */

static const uint32_t gather[TILES] = { 5, 3, 19, 3, 0, 7 };

static void producer_takes_the_tiles_of_a_table(void **state)
{
    fgs_kernel *p = producer();
    uint32_t flags[TILES];

    (void)state;
    put(g.table, gather, sizeof gather);
    memset(want, 0x55, BYTES);
    put(g.mid, want, BYTES);
    fgs__ref_scale(doubled, host_in, WORDS);
    for (int i = 0; i < 3; i++)
        memcpy(want + gather[i] * FGS__TILE_ELEMS,
               doubled + gather[i] * FGS__TILE_ELEMS, FGS__TILE_BYTES);
    launch(p, (struct args){ .tiles = 3, .tabled = 1, .flags_out = 1 });
    OK(cuCtxSynchronize());
    get(host_mid, g.mid, BYTES);
    same(host_mid, want, WORDS, "tiles of the table");
    get(flags, g.flags, sizeof flags);
    for (int i = 0; i < TILES; i++)
        assert_int_equal(flags[i], i == 5 || i == 3 || i == 19);
    fgs_kernel_free(p);
}

static void check_gather(fgs_kernel *k, const char *name)
{
    reset(NULL);
    put(g.table, gather, sizeof gather);
    make_words(host_mid, 1);
    put(g.mid, host_mid, BYTES);
    memset(want, 0xee, BYTES);
    for (int i = 0; i < 6; i++)
        fgs__ref_reverse(want + i * FGS__TILE_ELEMS,
                         host_mid + gather[i] * FGS__TILE_ELEMS, 1,
                         FGS__TILE_ELEMS);
    launch(k, (struct args){ .tiles = 6, .tabled = 1 });
    OK(cuCtxSynchronize());
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
}

/* A tile may be read by several blocks. */
static void consumer_gathers_the_tiles_of_a_table(void **state)
{
    fgs_kernel *p = plain();

    (void)state;
    check_gather(p, "plain");
    EACH_CONSUMER(i, k)
    {
        check_gather(k, kinds[i].name);
        /* the record has the tile that was read, and its block */
        reset(NULL);
        fgs__ref_fill(host_mid + 7 * FGS__TILE_ELEMS, 4, SENTINEL);
        put(g.mid, host_mid, BYTES);
        launch(k, (struct args){ .tiles = 6, .tabled = 1, .max_tries = 2 });
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_TRIES);
        assert_int_equal(g.rec->tile, 7);
        assert_int_equal(g.rec->block, 5);
    }
    fgs_kernel_free(p);
}

/* What work.ptx.inc promises, in other words. */
static uint64_t share(uint64_t block, uint64_t spread)
{
    uint64_t h = block * 2654435769u % (UINT64_C(1) << 32);

    h ^= h / 65536;
    return h * spread / (UINT64_C(1) << 32);
}

static void check_work(fgs_kernel *k, const char *name)
{
    struct fgs__trace row[TILES];
    int differ = 0;

    reset(NULL);
    make_words(host_mid, 1);
    put(g.mid, host_mid, BYTES);
    launch(k, (struct args){ .tiles = 8, .work_ns = 5000, .spread_ns = 300000,
                             .traced = 1 });
    OK(cuCtxSynchronize());
    get(row, g.trace, sizeof row);
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t took = row[i].end - row[i].start;
        uint64_t least = 5000 + share(i, 300000);

        if (took < least || took > least + 60000)
            fail_msg("%s: block %u took %u ns, not %u", name, (unsigned)i,
                     (unsigned)took, (unsigned)least);
        differ += least > 150000;
    }
    assert_true(differ > 1 && differ < 7);
}

static void blocks_take_their_share_of_the_spread(void **state)
{
    fgs_kernel *k[] = { producer(), plain() };

    (void)state;
    for (int i = 0; i < 2; i++) {
        check_work(k[i], i ? "plain" : "producer");
        fgs_kernel_free(k[i]);
    }
    EACH_CONSUMER(i, c)
    check_work(c, kinds[i].name);
}

#define T(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(plain_consumer_waits_for_the_grid),
        T(flag_is_set_behind_its_tile),
        T(flag_of_an_earlier_round_does_not_serve),
        T(flag_that_never_comes_is_given_up_in_time),
        T(abort_ends_a_plain_consumer),
        T(producer_takes_the_tiles_of_a_table),
        T(consumer_gathers_the_tiles_of_a_table),
        T(blocks_take_their_share_of_the_spread),
    };

    return run_both("kernels_order", tests, sizeof tests / sizeof tests[0]);
}
