/* test_sim_tensor_map.c -- which tensor maps are taken
 *
 * The rules of the driver API's documentation, and what the driver of an H200
 * answered where it says less or something else.
 */
#include "base/compat.h"
#include "sim/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void rules_name_what_is_wrong(void **state)
{
    struct fgs__tensor good = { .address = 64, .rank = 3, .type = 2,
                                .dim = { 8, 4, 4 }, .stride = { 0, 32, 128 },
                                .box = { 8, 2, 2 }, .step = { 1, 1, 1 } };
    struct fgs__tensor t;

    (void)state;
    assert_null(fgs__tensor_rule(&good));
#define BAD(change, words)                                                     \
    t = good;                                                                  \
    change;                                                                    \
    assert_non_null(fgs__tensor_rule(&t));                                     \
    assert_non_null(strstr(fgs__tensor_rule(&t), words))
    BAD(t.address = 8, "address");
    BAD(t.rank = 6, "rank");
    BAD(t.type = 16, "element type");
    BAD(t.dim[1] = 0, "dimension");
    BAD(t.dim[1] = (1ull << 32) + 1, "dimension");
    BAD(t.stride[1] = 40, "stride is no multiple");
    BAD(t.stride[2] = 1ull << 40, "2^40");
    BAD(t.box[2] = 257, "side of the box");
    BAD(t.box[0] = 6, "multiple of 16 bytes");
    BAD(t.step[1] = 9, "element stride");
    BAD(t.box[0] = 16; t.swizzle = 1, "wider than the swizzle");
    BAD(t.step[0] = 0, "element stride");
    BAD(t.step[0] = 9, "element stride");
    BAD(t.interleave = 1; t.rank = 2, "rank of 3");
    BAD(t.fill = 1, "NaN");
    BAD(t.atom = 1, "16 bytes");
    BAD(t.kind = 1; t.lower[0] = 4; t.channels = 4, "empty");
    BAD(t.kind = 1; t.channels = 257, "channels");
    BAD(t.kind = 2; t.channels = 4, "swizzle");
    BAD(t.type = FGS__TENSOR_U4_PAD; t.address = 16, "multiple of 32");
}

/* Of an interleaved layout the driver of an H200 compares the corners with
 * the dimension before: ten random maps that it refused or took. */
static void interleaved_columns_are_taken_as_by_an_h200(void **state)
{
    static const struct {
        uint8_t interleave, type, rank, swizzle, channels;
        uint8_t dim[5];
        int8_t corner[6]; /* lower and upper of each side */
        bool taken;
    } row[] = {
        { 1, 4, 3, 1, 2, { 2, 7, 1 }, { 1, -2 }, false },
        { 1, 6, 4, 2, 24, { 6, 1, 7, 1 }, { 0, 0, 0, -1 }, false },
        { 1, 5, 5, 1, 2, { 3, 1, 7, 3, 6 }, { -2, -2, 0, -1, 1, 1 }, false },
        { 1, 4, 3, 3, 6, { 1, 5, 3 }, { 0, -1 }, false },
        { 2, 0, 5, 3, 16, { 17, 5, 2, 5, 6 }, { -2, 0, -1, 1, 1, -2 }, false },
        { 2, 4, 4, 1, 4, { 1, 2, 4, 1 }, { 0, 1, 0, -2 }, false },
        { 1, 2, 5, 1, 8, { 14, 4, 5, 2, 3 }, { -1, 0, 0, -1, 0, 1 }, true },
        { 1, 4, 4, 0, 24, { 12, 7, 4, 2 }, { 0, -1, 1, -2 }, true },
        { 2, 4, 4, 3, 14, { 10, 7, 4, 1 }, { -2, -1, 0, 0 }, true },
        { 2, 9, 5, 0, 32, { 53, 4, 6, 5, 1 }, { -1, 0, 1, 0, -1, -1 }, true },
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        struct fgs__tensor t = {
            .address = 64, .rank = row[n].rank, .type = row[n].type,
            .kind = FGS__TENSOR_IM2COL, .interleave = row[n].interleave,
            .swizzle = row[n].swizzle, .channels = row[n].channels,
            .pixels = 4, .step = { 1, 1, 1, 1, 1 } };

        for (uint32_t d = 0; d < t.rank; d++) {
            t.dim[d] = row[n].dim[d];
            t.stride[d] = 32u << 4 * d;
        }
        for (uint32_t d = 0; d < 3; d++) {
            t.lower[d] = row[n].corner[2 * d];
            t.upper[d] = row[n].corner[2 * d + 1];
        }
        assert_int_equal(!fgs__tensor_rule(&t), row[n].taken);
    }
}

