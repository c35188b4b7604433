/* mirror_number.c -- bits, wide integers, narrow and mathematical numbers */
#include "mirror.h"
#include <math.h>

static uint32_t reversed(uint32_t v)
{
    uint32_t r = 0;

    for (int k = 0; k < 32; k++)
        r |= (v >> k & 1) << (31 - k);
    return r;
}

static uint32_t zeros(uint32_t v)
{
    return v ? (uint32_t)__builtin_clz(v) : 32;
}

static uint32_t first_set(uint32_t v)
{
    return v ? (uint32_t)__builtin_ctz(v) + 1 : 0;
}

/* The upper word of (v, w) moved left, or the lower one of it moved right. */
static uint32_t moved(uint32_t v, uint32_t w, uint32_t s)
{
    uint64_t both = (uint64_t)w << 32 | v;
    uint32_t right = w >> 26 > 32 ? 32 : w >> 26;

    return (uint32_t)(both << s >> 32) ^ (uint32_t)(both >> right);
}

static uint32_t picked(uint32_t v, uint32_t w, uint32_t how)
{
    uint64_t both = (uint64_t)w << 32 | v;
    uint32_t r = 0;

    for (int k = 0; k < 4; k++)
        r |= (uint32_t)(both >> (how >> 4 * k & 7) * 8 & 255) << 8 * k;
    return r;
}

static uint32_t bytes(uint32_t v, uint32_t w)
{
    uint32_t sum = 0, most = 0, above = 0;

    for (int k = 0; k < 32; k += 8) {
        uint32_t a = v >> k & 255, b = w >> k & 255;

        sum |= ((a + b) & 255) << k;
        above |= (a > b ? 255u : 0) << k;
    }
    for (int k = 0; k < 32; k += 16) {
        uint32_t a = v >> k & 65535, b = w >> k & 65535;

        most |= (a > b ? a : b) << k;
    }
    return sum ^ most ^ above;
}

void mirror_bits(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 1024; i++) {
        uint32_t v = in[i], w = in[1024 + i], s = w & 31;
        int64_t sv = (int32_t)v, sw = (int32_t)w;

        out[i] = reversed(v) ^ (uint32_t)__builtin_popcount(v) << 8 ^
            zeros(v >> s) << 16 ^ first_set(v << s) << 24;
        out[1024 + i] = picked(v, w, in[2048 + i]) ^ moved(v, w, s);
        out[2048 + i] = bytes(v, w);
        out[3072 + i] = (uint32_t)((uint64_t)v * w >> 32) ^
            (uint32_t)(sv * sw >> 32) ^ ((v > w ? v - w : w - v) + 7) ^
            (uint32_t)((sv + sw) >> 1) ^
            (uint32_t)(((uint64_t)v + w + 1) >> 1);
    }
}

/* GNU C's, so not said under -Wpedantic. */
__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 wide_signed;

void mirror_wide(const uint32_t *in, void *to)
{
    uint64_t *out = to;

    for (int i = 0; i < 512; i++, out += 4) {
        uint64_t a, b, turned = 0;
        wide product;
        wide_signed sum;

        memcpy(&a, in + 4 * i, 8);
        memcpy(&b, in + 4 * i + 2, 8);
        product = (wide)a * b;
        sum = -((wide_signed)product >> (a & 127)) + (int64_t)b;
        for (int k = 0; k < 64; k++)
            turned |= (a >> k & 1) << (63 - k);
        out[0] = (uint64_t)(product >> 64) + a / (b >> 40 | 1);
        out[1] = (uint64_t)(sum >> 32) ^ (uint64_t)sum;
        out[1] += 6 + (((a & UINT32_MAX) + (b & UINT32_MAX)) >> 32);
        out[2] = (uint64_t)(product % ((wide)b << 9 | 1)) ^
            (uint64_t)((int64_t)a % ((int32_t)b | 1));
        out[3] = (uint64_t)(product >> 64) +
            (uint64_t)(a ? __builtin_clzll(a) : 64) +
            (uint64_t)__builtin_popcountll(b) + turned +
            (uint64_t)((wide_signed)(int64_t)a * (int64_t)b >> 64);
    }
}

void mirror_complex(const uint32_t *in, void *to)
{
    double *o = to;

    for (int i = 0; i < 256; i++, o += 4) {
        double x = unit(in[4 * i]), y = unit(in[4 * i + 1]);
        double c = unit(in[4 * i + 2]), d = unit(in[4 * i + 3]);
        double a = x + c, b = y + d, r, n = (x + 2) * (x + 2) + y * y;

        r = a * x - b * y + c;
        b = a * y + b * x + d;
        o[0] = r * x - b * y;
        o[1] = r * y + b * x;
        o[2] = (c * (x + 2) + d * y + d * (x + 2) - c * y) / n;
        o[3] = hypot(x, y) + atan2(d, c) + (x - c) * (x - c) +
            (y - d) * (y - d);
    }
}

/* The nearest number of `digits` bits after the first, ties to even, none
 * finer than those of 2^least; `cut` = toward zero instead. */
