/* box.c -- boxes of a tensor that a stage touches, one a block */
#include "core/compose.h"

enum { ROWS_MAX = 1 << 28 }; /* which are looked at one by one */

static fgs_result bad_box(const struct fgs__stage *s, const struct fgs__use *u,
                          fgs_error *err, const char *what)
{
    return fgs__fail(err, FGS_E_SIZE, "%s: box of buffer '%s': %s", s->name,
                     u->name, what);
}

/* A side has 32 bits, so the product does not wrap around on its way out. */
static uint64_t times(uint64_t n, uint64_t side)
{
    return n > UINT32_MAX ? n : n * side;
}

uint64_t fgs__boxes(const fgs_box *b)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < b->rank; i++)
        n = times(n, (b->dims[i] + b->box[i] - 1) / b->box[i]);
    return n;
}

/* Rows of all boxes. */
static uint64_t rows_of(const fgs_box *b)
{
    uint64_t n = (b->dims[0] + b->box[0] - 1) / b->box[0];

    for (uint32_t i = 1; i < b->rank; i++)
        n = times(n, b->dims[i]);
    return n;
}

/* Does the last row end in the buffer?  Nothing is added that could wrap. */
static int fits(const struct fgs__use *u, const fgs_box *b)
{
    uint64_t bits = fgs_element_get_info(u->element)->bits;
    uint64_t left = u->tiles * u->tile_bytes;

    if ((b->dims[0] * bits + 7) / 8 > left)
        return 0;
    left -= (b->dims[0] * bits + 7) / 8;
    for (uint32_t i = 1; i < b->rank; i++) {
        if (b->dims[i] - 1 > left / b->pitch[i - 1])
            return 0;
        left -= (b->dims[i] - 1) * b->pitch[i - 1];
    }
    return 1;
}

fgs_result fgs__plan_box(struct fgs__plan *p, struct fgs__stage *s,
                         struct fgs__access *a, const fgs_access *d,
                         fgs_error *err)
{
    const struct fgs__use *u = &p->use[a->use];
    const fgs_box *b = d->box;

    a->padding = d->padding;
    if ((unsigned)d->padding > FGS_PADDING_PRESET || d->reserved)
        return fgs__fail(err, FGS_E_INVAL, "%s: padding is %u, reserved %u",
                         s->name, (unsigned)d->padding, d->reserved);
    if (!b)
        return FGS_OK;
    if (d->table || d->step || d->count || d->first)
        return bad_box(s, u, err, "neither table, first, step nor count goes "
                                  "with it");
    if (u->tile_bytes != 16)
        return bad_box(s, u, err, "the buffer has to have tiles of 16 bytes");
    if (!b->rank || b->rank > 5 || b->reserved)
        return bad_box(s, u, err, "rank is not in 1 ... 5");
    for (uint32_t i = 0; i < b->rank; i++) {
        if (!b->dims[i] || !b->box[i] || b->dims[i] >> 32 || b->box[i] >> 32)
            return bad_box(s, u, err, "a dimension, or a side of the box, is 0 "
                                      "or beyond 2^32 - 1");
        if (i && (b->pitch[i - 1] % 16 || !b->pitch[i - 1] ||
                  b->pitch[i - 1] >> 40))
            return bad_box(s, u, err, "a pitch is 0, no multiple of 16, or "
                                      "beyond 2^40 - 1");
    }
    if (!fits(u, b))
        return fgs__fail(err, FGS_E_SIZE,
                         "%s: the tensor of its boxes reaches past the end of "
                         "buffer '%s', which has %llu tiles",
                         s->name, u->name, (unsigned long long)u->tiles);
    if (rows_of(b) > ROWS_MAX) /* they may lie on each other */
        return bad_box(s, u, err, "all of them have more than 2^28 rows");
    a->box = *b;
    return FGS_OK;
}
