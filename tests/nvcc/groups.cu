/* groups.cu -- cooperative groups: tiles, reductions, coalesced groups
 *
 * 64 threads; out[t] = sum of its tile of 8, out[64 + t] = rank among the odd
 * or even threads of its warp.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void run(unsigned *out)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    unsigned t = block.thread_rank();

    out[t] = cg::reduce(tile, t, cg::plus<unsigned>());
    if (t % 2) {
        auto odd = cg::coalesced_threads();

        out[64 + t] = odd.thread_rank() * 100 + odd.size();
    } else {
        auto even = cg::coalesced_threads();

        out[64 + t] = even.thread_rank() * 100 + even.size();
    }
    auto part = cg::labeled_partition(cg::tiled_partition<32>(block), t % 5);
    out[128 + t] = part.size();
}
