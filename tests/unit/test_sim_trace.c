/* test_sim_trace.c -- the trace of the software device, read back */
#include "trace_events.h"

#include <sys/wait.h>

/* ---------------------------------------------------------------- tests -- */

enum { BLOCKS = 40 };

static void every_block_is_an_event_around_its_stamps(void **state)
{
    uint64_t stamp[2 * BLOCKS], grid[2] = { 0, 0 };
    fgs_sim_config cfg = sim_config();
    bool seen[BLOCKS] = { false };
    struct sim s;
    CUdeviceptr out;

    (void)state;
    cfg.sms = 3;
    s = open_traced(&cfg, HEAD STAMP);
    out = sim_alloc(sizeof stamp);
    sim_stamp(sim_func(&s, "stamp"), BLOCKS, 64, NULL, 0, out, 3000, 0, 0);
    OK(cuMemcpyDtoH(stamp, out, sizeof stamp));
    read_events();
    assert_int_equal(events_of("block", 0), BLOCKS);
    assert_int_equal(events_of("grid", 0), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(find("grid", i)->ph, "be"[i]);
        assert_int_equal(find("grid", i)->grid, find("block", 0)->grid);
        grid[i] = find("grid", i)->start;
    }
    for (int i = 0; i < BLOCKS; i++) {
        const struct event *e = find("block", i);

        assert_string_equal(e->name, "stamp");
        assert_int_equal(e->ph, 'X');
        assert_true(e->block < BLOCKS && !seen[e->block]);
        seen[e->block] = true;
        assert_int_equal(e->ctaid[0], e->block);
        assert_int_equal(e->ctaid[1] + e->ctaid[2] + e->rank, 0);
        assert_true((e->tid - 1) / 1024 < cfg.sms);
        assert_in_range(stamp[2 * e->block], e->start, e->end);
        assert_in_range(stamp[2 * e->block + 1], e->start, e->end);
        assert_in_range(e->end - e->start, 3000, 10000);
        assert_true(grid[0] <= e->start && e->end <= grid[1]);
        assert_false(e->stopped);
    }
    sim_close(&s);
}

static void slices_of_a_thread_do_not_overlap(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s;
    CUdeviceptr out;

    (void)state;
    cfg.sms = 2;
    cfg.sm_blocks = 3;
    s = open_traced(&cfg, HEAD STAMP);
    out = sim_alloc(300 * 16);
    sim_stamp(sim_func(&s, "stamp"), 300, 32, NULL, 0, out, 500, 0, 0);
    OK(cuCtxSynchronize());
    read_events();
    assert_int_equal(events_of("block", 0), 300);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i && events[i].ph == 'X'; k++)
            if (events[k].ph == 'X' && events[k].tid == events[i].tid)
                assert_true(events[k].end <= events[i].start ||
                            events[i].end <= events[k].start);
    }
    sim_close(&s);
}

static void dependent_grid_begins_behind_its_primary_and_overlaps(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = open_traced(&cfg, HEAD STAMP);
    CUdeviceptr out = sim_alloc(64 * 16);
    CUfunction f = sim_func(&s, "stamp");
    uint64_t first = UINT64_MAX, last = 0, primary;

    (void)state;
    sim_stamp(f, 8, 32, NULL, 0, out, 20000, 1, 0);
    sim_stamp(f, 8, 32, NULL, 1, out + 512, 100, 0, 1);
    OK(cuCtxSynchronize());
    read_events();
    primary = find("grid", 0)->grid;
    assert_int_equal(events_of("block", primary), 8);
    assert_int_equal(events_of("block", primary + 1), 8);
    for (int i = 0; i < 16; i++) {
        const struct event *e = find("block", i);

        if (e->grid != primary)
            continue;
        first = e->start < first ? e->start : first;
        last = e->end > last ? e->end : last;
    }
    for (int i = 0; i < 16; i++) {
        const struct event *e = find("block", i);

        if (e->grid != primary)
            assert_true(first < e->start && e->start < last && last < e->end);
    }
    sim_close(&s);
}

