/* mirror_matrix.c -- matrix products and a factorization */
#include "mirror.h"
#include <math.h>

/* c[i][j] = sum over k of a[i][k] b[k][j], of small integers. */
static int product(const uint32_t *a, const uint32_t *b, int n, int i, int j)
{
    int sum = 0;

    for (int k = 0; k < n; k++)
        sum += small(a[n * i + k]) * small(b[n * k + j]);
    return sum;
}

void mirror_gemm_naive(const uint32_t *in, void *to)
{
    double *out = to;

    for (int i = 0; i < 1024; i++)
        out[i] = product(in, in + 1024, 32, i / 32, i % 32);
}

void mirror_gemm_tiled(const uint32_t *in, void *to)
{
    float *out = to;

    for (int i = 0; i < 48; i++)
        for (int j = 0; j < 48; j++) {
            double sum = 0;

            for (int k = 0; k < 48; k++)
                sum += (double)unit(in[48 * i + k]) *
                    unit(in[1500 + 48 * k + j]);
            out[48 * i + j] = (float)sum;
        }
}

void mirror_gemm_half(const uint32_t *in, void *to)
{
    float *out = to;

    for (int i = 0; i < 1024; i++)
        for (int k = 0; k < 32; k++)
            out[i] += (float)(small(in[i / 32 * 32 + k]) / 2 *
                              small(in[1024 + 32 * k + i % 32]));
}

static void square(const uint32_t *in, float *out)
{
    for (int i = 0; i < 1024; i++)
        out[i] = (float)product(in, in + 1024, 32, i / 32, i % 32);
}

void mirror_gemm_bf16(const uint32_t *in, void *to)
{
    square(in, to);
}

void mirror_gemm_mma(const uint32_t *in, void *to)
{
    square(in, to);
}

/* The second matrix lies by columns. */
static float by_columns(const uint32_t *a, const uint32_t *b, int i, int j)
{
    int sum = 1;

    for (int k = 0; k < 16; k++)
        sum += small(a[16 * i + k]) * small(b[16 * j + k]);
    return (float)sum / 2;
}

void mirror_gemm_wmma(const uint32_t *in, void *to)
{
    float *out = to;

    for (int i = 0; i < 256; i++) {
        out[i] = by_columns(in, in + 256, i / 16, i % 16);
        out[256 + i] = by_columns(in, in + 256, i / 32, i % 32);
    }
}

void mirror_gemm_int8(const uint32_t *in, void *to)
{
    const int8_t *a = (const int8_t *)in, *b = (const int8_t *)(in + 128);
    int32_t *out = to;

    for (int i = 0; i < 128; i++) {
        for (int k = 0; k < 32; k++)
            out[i] += a[i / 8 * 32 + k] * b[i % 8 * 32 + k];
        out[128 + i] = out[i];
    }
}

void mirror_gemm_double(const uint32_t *in, void *to)
{
    double *out = to;

    for (int i = 0; i < 256; i++)
        out[i] = product(in, in + 256, 16, i / 16, i % 16);
}

void mirror_cholesky(const uint32_t *in, void *to)
{
    double l[16][16] = { { 0 } };
    float *out = to;

    for (int i = 0; i < 16; i++)
        for (int j = 0; j <= i; j++) {
            double sum = i == j ? 16 : 0;

            for (int k = 0; k < 16; k++)
                sum += (double)unit(in[16 * i + k]) * unit(in[16 * j + k]);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
            out[16 * i + j] = (float)l[i][j];
        }
}
