/* tensor.cu -- cuda::ptx: boxes of 16 x 16 by a tensor map, some outside
 *
 * 25 x 64; block b loads the box at x = 16 (b % 5) - 8, y = 13 (b / 5) - 2 of
 * 64 x 64 words; out[b] = sum of (k + 1) times its k-th word, 0 outside.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_90a
//: nvrtc --gpu-architecture=compute_120
#include "common.cuh"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(64) tensor_map {
    unsigned char opaque[128];
};

extern "C" __global__ void run(const unsigned *, unsigned *out,
                               const __grid_constant__ tensor_map map)
{
    __shared__ alignas(128) unsigned box[256];
    __shared__ cuda::std::uint64_t bar;
    unsigned b = blockIdx.x, sum = 0;

    if (threadIdx.x == 0) {
        int at[2] = { (int)(b % 5 * 16) - 8, (int)(b / 5 * 13) - 2 };
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                       ptx::space_shared, &bar, sizeof box);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box,
                                  &map, at, &bar);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&bar, 0))
        ;
    for (unsigned k = threadIdx.x; k < 256; k += 64)
        sum += (k + 1) * box[k];
    atomicAdd(out + b, sum);
}
