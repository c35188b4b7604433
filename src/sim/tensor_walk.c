/* tensor_walk.c -- coordinates of a tensor copy to addresses, row by row
 *
 * ISA 5.5.  A row is the innermost side of the box: contiguous in global
 * memory, and in shared memory but for the swizzle.  Rows follow each other in
 * shared memory in the order of the other dimensions.  Where a swizzle is
 * wider than the row, rows keep its distance: shared memory is to be allocated
 * for the full width of the swizzle (CUDA programming guide, swizzle modes).
 *
 * The first byte of a box must lie on a multiple of 16 bytes: a Hopper device
 * faults otherwise, also where the coordinate is outside of the tensor.
 *
 * Of interleaved layouts (ISA 5.5.6: N, slices of C, D, H, W, then 16 or 32
 * bytes of channels) an H200 does this: dimension 0 is W, its elements are
 * pixels of 16 or 32 bytes without gaps whatever the element type, the last
 * but one counts slices, the last N.  A copy takes one slice: the box's side
 * there and the number of channels are not used.  So a row is a pixel.
 */
#include "sim/tensor.h"
#include "base/compat.h"

/* Bits 4 ... of an address, the place in the line of 128 bytes, are crossed
 * with bits 7 ..., the line (ISA 5.5.7, the tables and the base offset). */
uint32_t fgs__tensor_swizzle(const struct fgs__tensor *t, uint32_t address)
{
    uint32_t line = address >> 7;

    switch (t->swizzle) {
    case FGS__TENSOR_SW_32:
    case FGS__TENSOR_SW_96:
        return address ^ (line & 1) << 4;
    case FGS__TENSOR_SW_64:
        return address ^ (line & 3) << 4;
    case FGS__TENSOR_SW_128:
        break;
    default:
        return address;
    }
    switch (t->atom) {
    case FGS__TENSOR_ATOM_16:
        return address ^ (line & 7) << 4;
    case FGS__TENSOR_ATOM_32:
        return address ^ (line & 3) << 5;
    case FGS__TENSOR_ATOM_32_FLIP: /* the 8 bytes of odd lines change places */
        return address ^ (line & 3) << 5 ^ (line & 1) << 3;
    default:
        return address ^ (line & 1) << 6;
    }
}

/* ----------------------------------------------------------------- make -- */

static bool is_column(enum fgs__tensor_mode mode)
{
    return mode == FGS__TENSOR_COLUMN || mode == FGS__TENSOR_COLUMN_W ||
           mode == FGS__TENSOR_COLUMN_W128;
}

/* Is the map of the kind that the instruction's mode needs? */
static bool kind_fits(const struct fgs__tensor *t, enum fgs__tensor_mode mode)
{
    switch (mode) {
    case FGS__TENSOR_COLUMN:
        return t->kind == FGS__TENSOR_IM2COL;
    case FGS__TENSOR_COLUMN_W:
    case FGS__TENSOR_COLUMN_W128:
        return t->kind == FGS__TENSOR_IM2COL_WIDE;
    default:
        return t->kind == FGS__TENSOR_TILED;
    }
}

/* The first dimension that rows follow each other along. */
static uint32_t first_of(const struct fgs__tensor *t)
{
    return !t->interleave;
}

/* Pixels of an interleaved layout all do. */
static const char *rule_of_begin(const struct fgs__tensor_walk *w, bool padded)
{
    int64_t at = w->r.coord[0];

    if (w->t.interleave || !(padded ? at % 128 : at * w->bits % 128))
        return NULL;
    return padded ? "the first coordinate of this packed type is no multiple "
                    "of 128"
                  : "the box does not begin at a multiple of 16 bytes";
}

