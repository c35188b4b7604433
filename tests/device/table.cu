/* table.cu -- what the device header knows of each element type
 *
 * out: a row of 8 words and 40 bytes of the qualifier for each, in order; then
 * codes, roles, and where the members of ctl, stat, trace, rec lie.
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

template <class S, class F> static __device__ unsigned at(F S::*member)
{
    S s;

    return (unsigned)((char *)&(s.*member) - (char *)&s);
}

extern "C" __global__ void run(const unsigned *, unsigned *out)
{
#define ROW(type, bits, sentinel, mech, keeps)                                 \
    row<fgs::type>(out);                                                       \
    out += 18;
    FGS_ELEMENTS(ROW)
    const unsigned more[] = {
        fgs::giveup_time, fgs::giveup_tries, fgs::giveup_landing,
        fgs::role_init, fgs::role_producer, fgs::role_consumer, fgs::no_chunk,
        sizeof(fgs::ctl), sizeof(fgs::stat), sizeof(fgs::trace),
        sizeof(fgs::rec), at(&fgs::ctl::abort), at(&fgs::stat::reissues),
        at(&fgs::stat::first), at(&fgs::stat::last), at(&fgs::trace::start),
        at(&fgs::trace::ready), at(&fgs::trace::end), at(&fgs::trace::sm),
        at(&fgs::trace::tries),
        at(&fgs::rec::code), at(&fgs::rec::role), at(&fgs::rec::block),
        at(&fgs::rec::tile), at(&fgs::rec::chunk), at(&fgs::rec::bits0),
        at(&fgs::rec::bits1), at(&fgs::rec::tries), at(&fgs::rec::elapsed_ns)
    };
    for (unsigned word : more)
        *out++ = word;
}
