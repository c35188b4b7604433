/* scan_cub.cu -- cub::BlockScan over four words a thread
 *
 * 4 x 64; out[i] = exclusive sum of the block's 256 words before i,
 * out[1024 + b] = sum of block b.
 */
//: nvrtc
#include "common.cuh"
#include <cub/block/block_scan.cuh>

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    using scan = cub::BlockScan<unsigned, 64>;
    __shared__ typename scan::TempStorage room;
    unsigned v[4], all, at = 4 * thread();

    for (int k = 0; k < 4; k++)
        v[k] = in[at + k];
    scan(room).ExclusiveSum(v, v, all);
    for (int k = 0; k < 4; k++)
        out[at + k] = v[k];
    if (threadIdx.x == 0)
        out[1024 + blockIdx.x] = all;
}
