/* test_plan_between.c -- what else touches a plan's slots between its runs
 *
 * A plan remembers which slots hold sentinels.  Another plan, a replay or a
 * write of the application's may have left data there, also by another buffer
 * over the same memory: the run behind it fills them again.  And what gave up
 * before does not end it.
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "core/device.h"
#include "ring_rig.h"

static const struct {
    uint32_t stages, slots;
    fgs_fill fill;
} rows[] = {
    { 5, 3, FGS_FILL_RING }, { 2, 2, FGS_FILL_MEMSET },
    { 2, 1, FGS_FILL_READER }, { 2, 3, FGS_FILL_READER },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void compose(int i)
{
    fgs_error err;

    chain_make(rows[i].stages, rows[i].slots, 1);
    c.uses[0].fill = rows[i].fill;
    chain_slow(20000);
    RIG_OK(chain_compose(&err), err);
}

static void run_and_expect(uint32_t seed, uint32_t rounds)
{
    chain_write(seed);
    chain_run(rounds);
    assert_int_equal(chain_wrong(RING_TILES), 0);
}

static void runs_of_another_plan_are_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        fgs_plan *first, *second;
        fgs_error err;

        compose(i);
        first = c.plan;
        c.plan = NULL;
        c.uses[0].fill = rows[i].fill == FGS_FILL_RING ? FGS_FILL_RING
                                                       : FGS_FILL_MEMSET;
        RIG_OK(chain_compose(&err), err);
        second = c.plan;
        for (uint32_t n = 1; n < 7; n++) {
            c.plan = n % 2 ? first : second;
            run_and_expect(n, 1 + n / 3);
        }
        c.plan = first;
        fgs_plan_free(second);
    }
}

static void replays_are_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        CUgraphExec exec;
        CUgraph graph;
        fgs_error err;

        compose(i);
        assert_int_equal(cu.create(&graph, 0), 0);
        RIG_OK(fgs_plan_graph(c.plan, graph, NULL, 0, 6, NULL, &err), err);
        assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
        for (uint32_t n = 1; n < 6; n++) {
            run_and_expect(2 * n, 1);
            chain_write(2 * n + 1);
            assert_int_equal(cu.launch(exec, c.run), 0);
            assert_int_equal(cu.stream_synchronize(c.run), 0);
            assert_int_equal(chain_wrong(RING_TILES), 0);
        }
        cu.exec_destroy(exec);
        cu.destroy(graph);
    }
}

static void writes_of_the_application_are_noticed(void **state)
{
    static uint32_t data[RING_ELEMS];
    fgs_error err;

    (void)state;
    memset(data, 0x11, sizeof data);
    for (int i = 0; i < ROWS; i++) {
        compose(i);
        for (uint32_t n = 0; n < 4; n++) {
            for (uint32_t s = 0; s < rows[i].slots; s++)
                RIG_OK(fgs_buffer_write(c.ring, s * RING_BYTES, data,
                                        RING_BYTES, &err), err);
            run_and_expect(n, 2);
        }
    }
}

/* ------------------------------------------------- another buffer, the same */

/* The chain's slots as a buffer of its own. */
static fgs_buffer *other_name(CUdeviceptr at)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = "other",
                          .tiles = RING_TILES, .tile_bytes = RING_TILE_BYTES,
                          .pointer = at };
    fgs_buffer *b = NULL;
    fgs_error err;

    d.pointer_bytes = fgs_buffer_get_bytes(c.ring);
    d.slots = (uint32_t)(d.pointer_bytes / RING_BYTES);
    RIG_OK(fgs_buffer_make(&b, c.dev, &d, &err), err);
    return b;
}

/* The chain over the other buffer; that of before comes back. */
static fgs_plan *second_plan(fgs_buffer *b, fgs_fill fill)
{
    fgs_plan *first = c.plan, *second;
    fgs_error err;

    for (uint32_t i = 0; i < c.spec.stage_count; i++) {
        for (int j = 0; j < 2; j++) {
            if (c.access[i][j].buffer == c.ring)
                c.access[i][j].buffer = b;
        }
    }
    c.uses[0] = (fgs_use){ .buffer = b, .fill = fill };
    c.plan = NULL;
    RIG_OK(chain_compose(&err), err);
    second = c.plan;
    c.plan = first;
    return second;
}

static void take_turns(fgs_plan *first, fgs_plan *second)
{
    for (uint32_t n = 1; n < 7; n++) {
        c.plan = n % 2 ? first : second;
        run_and_expect(n, 1 + n / 3);
    }
    c.plan = first;
}

