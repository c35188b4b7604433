/* element_model.h -- element types by their definitions, for tests
 *
 * Values are doubles, rounding is a search for the nearest code: nothing of
 * how the library or the header converts.
 */
#ifndef ELEMENT_MODEL_H
#define ELEMENT_MODEL_H

#include "base/compat.h"
#include "table/table.h"

#include <math.h>
#include <stdbool.h>

enum model_kind { MODEL_FLOAT, MODEL_INT };

struct model {
    const char *name;
    enum model_kind kind;
    int exp, man, bias;       /* of a float                                  */
    bool has_sign;
    uint32_t max, nan;        /* the largest code; what a NaN becomes        */
    double least, most;       /* of an integer                               */
};

static const struct model models[] = {
    { "f32", MODEL_FLOAT, 8, 23, 127, true, 0x7f800000, 0x7fffffff, 0, 0 },
    { "f16", MODEL_FLOAT, 5, 10, 15, true, 0x7c00, 0x7fff, 0, 0 },
    { "bf16", MODEL_FLOAT, 8, 7, 127, true, 0x7f80, 0x7fff, 0, 0 },
    { "e4m3", MODEL_FLOAT, 4, 3, 7, true, 0x7e, 0x7f, 0, 0 },
    { "e5m2", MODEL_FLOAT, 5, 2, 15, true, 0x7b, 0x7f, 0, 0 },
    { "e2m1", MODEL_FLOAT, 2, 1, 1, true, 7, 7, 0, 0 },
    { "ue8m0", MODEL_FLOAT, 8, 0, 127, false, 0xfe, 0xfe, 0, 0 },
    { "ue5m3", MODEL_FLOAT, 5, 3, 15, false, 0xfe, 0xfe, 0, 0 },
    { "x8", MODEL_INT, 0, 0, 0, false, 0, 0, 0, 254 },
    { "meta4", MODEL_INT, 0, 0, 0, false, 0, 0, 0, 14 },
    { "i32", MODEL_INT, 0, 0, 0, true, 0, 0, -0x1p31, 0x1p31 - 1 },
    { "i16", MODEL_INT, 0, 0, 0, true, 0, 0, -0x1p15, 0x1p15 - 1 },
    { "i8", MODEL_INT, 0, 0, 0, true, 0, 0, -128, 127 },
    { "i8ff", MODEL_INT, 0, 0, 0, true, 0, 0, -128, 127 },
};

enum { MODELS = sizeof models / sizeof *models };

/* Of a code without its sign.  What is infinity counts as the next number:
 * from half way on, a value rounds to it. */
static inline double model_value(const struct model *m, uint32_t code)
{
    int e = (int)(code >> m->man);
    double f = ldexp(code & ((1u << m->man) - 1), -m->man);

    if (!m->man) /* ue8m0 has no zero and no subnormal numbers */
        return ldexp(1, e - m->bias);
    return e ? ldexp(1 + f, e - m->bias) : ldexp(f, 1 - m->bias);
}

/* The greatest code whose value is not above v. */
static inline uint32_t model_floor(const struct model *m, double v)
{
    uint32_t lo = 0, hi = m->max;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo + 1) / 2;

        if (model_value(m, mid) <= v)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

static inline uint32_t model_round(const struct model *m, double v)
{
    uint32_t c = model_floor(m, v);
    double low = model_value(m, c), high;

    if (c == m->max)
        return c;
    high = model_value(m, c + 1);
    if (!m->man) /* up to a power of two */
        return v > low ? c + 1 : c;
    if (v - low == high - v)
        return c + (c & 1);
    return v - low < high - v ? c : c + 1;
}

/*
 * The code that a producer stores for x.  `away`: 1 the integer above the
 * sentinel, 2 the one below, 0 the sentinel itself, to be refused.
 */
static inline uint32_t model_convert(const struct model *m,
                                     const fgs_element_info *e, float x,
                                     int away)
{
    uint32_t ones = 0xffffffffu >> (32 - e->bits), code;
    double v = x;

    if (m->kind == MODEL_INT) {
        v = v != v ? 0 : nearbyint(v);
        v = v < m->least ? m->least : v > m->most ? m->most : v;
        code = (uint32_t)(int64_t)v & ones;
        if (code == e->sentinel && away)
            code = (away == 1 ? code + 1 : code - 1) & ones;
        return code;
    }
    if (v != v)
        return m->nan;
    if (!m->has_sign)
        return v <= 0 ? 0 : model_round(m, v);
    code = model_round(m, fabs(v));
    return code && signbit(v) ? code | 1u << (e->bits - 1) : code;
}

static inline const fgs_element_info *model_info(const struct model *m)
{
    for (int id = 0; id < FGS_ELEMENT_COUNT; id++) {
        const fgs_element_info *e = fgs_element_get_info((fgs_element)id);

        if (e && !strcmp(e->name, m->name))
            return e;
    }
    return NULL;
}

#endif
