// threads.cu -- threads load, launch, copy and fail, each for itself
#include "check.h"
#include <thread>
#include <vector>

__device__ int total;

__global__ void add(int *p, int n)
{
    atomicAdd(p, n);
    atomicAdd(&total, n);
}

static void work(int n)
{
    cudaStream_t s;
    int *p, out = 0;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMallocAsync(&p, sizeof *p, s));
    OK(cudaMemsetAsync(p, 0, sizeof *p, s));
    for (int i = 0; i < 20; i++)
        add<<<2, 8, 0, s>>>(p, n);
    add<<<1, n % 2 ? 2000 : 1, 0, s>>>(p, 0);
    IS(cudaGetLastError(), n % 2 ? cudaErrorInvalidConfiguration : cudaSuccess);
    OK(cudaMemcpyAsync(&out, p, sizeof out, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    TRUE_(out == 320 * n);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
}

int main()
{
    std::vector<std::thread> all;
    int sum, device;

    for (int n = 1; n <= 8; n++)
        all.emplace_back(work, n);
    for (std::thread &t : all)
        t.join();
    OK(cudaGetLastError());
    OK(cudaGetDevice(&device));
    TRUE_(device == 0);
    OK(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    TRUE_(sum == 320 * 36);
    puts("ok");
}
