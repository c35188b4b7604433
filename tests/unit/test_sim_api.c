/* test_sim_api.c -- entry points: names, contexts, handles, configuration */
#include "sim_calls.h"
#include "sim/isa.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void calls_before_init_are_refused(void **state)
{
    CUcontext ctx;
    CUdevice dev;
    int n;

    (void)state;
    CU(cuDeviceGetCount(&n), ERROR_NOT_INITIALIZED);
    CU(cuDeviceGet(&dev, 0), ERROR_NOT_INITIALIZED);
    CU(cuCtxGetCurrent(&ctx), ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&n)); /* needs no cuInit */
    assert_int_equal(n, 13050);
    CU(cuInit(1), ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    assert_int_equal(n, 1);
}

static void every_row_of_the_table_is_found_by_name(void **state)
{
    (void)state;
    OK(cuInit(0));
#define ENTRY(name, abi, need, forms, params)                                  \
    {                                                                          \
        CUdriverProcAddressQueryResult q = 9;                                  \
        CUresult(*fn) params = fgs__sim_##name;                                \
        void *want, *pfn = NULL;                                               \
                                                                               \
        memcpy(&want, &fn, sizeof want);                                       \
        assert_non_null(fgs_sim_get_proc(#name));                              \
        OK(cuGetProcAddress(#name, &pfn, abi, 0, &q));                         \
        assert_ptr_equal(pfn, want);                                           \
        assert_int_equal(q, CU_GET_PROC_ADDRESS_SUCCESS);                      \
        CU(cuGetProcAddress(#name, &pfn, 1999, 0, &q), ERROR_NOT_FOUND);       \
        assert_null(pfn);                                                      \
        assert_int_equal(q, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);       \
    }
#include "table/entry.def"
#undef ENTRY
}

static void name_means_what_its_version_knew(void **state)
{
    static const struct {
        const char *name;
        int version;
        const char *symbol; /* NULL = older than the name */
    } want[] = {
        { "cuGetProcAddress", 11030, "cuGetProcAddress" },
        { "cuGetProcAddress", 11999, "cuGetProcAddress" },
        { "cuGetProcAddress", 12000, "cuGetProcAddress_v2" },
        { "cuLaunchKernelEx", 11050, NULL },
        { "cuLaunchKernelEx", 11060, "cuLaunchKernelEx" },
        { "cuMemAlloc", 3019, NULL },
        { "cuMemAlloc", 13040, "cuMemAlloc_v2" },
        { "cuDeviceGetUuid", 9019, NULL }, /* the CUDA runtime asks so */
        { "cuDeviceGetUuid", 9020, "cuDeviceGetUuid" },
        { "cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2" },
        { "cuDevicePrimaryCtxRelease", 7000, "cuDevicePrimaryCtxRelease" },
        { "cuLinkCreate", 5050, "cuLinkCreate" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(want); i++) {
        void *p = NULL;
        CUresult r = fgs__sim_cuGetProcAddress(want[i].name, &p,
                                               want[i].version, 0, NULL);

        assert_int_equal(r, want[i].symbol ? CUDA_SUCCESS
                                           : CUDA_ERROR_NOT_FOUND);
        assert_ptr_equal(p, fgs_sim_get_proc(want[i].symbol));
    }
}

static void per_thread_form_is_found_by_flag(void **state)
{
    void *p = NULL;

    (void)state;
    OK(cuGetProcAddress("cuLaunchKernel", &p, 13040, 2, NULL));
    assert_ptr_equal(p, fgs_sim_get_proc("cuLaunchKernel_ptsz"));
    OK(cuGetProcAddress("cuMemcpyHtoD", &p, 13040, 2, NULL));
    assert_ptr_equal(p, fgs_sim_get_proc("cuMemcpyHtoD_v2_ptds"));
    OK(cuGetProcAddress("cuMemAlloc", &p, 13040, 2, NULL));
    assert_ptr_equal(p, fgs_sim_get_proc("cuMemAlloc_v2"));
    OK(cuGetProcAddress("cuLaunchKernel", &p, 13040, 1, NULL));
    assert_ptr_equal(p, fgs_sim_get_proc("cuLaunchKernel"));
}

static void versioned_names_are_the_same_functions(void **state)
{
    static const char *const same[][2] = {
        { "cuMemAlloc", "cuMemAlloc_v2" },
        { "cuCtxDestroy", "cuCtxDestroy_v2" },
        { "cuStreamDestroy", "cuStreamDestroy_v2" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(same); i++)
        assert_ptr_equal(fgs_sim_get_proc(same[i][0]),
                         fgs_sim_get_proc(same[i][1]));
    assert_non_null(fgs_sim_get_proc("cuLaunchKernel_ptsz"));
    assert_non_null(fgs_sim_get_proc("cuMemcpyHtoD_v2_ptds"));
    assert_null(fgs_sim_get_proc("cuMemcpyHtoD_v2_ptsz"));
    assert_null(fgs_sim_get_proc("cuMemAlloc_ptsz"));
    assert_null(fgs_sim_get_proc("cuLaunchKernel_v2")); /* no driver's */
    assert_null(fgs_sim_get_proc("cuMemAlloc_v3"));
    assert_null(fgs_sim_get_proc("printf"));
    assert_null(fgs_sim_get_proc(""));
    assert_null(fgs_sim_get_proc(NULL));
}

static void absent_entry_point_answers_not_supported(void **state)
{
    CUdriverProcAddressQueryResult q = 9;
    CUresult (*fn)(void);
    void *p = fgs_sim_get_proc("cuImportExternalMemory");

    (void)state;
    OK(cuInit(0));
    assert_non_null(p);
    memcpy(&fn, &p, sizeof fn);
    assert_int_equal(fn(), CUDA_ERROR_NOT_SUPPORTED);
    /* From CUDA 12.5 on this name has other parameters. */
    OK(cuGetProcAddress("cuStreamGetCtx", &p, 13000, 0, &q));
    assert_ptr_equal(p, fgs_sim_get_proc("cuStreamGetCtx_v2"));
    CU(cuGetProcAddress("cuNoSuchThing", &p, 13000, 0, &q), ERROR_NOT_FOUND);
    assert_int_equal(q, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(p);
}

static void device_says_what_it_is(void **state)
{
    fgs_sim_config cfg = sim_config();
    char name[64];
    size_t bytes;
    CUuuid uuid;
    int v;
    const struct {
        CUdevice_attribute id;
        int value;
    } want[] = {
        { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 10 },
        { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 7 },
        { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 7 },
        { CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024 },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152 },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024 },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
          228 * 1024 },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 16 },
        { CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
    };

    (void)state;
    OK(cuInit(0));
    cfg.sms = 7;
    sim_configure(&cfg);
    OK(cuDeviceGetName(name, sizeof name, 0));
    assert_string_equal(name, "fgsync software device");
    OK(cuDeviceGetName(name, 7, 0));
    assert_string_equal(name, "fgsync");
    OK(cuDeviceTotalMem(&bytes, 0));
    assert_int_equal(bytes, 16ull << 30);
    OK(cuDeviceGetUuid(&uuid, 0));
    for (size_t i = 0; i < COUNT(want); i++) {
        OK(cuDeviceGetAttribute(&v, want[i].id, 0));
        assert_int_equal(v, want[i].value);
    }
    CU(cuDeviceGetAttribute(&v, 99999, 0), ERROR_INVALID_VALUE);
    CU(cuDeviceGetAttribute(&v, 10, 1), ERROR_INVALID_DEVICE);
    CU(cuDeviceGet(&v, 1), ERROR_INVALID_DEVICE);
    CU(cuDeviceGetCount(NULL), ERROR_INVALID_VALUE);
}

static void errors_have_names_and_texts(void **state)
{
    const char *s = NULL;

    (void)state;
    OK(cuGetErrorName(CUDA_ERROR_INVALID_PTX, &s));
    assert_string_equal(s, "CUDA_ERROR_INVALID_PTX");
    OK(cuGetErrorString(CUDA_SUCCESS, &s));
    assert_string_equal(s, "no error");
    CU(cuGetErrorName((CUresult)12345, &s), ERROR_INVALID_VALUE);
    assert_null(s);
}

static void calls_without_a_context_are_refused(void **state)
{
    CUdeviceptr p;
    CUstream s;
    CUcontext ctx = (CUcontext)1;

    (void)state;
    OK(cuInit(0));
    CU(cuMemAlloc(&p, 4), ERROR_INVALID_CONTEXT);
    CU(cuStreamCreate(&s, 0), ERROR_INVALID_CONTEXT);
    CU(cuCtxSynchronize(), ERROR_INVALID_CONTEXT);
    CU(cuCtxPopCurrent(NULL), ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&ctx));
    assert_null(ctx);
    CU(cuCtxPushCurrent((CUcontext)64), ERROR_INVALID_CONTEXT);
}

static void contexts_stack_up(void **state)
{
    fgs_sim_config cfg = sim_config();
    CUcontext a, b, now = NULL;

    (void)state;
    OK(cuInit(0));
    sim_configure(&cfg);
    OK(cuCtxCreate(&a, 0, 0));
    OK(cuCtxCreate(&b, 0, 0));
    OK(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, b);
    OK(cuCtxPushCurrent(a));
    OK(cuCtxPopCurrent(&now));
    assert_ptr_equal(now, a);
    OK(cuCtxDestroy(b)); /* current: taken off the stack */
    OK(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, a);
    CU(cuCtxPushCurrent(b), ERROR_INVALID_CONTEXT);
    CU(cuCtxDestroy(b), ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(NULL));
    CU(cuCtxSynchronize(), ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(a));
    OK(cuCtxPushCurrent(a));
    OK(cuCtxDestroy(a));
    CU(cuCtxSynchronize(), ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent(NULL));
}

static void primary_context_counts_its_users(void **state)
{
    fgs_sim_config cfg = sim_config();
    CUcontext a, b;
    unsigned int flags;
    int active;

    (void)state;
    OK(cuInit(0));
    sim_configure(&cfg);
    CU(cuDevicePrimaryCtxRelease(0), ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRetain(&a, 0));
    OK(cuDevicePrimaryCtxRetain(&b, 0));
    assert_ptr_equal(a, b);
    CU(cuCtxDestroy(a), ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuCtxPushCurrent(a));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    CU(cuCtxSynchronize(), ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent(NULL));
}

static void freed_handles_are_found_out(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD AFFINE);
    CUfunction f = sim_func(&s, "affine");
    CUstream st, st2;
    CUevent ev, ev2;
    int v;

    (void)state;
    OK(cuStreamCreate(&st, 0));
    OK(cuEventCreate(&ev, 0));
    OK(cuStreamDestroy(st));
    OK(cuEventDestroy(ev));
    /* Others in their places (the last one freed is taken first) do not
     * revive them. */
    OK(cuEventCreate(&ev2, 0));
    OK(cuStreamCreate(&st2, 0));
    CU(cuStreamSynchronize(st), ERROR_INVALID_HANDLE);
    CU(cuStreamDestroy(st), ERROR_INVALID_HANDLE);
    CU(cuEventRecord(ev, st2), ERROR_INVALID_HANDLE);
    CU(cuEventRecord(ev2, st), ERROR_INVALID_HANDLE);
    CU(cuEventDestroy(ev), ERROR_INVALID_HANDLE);
    CU(cuEventRecord((CUevent)st2, st2), ERROR_INVALID_HANDLE);
    OK(cuModuleUnload(s.module));
    CU(cuModuleUnload(s.module), ERROR_INVALID_HANDLE);
    CU(cuModuleGetFunction(&f, s.module, "affine"), ERROR_INVALID_HANDLE);
    CU(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, f),
       ERROR_INVALID_HANDLE);
    sim_close(&s);
}

static void configuration_is_checked_and_fixed_while_in_use(void **state)
{
    fgs_sim_config cfg = sim_config();
    fgs_error err;
    struct sim s;

    (void)state;
    cfg.sms = 0;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "sms"));
    cfg.sms = 2;
    cfg.size = 8;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_E_INVAL);
    cfg.size = sizeof cfg;
    s = sim_open(&cfg, NULL);
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_E_BUSY);
    sim_close(&s);
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
    assert_int_equal(fgs_sim_config_set(NULL, &err), FGS_E_NULL);
}

