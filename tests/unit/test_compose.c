/* test_compose.c -- plans of many kernels: shapes, orders, fills, slots
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "compose_rig.h"

static struct net net;

static fgs_engine checking(void)
{
    fgs_error err;

    return fgs_device_can(net.dev, FGS_ENGINE_BULK, &err) >= 0
        ? FGS_ENGINE_BULK : FGS_ENGINE_POLL;
}

static fgs_kernel *producer(void)
{
    return net_kernel(&net, &(fgs_kernel_desc){ .role = FGS_ROLE_PRODUCER });
}

static fgs_kernel *consumer(void)
{
    return net_kernel(&net, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                                .engine = checking() });
}

static fgs_kernel *filler(void)
{
    return net_kernel(&net, &(fgs_kernel_desc){ .role = FGS_ROLE_INIT });
}

static int setup(void **state)
{
    (void)state;
    net_open(&net);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_close(&net);
    return 0;
}

/* in -> mid -> out, `slots` of mid and out. */
static void pair(uint32_t slots)
{
    fgs_buffer *in = net_buffer(&net, "in", 1);
    fgs_buffer *mid = net_buffer(&net, "mid", slots);
    fgs_buffer *out = net_buffer(&net, "out", slots);

    net_stage(&net, "produce", producer(), in, NULL, mid);
    net_stage(&net, "consume", consumer(), mid, NULL, out);
    net_write(in, 1);
}

static fgs_edge_info edge(uint32_t i)
{
    fgs_edge_info e = { .size = sizeof e };
    fgs_error err;

    RIG_OK(fgs_plan_get_edge(net.plan, i, &e, &err), err);
    return e;
}

static void fan_out_of_eight_reads_one_buffer(void **state)
{
    fgs_buffer *in = net_buffer(&net, "in", 1);
    fgs_buffer *mid = net_buffer(&net, "mid", 1), *out[8];
    fgs_kernel *c = consumer();
    fgs_plan_info info = { .size = sizeof info };
    fgs_error err;

    (void)state;
    net_write(in, 7);
    /* Readers first: the plan finds the order of launches. */
    for (int i = 0; i < 8; i++) {
        out[i] = net_buffer(&net, "out", 1);
        net_stage(&net, NULL, c, mid, NULL, out[i]);
    }
    net_stage(&net, "produce", producer(), in, NULL, mid);
    RIG_OK(net_compose(&net, &err), err);
    RIG_OK(fgs_plan_get_info(net.plan, &info, &err), err);
    assert_int_equal(info.edges, 8);
    assert_int_equal(info.depth, 2);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(edge(i).taken, FGS_ORDER_SENTINEL);
        assert_int_equal(edge(i).from, 0);
    }
    net_run(&net, NULL, 3);
    for (int i = 0; i < 8; i++)
        net_expect(in, 0, out[i], 0, 1);
}

