/* philox.cu -- Philox 4x32-10, counter = place, key = two words
 *
 * 4 x 256; out[4i ..] = the four words of counter (i, 0, in[2], in[3]) under
 * key (in[0], in[1]).
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, uint4 *out)
{
    unsigned c[4] = { thread(), 0, in[2], in[3] }, k[2] = { in[0], in[1] };

#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xd2511f53u, c[0]), low0 = 0xd2511f53u * c[0];
        unsigned high1 = __umulhi(0xcd9e8d57u, c[2]), low1 = 0xcd9e8d57u * c[2];
        c[0] = high1 ^ c[1] ^ k[0];
        c[1] = low1;
        c[2] = high0 ^ c[3] ^ k[1];
        c[3] = low0;
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
    out[thread()] = make_uint4(c[0], c[1], c[2], c[3]);
}
