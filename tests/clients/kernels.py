# kernels.py -- Numba's kernels on the drop-in library
#
# Its linker makes machine code, which this device has no use for; asked for
# PTX it gives that.
import math

import numpy as np
import numba.cuda.cudadrv.driver as driver
from numba import cuda, float32


def complete(linker):
    options = linker._get_linker_options(ptx=True)
    linker.linker = driver.Linker(*linker._object_codes, options=options)
    result = linker.linker.link("ptx")
    linker.close()
    linker._complete = True
    return result


driver._Linker.complete = complete


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def reduce(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


@cuda.jit
def functions(x):
    i = cuda.grid(1)
    x[i] = math.sin(x[i]) * math.exp(-x[i]) / math.sqrt(x[i] + 1.0)


def main():
    a = np.arange(1000, dtype=np.float32)
    c = np.zeros_like(a)
    add[8, 128](a, 2 * a, c)
    assert (c == 3 * a).all()
    print("ok numba_add")
    x = cuda.to_device(np.ones(1024, dtype=np.float32))
    out = cuda.to_device(np.zeros(1, dtype=np.float32))
    stream = cuda.stream()
    done = cuda.event()
    reduce[8, 128, stream](x, out)
    done.record(stream)
    done.synchronize()
    assert out.copy_to_host()[0] == 1024
    print("ok numba_reduce")
    h = np.linspace(0, 3, 256)
    d = cuda.to_device(h)
    functions[2, 128](d)
    want = np.sin(h) * np.exp(-h) / np.sqrt(h + 1)
    assert np.allclose(d.copy_to_host(), want, rtol=1e-12)
    print("ok numba_functions")


main()
