/* entropy.c -- FSE and Huffman tables of Zstandard (RFC 8878, chapter 4) */
#include "base/zstd.h"
#include <string.h>

static unsigned high_bit(uint32_t v)
{
    unsigned n = 0;

    while (v >>= 1)
        n++;
    return n;
}

/* `n` bits from bit `at` on, lowest first; what lies behind the end is 0. */
static uint32_t bits_at(const unsigned char *in, size_t bytes, uint64_t at,
                        unsigned n)
{
    size_t k = (size_t)(at >> 3);
    uint64_t v = 0;

    for (unsigned i = 0; i < 5 && k + i < bytes; i++)
        v |= (uint64_t)in[k + i] << 8 * i;
    return (uint32_t)(v >> (at & 7) & (((uint64_t)1 << n) - 1));
}

bool fgs__backward_start(struct fgs__backward *b, const unsigned char *in,
                         size_t bytes)
{
    if (!bytes || !in[bytes - 1])
        return false;
    b->in = in;
    b->bytes = bytes;
    b->left = (int64_t)(bytes - 1) * 8 + high_bit(in[bytes - 1]);
    return true;
}

uint32_t fgs__backward_take(struct fgs__backward *b, unsigned n)
{
    int64_t at = b->left - n;

    b->left = at;
    if (at >= 0)
        return bits_at(b->in, b->bytes, (uint64_t)at, n);
    if (at <= -(int64_t)n)
        return 0;
    return bits_at(b->in, b->bytes, 0, (unsigned)(n + at)) << -at;
}

/* ------------------------------------------------------------------ FSE -- */

bool fgs__fse_make(struct fgs__fse *t, const int16_t *share, unsigned symbols,
                   unsigned log)
{
    uint32_t size = 1u << log, high = size, at = 0, k;
    uint32_t step = (size >> 1) + (size >> 3) + 3;
    uint16_t next[256];

    t->set = false;
    for (unsigned s = 0; s < symbols; s++) {
        next[s] = share[s] < 0 ? 1 : (uint16_t)share[s];
        if (share[s] < 0)
            t->cell[--high].symbol = (uint8_t)s;
    }
    for (unsigned s = 0; s < symbols; s++)
        for (int i = 0; i < share[s]; i++) {
            t->cell[at].symbol = (uint8_t)s;
            do
                at = (at + step) & (size - 1);
            while (at >= high);
        }
    if (at)
        return false;
    for (k = 0; k < size; k++) {
        uint32_t n = next[t->cell[k].symbol]++;
        unsigned bits = log - high_bit(n);

        t->cell[k].bits = (uint8_t)bits;
        t->cell[k].base = (uint16_t)((n << bits) - size);
    }
    t->log = (uint8_t)log;
    t->set = true;
    return true;
}

void fgs__fse_one(struct fgs__fse *t, uint8_t symbol)
{
    t->set = true;
    t->log = 0;
    t->cell[0].symbol = symbol;
    t->cell[0].bits = 0;
    t->cell[0].base = 0;
}

/* Zeros behind a share of zero: two bits say how many, 3 = more follow. */
static bool skip_zeros(const unsigned char *in, size_t bytes, uint64_t *at,
                       int16_t *share, unsigned *n, unsigned most)
{
    uint32_t more = 3;

    while (more == 3) {
        more = bits_at(in, bytes, *at, 2);
        *at += 2;
        for (uint32_t i = 0; i < more; i++) {
            if (*n == most)
                return false;
            share[(*n)++] = 0;
        }
        if (*at > bytes * 8)
            return false;
    }
    return true;
}

size_t fgs__fse_read(struct fgs__fse *t, unsigned most_log,
                     unsigned most_symbols, const unsigned char *in,
                     size_t bytes)
{
    int16_t share[256];
    unsigned log = bits_at(in, bytes, 0, 4) + 5, n = 0;
    int32_t left = 1 << log;
    uint64_t at = 4;

    if (log > most_log)
        return 0;
    while (left > 0) {
        /* A value up to left + 1: the low ones take a bit less. */
        unsigned bits = high_bit((uint32_t)left + 1) + 1;
        uint32_t v = bits_at(in, bytes, at, bits);
        uint32_t low = v & ((1u << (bits - 1)) - 1);
        uint32_t few = (1u << bits) - 1 - ((uint32_t)left + 1);

        at += bits;
        if (low < few) {
            v = low;
            at--;
        } else if (v >= 1u << (bits - 1)) {
            v -= few;
        }
        if (n == most_symbols || at > bytes * 8)
            return 0;
        share[n] = (int16_t)((int32_t)v - 1);
        left -= share[n] < 0 ? 1 : share[n];
        if (!share[n++] && !skip_zeros(in, bytes, &at, share, &n,
                                       most_symbols))
            return 0;
    }
    if (left || !fgs__fse_make(t, share, n, log))
        return 0;
    return (size_t)((at + 7) / 8);
}