/* What the driver of an H200 says, where its documentation says nothing or
 * something else. */
static void odd_maps_are_taken_as_by_an_h200(void **state)
{
    struct fgs__tensor good = { .address = 64, .rank = 4, .type = 2,
                                .dim = { 8, 4, 4, 2 },
                                .stride = { 0, 32, 128, 512 },
                                .box = { 8, 2, 2, 1 }, .channels = 4,
                                .step = { 1, 1, 1, 1 }, .pixels = 8 };
    static const struct {
        int16_t lower, upper;
        bool taken;
    } side[] = {
        { -1, 0, true }, { -2, -1, true }, { -1, 1, true }, { 0, 1, true },
        { -2, 1, true }, { 0, 0, false }, { -2, -2, false }, { 1, 0, false },
        { -1, -2, false },
    };
    struct fgs__tensor t = good;

    (void)state;
    t.step[0] = 8;
    assert_null(fgs__tensor_rule(&t));
    for (uint8_t sw = 0; sw < 4; sw++) {
        struct fgs__tensor_request r = { .mode = FGS__TENSOR_TILE };
        struct fgs__tensor_walk w;

        t = good;
        t.interleave = 2;
        t.swizzle = sw;
        assert_null(fgs__tensor_rule(&t));
        assert_null(fgs__tensor_walk_make(&w, &t, &r));
        assert_int_equal(w.rows * w.chunks * 16, 8 * 2 * 32);
    }
    for (size_t n = 0; n < sizeof side / sizeof *side; n++)
        for (unsigned d = 0; d < 2; d++) {
            t = good;
            t.kind = FGS__TENSOR_IM2COL;
            t.dim[1 + d] = 1ull << 32;
            t.lower[d] = side[n].lower;
            t.upper[d] = side[n].upper;
            assert_int_equal(!fgs__tensor_rule(&t), side[n].taken);
        }
    t = good;
    t.kind = FGS__TENSOR_IM2COL;
    t.dim[0] = t.dim[3] = 1ull << 32;
    assert_null(fgs__tensor_rule(&t));
}

/* The most pixels of an im2col map, and the most of one side of a box, that
 * the driver of an H200 takes; one more is refused. */
