/* test_plan_rules.c -- plans that break a rule, each refused by its own error
 *
 * Nothing is launched here: kernels of the application are descriptions.
 */
#include "refuse_rig.h"

#include <fgs/fgs_sim.h>

static struct net net;
static fgs_buffer *in, *mid, *out;

static void open_net(void)
{
    net_open(&net);
    in = net_buffer(&net, "in", 1);
    mid = net_buffer(&net, "mid", 1);
    out = net_buffer(&net, "out", 1);
}

static int setup(void **state)
{
    (void)state;
    open_net();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_close(&net);
    return 0;
}

/* A stage of the application's: one block a tile, does its part for sentinels
 * and flags. */
static fgs_stage_desc *own(const char *name, fgs_buffer *from, fgs_buffer *to)
{
    fgs_stage_desc *s = own_stage(&net, name, from, to, NET_TILES);

    s->waits = FGS_WAITS_LAST;
    s->triggers = FGS_TRIGGERS_START;
    for (uint32_t i = 0; i < s->access_count; i++)
        ((fgs_access *)s->accesses)[i].can =
            1u << FGS_ORDER_SENTINEL | 1u << FGS_ORDER_FLAG;
    return s;
}

static fgs_access *access_of(uint32_t stage, uint32_t i)
{
    return &net.access[stage][i];
}

/* The plan is refused; the text has the words, and stage and buffer are named
 * where they are stated. */
static void refused(fgs_result want, const char *words, const char *stage,
                    const char *buffer)
{
    fgs_error err = refused_for(&net, want, words);

    if (stage)
        assert_string_equal(err.kernel, stage);
    if (buffer)
        assert_string_equal(err.buffer, buffer);
}

static void cycle(void **state)
{
    (void)state;
    own("a", mid, out);
    own("b", out, mid);
    refused(FGS_E_PLAN, "cycle", NULL, NULL);
}

static void halves(uint32_t stage, uint64_t read, uint64_t write)
{
    access_of(stage, 0)->first = read;
    access_of(stage, 1)->first = write;
    net.stage[stage].grid[0] = NET_TILES / 2;
}

/* Each of a and b reads the half that the other one does not write. */
static void halves_of_two_buffers_are_no_cycle(void **state)
{
    const uint64_t half = NET_TILES / 2;

    (void)state;
    own("a", mid, out);
    own("b", out, mid);
    own("c", in, mid);
    own("d", in, out);
    halves(0, half, 0);
    halves(1, half, 0);
    halves(2, 0, half);
    halves(3, 0, half);
    refused(FGS_E_DRIVER, "cuFuncLoad", NULL, NULL);
    halves(0, 0, 0);
    halves(1, 0, 0);
    refused(FGS_E_PLAN, "cycle", NULL, NULL);
}

static void buffer_read_and_written_by_one_stage(void **state)
{
    (void)state;
    own("a", mid, mid);
    refused(FGS_E_PLAN, "reads and writes buffer 'mid'", "a", "mid");
}

static void tile_that_two_stages_write(void **state)
{
    (void)state;
    own("a", in, mid);
    own("b", out, mid);
    refused(FGS_E_PLAN, "tile 0 of buffer 'mid' is written twice", NULL, "mid");
}

static void tile_that_two_blocks_write(void **state)
{
    (void)state;
    own("a", in, mid);
    *access_of(0, 1) = (fgs_access){ .buffer = mid, .write = 1, .step = 1,
                                     .count = 2 };
    net.stage[0].grid[0] = 4;
    refused(FGS_E_PLAN, "tile 1 of buffer 'mid' is written twice: by a, block "
                        "0, and by a, block 1", "a", "mid");
}

static void tile_that_is_waited_for_and_never_written(void **state)
{
    (void)state;
    own("a", in, mid);
    net.stage[0].grid[0] = NET_TILES - 1;
    own("b", mid, out);
    refused(FGS_E_PLAN, "waits for tile 23 of buffer 'mid', which no stage "
                        "writes", "b", "mid");
}

