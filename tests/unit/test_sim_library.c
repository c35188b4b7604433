/* test_sim_library.c -- cuLibrary*, cuKernel*: code without a context
 *
 * Results are those of an H200 (driver 580).
 */
#include "sim_calls.h"

#define CODE                                                                   \
    HEAD ".visible .global .u32 g = 5;\n"                                      \
         ".visible .global .attribute(.managed) .u32 m[2] = { 3, 4 };\n"      \
    AFFINE                                                                     \
    ".visible .entry peek(.param .u64 p_x)\n{\n    .reg .u64 %x;\n"            \
    "    .reg .u32 %v;\n    ld.param.u64 %x, [p_x];\n"                         \
    "    ld.global.u32 %v, [g];\n    st.global.u32 [%x], %v;\n"                \
    "    add.u32 %v, %v, 1;\n    st.global.u32 [g], %v;\n    ret;\n}\n"

static struct sim s;

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
    sim_clean();
    return 0;
}

static CUlibrary library(const char *code)
{
    CUlibrary l = NULL;

    OK(cuLibraryLoadData(&l, code, NULL, NULL, 0, NULL, NULL, 0));
    return l;
}

static CUkernel kernel(CUlibrary l, const char *name)
{
    CUkernel k = NULL;

    OK(cuLibraryGetKernel(&k, l, name));
    return k;
}

static uint32_t peek(CUkernel k)
{
    CUdeviceptr x = sim_alloc(4);
    uint32_t got = 0;

    OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL,
                      (void *[]){ &x }, NULL));
    OK(cuMemcpyDtoH(&got, x, sizeof got));
    OK(cuMemFree(x));
    return got;
}

static void library_needs_no_context(void **state)
{
    CUlibrary l, back;
    CUkernel k, list[3] = { NULL, NULL, NULL };
    size_t at, bytes;
    unsigned int n;
    const char *name;
    CUfunction f;
    CUdeviceptr p;
    CUmodule m;
    int v = 0;

    (void)state;
    sim_close(&s); /* no device is there now */
    l = library(CODE);
    k = kernel(l, "affine");
    CU(cuLibraryGetKernel(&k, l, "nothing"), ERROR_NOT_FOUND);
    OK(cuLibraryGetKernelCount(&n, l));
    assert_int_equal(n, 2);
    OK(cuLibraryEnumerateKernels(list, 1, l));
    assert_non_null(list[0]);
    assert_null(list[1]);
    OK(cuLibraryEnumerateKernels(list, 3, l));
    assert_null(list[2]);
    OK(cuKernelGetName(&name, k));
    assert_string_equal(name, "affine");
    OK(cuKernelGetLibrary(&back, k));
    assert_ptr_equal(back, l);
    OK(cuKernelGetParamCount(k, &bytes));
    assert_int_equal(bytes, 3);
    OK(cuKernelGetParamInfo(k, 1, &at, &bytes));
    assert_int_equal(at, 8);
    assert_int_equal(bytes, 4);
    OK(cuKernelGetParamInfo(k, 1, &at, NULL));
    CU(cuKernelGetParamInfo(k, 3, &at, &bytes), ERROR_INVALID_VALUE);
    CU(cuKernelGetParamInfo(k, 1, NULL, &bytes), ERROR_INVALID_VALUE);
    OK(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 0));
    assert_in_range(v, 1, 255);
    CU(cuLibraryGetModule(&m, l), ERROR_INVALID_CONTEXT);
    CU(cuKernelGetFunction(&f, k), ERROR_INVALID_CONTEXT);
    CU(cuLibraryGetGlobal(&p, &bytes, l, "g"), ERROR_INVALID_CONTEXT);
    OK(cuLibraryUnload(l));
    CU(cuLibraryUnload(l), ERROR_INVALID_HANDLE);
    CU(cuKernelGetName(&name, k), ERROR_INVALID_HANDLE);
}

static void kernel_is_launched_by_its_handle(void **state)
{
    CUlibrary l = library(CODE);
    CUkernel k = kernel(l, "peek");
    CUcontext other;
    CUfunction f, same;
    CUmodule m;
    int v;

    (void)state;
    assert_int_equal(peek(k), 5);
    assert_int_equal(peek(k), 6);
    /* Another context has variables of its own. */
    OK(cuCtxCreate(&other, 0, 0));
    assert_int_equal(peek(k), 5);
    OK(cuKernelGetFunction(&f, k));
    OK(cuLibraryGetModule(&m, l));
    OK(cuModuleGetFunction(&same, m, "peek"));
    assert_ptr_equal(f, same);
    /* A handle of a kernel is a function for launches alone. */
    CU(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)k),
       ERROR_INVALID_HANDLE);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, (CUfunction)k, 32, 0));
    assert_true(v > 0);
    CU(cuModuleUnload(m), ERROR_NOT_PERMITTED);
    OK(cuCtxDestroy(other));
    assert_int_equal(peek(k), 7);
    OK(cuLibraryUnload(l));
    CU(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
       ERROR_INVALID_HANDLE);
}

