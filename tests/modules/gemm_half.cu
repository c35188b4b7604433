/* gemm_half.cu -- products of half2 with small integers, 32 x 32
 *
 * 2 x 256, two columns a thread; sums stay below 2048, so they are exact.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void run(const unsigned *in, float *out)
{
    unsigned i = thread() / 16, j = thread() % 16 * 2;
    __half2 sum = __float2half2_rn(0);

    for (unsigned k = 0; k < 32; k++) {
        __half2 a = __half2half2(__int2half_rn(small(in[32 * i + k]) / 2));
        const unsigned *b = in + 1024 + 32 * k + j;
        sum = __hfma2(a, __halves2half2(__int2half_rn(small(b[0])),
                                        __int2half_rn(small(b[1]))), sum);
    }
    out[32 * i + j] = __low2float(sum);
    out[32 * i + j + 1] = __high2float(sum);
}
