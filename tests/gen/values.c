/* values.c -- operands: corners with corners, then random ones
 *
 * The same on every machine: integer arithmetic alone, but for the products
 * that give a sum something to cancel.
 */
#include "gen.h"
#include "base/compat.h"

uint64_t gen_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---------------------------------------------------- floating formats -- */

struct format {
    unsigned bits, mant;
};

static struct format format_of(unsigned type)
{
    switch (type) {
    case FGS__T_F64: return (struct format){ 64, 52 };
    case FGS__T_F16:
    case FGS__T_F16X2: return (struct format){ 16, 10 };
    case FGS__T_BF16:
    case FGS__T_BF16X2: return (struct format){ 16, 7 };
    default: return (struct format){ 32, 23 };
    }
}

enum { CORNERS = 36 };

/* Zero, subnormals, powers of two and their neighbours, NaNs; with a sign. */
static uint64_t float_corner(struct format f, unsigned n)
{
    uint64_t one = (((uint64_t)1 << (f.bits - f.mant - 2)) - 1) << f.mant;
    uint64_t least = (uint64_t)1 << f.mant, inf = one * 2 + least;
    uint64_t sign = n & 1 ? (uint64_t)1 << (f.bits - 1) : 0;
    uint64_t v;

    switch (n >> 1) {
    case 0: v = 0; break;
    case 1: v = 1; break;
    case 2: v = least - 1; break;
    case 3: v = least; break;
    case 4: v = least + 1; break;
    case 5: v = one; break;
    case 6: v = one + 1; break;
    case 7: v = one - 1; break;
    case 8: v = one + least; break;
    case 9: v = one - least; break;
    case 10: v = one + least / 2; break;
    case 11: v = inf - 1; break;
    case 12: v = inf; break;
    case 13: v = inf + 1; break;                /* a signalling NaN */
    case 14: v = inf + least / 2 + 5; break;
    case 15: v = one + f.mant * least; break;   /* here halves end */
    case 16: v = inf - least; break;
    default: v = least * 2; break;
    }
    return v | sign;
}

/* Random: all bits; near one; few bits in the mantissa; whole numbers. */
static uint64_t float_random(struct format f, uint64_t r)
{
    uint64_t one = (((uint64_t)1 << (f.bits - f.mant - 2)) - 1) << f.mant;
    uint64_t mant = r & (((uint64_t)1 << f.mant) - 1);
    uint64_t sign = (r >> 63) << (f.bits - 1);
    unsigned how = gen_mix(r) & 7, k = (unsigned)(gen_mix(r) >> 8);

    switch (how) {
    case 0:
    case 1:
        return f.bits == 64 ? r : r & (((uint64_t)1 << f.bits) - 1);
    case 2:
        mant &= mant << (f.mant - 4);
        break;
    case 3:
        mant = 0;
        break;
    case 4: /* subnormal */
        return sign | mant >> k % f.mant;
    default:
        break;
    }
    return sign | (one - ((uint64_t)4 << f.mant) +
                   ((uint64_t)(k % (how < 6 ? 8 : 2)) << f.mant) + mant);
}

static uint64_t float_value(struct format f, unsigned pos, uint32_t i)
{
    uint64_t r = gen_mix(i * 4u + pos);

    if (i < CORNERS * CORNERS) {
        unsigned n = pos == 0 ? i % CORNERS
                     : pos == 1 ? i / CORNERS : (unsigned)(r % CORNERS);

        return float_corner(f, n);
    }
    return float_random(f, r);
}

/* -------------------------------------------------------------- integers -- */

static const uint64_t small[] = { 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 31,
                                  32, 33, 63, 64, 65, 127, 128, 255, 256,
                                  0x7fff, 0x8000, 0xffff, 0x10000,
                                  0x7fffffff, 0x80000000, 0xffffffff,
                                  0x100000000, INT64_MAX,
                                  (uint64_t)1 << 63 };
enum { SMALL = sizeof small / sizeof small[0] };
_Static_assert(SMALL + 4 == (int)CORNERS, "one square of corners");

