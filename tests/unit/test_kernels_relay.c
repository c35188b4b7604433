/* test_kernels_relay.c -- relays, clears, producers that fill; FGS_PROVIDER */
#include "kernels_both.h"

static uint32_t doubled[WORDS], want[WORDS];

static fgs_kernel *make_self(fgs_role role, fgs_engine engine, uint32_t weak,
                             uint32_t self, uint32_t bulk)
{
    return make_as((fgs_kernel_desc){ .role = role, .engine = engine,
                                      .weak = weak, .bulk_store = bulk,
                                      .self_init = self });
}

static fgs_kernel *relay(int i, uint32_t self, const char **name)
{
    *name = kind_at(i)->name;
    return make_kind(i, (fgs_kernel_desc){ .role = FGS_ROLE_RELAY,
                                           .self_init = self });
}

#define EACH_RELAY(k, name, self)                                              \
    for (int i_ = 0; i_ < KINDS; i_++)                                         \
        for (fgs_kernel *k = relay(i_, self, &name); k;                        \
             fgs_kernel_free(k), k = NULL)

static void check_last(const char *name)
{
    fgs__ref_scale(doubled, host_in, WORDS);
    get(host_out, g.last, BYTES);
    same(host_out, doubled, WORDS, name); /* backwards twice */
    assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
}

/* producer, relay, consumer at once; the relay's output is filled before, or
 * by itself.  A plain relay waits for the producer's grid, or its flags. */
static void run_chain(fgs_kernel *k, const char *name, int self, int flags)
{
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    fgs_kernel *f = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    fgs_kernel *c = make(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL, 0, NULL);

    reset(NULL);
    OK(cuMemsetD8(g.out, 0x55, BYTES));
    launch(f, (struct args){ .tiles = TILES });
    if (!self)
        launch(f, (struct args){ .tiles = TILES, .mid = g.out });
    launch(p, (struct args){ .tiles = TILES, .work_ns = 60000,
                             .flags_out = flags });
    launch(k, (struct args){ .tiles = TILES, .pdl = 1, .spread_ns = 50000,
                             .flags_in = flags, .bound_ns = 2000000000 });
    launch(c, (struct args){ .tiles = TILES, .pdl = 1, .mid = g.out,
                             .out = g.last, .bound_ns = 2000000000 });
    OK(cuCtxSynchronize());
    check_last(name);
    fgs_kernel_free(p);
    fgs_kernel_free(f);
    fgs_kernel_free(c);
}

static void relay_hands_on_what_it_received(void **state)
{
    const char *name;

    (void)state;
    EACH_RELAY(k, name, 0)
    {
        run_chain(k, name, 0, 0);
        if (!strcmp(name, "plain"))
            run_chain(k, "plain by flags", 0, 1);
    }
}

static void check_cleared(fgs_kernel *k, const char *name)
{
    static const uint32_t gather[TILES] = { 3, 9, 0, 7 };
    uint32_t flags[TILES];

    reset(NULL);
    make_words(host_mid, 1);
    put(g.mid, host_mid, BYTES);
    put(g.table, gather, sizeof gather);
    memset(want, 0xee, BYTES);
    for (int i = 0; i < 4; i++)
        fgs__ref_reverse(want + i * FGS__TILE_ELEMS,
                         host_mid + gather[i] * FGS__TILE_ELEMS, 1,
                         FGS__TILE_ELEMS);
    launch(k, (struct args){ .tiles = 4, .tabled = 1, .clear = g.mid,
                             .flags_out = 1, .round = 3 });
    OK(cuCtxSynchronize());
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
    for (int i = 0; i < 4; i++)
        fgs__ref_fill(host_mid + gather[i] * FGS__TILE_ELEMS, FGS__TILE_ELEMS,
                      0x80000000u);
    get(host_out, g.mid, BYTES);
    same(host_out, host_mid, WORDS, name);
    get(flags, g.flags, sizeof flags);
    for (uint32_t i = 0; i < TILES; i++)
        assert_int_equal(flags[i], i < 4 ? 3 : 0);
}

/* In the buffer that is read; the tile's index there. */
static void tile_is_cleared_behind_its_reader(void **state)
{
    const char *name;

    (void)state;
    EACH_RELAY(k, name, 0)
    check_cleared(k, name);
    EACH_CONSUMER(i, k)
    check_cleared(k, kinds[i].name);
}

