/* test_sim_api_module.c -- loading PTX: errors, logs, targets, launches */
#include "sim_calls.h"

static struct sim open_default(const char *text)
{
    fgs_sim_config cfg = sim_config();

    return sim_open(&cfg, text);
}

/* Load with an error log. */
static CUresult load(CUmodule *m, const char *text, char *log, size_t size,
                     size_t *written)
{
    CUjit_option opt[] = { CU_JIT_ERROR_LOG_BUFFER,
                           CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                           CU_JIT_TARGET_FROM_CUCONTEXT };
    void *val[] = { log, (void *)(uintptr_t)size, NULL };
    CUresult r = fgs__sim_cuModuleLoadDataEx(m, text, 3, opt, val);

    *written = (size_t)(uintptr_t)val[1];
    return r;
}

static void broken_text_is_refused_with_its_place(void **state)
{
    struct sim s = open_default(NULL);
    static const char text[] = HEAD ".visible .entry k()\n{\n"
                                    "    mov.u32 %nothing, 1;\n"
                                    "    ret;\n}\n";
    char log[512];
    size_t n = 0;
    CUmodule m = NULL;

    (void)state;
    memset(log, 'x', sizeof log);
    assert_int_equal(load(&m, text, log, sizeof log, &n),
                     CUDA_ERROR_INVALID_PTX);
    assert_null(m);
    assert_int_equal(n, strlen(log));
    assert_non_null(strstr(log, "ptxas application ptx input, line 6:"));
    assert_non_null(strstr(log, "; error   : "));
    assert_non_null(strstr(log, "%nothing"));
    sim_close(&s);
}

static void log_never_passes_its_size(void **state)
{
    struct sim s = open_default(NULL);
    char log[64];
    size_t n = 99;
    CUmodule m;

    (void)state;
    memset(log, 'x', sizeof log);
    /* As on an H200: what had no room counts as a full buffer. */
    assert_int_equal(load(&m, HEAD "rubbish", log, 20, &n),
                     CUDA_ERROR_INVALID_PTX);
    assert_int_equal(n, 20);
    assert_int_equal(log[19], '\0');
    assert_int_equal(log[20], 'x');
    assert_int_equal(load(&m, HEAD "rubbish", log, 0, &n),
                     CUDA_ERROR_INVALID_PTX);
    assert_int_equal(n, 0);
    CU(cuModuleLoadData(&m, "rubbish"), ERROR_INVALID_IMAGE);
    CU(cuModuleLoadData(&m, ""), ERROR_INVALID_IMAGE);
    sim_close(&s);
}

