// wrong.cu -- wrong arguments, and contexts that others have reset or broken
#include "check.h"
#include <condition_variable>
#include <cuda.h>
#include <mutex>
#include <thread>

__managed__ int shared_by_both = 5;
__device__ int late;

__global__ void bump(int *p)
{
    shared_by_both += 1;
    *p = shared_by_both;
}

__global__ void none(int)
{
}

// Its address is what nvcc makes of `shared_by_both` in the host's code.
static void managed()
{
    int *p, n;
    void *at;
    size_t size;

    OK(cudaMalloc(&p, sizeof *p));
    bump<<<1, 1>>>(p);
    OK(cudaMemcpyFromSymbol(&n, shared_by_both, sizeof n));
    TRUE_(n == 6);
    OK(cudaGetSymbolAddress(&at, shared_by_both));
    TRUE_(at == &shared_by_both);
    OK(cudaGetSymbolSize(&size, shared_by_both));
    TRUE_(size == sizeof n);
    n = 40;
    OK(cudaMemcpyToSymbol(shared_by_both, &n, sizeof n));
    TRUE_(shared_by_both == 40);
    OK(cudaFree(p));
}

static void arguments()
{
    cudaLaunchConfig_t c = {}; // of one block of one thread
    cudaKernel_t k;
    cudaFunction_t f;
    int n = 0;
    void *args[1] = { &n };

    IS(cudaGetKernel(NULL, (const void *)none), cudaErrorInvalidValue);
    IS(cudaGetKernel(&k, &n), cudaErrorInvalidDeviceFunction);
    OK(cudaGetKernel(&k, (const void *)none));
    OK(cudaGetFuncBySymbol(&f, (const void *)k));
    IS(cudaGetFuncBySymbol(NULL, (const void *)k), cudaErrorInvalidValue);
    IS(cudaOccupancyMaxActiveClusters(&n, none, (cudaLaunchConfig_t *)NULL),
       cudaErrorInvalidValue);
    IS(cudaOccupancyMaxPotentialClusterSize(&n, none,
                                            (cudaLaunchConfig_t *)NULL),
       cudaErrorInvalidValue);
    IS(cudaLaunchKernelExC(NULL, (const void *)none, args),
       cudaErrorInvalidValue);
    c.gridDim.y = 0;
    IS(cudaLaunchKernelExC(&c, (const void *)none, args),
       cudaErrorInvalidConfiguration);
    IS(cudaLaunchKernel((const void *)none, 1, 1, NULL), cudaErrorInvalidValue);
    none<<<1, 1, 0, (cudaStream_t)&n>>>(1);
    IS(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    OK(cudaGetLastError());
}

// A device is its own peer; one that is not there is none.
static void peers()
{
    int *p, *q, n = 77;

    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMalloc(&q, sizeof *q));
    OK(cudaMemcpy(p, &n, sizeof n, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(q, 0, p, 0, sizeof *p));
    OK(cudaMemcpy(&n, q, sizeof n, cudaMemcpyDeviceToHost));
    TRUE_(n == 77);
    OK(cudaMemset(q, 0, sizeof *q));
    OK(cudaMemcpyPeerAsync(p, 0, q, 0, sizeof *p, 0));
    OK(cudaMemcpy(&n, p, sizeof n, cudaMemcpyDeviceToHost));
    TRUE_(n == 0);
    IS(cudaMemcpyPeer(q, 7, p, 7, sizeof *p), cudaErrorInvalidDevice);
    IS(cudaMemcpyPeer(q, 0, p, 7, sizeof *p), cudaErrorInvalidDevice);
    IS(cudaMemcpyPeerAsync(q, -1, p, -1, sizeof *p, 0), cudaErrorInvalidDevice);
    IS(cudaGetLastError(), cudaErrorInvalidDevice);
    OK(cudaFree(p));
    OK(cudaFree(q));
}

// Made ready, but not this thread's.
static void init_device()
{
    CUresult (*get_current)(CUcontext *);
    cudaDriverEntryPointQueryResult status;
    CUcontext now;

    OK(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent",
                                        (void **)&get_current, 12000, 0,
                                        &status));
    IS(cudaInitDevice(9, 0, 0), cudaErrorInvalidDevice);
    IS(cudaGetLastError(), cudaErrorInvalidDevice);
    OK(cudaInitDevice(0, 0, 0));
    TRUE_(!get_current(&now) && !now);
    OK(cudaSetDevice(0));
    TRUE_(!get_current(&now) && now);
}

struct turns {
    std::mutex lock;
    std::condition_variable changed;
    int now = 0;

    void give(int n)
    {
        std::lock_guard<std::mutex> l(lock);

        now = n;
        changed.notify_all();
    }
    void wait(int n)
    {
        std::unique_lock<std::mutex> l(lock);

        changed.wait(l, [&] { return now == n; });
    }
};

// A thread goes on where another one has broken and reset the device: while
// it is broken all calls say why, code that is then loaded is loaded later.
static void other(turns *t)
{
    int *p, n = 1;

    OK(cudaMalloc(&p, sizeof *p));
    t->give(1);
    t->wait(2);
    none<<<1, 1>>>(1);
    IS(cudaGetLastError(), cudaErrorIllegalAddress);
    IS(cudaMalloc(&p, sizeof *p), cudaErrorIllegalAddress);
    t->give(3);
    t->wait(4);
    OK(cudaMalloc(&p, sizeof *p));
    none<<<1, 1>>>(1);
    OK(cudaMemcpyFromSymbol(&n, late, sizeof n));
    TRUE_(n == 0);
}

static void reset()
{
    turns t;
    std::thread thread(other, &t);

    t.wait(1);
    bump<<<1, 1>>>(NULL);
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    t.give(2);
    t.wait(3);
    OK(cudaDeviceReset());
    t.give(4);
    thread.join();
    OK(cudaDeviceSynchronize());
}

int main()
{
    std::thread(init_device).join();
    managed();
    arguments();
    peers();
    reset();
    puts("ok");
}
