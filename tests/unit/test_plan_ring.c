/* test_plan_ring.c -- chains whose edges share the slots of one buffer
 *
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 * FGS_TEST_SEEDS=100 is the number of seeds (default 3).
 */
#include "ring_rig.h"

static uint32_t seeds(void)
{
    const char *env = getenv("FGS_TEST_SEEDS");

    return env && *env ? (uint32_t)strtoul(env, NULL, 10) : 3;
}

static uint32_t state_of_draw;

static uint32_t draw(uint32_t below)
{
    state_of_draw = state_of_draw * 1664525u + 1013904223u;
    return (state_of_draw >> 16) % below;
}

/* -------------------------------------------------------------- results -- */

static void chain_of_a_hundred_takes_three_slots(void **state)
{
    int (*info)(size_t *, size_t *);
    size_t before, after, all;
    fgs_edge_info e = { .size = sizeof e };
    fgs_plan_info i = { .size = sizeof i };
    fgs_error err;

    (void)state;
    chain_make(RING_MOST, 3, 1);
    c.spec.receipt = 0;
    assert_int_equal(fgs_buffer_get_bytes(c.ring), 3 * RING_BYTES);
    net_proc(c.dev, "cuMemGetInfo", &info);
    assert_int_equal(info(&before, &all), 0);
    RIG_OK(chain_compose(&err), err);
    assert_int_equal(info(&after, &all), 0);
    if (chain_is_sim()) /* a page or two of control, for no edge any tiles */
        assert_true(before - after < 8 * RING_BYTES);
    RIG_OK(fgs_plan_get_info(c.plan, &i, &err), err);
    assert_int_equal(i.stages, RING_MOST);
    assert_int_equal(i.edges, RING_MOST - 1);
    assert_int_equal(i.buffers, 3);
    for (uint32_t n = 0; n < 4; n++) {
        chain_write(n);
        chain_run(1);
        assert_int_equal(chain_wrong(RING_TILES), 0);
    }
    RIG_OK(fgs_plan_get_edge(c.plan, 50, &e, &err), err);
    assert_string_equal(e.buffer, "r");
    assert_int_equal(e.fill, FGS_FILL_RING);
    assert_int_equal(e.slots, 3);
    assert_non_null(strstr(e.reuse, "a stage clears the one that the stage two "
                                    "before it wrote, consumes, fences, then "
                                    "triggers"));
}

/* A buffer an edge in place of the ring: all are filled before. */
static void slot_an_edge(void)
{
    for (uint32_t i = 0; i + 1 < c.spec.stage_count; i++) {
        fgs_buffer *b = chain_buffer("edge", 1);

        c.access[i][1].buffer = c.access[i + 1][0].buffer = b;
    }
    c.spec.use_count = 0;
}

static void free_edges(void)
{
    for (uint32_t i = 0; i + 1 < c.spec.stage_count; i++)
        fgs_buffer_free(c.access[i][1].buffer);
}

static void each_order_gives_what_a_slot_for_each_edge_gives(void **state)
{
    static uint32_t want[RING_ELEMS * 5], got[RING_ELEMS * 5];
    fgs_error err;

    (void)state;
    chain_make(8, 3, 5);
    slot_an_edge();
    RIG_OK(chain_compose(&err), err);
    chain_write(7);
    chain_run(5);
    RIG_OK(fgs_buffer_read(c.out, 0, want, sizeof want, &err), err);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    fgs_plan_free(c.plan);
    c.plan = NULL;
    free_edges();
    chain_make(8, 3, 5);
    for (fgs_order o = FGS_ORDER_AUTO; o < FGS_ORDER_COUNT; o++) {
        fgs_result r;

        c.spec.order = o;
        r = chain_compose(&err);
        if (r == FGS_E_UNSUPPORTED)
            continue; /* pdl below 9.0 */
        RIG_OK(r, err);
        for (int run = 0; run < 3; run++) {
            chain_write(7);
            chain_run(5);
            RIG_OK(fgs_buffer_read(c.out, 0, got, sizeof got, &err), err);
            assert_memory_equal(want, got, sizeof want);
        }
    }
}

/* The last stages of a round leave the ring to the first of the next one: each
 * length modulo the slots, and those shorter than the ring. */
static void thousand_rounds_go_round_the_ring(void **state)
{
    static const struct {
        uint32_t stages, slots, rounds, runs;
    } rows[] = {
        { 2, 3, 5, 20 }, { 3, 3, 5, 20 }, { 4, 3, 5, 20 }, { 5, 3, 5, 200 },
        { 5, 4, 7, 20 }, { 2, 7, 5, 20 }, { 7, 64, 3, 20 }, { 6, 5, 8, 20 },
    };
    fgs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        chain_make(rows[i].stages, rows[i].slots, rows[i].rounds);
        chain_slow(4000);
        RIG_OK(chain_compose(&err), err);
        for (uint32_t run = 0; run < rows[i].runs; run++) {
            chain_write(run);
            chain_run(rows[i].rounds);
            assert_int_equal(chain_wrong(RING_TILES), 0);
        }
    }
}

