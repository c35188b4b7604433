/* bulk.cu -- cuda::ptx: bulk copies in, out, and one that adds
 *
 * 4 x 128; a block's 1024 words come in one copy, out[i] = them plus their
 * place, out in one copy; out of the last block is added once more.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_100a
#include "common.cuh"
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ alignas(128) unsigned tile[1024];
    __shared__ unsigned long long bar;
    unsigned at = 1024 * blockIdx.x;
    auto *word = (cuda::std::uint64_t *)&bar;

    if (threadIdx.x == 0) {
        ptx::mbarrier_init(word, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                       ptx::space_shared, word, sizeof tile);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile,
                           in + at, sizeof tile, word);
    }
    while (!ptx::mbarrier_try_wait_parity(word, 0))
        ;
    for (unsigned k = threadIdx.x; k < 1024; k += 128)
        tile[k] += k;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + at, tile,
                           sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
        if (blockIdx.x == 3) {
            ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared,
                                      ptx::op_add, out + at, tile,
                                      sizeof tile);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
    }
}