static void runs_over_another_buffer_are_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        fgs_plan *first, *second;
        fgs_buffer *b;

        compose(i);
        first = c.plan;
        b = other_name(fgs_buffer_get_pointer(c.ring));
        second = second_plan(b, rows[i].fill);
        take_turns(first, second);
        c.plan = second;
        run_and_expect(7, 1);
        c.plan = first;
        /* The one that ran is gone, and its slots are as it left them. */
        fgs_plan_free(second);
        fgs_buffer_free(b);
        run_and_expect(8, 1);
    }
}

static void writes_to_another_buffer_are_noticed(void **state)
{
    static uint32_t data[RING_ELEMS];
    fgs_error err;

    (void)state;
    memset(data, 0x11, sizeof data);
    for (int i = 0; i < ROWS; i++) {
        compose(i);
        for (uint32_t n = 0; n < 4; n++) {
            fgs_buffer *b = other_name(fgs_buffer_get_pointer(c.ring));

            for (uint32_t s = 0; s < rows[i].slots; s++)
                RIG_OK(fgs_buffer_write(b, s * RING_BYTES, data, RING_BYTES,
                                        &err), err);
            fgs_buffer_free(b);
            run_and_expect(n, 2);
        }
    }
}

static void replays_over_another_buffer_are_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        fgs_plan *second;
        CUgraphExec exec;
        fgs_buffer *b;
        CUgraph graph;
        fgs_error err;

        compose(i);
        b = other_name(fgs_buffer_get_pointer(c.ring));
        second = second_plan(b, rows[i].fill);
        assert_int_equal(cu.create(&graph, 0), 0);
        RIG_OK(fgs_plan_graph(second, graph, NULL, 0, 6, NULL, &err), err);
        assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
        for (uint32_t n = 1; n < 4; n++) {
            run_and_expect(2 * n, 1);
            assert_int_equal(cu.launch(exec, c.run), 0);
            assert_int_equal(cu.stream_synchronize(c.run), 0);
        }
        run_and_expect(9, 1);
        cu.exec_destroy(exec);
        cu.destroy(graph);
        fgs_plan_free(second);
        fgs_buffer_free(b);
    }
}

/* It shares nothing with the plan at first. */
static void buffer_that_moves_onto_the_slots_is_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        uint64_t bytes;
        fgs_plan *first, *second;
        CUdeviceptr own;
        fgs_buffer *b;
        fgs_error err;

        compose(i);
        first = c.plan;
        bytes = fgs_buffer_get_bytes(c.ring);
        assert_int_equal(cu.alloc(&own, bytes), 0);
        b = other_name(own);
        second = second_plan(b, rows[i].fill);
        take_turns(first, second);
        c.plan = second;
        run_and_expect(7, 1);
        RIG_OK(fgs_buffer_rebind(b, fgs_buffer_get_pointer(c.ring), bytes,
                                 &err), err);
        run_and_expect(8, 1);
        take_turns(first, second);
        fgs_plan_free(second);
        fgs_buffer_free(b);
        assert_int_equal(cu.free(own), 0);
    }
}

/* --------------------------------------------------------------- give-up -- */

/* A producer that gives up at INT_MIN, and a reader; no receipt. */
static fgs_kernel *int_kernel(fgs_role role, fgs_engine engine)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = role, .engine = engine,
                          .element = FGS_ELEMENT_I32,
                          .tile_bytes = RING_TILE_BYTES };
    fgs_kernel *k = NULL;
    fgs_error err;

    RIG_OK(fgs_kernel_make(&k, c.dev, &d, &err), err);
    return k;
}

static fgs_buffer *int_buffer(const char *name, fgs_element e)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = RING_TILES,
                          .tile_bytes = RING_TILE_BYTES, .element = e };
    fgs_buffer *b = NULL;
    fgs_error err;

    RIG_OK(fgs_buffer_make(&b, c.dev, &d, &err), err);
    return b;
}

struct ints {
    fgs_kernel *make, *use;
    fgs_buffer *in, *mid, *out;
    fgs_plan *plan;
};

static void ints_open(struct ints *x)
{
    fgs_error err;

    x->make = int_kernel(FGS_ROLE_PRODUCER, 0);
    x->use = int_kernel(FGS_ROLE_CONSUMER, FGS_ENGINE_POLL);
    x->in = int_buffer("in", FGS_ELEMENT_F32);
    x->mid = int_buffer("mid", FGS_ELEMENT_I32);
    x->out = int_buffer("out", FGS_ELEMENT_I32);
    c.rounds = 1;
    c.spec = (fgs_plan_spec){ .size = sizeof c.spec, .stages = c.stage,
                              .order = FGS_ORDER_SENTINEL };
    chain_stage("make", x->make, NULL, x->in, x->mid);
    chain_stage("use", x->use, NULL, x->mid, x->out);
    chain_slow(20000);
    RIG_OK(fgs_plan_compose(&x->plan, c.dev, &c.spec, &err), err);
}

