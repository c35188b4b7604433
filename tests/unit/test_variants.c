/* test_variants.c -- every element type by every engine, against the mirrors */
#include "variant_rig.h"

static void expect_same(const struct job *j)
{
    const fgs_element_info *e = fgs_element_get_info(j->element);
    uint64_t bytes = j->tiles * j->tile_bytes, count = bytes * 8 / e->bits;
    uint32_t *x = malloc(count * sizeof *x);
    uint8_t *mid = malloc(bytes), *out = malloc(bytes);
    uint8_t *want = malloc(bytes), *back = malloc(bytes);
    fgs_error err;

    make_input(x, count);
    assert_int_equal(fgs_ref_produce(j->element, j->saturate, x, want, count,
                                     NULL), FGS_OK);
    fgs_ref_consume(j->element, want, back, j->tiles, j->tile_bytes);
    if (hand_over(j, x, mid, out, &err) < 0)
        fail_msg("%s by %s: %s", e->name, fgs_engine_name(j->engine), err.text);
    for (uint64_t i = 0; i < bytes; i++) {
        if (mid[i] != want[i])
            fail_msg("%s: byte %u of mid is %02x, not %02x (inputs from %08x)",
                     e->name, (unsigned)i, mid[i], want[i],
                     x[i * 8 / e->bits]);
        if (out[i] != back[i])
            fail_msg("%s by %s: byte %u of out is %02x, not %02x", e->name,
                     fgs_engine_name(j->engine), (unsigned)i, out[i], back[i]);
    }
    free(x);
    free(mid);
    free(out);
    free(want);
    free(back);
}

static void every_element_goes_through_every_engine(void **state)
{
    (void)state;
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        for (int n = FGS_ENGINE_AUTO + 1; n < FGS_ENGINE_PLAIN; n++) {
            struct job j = { (fgs_element)e, (fgs_engine)n,
                             saturation((fgs_element)e), 0, 4096, 256, 3, 0,
                             0 };

            expect_same(&j);
        }
    }
}

static void bulk_store_writes_the_same(void **state)
{
    (void)state;
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        struct job j = { (fgs_element)e, FGS_ENGINE_BULK,
                         saturation((fgs_element)e), 1, 4096, 256, 3, 0, 0 };

        expect_same(&j);
    }
}

static void tiles_and_blocks_of_any_size_do(void **state)
{
    static const struct {
        uint32_t tile_bytes, threads;
    } row[] = {
        { 16, 32 }, { 16, 1024 }, { 48, 64 }, { 528, 32 }, { 4112, 96 },
        { 16384, 1024 }, { 49152 + 16, 256 }, { 227 * 1024 - 128, 512 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        for (int n = FGS_ENGINE_AUTO + 1; n < FGS_ENGINE_PLAIN; n++) {
            struct job j = { i % 2 ? FGS_ELEMENT_E2M1 : FGS_ELEMENT_F16,
                             (fgs_engine)n, 0, 0, row[i].tile_bytes,
                             row[i].threads, 2, 0, 0 };

            expect_same(&j);
            j.bulk_store = 1;
            expect_same(&j);
        }
    }
}

static int open_device(void **state)
{
    fgs_device_opts o = { .size = sizeof o, .provider = "sim" };
    fgs_error err;

    (void)state;
    if (fgs_device_open(&dev, &o, &err) == FGS_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int close_device(void **state)
{
    (void)state;
    fgs_device_close(dev);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_goes_through_every_engine),
        cmocka_unit_test(bulk_store_writes_the_same),
        cmocka_unit_test(tiles_and_blocks_of_any_size_do),
    };

    return cmocka_run_group_tests_name("variants", tests, open_device,
                                       close_device);
}
