/* test_plan_cross.c -- which event ties stages of two streams, and why */
#include "compose_rig.h"
#include "fakelib.h"

#include <fgs/fgs_sim.h>

static struct net net;
static struct fake *fake;
static CUstream other;
static int measured; /* lines of the log that tell of a measurement */

static void on_log(void *cookie, fgs_log_level level, const char *id,
                   const char *text)
{
    (void)cookie;
    (void)level;
    (void)text;
    measured += !strcmp(id, "plan.cross") || !strcmp(id, "plan.cross-failed");
}

static void call(const char *name, void *out)
{
    void *proc = fgs_device_get_proc(net.dev, name);

    assert_non_null(proc);
    memcpy(out, &proc, sizeof proc);
}

/* A pair of stages in two streams. */
static void open_pair(const char *provider)
{
    fgs_device_opts o = { .size = sizeof o, .provider = provider,
                          .ptx_dir = "", .log = on_log };
    int (*create)(CUstream *, unsigned), (*push)(CUcontext);
    int (*retain)(CUcontext *, int);
    CUcontext ctx;
    fgs_error err;

    fake = fakelib_use();
    setenv("FGS_NVJITLINK", "none", 1);
    memset(&net, 0, sizeof net);
    RIG_OK(fgs_device_open(&net.dev, &o, &err), err);
    net.spec = (fgs_plan_spec){ .size = sizeof net.spec, .stages = net.stage,
                                .uses = net.use, .receipt = 2 };
    net_pair(&net, 1);
    call("cuDevicePrimaryCtxRetain", &retain);
    call("cuCtxPushCurrent", &push);
    call("cuStreamCreate", &create);
    assert_int_equal(retain(&ctx, 0), 0);
    assert_int_equal(push(ctx), 0);
    assert_int_equal(create(&other, 1), 0);
    net.stage[1].stream = other;
    net.spec.order = FGS_ORDER_SENTINEL;
    measured = 0;
}

/* On a driver of these habits. */
static void open_sim(uint32_t early_event, uint32_t overlap)
{
    fgs_sim_config cfg;
    fgs_error err;

    RIG_OK(fgs_sim_config_get(&cfg, &err), err);
    cfg.early_event = early_event;
    cfg.overlap = overlap;
    RIG_OK(fgs_sim_config_set(&cfg, &err), err);
    open_pair("sim");
}

static void close_pair(void)
{
    int (*destroy)(CUstream), (*pop)(CUcontext *), (*release)(int);
    CUcontext ctx;

    call("cuStreamDestroy", &destroy);
    call("cuCtxPopCurrent", &pop);
    call("cuDevicePrimaryCtxRelease", &release);
    assert_int_equal(destroy(other), 0);
    assert_int_equal(pop(&ctx), 0);
    assert_int_equal(release(0), 0);
    net_close(&net);
    assert_int_equal(fakelib_live(fake), 0);
}