static void tile_that_the_buffer_does_not_have(void **state)
{
    (void)state;
    own("a", in, mid);
    net.stage[0].grid[0] = NET_TILES + 1;
    refused(FGS_E_SIZE, "reads tile 24 of buffer 'in', which has 24", NULL,
            NULL);
}

static void table_that_misses_a_tile_leaves_it_unwritten(void **state)
{
    static const uint32_t table[] = { 3, 1, 0 };

    (void)state;
    own("a", in, mid);
    access_of(0, 0)->table = access_of(0, 1)->table = table;
    access_of(0, 0)->tables = access_of(0, 1)->tables = 3;
    net.stage[0].grid[0] = 3;
    own("b", mid, out);
    net.stage[1].grid[0] = 4;
    refused(FGS_E_PLAN, "block 0, waits for tile 2", "b", "mid");
}

static void unfilled_slot(void **state)
{
    (void)state;
    own("a", in, mid)->triggers = FGS_TRIGGERS_NEVER;
    own("b", mid, out);
    net_use(&net, mid, FGS_FILL_SELF, NULL);
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "would be waited for without ever being filled", "a",
            "mid");
}

static void trigger_before_the_fence(void **state)
{
    (void)state;
    own("a", in, mid);
    own("b", mid, out);
    net_use(&net, mid, FGS_FILL_SELF, NULL);
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "the trigger has to follow barrier and fence", "a",
            "mid");
}

static void buffer_that_is_filled_twice(void **state)
{
    (void)state;
    own("a", in, mid)->triggers = FGS_TRIGGERS_FILLED;
    own("b", mid, out);
    net_use(&net, mid, FGS_FILL_MEMSET, NULL);
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "would fill it again", NULL, "mid");
}

static void early_clear_by_one_of_two_readers(void **state)
{
    fgs_kernel *c = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                  .engine = FGS_ENGINE_POLL });
    fgs_buffer *more = net_buffer(&net, "more", 1);

    (void)state;
    own("a", in, mid);
    net_stage(&net, "b", c, mid, NULL, out);
    net_stage(&net, "c", c, mid, NULL, more);
    net_use(&net, mid, FGS_FILL_READER, NULL);
    refused(FGS_E_PLAN, "b would clear tiles that c may still read", "c",
            "mid");
}

static void early_clear_of_a_tile_that_two_blocks_read(void **state)
{
    static const uint32_t table[] = { 5, 7, 5 };
    fgs_kernel *c = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                  .engine = FGS_ENGINE_POLL });

    (void)state;
    own("a", in, mid);
    net_stage(&net, "b", c, mid, NULL, out);
    access_of(1, 0)->table = table;
    access_of(1, 0)->tables = 3;
    net_use(&net, mid, FGS_FILL_READER, NULL);
    refused(FGS_E_PLAN, "two blocks read tile 5", "b", "mid");
}

static void missing_wait(void **state)
{
    (void)state;
    own("a", in, mid);
    own("b", mid, out)->waits = FGS_WAITS_NEVER;
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "b does not execute griddepcontrol.wait", "b", "mid");
}

static void pdl_on_a_kernel_that_waits_too_late(void **state)
{
    (void)state;
    own("a", in, mid);
    own("b", mid, out);
    access_of(1, 0)->order = FGS_ORDER_PDL;
    refused(FGS_E_PLAN, "cannot be ordered by `pdl`: b does not execute "
                        "griddepcontrol.wait before it loads", "b", "mid");
}

static void unequal_domains(void **state)
{
    (void)state;
    own("a", in, mid)->domain = 1;
    own("b", mid, out);
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "different memory synchronization domains", "b", "mid");
}

/* The software device as another one; nothing of the net may be alive. */
static void present(uint32_t cc)
{
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    RIG_OK(fgs_sim_config_get(&cfg, &err), err);
    cfg.cc = cc;
    RIG_OK(fgs_sim_config_set(&cfg, &err), err);
}

/* Below 9.0 a reader in another stream can be tied to the start of its writer's
 * blocks alone, not to their fill. */
