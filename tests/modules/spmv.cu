/* spmv.cu -- a sparse matrix by rows times a vector, a warp a row
 *
 * 16 x 128, 64 rows; row r has (in[r] & 63) entries from in[64 + 40r], column
 * low six bits, value the small integer; x[c] = small(in[3000 + c]).
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, int *out)
{
    unsigned row = thread() / 32, lane = threadIdx.x % 32;
    unsigned n = in[row] & 63;
    int sum = 0;

    for (unsigned k = lane; k < n; k += 32) {
        unsigned w = in[64 + 40 * row + k];
        sum += small(w) * small(in[3000 + (w & 63)]);
    }
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0)
        out[row] = sum;
}
