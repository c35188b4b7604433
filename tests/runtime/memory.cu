// memory.cu -- managed memory and variables, symbols, constants, templates
#include "check.h"

__managed__ int shared_count;
__managed__ float shared_row[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
__device__ int on_device[4] = { 10, 20, 30, 40 };
__constant__ double factor = 0.5;

template <typename T> __global__ void scale(T *p, int n)
{
    int i = threadIdx.x;

    if (i < n)
        p[i] = p[i] * (T)factor;
    if (!i)
        atomicAdd(&shared_count, 1);
}

__global__ void sum(int *out)
{
    *out = on_device[0] + on_device[1] + on_device[2] + on_device[3];
}

int main()
{
    double *m, two = 2;
    int *out, host[4], *at;
    size_t size;
    cudaPointerAttributes pa;

    shared_count = 40;
    OK(cudaMallocManaged(&m, 8 * sizeof *m));
    for (int i = 0; i < 8; i++)
        m[i] = i;
    scale<<<1, 32>>>(m, 8);
    scale<<<1, 32>>>(shared_row, 8);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++)
        TRUE_(m[i] == i * 0.5 && shared_row[i] == (i + 1) * 0.5f);
    TRUE_(shared_count == 42);
    OK(cudaMemcpyToSymbol(factor, &two, sizeof two));
    scale<<<1, 32>>>(m, 8);
    OK(cudaDeviceSynchronize());
    TRUE_(m[7] == 7);
    OK(cudaMalloc(&out, sizeof *out));
    OK(cudaGetSymbolSize(&size, on_device));
    OK(cudaGetSymbolAddress((void **)&at, on_device));
    TRUE_(size == 16);
    host[0] = 1;
    OK(cudaMemcpyToSymbol(on_device, host, 4, 12));
    OK(cudaMemcpyFromSymbol(host, on_device, sizeof host));
    TRUE_(host[0] == 10 && host[3] == 1);
    IS(cudaMemcpyToSymbol(on_device, host, 8, 12), cudaErrorInvalidValue);
    OK(cudaMemcpy(at, host + 1, 4, cudaMemcpyHostToDevice));
    sum<<<1, 1>>>(out);
    OK(cudaMemcpy(host, out, 4, cudaMemcpyDeviceToHost));
    TRUE_(host[0] == 20 + 20 + 30 + 1);
    OK(cudaPointerGetAttributes(&pa, m));
    TRUE_(pa.type == cudaMemoryTypeManaged && pa.device == 0);
    OK(cudaPointerGetAttributes(&pa, out));
    TRUE_(pa.type == cudaMemoryTypeDevice && pa.devicePointer == out);
    OK(cudaPointerGetAttributes(&pa, host));
    TRUE_(pa.type == cudaMemoryTypeUnregistered);
    puts("ok");
}
