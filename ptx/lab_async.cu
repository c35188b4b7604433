/* lab_async.cu -- cp.async double buffering: the next tile lands meanwhile
 *
 * The twin of lab_async.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_transform.c
 */
#include "lab.cuh"

/* My chunks of a tile of `here` floats, closed to a group; of the last chunk
 * of all only what is there. */
static __device__ void issue(float *to, const float *from, unsigned here)
{
    for (unsigned i = 4 * threadIdx.x; i < here; i += 4 * THREADS) {
        const unsigned to_shared = (unsigned)__cvta_generic_to_shared(to + i);
        const unsigned bytes = here - i < 4 ? 4 * (here - i) : 16;

        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(to_shared),
                       "l"(__cvta_generic_to_global(from + i)), "r"(bytes)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" : : : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(const float *__restrict__ p_in, float *__restrict__ p_out,
            unsigned long long p_count, unsigned p_block_tiles)
{
    extern __shared__ __align__(128) float tiles[];
    unsigned long long first = (unsigned long long)blockIdx.x * p_block_tiles *
                               TILE_ELEMS;

    if (first >= p_count)
        return;
    issue(tiles, p_in + first, elements_here(p_count, first));
    for (unsigned k = 0; k < p_block_tiles && first < p_count;
         k++, first += TILE_ELEMS) {
        const unsigned long long next = first + TILE_ELEMS;
        const float *tile = tiles + k % 2 * TILE_ELEMS;

        if (k + 1 < p_block_tiles && next < p_count) {
            issue(tiles + (k + 1) % 2 * TILE_ELEMS, p_in + next,
                  elements_here(p_count, next));
            asm volatile("cp.async.wait_group 1;" : : : "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" : : : "memory");
        }
        __syncthreads(); /* what all threads copied is seen by all */
        for (unsigned i = threadIdx.x; i < elements_here(p_count, first);
             i += THREADS)
            p_out[first + i] = async_transform(tile[i]);
        __syncthreads(); /* nobody reads this buffer any more */
    }
}
