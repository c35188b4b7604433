/* test_sim_memory.c -- device memory: addresses, limits, copies, fills */
#include "sim_calls.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocation_is_aligned_and_ends_where_asked(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(1000), base = 0;
    unsigned char h[1000] = { 0 };
    size_t bytes = 0;

    (void)state;
    assert_int_equal(p % 512, 0);
    OK(cuMemGetAddressRange(&base, &bytes, p + 999));
    assert_int_equal(base, p);
    assert_int_equal(bytes, 1000);
    CU(cuMemGetAddressRange(&base, &bytes, p + 1000), ERROR_NOT_FOUND);
    CU(cuMemGetAddressRange(&base, &bytes, p - 1), ERROR_NOT_FOUND);
    OK(cuMemcpyHtoD(p, h, 1000));
    CU(cuMemcpyHtoD(p + 1, h, 1000), ERROR_INVALID_VALUE);
    CU(cuMemsetD8(p + 1, 0, 1000), ERROR_INVALID_VALUE);
    CU(cuMemsetD32(p + 2, 0, 1), ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    sim_close(&s);
}

static void neighbours_have_a_guard_between_them(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr a = sim_alloc(512), b = sim_alloc(512), base;

    (void)state;
    assert_true(b >= a + 1024 || a >= b + 1024);
    CU(cuMemGetAddressRange(&base, NULL, a + 512), ERROR_NOT_FOUND);
    sim_close(&s);
}

static void host_that_reads_a_device_address_faults(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(4096);
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (!pid) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile char *)(uintptr_t)p);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    sim_close(&s);
}

static void copy_refuses_a_stale_device_address_as_host_memory(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(64), gone = sim_alloc(64);
    void *host = (void *)(uintptr_t)gone;

    (void)state;
    OK(cuMemFree(gone));
    CU(cuMemcpyHtoD(p, host, 64), ERROR_INVALID_VALUE);
    CU(cuMemcpyHtoDAsync(p, host, 64, NULL), ERROR_INVALID_VALUE);
    CU(cuMemcpyDtoH(host, p, 64), ERROR_INVALID_VALUE);
    CU(cuMemcpyDtoHAsync(host, p, 64, NULL), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void free_of_a_wrong_pointer_is_refused(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(4096);
    void *host = NULL;

    (void)state;
    OK(cuMemHostAlloc(&host, 64, 0));
    CU(cuMemFree(p + 512), ERROR_INVALID_VALUE);
    CU(cuMemFree(0xdead000), ERROR_INVALID_VALUE);
    CU(cuMemFree((CUdeviceptr)(uintptr_t)host), ERROR_INVALID_VALUE);
    CU(cuMemFreeHost((void *)(uintptr_t)p), ERROR_INVALID_VALUE);
    OK(cuMemFree(0));
    OK(cuMemFree(p));
    CU(cuMemFree(p), ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(host));
    CU(cuMemFreeHost(host), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void freed_address_is_not_given_out_at_once(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr a = sim_alloc(4096);

    (void)state;
    OK(cuMemFree(a));
    assert_int_not_equal(sim_alloc(4096), a);
    sim_close(&s);
}

static void memory_ends_at_the_configured_size(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s;
    size_t avail = 0, total = 0;
    CUdeviceptr p = 0, q = 0;

    (void)state;
    cfg.memory = 1 << 20;
    s = sim_open(&cfg, NULL);
    CU(cuMemAlloc(&p, (1 << 20) + 1), ERROR_OUT_OF_MEMORY);
    CU(cuMemAlloc(&p, SIZE_MAX), ERROR_OUT_OF_MEMORY);
    CU(cuMemAlloc(&p, 0), ERROR_INVALID_VALUE);
    /* Over and over, so that addresses must be used again. */
    for (int i = 0; i < 10; i++) {
        OK(cuMemAlloc(&p, 1 << 20));
        CU(cuMemAlloc(&q, 1), ERROR_OUT_OF_MEMORY);
        OK(cuMemGetInfo(&avail, &total));
        assert_int_equal(avail, 0);
        assert_int_equal(total, 1 << 20);
        OK(cuMemFree(p));
    }
    OK(cuMemGetInfo(&avail, &total));
    assert_int_equal(avail, total);
    sim_close(&s);
}

enum { MANY = 2000 };

static void many_allocations_keep_their_bytes(void **state)
{
    fgs_sim_config cfg = sim_config();
    static CUdeviceptr p[MANY];
    struct sim s;

    (void)state;
    cfg.memory = 64 << 20;
    s = sim_open(&cfg, NULL);
    for (uint32_t i = 0; i < MANY; i++) {
        p[i] = sim_alloc(4 + i % 700 * 4);
        OK(cuMemsetD32(p[i], i, 1));
    }
    for (uint32_t i = 0; i < MANY; i += 2)
        OK(cuMemFree(p[i]));
    for (uint32_t i = 0; i < MANY; i += 2) {
        p[i] = sim_alloc(8);
        OK(cuMemsetD32(p[i], i, 1));
    }
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t v = ~i;

        OK(cuMemcpyDtoH(&v, p[i], 4));
        assert_int_equal(v, i);
    }
    sim_close(&s);
}

static void pinned_memory_has_one_address(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD POKE);
    CUdeviceptr d = 0;
    unsigned int type = 0;
    uint32_t *h = NULL;
    void *params[] = { &d };

    (void)state;
    OK(cuMemHostAlloc((void **)&h, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&d, h, 0));
    assert_int_equal(d, (uintptr_t)h);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    *h = 1;
    assert_int_equal(sim_launch(sim_func(&s, "poke"), 1, 1, NULL, 0, params),
                     0);
    OK(cuCtxSynchronize());
    assert_int_equal(*h, 7);
    sim_close(&s);
}

static void pointer_attributes_tell_kind_and_context(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(16), q = 0;
    CUcontext ctx = NULL;
    unsigned int type = 0;
    void *host = NULL;

    (void)state;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 3));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    assert_ptr_equal(ctx, s.ctx);
    OK(cuPointerGetAttribute(&q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
    assert_int_equal(q, p);
    CU(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p),
       ERROR_INVALID_VALUE);
    CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4096),
       ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void async_copy_takes_pageable_bytes_at_the_call(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD STAMP);
    CUdeviceptr p = sim_alloc(64), out = sim_alloc(16);
    uint32_t v = 11;
    CUstream st;

    (void)state;
    OK(cuStreamCreate(&st, CU_STREAM_NON_BLOCKING));
    sim_stamp(sim_func(&s, "stamp"), 1, 32, st, 0, out, 50000, 0, 0);
    OK(cuMemcpyHtoDAsync(p, &v, 4, st));
    v = 22;
    OK(cuMemcpyDtoHAsync(&v, p, 4, st)); /* returns when it is done */
    assert_int_equal(v, 11);
    sim_close(&s);
}

