/* mbar.c -- the shared-memory barrier object: pure functions on its 64 bits
 *
 * ISA 9.7.15.16 (object, phases, operations), guide 4.6.3.1 (two phases).
 */
#include "sim/mbar.h"

/* Fields: shift and width. */
enum {
    V0_EXPECTED = 1,
    V1_REPORT = 1,
    V1_LAST_REPORT = 2,
    V1_CONDITIONAL = 3,
    V1_EXPECTED = 4,
    V1_LAST_VALUE = 13,
    TX = 21,
    PRIMARY_HI = 42,
    PENDING = 43,
    V1_VALUE = 52,
    V1_UNSEEN = 60,
    PRIMARY_LO = 63,

    V0_COUNT_BITS = 20,
    V1_COUNT_BITS = 9,
    TX_BITS = 21,
    VALUE_BITS = 8
};

static uint64_t get(uint64_t bar, unsigned at, unsigned bits)
{
    return bar >> at & ((1ull << bits) - 1);
}

static void set(uint64_t *bar, unsigned at, unsigned bits, uint64_t value)
{
    uint64_t mask = ((1ull << bits) - 1) << at;

    *bar = (*bar & ~mask) | (value << at & mask);
}

int fgs__mbar_layout(uint64_t bar)
{
    return (int)(bar & 1);
}

static unsigned count_bits(uint64_t bar)
{
    return fgs__mbar_layout(bar) ? V1_COUNT_BITS : V0_COUNT_BITS;
}

/* Counts are stored negated: bits of them, 0 as 0. */
static uint32_t get_count(uint64_t bar, unsigned at)
{
    unsigned bits = count_bits(bar);

    return (uint32_t)((1ull << bits) - get(bar, at, bits)) & ((1u << bits) - 1);
}

static void set_count(uint64_t *bar, unsigned at, uint32_t count)
{
    unsigned bits = count_bits(*bar);

    set(bar, at, bits, (1ull << bits) - count);
}

static unsigned expected_at(uint64_t bar)
{
    return fgs__mbar_layout(bar) ? V1_EXPECTED : V0_EXPECTED;
}

const char *fgs__mbar_text(enum fgs__mbar_rule r)
{
    static const char *const text[] = {
#define FGS__MBAR_STRING(id, sentence) sentence,
        FGS__MBAR_RULES(FGS__MBAR_STRING)
#undef FGS__MBAR_STRING
    };

    return text[r];
}

uint32_t fgs__mbar_limit(int layout)
{
    return layout ? FGS__MBAR_V1_MAX : FGS__MBAR_V0_MAX;
}

enum fgs__mbar_rule fgs__mbar_init(uint64_t *bar, int layout, uint32_t count)
{
    if (count == 0 || count > fgs__mbar_limit(layout))
        return FGS__MBAR_COUNT;
    *bar = layout ? 1 : 0;
    set_count(bar, expected_at(*bar), count);
    set_count(bar, PENDING, count);
    return FGS__MBAR_OK;
}

enum fgs__mbar_rule fgs__mbar_expect_arrival(uint64_t *bar)
{
    uint32_t count = get_count(*bar, PENDING) + 1;

    if (count > fgs__mbar_limit(fgs__mbar_layout(*bar)))
        return FGS__MBAR_COUNT;
    set_count(bar, PENDING, count);
    return FGS__MBAR_OK;
}

uint32_t fgs__mbar_expected(uint64_t bar)
{
    return get_count(bar, expected_at(bar));
}

uint32_t fgs__mbar_pending(uint64_t bar)
{
    return get_count(bar, PENDING);
}

int32_t fgs__mbar_tx(uint64_t bar)
{
    int32_t tx = (int32_t)get(bar, TX, TX_BITS);

    return tx < 1 << (TX_BITS - 1) ? tx : tx - (1 << TX_BITS);
}

unsigned fgs__mbar_primary(uint64_t bar)
{
    return (unsigned)(get(bar, PRIMARY_LO, 1) | get(bar, PRIMARY_HI, 1) << 1);
}

unsigned fgs__mbar_conditional(uint64_t bar)
{
    return fgs__mbar_layout(bar) ? (unsigned)get(bar, V1_CONDITIONAL, 1)
                                 : fgs__mbar_primary(bar) & 1;
}

/* The primary phase advances when both counts are zero; the conditional one
 * of a v1 barrier goes along only if the phase has no report.  Each primary
 * phase starts with a report of zero (guide 4.6.3.1). */
