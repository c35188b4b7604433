/* test_kernels_run.c -- each kernel text runs, against its C mirror
 *
 * On the software device, or on what FGS_PROVIDER names.  Launches are the
 * driver's own, so that each kernel is seen alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/ref.h"
#include "table/cu.h"
#include "table/record.h"
#include "text/text.h"
#include <fgs/fgs.h>

enum {
    TILES = 20,
    WORDS = TILES * FGS__TILE_ELEMS,
    BYTES = TILES * FGS__TILE_BYTES,
    SENTINEL = (int)0x80000000u
};

/* --------------------------------------------------------------- device -- */

static struct {
    fgs_device *dev;
    CUcontext ctx;
    CUdeviceptr in, mid, out, ctl;
    struct fgs__rec *rec; /* host memory that the device sees at drec */
    CUdeviceptr drec;
#define ENTRY(name, abi, need, params) CUresult (*name) params;
#include "table/entry.def"
#undef ENTRY
} g;

static uint32_t host_in[WORDS], host_mid[WORDS], host_out[WORDS];

#define OK(call) assert_int_equal(g.call, CUDA_SUCCESS)

static int open_device(void **state)
{
    const char *provider = getenv("FGS_PROVIDER");
    fgs_device_opts opts = { .size = sizeof opts,
                             .provider = provider ? provider : "sim" };
    fgs_error err;
    int dev;

    (void)state;
    if (fgs_device_open(&g.dev, &opts, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
#define ENTRY(name, abi, need, params)                                         \
    {                                                                          \
        void *p = fgs_device_get_proc(g.dev, #name);                           \
        memcpy(&g.name, &p, sizeof p);                                         \
    }
#include "table/entry.def"
#undef ENTRY
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&g.ctx, dev));
    OK(cuCtxPushCurrent(g.ctx));
    OK(cuMemAlloc(&g.in, BYTES));
    OK(cuMemAlloc(&g.mid, BYTES));
    OK(cuMemAlloc(&g.out, BYTES));
    OK(cuMemAlloc(&g.ctl, sizeof(struct fgs__ctl)));
    OK(cuMemHostAlloc((void **)&g.rec, sizeof *g.rec,
                      CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&g.drec, g.rec, 0));
    return 0;
}

static int close_device(void **state)
{
    int dev;

    (void)state;
    g.cuMemFree(g.in);
    g.cuMemFree(g.mid);
    g.cuMemFree(g.out);
    g.cuMemFree(g.ctl);
    g.cuMemFreeHost(g.rec);
    g.cuCtxPopCurrent(&g.ctx);
    g.cuDeviceGet(&dev, 0);
    g.cuDevicePrimaryCtxRelease(dev);
    fgs_device_close(g.dev);
    return 0;
}

/* The arguments of a launch; zero is what a kernel that is alone needs. */
struct args {
    uint64_t tiles, bound_ns, max_tries, work_ns, fault_tile;
    uint32_t fault_chunk;
    uint32_t grid, block; /* 0 = a block a tile, 256 threads */
    int pdl;
};

static void launch_in(CUstream stream, const fgs_kernel *k, struct args a)
{
    void *params[] = { &g.in,       &g.mid,       &g.out,     &a.tiles,
                       &g.ctl,      &g.drec,      &a.bound_ns, &a.max_tries,
                       &a.work_ns,  &a.fault_tile, &a.fault_chunk };
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig c = { .gridDimY = 1, .gridDimZ = 1, .blockDimY = 1,
                         .blockDimZ = 1, .attrs = &attr };

    attr.value.programmaticStreamSerializationAllowed = 1;
    c.gridDimX = a.grid ? a.grid : (unsigned)a.tiles;
    c.blockDimX = a.block ? a.block : FGS__BLOCK_THREADS;
    c.numAttrs = a.pdl ? 1 : 0;
    c.hStream = stream;
    OK(cuLaunchKernelEx(&c, fgs_kernel_get_function(k), params, NULL));
}

static void launch(const fgs_kernel *k, struct args a)
{
    launch_in(NULL, k, a);
}

static fgs_kernel *make(fgs_role role, fgs_engine engine, uint32_t weak,
                        const char *stem)
{
    fgs_kernel_desc desc = { .size = sizeof desc, .role = role,
                             .engine = engine, .weak = weak, .stem = stem };
    fgs_kernel *k = NULL;
    fgs_error err;

    if (fgs_kernel_make(&k, g.dev, &desc, &err) < 0)
        fail_msg("%s", err.text);
    return k;
}

/* A consumer of each kind that the device can run. */
static const struct kind {
    const char *name;
    fgs_engine engine;
    uint32_t weak;
} kinds[] = {
    { "report", FGS_ENGINE_REPORT, 0 },
    { "bulk", FGS_ENGINE_BULK, 0 },
    { "bulk weak", FGS_ENGINE_BULK, 1 },
    { "poll", FGS_ENGINE_POLL, 0 },
};

static fgs_kernel *consumer(const struct kind *k)
{
    if (fgs_device_can(g.dev, k->engine, NULL) < 0)
        return NULL;
    return make(FGS_ROLE_CONSUMER, k->engine, k->weak, NULL);
}

#define EACH_CONSUMER(i, k)                                                    \
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)                \
        for (fgs_kernel *k = consumer(&kinds[i]); k;                           \
             fgs_kernel_free(k), k = NULL)

static void put(CUdeviceptr to, const void *from, size_t bytes)
{
    OK(cuMemcpyHtoD(to, from, bytes));
}

static void get(void *to, CUdeviceptr from, size_t bytes)
{
    OK(cuMemcpyDtoH(to, from, bytes));
}

