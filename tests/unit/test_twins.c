/* test_twins.c -- ptx/NAME.cu, the kernels in CUDA C++, for every element
 *
 * Made by NVRTC with the tokens of a variant; what they store and reverse is
 * compared with element_model.h.  FGS_PROVIDER names the device.
 */
#include "twin_rig.h"

static const struct {
    const char *name, *arch;
} engines[] = {
    { "report", "compute_107a" },
    { "bulk", "compute_90" },
    { "async", "compute_80" },
    { "poll", "compute_75" },
};
enum { ENGINES = sizeof engines / sizeof *engines };

static const struct shape {
    unsigned tile_bytes, threads, tiles;
} shapes[] = {
    { 4096, 128, 5 }, { 16, 32, 9 },    { 48, 64, 7 },
    { 8208, 96, 3 },  { 65536 - 512, 1024, 2 }, { 1024, 256, 4 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* What a tile holds and what comes out of it, element by element. */
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
        uint32_t mid = twin_element(t->mid, e->bits, k);
        uint32_t out = twin_element(t->out, e->bits, back);

        if (mid != want || out != want)
            fail_msg("%s, %s: element %u, %g, is %x, then %x, not %x",
                     o->engine, o->element, k, y, mid, out, want);
    }
}

static void hand_over(const struct model *m, int engine, int kind)
{
    const struct shape *s = &shapes[(kind + engine) % SHAPES];
    bool integer = m->kind == MODEL_INT && m->least < 0;
    struct twin_opts o = {
        .engine = engines[engine].name,
        .arch = engines[engine].arch,
        .element = m->name,
        .tile_bytes = s->tile_bytes,
        .threads = s->threads,
        .tiles = s->tiles,
        .saturate = integer ? 1 : 0,
        .store_bulk = engine < 2 && kind % 2 && has_strong(),
        .bound_ns = 2000000000,
        .work_ns = 20000,
    };
    struct twin t;

    if (!can_run(o.arch)) {
        print_message("no %s on this device\n", o.engine);
        return;
    }
    if (!strcmp(m->name, "i8ff") && kind % 2)
        o.saturate = 2;
    twin_make(&t, &o);
    twin_run(&t, &o);
    if (t.rec.code)
        fail_msg("%s, %s: code %u, tile %llu, chunk %u", o.engine, m->name,
                 t.rec.code, (unsigned long long)t.rec.tile, t.rec.chunk);
    compare(&t, &o, m);
    assert_true(t.stat[2].first && t.stat[1].last);
    /* Where both ran at once, the consumer had to wait. */
    if (cc_of(o.arch) >= 90 && on_sim())
        assert_true(t.stat[2].reissues > 0);
    twin_free(&t);
}

static void tiles_are_handed_over(void **state)
{
    const struct model *m = *state;
    int kind = (int)(m - models);

    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++)
        hand_over(m, k, kind);
}

static struct twin_opts faulty(int engine)
{
    return (struct twin_opts){ .engine = engines[engine].name,
                               .arch = engines[engine].arch,
                               .element = "f16",
                               .tile_bytes = 4096,
                               .threads = 64,
                               .tiles = 4,
                               .bound_ns = 3000000,
                               .fault_tile = 2,
                               .fault_chunk = 201 };
}

static void check_leak(const struct twin *t, const struct twin_opts *o,
                       uint32_t code)
{
    assert_int_equal(t->rec.code, code);
    assert_int_equal(t->rec.role, FGS_ROLE_CONSUMER);
    assert_int_equal(t->rec.block, o->fault_tile);
    assert_int_equal(t->rec.tile, o->fault_tile);
    assert_int_equal(t->rec.chunk, o->fault_chunk);
    assert_true(t->rec.bits0 == 0x8000800080008000);
    assert_true(t->rec.bits1 == 0x8000800080008000);
    assert_true(t->ctl.abort == 1);
}

static void lost_chunk_is_named(void **state)
{
    const int bulk[] = { 0, 1 };

    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++) {
        struct twin_opts o = faulty(k);
        struct twin t;

        if (!can_run(o.arch))
            continue;
        o.fault = o.leak = 1;
        o.store_bulk = k < 2 && bulk[k] && has_strong();
        twin_make(&t, &o);
        twin_run(&t, &o);
        check_leak(&t, &o, FGS__GIVEUP_TIME);
        assert_true(t.rec.elapsed_ns >= o.bound_ns && t.rec.tries > 32);
        twin_free(&t);
    }
}

static void stored_sentinel_is_named_after_the_tries(void **state)
{
    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++) {
        struct twin_opts o = faulty(k);
        struct twin t;

        if (!can_run(o.arch))
            continue;
        o.fault = o.neg0 = 1;
        o.store_bulk = k < 2 && has_strong();
        o.bound_ns = 0;
        o.max_tries = 300;
        twin_make(&t, &o);
        twin_run(&t, &o);
        check_leak(&t, &o, FGS__GIVEUP_TRIES);
        assert_int_equal(t.rec.tries, 300);
        twin_free(&t);
    }
}

