/* compact.cu -- words below a bound, kept in order: ballots, a scan of warps
 *
 * 1 x 512, eight rounds; out[0] = how many, then they.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned before[17], base;
    unsigned t = threadIdx.x, lane = t % 32, w = t / 32;

    if (t == 0)
        base = 0;
    for (unsigned at = 0; at < WORDS; at += 512) {
        unsigned v = in[at + t];
        unsigned kept = __ballot_sync(~0u, v < 0x60000000);
        if (lane == 0)
            before[w + 1] = __popc(kept);
        __syncthreads();
        if (t == 0) {
            before[0] = base;
            for (unsigned k = 0; k < 16; k++)
                before[k + 1] += before[k];
            base = before[16];
        }
        __syncthreads();
        if (kept >> lane & 1)
            out[1 + before[w] + __popc(kept & ((1u << lane) - 1))] = v;
        __syncthreads();
    }
    if (t == 0)
        out[0] = base;
}
