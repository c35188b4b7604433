/* test_plan_early.c -- readers that let the next kernel start, where they may
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "core/plan.h"
#include "graph_calls.h"

#include <fgs/fgs_sim.h>

#include <sched.h>
#include <stdatomic.h>

enum { READERS = 4, SEEDS = 6 };

static struct net net;
static fgs_buffer *in, *mid, *out[READERS];

static struct {
    int (*host)(CUstream, void (*)(void *), void *);
    int (*load)(CUmodule *, const void *);
    int (*get)(CUfunction *, CUmodule, const char *);
} code;

static void open_net(void)
{
    CUcontext ctx;

    net_open(&net);
    calls_get(net.dev);
    net_proc(net.dev, "cuLaunchHostFunc", &code.host);
    net_proc(net.dev, "cuModuleLoadData", &code.load);
    net_proc(net.dev, "cuModuleGetFunction", &code.get);
    assert_int_equal(cu.retain(&ctx, 0), 0);
    assert_int_equal(cu.push(ctx), 0);
}

static void close_net(void)
{
    CUcontext ctx;

    fgs_plan_free(net.plan);
    net.plan = NULL;
    cu.pop(&ctx);
    cu.release(0);
    net_close(&net);
}

static int setup(void **state)
{
    (void)state;
    open_net();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close_net();
    return 0;
}

/* ----------------------------------------------------------------- gate -- */

static atomic_int open_gate;

static void wait_gate(void *cookie)
{
    (void)cookie;
    while (!atomic_load(&open_gate))
        sched_yield();
}

/* All of a run's launches stand in the stream before the first one begins, so
 * that overlap is not up to the pace of the host. */
static void run_gated(void)
{
    fgs_error err;

    atomic_store(&open_gate, 0);
    assert_int_equal(code.host(NULL, wait_gate, NULL), 0);
    RIG_OK(fgs_plan_run(net.plan, NULL, 1, &err), err);
    atomic_store(&open_gate, 1);
    RIG_OK(fgs_plan_wait(net.plan, &err), err);
}

/* ---------------------------------------------------------------- plans -- */

static const char *attributes(uint32_t stage)
{
    fgs_stage_info s = { .size = sizeof s };
    fgs_error err;

    RIG_OK(fgs_plan_get_stage(net.plan, stage, &s, &err), err);
    return s.attributes;
}

static int says(uint32_t stage, const char *words)
{
    return strstr(attributes(stage), words) != NULL;
}

/* in -> mid -> out[i]: a slow and uneven writer, READERS readers. */
static void fan_out(uint32_t self)
{
    fgs_kernel *plain = net_plain(&net), *c = net_consumer(&net);
    fgs_stage_desc *s;

    in = net_buffer(&net, "in", 1);
    mid = net_buffer(&net, "mid", 1);
    s = net_stage(&net, "make",
                  net_kernel(&net, &(fgs_kernel_desc){
                                       .role = FGS_ROLE_PRODUCER,
                                       .self_init = self }),
                  in, NULL, mid);
    s->work_ns = 20000;
    s->spread_ns = 9000;
    for (uint32_t i = 0; i < READERS; i++) {
        out[i] = net_buffer(&net, "out", 1);
        net_stage(&net, "use", c, mid, NULL, out[i])->ordered = plain;
    }
    net.spec.receipt = 2;
}

static void expect_all(uint32_t seed)
{
    net_write(in, seed);
    run_gated();
    for (uint32_t i = 0; i < READERS; i++)
        net_expect(in, 0, out[i], 0, 1);
}

static int is_sim(void)
{
    return !strcmp(rig_provider(), "sim");
}

/* The software device anew; no net is alive. */
static void present(uint32_t overlap, uint32_t seed)
{
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    RIG_OK(fgs_sim_config_get(&cfg, &err), err);
    cfg.overlap = overlap;
    cfg.seed = seed;
    RIG_OK(fgs_sim_config_set(&cfg, &err), err);
}

