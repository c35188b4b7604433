/* test_plan_reach.c -- tensors that reach too far, launches that are none
 *
 * Every number of a description is taken to its ends.  Nothing is launched.
 */
#include "compose_rig.h"

static struct net net;
static fgs_buffer *in, *mid, *out;

/* No such function: a plan that is refused never asks the driver for it. */
#define NO_FUNCTION ((CUfunction)(uintptr_t)16)

static int setup(void **state)
{
    (void)state;
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
    fgs_stage_desc *s = net_stage(&net, "own", NULL, from, NULL, to);

    s->function = NO_FUNCTION;
    s->grid[0] = blocks;
    s->grid[1] = s->grid[2] = 1;
    s->block[0] = s->block[1] = s->block[2] = 1;
    return net.access[i];
}

static void refused(fgs_result want, const char *words)
{
    fgs_error err = { .result = FGS_OK };
    fgs_result r = net_compose(&net, &err);

    if (r != want || !strstr(err.text, words))
        print_error("%s: %s\n", fgs_result_name(r), err.text);
    assert_null(net.plan);
    assert_int_equal(r, want);
    assert_non_null(strstr(err.text, words));
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

static fgs_buffer *chunks(const char *name)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = 64,
                          .tile_bytes = 16 };
    fgs_error err;

    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    return net.b[net.buffers++];
}

static void boxes_of_a_tensor_beyond_the_buffer(void **state)
{
    const uint64_t most = UINT32_MAX;
    fgs_box all = { .rank = 5, .dims = { most, most, most, most, most },
                    .pitch = { 16, 16, 16, 16 }, .box = { 1, 1, 1, 1, 1 } };
    fgs_access *a = own(chunks("tensor"), mid, 1);

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
    fgs_access *a = own(mid, chunks("tensor"), 1);

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
    fgs_buffer *a = chunks("a"), *b = chunks("b");
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
