/* histogram_shared.cu -- 256 bins a block in shared memory, then added up
 *
 * 8 x 128, four words a thread; out[v] = bytes of value v in all words.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75 -lineinfo
#include "common.cuh"

extern "C" __global__ void run(const uint4 *in, unsigned *out)
{
    __shared__ unsigned bin[256];
    uint4 v = in[thread()];
    unsigned word[4] = { v.x, v.y, v.z, v.w };

    bin[threadIdx.x] = bin[threadIdx.x + 128] = 0;
    __syncthreads();
    for (unsigned k = 0; k < 16; k++)
        atomicAdd(&bin[word[k / 4] >> k % 4 * 8 & 255], 1);
    __syncthreads();
    for (unsigned k = threadIdx.x; k < 256; k += 128)
        atomicAdd(out + k, bin[k]);
}
