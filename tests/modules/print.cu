/* print.cu -- printf, and assertions that hold
 *
 * 1 x 32; out[t] = what printf returns, the number of its values, in t = 7.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned t = threadIdx.x;

    assert(t < 32);
    if (t == 7)
        out[t] = printf("  %u %s %5.2f %c %llx %%\n", t, "of print.cu", 0.125,
                        'z', 1ull << 40);
    assert(in[t] >> 16 < 65536);
}
