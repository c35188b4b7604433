/* fp8.cu -- e4m3 and e5m2 of cuda_fp8.h, there and back
 *
 * 4 x 256; out[i] = the two bytes of numbers of in[i] around zero, saturated,
 * out[1024 + i], out[2048 + i] = the low byte of in[i] as e4m3, e5m2 in half.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
//: nvrtc --gpu-architecture=compute_100a
#include "common.cuh"
#include <cuda_fp8.h>

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned i = thread(), byte = in[i] & 255;
    float f = ldexpf(unit(in[i]) - 0.5f, (int)(in[i] & 31) - 12);
    __nv_fp8_e4m3 a(f);
    __nv_fp8_e5m2 b(f);

    out[i] = a.__x | b.__x << 8;
    __half_raw h = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)byte, __NV_E4M3);
    out[1024 + i] = (byte & 0x7f) == 0x7f ? 0 : h.x;
    h = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)byte, __NV_E5M2);
    out[2048 + i] = (byte & 0x7f) > 0x7c ? 0 : h.x;
}
