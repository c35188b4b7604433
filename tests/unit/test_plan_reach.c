/* test_plan_reach.c -- tensors that reach too far, launches that are none
 *
 * Every number of a description is taken to its ends.  Nothing is launched.
 */
#include "refuse_rig.h"

static struct net net;
static fgs_buffer *in, *mid, *out;

static int setup(void **state)
{
    (void)state;
    /* A GPU's driver reads what a function points to; nothing is launched. */
    setenv("FGS_PROVIDER", "sim", 1);
    net_open(&net);
    in = net_buffer(&net, "in", 1);
    mid = net_buffer(&net, "mid", 1);
    out = net_buffer(&net, "out", 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_close(&net);
    return 0;
}

/* A stage of the application's, which reads `from` and writes `to`. */
static fgs_access *own(fgs_buffer *from, fgs_buffer *to, uint32_t blocks)
{
    uint32_t i = net.spec.stage_count;

    own_stage(&net, "own", from, to, blocks);
    return net.access[i];
}

static void refused(fgs_result want, const char *words)
{
    refused_for(&net, want, words);
}

/* Past the rules of accesses, the driver is asked for the function. */
static void good(void)
{
    refused(FGS_E_DRIVER, "cuFuncLoad");
}

static void first_tile_of_a_library_kernel_is_past_the_end(void **state)
{
    fgs_stage_desc *s = net_stage(&net, "make", net_producer(&net), in, NULL,
                                  mid);

    (void)state;
    (void)s;
    net.access[0][0].first = net.access[0][1].first = NET_TILES;
    refused(FGS_E_SIZE, "make: its first tile, 24, is past the end of buffer "
                        "'in', which has 24");
}

static void table_has_nothing_beside_its_entries(void **state)
{
    static const uint32_t t[4] = { 3, 2, 1, 0 };
    fgs_access *a = own(in, mid, 4);

    (void)state;
    a[0].table = t;
    a[0].tables = 4;
    good();
    a[0].first = 1;
    refused(FGS_E_INVAL, "a table has entries, and neither first");
}

/* The other buffer follows the table: it has no first tile of its own. */
static void table_of_a_producer_and_a_first_tile(void **state)
{
    static const uint32_t t[4] = { 3, 2, 1, 0 };

    (void)state;
    net_stage(&net, "make", net_producer(&net), in, NULL, mid);
    net.access[0][0].table = t;
    net.access[0][0].tables = 4;
    net.access[0][1].first = 2;
    refused(FGS_E_MISMATCH, "by a table, and by first");
}

static void boxes_of_a_tensor_beyond_the_buffer(void **state)
{
    const uint64_t most = UINT32_MAX;
    fgs_box all = { .rank = 5, .dims = { most, most, most, most, most },
                    .pitch = { 16, 16, 16, 16 }, .box = { 1, 1, 1, 1, 1 } };
    fgs_access *a = own(chunk_buffer(&net, "tensor", 64), mid, 1);

    (void)state;
    a[0].box = &all;
    refused(FGS_E_SIZE, "reaches past the end of buffer 'tensor', which has 64 "
                        "tiles");
    for (int i = 0; i < 4; i++)
        all.pitch[i] = 1ull << 39;
    all.dims[0] = 1;
    refused(FGS_E_SIZE, "reaches past the end");
}

/* Rows that lie on each other: their number is no measure of the buffer. */
static void boxes_of_too_many_rows(void **state)
{
    fgs_box all = { .rank = 5, .dims = { 4, 16, 16, 16, 16 },
                    .pitch = { 16, 16, 16, 16 }, .box = { 1, 1, 1, 1, 1 } };
    fgs_buffer_desc d = { .size = sizeof d, .name = "tensor", .tiles = 4096,
                          .tile_bytes = 16 };
    fgs_error err;
    fgs_access *a;

    (void)state;
    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    a = own(net.b[net.buffers++], mid, 1);
    a[0].box = &all;
    good();
    for (int i = 1; i < 5; i++)
        all.dims[i] = 1000;
    refused(FGS_E_SIZE, "box of buffer 'tensor': all of them have more than");
}

/* What of a box lies outside the tensor costs nothing. */
static void box_is_much_larger_than_the_tensor(void **state)
{
    const uint64_t most = UINT32_MAX;
    fgs_box one = { .rank = 5, .dims = { 4, 2, 2, 2, 2 },
                    .pitch = { 16, 32, 64, 128 },
                    .box = { most, most, most, most, most } };
    fgs_access *a = own(mid, chunk_buffer(&net, "tensor", 64), 1);

    (void)state;
    a[1].box = &one;
    good();
    own(net.access[0][1].buffer, out, 17);
    net.access[1][0].step = net.access[1][0].count = 1;
    refused(FGS_E_PLAN, "waits for tile 16 of buffer 'tensor'");
}

static void box_of_a_kernel_that_takes_tiles(void **state)
{
    fgs_box w = { .rank = 1, .dims = { 256 }, .box = { 4 } };
    fgs_buffer *a = chunk_buffer(&net, "a", 64);
    fgs_buffer *b = chunk_buffer(&net, "b", 64);
    fgs_kernel_desc d = { .role = FGS_ROLE_CONSUMER, .tile_bytes = 16,
                          .engine = FGS_ENGINE_POLL, .threads = 32 };

    (void)state;
    net_stage(&net, "use", net_kernel(&net, &d), a, NULL, b);
    net.access[0][0].box = &w;
    refused(FGS_E_MISMATCH, "a box says something else");
}

static void grids_and_blocks_that_are_none(void **state)
{
    fgs_stage_desc *s = &net.stage[0];

    (void)state;
    own(in, mid, 2);
    for (int i = 0; i < 3; i++)
        s->grid[i] = UINT32_MAX;
    refused(FGS_E_SIZE, "own: a grid of 4294967295 x 4294967295 x 4294967295 "
                        "blocks");
    s->grid[0] = 2;
    s->grid[1] = 1;
    s->grid[2] = 65536;
    refused(FGS_E_SIZE, "a grid of 2 x 1 x 65536");
    s->grid[2] = 1;
    s->block[0] = s->block[1] = 64;
    refused(FGS_E_SIZE, "own: a block of 64 x 64 x 1 threads");
    s->block[0] = s->block[1] = s->block[2] = 0x10000;
    refused(FGS_E_SIZE, "a block of 65536");
}

/* The grid comes of the tiles. */
static void cluster_that_the_tiles_do_not_fill(void **state)
{
    fgs_stage_desc *s = net_stage(&net, "make", net_producer(&net), in, NULL,
                                  mid);

    (void)state;
    s->cluster[0] = 5;
    s->cluster[1] = s->cluster[2] = 1;
    refused(FGS_E_SIZE, "make: a grid of 24 blocks is no multiple of a cluster "
                        "of 5");
}

/* ------------------------------------------ what the function says of it -- */

static const char nothing[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry nothing(.param .u64 a, .param .u32 b)\n"
    ".maxntid 64, 1, 1\n{ ret; }\n";

static void get_proc(const char *name, void *to)
{
    void *proc = fgs_device_get_proc(net.dev, name);

    assert_non_null(proc);
    memcpy(to, &proc, sizeof proc);
}

static void launches_that_the_function_does_not_allow(void **state)
{
    static const uint64_t a = 1, b = 2;
    fgs_arg args[3] = { { .value = &a, .bytes = 8 },
                        { .value = &b, .bytes = 4 },
                        { .value = &b, .bytes = 4 } };
    fgs_stage_desc *s = &net.stage[0];
    int (*retain)(CUcontext *, int), (*release)(int);
    int (*push)(CUcontext), (*pop)(CUcontext *);
    int (*load)(void **, const void *), (*unload)(void *);
    int (*function)(CUfunction *, void *, const char *);
    CUcontext ctx;
    void *module;
    fgs_error err;

    (void)state;
    get_proc("cuDevicePrimaryCtxRetain", &retain);
    get_proc("cuDevicePrimaryCtxRelease", &release);
    get_proc("cuCtxPushCurrent", &push);
    get_proc("cuCtxPopCurrent", &pop);
    get_proc("cuModuleLoadData", &load);
    get_proc("cuModuleUnload", &unload);
    get_proc("cuModuleGetFunction", &function);
    assert_int_equal(retain(&ctx, 0) | push(ctx), 0);
    assert_int_equal(load(&module, nothing), 0);
    own(in, mid, NET_TILES);
    assert_int_equal(function(&s->function, module, "nothing"), 0);
    s->args = args;
    refused(FGS_E_MISMATCH, "own: 0 arguments are stated, and its kernel has "
                            "more parameters");
    s->arg_count = 3;
    refused(FGS_E_MISMATCH, "own: 3 arguments are stated, and its kernel has "
                            "fewer parameters");
    s->arg_count = 2;
    args[1].bytes = 8;
    refused(FGS_E_MISMATCH, "own: argument 1 has 8 bytes, its kernel's "
                            "parameter 4");
    args[1].bytes = 4;
    s->block[0] = 65;
    refused(FGS_E_SIZE, "own: a block of 65 threads; its kernel runs with 64 "
                        "at most");
    s->block[0] = 64;
    s->shared_bytes = 1 << 20;
    refused(FGS_E_SIZE, "own: a block with 1048576 bytes of dynamic shared "
                        "memory; its function allows");
    s->shared_bytes = 0;
    for (int i = 0; i < 3; i++)
        s->cluster[i] = i ? 1 : NET_TILES;
    refused(FGS_E_UNSUPPORTED, "own: the device has no room for a cluster of "
                               "blocks");
    s->cluster[0] = s->cluster[1] = s->cluster[2] = 0;
    RIG_OK(net_compose(&net, &err), err);
    fgs_plan_free(net.plan);
    net.plan = NULL;
    unload(module);
    pop(&ctx);
    release(0);
}

static void more_shared_memory_than_a_block_has(void **state)
{
    (void)state;
    net_stage(&net, "make", net_producer(&net), in, NULL, mid)->shared_bytes =
        300000;
    refused(FGS_E_SIZE, "make: a block with 300000 bytes");
}

static void buffer_whose_use_is_stated_twice(void **state)
{
    (void)state;
    own(in, mid, 2);
    net_use(&net, mid, FGS_FILL_MEMSET, NULL);
    net_use(&net, mid, FGS_FILL_SELF, NULL);
    refused(FGS_E_INVAL, "names buffer 'mid' twice");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(first_tile_of_a_library_kernel_is_past_the_end),
        TEST(table_has_nothing_beside_its_entries),
        TEST(table_of_a_producer_and_a_first_tile),
        TEST(boxes_of_a_tensor_beyond_the_buffer),
        TEST(boxes_of_too_many_rows),
        TEST(box_is_much_larger_than_the_tensor),
        TEST(box_of_a_kernel_that_takes_tiles),
        TEST(grids_and_blocks_that_are_none),
        TEST(cluster_that_the_tiles_do_not_fill),
        TEST(buffer_whose_use_is_stated_twice),
        TEST(launches_that_the_function_does_not_allow),
        TEST(more_shared_memory_than_a_block_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
