/* transpose.cu -- 64 x 64 words by tiles of 32, padded against conflicts
 *
 * 4 x 256; out[x][y] = in[y][x].
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *__restrict__ in,
                               unsigned *__restrict__ out)
{
    __shared__ unsigned tile[32][33];
    unsigned bx = blockIdx.x % 2 * 32, by = blockIdx.x / 2 * 32;
    unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;

#pragma unroll
    for (unsigned k = 0; k < 32; k += 8)
        tile[y + k][x] = __ldg(in + 64 * (by + y + k) + bx + x);
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 32; k += 8)
        __stcs(out + 64 * (bx + y + k) + by + x, tile[x][y + k]);
}
