/* narrow.h -- floating-point formats of 4 to 19 bits, a value
 *
 * A code is the bits of a number without gaps, its sign on top.  Values pass
 * through double, which holds all of them exactly.
 */
#ifndef FGS_SIM_NARROW_H
#define FGS_SIM_NARROW_H

#include "sim/half.h"

enum narrow_id {
    NARROW_F16, NARROW_BF16, NARROW_TF32, NARROW_E5M2, NARROW_E4M3,
    NARROW_E3M2, NARROW_E2M3, NARROW_E2M1, NARROW_UE5M3, NARROW_UE8M0,
    NARROW_F32, /* as a source */
    NARROW_COUNT
};

static const struct narrow {
    uint8_t exp, man;
    bool has_sign;
    int16_t bias;
    uint32_t inf, nan, max; /* codes; inf 0 = none, and a NaN then stands for
                               what is too large, or the largest does */
} narrows[NARROW_COUNT] = {
    [NARROW_F16] = { 5, 10, true, 15, 0x7c00, 0x7fff, 0x7bff },
    [NARROW_BF16] = { 8, 7, true, 127, 0x7f80, 0x7fff, 0x7f7f },
    [NARROW_TF32] = { 8, 10, true, 127, 0x3fc00, 0x3ffff, 0x3fbff },
    [NARROW_E5M2] = { 5, 2, true, 15, 0x7c, 0x7f, 0x7b },
    [NARROW_E4M3] = { 4, 3, true, 7, 0, 0x7f, 0x7e },
    [NARROW_E3M2] = { 3, 2, true, 3, 0, 0x1f, 0x1f },
    [NARROW_E2M3] = { 2, 3, true, 1, 0, 0x1f, 0x1f },
    [NARROW_E2M1] = { 2, 1, true, 1, 0, 0x7, 0x7 },
    [NARROW_UE5M3] = { 5, 3, false, 15, 0, 0xff, 0xfe },
    [NARROW_UE8M0] = { 8, 0, false, 127, 0, 0xff, 0xfe },
};

/* How to round: the word (FGS__M_RN ...), for .rs random bits and how many. */
struct rounding {
    unsigned mode;
    bool satfinite;
    uint32_t random;
    unsigned random_bits;
};

static FGS__INLINE FGS__UNUSED bool rounds_up(const struct rounding *r,
                                              bool negative, uint64_t q,
                                              uint64_t rest, unsigned shift)
{
    uint64_t half = shift ? (uint64_t)1 << (shift - 1) : 0;

    switch (r->mode) {
    case FGS__M_RZ:
        return false;
    case FGS__M_RM:
        return rest && negative;
    case FGS__M_RP:
        return rest && !negative;
    case FGS__M_RNA:
        return shift && rest >= half;
    case FGS__M_RS:
        return shift >= r->random_bits &&
            ((rest >> (shift - r->random_bits)) + r->random) >>
                r->random_bits;
    default:
        return shift && (rest > half || (rest == half && (q & 1)));
    }
}

/* The code of 2^(code - 127); the sign is not looked at. */
static FGS__UNUSED uint32_t to_ue8m0(double v, const struct rounding *r)
{
    double m = __builtin_fabs(v);
    uint64_t u = double_bits(m);
    int64_t e = (int64_t)(u >> 52) - 1023 + 127;

    if (m != m)
        return 0xff;
    if (m <= 0x1p-127)
        return 0;
    e += r->mode == FGS__M_RP && (u & (UINT64_MAX >> 12));
    return e > 0xfe ? r->satfinite || (r->mode == FGS__M_RZ && m < 0x1p1023 * 2)
                          ? 0xfe : 0xff
                    : (uint32_t)e;
}

static FGS__UNUSED uint32_t to_narrow(const struct narrow *f, double v,
                                      const struct rounding *r)
{
    uint64_t u = double_bits(v), m = u & (UINT64_MAX >> 12), q, rest;
    bool negative = f->has_sign && u >> 63;
    uint32_t sign = (uint32_t)negative << (f->exp + f->man), code;
    int e = (int)(u >> 52 & 0x7ff) - 1023, least = 1 - f->bias, x;
    unsigned shift;
    bool away = r->mode == FGS__M_RM ? negative
        : r->mode == FGS__M_RP       ? !negative
                                     : r->mode != FGS__M_RZ;

    if (v != v)
        return f->nan;
    if (e == 1024)
        return sign | (r->satfinite ? f->max : f->inf ? f->inf : f->nan);
    m = e == -1023 ? m : m | (uint64_t)1 << 52;
    e = e == -1023 ? -1022 : e;
    x = e > least ? e : least;
    shift = (unsigned)(52 - f->man + (x - e));
    if (shift > 62) { /* so small that only "not zero" is left of it */
        m = m >> (shift - 62 > 63 ? 63 : shift - 62) | (m != 0);
        shift = 62;
    }
    q = m >> shift;
    rest = m & (((uint64_t)1 << shift) - 1);
    q += rounds_up(r, negative, q, rest, shift);
    /* The exponent field of a subnormal is 0: q adds to it when it is 1. */
    code = ((uint32_t)(x - least) << f->man) + (uint32_t)q;
    if (code > f->max)
        code = r->satfinite || !away ? f->max : f->inf ? f->inf : f->nan;
    return sign | code;
}

/* 2^n, n in double's normal range: a product with it is exact here, and no
 * call as ldexp is. */
static FGS__INLINE FGS__UNUSED double two_to(int n)
{
    return bits_double((uint64_t)(n + 1023) << 52);
}

static FGS__INLINE FGS__UNUSED double of_narrow(enum narrow_id id,
                                                uint32_t code)
{
    const struct narrow *f = &narrows[id];
    uint32_t m = code & ((1u << f->man) - 1), e = code >> f->man;
    bool negative = f->has_sign && code >> (f->exp + f->man) & 1;
    double v;

    code &= (1u << (f->exp + f->man)) - 1;
    e &= (1u << f->exp) - 1;
    if (id == NARROW_UE8M0)
        return code == 0xff ? (double)NAN_F32
                            : two_to((int)e - 127);
    if (f->inf ? code > f->inf : code > f->max)
        return (double)NAN_F32;
    if (f->inf && code == f->inf)
        v = (double)__builtin_inff();
    else
        v = (e ? m + (1u << f->man) : m) *
            two_to((int)(e ? e : 1) - f->bias - f->man);
    return negative ? -v : v;
}

#endif
