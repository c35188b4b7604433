/* barrier.cu -- cuda::barrier and cuda::atomic of libcu++
 *
 * 64 threads; out[t] = sum over i of (i + 1) up to t's mirror, out[64] = 64.
 */
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/utility>

using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void run(unsigned *out)
{
    __shared__ barrier bar;
    __shared__ unsigned value[64];
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> count;
    unsigned t = threadIdx.x;

    if (t == 0) {
        init(&bar, blockDim.x);
        count.store(0);
    }
    __syncthreads();
    value[t] = t + 1;
    count.fetch_add(1, cuda::memory_order_relaxed);
    bar.arrive_and_wait();
    unsigned sum = 0;
    for (unsigned i = 0; i < 64 - t; i++)
        sum += value[i];
    barrier::arrival_token token = bar.arrive();
    out[t] = sum;
    bar.wait(cuda::std::move(token));
    if (t == 0)
        out[64] = count.load();
}
