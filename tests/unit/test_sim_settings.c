/* test_sim_settings.c -- device queries, limits and settings of contexts */
#include "sim_calls.h"

static void every_attribute_is_answered(void **state)
{
    int v;

    (void)state;
    OK(cuInit(0));
    for (unsigned int i = 1; i <= 158; i++)
        OK(cuDeviceGetAttribute(&v, i, 0));
    OK(cuDeviceGetAttribute(&v, 161, 0));
    CU(cuDeviceGetAttribute(&v, 0, 0), ERROR_INVALID_VALUE);
    CU(cuDeviceGetAttribute(&v, 159, 0), ERROR_INVALID_VALUE);
    CU(cuDeviceGetAttribute(&v, 162, 0), ERROR_INVALID_VALUE);
}

static int attribute(unsigned int id)
{
    int v = -7;

    OK(cuDeviceGetAttribute(&v, id, 0));
    return v;
}

static void attributes_agree_with_each_other(void **state)
{
    CUdevprop p;
    int major, minor;

    (void)state;
    OK(cuInit(0));
    /* Oversized shared memory is what a block may opt in to. */
    assert_int_equal(attribute(150), attribute(97));
    assert_int_equal(attribute(81), attribute(97) + attribute(111));
    assert_int_equal(attribute(157), attribute(16));
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    assert_int_equal(major, attribute(75));
    assert_int_equal(minor, attribute(76));
    OK(cuDeviceGetProperties(&p, 0));
    assert_int_equal(p.maxThreadsPerBlock, attribute(1));
    assert_int_equal(p.maxThreadsDim[2], attribute(4));
    assert_int_equal(p.maxGridSize[0], attribute(5));
    assert_int_equal(p.sharedMemPerBlock, attribute(8));
    assert_int_equal(p.SIMDWidth, 32);
    assert_int_equal(p.regsPerBlock, attribute(12));
    assert_int_equal(p.textureAlign, attribute(14));
    CU(cuDeviceGetProperties(NULL, 0), ERROR_INVALID_VALUE);
    CU(cuDeviceComputeCapability(&major, NULL, 0), ERROR_INVALID_VALUE);
    CU(cuDeviceComputeCapability(&major, &minor, 1), ERROR_INVALID_DEVICE);
}

/* Ticks of %clock64 by the attribute's kHz are the time of %globaltimer. */
static void clock_has_the_rate_that_is_told(void **state)
{
    fgs_sim_config cfg = sim_config();
    uint64_t t[4];
    CUdeviceptr out;
    struct sim s;

    (void)state;
    s = sim_open(&cfg,
                 ".version 6.3\n.target sm_70\n.address_size 64\n"
                 ".visible .entry k(.param .u64 p)\n{\n"
                 "    .reg .u64 %p, %t<4>;\n"
                 "    ld.param.u64 %p, [p];\n"
                 "    mov.u64 %t0, %globaltimer;\n"
                 "    mov.u64 %t1, %clock64;\n"
                 "    nanosleep.u32 1000000;\n"
                 "    mov.u64 %t2, %globaltimer;\n"
                 "    mov.u64 %t3, %clock64;\n"
                 "    st.global.v2.u64 [%p], {%t0, %t1};\n"
                 "    st.global.v2.u64 [%p + 16], {%t2, %t3};\n"
                 "    ret;\n}\n");
    OK(cuMemAlloc(&out, sizeof t));
    OK(cuLaunchKernel(sim_func(&s, "k"), 1, 1, 1, 1, 1, 1, 0, NULL,
                      (void *[]){ &out }, NULL));
    OK(cuMemcpyDtoH(t, out, sizeof t));
    t[2] -= t[0];
    t[3] = (t[3] - t[1]) * 1000000 / (uint64_t)attribute(13);
    assert_in_range(t[3], t[2] - t[2] / 100, t[2] + t[2] / 100);
    sim_close(&s);
}

