/* test_run.c -- runs on any provider: results, receipts, faults, bounds
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "rig.h"

static void hand_over(fgs_engine engine, uint32_t weak, uint64_t tiles,
                      uint32_t rounds)
{
    struct rig_opts o = { .engine = engine, .weak = weak, .tiles = tiles,
                          .bound_ns = 20000000000ull };
    fgs_receipt receipt;
    uint32_t *in;
    struct rig r;
    fgs_error err;

    rig_need_engine(engine);
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 7);
    RIG_OK(fgs_plan_run(r.plan, NULL, rounds, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    receipt = rig_receipt(&r);
    assert_int_equal(receipt.tiles, tiles);
    assert_int_equal(receipt.rounds, rounds);
    if (engine != FGS_ENGINE_AUTO)
        assert_int_equal(receipt.engine, engine);
    assert_true(receipt.elapsed_ns > 0);
    if (weak)
        assert_string_equal(receipt.note, "");
    free(in);
    rig_free(&r);
}

static void report_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_REPORT, 0, 64, 1);
}

static void bulk_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_BULK, 0, 64, 1);
}

static void weak_bulk_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_BULK, 1, 64, 1);
}

static void poll_hands_over_every_bit(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_POLL, 0, 64, 1);
}

static void auto_takes_an_engine_that_runs(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_AUTO, 0, 64, 1);
}

static void rounds_refill_the_buffer(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_POLL, 0, 16, 5);
}

static void one_tile_is_enough(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_AUTO, 0, 1, 1);
}

static void statistics_grow_with_the_rounds(void **state)
{
    (void)state;
    hand_over(FGS_ENGINE_POLL, 0, 1, 300);
}

/* ---------------------------------------------------------- PDL, overlap -- */

static void slow_producer_overlaps_its_consumer(void **state)
{
    struct rig_opts o = { .tiles = 8, .work_ns = 300000 };
    fgs_receipt receipt;
    uint32_t *in;
    struct rig r;
    fgs_error err;

    (void)state;
    rig_need_engine(FGS_ENGINE_BULK); /* needs cc 9.0, as PDL does */
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 3);
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    receipt = rig_receipt(&r);
    assert_int_equal(receipt.pdl, 1);
    assert_non_null(strstr(receipt.pdl_why, "griddepcontrol.wait"));
    assert_int_equal(receipt.overlap, 1);
    assert_true(receipt.reissues > 0);
    assert_int_equal(rig_mismatches(&r, in), 0);
    free(in);
    rig_free(&r);
}

static void plain_order_never_overlaps(void **state)
{
    struct rig_opts o = { .tiles = 8, .work_ns = 300000, .no_pdl = 1 };
    fgs_receipt receipt;
    uint32_t *in;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 3);
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    receipt = rig_receipt(&r);
    assert_int_equal(receipt.pdl, 0);
    assert_string_equal(receipt.pdl_why,
                        "left out: no_pdl asks for plain stream order");
    assert_int_equal(receipt.overlap, 0);
    assert_int_equal(receipt.reissues, 0);
    assert_int_equal(rig_mismatches(&r, in), 0);
    free(in);
    rig_free(&r);
}

/* ---------------------------------------------------------------- faults -- */

static void check_leak(const fgs_error *err, uint64_t tile, uint32_t chunk)
{
    /* Four elements of -0.0, little endian. */
    static const uint8_t bits[16] = { 0, 0, 0, 0x80, 0, 0, 0, 0x80,
                                      0, 0, 0, 0x80, 0, 0, 0, 0x80 };

    assert_int_equal(err->result, FGS_E_LEAK);
    assert_string_equal(err->buffer, "mid");
    assert_non_null(strstr(err->kernel, "_consume"));
    assert_int_equal(err->tile, tile);
    assert_int_equal(err->block, tile);
    assert_int_equal(err->chunk, chunk);
    assert_memory_equal(err->bits, bits, 16);
    assert_true(err->tries > 0);
    assert_non_null(strstr(err->text, "'mid'"));
}

/* A producer that leaves, or stores, the sentinel in one chunk; then the same
 * buffers with a sound one: the context lives. */