static struct fgs__ctl get_ctl(void)
{
    struct fgs__ctl c;

    get(&c, g.ctl, sizeof c);
    return c;
}

/* The same while another stream runs. */
static struct fgs__ctl get_ctl_in(CUstream stream)
{
    struct fgs__ctl c;

    OK(cuMemcpyDtoHAsync(&c, g.ctl, sizeof c, stream));
    OK(cuStreamSynchronize(stream));
    return c;
}

/* Zeros of both signs, subnormals, ends of ranges, infinities, NaNs with
 * payload, and noise.  Where `clean`, no word is the sentinel. */
static void make_words(uint32_t *w, int clean)
{
    static const uint32_t special[] = {
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
        0x00800000, 0x7effffff, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
        0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff800001, 0x3f800000,
    };
    uint64_t x = 88172645463325252u;

    for (uint32_t i = 0; i < WORDS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        w[i] = (uint32_t)(x >> 32);
        if ((x & 7) == 0)
            w[i] = special[(x >> 8) % (sizeof special / sizeof special[0])];
        if (clean && w[i] == (uint32_t)SENTINEL)
            w[i] = 0;
    }
}

static int reset(void **state)
{
    struct fgs__ctl zero = { 0 };

    (void)state;
    make_words(host_in, 0);
    put(g.in, host_in, BYTES);
    memset(host_out, 0xee, BYTES);
    put(g.out, host_out, BYTES);
    put(g.ctl, &zero, sizeof zero);
    memset(g.rec, 0, sizeof *g.rec);
    return 0;
}

static void same(const uint32_t *got, const uint32_t *want, uint32_t words,
                 const char *what)
{
    for (uint32_t i = 0; i < words; i++) {
        if (got[i] != want[i])
            fail_msg("%s: word %u is 0x%08x, not 0x%08x", what, i, got[i],
                     want[i]);
    }
}

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
    assert_true(get_ctl().producer_last > 0);
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
    first = get_ctl().producer_last;
    launch(k, (struct args){ .tiles = 1, .work_ns = 300000 });
    OK(cuCtxSynchronize());
    assert_true(get_ctl().producer_last >= first + 300000);
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
        assert_int_equal(get_ctl().reissues, 0);
        assert_int_equal(get_ctl().abort, 0);
        assert_true(get_ctl().consumer_first != 0);
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
    }
}

static void hand_over(fgs_kernel *producer, fgs_kernel *k, struct args a)
{
    fgs_kernel *init = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);

    launch(init, (struct args){ .tiles = a.tiles });
    launch(producer, a);
    a.pdl = 1;
    launch(k, a);
    OK(cuCtxSynchronize());
    fgs_kernel_free(init);
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
            struct fgs__ctl c;

            reset(NULL);
            hand_over(p, k, (struct args){ .tiles = tiles, .work_ns = 100000,
                                           .bound_ns = 2000000000 });
            get(host_out, g.out, BYTES);
            same(host_out, want, (uint32_t)tiles * FGS__TILE_ELEMS,
                 kinds[i].name);
            c = get_ctl();
            assert_int_equal(c.abort, 0);
            /* started half the extra time before the end: it has waited */
            if (tiles == 4 && ~c.consumer_first + 50000 < c.producer_last)
                assert_true(c.reissues > 0);
        }
    }
    fgs_kernel_free(p);
}

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
            assert_true(g.rec->elapsed_ns < 2100000);
            assert_true(g.rec->tries > 32);
            /* one copy or load was new, all others are counted */
            assert_true(get_ctl().reissues >= g.rec->tries - 1);
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
            assert_int_equal(get_ctl().reissues, bounds[n] - 1);
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
            assert_int_equal(get_ctl().reissues, 0);
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
        launch_in(run, k, (struct args){ .tiles = 2, .bound_ns = 200000000 });
        while (!g.rec->code && !get_ctl_in(raise).consumer_first)
            ;
        OK(cuMemsetD32Async(g.ctl, 1, 1, raise));
        OK(cuStreamSynchronize(run));
        OK(cuStreamSynchronize(raise));
        get(host_out, g.out, BYTES);
        same(host_out, want, WORDS, kinds[i].name);
        assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
        /* 200 ms are 50000 tries of each block, or of each thread */
        waiting = kinds[i].engine == FGS_ENGINE_POLL ? 2 * 256 : 2;
        assert_true(get_ctl().reissues < 25000 * waiting);
    }
    OK(cuStreamDestroy(run));
    OK(cuStreamDestroy(raise));
}

static void consumer_ends_after_its_producer(void **state)
{
    fgs_kernel *p = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    CUstream stream;

    (void)state;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EACH_CONSUMER(i, k)
    {
        reset(NULL);
        /* valid already: only griddepcontrol.wait makes the consumer wait */
        make_words(host_mid, 1);
        put(g.mid, host_mid, BYTES);
        launch_in(stream, p, (struct args){ .tiles = 4, .work_ns = 1000000 });
        launch_in(stream, k, (struct args){ .tiles = 4, .pdl = 1 });
        assert_true(get_ctl_in(stream).producer_last != 0);
    }
    OK(cuStreamDestroy(stream));
    fgs_kernel_free(p);
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
        T(lost_chunk_becomes_a_record_within_the_bound),
        T(bound_on_tries_is_exact),
        T(record_names_the_first_bad_chunk),
        T(software_scans_test_every_element),
        T(abort_at_the_start_ends_a_consumer),
        T(abort_from_outside_releases_waiting_blocks),
        T(consumer_ends_after_its_producer),
        T(first_to_give_up_releases_all_blocks),
    };

    return cmocka_run_group_tests_name("kernels_run", tests, open_device,
                                       close_device);
}
