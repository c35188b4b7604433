/* fft.cu -- 256 complex numbers in shared memory, radix 2, double
 *
 * 1 x 128; z[k] = unit(in[2k]) + i unit(in[2k + 1]), out[2k], out[2k + 1].
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, double *out)
{
    __shared__ double2 z[256];
    unsigned t = threadIdx.x;

    for (unsigned k = t; k < 256; k += 128)
        z[__brev(k) >> 24] = make_double2(unit(in[2 * k]), unit(in[2 * k + 1]));
    for (unsigned half = 1; half < 256; half *= 2) {
        double s, c;
        unsigned k = t % half, i = t / half * 2 * half + k, j = i + half;
        sincospi(-(double)k / half, &s, &c);
        __syncthreads();
        double2 a = z[i], b = z[j];
        double2 w = { b.x * c - b.y * s, b.x * s + b.y * c };
        z[i] = make_double2(a.x + w.x, a.y + w.y);
        z[j] = make_double2(a.x - w.x, a.y - w.y);
    }
    __syncthreads();
    for (unsigned k = t; k < 256; k += 128)
        *(double2 *)(out + 2 * k) = z[k];
}
