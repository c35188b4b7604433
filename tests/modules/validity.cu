/* validity.cu -- cuda::ptx: copies that report whether a sentinel was left
 *
 * 1 x 128; a tile of 128 words in the output holds sentinels; the copy
 * reports; then words come, and it is issued again.  out[0 .. 127] = the
 * words, out[128] = reports of the first copy, out[129] = of the last.
 */
//: nvrtc --gpu-architecture=compute_107a
//: newest
#include "common.cuh"
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__device__ bool copy(unsigned *tile, const unsigned *from,
                     cuda::std::uint64_t *bar, unsigned parity)
{
    bool seen = false;

    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                       ptx::space_shared, bar, 512);
        ptx::cp_async_bulk(ptx::space_shared, ptx::space_global,
                           ptx::mbarrier_report_valid_per_16bytes_80000000_t(),
                           tile, from, 512, bar);
    }
    while (!ptx::mbarrier_try_wait_parity(ptx::mbarrier_phase_primary_t(),
                                          ptx::sem_acquire, ptx::scope_cta,
                                          seen, bar, parity))
        ;
    return seen;
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ alignas(128) unsigned tile[128];
    __shared__ cuda::std::uint64_t bar;
    unsigned t = threadIdx.x;

    out[t] = 0x80000000;
    if (t == 0)
        ptx::mbarrier_init(ptx::layout_v1_t(), &bar, 1);
    ptx::fence_proxy_async();
    __syncthreads();
    bool first = copy(tile, out, &bar, 0);
    if (t == 0)
        out[128] = first;
    __syncthreads();
    out[t] = in[t] & 0x7fffffff;
    ptx::fence_proxy_async();
    __syncthreads();
    bool last = copy(tile, out, &bar, 1);
    out[t] = tile[t];
    if (t == 0)
        out[129] = last;
}
