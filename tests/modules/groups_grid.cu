/* groups_grid.cu -- all blocks wait for each other, four times
 *
 * 8 x 128, a cooperative launch; each step out[i] += out of the mirror, from
 * another block, of the step before.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    auto grid = cg::this_grid();
    unsigned i = grid.thread_rank(), n = grid.size(), from = 0;

    out[i] = in[i];
    for (unsigned step = 0; step < 4; step++) {
        grid.sync();
        out[(1 - from) * n + i] =
            3 * out[from * n + i] + out[from * n + (n - 1 - i)];
        from = 1 - from;
    }
    if (!grid.is_valid())
        out[0] = 0;
}