static void fault(fgs_engine engine, const char *stem, uint32_t rounds)
{
    struct rig_opts o = { .engine = engine, .tiles = 32, .producer = stem,
                          .bound_ns = 20000000, .fault_tile = 17,
                          .fault_chunk = 3 };
    struct rig r;
    fgs_plan_desc d;
    fgs_kernel *sound = NULL;
    fgs_plan *plan = NULL;
    fgs_error err;
    uint32_t *in;

    rig_need_engine(engine);
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 11);
    for (int again = 0; again < 2; again++) {
        RIG_OK(fgs_plan_run(r.plan, NULL, rounds, &err), err);
        assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_LEAK);
        check_leak(&err, 17, 3);
        assert_true(err.elapsed_ns >= o.bound_ns);
        /* The abort word of the first round stays: others return at once. */
        assert_true(within_ns(rig_receipt(&r).elapsed_ns, 5 * o.bound_ns));
    }
    RIG_OK(rig_kernel(&sound, r.dev, FGS_ROLE_PRODUCER, NULL, FGS_ENGINE_AUTO,
                      0, &err), err);
    d = rig_desc(&r, &o);
    d.producer = sound;
    RIG_OK(fgs_plan_make(&plan, r.dev, &d, &err), err);
    RIG_OK(fgs_plan_run(plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(plan, &err), err);
    assert_int_equal(rig_mismatches(&r, in), 0);
    fgs_plan_free(plan);
    fgs_kernel_free(sound);
    free(in);
    rig_free(&r);
}

static void report_names_the_leaked_chunk(void **state)
{
    (void)state;
    fault(FGS_ENGINE_REPORT, "scale_produce_leak", 1);
}

static void bulk_names_the_leaked_chunk(void **state)
{
    (void)state;
    fault(FGS_ENGINE_BULK, "scale_produce_leak", 1);
}

static void poll_names_the_leaked_chunk(void **state)
{
    (void)state;
    fault(FGS_ENGINE_POLL, "scale_produce_leak", 1);
}

static void stored_sentinel_is_named_too(void **state)
{
    (void)state;
    fault(FGS_ENGINE_AUTO, "scale_produce_sentinel", 1);
}

static void later_rounds_return_at_once(void **state)
{
    (void)state;
    fault(FGS_ENGINE_POLL, "scale_produce_leak", 50);
}

static void bound_on_tries_ends_the_wait(void **state)
{
    struct rig_opts o = { .engine = FGS_ENGINE_POLL, .tiles = 4,
                          .producer = "scale_produce_leak", .fault_tile = 2,
                          .fault_chunk = 255, .max_tries = 10,
                          .bound_ns = 60000000000ull, .no_pdl = 1 };
    struct rig r;
    fgs_error err;
    uint32_t *in;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 1);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    assert_int_equal(fgs_plan_wait(r.plan, &err), FGS_E_LEAK);
    check_leak(&err, 2, 255);
    assert_int_equal(err.tries, 10);
    assert_non_null(strstr(err.text, "the bound on tries"));
    free(in);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_hands_over_every_bit),
        cmocka_unit_test(bulk_hands_over_every_bit),
        cmocka_unit_test(weak_bulk_hands_over_every_bit),
        cmocka_unit_test(poll_hands_over_every_bit),
        cmocka_unit_test(auto_takes_an_engine_that_runs),
        cmocka_unit_test(rounds_refill_the_buffer),
        cmocka_unit_test(one_tile_is_enough),
        cmocka_unit_test(statistics_grow_with_the_rounds),
        cmocka_unit_test(slow_producer_overlaps_its_consumer),
        cmocka_unit_test(plain_order_never_overlaps),
        cmocka_unit_test(report_names_the_leaked_chunk),
        cmocka_unit_test(bulk_names_the_leaked_chunk),
        cmocka_unit_test(poll_names_the_leaked_chunk),
        cmocka_unit_test(stored_sentinel_is_named_too),
        cmocka_unit_test(later_rounds_return_at_once),
        cmocka_unit_test(bound_on_tries_ends_the_wait),
    };

    return cmocka_run_group_tests_name("run", tests, rig_group, NULL);
}
