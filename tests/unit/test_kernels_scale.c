/* test_kernels_scale.c -- joins of data and scales: two sentinels in a block;
 * FGS_PROVIDER */
#include "kernels_both.h"

#include <math.h>

enum {
    SCALES = FGS__TILE_ELEMS / 32,   /* bytes of a tile of them              */
    SHARED = FGS__TILE_BYTES + SCALES
};

static CUdeviceptr scales, flags2;
static uint8_t host_scales[TILES * SCALES];
static uint32_t want[WORDS];
/* Freed at the end: to unload code synchronizes. */
static fgs_kernel *fill, *fill_scales, *produce, *produce_scales;

static fgs_kernel *make_join(int i, uint32_t self, uint32_t loops)
{
    return make_kind(i, (fgs_kernel_desc){ .role = FGS_ROLE_SCALED_JOIN,
                                           .self_init = self,
                                           .persistent = loops });
}

/* plain looks for no sentinels. */
#define EACH_JOIN(i, k, self, loops)                                           \
    for (int i = 0; i < KINDS; i++)                                            \
        for (fgs_kernel *k = make_join(i, self, loops); k;                     \
             fgs_kernel_free(k), k = NULL)
#define EACH_CHECK(i, k)                                                       \
    EACH_JOIN(i, k, 0, 0)                                                      \
        if (kind_at(i) != &plain_kind)

/* By hand, and not as the mirror does: an exact product of double, rounded
 * once. */
static uint32_t product(uint32_t x, uint8_t s)
{
    float f;
    uint32_t bits;

    memcpy(&f, &x, sizeof f);
    if (isnan(f) || s == 0xff)
        return 0x7fffffff;
    f = (float)ldexp((double)f, s - 127);
    memcpy(&bits, &f, sizeof bits);
    return bits << 1 ? bits : 0;
}

static void join(uint32_t *out, const uint32_t *x, const uint8_t *s,
                 uint32_t tiles)
{
    for (uint32_t i = 0; i < tiles * FGS__TILE_ELEMS; i++) {
        uint32_t tile = i / FGS__TILE_ELEMS;
        uint32_t at = FGS__TILE_ELEMS - 1 - i % FGS__TILE_ELEMS;

        out[i] = product(x[tile * FGS__TILE_ELEMS + at],
                         s[tile * SCALES + at / 32]);
    }
}

/* All scales there are, many near 2^0, so that products do not all overflow;
 * words of data that would be sentinels of scales, and the other way. */
static void make_both(void)
{
    make_words(host_mid, 1);
    for (uint32_t i = 0; i < WORDS; i += 37)
        host_mid[i] = 0xffffffff;
    for (uint32_t i = 0; i < sizeof host_scales; i++)
        host_scales[i] = (uint8_t)(i % 3 ? 100 + i % 60 : i % 255);
    memcpy(host_scales, "\0\0\0\x80", 4);
}

static void put_both(void)
{
    make_both();
    put(g.mid, host_mid, BYTES);
    put(scales, host_scales, sizeof host_scales);
}

static struct args of_join(void)
{
    return (struct args){ .tiles = TILES, .pdl = 1, .mid2 = scales,
                          .shared = SHARED, .bound_ns = 2000000000 };
}

static void check_joined(const char *name)
{
    join(want, host_mid, host_scales, TILES);
    assert_int_equal(g.rec->code, FGS__GIVEUP_NONE);
    get(host_out, g.out, BYTES);
    same(host_out, want, WORDS, name);
}

static void product_is_rounded_once_and_never_the_sentinel(void **state)
{
    (void)state;
    for (uint32_t loops = 0; loops < 2; loops++) {
        EACH_JOIN(i, k, 0, loops)
        {
            struct args a = of_join();

            reset(NULL);
            put_both();
            if (kind_at(i) == &plain_kind) /* a NaN, not what is waited for */
                OK(cuMemsetD8(scales + 5, host_scales[5] = 0xff, 1));
            a.grid = loops ? 3 : TILES;
            launch(k, a);
            OK(cuCtxSynchronize());
            check_joined(kind_at(i)->name);
        }
    }
}

