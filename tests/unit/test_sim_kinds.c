/* test_sim_kinds.c -- kinds of memory, copies and fills of every shape */
#include "sim_calls.h"

static struct sim s;

static int setup(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.memory = 64 << 20;
    s = sim_open(&cfg, HEAD AFFINE POKE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

static void pitch_is_a_multiple_and_rows_hold(void **state)
{
    CUdeviceptr p;
    size_t pitch = 0;

    (void)state;
    OK(cuMemAllocPitch(&p, &pitch, 100, 10, 4));
    assert_int_equal(pitch % 512, 0);
    assert_true(pitch >= 100);
    OK(cuMemsetD8(p, 1, pitch * 10));
    CU(cuMemsetD8(p, 1, pitch * 10 + 1), ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    CU(cuMemAllocPitch(&p, &pitch, 100, 10, 5), ERROR_INVALID_VALUE);
    CU(cuMemAllocPitch(&p, &pitch, 0, 10, 4), ERROR_INVALID_VALUE);
    CU(cuMemAllocPitch(&p, &pitch, SIZE_MAX, 10, 4), ERROR_INVALID_VALUE);
    CU(cuMemAllocPitch(&p, &pitch, 100, SIZE_MAX, 4), ERROR_INVALID_VALUE);
    CU(cuMemAllocPitch(NULL, &pitch, 100, 10, 4), ERROR_INVALID_VALUE);
}

/* x = 3x + 1 on one word, by a kernel. */
static void affine(CUdeviceptr x)
{
    sim_affine(sim_func(&s, "affine"), 1, 1, NULL, 0, x, 3, 1);
    OK(cuCtxSynchronize());
}

static void registered_memory_is_seen_by_kernels(void **state)
{
    static uint32_t words[64];
    unsigned int flags;
    CUdeviceptr p;

    (void)state;
    words[5] = 13;
    CU(cuMemHostUnregister(words), ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostRegister(words, sizeof words, 0));
    CU(cuMemHostRegister(&words[8], 16, 0),
       ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer(&p, words, 0));
    affine(p + 5 * 4);
    assert_int_equal(words[5], 40);
    OK(cuMemHostGetFlags(&flags, words));
    assert_int_equal(flags, CU_MEMHOSTREGISTER_DEVICEMAP);
    CU(cuMemHostRegister(words, 0, 0), ERROR_INVALID_VALUE);
    CU(cuMemHostRegister(words, 8, 0x80), ERROR_INVALID_VALUE);
    CU(cuMemFreeHost(words), ERROR_INVALID_VALUE);
    OK(cuMemHostUnregister(words));
    assert_int_equal(words[5], 40); /* still the program's */
    CU(cuMemHostGetDevicePointer(&p, words, 0), ERROR_INVALID_VALUE);
}

static void managed_memory_has_one_address(void **state)
{
    unsigned int flags;
    CUdeviceptr p;
    int where = 5;

    (void)state;
    OK(cuMemAllocManaged(&p, 256, CU_MEM_ATTACH_GLOBAL));
    ((uint32_t *)(uintptr_t)p)[3] = 2;
    affine(p + 12);
    assert_int_equal(((uint32_t *)(uintptr_t)p)[3], 7);
    OK(cuMemAdvise(p, 256, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    OK(cuMemPrefetchAsync(p, 256, 0, NULL));
    OK(cuMemPrefetchAsync(p, 256, -1, NULL));
    CU(cuMemPrefetchAsync(p, 257, 0, NULL), ERROR_INVALID_VALUE);
    CU(cuMemAdvise(p, 256, 99, 0), ERROR_INVALID_VALUE);
    CU(cuMemAdvise(p, 256, 1, 3), ERROR_INVALID_DEVICE);
    OK(cuMemRangeGetAttribute(&where, 4, 2, p, 256));
    assert_int_equal(where, -2);
    CU(cuMemHostGetFlags(&flags, (void *)(uintptr_t)p), ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    CU(cuMemAllocManaged(&p, 256, 7), ERROR_INVALID_VALUE);
    CU(cuMemAllocManaged(&p, 0, 1), ERROR_INVALID_VALUE);
}

static void host_flags_are_given_back(void **state)
{
    unsigned int flags;
    void *p;

    (void)state;
    OK(cuMemAllocHost(&p, 100));
    OK(cuMemHostGetFlags(&flags, p));
    assert_int_equal(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    OK(cuMemFreeHost(p));
    OK(cuMemHostAlloc(&p, 100, CU_MEMHOSTALLOC_WRITECOMBINED));
    OK(cuMemHostGetFlags(&flags, p));
    assert_int_equal(flags, CU_MEMHOSTALLOC_DEVICEMAP |
                                CU_MEMHOSTALLOC_WRITECOMBINED);
    OK(cuMemFreeHost(p));
    CU(cuMemHostGetFlags(&flags, p), ERROR_INVALID_VALUE);
}

static void pointers_say_what_they_are(void **state)
{
    CUpointer_attribute ids[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                  CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
    unsigned int type = 9, managed = 0;
    uint64_t start = 9, size = 9, a, b;
    int ordinal = 9;
    void *data[] = { &type, &start, &size, &ordinal };
    CUdeviceptr p = sim_alloc(1000), q;

    (void)state;
    OK(cuPointerGetAttributes(4, ids, data, p + 10));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(start, p);
    assert_int_equal(size, 1000);
    assert_int_equal(ordinal, 0);
    OK(cuPointerGetAttributes(4, ids, data, (uintptr_t)&type));
    assert_int_equal(type, 0);
    assert_int_equal(start, 0);
    assert_int_equal(ordinal, -2);
    OK(cuPointerGetAttribute(&a, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    OK(cuMemFree(p));
    q = sim_alloc(1000);
    OK(cuPointerGetAttribute(&b, CU_POINTER_ATTRIBUTE_BUFFER_ID, q));
    assert_true(a != b);
    type = 1;
    OK(cuPointerSetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, q));
    type = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, q));
    assert_int_equal(type, 1);
    CU(cuPointerSetAttribute(&type, CU_POINTER_ATTRIBUTE_CONTEXT, q),
       ERROR_INVALID_VALUE);
    CU(cuPointerGetAttribute(&type, 1, (uintptr_t)&type), ERROR_INVALID_VALUE);
    ids[0] = 99;
    CU(cuPointerGetAttributes(4, ids, data, q), ERROR_INVALID_VALUE);
    OK(cuMemAllocManaged(&p, 16, 1));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    assert_int_equal(managed, 1);
}

/* A 16 x 8 matrix with a pitch of 32, middle 5 x 3 out of it and back. */
static void planes_are_copied_by_rows(void **state)
{
    unsigned char a[8][32], b[3][7], back[8][32];
    CUdeviceptr d = sim_alloc(sizeof a);
    CUDA_MEMCPY2D c = { .srcXInBytes = 4, .srcY = 2,
                        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d,
                        .srcPitch = 32,
                        .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = b,
                        .dstXInBytes = 1, .dstPitch = 7,
                        .WidthInBytes = 5, .Height = 3 };

    (void)state;
    for (int i = 0; i < 256; i++)
        a[i / 32][i % 32] = (unsigned char)i;
    memset(b, 0xee, sizeof b);
    OK(cuMemcpyHtoD(d, a, sizeof a));
    OK(cuMemcpy2D(&c));
    for (int y = 0; y < 3; y++) {
        for (int x = 0; x < 7; x++)
            assert_int_equal(b[y][x], x < 1 || x > 5 ? 0xee
                                                     : a[y + 2][x + 3]);
    }
    /* And into another place. */
    c = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = b,
                         .srcPitch = 7,
                         .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .dstDevice = d, .dstPitch = 32, .dstY = 5,
                         .WidthInBytes = 7, .Height = 3 };
    OK(cuMemcpy2DAsync(&c, NULL));
    memset(b, 0, sizeof b); /* the call has looked already */
    OK(cuMemcpyDtoH(back, d, sizeof back));
    assert_int_equal(back[5][0], 0xee);
    assert_int_equal(back[7][3], a[4][6]);
    assert_int_equal(back[7][7], a[7][7]);
}

static void wrong_planes_are_refused(void **state)
{
    unsigned char b[64];
    CUdeviceptr d = sim_alloc(64);
    CUDA_MEMCPY2D good = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = b,
                           .srcPitch = 8,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = d, .dstPitch = 8,
                           .WidthInBytes = 8, .Height = 8 }, c;

    (void)state;
    OK(cuMemcpy2D(&good));
    c = good;
    c.Height = 9; /* past the allocation */
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c = good;
    c.dstPitch = 7;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c = good;
    c.dstXInBytes = 1;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c = good;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c = good;
    c.srcMemoryType = 9;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    CU(cuMemcpy2D(NULL), ERROR_INVALID_VALUE);
    c = good;
    c.Height = 0;
    OK(cuMemcpy2D(&c));
}

static void boxes_are_copied_by_planes(void **state)
{
    unsigned char a[4][4][4], b[4][4][4];
    CUdeviceptr d = sim_alloc(64);
    CUDA_MEMCPY3D c = { .srcXInBytes = 1, .srcY = 1, .srcZ = 1,
                        .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = a,
                        .srcPitch = 4, .srcHeight = 4,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d,
                        .dstPitch = 4, .dstHeight = 4,
                        .WidthInBytes = 2, .Height = 3, .Depth = 3 };
    CUDA_MEMCPY3D_PEER peer;

    (void)state;
    for (int i = 0; i < 64; i++)
        a[i / 16][i / 4 % 4][i % 4] = (unsigned char)(i + 1);
    OK(cuMemsetD8(d, 0, 64));
    OK(cuMemcpy3D(&c));
    OK(cuMemcpyDtoH(b, d, 64));
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 4; y++) {
            for (int x = 0; x < 4; x++)
                assert_int_equal(b[z][y][x], x < 2 && y < 3 && z < 3
                                     ? a[z + 1][y + 1][x + 1]
                                     : 0);
        }
    }
    memcpy(&peer, &c, sizeof peer);
    peer.srcContext = peer.dstContext = s.ctx;
    OK(cuMemcpy3DPeer(&peer));
    peer.srcContext = NULL;
    CU(cuMemcpy3DPeer(&peer), ERROR_INVALID_CONTEXT);
    c.srcLOD = 1;
    CU(cuMemcpy3D(&c), ERROR_INVALID_VALUE);
    c.srcLOD = 0;
    c.dstY = 2; /* three rows do not fit behind two of four */
    CU(cuMemcpy3D(&c), ERROR_INVALID_VALUE);
}

static void unified_copies_ask_the_address(void **state)
{
    uint32_t in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
    CUdeviceptr d = sim_alloc(16), e = sim_alloc(16);

    (void)state;
    OK(cuMemcpy(d, (uintptr_t)in, 16));
    OK(cuMemcpyAsync(e, d, 16, NULL));
    OK(cuMemcpyPeer(d, s.ctx, e, s.ctx, 16));
    OK(cuMemcpy((uintptr_t)out, d, 16));
    assert_memory_equal(in, out, 16);
    CU(cuMemcpy(d, (uintptr_t)in, 17), ERROR_INVALID_VALUE);
    OK(cuMemFree(e));
    CU(cuMemcpy((uintptr_t)out, e, 16), ERROR_INVALID_VALUE); /* freed */
    CU(cuMemcpyPeer(d, NULL, d, s.ctx, 16), ERROR_INVALID_CONTEXT);
}

static void fills_have_widths_and_rows(void **state)
{
    uint16_t h[64];
    CUdeviceptr d = sim_alloc(128);

    (void)state;
    OK(cuMemsetD16(d, 0x1234, 64));
    OK(cuMemsetD2D16(d + 2, 32, 0xabcd, 3, 4));
    OK(cuMemcpyDtoH(h, d, 128));
    for (int i = 0; i < 64; i++)
        assert_int_equal(h[i], i % 16 >= 1 && i % 16 <= 3 ? 0xabcd : 0x1234);
    OK(cuMemsetD2D32Async(d, 64, 7, 16, 2, NULL));
    OK(cuMemsetD2D8(d, 1, 7, 1, 128));
    CU(cuMemsetD2D8(d, 1, 7, 1, 129), ERROR_INVALID_VALUE);
    CU(cuMemsetD2D32(d, 30, 7, 4, 2), ERROR_INVALID_VALUE);
    CU(cuMemsetD2D32(d, 8, 7, 4, 2), ERROR_INVALID_VALUE);
    CU(cuMemsetD16(d + 1, 7, 4), ERROR_INVALID_VALUE);
    CU(cuMemsetD2D8(d, SIZE_MAX / 2, 7, 1, 3), ERROR_INVALID_VALUE);
}

static uint64_t used(CUmemoryPool pool)
{
    uint64_t v = 99;

    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v));
    return v;
}

static void stream_frees_in_order(void **state)
{
    CUmemoryPool pool, cur;
    CUdeviceptr p, q;
    uint64_t v;

    (void)state;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuDeviceGetMemPool(&cur, 0));
    assert_ptr_equal(pool, cur);
    OK(cuMemAllocAsync(&p, 4096, NULL));
    assert_int_equal(used(pool), 4096);
    OK(cuMemsetD8Async(p, 1, 4096, NULL));
    OK(cuMemFreeAsync(p, NULL));
    CU(cuMemFreeAsync(p, NULL), ERROR_INVALID_VALUE); /* twice */
    CU(cuMemFree(p), ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
    assert_int_equal(used(pool), 0);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &v));
    assert_int_equal(v, 4096);
    CU(cuMemsetD8(p, 1, 1), ERROR_INVALID_VALUE); /* gone */
    /* Most of the memory twice: the second waits for the free. */
    OK(cuMemAllocAsync(&p, 60 << 20, NULL));
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemAllocAsync(&q, 60 << 20, NULL));
    CU(cuMemAllocAsync(&p, 60 << 20, NULL), ERROR_OUT_OF_MEMORY);
    OK(cuMemFree(q));
    OK(cuMemFreeAsync(0, NULL));
    CU(cuMemFreeAsync(12345, NULL), ERROR_INVALID_VALUE);
    CU(cuMemAllocAsync(NULL, 1, NULL), ERROR_INVALID_VALUE);
}

