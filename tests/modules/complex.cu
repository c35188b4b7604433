/* complex.cu -- cuda::std::complex: a polynomial, quotients, absolute values
 *
 * 2 x 128, four doubles each: p(z) = ((z + c) z + c) z, and c / (z + 2), with
 * z, c = numbers of in[4i ..].
 */
//: nvrtc
#include "common.cuh"
#include <cuda/std/complex>

extern "C" __global__ void run(const unsigned *in, double *out)
{
    using number = cuda::std::complex<double>;
    const unsigned *w = in + 4 * thread();
    number z(unit(w[0]), unit(w[1])), c(unit(w[2]), unit(w[3]));
    number p = ((z + c) * z + c) * z, q = c / (z + 2.0);
    double *o = out + 4 * thread();

    o[0] = p.real();
    o[1] = p.imag();
    o[2] = q.real() + q.imag();
    o[3] = abs(z) + arg(c) + norm(z - c);
}
