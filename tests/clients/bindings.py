# bindings.py -- cuda-python on the drop-in library, as its users have it
import ctypes
import os
import sys

from cuda.bindings import driver as cu
from cuda.bindings import nvrtc

TEXT = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c)
{
    .reg .u32 %i;
    .reg .u64 %a, %b, %c, %o;
    .reg .f32 %x, %y;
    mov.u32 %i, %tid.x;
    mul.wide.u32 %o, %i, 4;
    ld.param.u64 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %c, [c];
    add.u64 %a, %a, %o;
    add.u64 %b, %b, %o;
    add.u64 %c, %c, %o;
    ld.global.f32 %x, [%a];
    ld.global.f32 %y, [%b];
    add.f32 %x, %x, %y;
    st.global.f32 [%c], %x;
    ret;
}
.visible .entry twice(.param .u64 a)
{
    .reg .u32 %v;
    .reg .u64 %a;
    griddepcontrol.launch_dependents;
    ld.param.u64 %a, [a];
    griddepcontrol.wait;
    ld.global.u32 %v, [%a];
    mad.lo.u32 %v, %v, 2, 1;
    st.global.u32 [%a], %v;
    ret;
}
\0"""


CUDA = b"""
extern "C" __global__ void __launch_bounds__(128) saxpy(float a, float *x,
                                                        float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
__constant__ int factor;
__device__ int count;
template <int N> __global__ void tally()
{
    __shared__ int s[N];
    s[threadIdx.x] = factor;
    __syncthreads();
    if (!threadIdx.x)
        for (int i = 0; i < N; i++)
            atomicAdd(&count, s[i]);
}
"""


def ok(result):
    assert result[0] == cu.CUresult.CUDA_SUCCESS, result[0]
    return result[1] if len(result) == 2 else result[1:]


def vadd(module):
    n = 64
    f = ok(cu.cuModuleGetFunction(module, b"vadd"))
    host = (ctypes.c_float * n)(*range(n))
    d = [ok(cu.cuMemAlloc(4 * n)) for _ in range(3)]
    for p in d[:2]:
        ok(cu.cuMemcpyHtoD(p, ctypes.addressof(host), 4 * n))
    args = ((int(d[0]), int(d[1]), int(d[2])), (ctypes.c_void_p,) * 3)
    ok(cu.cuLaunchKernel(f, 1, 1, 1, n, 1, 1, 0, 0, args, 0))
    out = (ctypes.c_float * n)()
    ok(cu.cuMemcpyDtoH(ctypes.addressof(out), d[2], 4 * n))
    assert list(out) == [2.0 * i for i in range(n)]


def chain(stream, f, p, count):
    attr = cu.CUlaunchAttribute()
    attr.id = (cu.CUlaunchAttributeID
               .CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
    attr.value.programmaticStreamSerializationAllowed = 1
    c = cu.CUlaunchConfig()
    c.gridDimX = c.gridDimY = c.gridDimZ = 1
    c.blockDimX = c.blockDimY = c.blockDimZ = 1
    c.hStream = stream
    c.attrs = [attr]
    c.numAttrs = 1
    args = ((int(p),), (ctypes.c_void_p,))
    for _ in range(count):
        ok(cu.cuLaunchKernelEx(c, f, args, 0))


def word(p):
    out = ctypes.c_uint32(0)
    ok(cu.cuMemcpyDtoH(ctypes.addressof(out), p, 4))
    return out.value


def compiled():
    """PTX by NVRTC, with a template's lowered name."""
    def rtc(result):
        assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, result[0]
        return result[1] if len(result) == 2 else result[1:]
    prog = rtc(nvrtc.nvrtcCreateProgram(CUDA, b"client.cu", 0, [], []))
    rtc(nvrtc.nvrtcAddNameExpression(prog, b"tally<64>"))
    options = [b"--gpu-architecture=compute_90", b"-lineinfo", b"--fmad=true"]
    rtc(nvrtc.nvrtcCompileProgram(prog, len(options), options))
    text = b" " * rtc(nvrtc.nvrtcGetPTXSize(prog))
    rtc(nvrtc.nvrtcGetPTX(prog, text))
    name = rtc(nvrtc.nvrtcGetLoweredName(prog, b"tally<64>"))
    rtc(nvrtc.nvrtcDestroyProgram(prog))
    return text, name


def nvrtc_module(stream):
    text, name = compiled()
    opt = cu.CUjit_option
    log = bytearray(1024)
    module = ok(cu.cuModuleLoadDataEx(
        text, 2, [opt.CU_JIT_INFO_LOG_BUFFER,
                  opt.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES], [log, len(log)]))
    f = ok(cu.cuModuleGetFunction(module, b"saxpy"))
    most = ok(cu.cuFuncGetAttribute(
        cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f))
    assert most == 128
    n = 1000
    host = (ctypes.c_float * n)(*range(n))
    pool = ok(cu.cuDeviceGetDefaultMemPool(0))
    x, y = [ok(cu.cuMemAllocFromPoolAsync(4 * n, pool, stream))
            for _ in range(2)]
    for p in (x, y):
        ok(cu.cuMemcpyHtoDAsync(p, ctypes.addressof(host), 4 * n, stream))
    grid, block = ok(cu.cuOccupancyMaxPotentialBlockSize(
        f, cu.CUoccupancyB2DSize(0), 0, 0))
    assert 0 < block <= 128 and grid > 0
    blocks = ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(f, block, 0))
    assert blocks > 0
    left = ok(cu.cuOccupancyAvailableDynamicSMemPerBlock(f, 2, block))
    assert left > 0
    args = ((2.0, int(x), int(y), n),
            (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))
    ok(cu.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, args, 0))
    out = (ctypes.c_float * n)()
    ok(cu.cuMemcpyDtoHAsync(ctypes.addressof(out), y, 4 * n, stream))
    ok(cu.cuMemFreeAsync(x, stream))
    ok(cu.cuMemFreeAsync(y, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert list(out) == [3.0 * i for i in range(n)]
    used = ok(cu.cuMemPoolGetAttribute(
        pool, cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    assert int(used) == 0
    three = ctypes.c_int(3)
    at, size = ok(cu.cuModuleGetGlobal(module, b"factor"))
    assert size == 4
    ok(cu.cuMemcpyHtoD(at, ctypes.addressof(three), 4))
    f = ok(cu.cuModuleGetFunction(module, name))
    ok(cu.cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, stream, 0, 0))
    ok(cu.cuStreamSynchronize(stream))
    assert word(ok(cu.cuModuleGetGlobal(module, b"count"))[0]) == 2 * 64 * 3
    ok(cu.cuModuleUnload(module))


def events(stream, f, p):
    """Two streams in order by an event; what was timed took its time."""
    other = ok(cu.cuStreamCreateWithPriority(1, -1))
    start, end = [ok(cu.cuEventCreate(0)) for _ in range(2)]
    ok(cu.cuMemsetD32Async(p, 0, 1, stream))
    ok(cu.cuEventRecord(start, stream))
    chain(stream, f, p, 3)
    ok(cu.cuEventRecord(end, stream))
    ok(cu.cuStreamWaitEvent(other, end, 0))
    chain(other, f, p, 4)
    ok(cu.cuStreamSynchronize(other))
    assert word(p) == 2**7 - 1
    assert ok(cu.cuEventElapsedTime(start, end)) > 0
    assert cu.cuStreamQuery(stream)[0] == cu.CUresult.CUDA_SUCCESS
    for e in (start, end):
        ok(cu.cuEventDestroy(e))
    ok(cu.cuStreamDestroy(other))


def edges(stream, f, p):
    """A graph made by hand, whose edge is a programmatic one."""
    graph = ok(cu.cuGraphCreate(0))
    k = cu.CUDA_KERNEL_NODE_PARAMS()
    k.func = f
    k.gridDimX = k.gridDimY = k.gridDimZ = 1
    k.blockDimX = k.blockDimY = k.blockDimZ = 1
    k.kernelParams = ((int(p),), (ctypes.c_void_p,))
    nodes = [ok(cu.cuGraphAddKernelNode(graph, None, 0, k)) for _ in range(2)]
    data = cu.CUgraphEdgeData()
    data.from_port = 1
    data.type = (cu.CUgraphDependencyType
                 .CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
    ok(cu.cuGraphAddDependencies(graph, nodes[:1], nodes[1:], [data], 1))
    back = ok(cu.cuGraphGetEdges(graph, 1))
    assert len(back[0]) == 1 # the edge data read back is freed by 13.0.3
    run = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuMemsetD32(p, 1, 1))
    ok(cu.cuGraphLaunch(run, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert word(p) == 7
    ok(cu.cuGraphExecDestroy(run))
    ok(cu.cuGraphDestroy(graph))


def main():
    ok(cu.cuInit(0))
    device = ok(cu.cuDeviceGet(0))
    print(ok(cu.cuDeviceGetName(64, device)).split(b"\0")[0].decode())
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(device))))
    module = ok(cu.cuModuleLoadData(TEXT))
    vadd(module)
    print("ok vector_add")
    f = ok(cu.cuModuleGetFunction(module, b"twice"))
    stream = ok(cu.cuStreamCreate(1))
    p = ok(cu.cuMemAlloc(4))
    ok(cu.cuMemsetD32(p, 0, 1))
    chain(stream, f, p, 10)
    ok(cu.cuStreamSynchronize(stream))
    assert word(p) == 2**10 - 1
    print("ok programmatic_chain")
    mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    ok(cu.cuMemsetD32(p, 0, 1))
    ok(cu.cuStreamBeginCapture(stream, mode))
    chain(stream, f, p, 5)
    graph = ok(cu.cuStreamEndCapture(stream))
    run = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphLaunch(run, stream))
    ok(cu.cuGraphLaunch(run, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert word(p) == 2**10 - 1
    print("ok graph")
    events(stream, f, p)
    print("ok events")
    edges(stream, f, p)
    print("ok edge_data")
    if os.environ.get("CLIENT_NVRTC"):
        nvrtc_module(stream)
        print("ok nvrtc_module")
    else:
        print("skip nvrtc_module: no NVRTC")
    return 0


sys.exit(main())
