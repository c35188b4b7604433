/* reduce_shuffle.cu -- sums of warps by shuffles and by redux.sync
 *
 * 16 x 256; warp w: out[w] = sum, out[128 + w] = most, out[256 + w] = all the
 * bits, out[384 + w] = sum of halves; out[512] = sum of all.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"

template <typename T> __device__ T warp_sum(T v)
{
    for (int d = 16; d; d /= 2)
        v += __shfl_down_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned i = thread(), v = in[i], w = i / 32;
    unsigned long long wide = warp_sum((unsigned long long)v << 20);
    unsigned most = __reduce_max_sync(~0u, v);
    unsigned bits = __reduce_or_sync(~0u, v & (1u << i % 32));
    unsigned sum = __reduce_add_sync(~0u, v);
    unsigned half = __shfl_xor_sync(~0u, v, 8, 16) + __shfl_up_sync(~0u, v, 3);

    half = __reduce_xor_sync(~0u, half);
    if (i % 32 == 0) {
        out[w] = (unsigned)(wide >> 20);
        out[128 + w] = most;
        out[256 + w] = bits;
        out[384 + w] = half;
        atomicAdd(out + 512, sum);
    }
}
