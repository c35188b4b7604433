/* mbar.h -- the shared-memory barrier object: pure functions on its 64 bits
 *
 * The ISA leaves the bits open.  These agree with what compiled code shows
 * after init (both layouts) and with the way it takes the pending count out
 * of a v0 state; the rest is our choice.
 *
 *   layout::v0                          layout::v1
 *   0      0                            0      1
 *   1-20   2^20 - expected              1      report predicate, this phase
 *                                       2      the same of the last phase
 *                                       3      conditional phase, bit 0
 *                                       4-12   2^9 - expected
 *                                       13-20  report value, last phase
 *   21-41  tx-count, two's complement   21-41  the same
 *   42     primary phase, bit 1         42     the same
 *   43-62  2^20 - pending               43-51  2^9 - pending
 *                                       52-59  report value, this phase
 *                                       60     the last primary phase was
 *                                              seen by nobody
 *   63     primary phase, bit 0         63     the same
 *
 * A count of 0 is stored as 0: counts end at 2^20 - 1 and 2^9 - 1, so nothing
 * else is stored so.  The second bit of the primary phase is there to tell a
 * state that is too old from one of the current phase.
 */
#ifndef FGS_SIM_MBAR_H
#define FGS_SIM_MBAR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FGS__MBAR_V0_MAX = (1 << 20) - 1, /* arrivals                            */
    FGS__MBAR_V1_MAX = (1 << 9) - 1,
    FGS__MBAR_TX_MAX = (1 << 20) - 1 /* either sign                         */
};

/* Rules that an operation can break; a barrier is unchanged then. */
#define FGS__MBAR_RULES(X)                                                     \
    X(OK, "no rule is broken")                                                 \
    X(COUNT, "the arrival count must be 1 to 1048575 (layout::v0) or 1 to "    \
             "511 (layout::v1)")                                               \
    X(ARRIVALS, "more arrivals than the phase has pending")                    \
    X(TX, "the tx-count would leave -1048575 ... 1048575")                     \
    X(COMPLETES, "an arrive with .noComplete would complete the phase")        \
    X(OLD_STATE, "the state is neither of the current nor of the preceding "   \
                 "phase")                                                      \
    X(UNSEEN, "the phase before ended and no wait has returned true for it: "  \
              "its report would be lost")                                      \
    X(V1_STATE, "pending_count takes a state of a layout::v0 barrier only")

enum fgs__mbar_rule {
#define FGS__MBAR_ENUM(id, text) FGS__MBAR_##id,
    FGS__MBAR_RULES(FGS__MBAR_ENUM)
#undef FGS__MBAR_ENUM
        FGS__MBAR_RULE_COUNT
};
/* The rule as a sentence. */
const char *fgs__mbar_text(enum fgs__mbar_rule r);

uint32_t fgs__mbar_limit(int layout);
enum fgs__mbar_rule fgs__mbar_init(uint64_t *bar, int layout, uint32_t count);

int fgs__mbar_layout(uint64_t bar);
uint32_t fgs__mbar_expected(uint64_t bar);
uint32_t fgs__mbar_pending(uint64_t bar);
int32_t fgs__mbar_tx(uint64_t bar);
unsigned fgs__mbar_primary(uint64_t bar);     /* mod 4 */
unsigned fgs__mbar_conditional(uint64_t bar); /* mod 2 */

/* What an arrive is, besides its count. */
enum {
    FGS__MBAR_DROP = 1, /* arrive_drop */
    FGS__MBAR_NOCOMPLETE = 2
};

/* expect-tx never completes a phase, complete-tx and arrive may; then the
 * primary phase of the word has changed. */
enum fgs__mbar_rule fgs__mbar_expect_tx(uint64_t *bar, uint32_t bytes);
enum fgs__mbar_rule fgs__mbar_complete_tx(uint64_t *bar, uint32_t bytes);
enum fgs__mbar_rule fgs__mbar_arrive(uint64_t *bar, uint32_t count,
                                     unsigned how);

/* One arrival more is expected in the current phase, and in no other. */
enum fgs__mbar_rule fgs__mbar_expect_arrival(uint64_t *bar);

/* Report-on: the payload report of the current phase becomes non-zero.  Only
 * for layout::v1; copies or in the value 0. */
void fgs__mbar_report(uint64_t *bar, uint8_t value);

/* Waits: has the phase of this parity, or of this state, completed? */
bool fgs__mbar_done_primary(uint64_t bar, uint32_t parity);
bool fgs__mbar_done_conditional(uint64_t bar, uint32_t parity);
/* A wait returned true: it saw the last primary phase, unless it was for the
 * conditional phase and that phase had a report.  Kept for layout::v1 alone,
 * where an arrive-on that follows unseen is refused; the ISA asks for it of
 * every barrier (9.7.15.16), v0 has no bit left. */
void fgs__mbar_see(uint64_t *bar, bool conditional);
enum fgs__mbar_rule fgs__mbar_done_state(uint64_t bar, uint64_t state,
                                         bool *done);
/* Report of the last completed primary phase; false and 0 for v0. */
bool fgs__mbar_reported(uint64_t bar, uint8_t *value);

/* mbarrier.pending_count: the count before the arrive that gave the state. */
enum fgs__mbar_rule fgs__mbar_state_pending(uint64_t state, uint32_t *count);

#endif
