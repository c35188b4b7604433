/* test_sim_early.c -- programmatic events outside a graph, FGS_SIM_EARLY_EVENT
 */
#include "sim_calls.h"

/* The moments that the two kernels wrote: start and end of each. */
struct moments {
    uint64_t from, from_end, to, to_end;
};

struct how {
    uint32_t knob, overlap;
    int at_start;
    uint64_t triggers, waits;
};

struct two {
    struct sim s;
    CUdeviceptr x;
    CUstream a, b;
    CUevent e;
};

static struct two open_two(const struct how *h)
{
    fgs_sim_config cfg = sim_config();
    struct two t;

    cfg.early_event = h->knob;
    cfg.overlap = h->overlap;
    t.s = sim_open(&cfg, HEAD STAMP POKE);
    t.x = sim_alloc(4096);
    OK(cuStreamCreate(&t.a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t.b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&t.e, CU_EVENT_DISABLE_TIMING));
    return t;
}

/* The kernel whose event it is: 100 us. */
static void launch_first(const struct two *t, const struct how *h)
{
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT };
    CUlaunchConfig c = { 1, 1, 1, 32, 1, 1, 0, t->a, &attr, 1 };
    CUdeviceptr x = t->x;
    uint64_t run = 100000, early = h->triggers, wait = 0;
    void *params[] = { &x, &run, &early, &wait };

    attr.value.programmaticEvent.event = t->e;
    attr.value.programmaticEvent.triggerAtBlockStart = h->at_start;
    OK(cuLaunchKernelEx(&c, sim_func(&t->s, "stamp"), params, NULL));
}

static struct moments run(const struct how *h)
{
    struct two t = open_two(h);
    struct moments m;

    launch_first(&t, h);
    OK(cuStreamWaitEvent(t.b, t.e, 0));
    sim_stamp(sim_func(&t.s, "stamp"), 1, 32, t.b, 0, t.x + 16, 10, 0,
              h->waits);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&m, t.x, sizeof m));
    sim_close(&t.s);
    assert_true(m.to >= m.from);
    return m;
}

static void event_fires_at_the_end_where_the_knob_is_off(void **state)
{
    (void)state;
    for (int at_start = 0; at_start < 2; at_start++) {
        struct how h = { .overlap = 1, .at_start = at_start, .triggers = 1 };
        struct moments m = run(&h);

        assert_true(m.to >= m.from_end);
    }
}

static void event_fires_at_triggers_or_starts_where_it_is_on(void **state)
{
    static const struct {
        int at_start;
        uint64_t triggers;
        bool overlaps;
    } rows[] = { { 0, 1, true }, { 0, 0, false }, { 1, 0, true },
                 { 1, 1, true } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct how h = { 1, 1, rows[i].at_start, rows[i].triggers, 0 };
        struct moments m = run(&h);

        assert_int_equal(m.to < m.from_end, rows[i].overlaps);
    }
}

static void event_fires_at_the_end_where_grids_never_overlap(void **state)
{
    struct how h = { .knob = 1, .overlap = 0, .triggers = 1 };
    struct moments m;

    (void)state;
    m = run(&h);
    assert_true(m.to >= m.from_end);
}

/* griddepcontrol.wait covers the kernel whose event let this one in. */
static void wait_returns_when_the_other_stream_s_kernel_ended(void **state)
{
    struct how h = { 1, 1, 0, 1, 1 };
    struct moments m;

    (void)state;
    m = run(&h);
    assert_true(m.to < m.from_end);
    assert_true(m.to_end >= m.from_end);
    h.waits = 0;
    m = run(&h);
    assert_true(m.to_end < m.from_end);
}

/* Only a kernel can wait inside: everything else begins behind the grid. */
static void copy_behind_the_event_is_behind_the_kernel(void **state)
{
    struct how h = { 1, 1, 0, 1, 0 };
    uint64_t got[2] = { 0, 0 };
    struct two t;

    (void)state;
    t = open_two(&h);
    OK(cuMemsetD8(t.x, 0, 64));
    launch_first(&t, &h);
    OK(cuStreamWaitEvent(t.b, t.e, 0));
    OK(cuMemcpyDtoHAsync(got, t.x, sizeof got, t.b));
    OK(cuStreamSynchronize(t.b));
    assert_true(got[1] > got[0] && got[0]);
    sim_close(&t.s);
}

