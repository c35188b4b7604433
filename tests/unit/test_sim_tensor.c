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

/* One pixel of an interleaved layout: 16 or 32 bytes of channels. */
static void put_pixel(const struct fgs__tensor *t, uint32_t row,
                      const int64_t *at)
{
    unsigned size = t->interleave == 1 ? 16 : 32;
    int64_t v = (int64_t)t->address + at[0] * (int64_t)size;

    for (uint32_t d = 1; d < t->rank; d++)
        v += at[d] * (int64_t)t->stride[d];
    for (unsigned b = 0; b < size; b++)
        put(t, row * size + b, exists(t, at) ? v + b : -2);
}

/* Counts up like an odometer: all wheels but that of the slices. */
static uint32_t mirror_pixels(const struct fgs__tensor *t, const int32_t *coord)
{
    int64_t at[5] = { coord[0], coord[1], coord[2], coord[3], coord[4] };
    uint32_t row = 0, d;

    do {
        put_pixel(t, row++, at);
        for (d = 0; d < t->rank; d++) {
            if (d + 2 == t->rank)
                continue;
            at[d] += t->step[d];
            if (at[d] < (int64_t)coord[d] + t->box[d])
                break;
            at[d] = coord[d];
        }
    } while (d < t->rank);
    return row;
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
    uint32_t w = t->interleave ? 0 : 1; /* the dimension that W is */

    for (uint32_t p = 0; p < t->pixels; p++) {
        int64_t moved[5];
        uint32_t d;

        memcpy(moved, at, sizeof at);
        for (d = 0; d + 2 < t->rank; d++)
            moved[w + d] += offset[d];
        if (t->interleave)
            put_pixel(t, p, moved);
        else
            put_row(t, p, t->channels, moved);
        for (d = 0; d + 2 < t->rank; d++) {
            at[w + d] += t->step[w + d];
            if (at[w + d] <= (int64_t)t->dim[w + d] - 1 + t->upper[d])
                break;
            at[w + d] = t->lower[d];
        }
        if (d + 2 == t->rank)
            at[t->rank - 1]++;
    }
    return t->pixels;
}

/* ----------------------------------------------------------------- cases -- */

static void draw_map(struct fgs__tensor *t, bool column, uint8_t interleave)
{
    static const unsigned span[] = { 128, 32, 64, 128 };
    unsigned size;

    *t = (struct fgs__tensor){ .address = 1 << 20, .type = (uint8_t)draw(13),
                               .kind = column, .interleave = interleave,
                               .swizzle = (uint8_t)draw(4) };
    t->rank = column || interleave ? 3 + draw(3) : 1 + draw(5);
    size = fgs__tensor_bits(t->type) / 8;
    for (uint32_t d = 0; d < 5; d++) {
        t->dim[d] = 1 + draw(6);
        t->box[d] = (uint16_t)(1 + draw(4));
        t->step[d] = (uint8_t)(1 + draw(3));
        t->stride[d] = 32ull * draw(100);
    }
    t->dim[0] = 1 + draw(40);
    t->box[0] = t->channels =
        (uint16_t)((1 + draw(span[t->swizzle] / 16)) * 16 / size);
    if (interleave) /* so that all of it fits */
        t->box[0] = t->channels = (uint16_t)((1 + draw(2)) * 16 / size);
    t->pixels = (uint16_t)(1 + draw(40));
    for (uint32_t d = 0; d < 3; d++) {
        t->lower[d] = (int16_t)((int)draw(4) - 2);
        t->upper[d] = (int16_t)((int)draw(4) - 2);
        if ((int)t->dim[!interleave + d] + t->upper[d] - t->lower[d] <= 0)
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

/* A column begins inside of its pixel box. */
static void draw_begin(const struct fgs__tensor *t, int32_t coord[5])
{
    uint32_t w = !t->interleave;

    for (uint32_t d = 0; d < 5; d++)
        coord[d] = (int32_t)draw(9) - 3;
    if (w)
        coord[0] = ((int32_t)draw(5) - 2) * 128 /
            (int32_t)fgs__tensor_bits(t->type);
    for (uint32_t d = 0; t->kind && d + 2 < t->rank; d++)
        coord[w + d] = t->lower[d] +
            (int32_t)draw((unsigned)((int)t->dim[w + d] + t->upper[d] -
                                     t->lower[d]));
}

static void walk_as_the_mirror(uint8_t interleave)
{
    memset(place, 0xff, sizeof place);
    for (unsigned n = 0; n < CASES; n++) {
        bool column = draw(2);
        struct fgs__tensor_request r = {
            .mode = column ? FGS__TENSOR_COLUMN : FGS__TENSOR_TILE };
        struct fgs__tensor_walk w;
        struct fgs__tensor t;
        uint32_t rows;

        draw_map(&t, column, interleave);
        assert_null(fgs__tensor_rule(&t));
        draw_begin(&t, r.coord);
        for (uint32_t d = 0; d < 3; d++)
            r.offset[d] = (uint16_t)draw(4);
        assert_null(fgs__tensor_walk_make(&w, &t, &r));
        rows = column ? mirror_column(&t, r.coord, r.offset)
               : interleave ? mirror_pixels(&t, r.coord)
                            : mirror_tile(&t, r.coord);
        assert_int_equal(w.rows, rows);
        check(&w);
    }
}

static void walk_agrees_with_a_mirror_by_elements(void **state)
{
    (void)state;
    walk_as_the_mirror(0);
}

static void interleaved_walk_agrees_with_a_mirror_by_pixels(void **state)
{
    (void)state;
    walk_as_the_mirror(1);
    walk_as_the_mirror(2);
}

static void map_is_read_as_it_was_written(void **state)
{
    unsigned char map[FGS__TENSOR_MAP_BYTES], again[FGS__TENSOR_MAP_BYTES];

    (void)state;
    for (unsigned n = 0; n < 1000; n++) {
        struct fgs__tensor t, u;

        draw_map(&t, draw(2), (uint8_t)draw(3));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_agrees_with_a_mirror_by_elements),
        cmocka_unit_test(interleaved_walk_agrees_with_a_mirror_by_pixels),
        cmocka_unit_test(map_is_read_as_it_was_written),
    };

    return cmocka_run_group_tests_name("sim_tensor", tests, NULL, NULL);
}
