/* mirror_algorithm.c -- histograms, tables, graphs, random numbers, texts */
#include "mirror.h"
#include <math.h>

void mirror_histogram_shared(const uint32_t *in, void *to)
{
    const uint8_t *byte = (const uint8_t *)in;
    uint32_t *out = to;

    for (int i = 0; i < 4 * WORDS; i++)
        out[byte[i]]++;
}

void mirror_histogram_global(const uint32_t *in, void *to)
{
    const double half = WORDS / 2;
    const float twice = 2 * WORDS;
    uint32_t *out = to;
    uint64_t sum = 0;

    for (int i = 0; i < WORDS; i++) {
        out[in[i] & 15]++;
        if (~in[i] > out[16])
            out[16] = ~in[i];
        if (in[i] > out[17])
            out[17] = in[i];
        out[18] |= in[i] & 0x00ffff00;
        out[19] ^= in[i];
        sum += in[i];
    }
    memcpy(out + 20, &sum, 8);
    out[22] = WORDS % 1000;
    memcpy(out + 24, &half, 8);
    memcpy(out + 26, &twice, 4);
}

void mirror_hash_table(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 2048; i++)
        out[512] += !out[in[i] & 511]++;
}

void mirror_compact(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < WORDS; i++)
        if (in[i] < 0x60000000)
            out[++out[0]] = in[i];
}

void mirror_transpose(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < WORDS; i++)
        out[i % 64 * 64 + i / 64] = in[i];
}

void mirror_nbody(const uint32_t *in, void *to)
{
    float *out = to;

    for (int i = 0; i < 256; i++) {
        double a[3] = { 0 };

        for (int k = 0; k < 256; k++) {
            double r = 0.01f, v[3];

            for (int c = 0; c < 3; c++) {
                v[c] = (double)unit(in[4 * k + c]) - unit(in[4 * i + c]);
                r += v[c] * v[c];
            }
            for (int c = 0; c < 3; c++)
                a[c] += unit(in[4 * k + 3]) * v[c] / (r * sqrt(r));
        }
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = (float)a[c];
    }
}

static unsigned steps(double x, double y)
{
    double a = 0, b = 0;
    unsigned n = 0;

    while (n < 100 && a * a + b * b <= 4) {
        double next = a * a - b * b + x;

        b = a * b + a * b + y;
        a = next;
        n++;
    }
    return n;
}

static unsigned steps_float(float x, float y)
{
    float a = 0, b = 0;
    unsigned n = 0;

    while (n < 100 && a * a + b * b <= 4) {
        float next = a * a - b * b + x;

        b = a * b + a * b + y;
        a = next;
        n++;
    }
    return n;
}

void mirror_mandelbrot(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    (void)in;
    for (int i = 0; i < 2048; i++)
        out[i] = steps_float((float)(i % 64) / 32 - 1.5f,
                             (float)(i / 64) / 32 - 1);
    for (int i = 2048; i < WORDS; i++)
        out[i] = steps(i % 64 / 32.0 - 1.5, i / 64 / 32.0 - 1);
}

void mirror_philox(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t i = 0; i < 1024; i++) {
        uint32_t c[4] = { i, 0, in[2], in[3] };

        for (uint32_t r = 0; r < 10; r++) {
            uint64_t p = 0xd2511f53ull * c[0], q = 0xcd9e8d57ull * c[2];

            c[0] = (uint32_t)(q >> 32) ^ c[1] ^ (in[0] + r * 0x9e3779b9u);
            c[1] = (uint32_t)q;
            c[2] = (uint32_t)(p >> 32) ^ c[3] ^ (in[1] + r * 0xbb67ae85u);
            c[3] = (uint32_t)p;
        }
        memcpy(out + 4 * i, c, sizeof c);
    }
}

static uint32_t xorshift(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    return *s ^= *s << 5;
}

void mirror_monte_carlo(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int b = 0; b < 16; b++) {
        int many = 0;

        for (int t = 0; t < 64; t++) {
            uint32_t s = in[64 * b + t] | 1, inside = 0;

            for (int k = 0; k < 64; k++) {
                uint64_t x = xorshift(&s) >> 1, y = xorshift(&s) >> 1;

                inside += x * x + y * y < 1ull << 62;
            }
            out[b] += inside;
            out[16] += inside;
            many += inside > 50;
        }
        out[32 + b] = many >= 32;
    }
}

/* The sum as it is defined. */
void mirror_fft(const uint32_t *in, void *to)
{
    const double turn = acos(-1) / 128;
    double *out = to;

    for (int k = 0; k < 256; k++)
        for (int n = 0; n < 256; n++) {
            double c = cos(turn * (k * n % 256)), s = sin(turn * (k * n % 256));
            double x = unit(in[2 * n]), y = unit(in[2 * n + 1]);

            out[2 * k] += x * c + y * s;
            out[2 * k + 1] += y * c - x * s;
        }
}

/* Relaxed until nothing changes. */
void mirror_bfs(const uint32_t *in, void *to)
{
    uint32_t *out = to;
    int changed = 1;

    memset(out + 1, 255, 4 * 1023);
    while (changed) {
        changed = 0;
        for (int e = 0; e < 3 * 1024; e++) {
            uint32_t near = out[e / 3], *far = &out[in[e] & 1023];

            if (near != UINT32_MAX && near + 1 < *far) {
                *far = near + 1;
                changed = 1;
            }
        }
    }
}

void mirror_spmv(const uint32_t *in, void *to)
{
    int32_t *out = to;

    for (int row = 0; row < 64; row++)
        for (uint32_t k = 0; k < (in[row] & 63); k++) {
            uint32_t w = in[64 + 40 * row + k];

            out[row] += small(w) * small(in[3000 + (w & 63)]);
        }
}

void mirror_search(const uint32_t *in, void *to)
{
    static const char word[4][4] = { "abc", "aaa", "dca", "bdb" };
    static char text[4 * WORDS + 1];
    uint32_t *out = to;

    for (int i = 0; i < 4 * WORDS; i++)
        text[i] = (char)('a' + ((const uint8_t *)in)[i] % 4);
    for (int w = 0; w < 4; w++)
        for (char *p = text; (p = strstr(p, word[w])); p++)
            if (!out[w]++)
                out[4 + w] = ~(uint32_t)(p - text);
}

/* Division of polynomials, highest power first, over the message's bits. */
void mirror_crc32(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 1024; i++) {
        uint32_t rest = UINT32_MAX, turned = 0;

        for (int bit = 0; bit < 128; bit++) {
            uint32_t b = in[4 * i + bit / 32] >> bit % 32 & 1;

            rest = rest << 1 ^ ((rest >> 31 ^ b) ? 0x04c11db7 : 0);
        }
        for (int k = 0; k < 32; k++)
            turned |= (~rest >> k & 1) << (31 - k);
        out[i] = out[1024 + i] = turned;
    }
}
