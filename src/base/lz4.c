/* lz4.c -- decode one LZ4 block */
#include "base/unpack.h"
#include <string.h>

struct span {
    const unsigned char *at, *end;
};

/* A length whose first four bits are `n`; false = the input ends. */
static bool length(struct span *in, size_t *n)
{
    unsigned char more = 255;

    if (*n != 15)
        return true;
    while (more == 255) {
        if (in->at == in->end)
            return false;
        more = *in->at++;
        *n += more;
    }
    return true;
}

bool fgs__unpack_lz4(unsigned char *out, size_t cap, const unsigned char *in,
                     size_t bytes)
{
    struct span s = { in, in + bytes };
    size_t used = 0;

    while (s.at < s.end) {
        size_t run = *s.at >> 4, match = *s.at & 15, back;

        s.at++;
        if (!length(&s, &run) || run > (size_t)(s.end - s.at) ||
            run > cap - used)
            return false;
        memcpy(out + used, s.at, run);
        s.at += run;
        used += run;
        if (s.at == s.end) /* the last sequence is literals alone */
            break;
        if (s.end - s.at < 2)
            return false;
        back = s.at[0] | (size_t)s.at[1] << 8;
        s.at += 2;
        if (!length(&s, &match) || !back || back > used ||
            match + 4 > cap - used)
            return false;
        /* Byte by byte: a match may reach into what it makes. */
        for (match += 4; match; match--, used++)
            out[used] = out[used - back];
    }
    return used == cap;
}