/* The values by hand: sign, rounding to even, ends of the range, NaN. */
static void values_are_those_of_the_formats(void **state)
{
    static const struct {
        uint32_t x;
        uint8_t s;
        uint32_t want;
    } row[] = {
        { 0x3f800000, 127, 0x3f800000 }, { 0xbfc00000, 128, 0xc0400000 },
        { 0x3f800000, 0, 0x00400000 },   { 0x3f800000, 254, 0x7f000000 },
        { 0x40000000, 254, 0x7f800000 }, { 0xc0000000, 254, 0xff800000 },
        { 0x00000001, 126, 0x00000000 }, { 0x00000003, 126, 0x00000002 },
        { 0x80000001, 126, 0x00000000 }, { 0x80000001, 127, 0x80000001 },
        { 0x80800001, 126, 0x80400000 }, { 0x00000001, 254, 0x34800000 },
        { 0x7f800000, 0, 0x7f800000 },   { 0xff800001, 127, 0x7fffffff },
        { 0xffffffff, 1, 0x7fffffff },   { 0x00000000, 254, 0x00000000 },
        { 0x3f800000, 255, 0x7fffffff }, { 0x00000000, 255, 0x7fffffff },
    };
    static uint32_t x[FGS__TILE_ELEMS], out[FGS__TILE_ELEMS];
    uint8_t s[SCALES];

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        memset(s, row[i].s, sizeof s);
        for (uint32_t n = 0; n < FGS__TILE_ELEMS; n++)
            x[n] = row[i].x;
        assert_int_equal(fgs_ref_scaled_join(x, s, out, 1, sizeof x), FGS_OK);
        for (uint32_t n = 0; n < FGS__TILE_ELEMS; n++)
            assert_int_equal(out[n], row[i].want);
        assert_int_equal(product(row[i].x, row[i].s), row[i].want);
    }
}

static void input_that_is_late_is_waited_for(void **state)
{
    (void)state;
    EACH_CHECK(i, k)
    {
        for (int late = 0; late < 2; late++) {
            CUdeviceptr out = g.out, in = g.in;
            uint32_t first[TILES * SCALES];
            struct fgs__stat to;
            struct args p = { .tiles = TILES, .spread_ns = 60000 };
            struct args s = { .tiles = TILES, .mid = scales, .block = 32,
                              .shared = SCALES };

            reset(NULL);
            launch(fill, (struct args){ .tiles = TILES });
            launch(fill_scales, (struct args){ .tiles = TILES, .block = 32,
                                               .mid = scales });
            for (uint32_t n = 0; n < TILES * SCALES; n++) {
                float power = ldexpf(1, (int)(n % 40) - 20);

                memcpy(&first[n], &power, sizeof power);
            }
            put(g.last, first, sizeof first);
            (late ? &s : &p)->work_ns = 60000;
            g.in = g.last;
            if (!late)
                launch(produce_scales, s);
            g.in = in;
            launch(produce, p);
            g.in = g.last;
            if (late)
                launch(produce_scales, s);
            g.in = in;
            launch(k, of_join());
            OK(cuCtxSynchronize());
            assert_int_equal(g.out, out);
            fgs__ref_scale(host_mid, host_in, WORDS);
            for (uint32_t n = 0; n < TILES * SCALES; n++)
                host_scales[n] = (uint8_t)(127 + (int)(n % 40) - 20 + 1);
            check_joined(kind_at(i)->name);
            to = get_stat(FGS_ROLE_SCALED_JOIN);
            if (~to.first + 30000 < get_stat(FGS_ROLE_PRODUCER).last)
                assert_true(to.reissues > 0);
        }
    }
}

