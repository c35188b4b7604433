/* pipeline.cu -- cuda::pipeline: copies to shared memory, two stages
 *
 * 64 threads; in 512 words at out[64..575], out[t] = sum of t's column.
 */
#include <cooperative_groups.h>
#include <cuda/pipeline>

extern "C" __global__ void run(unsigned *out)
{
    __shared__ unsigned stage[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned t = threadIdx.x, sum = 0;

    for (unsigned i = 0; i < 8; i++)
        out[64 + 64 * i + t] = 3 * i + t;
    block.sync();
    for (unsigned i = 0; i < 9; i++) {
        if (i < 8) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[i % 2], out + 64 + 64 * i,
                               sizeof stage[0], pipe);
            pipe.producer_commit();
        }
        if (i > 0) {
            pipe.consumer_wait();
            sum += stage[(i - 1) % 2][63 - t];
            pipe.consumer_release();
        }
    }
    out[t] = sum;
}
