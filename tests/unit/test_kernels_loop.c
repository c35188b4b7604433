/* test_kernels_loop.c -- persistent consumers, relays, joins;
 * FGS_PROVIDER */
#include "kernels_both.h"

static CUdeviceptr second;
static uint32_t doubled[WORDS], back[WORDS], want[WORDS];
/* Freed at the end: to unload code synchronizes. */
static fgs_kernel *fill, *produce, *take;

static fgs_kernel *loop(int i, fgs_role role, uint32_t self)
{
    return make_kind(i, (fgs_kernel_desc){ .role = role, .self_init = self,
                                           .persistent = 1 });
}

#define EACH_LOOP(i, k, role, self)                                            \
    for (int i = 0; i < KINDS; i++)                                            \
        for (fgs_kernel *k = loop(i, role, self); k;                           \
             fgs_kernel_free(k), k = NULL)

/* Of a kind that is plain, by flags. */
static struct args of_grid(int i, uint32_t grid)
{
    return (struct args){ .tiles = TILES, .grid = grid, .pdl = 1,
                          .flags_in = i == KINDS - 1, .mid2 = second,
                          .shared = 2 * FGS__TILE_BYTES, .traced = 1,
                          .work_ns = 1000,
                          .bound_ns = 2000000000 };
}

/* A row a block: 1 and what the block repeated; when its first tile was there,
 * since when it took `work` at least; its end. */
static void check_rows(uint32_t grid, fgs_role role, uint64_t work)
{
    struct fgs__trace row[TRACE_ROWS];
    uint64_t again = 0;

    get(row, g.trace, sizeof row);
    for (uint32_t i = 0; i < grid; i++) {
        assert_true(row[i].start <= row[i].ready);
        assert_true(row[i].ready + work < row[i].end);
        again += row[i].tries - 1;
    }
    assert_int_equal(again, get_stat(role).reissues);
}

static void check_out(const uint32_t *tiles, const char *name)
{
    fgs__ref_reverse(want, tiles, TILES, FGS__TILE_ELEMS);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
    assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
}

static void hand_on(fgs_kernel *k, int i, uint32_t grid, fgs_role role)
{
    struct fgs__stat from, to;

    reset(NULL);
    launch(fill, (struct args){ .tiles = TILES });
    put(second, doubled, BYTES);
    launch(produce, (struct args){ .tiles = TILES, .grid = TILES,
                                   .work_ns = 40000, .spread_ns = 20000,
                                   .flags_out = 1 });
    launch(k, of_grid(i, grid));
    OK(cuCtxSynchronize());
    check_out(doubled, kind_at(i)->name);
    from = get_stat(FGS_ROLE_PRODUCER);
    to = get_stat(role);
    /* a plain join has no flags of its second input: it waits for the grid */
    if (~to.first + 30000 < from.last &&
        (role != FGS_ROLE_JOIN || kind_at(i) != &plain_kind))
        assert_true(to.reissues > 0);
    check_rows(grid, role, 1000 * (TILES / grid));
}

/* One block, a few, more than there are tiles for; the second input of a join
 * is the same. */
static void block_takes_one_tile_after_the_other(void **state)
{
    static const fgs_role role[] = { FGS_ROLE_CONSUMER, FGS_ROLE_RELAY,
                                     FGS_ROLE_JOIN };

    (void)state;
    fgs__ref_scale(doubled, host_in, WORDS);
    for (int r = 0; r < 3; r++) {
        EACH_LOOP(i, k, role[r], 0)
        {
            hand_on(k, i, 1, role[r]);
            hand_on(k, i, 3, role[r]);
            hand_on(k, i, TILES, role[r]);
        }
    }
}

/* Each tile of a table, whose clear starts at its own place. */
static void every_tile_is_cleared_behind_its_reader(void **state)
{
    static uint32_t order[TILES];
    uint32_t flags[TILES];

    (void)state;
    for (uint32_t i = 0; i < TILES; i++)
        order[i] = (i * 7 + 3) % TILES;
    EACH_LOOP(i, k, FGS_ROLE_RELAY, 0)
    {
        struct args a = { .tiles = TILES, .grid = 3, .tabled = 1,
                          .clear = g.mid, .flags_out = 1, .round = 3 };

        reset(NULL);
        make_words(host_mid, 1);
        put(g.mid, host_mid, BYTES);
        put(g.table, order, sizeof order);
        launch(k, a);
        OK(cuCtxSynchronize());
        for (uint32_t t = 0; t < TILES; t++)
            memcpy(back + t * FGS__TILE_ELEMS,
                   host_mid + order[t] * FGS__TILE_ELEMS, FGS__TILE_BYTES);
        check_out(back, kind_at(i)->name);
        fgs__ref_fill(host_mid, WORDS, 0x80000000u);
        get(host_out, g.mid, BYTES);
        same(host_out, host_mid, WORDS, "cleared");
        get(flags, g.flags, sizeof flags);
        for (int t = 0; t < TILES; t++)
            assert_int_equal(flags[t], 3);
    }
}

