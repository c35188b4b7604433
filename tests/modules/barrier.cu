/* barrier.cu -- barrier, atomic, latch and semaphore of libcu++
 *
 * 1 x 128; two halves hand 16 rounds of words over; out[i] = sum of what came,
 * out[128] = most that was ever inside the semaphore at once, at most 3,
 * out[129] = all that went through it.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/utility>

using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ barrier ready, taken;
    using latch = cuda::latch<cuda::thread_scope_block>;
    using semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 3>;
    __shared__ alignas(latch) unsigned char room[2][sizeof(semaphore)];
    __shared__ unsigned slot[64];
    unsigned t = threadIdx.x, sum = 0;

    latch &begin = *(latch *)room[0];
    semaphore &gate = *(semaphore *)room[1];
    static_assert(sizeof(latch) <= sizeof(semaphore));
    if (t == 0) {
        init(&ready, 128);
        init(&taken, 128);
        new (&begin) latch(128);
        new (&gate) semaphore(3);
    }
    __syncthreads();
    begin.arrive_and_wait();
    for (unsigned round = 0; round < 16; round++) {
        if (t < 64) {
            slot[t] = in[64 * round + t];
            barrier::arrival_token token = ready.arrive();
            ready.wait(cuda::std::move(token));
        } else {
            ready.arrive_and_wait();
            sum += slot[127 - t];
        }
        taken.arrive_and_wait();
    }
    out[t] = sum;

    cuda::atomic_ref<unsigned, cuda::thread_scope_device> through(out[129]);
    __shared__ cuda::atomic<int, cuda::thread_scope_block> inside, most;
    if (t == 0) {
        inside.store(0);
        most.store(0);
    }
    __syncthreads();
    gate.acquire();
    most.fetch_max(inside.fetch_add(1) + 1);
    through.fetch_add(1, cuda::memory_order_relaxed);
    inside.fetch_sub(1);
    gate.release();
    __syncthreads();
    if (t == 0)
        out[128] = most.load() >= 1 && most.load() <= 3;
}
