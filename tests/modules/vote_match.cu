/* vote_match.cu -- votes and matches of lanes that have come apart
 *
 * 4 x 128; out[i] = lanes of i's warp and branch with its low three bits,
 * out[512 + i] = ballot of bit 4 there, out[1024 + i] = any, all, uniform.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"

__device__ void vote(unsigned mask, unsigned v, unsigned *out)
{
    int same;

    out[0] = __match_any_sync(mask, v & 7);
    out[512] = __ballot_sync(mask, v & 16);
    out[1024] = (__any_sync(mask, (v & 63) == 0) != 0) +
        2 * (__all_sync(mask, (v & 63) != 1) != 0) +
        4 * (__match_all_sync(mask, v & 0, &same) == mask && same);
    __syncwarp(mask);
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned i = thread(), v = in[i], odd = __ballot_sync(~0u, v >> 31);

    if (v >> 31)
        vote(odd, v, out + i);
    else
        vote(~odd, v, out + i);
}
