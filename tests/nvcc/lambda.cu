/* lambda.cu -- templates, lambdas, variadic folds, double, half, printf
 *
 * 64 threads; out[t] = bits of values that C computes alike.
 */
#include <cuda_fp16.h>
#include <stdio.h>

template <typename F, typename... A> __device__ auto apply(F f, A... a)
{
    return (f(a) + ...);
}

extern "C" __global__ void run(unsigned *out)
{
    unsigned t = threadIdx.x;
    double k = 0.5 + t;
    auto f = [=](double x) { return x * k; };

    out[t] = (unsigned)(apply(f, 1.0, 2.0, 4.0) * 2);
    out[64 + t] = (unsigned)__half2float(__hadd(__float2half((float)t),
                                                __float2half(0.5f)) *
                                         __float2half(2.0f));
    out[128 + t] = __popc(t) + 100 * __clz((int)t) + 10000 * (__ffs((int)t));
    if (t == 5)
        printf("thread %u of %d: %s %.2f\n", t, (int)blockDim.x, "says", k);
}