static void cluster_ranks_are_told(void **state)
{
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { 4, 3, 1, 32, 1, 1, 0, NULL, &a, 1 };
    fgs_sim_config cfg = sim_config();
    struct sim s = open_traced(&cfg, HEAD POKE);
    CUdeviceptr x = sim_alloc(4);

    (void)state;
    a.value.clusterDim.x = 4;
    a.value.clusterDim.y = a.value.clusterDim.z = 1;
    OK(cuLaunchKernelEx(&c, sim_func(&s, "poke"), (void *[]){ &x }, NULL));
    OK(cuCtxSynchronize());
    read_events();
    assert_int_equal(events_of("block", 0), 12);
    for (int i = 0; i < 12; i++) {
        const struct event *e = find("block", i);

        assert_int_equal(e->rank, e->ctaid[0]);
        assert_int_equal(e->block, e->ctaid[0] + 4 * e->ctaid[1]);
    }
    sim_close(&s);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void copies_fills_and_host_functions_are_on_their_stream(void **state)
{
    static const char *const name[] = { "fill", "copy", "host function" };
    static const uint64_t bytes[] = { 4000, 400, 0 };
    fgs_sim_config cfg = sim_config();
    struct sim s = open_traced(&cfg, NULL);
    CUdeviceptr x = sim_alloc(4000);
    unsigned long long id;
    char host[400], want[32];
    CUstream stream;

    (void)state;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamGetId(stream, &id));
    snprintf(want, sizeof want, "0x%llx", id);
    OK(cuMemsetD32Async(x, 7, 1000, stream));
    OK(cuMemcpyDtoHAsync(host, x, sizeof host, stream));
    OK(cuLaunchHostFunc(stream, nothing, NULL));
    OK(cuStreamSynchronize(stream));
    read_events();
    assert_int_equal(events_of("stream", 0), 3);
    for (int i = 0; i < 3; i++) {
        const struct event *e = find("stream", i);

        assert_string_equal(e->name, name[i]);
        assert_string_equal(e->stream, want);
        assert_int_equal(e->bytes, bytes[i]);
        assert_int_equal(e->tid, find("stream", 0)->tid);
        if (i)
            assert_true(find("stream", i - 1)->end <= e->start);
    }
    sim_close(&s);
}

static void blocks_that_a_fault_stops_are_marked(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = open_traced(&cfg, HEAD POKE);
    CUdeviceptr x = 64;

    (void)state;
    OK(cuLaunchKernel(sim_func(&s, "poke"), 1, 1, 1, 32, 1, 1, 0, NULL,
                      (void *[]){ &x }, NULL));
    CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    read_events();
    assert_int_equal(events_of("block", 0), 1);
    assert_true(find("block", 0)->stopped);
    assert_true(find("grid", 1)->stopped);
    sim_close(&s);
}

/* A fill, then a block of one thread. */
static void fill_and_poke(const struct sim *s)
{
    CUdeviceptr x = sim_alloc(4);

    OK(cuMemsetD32(x, 1, 1));
    OK(cuLaunchKernel(sim_func(s, "poke"), 1, 1, 1, 1, 1, 1, 0, NULL,
                      (void *[]){ &x }, NULL));
    OK(cuCtxSynchronize());
}

static void device_that_boots_anew_is_another_process(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s;

    (void)state;
    cfg.sms = cfg.sm_blocks = 1; /* the same threads in both */
    s = open_traced(&cfg, HEAD POKE);
    fill_and_poke(&s);
    sim_close(&s);
    s = sim_open(&cfg, HEAD POKE);
    fill_and_poke(&s);
    read_events();
    assert_int_equal(find("stream", 0)->pid + 1, find("stream", 1)->pid);
    assert_int_equal(find("block", 0)->pid + 1, find("block", 1)->pid);
    assert_int_equal(find("block", 0)->tid, find("block", 1)->tid);
    sim_close(&s);
}

static void second_trace_names_all_anew(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s;

    (void)state;
    cfg.sms = cfg.sm_blocks = 1;
    s = open_traced(&cfg, HEAD POKE);
    for (int i = 0; i < 2; i++) {
        fill_and_poke(&s);
        read_events();
        assert_int_equal(events_of("block", 0), 1);
        assert_int_equal(events_of("stream", 0), 1);
        assert_int_equal(fgs_sim_trace(path, NULL), FGS_OK);
    }
    sim_close(&s);
}

/* -------------------------------------------------------------- failures -- */