static void only_the_late_input_is_copied_again(void **state)
{
    (void)state;
    EACH_CHECK(i, k)
    {
        for (int late = 0; late < 2; late++) {
            struct args a = of_join();

            if (kind_at(i)->engine == FGS_ENGINE_POLL ||
                kind_at(i)->engine == FGS_ENGINE_ASYNC)
                continue;
            reset(NULL);
            put_both();
            if (late)
                OK(cuMemsetD8(scales, 0xff, SCALES));
            else
                OK(cuMemsetD32(g.mid, 0x80000000u, FGS__TILE_ELEMS));
            a.tiles = 1;
            a.max_tries = 9;
            launch(k, a);
            OK(cuCtxSynchronize());
            assert_int_equal(get_stat(FGS_ROLE_SCALED_JOIN).reissues, 8);
            assert_int_equal(g.rec->code, FGS__GIVEUP_TRIES);
            assert_int_equal(g.rec->stage, late);
        }
    }
}

/* Each scale of a chunk is looked at; of data, whose mechanism samples one of
 * four, a chunk of sentinels. */
static void lacking_scale_is_named_with_its_chunk(void **state)
{
    (void)state;
    EACH_CHECK(i, k)
    {
        for (uint32_t at = 0; at < SCALES; at++) {
            struct args a = of_join();
            uint8_t bytes[16];

            reset(NULL);
            put_both();
            host_scales[3 * SCALES + at] = 0xff;
            put(scales, host_scales, sizeof host_scales);
            a.bound_ns = 30000;
            launch(k, a);
            OK(cuCtxSynchronize());
            assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
            assert_int_equal(g.rec->role, FGS_ROLE_SCALED_JOIN);
            assert_int_equal(g.rec->tile, 3);
            assert_int_equal(g.rec->stage, 1);
            assert_int_equal(g.rec->chunk, at / 16);
            memcpy(bytes, &g.rec->bits0, 8);
            memcpy(bytes + 8, &g.rec->bits1, 8);
            assert_memory_equal(bytes, host_scales + 3 * SCALES + at / 16 * 16,
                                16);
        }
    }
}

static void lacking_data_are_named_with_their_chunk(void **state)
{
    (void)state;
    EACH_CHECK(i, k)
    {
        struct args a = of_join();

        reset(NULL);
        put_both();
        fgs__ref_fill(host_mid + 5 * FGS__TILE_ELEMS + 7 * 4, 4, 0x80000000u);
        put(g.mid, host_mid, BYTES);
        a.bound_ns = 100000;
        launch(k, a);
        OK(cuCtxSynchronize());
        assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
        assert_int_equal(g.rec->tile, 5);
        assert_int_equal(g.rec->stage, 0);
        assert_int_equal(g.rec->chunk, 7);
        assert_int_equal(g.rec->bits0, 0x8000000080000000u);
    }
}

/* Of either input, beside the other's sentinels; set, it lets go. */
static void lacking_flag_is_named_with_its_input(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 4; n++) {
        EACH_JOIN(i, k, 0, 0)
        {
            uint32_t late = n & 1, lacks = n >> 1;
            CUdeviceptr flags = late ? flags2 : g.flags;
            struct args a = of_join();

            reset(NULL);
            put_both();
            OK(cuMemsetD32(flags, 6, TILES));
            OK(cuMemsetD32(flags + 8, 6 - lacks, 1));
            a.round = 6;
            a.max_tries = 40;
            a.flags_in = !late;
            a.flags_in2 = late ? flags : 0;
            launch(k, a);
            OK(cuCtxSynchronize());
            if (!lacks) {
                check_joined(kind_at(i)->name);
                continue;
            }
            assert_int_equal(g.rec->code, FGS__GIVEUP_FLAG);
            assert_int_equal(g.rec->role, FGS_ROLE_SCALED_JOIN);
            assert_int_equal(g.rec->tile, 2);
            assert_int_equal(g.rec->stage, late);
            assert_int_equal(g.rec->bits0, 5);
        }
    }
}

