/* gemm_int8.cu -- bytes: __dp4a, and mma.sync.m16n8k32 in PTX
 *
 * 1 x 32; A = 16 x 32 bytes of in[0 ..], B = 8 columns of 32 from in[128 ..];
 * out[16 x 8] by mma, out[128 ..] by __dp4a.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, int *out)
{
    unsigned lane = threadIdx.x, g = lane / 4, t = lane % 4;
    const unsigned *a = in, *b = in + 128;
    int c[4] = { 0, 0, 0, 0 };

    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[8 * g + t]), "r"(a[8 * (g + 8) + t]),
                   "r"(a[8 * g + t + 4]), "r"(a[8 * (g + 8) + t + 4]),
                   "r"(b[8 * g + t]), "r"(b[8 * g + t + 4]));
    for (unsigned e = 0; e < 4; e++)
        out[8 * (g + e / 2 * 8) + 2 * t + e % 2] = c[e];
    for (unsigned i = lane; i < 128; i += 32) {
        int sum = 0;
        for (unsigned k = 0; k < 8; k++)
            sum = __dp4a((int)a[i / 8 * 8 + k], (int)b[i % 8 * 8 + k], sum);
        out[128 + i] = sum;
    }
}
