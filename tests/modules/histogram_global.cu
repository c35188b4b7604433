/* histogram_global.cu -- one atomic for all lanes of a warp with the same bin
 *
 * 16 x 256; out[b] = words with low bits b of 16; out[16], out[17] = least,
 * most; out[18] = or, out[19] = xor, out[20] = sum in
 * 64 bits; out[22], out[24], out[26] count.
 */
//: nvrtc
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    unsigned v = in[thread()], bin = v & 15;
    unsigned same = __match_any_sync(~0u, bin);

    if (threadIdx.x % 32 == __ffs((int)same) - 1)
        atomicAdd(out + bin, __popc(same));
    atomicMax(out + 16, ~v);
    atomicMax(out + 17, v);
    atomicOr(out + 18, v & 0x00ffff00);
    atomicXor(out + 19, v);
    atomicAdd((unsigned long long *)(out + 20), (unsigned long long)v);
    atomicInc(out + 22, 999);
    atomicAdd((double *)(out + 24), 0.5);
    atomicAdd((float *)(out + 26), 2.0f);
}
