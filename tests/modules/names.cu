/* names.cu -- a kernel template found by its name expression, lambdas, folds
 *
 * 2 x 128; out[i] = ((in[i] * 3 + 5) ^ 7) - i, out[256 + i] = sum of the
 * parameters plus the fourth Fibonacci number of the template.
 */
//: nvrtc --device-as-default-execution-space
//: name lab::work<unsigned, 12>
#include "common.cuh"

namespace lab {

template <typename F, typename G> struct chain {
    F f;
    G g;
    template <typename T> __device__ auto operator()(T x) const
    {
        return g(f(x));
    }
};

template <typename... T> __device__ unsigned total(T... x)
{
    return (... + x);
}

constexpr unsigned fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

template <typename T, int N> __global__ void work(const T *in, T *out)
{
    unsigned i = thread();
    auto scale = [](T x) { return x * 3 + 5; };
    auto turn = [i](T x) { return (x ^ 7) - i; };
    chain<decltype(scale), decltype(turn)> both{ scale, turn };

    out[i] = both(in[i]);
    if constexpr (N > 10)
        out[256 + i] = total(i, 1u, in[i] >> 16, fibonacci(N));
}

}