/* Each way to fill, and slots in turn over rounds that change their input. */
static void rotate(uint32_t slots, fgs_fill fill)
{
    fgs_error err;

    pair(slots);
    net_use(&net, net.b[1], fill, fill == FGS_FILL_KERNEL ? filler() : NULL);
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

/* Entry points of the provider, as cuda.h declares them. */
static struct {
    int (*stream_create)(CUstream *, unsigned);
    int (*stream_destroy)(CUstream);
    int (*retain)(CUcontext *, int);
    int (*release)(int);
    int (*push)(CUcontext);
    int (*pop)(CUcontext *);
} cu;

static void get_proc(const char *name, void *out)
{
    void *proc = fgs_device_get_proc(net.dev, name);

    assert_non_null(proc);
    memcpy(out, &proc, sizeof proc);
}

/* The device's context, which the application's own calls need. */
static void enter(void)
{
    CUcontext ctx;

    get_proc("cuStreamCreate", &cu.stream_create);
    get_proc("cuStreamDestroy", &cu.stream_destroy);
    get_proc("cuDevicePrimaryCtxRetain", &cu.retain);
    get_proc("cuDevicePrimaryCtxRelease", &cu.release);
    get_proc("cuCtxPushCurrent", &cu.push);
    get_proc("cuCtxPopCurrent", &cu.pop);
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
    pair(1);
    enter();
    assert_int_equal(cu.stream_create(&s, 1), 0);
    assert_int_equal(cu.stream_create(&run, 1), 0);
    net.stage[1].stream = s;
    RIG_OK(net_compose(&net, &err), err);
    assert_string_not_equal(edge(0).form, "same stream");
    net_run(&net, run, 5);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    assert_int_equal(fgs_plan_run(net.plan, s, 1, &err), FGS_E_INVAL);
    net.access[1][0].order = FGS_ORDER_STREAM;
    RIG_OK(net_compose(&net, &err), err);
    assert_string_equal(edge(0).form, "event");
    net_run(&net, run, 5);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
    fgs_plan_free(net.plan);
    net.plan = NULL;
    cu.stream_destroy(s);
    cu.stream_destroy(run);
    leave();
}

/* ---------------------------------------------------------------- orders -- */

static fgs_kernel *plain(void)
{
    return net_kernel(&net, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                                .engine = FGS_ENGINE_PLAIN });
}

static void four_orders_give_the_same(void **state)
{
    static const char *const forms[FGS_ORDER_COUNT] = {
        [FGS_ORDER_STREAM] = "same stream",
        [FGS_ORDER_PDL] = "programmatic serialization",
        [FGS_ORDER_FLAG] = "programmatic serialization",
        [FGS_ORDER_SENTINEL] = "programmatic serialization",
    };
    fgs_error err;

    (void)state;
    pair(2);
    net.stage[1].ordered = plain();
    for (fgs_order o = FGS_ORDER_STREAM; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        net.access[1][0].order = o;
        r = net_compose(&net, &err);

        if (r == FGS_E_UNSUPPORTED)
            continue; /* pdl below 9.0 */
        RIG_OK(r, err);
        assert_int_equal(edge(0).taken, o);
        assert_string_equal(edge(0).form, forms[o]);
        for (uint32_t i = 0; i < 6; i++) {
            net_write(net.b[0], 10 * (uint32_t)o + i);
            net_run(&net, NULL, 1 + i % 2 * 2);
            net_expect(net.b[0], 0, net.b[2],
                       (uint32_t)(i % 2 ? i / 2 * 4 + 3 : i / 2 * 4) % 2, 1);
        }
    }
}

/* in -> b0 -> ... -> b[n] -> out by n relays; the last one consumes. */
static void chain(uint32_t relays, uint32_t slots, int self)
{
    fgs_kernel *p = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_PRODUCER,
                                  .self_init = (uint32_t)self });
    fgs_kernel *r = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_RELAY, .engine = checking(),
                                  .self_init = (uint32_t)self });
    fgs_kernel *o = net_kernel(
        &net, &(fgs_kernel_desc){ .role = FGS_ROLE_RELAY,
                                  .engine = FGS_ENGINE_PLAIN,
                                  .self_init = (uint32_t)self });
    fgs_buffer *from = net_buffer(&net, "in", 1), *to;

    net_write(from, 3);
    to = net_buffer(&net, "b0", slots);
    net_stage(&net, "produce", p, from, NULL, to);
    for (uint32_t i = 0; i < relays; i++) {
        from = to;
        to = net_buffer(&net, "b", slots);
        net_stage(&net, "relay", r, from, NULL, to)->ordered = o;
    }
    from = to;
    to = net_buffer(&net, "out", slots);
    net_stage(&net, "consume", consumer(), from, NULL, to)->ordered = plain();
}

/* Every relay and the consumer reverse a tile. */
static void expect_chain(uint32_t relays, uint32_t slot)
{
    net_expect(net.b[0], 0, net.b[net.buffers - 1], slot, (int)relays + 1);
}

