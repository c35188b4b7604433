/* test_sim_batch.c -- batches, copies with attributes, pools by place
 *
 * The errors are those of an H200 (driver 580) for the same calls.
 */
#include "sim_calls.h"

enum { BYTES = 4096 };

static struct sim s;
static CUdeviceptr x, y;
static CUstream t;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    s = sim_open(&cfg, HEAD AFFINE);
    x = sim_alloc(BYTES);
    y = sim_alloc(BYTES);
    OK(cuMemsetD8(x, 0, BYTES));
    OK(cuMemsetD8(y, 0, BYTES));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t v = 0;

    OK(cuStreamSynchronize(t));
    OK(cuMemcpyDtoH(&v, at, 4));
    return v;
}

/* --------------------------------------------------------------- batches -- */

static CUdeviceptr dst[3], src[3];
static size_t bytes[3], idx[3];
static CUmemcpyAttributes attr[3];

static void three(void)
{
    for (unsigned i = 0; i < 3; i++) {
        OK(cuMemsetD32(y + 64 * i, 5 + i, 4));
        dst[i] = x + 64 * i;
        src[i] = y + 64 * i;
        bytes[i] = 16;
        idx[i] = i;
        attr[i] = (CUmemcpyAttributes){ .srcAccessOrder = i + 1 };
    }
    OK(cuCtxSynchronize());
}

static CUresult all(size_t n, size_t attrs, CUstream stream)
{
    return fgs__sim_cuMemcpyBatchAsync(dst, src, bytes, n, attr, idx, attrs,
                                       stream);
}

static void batch_copies_every_line(void **state)
{
    uint32_t host[8] = { 81, 0, 0, 0, 82 };

    (void)state;
    three();
    assert_int_equal(all(3, 1, t), CUDA_SUCCESS);
    assert_int_equal(word(x), 5);
    assert_int_equal(word(x + 64), 6);
    assert_int_equal(word(x + 128 + 12), 7);
    assert_int_equal(word(x + 128 + 16), 0);
    /* From and to pageable memory, each attribute for one line. */
    src[1] = (uintptr_t)host;
    dst[2] = (uintptr_t)(host + 4);
    assert_int_equal(all(3, 3, t), CUDA_SUCCESS);
    assert_int_equal(host[4], 7);
    host[0] = 0; /* is the program's again */
    assert_int_equal(word(x + 64), 81);
    assert_int_equal(all(3, 3, CU_STREAM_PER_THREAD_), CUDA_SUCCESS);
}

static void batch_refuses_bad_lists(void **state)
{
    (void)state;
    three();
#define BAD(n, attrs, stream)                                                  \
    assert_int_equal(all(n, attrs, stream), CUDA_ERROR_INVALID_VALUE)
    BAD(3, 1, NULL);
    BAD(3, 1, CU_STREAM_LEGACY_);
    BAD(0, 0, t);
    BAD(0, 1, t);
    BAD(3, 0, t);
    BAD(2, 3, t);
    idx[0] = 1;
    BAD(3, 1, t);
    idx[0] = idx[1] = 0;
    BAD(3, 2, t);
    idx[1] = 3;
    BAD(3, 2, t);
    idx[1] = 1;
    attr[0].srcAccessOrder = 0;
    BAD(3, 1, t);
    attr[0].srcAccessOrder = 4;
    BAD(3, 1, t);
    attr[0].srcAccessOrder = 1;
    attr[0].flags = 2;
    BAD(3, 1, t);
    attr[0].flags = 0;
    attr[0].srcLocHint.type = 77;
    BAD(3, 1, t);
    attr[0].srcLocHint.type = 0;
    bytes[1] = 0;
    BAD(3, 1, t);
    bytes[1] = BYTES + 1;
    BAD(3, 1, t);
    CU(cuMemcpyBatchAsync(NULL, src, bytes, 3, attr, idx, 1, t),
       ERROR_INVALID_VALUE);
    CU(cuMemcpyBatchAsync(dst, NULL, bytes, 3, attr, idx, 1, t),
       ERROR_INVALID_VALUE);
    CU(cuMemcpyBatchAsync(dst, src, NULL, 3, attr, idx, 1, t),
       ERROR_INVALID_VALUE);
    CU(cuMemcpyBatchAsync(dst, src, bytes, 3, NULL, idx, 1, t),
       ERROR_INVALID_VALUE);
    CU(cuMemcpyBatchAsync(dst, src, bytes, 3, attr, NULL, 1, t),
       ERROR_INVALID_VALUE);
    assert_int_equal(word(x), 0); /* no line of a refused batch is copied */
    bytes[1] = 16;
    attr[0].flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
    assert_int_equal(all(3, 1, t), CUDA_SUCCESS);
}