static void starving_order(void **state)
{
    (void)state;
    net_close(&net);
    present(75);
    open_net();
    own("a", in, mid)->triggers = FGS_TRIGGERS_FILLED;
    own("b", mid, out)->stream = (CUstream)(uintptr_t)16;
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "b could take the device before a has started and "
                        "starve it", "b", "mid");
    /* Filled before, it can; then the driver is asked for the function. */
    net.stage[0].triggers = FGS_TRIGGERS_START;
    refused(FGS_E_DRIVER, "cuFuncLoad", NULL, NULL);
    net_close(&net);
    present(107);
    open_net();
}

static void order_that_a_writer_has_no_part_in(void **state)
{
    (void)state;
    own("a", in, mid);
    access_of(0, 1)->can = 1u << FGS_ORDER_FLAG;
    own("b", mid, out);
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "a does not store whole chunks", "b", "mid");
    access_of(0, 1)->can = 1u << FGS_ORDER_SENTINEL;
    access_of(1, 0)->order = FGS_ORDER_FLAG;
    refused(FGS_E_PLAN, "a does not set flags", "b", "mid");
}

/* Whatever the order, a kernel that looks for sentinels waits at one that is
 * data; and a relay hands it on. */
static void sentinels_that_are_data(void **state)
{
    fgs_kernel_desc d = { .role = FGS_ROLE_RELAY, .engine = FGS_ENGINE_PLAIN };

    (void)state;
    own("a", in, mid);
    access_of(0, 1)->can = 0;
    net_stage(&net, "b", net_consumer(&net), mid, NULL, out);
    for (int i = 0; i < 2; i++) {
        net.spec.order = i ? FGS_ORDER_STREAM : FGS_ORDER_AUTO;
        refused(FGS_E_PLAN, "b looks for sentinels in buffer 'mid', and a may "
                            "store them as data", "b", "mid");
    }
    net.stage[1].ordered = net_plain(&net);
    refused(FGS_E_DRIVER, "cuFuncLoad", NULL, NULL);
    net.stage[1].kernel = net_kernel(&net, &d);
    net.stage[1].ordered = NULL;
    net_stage(&net, "c", net_consumer(&net), out, NULL,
              net_buffer(&net, "end", 1));
    net.spec.order = FGS_ORDER_STREAM;
    access_of(2, 0)->order = FGS_ORDER_SENTINEL;
    refused(FGS_E_PLAN, "b does not store whole chunks that never hold the "
                        "sentinel: it hands on what it reads", "c", "out");
    access_of(0, 1)->can = 1u << FGS_ORDER_SENTINEL;
    refused(FGS_E_DRIVER, "cuFuncLoad", NULL, NULL);
}

static void wrong_sizes(void **state)
{
    fgs_kernel *p = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_PRODUCER,
                                  .tile_bytes = 2048 });

    (void)state;
    net_stage(&net, "a", p, in, NULL, mid);
    refused(FGS_E_MISMATCH, "tiles of 4096 bytes", NULL, NULL);
    net.access[0][1].write = 0;
    refused(FGS_E_MISMATCH, "access 1 must be one that writes", NULL, NULL);
    net.stage[0].access_count = 1;
    refused(FGS_E_MISMATCH, "it reads 1 and writes 1 buffers; 1 accesses",
            NULL, NULL);
}

/* ---------------------------------------------------------------- boxes -- */

/* A tensor of f32, 30 x 10, rows 128 bytes apart: 120 bytes and a gap. */
static fgs_box rows(uint64_t width, uint64_t height)
{
    return (fgs_box){ .rank = 2, .dims = { 30, 10 }, .pitch = { 128 },
                      .box = { width, height } };
}

static void padding_that_nobody_writes(void **state)
{
    fgs_box w = rows(30, 2), r = rows(16, 5);
    fgs_buffer *t = chunk_buffer(&net, "tensor", 80);

    (void)state;
    own("a", in, t);
    own("b", t, out);
    net.stage[0].grid[0] = 5;
    net.stage[1].grid[0] = 4;
    access_of(0, 1)->box = &w;
    access_of(1, 0)->box = &r;
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    /* The row ends in the middle of chunk 7. */
    refused(FGS_E_PLAN, "waits for tile 7 of buffer 'tensor', which no stage "
                        "writes", "b", "tensor");
    access_of(0, 1)->padding = FGS_PADDING_WRITTEN;
    /* Past this rule, the driver is asked for the function. */
    refused(FGS_E_DRIVER, "cuFuncLoad", NULL, NULL);
    access_of(0, 1)->padding = FGS_PADDING_NONE;
    access_of(1, 0)->padding = FGS_PADDING_PRESET;
    net.stage[0].triggers = FGS_TRIGGERS_FILLED;
    refused(FGS_E_DRIVER, "cuFuncLoad", NULL, NULL);
}

