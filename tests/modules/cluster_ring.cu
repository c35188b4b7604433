/* cluster_ring.cu -- blocks of a cluster hand words on in a ring
 *
 * 8 x 64, clusters of 4; out[i] = word of i's thread in the block before in
 * the cluster, passed on three times with one added each.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_90a
//: nvrtc --gpu-architecture=compute_100
#include "common.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned word[2][64];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), n = cluster.num_blocks();

    word[0][threadIdx.x] = in[thread()];
    for (unsigned step = 0; step < 3; step++) {
        cluster.sync();
        unsigned *next = cluster.map_shared_rank(word[(step + 1) & 1],
                                                 (rank + 1) % n);
        next[threadIdx.x] = word[step & 1][threadIdx.x] + 1;
    }
    cluster.sync();
    out[thread()] = word[1][threadIdx.x];
}