static void first_form_says_which_line_is_refused(void **state)
{
    size_t fail = 99;

    (void)state;
    three();
#define OLD(stream)                                                            \
    fgs__sim_cuMemcpyBatchAsync_v1(dst, src, bytes, 3, attr, idx, 1, &fail,    \
                                   stream)
    assert_int_equal(OLD(NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(fail, 99);
    assert_int_equal(OLD(t), CUDA_SUCCESS);
    assert_true(fail == SIZE_MAX);
    bytes[2] = BYTES;
    assert_int_equal(OLD(t), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(fail, 2);
    attr[0].srcAccessOrder = 0;
    assert_int_equal(OLD(t), CUDA_ERROR_INVALID_VALUE);
    assert_true(fail == SIZE_MAX);
}

/* A source on the device too is read while the call lasts. */
static void source_of_the_call_is_read_at_once(void **state)
{
    CUmemcpyAttributes a = { .srcAccessOrder = 2 };
    uint32_t *flag;
    CUdeviceptr f;

    (void)state;
    OK(cuMemHostAlloc((void **)&flag, 4, 0));
    *flag = 0;
    OK(cuMemHostGetDevicePointer(&f, flag, 0));
    OK(cuMemsetD32(y, 9, 1));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32(t, f, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemcpyWithAttributesAsync(x, y, 4, &a, t));
    a.srcAccessOrder = 1;
    OK(cuMemcpyWithAttributesAsync(x + 4, y, 4, &a, t));
    OK(cuMemsetD32(y, 10, 1));
    OK(cuStreamSynchronize(NULL));
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    assert_int_equal(word(x), 9);
    assert_int_equal(word(x + 4), 10);
    CU(cuMemcpyWithAttributesAsync(x, y, 4, NULL, t), ERROR_INVALID_VALUE);
    CU(cuMemcpyWithAttributesAsync(x, y, 0, &a, t), ERROR_INVALID_VALUE);
    OK(cuMemcpyWithAttributesAsync(x, y, 4, &a, NULL));
}

static CUDA_MEMCPY3D_BATCH_OP cube(void)
{
    CUDA_MEMCPY3D_BATCH_OP op = { .srcAccessOrder = 1 };

    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = y;
    op.dst.op.ptr.ptr = x;
    op.extent.width = 4;
    op.extent.height = op.extent.depth = 2;
    return op;
}

static void blocks_have_rows_and_layers(void **state)
{
    CUDA_MEMCPY3D_BATCH_OP op = cube();
    unsigned char v[BYTES], got[16];

    (void)state;
    for (unsigned i = 0; i < BYTES; i++)
        v[i] = (unsigned char)i;
    OK(cuMemcpyHtoD(y, v, BYTES));
    op.src.op.ptr.rowLength = 10;
    op.src.op.ptr.layerHeight = 3;
    OK(cuMemcpy3DBatchAsync(1, &op, 0, t));
    OK(cuStreamSynchronize(t));
    OK(cuMemcpyDtoH(got, x, 16));
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(got[i], i % 4 + i / 4 % 2 * 10 + i / 8 * 30);
    OK(cuMemsetD8(x, 0, 64));
    OK(cuMemcpy3DWithAttributesAsync(&op, 0, NULL));
    OK(cuMemcpyDtoH(got, x, 16));
    assert_int_equal(got[15], 43);
}

static void blocks_count_in_elements_of_an_array(void **state)
{
    const CUDA_ARRAY_DESCRIPTOR d = { 8, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1 };
    CUDA_MEMCPY3D_BATCH_OP op = cube();
    CUarray a;

    (void)state;
    OK(cuArrayCreate(&a, &d));
    OK(cuMemsetD32(y, 77, 64));
    OK(cuCtxSynchronize());
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    op.dst.op.array.array = a;
    op.dst.op.array.offset.x = 6;
    op.dst.op.array.offset.y = 1;
    op.dst.op.array.offset.z = 0;
    op.extent.width = op.extent.height = 2;
    op.extent.depth = 1;
    OK(cuMemcpy3DBatchAsync(1, &op, 0, t));
    OK(cuStreamSynchronize(t));
    op.src = op.dst;
    op.dst = cube().dst;
    OK(cuMemcpy3DBatchAsync(1, &op, 0, t));
    assert_int_equal(word(x + 12), 77);
    assert_int_equal(word(x + 16), 0);
    op.extent.width = 3; /* beyond the row */
    CU(cuMemcpy3DBatchAsync(1, &op, 0, t), ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
}

static void blocks_refuse_what_does_not_fit(void **state)
{
    CUDA_MEMCPY3D_BATCH_OP op;
    size_t fail = 9;

    (void)state;
#define WITH(change)                                                           \
    op = cube();                                                               \
    change;                                                                    \
    CU(cuMemcpy3DBatchAsync(1, &op, 0, t), ERROR_INVALID_VALUE)
    WITH(op.src.op.ptr.rowLength = 3);
    WITH(op.src.op.ptr.layerHeight = 1);
    WITH(op.extent.height = 0);
    WITH(op.srcAccessOrder = 0);
    WITH(op.src.type = 0);
    WITH(op.flags = 8);
    op = cube();
    CU(cuMemcpy3DBatchAsync(0, &op, 0, t), ERROR_INVALID_VALUE);
    CU(cuMemcpy3DBatchAsync(1, NULL, 0, t), ERROR_INVALID_VALUE);
    CU(cuMemcpy3DBatchAsync(1, &op, 1, t), ERROR_INVALID_VALUE);
    CU(cuMemcpy3DBatchAsync(1, &op, 0, NULL), ERROR_INVALID_VALUE);
    op.flags = 9;
    CU(cuMemcpy3DBatchAsync_v1(1, &op, &fail, 0, t), ERROR_INVALID_VALUE);
    assert_int_equal(fail, 0);
}

static void batch_is_not_captured(void **state)
{
    CUDA_MEMCPY3D_BATCH_OP op = cube();
    CUgraph g;

    (void)state;
    three();
    OK(cuStreamBeginCapture_v1(t));
    assert_int_equal(all(3, 1, t), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuMemcpy3DBatchAsync(1, &op, 0, t), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuMemFree(sim_alloc(16))); /* that capture forbids no call */
    OK(cuStreamEndCapture(t, &g));
    OK(cuGraphDestroy(g));
}

static CUresult copy_three(void *arg)
{
    (void)arg;
    return all(3, 3, t);
}

static void batch_without_memory_leaves_nothing(void **state)
{
    struct counting c = { 0, 0, 0 };
    fgs_allocator a;

    (void)state;
    s = sim_counted(&c, &a);
    x = sim_alloc(BYTES);
    y = sim_alloc(BYTES);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
    three();
    sim_fail_each(&c, copy_three, NULL, 3);
    OK(cuCtxSynchronize());
    sim_counted_end(&c);
}

/* -------------------------------------------------------- managed ranges -- */

static void ranges_are_prefetched_and_discarded(void **state)
{
    CUmemLocation at[2] = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                            { CU_MEM_LOCATION_TYPE_HOST, 0 } };
    size_t n[2] = { 1000, 1000 }, from[2] = { 0, 1 };
    CUdeviceptr m, p[2];
    CUgraph g;

    (void)state;
    OK(cuMemAllocManaged(&m, BYTES, 1));
    memset((void *)(uintptr_t)m, 3, BYTES);
    p[0] = m;
    p[1] = m + 2000;
    OK(cuMemPrefetchBatchAsync(p, n, 2, at, from, 2, 0, t));
    OK(cuStreamSynchronize(t));
    assert_int_equal(*(unsigned char *)(uintptr_t)p[1], 3);
    OK(cuMemDiscardBatchAsync(p, n, 2, 0, t));
    OK(cuMemDiscardAndPrefetchBatchAsync(p, n, 2, at, from, 2, 0, t));
    OK(cuStreamSynchronize(t));
    assert_int_equal(((unsigned char *)(uintptr_t)m)[1000], 3);
#define BAD_RANGES(call) CU(call, ERROR_INVALID_VALUE)
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, from, 2, 0, NULL));
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, from, 2, 1, t));
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 0, at, from, 0, 0, t));
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, from, 0, 0, t));
    BAD_RANGES(cuMemPrefetchBatchAsync(NULL, n, 2, at, from, 1, 0, t));
    BAD_RANGES(cuMemPrefetchBatchAsync(p, NULL, 2, at, from, 1, 0, t));
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, NULL, from, 1, 0, t));
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, NULL, 1, 0, t));
    BAD_RANGES(cuMemDiscardBatchAsync(p, n, 2, 1, t));
    BAD_RANGES(cuMemDiscardBatchAsync(p, n, 0, 0, t));
    BAD_RANGES(cuMemDiscardBatchAsync(p, n, 2, 0, NULL));
    at[0].id = 9;
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, from, 1, 0, t));
    at[0] = (CUmemLocation){ 77, 0 };
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, from, 1, 0, t));
    at[0] = at[1];
    p[1] = x; /* not managed */
    BAD_RANGES(cuMemPrefetchBatchAsync(p, n, 2, at, from, 1, 0, t));
    BAD_RANGES(cuMemDiscardBatchAsync(p, n, 2, 0, t));
    p[1] = m;
    OK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemDiscardBatchAsync(p, n, 2, 0, t),
       ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU(cuStreamEndCapture(t, &g), ERROR_STREAM_CAPTURE_INVALIDATED);
}