static void newer_version_is_named(void **state)
{
    struct sim s = open_default(NULL);
    char log[512];
    size_t n;
    CUmodule m;

    (void)state;
    assert_int_equal(load(&m, ".version 9.9\n.target sm_107a\n", log,
                          sizeof log, &n),
                     CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    assert_non_null(
        strstr(log, "Unsupported .version 9.9; current version is '9.5'"));
    assert_int_equal(load(&m, ".version 9.6\n.target sm_107a\n", log,
                          sizeof log, &n),
                     CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    assert_non_null(strstr(log, "line 1:10; fatal   : Unsupported .version "
                                "9.6; current version is '9.5'"));
    sim_close(&s);
}

static void targets_of_other_devices_are_refused(void **state)
{
    static const struct {
        const char *head;
        CUresult r;
    } row[] = {
        { ".version 8.6\n.target sm_90\n", CUDA_SUCCESS },
        { ".version 6.3\n.target sm_75\n", CUDA_SUCCESS },
        { ".version 9.4\n.target sm_107\n", CUDA_SUCCESS },
        { ".version 9.4\n.target sm_107a\n", CUDA_SUCCESS },
        { ".version 9.4\n.target sm_107f\n", CUDA_SUCCESS },
        { ".version 9.0\n.target sm_100f\n", CUDA_SUCCESS },
        { ".version 9.0\n.target sm_103f\n", CUDA_SUCCESS },
        { ".version 9.0\n.target sm_90a\n", CUDA_ERROR_INVALID_PTX },
        { ".version 9.0\n.target sm_100a\n", CUDA_ERROR_INVALID_PTX },
        { ".version 9.0\n.target sm_103a\n", CUDA_ERROR_INVALID_PTX },
        { ".version 9.0\n.target sm_110f\n", CUDA_ERROR_INVALID_PTX },
        { ".version 9.0\n.target sm_120\n", CUDA_ERROR_INVALID_PTX },
        { ".version 9.0\n.target sm_120f\n", CUDA_ERROR_INVALID_PTX },
    };
    struct sim s = open_default(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        char text[512];
        CUmodule m;
        CUresult r;

        snprintf(text, sizeof text, "%s.address_size 64\n%s", row[i].head,
                 POKE);
        r = fgs__sim_cuModuleLoadData(&m, text);
        if (r != row[i].r)
            print_error("%s", row[i].head);
        assert_int_equal(r, row[i].r);
    }
    sim_close(&s);
}

static void other_images_and_options_are_refused(void **state)
{
    struct sim s = open_default(NULL);
    CUjit_option opt = 9999;
    void *val = NULL;
    CUmodule m;

    (void)state;
    CU(cuModuleLoadData(&m, "\177ELF\2\1\1"), ERROR_NO_BINARY_FOR_GPU);
    CU(cuModuleLoadData(&m, "\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0"),
       ERROR_NO_BINARY_FOR_GPU);
    CU(cuModuleLoadData(&m, NULL), ERROR_INVALID_VALUE);
    CU(cuModuleLoadData(NULL, HEAD POKE), ERROR_INVALID_VALUE);
    CU(cuModuleLoadDataEx(&m, HEAD POKE, 1, &opt, &val), ERROR_INVALID_VALUE);
    opt = CU_JIT_OPTIMIZATION_LEVEL;
    OK(cuModuleLoadDataEx(&m, HEAD POKE, 1, &opt, &val));
    val = (void *)9; /* as ptxas -O9: the bound of 4 is the header's alone */
    OK(cuModuleLoadDataEx(&m, HEAD POKE, 1, &opt, &val));
    val = (void *)(uintptr_t)0x80000000;
    CU(cuModuleLoadDataEx(&m, HEAD POKE, 1, &opt, &val), ERROR_INVALID_PTX);
    sim_close(&s);
}

static void variables_have_memory_and_initializers(void **state)
{
    static const char text[] = HEAD
        ".visible .global .align 8 .u32 numbers[4] = { 1, 2, 3 };\n"
        ".visible .global .u64 where[2] = { generic(numbers), numbers+8 };\n"
        ".visible .const .u32 seven = 7;\n"
        ".visible .global .align 4096 .b8 zeros[5];\n" POKE;
    struct sim s = open_default(text);
    uint32_t h[4] = { 9, 9, 9, 9 };
    uint64_t p[2] = { 0, 0 };
    CUdeviceptr at = 0, to = 0;
    size_t bytes = 0;

    (void)state;
    OK(cuModuleGetGlobal(&at, &bytes, s.module, "numbers"));
    assert_int_equal(bytes, 16);
    OK(cuMemcpyDtoH(h, at, 16));
    assert_int_equal(h[0], 1);
    assert_int_equal(h[2], 3);
    assert_int_equal(h[3], 0);
    OK(cuModuleGetGlobal(&to, &bytes, s.module, "where"));
    OK(cuMemcpyDtoH(p, to, 16));
    assert_int_equal(p[0], at);
    assert_int_equal(p[1], at + 8);
    OK(cuModuleGetGlobal(&to, NULL, s.module, "seven"));
    OK(cuMemcpyDtoH(h, to, 4));
    assert_int_equal(h[0], 7);
    OK(cuModuleGetGlobal(&to, &bytes, s.module, "zeros"));
    assert_int_equal(bytes, 5);
    assert_int_equal(to % 4096, 0);
    CU(cuModuleGetGlobal(&to, &bytes, s.module, "nix"), ERROR_NOT_FOUND);
    OK(cuModuleUnload(s.module));
    CU(cuMemcpyDtoH(h, at, 4), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void function_attributes_follow_the_text(void **state)
{
    static const char text[] = HEAD
        ".visible .entry k()\n.maxntid 128\n{\n"
        "    .shared .align 16 .b8 s_x[2048];\n    ret;\n}\n";
    struct sim s = open_default(text);
    CUfunction f = sim_func(&s, "k");
    int v = 0;

    (void)state;
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    assert_int_equal(v, 128);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    assert_int_equal(v, 2048);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
    assert_int_equal(v, 107);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
    assert_int_equal(v, 107);
    OK(cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
    OK(cuFuncGetAttribute(
        &v, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f));
    assert_int_equal(v, 100);
    CU(cuFuncSetAttribute(
           f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
       ERROR_INVALID_VALUE);
    CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1),
       ERROR_INVALID_VALUE);
    /* 227 KiB for static and dynamic together */
    OK(cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 225 * 1024));
    CU(cuFuncSetAttribute(
           f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
           225 * 1024 + 1),
       ERROR_INVALID_VALUE);
    OK(cuFuncLoad(f));
    sim_close(&s);
}

static CUresult try_launch(CUfunction f, uint32_t gx, uint32_t gy,
                           uint32_t bx, uint32_t by, uint32_t shared,
                           void **params)
{
    return fgs__sim_cuLaunchKernel(f, gx, gy, 1, bx, by, 1, shared, NULL,
                                   params, NULL);
}

static void wrong_launches_are_refused(void **state)
{
    static const char text[] = HEAD POKE
        ".visible .entry exact()\n.reqntid 64, 2\n{\n    ret;\n}\n"
        ".visible .entry most()\n.maxntid 64, 2\n{\n    ret;\n}\n";
    struct sim s = open_default(text);
    CUfunction f = sim_func(&s, "poke"), e = sim_func(&s, "exact");
    CUdeviceptr x = sim_alloc(4);
    void *params[] = { &x }, *none[] = { NULL };

    (void)state;
    assert_int_equal(try_launch(f, 1, 1, 32, 1, 0, params), 0);
#define REFUSED(...) assert_int_equal(try_launch(__VA_ARGS__),                 \
                                      CUDA_ERROR_INVALID_VALUE)
    REFUSED(f, 0, 1, 32, 1, 0, params);
    REFUSED(f, 0x80000000u, 1, 32, 1, 0, params);
    REFUSED(f, 1, 65536, 32, 1, 0, params);
    REFUSED(f, 1, 1, 0, 1, 0, params);
    REFUSED(f, 1, 1, 1025, 1, 0, params);
    REFUSED(f, 1, 1, 512, 4, 0, params);
    REFUSED(f, 1, 1, 32, 1, 48 * 1024 + 1, params);
    REFUSED(f, 1, 1, 32, 1, 0, NULL);
    REFUSED(f, 1, 1, 32, 1, 0, none);
    REFUSED(e, 1, 1, 128, 1, 0, NULL);
    assert_int_equal(try_launch(e, 1, 1, 64, 2, 0, NULL), 0);
    REFUSED(sim_func(&s, "most"), 1, 1, 129, 1, 0, NULL);
    assert_int_equal(
        try_launch(sim_func(&s, "most"), 1, 1, 128, 1, 0, NULL), 0);
#undef REFUSED
    assert_int_equal(try_launch(NULL, 1, 1, 32, 1, 0, NULL),
                     CUDA_ERROR_INVALID_HANDLE);
    CU(cuLaunchKernelEx(NULL, f, params, NULL), ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void launch_attributes_are_checked(void **state)
{
    struct sim s = open_default(HEAD POKE);
    CUdeviceptr x = sim_alloc(4);
    void *params[] = { &x };
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_IGNORE };
    CUlaunchConfig c = { 1, 1, 1, 1, 1, 1, 0, NULL, &a, 1 };
    CUfunction f = sim_func(&s, "poke");

    (void)state;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    a.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    a.value.sharedMemCarveout = 100;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
    a.value.sharedMemCarveout = 101;
    CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_INVALID_VALUE);
    a.id = 3; /* synchronization policy of a stream */
    CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_NOT_SUPPORTED);
    c.attrs = NULL;
    CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void extra_carries_packed_parameters(void **state)
{
    struct sim s = open_default(HEAD AFFINE);
    CUdeviceptr x = sim_alloc(4);
    struct {
        uint64_t x;
        uint32_t mul, add;
    } packed = { x, 3, 4 };
    size_t size = sizeof packed;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER_, &packed,
                      CU_LAUNCH_PARAM_BUFFER_SIZE_, &size,
                      CU_LAUNCH_PARAM_END_ };
    CUfunction f = sim_func(&s, "affine");
    uint32_t v = 0;

    (void)state;
    OK(cuMemsetD32(x, 5, 1));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH(&v, x, 4));
    assert_int_equal(v, 19);
    size = 12;
    CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra),
       ERROR_INVALID_VALUE);
    sim_close(&s);
}

