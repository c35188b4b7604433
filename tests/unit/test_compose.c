/* test_compose.c -- plans of many kernels: shapes, orders, fills, slots
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "compose_rig.h"

static struct net net;

static void fan_out_of_eight_reads_one_buffer(void **state)
{
    fgs_buffer *in = net_buffer(&net, "in", 1);
    fgs_buffer *mid = net_buffer(&net, "mid", 1), *out[8];
    fgs_kernel *c = net_consumer(&net);
    fgs_plan_info info = { .size = sizeof info };
    fgs_error err;

    (void)state;
    net_write(in, 7);
    /* Readers first: the plan finds the order of launches. */
    for (int i = 0; i < 8; i++) {
        out[i] = net_buffer(&net, "out", 1);
        net_stage(&net, NULL, c, mid, NULL, out[i]);
    }
    net_stage(&net, "produce", net_producer(&net), in, NULL, mid);
    RIG_OK(net_compose(&net, &err), err);
    RIG_OK(fgs_plan_get_info(net.plan, &info, &err), err);
    assert_int_equal(info.edges, 8);
    assert_int_equal(info.depth, 2);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(net_edge(&net, i).taken, FGS_ORDER_SENTINEL);
        assert_int_equal(net_edge(&net, i).from, 0);
    }
    net_run(&net, NULL, 3);
    for (int i = 0; i < 8; i++)
        net_expect(in, 0, out[i], 0, 1);
}

/* Each way to fill, and slots in turn over rounds that change their input. */
static void rotate(uint32_t slots, fgs_fill fill)
{
    fgs_error err;

    net_pair(&net, slots);
    net_use(&net, net.b[1], fill,
            fill == FGS_FILL_KERNEL ? net_filler(&net) : NULL);
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 0; i < 7; i++) {
        net_write(net.b[0], i);
        net_run(&net, NULL, 1);
        net_expect(net.b[0], 0, net.b[2], i % slots, 1);
    }
    net_write(net.b[0], 99);
    net_run(&net, NULL, 10);
    net_expect(net.b[0], 0, net.b[2], (7 + 9) % slots, 1);
}

static void one_slot_is_filled_by_a_kernel(void **state)
{
    (void)state;
    rotate(1, FGS_FILL_KERNEL);
}

static void one_slot_is_filled_by_a_memset(void **state)
{
    (void)state;
    rotate(1, FGS_FILL_MEMSET);
}

static void one_slot_is_cleared_by_its_reader(void **state)
{
    (void)state;
    rotate(1, FGS_FILL_READER);
}

static void two_slots_are_filled_ahead_by_a_kernel(void **state)
{
    (void)state;
    rotate(2, FGS_FILL_KERNEL);
}

static void three_slots_are_filled_ahead_by_a_memset(void **state)
{
    (void)state;
    rotate(3, FGS_FILL_MEMSET);
}

static void three_slots_are_cleared_by_their_reader(void **state)
{
    (void)state;
    rotate(3, FGS_FILL_READER);
}

static fgs_stage_info stage(uint32_t i)
{
    fgs_stage_info s = { .size = sizeof s };
    fgs_error err;

    RIG_OK(fgs_plan_get_stage(net.plan, i, &s, &err), err);
    return s;
}

/* With one slot the fill ends before the producer starts; with two it is the
 * next round's, and runs beside this one. */
