/* test_sim_mbar.c -- the mbarrier object against a plain model of the ISA */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/mbar.h"

/* ----------------------------------------------------------- the model -- */

/* What the ISA says an object holds, as plain numbers. */
struct model {
    int layout;
    long pending, expected, tx;
    unsigned primary, conditional; /* indices */
    int report, last_report;       /* predicates */
    int unseen;                    /* no wait was true since the last phase */
};

enum op {
    ARRIVE,
    ARRIVE_2,
    NOCOMPLETE,
    DROP,
    DROP_2,
    EXPECT,
    COMPLETE,
    COMPLETE_1,
    REPORT,
    SEE,
    SEE_CONDITIONAL,
    OPS
};

static void model_check(struct model *m)
{
    if (m->pending != 0 || m->tx != 0)
        return;
    m->last_report = m->report;
    if (m->layout == 0 || !m->report)
        m->conditional++;
    m->primary++;
    m->unseen = m->layout;
    m->report = 0;
    m->pending = m->expected;
}

static enum fgs__mbar_rule model_arrive(struct model *m, long n, int drop,
                                        int nocomplete)
{
    if (n > m->pending)
        return FGS__MBAR_ARRIVALS;
    if (m->unseen)
        return FGS__MBAR_UNSEEN;
    if (nocomplete && m->pending - n == 0 && m->tx == 0)
        return FGS__MBAR_COMPLETES;
    m->pending -= n;
    if (drop)
        m->expected -= n;
    assert_true(m->expected >= m->pending);
    model_check(m);
    return FGS__MBAR_OK;
}

static enum fgs__mbar_rule model_step(struct model *m, enum op op)
{
    switch (op) {
    case ARRIVE:
    case ARRIVE_2:
        return model_arrive(m, op == ARRIVE ? 1 : 2, 0, 0);
    case NOCOMPLETE:
        return model_arrive(m, 1, 0, 1);
    case DROP:
    case DROP_2:
        return model_arrive(m, op == DROP ? 1 : 2, 1, 0);
    case EXPECT:
        m->tx += 3;
        return FGS__MBAR_OK;
    case COMPLETE:
    case COMPLETE_1:
        m->tx -= op == COMPLETE ? 3 : 1;
        model_check(m);
        return FGS__MBAR_OK;
    case REPORT:
        m->report = 1;
        return FGS__MBAR_OK;
    default:
        /* of a phase with a report, the conditional one tells nothing */
        m->unseen &= op == SEE_CONDITIONAL && m->last_report;
        return FGS__MBAR_OK;
    }
}

static enum fgs__mbar_rule real_step(uint64_t *bar, enum op op)
{
    switch (op) {
    case ARRIVE:
        return fgs__mbar_arrive(bar, 1, 0);
    case ARRIVE_2:
        return fgs__mbar_arrive(bar, 2, 0);
    case NOCOMPLETE:
        return fgs__mbar_arrive(bar, 1, FGS__MBAR_NOCOMPLETE);
    case DROP:
        return fgs__mbar_arrive(bar, 1, FGS__MBAR_DROP);
    case DROP_2:
        return fgs__mbar_arrive(bar, 2, FGS__MBAR_DROP);
    case EXPECT:
        return fgs__mbar_expect_tx(bar, 3);
    case COMPLETE:
        return fgs__mbar_complete_tx(bar, 3);
    case COMPLETE_1:
        return fgs__mbar_complete_tx(bar, 1);
    case REPORT:
        fgs__mbar_report(bar, 0);
        return FGS__MBAR_OK;
    default:
        fgs__mbar_see(bar, op == SEE_CONDITIONAL);
        return FGS__MBAR_OK;
    }
}

static void same(uint64_t bar, const struct model *m)
{
    uint8_t value = 77;
    unsigned primary = m->primary & 1, conditional = m->conditional & 1;

    assert_true(
        fgs__mbar_layout(bar) == m->layout &&
        fgs__mbar_pending(bar) == m->pending &&
        fgs__mbar_expected(bar) == m->expected && fgs__mbar_tx(bar) == m->tx &&
        fgs__mbar_primary(bar) == m->primary % 4 &&
        fgs__mbar_done_primary(bar, primary ^ 1) &&
        !fgs__mbar_done_primary(bar, primary) &&
        fgs__mbar_done_conditional(bar, conditional ^ 1) &&
        !fgs__mbar_done_conditional(bar, conditional) &&
        fgs__mbar_reported(bar, &value) == m->last_report && value == 0);
}

static unsigned long walked;

static void walk(uint64_t bar, const struct model *m, int depth)
{
    for (int op = 0; op < (m->layout ? OPS : REPORT); op++) {
        struct model next = *m;
        uint64_t word = bar;
        enum fgs__mbar_rule rule = model_step(&next, (enum op)op);

        assert_true(real_step(&word, (enum op)op) == rule);
        walked++;
        if (rule != FGS__MBAR_OK) {
            assert_true(word == bar);
            continue;
        }
        same(word, &next);
        if (depth > 1)
            walk(word, &next, depth - 1);
    }
}

