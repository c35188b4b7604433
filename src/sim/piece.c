/* piece.c -- one 16-byte chunk of a bulk copy that is more than a plain one */
#include "sim/piece.h"
#include "sim/chunk.h"

#include <string.h>

/* What elements outside of a tensor are filled with instead of zero: the
 * OOB-NaN, seen in the memory of Hopper and Blackwell devices; the same for
 * every type. */
enum { NAN_LOW = 0xf7, NAN_HIGH = 0x7f };

/* -------------------------------------------------------- shared memory -- */

uint64_t fgs__sim_piece_span(const struct fgs__tensor_walk *w)
{
    return w->rows ? (uint64_t)(w->rows - 1) * w->pitch + 16ull * w->chunks : 0;
}

/* Blocks begin at multiples of every pattern, so an offset swizzles as an
 * address does. */
uint32_t fgs__sim_piece_at(const struct fgs__sim_piece *p, uint32_t base,
                           uint32_t n)
{
    const struct fgs__tensor_walk *w = p->walk;

    if (!w)
        return base + 16 * n;
    return fgs__tensor_swizzle(&w->t, base + n / w->chunks * w->pitch +
                                          n % w->chunks * 16);
}

void fgs__sim_piece_put(unsigned char *shared, uint32_t at,
                        const char chunk[16])
{
    unsigned char *to = shared + (at & ~15u);

    memcpy(to + (at & 8), chunk, 8);
    memcpy(to + (~at & 8), chunk + 8, 8);
}

void fgs__sim_piece_get(const unsigned char *shared, uint32_t at,
                        char chunk[16])
{
    const unsigned char *from = shared + (at & ~15u);

    memcpy(chunk, from + (at & 8), 8);
    memcpy(chunk + 8, from + (~at & 8), 8);
}

/* -------------------------------------------------------- global memory -- */

static char *find(struct fgs__sim_piece *p, uint64_t addr, uint32_t bytes)
{
    uint32_t generation = fgs__sim_mem_generation(p->mem);
    struct fgs__sim_range *r = p->range;

    if (*p->generation != generation || addr < r->lo || addr >= r->hi) {
        *p->generation = generation;
        if (!fgs__sim_mem_find(p->mem, addr, r))
            *r = (struct fgs__sim_range){0, 0, NULL};
    }
    if (addr >= r->lo && addr < r->hi && r->hi - addr >= bytes)
        return r->host + (addr - r->lo);
    p->missing = addr;
    return NULL;
}

/* Others may write what is read: whole chunks at once, the rest by the byte. */
static FGS__DEVICE_MEMORY void read_bytes(char *to, const char *from,
                                          uint32_t bytes)
{
    if (bytes == 16 && !((uintptr_t)from & 15)) {
        fgs__chunk v = fgs__chunk_load(from);

        memcpy(to, &v, 16);
        return;
    }
    for (uint32_t n = 0; n < bytes; n++)
        to[n] = ((const volatile char *)from)[n];
}

static FGS__DEVICE_MEMORY void write_bytes(char *to, const char *from,
                                           uint32_t bytes, uint32_t mask)
{
    if (bytes == 16 && mask == 0xffff && !((uintptr_t)to & 15)) {
        fgs__chunk v;

        memcpy(&v, from, 16);
        fgs__chunk_store(to, v);
        return;
    }
    for (uint32_t n = 0; n < bytes; n++)
        if (mask >> n & 1)
            ((volatile char *)to)[n] = from[n];
}

/* Global address of chunk n, and which of its bytes are copied. */
static uint64_t place_of(struct fgs__sim_piece *p, uint32_t n, uint32_t *from,
                         uint32_t *to)
{
    const struct fgs__tensor_walk *w = p->walk;
    uint32_t at;

    if (!w) {
        *from = n ? 0 : p->r->left;
        *to = n + 1 == p->chunks ? 16u - p->r->right : 16;
        return p->r->global + 16ull * n;
    }
    if (p->row_at != n / w->chunks) {
        p->row_at = n / w->chunks;
        fgs__tensor_walk_row(w, p->row_at, &p->row);
    }
    at = n % w->chunks * w->unit;
    *from = p->row.from > at ? p->row.from - at : 0;
    *to = p->row.to > at ? p->row.to - at : 0;
    if (*to > w->unit)
        *to = w->unit;
    if (*from > *to)
        *from = *to;
    return p->row.address + at;
}

/* ---------------------------------------------------------------- loads -- */

/* The inspection looks at aligned chunks of the source (ISA table 33), so also
 * at bytes past a bound that lies in one; every element of a mechanism that
 * checks each is one that is copied. */
