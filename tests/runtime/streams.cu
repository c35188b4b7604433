// streams.cu -- streams, events, host functions, pools, copies of rows
#include "check.h"

__global__ void step(int *p, int by)
{
    atomicAdd(p, by);
}

static void CUDART_CB note(void *data)
{
    ++*(int *)data;
}

static void CUDART_CB called(cudaStream_t, cudaError_t status, void *data)
{
    if (status == cudaSuccess)
        ++*(int *)data;
}

static void rows()
{
    char from[4][10], to[4][16], *d;
    size_t pitch;

    for (int i = 0; i < 40; i++)
        from[i / 10][i % 10] = (char)i;
    memset(to, 0, sizeof to);
    OK(cudaMallocPitch(&d, &pitch, 10, 4));
    TRUE_(pitch >= 10);
    OK(cudaMemset2D(d, pitch, 7, 10, 4));
    OK(cudaMemcpy2D(d, pitch, from, 10, 10, 3, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(to, 16, d, pitch, 10, 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 40; i++)
        TRUE_(to[i / 10][i % 10] == (i < 30 ? i : 7));
    IS(cudaMemcpy2D(to, 9, d, pitch, 10, 4, cudaMemcpyDeviceToHost),
       cudaErrorInvalidPitchValue);
    IS(cudaGetLastError(), cudaErrorInvalidPitchValue);
    OK(cudaFree(d));
}

// Stream 0 is the legacy one, or the thread's own where nvcc was told so.
static void zero()
{
    unsigned long long none, legacy, own;
    bool per_thread = false;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    per_thread = true;
#endif
    OK(cudaStreamGetId(0, &none));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    TRUE_(legacy != own && none == (per_thread ? own : legacy));
}

int main()
{
    int *p, *q, host = 0, calls = 0, least, greatest;
    cudaStream_t a, b;
    cudaEvent_t start, end;
    float ms = -1;

    zero();
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&b, cudaStreamDefault, greatest));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaMallocHost(&q, sizeof *q));
    OK(cudaMallocAsync(&p, sizeof *p, a));
    OK(cudaMemsetAsync(p, 0, sizeof *p, a));
    OK(cudaEventRecord(start, a));
    for (int i = 0; i < 10; i++)
        step<<<3, 32, 0, a>>>(p, 2);
    OK(cudaEventRecord(end, a));
    OK(cudaStreamWaitEvent(b, end, 0));
    step<<<1, 1, 0, b>>>(p, 5);
    OK(cudaLaunchHostFunc(b, note, &calls));
    OK(cudaStreamAddCallback(b, called, &calls, 0));
    OK(cudaMemcpyAsync(q, p, sizeof *q, cudaMemcpyDeviceToHost, b));
    OK(cudaStreamSynchronize(b));
    TRUE_(*q == 10 * 96 * 2 + 5 && calls == 2);
    OK(cudaEventElapsedTime(&ms, start, end));
    TRUE_(ms > 0);
    OK(cudaStreamQuery(a));
    OK(cudaMemcpy(&host, p, sizeof host, cudaMemcpyDefault));
    TRUE_(host == *q);
    OK(cudaFreeAsync(p, a));
    OK(cudaStreamSynchronize(a));
    rows();
    OK(cudaFreeHost(q));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    puts("ok");
}
