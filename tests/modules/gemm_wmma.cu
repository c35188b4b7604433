/* gemm_wmma.cu -- nvcuda::wmma of half, A by rows and B by columns
 *
 * 1 x 64; warp 0: 16 x 16 in float, warp 1: the same in half, 8 x 32 x 16.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"
#include <mma.h>
using namespace nvcuda;

template <int M, int N, typename T>
__device__ void product(const half *a, const half *b, T *c)
{
    wmma::fragment<wmma::matrix_a, M, N, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, 16, T> sum;

    wmma::fill_fragment(sum, T(1));
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = sum.x[i] * T(0.5f);
    wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
}

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ half a[256], b[512], c[256];

    for (unsigned i = threadIdx.x; i < 512; i += 64) {
        if (i < 256)
            a[i] = __int2half_rn(small(in[i]));
        b[i] = __int2half_rn(small(in[256 + i]));
    }
    __syncthreads();
    if (threadIdx.x < 32)
        product<16, 16, float>(a, b, out);
    else
        product<8, 32, half>(a, b, c);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += 64)
        out[256 + i] = __half2float(c[i]);
}
