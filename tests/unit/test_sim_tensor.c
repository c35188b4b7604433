/* test_sim_tensor.c -- tensor maps and the walk, without a device
 *
 * The mirror goes element by element and knows nothing of rows: it follows the
 * sentences of ISA 5.5 with loops and counts.
 */
#include "base/compat.h"
#include "sim/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { CASES = 1000, SHARED = 1 << 16 };

static uint64_t seed = 5;

static unsigned draw(unsigned n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % n;
}

/* ---------------------------------------------------------------- mirror -- */

/* Global address of the element that each place of shared memory gets, -1 =
 * none, -2 = a fill. */
static int64_t place[SHARED];

/* The tables of ISA 5.5.7 for 16-byte units: which cell stands at `cell`. */
static unsigned cell_of(unsigned swizzle, unsigned line, unsigned cell)
{
    static const char *const rows[] = {
        "01234567", "10325476", "23016745", "32107654",
        "45670123", "54761032", "67452301", "76543210",
    };
    static const unsigned periods[] = { 1, 2, 4, 8 };

    return (unsigned)(rows[line % periods[swizzle]][cell] - '0');
}

static void put(const struct fgs__tensor *t, uint32_t at, int64_t v)
{
    unsigned line = at / 128, cell = at % 128 / 16, to = 0;

    while (cell_of(t->swizzle, line, to) != cell)
        to++;
    place[line * 128 + to * 16 + at % 16] = v;
}

static bool exists(const struct fgs__tensor *t, const int64_t *at)
{
    for (uint32_t d = 0; d < t->rank; d++)
        if (at[d] < 0 || at[d] >= (int64_t)t->dim[d])
            return false;
    return true;
}

static void put_row(const struct fgs__tensor *t, uint32_t row, uint32_t wide,
                    const int64_t *first)
{
    static const unsigned span[] = { 0, 32, 64, 128 };
    unsigned size = fgs__tensor_bits(t->type) / 8;
    unsigned pitch = wide * size < span[t->swizzle] ? span[t->swizzle]
                                                    : wide * size;

    for (uint32_t e = 0; e < wide; e++) {
        int64_t at[5], v = (int64_t)t->address;

        memcpy(at, first, sizeof at);
        at[0] += e;
        v += at[0] * (int64_t)size;
        for (uint32_t d = 1; d < t->rank; d++)
            v += at[d] * (int64_t)t->stride[d];
        for (unsigned b = 0; b < size; b++)
            put(t, row * pitch + e * size + b, exists(t, at) ? v + b : -2);
    }
}

/* Counts up like an odometer. */
static uint32_t mirror_tile(const struct fgs__tensor *t, const int32_t *coord)
{
    int64_t at[5] = { coord[0], coord[1], coord[2], coord[3], coord[4] };
    uint32_t row = 0, d;

    do {
        put_row(t, row++, t->box[0], at);
        for (d = 1; d < t->rank; d++) {
            at[d] += t->step[d];
            if (at[d] < (int64_t)coord[d] + t->box[d])
                break;
            at[d] = coord[d];
        }
    } while (d < t->rank);
    return row;
}

static uint32_t mirror_column(const struct fgs__tensor *t, const int32_t *coord,
                              const uint16_t *offset)
{
    int64_t at[5] = { coord[0], coord[1], coord[2], coord[3], coord[4] };

    for (uint32_t p = 0; p < t->pixels; p++) {
        int64_t moved[5];
        uint32_t d;

        memcpy(moved, at, sizeof at);
        for (d = 1; d + 1 < t->rank; d++)
            moved[d] += offset[d - 1];
        put_row(t, p, t->channels, moved);
        for (d = 1; d + 1 < t->rank; d++) {
            at[d] += t->step[d];
            if (at[d] <= (int64_t)t->dim[d] - 1 + t->upper[d - 1])
                break;
            at[d] = t->lower[d - 1];
        }
        if (d + 1 == t->rank)
            at[d]++;
    }
    return t->pixels;
}

/* ----------------------------------------------------------------- cases -- */

