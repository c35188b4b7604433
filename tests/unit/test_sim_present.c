/* test_sim_present.c -- the device as another one, kernels without an end */
#include "sim_calls.h"
#include <fgs/fgs_sim.h>

/* Loads with a header of its own. */
static CUresult load(const char *version, const char *target)
{
    char text[512];
    CUmodule m;

    snprintf(text, sizeof text,
             ".version %s\n.target %s\n.address_size 64\n"
             ".visible .entry k()\n{\n    ret;\n}\n", version, target);
    return fgs__sim_cuModuleLoadData(&m, text);
}

static int attribute(CUdevice_attribute a)
{
    int v = -1;

    OK(cuDeviceGetAttribute(&v, a, 0));
    return v;
}

/* Numbers of the programming guide's table of technical specifications. */
struct present {
    uint32_t cc;
    int threads, blocks, sm_shared, block_shared;
    const char *below, *itself, *above;
};

static const struct present rows[] = {
    { 75, 1024, 16, 64 << 10, 64 << 10, "sm_70", "sm_75", "sm_80" },
    { 80, 2048, 32, 164 << 10, 163 << 10, "sm_75", "sm_80", "sm_86" },
    { 86, 1536, 16, 100 << 10, 99 << 10, "sm_80", "sm_86", "sm_89" },
    { 89, 1536, 24, 100 << 10, 99 << 10, "sm_86", "sm_89", "sm_90" },
    { 90, 2048, 32, 228 << 10, 227 << 10, "sm_89", "sm_90a", "sm_100" },
    { 100, 2048, 32, 228 << 10, 227 << 10, "sm_90", "sm_100a", "sm_103f" },
    { 103, 2048, 32, 228 << 10, 227 << 10, "sm_100f", "sm_103a", "sm_107" },
    { 107, 1024, 16, 228 << 10, 227 << 10, "sm_103f", "sm_107f", "sm_110" },
    { 120, 1536, 24, 100 << 10, 99 << 10, "sm_107", "sm_120a", "sm_121" },
};

static void device_presents_any_compute_capability(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct present *p = &rows[i];
        fgs_sim_config cfg = sim_config();
        struct sim s;

        cfg.cc = p->cc;
        s = sim_open(&cfg, NULL);
        assert_int_equal(
            attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            p->cc / 10);
        assert_int_equal(
            attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
            p->cc % 10);
        assert_int_equal(
            attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
            p->threads);
        assert_int_equal(
            attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
            p->blocks);
        assert_int_equal(
            attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            p->sm_shared);
        assert_int_equal(
            attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            p->block_shared);
        /* clusters, domains of memory, tensor maps */
        assert_int_equal(attribute(120), p->cc >= 90);
        assert_int_equal(attribute(126), 1);
        assert_int_equal(attribute(127), p->cc >= 90);
        assert_int_equal(load("9.4", p->below), CUDA_SUCCESS);
        assert_int_equal(load("9.4", p->itself), CUDA_SUCCESS);
        assert_int_equal(load("9.4", p->above), CUDA_ERROR_INVALID_PTX);
        sim_close(&s);
    }
}

/* Below 8.0 no shared memory is reserved: a block can do without any. */
static void block_without_shared_memory_runs_on_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fgs_sim_config cfg = sim_config();
        struct sim s;

        cfg.cc = rows[i].cc;
        s = sim_open(&cfg, ".version 6.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry k()\n{\n    ret;\n}\n");
        OK(cuLaunchKernel(sim_func(&s, "k"), 40, 1, 1, 64, 1, 1, 0, NULL, NULL,
                          NULL));
        OK(cuCtxSynchronize());
        sim_close(&s);
    }
}

/* `a` code runs on the same architecture, `f` code in the family. */
static void code_of_one_architecture_stays_there(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.cc = 103;
    sim_open(&cfg, NULL);
    assert_int_equal(load("9.4", "sm_100"), CUDA_SUCCESS);
    assert_int_equal(load("9.4", "sm_100a"), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load("9.4", "sm_90a"), CUDA_ERROR_INVALID_PTX);
    sim_clean();
    cfg.cc = 120;
    sim_open(&cfg, NULL);
    assert_int_equal(load("9.4", "sm_100f"), CUDA_ERROR_INVALID_PTX);
    sim_clean();
}

static void compute_capability_must_exist(void **state)
{
    fgs_sim_config cfg = sim_config();
    fgs_error err;

    (void)state;
    cfg.cc = 88;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_E_INVAL);
    assert_non_null(strstr(err.text, "fgs_sim_config.cc is 88"));
    cfg.cc = 70;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_E_INVAL);
}

