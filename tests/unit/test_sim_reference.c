/* test_sim_reference.c -- texture and surface references of old programs
 *
 * Expected values are the elements themselves, by hand.
 */
#include "sim_calls.h"

/* tex[lane], and the element at (lane % 4 + dx, lane / 4 + 0.5); surf[lane]
 * is read and 1 added to it. */
#define TEXT                                                                   \
    HEAD                                                                       \
    ".global .texref tex;\n.global .texref spare;\n.global .surfref surf;\n"   \
    ".global .u32 plain;\n"                                                    \
    ".visible .entry line(.param .u64 p_out)\n{\n"                             \
    "    .reg .u64 %out;\n    .reg .u32 %t;\n    .reg .f32 %f<5>;\n"           \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    mov.u32 %t, %tid.x;\n"                                                \
    "    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%t}];\n"               \
    "    mad.wide.u32 %out, %t, 4, %out;\n"                                    \
    "    st.global.f32 [%out], %f1;\n    ret;\n}\n"                            \
    ".visible .entry plane(.param .u64 p_out, .param .f32 p_dx)\n{\n"          \
    "    .reg .u64 %out;\n    .reg .u32 %t, %k;\n    .reg .f32 %f<5>, %x, %y;" \
    "\n    .reg .f32 %dx;\n"                                                   \
    "    ld.param.u64 %out, [p_out];\n    ld.param.f32 %dx, [p_dx];\n"         \
    "    mov.u32 %t, %tid.x;\n"                                                \
    "    and.b32 %k, %t, 3;\n    cvt.rn.f32.u32 %x, %k;\n"                     \
    "    add.rn.f32 %x, %x, %dx;\n"                                            \
    "    shr.u32 %k, %t, 2;\n    cvt.rn.f32.u32 %y, %k;\n"                     \
    "    add.rn.f32 %y, %y, 0f3F000000;\n"                                     \
    "    tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%x, %y}];\n"           \
    "    mad.wide.u32 %out, %t, 4, %out;\n"                                    \
    "    st.global.f32 [%out], %f1;\n    ret;\n}\n"                            \
    ".visible .entry count(.param .u64 p_out)\n{\n"                            \
    "    .reg .u64 %out;\n    .reg .u32 %t, %x, %v;\n"                         \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    mov.u32 %t, %tid.x;\n    shl.b32 %x, %t, 2;\n"                        \
    "    suld.b.1d.b32.trap {%v}, [surf, {%x}];\n"                             \
    "    mad.wide.u32 %out, %t, 4, %out;\n"                                    \
    "    st.global.u32 [%out], %v;\n    add.u32 %v, %v, 1;\n"                  \
    "    sust.b.1d.b32.trap [surf, {%x}], {%v};\n    ret;\n}\n"

enum { N = 8 };

static struct sim s;
static CUtexref tex;
static CUdeviceptr memory, out; /* memory: 4096 bytes                        */
static const float numbers[N] = { 1, 2, 4, 8, 16, 32, 64, 128 };

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, TEXT);
    OK(cuMemAlloc(&memory, 4096));
    OK(cuMemAlloc(&out, 2 * N * sizeof(float)));
    OK(cuMemcpyHtoD(memory, numbers, sizeof numbers));
    OK(cuModuleGetTexRef(&tex, s.module, "tex"));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static CUresult launch(const char *name, CUdeviceptr to, float dx,
                       unsigned threads, CUstream stream)
{
    void *params[] = { &to, &dx };

    return fgs__sim_cuLaunchKernel(sim_func(&s, name), 1, 1, 1, threads, 1, 1,
                                   0, stream, params, NULL);
}

static void check(CUdeviceptr from, const float *want, unsigned n)
{
    float got[N];

    OK(cuMemcpyDtoH(got, from, n * sizeof *got));
    for (unsigned k = 0; k < n; k++)
        if (memcmp(&got[k], &want[k], sizeof *got))
            fail_msg("[%u] is %g, not %g", k, (double)got[k],
                     (double)want[k]);
}

