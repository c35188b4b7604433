/* test_kernels_join.c -- joins: two inputs, each with its own sentinels;
 * FGS_PROVIDER */
#include "join_rig.h"

enum { SHARED = 2 * FGS__TILE_BYTES };

static fgs_kernel *make_join(const struct kind *k, uint32_t self)
{
    fgs_kernel_desc desc = { .size = sizeof desc, .role = FGS_ROLE_JOIN,
                             .engine = k->engine, .weak = k->weak,
                             .self_init = self, .language = language };
    fgs_kernel *out = NULL;
    fgs_error err;

    if (fgs_device_can(g.dev, k->engine, NULL) < 0)
        return NULL;
    if (fgs_kernel_make(&out, g.dev, &desc, &err) < 0)
        fail_msg("%s", err.text);
    return out;
}

#define EACH_JOIN(i, k, self)                                                  \
    for (size_t i = 0; i < CHECKS; i++)                                        \
        for (fgs_kernel *k = make_join(&kinds[i], self); k;                    \
             fgs_kernel_free(k), k = NULL)

/* Two inputs, of which those of `filled` (1, 2) are sentinels; then what two
 * producers make of g.in and of it backwards; `late` of the second one. */
static void produce_both(struct args a, uint64_t late, int filled)
{
    CUdeviceptr in = g.in, flags = g.flags;
    struct args b = a;

    a.pdl = 0; /* the second producer's: it may start before the first ended  */
    for (uint32_t i = 0; i < WORDS; i++)
        host_second[i] = host_in[WORDS - 1 - i];
    put(g.last, host_second, BYTES);
    if (filled & 1)
        launch(fill, (struct args){ .tiles = TILES });
    if (filled & 2)
        launch(fill, (struct args){ .tiles = TILES, .mid = second });
    launch(produce, a);
    g.in = g.last;
    g.flags = second_flags;
    b.mid = second;
    b.work_ns = late;
    b.spread_ns = late;
    launch(produce, b);
    g.in = in;
    g.flags = flags;
}

static void check_joined(const char *name)
{
    fgs__ref_scale(host_mid, host_in, WORDS);
    fgs__ref_scale(host_second, host_second, WORDS);
    join(want, host_mid, host_second, TILES);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
    assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
}

static void input_that_is_late_is_waited_for(void **state)
{
    struct fgs__stat from, to;

    (void)state;
    EACH_JOIN(i, k, 0)
    {
        for (uint32_t late = 0; late < 3; late++) {
            start(NULL);
            produce_both((struct args){ .tiles = TILES,
                                        .work_ns = late == 1 ? 60000 : 0 },
                         late == 2 ? 60000 : 0, 3);
            launch(k, (struct args){ .tiles = TILES, .pdl = 1, .mid2 = second,
                                     .shared = SHARED,
                                     .bound_ns = 2000000000 });
            OK(cuCtxSynchronize());
            check_joined(kinds[i].name);
            from = get_stat(FGS_ROLE_PRODUCER);
            to = get_stat(FGS_ROLE_JOIN);
            if (~to.first + 30000 < from.last)
                assert_true(to.reissues > 0);
        }
    }
}

/* The other input is there: its tile is not copied again. */
static void only_the_late_input_is_copied_again(void **state)
{
    (void)state;
    EACH_JOIN(i, k, 0)
    {
        for (int late = 0; late < 2; late++) {
            if (kinds[i].engine == FGS_ENGINE_POLL ||
                kinds[i].engine == FGS_ENGINE_ASYNC)
                continue;
            start(NULL);
            make_words(host_mid, 1);
            put(late ? g.mid : second, host_mid, BYTES);
            fgs__ref_fill(host_mid, WORDS, 0x80000000u);
            put(late ? second : g.mid, host_mid, BYTES);
            launch(k, (struct args){ .tiles = 1, .mid2 = second, .max_tries = 9,
                                     .shared = SHARED, .traced = 1 });
            OK(cuCtxSynchronize());
            /* both copies of a round that both were in would be 16 */
            assert_int_equal(get_stat(FGS_ROLE_JOIN).reissues, 8);
            assert_int_equal(g.rec->code, FGS__GIVEUP_TRIES);
            assert_int_equal(g.rec->stage, late);
        }
    }
}