static void all_readers_of_a_tile_start_before_its_writer_ended(void **state)
{
    fgs_error err;

    (void)state;
    fan_out(0);
    net.spec.order = FGS_ORDER_SENTINEL;
    RIG_OK(net_compose(&net, &err), err);
    expect_all(1);
    for (uint32_t i = 1; i <= READERS; i++) {
        assert_int_equal(says(i, "serialization set"), 1);
        assert_int_equal(says(i, "lets the next kernel start early, at its "
                                 "start"), i < READERS);
        if (is_sim())
            assert_true(net_edge(&net, i - 1).early_blocks > 0);
    }
}

static void readers_under_each_order_and_seed_give_the_same(void **state)
{
    fgs_error err;

    (void)state;
    for (uint32_t seed = 1; seed <= (is_sim() ? SEEDS : 1); seed++) {
        close_net();
        if (is_sim())
            present(seed % 3 != 0, seed);
        open_net();
        fan_out(seed % 2);
        for (fgs_order o = FGS_ORDER_AUTO; o < FGS_ORDER_COUNT; o++) {
            fgs_result r;

            net.spec.order = o;
            r = net_compose(&net, &err);
            if (r == FGS_E_UNSUPPORTED)
                continue; /* pdl below 9.0 */
            RIG_OK(r, err);
            expect_all(10 * seed + (uint32_t)o);
        }
    }
    if (is_sim()) {
        close_net();
        present(1, 1);
        open_net();
    }
}

/* The writer's fence reaches the first reader alone (4.6.4.2). */
static void readers_hand_on_what_the_writer_filled(void **state)
{
    fgs_error err;

    (void)state;
    fan_out(1);
    net.spec.order = FGS_ORDER_SENTINEL;
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 1; i <= READERS; i++) {
        assert_int_equal(says(i, "serialization set"), 1);
        assert_int_equal(says(i, "behind a fence: it hands on what make "
                                 "filled"), i < READERS);
    }
    expect_all(2);
    if (is_sim())
        assert_true(net_edge(&net, READERS - 1).early_blocks > 0);
}

/* No writer fills: there is nothing to hand on. */
static void readers_have_no_fence_without_need(void **state)
{
    fgs_error err;

    (void)state;
    fan_out(1);
    net.spec.order = FGS_ORDER_FLAG;
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 1; i < READERS; i++) {
        assert_int_equal(says(i, "at its start"), 1);
        assert_int_equal(says(i, "fence"), 0);
    }
    expect_all(3);
}

