// graphs.cu -- graphs captured and made node by node, with edge data
#include "check.h"

__global__ void twice(unsigned *p)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    *p = *p * 2 + 1;
}

static void chain(cudaStream_t s, unsigned *p, int n)
{
    cudaLaunchAttribute a = {};
    cudaLaunchConfig_t c = {};

    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = c.blockDim = dim3(1);
    c.stream = s;
    c.attrs = &a;
    c.numAttrs = 1;
    for (int i = 0; i < n; i++)
        OK(cudaLaunchKernelEx(&c, twice, p));
}

static unsigned word(const unsigned *p)
{
    unsigned v;

    OK(cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

static void captured(cudaStream_t s, unsigned *p)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t from[8], to[8];
    cudaGraphEdgeData data[8];
    size_t n = 8;
    bool programmatic = false;

    OK(cudaMemset(p, 0, sizeof *p));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    chain(s, p, 5);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetEdges(g, from, to, data, &n));
    TRUE_(n == 4);
    for (size_t i = 0; i < n; i++)
        programmatic |= data[i].type == cudaGraphDependencyTypeProgrammatic;
    TRUE_(programmatic);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    TRUE_(word(p) == 1023);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

static void made(cudaStream_t s, unsigned *p, unsigned *q)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t fill, kernel, copy;
    cudaMemsetParams m = {};
    cudaKernelNodeParams k = {};
    void *args[] = { &p };
    size_t n;

    OK(cudaGraphCreate(&g, 0));
    m.dst = p;
    m.value = 20;
    m.elementSize = 4;
    m.width = m.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, g, NULL, 0, &m));
    k.func = (void *)twice;
    k.gridDim = k.blockDim = dim3(1);
    k.kernelParams = args;
    OK(cudaGraphAddKernelNode(&kernel, g, &fill, 1, &k));
    OK(cudaGraphAddMemcpyNode1D(&copy, g, &kernel, 1, q, p, sizeof *q,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphGetNodes(g, NULL, &n));
    TRUE_(n == 3);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    TRUE_(word(q) == 41);
    m.value = 1;
    OK(cudaGraphExecMemsetNodeSetParams(x, fill, &m));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    TRUE_(word(q) == 3);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

int main()
{
    cudaStream_t s;
    unsigned *p, *q;

    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMalloc(&q, sizeof *q));
    OK(cudaMemset(p, 0, sizeof *p));
    chain(s, p, 10);
    OK(cudaStreamSynchronize(s));
    TRUE_(word(p) == 1023);
    captured(s, p);
    made(s, p, q);
    puts("ok");
}