static void environment_sets_knobs(void **state)
{
    fgs_sim_config cfg;
    fgs_error err;

    (void)state;
    setenv("FGS_SIM_SMS", "0x11", 1);
    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
    assert_int_equal(cfg.sms, 17);
    setenv("FGS_SIM_SMS", "1025", 1);
    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "FGS_SIM_SMS=1025"));
    setenv("FGS_SIM_SMS", "-1", 1);
    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_E_INVAL);
    setenv("FGS_SIM_SMS", "4x", 1);
    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_E_INVAL);
    unsetenv("FGS_SIM_SMS");
}

static void knob_caps_the_vectors_of_the_host(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s;

    (void)state;
    for (cfg.vectors = 1; cfg.vectors <= 3; cfg.vectors++) {
        s = sim_open(&cfg, NULL);
        assert_true((int)fgs__sim_isa_now() <= (int)cfg.vectors - 1);
        if (cfg.vectors == 1)
            assert_int_equal(fgs__sim_isa_now(), FGS__ISA_BASE);
        sim_close(&s);
    }
    assert_int_equal(fgs_sim_config_set(&cfg, NULL), FGS_E_INVAL);
    cfg.vectors = 0;
    s = sim_open(&cfg, NULL);
    sim_close(&s);
}

static int threads_alive(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void last_context_takes_every_thread_along(void **state)
{
    fgs_sim_config cfg = sim_config();
    int before = threads_alive();
    struct sim s;

    (void)state;
    cfg.threads = 3;
    s = sim_open(&cfg, NULL);
    assert_true(threads_alive() > before);
    sim_close(&s);
    assert_int_equal(threads_alive(), before);
}

static void forked_child_is_not_initialized(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, NULL);
    int status = 0, n;
    pid_t pid = fork();

    (void)state;
    if (!pid)
        _exit(fgs__sim_cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED
                  ? 0
                  : 1);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void *work_in_own_context(void *arg)
{
    uint32_t n = *(uint32_t *)arg, v = 0;
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUdeviceptr x = 0;
    bool good = true;

    good &= !fgs__sim_cuCtxCreate(&ctx, 0, 0);
    good &= !fgs__sim_cuModuleLoadData(&m, HEAD AFFINE);
    good &= !fgs__sim_cuModuleGetFunction(&f, m, "affine");
    good &= !fgs__sim_cuMemAlloc(&x, 4);
    good &= !fgs__sim_cuMemsetD32(x, n, 1);
    for (uint32_t i = 0; good && i < 20; i++) {
        uint32_t mul = 1, add = n;
        void *params[] = { &x, &mul, &add };

        good &= !sim_launch(f, 1, 1, NULL, 0, params);
    }
    good &= !fgs__sim_cuMemcpyDtoH(&v, x, 4);
    good &= v == n * 21;
    good &= !fgs__sim_cuCtxDestroy(ctx);
    return good ? arg : NULL;
}

static void threads_work_in_contexts_of_their_own(void **state)
{
    fgs_sim_config cfg = sim_config();
    uint32_t n[2] = { 3, 5 };
    pthread_t t[2];

    (void)state;
    OK(cuInit(0));
    sim_configure(&cfg);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&t[i], NULL, work_in_own_context, &n[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *r = NULL;

        pthread_join(t[i], &r);
        assert_ptr_equal(r, &n[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_before_init_are_refused), /* first */
        cmocka_unit_test(every_row_of_the_table_is_found_by_name),
        cmocka_unit_test(name_means_what_its_version_knew),
        cmocka_unit_test(per_thread_form_is_found_by_flag),
        cmocka_unit_test(versioned_names_are_the_same_functions),
        cmocka_unit_test(absent_entry_point_answers_not_supported),
        cmocka_unit_test(device_says_what_it_is),
        cmocka_unit_test(errors_have_names_and_texts),
        cmocka_unit_test(calls_without_a_context_are_refused),
        cmocka_unit_test(contexts_stack_up),
        cmocka_unit_test(primary_context_counts_its_users),
        cmocka_unit_test(freed_handles_are_found_out),
        cmocka_unit_test(configuration_is_checked_and_fixed_while_in_use),
        cmocka_unit_test(environment_sets_knobs),
        cmocka_unit_test(knob_caps_the_vectors_of_the_host),
        cmocka_unit_test(last_context_takes_every_thread_along),
        cmocka_unit_test(forked_child_is_not_initialized),
        cmocka_unit_test(threads_work_in_contexts_of_their_own),
    };

    return cmocka_run_group_tests_name("sim_api", tests, NULL, NULL);
}