static const char *rule_of_store(const struct fgs__tensor_walk *w)
{
    const struct fgs__tensor *t = &w->t;
    bool four = w->r.mode == FGS__TENSOR_FOUR;

    if (t->type == FGS__TENSOR_U4_PAD)
        return "elements of 4 bits with gaps are loaded only";
    if (t->atom == FGS__TENSOR_ATOM_32_FLIP)
        return "the swizzle with a flip of 8 bytes is for loads only";
    for (uint32_t d = 0; d < t->rank && !four; d++)
        if (w->r.coord[d] < 0)
            return "a coordinate of a store is negative";
    for (uint32_t d = 0; d + 2 < t->rank && is_column(w->r.mode); d++)
        if (t->lower[d] < 0 || t->upper[d] > 0)
            return "the pixel box of a store reaches over the tensor";
    return NULL;
}

/* What the text leaves open is not guessed.  A column that begins outside of
 * its pixel box faults on an H200: along W, and along W and H, were tried. */
static const char *rule_of_mode(const struct fgs__tensor_walk *w)
{
    const struct fgs__tensor *t = &w->t;
    const struct fgs__tensor_request *r = &w->r;
    bool w128 = r->mode == FGS__TENSOR_COLUMN_W128;
    uint32_t sides = r->mode == FGS__TENSOR_COLUMN ? t->rank - 2 : 0;
    static const uint32_t most[] = { 0, 0, 0, 0xffff, 0xff, 0x1f };

    if (r->mode == FGS__TENSOR_FOUR &&
        (t->rank != 2 || t->interleave || t->box[1] != 1))
        return "four rows need a tensor of two dimensions, without "
               "interleaving, and a box of one row";
    for (uint32_t d = 0; d < sides; d++) {
        int32_t at = r->coord[first_of(t) + d];

        if (r->offset[d] > most[t->rank])
            return "an im2col offset is out of its range";
        if (at < t->lower[d] ||
            at - (int64_t)t->dim[first_of(t) + d] >= t->upper[d])
            return "a column begins outside of its pixel box";
    }
    if ((r->mode == FGS__TENSOR_COLUMN_W || w128) && r->offset[0])
        return "a halo is not executed: where its pixels lie is not "
               "documented";
    if ((r->mode == FGS__TENSOR_COLUMN_W || w128) && r->offset[1] > 31)
        return "the offset along W is above 31";
    if (w128 && t->swizzle == FGS__TENSOR_SW_96)
        return "im2col::w::128 is not for the swizzle of 96 bytes";
    return NULL;
}

static void count_rows(struct fgs__tensor_walk *w)
{
    w->rows = 1;
    switch (w->r.mode) {
    case FGS__TENSOR_FOUR:
        w->rows = 4;
        return;
    case FGS__TENSOR_COLUMN:
    case FGS__TENSOR_COLUMN_W:
        w->rows = w->t.pixels;
        return;
    case FGS__TENSOR_COLUMN_W128:
        w->rows = 128;
        return;
    default:
        break;
    }
    for (uint32_t d = first_of(&w->t); d < w->t.rank; d++) {
        w->count[d] = (w->t.box[d] + w->t.step[d] - 1u) / w->t.step[d];
        if (w->t.interleave && d == w->t.rank - 2)
            w->count[d] = 1;
        w->rows *= w->count[d];
    }
}

const char *fgs__tensor_walk_make(struct fgs__tensor_walk *w,
                                  const struct fgs__tensor *t,
                                  const struct fgs__tensor_request *r)
{
    static const uint8_t span[] = { 0, 32, 64, 128, 96 };
    const char *rule;
    uint32_t wide = is_column(r->mode) ? t->channels : t->box[0];
    bool padded = t->type == FGS__TENSOR_U4_PAD ||
                  t->type == FGS__TENSOR_U6_PAD;

    *w = (struct fgs__tensor_walk){ .t = *t, .r = *r };
    w->bits = fgs__tensor_bits(t->type);
    if (!kind_fits(t, r->mode))
        return "the tensor map was made for another mode";
    w->unit = t->type == FGS__TENSOR_U4_PAD ? 8
              : t->type == FGS__TENSOR_U6_PAD ? 12 : 16;
    w->chunks = t->interleave ? t->interleave : wide * w->bits / 8 / w->unit;
    w->pitch = 16 * w->chunks;
    if (t->swizzle && !t->interleave && w->pitch < span[t->swizzle])
        w->pitch = span[t->swizzle];
    count_rows(w);
    rule = rule_of_begin(w, padded);
    if (!rule)
        rule = rule_of_mode(w);
    return !rule && r->store ? rule_of_store(w) : rule;
}