static void check_completion(uint64_t *bar)
{
    unsigned primary = fgs__mbar_primary(*bar) + 1;

    if (fgs__mbar_pending(*bar) || fgs__mbar_tx(*bar))
        return;
    set(bar, PRIMARY_LO, 1, primary & 1);
    set(bar, PRIMARY_HI, 1, primary >> 1 & 1);
    set_count(bar, PENDING, fgs__mbar_expected(*bar));
    if (!fgs__mbar_layout(*bar))
        return;
    set(bar, V1_UNSEEN, 1, 1);
    if (!get(*bar, V1_REPORT, 1))
        set(bar, V1_CONDITIONAL, 1, get(*bar, V1_CONDITIONAL, 1) ^ 1);
    set(bar, V1_LAST_REPORT, 1, get(*bar, V1_REPORT, 1));
    set(bar, V1_LAST_VALUE, VALUE_BITS, get(*bar, V1_VALUE, VALUE_BITS));
    set(bar, V1_REPORT, 1, 0);
    set(bar, V1_VALUE, VALUE_BITS, 0);
}

/* Both directions; false = out of range. */
static bool add_tx(uint64_t *bar, int64_t bytes)
{
    int64_t tx = fgs__mbar_tx(*bar) + bytes;

    if (tx > FGS__MBAR_TX_MAX || tx < -FGS__MBAR_TX_MAX)
        return false;
    set(bar, TX, TX_BITS, (uint64_t)tx);
    return true;
}

enum fgs__mbar_rule fgs__mbar_expect_tx(uint64_t *bar, uint32_t bytes)
{
    return add_tx(bar, bytes) ? FGS__MBAR_OK : FGS__MBAR_TX;
}

enum fgs__mbar_rule fgs__mbar_complete_tx(uint64_t *bar, uint32_t bytes)
{
    if (!add_tx(bar, -(int64_t)bytes))
        return FGS__MBAR_TX;
    check_completion(bar);
    return FGS__MBAR_OK;
}

enum fgs__mbar_rule fgs__mbar_arrive(uint64_t *bar, uint32_t count,
                                     unsigned how)
{
    uint32_t pending = fgs__mbar_pending(*bar);
    uint32_t expected = fgs__mbar_expected(*bar);

    if (count == 0 || count > fgs__mbar_limit(fgs__mbar_layout(*bar)))
        return FGS__MBAR_COUNT;
    if (count > pending)
        return FGS__MBAR_ARRIVALS;
    if (fgs__mbar_layout(*bar) && get(*bar, V1_UNSEEN, 1))
        return FGS__MBAR_UNSEEN;
    if ((how & FGS__MBAR_NOCOMPLETE) && count == pending && !fgs__mbar_tx(*bar))
        return FGS__MBAR_COMPLETES;
    set_count(bar, PENDING, pending - count);
    /* The next phase takes its pending count from the reduced one, which
     * stays above zero: pending never exceeds expected. */
    if (how & FGS__MBAR_DROP)
        set_count(bar, expected_at(*bar), expected - count);
    check_completion(bar);
    return FGS__MBAR_OK;
}

void fgs__mbar_report(uint64_t *bar, uint8_t value)
{
    set(bar, V1_REPORT, 1, 1);
    set(bar, V1_VALUE, VALUE_BITS, get(*bar, V1_VALUE, VALUE_BITS) | value);
}

bool fgs__mbar_done_primary(uint64_t bar, uint32_t parity)
{
    return (fgs__mbar_primary(bar) & 1) != (parity & 1);
}

void fgs__mbar_see(uint64_t *bar, bool conditional)
{
    if (fgs__mbar_layout(*bar) &&
        !(conditional && get(*bar, V1_LAST_REPORT, 1)))
        set(bar, V1_UNSEEN, 1, 0);
}

bool fgs__mbar_done_conditional(uint64_t bar, uint32_t parity)
{
    return fgs__mbar_conditional(bar) != (parity & 1);
}

enum fgs__mbar_rule fgs__mbar_done_state(uint64_t bar, uint64_t state,
                                         bool *done)
{
    unsigned ahead = (fgs__mbar_primary(bar) - fgs__mbar_primary(state)) & 3;

    *done = ahead != 0;
    return ahead < 2 ? FGS__MBAR_OK : FGS__MBAR_OLD_STATE;
}

bool fgs__mbar_reported(uint64_t bar, uint8_t *value)
{
    bool v1 = fgs__mbar_layout(bar);

    *value = v1 ? (uint8_t)get(bar, V1_LAST_VALUE, VALUE_BITS) : 0;
    return v1 && get(bar, V1_LAST_REPORT, 1);
}

enum fgs__mbar_rule fgs__mbar_state_pending(uint64_t state, uint32_t *count)
{
    *count = fgs__mbar_pending(state);
    return fgs__mbar_layout(state) ? FGS__MBAR_V1_STATE : FGS__MBAR_OK;
}
