/* test_sim_nvcc.c -- what nvcc makes of CUDA C++ runs on the software device
 *
 * The PTX is made here, from the text below; without nvcc the tests are
 * skipped.  NVCC in the environment names another one.
 */
#include "base/compat.h"
#include "sim/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { THREADS = 64, WORDS = 4 * THREADS };

static const char program[] =
    "__device__ __noinline__ int fib(int n)\n"
    "{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
    "struct shape { __device__ virtual int area(int x) = 0; };\n"
    "struct square : shape {\n"
    "  __device__ int area(int x) override { return x * x; } };\n"
    "struct strip : shape { int k; __device__ strip(int k) : k(k) {}\n"
    "  __device__ int area(int x) override { return k * x; } };\n"
    "__global__ void __launch_bounds__(64) work(unsigned *out)\n"
    "{\n"
    "  __shared__ unsigned key[128], count[128], sum[2];\n"
    "  int t = threadIdx.x;\n"
    "  out[t] = fib(t % 12);\n"
    "  square a; strip b(5);\n"
    "  shape *s = t & 1 ? (shape *)&a : (shape *)&b;\n"
    "  out[64 + t] = s->area(t);\n"
    "  int *q = (int *)malloc(4 * (t + 1)), all = 0;\n"
    "  for (int i = 0; q && i <= t; i++) q[i] = i;\n"
    "  for (int i = 0; q && i <= t; i++) all += q[i];\n"
    "  free(q);\n"
    "  for (int d = 16; d; d /= 2)\n"
    "    all += __shfl_xor_sync(~0u, all, d);\n"
    "  if (t % 32 == 0) sum[t / 32] = all;\n"
    "  key[t] = key[64 + t] = ~0u; count[t] = count[64 + t] = 0;\n"
    "  __syncthreads();\n"
    "  out[128 + t] = sum[0] + sum[1];\n"
    /* a hash table with open addressing: how often is t % 7 there? */
    "  unsigned k = t % 7, h = k * 37 % 128;\n"
    "  while (true) {\n"
    "    unsigned was = atomicCAS(&key[h], ~0u, k);\n"
    "    if (was == ~0u || was == k) break;\n"
    "    h = (h + 1) % 128;\n"
    "  }\n"
    "  atomicAdd(&count[h], 1);\n"
    "  __syncthreads();\n"
    "  out[192 + t] = count[h];\n"
    "}\n";

static char ptx[1 << 20];

static bool make_ptx(const char *flags)
{
    const char *nvcc = getenv("NVCC");
    char dir[] = P_tmpdir "/fgs-nvcc-XXXXXX", command[700], path[100];
    FILE *f;
    size_t n = 0;

    if (!nvcc)
        nvcc = "/usr/local/cuda/bin/nvcc";
    if (access(nvcc, X_OK) || !mkdtemp(dir))
        return false;
    snprintf(path, sizeof path, "%s/a.cu", dir);
    f = fopen(path, "w");
    if (f) {
        fputs(program, f);
        fclose(f);
    }
    snprintf(command, sizeof command, "cd %s && '%s' -arch=sm_90 %s -ptx a.cu "
             "-o a.ptx", dir, nvcc, flags);
    if (f && !system(command)) {
        snprintf(path, sizeof path, "%s/a.ptx", dir);
        f = fopen(path, "r");
        n = f ? fread(ptx, 1, sizeof ptx - 1, f) : 0;
        if (f)
            fclose(f);
    }
    ptx[n] = 0;
    snprintf(command, sizeof command, "rm -r %s", dir);
    return !system(command) && n;
}

static void run_program(const char *flags)
{
    static const unsigned fib[12] = { 0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55,
                                      89 };
    static unsigned out[WORDS];
    CUdeviceptr at;
    CUcontext ctx;
    CUmodule mod;
    CUfunction f;
    unsigned all = 0, t;

    if (!make_ptx(flags))
        skip();
    assert_int_equal(fgs__sim_cuInit(0), CUDA_SUCCESS);
    assert_int_equal(fgs__sim_cuCtxCreate(&ctx, 0, 0), CUDA_SUCCESS);
    assert_int_equal(fgs__sim_cuModuleLoadData(&mod, ptx), CUDA_SUCCESS);
    assert_int_equal(fgs__sim_cuModuleGetFunction(&f, mod, "_Z4workPj"),
                     CUDA_SUCCESS);
    assert_int_equal(fgs__sim_cuMemAlloc(&at, sizeof out), CUDA_SUCCESS);
    assert_int_equal(fgs__sim_cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0,
                                             NULL, (void *[]){ &at }, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(fgs__sim_cuMemcpyDtoH(out, at, sizeof out),
                     CUDA_SUCCESS);
    for (t = 0; t < THREADS; t++)
        all += t * (t + 1) / 2;
    for (t = 0; t < THREADS; t++) {
        assert_int_equal(out[t], fib[t % 12]);
        assert_int_equal(out[64 + t], t & 1 ? t * t : 5 * t);
        assert_int_equal(out[128 + t], all);
        assert_int_equal(out[192 + t], 9 + (t % 7 < 64 % 7));
    }
    fgs__sim_cuCtxDestroy(ctx);
}

static void optimized_program_computes_right(void **state)
{
    (void)state;
    run_program("");
}

static void program_for_debugging_computes_right(void **state)
{
    (void)state;
    run_program("-G");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimized_program_computes_right),
        cmocka_unit_test(program_for_debugging_computes_right),
    };

    return cmocka_run_group_tests_name("sim_nvcc", tests, NULL, NULL);
}
