/* gemm_mma.cu -- ldmatrix and mma.sync.m16n8k16 in PTX, 32 x 32 x 32
 *
 * 1 x 64, a warp 16 rows; small integers in half, sums in float.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"
#include <cuda_fp16.h>

__device__ unsigned address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ alignas(16) half a[32][32], b[32][32];
    unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;

    for (unsigned i = threadIdx.x; i < 1024; i += 64) {
        a[i / 32][i % 32] = __int2half_rn(small(in[i]));
        b[i / 32][i % 32] = __int2half_rn(small(in[1024 + i]));
    }
    __syncthreads();
    for (unsigned n = 0; n < 32; n += 8) {
        float c[4] = { 0, 0, 0, 0 };
        for (unsigned k = 0; k < 32; k += 16) {
            unsigned ra[4], rb[2];
            asm volatile(
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                : "r"(address(&a[row + lane % 16][k + lane / 16 * 8])));
            asm volatile(
                "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                : "=r"(rb[0]), "=r"(rb[1])
                : "r"(address(&b[k + lane % 16][n])));
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]),
                  "r"(rb[1]));
        }
        for (unsigned e = 0; e < 4; e++)
            out[32 * (row + lane / 4 + e / 2 * 8) + n + lane % 4 * 2 + e % 2] =
                c[e];
    }
}
