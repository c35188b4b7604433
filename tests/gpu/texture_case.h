/* texture_case.h -- textures, coordinates and instructions to compare
 *
 * A row is a resource, how it is read, what its elements are, where it is read
 * and by which instruction.  Everything is made from the row alone, so that a
 * file of answers can be looked at without the device.
 */
#ifndef TEXTURE_CASE_H
#define TEXTURE_CASE_H

#include "table/cu.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_POINTS = 8192, MOST_BYTES = 1 << 18 };

#define U8  CU_AD_FORMAT_UNSIGNED_INT8
#define U16 CU_AD_FORMAT_UNSIGNED_INT16
#define U32 CU_AD_FORMAT_UNSIGNED_INT32
#define S8  CU_AD_FORMAT_SIGNED_INT8
#define S16 CU_AD_FORMAT_SIGNED_INT16
#define S32 CU_AD_FORMAT_SIGNED_INT32
#define F16 CU_AD_FORMAT_HALF
#define F32 CU_AD_FORMAT_FLOAT

/* Elements. */
enum { COUNTED, RANDOM, UNIT, MIXED, STEP, LEVEL };
/* Points. */
enum { EACH, WIDE, FINE, INSIDE, INTS, LODS };

struct texture_case {
    const char *name, *insn;
    char kind;                /* a y(layered) m l p, s a surface             */
    unsigned size[3], format, channels, levels;
    unsigned address, filter, flags, mip;
    float bias, least, most;
    int elements, points;
    unsigned count;
};

#define R4    "{%r0, %r1, %r2, %r3}, [%tex, "
#define T1    "tex.1d.v4.u32.f32 " R4 "{%c0}];\n"
#define T2    "tex.2d.v4.u32.f32 " R4 "{%c0, %c1}];\n"
#define T3    "tex.3d.v4.u32.f32 " R4 "{%c0, %c1, %c2, %c2}];\n"
#define TA1   "tex.a1d.v4.u32.f32 " R4 "{%c2, %c0}];\n"
#define TA2   "tex.a2d.v4.u32.f32 " R4 "{%c2, %c0, %c1, %c1}];\n"
#define I1    "tex.1d.v4.u32.s32 " R4 "{%c0}];\n"
#define I2    "tex.2d.v4.u32.s32 " R4 "{%c0, %c1}];\n"
#define IA2   "tex.a2d.v4.u32.s32 " R4 "{%c2, %c0, %c1, %c1}];\n"
#define L1    "tex.level.1d.v4.u32.f32 " R4 "{%c0}], %c3;\n"
#define L2    "tex.level.2d.v4.u32.f32 " R4 "{%c0, %c1}], %c3;\n"
#define LI2   "tex.level.2d.v4.u32.s32 " R4 "{%c0, %c1}], %c2;\n"
#define B2    "tex.base.2d.v4.u32.f32 " R4 "{%c0, %c1}];\n"
#define O2    "tex.2d.v4.u32.f32 " R4 "{%c0, %c1}], {3, -2};\n"
#define G2(c) "tld4." c ".2d.v4.u32.f32 " R4 "{%c0, %c1}];\n"
#define H2    "tex.2d.v2.f16x2.f32 {%r0, %r1}, [%tex, {%c0, %c1}];\n"          \
              "mov.b32 %r2, 0;\nmov.b32 %r3, 0;\n"
/* .array_size and .num_mipmap_levels are words that the driver of an H200 does
 * not load: error 500. */
#define Q(w)  "txq." w ".b32 %r0, [%tex];\n"
#define NOW   "mov.b32 %r1, 0;\nmov.b32 %r2, 0;\nmov.b32 %r3, 0;\n"
#define SL(m, t, x)                                                            \
    "suld.b.2d." t "." m " " x ", [%tex, {%c0, %c1}];\n"                       \
    "mov.b32 %r2, 0;\nmov.b32 %r3, 0;\n"

enum { WRAP, CLAMP, MIRROR, BORDER };
enum { INT = CU_TRSF_READ_AS_INTEGER, NRM = CU_TRSF_NORMALIZED_COORDINATES,
       SRGB = CU_TRSF_SRGB };
#define LOD 0, 0, 99

