/* zstd.c -- decode one Zstandard frame: blocks and sequences (RFC 8878) */
#include "base/zstd.h"
#include <string.h>

enum {
    BLOCK = 128 * 1024,        /* most bytes of a block                      */
    LL = 0, OF = 1, ML = 2, KINDS = 3, /* codes of a sequence                */
    LL_CODES = 36, OF_CODES = 32, ML_CODES = 53
};

struct zstd {
    unsigned char *out;
    size_t used, cap;
    struct fgs__huf huf;
    struct fgs__fse code[KINDS];
    uint32_t rep[3];           /* the last offsets                           */
    unsigned char literal[BLOCK];
    size_t literals;
};

/* ------------------------------------------------------------- literals -- */

static bool four_streams(struct zstd *z, const unsigned char *in, size_t bytes)
{
    size_t part = (z->literals + 3) / 4, at = 6, k, n;
    size_t size[4];

    if (bytes < 6 || part * 3 > z->literals)
        return false;
    for (k = 0, n = 6; k < 3; k++) {
        size[k] = in[2 * k] | (size_t)in[2 * k + 1] << 8;
        n += size[k];
    }
    if (n > bytes)
        return false;
    size[3] = bytes - n;
    for (k = 0; k < 4; at += size[k++])
        if (!fgs__huf_decode(&z->huf, z->literal + k * part,
                             k < 3 ? part : z->literals - 3 * part, in + at,
                             size[k]))
            return false;
    return true;
}

/* Sizes of compressed literals; returns bytes of the header, 0 = bad. */
static size_t sizes(const unsigned char *in, size_t bytes, size_t *made,
                    size_t *packed)
{
    static const uint8_t width[4] = { 10, 10, 14, 18 };
    static const uint8_t head[4] = { 3, 3, 4, 5 };
    unsigned form = in[0] >> 2 & 3;
    uint64_t v = 0, mask = ((uint64_t)1 << width[form]) - 1;

    if (bytes < head[form])
        return 0;
    for (unsigned k = 0; k < head[form]; k++)
        v |= (uint64_t)in[k] << 8 * k;
    *made = (size_t)(v >> 4 & mask);
    *packed = (size_t)(v >> (4 + width[form]) & mask);
    return head[form];
}

static size_t packed_literals(struct zstd *z, const unsigned char *in,
                              size_t bytes)
{
    size_t packed, tree = 0, at = sizes(in, bytes, &z->literals, &packed);

    if (!at || z->literals > BLOCK || packed > bytes - at)
        return 0;
    if ((in[0] & 3) == 2) {
        tree = fgs__huf_read(&z->huf, in + at, packed);
        if (!tree)
            return 0;
    }
    if (!z->huf.bits ||
        !(in[0] >> 2 & 3
              ? four_streams(z, in + at + tree, packed - tree)
              : fgs__huf_decode(&z->huf, z->literal, z->literals,
                                in + at + tree, packed - tree)))
        return 0;
    return at + packed;
}

/* Bytes of the literals section, 0 = bad. */
static size_t read_literals(struct zstd *z, const unsigned char *in,
                            size_t bytes)
{
    size_t head, n;

    if (!bytes)
        return 0;
    if ((in[0] & 3) >= 2)
        return packed_literals(z, in, bytes);
    head = in[0] & 4 ? in[0] & 8 ? 3 : 2 : 1;
    if (bytes < head)
        return 0;
    n = head == 1 ? in[0] >> 3 : in[0] >> 4;
    for (size_t k = 1; k < head; k++)
        n |= (size_t)in[k] << (8 * k - 4);
    if (n > BLOCK)
        return 0;
    z->literals = n;
    if (in[0] & 3) {
        if (bytes == head)
            return 0;
        memset(z->literal, in[head], n);
        return head + 1;
    }
    if (n > bytes - head)
        return 0;
    memcpy(z->literal, in + head, n);
    return head + n;
}

/* ------------------------------------------------------------ sequences -- */

/* Tables of section 3.1.1.3.2.2: what each kind's codes are distributed like
 * when a block does not say. */