/* Any order on any edge, uneven stages, another engine with each seed. */
static void mixed_orders_are_right_with_each_seed(void **state)
{
    static const fgs_engine engines[] = {
        FGS_ENGINE_REPORT, FGS_ENGINE_BULK, FGS_ENGINE_ASYNC, FGS_ENGINE_POLL
    };
    fgs_error err;

    (void)state;
    for (uint32_t n = 1; n <= (chain_is_sim() ? 2 * seeds() : 8); n++) {
        fgs_engine engine = engines[n / 2 % 4];

        chain_close();
        if (chain_is_sim())
            chain_present(n % 2, n);
        chain_open(fgs_device_can(c.dev, engine, &err) >= 0 ? engine
                                                            : FGS_ENGINE_AUTO,
                   n % 3 == 0);
        state_of_draw = n;
        for (uint32_t mix = 0; mix < 4; mix++) {
            chain_make(3 + draw(8), 3 + draw(2), 4);
            for (uint32_t i = 0; i < c.spec.stage_count; i++) {
                c.access[i][0].order = mix < 2 || !i
                    ? FGS_ORDER_AUTO : 1 + (fgs_order)draw(4);
                c.stage[i].work_ns = draw(3) * 2000;
                c.stage[i].spread_ns = draw(3) * 4000;
            }
            c.spec.order = mix ? FGS_ORDER_SENTINEL : FGS_ORDER_FLAG;
            RIG_OK(chain_compose(&err), err);
            for (uint32_t run = 0; run < 2; run++) {
                chain_write(n * 16 + mix * 4 + run);
                chain_run(4);
                assert_int_equal(chain_wrong(RING_TILES), 0);
            }
        }
    }
    chain_close();
    if (chain_is_sim())
        chain_present(1, 1);
    chain_open(FGS_ENGINE_AUTO, 0);
}

static void stages_overlap_and_trigger_behind_the_clear(void **state)
{
    uint32_t overlaps = 0;
    fgs_error err;

    (void)state;
    chain_make(12, 3, 1);
    c.spec.receipt = 2;
    for (uint32_t i = 0; i < 12; i++)
        c.stage[i].spread_ns = 9000;
    RIG_OK(chain_compose(&err), err);
    chain_write(3);
    chain_run(1);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    for (uint32_t i = 0; i < 11; i++) {
        fgs_edge_info e = { .size = sizeof e };

        RIG_OK(fgs_plan_get_edge(c.plan, i, &e, &err), err);
        assert_string_equal(e.form, "programmatic serialization");
        overlaps += e.overlap != 0;
    }
    if (chain_is_sim())
        assert_true(overlaps > 5);
}

/* --------------------------------------------------------------- graphs -- */

static CUgraph captured(uint32_t rounds)
{
    CUgraph graph = NULL;
    fgs_error err;

    assert_int_equal(cu.begin(c.run, 0), 0);
    RIG_OK(fgs_plan_capture(c.plan, c.run, rounds, &err), err);
    assert_int_equal(cu.end(c.run, &graph), 0);
    return graph;
}

static CUgraph built(uint32_t rounds)
{
    CUgraph graph = NULL;
    fgs_error err;

    assert_int_equal(cu.create(&graph, 0), 0);
    RIG_OK(fgs_plan_graph(c.plan, graph, NULL, 0, rounds, NULL, &err), err);
    return graph;
}

static void replay(CUgraphExec exec, uint32_t times)
{
    fgs_error err;

    for (uint32_t i = 0; i < times; i++) {
        chain_write(100 + i);
        assert_int_equal(cu.launch(exec, c.run), 0);
        assert_int_equal(cu.stream_synchronize(c.run), 0);
        RIG_OK(fgs_plan_check_graph(c.plan, &err), err);
        assert_int_equal(chain_wrong(RING_TILES), 0);
    }
}

static void graphs_go_round_the_ring(void **state)
{
    fgs_error err;

    (void)state;
    for (int form = 0; form < 2; form++) {
        for (fgs_order o = FGS_ORDER_STREAM; o < FGS_ORDER_COUNT; o++) {
            CUgraphExec exec;
            CUgraph graph;
            fgs_edge_info e = { .size = sizeof e };

            chain_make(5, 3, 3);
            c.spec.order = o;
            RIG_OK(chain_compose(&err), err);
            graph = form ? built(6) : captured(6);
            assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
            RIG_OK(fgs_plan_get_edge(c.plan, 2, &e, &err), err);
            assert_int_equal(e.graph_port, o == FGS_ORDER_STREAM ? 0 : 1);
            replay(exec, 4);
            /* a run between replays */
            chain_write(1);
            chain_run(4);
            replay(exec, 2);
            cu.exec_destroy(exec);
            cu.destroy(graph);
        }
    }
}

