/* fp16.cu -- half and bfloat16 from float and back, sums and comparisons
 *
 * 4 x 256; out[i] = the bits of half and bfloat16 of a number of in[i],
 * out[1024 + i] = of it as float again plus one in half, out[2048 + i] =
 * comparisons of neighbours.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned i = thread();
    float f = ldexpf(unit(in[i]) - 0.5f, (int)(in[i] & 63) - 30);
    __half h = __float2half_rn(f), n = __float2half_rz(f);
    __nv_bfloat16 b = __float2bfloat16_rn(f);
    __half2 pair = __halves2half2(h, n);

    out[i] = __half_as_ushort(h) | __bfloat16_as_ushort(b) << 16;
    out[1024 + i] = __half_as_ushort(__hadd(h, __float2half(1.0f))) |
        __half_as_ushort(n) << 16;
    out[2048 + i] = __hlt(n, h) + 2 * __heq(h, n) + 4 * __hisinf(h) +
        8 * (__half2int_rz(__hmax(h, n)) & 1) +
        16 * __hbge2(pair, __lowhigh2highlow(pair));
    out[3072 + i] = __float_as_uint(__bfloat162float(b) - __high2float(pair));
}
