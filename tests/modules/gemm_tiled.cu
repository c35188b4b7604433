/* gemm_tiled.cu -- C = A B in float, 48 x 48, tiles of 16 in shared memory
 *
 * 9 x 256; A = in[0 ..], B = in[1500 ..], numbers of [0, 1).
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_89 --use_fast_math
#include "common.cuh"

template <int N> __device__ float tile_product(const float (&a)[N][N],
                                               const float (&b)[N][N])
{
    float sum = 0;
#pragma unroll
    for (int k = 0; k < N; k++)
        sum += a[threadIdx.x / N][k] * b[k][threadIdx.x % N];
    return sum;
}

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int row = blockIdx.x / 3 * 16 + y, column = blockIdx.x % 3 * 16 + x;
    float sum = 0;

    for (int k = 0; k < 48; k += 16) {
        a[y][x] = unit(in[48 * row + k + x]);
        b[y][x] = unit(in[1500 + 48 * (k + y) + column]);
        __syncthreads();
        sum += tile_product(a, b);
        __syncthreads();
    }
    out[48 * row + column] = sum;
}