/* A kernel of the application's that triggers at its start has no fence. */
static void kernel_without_a_fence_holds_the_next_reader_back(void **state)
{
    static const char text[] =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry look()\n{\n"
        "    griddepcontrol.launch_dependents;\n"
        "    griddepcontrol.wait;\n    ret;\n}\n";
    fgs_stage_desc s;
    CUmodule m;
    fgs_error err;

    (void)state;
    assert_int_equal(code.load(&m, text), 0);
    fan_out(1);
    net.spec.order = FGS_ORDER_SENTINEL;
    s = net.stage[2];
    s.kernel = s.ordered = NULL;
    assert_int_equal(code.get(&s.function, m, "look"), 0);
    s.name = "look";
    s.waits = FGS_WAITS_LAST;
    s.triggers = FGS_TRIGGERS_START;
    s.access_count = 1;
    for (int i = 0; i < 3; i++)
        s.grid[i] = s.block[i] = 1;
    net.access[2][0].can = 1u << FGS_ORDER_SENTINEL;
    net.stage[2] = s;
    RIG_OK(net_compose(&net, &err), err);
    assert_true(says(2, "serialization set"));
    assert_true(says(3, "serialization left out: make fills buffer 'mid', and "
                        "look triggers without a fence"));
    /* look was started early, and so may be the one behind use. */
    assert_true(says(4, "serialization set"));
    net_write(in, 4);
    net_run(&net, NULL, 2);
    net_expect(in, 0, out[2], 0, 1);
    net_expect(in, 0, out[3], 0, 1);
}

/* make -> mid -> use, more -> other -> clear; `clear` stands before `use`. */
static void reader_that_clears_triggers_behind_it(void **state)
{
    fgs_buffer *other = net_buffer(&net, "other", 1), *cleared;
    fgs_kernel *c = net_consumer(&net);
    fgs_error err;

    (void)state;
    fan_out(0);
    net.spec.stage_count = 1;
    cleared = out[1];
    net_stage(&net, "more", net.stage[0].kernel, in, NULL, other);
    net_stage(&net, "clear", c, other, NULL, cleared);
    net_stage(&net, "use", c, mid, NULL, out[0]);
    net_use(&net, other, FGS_FILL_READER, NULL);
    net.spec.order = FGS_ORDER_SENTINEL;
    RIG_OK(net_compose(&net, &err), err);
    assert_true(says(2, "lets the next kernel start early, behind its clear"));
    assert_true(says(3, "serialization set"));
    for (uint32_t i = 0; i < 3; i++) {
        net_write(in, 20 + i);
        run_gated();
        net_expect(in, 0, out[0], 0, 1);
        net_expect(in, 0, cleared, 0, 1);
    }
}

/* --------------------------------------------------------------- mutant -- */

/* make -> use -> late: the last one waits for the end of `use` by stream
 * order, and looks for no sentinel that is there. */
static void reader_by_stream_order_behind_a_reader(void)
{
    fan_out(0);
    net.spec.stage_count = 3;
    net.access[2][0] = (fgs_access){ .buffer = out[0],
                                     .order = FGS_ORDER_STREAM };
    net.stage[1].work_ns = 30000;
    net.access[1][0].order = FGS_ORDER_SENTINEL;
}

static void stream_order_behind_a_reader_is_kept(void **state)
{
    fgs_error err;

    (void)state;
    reader_by_stream_order_behind_a_reader();
    RIG_OK(net_compose(&net, &err), err);
    assert_true(says(2, "serialization left out: buffer 'out' from use is "
                        "ordered by `stream`"));
    assert_false(says(1, "lets the next kernel"));
    for (uint32_t i = 0; i < 4; i++) {
        net_write(in, 30 + i);
        run_gated();
        net_expect(in, 0, out[1], 0, 2);
    }
    assert_int_equal(net_edge(&net, 1).overlap, 0);
}

/* The plan as it would be without that rule gives something else. */
static void trigger_where_a_reader_needs_the_end_is_found(void **state)
{
    struct fgs__plan *p;
    uint32_t *x, *y;
    fgs_error err;

    (void)state;
    if (!is_sim())
        skip();
    reader_by_stream_order_behind_a_reader();
    RIG_OK(net_compose(&net, &err), err);
    net_write(in, 40);
    run_gated();
    x = net_read(out[1], 0);
    RIG_OK(fgs__plan_get(&p, net.plan, &err), err);
    p->stage[1].args.p_trigger = 1;
    p->stage[2].config.attrs = p->stage[2].attr;
    p->stage[2].attr[p->stage[2].config.numAttrs++] = (CUlaunchAttribute){
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value.programmaticStreamSerializationAllowed = 1
    };
    net_write(in, 41);
    run_gated();
    y = net_read(out[1], 0);
    /* It took what the run before had left. */
    assert_memory_equal(x, y, NET_TILES * RIG_TILE_BYTES);
    free(x);
    free(y);
}

int main(void)
{
    /* so many that all readers are resident beside the writer */
    setenv("FGS_SIM_SMS", "32", 0);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_readers_of_a_tile_start_before_its_writer_ended),
        TEST(readers_under_each_order_and_seed_give_the_same),
        TEST(readers_hand_on_what_the_writer_filled),
        TEST(readers_have_no_fence_without_need),
        TEST(kernel_without_a_fence_holds_the_next_reader_back),
        TEST(reader_that_clears_triggers_behind_it),
        TEST(stream_order_behind_a_reader_is_kept),
        TEST(trigger_where_a_reader_needs_the_end_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