static bool inspect(struct fgs__sim_piece *p, uint64_t addr, const char *copied,
                    uint32_t from, uint32_t to)
{
    bool each = p->r->mech == FGS_MECHANISM_EACH_FF, hit = false;
    uint64_t at = (addr + from) & ~15ull;

    if (!p->check->bits || from == to)
        return false;
    for (; at < addr + to; at += 16) {
        char chunk[16] = {0};
        const char *host = each ? NULL : find(p, at, 16);

        if (host)
            read_bytes(chunk, host, 16);
        else
            for (uint32_t n = from; n < to; n++)
                if (addr + n - at < 16)
                    chunk[addr + n - at] = copied[n];
        hit |= fgs__sim_inspect(chunk, p->check, p->rng);
    }
    return hit;
}

/* To the nearest of 11 bits, ties away from zero; a NaN loses its payload. */
static uint32_t tf32_of(uint32_t u)
{
    if ((u & 0x7f800000u) != 0x7f800000u)
        return (u + 0x1000) & 0xffffe000u;
    return u & 0x7fffff ? 0x7fffe000u : u;
}

/* The FTZ types keep subnormals when they are loaded, as an H200 does: what
 * flushes is a reduction. */
static void convert(unsigned type, char *v, uint32_t from, uint32_t to)
{
    if (type != FGS__TENSOR_TF32 && type != FGS__TENSOR_TF32_FTZ)
        return;
    for (uint32_t n = from; n < to; n += 4) {
        uint32_t u;

        memcpy(&u, v + n, sizeof u);
        u = tf32_of(u);
        memcpy(v + n, &u, sizeof u);
    }
}

/* Bytes without a value of their own: what lies there is not said. */
static void scramble(char *v, uint32_t from, uint32_t to, uint64_t *rng)
{
    uint64_t bits[2] = {0, 0};

    if (from == to)
        return;
    bits[0] = fgs__sim_random(rng);
    bits[1] = fgs__sim_random(rng);
    memcpy(v + from, (const char *)bits + from, to - from);
}

bool fgs__sim_piece_load(struct fgs__sim_piece *p, uint32_t n, char out[16],
                         bool *hit)
{
    const struct fgs__tensor_walk *w = p->walk;
    uint32_t unit = w ? w->unit : 16, from, to;
    uint64_t addr = place_of(p, n, &from, &to);
    const char *host = from == to ? NULL : find(p, addr + from, to - from);

    *hit = false;
    if (from != to && !host)
        return false;
    for (uint32_t k = 0; w && k < 16; k++)
        out[k] = (char)(!w->t.fill ? 0 : k & 1 ? NAN_HIGH : NAN_LOW);
    if (host) {
        read_bytes(out + from, host, to - from);
        *hit = inspect(p, addr, out, from, to);
    }
    if (w) {
        convert(w->t.type, out, from, to);
        scramble(out, unit, 16, p->rng);
    } else {
        scramble(out, 0, from, p->rng);
        scramble(out, to, 16, p->rng);
    }
    return true;
}

/* --------------------------------------------------------------- stores -- */

/* Sixteen bytes with six bits each to twelve bytes (ISA 5.5.1.1, .b6p2x16). */
static void pack_6(char out[16], const char data[16])
{
    memset(out, 0, 16);
    for (uint32_t e = 0; e < 16; e++) {
        uint32_t v = ((uint32_t)data[e] & 63) << 6 * e % 8;

        out[6 * e / 8] |= (char)v;
        if (v >> 8)
            out[6 * e / 8 + 1] |= (char)(v >> 8);
    }
}

/* Where the bytes of a store lie.  A row that ends inside a chunk writes, or
 * reduces, the chunk to its end, over what follows the tensor's bound: all 109
 * such stores and reductions seen on an H200 did.  Where that rest alone is in
 * no allocation it is left out: a GPU's allocations end at whole chunks. */
static char *find_store(struct fgs__sim_piece *p, uint64_t addr, uint32_t from,
                        uint32_t *to)
{
    uint32_t bound = *to;
    char *host;

    if (p->walk)
        *to = p->walk->unit;
    host = find(p, addr + from, *to - from);
    if (host || *to == bound)
        return host;
    *to = bound;
    return find(p, addr + from, bound - from);
}

bool fgs__sim_piece_store(struct fgs__sim_piece *p, uint32_t n,
                          const char data[16])
{
    uint32_t from, to, mask = p->r->masked ? p->r->mask : 0xffff;
    uint64_t addr = place_of(p, n, &from, &to);
    char packed[16];
    char *host;

    if (from == to)
        return true;
    host = find_store(p, addr, from, &to);
    if (!host)
        return false;
    if (p->walk && p->walk->t.type == FGS__TENSOR_U6_PAD) {
        pack_6(packed, data);
        data = packed;
    }
    if (p->r->reduction.op)
        fgs__sim_reduce(host, data + from, to - from, &p->r->reduction);
    else
        write_bytes(host, data + from, to - from, mask >> from);
    return true;
}