/* A grid that starts before the last tile is cleared takes what was there. */
static void trigger_stands_behind_the_last_clear(void **state)
{
    (void)state;
    for (uint32_t self = 0; self < 2; self++) {
        EACH_LOOP(i, k, FGS_ROLE_RELAY, self)
        {
            reset(NULL);
            OK(cuMemsetD8(g.last, 0x55, BYTES));
            launch(fill, (struct args){ .tiles = TILES });
            launch(produce, (struct args){ .tiles = TILES, .work_ns = 20000,
                                           .spread_ns = 90000 });
            launch(k, (struct args){ .tiles = TILES, .grid = 3, .pdl = 1,
                                     .clear = g.last });
            launch(take, (struct args){ .tiles = TILES, .pdl = 1,
                                        .mid = g.last, .out = g.in,
                                        .max_tries = 2 });
            OK(cuCtxSynchronize());
            if (g.rec->code != FGS__GIVEUP_TRIES)
                fail_msg("%s: the consumer found data", kind_at(i)->name);
            get(host_out, g.in, BYTES);
            make_words(host_in, 0);
            same(host_out, host_in, WORDS, kind_at(i)->name);
        }
    }
}

static void relay_fills_all_its_tiles_before_it_triggers(void **state)
{
    (void)state;
    fgs__ref_scale(doubled, host_in, WORDS);
    EACH_LOOP(i, k, FGS_ROLE_RELAY, 1)
    {
        reset(NULL);
        OK(cuMemsetD8(g.out, 0x55, BYTES));
        launch(fill, (struct args){ .tiles = TILES });
        launch(produce, (struct args){ .tiles = TILES, .work_ns = 60000 });
        launch(k, (struct args){ .tiles = TILES, .grid = 3, .pdl = 1,
                                 .bound_ns = 2000000000 });
        launch(take, (struct args){ .tiles = TILES, .pdl = 1, .mid = g.out,
                                    .out = g.last, .bound_ns = 2000000000 });
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
        get(host_out, g.last, BYTES);
        same(host_out, doubled, WORDS, kind_at(i)->name);
    }
}

/* Tile 7 never comes: it is block 1's third of three blocks. */
static void tile_that_is_lacking_ends_its_block(void **state)
{
    (void)state;
    for (int role = FGS_ROLE_CONSUMER; role <= FGS_ROLE_JOIN; role++) {
        EACH_LOOP(i, k, (fgs_role)role, 0)
        {
            struct args a = of_grid(0, 3);

            if (kind_at(i) == &plain_kind)
                continue;
            reset(NULL);
            make_words(host_mid, 1);
            put(second, host_mid, BYTES);
            memset(want, 0xee, BYTES);
            fgs__ref_reverse(want + FGS__TILE_ELEMS,
                             host_mid + FGS__TILE_ELEMS, 1, FGS__TILE_ELEMS);
            fgs__ref_reverse(want + 4 * FGS__TILE_ELEMS,
                             host_mid + 4 * FGS__TILE_ELEMS, 1,
                             FGS__TILE_ELEMS);
            fgs__ref_fill(host_mid + 7 * FGS__TILE_ELEMS, FGS__TILE_ELEMS,
                          0x80000000u);
            put(g.mid, host_mid, BYTES);
            a.bound_ns = 200000;
            launch(k, a);
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
            assert_int_equal(g.rec->role, role);
            assert_int_equal(g.rec->block, 1);
            assert_int_equal(g.rec->tile, 7);
            get(host_out, g.out, BYTES);
            for (int t = 1; t < TILES; t += 3)
                same(host_out + t * FGS__TILE_ELEMS,
                     want + t * FGS__TILE_ELEMS, FGS__TILE_ELEMS,
                     kind_at(i)->name);
            check_rows(3, (fgs_role)role, 0);
        }
    }
}

static void what_does_not_loop_is_refused(void **state)
{
    fgs_kernel_desc init = { .size = sizeof init, .role = FGS_ROLE_INIT,
                             .persistent = 1 };
    fgs_kernel *k;
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_kernel_make(&k, g.dev, &init, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "no persistent form"));
}

static int open_all(void **state)
{
    int bad = open_device(state);

    if (bad)
        return bad;
    OK(cuMemAlloc(&second, BYTES));
    fill = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    produce = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    take = make(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL, 0, NULL);
    return 0;
}

static int close_all(void **state)
{
    fgs_kernel_free(fill);
    fgs_kernel_free(produce);
    fgs_kernel_free(take);
    g.cuMemFree(second);
    return close_device(state);
}

#define T(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(block_takes_one_tile_after_the_other),
        T(every_tile_is_cleared_behind_its_reader),
        T(trigger_stands_behind_the_last_clear),
        T(relay_fills_all_its_tiles_before_it_triggers),
        T(tile_that_is_lacking_ends_its_block),
        T(what_does_not_loop_is_refused),
    };

    return run_both_with("kernels_loop", tests, sizeof tests / sizeof tests[0],
                         open_all, close_all);
}
