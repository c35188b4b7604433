/* test_reload.c -- a kernel's text changes: by call, by the watch, in a run
 *
 * The producer's text doubles; texts in the folder multiply by another number,
 * so that the output tells which text made it.
 */
#include "rig.h"

#include "counting.h"
#include "table/cu.h"

#include <unistd.h>

#define DOUBLE "0f40000000"
#define TIMES_4 "0f40800000"
#define TIMES_8 "0f41000000"

static struct rig rig;
static struct counting heap;
static fgs_allocator counted;
static char dir[64], path[100];
static fgs_error err;
static atomic_int go; /* 0: `hold` holds its stream */

/* What the log saw, and what it writes at the first reload. */
static int reloads, kept;
static const char *at_reload;

static char *library_text(void)
{
    static char text[64 * 1024];
    size_t size = sizeof text;

    assert_int_equal(fgs_ptx_text("scale_produce", 107, text, &size, &err),
                     FGS_OK);
    return text;
}

/* A new file renamed over the old one, as an editor does it. */
static void put(const char *text)
{
    char fresh[120];
    FILE *f;

    snprintf(fresh, sizeof fresh, "%s.new", path);
    f = fopen(fresh, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(fresh, path), 0);
}

/* The library's text with `was` replaced by `by`, of the same length. */
static char *replaced(const char *was, const char *by)
{
    char *text = library_text();
    int n = 0;

    assert_int_equal(strlen(was), strlen(by));
    for (char *s = text; (s = strstr(s, was)); s += strlen(by), n++)
        memcpy(s, by, strlen(by));
    assert_true(n > 0);
    return text;
}

static void put_factor(const char *factor)
{
    put(replaced(DOUBLE, factor));
}

/* A modifier that no instruction has; the line that it stands in. */
static unsigned put_broken(void)
{
    char *text = library_text(), *at = strstr(text, "mul.rn.f32");
    unsigned line = 1;

    assert_non_null(at);
    memcpy(at, "mul.xx.f32", 10);
    for (char *s = text; s < at; s++)
        line += *s == '\n';
    put(text);
    return line;
}

static void watch_log(void *cookie, fgs_log_level level, const char *id,
                      const char *text)
{
    (void)cookie;
    (void)level;
    (void)text;
    kept += !strcmp(id, "reload.kept");
    if (strcmp(id, "reload.kernel"))
        return;
    reloads++;
    if (at_reload)
        put_factor(at_reload);
    at_reload = NULL;
}

static void open_rig(uint32_t watch)
{
    struct rig_opts o = { .tiles = 4, .engine = FGS_ENGINE_POLL };
    fgs_device_opts d = { .size = sizeof d, .provider = "sim",
                          .allocator = &counted, .log = watch_log,
                          .ptx_dir = dir, .watch = watch };
    fgs_plan_desc p;

    memset(&rig, 0, sizeof rig);
    rig.tiles = o.tiles;
    RIG_OK(fgs_device_open(&rig.dev, &d, &err), err);
    RIG_OK(rig_kernel(&rig.init, rig.dev, FGS_ROLE_INIT, NULL, 0, 0, &err),
           err);
    RIG_OK(rig_kernel(&rig.producer, rig.dev, FGS_ROLE_PRODUCER, NULL, 0, 0,
                      &err), err);
    RIG_OK(rig_kernel(&rig.consumer, rig.dev, FGS_ROLE_CONSUMER, NULL,
                      o.engine, 0, &err), err);
    RIG_OK(rig_buffer(&rig.in, rig.dev, "in", 4, &err), err);
    RIG_OK(rig_buffer(&rig.mid, rig.dev, "mid", 4, &err), err);
    RIG_OK(rig_buffer(&rig.out, rig.dev, "out", 4, &err), err);
    p = rig_desc(&rig, &o);
    RIG_OK(fgs_plan_make(&rig.plan, rig.dev, &p, &err), err);
}

static void fill(void)
{
    static float ones[4 * RIG_TILE_ELEMS];

    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = 1;
    RIG_OK(fgs_buffer_write(rig.in, 0, ones, sizeof ones, &err), err);
}

