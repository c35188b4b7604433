/* cluster_histogram.cu -- bins spread over the shared memory of a cluster
 *
 * 4 x 256, one cluster of 4, a block holds 64 of 256 bins; out[v] = words
 * with low byte v; the size is in the kernel.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_120
#include "common.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1)
run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned bin[64];
    auto cluster = cg::this_cluster();

    if (threadIdx.x < 64)
        bin[threadIdx.x] = 0;
    cluster.sync();
    for (unsigned i = thread(); i < WORDS; i += 1024) {
        unsigned v = in[i] & 255;
        atomicAdd(cluster.map_shared_rank(bin, v / 64) + v % 64, 1);
    }
    cluster.sync();
    if (threadIdx.x < 64)
        out[64 * cluster.block_rank() + threadIdx.x] = bin[threadIdx.x];
}
