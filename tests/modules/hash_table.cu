/* hash_table.cu -- open addressing with atomicCAS, 512 keys of 2048 words
 *
 * 8 x 256; out[k] = how often key k (low nine bits) occurs, read back through
 * the table; out[512] = slots in use.
 */
//: nvrtc
#include "common.cuh"

__device__ unsigned long long slot[1024]; /* key + 1, count above */
__device__ unsigned done;

__device__ unsigned find(unsigned key)
{
    unsigned at = key * 2654435761u >> 22;

    for (;; at = (at + 1) % 1024) {
        unsigned long long was = *(volatile unsigned long long *)&slot[at];
        while (!was) {
            was = atomicCAS(&slot[at], 0ull, key + 1ull);
            if (!was)
                return at;
        }
        if ((unsigned)was == key + 1)
            return at;
    }
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ bool last;

    atomicAdd(&slot[find(in[thread()] & 511)], 1ull << 32);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&done, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    for (unsigned k = threadIdx.x; k < 1024; k += 256) {
        unsigned long long v = *(volatile unsigned long long *)&slot[k];
        if (v) {
            out[(unsigned)v - 1] = (unsigned)(v >> 32);
            atomicAdd(out + 512, 1);
        }
    }
}
