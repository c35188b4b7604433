/* zstd.h -- entropy coding of Zstandard: FSE and Huffman tables */
#ifndef FGS_BASE_ZSTD_H
#define FGS_BASE_ZSTD_H

#include "base/unpack.h"

enum { FGS__FSE_LOG = 9, FGS__HUF_LOG = 11 };

/* Bits from the end of a buffer to its begin.  Past the begin they are 0 and
 * `left` is negative. */
struct fgs__backward {
    const unsigned char *in;
    size_t bytes;
    int64_t left;
};
/* False = no end mark. */
bool fgs__backward_start(struct fgs__backward *b, const unsigned char *in,
                         size_t bytes);
/* `n` bits, 31 at most. */
uint32_t fgs__backward_take(struct fgs__backward *b, unsigned n);

struct fgs__fse {
    bool set;
    uint8_t log;
    struct {
        uint16_t base;         /* the next state: base + `bits` bits         */
        uint8_t symbol, bits;
    } cell[1 << FGS__FSE_LOG];
};
/* A table from the symbols' shares of 1 << log; -1 = less than one. */
bool fgs__fse_make(struct fgs__fse *t, const int16_t *share, unsigned symbols,
                   unsigned log);
void fgs__fse_one(struct fgs__fse *t, uint8_t symbol);
/* Read a table; returns how many bytes it took, 0 = bad. */
size_t fgs__fse_read(struct fgs__fse *t, unsigned most_log,
                     unsigned most_symbols, const unsigned char *in,
                     size_t bytes);
uint32_t fgs__fse_next(const struct fgs__fse *t, uint32_t state,
                       struct fgs__backward *b);

struct fgs__huf {
    uint8_t bits;              /* of the longest code, 0 = no table          */
    uint8_t symbol[1 << FGS__HUF_LOG], length[1 << FGS__HUF_LOG];
};
size_t fgs__huf_read(struct fgs__huf *h, const unsigned char *in, size_t bytes);
/* Exactly `n` symbols from exactly `bytes`. */
bool fgs__huf_decode(const struct fgs__huf *h, unsigned char *out, size_t n,
                     const unsigned char *in, size_t bytes);

#endif
