/* objects.cu -- virtual functions, pointers to functions, recursion, placement
 *
 * 64 threads; out[t] = area, out[64 + t] = by table, out[128 + t] = ackermann.
 */
struct shape {
    __device__ virtual unsigned area(unsigned x) const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    __device__ unsigned area(unsigned x) const override { return x * x; }
};
struct strip : shape {
    unsigned k;
    __device__ strip(unsigned k) : k(k) {}
    __device__ unsigned area(unsigned x) const override { return k * x; }
};
__device__ __noinline__ unsigned twice(unsigned x) { return 2 * x; }
__device__ __noinline__ unsigned next(unsigned x) { return x + 1; }
typedef unsigned (*fn)(unsigned);
__device__ fn table[2] = { twice, next };
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    return !m ? n + 1 : !n ? ackermann(m - 1, 1)
                           : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void run(unsigned *out)
{
    unsigned t = threadIdx.x;
    shape *s = t % 3 ? (shape *)new square : (shape *)new strip(7);

    out[t] = s ? s->area(t) : ~0u;
    delete s;
    out[64 + t] = table[t & 1](t);
    out[128 + t] = ackermann(t % 3, t % 4);
}
