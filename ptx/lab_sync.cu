/* lab_sync.cu -- a tile after the other, through registers: the baseline
 *
 * The twin of lab_sync.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_transform.c
 */
#include "lab.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(const float *__restrict__ p_in, float *__restrict__ p_out,
            unsigned long long p_count, unsigned p_block_tiles)
{
    extern __shared__ __align__(128) float tile[];
    unsigned long long first = (unsigned long long)blockIdx.x * p_block_tiles *
                               TILE_ELEMS;

    for (unsigned k = 0; k < p_block_tiles && first < p_count;
         k++, first += TILE_ELEMS) {
        const unsigned here = elements_here(p_count, first);

        for (unsigned i = threadIdx.x; i < here; i += THREADS)
            tile[i] = p_in[first + i];
        __syncthreads(); /* all of it is there */
        for (unsigned i = threadIdx.x; i < here; i += THREADS)
            p_out[first + i] = async_transform(tile[i]);
        __syncthreads(); /* nobody reads it any more */
    }
}