/* A format, all its channels, both read modes. */
#define POINTS(f, fl)                                                          \
    { "point " #f " x1 flags " #fl, T1, 'a', { 256 }, f, 1, 1, CLAMP, 0, fl,   \
      0, LOD, COUNTED, EACH, 256 },                                            \
    { "point " #f " x2 flags " #fl, T1, 'a', { 256 }, f, 2, 1, CLAMP, 0, fl,   \
      0, LOD, RANDOM, EACH, 256 },                                             \
    { "point " #f " x4 flags " #fl, T1, 'a', { 256 }, f, 4, 1, CLAMP, 0, fl,   \
      0, LOD, RANDOM, EACH, 256 },
/* Address modes of a row of N, by points far around it. */
#define MODES(n, fi, fl, el)                                                   \
    { "mode 0 size " #n " filter " #fi " flags " #fl, T1, 'a', { n }, F32, 1,  \
      1, WRAP, fi, fl, 0, LOD, el, WIDE, 4096 },                               \
    { "mode 1 size " #n " filter " #fi " flags " #fl, T1, 'a', { n }, F32, 1,  \
      1, CLAMP, fi, fl, 0, LOD, el, WIDE, 4096 },                              \
    { "mode 2 size " #n " filter " #fi " flags " #fl, T1, 'a', { n }, F32, 1,  \
      1, MIRROR, fi, fl, 0, LOD, el, WIDE, 4096 },                             \
    { "mode 3 size " #n " filter " #fi " flags " #fl, T1, 'a', { n }, F32, 1,  \
      1, BORDER, fi, fl, 0, LOD, el, WIDE, 4096 },
#define BORDERS(f, fl, fi)                                                     \
    { "border " #f " flags " #fl " filter " #fi, T1, 'a', { 8 }, f, 4, 1,      \
      BORDER, fi, fl, 0, LOD, UNIT, WIDE, 256 },
#define LINEAR(f, c, el)                                                       \
    { "linear " #f " x" #c " " #el, T1, 'a', { 64 }, f, c, 1, CLAMP, 1, 0, 0,  \
      LOD, el, INSIDE, 4096 },