static void fill_of_the_next_slot_is_off_the_path(void **state)
{
    fgs_error err;
    int beside = 0;

    (void)state;
    net_pair(&net, 1);
    net_use(&net, net.b[1], FGS_FILL_KERNEL, net_filler(&net));
    RIG_OK(net_compose(&net, &err), err);
    net_run(&net, NULL, 4);
    assert_string_equal(stage(2).name, "fill mid");
    assert_true(stage(2).last_ns && stage(2).last_ns <= stage(0).first_ns);
    fgs_buffer_free(net.b[1]);
    net.b[1] = net.access[0][1].buffer = net.access[1][0].buffer =
        net.use[0].buffer = net_buffer(&net, "mid", 2);
    net.buffers--;
    RIG_OK(net_compose(&net, &err), err);
    /* A fill that is quick may be through before the producer's first block:
     * nothing orders the two, so one of many tries shows it. */
    for (int i = 0; i < 50 && !beside; i++) {
        net_run(&net, NULL, 4);
        beside = stage(2).last_ns > stage(0).first_ns &&
            stage(2).first_ns < stage(1).last_ns;
    }
    assert_true(beside);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

/* Entry points of the provider, as cuda.h declares them. */
static struct {
    int (*stream_create)(CUstream *, unsigned);
    int (*stream_destroy)(CUstream);
    int (*retain)(CUcontext *, int);
    int (*release)(int);
    int (*push)(CUcontext);
    int (*pop)(CUcontext *);
} cu;

/* The device's context, which the application's own calls need. */
static void enter(void)
{
    CUcontext ctx;

    net_proc(net.dev, "cuStreamCreate", &cu.stream_create);
    net_proc(net.dev, "cuStreamDestroy", &cu.stream_destroy);
    net_proc(net.dev, "cuDevicePrimaryCtxRetain", &cu.retain);
    net_proc(net.dev, "cuDevicePrimaryCtxRelease", &cu.release);
    net_proc(net.dev, "cuCtxPushCurrent", &cu.push);
    net_proc(net.dev, "cuCtxPopCurrent", &cu.pop);
    assert_int_equal(cu.retain(&ctx, 0), 0);
    assert_int_equal(cu.push(ctx), 0);
}

static void leave(void)
{
    CUcontext ctx;

    assert_int_equal(cu.pop(&ctx), 0);
    assert_int_equal(cu.release(0), 0);
}

static void two_streams_are_tied_by_an_event(void **state)
{
    CUstream s, run;
    fgs_error err;

    (void)state;
    net_pair(&net, 1);
    enter();
    assert_int_equal(cu.stream_create(&s, 1), 0);
    assert_int_equal(cu.stream_create(&run, 1), 0);
    net.stage[1].stream = s;
    RIG_OK(net_compose(&net, &err), err);
    assert_string_not_equal(net_edge(&net, 0).form, "same stream");
    net_run(&net, run, 5);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    assert_int_equal(fgs_plan_run(net.plan, s, 1, &err), FGS_E_INVAL);
    net.access[1][0].order = FGS_ORDER_STREAM;
    RIG_OK(net_compose(&net, &err), err);
    assert_string_equal(net_edge(&net, 0).form, "event");
    net_run(&net, run, 5);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    fgs_plan_free(net.plan);
    net.plan = NULL;
    cu.stream_destroy(s);
    cu.stream_destroy(run);
    leave();
}

/* The second half of one buffer is the first of another. */
static void range_begins_at_its_first_tile(void **state)
{
    enum { HALF = NET_TILES / 2 };
    const size_t bytes = HALF * (size_t)RIG_TILE_BYTES;
    uint32_t *x, *y, *z;
    fgs_error err;

    (void)state;
    net_pair(&net, 1);
    net.stage[1].grid[0] = HALF;
    net.access[1][0].first = HALF;
    for (fgs_order o = FGS_ORDER_STREAM; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        net.stage[1].ordered = net_plain(&net);
        net.access[1][0].order = o;
        r = net_compose(&net, &err);
        if (r == FGS_E_UNSUPPORTED)
            continue; /* pdl below 9.0 */
        RIG_OK(r, err);
        net_write(net.b[0], 20 + (uint32_t)o);
        net_run(&net, NULL, 2);
        x = net_read(net.b[0], 0);
        z = net_read(net.b[2], 0);
        y = malloc(2 * bytes);
        assert_non_null(y);
        fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, x, y,
                        2 * bytes / 4, NULL);
        fgs_ref_consume(FGS_ELEMENT_F32, y, x, NET_TILES, RIG_TILE_BYTES);
        assert_memory_equal((char *)x + bytes, z, bytes);
        free(x);
        free(y);
        free(z);
    }
    net.access[1][0].step = net.access[1][0].count = 2;
    assert_int_equal(net_compose(&net, &err), FGS_E_MISMATCH);
    assert_non_null(strstr(err.text, "takes one tile of buffer 'mid'"));
}

static void producer_writes_the_tile_of_its_table(void **state)
{
    uint32_t table[NET_TILES];
    fgs_error err;

    (void)state;
    for (uint32_t i = 0; i < NET_TILES; i++)
        table[i] = (i * 7 + 3) % NET_TILES;
    net_pair(&net, 1);
    net.access[0][0].table = table;
    net.access[0][0].tables = NET_TILES;
    RIG_OK(net_compose(&net, &err), err);
    net_run(&net, NULL, 2);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    table[5] = table[6];
    assert_int_equal(net_compose(&net, &err), FGS_E_PLAN);
    assert_non_null(strstr(err.text, "written twice"));
}

