/* tensor_case.h -- random tensor copies that fit in the memory of a test */
#ifndef TENSOR_CASE_H
#define TENSOR_CASE_H

#include "table/cu.h"

#include <stdbool.h>

enum { SHARED = 16384, GLOBAL = 1 << 20 };

static uint64_t seed = 1;
static unsigned draw(unsigned n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % n;
}

struct test {
    bool column, store;
    const char *op; /* of a reduction, NULL = a copy */
    unsigned type, rank, interleave, swizzle, fill;
    cuuint64_t dim[5], stride[5];
    cuuint32_t box[5], step[5], channels, pixels;
    int lower[3], upper[3], coord[5];
    unsigned offset[3], bytes; /* what the barrier counts */
};

static const unsigned bits[] = { 8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32,
                                 32 };

/* Of an interleaved layout: dimension 0 is W in pixels of 16 or 32 bytes, the
 * last but one counts slices of channels, of which a copy takes one. */
static unsigned pixel(const struct test *t)
{
    return 16 * t->interleave;
}

static unsigned rows_of(const struct test *t)
{
    unsigned rows = 1;

    for (unsigned d = !t->interleave; d < t->rank; d++)
        if (!t->interleave || d + 2 != t->rank)
            rows *= (t->box[d] + t->step[d] - 1) / t->step[d];
    return rows;
}

/* The same in both: a multiple of 16 bytes to the left or right. */
static int first_coord(const struct test *t, int low, int high)
{
    return (low + (int)draw((unsigned)(high - low + 1))) * 128 /
        (int)bits[t->type];
}

/* Does all of it fit, in both memories? */
static bool fits(const struct test *t, unsigned rows)
{
    static const unsigned span[] = { 0, 32, 64, 128 };
    unsigned wide = t->box[0] * bits[t->type] / 8;
    cuuint64_t all = t->rank > 1
        ? t->stride[t->rank - 2] * t->dim[t->rank - 1] : 8192;

    if (t->interleave)
        wide = pixel(t);
    else if (wide < span[t->swizzle])
        wide = span[t->swizzle];
    return all + 65536 < GLOBAL - SHARED && rows * wide <= SHARED;
}

static void draw_shape(struct test *t, unsigned type, unsigned rank)
{
    static const unsigned span[] = { 256, 32, 64, 128 };
    unsigned chunks = span[t->swizzle] / 16;

    t->type = type;
    t->rank = rank;
    t->box[0] = (1 + draw(chunks)) * 128 / bits[type];
    if (t->box[0] > 256)
        t->box[0] = 256;
    t->dim[0] = 1 + draw(2 * t->box[0]);
    t->stride[0] = (t->dim[0] * bits[type] / 8 + 15) / 16 * 16 + 16 * draw(3);
    if (t->interleave)
        t->stride[0] = (t->dim[0] + draw(3)) * pixel(t);
    for (unsigned d = 1; d < rank; d++) {
        t->dim[d] = 1 + draw(7);
        t->box[d] = 1 + draw(rank > 3 ? 2 : 5);
        t->step[d] = draw(3) ? 1 : 1 + draw(4);
        t->stride[d] = t->stride[d - 1] * (t->dim[d] + draw(2));
    }
    t->step[0] = t->interleave && !draw(3) ? 1 + draw(3) : 1;
}

static void draw_tile(struct test *t)
{
    do {
        draw_shape(t, t->type, t->interleave ? 3 + draw(3) : 1 + draw(5));
    } while (!fits(t, rows_of(t)));
    t->coord[0] = first_coord(t, t->store ? 0 : -2, 4);
    for (unsigned d = !t->interleave; d < t->rank; d++)
        t->coord[d] = (int)draw(8) - (t->store ? 0 : 3);
    t->bytes = rows_of(t) *
        (t->interleave ? pixel(t) : t->box[0] * bits[t->type] / 8);
}

static void draw_column(struct test *t)
{
    unsigned w = !t->interleave; /* the dimension that W is */

    t->pixels = 1 + draw(30);
    do {
        draw_shape(t, t->type, 3 + draw(3));
    } while (!fits(t, t->pixels));
    t->column = true;
    t->channels = t->box[0];
    t->coord[0] = first_coord(t, t->store ? 0 : -1, 2);
    t->step[t->rank - 1] = 1;
    for (unsigned d = 0; d < t->rank - 2; d++) {
        int size;

        t->lower[d] = t->store ? 0 : (int)draw(4) - 2;
        t->upper[d] = t->store ? 0 : (int)draw(4) - 2;
        size = (int)t->dim[w + d] + t->upper[d] - t->lower[d];
        if (size <= 0)
            t->lower[d] = t->upper[d] = 0;
        size = (int)t->dim[w + d] + t->upper[d] - t->lower[d];
        t->coord[w + d] = t->lower[d] + (int)draw((unsigned)size);
        t->offset[d] = t->store ? 0 : draw(3);
    }
    if (t->interleave) /* the slice */
        t->coord[t->rank - 2] = (int)draw(8) - (t->store ? 0 : 3);
    t->coord[t->rank - 1] = (int)draw((unsigned)t->dim[t->rank - 1]);
    t->bytes = t->pixels *
        (t->interleave ? pixel(t) : t->channels * bits[t->type] / 8);
}

#endif