/* Everything once, as a program does it; the first error. */
static CUresult whole_life(void)
{
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUdeviceptr x;
    CUstream st;
    CUevent ev;
    uint32_t v = 0, mul = 2, add = 1;
    void *params[] = { &x, &mul, &add };
    CUresult r = fgs__sim_cuCtxCreate(&ctx, 0, 0);

    if (r)
        return r;
#define STEP(call)                                                             \
    if (!r)                                                                    \
    r = fgs__sim_##call
    STEP(cuModuleLoadData(&m, HEAD ".global .u32 g[2] = { 1, 2 };\n" AFFINE));
    STEP(cuModuleGetFunction(&f, m, "affine"));
    STEP(cuMemAlloc(&x, 4));
    STEP(cuStreamCreate(&st, 0));
    STEP(cuEventCreate(&ev, 0));
    STEP(cuMemcpyHtoDAsync(x, &v, 4, st));
    STEP(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, st, params, NULL));
    STEP(cuEventRecord(ev, st));
    STEP(cuStreamWaitEvent(NULL, ev, 0));
    STEP(cuMemcpyDtoH(&v, x, 4));
    STEP(cuModuleUnload(m));
#undef STEP
    if (!r && v != 1)
        r = CUDA_ERROR_UNKNOWN;
    OK(cuCtxDestroy(ctx));
    return r;
}