/* The number that all of the output is. */
static float factor(void)
{
    static float out[4 * RIG_TILE_ELEMS];

    RIG_OK(fgs_buffer_read(rig.out, 0, out, sizeof out, &err), err);
    for (size_t i = 1; i < sizeof out / sizeof *out; i++)
        assert_true(out[i] == out[0]);
    return out[0];
}

static float run(uint32_t rounds)
{
    fill();
    RIG_OK(fgs_plan_run(rig.plan, NULL, rounds, &err), err);
    RIG_OK(fgs_plan_wait(rig.plan, &err), err);
    return factor();
}

/* -------------------------------------------------------------- by call -- */

static void changed_text_is_taken_by_the_next_run(void **state)
{
    fgs_kernel_info info = { .size = sizeof info };

    (void)state;
    open_rig(0);
    assert_true(run(2) == 2);
    put_factor(TIMES_4);
    assert_true(run(1) == 2);
    RIG_OK(fgs_kernel_reload(rig.producer, &err), err);
    assert_true(run(2) == 4);
    assert_non_null(strstr(fgs_kernel_get_ptx(rig.producer), TIMES_4));
    assert_int_equal(fgs_kernel_get_info(rig.producer, &info), FGS_OK);
    assert_string_equal(info.file, path);
}

static void broken_text_is_refused_with_its_place(void **state)
{
    unsigned line;

    (void)state;
    put_factor(TIMES_4);
    open_rig(0);
    line = put_broken();
    assert_int_equal(fgs_kernel_reload(rig.producer, &err), FGS_E_PTX);
    assert_string_equal(err.file, path);
    assert_int_equal(err.line, line);
    assert_true(run(1) == 4);
    assert_string_equal(rig_receipt(&rig).note, "");
}

static void text_of_another_contract_is_refused(void **state)
{
    (void)state;
    open_rig(0);
    put(replaced("fgs_scale_produce", "fgs_scale_another"));
    assert_int_equal(fgs_kernel_reload(rig.producer, &err), FGS_E_CONTRACT);
    assert_true(run(1) == 2);
}

static void removed_file_gives_the_librarys_text(void **state)
{
    fgs_kernel_info info = { .size = sizeof info };

    (void)state;
    put_factor(TIMES_4);
    open_rig(0);
    assert_true(run(1) == 4);
    assert_int_equal(unlink(path), 0);
    RIG_OK(fgs_kernel_reload(rig.producer, &err), err);
    assert_true(run(1) == 2);
    assert_int_equal(fgs_kernel_get_info(rig.producer, &info), FGS_OK);
    assert_string_equal(info.file, "<scale_produce.ptx>");
}

static void serialization_is_decided_anew(void **state)
{
    (void)state;
    open_rig(0);
    run(1);
    assert_int_equal(rig_receipt(&rig).pdl, 1);
    put(replaced("griddepcontrol.launch_dependents;",
                 "// left out                      "));
    RIG_OK(fgs_kernel_reload(rig.producer, &err), err);
    assert_true(run(1) == 2);
    assert_int_equal(rig_receipt(&rig).pdl, 0);
    assert_non_null(strstr(rig_receipt(&rig).pdl_why, "left out"));
    assert_int_equal(unlink(path), 0);
    RIG_OK(fgs_kernel_reload(rig.producer, &err), err);
    run(1);
    assert_int_equal(rig_receipt(&rig).pdl, 1);
}

static void what_is_no_live_kernel_is_refused(void **state)
{
    fgs_kernel *gone;

    (void)state;
    open_rig(0);
    gone = rig.producer;
    assert_int_equal(fgs_kernel_reload(NULL, &err), FGS_E_NULL);
    fgs_kernel_free(rig.producer);
    rig.producer = NULL;
    assert_int_equal(fgs_kernel_reload(gone, &err), FGS_E_FREED);
    assert_int_equal(fgs_plan_run(rig.plan, NULL, 1, &err), FGS_E_FREED);
}

/* --------------------------------------------------------- what it holds -- */

