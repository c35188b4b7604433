/* test_modules.c -- CUDA C++ of tests/modules/, made by NVRTC, against C
 *
 * `make modules` makes the PTX, and a cubin of it for a device whose driver is
 * older than the PTX; a program that was not made is skipped.  FGS_PROVIDER
 * names the device.
 */
#include "../modules/mirror.h"
#include "base/compat.h"
#include "table/cu.h"

#include <fgs/fgs_sim.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

enum { GRID = 255, TEXT = 16 << 20 };
enum type { U32, F32, F64 };

struct row {
    const char *name;
    mirror_fn *mirror;
    unsigned blocks, threads, shared, cluster;
    enum type type;
    double bound;
};

static struct row rows[] = {
#define MODULE(name, ...) { #name, mirror_##name, __VA_ARGS__ },
#include "../modules/modules.def"
#undef MODULE
};

/* What is called, by the names of the driver. */
#define CALLS(X)                                                               \
    X(cuMemAlloc, (CUdeviceptr *, size_t))                                     \
    X(cuMemFree, (CUdeviceptr))                                                \
    X(cuMemcpyHtoD, (CUdeviceptr, const void *, size_t))                       \
    X(cuMemcpyDtoH, (void *, CUdeviceptr, size_t))                             \
    X(cuMemsetD8, (CUdeviceptr, unsigned char, size_t))                        \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, CUjit_option *, \
                           void **))                                           \
    X(cuModuleUnload, (CUmodule))                                              \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))             \
    X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **,          \
                         void **))                                             \
    X(cuCtxSynchronize, (void))                                                \
    X(cuCtxPushCurrent, (CUcontext))                                           \
    X(cuCtxPopCurrent, (CUcontext *))                                          \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                       \
    X(cuDevicePrimaryCtxRelease, (CUdevice))                                   \
    X(cuTensorMapEncodeTiled, (CUtensorMap *, unsigned, cuuint32_t, void *,    \
                               const cuuint64_t *, const cuuint64_t *,         \
                               const cuuint32_t *, const cuuint32_t *,         \
                               unsigned, unsigned, unsigned, unsigned))

static struct {
    fgs_device *dev;
    int cc;
    bool busy; /* a run that has not ended: the context may be lost */
    CUcontext ctx;
    CUdeviceptr in, out;
#define CALL(name, params) CUresult (*name) params;
    CALLS(CALL)
#undef CALL
} d;

static uint32_t in[WORDS], out[WORDS], want[WORDS];
static char *text;

#define OK(call) assert_int_equal(d.call, CUDA_SUCCESS)

static bool on_sim(void)
{
    const char *name = getenv("FGS_PROVIDER");

    return !name || !strcmp(name, "sim");
}

static int close_device(void **state)
{
    CUcontext was;

    (void)state;
    if (d.ctx) {
        d.cuMemFree(d.in);
        d.cuMemFree(d.out);
        d.cuCtxPopCurrent(&was);
        d.cuDevicePrimaryCtxRelease(0);
    }
    if (d.dev)
        fgs_device_close(d.dev);
    memset(&d, 0, sizeof d);
    return 0;
}