static void run(const char *name, float dx, const float *want, unsigned n)
{
    assert_int_equal(launch(name, out, dx, n, NULL), 0);
    OK(cuCtxSynchronize());
    check(out, want, n);
}

static CUarray make_array(const void *from, size_t width, size_t height,
                          unsigned format, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { width, height, 0, format, 1, flags };
    CUDA_MEMCPY2D m = { 0 };
    CUarray a;

    OK(cuArray3DCreate(&a, &d));
    m.srcMemoryType = CU_MEMORYTYPE_HOST;
    m.srcHost = from;
    m.srcPitch = m.WidthInBytes = width * 4;
    m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    m.dstArray = a;
    m.Height = height ? height : 1;
    OK(cuMemcpy2D(&m));
    return a;
}

static void linear_memory_is_read_through_its_reference(void **state)
{
    const float shared[3] = { 0, 1, 0.2f }; /* of 255 */
    const unsigned char bytes[3] = { 0, 255, 51 };
    CUdeviceptr ptr;
    size_t off = 9;

    (void)state;
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefSetAddress(&off, tex, memory, sizeof numbers));
    assert_int_equal(off, 0);
    run("line", 0, numbers, N);
    OK(cuTexRefGetAddress(&ptr, tex));
    assert_int_equal(ptr, memory);

    OK(cuMemcpyHtoD(memory, bytes, sizeof bytes));
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_UNSIGNED_INT8, 1));
    OK(cuTexRefSetAddress(NULL, tex, memory, sizeof bytes));
    run("line", 0, shared, 3);
}

static void what_begins_elsewhere_has_an_offset(void **state)
{
    const float want[4] = { 1, 2, 4, 8 };
    CUdeviceptr ptr;
    size_t off = 0;

    (void)state;
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 1));
    CU(cuTexRefSetAddress(NULL, tex, memory + 12, 20), ERROR_INVALID_VALUE);
    OK(cuTexRefSetAddress(&off, tex, memory + 12, 20));
    assert_int_equal(off, 12);
    OK(cuTexRefGetAddress(&ptr, tex));
    assert_int_equal(ptr, memory + 12);
    run("line", 0, want, 4);
}

static void arrays_are_read_in_two_dimensions(void **state)
{
    const float between[N] = { 1, 1.5, 3, 6, 16, 24, 48, 96 };
    const float folded[N] = { 16, 16, 16, 16, 1, 1, 1, 1 };
    const float clamped[N] = { 16, 128, 128, 128, 16, 128, 128, 128 };
    CUarray a = make_array(numbers, 4, 2, CU_AD_FORMAT_FLOAT, 0), got;

    (void)state;
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefGetArray(&got, tex));
    assert_ptr_equal(got, a);
    run("plane", 0.5f, numbers, N);
    OK(cuTexRefSetFilterMode(tex, CU_TR_FILTER_MODE_LINEAR));
    run("plane", 0, between, N);
    OK(cuTexRefSetFilterMode(tex, CU_TR_FILTER_MODE_POINT));
    OK(cuTexRefSetFlags(tex, CU_TRSF_NORMALIZED_COORDINATES));
    run("plane", 0.125f, clamped, N);
    OK(cuTexRefSetAddressMode(tex, 0, CU_TR_ADDRESS_MODE_WRAP));
    OK(cuTexRefSetAddressMode(tex, 1, CU_TR_ADDRESS_MODE_MIRROR));
    run("plane", 0.125f, folded, N);
}