static void reloads_of_an_idle_plan_hold_nothing(void **state)
{
    long live;

    (void)state;
    put_factor(TIMES_4);
    open_rig(0);
    run(1);
    live = atomic_load(&heap.live);
    for (int i = 0; i < 5; i++) {
        put_factor(i % 2 ? TIMES_4 : TIMES_8);
        RIG_OK(fgs_kernel_reload(rig.producer, &err), err);
        assert_int_equal(atomic_load(&heap.live), live);
    }
    assert_true(run(1) == 8);
}

static void hold(void *cookie)
{
    (void)cookie;
    while (!atomic_load(&go))
        usleep(200);
}

/* Calls of the driver, as the application makes them. */
static struct {
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult (*cuDevicePrimaryCtxRelease)(CUdevice);
    CUresult (*cuCtxPushCurrent)(CUcontext);
    CUresult (*cuCtxPopCurrent)(CUcontext *);
    CUresult (*cuStreamCreate)(CUstream *, unsigned);
    CUresult (*cuStreamDestroy)(CUstream);
    CUresult (*cuLaunchHostFunc)(CUstream, CUhostFn, void *);
} d;

#define PROC(name)                                                             \
    do {                                                                       \
        void *rig_proc = fgs_device_get_proc(rig.dev, #name);                  \
                                                                               \
        assert_non_null(rig_proc);                                             \
        memcpy(&d.name, &rig_proc, sizeof rig_proc);                           \
    } while (0)
#define OK(call) assert_int_equal(d.call, CUDA_SUCCESS)

/* A run that waits behind `hold` in its stream. */
static void unfinished_run_keeps_its_code(void **state)
{
    CUstream stream;
    CUcontext ctx;
    long live;

    (void)state;
    open_rig(0);
    PROC(cuDevicePrimaryCtxRetain);
    PROC(cuDevicePrimaryCtxRelease);
    PROC(cuCtxPushCurrent);
    PROC(cuCtxPopCurrent);
    PROC(cuStreamCreate);
    PROC(cuStreamDestroy);
    PROC(cuLaunchHostFunc);
    atomic_store(&go, 0);
    fill();
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxPushCurrent(ctx));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, hold, NULL));
    live = atomic_load(&heap.live);
    RIG_OK(fgs_plan_run(rig.plan, stream, 2, &err), err);
    for (int i = 0; i < 3; i++) {
        put_factor(i % 2 ? TIMES_8 : TIMES_4);
        RIG_OK(fgs_kernel_reload(rig.producer, &err), err);
        /* One more: what the run began with and what came after it. */
        assert_int_equal(atomic_load(&heap.live), live + i + 1);
    }
    atomic_store(&go, 1);
    RIG_OK(fgs_plan_wait(rig.plan, &err), err);
    assert_int_equal(atomic_load(&heap.live), live);
    assert_true(factor() == 2);
    assert_true(run(1) == 4);
    OK(cuStreamDestroy(stream));
    OK(cuCtxPopCurrent(&ctx));
    OK(cuDevicePrimaryCtxRelease(0));
}

static void no_memory_leaves_the_old_kernel(void **state)
{
    fgs_result r = FGS_E_NOMEM;
    const char *text;
    long live, n;

    (void)state;
    open_rig(0);
    put_factor(TIMES_4);
    live = atomic_load(&heap.live);
    text = fgs_kernel_get_ptx(rig.producer);
    for (n = 1; n < 1000; n++) {
        heap.at = atomic_load(&heap.calls) + n;
        r = fgs_kernel_reload(rig.producer, &err);
        heap.at = 0;
        if (r == FGS_OK)
            break;
        assert_int_equal(r, FGS_E_NOMEM);
        assert_int_equal(atomic_load(&heap.live), live);
        assert_ptr_equal(fgs_kernel_get_ptx(rig.producer), text);
        if (n % 8 == 1)
            assert_true(run(1) == 2);
    }
    assert_int_equal(r, FGS_OK);
    assert_true(n > 5);
    assert_true(run(1) == 4);
}

/* ----------------------------------------------------------------- watch -- */

static void watch_takes_a_file_that_came_changed_and_went(void **state)
{
    (void)state;
    open_rig(1);
    assert_true(run(3) == 2);
    put_factor(TIMES_4);
    assert_true(run(3) == 4);
    put_factor(TIMES_8);
    assert_true(run(3) == 8);
    assert_int_equal(reloads, 2);
    assert_int_equal(unlink(path), 0);
    assert_true(run(3) == 2);
    assert_int_equal(reloads, 3);
}

