/* sort_bitonic.cu -- each block sorts 512 words in shared memory
 *
 * 8 x 256; out = in, each 512 words in order.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned v[512];
    unsigned t = threadIdx.x, at = 512 * blockIdx.x;

    v[t] = in[at + t];
    v[t + 256] = in[at + t + 256];
    for (unsigned size = 2; size <= 512; size *= 2)
        for (unsigned d = size / 2; d; d /= 2) {
            unsigned i = 2 * t - (t & (d - 1)), j = i + d;
            __syncthreads();
            unsigned a = v[i], b = v[j];
            if ((a > b) == !(i & size)) {
                v[i] = b;
                v[j] = a;
            }
        }
    __syncthreads();
    out[at + t] = v[t];
    out[at + t + 256] = v[t + 256];
}