static void pools_keep_their_attributes(void **state)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                             .maxSize = 8192 };
    CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    uint64_t keep = UINT64_MAX, v = 0;
    CUmemAccess_flags flags;
    CUmemoryPool pool, cur;
    CUdeviceptr p, q;
    int on = 0;

    (void)state;
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
    assert_true(v == UINT64_MAX);
    OK(cuMemPoolSetAttribute(pool, 1, &on));
    on = 5;
    OK(cuMemPoolGetAttribute(pool, 1, &on));
    assert_int_equal(on, 0);
    CU(cuMemPoolGetAttribute(pool, 99, &v), ERROR_INVALID_VALUE);
    CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &keep),
       ERROR_INVALID_VALUE);
    OK(cuMemAllocFromPoolAsync(&p, 8000, pool, NULL));
    CU(cuMemAllocFromPoolAsync(&q, 8000, pool, NULL), ERROR_OUT_OF_MEMORY);
    OK(cuPointerGetAttribute(&cur, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    assert_ptr_equal(cur, pool);
    OK(cuMemPoolGetAccess(&flags, pool, &here));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&cur, 0));
    assert_ptr_equal(cur, pool);
    OK(cuMemPoolDestroy(pool));
    CU(cuMemPoolTrimTo(pool, 0), ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    OK(cuDeviceGetMemPool(&cur, 0)); /* back to the default one */
    CU(cuMemPoolDestroy(cur), ERROR_INVALID_VALUE);
    props.handleTypes = 1;
    CU(cuMemPoolCreate(&pool, &props), ERROR_NOT_SUPPORTED);
    props.handleTypes = 0;
    props.location.id = 9; /* as on an H200 */
    CU(cuMemPoolCreate(&pool, &props), ERROR_INVALID_VALUE);
    props.location.id = 0;
    props.allocType = 0;
    CU(cuMemPoolCreate(&pool, &props), ERROR_INVALID_VALUE);
}

