/* scan_shared.cu -- inclusive sums of a block, and exclusive ones by a tree
 *
 * 8 x 256; out[i], out[2048 + i] = inclusive, exclusive sum within the block.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_100
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned a[2][256], tree[256];
    unsigned t = threadIdx.x, from = 0;

    a[0][t] = tree[t] = in[thread()];
    __syncthreads();
    for (unsigned d = 1; d < 256; d *= 2) {
        a[!from][t] = a[from][t] + (t >= d ? a[from][t - d] : 0);
        from = !from;
        __syncthreads();
    }
    out[thread()] = a[from][t];
    for (unsigned d = 1; d < 256; d *= 2) {
        if (t % (2 * d) == 2 * d - 1)
            tree[t] += tree[t - d];
        __syncthreads();
    }
    if (t == 255)
        tree[t] = 0;
    __syncthreads();
    for (unsigned d = 128; d; d /= 2) {
        if (t % (2 * d) == 2 * d - 1) {
            unsigned left = tree[t - d];
            tree[t - d] = tree[t];
            tree[t] += left;
        }
        __syncthreads();
    }
    out[2048 + thread()] = tree[t];
}
