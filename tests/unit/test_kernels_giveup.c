/* test_kernels_giveup.c -- consumers give up with a record, not with a hang
 *
 * Bounds in time and tries, what the record says, the abort word.  On the
 * device that FGS_PROVIDER names.
 */
#include "kernels.h"

static void check_record(const char *name, uint32_t code, uint64_t tile,
                         uint32_t chunk)
{
    const struct fgs__rec *r = g.rec;

    if (r->code != code || r->role != FGS_ROLE_CONSUMER || r->tile != tile ||
        r->block != tile || r->chunk != chunk)
        fail_msg("%s: record: code %u, role %u, tile %llu, block %llu, "
                 "chunk %u",
                 name, r->code, r->role, (unsigned long long)r->tile,
                 (unsigned long long)r->block, r->chunk);
    assert_int_equal(r->bits0, 0x8000000080000000u);
    assert_int_equal(r->bits1, 0x8000000080000000u);
    assert_int_equal(get_ctl().abort, 1);
}

/* All tiles but the faulty one come out right, and nothing of that one. */
static void check_others(const char *name, uint64_t tile)
{
    static uint32_t doubled[WORDS], want[WORDS];

    fgs__ref_scale(doubled, host_in, WORDS);
    fgs__ref_reverse(want, doubled, TILES, FGS__TILE_ELEMS);
    memset(want + tile * FGS__TILE_ELEMS, 0xee, FGS__TILE_BYTES);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
}

static void lost_chunk_becomes_a_record_within_the_bound(void **state)
{
    static const char *const stems[] = { "scale_produce_leak",
                                         "scale_produce_sentinel" };

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, stems[s]);

        EACH_CONSUMER(i, k)
        {
            reset(NULL);
            hand_over(p, k, (struct args){ .tiles = TILES, .fault_tile = 17,
                                           .fault_chunk = 3,
                                           .bound_ns = 2000000 });
            check_record(kinds[i].name, FGS__GIVEUP_TIME, 17, 3);
            check_others(kinds[i].name, 17);
            assert_true(g.rec->elapsed_ns >= 2000000);
            assert_true(within_ns(g.rec->elapsed_ns, 2100000));
            assert_true(g.rec->tries > 32);
            /* one copy or load was new, all others are counted */
            assert_true(get_stat(FGS_ROLE_CONSUMER).reissues >=
                        g.rec->tries - 1);
        }
        fgs_kernel_free(p);
    }
}

static void bound_on_tries_is_exact(void **state)
{
    static const uint64_t bounds[] = { 1, 2, 40 };

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        EACH_CONSUMER(i, k)
        {
            reset(NULL);
            memset(host_mid, 0, BYTES);
            fgs__ref_fill(host_mid + 255 * 4, 4, 0x80000000u);
            put(g.mid, host_mid, BYTES);
            launch(k, (struct args){ .tiles = 1, .max_tries = bounds[n] });
            OK(cuCtxSynchronize());
            check_record(kinds[i].name, FGS__GIVEUP_TRIES, 0, 255);
            assert_int_equal(g.rec->tries, bounds[n]);
            assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues,
                             bounds[n] - 1);
        }
    }
}

static void record_names_the_first_bad_chunk(void **state)
{
    (void)state;
    EACH_CONSUMER(i, k)
    {
        reset(NULL);
        memset(host_mid, 0, BYTES);
        fgs__ref_fill(host_mid + 4 * 200, 56 * 4, 0x80000000u);
        put(g.mid, host_mid, BYTES);
        launch(k, (struct args){ .tiles = 1, .max_tries = 3 });
        OK(cuCtxSynchronize());
        check_record(kinds[i].name, FGS__GIVEUP_TRIES, 0, 200);
    }
}

static void software_scans_test_every_element(void **state)
{
    (void)state;
    for (uint32_t e = 0; e < 4; e++) {
        EACH_CONSUMER(i, k)
        {
            if (kinds[i].engine == FGS_ENGINE_REPORT)
                continue; /* may sample another one */
            reset(NULL);
            memset(host_mid, 0, BYTES);
            host_mid[100 * 4 + e] = 0x80000000u;
            put(g.mid, host_mid, BYTES);
            launch(k, (struct args){ .tiles = 1, .max_tries = 3 });
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_TRIES);
            assert_int_equal(g.rec->chunk, 100);
            assert_int_equal(e < 2 ? g.rec->bits0 : g.rec->bits1,
                             e & 1 ? 0x8000000000000000u : 0x80000000u);
            assert_int_equal(e < 2 ? g.rec->bits1 : g.rec->bits0, 0);
        }
    }
}

