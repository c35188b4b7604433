/* test_device.c -- what only a real device can show
 *
 * The rest of make check-gpu is the tests of tests/unit that take
 * FGS_PROVIDER.  Exit 77 without a device.
 */
#include "../unit/rig.h"
#include "table/cu.h"
#include "table/table.h"

#include <unistd.h>

static fgs_device_info gpu;

static int no_device(void **state)
{
    struct rig_opts o = { .provider = "cuda" };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    setenv("FGS_PROVIDER", "cuda", 1);
    if (rig_open(&dev, &o, &err) < 0) {
        print_message("%s\n", err.text);
        exit(77);
    }
    gpu.size = sizeof gpu;
    assert_int_equal(fgs_device_get_info(dev, &gpu, &err), FGS_OK);
    print_message("%s, %d.%d, driver %d, PTX %d, nvJitLink %d\n", gpu.name,
                  (int)gpu.cc / 10, (int)gpu.cc % 10, (int)gpu.driver_version,
                  (int)gpu.ptx_version, (int)gpu.nvjitlink);
    fgs_device_close(dev);
    return 0;
}

static void entry_points_are_all_there(void **state)
{
    struct rig_opts o = { .provider = "cuda" };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    RIG_OK(rig_open(&dev, &o, &err), err);
#define ENTRY(name, abi, need, forms, params)                                  \
    if (gpu.driver_version >= (abi))                                           \
        assert_non_null(fgs_device_get_proc(dev, #name));
#include "table/entry.def"
#undef ENTRY
    fgs_device_close(dev);
}

static void default_choice_is_this_device(void **state)
{
    fgs_device_info i = { .size = sizeof i };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    unsetenv("FGS_PROVIDER");
    RIG_OK(fgs_device_open(&dev, NULL, &err), err);
    setenv("FGS_PROVIDER", "cuda", 1);
    RIG_OK(fgs_device_get_info(dev, &i, &err), err);
    assert_string_equal(i.provider, "cuda");
    assert_non_null(strstr(i.why, gpu.name));
    fgs_device_close(dev);
}

static void report_is_refused_with_what_the_device_lacks(void **state)
{
    struct rig_opts o = { .provider = "cuda", .engine = FGS_ENGINE_REPORT };
    struct rig r;
    fgs_error err;
    char cc[64];

    (void)state;
    if (fgs__arch_find(gpu.cc)->has[FGS__FEAT_REPORT])
        skip();
    assert_int_equal(rig_make(&r, &o, &err), FGS_E_UNSUPPORTED);
    print_message("%s\n", err.text);
    snprintf(cc, sizeof cc, "has compute capability %d.%d", (int)gpu.cc / 10,
             (int)gpu.cc % 10);
    assert_non_null(strstr(err.text, "bulk copies that report validity"));
    assert_non_null(strstr(err.text, gpu.name));
    assert_non_null(strstr(err.text, cc));
    rig_free(&r);
}

/* ------------------------------------------------------------ assemblers -- */

static void run_bulk(uint32_t weak, char stem[64], char by[16], char note[1024])
{
    struct rig_opts o = { .provider = "cuda", .engine = FGS_ENGINE_BULK,
                          .weak = weak, .tiles = 500 };
    fgs_kernel_info info = { .size = sizeof info };
    struct rig r;
    fgs_error err;
    uint32_t *in;

    rig_need_engine(FGS_ENGINE_BULK);
    RIG_OK(rig_make(&r, &o, &err), err);
    in = rig_fill(&r, 9);
    RIG_OK(fgs_kernel_get_info(r.consumer, &info), err);
    snprintf(stem, 64, "%s", info.stem);
    snprintf(by, 16, "%s", info.assembled_by);
    RIG_OK(fgs_plan_run(r.plan, NULL, 10, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    snprintf(note, 1024, "%s", rig_receipt(&r).note);
    assert_int_equal(rig_mismatches(&r, in), 0);
    free(in);
    rig_free(&r);
}

/* FGS_NVJITLINK or the library's search may name one that is new enough. */
static void strong_copy_is_assembled_by_who_can(void **state)
{
    char stem[64], by[16], note[1024];

    (void)state;
    run_bulk(0, stem, by, note);
    print_message("%s by %s; %s\n", stem, by, note);
    if (gpu.ptx_version >= 93)
        assert_string_equal(by, "driver");
    else if (gpu.nvjitlink >= 133)
        assert_string_equal(by, "nvjitlink");
    else
        skip();
    assert_string_equal(stem, "bulk_consume");
    assert_string_equal(note, "");
}

static void weak_copy_is_taken_with_nvjitlink_hidden(void **state)
{
    char stem[64], by[16], note[1024], was[4096];
    const char *env = getenv("FGS_NVJITLINK");

    (void)state;
    if (gpu.ptx_version >= 93)
        skip();
    snprintf(was, sizeof was, "%s", env ? env : "");
    setenv("FGS_NVJITLINK", "none", 1);
    run_bulk(0, stem, by, note);
    if (env)
        setenv("FGS_NVJITLINK", was, 1);
    else
        unsetenv("FGS_NVJITLINK");
    print_message("%s\n", note);
    assert_string_equal(stem, "bulk_weak_consume");
    assert_string_equal(by, "driver");
    assert_non_null(strstr(note, "bulk_weak_consume taken instead of"));
    assert_non_null(strstr(note, "hidden by FGS_NVJITLINK=none"));
}

/* ------------------------------------------- the same as the software's -- */

static void output(const char *provider, fgs_engine engine, uint32_t *out,
                   uint64_t tiles)
{
    struct rig_opts o = { .provider = provider, .engine = engine,
                          .tiles = tiles, .bound_ns = 20000000000ull };
    struct rig r;
    fgs_error err;

    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 21));
    RIG_OK(fgs_plan_run(r.plan, NULL, 2, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    RIG_OK(fgs_buffer_read(r.out, 0, out, tiles * RIG_TILE_BYTES, &err), err);
    rig_free(&r);
}

static void bits_are_those_of_the_software_device(void **state)
{
    enum { TILES = 300 };
    uint32_t *real = malloc(TILES * RIG_TILE_BYTES);
    uint32_t *soft = malloc(TILES * RIG_TILE_BYTES);

    (void)state;
    assert_non_null(real);
    assert_non_null(soft);
    output("sim", FGS_ENGINE_REPORT, soft, TILES);
    output("cuda", FGS_ENGINE_POLL, real, TILES);
    assert_memory_equal(real, soft, TILES * RIG_TILE_BYTES);
    if (gpu.cc >= 90) {
        output("cuda", FGS_ENGINE_BULK, real, TILES);
        assert_memory_equal(real, soft, TILES * RIG_TILE_BYTES);
    }
    free(real);
    free(soft);
}

/* More than 4 GiB a buffer, in slices, so that the host needs little. */
static void tiles_past_4_gib_are_handed_over(void **state)
{
    enum { SLICE = 4096 }; /* tiles, 16 MiB */
    const uint64_t slices = 257, elems = (uint64_t)SLICE * RIG_TILE_ELEMS;
    struct rig_opts o = { .provider = "cuda", .tiles = slices * SLICE };
    uint32_t *in = malloc(elems * 4), *mid = malloc(elems * 4);
    uint32_t *want = malloc(elems * 4), *got = malloc(elems * 4);
    struct rig r;
    fgs_error err;

    (void)state;
    assert_true(in && mid && want && got);
    if (gpu.memory < slices * SLICE * RIG_TILE_BYTES * 4)
        skip();
    RIG_OK(rig_make(&r, &o, &err), err);
    for (uint64_t s = 0; s < slices; s++) {
        rig_values(in, elems, (uint32_t)s);
        RIG_OK(fgs_buffer_write(r.in, s * elems * 4, in, elems * 4, &err), err);
    }
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    for (uint64_t s = 0; s < slices; s++) {
        rig_values(in, elems, (uint32_t)s);
        fgs__ref_scale(mid, in, elems);
        fgs__ref_reverse(want, mid, SLICE, RIG_TILE_ELEMS);
        RIG_OK(fgs_buffer_read(r.out, s * elems * 4, got, elems * 4, &err),
               err);
        assert_memory_equal(want, got, elems * 4);
    }
    rig_free(&r);
    free(in);
    free(mid);
    free(want);
    free(got);
}

/* -------------------------------------------------------- replaced texts -- */

static char dir[64];

/* The library's producer with `from` replaced, in the directory. */
static void put_changed(const char *from, const char *to)
{
    size_t size = 0, len;
    char path[128], *text, *at;
    FILE *f;

    assert_int_equal(fgs_ptx_text("scale_produce", gpu.cc, NULL, &size, NULL),
                     FGS_E_SIZE);
    text = malloc(size);
    assert_non_null(text);
    assert_int_equal(fgs_ptx_text("scale_produce", gpu.cc, text, &size, NULL),
                     FGS_OK);
    at = strstr(text, from);
    assert_non_null(at);
    snprintf(path, sizeof path, "%s/scale_produce.ptx", dir);
    f = fopen(path, "wb");
    assert_non_null(f);
    len = (size_t)(at - text);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_true(fputs(to, f) >= 0);
    assert_true(fputs(at + strlen(from), f) >= 0);
    fclose(f);
    free(text);
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/fgs_test_gpu.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/scale_produce.ptx", dir);
    remove(path);
    return rmdir(dir);
}

static void changed_text_takes_effect(void **state)
{
    struct rig_opts o = { .provider = "cuda", .ptx_dir = dir, .tiles = 1 };
    float in = 3, out = 0;
    struct rig r;
    fgs_error err;

    (void)state;
    put_changed("mul.rn.f32    %v0, %v0, 0f40000000",
                "mul.rn.f32    %v0, %v0, 0f40800000");
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    RIG_OK(fgs_buffer_write(r.in, 0, &in, 4, &err), err);
    RIG_OK(fgs_plan_run(r.plan, NULL, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    RIG_OK(fgs_buffer_read(r.out, 4092, &out, 4, &err), err);
    assert_true(out == 12);
    rig_free(&r);
}

static void broken_text_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *from, *to;
        fgs_result want;
    } rows[] = {
        { "mul.rn.f32 ", "mull.rn.f32 ", FGS_E_PTX },
        { "mul.rn.f32 ", "mul.rn.u32 ", FGS_E_PTX },
        { "bra            L_end;", "bra            L_nowhere;", FGS_E_PTX },
        { ".version 8.3", ".version 99.0", FGS_E_PTXVERSION },
    };
    struct rig_opts o = { .provider = "cuda", .ptx_dir = dir, .tiles = 1 };
    struct rig r;
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_changed(rows[i].from, rows[i].to);
        assert_int_equal(rig_make(&r, &o, &err), rows[i].want);
        print_message("%s\n", err.text);
        assert_true(err.line > 0);
        assert_true(err.column > 0);
        assert_non_null(strstr(err.file, "/scale_produce.ptx"));
        rig_free(&r);
    }
}

/* Too much shared memory is nothing that a parser sees: the driver says so. */
static void driver_s_own_refusal_is_passed_on(void **state)
{
    struct rig_opts o = { .provider = "cuda", .ptx_dir = dir, .tiles = 1 };
    struct rig r;
    fgs_error err;
    fgs_result result;

    (void)state;
    put_changed("    .reg .pred  %p_idle",
                "    .shared .align 16 .b8 s_big[300000];\n"
                "    .reg .pred  %p_idle");
    result = rig_make(&r, &o, &err);
    print_message("%s\n", err.text);
    assert_true(result == FGS_E_JIT || result == FGS_E_DRIVER);
    assert_true(err.driver != 0);
    assert_non_null(strstr(err.text, "scale_produce.ptx"));
    rig_free(&r);
}

/* --------------------------------------------------------------- streams -- */

static void captured_stream_is_refused(void **state)
{
    CUresult (*begin)(CUstream, int), (*end)(CUstream, void **);
    CUresult (*push)(CUcontext), (*pop)(CUcontext *);
    CUresult (*retain)(CUcontext *, CUdevice), (*release)(CUdevice);
    CUresult (*create)(CUstream *, unsigned), (*destroy)(CUstream);
    const struct {
        void *fn;
        const char *name;
    } procs[] = {
        { &begin, "cuStreamBeginCapture" }, { &end, "cuStreamEndCapture" },
        { &push, "cuCtxPushCurrent" },      { &pop, "cuCtxPopCurrent" },
        { &retain, "cuDevicePrimaryCtxRetain" },
        { &release, "cuDevicePrimaryCtxRelease" },
        { &create, "cuStreamCreate" },      { &destroy, "cuStreamDestroy" },
    };
    struct rig_opts o = { .provider = "cuda", .tiles = 1 };
    void *graph = NULL;
    CUcontext ctx = NULL, was;
    CUstream s = NULL;
    struct rig r;
    fgs_error err;

    (void)state;
    RIG_OK(rig_make(&r, &o, &err), err);
    free(rig_fill(&r, 1));
    for (size_t i = 0; i < sizeof procs / sizeof *procs; i++) {
        void *p = fgs_device_get_proc(r.dev, procs[i].name);

        assert_non_null(p);
        memcpy(procs[i].fn, &p, sizeof p);
    }
    assert_int_equal(retain(&ctx, 0), CUDA_SUCCESS);
    assert_int_equal(push(ctx), CUDA_SUCCESS);
    /* A blocking stream: the legacy one is ordered with its capture. */
    assert_int_equal(create(&s, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    if (begin(s, 0) == CUDA_ERROR_NOT_SUPPORTED)
        skip();
    assert_int_equal(fgs_plan_run(r.plan, s, 1, &err), FGS_E_STATE);
    print_message("%s\n", err.text);
    assert_int_equal(fgs_plan_run(r.plan, NULL, 1, &err), FGS_E_STATE);
    end(s, &graph);
    RIG_OK(fgs_plan_run(r.plan, s, 1, &err), err);
    RIG_OK(fgs_plan_wait(r.plan, &err), err);
    assert_int_equal(destroy(s), CUDA_SUCCESS);
    assert_int_equal(pop(&was), CUDA_SUCCESS);
    assert_int_equal(release(0), CUDA_SUCCESS);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_points_are_all_there),
        cmocka_unit_test(default_choice_is_this_device),
        cmocka_unit_test(report_is_refused_with_what_the_device_lacks),
        cmocka_unit_test(strong_copy_is_assembled_by_who_can),
        cmocka_unit_test(weak_copy_is_taken_with_nvjitlink_hidden),
        cmocka_unit_test(bits_are_those_of_the_software_device),
        cmocka_unit_test(tiles_past_4_gib_are_handed_over),
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)
        TEST(changed_text_takes_effect),
        TEST(broken_text_is_refused_with_its_place),
        TEST(driver_s_own_refusal_is_passed_on),
        cmocka_unit_test(captured_stream_is_refused),
    };

    return cmocka_run_group_tests_name("gpu", tests, no_device, NULL);
}