static void abort_that_is_there_is_not_waited_for(void **state)
{
    (void)state;
    need_nvrtc(false);
    for (int k = 0; k < ENGINES; k++) {
        struct twin_opts o = faulty(k);
        struct twin t;

        if (!can_run(o.arch))
            continue;
        o.aborted = o.alone = true;
        o.bound_ns = 0;
        twin_make(&t, &o);
        twin_run(&t, &o);
        assert_int_equal(t.rec.code, 0);
        for (unsigned i = 0; i < t.bytes; i++)
            assert_int_equal(t.out[i], 0x22);
        twin_free(&t);
    }
}

/* -32768 / 2 in tile 1, chunk 7: the i16 producer gives up. */
static void integer_that_is_the_sentinel_is_refused(void **state)
{
    (void)state;
    need_nvrtc(false);
    for (int bulk = 0; bulk < 1 + has_strong(); bulk++) {
        struct twin_opts o = faulty(1);
        unsigned at = o.tile_bytes / 2 + 7 * 8 + 3;
        struct twin t;

        if (!can_run(o.arch))
            continue;
        o.element = "i16";
        o.store_bulk = bulk;
        o.bound_ns = 0;
        twin_make(&t, &o);
        for (unsigned k = 0; k < t.elems; k++)
            t.in[k] = (float)(k % 1000);
        t.in[at] = -16384;
        twin_run(&t, &o);
        assert_int_equal(t.rec.code, 4);
        assert_int_equal(t.rec.role, FGS_ROLE_PRODUCER);
        assert_int_equal(t.rec.tile, 1);
        assert_int_equal(t.rec.chunk, 7);
        assert_true(t.rec.bits0 == 0xc6800000 && !t.rec.bits1);
        for (unsigned k = 0; k < t.elems; k++)
            assert_int_equal(twin_element(t.mid, 16, k),
                             k / 8 == at / 8 ? 0x8000 : k % 1000 * 2);
        twin_free(&t);
    }
}

/* A compiler that lacks PTX 9.3 makes the weak copy. */
static void weak_copy_hands_over_too(void **state)
{
    struct twin_opts o = faulty(1);
    const struct model *m = &models[1];
    struct twin t;

    (void)state;
    need_nvrtc(false);
    if (!can_run(o.arch))
        skip();
    o.weak = 1;
    o.work_ns = 20000;
    twin_make(&t, &o);
    twin_run(&t, &o);
    if (on_sim())
        assert_null(strstr(d.code, "cp.async.bulk.relaxed"));
    assert_int_equal(t.rec.code, 0);
    compare(&t, &o, m);
    twin_free(&t);
}

static void older_compiler_takes_the_twins(void **state)
{
    static const struct {
        const char *stem, *arch;
    } row[] = {
        { "sentinel_fill", "compute_75" }, { "scale_produce", "compute_75" },
        { "scale_produce", "compute_90" }, { "scale_produce", "compute_100f" },
        { "async_consume", "compute_80" }, { "bulk_consume", "compute_90" },
        { "bulk_consume", "compute_100" }, { "poll_consume", "compute_75" },
    };
    struct twin_opts o = faulty(1);

    (void)state;
    need_nvrtc(true);
    o.element = "e2m1";
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        char path[60];

        snprintf(path, sizeof path, "ptx/%s.cu", row[k].stem);
        if (!compile_by(nvrtc_path(true), path, row[k].arch,
                        twin_tokens(&o, row[k].stem)))
            fail_msg("%s for %s: %s", path, row[k].arch, d.log);
    }
}

int main(void)
{
    static char name[MODELS][60];
    static struct CMUnitTest tests[MODELS + 6] = {
        cmocka_unit_test(lost_chunk_is_named),
        cmocka_unit_test(stored_sentinel_is_named_after_the_tries),
        cmocka_unit_test(abort_that_is_there_is_not_waited_for),
        cmocka_unit_test(integer_that_is_the_sentinel_is_refused),
        cmocka_unit_test(weak_copy_hands_over_too),
        cmocka_unit_test(older_compiler_takes_the_twins),
    };

    for (int k = 0; k < MODELS; k++) {
        snprintf(name[k], sizeof name[k], "%s_tiles_are_handed_over",
                 models[k].name);
        tests[6 + k] = (struct CMUnitTest){ name[k], tiles_are_handed_over,
                                            NULL, NULL, (void *)&models[k] };
    }
    return cmocka_run_group_tests_name("twins", tests, NULL, close_device);
}