static void draw_map(struct fgs__tensor *t, bool column)
{
    static const unsigned span[] = { 128, 32, 64, 128 };
    unsigned size;

    *t = (struct fgs__tensor){ .address = 1 << 20, .type = (uint8_t)draw(13),
                               .rank = column ? 3 + draw(3) : 1 + draw(5),
                               .kind = column, .swizzle = (uint8_t)draw(4) };
    size = fgs__tensor_bits(t->type) / 8;
    for (uint32_t d = 0; d < 5; d++) {
        t->dim[d] = 1 + draw(6);
        t->box[d] = (uint16_t)(1 + draw(4));
        t->step[d] = (uint8_t)(1 + draw(3));
        t->stride[d] = 16ull * draw(100);
    }
    t->dim[0] = 1 + draw(40);
    t->box[0] = t->channels =
        (uint16_t)((1 + draw(span[t->swizzle] / 16)) * 16 / size);
    t->pixels = (uint16_t)(1 + draw(40));
    for (uint32_t d = 0; d < 3; d++) {
        t->lower[d] = (int16_t)((int)draw(4) - 2);
        t->upper[d] = (int16_t)((int)draw(4) - 2);
        if ((int)t->dim[1 + d] + t->upper[d] - t->lower[d] <= 0)
            t->lower[d] = t->upper[d] = 0;
    }
}

static void check(const struct fgs__tensor_walk *w)
{
    unsigned bad = 0;

    for (uint32_t row = 0; row < w->rows; row++) {
        struct fgs__tensor_row r;

        fgs__tensor_walk_row(w, row, &r);
        for (uint32_t b = 0; b < 16 * w->chunks; b++) {
            uint32_t at = fgs__tensor_swizzle(&w->t, row * w->pitch + b);
            int64_t v = b >= r.from && b < r.to ? (int64_t)r.address + b : -2;

            bad += place[at] != v;
            place[at] = -1;
        }
    }
    for (uint32_t n = 0; n < SHARED; n++)
        bad += place[n] != -1;
    assert_int_equal(bad, 0);
}

static void walk_agrees_with_a_mirror_by_elements(void **state)
{
    (void)state;
    memset(place, 0xff, sizeof place);
    for (unsigned n = 0; n < CASES; n++) {
        bool column = draw(2);
        struct fgs__tensor_request r = {
            .mode = column ? FGS__TENSOR_COLUMN : FGS__TENSOR_TILE };
        struct fgs__tensor_walk w;
        struct fgs__tensor t;
        uint32_t rows;

        draw_map(&t, column);
        assert_null(fgs__tensor_rule(&t));
        for (uint32_t d = 0; d < 5; d++)
            r.coord[d] = (int32_t)draw(9) - 3;
        for (uint32_t d = 0; d < 3; d++)
            r.offset[d] = (uint16_t)draw(4);
        r.coord[0] = ((int32_t)draw(5) - 2) * 128 /
            (int32_t)fgs__tensor_bits(t.type);
        assert_null(fgs__tensor_walk_make(&w, &t, &r));
        rows = column ? mirror_column(&t, r.coord, r.offset)
                      : mirror_tile(&t, r.coord);
        assert_int_equal(w.rows, rows);
        check(&w);
    }
}

static void map_is_read_as_it_was_written(void **state)
{
    unsigned char map[FGS__TENSOR_MAP_BYTES], again[FGS__TENSOR_MAP_BYTES];

    (void)state;
    for (unsigned n = 0; n < 1000; n++) {
        struct fgs__tensor t, u;

        draw_map(&t, draw(2));
        t.dim[draw(5)] = 1ull << 32;
        t.stride[0] = 0;
        fgs__tensor_write(&t, map);
        assert_true(fgs__tensor_read(&u, map));
        assert_int_equal(u.dim[1], t.dim[1]);
        assert_int_equal(u.stride[4], t.stride[4]);
        fgs__tensor_write(&u, again);
        assert_memory_equal(map, again, sizeof map);
    }
    memset(map, 0, sizeof map);
    assert_false(fgs__tensor_read(&(struct fgs__tensor){ 0 }, map));
}

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
        assert_int_equal(!fgs__tensor_walk_make(&w, &t, &r), sw == 1);
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
        cmocka_unit_test(walk_agrees_with_a_mirror_by_elements),
        cmocka_unit_test(map_is_read_as_it_was_written),
        cmocka_unit_test(rules_name_what_is_wrong),
        cmocka_unit_test(odd_maps_are_taken_as_by_an_h200),
        cmocka_unit_test(interleaved_columns_are_taken_as_by_an_h200),
        cmocka_unit_test(copies_fit_in_an_sm_as_an_h200_wants),
        cmocka_unit_test(inner_sides_are_taken_as_by_an_h200),
    };

    return cmocka_run_group_tests_name("sim_tensor", tests, NULL, NULL);
}