static void memory_is_read_in_two_dimensions(void **state)
{
    CUDA_ARRAY_DESCRIPTOR d = { 4, 2, CU_AD_FORMAT_FLOAT, 1 };
    unsigned format;
    CUarray a;
    int n;

    (void)state;
    OK(cuMemcpyHtoD(memory + 512, numbers + 4, 16));
    OK(cuTexRefSetAddress2D_v3(tex, &d, memory, 512));
    run("plane", 0.5f, numbers, N);
    OK(cuTexRefGetFormat(&format, &n, tex));
    assert_int_equal(format, CU_AD_FORMAT_FLOAT);
    assert_int_equal(n, 1);
    CU(cuTexRefGetArray(&a, tex), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFormat(tex, CU_AD_FORMAT_HALF, 1), ERROR_INVALID_VALUE);
    CU(cuTexRefSetAddress2D(tex, &d, memory, 511), ERROR_INVALID_VALUE);
    CU(cuTexRefSetAddress2D(tex, &d, memory + 4, 512), ERROR_INVALID_VALUE);
    CU(cuTexRefSetAddress2D(tex, NULL, memory, 512), ERROR_INVALID_VALUE);
    run("plane", 0.5f, numbers, N);
}

static void surfaces_are_read_and_written(void **state)
{
    const uint32_t first[4] = { 5, 6, 7, 8 }, second[4] = { 6, 7, 8, 9 };
    CUarray a = make_array(first, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32,
                           CUDA_ARRAY3D_SURFACE_LDST);
    CUarray other = make_array(first, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 0);
    CUarray got;
    CUsurfref surf;
    float want[4];

    (void)state;
    OK(cuModuleGetSurfRef(&surf, s.module, "surf"));
    CU(cuSurfRefGetArray(&got, surf), ERROR_INVALID_VALUE);
    CU(cuSurfRefSetArray(surf, other, 0), ERROR_INVALID_VALUE);
    CU(cuSurfRefSetArray(surf, a, 1), ERROR_INVALID_VALUE);
    OK(cuSurfRefSetArray(surf, a, 0));
    OK(cuSurfRefGetArray(&got, surf));
    assert_ptr_equal(got, a);
    memcpy(want, first, sizeof want);
    run("count", 0, want, 4);
    memcpy(want, second, sizeof want);
    run("count", 0, want, 4);
}

static void wait_for_it(void *flag)
{
    while (!atomic_load((atomic_int *)flag))
        ;
}

static void a_launch_has_what_was_bound_before_it(void **state)
{
    const float others[N] = { 3, 5, 7, 9, 11, 13, 15, 17 };
    atomic_int go = 0;

    (void)state;
    OK(cuMemcpyHtoD(memory + 1024, others, sizeof others));
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefSetAddress(NULL, tex, memory, sizeof numbers));
    OK(cuLaunchHostFunc(NULL, wait_for_it, &go));
    assert_int_equal(launch("line", out, 0, N, NULL), 0);
    OK(cuTexRefSetAddress(NULL, tex, memory + 1024, sizeof others));
    assert_int_equal(launch("line", out + sizeof numbers, 0, N, NULL), 0);
    OK(cuTexRefSetAddress(NULL, tex, memory + 2048, sizeof others));
    atomic_store(&go, 1);
    OK(cuCtxSynchronize());
    check(out, numbers, N);
    check(out + sizeof numbers, others, N);
}

static void ends(const char *name)
{
    assert_int_equal(launch(name, out, 0, N, NULL), 0);
    CU(cuCtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
}

static void one_that_is_not_bound_ends_its_kernel(void **state)
{
    (void)state;
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 1));
    ends("line");
}

static void one_without_a_format_ends_its_kernel(void **state)
{
    (void)state;
    OK(cuTexRefSetAddress(NULL, tex, memory, sizeof numbers));
    ends("line");
}

static void one_whose_array_is_gone_ends_its_kernel(void **state)
{
    CUarray a = make_array(numbers, 4, 2, CU_AD_FORMAT_FLOAT, 0);

    (void)state;
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuArrayDestroy(a));
    ends("plane");
}