static void ints_close(struct ints *x)
{
    fgs_plan_free(x->plan);
    fgs_kernel_free(x->make);
    fgs_kernel_free(x->use);
    fgs_buffer_free(x->in);
    fgs_buffer_free(x->mid);
    fgs_buffer_free(x->out);
}

/* Twice 2^30 below zero is the sentinel. */
static void ints_write(struct ints *x, int gives_up)
{
    float data[RING_ELEMS];
    fgs_error err;

    for (int i = 0; i < RING_ELEMS; i++)
        data[i] = (float)(i + 1);
    if (gives_up)
        data[RING_ELEMS / 2] = -1073741824.0f;
    RIG_OK(fgs_buffer_write(x->in, 0, data, sizeof data, &err), err);
}

static void ints_expect(struct ints *x)
{
    int32_t got[RING_ELEMS];
    enum { TILE = RING_TILE_BYTES / 4 };
    fgs_error err;

    memset(got, 0xA5, sizeof got);
    RIG_OK(fgs_buffer_write(x->out, 0, got, sizeof got, &err), err);
    ints_write(x, 0);
    RIG_OK(fgs_plan_run(x->plan, c.run, 1, &err), err);
    RIG_OK(fgs_plan_wait(x->plan, &err), err);
    RIG_OK(fgs_buffer_read(x->out, 0, got, sizeof got, &err), err);
    /* The reader turns each tile around. */
    for (int i = 0; i < RING_ELEMS; i++)
        assert_int_equal(got[i], 2 * (i / TILE * TILE + TILE - i % TILE));
}

static void replay_that_gave_up_ends_no_run(void **state)
{
    struct ints x;
    CUgraphExec exec;
    CUgraph graph;
    fgs_error err;

    (void)state;
    ints_open(&x);
    assert_int_equal(cu.create(&graph, 0), 0);
    RIG_OK(fgs_plan_graph(x.plan, graph, NULL, 0, 1, NULL, &err), err);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    for (int checks = 0; checks < 2; checks++) {
        ints_write(&x, 1);
        assert_int_equal(cu.launch(exec, c.run), 0);
        assert_int_equal(cu.stream_synchronize(c.run), 0);
        if (checks)
            assert_int_equal(fgs_plan_check_graph(x.plan, &err),
                             FGS_E_SENTINEL);
        ints_expect(&x);
    }
    cu.exec_destroy(exec);
    cu.destroy(graph);
    ints_close(&x);
}

static CUresult (*launch_before)(const CUlaunchConfig *, CUfunction, void **,
                                 void **);
static int launches_left;

static CUresult launch_some(const CUlaunchConfig *config, CUfunction f,
                            void **params, void **extra)
{
    if (!launches_left--)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return launch_before(config, f, params, extra);
}

static void round_that_gave_up_before_a_failure_ends_no_run(void **state)
{
    struct fgs__device *d;
    struct ints x;
    fgs_error err;

    (void)state;
    ints_open(&x);
    RIG_OK(fgs__device_get(&d, c.dev, &err), err);
    launch_before = d->cu.cuLaunchKernelEx;
    ints_write(&x, 1);
    d->cu.cuLaunchKernelEx = launch_some;
    launches_left = 2;
    assert_true(fgs_plan_run(x.plan, c.run, 2, &err) < 0);
    d->cu.cuLaunchKernelEx = launch_before;
    ints_expect(&x);
    ints_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAIN_TEST(runs_of_another_plan_are_noticed),
        CHAIN_TEST(replays_are_noticed),
        CHAIN_TEST(writes_of_the_application_are_noticed),
        CHAIN_TEST(runs_over_another_buffer_are_noticed),
        CHAIN_TEST(writes_to_another_buffer_are_noticed),
        CHAIN_TEST(replays_over_another_buffer_are_noticed),
        CHAIN_TEST(buffer_that_moves_onto_the_slots_is_noticed),
        CHAIN_TEST(replay_that_gave_up_ends_no_run),
        CHAIN_TEST(round_that_gave_up_before_a_failure_ends_no_run),
    };

    return cmocka_run_group_tests(tests, rig_group, NULL);
}