static void data_are_cleared_and_scales_left_alone(void **state)
{
    static const uint32_t gather[4] = { 3, 9, 0, 7 };
    static uint32_t x[4 * FGS__TILE_ELEMS];
    uint8_t s[4 * SCALES], left[sizeof host_scales];

    (void)state;
    EACH_JOIN(i, k, 0, 0)
    {
        struct args a = of_join();

        reset(NULL);
        put_both();
        put(g.table, gather, sizeof gather);
        for (uint32_t n = 0; n < 4; n++) {
            memcpy(x + n * FGS__TILE_ELEMS,
                   host_mid + gather[n] * FGS__TILE_ELEMS, FGS__TILE_BYTES);
            memcpy(s + n * SCALES, host_scales + gather[n] * SCALES, SCALES);
            fgs__ref_fill(host_mid + gather[n] * FGS__TILE_ELEMS,
                          FGS__TILE_ELEMS, 0x80000000u);
        }
        a.tiles = 4;
        a.tabled = 1;
        a.clear = g.mid;
        launch(k, a);
        OK(cuCtxSynchronize());
        join(want, x, s, 4);
        get(host_out, g.out, BYTES);
        same(host_out, want, 4 * FGS__TILE_ELEMS, kind_at(i)->name);
        get(host_out, g.mid, BYTES);
        same(host_out, host_mid, WORDS, "cleared");
        get(left, scales, sizeof left);
        assert_memory_equal(left, host_scales, sizeof left);
    }
}

static void join_fills_its_own_tiles_before_it_triggers(void **state)
{
    fgs_kernel *c = make(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL, 0, NULL);

    (void)state;
    EACH_JOIN(i, k, 1, 0)
    {
        struct args a = of_join();

        reset(NULL);
        OK(cuMemsetD8(g.out, 0x55, BYTES));
        put_both();
        a.work_ns = 40000;
        launch(k, a);
        launch(c, (struct args){ .tiles = TILES, .pdl = 1, .mid = g.out,
                                 .out = g.in, .bound_ns = 2000000000 });
        OK(cuCtxSynchronize());
        check_joined(kind_at(i)->name);
        fgs__ref_reverse(host_mid, want, TILES, FGS__TILE_ELEMS);
        get(host_out, g.in, BYTES);
        same(host_out, host_mid, WORDS, "behind the join");
    }
    fgs_kernel_free(c);
}

static void tiles_and_blocks_of_any_size_do(void **state)
{
    static const struct {
        uint32_t tile_bytes, threads;
    } row[] = { { 2048, 32 }, { 2048, 1024 }, { 6144, 64 }, { 16384, 96 } };

    (void)state;
    make_both();
    for (int i = 0; i < KINDS; i++) {
        for (size_t n = 0; n < sizeof row / sizeof row[0]; n++) {
            const struct kind *kind = kind_at(i);
            uint32_t bytes = row[n].tile_bytes;
            fgs_kernel_desc d = { .role = FGS_ROLE_SCALED_JOIN,
                                  .engine = kind->engine, .weak = kind->weak,
                                  .tile_bytes = bytes,
                                  .threads = row[n].threads };
            fgs_kernel_info info = { .size = sizeof info };
            fgs_kernel *k;

            /* see test_kernels_join.c */
            if (fgs_device_can(g.dev, kind->engine, NULL) < 0 ||
                (language == FGS_LANGUAGE_CUDA && row[n].threads > 512))
                continue;
            k = make_as(d);
            reset(NULL);
            put_both();
            fgs_kernel_get_info(k, &info);
            assert_int_equal(info.shared_bytes, bytes + bytes / 128);
            launch(k, (struct args){ .tiles = 3, .block = row[n].threads,
                                     .mid2 = scales, .max_tries = 100,
                                     .shared = info.shared_bytes });
            OK(cuCtxSynchronize());
            assert_int_equal(fgs_ref_scaled_join(host_mid, host_scales, want,
                                                 3, bytes), FGS_OK);
            get(host_out, g.out, BYTES);
            same(host_out, want, 3 * bytes / 4, kind->name);
            fgs_kernel_free(k);
        }
    }
}

