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

/* 5 blocks on the only SM are the most, for want of shared memory. */
static void cluster_that_never_fits_is_refused(void **state)
{
    fgs_sim_config cfg = sim_config();
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { 12, 1, 1, 32, 1, 1, 40000, NULL, &a, 1 };
    CUfunction f;
    struct sim s;
    int n;

    (void)state;
    cfg.sms = 1;
    cfg.sm_shared = 228 * 1024;
    s = sim_open(&cfg, HEAD KERNELS);
    f = sim_func(&s, "plain");
    a.value.clusterDim.x = 4;
    a.value.clusterDim.y = a.value.clusterDim.z = 1;
    OK(cuLaunchKernelEx(&c, f, NULL, NULL));
    OK(cuOccupancyMaxPotentialClusterSize(&n, f, &c));
    assert_int_equal(n, 5);
    OK(cuOccupancyMaxActiveClusters(&n, f, &c));
    assert_int_equal(n, 1);
    a.value.clusterDim.x = 6;
    CU(cuLaunchKernelEx(&c, f, NULL, NULL), ERROR_INVALID_CLUSTER_SIZE);
    OK(cuOccupancyMaxActiveClusters(&n, f, &c));
    assert_int_equal(n, 0);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

static void device_without_clusters_refuses_them(void **state)
{
    static const char text[] = ".version 7.0\n.target sm_80\n"
                               ".address_size 64\n"
                               ".visible .entry old()\n{\n    ret;\n}\n";
    fgs_sim_config cfg = sim_config();
    struct sim s;
    int v;

    (void)state;
    cfg.cc = 80;
    s = sim_open(&cfg, text);
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    assert_int_equal(v, 0);
    assert_int_equal(try_cluster(sim_func(&s, "old"), 4, 2, 1), BAD);
    assert_int_equal(try_cluster(sim_func(&s, "old"), 4, 1, 1), 0);
    assert_int_equal(try_plain(sim_func(&s, "old"), 4), 0);
    OK(cuCtxSynchronize());
    sim_close(&s);
}

/* Each block stores the size of its cluster. */
#define SIZES                                                                  \
    ".visible .entry sizes(.param .u64 p_out)\n{\n"                            \
    "    .reg .u64 %out, %at;\n    .reg .u32 %b, %n;\n"                       \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    mov.u32 %b, %ctaid.x;\n    mov.u32 %n, %cluster_nctarank;\n"         \
    "    mad.wide.u32 %at, %b, 4, %out;\n"                                     \
    "    st.global.u32 [%at], %n;\n    ret;\n}\n"

enum { SIZES_BLOCKS = 8 };

/* All blocks saw clusters of the same size: which. */
static uint32_t size_seen(CUdeviceptr out)
{
    uint32_t got[SIZES_BLOCKS];

    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(got, out, sizeof got));
    for (int i = 1; i < SIZES_BLOCKS; i++)
        assert_int_equal(got[i], got[0]);
    return got[0];
}

static void preferred_cluster_may_be_taken(void **state)
{
    CUlaunchAttribute a[2] = {
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION },
        { .id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION }
    };
    CUlaunchConfig c = { SIZES_BLOCKS, 1, 1, 32, 1, 1, 0, NULL, a, 2 };
    fgs_sim_config cfg = sim_config();
    unsigned seen = 0;

    (void)state;
    for (int k = 0; k < 2; k++)
        a[k].value.clusterDim.x = a[k].value.clusterDim.y =
            a[k].value.clusterDim.z = 1;
    for (cfg.seed = 1; cfg.seed <= 16; cfg.seed++) {
        struct sim s = sim_open(&cfg, HEAD SIZES);
        CUfunction f = sim_func(&s, "sizes");
        CUdeviceptr out = sim_alloc(4 * SIZES_BLOCKS);
        void *params[] = { &out };

        a[0].value.clusterDim.x = 2;
        a[1].value.clusterDim.x = 4;
        OK(cuLaunchKernelEx(&c, f, params, NULL));
        seen |= size_seen(out);
        a[1].value.clusterDim.x = 3; /* no multiple */
        CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_INVALID_CLUSTER_SIZE);
        a[0].value.clusterDim.x = 0; /* nothing to prefer it to */
        a[1].value.clusterDim.x = 4;
        CU(cuLaunchKernelEx(&c, f, params, NULL), ERROR_INVALID_CLUSTER_SIZE);
        sim_close(&s);
    }
    assert_int_equal(seen, 2 | 4);
}

static void graph_node_keeps_its_cluster(void **state)
{
    CUkernelNodeAttrValue v = { .clusterDim = { 2, 1, 1 } };
    fgs_sim_config cfg = sim_config();
    struct sim s = sim_open(&cfg, HEAD SIZES);
    CUdeviceptr out = sim_alloc(4 * SIZES_BLOCKS);
    void *params[] = { &out };
    CUDA_KERNEL_NODE_PARAMS p = {
        sim_func(&s, "sizes"), SIZES_BLOCKS, 1, 1, 32, 1, 1, 0, params, NULL,
        NULL, NULL
    };
    CUgraphNode a, b;
    CUgraphExec exec;
    CUgraph g;

    (void)state;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode_v2(&a, g, NULL, 0, &p));
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     &v));
    v.clusterDim.x = 3;
    CU(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     &v), ERROR_INVALID_CLUSTER_SIZE);
    OK(cuGraphAddKernelNode_v2(&b, g, &a, 1, &p));
    OK(cuGraphKernelNodeCopyAttributes(b, a));
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     &v));
    assert_int_equal(v.clusterDim.x, 2);
    v.clusterDim.x = 4;
    OK(cuGraphKernelNodeSetAttribute(b, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     &v));
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(size_seen(out), 4);
    OK(cuGraphDestroyNode(b));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphLaunch(exec, NULL));
    assert_int_equal(size_seen(out), 2);
    sim_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_size_is_checked),
        cmocka_unit_test(directives_are_obeyed),
        cmocka_unit_test(function_attributes_are_kept),
        cmocka_unit_test(occupancy_counts_clusters),
        cmocka_unit_test(cluster_that_never_fits_is_refused),
        cmocka_unit_test(device_without_clusters_refuses_them),
        cmocka_unit_test(preferred_cluster_may_be_taken),
        cmocka_unit_test(graph_node_keeps_its_cluster),
    };

    return cmocka_run_group_tests_name("sim_cluster", tests, NULL, NULL);
}
