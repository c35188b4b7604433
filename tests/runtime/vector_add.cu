// vector_add.cu -- the first program of everyone: copies, a launch, a result
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1000;
    static float h[3][n];
    float *d[3];
    cudaDeviceProp p;

    OK(cudaGetDeviceProperties(&p, 0));
    TRUE_(p.warpSize == 32 && p.major >= 7 && p.multiProcessorCount > 0);
    TRUE_(p.maxThreadsDim[2] == 64 && p.maxThreadsPerBlock == 1024);
    for (int i = 0; i < n; i++) {
        h[0][i] = 0.5f * i;
        h[1][i] = 2.0f * i;
    }
    for (int k = 0; k < 3; k++)
        OK(cudaMalloc(&d[k], sizeof h[k]));
    for (int k = 0; k < 2; k++)
        OK(cudaMemcpy(d[k], h[k], sizeof h[k], cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(d[0], d[1], d[2], n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(h[2], d[2], sizeof h[2], cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        TRUE_(h[2][i] == 2.5f * i);
    for (int k = 0; k < 3; k++)
        OK(cudaFree(d[k]));
    OK(cudaDeviceReset());
    OK(cudaMalloc(&d[0], 64)); /* and again, code too */
    OK(cudaMemset(d[0], 0, 64));
    add<<<1, 16>>>(d[0], d[0], d[0], 16);
    OK(cudaDeviceSynchronize());
    puts("ok");
}
