/* test_device_roles.c -- rings of tiles and producers that fill for themselves
 *
 * The kernels of tests/device, over fgs::pipe and fgs::publish, take part in a
 * hand-over with the twins.  FGS_PROVIDER names the device.
 */
#include "twin_rig.h"

static const struct {
    const char *name, *arch;
} engines[] = {
    { "report", "compute_107a" },
    { "bulk", "compute_90" },
    { "async", "compute_80" },
    { "poll", "compute_75" },
    { "poll", "compute_90" },
};
enum { ENGINES = sizeof engines / sizeof *engines };

static struct twin_opts ring(int engine, unsigned stages)
{
    return (struct twin_opts){ .engine = engines[engine].name,
                               .arch = engines[engine].arch,
                               .element = "bf16",
                               .tile_bytes = 1040,
                               .threads = 160,
                               .tiles = 30,
                               .bound_ns = 2000000000,
                               .work_ns = 30000,
                               .consumer = "pipe_consume",
                               .stages = stages,
                               .per_block = 10 };
}

static void compare(const struct twin *t, const struct twin_opts *o,
                    const struct model *m)
{
    const fgs_element_info *e = model_info(m);
    unsigned per = o->tile_bytes * 8 / e->bits;

    for (unsigned k = 0; k < t->elems; k++) {
        volatile float x = t->in[k];
        float y = 2.0f * x;
        uint32_t want = model_convert(m, e, y, o->saturate);
        unsigned back = k / per * per + per - 1 - k % per;

        if (twin_element(t->out, e->bits, back) != want)
            fail_msg("%s, %s, %u stages: element %u is %x, not %x", o->engine,
                     o->arch, o->stages, k,
                     twin_element(t->out, e->bits, back), want);
    }
}

static void ring_hands_over_all_tiles(void **state)
{
    static const unsigned stages[] = { 1, 3, 8, 16 };

    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++)
        for (int s = 0; s < 4 && can_run(engines[k].arch); s++) {
            struct twin_opts o = ring(k, stages[s]);
            struct twin t;

            twin_make(&t, &o);
            twin_run(&t, &o);
            assert_int_equal(t.rec.code, 0);
            compare(&t, &o, &models[2]);
            if (cc_of(o.arch) >= 90 && on_sim())
                assert_true(t.stat[2].reissues > 0);
            twin_free(&t);
        }
}

/* Tile 13 is the fifth of its block; what was issued after it has to land. */
static void ring_gives_up_in_the_middle(void **state)
{
    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++)
        for (unsigned s = 1; s < 7 && can_run(engines[k].arch); s += 2) {
            struct twin_opts o = ring(k, s);
            struct twin t;

            o.fault = o.leak = 1;
            o.fault_tile = 13;
            o.fault_chunk = 40;
            o.bound_ns = 3000000;
            twin_make(&t, &o);
            twin_run(&t, &o);
            assert_int_equal(t.rec.code, FGS__GIVEUP_TIME);
            assert_int_equal(t.rec.tile, 13);
            assert_int_equal(t.rec.chunk, 40);
            assert_int_equal(t.rec.role, FGS_ROLE_CONSUMER);
            assert_true(t.rec.bits1 == 0x8000800080008000);
            twin_free(&t);
        }
}

static void ring_ends_on_an_abort(void **state)
{
    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES && can_run(engines[k].arch); k++) {
        struct twin_opts o = ring(k, 4);
        struct twin t;

        o.aborted = o.alone = true;
        o.bound_ns = 0;
        twin_make(&t, &o);
        twin_run(&t, &o);
        assert_int_equal(t.rec.code, 0);
        twin_free(&t);
    }
}

/* The buffer holds other data before: a consumer that starts too early would
 * take it. */
static void producer_fills_before_it_triggers(void **state)
{
    static const int element[] = { 0, 1, 5, 6 };

    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++)
        for (int i = 0; i < 4 && can_run(engines[k].arch); i++) {
            struct twin_opts o = ring(k, 0);
            struct twin t;

            o.consumer = NULL;
            o.per_block = 0;
            o.producer = "publish_produce";
            o.element = models[element[i]].name;
            o.store_bulk = k < 2 && i % 2 && has_strong();
            twin_make(&t, &o);
            twin_run(&t, &o);
            assert_int_equal(t.rec.code, 0);
            compare(&t, &o, &models[element[i]]);
            twin_free(&t);
        }
}

/* The tool chain's nvcc makes PTX of a twin; the host's part sees the header
 * too. */
static void nvcc_takes_the_header(void **state)
{
    static const char *const stems[] = { "scale_produce", "bulk_consume",
                                         "poll_consume" };
    struct twin_opts o = ring(1, 0);
    char command[4000], nvcc[600];

    (void)state;
    snprintf(nvcc, sizeof nvcc, "%s/bin/nvcc", toolchain());
    if (access(nvcc, X_OK)) {
        print_message("no %s; make toolchain gets it\n", nvcc);
        skip();
    }
    for (int k = 0; k < 3; k++) {
        int n = snprintf(command, sizeof command,
                         "'%s' -std=c++17 -arch=sm_90 -Iinclude -ptx -o "
                         "/dev/null ptx/%s.cu", nvcc, stems[k]);

        for (const char *const *t = twin_tokens(&o, stems[k]); *t; t++)
            n += snprintf(command + n, sizeof command - (size_t)n, " '%s'",
                          *t);
        assert_int_equal(system(command), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_hands_over_all_tiles),
        cmocka_unit_test(ring_gives_up_in_the_middle),
        cmocka_unit_test(ring_ends_on_an_abort),
        cmocka_unit_test(producer_fills_before_it_triggers),
        cmocka_unit_test(nvcc_takes_the_header),
    };

    return cmocka_run_group_tests_name("device_roles", tests, NULL,
                                       close_device);
}