static void chain_of_twenty_under_each_order(void **state)
{
    fgs_error err;

    (void)state;
    chain(18, 1, 0);
    for (fgs_order o = FGS_ORDER_AUTO; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        net.spec.order = o;
        r = net_compose(&net, &err);

        if (r == FGS_E_UNSUPPORTED)
            continue; /* pdl below 9.0 */
        RIG_OK(r, err);
        net_write(net.b[0], (uint32_t)o);
        net_run(&net, NULL, 3);
        expect_chain(18, 0);
    }
}

static void mixed_orders_in_a_chain_that_takes_turns(void **state)
{
    static const fgs_order mix[] = { FGS_ORDER_SENTINEL, FGS_ORDER_FLAG,
                                     FGS_ORDER_STREAM, FGS_ORDER_SENTINEL,
                                     FGS_ORDER_SENTINEL, FGS_ORDER_FLAG };
    fgs_error err;

    (void)state;
    chain(5, 3, 0);
    for (uint32_t i = 0; i < 6; i++)
        net.access[i + 1][0].order = mix[i];
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(edge(i).taken, mix[i]);
    for (uint32_t i = 0; i < 5; i++) {
        net_write(net.b[0], i);
        net_run(&net, NULL, 1);
        expect_chain(5, i % 3);
    }
}

static void chain_whose_stages_fill_their_own_output(void **state)
{
    fgs_error err;

    (void)state;
    chain(6, 1, 1);
    net.spec.order = FGS_ORDER_SENTINEL;
    RIG_OK(net_compose(&net, &err), err);
    for (uint32_t i = 0; i < 4; i++) {
        net_write(net.b[0], i);
        net_run(&net, NULL, 2);
        expect_chain(6, 0);
    }
}

static void order_of_the_plan_is_that_of_its_edges(void **state)
{
    fgs_error err;

    (void)state;
    pair(1);
    net.spec.order = FGS_ORDER_FLAG;
    assert_int_equal(net_compose(&net, &err), FGS_E_PLAN);
    assert_non_null(strstr(err.text, "no kernel that polls flags"));
    net.stage[1].ordered = plain();
    RIG_OK(net_compose(&net, &err), err);
    assert_int_equal(edge(0).asked, FGS_ORDER_FLAG);
    net_run(&net, NULL, 3);
    net_expect(net.b[0], 0, net.b[2], 0, 1);
}

/* The second half of one buffer is the first of another. */
static void range_begins_at_its_first_tile(void **state)
{
    enum { HALF = NET_TILES / 2 };
    const size_t bytes = HALF * (size_t)RIG_TILE_BYTES;
    uint32_t *x, *y, *z;
    fgs_error err;

    (void)state;
    pair(1);
    net.stage[1].grid[0] = HALF;
    net.access[1][0].first = HALF;
    for (fgs_order o = FGS_ORDER_STREAM; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        net.stage[1].ordered = plain();
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
    pair(1);
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
    pair(2);
    net_use(&net, net.b[1], FGS_FILL_KERNEL, filler());
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
    pair(1);
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
    pair(1);
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(fan_out_of_eight_reads_one_buffer),
        TEST(one_slot_is_filled_by_a_kernel),
        TEST(one_slot_is_filled_by_a_memset),
        TEST(one_slot_is_cleared_by_its_reader),
        TEST(two_slots_are_filled_ahead_by_a_kernel),
        TEST(three_slots_are_filled_ahead_by_a_memset),
        TEST(three_slots_are_cleared_by_their_reader),
        TEST(two_streams_are_tied_by_an_event),
        TEST(four_orders_give_the_same),
        TEST(order_of_the_plan_is_that_of_its_edges),
        TEST(chain_of_twenty_under_each_order),
        TEST(mixed_orders_in_a_chain_that_takes_turns),
        TEST(chain_whose_stages_fill_their_own_output),
        TEST(number_of_tiles_changes_between_runs),
        TEST(range_begins_at_its_first_tile),
        TEST(producer_writes_the_tile_of_its_table),
        TEST(plan_without_a_receipt_keeps_none),
        TEST(trace_has_a_row_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