static void chunk_that_is_lacking_is_named_with_its_input(void **state)
{
    (void)state;
    EACH_JOIN(i, k, 0)
    {
        for (uint32_t late = 0; late < 2; late++) {
            uint32_t at = 3 * FGS__TILE_ELEMS + 9 * 4;

            start(NULL);
            make_words(host_mid, 1);
            make_words(host_second, 1);
            /* from chunk 9 on: who looks at a later one names that */
            fgs__ref_fill((late ? host_second : host_mid) + at,
                          FGS__TILE_ELEMS - 9 * 4, 0x80000000u);
            put(g.mid, host_mid, BYTES);
            put(second, host_second, BYTES);
            launch(k, (struct args){ .tiles = TILES, .mid2 = second,
                                     .shared = SHARED, .bound_ns = 100000 });
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
            assert_int_equal(g.rec->role, FGS_ROLE_JOIN);
            assert_int_equal(g.rec->tile, 3);
            assert_int_equal(g.rec->stage, late);
            assert_int_equal(g.rec->chunk, 9);
            assert_int_equal(g.rec->bits0, 0x8000000080000000u);
        }
    }
}

/* ------------------------------------------------------- flags, grids -- */

static void flags_of_both_inputs_are_waited_for(void **state)
{
    fgs_kernel *k = make_join(&plain_kind, 0);

    (void)state;
    /* without one, or both of them the grids are waited for */
    for (int flags = 0; flags < 4; flags++) {
        start(NULL);
        OK(cuMemsetD8(g.mid, 0x55, BYTES));
        OK(cuMemsetD8(second, 0x55, BYTES));
        produce_both((struct args){ .tiles = TILES, .flags_out = 1,
                                    .work_ns = 30000, .round = 4 }, 60000, 0);
        launch(k, (struct args){ .tiles = TILES, .pdl = 1, .mid2 = second,
                                 .flags_in = flags & 1, .round = 4,
                                 .flags_in2 = flags & 2 ? second_flags : 0,
                                 .shared = SHARED, .bound_ns = 2000000000 });
        OK(cuCtxSynchronize());
        check_joined("plain");
    }
    fgs_kernel_free(k);
}

static void flag_that_is_lacking_is_named_with_its_input(void **state)
{
    static const uint32_t flag[2][TILES] = { { 6, 6, 6 }, { 6, 5, 6 } };
    fgs_kernel *k = make_join(&plain_kind, 0);

    (void)state;
    for (uint32_t late = 0; late < 2; late++) {
        start(NULL);
        put(g.flags, flag[!late], sizeof flag[0]);
        put(second_flags, flag[late], sizeof flag[0]);
        launch(k, (struct args){ .tiles = 3, .mid2 = second, .flags_in = 1,
                                 .flags_in2 = second_flags, .round = 6,
                                 .shared = SHARED, .max_tries = 40 });
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_FLAG);
        assert_int_equal(g.rec->tile, 1);
        assert_int_equal(g.rec->stage, late);
        assert_int_equal(g.rec->bits0, 5);
        assert_int_equal(g.rec->bits1, 6);
        assert_int_equal(g.rec->tries, 40);
    }
    fgs_kernel_free(k);
}

/* ------------------------------------- inputs that are ordered by other -- */

/* One by its sentinels, one by flags or by the end of the grids: that holds
 * what is neither before it comes. */
static void inputs_may_be_ordered_each_in_its_own_way(void **state)
{
    (void)state;
    EACH_JOIN(i, k, 0)
    {
        for (int way = 0; way < 8; way++) {
            int by_flag = way & 1, other = way >> 1 & 1, late = way >> 2;

            start(NULL);
            OK(cuMemsetD8(other ? second : g.mid, 0x55, BYTES));
            produce_both((struct args){ .tiles = TILES, .flags_out = 1,
                                        .work_ns = late ? 0 : 60000,
                                        .spread_ns = 20000, .round = 4,
                                        .pdl = by_flag },
                         late ? 60000 : 0, other ? 1 : 2);
            launch(k, (struct args){ .tiles = TILES, .pdl = 1, .mid2 = second,
                                     .flags_in = by_flag && !other, .round = 4,
                                     .flags_in2 = by_flag && other
                                         ? second_flags : 0,
                                     .grids = !by_flag, .shared = SHARED,
                                     .bound_ns = 2000000000 });
            OK(cuCtxSynchronize());
            check_joined(kinds[i].name);
        }
    }
}

static void flag_that_is_lacking_beside_sentinels_is_named(void **state)
{
    static const uint32_t flag[TILES] = { 6, 6, 5, 6 };

    (void)state;
    EACH_JOIN(i, k, 0)
    {
        for (uint32_t late = 0; late < 2; late++) {
            start(NULL);
            make_words(host_mid, 1);
            put(g.mid, host_mid, BYTES);
            put(second, host_mid, BYTES);
            put(late ? second_flags : g.flags, flag, sizeof flag);
            launch(k, (struct args){ .tiles = 4, .mid2 = second, .round = 6,
                                     .flags_in = !late,
                                     .flags_in2 = late ? second_flags : 0,
                                     .shared = SHARED, .max_tries = 40,
                                     .traced = 1 });
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_FLAG);
            assert_int_equal(g.rec->role, FGS_ROLE_JOIN);
            assert_int_equal(g.rec->block, 2);
            assert_int_equal(g.rec->tile, 2);
            assert_int_equal(g.rec->stage, late);
            assert_int_equal(g.rec->bits0, 5);
            assert_int_equal(g.rec->bits1, 6);
            assert_int_equal(g.rec->tries, 40);
            get(host_out, g.out, BYTES);
            for (uint32_t w = 0; w < FGS__TILE_ELEMS; w++)
                assert_int_equal(host_out[2 * FGS__TILE_ELEMS + w],
                                 0xeeeeeeee);
        }
    }
}