static void object_agrees_with_the_model_on_all_short_histories(void **state)
{
    (void)state;
    for (int layout = 0; layout < 2; layout++)
        for (uint32_t count = 1; count <= 3; count++) {
            struct model m = {
                .layout = layout, .pending = count, .expected = count};
            uint64_t bar;

            assert_int_equal(fgs__mbar_init(&bar, layout, count), FGS__MBAR_OK);
            same(bar, &m);
            walk(bar, &m, 6);
        }
    assert_true(walked > 300000);
}

/* ------------------------------------------------------------- encoding -- */

/* Seen in compiled code: v0 low word (2^20-n)<<1, high (2^20-n)<<11; v1 low
 * ((2^9-n)<<4)|1, high (2^9-n)<<11. */
static void init_gives_the_bits_of_compiled_code(void **state)
{
    static const struct {
        int layout;
        uint32_t count, low, high;
    } row[] = {
        {0, 1, 0x001ffffe, 0x7ffff800},       {0, 256, 0x001ffe00, 0x7ff80000},
        {0, 1048575, 0x00000002, 0x00000800}, {1, 1, 0x00001ff1, 0x000ff800},
        {1, 256, 0x00001001, 0x00080000},     {1, 511, 0x00000011, 0x00000800},
    };

    (void)state;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        uint64_t bar;

        assert_int_equal(fgs__mbar_init(&bar, row[n].layout, row[n].count),
                         FGS__MBAR_OK);
        assert_int_equal((uint32_t)bar, row[n].low);
        assert_int_equal((uint32_t)(bar >> 32), row[n].high);
        assert_int_equal(fgs__mbar_pending(bar), row[n].count);
    }
}

static void init_refuses_counts_that_the_layout_cannot_hold(void **state)
{
    uint64_t bar = 5;

    (void)state;
    assert_int_equal(fgs__mbar_init(&bar, 0, 0), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_init(&bar, 1, 0), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_init(&bar, 0, 1u << 20), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_init(&bar, 1, 512), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_init(&bar, 0, UINT32_MAX), FGS__MBAR_COUNT);
    assert_true(bar == 5);
}

/* Compiled code takes 2^20 - (state >> 43 & 0xfffff). */
static void
state_has_the_pending_count_where_compiled_code_takes_it(void **state)
{
    (void)state;
    for (uint32_t count = 2; count < 1u << 20; count += 4093) {
        uint64_t bar;
        uint32_t pending;

        fgs__mbar_init(&bar, 0, count);
        assert_int_equal(
            fgs__mbar_arrive(&bar, count / 2, FGS__MBAR_NOCOMPLETE),
            FGS__MBAR_OK);
        assert_int_equal((1u << 20) - (uint32_t)(bar >> 43 & 0xfffff),
                         count - count / 2);
        assert_int_equal(fgs__mbar_state_pending(bar, &pending), FGS__MBAR_OK);
        assert_int_equal(pending, count - count / 2);
    }
}

static void pending_count_refuses_a_v1_state(void **state)
{
    uint64_t bar;
    uint32_t pending;

    (void)state;
    fgs__mbar_init(&bar, 1, 4);
    assert_int_equal(fgs__mbar_state_pending(bar, &pending),
                     FGS__MBAR_V1_STATE);
}

/* --------------------------------------------------------------- ranges -- */

static void tx_count_reaches_both_ends_and_no_further(void **state)
{
    (void)state;
    for (int layout = 0; layout < 2; layout++) {
        uint64_t bar, before;

        fgs__mbar_init(&bar, layout, 1);
        assert_int_equal(fgs__mbar_expect_tx(&bar, 1048575), FGS__MBAR_OK);
        assert_int_equal(fgs__mbar_tx(bar), 1048575);
        before = bar;
        assert_int_equal(fgs__mbar_expect_tx(&bar, 1), FGS__MBAR_TX);
        assert_int_equal(fgs__mbar_expect_tx(&bar, UINT32_MAX), FGS__MBAR_TX);
        assert_true(bar == before);
        assert_int_equal(fgs__mbar_complete_tx(&bar, 1048575), FGS__MBAR_OK);
        assert_int_equal(fgs__mbar_complete_tx(&bar, 1048575), FGS__MBAR_OK);
        assert_int_equal(fgs__mbar_tx(bar), -1048575);
        before = bar;
        assert_int_equal(fgs__mbar_complete_tx(&bar, 1), FGS__MBAR_TX);
        assert_int_equal(fgs__mbar_complete_tx(&bar, UINT32_MAX), FGS__MBAR_TX);
        assert_true(bar == before);
        assert_int_equal(fgs__mbar_pending(bar), 1);
    }
}