static void device_is_found_by_its_bus(void **state)
{
    char id[32];
    CUdevice dev = 7;

    (void)state;
    OK(cuInit(0));
    OK(cuDeviceGetPCIBusId(id, sizeof id, 0));
    assert_string_equal(id, "0000:01:00.0");
    OK(cuDeviceGetByPCIBusId(&dev, id));
    assert_int_equal(dev, 0);
    OK(cuDeviceGetByPCIBusId(&dev, "0000:01:00"));
    OK(cuDeviceGetByPCIBusId(&dev, "01:00.0"));
    CU(cuDeviceGetByPCIBusId(&dev, "0000:02:00.0"), ERROR_INVALID_DEVICE);
    CU(cuDeviceGetByPCIBusId(&dev, "nonsense"), ERROR_INVALID_VALUE);
    CU(cuDeviceGetByPCIBusId(NULL, id), ERROR_INVALID_VALUE);
    CU(cuDeviceGetPCIBusId(id, 0, 0), ERROR_INVALID_VALUE);
    OK(cuDeviceGetPCIBusId(id, 5, 0)); /* cut, terminated */
    assert_string_equal(id, "0000");
}

static void device_is_no_peer_of_itself(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    int v = 9;

    (void)state;
    OK(cuDeviceCanAccessPeer(&v, 0, 0));
    assert_int_equal(v, 0);
    CU(cuDeviceCanAccessPeer(&v, 0, 1), ERROR_INVALID_DEVICE);
    CU(cuDeviceGetP2PAttribute(&v, 1, 0, 0), ERROR_INVALID_DEVICE);
    CU(cuDeviceGetP2PAttribute(&v, 77, 0, 0), ERROR_INVALID_VALUE);
    CU(cuCtxEnablePeerAccess(s.ctx, 0), ERROR_INVALID_CONTEXT);
    CU(cuCtxEnablePeerAccess(NULL, 0), ERROR_INVALID_CONTEXT);
    CU(cuCtxDisablePeerAccess(s.ctx), ERROR_PEER_ACCESS_NOT_ENABLED);
    sim_close(&s);
}

static void export_table_is_refused(void **state)
{
    const void *table = &table;
    CUuuid id = { "not-a-table" };

    (void)state;
    CU(cuGetExportTable(&table, &id), ERROR_NOT_FOUND);
    assert_null(table);
    CU(cuGetExportTable(NULL, &id), ERROR_INVALID_VALUE);
}

static void limits_are_kept(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    size_t v = 0;

    (void)state;
    OK(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
    assert_int_equal(v, 1024);
    OK(cuCtxGetLimit(&v, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(v, 8 << 20);
    OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 22));
    OK(cuCtxGetLimit(&v, CU_LIMIT_PRINTF_FIFO_SIZE));
    assert_int_equal(v, 1 << 22);
    CU(cuCtxGetLimit(&v, 99), ERROR_INVALID_VALUE);
    CU(cuCtxGetLimit(NULL, 0), ERROR_INVALID_VALUE);
    CU(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 3),
       ERROR_UNSUPPORTED_LIMIT);
    CU(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129),
       ERROR_INVALID_VALUE);
    sim_close(&s);
}

static void settings_are_kept(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    unsigned int v = 99, version;
    unsigned long long id, other;
    int least, greatest;
    CUdevice dev = 9;

    (void)state;
    OK(cuCtxGetCacheConfig(&v));
    assert_int_equal(v, 0);
    OK(cuCtxSetCacheConfig(2));
    OK(cuCtxGetCacheConfig(&v));
    assert_int_equal(v, 2);
    CU(cuCtxSetCacheConfig(4), ERROR_INVALID_VALUE);
    OK(cuCtxGetSharedMemConfig(&v));
    assert_int_equal(v, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    CU(cuCtxSetSharedMemConfig(3), ERROR_INVALID_VALUE);
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest <= least);
    OK(cuCtxGetStreamPriorityRange(NULL, NULL));
    OK(cuCtxGetApiVersion(s.ctx, &version));
    assert_int_equal(version, 3020);
    CU(cuCtxGetApiVersion((CUcontext)&v, &version), ERROR_INVALID_CONTEXT);
    OK(cuCtxGetId(s.ctx, &id));
    OK(cuCtxGetId(NULL, &other));
    assert_int_equal(id, other);
    OK(cuCtxGetDevice_v2(&dev, s.ctx));
    assert_int_equal(dev, 0);
    OK(cuCtxSynchronize_v2(s.ctx));
    OK(cuCtxResetPersistingL2Cache());
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    sim_close(&s);
    CU(cuProfilerStart(), ERROR_INVALID_CONTEXT);
}

