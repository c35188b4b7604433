/* game_of_life.cu -- eight generations on a torus of 64 x 64, a word a half row
 *
 * 1 x 128; out[0 .. 127] = the board, bit b of word w = cell 32w + b.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned long long row[64];
    unsigned t = threadIdx.x;

    if (t < 64)
        row[t] = in[2 * t] | (unsigned long long)in[2 * t + 1] << 32;
    for (int step = 0; step < 8; step++) {
        unsigned long long next = 0;
        __syncthreads();
        if (t < 64)
            for (unsigned x = 0; x < 64; x++) {
                unsigned n = 0;
                for (unsigned d = 0; d < 9; d++)
                    if (d != 4)
                        n += row[(t + d / 3 + 63) & 63] >>
                            ((x + d % 3 + 63) & 63) & 1;
                unsigned long long alive = row[t] >> x & 1;
                next |= (unsigned long long)(n == 3 || (alive && n == 2)) << x;
            }
        __syncthreads();
        if (t < 64)
            row[t] = next;
    }
    __syncthreads();
    out[t] = (unsigned)(row[t / 2] >> t % 2 * 32);
}
