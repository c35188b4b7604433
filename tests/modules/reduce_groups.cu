/* reduce_groups.cu -- tiles, coalesced and labelled groups of a warp
 *
 * 4 x 128; out[i] = sum of i's tile of 16, out[512 + i] = most of those with
 * i's remainder mod 3 in its warp, out[1024 + i] = size of the group of odd
 * or even words, out[1536 + i] = inclusive sum in the tile of 8.
 */
//: nvrtc
#include "common.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<16>(warp);
    auto eight = cg::tiled_partition<8>(warp);
    unsigned i = thread(), v = in[i];

    out[i] = cg::reduce(tile, v, cg::plus<unsigned>());
    auto same = cg::labeled_partition(warp, i % 3);
    out[512 + i] = cg::reduce(same, v, cg::greater<unsigned>());
    if (v & 1) {
        auto now = cg::coalesced_threads();
        out[1024 + i] = now.size();
    } else {
        auto now = cg::coalesced_threads();
        out[1024 + i] = 1000 + now.size();
    }
    out[1536 + i] = cg::inclusive_scan(eight, v, cg::plus<unsigned>());
    block.sync();
}
