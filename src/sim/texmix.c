/* texmix.c -- what a filter makes of elements and weights; borders
 *
 * The arithmetic is what gave each bit of the answers of an H200 in one, two
 * and three dimensions and between levels; of signed 8-bit elements alone an
 * answer may be 1 in 32767 beside it (4 in 100 were).
 */
#include "sim/texture.h"
#include "sim/half.h"

#include <math.h>

enum { ONE = 256 };            /* the sum of the weights                     */

/* Bits behind the point of a float format, and what a sum has more; linear
 * light is summed as it is in the table and becomes a half. */
enum { F32_BITS = 23, F16_BITS = 10, GUARD = 4, SRGB_GUARD = 7 - F16_BITS };

/* A sum of products: half an ulp and more goes away from 0. */
static float rounded(int64_t sum, int scale, int bits, int least)
{
    uint64_t v = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int shift = 0;
    double x;

    while (v >> shift >> (bits + 1))
        shift++;
    if (scale + shift < least)
        shift = least - scale;
    if (shift > 62)
        return 0.0f;
    if (shift)
        v = (v + (1ull << (shift - 1))) >> shift;
    x = ldexp((double)v, scale + shift);
    return (float)(sum < 0 ? -x : x);
}

/* The point of an element.  Linear light has that of the last of its eight
 * bytes: hardware keeps a slope and an end for each eight. */
static int point_of(double x, int guard)
{
    const uint16_t *last = &fgs__sim_srgb[7];
    int e;

    if (guard == SRGB_GUARD) {
        while ((double)bits_float((uint32_t)*last << 16) < x)
            last += 8;
        x = (double)bits_float((uint32_t)*last << 16);
    }
    frexp(x, &e);
    return e - 1;
}

/* The point of the largest of the elements [from, to); -200 of zeros. */
static int largest(const struct fgs__sim_mix *m, unsigned k, unsigned from,
                   unsigned to, int guard)
{
    int top = -200, e;

    for (unsigned n = from; n < to; n++) {
        double x = fabs((double)bits_float(m->of[n].v[k]));

        if (x != 0 && isfinite(x) && (e = point_of(x, guard)) > top)
            top = e;
    }
    return top;
}

/* Each is cut to some bits behind the point of the largest; then all is
 * exact. */
static float mix_floats(const struct fgs__sim_mix *m, unsigned k, int bits,
                        int guard)
{
    int top = largest(m, k, 0, m->count, GUARD);
    double plain = 0;
    int64_t sum = 0;

    for (unsigned n = 0; n < m->count; n++)
        plain += (double)bits_float(m->of[n].v[k]);
    if (!isfinite(plain)) /* no number: what a sum would be */
        return plain != plain ? bits_float(0x7fffffff) : (float)plain;
    for (unsigned n = 0; n < m->count; n++)
        sum += (int64_t)trunc(ldexp((double)bits_float(m->of[n].v[k]),
                                    bits + guard - top)) * m->weight[n];
    return rounded(sum, top - bits - guard - 8, bits,
                   bits == F16_BITS ? -24 : -149);
}

/* Linear light: the elements of a plane are cut to 7 bits behind the point of
 * their largest; planes and levels are added as they are. */
static float mix_srgb(const struct fgs__sim_mix *m, unsigned k)
{
    double sum = 0;
    unsigned from, to;

    for (from = 0; from < m->count; from = to) {
        double unit;

        for (to = from; to < m->count && m->quad[to] == m->quad[from];)
            to++;
        unit = ldexp(1, largest(m, k, from, to, SRGB_GUARD) - 7);
        for (; from < to; from++)
            sum += floor((double)bits_float(m->of[from].v[k]) / unit) * unit *
                m->weight[from];
    }
    return rounded((int64_t)ldexp(sum, 30), -38, F16_BITS, -24);
}

/* Integers of 8 bits are widened to 16, and the result has these. */
static float mix_integers(const struct fgs__sim_mix *m, unsigned k,
                          double unit, double wide)
{
    double sum = 0;

    for (unsigned n = 0; n < m->count; n++)
        sum += rint((double)bits_float(m->of[n].v[k]) * unit) * m->weight[n];
    return (float)(floor(sum * wide / (unit * ONE) + 0.5) / wide);
}

void fgs__sim_texel_mix(const struct fgs__sim_texture *t,
                        const struct fgs__sim_mix *m,
                        struct fgs__sim_texel *out)
{
    for (unsigned k = 0; k < 4; k++) {
        float x;

        switch (t->format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
            x = fgs__sim_is_srgb(t, k)
                ? mix_srgb(m, k)
                : mix_integers(m, k, 255, 65535);
            break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
            x = mix_integers(m, k, 65535, 65535);
            break;
        case CU_AD_FORMAT_SIGNED_INT8:
            x = mix_integers(m, k, 127, 32767);
            break;
        case CU_AD_FORMAT_SIGNED_INT16:
            x = mix_integers(m, k, 32767, 32767);
            break;
        default:
            x = mix_floats(m, k, t->format == CU_AD_FORMAT_HALF ? F16_BITS
                                                                : F32_BITS,
                           GUARD);
        }
        out->v[k] = float_bits(x);
    }
}

/* --------------------------------------------------------------- border -- */

static float bounded(float x, float least)
{
    return x > 1 ? 1 : x > least ? x : least; /* NaN is the least */
}

/* As so many steps: cut to four bits more than these have, and a half goes to
 * 0, so that 0.5 is 127 of 255. */
static uint32_t as_steps(float x, int least, int steps)
{
    double fine = 16.0 * (steps + 1), v = bounded(x, (float)least);
    double n = ceil(floor(fabs(v) * fine) * steps / fine - 0.5);

    return (uint32_t)(int32_t)(v < 0 ? -n : n);
}

/* A component of the border as the format has it: a float is cut to 16 bits,
 * an integer that stays one takes the low bits of the float's. */
static uint32_t as_raw(const struct fgs__sim_texture *t, float x)
{
    uint32_t u = float_bits(x);

    switch (t->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        return t->integer ? u & 0xff : as_steps(x, 0, 255);
    case CU_AD_FORMAT_UNSIGNED_INT16:
        return t->integer ? u & 0xffff : as_steps(x, 0, 65535);
    case CU_AD_FORMAT_SIGNED_INT8:
        return t->integer ? u : as_steps(x, -1, 127);
    case CU_AD_FORMAT_SIGNED_INT16:
        return t->integer ? u : as_steps(x, -1, 32767);
    case CU_AD_FORMAT_HALF: {
        uint32_t h = f16_of_float(x);
        float back = float_of_f16(h);

        return fabsf(back) > fabsf(x) ? h - 1 : h;
    }
    default:
        return u;
    }
}

void fgs__sim_texel_border(const struct fgs__sim_texture *t,
                           struct fgs__sim_texel *out)
{
    char element[16] = { 0 };

    for (unsigned k = 0; k < t->channels; k++)
        fgs__sim_texel_put(t, element, k, as_raw(t, t->tex.borderColor[k]));
    fgs__sim_texel_read(t, element, out);
}
