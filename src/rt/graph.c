/* graph.c -- nodes of graphs whose parameters are the runtime's own */
#include "rt/rt.h"

static cudaError_t kernel_node(const struct cudaKernelNodeParams *p,
                               CUDA_KERNEL_NODE_PARAMS *out)
{
    cudaError_t e;

    if (!p)
        return fgs__rt_note(cudaErrorInvalidValue);
    memset(out, 0, sizeof *out);
    e = fgs__rt_function(p->func, &out->func);
    out->gridDimX = p->gridDim.x;
    out->gridDimY = p->gridDim.y;
    out->gridDimZ = p->gridDim.z;
    out->blockDimX = p->blockDim.x;
    out->blockDimY = p->blockDim.y;
    out->blockDimZ = p->blockDim.z;
    out->sharedMemBytes = p->sharedMemBytes;
    out->kernelParams = p->kernelParams;
    out->extra = p->extra;
    return e;
}

cudaError_t cudaGraphAddKernelNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
    const cudaGraphNode_t *pDependencies, size_t numDependencies,
    const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS p;
    cudaError_t e = kernel_node(pNodeParams, &p);

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphAddKernelNode_v2(
                   pGraphNode, graph, pDependencies, numDependencies, &p));
}

cudaError_t
cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                             const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS p;
    cudaError_t e = kernel_node(pNodeParams, &p);

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphKernelNodeSetParams_v2(node, &p));
}

cudaError_t
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec,
                                 cudaGraphNode_t node,
                                 const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS p;
    cudaError_t e = kernel_node(pNodeParams, &p);

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphExecKernelNodeSetParams_v2(
                   hGraphExec, node, &p));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode,
                                   cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies,
                                   size_t numDependencies,
                                   const struct cudaMemcpy3DParms *pCopyParams)
{
    cudaError_t e = fgs__rt_enter();
    CUDA_MEMCPY3D c;

    if (!e)
        e = fgs__rt_note(fgs__rt_copy_3d(pCopyParams, &c));
    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphAddMemcpyNode(
                   pGraphNode, graph, pDependencies, numDependencies, &c,
                   fgs__rt_context()));
}

static cudaError_t line(void *dst, const void *src, size_t count,
                        enum cudaMemcpyKind kind, CUDA_MEMCPY3D *out)
{
    struct cudaMemcpy3DParms p = {
        .srcPtr = { (void *)(uintptr_t)src, count, count, 1 },
        .dstPtr = { dst, count, count, 1 },
        .extent = { count, 1, 1 },
        .kind = kind
    };
    cudaError_t e = fgs__rt_enter();

    return e ? e : fgs__rt_note(fgs__rt_copy_3d(&p, out));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode,
                                     cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies,
                                     size_t numDependencies, void *dst,
                                     const void *src, size_t count,
                                     enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t e = line(dst, src, count, kind, &c);

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphAddMemcpyNode(
                   pGraphNode, graph, pDependencies, numDependencies, &c,
                   fgs__rt_context()));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst,
                                           const void *src, size_t count,
                                           enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t e = line(dst, src, count, kind, &c);

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphMemcpyNodeSetParams(node, &c));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec,
                                               cudaGraphNode_t node, void *dst,
                                               const void *src, size_t count,
                                               enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t e = line(dst, src, count, kind, &c);

    return e ? e
             : fgs__rt_done(fgs__rt_cu.cuGraphExecMemcpyNodeSetParams(
                   hGraphExec, node, &c, fgs__rt_context()));
}
