/* stencil_3d.cu -- seven points in a cube of 16, planes kept in registers
 *
 * 1 x 256, a column of 16 each; out[z][y][x] = 6c - the six neighbours, of
 * small integers in float, zero outside.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ float plane[18][18];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float below = 0, here = small(in[threadIdx.x]), above;

    for (int k = threadIdx.x; k < 324; k += 256)
        plane[k / 18][k % 18] = 0;
    __syncthreads();
    for (int z = 0; z < 16; z++) {
        above = z < 15 ? small(in[256 * (z + 1) + threadIdx.x]) : 0;
        plane[y + 1][x + 1] = here;
        __syncthreads();
        out[256 * z + threadIdx.x] = 6 * here - below - above -
            plane[y][x + 1] - plane[y + 2][x + 1] - plane[y + 1][x] -
            plane[y + 1][x + 2];
        __syncthreads();
        below = here;
        here = above;
    }
}
