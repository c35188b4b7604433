// errors.cu -- errors are kept, cleared, sticky, and in the runtime's words
#include "check.h"

__global__ void store(int *p)
{
    *p = 1;
}

__global__ void count(int *p, int)
{
    atomicAdd(p, 1);
}

// A launch among the arguments of a launch.
static int nested(int *p)
{
    count<<<2, 16>>>(p, 0);
    return 1;
}

static void nest()
{
    int *p, n;

    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    count<<<3, 100>>>(p, nested(p));
    OK(cudaGetLastError());
    OK(cudaMemcpy(&n, p, sizeof n, cudaMemcpyDeviceToHost));
    TRUE_(n == 332);
    OK(cudaFree(p));
}

int main()
{
    int *p, n;

    OK(cudaMalloc(&p, sizeof *p));
    store<<<1, 2000>>>(p);
    IS(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    OK(cudaGetLastError());
    store<<<0, 1>>>(p);
    IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    IS(cudaMemcpy(p, &n, 4, (cudaMemcpyKind)9),
       cudaErrorInvalidMemcpyDirection);
    IS(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
    IS(cudaSetDevice(99), cudaErrorInvalidDevice);
    IS(cudaGetLastError(), cudaErrorInvalidDevice);
    IS(cudaGetSymbolAddress((void **)&p, (const void *)&n),
       cudaErrorInvalidSymbol);
    IS(cudaGetLastError(), cudaErrorInvalidSymbol);
    OK(cudaFree(NULL));
    OK(cudaFree(p));
    IS(cudaFree(p), cudaErrorInvalidValue);
    IS(cudaGetLastError(), cudaErrorInvalidValue);
    TRUE_(!strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration),
                  "cudaErrorInvalidConfiguration"));
    TRUE_(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
    nest();
    store<<<1, 1>>>(NULL);
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    IS(cudaGetLastError(), cudaErrorIllegalAddress);
    IS(cudaGetLastError(), cudaErrorIllegalAddress); /* it stays */
    IS(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    IS(cudaGetLastError(), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&p, sizeof *p));
    store<<<1, 1>>>(p);
    OK(cudaMemcpy(&n, p, sizeof n, cudaMemcpyDeviceToHost));
    TRUE_(n == 1);
    puts("ok");
}