static void rounds_of_a_graph_end_where_they_began(void **state)
{
    CUgraph graph;
    fgs_error err;

    (void)state;
    chain_make(5, 3, 1);
    RIG_OK(chain_compose(&err), err);
    assert_int_equal(cu.create(&graph, 0), 0);
    assert_int_equal(fgs_plan_graph(c.plan, graph, NULL, 0, 4, NULL, &err),
                     FGS_E_SIZE);
    assert_non_null(strstr(err.text, "buffer 'r' has 3 slots"));
    cu.destroy(graph);
}

/* The ring moves; runs and graphs follow. */
static void ring_follows_the_applications_pointer(void **state)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = "r", .tiles = RING_TILES,
                          .tile_bytes = RING_TILE_BYTES, .slots = 3,
                          .pointer_bytes = 3 * RING_BYTES };
    CUdeviceptr place[2];
    CUgraphExec exec;
    CUgraph graph;
    fgs_error err;

    (void)state;
    chain_make(5, 3, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cu.alloc(&place[i], 3 * RING_BYTES), 0);
    d.pointer = place[0];
    fgs_buffer_free(c.ring);
    RIG_OK(fgs_buffer_make(&c.ring, c.dev, &d, &err), err);
    c.uses[0].buffer = c.ring;
    for (uint32_t i = 0; i < 5; i++) {
        c.access[i][0].buffer = i ? c.ring : c.in;
        c.access[i][1].buffer = i < 4 ? c.ring : c.out;
    }
    RIG_OK(chain_compose(&err), err);
    chain_write(1);
    chain_run(4);
    graph = built(3);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    RIG_OK(fgs_buffer_rebind(c.ring, place[1], 3 * RING_BYTES, &err), err);
    RIG_OK(fgs_plan_update_exec(c.plan, exec, &err), err);
    cu.free(place[0]);
    replay(exec, 3);
    chain_write(2);
    chain_run(4);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    cu.exec_destroy(exec);
    cu.destroy(graph);
    chain_drop();
    cu.free(place[1]);
}

/* ------------------------------------------------------------ in between -- */

/* Fewer tiles, more again: what the last round left is cleared whole. */
static void tiles_of_rounds_change(void **state)
{
    static const uint32_t tiles[] = { 6, 2, 6, 3, 5, 6, 1, 6 };
    fgs_error err;

    (void)state;
    for (uint32_t stages = 3; stages < 6; stages++) {
        chain_make(stages, 3, 1);
        chain_slow(20000);
        RIG_OK(chain_compose(&err), err);
        for (uint32_t i = 0; i < 8; i++) {
            RIG_OK(fgs_plan_set_tiles(c.plan, tiles[i], &err), err);
            for (uint32_t n = 0; n < 2; n++) {
                chain_write(i * 2 + n);
                chain_run(1);
                assert_int_equal(chain_wrong(tiles[i]), 0);
            }
        }
    }
}

/* A chunk that never comes: the run says so, the next one begins anew. */
static void run_behind_one_that_gave_up_is_right(void **state)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = FGS_ROLE_PRODUCER,
                          .stem = "scale_produce_leak",
                          .tile_bytes = RING_TILE_BYTES };
    fgs_kernel *leak;
    fgs_plan *good;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_kernel_make(&leak, c.dev, &d, &err), err);
    chain_make(6, 3, 1);
    c.spec.bound_ns = 3000000;
    c.stage[0].kernel = leak;
    c.stage[0].fault_tile = UINT32_MAX; /* none */
    RIG_OK(chain_compose(&err), err);
    good = c.plan;
    chain_write(1);
    chain_run(2);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    c.plan = NULL;
    c.stage[0].fault_tile = 2;
    RIG_OK(chain_compose(&err), err);
    RIG_OK(fgs_plan_run(c.plan, c.run, 2, &err), err);
    assert_int_equal(fgs_plan_wait(c.plan, &err), FGS_E_LEAK);
    assert_int_equal(err.tile, 2);
    fgs_plan_free(c.plan);
    /* what is left in the slots now is not what the first plan left */
    c.plan = NULL;
    c.stage[0].fault_tile = UINT32_MAX;
    RIG_OK(chain_compose(&err), err);
    chain_write(2);
    chain_run(3);
    assert_int_equal(chain_wrong(RING_TILES), 0);
    fgs_plan_free(good);
    chain_drop();
    fgs_kernel_free(leak);
}

/* A stage between two of the chain in the stream hands on what was cleared, or
 * starts when that is over. */
