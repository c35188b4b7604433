/* test_retry.c -- consumers with a retry warp: rings of stages (4.6.7)
 *
 * Digests are those of the consumers with one stage; give-ups name tile and
 * stage.  On the device that FGS_PROVIDER names.
 */
#include "kernels.h"

#include <stdbool.h>
#include <unistd.h>

/* In PTX, then their twins. */
static const struct retry {
    const char *stem;
    fgs_engine engine;
} rows[] = {
    { "report_retry_consume", FGS_ENGINE_REPORT },
    { "report_retry_box_consume", FGS_ENGINE_REPORT },
    { "bulk_retry_consume", FGS_ENGINE_BULK },
    { "bulk_retry_weak_consume", FGS_ENGINE_BULK },
};
enum { STEMS = sizeof rows / sizeof rows[0], ROWS = 2 * STEMS };

static fgs_kernel *rings[ROWS]; /* NULL = not on this device, or no NVRTC */

static bool on_sim(void)
{
    fgs_device_info info = { .size = sizeof info };

    fgs_device_get_info(g.dev, &info, NULL);
    return !strcmp(info.provider, "sim");
}

#define EACH_RING(i, k)                                                        \
    for (int i = 0; i < ROWS; i++)                                             \
        for (fgs_kernel *k = rings[i]; k; k = NULL)

static const char *name_of(int i)
{
    static char name[64];

    snprintf(name, sizeof name, "%s%s", rows[i % STEMS].stem,
             i < STEMS ? "" : ", the twin");
    return name;
}

/* The producer has a block a tile, the ring as many as `a` says. */
static void hand_over_to_ring(fgs_kernel *producer, fgs_kernel *k,
                              struct args a)
{
    fgs_kernel *init = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    struct args each = a;

    each.grid = each.shared = 0;
    hold_launches();
    launch(init, (struct args){ .tiles = a.tiles });
    launch(producer, each);
    a.pdl = 1;
    launch(k, a);
    finish_launches();
    fgs_kernel_free(init);
}

static void ring_reverses_tiles_bit_by_bit(void **state)
{
    static uint32_t want[WORDS];

    (void)state;
    make_words(host_mid, 1);
    put(g.mid, host_mid, BYTES);
    EACH_RING(i, k)
    {
        for (uint32_t stages = 1; stages <= 8; stages++) {
            uint32_t grid = 1 + stages % 3;

            reset(NULL);
            memset(want, 0xee, BYTES);
            fgs__ref_reverse(want, host_mid, TILES - 1, FGS__TILE_ELEMS);
            launch(k, (struct args){ .tiles = TILES - 1, .grid = grid,
                                     .shared = stages * FGS__TILE_BYTES });
            OK(cuCtxSynchronize());
            get(host_out, g.out, BYTES);
            same(host_out, want, WORDS, name_of(i));
            assert_int_equal(g.rec->code, 0);
        }
    }
}

static void tiles_are_handed_over_while_both_run(void **state)
{
    static uint32_t doubled[WORDS], want[WORDS];
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);

    (void)state;
    fgs__ref_scale(doubled, host_in, WORDS);
    fgs__ref_reverse(want, doubled, TILES, FGS__TILE_ELEMS);
    for (uint32_t stages = 1; stages <= 8; stages++) {
        EACH_RING(i, k)
        {
            reset(NULL);
            hand_over_to_ring(p, k, (struct args){
                .tiles = TILES, .grid = 2, .work_ns = 20000,
                .shared = stages * FGS__TILE_BYTES, .bound_ns = 2000000000 });
            get(host_out, g.out, BYTES);
            same(host_out, want, WORDS, name_of(i));
            assert_int_equal(get_ctl().abort, 0);
            assert_int_equal(g.rec->code, 0);
        }
    }
    fgs_kernel_free(p);
}

/* Tile 13 of two blocks is the seventh of block 1. */
static void lost_chunk_becomes_a_record_with_tile_and_stage(void **state)
{
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0,
                         "scale_produce_leak");

    (void)state;
    for (uint32_t stages = 1; stages <= 8; stages++) {
        EACH_RING(i, k)
        {
            reset(NULL);
            hand_over_to_ring(p, k, (struct args){
                .tiles = TILES, .grid = 2, .fault_tile = 13, .fault_chunk = 77,
                .shared = stages * FGS__TILE_BYTES, .bound_ns = 2000000 });
            assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
            assert_int_equal(g.rec->role, FGS_ROLE_CONSUMER);
            assert_int_equal(g.rec->block, 1);
            assert_int_equal(g.rec->tile, 13);
            assert_int_equal(g.rec->stage, 6 % stages);
            assert_int_equal(g.rec->chunk, 77);
            assert_int_equal(g.rec->bits0, 0x8000000080000000u);
            assert_int_equal(g.rec->bits1, 0x8000000080000000u);
            assert_true(g.rec->elapsed_ns >= 2000000);
            assert_true(within_ns(g.rec->elapsed_ns, 2100000));
            assert_int_equal(get_ctl().abort, 1);
        }
    }
    fgs_kernel_free(p);
}

