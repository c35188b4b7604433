/* types.h -- the CUDA runtime's types, declared so that no toolkit is needed
 *
 * Names, values and layouts are those of the toolkit's cuda_runtime_api.h
 * 13.x; tests/check_runtime.sh compares every prototype with it where there is
 * one.  Handles are the driver's own, as documented.
 */
#ifndef FGS_RT_TYPES_H
#define FGS_RT_TYPES_H

#include "table/cu.h"

typedef enum cudaError {
#define RTERR(name, value, text) name = value,
#include "rt/error.def"
#undef RTERR
    FGS__RT_ERROR_FORCE_INT = 0x7fffffff
} cudaError_t;

/* Passed to the driver as numbers, which are the same there. */
#define FGS__RT_ENUM(tag) enum tag { tag##_none, tag##_most = 0x7fffffff }
FGS__RT_ENUM(cudaLimit);
FGS__RT_ENUM(cudaFuncCache);
FGS__RT_ENUM(cudaSharedMemConfig);
FGS__RT_ENUM(cudaDeviceAttr);
FGS__RT_ENUM(cudaDeviceP2PAttr);
FGS__RT_ENUM(cudaStreamCaptureMode);
FGS__RT_ENUM(cudaStreamCaptureStatus);
FGS__RT_ENUM(cudaFuncAttribute);
FGS__RT_ENUM(cudaMemoryAdvise);
FGS__RT_ENUM(cudaMemPoolAttr);
FGS__RT_ENUM(cudaMemAccessFlags);
FGS__RT_ENUM(cudaGraphNodeType);
FGS__RT_ENUM(cudaGraphMemAttributeType);
FGS__RT_ENUM(cudaDriverEntryPointQueryResult);
FGS__RT_ENUM(cudaJitOption);
FGS__RT_ENUM(cudaLibraryOption);
FGS__RT_ENUM(cudaMemRangeAttribute);
FGS__RT_ENUM(cudaMemLocationType);
typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore,
    cudaLaunchAttributeID_most = 0x7fffffff
} cudaLaunchAttributeID;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUfunction cudaFunction_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUuserObject cudaUserObject_t;
typedef CUgraphConditionalHandle cudaGraphConditionalHandle;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status,
                                     void *userData);
typedef struct cudaArray *cudaArray_t;
typedef struct CUuuid_st cudaUUID_t;

/* As the driver lays them out; they go there as they are. */
typedef struct cudaGraphEdgeData_st {
    CUgraphEdgeData same;
} cudaGraphEdgeData;
typedef union cudaLaunchAttributeValue {
    CUlaunchAttributeValue same;
} cudaLaunchAttributeValue;
typedef struct cudaLaunchAttribute_st {
    CUlaunchAttribute same;
} cudaLaunchAttribute;
typedef struct cudaGraphExecUpdateResultInfo_st {
    CUgraphExecUpdateResultInfo same;
} cudaGraphExecUpdateResultInfo;
typedef struct cudaGraphInstantiateParams_st {
    CUDA_GRAPH_INSTANTIATE_PARAMS same;
} cudaGraphInstantiateParams;
struct cudaMemLocation {
    CUmemLocation same;
};
struct cudaMemPoolProps {
    CUmemPoolProps same;
};
struct cudaMemAccessDesc {
    CUmemAccessDesc same;
};
struct cudaMemsetParams {
    CUDA_MEMSET_NODE_PARAMS same;
};
struct cudaHostNodeParams {
    CUDA_HOST_NODE_PARAMS same;
};

typedef struct dim3 {
    unsigned int x, y, z;
} dim3;
struct uint3;

struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    int f; /* enum cudaChannelFormatKind */
};
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    enum cudaMemcpyKind kind;
};
struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
};
typedef struct cudaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
    long reserved[8];
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
    int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
    int requiredClusterDepth, clusterSchedulingPolicyPreference;
    int nonPortableClusterSizeAllowed, reserved[16];
};

/* devprop.def has the members in their order, and where each comes from. */
struct cudaDeviceProp {
#define PROP(type, member, attr)  type member;
#define PROPS(member, count, ...) int member[count];
#define FIELD(type, member)       type member;
#define BYTES(member, count)      char member[count];
#include "rt/devprop.def"
#undef PROP
#undef PROPS
#undef FIELD
#undef BYTES
    int reserved[56];
};

#endif