static void abort_at_the_start_ends_a_consumer(void **state)
{
    struct fgs__ctl c = { .abort = 1 };
    static uint32_t want[WORDS];

    (void)state;
    memset(want, 0xee, BYTES);
    /* nothing there, and no bound at all; then all there, and not used */
    for (int there = 0; there < 2; there++) {
        fgs__ref_fill(host_mid, WORDS, there ? 1 : 0x80000000u);
        put(g.mid, host_mid, BYTES);
        EACH_CONSUMER(i, k)
        {
            reset(NULL);
            put(g.ctl, &c, sizeof c);
            launch(k, (struct args){ .tiles = TILES });
            OK(cuCtxSynchronize());
            get(host_out, g.out, BYTES);
            same(host_out, want, WORDS, kinds[i].name);
            assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
            assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 0);
        }
    }
}

static void abort_from_outside_releases_waiting_blocks(void **state)
{
    static uint32_t want[WORDS];
    CUstream run, raise;
    uint64_t waiting;

    (void)state;
    memset(want, 0xee, BYTES);
    fgs__ref_fill(host_mid, WORDS, 0x80000000u);
    put(g.mid, host_mid, BYTES);
    OK(cuStreamCreate(&run, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&raise, CU_STREAM_NON_BLOCKING));
    EACH_CONSUMER(i, k)
    {
        reset(NULL);
        launch_in(run, k, (struct args){ .tiles = 2, .bound_ns = 2000000000 });
        while (!g.rec->code && !get_stat_in(raise, FGS_ROLE_CONSUMER).first)
            ;
        OK(cuMemsetD32Async(g.ctl, 1, 1, raise));
        OK(cuStreamSynchronize(run));
        OK(cuStreamSynchronize(raise));
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, kinds[i].name);
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
        /* 2 s are 500000 tries of each block, or of each thread */
        waiting = kinds[i].engine == FGS_ENGINE_POLL ? 2 * 256 : 2;
        assert_true(get_stat(FGS_ROLE_CONSUMER).reissues < 250000 * waiting);
    }
    OK(cuStreamDestroy(run));
    OK(cuStreamDestroy(raise));
}

static void first_to_give_up_releases_all_blocks(void **state)
{
    (void)state;
    fgs__ref_fill(host_mid, WORDS, 0x80000000u);
    put(g.mid, host_mid, BYTES);
    EACH_CONSUMER(i, k)
    {
        reset(NULL);
        /* nothing ever comes: each block would wait 1 ms, one record stays */
        launch(k, (struct args){ .tiles = TILES, .bound_ns = 1000000 });
        OK(cuCtxSynchronize());
        assert_true(g.rec->tile < TILES);
        check_record(kinds[i].name, FGS__GIVEUP_TIME, g.rec->tile, 0);
    }
}

/* The kernel of a text whose barrier is armed for twice the tile's bytes. */
static CUmodule load_overarmed(const char *stem, const char *armed,
                               CUfunction *f)
{
    fgs_device_info info = { .size = sizeof info };
    char entry[64], *text, *at;
    CUmodule module;
    size_t size = 0;

    assert_int_equal(fgs_device_get_info(g.dev, &info, NULL), FGS_OK);
    fgs_ptx_text(stem, info.cc, NULL, &size, NULL);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_text(stem, info.cc, text, &size, NULL), FGS_OK);
    at = strstr(text, armed);
    assert_non_null(at);
    memcpy(at + strlen(armed) - 4, "8192", 4);
    OK(cuModuleLoadData(&module, text));
    snprintf(entry, sizeof entry, "fgs_%s", stem);
    OK(cuModuleGetFunction(f, module, entry));
    free(text);
    return module;
}

static void copy_that_never_lands_is_given_up(void **state)
{
    static const struct {
        const char *stem, *armed;
        fgs_engine engine;
    } of[] = {
        { "report_consume", "[s_bar], 4096", FGS_ENGINE_REPORT },
        { "bulk_weak_consume", "[s_landed], 4096", FGS_ENGINE_BULK },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        CUmodule module;
        CUfunction f;

        if (fgs_device_can(g.dev, of[i].engine, NULL) < 0)
            continue;
        reset(NULL);
        module = load_overarmed(of[i].stem, of[i].armed, &f);
        launch_function(NULL, f, FGS_ROLE_CONSUMER,
                        (struct args){ .tiles = 2, .bound_ns = 1000000 });
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_LANDING);
        assert_int_equal(g.rec->chunk, FGS__NO_CHUNK);
        assert_int_equal(g.rec->tries, 1);
        assert_true(g.rec->elapsed_ns >= 101000000);
        assert_true(within_ns(g.rec->elapsed_ns, 102000000));
        OK(cuModuleUnload(module));
    }
}

#define T(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(lost_chunk_becomes_a_record_within_the_bound),
        T(copy_that_never_lands_is_given_up),
        T(bound_on_tries_is_exact),
        T(record_names_the_first_bad_chunk),
        T(software_scans_test_every_element),
        T(abort_at_the_start_ends_a_consumer),
        T(abort_from_outside_releases_waiting_blocks),
        T(first_to_give_up_releases_all_blocks),
    };

    return cmocka_run_group_tests_name("kernels_giveup", tests, open_device,
                                       close_device);
}
