/* cu.h -- the driver API's types, declared here so that no toolkit is needed
 *
 * Names, values and layouts are the driver's (cuda.h 13.x); a compile-only
 * test compares them with cuda.h where a toolkit is found.  Enumerations are
 * plain ints of the driver's size.
 */
#ifndef FGS_TABLE_CU_H
#define FGS_TABLE_CU_H

#include <fgs/fgs.h>

typedef enum cudaError_enum {
#define CURES(name, value, text) name = value,
#include "table/curesult.def"
#undef CURES
    CURESULT_FORCE_INT = 0x7fffffff
} CUresult;

enum fgs__cu_const {
#define CUC(name, value) name = value,
#include "table/cuconst.def"
#undef CUC
    FGS__CU_CONST_FORCE_INT = 0x7fffffff
};

typedef int CUdevice;
typedef struct CUmod_st *CUmodule;
typedef struct CUevent_st *CUevent;
typedef unsigned int cuuint32_t;
typedef struct CUlib_st *CUlibrary;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUtexref_st *CUtexref;
typedef struct CUsurfref_st *CUsurfref;
typedef unsigned long long cuuint64_t;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef unsigned int CUaccessProperty;
typedef unsigned int CUstreamBatchMemOpType;
typedef unsigned int CUstreamAttrID;
typedef unsigned int CUkernelNodeAttrID;
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;
typedef unsigned int CUdevice_attribute;
typedef unsigned int CUfunction_attribute;
typedef unsigned int CUpointer_attribute;
typedef unsigned int CUjit_option;
typedef unsigned int CUstreamCaptureStatus;
typedef unsigned int CUdevice_P2PAttribute;
typedef unsigned int CUexecAffinityType;
typedef unsigned int CUoutput_mode;
typedef unsigned int CUjitInputType;
typedef unsigned int CUlibraryOption;
typedef unsigned int CUlimit;
typedef unsigned int CUfunc_cache;
typedef unsigned int CUsharedconfig;
typedef unsigned int CUdriverProcAddressQueryResult;
typedef void (*CUhostFn)(void *data);

typedef unsigned int CUtensorMapDataType;
typedef unsigned int CUtensorMapInterleave;
typedef unsigned int CUtensorMapSwizzle;
typedef unsigned int CUtensorMapL2promotion;
typedef unsigned int CUtensorMapFloatOOBfill;
typedef unsigned int CUtensorMapIm2ColWideMode;
/* At a multiple of 64. */
typedef struct CUtensorMap_st {
    cuuint64_t opaque[16];
} CUtensorMap;

typedef unsigned int CUmemorytype;
typedef unsigned int CUmem_advise;
typedef unsigned int CUmem_range_attribute;
typedef unsigned int CUmemLocationType;
typedef unsigned int CUmemAllocationType;
typedef unsigned int CUmemAllocationHandleType;
typedef unsigned int CUmemAccess_flags;
typedef unsigned int CUmemPool_attribute;
typedef unsigned int CUmemAllocationGranularity_flags;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUarray_st *CUarray;
typedef unsigned int CUarray_format;

