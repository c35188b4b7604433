# bindings.py -- cuda-python on the drop-in library: a sum, a chain, a graph
import ctypes
import sys

from cuda.bindings import driver as cu

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
    return 0


sys.exit(main())
