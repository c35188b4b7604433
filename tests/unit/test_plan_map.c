/* test_plan_map.c -- tensor maps among parameters follow the slots of a buffer
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "shapes_rig.h"

enum { SLOTS = 3, ORDERS = 4 };

/* Rows of 30 f32, written two by two, read by swizzled boxes of 16 x 4. */
static const struct shape shape = {
    .element = FGS_ELEMENT_F32, .rank = 2, .dims = { 30, 10 },
    .pitch = { 128 }, .write = { 30, 2 }, .read = { 16, 4 }, .swizzle = 2,
    .written = FGS_PADDING_WRITTEN
};

static CUdeviceptr place[2];

static CUstream stream;

static fgs_buffer *turning(const char *name, uint64_t tiles, uint32_t tile,
                           CUdeviceptr at)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name,
                          .element = FGS_ELEMENT_F32, .tiles = tiles,
                          .tile_bytes = tile, .slots = SLOTS, .pointer = at,
                          .pointer_bytes = at ? SLOTS * tiles * tile : 0 };
    fgs_error err;

    RIG_OK(fgs_buffer_make(&net.b[net.buffers], net.dev, &d, &err), err);
    return net.b[net.buffers++];
}

/* Every slot of in and out is of its own; the map was encoded for other
 * memory. */
static void prepare_turns(struct pair *p)
{
    uint32_t bytes = bytes_of(&shape);

    assert_int_equal(cu.stream_create(&stream, 1), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cu.alloc(&place[i], SLOTS * bytes), 0);
    prepare(p, &shape, 0);
    net.spec.bound_ns = 20000000;
    p->in = turning("ins", bytes / 16, 16, 0);
    p->mid = turning("mid", bytes / 16, 16, place[0]);
    connect(p, boxes_of(&p->w), boxes_of(&p->r));
    p->out = turning("outs", boxes_of(&p->r), box_bytes(&p->r), 0);
    net.access[1][1].buffer = p->out;
    pass(p);
    p->rargs[0] = (fgs_arg){ .kind = FGS_ARG_MAP, .value = &p->map,
                             .buffer = p->mid };
}

static void give_back(void)
{
    fgs_plan_free(net.plan);
    net.plan = NULL;
    cu.stream_destroy(stream);
    for (int i = 0; i < 2; i++)
        cu.free(place[i]);
}

static void write_slots(struct pair *p, uint32_t seed)
{
    uint32_t bytes = bytes_of(&shape);
    unsigned char *in = malloc(bytes);
    fgs_error err;

    assert_non_null(in);
    for (uint32_t s = 0; s < SLOTS; s++) {
        make_input(&shape, in, seed + s);
        RIG_OK(fgs_buffer_write(p->in, s * bytes, in, bytes, &err), err);
    }
    free(in);
}

static void expect_slots(struct pair *p, uint32_t seed)
{
    uint32_t bytes = bytes_of(&shape), one = box_bytes(&p->r);
    uint32_t blocks = boxes_of(&p->r);
    unsigned char *in = malloc(bytes), *want = malloc(one);
    unsigned char *got = malloc((size_t)one * blocks);
    fgs_error err;

    assert_true(in && want && got);
    for (uint32_t s = 0; s < SLOTS; s++) {
        make_input(&shape, in, seed + s);
        RIG_OK(fgs_buffer_read(p->out, (uint64_t)s * one * blocks, got,
                               (uint64_t)one * blocks, &err), err);
        for (uint32_t b = 0; b < blocks; b++) {
            mirror_box(&shape, &p->r, b, in, want);
            assert_memory_equal(want, got + (size_t)b * one, one);
        }
    }
    free(in);
    free(want);
    free(got);
}

static void order(struct pair *p, fgs_order o)
{
    fgs_error err;

    net.access[1][0].order = o;
    p->early = o == FGS_ORDER_PDL;
    net.stage[1].waits = p->early ? FGS_WAITS_FIRST : FGS_WAITS_LAST;
    RIG_OK(net_compose(&net, &err), err);
}

static const fgs_order orders[] = { FGS_ORDER_SENTINEL, FGS_ORDER_PDL,
                                    FGS_ORDER_FLAG,
                                    FGS_ORDER_STREAM };

static void map_follows_the_slots_of_a_run(void **state)
{
    struct pair p;

    (void)state;
    prepare_turns(&p);
    for (uint32_t o = 0; o < ORDERS; o++) {
        order(&p, orders[o]);
        for (uint32_t i = 1; i < 4; i++) {
            write_slots(&p, 10 * i + o);
            net_run(&net, stream, SLOTS * i);
            expect_slots(&p, 10 * i + o);
        }
    }
    give_back();
}

static void map_follows_a_buffer_that_moves(void **state)
{
    uint64_t bytes = (uint64_t)SLOTS * bytes_of(&shape);
    struct pair p;
    fgs_error err;

    (void)state;
    prepare_turns(&p);
    order(&p, FGS_ORDER_SENTINEL);
    for (uint32_t i = 1; i < 5; i++) {
        RIG_OK(fgs_buffer_rebind(p.mid, place[i % 2], bytes, &err), err);
        write_slots(&p, 20 * i);
        net_run(&net, stream, SLOTS);
        expect_slots(&p, 20 * i);
    }
    give_back();
}