typedef struct CUDA_ARRAY_DESCRIPTOR_st {
    size_t Width, Height;
    CUarray_format Format;
    unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;

typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
    size_t Width, Height, Depth;
    CUarray_format Format;
    unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef unsigned long long CUtexObject, CUsurfObject;
typedef unsigned int CUresourcetype, CUaddress_mode, CUfilter_mode;
typedef unsigned int CUresourceViewFormat;

typedef struct CUDA_RESOURCE_DESC_st {
    CUresourcetype resType;
    union {
        struct {
            CUarray hArray;
        } array;
        struct {
            CUmipmappedArray hMipmappedArray;
        } mipmap;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned int numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned int numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned int flags;
} CUDA_RESOURCE_DESC;

typedef struct CUDA_TEXTURE_DESC_st {
    CUaddress_mode addressMode[3];
    CUfilter_mode filterMode;
    unsigned int flags, maxAnisotropy;
    CUfilter_mode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    float borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;

typedef struct CUDA_RESOURCE_VIEW_DESC_st {
    CUresourceViewFormat format;
    size_t width, height, depth;
    unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
    unsigned int reserved[16];
} CUDA_RESOURCE_VIEW_DESC;

typedef struct CUDA_MEMCPY2D_st {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

/* The same but for the contexts in place of the reserved words. */
typedef struct CUDA_MEMCPY3D_PEER_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;

typedef struct CUmemLocation_st {
    CUmemLocationType type;
    int id;
} CUmemLocation;

typedef unsigned int CUgraphMem_attribute;
typedef unsigned int CUmemcpySrcAccessOrder;
typedef unsigned int CUmemcpy3DOperandType;

typedef struct CUmemcpyAttributes_st {
    CUmemcpySrcAccessOrder srcAccessOrder;
    CUmemLocation srcLocHint, dstLocHint;
    unsigned int flags;
} CUmemcpyAttributes;

typedef struct CUmemcpy3DOperand_st {
    CUmemcpy3DOperandType type;
    union {
        struct {
            CUdeviceptr ptr;
            size_t rowLength, layerHeight;
            CUmemLocation locHint;
        } ptr;
        struct {
            CUarray array;
            struct {
                size_t x, y, z;
            } offset;
        } array;
    } op;
} CUmemcpy3DOperand;

typedef struct CUDA_MEMCPY3D_BATCH_OP_st {
    CUmemcpy3DOperand src, dst;
    struct {
        size_t width, height, depth;
    } extent;
    CUmemcpySrcAccessOrder srcAccessOrder;
    unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;

typedef struct CUmemAllocationProp_st {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct CUmemPoolProps_st {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char gpuDirectRDMACapable;
    unsigned char reserved[53];
} CUmemPoolProps;

typedef struct CUDA_MEM_ALLOC_NODE_PARAMS_v1_st {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    CUdeviceptr dptr;
} CUDA_MEM_ALLOC_NODE_PARAMS;

typedef struct CUdevprop_st {
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int sharedMemPerBlock;
    int totalConstantMemory;
    int SIMDWidth;
    int memPitch;
    int regsPerBlock;
    int clockRate;
    int textureAlign;
} CUdevprop;

typedef struct CUexecAffinityParam_st {
    CUexecAffinityType type;
    union {
        unsigned int smCount;
    } param;
} CUexecAffinityParam;

typedef struct CUctxCreateParams_st {
    CUexecAffinityParam *execAffinityParams;
    int numExecAffinityParams;
    void *cigParams;
} CUctxCreateParams;

typedef struct CUaccessPolicyWindow_st {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    CUaccessProperty hitProp, missProp;
} CUaccessPolicyWindow;

/* 64 bytes in the driver. */
typedef union CUlaunchAttributeValue_union {
    char pad[64];
    CUaccessPolicyWindow accessPolicyWindow;
    int cooperative, priority;
    int programmaticStreamSerializationAllowed;
    unsigned int syncPolicy, memSyncDomain;
    struct {
        unsigned char default_, remote;
    } memSyncDomainMap;
    unsigned int sharedMemCarveout, sharedMemoryMode;
    unsigned int clusterSchedulingPolicyPreference, portableClusterSizeMode;
    unsigned int nvlinkUtilCentricScheduling;
    struct {
        int deviceUpdatable;
        void *devNode; /* CUgraphDeviceNode */
    } deviceUpdatableKernelNode;
    struct {
        unsigned int x, y, z;
    } clusterDim;
    struct {
        CUevent event;
        int flags;
        int triggerAtBlockStart;
    } programmaticEvent;
} CUlaunchAttributeValue;
typedef CUlaunchAttributeValue CUstreamAttrValue, CUkernelNodeAttrValue;

typedef struct CUlaunchAttribute_st {
    unsigned int id;
    char pad[8 - sizeof(unsigned int)];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;

/* All members begin with the operation. */
typedef union CUstreamBatchMemOpParams_union {
    CUstreamBatchMemOpType operation;
    struct {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        cuuint64_t value64; /* of 32-bit ones the low half */
        unsigned int flags;
        CUdeviceptr alias;
    } waitValue, writeValue;
    struct {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
    } flushRemoteWrites, memoryBarrier;
    struct {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
        unsigned int reductionOp, dataType;
        CUdeviceptr address;
        cuuint64_t value;
        CUdeviceptr alias;
    } atomicReduction;
    cuuint64_t pad[6];
} CUstreamBatchMemOpParams;

typedef struct CUlaunchConfig_st {
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} CUlaunchConfig;

typedef unsigned int CUmoduleLoadingMode;
typedef unsigned int CUfunctionLoadingState;
typedef size_t (*CUoccupancyB2DSize)(int blockSize);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);

/* -------------------------------------------------------------- graphs -- */

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUkern_st *CUkernel;
typedef struct CUuserObject_st *CUuserObject;
typedef unsigned int CUgraphNodeType;
typedef unsigned int CUgraphExecUpdateResult;
typedef unsigned int CUgraphInstantiateResult;
typedef unsigned int CUstreamCaptureMode;

typedef struct CUgraphEdgeData_st {
    unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;

typedef struct CUDA_KERNEL_NODE_PARAMS_v1_st {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;

/* Begins as the first version does. */
typedef struct CUDA_KERNEL_NODE_PARAMS_st {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS_st {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct CUDA_HOST_NODE_PARAMS_st {
    CUhostFn fn;
    void *userData;
} CUDA_HOST_NODE_PARAMS;

typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS_st {
    CUcontext ctx;
    unsigned int count;
    CUstreamBatchMemOpParams *paramArray;
    unsigned int flags;
} CUDA_BATCH_MEM_OP_NODE_PARAMS;

typedef cuuint64_t CUgraphConditionalHandle;
typedef unsigned int CUgraphConditionalNodeType;

typedef struct CUDA_CONDITIONAL_NODE_PARAMS {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned int size;
    CUgraph *phGraph_out;
    CUcontext ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;

/* Members that fgsync uses; the driver's union has 232 bytes. */
typedef struct CUgraphNodeParams_st {
    CUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        CUDA_KERNEL_NODE_PARAMS kernel;
        struct {
            int flags, reserved;
            CUcontext copyCtx;
            CUDA_MEMCPY3D copyParams;
        } memcpy;
        CUDA_MEMSET_NODE_PARAMS memset;
        CUDA_HOST_NODE_PARAMS host;
        struct {
            CUgraph graph;
            int ownership;
        } graph;
        struct {
            CUevent event;
            CUcontext ctx;
        } event; /* eventWait, eventRecord */
        CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
        struct {
            CUdeviceptr dptr;
        } free;
    } u;
    long long reserved2;
} CUgraphNodeParams;

typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS_st {
    cuuint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    CUgraphInstantiateResult result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;

typedef struct CUgraphExecUpdateResultInfo_st {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;

/* `extra` of a launch: parameters as one packed buffer. */
#define CU_LAUNCH_PARAM_END_            ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER_ ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE_    ((void *)2)

#define CU_STREAM_LEGACY_     ((CUstream)1)
#define CU_STREAM_PER_THREAD_ ((CUstream)2)

#endif
