/* gemm_double.cu -- nvcuda::wmma of double, 8 x 8 x 4, in 16 x 16 x 16
 *
 * 1 x 128, a tile of 8 x 8 a warp; small integers, so exact.
 */
//: nvrtc
#include "common.cuh"
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void run(const unsigned *in, double *out)
{
    __shared__ double a[256], b[256];
    unsigned w = threadIdx.x / 32, row = w / 2 * 8, column = w % 2 * 8;

    for (unsigned i = threadIdx.x; i < 256; i += 128) {
        a[i] = small(in[i]);
        b[i] = small(in[256 + i]);
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (unsigned k = 0; k < 16; k += 4) {
        wmma::load_matrix_sync(fa, a + 16 * row + k, 16);
        wmma::load_matrix_sync(fb, b + 16 * k + column, 16);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(out + 16 * row + column, sum, 16,
                            wmma::mem_row_major);
}
