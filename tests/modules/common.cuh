/* common.cuh -- what the programs of this folder share with their mirrors
 *
 * Entry: run(in, out[, map]), 4096 random words in, 4096 zeroed words out.
 */
#ifndef COMMON_CUH
#define COMMON_CUH

enum { WORDS = 4096 };

/* A random word as a number of [0, 1), exact in float. */
__device__ inline float unit(unsigned w)
{
    return (float)(w >> 8) * (1.0f / 16777216);
}

/* One of -8 ... 7: products and sums of these are exact in any order. */
__device__ inline int small(unsigned w)
{
    return (int)(w >> 28) - 8;
}

__device__ inline unsigned thread(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

#endif