static void failing_allocator_leaves_nothing_behind(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

    (void)state;
    OK(cuInit(0));
    cfg.allocator = &a;
    cfg.threads = 1;
    cfg.sms = 1;
    sim_configure(&cfg);
    for (c.at = 1; r == CUDA_ERROR_OUT_OF_MEMORY && c.at < 5000; c.at++) {
        c.calls = 0;
        r = whole_life();
        assert_int_equal(c.live, 0);
    }
    assert_int_equal(r, CUDA_SUCCESS);
    assert_true(c.at > 20);
    c.at = 0;
    cfg.allocator = NULL;
    sim_configure(&cfg);
}

static void refused_text_leaves_nothing_behind(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct counting c = { 0 };
    fgs_allocator a = counting_allocator(&c);
    struct sim s;
    CUmodule m;

    (void)state;
    cfg.allocator = &a;
    s = sim_open(&cfg, NULL);
    CU(cuModuleLoadData(&m, HEAD "rubbish"), ERROR_INVALID_PTX);
    CU(cuModuleLoadData(&m, ".version 9.4\n.target sm_120\n"),
       ERROR_INVALID_PTX);
    sim_close(&s);
    assert_int_equal(c.live, 0);
    cfg.allocator = NULL;
    sim_configure(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_text_is_refused_with_its_place),
        cmocka_unit_test(log_never_passes_its_size),
        cmocka_unit_test(newer_version_is_named),
        cmocka_unit_test(targets_of_other_devices_are_refused),
        cmocka_unit_test(other_images_and_options_are_refused),
        cmocka_unit_test(variables_have_memory_and_initializers),
        cmocka_unit_test(function_attributes_follow_the_text),
        cmocka_unit_test(wrong_launches_are_refused),
        cmocka_unit_test(launch_attributes_are_checked),
        cmocka_unit_test(extra_carries_packed_parameters),
        cmocka_unit_test(failing_allocator_leaves_nothing_behind),
        cmocka_unit_test(refused_text_leaves_nothing_behind),
    };

    return cmocka_run_group_tests_name("sim_api_module", tests, NULL, NULL);
}