/* The same for all of a graph, and for what a context waits for. */
static void graph_and_context_behind_it_are_behind_the_kernel(void **state)
{
    struct how h = { 1, 1, 0, 1, 0 };

    (void)state;
    for (int context = 0; context < 2; context++) {
        struct two t = open_two(&h);
        struct moments m;
        CUgraphExec exec;
        CUgraph g;

        OK(cuStreamBeginCapture(t.b, 0));
        sim_stamp(sim_func(&t.s, "stamp"), 1, 32, t.b, 0, t.x + 16, 10, 0, 0);
        OK(cuStreamEndCapture(t.b, &g));
        OK(cuGraphInstantiateWithFlags(&exec, g, 0));
        launch_first(&t, &h);
        if (context)
            OK(cuCtxWaitEvent(t.s.ctx, t.e));
        else
            OK(cuStreamWaitEvent(t.b, t.e, 0));
        OK(cuGraphLaunch(exec, t.b));
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH(&m, t.x, sizeof m));
        assert_true(m.to >= m.from_end);
        sim_close(&t.s);
    }
}

/* With the overlap off nothing is let in by the launch completion event
 * either. */
static void launch_event_fires_at_the_end_where_grids_never_overlap(
    void **state)
{
    (void)state;
    for (uint32_t overlap = 0; overlap < 2; overlap++) {
        struct how h = { .overlap = overlap };
        CUlaunchAttribute attr = {
            .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
        };
        uint64_t span = 100000, zero = 0;
        struct two t = open_two(&h);
        CUlaunchConfig c = { 1, 1, 1, 32, 1, 1, 0, t.a, &attr, 1 };
        void *params[] = { &t.x, &span, &zero, &zero };
        struct moments m;

        attr.value.programmaticEvent.event = t.e;
        OK(cuLaunchKernelEx(&c, sim_func(&t.s, "stamp"), params, NULL));
        OK(cuStreamWaitEvent(t.b, t.e, 0));
        sim_stamp(sim_func(&t.s, "stamp"), 1, 32, t.b, 0, t.x + 16, 10, 0, 0);
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH(&m, t.x, sizeof m));
        assert_int_equal(m.to < m.from_end, overlap);
        sim_close(&t.s);
    }
}

/* A fault ends the waits for a trigger that never came. */
static void fault_frees_what_waits_for_the_trigger(void **state)
{
    struct how h = { 1, 1, 0, 0, 1 };
    struct two t;
    CUdeviceptr bad = 16;
    void *params[] = { &bad };

    (void)state;
    t = open_two(&h);
    launch_first(&t, &h);
    OK(cuStreamWaitEvent(t.b, t.e, 0));
    OK(cuStreamWaitEvent(t.b, t.e, 0));
    sim_stamp(sim_func(&t.s, "stamp"), 1, 32, t.b, 0, t.x + 16, 10, 0, 1);
    assert_int_equal(sim_launch(sim_func(&t.s, "poke"), 1, 1, NULL, 0,
                                params), 0);
    assert_int_equal(fgs__sim_cuCtxSynchronize(),
                     CUDA_ERROR_ILLEGAL_ADDRESS);
    sim_clean();
}

/* Every allocation fails once; what was launched before a failure runs on. */
static void calls_with_the_event_survive_failing_allocations(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    fgs_sim_config cfg = sim_config();
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT };
    uint64_t span = 100, one = 1, zero = 0;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr x;
    void *params[] = { &x, &span, &one, &zero };
    CUlaunchConfig k = { 1, 1, 1, 32, 1, 1, 0, NULL, &attr, 1 };
    struct sim s;
    CUstream b;
    CUfunction f;
    CUevent e;

    (void)state;
    sim_clean();
    cfg.allocator = &a;
    cfg.early_event = 1;
    s = sim_open(&cfg, HEAD STAMP);
    f = sim_func(&s, "stamp");
    x = sim_alloc(64);
    OK(cuStreamCreate(&k.hStream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    attr.value.programmaticEvent.event = e;
    for (long at = 1; r; at++) {
        assert_true(at < 100);
        c.at = c.calls + at;
        r = fgs__sim_cuLaunchKernelEx(&k, f, params, NULL);
        if (!r)
            r = fgs__sim_cuStreamWaitEvent(b, e, 0);
        if (!r)
            r = fgs__sim_cuStreamWaitEvent(b, e, 0);
        if (!r)
            r = sim_launch(f, 1, 32, b, 0, params);
        c.at = 0;
        assert_true(!r || r == CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuCtxSynchronize());
    }
    sim_counted_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_fires_at_the_end_where_the_knob_is_off),
        cmocka_unit_test(event_fires_at_triggers_or_starts_where_it_is_on),
        cmocka_unit_test(event_fires_at_the_end_where_grids_never_overlap),
        cmocka_unit_test(wait_returns_when_the_other_stream_s_kernel_ended),
        cmocka_unit_test(copy_behind_the_event_is_behind_the_kernel),
        cmocka_unit_test(graph_and_context_behind_it_are_behind_the_kernel),
        cmocka_unit_test(
            launch_event_fires_at_the_end_where_grids_never_overlap),
        cmocka_unit_test(fault_frees_what_waits_for_the_trigger),
        cmocka_unit_test(calls_with_the_event_survive_failing_allocations),
    };

    return cmocka_run_group_tests_name("sim_early", tests, NULL, NULL);
}
