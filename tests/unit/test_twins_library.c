/* test_twins_library.c -- CUDA C++ through the library: the same bits as PTX */
#include "variant_rig.h"

#include "rtc.h"

enum { TILE_BYTES = 2064, TILE_COUNT = 3 }; /* an odd number of chunks        */

/* What both languages leave in mid and out is the same. */
static void expect_same_bits(struct job j)
{
    static uint8_t mid[2][TILE_COUNT * TILE_BYTES];
    static uint8_t out[2][TILE_COUNT * TILE_BYTES];
    static uint32_t x[TILE_COUNT * TILE_BYTES * 2];
    const fgs_element_info *e = fgs_element_get_info(j.element);
    fgs_error err;

    make_input(x, sizeof mid[0] * 8 / e->bits);
    for (int k = 0; k < 2; k++) {
        j.language = k ? FGS_LANGUAGE_CUDA : FGS_LANGUAGE_PTX;
        memset(mid[k], 0x11 + k, sizeof mid[k]);
        memset(out[k], 0x11 + k, sizeof out[k]);
        if (hand_over(&j, x, mid[k], out[k], &err) < 0)
            fail_msg("%s by %s, %s: %s", e->name, fgs_engine_name(j.engine),
                     k ? "CUDA C++" : "PTX", err.text);
    }
    if (memcmp(mid[0], mid[1], sizeof mid[0]))
        fail_msg("%s: mid is not the same", e->name);
    if (memcmp(out[0], out[1], sizeof out[0]))
        fail_msg("%s by %s: out is not the same", e->name,
                 fgs_engine_name(j.engine));
}

static void twins_make_the_same_bits(void **state)
{
    const fgs_element *e = *state;

    rtc_real();
    for (int n = FGS_ENGINE_AUTO + 1; n < FGS_ENGINE_PLAIN; n++) {
        struct job j = { *e, (fgs_engine)n, saturation(*e), 0, TILE_BYTES,
                         96, TILE_COUNT, FGS_LANGUAGE_PTX, 0 };

        expect_same_bits(j);
    }
}

static void twins_that_store_in_bulk_make_the_same_bits(void **state)
{
    (void)state;
    rtc_real();
    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        struct job j = { (fgs_element)e, FGS_ENGINE_BULK,
                         saturation((fgs_element)e), 1, TILE_BYTES, 96,
                         TILE_COUNT, FGS_LANGUAGE_PTX, 0 };

        expect_same_bits(j);
    }
}

/* Down instead of up, for the integer that has something below. */
static void twins_move_down_the_same(void **state)
{
    struct job j = { FGS_ELEMENT_I8FF, FGS_ENGINE_POLL, FGS_SATURATE_DOWN, 0,
                     TILE_BYTES, 96, TILE_COUNT, FGS_LANGUAGE_PTX, 0 };

    (void)state;
    rtc_real();
    expect_same_bits(j);
}

/* Both refuse an integer that is the sentinel, at the same place, and store
 * all other chunks, also those that the same thread has after it. */
static void twins_refuse_the_same(void **state)
{
    static uint8_t mid[2][TILE_BYTES], out[TILE_BYTES];
    static uint32_t x[TILE_BYTES];

    (void)state;
    rtc_real();
    for (int i = 0; i < 2 * FGS_ELEMENT_COUNT; i++) {
        int e = i / 2;
        struct job j = { (fgs_element)e, FGS_ENGINE_POLL, FGS_SATURATE_REFUSE,
                         i % 2, TILE_BYTES, 32, 1, FGS_LANGUAGE_PTX, 0 };
        const fgs_element_info *info = fgs_element_get_info(j.element);
        uint32_t holes = 0, per_chunk = 128 / info->bits;
        float half = e == FGS_ELEMENT_I8FF ? -0.5f : -0x1p30f;
        fgs_error err[2];

        if (saturation(j.element) != FGS_SATURATE_UP)
            continue;
        memcpy(&x[77], &half, sizeof half);
        for (int k = 0; k < 2; k++) {
            j.language = k ? FGS_LANGUAGE_CUDA : FGS_LANGUAGE_PTX;
            assert_int_equal(hand_over(&j, x, mid[k], out, &err[k]),
                             FGS_E_SENTINEL);
        }
        assert_memory_equal(mid[0], mid[1], sizeof mid[0]);
        assert_string_equal(err[0].text, err[1].text);
        /* All others are 0, which is no integer's sentinel. */
        for (uint32_t k = 0; k < sizeof mid[0]; k++) {
            if (k / 16 != 77 / per_chunk)
                assert_int_equal(mid[0][k], 0);
            else
                holes += mid[0][k] != 0;
        }
        assert_true(holes > 0);
    }
}

/* What is compiled once is taken from a folder. */
static int start(void **state)
{
    (void)state;
    if (!rtc_keep())
        return -1;
    open_as(0, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fgs_device_close(dev);
    return rtc_forget();
}

int main(void)
{
    static fgs_element element[FGS_ELEMENT_COUNT];
    static char name[FGS_ELEMENT_COUNT][60];
    static struct CMUnitTest tests[FGS_ELEMENT_COUNT + 3] = {
        cmocka_unit_test(twins_that_store_in_bulk_make_the_same_bits),
        cmocka_unit_test(twins_move_down_the_same),
        cmocka_unit_test(twins_refuse_the_same),
    };

    for (int e = 0; e < FGS_ELEMENT_COUNT; e++) {
        element[e] = (fgs_element)e;
        snprintf(name[e], sizeof name[e], "twins_of_%s_make_the_same_bits",
                 fgs_element_get_info(element[e])->name);
        tests[3 + e] = (struct CMUnitTest){ name[e], twins_make_the_same_bits,
                                            NULL, NULL, &element[e] };
    }
    return cmocka_run_group_tests_name("twins_library", tests, start, end);
}
