/* take.h -- numbers out of a fuzzer's bytes; past their end all are 0 */
#ifndef TAKE_H
#define TAKE_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    const unsigned char *at;
    size_t left;
};

static inline uint64_t take(struct bytes *b, unsigned bytes)
{
    uint64_t v = 0;

    for (; bytes && b->left; bytes--, b->left--)
        v = v << 8 | *b->at++;
    return v;
}

/* Mostly small, sometimes at an edge, sometimes anything. */
static inline uint64_t take_number(struct bytes *b)
{
    unsigned kind = (unsigned)take(b, 1);

    if (kind < 160)
        return kind % 80;
    if (kind < 200)
        return (uint64_t)1 << kind % 64;
    if (kind < 220)
        return ((uint64_t)1 << kind % 64) - 1;
    if (kind < 240)
        return take(b, 2);
    return take(b, 8);
}

#endif