static void mirror_is_the_product_by_hand(void **state)
{
    (void)state;
    make_both();
    join(host_out, host_mid, host_scales, TILES);
    assert_int_equal(fgs_ref_scaled_join(host_mid, host_scales, want, TILES,
                                         FGS__TILE_BYTES), FGS_OK);
    same(want, host_out, WORDS, "fgs_ref_scaled_join");
    assert_int_equal(fgs_ref_scaled_join(host_mid, NULL, want, 1, 2048),
                     FGS_E_NULL);
    assert_int_equal(fgs_ref_scaled_join(host_mid, host_scales, want, 1, 1024),
                     FGS_E_SIZE);
}

static void refused(fgs_kernel_desc d, fgs_result r, const char *text)
{
    fgs_kernel *k;
    fgs_error err;

    d.size = sizeof d;
    d.role = FGS_ROLE_SCALED_JOIN;
    if (fgs_kernel_make(&k, g.dev, &d, &err) != r || !strstr(err.text, text))
        fail_msg("%s: %s", err.name, err.text);
}

static void what_such_a_join_cannot_be_is_refused(void **state)
{
    (void)state;
    refused((fgs_kernel_desc){ .element = FGS_ELEMENT_F16 }, FGS_E_INVAL,
            "for element f32 alone");
    refused((fgs_kernel_desc){ .tile_bytes = 1024 }, FGS_E_SIZE,
            "a scale for each 32 elements, in whole chunks: tiles of a "
            "multiple of 2048 bytes, not 1024");
    refused((fgs_kernel_desc){ .tile_bytes = 4096 + 16 }, FGS_E_SIZE,
            "not 4112");
    refused((fgs_kernel_desc){ .bulk_store = 1 }, FGS_E_INVAL,
            "the scaled_join");
}

static int open_all(void **state)
{
    fgs_kernel_desc d = { .role = FGS_ROLE_INIT, .tile_bytes = SCALES,
                          .element = FGS_ELEMENT_UE8M0, .threads = 32 };
    int bad = open_device(state);

    if (bad)
        return bad;
    OK(cuMemAlloc(&scales, sizeof host_scales));
    OK(cuMemAlloc(&flags2, TILES * sizeof(uint32_t)));
    fill = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    produce = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    fill_scales = make_as(d);
    d.role = FGS_ROLE_PRODUCER;
    produce_scales = make_as(d);
    return 0;
}

static int close_all(void **state)
{
    fgs_kernel_free(fill);
    fgs_kernel_free(fill_scales);
    fgs_kernel_free(produce);
    fgs_kernel_free(produce_scales);
    g.cuMemFree(scales);
    g.cuMemFree(flags2);
    return close_device(state);
}

#define T(f) cmocka_unit_test_setup(f, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(values_are_those_of_the_formats),
        T(mirror_is_the_product_by_hand),
        T(product_is_rounded_once_and_never_the_sentinel),
        T(input_that_is_late_is_waited_for),
        T(only_the_late_input_is_copied_again),
        T(lacking_scale_is_named_with_its_chunk),
        T(lacking_data_are_named_with_their_chunk),
        T(lacking_flag_is_named_with_its_input),
        T(data_are_cleared_and_scales_left_alone),
        T(join_fills_its_own_tiles_before_it_triggers),
        T(tiles_and_blocks_of_any_size_do),
        T(what_such_a_join_cannot_be_is_refused),
    };

    return run_both_with("kernels_scale", tests, sizeof tests / sizeof tests[0],
                         open_all, close_all);
}
