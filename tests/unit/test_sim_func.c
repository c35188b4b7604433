/* test_sim_func.c -- what functions and streams say, occupancy, files */
#include "sim_calls.h"
#include <unistd.h>

static struct sim s;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.sms = 2;
    s = sim_open(&cfg, HEAD AFFINE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static void function_says_what_it_is(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    CUfunctionLoadingState loaded;
    CUmoduleLoadingMode mode;
    const char *name;
    CUmodule module;
    size_t at, bytes;

    (void)state;
    OK(cuFuncGetName(&name, f));
    assert_string_equal(name, "affine");
    OK(cuFuncGetModule(&module, f));
    assert_ptr_equal(module, s.module);
    OK(cuFuncIsLoaded(&loaded, f));
    assert_int_equal(loaded, 1);
    OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
    assert_int_equal(setenv("CUDA_MODULE_LOADING", "EAGER", 1), 0);
    OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, CU_MODULE_EAGER_LOADING);
    assert_int_equal(unsetenv("CUDA_MODULE_LOADING"), 0);
    OK(cuFuncGetParamInfo(f, 2, &at, &bytes));
    assert_int_equal(at, 12);
    assert_int_equal(bytes, 4);
    CU(cuFuncGetParamInfo(f, 3, &at, &bytes), ERROR_INVALID_VALUE);
    OK(cuFuncSetCacheConfig(f, 1));
    CU(cuFuncSetCacheConfig(f, 9), ERROR_INVALID_VALUE);
    CU(cuFuncGetName(&name, NULL), ERROR_INVALID_HANDLE);
}

static void largest_block_fills_an_sm(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    int grid = 0, block = 0, n = 0;

    (void)state;
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, block, 0));
    assert_int_equal(n * block, 1024);
    assert_int_equal(grid, n * 2);
    OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, f, NULL, 0, 96,
                                                 1));
    assert_true(block <= 96);
    CU(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, f, NULL, 0, 0,
                                                 2),
       ERROR_INVALID_VALUE);
}

/* One byte more and one block less is resident. */
static void available_shared_memory_is_the_most(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    size_t bytes = 0, none = 7;
    int n = 0;

    (void)state;
    for (int blocks = 5; blocks <= 8; blocks++) {
        OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, blocks, 128));
        assert_true(bytes > 0 && bytes < 48 * 1024);
        OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 128, bytes));
        assert_true(n >= blocks);
        OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 128, bytes + 1));
        assert_true(n < blocks);
    }
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 128));
    assert_int_equal(bytes, 48 * 1024); /* what it may ask for */
    CU(cuOccupancyAvailableDynamicSMemPerBlock(&none, f, 0, 128),
       ERROR_INVALID_VALUE);
    CU(cuOccupancyAvailableDynamicSMemPerBlock(&none, f, 9, 128),
       ERROR_INVALID_VALUE); /* 1024 threads are 8 */
    CU(cuOccupancyAvailableDynamicSMemPerBlock(NULL, f, 1, 128),
       ERROR_INVALID_VALUE);
    assert_int_equal(none, 7);
}

/* What an H200 says of it: static bytes, what a launch may add unasked. */
static void static_shared_memory_may_be_all_of_a_block(void **state)
{
    static const struct {
        uint32_t cc;
        int bytes, dynamic; /* -1: not loaded */
    } rows[] = {
        { 90, 49152, 0 }, { 90, 49168, 183280 }, { 90, 60000, 172448 },
        { 90, 231424, 1024 }, { 90, 232448, 0 }, { 90, 232449, -1 },
        { 80, 49152, 0 }, { 80, 49168, -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fgs_sim_config cfg = sim_config();
        CUmodule m = NULL;
        struct sim now;
        char text[512];
        CUfunction f;
        int v = -1;

        cfg.cc = rows[i].cc;
        now = sim_open(&cfg, NULL);
        snprintf(text, sizeof text, ".version 8.0\n.target sm_80\n"
                 ".address_size 64\n.visible .entry k()\n{\n"
                 ".shared .align 16 .b8 x[%d];\nst.shared.u8 [x+%d], 5;\n"
                 "ret;\n}\n", rows[i].bytes, rows[i].bytes - 1);
        assert_int_equal(fgs__sim_cuModuleLoadData(&m, text),
                         rows[i].dynamic < 0 ? CUDA_ERROR_INVALID_PTX : 0);
        if (m) {
            OK(cuModuleGetFunction(&f, m, "k"));
            OK(cuFuncGetAttribute(
                &v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
            assert_int_equal(v, rows[i].dynamic);
            OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, (unsigned)v, NULL, NULL,
                              NULL));
            CU(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, (unsigned)v + 16, NULL,
                              NULL, NULL), ERROR_INVALID_VALUE);
            OK(cuCtxSynchronize());
        }
        sim_close(&now);
    }
}

