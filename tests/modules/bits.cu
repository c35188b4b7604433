/* bits.cu -- bit and byte intrinsics, and those of small vectors in a word
 *
 * 4 x 256; eight or more words of each kind, a stripe of 1024 a group: out[i],
 * out[1024 + i], out[2048 + i], out[3072 + i] fold several results each.
 */
//: nvrtc
//: nvrtc --gpu-architecture=compute_75
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned i = thread(), v = in[i], w = in[1024 + i], s = w & 31;

    out[i] = __brev(v) ^ __popc(v) << 8 ^ __clz((int)(v >> s)) << 16 ^
        __ffs((int)(v << s)) << 24;
    out[1024 + i] = __byte_perm(v, w, in[2048 + i] & 0x7777) ^
        __funnelshift_l(v, w, s) ^ __funnelshift_rc(v, w, w >> 26);
    out[2048 + i] = __vadd4(v, w) ^ __vmaxu2(v, w) ^ __vcmpgtu4(v, w);
    out[3072 + i] = __umulhi(v, w) ^ (unsigned)__mulhi((int)v, (int)w) ^
        __usad(v, w, 7) ^ (unsigned)__hadd((int)v, (int)w) ^ __urhadd(v, w);
}
