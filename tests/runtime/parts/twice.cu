// twice.cu -- what main.cu calls
__device__ int calls;

__device__ int twice(int x)
{
    atomicAdd(&calls, 1);
    return 2 * x;
}
