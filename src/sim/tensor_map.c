/* tensor_map.c -- the 128 bytes of a tensor map, and the rules it keeps */
#include "sim/tensor.h"
#include "base/compat.h"

/* Bytes 0 ... 127, little endian as the host is; every field of
 * tensormap.replace is a member of its own. */
struct raw {
    uint64_t address;
    uint64_t stride[4];  /* of dimensions 1 ... 4                           */
    uint32_t dim[5];     /* less one: 2^32 fits                             */
    uint32_t magic;
    uint16_t box[5];
    int16_t lower[3], upper[3];
    uint16_t channels, pixels;
    uint8_t kind, rank, type, fill;
    uint8_t interleave, swizzle, atom, promotion;
    uint8_t step[5];
    uint8_t zero[25];
};
_Static_assert(sizeof(struct raw) == FGS__TENSOR_MAP_BYTES, "one map");

enum { MAGIC = 0x46475354 };

void fgs__tensor_write(const struct fgs__tensor *t, void *map)
{
    struct raw r;

    memset(&r, 0, sizeof r);
    r.magic = MAGIC;
    r.address = t->address;
    for (int d = 0; d < FGS__TENSOR_RANK; d++) {
        if (d)
            r.stride[d - 1] = t->stride[d];
        r.dim[d] = (uint32_t)(t->dim[d] - 1);
        r.box[d] = t->box[d];
        r.step[d] = t->step[d];
    }
    memcpy(r.lower, t->lower, sizeof r.lower);
    memcpy(r.upper, t->upper, sizeof r.upper);
    r.channels = t->channels;
    r.pixels = t->pixels;
    r.kind = t->kind;
    r.rank = (uint8_t)t->rank;
    r.type = t->type;
    r.fill = t->fill;
    r.interleave = t->interleave;
    r.swizzle = t->swizzle;
    r.atom = t->atom;
    r.promotion = t->promotion;
    memcpy(map, &r, sizeof r);
}

bool fgs__tensor_read(struct fgs__tensor *t, const void *map)
{
    struct raw r;

    memcpy(&r, map, sizeof r);
    memset(t, 0, sizeof *t);
    if (r.magic != MAGIC)
        return false;
    t->address = r.address;
    for (int d = 0; d < FGS__TENSOR_RANK; d++) {
        if (d)
            t->stride[d] = r.stride[d - 1];
        t->dim[d] = (uint64_t)r.dim[d] + 1;
        t->box[d] = r.box[d];
        t->step[d] = r.step[d];
    }
    memcpy(t->lower, r.lower, sizeof r.lower);
    memcpy(t->upper, r.upper, sizeof r.upper);
    t->channels = r.channels;
    t->pixels = r.pixels;
    t->kind = r.kind;
    t->rank = r.rank;
    t->type = r.type;
    t->fill = r.fill;
    t->interleave = r.interleave;
    t->swizzle = r.swizzle;
    t->atom = r.atom;
    t->promotion = r.promotion;
    return true;
}

unsigned fgs__tensor_bits(unsigned type)
{
    static const uint8_t bits[FGS__TENSOR_TYPES] = {
        8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6,
    };

    return type < FGS__TENSOR_TYPES ? bits[type] : 0;
}

bool fgs__tensor_is_float(unsigned type)
{
    return type >= FGS__TENSOR_F16 && type <= FGS__TENSOR_TF32_FTZ;
}

/* --------------------------------------------------------------- rules -- */

static bool padded(const struct fgs__tensor *t)
{
    return t->type == FGS__TENSOR_U4_PAD || t->type == FGS__TENSOR_U6_PAD;
}

static const char *rule_of_memory(const struct fgs__tensor *t)
{
    uint64_t align = t->interleave == 2 || padded(t) ? 32 : 16;

    if (t->address & (align - 1))
        return align == 32 ? "the global address is no multiple of 32"
                           : "the global address is no multiple of 16";
    for (uint32_t d = 0; d < t->rank; d++) {
        if (!t->dim[d] || t->dim[d] > 1ull << 32)
            return "a global dimension is not in 1 ... 2^32";
        /* Of the innermost one too, which only interleaved layouts use. */
        if (!t->step[d] || t->step[d] > 8)
            return "an element stride is not in 1 ... 8";
        if (d && t->stride[d] >= 1ull << 40)
            return "a global stride is 2^40 or more";
        if (d && t->stride[d] & (align - 1))
            return align == 32 ? "a global stride is no multiple of 32"
                               : "a global stride is no multiple of 16";
    }
    if (padded(t) && t->dim[0] % 128)
        return "the innermost dimension of this packed type is no multiple of "
               "128";
    if (t->type == FGS__TENSOR_U4 && t->dim[0] % 2)
        return "the innermost dimension of this packed type is odd";
    return NULL;
}

/* The documentation asks for the swizzle of 32 bytes where 32 bytes are
 * interleaved; the driver of an H200 takes every swizzle. */
static const char *rule_of_swizzle(const struct fgs__tensor *t)
{
    bool u6 = t->type == FGS__TENSOR_U6_PAD;

    if (t->atom && t->swizzle != FGS__TENSOR_SW_128)
        return "a swizzle other than that of 128 bytes moves units of 16 "
               "bytes";
    if (padded(t) && t->interleave)
        return "this packed type is not interleaved";
    if (padded(t) && t->atom == FGS__TENSOR_ATOM_32_FLIP)
        return "the flip of 8 bytes is not for this packed type";
    if (padded(t) && t->swizzle && t->swizzle != FGS__TENSOR_SW_128 &&
        !(u6 && t->swizzle == FGS__TENSOR_SW_64))
        return "this swizzle is not for this packed type";
    if (t->type == FGS__TENSOR_U4_PAD && t->atom == FGS__TENSOR_ATOM_64)
        return "this swizzle is not for this packed type";
    if (t->swizzle == FGS__TENSOR_SW_96 && t->interleave)
        return "the swizzle of 96 bytes is not for interleaved layouts";
    return NULL;
}