static void cooperative_grid_must_fit(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    CUdeviceptr x = sim_alloc(4 * 4096);
    uint32_t mul = 1, add = 1;
    void *params[] = { &x, &mul, &add };

    (void)state;
    OK(cuLaunchCooperativeKernel(f, 2, 1, 1, 1024, 1, 1, 0, NULL, params));
    CU(cuLaunchCooperativeKernel(f, 3, 1, 1, 1024, 1, 1, 0, NULL, params),
       ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cuCtxSynchronize());
}

static void module_is_read_from_a_file(void **state)
{
    char path[] = "fgs-module-XXXXXX";
    int fd = mkstemp(path);
    CUmodule m;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, HEAD POKE, strlen(HEAD POKE)),
                     strlen(HEAD POKE));
    close(fd);
    OK(cuModuleLoad(&m, path));
    OK(cuModuleUnload(m));
    unlink(path);
    CU(cuModuleLoad(&m, path), ERROR_FILE_NOT_FOUND);
    CU(cuModuleLoad(NULL, path), ERROR_INVALID_VALUE);
}

static void stream_says_how_it_was_made(void **state)
{
    unsigned long long a, b;
    unsigned int flags = 9;
    int priority = 9;
    CUstream st;

    (void)state;
    OK(cuStreamCreateWithPriority(&st, CU_STREAM_NON_BLOCKING, -3));
    OK(cuStreamGetFlags(st, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetPriority(st, &priority));
    assert_int_equal(priority, -3);
    OK(cuStreamGetId(st, &a));
    OK(cuStreamGetId(NULL, &b));
    assert_true(a != b);
    CU(cuStreamGetFlags(st, NULL), ERROR_INVALID_VALUE);
}

/* The calls before CUDA 4.0, on the kernel of the other tests. */
static void function_is_launched_the_old_way(void **state)
{
    CUfunction f = sim_func(&s, "affine");
    CUdeviceptr x = sim_alloc(64);
    uint32_t out[4];

    (void)state;
    OK(cuMemsetD32(x, 3, 16));
    CU(cuLaunch(f), ERROR_INVALID_VALUE); /* nothing is set */
    OK(cuFuncSetBlockShape(f, 2, 1, 1));
    CU(cuLaunch(f), ERROR_INVALID_VALUE);
    OK(cuFuncSetSharedSize(f, 128));
    OK(cuParamSetSize(f, 16));
    OK(cuParamSetv(f, 0, &x, 8));
    OK(cuParamSeti(f, 8, 5));
    OK(cuParamSetf(f, 12, 0.0f)); /* the same bits as 0 */
    OK(cuLaunchGrid(f, 2, 1));
    OK(cuMemcpyDtoH(out, x, 16));
    assert_int_equal(out[0], 15);
    assert_int_equal(out[3], 15);
    OK(cuParamSeti(f, 8, 2)); /* the rest stays */
    OK(cuLaunchGridAsync(f, 1, 1, NULL));
    OK(cuMemcpyDtoH(out, x, 16));
    assert_int_equal(out[1], 30);
    assert_int_equal(out[2], 15);
    CU(cuFuncSetBlockShape(f, 0, 1, 1), ERROR_INVALID_VALUE);
    CU(cuParamSeti(f, 13, 0), ERROR_INVALID_VALUE); /* past the end */
    CU(cuParamSetSize(f, 17), ERROR_INVALID_VALUE);
    CU(cuParamSetv(f, 0, NULL, 8), ERROR_INVALID_VALUE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(function_says_what_it_is),
        T(largest_block_fills_an_sm),
        T(available_shared_memory_is_the_most),
        T(static_shared_memory_may_be_all_of_a_block),
        T(cooperative_grid_must_fit),
        T(module_is_read_from_a_file),
        T(stream_says_how_it_was_made),
        T(function_is_launched_the_old_way),
    };
#undef T

    return cmocka_run_group_tests_name("sim_func", tests, NULL, NULL);
}