/* A knob that is set stays, whatever the compute capability has. */
static void knob_of_an_sm_goes_before_its_compute_capability(void **state)
{
    fgs_sim_config cfg = sim_config();

    (void)state;
    cfg.cc = 75;
    cfg.sm_threads = 4096;
    sim_open(&cfg, NULL);
    assert_int_equal(
        attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 4096);
    sim_clean();
}

static void refused_launch_names_the_knob(void **state)
{
    fgs_sim_config cfg = sim_config();
    CUdeviceptr x = 0;
    uint32_t v = 0;
    void *params[] = { &x, &v, &v };
    struct sim s;

    (void)state;
    cfg.sm_threads = 64;
    s = sim_open(&cfg, HEAD AFFINE);
    x = sim_alloc(1024);
    assert_int_equal(sim_launch(sim_func(&s, "affine"), 1, 128, NULL, 0,
                                params),
                     CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_string_equal(fgs_sim_last_fault(),
                        "affine: a block of 128 threads, an SM has 64 "
                        "(FGS_SIM_SM_THREADS)");
    OK(cuCtxSynchronize()); /* not a fault */
    sim_clean();
    cfg = sim_config();
    cfg.sm_registers = 1024;
    s = sim_open(&cfg, HEAD AFFINE);
    assert_int_equal(sim_launch(sim_func(&s, "affine"), 1, 1024, NULL, 0,
                                params),
                     CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_non_null(strstr(fgs_sim_last_fault(), "FGS_SIM_SM_REGISTERS"));
    sim_clean();
}

/* ----------------------------------------------------------- without end -- */

#define SPIN                                                                   \
    ".visible .entry spin(.param .u64 p_x)\n{\n"                               \
    "    .reg .u64 %x;\n    .reg .u32 %v, %c;\n    .reg .pred %p;\n"           \
    "    ld.param.u64 %x, [p_x];\n"                                            \
    "    mov.u32 %c, %ctaid.x;\n"                                              \
    "    setp.ne.u32 %p, %c, 1;\n"                                             \
    "    @%p bra L_end;\n"                                                     \
    "L_loop:\n"                                                                \
    "    ld.volatile.global.u32 %v, [%x];\n"                                   \
    "    setp.eq.u32 %p, %v, 0;\n"                                             \
    "    @%p bra L_loop;\n"                                                    \
    "L_end:\n"                                                                 \
    "    ret;\n}\n"

static void endless_kernel_stops_at_the_limit(void **state)
{
    fgs_sim_config cfg = sim_config();
    char first[1024];

    (void)state;
    cfg.limit = 100000;
    for (int i = 0; i < 2; i++) {
        CUdeviceptr x;
        void *params[] = { &x };
        struct sim s;

        cfg.threads = 1;
        s = sim_open(&cfg, HEAD SPIN AFFINE);
        x = sim_alloc(64);
        OK(cuMemsetD8(x, 0, 64));
        /* A short kernel is not concerned. */
        sim_affine(sim_func(&s, "affine"), 2, 8, NULL, 0, x, 0, 0);
        OK(cuCtxSynchronize());
        assert_int_equal(sim_launch(sim_func(&s, "spin"), 3, 32, NULL, 0,
                                    params), 0);
        CU(cuCtxSynchronize(), ERROR_LAUNCH_TIMEOUT);
        CU(cuMemFree(x), ERROR_LAUNCH_TIMEOUT); /* sticky */
        assert_non_null(strstr(fgs_sim_last_fault(), "kernel spin, PTX line "));
        assert_non_null(strstr(fgs_sim_last_fault(),
                               "block (1,0,0), thread (0,0,0)"));
        assert_non_null(strstr(fgs_sim_last_fault(),
                               "more than 100000 instructions"));
        if (i) /* the same place again */
            assert_string_equal(fgs_sim_last_fault(), first);
        snprintf(first, sizeof first, "%s", fgs_sim_last_fault());
        sim_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_presents_any_compute_capability),
        cmocka_unit_test(block_without_shared_memory_runs_on_each),
        cmocka_unit_test(code_of_one_architecture_stays_there),
        cmocka_unit_test(compute_capability_must_exist),
        cmocka_unit_test(knob_of_an_sm_goes_before_its_compute_capability),
        cmocka_unit_test(refused_launch_names_the_knob),
        cmocka_unit_test(endless_kernel_stops_at_the_limit),
    };

    return cmocka_run_group_tests_name("sim_present", tests, NULL, NULL);
}
