/* reduce_shared.cu -- sum, least and most of a block in shared memory
 *
 * 16 x 256; out[b] = sum, out[16 + b] = least, out[32 + b] = most of block b.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
//: nvrtc --gpu-architecture=compute_120
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned sum[256], least[256], most[256];
    unsigned t = threadIdx.x;

    sum[t] = least[t] = most[t] = in[thread()];
    __syncthreads();
    for (unsigned half = 128; half; half /= 2) {
        if (t < half) {
            sum[t] += sum[t + half];
            least[t] = min(least[t], least[t + half]);
            most[t] = max(most[t], most[t + half]);
        }
        __syncthreads();
    }
    if (t == 0) {
        out[blockIdx.x] = sum[0];
        out[16 + blockIdx.x] = least[0];
        out[32 + blockIdx.x] = most[0];
    }
}
