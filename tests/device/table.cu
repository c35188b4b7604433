/* table.cu -- what the device header knows of each element type
 *
 * out: a row of 8 words and 40 bytes of the qualifier for each, in order.
 */
#include <fgs/fgs_device.cuh>

template <class E> static __device__ void row(unsigned *out)
{
    const char *word = fgs::qualifier(fgs::mechanism_of<E>());
    unsigned char *text = (unsigned char *)(out + 8);

    out[0] = E::bits;
    out[1] = E::sentinel;
    out[2] = E::fill;
    out[3] = E::low;
    out[4] = E::high;
    out[5] = (unsigned)fgs::mechanism_of<E>();
    out[6] = (unsigned)fgs::rule_of<E>();
    out[7] = E::per_chunk;
    for (int i = 0; i < 40 && (!i || word[i - 1]); i++)
        text[i] = word[i];
}

extern "C" __global__ void run(const unsigned *, unsigned *out)
{
#define ROW(type, bits, sentinel, mech, keeps)                                 \
    row<fgs::type>(out);                                                       \
    out += 18;
    FGS_ELEMENTS(ROW)
}