/* A grid that starts before the clear takes what was there before it. */
static void relay_that_clears_triggers_behind_it(void **state)
{
    fgs_kernel *c = make(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL, 0, NULL);
    const char *name;

    (void)state;
    memset(want, 0xee, BYTES);
    for (uint32_t self = 0; self < 2; self++) {
        EACH_RELAY(k, name, self)
        {
            fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
            fgs_kernel *f = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);

            reset(NULL);
            OK(cuMemsetD8(g.last, 0x55, BYTES));
            launch(f, (struct args){ .tiles = TILES });
            launch(p, (struct args){ .tiles = TILES, .work_ns = 100000 });
            launch(k, (struct args){ .tiles = TILES, .pdl = 1,
                                     .clear = g.last });
            launch(c, (struct args){ .tiles = TILES, .pdl = 1, .mid = g.last,
                                     .out = g.in, .max_tries = 2 });
            OK(cuCtxSynchronize());
            if (g.rec->code != FGS__GIVEUP_TRIES)
                fail_msg("%s: the consumer found data", name);
            get(host_out, g.in, BYTES);
            make_words(host_in, 0);
            same(host_out, host_in, WORDS, name);
            fgs_kernel_free(p);
            fgs_kernel_free(f);
        }
    }
    fgs_kernel_free(c);
}

/* What was in the buffer before must not be taken. */
static void writer_fills_its_own_tiles_before_it_triggers(void **state)
{
    (void)state;
    for (uint32_t bulk = 0; bulk < 2; bulk++) {
        fgs_kernel *p;

        if (bulk && fgs_device_can(g.dev, FGS_ENGINE_BULK, NULL) < 0)
            continue;
        p = make_self(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, 1, bulk);
        EACH_CONSUMER(i, c)
        {
            reset(NULL);
            OK(cuMemsetD8(g.mid, 0x55, BYTES));
            launch(p, (struct args){ .tiles = TILES, .work_ns = 50000,
                                     .spread_ns = 50000 });
            launch(c, (struct args){ .tiles = TILES, .pdl = 1,
                                     .bound_ns = 2000000000 });
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
            fgs__ref_scale(doubled, host_in, WORDS);
            fgs__ref_reverse(want, doubled, TILES, FGS__TILE_ELEMS);
            get(host_out, g.out, BYTES);
            same(host_out, want, WORDS, kinds[i].name);
        }
        fgs_kernel_free(p);
    }
}

/* Three blocks for all tiles: none may be taken before it was filled, also
 * the last one of a block; flags and tables by tile. */
static void persistent_writer_fills_all_its_tiles_first(void **state)
{
    static const uint32_t order[TILES] = { 19, 18, 17, 16, 15, 14, 13, 12, 11,
                                           10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 };
    fgs_kernel *c = make(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL, 0, NULL);
    uint32_t flags[TILES];

    (void)state;
    fgs__ref_scale(doubled, host_in, WORDS);
    fgs__ref_reverse(want, doubled, TILES, FGS__TILE_ELEMS);
    for (uint32_t i = 0; i < 4; i++) {
        fgs_kernel_desc desc = { .size = sizeof desc, .self_init = 1,
                                 .role = FGS_ROLE_PRODUCER, .persistent = 1,
                                 .bulk_store = i & 1, .language = language };
        fgs_kernel *p;

        if (i & 1 && fgs_device_can(g.dev, FGS_ENGINE_BULK, NULL) < 0)
            continue;
        assert_int_equal(fgs_kernel_make(&p, g.dev, &desc, NULL), FGS_OK);
        reset(NULL);
        put(g.table, order, sizeof order);
        OK(cuMemsetD8(g.mid, 0x55, BYTES));
        launch(p, (struct args){ .tiles = TILES, .grid = 3, .work_ns = 20000,
                                 .tabled = i > 1, .flags_out = 1 });
        launch(c, (struct args){ .tiles = TILES, .pdl = 1,
                                 .bound_ns = 2000000000 });
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, "persistent");
        get(flags, g.flags, sizeof flags);
        for (int k = 0; k < TILES; k++)
            assert_int_equal(flags[k], 1);
        fgs_kernel_free(p);
    }
    fgs_kernel_free(c);
}

static void relay_fills_its_own_tiles_before_it_triggers(void **state)
{
    const char *name;

    (void)state;
    EACH_RELAY(k, name, 1)
    run_chain(k, name, 1, 0);
}

static void who_writes_no_sentinels_fills_nothing(void **state)
{
    static const fgs_role role[] = { FGS_ROLE_INIT, FGS_ROLE_CONSUMER };

    (void)state;
    for (int i = 0; i < 2; i++) {
        fgs_kernel_desc desc = { .size = sizeof desc, .role = role[i],
                                 .self_init = 1 };
        fgs_kernel *k;
        fgs_error err;

        assert_int_equal(fgs_kernel_make(&k, g.dev, &desc, &err), FGS_E_INVAL);
        assert_non_null(strstr(err.text, "fills its own output"));
    }
}

#define T(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(relay_hands_on_what_it_received),
        T(tile_is_cleared_behind_its_reader),
        T(relay_that_clears_triggers_behind_it),
        T(writer_fills_its_own_tiles_before_it_triggers),
        T(persistent_writer_fills_all_its_tiles_first),
        T(relay_fills_its_own_tiles_before_it_triggers),
        T(who_writes_no_sentinels_fills_nothing),
    };

    return run_both("kernels_relay", tests, sizeof tests / sizeof tests[0]);
}
