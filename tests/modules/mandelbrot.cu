/* mandelbrot.cu -- steps until |z| > 2, 64 x 64 points, at most 100
 *
 * 16 x 256; rounded step by step, so that the counts are those of any IEEE
 * machine; out = double, the upper half of the rows in float.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_86
#include "common.cuh"

template <typename T> struct rounded;
template <> struct rounded<double> {
    static __device__ double mul(double a, double b) { return __dmul_rn(a, b); }
    static __device__ double add(double a, double b) { return __dadd_rn(a, b); }
};
template <> struct rounded<float> {
    static __device__ float mul(float a, float b) { return __fmul_rn(a, b); }
    static __device__ float add(float a, float b) { return __fadd_rn(a, b); }
};

template <typename T> __device__ unsigned steps(T x, T y)
{
    using r = rounded<T>;
    T a = 0, b = 0;
    unsigned n = 0;

    for (; n < 100; n++) {
        T aa = r::mul(a, a), bb = r::mul(b, b);
        if (r::add(aa, bb) > 4)
            break;
        T ab = r::mul(a, b);
        a = r::add(r::add(aa, -bb), x);
        b = r::add(r::add(ab, ab), y);
    }
    return n;
}

extern "C" __global__ void run(const unsigned *, unsigned *out)
{
    unsigned i = thread(), x = i % 64, y = i / 64;

    if (y < 32)
        out[i] = steps<float>(x / 32.0f - 1.5f, y / 32.0f - 1);
    else
        out[i] = steps<double>(x / 32.0 - 1.5, y / 32.0 - 1);
}
