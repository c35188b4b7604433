/* gemm_bf16.cu -- nvcuda::wmma of bfloat16, 32 x 32 x 32, sums in float
 *
 * 1 x 128, a tile of 16 x 16 a warp; small integers, so exact.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ __nv_bfloat16 a[32 * 32], b[32 * 32];
    unsigned w = threadIdx.x / 32, row = w / 2 * 16, column = w % 2 * 16;

    for (unsigned i = threadIdx.x; i < 1024; i += 128) {
        a[i] = __float2bfloat16(small(in[i]));
        b[i] = __int2bfloat16_rn(small(in[1024 + i]));
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16,
                   wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16,
                   wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (unsigned k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(fa, a + 32 * row + k, 32);
        wmma::load_matrix_sync(fb, b + 32 * k + column, 32);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(out + 32 * row + column, sum, 32,
                            wmma::mem_row_major);
}
