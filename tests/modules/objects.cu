/* objects.cu -- virtual functions, tables of functions, recursion
 *
 * 2 x 64; out[i] = area of i's shape, out[128 + i] = by the table, out[256 +
 * i] = ackermann(2, i % 6), out[384 + i] = moves of a tower of i % 8 + 1.
 */
//: nvrtc
//: nvrtc -G
//: nvrtc --gpu-architecture=compute_75 -lineinfo
#include "common.cuh"

struct shape {
    __device__ virtual unsigned area(unsigned x) const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    __device__ unsigned area(unsigned x) const override { return x * x; }
};
struct strip : shape {
    unsigned k;
    __device__ explicit strip(unsigned width) : k(width) {}
    __device__ unsigned area(unsigned x) const override { return k * x; }
};
struct frame : square {
    __device__ unsigned area(unsigned x) const override
    {
        return square::area(x + 2) - square::area(x);
    }
};

__device__ unsigned twice(unsigned x) { return 2 * x; }
__device__ unsigned next(unsigned x) { return x + 1; }
__device__ unsigned turned(unsigned x) { return ~x; }
typedef unsigned (*function)(unsigned);
__device__ function const table[3] = { twice, next, turned };

__device__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

__device__ unsigned hanoi(unsigned n)
{
    return n ? hanoi(n - 1) + 1 + hanoi(n - 1) : 0;
}

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned i = thread(), v = in[i];
    square a;
    strip b(v & 255);
    frame c;
    const shape *list[3] = { &a, &b, &c };

    out[i] = list[v >> 8 & 1 ? 2 : i % 2]->area(v >> 16);
    out[128 + i] = table[v % 3](v);
    out[256 + i] = ackermann(2, i % 6);
    out[384 + i] = hanoi(i % 8 + 1);
}