/* What an H200's driver answers. */
static void one_in_a_graph_is_refused(void **state)
{
    CUDA_KERNEL_NODE_PARAMS node = { 0 };
    CUgraphNode added;
    CUstream stream;
    CUgraph graph;

    (void)state;
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefSetAddress(NULL, tex, memory, sizeof numbers));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(launch("line", out, 0, N, stream),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(stream, &graph),
       ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuGraphCreate(&graph, 0));
    node.func = sim_func(&s, "line");
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    CU(cuGraphAddKernelNode_v2(&added, graph, NULL, 0, &node),
       ERROR_NOT_SUPPORTED);
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
}

/* Defaults and codes of an H200's driver. */
static void levels_and_borders_are_said(void **state)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 4, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    float color[4] = { 1, 2, 3, 4 }, got[4] = { 9, 9, 9, 9 }, least, most;
    CUmipmappedArray m, bound;
    CUfilter_mode mode;
    int n;

    (void)state;
    OK(cuTexRefGetMipmapLevelClamp(&least, &most, tex));
    assert_true(least == 0 && most == 0);
    OK(cuTexRefSetMipmapLevelClamp(tex, 5, 1));
    OK(cuTexRefGetMipmapLevelClamp(&least, &most, tex));
    assert_true(least == 5 && most == 1);
    CU(cuTexRefGetMipmapLevelClamp(&least, NULL, tex), ERROR_INVALID_VALUE);
    OK(cuTexRefSetMaxAnisotropy(tex, 99));
    OK(cuTexRefGetMaxAnisotropy(&n, tex));
    assert_int_equal(n, 99);
    CU(cuTexRefSetMaxAnisotropy(NULL, 1), ERROR_INVALID_HANDLE);
    OK(cuTexRefSetMipmapLevelBias(tex, 100));
    OK(cuTexRefGetMipmapLevelBias(&least, tex));
    assert_true(least == 100);
    CU(cuTexRefSetMipmapFilterMode(tex, 2), ERROR_INVALID_VALUE);
    OK(cuTexRefSetMipmapFilterMode(tex, 1));
    OK(cuTexRefGetMipmapFilterMode(&mode, tex));
    assert_int_equal(mode, 1);
    OK(cuTexRefSetBorderColor(tex, color));
    CU(cuTexRefSetBorderColor(tex, NULL), ERROR_INVALID_VALUE);
    OK(cuTexRefGetBorderColor(got, tex));
    assert_memory_equal(got, color, sizeof got);
    OK(cuMipmappedArrayCreate(&m, &d, 3));
    CU(cuTexRefGetMipmappedArray(&bound, tex), ERROR_INVALID_VALUE);
    CU(cuTexRefSetMipmappedArray(tex, NULL, 1), ERROR_INVALID_HANDLE);
    CU(cuTexRefSetMipmappedArray(tex, m, 2), ERROR_INVALID_VALUE);
    OK(cuTexRefSetMipmappedArray(tex, m, 0));
    OK(cuTexRefGetMipmappedArray(&bound, tex));
    assert_true(bound == m);
    OK(cuMipmappedArrayDestroy(m));
}