static void padding_that_is_preset_and_then_filled(void **state)
{
    fgs_box w = rows(30, 2), r = rows(16, 5);
    fgs_buffer *t = chunk_buffer(&net, "tensor", 80);

    (void)state;
    own("a", in, t);
    own("b", t, out);
    net.stage[0].grid[0] = 5;
    net.stage[1].grid[0] = 4;
    access_of(0, 1)->box = &w;
    access_of(1, 0)->box = &r;
    access_of(1, 0)->order = FGS_ORDER_SENTINEL;
    access_of(1, 0)->padding = FGS_PADDING_PRESET;
    refused(FGS_E_PLAN, "tile 7 of buffer 'tensor' to be preset, and fill "
                        "`memset` would put the sentinel there", "b", "tensor");
    net_use(&net, t, FGS_FILL_READER, NULL);
    refused(FGS_E_PLAN, "fill `reader` would put the sentinel there", "b",
            "tensor");
}

static void boxes_that_share_a_chunk(void **state)
{
    fgs_box w = rows(6, 10);
    fgs_buffer *t = chunk_buffer(&net, "tensor", 80);

    (void)state;
    own("a", in, t);
    net.stage[0].grid[0] = 5;
    access_of(0, 1)->box = &w;
    access_of(0, 1)->padding = FGS_PADDING_WRITTEN;
    /* Box 0 ends and box 1 begins at byte 24, in chunk 1. */
    refused(FGS_E_PLAN, "tile 1 of buffer 'tensor' is written twice", "a",
            "tensor");
}

static void boxes_that_are_none(void **state)
{
    fgs_box w = rows(30, 2);
    fgs_buffer *t = chunk_buffer(&net, "tensor", 80);

    (void)state;
    own("a", in, t);
    access_of(0, 1)->box = &w;
    w.rank = 6;
    refused(FGS_E_SIZE, "rank is not in 1 ... 5", NULL, NULL);
    w = rows(30, 0);
    refused(FGS_E_SIZE, "is 0", NULL, NULL);
    w = rows(30, 2);
    w.pitch[0] = 120;
    refused(FGS_E_SIZE, "no multiple of 16", NULL, NULL);
    w = rows(30, 2);
    w.dims[1] = 11;
    refused(FGS_E_SIZE, "of buffer 'tensor', which has 80", NULL, NULL);
    access_of(0, 1)->buffer = mid;
    refused(FGS_E_SIZE, "tiles of 16 bytes", NULL, NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(cycle),
        TEST(halves_of_two_buffers_are_no_cycle),
        TEST(buffer_read_and_written_by_one_stage),
        TEST(tile_that_two_stages_write),
        TEST(tile_that_two_blocks_write),
        TEST(tile_that_is_waited_for_and_never_written),
        TEST(tile_that_the_buffer_does_not_have),
        TEST(table_that_misses_a_tile_leaves_it_unwritten),
        TEST(unfilled_slot),
        TEST(trigger_before_the_fence),
        TEST(buffer_that_is_filled_twice),
        TEST(early_clear_by_one_of_two_readers),
        TEST(early_clear_of_a_tile_that_two_blocks_read),
        TEST(missing_wait),
        TEST(pdl_on_a_kernel_that_waits_too_late),
        TEST(unequal_domains),
        TEST(starving_order),
        TEST(order_that_a_writer_has_no_part_in),
        TEST(sentinels_that_are_data),
        TEST(wrong_sizes),
        TEST(padding_that_nobody_writes),
        TEST(padding_that_is_preset_and_then_filled),
        TEST(boxes_that_share_a_chunk),
        TEST(boxes_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