/* The discarded bytes are the seed's: two seeds of three differ. */
static void discarded_bytes_are_drawn(void **state)
{
    unsigned char got[3];
    fgs_sim_config cfg;
    CUdeviceptr m;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        size_t n = 16;

        cfg = sim_config();
        cfg.seed = i + 1;
        s = sim_open(&cfg, NULL);
        OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
        OK(cuMemAllocManaged(&m, 16, 1));
        OK(cuMemDiscardBatchAsync(&m, &n, 1, 0, t));
        OK(cuStreamSynchronize(t));
        got[i] = *(unsigned char *)(uintptr_t)m;
        sim_close(&s);
    }
    assert_true(got[0] != got[1] || got[1] != got[2]);
    cfg = sim_config();
    cfg.seed = 1;
    sim_configure(&cfg);
}

/* -------------------------------------------------------- pools by place -- */

static void pools_are_found_by_their_place(void **state)
{
    CUmemLocation at = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    CUmemLocation none = { CU_MEM_LOCATION_TYPE_DEVICE, 7 };
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUmemPoolProps props = { .allocType = 1, .location = { 1, 0 } };
    CUmemoryPool a, b;

    (void)state;
    OK(cuDeviceGetDefaultMemPool(&a, 0));
    OK(cuMemGetDefaultMemPool(&b, &at, pinned));
    assert_ptr_equal(a, b);
    OK(cuMemGetMemPool(&b, &at, pinned));
    assert_ptr_equal(a, b);
    CU(cuMemGetMemPool(NULL, &at, pinned), ERROR_INVALID_VALUE);
    CU(cuMemGetMemPool(&b, NULL, pinned), ERROR_INVALID_VALUE);
    CU(cuMemGetMemPool(&b, &at, 0), ERROR_INVALID_VALUE);
    CU(cuMemGetMemPool(&b, &none, pinned), ERROR_INVALID_VALUE);
    CU(cuMemGetDefaultMemPool(&b, &none, pinned), ERROR_INVALID_VALUE);
    CU(cuMemGetDefaultMemPool(&b, &host, pinned), ERROR_NOT_SUPPORTED);
    CU(cuMemGetDefaultMemPool(&b, &at, 2), ERROR_NOT_SUPPORTED);
    OK(cuMemPoolCreate(&a, &props));
    CU(cuMemSetMemPool(&at, CU_MEM_ALLOCATION_TYPE_MANAGED, a),
       ERROR_INVALID_VALUE);
    CU(cuMemSetMemPool(&none, pinned, a), ERROR_INVALID_VALUE);
    CU(cuMemSetMemPool(&host, pinned, a), ERROR_INVALID_VALUE);
    CU(cuMemSetMemPool(NULL, pinned, a), ERROR_INVALID_VALUE);
    CU(cuMemSetMemPool(&at, pinned, NULL), ERROR_INVALID_VALUE);
    OK(cuMemSetMemPool(&at, pinned, a));
    OK(cuMemGetMemPool(&b, &at, pinned));
    assert_ptr_equal(a, b);
    OK(cuMemPoolDestroy(a));
    OK(cuMemGetMemPool(&b, &at, pinned));
    assert_ptr_not_equal(a, b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(batch_copies_every_line),
        TEST(batch_refuses_bad_lists),
        TEST(first_form_says_which_line_is_refused),
        TEST(source_of_the_call_is_read_at_once),
        TEST(blocks_have_rows_and_layers),
        TEST(blocks_count_in_elements_of_an_array),
        TEST(blocks_refuse_what_does_not_fit),
        TEST(batch_is_not_captured),
        TEST(batch_without_memory_leaves_nothing),
        TEST(ranges_are_prefetched_and_discarded),
        TEST(discarded_bytes_are_drawn),
        TEST(pools_are_found_by_their_place),
    };

    return cmocka_run_group_tests_name("sim_batch", tests, NULL, NULL);
}