static const struct texture_case texture_cases[] = {
    POINTS(U8, 0) POINTS(U8, INT) POINTS(S8, 0) POINTS(S8, INT)
    POINTS(U16, 0) POINTS(U16, INT) POINTS(S16, 0) POINTS(S16, INT)
    POINTS(U32, 0) POINTS(U32, INT) POINTS(S32, 0) POINTS(S32, INT)
    POINTS(F16, 0) POINTS(F32, 0) POINTS(U8, SRGB) POINTS(F16, INT)
    { "all of U16", T2, 'a', { 256, 256 }, U16, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, EACH, 8192 },
    { "all of S16", T2, 'a', { 256, 256 }, S16, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, EACH, 8192 },
    { "all of F16", T2, 'a', { 256, 256 }, F16, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, EACH, 8192 },
    MODES(16, 0, 0, COUNTED) MODES(13, 0, 0, COUNTED)
    MODES(16, 0, NRM, COUNTED) MODES(13, 0, NRM, COUNTED)
    MODES(1000, 0, NRM, COUNTED) MODES(1000, 0, 0, COUNTED)
    MODES(16, 1, 0, UNIT) MODES(13, 1, 0, UNIT) MODES(16, 1, NRM, UNIT)
    MODES(13, 1, NRM, UNIT)
    BORDERS(F32, 0, 0) BORDERS(U8, 0, 0) BORDERS(U8, INT, 0)
    BORDERS(S32, INT, 0) BORDERS(F16, 0, 0) BORDERS(S16, INT, 0)
    BORDERS(U16, 0, 1) BORDERS(F32, 0, 1)
    { "weights", T1, 'a', { 2 }, F32, 1, 1, CLAMP, 1, 0, 0, LOD, STEP, FINE,
      8192 },
    { "weights normalized", T1, 'a', { 2 }, F32, 1, 1, CLAMP, 1, NRM, 0, LOD,
      STEP, FINE, 8192 },
    LINEAR(F32, 1, UNIT) LINEAR(F32, 1, MIXED) LINEAR(F32, 4, MIXED)
    LINEAR(F16, 1, MIXED) LINEAR(U8, 1, RANDOM) LINEAR(S8, 1, RANDOM)
    LINEAR(U16, 1, RANDOM) LINEAR(S16, 1, RANDOM) LINEAR(U8, 4, RANDOM)
    { "linear u8 srgb", T1, 'a', { 64 }, U8, 4, 1, CLAMP, 1, SRGB, 0, LOD,
      RANDOM, INSIDE, 4096 },
    { "linear 2d f32", T2, 'a', { 32, 16 }, F32, 1, 1, CLAMP, 1, 0, 0, LOD,
      UNIT, INSIDE, 8192 },
    { "linear 2d f32 mixed", T2, 'a', { 32, 16 }, F32, 1, 1, CLAMP, 1, 0, 0,
      LOD, MIXED, INSIDE, 4096 },
    { "linear 2d u8", T2, 'a', { 32, 16 }, U8, 1, 1, CLAMP, 1, 0, 0, LOD,
      RANDOM, INSIDE, 4096 },
    { "linear 2d u16", T2, 'a', { 32, 16 }, U16, 1, 1, CLAMP, 1, 0, 0, LOD,
      RANDOM, INSIDE, 4096 },
    { "linear 2d f16", T2, 'a', { 32, 16 }, F16, 1, 1, CLAMP, 1, 0, 0, LOD,
      UNIT, INSIDE, 4096 },
    { "linear 2d wrapped", T2, 'a', { 32, 16 }, F32, 1, 1, WRAP, 1, NRM, 0,
      LOD, UNIT, WIDE, 4096 },
    { "linear 2d pitch", T2, 'p', { 32, 16 }, F32, 1, 1, CLAMP, 1, 0, 0, LOD,
      UNIT, INSIDE, 4096 },
    { "linear 3d f32", T3, 'a', { 8, 8, 8 }, F32, 1, 1, CLAMP, 1, 0, 0, LOD,
      UNIT, INSIDE, 8192 },
    { "linear 3d u8", T3, 'a', { 8, 8, 8 }, U8, 1, 1, CLAMP, 1, 0, 0, LOD,
      RANDOM, INSIDE, 4096 },
    { "point 3d", T3, 'a', { 8, 5, 3 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, WIDE, 4096 },
    { "layered 1d", TA1, 'y', { 16, 0, 5 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, WIDE, 4096 },
    { "layered 2d", TA2, 'y', { 8, 4, 5 }, F32, 1, 1, CLAMP, 1, 0, 0, LOD,
      UNIT, WIDE, 4096 },
    { "fetch linear", I1, 'l', { 100 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "fetch linear u8", I1, 'l', { 100 }, U8, 4, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "ints 1d clamp", I1, 'a', { 16 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "ints 1d border", I1, 'a', { 16 }, F32, 1, 1, BORDER, 0, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "ints 1d wrap normalized", I1, 'a', { 16 }, F32, 1, 1, WRAP, 0, NRM, 0,
      LOD, COUNTED, INTS, 1024 },
    { "ints 1d linear", I1, 'a', { 16 }, F32, 1, 1, CLAMP, 1, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "ints 2d", I2, 'a', { 16, 8 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD, COUNTED,
      INTS, 1024 },
    { "ints 2d pitch", I2, 'p', { 16, 8 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "ints layered", IA2, 'y', { 8, 4, 5 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD,
      COUNTED, INTS, 1024 },
    { "ints level", LI2, 'm', { 16, 8 }, F32, 1, 4, CLAMP, 0, NRM, 0, LOD,
      COUNTED, INTS, 1024 },
    { "level point", L1, 'm', { 64 }, F32, 1, 7, CLAMP, 0, NRM, 0, LOD, LEVEL,
      LODS, 8192 },
    { "level linear", L1, 'm', { 64 }, F32, 1, 7, CLAMP, 0, NRM, 1, LOD, LEVEL,
      LODS, 8192 },
    { "level biased", L1, 'm', { 64 }, F32, 1, 7, CLAMP, 0, NRM, 1, 0.7f, 1.3f,
      4.6f, LEVEL, LODS, 8192 },
    { "level clamped to a point", L1, 'm', { 64 }, F32, 1, 7, CLAMP, 0, NRM, 0,
      -0.3f, 1.7f, 4.4f, LEVEL, LODS, 8192 },
    { "level of a plain one", T2, 'm', { 16, 16 }, F32, 1, 5, CLAMP, 0, NRM, 1,
      2.5f, 0, 99, LEVEL, INSIDE, 64 },
    { "base of a plain one", B2, 'm', { 16, 16 }, F32, 1, 5, CLAMP, 0, NRM, 1,
      2.5f, 1, 99, LEVEL, INSIDE, 64 },
    { "trilinear", L2, 'm', { 16, 16 }, F32, 1, 5, CLAMP, 1, NRM, 1, LOD, UNIT,
      LODS, 4096 },
    { "level unnormalized", L1, 'm', { 64 }, F32, 1, 7, CLAMP, 0, 0, 0, LOD,
      COUNTED, LODS, 1024 },
    { "offsets", O2, 'a', { 16, 8 }, F32, 1, 1, CLAMP, 0, 0, 0, LOD, COUNTED,
      WIDE, 1024 },
    { "offsets wrapped", O2, 'a', { 16, 8 }, F32, 1, 1, WRAP, 1, NRM, 0, LOD,
      UNIT, WIDE, 1024 },
    { "gather r", G2("r"), 'a', { 16, 8 }, F32, 2, 1, CLAMP, 1, 0, 0, LOD,
      COUNTED, WIDE, 4096 },
    { "gather g", G2("g"), 'a', { 16, 8 }, F32, 2, 1, WRAP, 0, NRM, 0, LOD,
      COUNTED, WIDE, 4096 },
    { "gather a", G2("a"), 'a', { 16, 8 }, U8, 2, 1, CLAMP, 0, INT, 0, LOD,
      COUNTED, WIDE, 256 },
    { "halves of f32", H2, 'a', { 32, 16 }, F32, 4, 1, CLAMP, 0, 0, 0, LOD,
      MIXED, INSIDE, 1024 },
    { "halves of u8", H2, 'a', { 32, 16 }, U8, 4, 1, CLAMP, 0, 0, 0, LOD,
      RANDOM, INSIDE, 1024 },
    { "halves of integers", H2, 'a', { 32, 16 }, S32, 4, 1, CLAMP, 0, INT, 0,
      LOD, RANDOM, INSIDE, 1024 },
    { "width", Q("width") NOW, 'm', { 24, 10 }, F32, 1, 4, CLAMP, 0, NRM, 0,
      LOD, COUNTED, EACH, 32 },
    { "height", Q("height") NOW, 'a', { 24, 10 }, F32, 1, 1, CLAMP, 0, 0, 0,
      LOD, COUNTED, EACH, 32 },
    { "height of 1d", Q("height") NOW, 'a', { 24 }, F32, 1, 1, CLAMP, 0, 0, 0,
      LOD, COUNTED, EACH, 32 },
    { "depth", Q("depth") NOW, 'a', { 8, 4, 6 }, F32, 1, 1, CLAMP, 0, 0, 0,
      LOD, COUNTED, EACH, 32 },
    { "depth of 2d", Q("depth") NOW, 'a', { 8, 4 }, F32, 1, 1, CLAMP, 0, 0, 0,
      LOD, COUNTED, EACH, 32 },
    { "surface clamp b8", SL("clamp", "b8", "%r0") "mov.b32 %r1, 0;\n", 's',
      { 16, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED, INTS, 1024 },
    { "surface zero b8", SL("zero", "b8", "%r0") "mov.b32 %r1, 0;\n", 's',
      { 16, 8 }, U8, 4, 1, 0, 0, 0, 0, LOD, COUNTED, INTS, 1024 },
    { "surface clamp b32", "shl.b32 %c0, %c0, 2;\n"
      SL("clamp", "b32", "%r0") "mov.b32 %r1, 0;\n", 's',
      { 16, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED, INTS, 1024 },
    { "surface clamp v2", "shl.b32 %c0, %c0, 3;\n"
      SL("clamp", "v2.b32", "{%r0, %r1}"), 's',
      { 16, 8 }, F32, 2, 1, 0, 0, 0, 0, LOD, COUNTED, INTS, 1024 },
    { "surface zero v2 of x1", "shl.b32 %c0, %c0, 3;\n"
      SL("zero", "v2.b32", "{%r0, %r1}"), 's',
      { 15, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED, INTS, 1024 },
    { "surface clamp v2 of x1", "shl.b32 %c0, %c0, 3;\n"
      SL("clamp", "v2.b32", "{%r0, %r1}"), 's',
      { 15, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED, INTS, 1024 },
    { "surface width", "suq.width.b32 %r0, [%tex];\n" NOW, 's',
      { 16, 8 }, U8, 4, 1, 0, 0, 0, 0, LOD, COUNTED, EACH, 32 },
};

static uint32_t hashed(uint64_t v)
{
    v = (v + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ v >> 29) * 0x94d049bb133111ebull;
    return (uint32_t)(v >> 32);
}

static unsigned texture_component(unsigned format)
{
    return format == U8 || format == S8 ? 1
        : format == U32 || format == S32 || format == F32 ? 4 : 2;
}

/* A float as the format has it. */
static uint32_t as_format(unsigned format, float x)
{
    uint32_t u, h;

    memcpy(&u, &x, sizeof u);
    switch (format) {
    case U8:
        return (uint32_t)(x * 255.0f) & 0xff;
    case S8:
        return (uint32_t)(int32_t)(x * 127.0f) & 0xff;
    case U16:
        return (uint32_t)(x * 65535.0f) & 0xffff;
    case S16:
        return (uint32_t)(int32_t)(x * 32767.0f) & 0xffff;
    case F16: /* cut off; all are normal */
        h = u >> 16 & 0x8000;
        return h | (((u >> 13 & 0x3ffff) - (112u << 10)) & 0x7fff);
    default:
        return u;
    }
}

/* Component n of a level. */
static uint32_t texture_element(const struct texture_case *c, unsigned n,
                                unsigned level)
{
    uint32_t r = hashed(n * 64ull + level);
    float x = (float)(r >> 8) * 0x1p-24f;

    switch (c->elements) {
    case COUNTED:
        return c->format == F32 ? as_format(F32, (float)(n + 1000 * level)) : n;
    case RANDOM:
        return r;
    case UNIT: /* normal as f16 */
        return as_format(c->format, 0.0625f + x * 0.9f);
    case MIXED:
        x = ldexpf(0.5f + x / 2, (int)(r % 13) - 6);
        return as_format(c->format, r & 64 ? -x : x);
    case STEP:
        return as_format(c->format, (float)(n & 1));
    default:
        return as_format(c->format, (float)(level * level) + 1);
    }
}

static uint32_t bits_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

/* Point n: x, y, z or layer, level. */
static void texture_point(const struct texture_case *c, unsigned n,
                          uint32_t out[4])
{
    static const float odd[] = { 0.0f, -0.0f, 1e30f, -1e30f, INFINITY,
                                 -INFINITY, NAN, 1e-30f, -1e-30f, 8388608.5f,
                                 1e7f, -1e7f, 2147483648.0f, 4294967296.0f };
    bool normal = c->flags & NRM;

    for (unsigned d = 0; d < 4; d++) {
        unsigned size = d < 3 && c->size[d] ? c->size[d] : 1;
        float whole = (float)(normal ? 1 : size);
        uint32_t r = hashed(n * 4ull + d + 77);
        float x = (float)(r >> 8) * 0x1p-24f;
        int turn = (int)(r % (3 * size + 8)) - (int)size - 4;

        switch (c->points) {
        case EACH:
            x = d ? (float)(n / c->size[0]) + 0.5f
                  : (float)(n % c->size[0]) + 0.5f;
            break;
        case WIDE: /* a third at elements' edges and beside them */
            if (n < sizeof odd / sizeof *odd)
                x = odd[n];
            else if (n % 3 == 0)
                x = (float)((int)(r % (8 * size)) - (int)(3 * size)) *
                    (normal ? 1 / (float)size : 1.0f) / 2;
            else
                x = (x * 7 - 3) * whole;
            if (n % 3 == 0 && n % 2)
                x = nextafterf(x, n % 4 == 1 ? 1e9f : -1e9f);
            break;
        case FINE:
            x = (0.5f + (float)n / MOST_POINTS * 1.0f) * (normal ? 0.5f : 1.0f);
            break;
        case LODS:
            x = d == 3 ? (float)n / 512 - 4 : x * whole;
            break;
        default:
            x = (x * 1.25f - 0.125f) * whole;
        }
        out[d] = c->points == INTS ? (uint32_t)turn : bits_of(x);
        if (d == 2 && c->kind == 'y')
            out[d] = (uint32_t)turn;
        if (d == 2 && !strcmp(c->name, "ints level"))
            out[d] = (uint32_t)((int)(r % 9) - 2);
    }
}

#endif
