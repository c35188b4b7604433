// main.cu -- a kernel that calls a function of another file
#include "../check.h"

extern __device__ int twice(int);
extern __device__ int calls;

__global__ void kernel(int *p)
{
    *p = twice(21);
}

int main()
{
    int *p, h, n;

    OK(cudaMalloc(&p, sizeof *p));
    kernel<<<1, 1>>>(p);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost));
    OK(cudaMemcpyFromSymbol(&n, calls, sizeof n));
    TRUE_(h == 42 && n == 1);
    puts("ok");
}
