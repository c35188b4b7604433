/* search.cu -- where a text of bytes has one of four words of three letters
 *
 * 16 x 256; a byte of in, mod 4, is a letter; out[w] = occurrences of word w,
 * out[4 + w] = the first of them; words lie in constant memory.
 */
//: nvrtc
#include "common.cuh"

__constant__ char word[4][4] = { "abc", "aaa", "dca", "bdb" };

extern "C" __global__ void run(const unsigned char *in, unsigned *out)
{
    __shared__ unsigned first[4];
    unsigned i = thread();

    if (threadIdx.x < 4)
        first[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned at = 4 * i; at < 4 * i + 4 && at < 4 * WORDS - 2; at++)
        for (unsigned w = 0; w < 4; w++) {
            unsigned k = 0;
            while (k < 3 && 'a' + in[at + k] % 4 == word[w][k])
                k++;
            if (k == 3) {
                atomicAdd(out + w, 1);
                atomicMax(first + w, ~at);
            }
        }
    __syncthreads();
    if (threadIdx.x < 4)
        atomicMax(out + 4 + threadIdx.x, first[threadIdx.x]);
}