static void number_of_tiles_changes_between_runs(void **state)
{
    static const uint64_t tiles[] = { 5, 24, 1, 23, 24, 7, 24 };
    fgs_error err;

    (void)state;
    net_pair(&net, 2);
    net_use(&net, net.b[1], FGS_FILL_KERNEL, net_filler(&net));
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t bytes = tiles[i] * RIG_TILE_BYTES;
        uint32_t *x, *y, *z, *rest;

        RIG_OK(fgs_plan_set_tiles(net.plan, tiles[i], &err), err);
        net_write(net.b[0], i);
        rest = net_read(net.b[2], i % 2);
        net_run(&net, NULL, 1);
        x = net_read(net.b[0], 0);
        z = net_read(net.b[2], i % 2);
        y = malloc(NET_TILES * (size_t)RIG_TILE_BYTES);
        assert_non_null(y);
        fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, x, y, bytes / 4,
                        NULL);
        fgs_ref_consume(FGS_ELEMENT_F32, y, x, tiles[i], RIG_TILE_BYTES);
        assert_memory_equal(x, z, bytes);
        /* What is not used is not touched. */
        assert_memory_equal((char *)rest + bytes, (char *)z + bytes,
                            NET_TILES * (uint64_t)RIG_TILE_BYTES - bytes);
        free(x);
        free(y);
        free(z);
        free(rest);
    }
    assert_int_equal(fgs_plan_set_tiles(net.plan, 0, &err), FGS_E_SIZE);
    assert_int_equal(fgs_plan_set_tiles(net.plan, 25, &err), FGS_E_SIZE);
    assert_non_null(strstr(err.text, "room for 1 ... 24"));
}

static void plan_without_a_receipt_keeps_none(void **state)
{
    fgs_receipt r = { .size = sizeof r };
    fgs_error err;

    (void)state;
    net_pair(&net, 1);
    net.spec.receipt = 0;
    RIG_OK(net_compose(&net, &err), err);
    net_run(&net, NULL, 2);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    RIG_OK(fgs_plan_get_receipt(net.plan, &r, &err), err);
    assert_int_equal(r.rounds, 2);
    assert_int_equal(r.reissues, 0);
}

static void trace_has_a_row_a_block(void **state)
{
    fgs_trace_row rows[NET_TILES];
    uint64_t n = NET_TILES;
    fgs_error err;

    (void)state;
    net_pair(&net, 1);
    net.spec.receipt = 2;
    RIG_OK(net_compose(&net, &err), err);
    assert_int_equal(fgs_plan_get_trace(net.plan, 1, rows, &n, &err),
                     FGS_E_STATE);
    net_run(&net, NULL, 2);
    n = NET_TILES - 1;
    assert_int_equal(fgs_plan_get_trace(net.plan, 1, rows, &n, &err),
                     FGS_E_SIZE);
    RIG_OK(fgs_plan_get_trace(net.plan, 1, rows, &n, &err), err);
    for (int i = 0; i < NET_TILES; i++) {
        assert_true(rows[i].start && rows[i].start <= rows[i].ready);
        assert_true(rows[i].ready <= rows[i].end && rows[i].tries >= 1);
    }
}

int main(void)
{
#define TEST(f) NET_TEST(f, net)
    const struct CMUnitTest tests[] = {
        TEST(fan_out_of_eight_reads_one_buffer),
        TEST(one_slot_is_filled_by_a_kernel),
        TEST(one_slot_is_filled_by_a_memset),
        TEST(one_slot_is_cleared_by_its_reader),
        TEST(two_slots_are_filled_ahead_by_a_kernel),
        TEST(three_slots_are_filled_ahead_by_a_memset),
        TEST(three_slots_are_cleared_by_their_reader),
        TEST(fill_of_the_next_slot_is_off_the_path),
        TEST(two_streams_are_tied_by_an_event),
        TEST(number_of_tiles_changes_between_runs),
        TEST(range_begins_at_its_first_tile),
        TEST(producer_writes_the_tile_of_its_table),
        TEST(plan_without_a_receipt_keeps_none),
        TEST(trace_has_a_row_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