/* Bytes of the innermost side of a box, and the swizzle that holds it. */
static const char *rule_of_inner(const struct fgs__tensor *t, uint32_t elements)
{
    static const uint8_t span[] = { 0, 32, 64, 128, 96 };
    uint32_t bits = elements * fgs__tensor_bits(t->type);

    if (padded(t) && elements != 128)
        return "the innermost side of the box of this packed type is not 128";
    if (!padded(t) && bits % 128)
        return "the innermost side of the box is no multiple of 16 bytes";
    if (!t->interleave && t->swizzle &&
        (padded(t) ? 128 : bits / 8) > span[t->swizzle])
        return "the innermost side of the box is wider than the swizzle";
    return NULL;
}

/* The driver of an H200 takes no map whose elements are more than the 228 KiB
 * of shared memory of an SM, whatever the rank, fill, layout and swizzle.  It
 * counts the quotients of sides and steps without a rest: sides of 15 and
 * steps of 2 are 7. */
static const char *rule_of_size(const struct fgs__tensor *t, uint64_t elements)
{
    return elements * fgs__tensor_bits(t->type) / 8 > 228 << 10
               ? "a copy has more bytes than the shared memory of an SM"
               : NULL;
}

static const char *rule_of_box(const struct fgs__tensor *t)
{
    uint64_t elements = t->box[0];
    const char *rule;

    for (uint32_t d = 0; d < t->rank; d++) {
        if (!t->box[d] || t->box[d] > 256)
            return "a side of the box is not in 1 ... 256";
        if (d)
            elements *= t->box[d] / t->step[d];
    }
    rule = rule_of_inner(t, t->box[0]);
    return rule ? rule : rule_of_size(t, elements);
}

/* The driver of an H200 takes a side of 2^32 pixels for none: with upper not
 * above lower the box is empty.  Of an interleaved layout W is dimension 0. */
static bool no_pixels(const struct fgs__tensor *t, uint32_t side)
{
    return (int64_t)(uint32_t)t->dim[!t->interleave + side] + t->upper[side] -
           t->lower[side] <= 0;
}

static const char *rule_of_column(const struct fgs__tensor *t)
{
    static const int most[] = { 0, 0, 0, 32767, 127, 15 };
    uint32_t sides = t->kind == FGS__TENSOR_IM2COL ? t->rank - 2 : 1;
    int high = t->kind == FGS__TENSOR_IM2COL ? most[t->rank] : 32767;
    const char *rule;

    for (uint32_t d = 0; d < sides; d++) {
        if (t->lower[d] > high || t->lower[d] < -high - 1 ||
            t->upper[d] > high || t->upper[d] < -high - 1)
            return "a corner of the pixel box is out of its range";
        if (no_pixels(t, d))
            return "the pixel box is empty";
    }
    if (!t->channels || t->channels > 256)
        return "the number of channels is not in 1 ... 256";
    if (t->pixels > 1024)
        return "the number of pixels is above 1024";
    if (t->kind == FGS__TENSOR_IM2COL_WIDE && t->interleave)
        return "the wide mode is not for interleaved layouts";
    if (t->kind == FGS__TENSOR_IM2COL_WIDE &&
        (!t->swizzle || t->swizzle == FGS__TENSOR_SW_32 ||
         t->atom == FGS__TENSOR_ATOM_32_FLIP))
        return "the wide mode needs a swizzle of 64, 96 or 128 bytes without "
               "flip";
    rule = rule_of_inner(t, t->channels);
    if (rule || t->kind == FGS__TENSOR_IM2COL_WIDE)
        return rule;
    if (!t->pixels)
        return "the number of pixels is 0";
    return rule_of_size(t, (uint64_t)t->channels * t->pixels);
}

const char *fgs__tensor_rule(const struct fgs__tensor *t)
{
    const char *rule = NULL;

    if (t->type >= FGS__TENSOR_TYPES)
        return "there is no such element type";
    if (!t->rank || t->rank > FGS__TENSOR_RANK)
        return "the rank is not in 1 ... 5";
    if (t->kind != FGS__TENSOR_TILED && t->rank < 3)
        return "the rank is not in 3 ... 5";
    if (t->interleave > 2)
        return "there is no such interleaved layout";
    if (t->interleave && t->rank < 3)
        return "an interleaved layout needs a rank of 3 at least";
    if (t->swizzle > FGS__TENSOR_SW_96 || t->atom > FGS__TENSOR_ATOM_64)
        return "there is no such swizzle";
    if (t->promotion > 3)
        return "there is no such promotion";
    if (t->fill > 1)
        return "there is no such fill";
    if (t->fill && !fgs__tensor_is_float(t->type))
        return "a fill with NaN is for floating-point elements";
    rule = rule_of_memory(t);
    if (!rule)
        rule = rule_of_swizzle(t);
    if (rule)
        return rule;
    return t->kind == FGS__TENSOR_TILED ? rule_of_box(t) : rule_of_column(t);
}
