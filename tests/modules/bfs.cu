/* bfs.cu -- distances from node 0 in a graph of 1024 nodes, 3 edges each
 *
 * 1 x 256; edges of n go to the low ten bits of in[3n .. 3n + 2]; out[n] =
 * distance, ~0 = not reached; queues in shared memory.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    __shared__ unsigned distance[1024], queue[2][1024], count[2];
    unsigned t = threadIdx.x, now = 0;

    for (unsigned n = t; n < 1024; n += 256)
        distance[n] = n ? ~0u : 0;
    if (t == 0) {
        queue[0][0] = 0;
        count[0] = 1;
        count[1] = 0;
    }
    __syncthreads();
    for (unsigned depth = 1; count[now]; depth++) {
        for (unsigned k = t; k < count[now]; k += 256) {
            unsigned n = queue[now][k];
            for (unsigned e = 0; e < 3; e++) {
                unsigned to = in[3 * n + e] & 1023;
                if (atomicCAS(&distance[to], ~0u, depth) == ~0u)
                    queue[!now][atomicAdd(&count[!now], 1)] = to;
            }
        }
        __syncthreads();
        if (t == 0)
            count[now] = 0;
        now = !now;
        __syncthreads();
    }
    for (unsigned n = t; n < 1024; n += 256)
        out[n] = distance[n];
}
