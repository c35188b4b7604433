/* test_sim_array.c -- arrays: shapes, copies, life
 *
 * What is taken and what is refused is what an H200 answered (driver 580).
 */
#include "sim_calls.h"

enum { F32 = CU_AD_FORMAT_FLOAT, U8 = CU_AD_FORMAT_UNSIGNED_INT8 };

static struct sim s;

static int open_device(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, NULL);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    sim_close(&s);
    return 0;
}

static CUarray array(size_t width, size_t height, size_t depth,
                     unsigned format, unsigned channels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { width, height, depth, format, channels,
                                  flags };
    CUarray a = NULL;

    OK(cuArray3DCreate(&a, &d));
    return a;
}

static void shapes_are_those_of_a_gpu(void **state)
{
    static const struct {
        CUDA_ARRAY3D_DESCRIPTOR d;
        CUresult want;
    } rows[] = {
        { { 16, 8, 0, F32, 1, 0 }, CUDA_SUCCESS },
        { { 16, 0, 0, U8, 4, 2 }, CUDA_SUCCESS },
        { { 0, 0, 0, F32, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 0, 4, 0, F32, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 0, 4, F32, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 0, 4, F32, 1, 1 }, CUDA_SUCCESS },
        { { 4, 4, 4, F32, 1, 1 }, CUDA_SUCCESS },
        { { 4, 4, 0, F32, 1, 1 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 6, F32, 1, 4 }, CUDA_SUCCESS },
        { { 4, 4, 5, F32, 1, 4 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 8, 6, F32, 1, 4 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 12, F32, 1, 5 }, CUDA_SUCCESS },
        { { 4, 4, 7, F32, 1, 5 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 0, F32, 3, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 0, F32, 0, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 0, 5, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 0, F32, 1, 8 }, CUDA_SUCCESS },
        { { 4, 4, 4, F32, 1, 8 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 0, F32, 1, 0x10 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 0, F32, 1, 0x1000 }, CUDA_ERROR_INVALID_VALUE },
        { { 4, 4, 4, F32, 4, 2 }, CUDA_SUCCESS },
        { { 131072, 0, 0, F32, 1, 0 }, CUDA_SUCCESS },
        { { 131073, 0, 0, F32, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 16, 65537, 0, F32, 1, 0 }, CUDA_ERROR_INVALID_VALUE },
        { { 16, 0, 2049, F32, 1, 1 }, CUDA_ERROR_INVALID_VALUE },
        { { 32769, 0, 0, F32, 1, 2 }, CUDA_ERROR_INVALID_VALUE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        CUDA_ARRAY3D_DESCRIPTOR d;
        CUDA_ARRAY_DESCRIPTOR flat;
        CUarray a = NULL;
        CUresult r = fgs__sim_cuArray3DCreate(&a, &rows[i].d);

        if (r != rows[i].want)
            print_error("row %d: %d\n", (int)i, (int)r);
        assert_int_equal(r, rows[i].want);
        if (r)
            continue;
        OK(cuArray3DGetDescriptor(&d, a));
        assert_memory_equal(&d, &rows[i].d, sizeof d);
        OK(cuArrayGetDescriptor(&flat, a));
        assert_int_equal(flat.Width, d.Width);
        assert_int_equal(flat.Height, d.Height);
        OK(cuArrayDestroy(a));
        CU(cuArrayDestroy(a), ERROR_INVALID_HANDLE);
    }
    CU(cuArray3DCreate(NULL, &rows[0].d), ERROR_INVALID_VALUE);
    CU(cuArrayCreate(NULL, NULL), ERROR_INVALID_VALUE);
}

static void copy_of_one_dimension_stays_in_the_first_row(void **state)
{
    CUarray a = array(16, 8, 0, F32, 1, 0), b = array(16, 0, 0, U8, 4, 2);
    CUdeviceptr d = sim_alloc(64);
    char h[513], back[64] = { 0 };

    (void)state;
    for (int i = 0; i < 513; i++)
        h[i] = (char)(i * 7);
    OK(cuMemcpyHtoA(a, 0, h, 64));
    CU(cuMemcpyHtoA(a, 32, h, 64), ERROR_INVALID_VALUE);
    CU(cuMemcpyHtoA(a, 0, h, 128), ERROR_INVALID_VALUE);
    CU(cuMemcpyHtoA(a, 64, h, 64), ERROR_INVALID_VALUE);
    CU(cuMemcpyHtoA(NULL, 0, h, 64), ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoA(a, 0, h, 0));
    OK(cuMemcpyAtoD(d, a, 0, 64));
    OK(cuMemcpyDtoA(b, 0, d, 64));
    OK(cuMemcpyAtoA(a, 4, b, 8, 16));
    OK(cuMemcpyAtoHAsync(back, a, 0, 64, NULL));
    OK(cuCtxSynchronize());
    assert_memory_equal(back, h, 4);
    assert_memory_equal(back + 4, h + 8, 16);
    assert_memory_equal(back + 20, h + 20, 44);
    OK(cuMemcpyHtoAAsync(a, 0, h + 100, 64, NULL));
    OK(cuMemcpyAtoH(back, a, 0, 64));
    assert_memory_equal(back, h + 100, 64);
}

static void copy_of_three_dimensions_names_elements_of_arrays(void **state)
{
    CUarray a = array(4, 3, 2, U8, 1, 0);
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a, .WidthInBytes = 4, .Height = 3,
                        .Depth = 2 };
    char h[24], back[2] = { 0 };

    (void)state;
    for (int i = 0; i < 24; i++)
        h[i] = (char)i;
    c.srcHost = h;
    OK(cuMemcpy3D(&c));
    c.Depth = 3;
    CU(cuMemcpy3D(&c), ERROR_INVALID_VALUE);
    c.Depth = 1;
    c.dstLOD = 1;
    CU(cuMemcpy3D(&c), ERROR_INVALID_VALUE);
    c = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a,
                         .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back,
                         .WidthInBytes = 2, .Height = 1, .Depth = 1 };
    c.srcXInBytes = 1;
    c.srcY = 2;
    c.srcZ = 1;
    OK(cuMemcpy3D(&c));
    assert_int_equal(back[0], 12 + 8 + 1);
    assert_int_equal(back[1], 12 + 8 + 2);
    c.srcXInBytes = 3;
    CU(cuMemcpy3D(&c), ERROR_INVALID_VALUE);
}

