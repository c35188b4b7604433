/* convert.cu -- floats to codes of every element type
 *
 * ELEMENT, SATURATE by -D.  in: count floats; out: a code a word.
 */
#include <fgs/fgs_device.cuh>

typedef fgs::ELEMENT element;

extern "C" __global__ void run(const float *in, unsigned *out, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        out[i] = fgs::convert<element, (fgs::saturate)SATURATE>(in[i]);
}

/* The same in their places in chunks; count a multiple of per_chunk. */
extern "C" __global__ void packed(const float *in, fgs::chunk *out,
                                  unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[element::per_chunk];

    if (i >= count / element::per_chunk)
        return;
    for (unsigned k = 0; k < element::per_chunk; k++)
        v[k] = in[i * element::per_chunk + k];
    out[i] = fgs::pack<element, (fgs::saturate)SATURATE>(v);
}

/* Words as they are, without sentinels; out has a second half: does a word
 * hold one? */
extern "C" __global__ void words(const unsigned *in, unsigned *out,
                                 unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= count)
        return;
    out[i] = fgs::canonicalize<element, (fgs::saturate)SATURATE>(in[i]);
    out[count + i] = fgs::holds_sentinel<element>(in[i]);
}