static uint64_t int_value(unsigned bits, unsigned pos, uint32_t i)
{
    uint64_t r = gen_mix(i * 4u + pos), v;

    if (i < CORNERS * CORNERS) {
        unsigned n = pos == 0 ? i % CORNERS
                     : pos == 1 ? i / CORNERS : (unsigned)(r % CORNERS);

        v = n < SMALL ? small[n] : (uint64_t)0 - (n - SMALL + 1);
    } else {
        unsigned how = gen_mix(r) & 3;

        v = how == 0 ? r >> 20 % (r % 20 + 1) : how == 1 ? r % 70
            : how == 2 ? r >> r % 64 : r;
        if (how == 2 && r & 1 << 7)
            v = 0 - v;
    }
    return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

/* -------------------------------------------------------------- operands -- */

static double as_double(uint64_t v)
{
    double d;

    memcpy(&d, &v, sizeof d);
    return d;
}

static uint64_t bits_of(double d)
{
    uint64_t v;

    memcpy(&v, &d, sizeof v);
    return v;
}

static float as_float(uint32_t v)
{
    float f;

    memcpy(&f, &v, sizeof f);
    return f;
}

/* Third operand: of some cases the product of the others, negative and a few
 * steps off. */
static uint64_t cancelling(unsigned type, uint32_t i)
{
    uint64_t a = gen_value(type, 0, i), b = gen_value(type, 1, i);
    uint64_t off = gen_mix(i) % 5;

    if (type == FGS__T_F64)
        return bits_of(-(as_double(a) * as_double(b))) + off;
    if (type == FGS__T_F32) {
        float f = -(as_float((uint32_t)a) * as_float((uint32_t)b));
        uint32_t v;

        memcpy(&v, &f, sizeof v);
        return (uint32_t)(v + off);
    }
    return 0;
}

uint64_t gen_value(unsigned type, unsigned pos, uint32_t i)
{
    const struct fgs__ptx_type_info *t = &fgs__ptx_types[type];
    uint64_t v;

    if (pos == 2 && (type == FGS__T_F32 || type == FGS__T_F64) &&
        i >= CORNERS * CORNERS && i % 3 == 0)
        return cancelling(type, i);
    switch (type) {
    case FGS__T_F16X2:
    case FGS__T_BF16X2:
        v = float_value(format_of(type), pos, i ^ 21) << 16;
        return v | float_value(format_of(type), pos, i);
    case FGS__T_F16:
    case FGS__T_BF16:
    case FGS__T_F32:
    case FGS__T_F64:
        return float_value(format_of(type), pos, i);
    case FGS__T_PRED:
        return gen_mix(i * 4u + pos) & 1;
    default:
        return int_value(t->bits < 16 ? 16 : t->bits, pos, i);
    }
}

uint64_t gen_sweep(unsigned type, uint32_t i)
{
    uint64_t r = gen_mix(i);

    switch (fgs__ptx_types[type].bits) {
    case 64:
        return (uint64_t)(i & 0xffff) << 48 | r >> 16;
    case 32:
        if (type == FGS__T_F16X2 || type == FGS__T_BF16X2)
            return (i & 0xffff) | (uint64_t)(0xffff - (i & 0xffff)) << 16;
        return (i & 0xffff) << 16 | (r & 0xffff);
    default:
        return i & 0xffff;
    }
}

void gen_fill_in(uint8_t *in, uint32_t cases, bool sweep)
{
    memset(in, 0, gen_in_bytes(cases));
    for (unsigned t = 1; t < FGS__T_COUNT; t++) {
        for (unsigned pos = 0; pos < (sweep ? 1 : GEN_IN); pos++) {
            uint64_t at = ((uint64_t)t * GEN_IN + pos) * cases * 8;

            for (uint32_t i = 0; i < cases; i++) {
                uint64_t v = sweep ? gen_sweep(t, i) : gen_value(t, pos, i);

                memcpy(in + at + i * 8u, &v, 8);
            }
        }
    }
}

uint64_t gen_input(const uint8_t *in, uint32_t cases, const struct gen_form *f,
                   unsigned k, uint32_t i)
{
    uint64_t v = 0;

    for (unsigned a = 0; a < f->args; a++) {
        if (strchr("sc", f->arg[a].role) && f->arg[a].in == k)
            memcpy(&v, in + ((uint64_t)f->arg[a].type * GEN_IN + k) * cases * 8
                   + i * 8u, 8);
    }
    return v;
}
