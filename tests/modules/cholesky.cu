/* cholesky.cu -- A = L L' in float, 16 x 16, one warp and one column a step
 *
 * 1 x 16; A = M M' + 16 I of in[0 ..]; out = L, zero above the diagonal.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ float a[16][17];
    unsigned t = threadIdx.x;

    for (unsigned j = 0; j < 16; j++) {
        float sum = t == j ? 16 : 0;
        for (unsigned k = 0; k < 16; k++)
            sum += unit(in[16 * t + k]) * unit(in[16 * j + k]);
        a[t][j] = sum;
    }
    __syncwarp(0xffff);
    for (unsigned j = 0; j < 16; j++) {
        float d = sqrtf(a[j][j]);
        __syncwarp(0xffff);
        if (t == j)
            a[t][j] = d;
        else if (t > j)
            a[t][j] /= d;
        __syncwarp(0xffff);
        for (unsigned k = j + 1; k <= t; k++)
            a[t][k] -= a[t][j] * a[k][j];
        __syncwarp(0xffff);
    }
    for (unsigned j = 0; j <= t; j++)
        out[16 * t + j] = a[t][j];
}