/* ------------------------------------------------------------------ row -- */

static void tile_at(const struct fgs__tensor_walk *w, uint32_t row,
                    int64_t at[FGS__TENSOR_RANK])
{
    for (uint32_t d = first_of(&w->t); d < w->t.rank; d++) {
        at[d] = w->r.coord[d] + (int64_t)(row % w->count[d]) * w->t.step[d];
        row /= w->count[d];
    }
}

/* Step `n` times from `at` by `step`; behind `high` it goes on at `low`, and
 * the next dimension steps: the result says how often. */
static uint64_t advance(int64_t *at, int64_t low, int64_t high, int64_t step,
                        uint64_t n)
{
    uint64_t first = *at > high ? 1 : (uint64_t)((high - *at) / step) + 1;
    uint64_t all = (uint64_t)((high - low) / step) + 1;

    if (n < first) {
        *at += (int64_t)n * step;
        return 0;
    }
    n -= first;
    *at = low + (int64_t)(n % all) * step;
    return 1 + n / all;
}

/* Pixel `row` of a column: W, then H, then D, then N (ISA 5.5.4); with ::w
 * only W, then N (5.5.5). */
static void column_at(const struct fgs__tensor_walk *w, uint32_t row,
                      int64_t at[FGS__TENSOR_RANK])
{
    const struct fgs__tensor *t = &w->t;
    bool wide = w->r.mode != FGS__TENSOR_COLUMN;
    uint32_t sides = wide ? 1 : t->rank - 2, first = first_of(t);
    uint64_t n = row;

    for (uint32_t d = first; d < t->rank; d++)
        at[d] = w->r.coord[d];
    for (uint32_t d = 0; d < sides; d++) {
        int64_t low = t->lower[d];
        int64_t high = (int64_t)t->dim[first + d] - 1 + t->upper[d];

        n = advance(&at[first + d], low, high, t->step[first + d], n);
        at[first + d] += w->r.offset[wide ? 1 : d];
    }
    at[t->rank - 1] += (int64_t)n;
}

void fgs__tensor_walk_row(const struct fgs__tensor_walk *w, uint32_t row,
                          struct fgs__tensor_row *out)
{
    const struct fgs__tensor *t = &w->t;
    int64_t at[FGS__TENSOR_RANK] = { w->r.coord[0] };
    int64_t bits = t->interleave ? t->interleave * 128 : (int64_t)w->bits;
    int64_t wide = (int64_t)w->chunks * w->unit * 8 / bits, from, to;
    bool inside = true;

    if (w->r.mode == FGS__TENSOR_FOUR)
        at[1] = w->r.coord[1 + row];
    else if (is_column(w->r.mode))
        column_at(w, row, at);
    else
        tile_at(w, row, at);
    from = at[0] < 0 ? -at[0] : 0;
    to = (int64_t)t->dim[0] - at[0];
    out->address = t->address + (uint64_t)(at[0] * bits / 8);
    for (uint32_t d = 1; d < t->rank; d++) {
        inside &= at[d] >= 0 && at[d] < (int64_t)t->dim[d];
        out->address += (uint64_t)at[d] * t->stride[d];
    }
    to = to > wide ? wide : to;
    if (!inside || to <= from)
        from = to = 0;
    out->from = (uint32_t)(from * bits / 8);
    out->to = (uint32_t)(to * bits / 8);
}