static void library_has_variables(void **state)
{
    CUlibrary l = library(CODE);
    uint32_t v = 0, *host;
    CUdeviceptr p;
    size_t bytes;
    void *f;

    (void)state;
    OK(cuLibraryGetGlobal(&p, &bytes, l, "g"));
    assert_int_equal(bytes, 4);
    OK(cuMemcpyDtoH(&v, p, 4));
    assert_int_equal(v, 5);
    CU(cuLibraryGetGlobal(NULL, NULL, l, "g"), ERROR_INVALID_VALUE);
    CU(cuLibraryGetGlobal(&p, &bytes, l, "h"), ERROR_NOT_FOUND);
    CU(cuLibraryGetManaged(&p, &bytes, l, "g"), ERROR_NOT_FOUND);
    OK(cuLibraryGetManaged(&p, &bytes, l, "m"));
    assert_int_equal(bytes, 8);
    host = (uint32_t *)(uintptr_t)p;
    assert_int_equal(host[1], 4);
    CU(cuLibraryGetUnifiedFunction(&f, l, "peek"), ERROR_INVALID_VALUE);
    OK(cuLibraryUnload(l));
}

static void attributes_are_kept_for_every_context(void **state)
{
    CUlibrary l = library(CODE);
    CUkernel k = kernel(l, "peek");
    CUcontext other;
    CUfunction f;
    int v;

    (void)state;
    OK(cuKernelSetAttribute(8, 100000, k, 0));
    CU(cuKernelSetAttribute(8, 300000, k, 0), ERROR_INVALID_VALUE);
    CU(cuKernelSetAttribute(0, 1, k, 0), ERROR_INVALID_VALUE);
    CU(cuKernelSetAttribute(9, 101, k, 0), ERROR_INVALID_VALUE);
    CU(cuKernelSetAttribute(9, 50, k, 7), ERROR_INVALID_DEVICE);
    OK(cuKernelSetAttribute(9, 50, k, 0));
    OK(cuCtxCreate(&other, 0, 0));
    OK(cuKernelGetFunction(&f, k));
    OK(cuFuncGetAttribute(&v, 8, f));
    assert_int_equal(v, 100000);
    OK(cuFuncGetAttribute(&v, 9, f));
    assert_int_equal(v, 50);
    CU(cuKernelGetAttribute(&v, 99, k, 0), ERROR_INVALID_VALUE);
    CU(cuKernelGetAttribute(&v, 8, k, 9), ERROR_INVALID_DEVICE);
    OK(cuKernelGetAttribute(&v, 8, k, 0));
    assert_int_equal(v, 100000);
    OK(cuKernelSetCacheConfig(k, 1, 0));
    CU(cuKernelSetCacheConfig(k, 9, 0), ERROR_INVALID_VALUE);
    OK(cuLibraryUnload(l));
}

static void unload_waits_for_kernels(void **state)
{
    CUlibrary l = library(HEAD STAMP);
    CUdeviceptr out = sim_alloc(16);
    uint64_t t[2];

    (void)state;
    sim_stamp((CUfunction)kernel(l, "stamp"), 1, 1, NULL, 0, out, 5000000, 0,
              0);
    OK(cuLibraryUnload(l));
    OK(cuMemcpyDtoH(t, out, sizeof t));
    assert_true(t[1] - t[0] >= 5000000);
}

static void refused_code_makes_no_library(void **state)
{
    CUlibraryOption option[] = { CU_LIBRARY_BINARY_IS_PRESERVED };
    void *value[] = { (void *)1 };
    CUlibrary l = NULL;
    CUkernel k;

    (void)state;
    CU(cuLibraryLoadData(&l, NULL, NULL, NULL, 0, NULL, NULL, 0),
       ERROR_INVALID_VALUE);
    CU(cuLibraryLoadData(&l, HEAD "rubbish", NULL, NULL, 0, NULL, NULL, 0),
       ERROR_INVALID_PTX);
    CU(cuLibraryLoadFromFile(&l, "/nonexistent", NULL, NULL, 0, NULL, NULL, 0),
       ERROR_FILE_NOT_FOUND);
    CU(cuLibraryGetKernel(&k, NULL, "k"), ERROR_INVALID_HANDLE);
    OK(cuLibraryLoadData(&l, CODE, NULL, NULL, 0, option, value, 1));
    OK(cuLibraryUnload(l));
    option[0] = 9;
    CU(cuLibraryLoadData(&l, CODE, NULL, NULL, 0, option, value, 1),
       ERROR_INVALID_VALUE);
}

static CUresult whole(void *counting)
{
    const struct counting *c = counting;
    long live = c->live;
    CUlibrary l;
    CUkernel k;
    CUmodule m;
    CUresult r = fgs__sim_cuLibraryLoadData(&l, CODE, NULL, NULL, 0, NULL,
                                            NULL, 0);

    if (r)
        return r;
    r = fgs__sim_cuLibraryGetKernel(&k, l, "peek");
    if (!r)
        r = fgs__sim_cuKernelSetAttribute(9, 50, k, 0);
    if (!r)
        r = fgs__sim_cuLibraryGetModule(&m, l);
    fgs__sim_cuLibraryUnload(l);
    /* Also a success leaves nothing but a table that grew. */
    assert_in_range(c->live - live, 0, 1);
    return r;
}

static void failing_allocation_leaves_nothing_behind(void **state)
{
    struct counting c = { 0 };
    fgs_allocator a;

    (void)state;
    s = sim_counted(&c, &a);
    sim_fail_each(&c, whole, &c, 20);
    sim_counted_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(library_needs_no_context),
        TEST(kernel_is_launched_by_its_handle),
        TEST(library_has_variables),
        TEST(attributes_are_kept_for_every_context),
        TEST(unload_waits_for_kernels),
        TEST(refused_code_makes_no_library),
        TEST(failing_allocation_leaves_nothing_behind),
    };

    return cmocka_run_group_tests_name("sim_library", tests, NULL, NULL);
}