static void copies_fit_in_an_sm_as_an_h200_wants(void **state)
{
    static const struct {
        uint8_t type;
        uint16_t channels, pixels;
    } column[] = {
        { 0, 256, 912 }, { 0, 240, 972 }, { 0, 208, 1024 }, { 0, 16, 1024 },
        { 6, 256, 456 }, { 6, 248, 470 }, { 6, 208, 561 }, { 6, 96, 1024 },
        { 2, 256, 228 }, { 2, 176, 331 }, { 2, 96, 608 }, { 2, 64, 912 },
        { 8, 256, 114 }, { 8, 240, 121 }, { 8, 208, 140 }, { 8, 64, 456 },
    };
    static const struct {
        uint16_t box[5];
        uint8_t at, step, most[4]; /* of elements of 1, 2, 4, 8 bytes */
    } box[] = {
        { { 256, 256, 0, 1, 1 }, 2, 1, { 3, 1, 0, 0 } },
        { { 256, 64, 0, 1, 1 }, 2, 1, { 14, 7, 3, 1 } },
        { { 128, 16, 0, 2, 1 }, 2, 1, { 57, 28, 14, 7 } },
        { { 256, 0, 8, 1, 1 }, 1, 1, { 114, 57, 28, 14 } },
        { { 16, 256, 0, 4, 4 }, 2, 1, { 3, 1, 0, 0 } },
        { { 256, 256, 0, 1, 1 }, 2, 2, { 15, 7, 3, 1 } },
        { { 256, 256, 0, 256, 256 }, 2, 1, { 0, 0, 0, 0 } },
    };
    static const uint8_t types[] = { 0, 6, 2, 8 };

    (void)state;
    for (unsigned n = 0; n < 3 * sizeof column / sizeof *column; n++) {
        struct fgs__tensor t = {
            .address = 64, .kind = FGS__TENSOR_IM2COL, .rank = 3 + n / 5 % 3,
            .interleave = (uint8_t)(n % 3), .type = column[n / 3].type,
            .dim = { 16, 5, 4, 3, 2 }, .step = { 1, 1, 1, 1, 1 },
            .stride = { 0, 1 << 15, 1 << 19, 1 << 23, 1 << 27 },
            .channels = column[n / 3].channels,
            .pixels = column[n / 3].pixels };

        assert_null(fgs__tensor_rule(&t));
        t.pixels++;
        assert_non_null(fgs__tensor_rule(&t));
        t.pixels = 0;
        assert_non_null(fgs__tensor_rule(&t));
    }
    for (unsigned n = 0; n < 12 * sizeof box / sizeof *box; n++) {
        unsigned k = n / 12;
        uint8_t step = box[k].step;
        struct fgs__tensor t = {
            .address = 64, .rank = 5, .interleave = (uint8_t)(n % 3),
            .type = types[n / 3 % 4], .dim = { 16, 5, 4, 3, 2 },
            .stride = { 0, 1 << 15, 1 << 19, 1 << 23, 1 << 27 },
            .step = { 1, step, step, 1, 1 } };

        memcpy(t.box, box[k].box, sizeof t.box);
        t.box[box[k].at] = box[k].most[n / 3 % 4];
        if (t.box[box[k].at])
            assert_null(fgs__tensor_rule(&t));
        t.box[box[k].at]++;
        assert_non_null(fgs__tensor_rule(&t));
    }
}

/* The innermost side is a multiple of 16 bytes in every layout: of elements of
 * 2 bytes an H200 takes 8, 16, 32, 256 and refuses 1, 3, 4, 5, 7. */
static void inner_sides_are_taken_as_by_an_h200(void **state)
{
    static const uint16_t sides[] = { 1, 3, 4, 5, 7, 8, 16, 32, 256 };

    (void)state;
    for (unsigned n = 0; n < 6 * sizeof sides / sizeof *sides; n++) {
        uint16_t side = sides[n / 6];
        struct fgs__tensor t = {
            .address = 64, .kind = n / 3 % 2, .rank = 3, .type = 6,
            .interleave = (uint8_t)(n % 3), .dim = { 16, 5, 4 },
            .stride = { 0, 512, 8192 }, .step = { 1, 1, 1 },
            .box = { side, 3, 2 }, .channels = side, .pixels = 6 };

        assert_int_equal(!fgs__tensor_rule(&t), side % 8 == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_name_what_is_wrong),
        cmocka_unit_test(odd_maps_are_taken_as_by_an_h200),
        cmocka_unit_test(interleaved_columns_are_taken_as_by_an_h200),
        cmocka_unit_test(copies_fit_in_an_sm_as_an_h200_wants),
        cmocka_unit_test(inner_sides_are_taken_as_by_an_h200),
    };

    return cmocka_run_group_tests_name("sim_tensor_map", tests, NULL, NULL);
}