static const int8_t predefined_ll[LL_CODES] = {
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1
};
static const int8_t predefined_of[29] = {
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1
};
static const int8_t predefined_ml[ML_CODES] = {
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1
};
static const struct kind {
    const int8_t *share;
    uint8_t shares, log;       /* of the predefined table                    */
    uint8_t most, codes;       /* log of a table, codes                      */
} kinds[KINDS] = {
    { predefined_ll, sizeof predefined_ll, 6, 9, LL_CODES },
    { predefined_of, sizeof predefined_of, 5, 8, OF_CODES },
    { predefined_ml, sizeof predefined_ml, 6, 9, ML_CODES },
};

/* Extra bits of a length's code; a code's first value follows that of the
 * code before it. */
static const uint8_t ll_bits[LL_CODES] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  1,  1,
    1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
};
static const uint8_t ml_bits[ML_CODES] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1,  1,  1,
    2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
};

static uint32_t first_value(const uint8_t *bits, unsigned code)
{
    uint32_t v = 0;

    for (unsigned k = 0; k < code; k++)
        v += 1u << bits[k];
    return v;
}

/* One kind's table; returns how many bytes it took, SIZE_MAX = bad. */
static size_t read_table(struct fgs__fse *t, const struct kind *k,
                         unsigned mode, const unsigned char *in, size_t bytes)
{
    int16_t share[256];
    unsigned n = k->shares;
    size_t took;

    if (mode == 3) /* as before */
        return t->set ? 0 : SIZE_MAX;
    if (mode == 1) { /* one code for all */
        if (!bytes || in[0] >= k->codes)
            return SIZE_MAX;
        fgs__fse_one(t, in[0]);
        return 1;
    }
    if (mode == 0) {
        for (unsigned i = 0; i < n; i++)
            share[i] = k->share[i];
        return fgs__fse_make(t, share, n, k->log) ? 0 : SIZE_MAX;
    }
    took = fgs__fse_read(t, k->most, k->codes, in, bytes);
    return took ? took : SIZE_MAX;
}

/* Turn an offset's value into an offset, section 3.1.1.5; 0 = bad. */
static uint32_t offset_of(struct zstd *z, uint64_t value, bool no_literals)
{
    uint32_t found;

    if (value > 3) {
        if (value - 3 > UINT32_MAX)
            return 0;
        found = (uint32_t)(value - 3);
        z->rep[2] = z->rep[1];
        z->rep[1] = z->rep[0];
        return z->rep[0] = found;
    }
    value -= !no_literals;
    if (!value)
        return z->rep[0];
    found = value == 3 ? z->rep[0] - 1 : z->rep[value];
    if (value != 1)
        z->rep[2] = z->rep[1];
    z->rep[1] = z->rep[0];
    return z->rep[0] = found;
}

static bool put_sequence(struct zstd *z, size_t *from, size_t run,
                         size_t match, uint32_t back)
{
    if (run > z->literals - *from || run > z->cap - z->used)
        return false;
    memcpy(z->out + z->used, z->literal + *from, run);
    *from += run;
    z->used += run;
    if (!back || back > z->used || match > z->cap - z->used)
        return false;
    for (; match; match--, z->used++)
        z->out[z->used] = z->out[z->used - back];
    return true;
}

static bool run_sequences(struct zstd *z, uint32_t count,
                          const unsigned char *in, size_t bytes, size_t *from)
{
    struct fgs__backward b;
    uint32_t state[KINDS];
    int k;

    if (!fgs__backward_start(&b, in, bytes))
        return false;
    for (k = 0; k < KINDS; k++)
        state[k] = fgs__backward_take(&b, z->code[k].log);
    while (count--) {
        unsigned code[KINDS];
        uint64_t value;
        size_t run, match;

        for (k = 0; k < KINDS; k++)
            code[k] = z->code[k].cell[state[k]].symbol;
        value = ((uint64_t)1 << code[OF]) +
            fgs__backward_take(&b, code[OF]);
        match = 3 + first_value(ml_bits, code[ML]) +
            fgs__backward_take(&b, ml_bits[code[ML]]);
        run = first_value(ll_bits, code[LL]) +
            fgs__backward_take(&b, ll_bits[code[LL]]);
        if (!put_sequence(z, from, run, match, offset_of(z, value, !run)))
            return false;
        if (!count)
            break;
        state[LL] = fgs__fse_next(&z->code[LL], state[LL], &b);
        state[ML] = fgs__fse_next(&z->code[ML], state[ML], &b);
        state[OF] = fgs__fse_next(&z->code[OF], state[OF], &b);
    }
    return !b.left;
}

