/* test_sim_programs.c -- CUDA C++ of tests/nvcc/ runs on the software device
 *
 * Compiled here by nvcc (NVCC in the environment names another one); without
 * it the tests are skipped.  Expected values are computed in C from what each
 * program says it does.
 */
#include "sim_calls.h"
#include <unistd.h>

enum { THREADS = 64, WORDS = 576 };

static struct sim s;
static char *ptx;
static unsigned out[WORDS];

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(ptx);
    ptx = NULL;
    sim_clean();
    return 0;
}

/* The PTX of a program, skipped where there is no compiler. */
static char *compile(const char *name, const char *flags)
{
    const char *nvcc = getenv("NVCC");
    char dir[] = P_tmpdir "/fgs-program-XXXXXX", command[700];
    char *text = NULL, path[100];
    FILE *f;

    if (!nvcc)
        nvcc = "/usr/local/cuda/bin/nvcc";
    if (access(nvcc, X_OK) || !mkdtemp(dir))
        skip();
    snprintf(command, sizeof command, "'%s' -w -std=c++17 -arch=sm_90 %s -ptx "
             "tests/nvcc/%s.cu -o %s/a.ptx", nvcc, flags, name, dir);
    if (system(command))
        fail_msg("%s: nvcc fails", name);
    snprintf(path, sizeof path, "%s/a.ptx", dir);
    f = fopen(path, "r");
    assert_non_null(f);
    text = calloc(1, 8 << 20);
    assert_true(fread(text, 1, (8 << 20) - 1, f) > 0);
    fclose(f);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    return text;
}

static CUresult launch(CUmodule m)
{
    CUdeviceptr at = sim_alloc(sizeof out);
    CUfunction f;
    CUresult r;

    memset(out, 0, sizeof out);
    OK(cuMemsetD32(at, 0, WORDS));
    OK(cuModuleGetFunction(&f, m, "run"));
    OK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 4 * THREADS, NULL,
                      (void *[]){ &at }, NULL));
    r = fgs__sim_cuCtxSynchronize();
    if (!r)
        OK(cuMemcpyDtoH(out, at, sizeof out));
    return r;
}

static CUmodule module(const char *name, const char *flags)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    char log[1000] = "";
    void *value[] = { log, (void *)(uintptr_t)sizeof log };
    CUmodule m = NULL;

    ptx = compile(name, flags);
    if (fgs__sim_cuModuleLoadDataEx(&m, ptx, 2, option, value))
        fail_msg("%s: %s", name, log);
    return m;
}

static void barriers_and_atomics_of_libcuxx(void **state)
{
    (void)state;
    assert_int_equal(launch(module("barrier", "")), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(out[t], (64 - t) * (65 - t) / 2);
    assert_int_equal(out[64], 64);
}

static void pipeline_of_libcuxx(void **state)
{
    (void)state;
    assert_int_equal(launch(module("pipeline", "")), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(out[t], 3 * 28 + 8 * (63 - t));
}

static void cooperative_groups(void **state)
{
    (void)state;
    assert_int_equal(launch(module("groups", "")), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned size = 0;

        for (unsigned o = t / 32 * 32; o < t / 32 * 32 + 32; o++)
            size += o % 5 == t % 5;
        assert_int_equal(out[t], 8 * (t / 8 * 8) + 28);
        assert_int_equal(out[64 + t], t % 32 / 2 * 100 + 16);
        assert_int_equal(out[128 + t], size);
    }
}

static void virtual_functions_tables_and_recursion(void **state)
{
    static const unsigned a[3][4] = { { 1, 2, 3, 4 }, { 2, 3, 4, 5 },
                                      { 3, 5, 7, 9 } };

    (void)state;
    assert_int_equal(launch(module("objects", "")), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++) {
        assert_int_equal(out[t], t % 3 ? t * t : 7 * t);
        assert_int_equal(out[64 + t], t & 1 ? t + 1 : 2 * t);
        assert_int_equal(out[128 + t], a[t % 3][t % 4]);
    }
}

static void memory_of_every_kind(void **state)
{
    CUmodule m = module("memory", "");
    CUdeviceptr at;
    size_t bytes;

    (void)state;
    assert_int_equal(launch(m), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(out[t], 63 - t + 100 * (t % 4) * (t % 4) + 61000);
    OK(cuModuleGetGlobal(&at, &bytes, m, "shared_with_host"));
    assert_int_equal(*(unsigned *)(uintptr_t)at, 1001);
}

static void check_lambda(void)
{
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned low = t & -t, first = 0;

        while (low) {
            low >>= 1;
            first++;
        }
        assert_int_equal(out[t], 7 + 14 * t);
        assert_int_equal(out[64 + t], 2 * t + 1);
        assert_int_equal(out[128 + t],
                         __builtin_popcount(t) +
                             100 * (t ? __builtin_clz(t) : 32) +
                             10000 * first);
    }
}

static void templates_doubles_and_halves(void **state)
{
    (void)state;
    assert_int_equal(launch(module("lambda", "")), CUDA_SUCCESS);
    check_lambda();
}

static void program_with_lines_and_one_for_debugging(void **state)
{
    (void)state;
    assert_int_equal(launch(module("lambda", "-lineinfo")), CUDA_SUCCESS);
    check_lambda();
    free(ptx);
    assert_int_equal(launch(module("lambda", "-G")), CUDA_SUCCESS);
    check_lambda();
}

static int by_value(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

static void sort_scan_and_histogram(void **state)
{
    unsigned v[THREADS], bin[16] = { 0 }, sum = 0;

    (void)state;
    assert_int_equal(launch(module("sort", "")), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++) {
        v[t] = t * 2654435761u >> 20;
        sum += v[t];
        bin[v[t] % 16]++;
        assert_int_equal(out[64 + t], sum);
    }
    qsort(v, THREADS, sizeof *v, by_value);
    assert_memory_equal(out, v, sizeof v);
    assert_memory_equal(out + 128, bin, sizeof bin);
}

static void failed_assertion_is_a_fault(void **state)
{
    (void)state;
    assert_int_equal(launch(module("assert", "")), CUDA_ERROR_ASSERT);
}

static void parts_are_linked(void **state)
{
    char *a = compile("part_a", "-rdc=true"), *b;
    CUlinkState l;
    void *made;
    CUmodule m;

    (void)state;
    b = compile("part_b", "-rdc=true");
    OK(cuLinkCreate(0, NULL, NULL, &l));
    OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, a, strlen(a) + 1, "a", 0, NULL,
                     NULL));
    OK(cuLinkAddData(l, CU_JIT_INPUT_PTX, b, strlen(b), "b", 0, NULL, NULL));
    free(a);
    free(b);
    OK(cuLinkComplete(l, &made, NULL));
    OK(cuModuleLoadData(&m, made));
    OK(cuLinkDestroy(l));
    assert_int_equal(launch(m), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++) {
        assert_int_equal(out[t], 3 * t + 5);
        assert_int_equal(out[64 + t], t * t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(barriers_and_atomics_of_libcuxx),
        TEST(pipeline_of_libcuxx),
        TEST(cooperative_groups),
        TEST(virtual_functions_tables_and_recursion),
        TEST(memory_of_every_kind),
        TEST(templates_doubles_and_halves),
        TEST(program_with_lines_and_one_for_debugging),
        TEST(sort_scan_and_histogram),
        TEST(failed_assertion_is_a_fault),
        TEST(parts_are_linked),
    };

    return cmocka_run_group_tests_name("sim_programs", tests, NULL, NULL);
}
