/* stencil_2d.cu -- a step of heat in double on 32 x 32, blocks of 8 x 8
 *
 * 16 x 64; out = 1024 doubles, edges kept: c + (n + s + e + w - 4c) / 8, all
 * of it exact.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80 --fmad=false
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, double *out)
{
    __shared__ double tile[10][10];
    int bx = blockIdx.x % 4 * 8, by = blockIdx.x / 4 * 8;
    int tx = threadIdx.x % 8, ty = threadIdx.x / 8;

    for (int k = threadIdx.x; k < 100; k += 64) {
        int x = bx + k % 10 - 1, y = by + k / 10 - 1;
        bool in_side = x >= 0 && x < 32 && y >= 0 && y < 32;
        tile[k / 10][k % 10] = in_side ? unit(in[32 * y + x]) : 0;
    }
    __syncthreads();
    int x = bx + tx, y = by + ty;
    double c = tile[ty + 1][tx + 1];
    if (x > 0 && x < 31 && y > 0 && y < 31)
        c += 0.125 * (tile[ty][tx + 1] + tile[ty + 2][tx + 1] +
                      tile[ty + 1][tx] + tile[ty + 1][tx + 2] - 4 * c);
    out[32 * y + x] = c;
}
