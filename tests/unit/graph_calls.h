/* graph_calls.h -- a provider's streams and graphs, for tests of plans in them
 *
 * Entry points as cuda.h declares them; calls_get fills `cu`.
 */
#ifndef GRAPH_CALLS_H
#define GRAPH_CALLS_H

#include "compose_rig.h"

#define GRAPH_CALLS(X) \
    X(stream_create, cuStreamCreate, (CUstream *, unsigned)) \
    X(stream_destroy, cuStreamDestroy, (CUstream)) \
    X(stream_synchronize, cuStreamSynchronize, (CUstream)) \
    X(retain, cuDevicePrimaryCtxRetain, (CUcontext *, int)) \
    X(release, cuDevicePrimaryCtxRelease, (int)) \
    X(push, cuCtxPushCurrent, (CUcontext)) \
    X(pop, cuCtxPopCurrent, (CUcontext *)) \
    X(begin, cuStreamBeginCapture, (CUstream, unsigned)) \
    X(end, cuStreamEndCapture, (CUstream, CUgraph *)) \
    X(create, cuGraphCreate, (CUgraph *, unsigned)) \
    X(destroy, cuGraphDestroy, (CUgraph)) \
    X(instantiate, cuGraphInstantiateWithFlags, \
      (CUgraphExec *, CUgraph, unsigned long long)) \
    X(launch, cuGraphLaunch, (CUgraphExec, CUstream)) \
    X(exec_destroy, cuGraphExecDestroy, (CUgraphExec)) \
    X(nodes, cuGraphGetNodes, (CUgraph, CUgraphNode *, size_t *)) \
    X(empty, cuGraphAddEmptyNode, \
      (CUgraphNode *, CUgraph, const CUgraphNode *, size_t)) \
    X(alloc, cuMemAlloc, (CUdeviceptr *, size_t)) \
    X(free, cuMemFree, (CUdeviceptr))

static struct {
#define X(member, name, params) int (*member) params;
    GRAPH_CALLS(X)
#undef X
} cu;

static inline void calls_get(fgs_device *dev)
{
#define X(member, name, params) net_proc(dev, #name, &cu.member);
    GRAPH_CALLS(X)
#undef X
}

#endif