/* The software device becomes one of `cc`; a GPU is what it is. */
static void open_device(int cc)
{
    fgs_device_opts o = { .size = sizeof o,
                          .provider = on_sim() ? "sim" : NULL };
    fgs_device_info info = { .size = sizeof info };
    fgs_sim_config cfg;
    fgs_error err;

    if (d.dev && !d.busy && (d.cc == cc || !on_sim()))
        return;
    close_device(NULL);
    if (on_sim()) {
        assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
        cfg.cc = (uint32_t)cc;
        assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
    }
    if (fgs_device_open(&d.dev, &o, &err) < 0) {
        print_message("%s\n", err.text);
        exit(77);
    }
    assert_int_equal(fgs_device_get_info(d.dev, &info, &err), FGS_OK);
    d.cc = info.cc;
#define CALL(name, params)                                                     \
    {                                                                          \
        void *p = fgs_device_get_proc(d.dev, #name);                           \
        memcpy(&d.name, &p, sizeof p);                                         \
    }
    CALLS(CALL)
#undef CALL
    OK(cuDevicePrimaryCtxRetain(&d.ctx, 0));
    OK(cuCtxPushCurrent(d.ctx));
    OK(cuMemAlloc(&d.in, sizeof in));
    OK(cuMemAlloc(&d.out, sizeof out));
    OK(cuMemcpyHtoD(d.in, in, sizeof in));
}

static int start(void **state)
{
    uint64_t x = 1;

    (void)state;
    for (int k = 0; k < WORDS; k++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        in[k] = (uint32_t)(x >> 32);
    }
    text = calloc(1, TEXT);
    return !text;
}

static int stop(void **state)
{
    free(text);
    return close_device(state);
}

/* NAME[-K].ptx or .cubin of a folder, into `text`. */
static bool read_module(const char *dir, const char *name, int k,
                        const char *kind)
{
    const char *where = getenv("MODULES");
    char path[600], number[12] = "";
    size_t n;
    FILE *f;

    if (k > 1)
        snprintf(number, sizeof number, "-%d", k);
    snprintf(path, sizeof path, "%s/%s%s%s.%s",
             where ? where : "build/modules", dir, name, number, kind);
    f = fopen(path, "rb");
    if (!f)
        return false;
    n = fread(text, 1, TEXT - 1, f);
    text[n] = 0;
    fclose(f);
    return n > 0;
}

/* 2-D, 64 x 64 words of `in` in boxes of 16 x 16. */
static void make_map(CUtensorMap *map)
{
    enum { UINT32 = 2 };
    cuuint64_t dims[] = { 64, 64 }, stride[] = { 256 };
    cuuint32_t box[] = { 16, 16 }, step[] = { 1, 1 };

    memset(map, 0, sizeof *map);
    if (d.cc >= 90)
        OK(cuTensorMapEncodeTiled(map, UINT32, 2, (void *)(uintptr_t)d.in,
                                  dims, stride, box, step, 0, 0, 0, 0));
}

static void run(const struct row *r, const char *entry)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    static char log[2000];
    void *value[] = { log, (void *)(uintptr_t)sizeof log };
    bool grid = r->cluster == GRID;
    CUlaunchAttribute attr = { .id = grid
                                   ? CU_LAUNCH_ATTRIBUTE_COOPERATIVE
                                   : CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig config = { r->blocks, 1, 1, r->threads, 1, 1,
                              r->shared, NULL, &attr, r->cluster != 0 };
    _Alignas(64) CUtensorMap map;
    CUfunction f;
    CUmodule m;

    if (grid) {
        attr.value.cooperative = 1;
    } else {
        attr.value.clusterDim.x = r->cluster;
        attr.value.clusterDim.y = attr.value.clusterDim.z = 1;
    }
    d.busy = true;
    make_map(&map);
    log[0] = 0;
    if (d.cuModuleLoadDataEx(&m, text, 2, option, value))
        fail_msg("%s", log);
    OK(cuModuleGetFunction(&f, m, entry));
    OK(cuMemsetD8(d.out, 0, sizeof out));
    OK(cuLaunchKernelEx(&config, f, (void *[]){ &d.in, &d.out, &map }, NULL));
    if (d.cuCtxSynchronize())
        fail_msg("%s", on_sim() ? fgs_sim_last_fault() : "the GPU faults");
    OK(cuMemcpyDtoH(out, d.out, sizeof out));
    OK(cuModuleUnload(m));
    d.busy = false;
}

static double number(const uint32_t *from, enum type type, unsigned k)
{
    float f;
    double n;

    memcpy(&f, from + k % WORDS, sizeof f);
    if (type == F32)
        return f;
    memcpy(&n, from + 2 * k % WORDS, sizeof n);
    return n;
}

static void compare(const struct row *r)
{
    memset(want, 0, sizeof want);
    r->mirror(in, want);
    for (unsigned k = 0; k < WORDS && r->type == U32; k++)
        if (out[k] != want[k])
            fail_msg("out[%u] is %08x, not %08x", k, out[k], want[k]);
    for (unsigned k = 0; r->type && k < WORDS / r->type; k++) {
        double x = number(out, r->type, k), y = number(want, r->type, k);

        if (!(fabs(x - y) <= r->bound * fmax(1, fabs(y))))
            fail_msg("out[%u] is %.17g, not %.17g", k, x, y);
    }
}

/* Is there a module of this row, and can the device run it? */
static bool run_module(const struct row *r, const char *dir, int k)
{
    char entry[300] = "run";
    const char *target, *named;
    bool bound;
    int cc;

    if (!read_module(dir, r->name, k, "ptx"))
        return false;
    target = strstr(text, ".target sm_");
    named = strstr(text, "//: entry ");
    assert_true(target && sscanf(target, ".target sm_%d", &cc) == 1);
    if (named)
        sscanf(named, "//: entry %299s", entry);
    /* A letter binds to one compute capability. */
    bound = strpbrk(target, ",\n")[-1] == 'a';
    open_device(bound ? cc : cc < 107 ? 107 : cc);
    if (!on_sim() && (bound ? cc != d.cc : cc > d.cc))
        return true;
    print_message("%s%s %d: compute capability %d on %d\n", dir, r->name, k, cc,
                  d.cc);
    if (!on_sim() && d.cc == 90) /* make.sh has made it for this one */
        assert_true(read_module(dir, r->name, k, "cubin"));
    run(r, entry);
    compare(r);
    return true;
}

static void module(void **state)
{
    static const char *const dir[] = { "", "system/" };
    const struct row *r = *state;
    int found = 0;

    for (int i = 0; i < 2; i++)
        for (int k = 1; run_module(r, dir[i], k); k++)
            found++;
    if (!found) {
        print_message("%s: not made, NVRTC is not there\n", r->name);
        skip();
    }
}

int main(void)
{
    enum { COUNT = sizeof rows / sizeof *rows };
    static struct CMUnitTest tests[COUNT];

    for (int k = 0; k < COUNT; k++)
        tests[k] = (struct CMUnitTest){ rows[k].name, module, NULL, NULL,
                                        &rows[k] };
    return cmocka_run_group_tests_name("modules", tests, start, stop);
}