static void flags_of_a_context_are_kept(void **state)
{
    unsigned int flags = 99;
    CUcontext ctx;
    int active;

    (void)state;
    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, CU_CTX_SCHED_BLOCKING_SYNC, 0));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_BLOCKING_SYNC);
    OK(cuCtxSetFlags(CU_CTX_SCHED_SPIN));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_SPIN);
    CU(cuCtxSetFlags(3), ERROR_INVALID_VALUE); /* two ways to wait */
    CU(cuCtxSetFlags(0x1000), ERROR_INVALID_VALUE);
    CU(cuCtxGetFlags(NULL), ERROR_INVALID_VALUE);
    OK(cuCtxDestroy(ctx));
    CU(cuCtxCreate(&ctx, 3, 0), ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(flags, CU_CTX_SCHED_YIELD);
    assert_false(active);
    OK(cuDevicePrimaryCtxSetFlags(0, 0));
    CU(cuDevicePrimaryCtxSetFlags(1, 0), ERROR_INVALID_DEVICE);
    CU(cuDevicePrimaryCtxSetFlags(0, 0x1000), ERROR_INVALID_VALUE);
}

static void reset_ends_the_primary_context(void **state)
{
    CUcontext ctx, again;
    CUdeviceptr p;
    unsigned int flags;
    int active;

    (void)state;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxReset(0)); /* none: nothing to do */
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    assert_ptr_equal(ctx, again);
    OK(cuCtxPushCurrent(ctx));
    OK(cuMemAlloc(&p, 100));
    OK(cuDevicePrimaryCtxReset(0));
    CU(cuMemAlloc(&p, 100), ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_false(active);
    OK(cuCtxPopCurrent(NULL));
    CU(cuDevicePrimaryCtxRelease(0), ERROR_INVALID_CONTEXT);
}

static void newer_forms_make_contexts(void **state)
{
    CUctxCreateParams params = { NULL, 0, NULL };
    CUexecAffinityParam share = { 0, { 4 } };
    CUcontext ctx, cur;

    (void)state;
    OK(cuInit(0));
    OK(cuCtxCreate_v4(&ctx, &params, 0, 0));
    OK(cuCtxDestroy(ctx));
    OK(cuCtxCreate_v4(&ctx, NULL, 0, 0));
    OK(cuCtxDestroy(ctx));
    OK(cuCtxCreate_v3(&ctx, NULL, 0, 0, 0));
    OK(cuCtxGetCurrent(&cur));
    assert_ptr_equal(ctx, cur);
    OK(cuCtxDestroy(ctx));
    CU(cuCtxCreate_v3(&ctx, &share, 1, 0, 0), ERROR_UNSUPPORTED_EXEC_AFFINITY);
    CU(cuCtxCreate_v3(&ctx, NULL, 1, 0, 0), ERROR_INVALID_VALUE);
    params.cigParams = &share;
    CU(cuCtxCreate_v4(&ctx, &params, 0, 0), ERROR_NOT_SUPPORTED);
}

static void attach_and_detach_count(void **state)
{
    CUcontext ctx, same, cur;

    (void)state;
    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, 0, 0));
    OK(cuCtxAttach(&same, 0));
    assert_ptr_equal(same, ctx);
    CU(cuCtxAttach(&same, 1), ERROR_INVALID_VALUE);
    OK(cuCtxDetach(ctx));
    OK(cuCtxSynchronize()); /* one user is left */
    OK(cuCtxDetach(ctx));
    OK(cuCtxGetCurrent(&cur));
    assert_null(cur);
    CU(cuCtxDetach(ctx), ERROR_INVALID_CONTEXT);
}

static int teardown(void **state)
{
    (void)state;
    sim_clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_attribute_is_answered),
        cmocka_unit_test(attributes_agree_with_each_other),
        cmocka_unit_test_teardown(clock_has_the_rate_that_is_told, teardown),
        cmocka_unit_test(device_is_found_by_its_bus),
        cmocka_unit_test_teardown(device_is_no_peer_of_itself, teardown),
        cmocka_unit_test(export_table_is_refused),
        cmocka_unit_test_teardown(limits_are_kept, teardown),
        cmocka_unit_test_teardown(settings_are_kept, teardown),
        cmocka_unit_test_teardown(flags_of_a_context_are_kept, teardown),
        cmocka_unit_test_teardown(reset_ends_the_primary_context, teardown),
        cmocka_unit_test_teardown(newer_forms_make_contexts, teardown),
        cmocka_unit_test_teardown(attach_and_detach_count, teardown),
    };

    return cmocka_run_group_tests_name("sim_settings", tests, NULL, NULL);
}
