/* scan_lookback.cu -- inclusive sums of all, blocks look back at flags
 *
 * 16 x 256; out[i] = sum of in[0 .. i]; a block takes a ticket, so that all
 * before it run.
 */
//: nvrtc
#include "common.cuh"

__device__ unsigned ticket;
__device__ volatile unsigned long long state[16]; /* 1 own, 2 all; high: sum */

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned a[256], b, before;
    unsigned t = threadIdx.x;

    if (t == 0)
        b = atomicAdd(&ticket, 1);
    __syncthreads();
    a[t] = in[256 * b + t];
    __syncthreads();
    for (unsigned d = 1; d < 256; d *= 2) {
        unsigned more = t >= d ? a[t - d] : 0;
        __syncthreads();
        a[t] += more;
        __syncthreads();
    }
    if (t == 0) {
        before = 0;
        if (b)
            state[b] = (unsigned long long)a[255] << 32 | 1;
        for (int k = (int)b - 1; k >= 0; k--) {
            unsigned long long s;
            do
                s = state[k];
            while (!(s & 3));
            before += (unsigned)(s >> 32);
            if (s & 2)
                break;
        }
        state[b] = (unsigned long long)(before + a[255]) << 32 | 2;
    }
    __syncthreads();
    out[256 * b + t] = before + a[t];
}
