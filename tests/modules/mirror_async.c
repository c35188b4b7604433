/* mirror_async.c -- groups, clusters, barriers, copies */
#include "mirror.h"

void mirror_vote_match(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 512; i++) {
        uint32_t any = 0, all = 2;

        for (int l = 0; l < 32; l++) {
            uint32_t v = in[i / 32 * 32 + l];

            if ((v ^ in[i]) >> 31)
                continue;
            out[i] |= (uint32_t)!((v ^ in[i]) & 7) << l;
            out[512 + i] |= (v >> 4 & 1) << l;
            any |= (v & 63) == 0;
            if ((v & 63) == 1)
                all = 0;
        }
        out[1024 + i] = any + all + 4;
    }
}

void mirror_groups_grid(const uint32_t *in, void *to)
{
    uint32_t *out = to, *from = out, *next = out + 1024, *swap;

    memcpy(out, in, 4096);
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 1024; i++)
            next[i] = 3 * from[i] + from[1023 - i];
        swap = from;
        from = next;
        next = swap;
    }
}

void mirror_cluster_ring(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 512; i++)
        out[i] = in[i / 256 * 256 + (i + 64) % 256] + 3;
}

void mirror_cluster_histogram(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < WORDS; i++)
        out[in[i] & 255]++;
}

void mirror_barrier(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int t = 64; t < 128; t++)
        for (int round = 0; round < 16; round++)
            out[t] += in[64 * round + 127 - t];
    out[128] = 1;
    out[129] = 128;
}

void mirror_pipeline(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t i = 0; i < 128; i++)
        for (uint32_t b = 0; b < 16; b++)
            out[i] += (b + 1) * in[i / 64 * 1024 + 64 * b + 63 - i % 64];
}

void mirror_memcpy_async(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 256; i++) {
        int k = i / 128 * 128 + 127 - i % 128;

        out[i] = in[k] + in[128 + k];
    }
}

void mirror_bulk(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t i = 0; i < WORDS; i++)
        out[i] = (in[i] + i % 1024) * (i < 3072 ? 1 : 2);
}

void mirror_tensor(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (uint32_t b = 0; b < 25; b++)
        for (uint32_t k = 0; k < 256; k++) {
            uint32_t x = b % 5 * 16 - 8 + k % 16, y = b / 5 * 13 - 2 + k / 16;

            if (x < 64 && y < 64)
                out[b] += (k + 1) * in[64 * y + x];
        }
}

void mirror_validity(const uint32_t *in, void *to)
{
    uint32_t *out = to;

    for (int i = 0; i < 128; i++)
        out[i] = in[i] & 0x7fffffff;
    out[128] = 1;
}
