/* sort_merge.cu -- merge sort by rank: each element finds its place by search
 *
 * 1 x 512, two a thread; out[0 .. 1023] = in[0 .. 1023] in order.
 */
//: nvrtc
#include "common.cuh"

/* How many of the n words are less than v, or not more than it. */
__device__ unsigned rank_of(const unsigned *a, unsigned n, unsigned v, bool le)
{
    unsigned low = 0;

    while (n) {
        unsigned half = n / 2;
        if (le ? a[low + half] <= v : a[low + half] < v) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned room[2][1024];
    unsigned *a = room[0], *b = room[1];

    for (unsigned i = threadIdx.x; i < 1024; i += 512)
        a[i] = in[i];
    __syncthreads();
    for (unsigned size = 1; size < 1024; size *= 2) {
        for (unsigned i = threadIdx.x; i < 1024; i += 512) {
            unsigned pair = i / (2 * size) * (2 * size), right = i / size % 2;
            unsigned r = rank_of(a + pair + (right ? 0 : size), size, a[i],
                                 right);
            b[pair + i % size + r] = a[i];
        }
        __syncthreads();
        unsigned *swap = a;
        a = b;
        b = swap;
    }
    for (unsigned i = threadIdx.x; i < 1024; i += 512)
        out[i] = a[i];
}
