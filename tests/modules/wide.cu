/* wide.cu -- 64-bit and 128-bit integers: products, quotients, shifts
 *
 * 4 x 128, eight words out each; a, b = 64-bit words of in[4i ..].
 */
//: nvrtc --device-int128
//: nvrtc --gpu-architecture=compute_120 --device-int128
#include "common.cuh"

extern "C" __global__ void run(const ulonglong2 *in, unsigned long long *out)
{
    unsigned i = thread();
    unsigned long long a = in[i].x, b = in[i].y, *o = out + 4 * i;
    unsigned __int128 product = (unsigned __int128)a * b;
    __int128 sum = -((__int128)product >> (a & 127)) + (long long)b;

    o[0] = (unsigned long long)(product >> 64) + a / (b >> 40 | 1);
    o[1] = (unsigned long long)(sum >> 32) ^ (unsigned long long)sum;
    o[2] = (unsigned long long)(product % ((unsigned __int128)b << 9 | 1)) ^
        (unsigned long long)((long long)a % ((int)b | 1));
    unsigned none, some; /* a carry is read by subc as no borrow */
    asm("{ add.cc.u32 %0, %2, %3; subc.u32 %1, 7, %4; }"
        : "=r"(none), "=r"(some)
        : "r"((unsigned)a), "r"((unsigned)b), "r"(0));
    o[1] += some + none - (unsigned)a - (unsigned)b;
    o[3] = __umul64hi(a, b) + __clzll((long long)a) + __popcll(b) +
        __brevll(a) + (unsigned long long)__mul64hi((long long)a, (long long)b);
}