static void fills_and_device_copies_write_what_they_say(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(64), q = sim_alloc(64);
    uint32_t h[16] = { 0 };

    (void)state;
    OK(cuMemsetD32(p, 0x80000000u, 16));
    OK(cuMemsetD8(p + 4, 0xAB, 3));
    OK(cuMemcpyDtoD(q + 8, p, 16));
    OK(cuMemcpyDtoD(p, p, 0));
    OK(cuMemcpyDtoH(h, q + 8, 16));
    assert_int_equal(h[0], 0x80000000u);
    assert_int_equal(h[1], 0x80ABABABu);
    assert_int_equal(h[2], 0x80000000u);
    CU(cuMemcpyDtoD(q + 60, p, 8), ERROR_INVALID_VALUE);
    CU(cuMemcpyDtoH(NULL, p, 8), ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void offset_makes_no_pointer_of_null(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    CUdeviceptr p = sim_alloc(1024);
    char host[64] = "";
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host,
                        .srcPitch = 16, .dstXInBytes = 8, .dstY = 2,
                        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .dstPitch = 32, .WidthInBytes = 16, .Height = 2 };

    (void)state;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c.dstDevice = p;
    OK(cuMemcpy2D(&c));
    sim_close(&s);
}

static void offset_leads_from_no_device_to_the_host(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    char host[64] = "";
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .srcDevice = sim_alloc(1024), .srcPitch = 1 << 30,
                        .srcY = 1 << 10, .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = host, .dstPitch = 16, .WidthInBytes = 16,
                        .Height = 1 };

    (void)state;
    CU(cuMemcpy2D(&c), ERROR_INVALID_VALUE);
    c.srcY = 0;
    OK(cuMemcpy2D(&c));
    sim_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocation_is_aligned_and_ends_where_asked),
        cmocka_unit_test(neighbours_have_a_guard_between_them),
        cmocka_unit_test(host_that_reads_a_device_address_faults),
        cmocka_unit_test(copy_refuses_a_stale_device_address_as_host_memory),
        cmocka_unit_test(free_of_a_wrong_pointer_is_refused),
        cmocka_unit_test(freed_address_is_not_given_out_at_once),
        cmocka_unit_test(memory_ends_at_the_configured_size),
        cmocka_unit_test(many_allocations_keep_their_bytes),
        cmocka_unit_test(pinned_memory_has_one_address),
        cmocka_unit_test(pointer_attributes_tell_kind_and_context),
        cmocka_unit_test(async_copy_takes_pageable_bytes_at_the_call),
        cmocka_unit_test(fills_and_device_copies_write_what_they_say),
        cmocka_unit_test(offset_makes_no_pointer_of_null),
        cmocka_unit_test(offset_leads_from_no_device_to_the_host),
    };

    return cmocka_run_group_tests_name("sim_memory", tests, NULL, NULL);
}
