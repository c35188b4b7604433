/* mirror_language.c -- objects, templates, kinds of memory, printf */
#include "mirror.h"

static uint32_t ackermann(uint32_t m, uint32_t n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

void mirror_objects(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t i = 0; i < 128; i++) {
        uint32_t v = in[i], x = v >> 16;

        out[i] = v >> 8 & 1 ? 4 * x + 4 : i % 2 ? (v & 255) * x : x * x;
        out[128 + i] = v % 3 == 0 ? 2 * v : v % 3 == 1 ? v + 1 : ~v;
        out[256 + i] = ackermann(2, i % 6);
        out[384 + i] = (2u << i % 8) - 1;
    }
}

void mirror_names(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t i = 0; i < 256; i++) {
        out[i] = ((in[i] * 3 + 5) ^ 7) - i;
        out[256 + i] = i + 1 + (in[i] >> 16) + 144;
    }
}

void mirror_memory(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t i = 0; i < 128; i++) {
        uint32_t t = i % 64, n = t % 5, k = ((in[i] >> 8) - in[i]) & 15;

        out[i] = in[i / 64 * 64 + 63 - t] + (in[i] % 4) * (in[i] % 4) + 61000 +
            k * k + (n + 1) * t + n * (n + 1) / 2;
        for (uint32_t b = 0; b < 4; b++)
            out[i] += (t + 8 + b) << 8 * b;
    }
}

void mirror_print(const uint32_t *in, void *to)
{
    (void)in;
    ((uint32_t *)to)[7] = 5;
}
