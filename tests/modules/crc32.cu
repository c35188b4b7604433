/* crc32.cu -- CRC-32 of 16 bytes a thread, bit by bit and by a table
 *
 * 4 x 256; out[i] = CRC of in[4i .. 4i + 3], out[1024 + i] the same by a
 * table that the block makes.
 */
//: nvrtc
//: nvrtc -G
#include "common.cuh"

__device__ unsigned step(unsigned c, unsigned bits)
{
    for (unsigned k = 0; k < bits; k++)
        c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    return c;
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned table[256];
    unsigned i = thread(), a = ~0u, b = ~0u;

    table[threadIdx.x] = step(threadIdx.x, 8);
    __syncthreads();
    for (unsigned k = 0; k < 4; k++) {
        unsigned w = in[4 * i + k];
        a = step(a ^ w, 32);
        for (unsigned byte = 0; byte < 4; byte++)
            b = table[(b ^ w >> 8 * byte) & 255] ^ b >> 8;
    }
    out[i] = ~a;
    out[1024 + i] = ~b;
}
