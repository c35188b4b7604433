/* test_sim_cluster.c -- launches of clusters, their codes and attributes
 *
 * Results of launches and attributes are those that an H200 gave (driver 580).
 */
#include "sim_calls.h"

#define KERNELS                                                                \
    ".visible .entry plain()\n{\n    ret;\n}\n"                                \
    ".visible .entry req2() .reqnctapercluster 2\n{\n    ret;\n}\n"            \
    ".visible .entry expl() .explicitcluster\n{\n    ret;\n}\n"                \
    ".visible .entry max4() .maxclusterrank 4\n{\n    ret;\n}\n"

static int try_cluster(CUfunction f, unsigned grid, unsigned x, unsigned y)
{
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { grid, 1, 1, 32, 1, 1, 0, NULL, &a, 1 };

    a.value.clusterDim.x = x;
    a.value.clusterDim.y = a.value.clusterDim.z = y;
    return (int)fgs__sim_cuLaunchKernelEx(&c, f, NULL, NULL);
}

static int try_plain(CUfunction f, unsigned grid)
{
    return (int)fgs__sim_cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, NULL, NULL,
                                        NULL);
}

enum { BAD = CUDA_ERROR_INVALID_CLUSTER_SIZE };

static void cluster_size_is_checked(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD KERNELS);
    CUfunction f = sim_func(&s, "plain");

    (void)state;
    assert_int_equal(try_cluster(f, 4, 2, 1), 0);
    assert_int_equal(try_cluster(f, 12, 3, 1), 0);
    assert_int_equal(try_cluster(f, 4, 0, 0), 0);
    assert_int_equal(try_cluster(f, 3, 2, 1), BAD);
    assert_int_equal(try_cluster(f, 4, 0, 1), BAD);
    assert_int_equal(try_cluster(f, 4, 4, 2), BAD);
    assert_int_equal(try_cluster(f, 2, 4, 1), BAD);
    assert_int_equal(try_cluster(f, 16, 16, 1), BAD);
    OK(cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    assert_int_equal(try_cluster(f, 16, 16, 1), 0);
    assert_int_equal(try_cluster(f, 9, 9, 1), 0);
    assert_int_equal(try_cluster(f, 17, 17, 1), BAD);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void directives_are_obeyed(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD KERNELS);

    (void)state;
    assert_int_equal(try_plain(sim_func(&s, "req2"), 4), 0);
    assert_int_equal(try_plain(sim_func(&s, "req2"), 3), BAD);
    assert_int_equal(try_cluster(sim_func(&s, "req2"), 4, 2, 1), 0);
    assert_int_equal(try_cluster(sim_func(&s, "req2"), 4, 1, 1), BAD);
    assert_int_equal(try_plain(sim_func(&s, "expl"), 4), BAD);
    assert_int_equal(try_cluster(sim_func(&s, "expl"), 4, 1, 1), 0);
    assert_int_equal(try_cluster(sim_func(&s, "max4"), 8, 8, 1), BAD);
    assert_int_equal(try_cluster(sim_func(&s, "max4"), 8, 4, 1), 0);
    assert_int_equal(try_plain(sim_func(&s, "max4"), 4), 0);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void function_attributes_are_kept(void **state)
{
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD KERNELS);
    CUfunction f = sim_func(&s, "plain");
    int v;

    (void)state;
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
                          sim_func(&s, "expl")));
    assert_int_equal(v, 1);
    OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                          sim_func(&s, "req2")));
    assert_int_equal(v, 2);
    CU(cuFuncSetAttribute(sim_func(&s, "req2"),
                          CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4),
       ERROR_INVALID_VALUE);
    CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1),
       ERROR_INVALID_VALUE);
    CU(cuFuncSetAttribute(
           f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3),
       ERROR_INVALID_VALUE);
    for (unsigned k = 0; k < 3; k++)
        OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + k,
                              k ? 1 : 2));
    assert_int_equal(try_plain(f, 4), 0);
    assert_int_equal(try_plain(f, 3), BAD);
    assert_int_equal(try_cluster(f, 4, 4, 1), BAD);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void occupancy_counts_clusters(void **state)
{
    fgs_sim_config cfg = sim_config();
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { 16, 1, 1, 128, 1, 1, 0, NULL, &a, 0 };
    struct sim s = sim_open(&cfg, HEAD KERNELS);
    CUfunction f = sim_func(&s, "plain");
    int n, blocks;

    (void)state;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 0));
    OK(cuOccupancyMaxActiveClusters(&n, f, &c));
    assert_int_equal(n, 0);
    c.numAttrs = 1;
    a.value.clusterDim.x = 4;
    a.value.clusterDim.y = a.value.clusterDim.z = 1;
    OK(cuOccupancyMaxActiveClusters(&n, f, &c));
    assert_int_equal(n, blocks * (int)cfg.sms / 4);
    OK(cuOccupancyMaxPotentialClusterSize(&n, f, &c));
    assert_int_equal(n, 8);
    a.value.clusterDim.x = 16;
    CU(cuOccupancyMaxActiveClusters(&n, f, &c), ERROR_INVALID_CLUSTER_SIZE);
    OK(cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(cuOccupancyMaxPotentialClusterSize(&n, f, &c));
    assert_int_equal(n, 16);
    sim_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_size_is_checked),
        cmocka_unit_test(directives_are_obeyed),
        cmocka_unit_test(function_attributes_are_kept),
        cmocka_unit_test(occupancy_counts_clusters),
    };

    return cmocka_run_group_tests_name("sim_cluster", tests, NULL, NULL);
}