static void wrong_calls_are_refused(void **state)
{
    CUtexref ref;
    CUsurfref surf;
    CUdeviceptr ptr;
    CUarray a = make_array(numbers, 4, 2, CU_AD_FORMAT_FLOAT, 0);
    unsigned v;
    int n;

    (void)state;
    CU(cuModuleGetTexRef(&ref, s.module, "surf"), ERROR_NOT_FOUND);
    CU(cuModuleGetTexRef(&ref, s.module, "plain"), ERROR_NOT_FOUND);
    CU(cuModuleGetTexRef(&ref, s.module, "none"), ERROR_NOT_FOUND);
    CU(cuModuleGetSurfRef(&surf, s.module, "tex"), ERROR_NOT_FOUND);
    CU(cuModuleGetTexRef(NULL, s.module, "tex"), ERROR_INVALID_VALUE);
    CU(cuModuleGetTexRef(&ref, s.module, NULL), ERROR_INVALID_VALUE);
    CU(cuTexRefSetArray(tex, a, 0), ERROR_INVALID_VALUE);
    CU(cuTexRefSetArray(tex, NULL, 1), ERROR_INVALID_VALUE);
    CU(cuTexRefGetFormat(&v, &n, tex), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFormat(tex, 4, 1), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 3), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, -1), ERROR_INVALID_VALUE);
    CU(cuTexRefSetAddressMode(tex, 3, 0), ERROR_INVALID_VALUE);
    CU(cuTexRefSetAddressMode(tex, -1, 0), ERROR_INVALID_VALUE);
    CU(cuTexRefSetAddressMode(tex, 0, 4), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFilterMode(tex, 2), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFlags(tex, CU_TRSF_SEAMLESS_CUBEMAP), ERROR_INVALID_VALUE);
    CU(cuTexRefSetFlags(tex, 0x80), ERROR_INVALID_VALUE);
    OK(cuTexRefSetFlags(tex, CU_TRSF_SRGB));
    OK(cuTexRefSetFlags(tex, 0));
    CU(cuTexRefGetAddress(&ptr, tex), ERROR_INVALID_VALUE);
    CU(cuTexRefDestroy(tex), ERROR_INVALID_VALUE);
    CU(cuParamSetTexRef(sim_func(&s, "line"), 0, tex), ERROR_INVALID_VALUE);
    OK(cuParamSetTexRef(sim_func(&s, "line"), -1, tex));
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    CU(cuTexRefSetFormat(tex, CU_AD_FORMAT_SIGNED_INT32, 1),
       ERROR_NOT_SUPPORTED);
}

static void references_say_what_they_were_told(void **state)
{
    CUtexref ref, again;
    unsigned v;

    (void)state;
    OK(cuModuleGetTexRef(&again, s.module, "tex"));
    assert_ptr_equal(again, tex);
    OK(cuModuleGetTexRef(&again, s.module, "spare"));
    assert_ptr_not_equal(again, tex);
    OK(cuTexRefCreate(&ref));
    OK(cuTexRefSetFlags(ref, CU_TRSF_READ_AS_INTEGER));
    OK(cuTexRefGetFlags(&v, ref));
    assert_int_equal(v, CU_TRSF_READ_AS_INTEGER);
    OK(cuTexRefSetFilterMode(ref, CU_TR_FILTER_MODE_LINEAR));
    OK(cuTexRefGetFilterMode(&v, ref));
    assert_int_equal(v, CU_TR_FILTER_MODE_LINEAR);
    OK(cuTexRefSetAddressMode(ref, 2, CU_TR_ADDRESS_MODE_MIRROR));
    OK(cuTexRefGetAddressMode(&v, ref, 2));
    assert_int_equal(v, CU_TR_ADDRESS_MODE_MIRROR);
    OK(cuTexRefGetAddressMode(&v, tex, 2));
    assert_int_equal(v, CU_TR_ADDRESS_MODE_CLAMP);
    CU(cuParamSetTexRef(sim_func(&s, "line"), -1, ref), ERROR_INVALID_VALUE);
    OK(cuTexRefDestroy(ref));
    CU(cuTexRefDestroy(ref), ERROR_INVALID_VALUE);
    OK(cuModuleUnload(s.module));
    CU(cuTexRefSetFlags(tex, 0), ERROR_INVALID_VALUE);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(linear_memory_is_read_through_its_reference),
        T(what_begins_elsewhere_has_an_offset),
        T(arrays_are_read_in_two_dimensions),
        T(memory_is_read_in_two_dimensions),
        T(surfaces_are_read_and_written),
        T(a_launch_has_what_was_bound_before_it),
        T(one_that_is_not_bound_ends_its_kernel),
        T(one_without_a_format_ends_its_kernel),
        T(one_whose_array_is_gone_ends_its_kernel),
        T(one_in_a_graph_is_refused),
        T(levels_and_borders_are_said),
        T(wrong_calls_are_refused),
        T(references_say_what_they_were_told),
    };

    return cmocka_run_group_tests_name("sim_reference", tests, NULL, NULL);
}
