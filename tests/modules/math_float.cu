/* math_float.cu -- functions in float, and with the fast ones
 *
 * 4 x 128, six results each, of x in [-3, 3) and y in [0, 1).
 */
//: nvrtc
//: nvrtc --use_fast_math
//: nvrtc --gpu-architecture=compute_75 --ftz=true --prec-div=false
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, float *out)
{
    unsigned i = thread();
    float x = unit(in[2 * i]) * 6 - 3, y = unit(in[2 * i + 1]);
    float *o = out + 6 * i;

    o[0] = sinf(x) + cosf(x);
    o[1] = expf(x) + logf(y + 0.5f) + exp2f(y);
    o[2] = powf(y + 0.25f, x);
    o[3] = erff(x) + atanf(x);
    o[4] = sqrtf(y) / (x * x + 1) + rsqrtf(y + 1) + cbrtf(x);
    o[5] = fmaf(x, y, 0.5f) + truncf(x) + fabsf(y) + copysignf(y, x);
}