uint32_t fgs__fse_next(const struct fgs__fse *t, uint32_t state,
                       struct fgs__backward *b)
{
    return t->cell[state].base + fgs__backward_take(b, t->cell[state].bits);
}

/* -------------------------------------------------------------- Huffman -- */

/* Weights in an FSE stream with two states in turn; 0 = bad. */
static unsigned packed_weights(uint8_t *weight, const unsigned char *in,
                               size_t bytes)
{
    struct fgs__fse t;
    struct fgs__backward b;
    size_t head = fgs__fse_read(&t, 6, 256, in, bytes);
    uint32_t state[2];
    unsigned n;

    if (!head || !fgs__backward_start(&b, in + head, bytes - head))
        return 0;
    state[0] = fgs__backward_take(&b, t.log);
    state[1] = fgs__backward_take(&b, t.log);
    if (b.left < 0)
        return 0;
    for (n = 0; n < 254; n++) {
        uint32_t *s = &state[n & 1];

        weight[n] = t.cell[*s].symbol;
        *s = fgs__fse_next(&t, *s, &b);
        if (b.left < 0) {
            weight[n + 1] = t.cell[state[(n + 1) & 1]].symbol;
            return n + 2;
        }
    }
    return 0;
}

/* The last symbol's weight makes the sum a power of two. */
static bool last_weight(uint8_t *weight, unsigned *n, unsigned *bits)
{
    uint32_t sum = 0, rest;

    for (unsigned k = 0; k < *n; k++) {
        if (weight[k] > FGS__HUF_LOG)
            return false;
        sum += weight[k] ? 1u << (weight[k] - 1) : 0;
    }
    if (!sum)
        return false;
    *bits = high_bit(sum) + 1;
    rest = (1u << *bits) - sum;
    if (*bits > FGS__HUF_LOG || rest & (rest - 1))
        return false;
    weight[(*n)++] = (uint8_t)(high_bit(rest) + 1);
    return true;
}

size_t fgs__huf_read(struct fgs__huf *h, const unsigned char *in, size_t bytes)
{
    uint8_t weight[256];
    unsigned n, bits;
    uint32_t at = 0;
    size_t took;

    h->bits = 0;
    if (!bytes)
        return 0;
    if (in[0] < 128) {
        took = 1 + (size_t)in[0];
        if (took > bytes)
            return 0;
        n = packed_weights(weight, in + 1, in[0]);
    } else {
        n = in[0] - 127u;
        took = 1 + (n + 1) / 2;
        if (took > bytes)
            return 0;
        for (unsigned k = 0; k < n; k++)
            weight[k] = in[1 + k / 2] >> (k & 1 ? 0 : 4) & 15;
    }
    if (!n || n > 255 || !last_weight(weight, &n, &bits))
        return 0;
    /* Long codes first, equal ones by symbol. */
    for (unsigned w = 1; w <= bits; w++)
        for (unsigned s = 0; s < n; s++) {
            if (weight[s] != w)
                continue;
            memset(h->symbol + at, (int)s, 1u << (w - 1));
            memset(h->length + at, (int)(bits + 1 - w), 1u << (w - 1));
            at += 1u << (w - 1);
        }
    if (at != 1u << bits)
        return 0;
    h->bits = (uint8_t)bits;
    return took;
}

bool fgs__huf_decode(const struct fgs__huf *h, unsigned char *out, size_t n,
                     const unsigned char *in, size_t bytes)
{
    struct fgs__backward b;

    if (!fgs__backward_start(&b, in, bytes))
        return false;
    for (size_t k = 0; k < n; k++) {
        uint32_t v = fgs__backward_take(&b, h->bits);

        out[k] = h->symbol[v];
        b.left += h->bits - h->length[v];
        if (b.left < 0)
            return false;
    }
    return !b.left;
}
