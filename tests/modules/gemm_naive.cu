/* gemm_naive.cu -- C = A B in double, 32 x 32, of small integers
 *
 * 4 x 256; A = in[0 ..], B = in[1024 ..].
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, double *out)
{
    unsigned i = thread() / 32, j = thread() % 32;
    double sum = 0;

    for (unsigned k = 0; k < 32; k++)
        sum += (double)small(in[32 * i + k]) * small(in[1024 + 32 * k + j]);
    out[thread()] = sum;
}
