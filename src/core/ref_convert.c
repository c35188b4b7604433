/* ref_convert.c -- mirror of the conversions in ptx/scale_produce.ptx.in
 *
 * Written from the formats' definitions, not from the kernels: a code's value
 * is exp and mantissa as the format has them, and the code of a number is
 * searched for among them.  Doubles hold all values and differences exactly,
 * so the host's rounding mode has no say.
 */
#include "core/ref.h"

#include <math.h>

/* |value| of f32 bits that are no NaN; an infinity is greater than any. */
static double magnitude(uint32_t bits)
{
    uint32_t exp = bits >> 23 & 0xff, man = bits & 0x7fffff;

    if (exp == 0xff)
        return HUGE_VAL;
    return exp ? ldexp(man | 0x800000, (int)exp - 150) : ldexp(man, -149);
}

/* The value of a code without its sign.  The code behind the largest finite
 * one of a format with infinities stands for what would come next. */
static double value_of(const struct fgs__format *f, uint32_t code)
{
    int exp = (int)(code >> f->man);
    double man = code & ((1u << f->man) - 1);
    int scale = -(int)f->bias - (int)f->man;

    return exp ? ldexp(man + (double)(1u << f->man), exp + scale)
               : ldexp(man, 1 + scale);
}

/* To nearest, ties to the even code; above the top it is the top. */
static uint32_t nearest(const struct fgs__format *f, double x)
{
    uint32_t low = 0, high = f->top;
    double below, above;

    if (x >= value_of(f, high))
        return high;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (value_of(f, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    below = x - value_of(f, low);
    above = value_of(f, high) - x;
    if (below == above)
        return low & 1 ? high : low;
    return below < above ? low : high;
}

/* The least power of two that is not below x: code c is 2^(c - bias). */
static uint32_t power_above(const struct fgs__format *f, double x)
{
    uint32_t code = 0;

    while (code < f->top && ldexp(1, (int)code - (int)f->bias) < x)
        code++;
    return code;
}

/* The integer nearest to a magnitude, ties to even; at most `most`. */
static uint64_t whole(double x, uint64_t most)
{
    double down = x < 9e15 ? (double)(uint64_t)x : x, part = x - down;
    uint64_t n;

    if (x >= (double)most)
        return most;
    n = (uint64_t)down;
    if (part > 0.5 || (part == 0.5 && (n & 1)))
        n++;
    return n < most ? n : most;
}

static uint32_t integer(const struct fgs__format *f, uint32_t bits,
                        uint32_t mask)
{
    int negative = (int)(bits >> 31);
    uint64_t n;

    if (negative && f->form == FGS__UINT)
        return 0;
    n = whole(magnitude(bits), negative ? (uint64_t)f->top + 1 : f->top);
    return (uint32_t)(negative ? 0 - n : n) & mask;
}

int fgs__ref_convert(uint32_t *code, fgs_element e, fgs_saturate saturate,
                     uint32_t bits)
{
    const fgs_element_info *info = fgs_element_get_info(e);
    const struct fgs__format *f = fgs__element_format(e);
    uint32_t mask = UINT32_MAX >> (32 - info->bits);
    int negative = (int)(bits >> 31);

    if ((bits & 0x7fffffff) > 0x7f800000) {
        *code = f->nan;
    } else if (f->form == FGS__FLOAT) {
        *code = bits == 0x80000000u ? 0 : bits;
    } else if (f->form == FGS__MINI) {
        *code = negative && !f->sign ? 0 : nearest(f, magnitude(bits));
        if (negative && *code)
            *code |= 1u << (info->bits - 1);
    } else if (f->form == FGS__POWER) {
        *code = negative ? 0 : power_above(f, magnitude(bits));
    } else {
        *code = integer(f, bits, mask);
    }
    if (f->form != FGS__SINT || *code != info->sentinel)
        return 1;
    if (saturate == FGS_SATURATE_REFUSE)
        return 0;
    *code = (*code + (saturate == FGS_SATURATE_UP ? 1u : UINT32_MAX)) & mask;
    return 1;
}

fgs_result fgs_ref_produce(fgs_element e, fgs_saturate saturate,
                           const void *in, void *out, uint64_t count,
                           uint64_t *refused)
{
    const fgs_element_info *info = fgs_element_get_info(e);
    uint8_t *to = out;
    uint32_t x, code;

    if (!in || !out)
        return FGS_E_NULL;
    if (!info || (unsigned)saturate >= FGS_SATURATE_COUNT)
        return FGS_E_INVAL;
    if (count * info->bits % 8)
        return FGS_E_SIZE;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = i * info->bits;

        memcpy(&x, (const char *)in + i * sizeof x, sizeof x);
        if (!fgs__ref_convert(&code, e, saturate, fgs__ref_double(x))) {
            if (refused)
                *refused = i;
            return FGS_E_SENTINEL;
        }
        if (info->bits == 4 && at % 8)
            to[at / 8] |= (uint8_t)(code << 4);
        else
            memcpy(to + at / 8, &code, (info->bits + 7) / 8);
    }
    return FGS_OK;
}
