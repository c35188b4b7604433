/* stencil_1d.cu -- sum of seven neighbours, with a halo in shared memory
 *
 * 16 x 256; out[i] = sum of in[i - 3 .. i + 3] weighted 1 2 3 4 3 2 1, zero
 * beyond the ends.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned s[256 + 6];
    int i = (int)thread(), t = threadIdx.x;

    s[t + 3] = in[i];
    if (t < 3) {
        s[t] = i >= 3 ? in[i - 3] : 0;
        s[t + 259] = i + 256 < WORDS ? in[i + 256] : 0;
    }
    __syncthreads();
    unsigned sum = 0;
#pragma unroll
    for (int d = -3; d <= 3; d++)
        sum += (4 - (d < 0 ? -d : d)) * s[t + 3 + d];
    out[i] = sum;
}
