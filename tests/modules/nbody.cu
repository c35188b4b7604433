/* nbody.cu -- accelerations of 256 bodies, positions through shared memory
 *
 * 4 x 64; out[3i ..] = acceleration of body i; positions in[4i ..], mass
 * in[4i + 3], softened by 0.01.
 */
//: nvrtc
//: nvrtc --use_fast_math
#include "common.cuh"

extern "C" __global__ void run(const unsigned *in, float *out)
{
    __shared__ float4 other[64];
    unsigned i = thread();
    const uint4 *body = (const uint4 *)in;
    float3 p = { unit(body[i].x), unit(body[i].y), unit(body[i].z) };
    float3 a = { 0, 0, 0 };

    for (unsigned at = 0; at < 256; at += 64) {
        uint4 b = body[at + threadIdx.x];
        other[threadIdx.x] =
            make_float4(unit(b.x), unit(b.y), unit(b.z), unit(b.w));
        __syncthreads();
        for (unsigned k = 0; k < 64; k++) {
            float4 o = other[k];
            float x = o.x - p.x, y = o.y - p.y, z = o.z - p.z;
            float r = rsqrtf(x * x + y * y + z * z + 0.01f);
            float f = o.w * r * r * r;
            a.x += f * x;
            a.y += f * y;
            a.z += f * z;
        }
        __syncthreads();
    }
    out[3 * i] = a.x;
    out[3 * i + 1] = a.y;
    out[3 * i + 2] = a.z;
}
