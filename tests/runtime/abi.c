/* abi.c -- the rows of runtime.def and the toolkit's header agree
 *
 * Compiled twice: with the toolkit's header, where each prototype must be
 * compatible with its row, and with ours (OURS).  Both print the sizes of the
 * structures and where members are; the output must be the same.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef OURS
#include "rt/rt.h"
#else
#include <cuda_runtime_api.h>
#define ROW(name, params)                                                      \
    extern cudaError_t name params;                                            \
    _Static_assert(__builtin_types_compatible_p(                               \
                       __typeof__(name), cudaError_t params), #name);
#define OWN(name, forms, params)        ROW(name, params)
#define CALL(name, forms, params, call) ROW(name, params)
#include "rt/runtime.def"
#define RTERR(name, value, text) _Static_assert(name == value, #name);
#include "rt/error.def"
#endif

#define SIZE(type)       printf(#type " %zu\n", sizeof(type));
#define AT(type, member)                                                       \
    printf(#type "." #member " %zu\n", offsetof(type, member));

int main(void)
{
    SIZE(struct cudaDeviceProp)
#define PROP(type, member, attr)  AT(struct cudaDeviceProp, member)
#define PROPS(member, count, ...) AT(struct cudaDeviceProp, member)
#define FIELD(type, member)       AT(struct cudaDeviceProp, member)
#define BYTES(member, count)      AT(struct cudaDeviceProp, member)
#include "rt/devprop.def"
    SIZE(struct cudaPointerAttributes)
    AT(struct cudaPointerAttributes, hostPointer)
    SIZE(struct cudaFuncAttributes)
    AT(struct cudaFuncAttributes, maxThreadsPerBlock)
    AT(struct cudaFuncAttributes, requiredClusterDepth)
    AT(struct cudaFuncAttributes, nonPortableClusterSizeAllowed)
    SIZE(struct cudaMemcpy3DParms)
    AT(struct cudaMemcpy3DParms, dstPtr)
    AT(struct cudaMemcpy3DParms, kind)
    SIZE(struct cudaKernelNodeParams)
    AT(struct cudaKernelNodeParams, kernelParams)
    SIZE(cudaLaunchConfig_t)
    AT(cudaLaunchConfig_t, stream)
    AT(cudaLaunchConfig_t, numAttrs)
    SIZE(cudaLaunchAttribute)
    SIZE(cudaLaunchAttributeValue)
    SIZE(cudaGraphEdgeData)
    SIZE(cudaGraphExecUpdateResultInfo)
    SIZE(cudaGraphInstantiateParams)
    SIZE(struct cudaMemLocation)
    SIZE(struct cudaMemPoolProps)
    SIZE(struct cudaMemAccessDesc)
    SIZE(struct cudaMemsetParams)
    SIZE(struct cudaHostNodeParams)
    SIZE(struct cudaChannelFormatDesc)
    SIZE(dim3)
    return 0;
}
