/* move.c -- move 16-byte chunks and look for the sentinel in them
 *
 * The inspection compares raw bits (guide 4.6.3).  Which element of a chunk a
 * per-16-byte mechanism samples is open, so it is a policy; the draw is made
 * only where an element matches, which changes nothing: it does not depend on
 * the data.  per_element::ff compares bytes with 0xFF: a copy has no element
 * type, and buffers of 4-bit elements are filled with 0xFF bytes (4.6.4.1), so
 * a byte with one nibble 0xF is not reported.
 */
#include "sim/move.h"
#include "sim/chunk.h"
#include "sim/exec.h"
#include "table/table.h"

struct fgs__sim_check fgs__sim_check_make(fgs_mechanism mech,
                                          fgs_sim_sample sample)
{
    const fgs_mechanism_info *info = fgs_mechanism_get_info(mech);
    struct fgs__sim_check c = {.bits = info->bits, .sample = sample};

    c.any = info->checks == FGS__EVERY || sample == FGS_SIM_SAMPLE_ALL;
    for (unsigned at = 0; c.bits && at < 32; at += c.bits)
        c.pattern |= info->sentinel << at;
    return c;
}

/* Bytes of all ones where an element matches; `bits` is a constant. */
static inline fgs__chunk equal(fgs__chunk v, fgs__chunk pattern, unsigned bits)
{
    fgs__chunk low = _mm_set1_epi8(0x0f), diff;

    switch (bits) {
    case 32:
        return _mm_cmpeq_epi32(v, pattern);
    case 16:
        return _mm_cmpeq_epi16(v, pattern);
    case 8:
        return _mm_cmpeq_epi8(v, pattern);
    default:
        /* A nibble matches where its difference is zero. */
        diff = _mm_xor_si128(v, pattern);
        return _mm_or_si128(
            _mm_cmpeq_epi8(_mm_and_si128(diff, low), _mm_setzero_si128()),
            _mm_cmpeq_epi8(_mm_andnot_si128(low, diff), _mm_setzero_si128()));
    }
}

/* True when an element of a moved chunk matches; for `bits` 0 never. */
#define MOVE(bits)                                                             \
    static FGS__DEVICE_MEMORY bool move_##bits(char *dst, const char *src,     \
                                               uint32_t chunks, bool backward, \
                                               uint32_t pattern)               \
    {                                                                          \
        fgs__chunk want = _mm_set1_epi32((int)pattern);                        \
        fgs__chunk found = _mm_setzero_si128();                                \
        ptrdiff_t at = backward ? 16 * ((ptrdiff_t)chunks - 1) : 0;            \
        ptrdiff_t step = backward ? -16 : 16;                                  \
                                                                               \
        for (uint32_t n = 0; n < chunks; n++, at += step) {                    \
            fgs__chunk v = fgs__chunk_load(src + at);                          \
                                                                               \
            fgs__chunk_store(dst + at, v);                                     \
            if (bits)                                                          \
                found = _mm_or_si128(found, equal(v, want, bits));             \
        }                                                                      \
        return _mm_movemask_epi8(found) != 0;                                  \
    }
MOVE(0)
MOVE(4)
MOVE(8)
MOVE(16)
MOVE(32)

/* Element e of a chunk, counted from its low address (nibbles: from the low
 * end of their byte). */
static bool element_matches(const char *chunk, unsigned e,
                            const struct fgs__sim_check *c)
{
    unsigned bit = e * c->bits;
    uint32_t word, mask = c->bits == 32 ? UINT32_MAX : (1u << c->bits) - 1;

    memcpy(&word, chunk + bit / 32 * 4, sizeof word);
    return ((word ^ c->pattern) >> bit % 32 & mask) == 0;
}

static bool sampled(const char *dst, uint32_t chunks,
                    const struct fgs__sim_check *c, uint64_t *rng)
{
    unsigned elements = 128 / c->bits, e = 0;
    bool hit = false;

    if (c->sample == FGS_SIM_SAMPLE_LAST)
        e = elements - 1;
    for (uint32_t n = 0; n < chunks; n++) {
        if (c->sample == FGS_SIM_SAMPLE_RANDOM)
            e = (unsigned)(fgs__sim_random(rng) >> 32) & (elements - 1);
        hit |= element_matches(dst + 16 * (size_t)n, e, c);
    }
    return hit;
}

bool fgs__sim_move(char *dst, const char *src, uint32_t chunks, bool backward,
                   const struct fgs__sim_check *check, uint64_t *rng)
{
    bool hit;

    switch (check->bits) {
    case 0:
        return move_0(dst, src, chunks, backward, 0);
    case 4:
        hit = move_4(dst, src, chunks, backward, check->pattern);
        break;
    case 8:
        hit = move_8(dst, src, chunks, backward, check->pattern);
        break;
    case 16:
        hit = move_16(dst, src, chunks, backward, check->pattern);
        break;
    default:
        hit = move_32(dst, src, chunks, backward, check->pattern);
    }
    /* The destination is the block's own: it still holds what was moved. */
    return hit && (check->any || sampled(dst, chunks, check, rng));
}

bool fgs__sim_inspect(const char chunk[16],
                      const struct fgs__sim_check *check, uint64_t *rng)
{
    unsigned n = check->bits ? 128 / check->bits : 0;
    bool hit = false;

    for (unsigned e = 0; e < n && !hit; e++)
        hit = element_matches(chunk, e, check);
    return hit && (check->any || sampled(chunk, 1, check, rng));
}
