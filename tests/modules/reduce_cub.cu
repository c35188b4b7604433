/* reduce_cub.cu -- cub::BlockReduce and cub::WarpReduce
 *
 * 8 x 128; out[b] = sum of block b, out[8 + w] = most of warp w.
 */
//: nvrtc --device-as-default-execution-space
#include "common.cuh"
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    using block_reduce = cub::BlockReduce<unsigned, 128>;
    using warp_reduce = cub::WarpReduce<unsigned>;
    __shared__ typename block_reduce::TempStorage one;
    __shared__ typename warp_reduce::TempStorage four[4];
    unsigned v = in[thread()], sum = block_reduce(one).Sum(v);
    unsigned most = warp_reduce(four[threadIdx.x / 32]).Reduce(
        v, [](unsigned a, unsigned b) { return a > b ? a : b; });

    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
    if (threadIdx.x % 32 == 0)
        out[8 + thread() / 32] = most;
}