static void compose_and_run(void)
{
    fgs_error err;

    RIG_OK(net_compose(&net, &err), err);
    net_run(&net, NULL, 3);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

/* Rows: habits of the driver, the form that is taken, does it overlap, what
 * the receipt says. */
static void plan_takes_the_event_behind_which_grids_overlap(void **state)
{
    static const struct {
        int early_event, overlap;
        const char *form;
        int overlaps;
        const char *why;
    } rows[] = {
        { 0, 1, "launch completion event", 1,
          "are not known to overlap here (measured)" },
        { 1, 1, "programmatic event", 1, "measured: behind it grids overlap" },
        { 0, 0, "programmatic event", 0, "neither event is known" },
        { 1, 0, "programmatic event", 0, "neither event is known" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgs_edge_info e;

        open_sim(rows[i].early_event, rows[i].overlap);
        compose_and_run();
        e = net_edge(&net, 0);
        assert_string_equal(e.form, rows[i].form);
        assert_int_equal(e.overlap, rows[i].overlaps);
        assert_non_null(strstr(e.form_why, rows[i].why));
        close_pair();
    }
}

/* The wait in the reader has to cover the writer: there is no choice, and
 * nothing to measure. */
static void edge_whose_wait_covers_takes_the_programmatic_event(void **state)
{
    (void)state;
    open_sim(0, 1);
    net.stage[1].ordered = net_plain(&net);
    net.spec.order = FGS_ORDER_PDL;
    compose_and_run();
    assert_string_equal(net_edge(&net, 0).form, "programmatic event");
    assert_non_null(strstr(net_edge(&net, 0).form_why, "order `pdl`"));
    assert_int_equal(measured, 0);
    close_pair();
}

static void device_measures_each_event_once(void **state)
{
    (void)state;
    open_sim(0, 1);
    compose_and_run();
    assert_int_equal(measured, 2);
    compose_and_run();
    assert_int_equal(measured, 2);
    close_pair();
    open_sim(1, 1);
    compose_and_run();
    assert_int_equal(measured, 1);
    close_pair();
}

/* Plans of one stream measure nothing. */
static void plan_of_one_stream_measures_nothing(void **state)
{
    (void)state;
    open_sim(0, 1);
    net.stage[1].stream = NULL;
    compose_and_run();
    assert_int_equal(measured, 0);
    close_pair();
}

/* Stores its tile, works on for 50 us, and says at last that it is done. */
static const char late[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".visible .entry late(.param .u64 p_mid, .param .u64 p_done)\n{\n"
    "    .reg .pred %p;\n    .reg .u32 %b, %t, %v, %o;\n"
    "    .reg .u64 %mid, %done, %at, %now;\n    .reg .b128 %q;\n"
    "    ld.param.u64 %mid, [p_mid];\n    ld.param.u64 %done, [p_done];\n"
    "    mov.u32 %b, %ctaid.x;\n    mov.u32 %t, %tid.x;\n"
    "    griddepcontrol.launch_dependents;\n"
    "    shl.b32 %o, %b, 8;\n    add.u32 %o, %o, %t;\n"
    "    mad.wide.u32 %mid, %o, 16, %mid;\n    mov.u32 %v, 0x3f800000;\n"
    "    mov.b128 %q, {%v, %v, %v, %v};\n"
    "    st.relaxed.gpu.global.b128 [%mid], %q;\n"
    "    mov.u64 %at, %globaltimer;\n    add.u64 %at, %at, 50000;\n"
    "L_wait:\n    nanosleep.u32 1000;\n    mov.u64 %now, %globaltimer;\n"
    "    setp.lt.u64 %p, %now, %at;\n    @%p bra L_wait;\n"
    "    mad.wide.u32 %done, %b, 4, %done;\n    mov.u32 %v, 1;\n"
    "    st.global.u32 [%done], %v;\n    ret;\n}\n";

static CUfunction load_late(void)
{
    int (*load)(void **, const void *);
    int (*get)(CUfunction *, void *, const char *);
    CUfunction f = NULL;
    void *module;

    call("cuModuleLoadData", &load);
    call("cuModuleGetFunction", &get);
    assert_int_equal(load(&module, late), 0);
    assert_int_equal(get(&f, module, "late"), 0);
    return f;
}

/* The reader ends before the writer.  What the application puts behind it finds
 * the writer at its end all the same, in the reader's own stream. */
static void what_follows_the_reader_is_behind_the_writer(void **state)
{
    int (*copy)(void *, CUdeviceptr, size_t, CUstream);
    int (*alloc)(CUdeviceptr *, size_t), (*sync)(CUstream);
    int (*set)(CUdeviceptr, unsigned, size_t);
    uint32_t done[NET_TILES] = { 0 };
    fgs_arg args[2];
    CUdeviceptr at;
    fgs_error err;

    (void)state;
    open_sim(0, 1);
    call("cuMemAlloc", &alloc);
    call("cuMemsetD32", &set);
    call("cuMemcpyDtoHAsync", &copy);
    call("cuStreamSynchronize", &sync);
    assert_int_equal(alloc(&at, sizeof done), 0);
    assert_int_equal(set(at, 0, NET_TILES), 0);
    net.stage[0].kernel = NULL;
    net.stage[0].function = load_late();
    net.stage[0].work_ns = net.stage[0].spread_ns = 0;
    net.stage[0].triggers = FGS_TRIGGERS_START;
    for (int i = 0; i < 3; i++)
        net.stage[0].grid[i] = net.stage[0].block[i] = 1;
    net.stage[0].grid[0] = NET_TILES;
    net.stage[0].block[0] = 256;
    args[0] = (fgs_arg){ .kind = FGS_ARG_BUFFER, .buffer = net.b[1] };
    args[1] = (fgs_arg){ .kind = FGS_ARG_VALUE, .bytes = sizeof at,
                         .value = &at };
    net.stage[0].args = args;
    net.stage[0].arg_count = 2;
    net.access[0][0] = net.access[0][1];
    net.access[0][0].can = 1u << FGS_ORDER_SENTINEL;
    net.stage[0].access_count = 1;
    RIG_OK(net_compose(&net, &err), err);
    assert_string_equal(net_edge(&net, 0).form, "launch completion event");
    RIG_OK(fgs_plan_run(net.plan, NULL, 1, &err), err);
    assert_int_equal(copy(done, at, sizeof done, other), 0);
    assert_int_equal(sync(other), 0);
    for (int i = 0; i < NET_TILES; i++)
        assert_int_equal(done[i], 1);
    RIG_OK(fgs_plan_wait(net.plan, &err), err);
    close_pair();
}

/* Each call of a measurement fails once: the plan is made all the same, with
 * the other event, or with the one whose wait covers the writer, and says why;
 * the next plan measures again. */
static void failed_measurement_is_told_and_costs_no_plan(void **state)
{
    static const char *const calls[] = {
        "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncLoad",
        "cuMemHostAlloc", "cuMemHostGetDevicePointer", "cuStreamCreate",
        "cuEventCreate", "cuLaunchKernelEx", "cuStreamWaitEvent",
        "cuStreamSynchronize"
    };
    int told[2] = { 0, 0 };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (int at = 1; at < 4; at++) {
            fgs_error err;

            open_pair("cuda");
            fake->failed[0] = '\0';
            fake->fail_call = calls[i];
            fake->fail_with = CUDA_ERROR_UNKNOWN;
            fake->fail_at = at;
            /* What fails behind the measurements fails the plan. */
            if (net_compose(&net, &err) >= 0 && fake->failed[0]) {
                fgs_edge_info e = net_edge(&net, 0);

                assert_non_null(strstr(e.form_why, calls[i]));
                assert_non_null(strstr(e.form_why, "CUDA_ERROR_UNKNOWN"));
                told[!strcmp(e.form, "programmatic event")]++;
            } else {
                assert_true(at > 1);
            }
            fake->fail_at = 0;
            compose_and_run();
            assert_string_equal(net_edge(&net, 0).form,
                                "launch completion event");
            assert_null(strstr(net_edge(&net, 0).form_why, "failed"));
            close_pair();
        }
    }
    assert_true(told[0] >= 10 && told[1] >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_takes_the_event_behind_which_grids_overlap),
        cmocka_unit_test(edge_whose_wait_covers_takes_the_programmatic_event),
        cmocka_unit_test(device_measures_each_event_once),
        cmocka_unit_test(plan_of_one_stream_measures_nothing),
        cmocka_unit_test(what_follows_the_reader_is_behind_the_writer),
        cmocka_unit_test(failed_measurement_is_told_and_costs_no_plan),
    };

    return cmocka_run_group_tests_name("plan_cross", tests, NULL, NULL);
}
