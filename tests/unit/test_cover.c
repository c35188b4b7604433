/* test_cover.c -- tiles that are none: sums that wrap around, blocks left out
 *
 * Nothing is launched here: kernels of the application are descriptions.
 */
#include "refuse_rig.h"

static struct net net;
static fgs_buffer *in, *mid, *out;
static fgs_access *writes, *reads; /* `mid`: by stage a, by stage b */

static fgs_stage_desc *own(const char *name, fgs_buffer *from, fgs_buffer *to)
{
    return own_stage(&net, name, from, to, NET_TILES);
}

static int setup(void **state)
{
    net_setup(state);
    in = net_buffer(&net, "in", 1);
    mid = net_buffer(&net, "mid", 1);
    out = net_buffer(&net, "out", 1);
    own("a", in, mid);
    writes = &net.access[0][1];
    return 0;
}

static void refused(fgs_result want, const char *words)
{
    refused_for(&net, want, words);
}

static void read_by_b(uint32_t blocks)
{
    own("b", mid, out);
    net.stage[1].grid[0] = blocks;
    reads = &net.access[1][0];
}

/* Past the end by so much that the sum with it is small again. */
static void numbers_that_no_buffer_has(void **state)
{
    (void)state;
    writes->first = UINT64_MAX;
    refused(FGS_E_SIZE, "first 18446744073709551615, step 0 or count 0 is "
                        "beyond any tile");
    *writes = (fgs_access){ .buffer = mid, .write = 1, .step = 1ull << 63,
                            .count = 1 };
    refused(FGS_E_SIZE, "is beyond any tile");
    *writes = (fgs_access){ .buffer = mid, .write = 1, .step = 2 };
    refused(FGS_E_INVAL, "step is 2 without a count");
    *writes = (fgs_access){ .buffer = mid, .write = 1, .step = 2, .count = 1 };
    refused(FGS_E_SIZE, "block 12, writes tile 24 of buffer 'mid', which has "
                        "24");
}

/* 2^63 blocks; with 2^31 tiles each nothing fits into 64 bits. */
static void grid_whose_tiles_cannot_be_counted(void **state)
{
    (void)state;
    net.stage[0].grid[0] = 0x7fffffff;
    net.stage[0].grid[1] = net.stage[0].grid[2] = 65535;
    net.access[0][0].count = 1; /* of `in`, all blocks the first tile */
    *writes = (fgs_access){ .buffer = mid, .write = 1, .step = 1u << 31,
                            .count = 1u << 31 };
    refused(FGS_E_SIZE, "writes tile 9223372036854775807 of buffer 'mid'");
    *writes = (fgs_access){ .buffer = mid, .write = 1, .step = 1, .count = 2 };
    refused(FGS_E_SIZE, "writes tile 24 of buffer 'mid'");
    *writes = (fgs_access){ .buffer = mid, .write = 1, .count = 2 };
    refused(FGS_E_PLAN, "tile 0 of buffer 'mid' is written twice");
}

static void block_without_an_entry_of_its_table(void **state)
{
    static const uint32_t table[] = { 3, 1, 0 };

    (void)state;
    writes->table = table;
    writes->tables = 3;
    refused(FGS_E_MISMATCH, "a: block 3 has no part of buffer 'mid': its table "
                            "has 3");
}

/* A library's kernel of three blocks takes three entries. */
static void table_that_is_longer_than_the_grid(void **state)
{
    static const uint32_t table[] = { 3, 1, 0, 2 };
    fgs_kernel_desc d = { .role = FGS_ROLE_PRODUCER };

    (void)state;
    net.stage[0].function = NULL;
    net.stage[0].kernel = net_kernel(&net, &d);
    net.stage[0].block[0] = net.stage[0].block[1] = net.stage[0].block[2] = 0;
    net.stage[0].grid[0] = 3;
    writes->table = net.access[0][0].table = table;
    writes->tables = net.access[0][0].tables = 4;
    read_by_b(4);
    refused(FGS_E_PLAN, "b, block 0, waits for tile 2 of buffer 'mid', which "
                        "no stage writes");
}

static void boxes_that_cannot_be_counted(void **state)
{
    fgs_box b = { .rank = 5, .dims = { 8192, 8192, 8192, 8192, 8192 },
                  .pitch = { 16, 16, 16, 16 }, .box = { 1, 1, 1, 1, 1 } };
    fgs_buffer_desc d = { .size = sizeof d, .name = "tensor", .tiles = 64,
                          .tile_bytes = 16 };
    fgs_error err;

    (void)state;
    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    *writes = (fgs_access){ .buffer = net.b[net.buffers++], .write = 1,
                            .box = &b };
    refused(FGS_E_SIZE, "reaches past the end of buffer 'tensor', which has 64 "
                        "tiles"); /* 2^65 boxes */
    for (int i = 0; i < 5; i++)
        b.box[i] = 8192;
    refused(FGS_E_SIZE, "reaches past the end"); /* 2^52 rows */
    b = (fgs_box){ .rank = 2, .dims = { 4, 1u << 31 }, .pitch = { 1ull << 39 },
                   .box = { 4, 1 } };
    refused(FGS_E_SIZE, "reaches past the end"); /* 2^70 bytes */
    b = (fgs_box){ .rank = 2, .dims = { 4, 16 }, .pitch = { 64 },
                   .box = { 4, 1 } };
    refused(FGS_E_MISMATCH, "a: block 16 has no part of buffer 'tensor': its "
                            "boxes are 16");
}

int main(void)
{
#define TEST(f)                                                                \
    cmocka_unit_test_prestate_setup_teardown(f, setup, net_teardown, &net)
    const struct CMUnitTest tests[] = {
        TEST(numbers_that_no_buffer_has),
        TEST(grid_whose_tiles_cannot_be_counted),
        TEST(block_without_an_entry_of_its_table),
        TEST(table_that_is_longer_than_the_grid),
        TEST(boxes_that_cannot_be_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