/* Replays, with the buffer moved between them. */
static void replay(struct pair *p, CUgraph graph)
{
    uint64_t bytes = (uint64_t)SLOTS * bytes_of(&shape);
    CUgraphExec exec;
    fgs_error err;

    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    for (uint32_t i = 0; i < 6; i++) {
        if (i > 1) {
            RIG_OK(fgs_buffer_rebind(p->mid, place[i % 2], bytes, &err), err);
            RIG_OK(fgs_plan_update_exec(net.plan, exec, &err), err);
        }
        write_slots(p, 7 * i);
        assert_int_equal(cu.launch(exec, stream), 0);
        assert_int_equal(cu.stream_synchronize(stream), 0);
        RIG_OK(fgs_plan_check_graph(net.plan, &err), err);
        expect_slots(p, 7 * i);
    }
    cu.exec_destroy(exec);
    cu.destroy(graph);
}

static void map_follows_the_slots_of_an_explicit_graph(void **state)
{
    struct pair p;
    CUgraph graph;
    fgs_error err;

    (void)state;
    prepare_turns(&p);
    for (uint32_t o = 0; o < ORDERS; o++) {
        order(&p, orders[o]);
        assert_int_equal(cu.create(&graph, 0), 0);
        RIG_OK(fgs_plan_graph(net.plan, graph, NULL, 0, SLOTS, NULL, &err),
               err);
        replay(&p, graph);
    }
    give_back();
}

static void map_follows_the_slots_of_a_captured_graph(void **state)
{
    struct pair p;
    CUgraph graph;
    fgs_error err;

    (void)state;
    prepare_turns(&p);
    order(&p, FGS_ORDER_SENTINEL);
    assert_int_equal(cu.begin(stream, 2), 0); /* relaxed */
    RIG_OK(fgs_plan_capture(net.plan, stream, SLOTS, &err), err);
    assert_int_equal(cu.end(stream, &graph), 0);
    replay(&p, graph);
    give_back();
}

/* `bytes` says where a map begins; what the driver does not take is refused. */
static void map_that_begins_nowhere_in_a_slot_is_refused(void **state)
{
    struct pair p;
    fgs_error err;

    (void)state;
    prepare_turns(&p);
    p.rargs[0].bytes = bytes_of(&shape);
    net.access[1][0].order = FGS_ORDER_SENTINEL;
    assert_int_equal(net_compose(&net, &err), FGS_E_SIZE);
    assert_non_null(strstr(err.text, "a tensor map that begins at byte 1280 of "
                                     "a slot of 1280"));
    p.rargs[0].bytes = 8; /* no multiple of 16 */
    assert_int_equal(net_compose(&net, &err), FGS_E_DRIVER);
    assert_non_null(strstr(err.text, "a tensor map of buffer 'mid', slot 0"));
    p.rargs[0].bytes = 0;
    p.rargs[0].value = NULL;
    assert_int_equal(net_compose(&net, &err), FGS_E_NULL);
    give_back();
}

/* ---------------------------------------------------------------- tables -- */

/* A kernel that stores what its table names for each block. */
static const char *const named[] = {
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".visible .entry name_tiles(.param .u64 p_table, .param .u64 p_out,\n"
    "    .param .u64 p_none)\n{\n"
    "    .reg .b32 %b, %v;\n    .reg .b64 %d, %t, %o, %n;\n"
    "    ld.param.u64 %t, [p_table];\n    ld.param.u64 %o, [p_out];\n"
    "    ld.param.u64 %n, [p_none];\n"
    "    mov.u32 %b, %ctaid.x;\n    mul.wide.u32 %d, %b, 4;\n"
    "    add.u64 %t, %t, %d;\n    ld.global.u32 %v, [%t];\n"
    "    cvt.u32.u64 %b, %n;\n    add.u32 %v, %v, %b;\n"
    "    mul.lo.u64 %d, %d, 4;\n    add.u64 %o, %o, %d;\n"
    "    st.global.u32 [%o], %v;\n    ret;\n}\n"
};

static void kernel_gets_the_table_of_its_tiles(void **state)
{
    enum { BLOCKS = 12 };
    fgs_buffer *from = buffer("from", FGS_ELEMENT_I32, 32, 16);
    fgs_buffer *to = buffer("to", FGS_ELEMENT_I32, BLOCKS, 16);
    fgs_arg args[] = { { .kind = FGS_ARG_TABLE, .buffer = from }, HELD(to),
                       { .kind = FGS_ARG_TABLE, .buffer = to } };
    uint32_t table[BLOCKS], got[BLOCKS][4];
    fgs_error err;

    (void)state;
    for (uint32_t i = 0; i < BLOCKS; i++)
        table[i] = i * 7 % 32;
    own("name", LOAD(&module[0], named, 0, "name_tiles"), args, 3,
        BLOCKS)->block[0] = 1;
    net.access[0][0] = (fgs_access){ .buffer = from, .table = table,
                                     .tables = BLOCKS };
    net.access[0][1] = (fgs_access){ .buffer = to, .write = 1 };
    RIG_OK(net_compose(&net, &err), err);
    net_run(&net, NULL, 1);
    RIG_OK(fgs_buffer_read(to, 0, got, sizeof got, &err), err);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(got[i][0], table[i]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(map_follows_the_slots_of_a_run),
        TEST(map_follows_a_buffer_that_moves),
        TEST(map_follows_the_slots_of_an_explicit_graph),
        TEST(map_follows_the_slots_of_a_captured_graph),
        TEST(map_that_begins_nowhere_in_a_slot_is_refused),
        TEST(kernel_gets_the_table_of_its_tiles),
    };

    return cmocka_run_group_tests(tests, shapes_group, NULL);
}