/* The first round's reload changes the file: the second round sees it. */
static void watch_takes_a_text_between_rounds(void **state)
{
    long live;

    (void)state;
    put_factor(DOUBLE);
    open_rig(1);
    assert_true(run(1) == 2);
    live = atomic_load(&heap.live);
    put_factor(TIMES_4);
    at_reload = TIMES_8;
    assert_true(run(1) == 4);
    put_factor(TIMES_4);
    at_reload = TIMES_8;
    reloads = 0;
    assert_true(run(2) == 8);
    assert_int_equal(reloads, 2);
    assert_int_equal(atomic_load(&heap.live), live);
}

static void watch_keeps_the_old_text_and_tells_the_place(void **state)
{
    char place[160];
    unsigned line;

    (void)state;
    put_factor(TIMES_4);
    open_rig(1);
    line = put_broken();
    assert_true(run(3) == 4);
    assert_int_equal(kept, 1);
    snprintf(place, sizeof place, "%s:%u:", path, line);
    if (!strstr(rig_receipt(&rig).note, place))
        fail_msg("%s lacks %s", rig_receipt(&rig).note, place);
    /* Not tried again before it changes. */
    assert_true(run(2) == 4);
    assert_int_equal(kept, 1);
    assert_non_null(strstr(rig_receipt(&rig).note, place));
    put_factor(TIMES_8);
    assert_true(run(1) == 8);
    assert_int_equal(kept, 1);
    assert_string_equal(rig_receipt(&rig).note, "");
}

static void environment_sets_the_watch(void **state)
{
    fgs_device_opts o = { .size = sizeof o, .provider = "sim", .watch = 2 };
    fgs_device *dev;

    (void)state;
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_INVAL);
    o.watch = 0;
    assert_int_equal(setenv("FGS_PTX_WATCH", "yes", 1), 0);
    assert_int_equal(fgs_device_open(&dev, &o, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "FGS_PTX_WATCH"));
    assert_int_equal(setenv("FGS_PTX_WATCH", "1", 1), 0);
    open_rig(0);
    unsetenv("FGS_PTX_WATCH");
    put_factor(TIMES_4);
    assert_true(run(1) == 4);
}

static void receipt_of_an_earlier_header_is_filled_as_far(void **state)
{
    fgs_receipt r;

    (void)state;
    open_rig(0);
    run(1);
    memset(&r, 0x5a, sizeof r);
    r.size = offsetof(fgs_receipt, compiled);
    RIG_OK(fgs_plan_get_receipt(rig.plan, &r, &err), err);
    assert_int_equal(r.rounds, 1);
    assert_true(r.compiled == 0x5a5a5a5a5a5a5a5aULL);
    assert_int_equal(rig_receipt(&rig).compiled, 0);
}

/* ------------------------------------------------------------------ main -- */

static int start(void **state)
{
    (void)state;
    memset(&heap, 0, sizeof heap);
    counted = counting_allocator(&heap);
    reloads = kept = 0;
    at_reload = NULL;
    snprintf(dir, sizeof dir, "/tmp/fgs-reload-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/scale_produce.ptx", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    atomic_store(&go, 1);
    rig_free(&rig);
    unlink(path);
    return rmdir(dir) || heap.live ? -1 : 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(changed_text_is_taken_by_the_next_run),
        T(broken_text_is_refused_with_its_place),
        T(text_of_another_contract_is_refused),
        T(removed_file_gives_the_librarys_text),
        T(serialization_is_decided_anew),
        T(what_is_no_live_kernel_is_refused),
        T(reloads_of_an_idle_plan_hold_nothing),
        T(unfinished_run_keeps_its_code),
        T(no_memory_leaves_the_old_kernel),
        T(watch_takes_a_file_that_came_changed_and_went),
        T(watch_takes_a_text_between_rounds),
        T(watch_keeps_the_old_text_and_tells_the_place),
        T(environment_sets_the_watch),
        T(receipt_of_an_earlier_header_is_filled_as_far),
    };

    return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
