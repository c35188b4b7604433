/* memcpy_async.cu -- cuda::memcpy_async on a barrier, and of a group
 *
 * 2 x 128; out[i] = word of i's mirror in the block plus that of the next one,
 * which came through the two ways.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ alignas(16) unsigned a[128], b[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    const unsigned *from = in + 128 * blockIdx.x;

    if (threadIdx.x == 0)
        init(&bar, 128);
    block.sync();
    cuda::memcpy_async(block, a, from, cuda::aligned_size_t<16>(512), bar);
    cg::memcpy_async(block, b, from + 128, 512);
    bar.arrive_and_wait();
    cg::wait(block);
    out[thread()] = a[127 - threadIdx.x] + b[127 - threadIdx.x];
}