static double nearest(double x, int digits, int least, int cut)
{
    double unit_of_last;
    int e;

    if (x == 0)
        return x;
    frexp(x, &e);
    e = e - 1 < least ? least : e - 1;
    unit_of_last = ldexp(1, e - digits);
    return (cut ? trunc(x / unit_of_last) : nearbyint(x / unit_of_last)) *
        unit_of_last;
}

/* The bits of such a number, `width` of them. */
static uint32_t coded(double x, int digits, int least, int width)
{
    uint32_t sign = (uint32_t)(signbit(x) != 0) << (width - 1), field;
    double a = fabs(x);
    int e;

    if (a == 0)
        return sign;
    frexp(a, &e);
    e = e - 1 < least ? least : e - 1;
    field = (uint32_t)ldexp(a, digits - e);
    return sign | (((uint32_t)(e - least) << digits) + field);
}

static double decoded(uint32_t byte, int digits, int least)
{
    uint32_t low = byte & ((1u << digits) - 1), e = (byte & 127) >> digits;
    double a = e ? ldexp(low + (1u << digits), least + (int)e - 1 - digits)
                 : ldexp(low, least - digits);

    return byte & 128 ? -a : a;
}

static double saturated(double x, double most)
{
    return fabs(x) > most ? copysign(most, x) : x;
}

void mirror_fp8(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 1024; i++) {
        double f = ldexp(unit(in[i]) - 0.5f, (int)(in[i] & 31) - 12);
        double a = saturated(nearest(f, 3, -6, 0), 448);
        double b = saturated(nearest(f, 2, -14, 0), 57344);
        uint32_t byte = in[i] & 255;

        out[i] = coded(a, 3, -6, 8) | coded(b, 2, -14, 8) << 8;
        if ((byte & 127) != 127)
            out[1024 + i] = coded(decoded(byte, 3, -6), 10, -14, 16);
        if ((byte & 127) < 0x7c)
            out[2048 + i] = coded(decoded(byte, 2, -14), 10, -14, 16);
        else if ((byte & 127) == 0x7c)
            out[2048 + i] = byte << 8;
    }
}

static double half(double x, int cut)
{
    double y = nearest(x, 10, -14, cut);

    if (fabs(y) < 65536)
        return y;
    return copysign(cut ? 65504 : INFINITY, x);
}

static uint32_t half_bits(double x)
{
    return isinf(x) ? 0x7c00u | (x < 0 ? 0x8000u : 0)
                    : coded(x, 10, -14, 16);
}

void mirror_fp16(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 1024; i++) {
        double f = (float)ldexp(unit(in[i]) - 0.5f, (int)(in[i] & 63) - 30);
        double h = half(f, 0), n = half(f, 1), b = nearest(f, 7, -126, 0);
        double most = h > n ? h : n;
        float left = (float)(b - n);

        out[i] = half_bits(h) | coded(b, 7, -126, 16) << 16;
        out[1024 + i] = half_bits(half(h + 1, 0)) | half_bits(n) << 16;
        /* the integer of an infinity is the largest, which is odd, or the
         * least, which is even */
        out[2048 + i] = (uint32_t)(n < h) + 2u * (h == n) +
            4u * (isinf(h) ? h < 0 ? UINT32_MAX : 1u : 0u) +
            8u * (isinf(most) ? most > 0 : (uint32_t)(long)most & 1u) +
            16u * (h >= n && n >= h);
        memcpy(out + 3072 + i, &left, 4);
    }
}

void mirror_math_double(const uint32_t *in, void *to)
{
    double *o = to;

    for (int i = 0; i < 256; i++, o += 8) {
        double x = unit(in[2 * i]) * 6.0 - 3, y = unit(in[2 * i + 1]);

        o[0] = sin(x) + cos(10 * x) * tan(y);
        o[1] = exp(x) + log(y + 0.5) + log1p(y) + expm1(y);
        o[2] = pow(y + 0.25, x) + cbrt(x) + hypot(x, y);
        o[3] = erf(x) + erfc(y) + lgamma(x + 5) + tgamma(y + 1);
        o[4] = atan2(x, y) + asin(y) + acos(-y) + sinh(x) + tanh(y);
        o[5] = fmod(100 * x, y + 0.5) + remainder(x, 0.75) + floor(x) +
            rint(y);
        o[6] = sqrt(y) / (x * x + 1) + 1 / sqrt(y + 1) + fma(x, y, 0.5);
        o[7] = j0(x) + erfc(-x / sqrt(2)) / 2 + exp2(x) + log2(y + 1) +
            pow(10, y);
    }
}

void mirror_math_float(const uint32_t *in, void *to)
{
    float *o = to;

    for (int i = 0; i < 512; i++, o += 6) {
        double x = unit(in[2 * i]) * 6 - 3, y = unit(in[2 * i + 1]);

        o[0] = (float)(sin(x) + cos(x));
        o[1] = (float)(exp(x) + log(y + 0.5) + exp2(y));
        o[2] = (float)pow(y + 0.25, x);
        o[3] = (float)(erf(x) + atan(x));
        o[4] = (float)(sqrt(y) / (x * x + 1) + 1 / sqrt(y + 1) + cbrt(x));
        o[5] = (float)(x * y + 0.5 + trunc(x) + y + copysign(y, x));
    }
}