/* How many sequences; returns bytes, 0 = bad. */
static size_t read_count(const unsigned char *in, size_t bytes,
                         uint32_t *count)
{
    if (!bytes)
        return 0;
    *count = in[0];
    if (in[0] < 128)
        return 1;
    if (in[0] < 255) {
        if (bytes < 2)
            return 0;
        *count = (uint32_t)(in[0] - 128) << 8 | in[1];
        return 2;
    }
    if (bytes < 3)
        return 0;
    *count = (in[1] | (uint32_t)in[2] << 8) + 0x7f00;
    return 3;
}

static bool packed_block(struct zstd *z, const unsigned char *in, size_t bytes)
{
    size_t at = read_literals(z, in, bytes), n, from = 0;
    uint32_t count = 0;
    unsigned modes;

    if (!at)
        return false;
    n = read_count(in + at, bytes - at, &count);
    if (!n)
        return false;
    at += n;
    if (count) {
        if (at == bytes || in[at] & 3)
            return false;
        modes = in[at++];
        for (int k = 0; k < KINDS; k++) {
            n = read_table(&z->code[k], &kinds[k], modes >> (6 - 2 * k) & 3,
                           in + at, bytes - at);
            if (n == SIZE_MAX)
                return false;
            at += n;
        }
        if (!run_sequences(z, count, in + at, bytes - at, &from))
            return false;
    } else if (at != bytes) {
        return false;
    }
    n = z->literals - from;
    if (n > z->cap - z->used)
        return false;
    memcpy(z->out + z->used, z->literal + from, n);
    z->used += n;
    return true;
}

/* --------------------------------------------------------------- frames -- */

/* Bytes of the frame's header, 0 = bad.  The size that it states needs no
 * look: the caller knows it. */
static size_t frame_head(const unsigned char *in, size_t bytes)
{
    static const unsigned char magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
    static const uint8_t id[4] = { 0, 1, 2, 4 }, size[4] = { 0, 2, 4, 8 };
    bool single;
    size_t n;

    if (bytes < 5 || memcmp(in, magic, 4) || in[4] & 8)
        return 0;
    single = in[4] & 32;
    n = 5 + !single + id[in[4] & 3] + size[in[4] >> 6];
    n += single && !(in[4] >> 6);
    return n <= bytes ? n : 0;
}

static bool blocks(struct zstd *z, const unsigned char *in, size_t bytes)
{
    bool last = false;
    size_t at = 0;

    while (!last) {
        uint32_t head, size;
        unsigned type;

        if (bytes - at < 3)
            return false;
        head = in[at] | (uint32_t)in[at + 1] << 8 | (uint32_t)in[at + 2] << 16;
        at += 3;
        last = head & 1;
        type = head >> 1 & 3;
        size = head >> 3;
        if (type < 2 && size > z->cap - z->used)
            return false;
        if ((type == 1 ? 1 : size) > bytes - at)
            return false;
        if (type == 0)
            memcpy(z->out + z->used, in + at, size);
        else if (type == 1)
            memset(z->out + z->used, in[at], size);
        else if (type == 3 || !packed_block(z, in + at, size))
            return false;
        if (type < 2)
            z->used += size;
        at += type == 1 ? 1 : size;
    }
    return true;
}

fgs_result fgs__unpack_zstd(unsigned char *out, size_t cap,
                            const unsigned char *in, size_t bytes,
                            const fgs_allocator *a)
{
    size_t head = frame_head(in, bytes);
    struct zstd *z;
    fgs_result r;

    if (!head)
        return FGS_E_INVAL;
    z = fgs__zalloc(a, sizeof *z);
    if (!z)
        return FGS_E_NOMEM;
    z->out = out;
    z->cap = cap;
    z->rep[0] = 1;
    z->rep[1] = 4;
    z->rep[2] = 8;
    r = blocks(z, in + head, bytes - head) && z->used == cap ? FGS_OK
                                                            : FGS_E_INVAL;
    fgs__free(a, z);
    return r;
}