static void path_that_cannot_be_written_is_named(void **state)
{
    char longest[2000];
    fgs_error err;

    (void)state;
    assert_int_equal(fgs_sim_trace("/nonexistent/t", &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/nonexistent/t: No such file"));
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(fgs_sim_trace(longest, &err), FGS_E_SIZE);
    assert_int_equal(fgs_sim_trace(NULL, &err), FGS_OK); /* there is none */
    assert_int_equal(fgs_sim_trace(path, &err), FGS_OK);
    assert_int_equal(fgs_sim_trace(path, &err), FGS_E_BUSY);
    read_events();
    assert_int_equal(count, 0);
}

static void full_disk_is_told_at_the_end(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    fgs_error err;

    (void)state;
    if (access("/dev/full", W_OK)) {
        sim_close(&s);
        skip();
    }
    assert_int_equal(fgs_sim_trace("/dev/full", &err), FGS_OK);
    OK(cuMemsetD32(sim_alloc(4), 1, 1));
    OK(cuCtxSynchronize());
    assert_int_equal(fgs_sim_trace(NULL, &err), FGS_E_FILE);
    assert_non_null(strstr(err.text, "/dev/full: No space"));
    sim_close(&s);
    assert_int_equal(fgs_sim_trace(NULL, &err), FGS_OK);
}

static void trace_takes_nothing_of_the_allocator(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a;
    struct sim s = sim_counted(&c, &a);
    CUdeviceptr x = sim_alloc(4);

    (void)state;
    OK(cuMemsetD32(x, 1, 1));
    c.at = c.calls + 1; /* the next one */
    assert_int_equal(fgs_sim_trace(path, NULL), FGS_OK);
    read_events();
    assert_int_equal(c.calls + 1, c.at);
    c.at = 0;
    sim_close(&s);
    sim_counted_end(&c);
}

/* ------------------------------------------------------------- processes -- */

static int wait_for(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static pid_t self;

/* Behind the library's end, before the look for leaks: a forked child has lost
 * the stacks of the threads that own memory. */
static void leave_child(void)
{
    if (getpid() != self)
        _exit(0);
}

static void forked_child_leaves_the_trace_alone(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = open_traced(&cfg, NULL);
    pid_t pid;

    (void)state;
    OK(cuMemsetD32(sim_alloc(4), 1, 1));
    OK(cuCtxSynchronize());
    fflush(NULL);
    pid = fork();
    if (!pid) {
        if (fgs_sim_trace(NULL, NULL))
            _exit(1);
        exit(0);
    }
    assert_int_equal(wait_for(pid), 0);
    OK(cuMemsetD32(sim_alloc(4), 1, 1));
    OK(cuCtxSynchronize());
    read_events();
    assert_int_equal(events_of("stream", 0), 2);
    sim_close(&s);
}

/* This program as another one: see child(). */
static int run_child(const char *trace, const char *how)
{
    pid_t pid = fork();

    if (!pid) {
        setenv("FGS_SIM_TRACE", trace, 1);
        execl("/proc/self/exe", "child", how, (char *)NULL);
        _exit(99);
    }
    return wait_for(pid);
}

enum { SAYS_WHY = 3 };

static int child(const char *how)
{
    CUcontext ctx;
    CUdeviceptr x;

    if (fgs__sim_cuInit(0) == CUDA_ERROR_OPERATING_SYSTEM)
        return strstr(fgs_sim_last_fault(), "FGS_SIM_TRACE: /") ? SAYS_WHY : 4;
    if (fgs__sim_cuCtxCreate(&ctx, 0, 0) || fgs__sim_cuMemAlloc(&x, 4) ||
        fgs__sim_cuMemsetD32(x, 1, 1) || fgs__sim_cuCtxSynchronize())
        return 5;
    if (!strcmp(how, "dies")) {
        fgs__sim_cuCtxDestroy(ctx);
        _exit(0);
    }
    return 0;
}

static void variable_traces_a_program_to_its_exit(void **state)
{
    (void)state;
    assert_int_equal(run_child(path, "ends"), 0);
    read_events();
    assert_int_equal(events_of("stream", 0), 1);
    assert_string_equal(find("stream", 0)->name, "fill");
}

static void variable_that_cannot_be_written_fails_cuInit(void **state)
{
    (void)state;
    assert_int_equal(run_child("/nonexistent/t", "ends"), SAYS_WHY);
}

static void program_that_dies_leaves_whole_events(void **state)
{
    size_t n;

    (void)state;
    assert_int_equal(run_child(path, "dies"), 0);
    read_file();
    n = strlen(text);
    assert_non_null(strstr(text, "\"name\":\"fill\""));
    assert_string_equal(text + n - 2, "}}");
    text[n] = ']'; /* zeroed behind it */
    assert_whole();
}

static void two_processes_do_not_share_a_file(void **state)
{
    char both[80];

    (void)state;
    assert_int_equal(fgs_sim_trace(path, NULL), FGS_OK);
    assert_int_equal(run_child(path, "ends"), SAYS_WHY);
    read_events();
    unlink(path);
    snprintf(both, sizeof both, "%s%%p", path);
    assert_int_equal(fgs_sim_trace(both, NULL), FGS_OK);
    snprintf(path + strlen(path), 16, "%ld", (long)getpid());
    read_events();
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_block_is_an_event_around_its_stamps),
        TEST(slices_of_a_thread_do_not_overlap),
        TEST(dependent_grid_begins_behind_its_primary_and_overlaps),
        TEST(cluster_ranks_are_told),
        TEST(copies_fills_and_host_functions_are_on_their_stream),
        TEST(blocks_that_a_fault_stops_are_marked),
        TEST(device_that_boots_anew_is_another_process),
        TEST(second_trace_names_all_anew),
        TEST(path_that_cannot_be_written_is_named),
        TEST(full_disk_is_told_at_the_end),
        TEST(trace_takes_nothing_of_the_allocator),
        TEST(forked_child_leaves_the_trace_alone),
        TEST(variable_traces_a_program_to_its_exit),
        TEST(variable_that_cannot_be_written_fails_cuInit),
        TEST(program_that_dies_leaves_whole_events),
        TEST(two_processes_do_not_share_a_file),
    };

    if (argc > 1 && !strcmp(argv[0], "child"))
        return child(argv[1]);
    self = getpid();
    atexit(leave_child);
    return cmocka_run_group_tests_name("sim_trace", tests, NULL, NULL);
}