static void arrive_refuses_counts_out_of_range(void **state)
{
    uint64_t v0, v1;

    (void)state;
    fgs__mbar_init(&v0, 0, 1048575);
    fgs__mbar_init(&v1, 1, 511);
    assert_int_equal(fgs__mbar_arrive(&v0, 0, 0), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_arrive(&v0, 1u << 20, 0), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_arrive(&v1, 512, 0), FGS__MBAR_COUNT);
    assert_int_equal(fgs__mbar_arrive(&v0, 1048575, 0), FGS__MBAR_OK);
    assert_int_equal(fgs__mbar_arrive(&v1, 511, 0), FGS__MBAR_OK);
    assert_int_equal(fgs__mbar_primary(v0), 1);
    assert_int_equal(fgs__mbar_primary(v1), 1);
}

/* ------------------------------------------- phases as the guide has them --
 */

/* 4.6.3.1: a reported phase completes for the primary phase alone; the
 * conditional one keeps its parity however often the copy is re-issued. */
static void conditional_phase_stays_while_copies_report(void **state)
{
    uint64_t bar;
    uint8_t value;

    (void)state;
    fgs__mbar_init(&bar, 1, 1);
    for (unsigned phase = 0; phase < 5; phase++) {
        fgs__mbar_expect_tx(&bar, 4096);
        fgs__mbar_arrive(&bar, 1, 0);
        assert_false(fgs__mbar_done_primary(bar, phase));
        if (phase < 4)
            fgs__mbar_report(&bar, 0);
        fgs__mbar_complete_tx(&bar, 4096);
        assert_true(fgs__mbar_done_primary(bar, phase));
        assert_int_equal(fgs__mbar_done_conditional(bar, 0), phase == 4);
        assert_int_equal(fgs__mbar_reported(bar, &value), phase < 4);
        assert_int_equal(value, 0);
        fgs__mbar_see(&bar, false);
    }
}

/* Report values are or-ed, belong to their phase and start at zero. */
static void report_value_is_collected_per_phase(void **state)
{
    uint64_t bar;
    uint8_t value;

    (void)state;
    fgs__mbar_init(&bar, 1, 1);
    fgs__mbar_report(&bar, 0x41);
    fgs__mbar_report(&bar, 0x82);
    assert_false(fgs__mbar_reported(bar, &value));
    fgs__mbar_arrive(&bar, 1, 0);
    assert_true(fgs__mbar_reported(bar, &value));
    assert_int_equal(value, 0xc3);
    fgs__mbar_see(&bar, false);
    fgs__mbar_arrive(&bar, 1, 0);
    assert_false(fgs__mbar_reported(bar, &value));
    assert_int_equal(value, 0);
}

static void state_is_done_in_the_next_phase_and_too_old_behind_it(void **state)
{
    uint64_t bar, token;
    bool done;

    (void)state;
    fgs__mbar_init(&bar, 0, 1);
    token = bar;
    assert_int_equal(fgs__mbar_done_state(bar, token, &done), FGS__MBAR_OK);
    assert_false(done);
    fgs__mbar_arrive(&bar, 1, 0);
    assert_int_equal(fgs__mbar_done_state(bar, token, &done), FGS__MBAR_OK);
    assert_true(done);
    for (int phase = 2; phase < 4; phase++) {
        fgs__mbar_arrive(&bar, 1, 0);
        assert_int_equal(fgs__mbar_done_state(bar, token, &done),
                         FGS__MBAR_OLD_STATE);
    }
}

static void parity_is_the_low_bit_of_the_operand(void **state)
{
    uint64_t bar;

    (void)state;
    fgs__mbar_init(&bar, 1, 1);
    assert_false(fgs__mbar_done_primary(bar, 0xfffffffe));
    assert_true(fgs__mbar_done_primary(bar, 0xffffffff));
    assert_false(fgs__mbar_done_conditional(bar, 2));
    assert_true(fgs__mbar_done_conditional(bar, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_agrees_with_the_model_on_all_short_histories),
        cmocka_unit_test(init_gives_the_bits_of_compiled_code),
        cmocka_unit_test(init_refuses_counts_that_the_layout_cannot_hold),
        cmocka_unit_test(
            state_has_the_pending_count_where_compiled_code_takes_it),
        cmocka_unit_test(pending_count_refuses_a_v1_state),
        cmocka_unit_test(tx_count_reaches_both_ends_and_no_further),
        cmocka_unit_test(arrive_refuses_counts_out_of_range),
        cmocka_unit_test(conditional_phase_stays_while_copies_report),
        cmocka_unit_test(report_value_is_collected_per_phase),
        cmocka_unit_test(state_is_done_in_the_next_phase_and_too_old_behind_it),
        cmocka_unit_test(parity_is_the_low_bit_of_the_operand),
    };

    return cmocka_run_group_tests_name("sim_mbar", tests, NULL, NULL);
}