static void bound_on_tries_is_exact(void **state)
{
    static const uint64_t bounds[] = { 1, 2, 40 };

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        EACH_RING(i, k)
        {
            reset(NULL);
            memset(host_mid, 0, BYTES);
            fgs__ref_fill(host_mid + 4 * FGS__TILE_ELEMS + 255 * 4, 4,
                          0x80000000u);
            put(g.mid, host_mid, BYTES);
            launch(k, (struct args){ .tiles = 9, .max_tries = bounds[n],
                                     .grid = 1,
                                     .shared = 3 * FGS__TILE_BYTES });
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_TRIES);
            assert_int_equal(g.rec->tile, 4);
            assert_int_equal(g.rec->stage, 1);
            assert_int_equal(g.rec->chunk, 255);
            assert_int_equal(g.rec->tries, bounds[n]);
            /* The chunk was looked at; the tile was not copied again. */
            assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 0);
        }
    }
}

/* A row is a block's: its first tile, and all of its copies. */
static void rows_and_statistics_agree(void **state)
{
    static struct fgs__trace row[TRACE_ROWS];
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);

    (void)state;
    EACH_RING(i, k)
    {
        uint64_t again = 0, last = 0;
        struct fgs__stat s;

        reset(NULL);
        hand_over_to_ring(p, k, (struct args){
            .tiles = TILES, .grid = 3, .shared = 2 * FGS__TILE_BYTES,
            .work_ns = 20000, .bound_ns = 2000000000, .traced = 1 });
        get(row, g.trace, sizeof row);
        s = get_stat(FGS_ROLE_CONSUMER);
        for (int b = 0; b < 3; b++) {
            assert_true(row[b].start <= row[b].ready);
            assert_true(row[b].ready <= row[b].end);
            assert_true(~s.first <= row[b].start);
            again += row[b].tries - 1;
            last = row[b].ready > last ? row[b].ready : last;
        }
        assert_int_equal(again, s.reissues);
        assert_true(s.last >= last);
        if (on_sim())
            assert_true(again > 0);
    }
    fgs_kernel_free(p);
}

static void abort_at_the_start_ends_a_ring(void **state)
{
    struct fgs__ctl c = { .abort = 1 };
    static uint32_t want[WORDS];

    (void)state;
    memset(want, 0xee, BYTES);
    for (int there = 0; there < 2; there++) {
        fgs__ref_fill(host_mid, WORDS, there ? 1 : 0x80000000u);
        put(g.mid, host_mid, BYTES);
        EACH_RING(i, k)
        {
            reset(NULL);
            put(g.ctl, &c, sizeof c);
            launch(k, (struct args){ .tiles = TILES, .grid = 3,
                                     .shared = 4 * FGS__TILE_BYTES });
            OK(cuCtxSynchronize());
            get(host_out, g.out, BYTES);
            same(host_out, want, WORDS, name_of(i));
            assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
            assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 0);
        }
    }
}

static void first_to_give_up_releases_all_blocks(void **state)
{
    (void)state;
    fgs__ref_fill(host_mid, WORDS, 0x80000000u);
    put(g.mid, host_mid, BYTES);
    EACH_RING(i, k)
    {
        reset(NULL);
        launch(k, (struct args){ .tiles = TILES, .bound_ns = 1000000,
                                 .grid = 5, .shared = 2 * FGS__TILE_BYTES });
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
        assert_true(g.rec->tile < 5);
        assert_int_equal(g.rec->chunk, 0);
    }
}

#define T(f) cmocka_unit_test_setup(f, reset)

/* The tool chain's NVRTC, NULL = it is not there. */
static const char *nvrtc_path(void)
{
    static char path[4096];
    const char *tc = getenv("TC");

    snprintf(path, sizeof path, "%s/lib/libnvrtc.so.13",
             tc && *tc ? tc : "build/toolchain/nvidia/cu13");
    return access(path, R_OK) ? NULL : path;
}

static int open_rings(void **state)
{
    const char *nvrtc = nvrtc_path();

    if (nvrtc)
        setenv("FGS_NVRTC", nvrtc, 1);
    if (open_device(state))
        return -1;
    for (int i = 0; i < ROWS; i++) {
        fgs_kernel_desc d = {
            .size = sizeof d, .role = FGS_ROLE_CONSUMER,
            .engine = rows[i % STEMS].engine, .stem = rows[i % STEMS].stem,
            .language = i < STEMS ? FGS_LANGUAGE_PTX : FGS_LANGUAGE_CUDA
        };
        fgs_error err;

        if (fgs_device_can(g.dev, d.engine, NULL) < 0 ||
            (i >= STEMS && !nvrtc))
            continue;
        if (fgs_kernel_make(&rings[i], g.dev, &d, &err) < 0) {
            print_error("%s: %s\n", name_of(i), err.text);
            return -1;
        }
    }
    return 0;
}

static int close_rings(void **state)
{
    for (int i = 0; i < ROWS; i++)
        fgs_kernel_free(rings[i]);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ring_reverses_tiles_bit_by_bit),
        T(tiles_are_handed_over_while_both_run),
        T(lost_chunk_becomes_a_record_with_tile_and_stage),
        T(bound_on_tries_is_exact),
        T(rows_and_statistics_agree),
        T(abort_at_the_start_ends_a_ring),
        T(first_to_give_up_releases_all_blocks),
    };

    return cmocka_run_group_tests_name("retry", tests, open_rings,
                                       close_rings);
}
