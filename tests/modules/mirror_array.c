/* mirror_array.c -- reductions, scans, sorts and stencils */
#include "mirror.h"
#include <stdlib.h>

void mirror_reduce_shared(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int b = 0; b < 16; b++) {
        out[16 + b] = UINT32_MAX;
        for (int t = 0; t < 256; t++) {
            uint32_t v = in[256 * b + t];

            out[b] += v;
            if (v < out[16 + b])
                out[16 + b] = v;
            if (v > out[32 + b])
                out[32 + b] = v;
        }
    }
}

void mirror_reduce_shuffle(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int w = 0; w < 128; w++) {
        const uint32_t *v = in + 32 * w;
        uint64_t sum = 0;

        for (int l = 0; l < 32; l++) {
            sum += (uint64_t)v[l] << 20;
            if (v[l] > out[128 + w])
                out[128 + w] = v[l];
            out[256 + w] |= v[l] & 1u << l;
            out[384 + w] ^= v[l ^ 8] + v[l < 3 ? l : l - 3];
            out[512] += v[l];
        }
        out[w] = (uint32_t)(sum >> 20);
    }
}

void mirror_reduce_groups(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 512; i++) {
        int odd = 0, warp = i / 32 * 32;

        for (int k = 0; k < 16; k++)
            out[i] += in[i / 16 * 16 + k];
        for (int k = warp; k < warp + 32; k++) {
            if (k % 3 == i % 3 && in[k] > out[512 + i])
                out[512 + i] = in[k];
            odd += in[k] & 1;
        }
        out[1024 + i] = in[i] & 1 ? odd : 1000 + 32 - odd;
        for (int k = i / 8 * 8; k <= i; k++)
            out[1536 + i] += in[k];
    }
}

void mirror_groups_tile(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 512; i++) {
        int block = i / 128 * 128;

        for (int k = 0; k < 64; k++)
            out[i] += in[i / 64 * 64 + k];
        for (int k = block; k < block + 128; k++)
            if (in[k] > out[512 + i])
                out[512 + i] = in[k];
        out[1024 + i] = in[i ^ 1] ^ 0x5a5a5a5a;
    }
}

void mirror_reduce_cub(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 1024; i++) {
        out[i / 128] += in[i];
        if (in[i] > out[8 + i / 32])
            out[8 + i / 32] = in[i];
    }
}

void mirror_scan_shared(const uint32_t *in, void *to)
{
    uint32_t *out = to, sum = 0;

    for (int i = 0; i < 2048; i++) {
        if (i % 256 == 0)
            sum = 0;
        out[2048 + i] = sum;
        out[i] = sum += in[i];
    }
}

void mirror_scan_cub(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int b = 0; b < 4; b++)
        for (int i = 0; i < 256; i++) {
            out[256 * b + i] = out[1024 + b];
            out[1024 + b] += in[256 * b + i];
        }
}

void mirror_scan_lookback(const uint32_t *in, void *to)
{
    uint32_t *out = to, sum = 0;

    for (int i = 0; i < WORDS; i++)
        out[i] = sum += in[i];
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void mirror_sort_bitonic(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    memcpy(out, in, 4 * WORDS);
    for (int b = 0; b < 8; b++)
        qsort(out + 512 * b, 512, 4, by_value);
}

/* All words differ, so the places are those of the values. */
void mirror_sort_radix(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    memcpy(out, in, 4 * 1024);
    for (int b = 0; b < 2; b++)
        qsort(out + 512 * b, 512, 4, by_value);
    for (int i = 0; i < 1024; i++)
        for (uint32_t k = 0; k < 1024; k++)
            if (in[k] == out[i])
                out[1024 + i] = k;
}

void mirror_sort_merge(const uint32_t *in, void *to)
{
    memcpy(to, in, 4 * 1024);
    qsort(to, 1024, 4, by_value);
}

void mirror_stencil_1d(const uint32_t *in, void *to)
{
    static const uint32_t weight[7] = { 1, 2, 3, 4, 3, 2, 1 };
    uint32_t *out = to;

    for (int i = 0; i < WORDS; i++)
        for (int d = 0; d < 7; d++)
            if (i + d >= 3 && i + d - 3 < WORDS)
                out[i] += weight[d] * in[i + d - 3];
}

void mirror_stencil_2d(const uint32_t *in, void *to)
{
    double v[32][32], *out = to;

    for (int i = 0; i < 1024; i++)
        v[i / 32][i % 32] = unit(in[i]);
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++) {
            double c = v[y][x];

            if (x > 0 && x < 31 && y > 0 && y < 31)
                c = 0.5 * c + (v[y - 1][x] + v[y + 1][x] + v[y][x - 1] +
                               v[y][x + 1]) / 8;
            out[32 * y + x] = c;
        }
}

static float cell(const uint32_t *in, int z, int y, int x)
{
    if ((z | y | x) & ~15)
        return 0;
    return (float)small(in[256 * z + 16 * y + x]);
}

void mirror_stencil_3d(const uint32_t *in, void *to)
{
    float *out = to;

    for (int i = 0; i < WORDS; i++) {
        int z = i / 256, y = i / 16 % 16, x = i % 16;

        out[i] = 6 * cell(in, z, y, x) - cell(in, z - 1, y, x) -
            cell(in, z + 1, y, x) - cell(in, z, y - 1, x) -
            cell(in, z, y + 1, x) - cell(in, z, y, x - 1) -
            cell(in, z, y, x + 1);
    }
}

void mirror_game_of_life(const uint32_t *in, void *to)
{
    static unsigned char now[64][64], next[64][64];
    uint32_t *out = to;

    for (int c = 0; c < WORDS; c++)
        now[c / 64][c % 64] = in[c / 32] >> c % 32 & 1;
    for (int step = 0; step < 8; step++) {
        for (int c = 0; c < WORDS; c++) {
            int n = 0;

            for (int y = c / 64 + 63; y <= c / 64 + 65; y++)
                for (int x = c % 64 + 63; x <= c % 64 + 65; x++)
                    n += now[y % 64][x % 64];
            next[c / 64][c % 64] = n == 3 || (now[c / 64][c % 64] && n == 4);
        }
        memcpy(now, next, sizeof now);
    }
    for (int c = 0; c < WORDS; c++)
        out[c / 32] |= (uint32_t)now[c / 64][c % 64] << c % 32;
}