static void stage_between_two_of_the_chain_hands_on(void **state)
{
    fgs_buffer *other;
    fgs_stage_desc own;
    fgs_error err;

    (void)state;
    for (int reader = 0; reader < 2; reader++) {
        chain_make(5, 3, 1);
        other = chain_buffer("other", 1);
        for (uint32_t i = 5; i > 3; i--) {
            memcpy(c.access[i], c.access[i - 1], sizeof c.access[i]);
            c.stage[i] = c.stage[i - 1];
            c.stage[i].accesses = c.access[i];
        }
        own = (fgs_stage_desc){ .size = sizeof own, .name = "between",
                                .kernel = reader ? c.use_plain : c.make,
                                .accesses = c.access[3], .access_count = 2 };
        c.access[3][0] = (fgs_access){ .buffer = c.in };
        c.access[3][1] = (fgs_access){ .buffer = other, .write = 1 };
        c.stage[3] = own;
        c.spec.stage_count = 6;
        RIG_OK(chain_compose(&err), err);
        for (uint32_t i = 0; i < 4; i++) {
            fgs_stage_info s = { .size = sizeof s };

            chain_write(i);
            chain_run(1);
            c.spec.stage_count = 5; /* of the chain, for the mirror */
            assert_int_equal(chain_wrong(RING_TILES), 0);
            c.spec.stage_count = 6;
            RIG_OK(fgs_plan_get_stage(c.plan, 4, &s, &err), err);
            assert_non_null(strstr(s.attributes, "serialization set"));
            RIG_OK(fgs_plan_get_stage(c.plan, 3, &s, &err), err);
            assert_non_null(strstr(
                s.attributes, reader
                    ? "behind a fence: it hands on what turn filled"
                    : "serialization left out: fgs_scale_produce does not "
                      "execute griddepcontrol.wait"));
        }
        chain_drop();
        fgs_buffer_free(other);
    }
}

/* A stage of the chain joins the ring with a buffer filled otherwise. */
static void join_within_the_chain_reads_the_ring_first(void **state)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = FGS_ROLE_JOIN,
                          .tile_bytes = RING_TILE_BYTES };
    static uint32_t got[RING_ELEMS], x[RING_ELEMS], y[RING_ELEMS];
    fgs_kernel *join;
    fgs_buffer *side;
    fgs_error err;

    (void)state;
    RIG_OK(fgs_kernel_make(&join, c.dev, &d, &err), err);
    side = chain_buffer("side", 1);
    chain_make(6, 3, 1);
    chain_stage("side", c.make, NULL, c.in, side);
    c.stage[3].kernel = join;
    c.stage[3].ordered = NULL;
    c.access[3][2] = c.access[3][1];
    c.access[3][1] = (fgs_access){ .buffer = side };
    c.stage[3].access_count = 3;
    RIG_OK(chain_compose(&err), err);
    for (uint32_t n = 0; n < 4; n++) {
        chain_write(n);
        chain_run(n + 1);
        /* make, two turns, and the join's: of what it reads the second is
         * turned once, the first three times, so both alike */
        fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, c.data, x,
                        RING_ELEMS, NULL);
        RIG_OK(fgs_ref_join(FGS_ELEMENT_F32, x, x, y, RING_TILES,
                            RING_TILE_BYTES), err);
        for (int i = 0; i < 2; i++) {
            fgs_ref_consume(FGS_ELEMENT_F32, y, x, RING_TILES,
                            RING_TILE_BYTES);
            memcpy(y, x, sizeof y);
        }
        RIG_OK(fgs_buffer_read(c.out, 0, got, sizeof got, &err), err);
        assert_memory_equal(got, y, sizeof y);
    }
    chain_drop();
    fgs_buffer_free(side);
    fgs_kernel_free(join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAIN_TEST(chain_of_a_hundred_takes_three_slots),
        CHAIN_TEST(each_order_gives_what_a_slot_for_each_edge_gives),
        CHAIN_TEST(thousand_rounds_go_round_the_ring),
        CHAIN_TEST(mixed_orders_are_right_with_each_seed),
        CHAIN_TEST(stages_overlap_and_trigger_behind_the_clear),
        CHAIN_TEST(graphs_go_round_the_ring),
        CHAIN_TEST(rounds_of_a_graph_end_where_they_began),
        CHAIN_TEST(ring_follows_the_applications_pointer),
        CHAIN_TEST(tiles_of_rounds_change),
        CHAIN_TEST(run_behind_one_that_gave_up_is_right),
        CHAIN_TEST(stage_between_two_of_the_chain_hands_on),
        CHAIN_TEST(join_within_the_chain_reads_the_ring_first),
    };

    return cmocka_run_group_tests(tests, rig_group, NULL);
}
