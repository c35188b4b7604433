/* monte_carlo.cu -- pi by points in a quarter circle, xorshift a thread
 *
 * 16 x 64, 64 points each; out[b] = points inside of block b, out[16] = all.
 */
//: nvrtc
#include "common.cuh"

struct xorshift {
    unsigned s;
    __device__ unsigned operator()()
    {
        s ^= s << 13;
        s ^= s >> 17;
        return s ^= s << 5;
    }
};

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    xorshift next = { in[thread()] | 1 };
    int inside = 0;

    for (int k = 0; k < 64; k++) {
        unsigned long long x = next() >> 1, y = next() >> 1;
        inside += x * x + y * y < 1ull << 62;
    }
    for (int k = 0; k < 2; k++)
        atomicAdd(k ? out + 16 : out + blockIdx.x, inside);
    if (__syncthreads_count(inside > 50) >= 32 && threadIdx.x == 0)
        out[32 + blockIdx.x] = 1;
}