/* Two pieces of memory behind each other, one of them a second time. */
static void mappings_join_and_share(void **state)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { CU_MEM_LOCATION_TYPE_DEVICE,
                                               0 } };
    CUmemAccessDesc rw = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle a, b, same;
    size_t g = 0, before, after, total;
    unsigned long long flags;
    uint32_t words[2];
    CUdeviceptr p;

    (void)state;
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemGetAllocationGranularity(&g, &prop, 0));
    OK(cuMemAddressReserve(&p, 4 * g, 0, 0, 0));
    OK(cuMemCreate(&a, g, &prop, 0));
    OK(cuMemCreate(&b, g, &prop, 0));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(before - after, 2 * g);
    OK(cuMemMap(p, g, 0, a, 0));
    OK(cuMemMap(p + g, g, 0, b, 0));
    OK(cuMemMap(p + 2 * g, g, 0, a, 0));
    CU(cuMemMap(p + g, g, 0, a, 0), ERROR_INVALID_VALUE); /* taken */
    CU(cuMemMap(p + 4 * g, g, 0, a, 0), ERROR_INVALID_VALUE);
    CU(cuMemsetD8(p, 0, 1), ERROR_INVALID_VALUE); /* no access yet */
    OK(cuMemSetAccess(p, 3 * g, &rw, 1));
    OK(cuMemsetD8(p, 0, 3 * g)); /* over all of them */
    OK(cuMemsetD32(p + g - 4, 11, 2));
    affine(p + 2 * g + g - 4); /* the same bytes as p + g - 4 */
    OK(cuMemcpyDtoH(words, p + g - 4, 8));
    assert_int_equal(words[0], 34);
    assert_int_equal(words[1], 11);
    OK(cuMemGetAccess(&flags, &rw.location, p));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemRetainAllocationHandle(&same, (void *)(uintptr_t)(p + g)));
    assert_int_equal(same, b);
    OK(cuMemRelease(b));
    OK(cuMemRelease(b));
    CU(cuMemRelease(b), ERROR_INVALID_VALUE);
    CU(cuMemAddressFree(p, 4 * g), ERROR_INVALID_VALUE); /* mapped */
    CU(cuMemUnmap(p, g / 2), ERROR_INVALID_VALUE);
    OK(cuMemUnmap(p, 3 * g));
    CU(cuMemUnmap(p, 3 * g), ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(p, 4 * g));
    OK(cuMemRelease(a));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(before, after);
    CU(cuMemCreate(&a, g + 1, &prop, 0), ERROR_INVALID_VALUE);
    CU(cuMemCreate(&a, 1ull << 40, &prop, 0), ERROR_OUT_OF_MEMORY);
    CU(cuMemAddressReserve(&p, g + 1, 0, 0, 0), ERROR_INVALID_VALUE);
    prop.requestedHandleTypes = 1;
    CU(cuMemCreate(&a, g, &prop, 0), ERROR_NOT_SUPPORTED);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(pitch_is_a_multiple_and_rows_hold),
        T(registered_memory_is_seen_by_kernels),
        T(managed_memory_has_one_address),
        T(host_flags_are_given_back),
        T(pointers_say_what_they_are),
        T(planes_are_copied_by_rows),
        T(wrong_planes_are_refused),
        T(boxes_are_copied_by_planes),
        T(unified_copies_ask_the_address),
        T(fills_have_widths_and_rows),
        T(stream_frees_in_order),
        T(pools_keep_their_attributes),
        T(mappings_join_and_share),
    };
#undef T

    return cmocka_run_group_tests_name("sim_kinds", tests, NULL, NULL);
}
