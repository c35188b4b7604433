/* groups_tile.cu -- tiles of two and of four warps
 *
 * 4 x 128; out[i] = sum of i's tile of 64, out[512 + i] = most of the tile of
 * 128, out[1024 + i] = what i left in shared memory before.  From compute
 * capability 8.0 on such tiles meet in reserved shared memory.
 */
//: nvrtc
#include "common.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned kept[128];
    __shared__ cg::block_tile_memory<128> memory;
    unsigned i = thread(), v = in[i];

    kept[threadIdx.x] = v ^ 0x5a5a5a5a;
    auto block = cg::this_thread_block(memory);
    auto two = cg::tiled_partition<64>(block);
    auto four = cg::tiled_partition<128>(block);

    out[i] = cg::reduce(two, v, cg::plus<unsigned>());
    out[512 + i] = cg::reduce(four, v, cg::greater<unsigned>());
    block.sync();
    out[1024 + i] = kept[threadIdx.x ^ 1];
}
