/* pipeline.cu -- cuda::pipeline of two stages, filled by cuda::memcpy_async
 *
 * 2 x 64, dynamic shared memory; out[i] = sum over 16 batches of the
 * block's words at i's mirror, times the batch's number.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    extern __shared__ unsigned stage[];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned t = threadIdx.x, sum = 0;
    const unsigned *from = in + 1024 * blockIdx.x;

    for (unsigned batch = 0, next = 0; batch < 16; batch++) {
        for (; next < 16 && next < batch + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage + next % 2 * 64, from + 64 * next,
                               cuda::aligned_size_t<16>(256), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += (batch + 1) * stage[batch % 2 * 64 + 63 - t];
        pipe.consumer_release();
    }
    out[thread()] = sum;
}