/* 62 bytes and an offset of 2 are not whole elements: no matter. */
static void copy_of_two_dimensions_ends_within_the_array(void **state)
{
    CUarray a = array(16, 8, 0, F32, 1, 0);
    static char h[8 * 64];
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = h,
                        .srcPitch = 64, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a, .WidthInBytes = 62, .Height = 8 };

    (void)state;
    OK(cuMemcpy2D(&c));
    c.dstXInBytes = 2;
    OK(cuMemcpy2D(&c));
    c.dstXInBytes = 4;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c.dstXInBytes = 0;
    c.dstY = 1;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
    c.dstY = 0;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
}

static void graph_copies_to_an_array(void **state)
{
    CUarray a = array(4, 0, 0, F32, 1, 0);
    char h[16] = "fifteen letters", back[16] = { 0 };
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = h,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a,
                        .WidthInBytes = 16, .Height = 1, .Depth = 1 };
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;

    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &c, s.ctx));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemcpyAtoH(back, a, 0, 16));
    assert_memory_equal(back, h, 16);
}

static void array_counts_and_comes_back(void **state)
{
    size_t before, with, after, total;
    CUarray a;

    (void)state;
    OK(cuMemGetInfo(&before, &total));
    a = array(1024, 1024, 0, F32, 4, 0);
    OK(cuMemGetInfo(&with, &total));
    assert_int_equal(before - with, 16 << 20);
    OK(cuArrayDestroy(a));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_device, close_device)
    const struct CMUnitTest tests[] = {
        TEST(shapes_are_those_of_a_gpu),
        TEST(copy_of_one_dimension_stays_in_the_first_row),
        TEST(copy_of_two_dimensions_ends_within_the_array),
        TEST(copy_of_three_dimensions_names_elements_of_arrays),
        TEST(graph_copies_to_an_array),
        TEST(array_counts_and_comes_back),
    };

    return cmocka_run_group_tests_name("sim_array", tests, NULL, NULL);
}
