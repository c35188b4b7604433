/* math_double.cu -- functions of libdevice in double
 *
 * 2 x 128, eight results each, of x in [-3, 3) and y in [0, 1).
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_80
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, double *out)
{
    unsigned i = thread();
    double x = unit(in[2 * i]) * 6.0 - 3, y = unit(in[2 * i + 1]);
    double *o = out + 8 * i;

    o[0] = sin(x) + cos(10 * x) * tan(y);
    o[1] = exp(x) + log(y + 0.5) + log1p(y) + expm1(y);
    o[2] = pow(y + 0.25, x) + cbrt(x) + hypot(x, y);
    o[3] = erf(x) + erfc(y) + lgamma(x + 5) + tgamma(y + 1);
    o[4] = atan2(x, y) + asin(y) + acos(-y) + sinh(x) + tanh(y);
    o[5] = fmod(100 * x, y + 0.5) + remainder(x, 0.75) + floor(x) + rint(y);
    o[6] = sqrt(y) / (x * x + 1) + rsqrt(y + 1) + fma(x, y, 0.5);
    o[7] = j0(x) + normcdf(x) + exp2(x) + log2(y + 1) + exp10(y);
}