/* ------------------------------------------- what a relay does besides -- */

static void table_names_the_tiles_of_both_and_one_is_cleared(void **state)
{
    static const uint32_t gather[4] = { 3, 9, 0, 7 };
    static uint32_t a[4 * FGS__TILE_ELEMS], b[4 * FGS__TILE_ELEMS];

    (void)state;
    EACH_JOIN(i, k, 0)
    {
        start(NULL);
        make_words(host_mid, 1);
        for (uint32_t w = 0; w < WORDS; w++)
            host_second[w] = ~host_mid[w] == 0x80000000u ? 1 : ~host_mid[w];
        put(g.mid, host_mid, BYTES);
        put(second, host_second, BYTES);
        put(g.table, gather, sizeof gather);
        for (uint32_t n = 0; n < 4; n++) {
            uint32_t from = gather[n] * FGS__TILE_ELEMS;

            memcpy(a + n * FGS__TILE_ELEMS, host_mid + from, FGS__TILE_BYTES);
            memcpy(b + n * FGS__TILE_ELEMS, host_second + from,
                   FGS__TILE_BYTES);
        }
        launch(k, (struct args){ .tiles = 4, .tabled = 1, .clear = g.mid,
                                 .mid2 = second, .shared = SHARED,
                                 .flags_out = 1, .round = 3 });
        OK(cuCtxSynchronize());
        memset(want, 0xee, BYTES);
        join(want, a, b, 4);
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, kinds[i].name);
        for (uint32_t n = 0; n < 4; n++)
            fgs__ref_fill(host_mid + gather[n] * FGS__TILE_ELEMS,
                          FGS__TILE_ELEMS, 0x80000000u);
        get(host_out, g.mid, BYTES);
        same(host_out, host_mid, WORDS, "cleared");
        get(host_out, second, BYTES);
        same(host_out, host_second, WORDS, "left alone");
    }
}

static void join_fills_its_own_tiles_before_it_triggers(void **state)
{
    fgs_kernel *c = make(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL, 0, NULL);

    (void)state;
    EACH_JOIN(i, k, 1)
    {
        start(NULL);
        OK(cuMemsetD8(g.out, 0x55, BYTES));
        produce_both((struct args){ .tiles = TILES }, 60000, 3);
        launch(k, (struct args){ .tiles = TILES, .pdl = 1, .mid2 = second,
                                 .shared = SHARED, .bound_ns = 2000000000 });
        launch(c, (struct args){ .tiles = TILES, .pdl = 1, .mid = g.out,
                                 .out = g.in, .bound_ns = 2000000000 });
        OK(cuCtxSynchronize());
        check_joined(kinds[i].name);
        fgs__ref_reverse(host_mid, want, TILES, FGS__TILE_ELEMS);
        get(host_out, g.in, BYTES);
        same(host_out, host_mid, WORDS, "behind the join");
    }
    fgs_kernel_free(c);
}

static void abort_ends_a_join(void **state)
{
    struct fgs__ctl c = { .abort = 1 };

    (void)state;
    memset(want, 0xee, BYTES);
    EACH_JOIN(i, k, 0)
    {
        start(NULL);
        put(g.ctl, &c, sizeof c);
        launch(k, (struct args){ .tiles = TILES, .mid2 = second,
                                 .shared = SHARED, .traced = 1 });
        OK(cuCtxSynchronize());
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, kinds[i].name);
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
        assert_int_equal(get_stat(FGS_ROLE_JOIN).reissues, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(input_that_is_late_is_waited_for),
        T(only_the_late_input_is_copied_again),
        T(chunk_that_is_lacking_is_named_with_its_input),
        T(flags_of_both_inputs_are_waited_for),
        T(flag_that_is_lacking_is_named_with_its_input),
        T(inputs_may_be_ordered_each_in_its_own_way),
        T(flag_that_is_lacking_beside_sentinels_is_named),
        T(table_names_the_tiles_of_both_and_one_is_cleared),
        T(join_fills_its_own_tiles_before_it_triggers),
        T(abort_ends_a_join),
    };

    return run_both_with("kernels_join", tests, sizeof tests / sizeof tests[0],
                         open_all, close_all);
}
