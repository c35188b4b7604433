/* test_plan_shapes.c -- plans of an application's kernels over tensors
 *
 * Boxes of padded tensors are written, and read by tile copies whose boxes are
 * others; all against a mirror on the host, which goes element by element.
 * FGS_PROVIDER chooses the device; make check-gpu runs this file on a GPU.
 */
#include "shapes_rig.h"

/* ---------------------------------------------------- padded rows, boxes -- */

/* `hole`: the chunk that the first row ends in. */
static void one(const struct shape *s, uint32_t hole)
{
    struct pair p;

    prepare(&p, s, 0);
    connect(&p, boxes_of(&p.w), boxes_of(&p.r));
    by_each_order(&p, NULL);
    net.access[0][1].padding = FGS_PADDING_NONE;
    uncovered(hole);
}

#define SHAPE(type, n, ...)                                                    \
    &(struct shape){ .element = FGS_ELEMENT_##type, .rank = n, __VA_ARGS__,    \
                     .written = FGS_PADDING_WRITTEN }
#define LIST(...) { __VA_ARGS__ }

static void one_dimension_of_f32(void **state)
{
    (void)state;
    one(SHAPE(F32, 1, .dims = LIST(250), .write = LIST(32), .read = LIST(48)),
        62);
}

static void one_dimension_of_f16(void **state)
{
    (void)state;
    one(SHAPE(F16, 1, .dims = LIST(1001), .write = LIST(64),
              .read = LIST(128)), 125);
}

static void two_dimensions_of_f32_swizzled_64(void **state)
{
    (void)state;
    one(SHAPE(F32, 2, .dims = LIST(30, 10), .pitch = LIST(128),
              .write = LIST(30, 2), .read = LIST(16, 4), .swizzle = 2), 7);
}

static void two_dimensions_of_f16_swizzled_32(void **state)
{
    (void)state;
    one(SHAPE(F16, 2, .dims = LIST(61, 13), .pitch = LIST(128),
              .write = LIST(24, 3), .read = LIST(16, 5), .swizzle = 1), 7);
}

static void three_dimensions_of_f32_swizzled_32(void **state)
{
    (void)state;
    one(SHAPE(F32, 3, .dims = LIST(9, 5, 7), .pitch = LIST(48, 288),
              .write = LIST(9, 5, 2), .read = LIST(8, 3, 4), .swizzle = 1), 2);
}

static void three_dimensions_of_f16_swizzled_128(void **state)
{
    (void)state;
    one(SHAPE(F16, 3, .dims = LIST(70, 6, 5), .pitch = LIST(160, 960),
              .write = LIST(70, 2, 3), .read = LIST(64, 4, 2), .swizzle = 3),
        8);
}

static void four_dimensions_of_f32_swizzled_128(void **state)
{
    (void)state;
    one(SHAPE(F32, 4, .dims = LIST(33, 3, 4, 3), .pitch = LIST(144, 432, 1728),
              .write = LIST(16, 3, 1, 2), .read = LIST(32, 2, 3, 1),
              .swizzle = 3), 8);
}

static void four_dimensions_of_f16(void **state)
{
    (void)state;
    one(SHAPE(F16, 4, .dims = LIST(20, 3, 2, 5), .pitch = LIST(48, 144, 288),
              .write = LIST(20, 1, 2, 2), .read = LIST(24, 2, 2, 3)), 2);
}

static void five_dimensions_of_f32(void **state)
{
    (void)state;
    one(SHAPE(F32, 5, .dims = LIST(7, 3, 2, 3, 2),
              .pitch = LIST(32, 96, 192, 576), .write = LIST(7, 2, 2, 1, 2),
              .read = LIST(4, 2, 1, 2, 2)), 1);
}

static void five_dimensions_of_f16_swizzled_64(void **state)
{
    (void)state;
    one(SHAPE(F16, 5, .dims = LIST(37, 2, 3, 2, 3),
              .pitch = LIST(80, 160, 480, 960), .write = LIST(8, 2, 1, 2, 2),
              .read = LIST(32, 1, 2, 2, 3), .swizzle = 2), 4);
}

/* 128 rows of 64 are written, 64 rows of 256 read. */
static void tiles_of_128_by_64_are_read_as_64_by_256(void **state)
{
    (void)state;
    one(SHAPE(F16, 2, .dims = LIST(300, 200), .pitch = LIST(608),
              .write = LIST(64, 128), .read = LIST(256, 64)), 37);
}

/* ----------------------------------- the three ways of 4.6.4.6, and none -- */

/* Rows of 7 chunks, 8 apart: the map ends where the data does. */
static void copies_keep_off_a_gap(void **state)
{
    static const struct shape s = {
        .element = FGS_ELEMENT_F32, .rank = 2, .dims = { 28, 9 },
        .pitch = { 128 }, .write = { 28, 3 }, .read = { 16, 4 }, .swizzle = 2
    };
    struct pair p;

    (void)state;
    prepare(&p, &s, 0);
    connect(&p, boxes_of(&p.w), boxes_of(&p.r));
    by_each_order(&p, NULL);
    p.rbox.dims[0] = 32;
    uncovered(7);
}

/* The application put +0 into the gap, and the writer fills only its own. */
static void gap_holds_something_else_than_the_sentinel(void **state)
{
    static const struct shape s = {
        .element = FGS_ELEMENT_F16, .rank = 2, .dims = { 56, 9 }, .seen = 64,
        .pitch = { 128 }, .write = { 56, 3 }, .read = { 32, 4 }, .swizzle = 2,
        .self = 1, .expected = FGS_PADDING_PRESET
    };
    struct pair p;

    (void)state;
    prepare(&p, &s, 0);
    connect(&p, boxes_of(&p.w), boxes_of(&p.r));
    by_each_order(&p, NULL);
    net.access[1][0].padding = FGS_PADDING_NONE;
    uncovered(7);
}

/* Rows end in chunk 7, which the writer completes; 8 and 9 are a gap. */
static void row_ends_in_a_chunk_before_a_gap(void **state)
{
    static const struct shape s = {
        .element = FGS_ELEMENT_F32, .rank = 2, .dims = { 30, 9 }, .seen = 40,
        .pitch = { 160 }, .write = { 30, 2 }, .read = { 8, 4 }, .swizzle = 1,
        .self = 1, .written = FGS_PADDING_WRITTEN,
        .expected = FGS_PADDING_PRESET
    };
    struct pair p;

    (void)state;
    prepare(&p, &s, 0);
    connect(&p, boxes_of(&p.w), boxes_of(&p.r));
    by_each_order(&p, NULL);
    net.access[1][0].padding = FGS_PADDING_NONE;
    uncovered(8);
    net.access[0][1].padding = FGS_PADDING_NONE;
    uncovered(7);
}

/* The writer does not keep its word: row 8, all that block 2 reads. */
static void reader_of_a_row_that_never_comes_gives_up(void **state)
{
    static const struct shape s = {
        .element = FGS_ELEMENT_F32, .rank = 2, .dims = { 30, 9 },
        .pitch = { 128 }, .write = { 30, 3 }, .read = { 32, 4 }, .swizzle = 3,
        .written = FGS_PADDING_WRITTEN
    };
    struct pair p;
    fgs_error err;

    (void)state;
    prepare(&p, &s, 0);
    connect(&p, boxes_of(&p.w), boxes_of(&p.r));
    p.w.d[1].size = 8;
    net.access[1][0].order = FGS_ORDER_SENTINEL;
    net.spec.bound_ns = 2000000;
    RIG_OK(net_compose(&net, &err), err);
    RIG_OK(fgs_plan_run(net.plan, NULL, 1, &err), err);
    assert_int_equal(fgs_plan_wait(net.plan, &err), FGS_E_LEAK);
    assert_string_equal(err.kernel, "read");
    assert_int_equal(err.block, 2);
    assert_int_equal(err.chunk, 0);
    for (int i = 0; i < 16; i++)
        assert_int_equal(err.bits[i], i % 4 == 3 ? 0x80 : 0);
    assert_true(err.tries >= 1 && err.elapsed_ns >= 2000000);
}

/* ---------------------------------------------------------------- tables -- */

enum { TOKENS = 24, PICKED = 40 };

/* Rows of 512 bytes as tiles; block b reads tile pick[b]. */
static void prepare_rows(struct pair *p, fgs_element e, const uint32_t *order,
                         const uint32_t *pick, uint32_t picked)
{
    const uint32_t wide = e == FGS_ELEMENT_F16 ? 256 : 128;
    const struct shape s = { .element = e, .rank = 2, .dims = { wide, TOKENS },
                             .pitch = { 512 }, .write = { wide, 1 },
                             .read = { wide, 1 } };
    const uint32_t *const table[] = { order, pick };
    const uint32_t count[] = { TOKENS, picked };
    fgs_error err;

    prepare(p, &s, 512);
    for (int i = 0; i < 2; i++) {
        p->table[i] = buffer("table", FGS_ELEMENT_I32, count[i] / 4, 16);
        RIG_OK(fgs_buffer_write(p->table[i], 0, table[i], count[i] * 4, &err),
               err);
    }
    connect(p, TOKENS, picked);
    for (int i = 0; i < 2; i++) {
        net.access[i][!i] = (fgs_access){ .buffer = p->mid, .write = !i,
                                          .can = BY_EITHER,
                                          .table = table[i],
                                          .tables = count[i] };
        net.access[i][2] = (fgs_access){ .buffer = p->table[i],
                                         .count = count[i] / 4 };
        net.stage[i].access_count = 3;
    }
}

/* Written in another order, and picked by a table that names some tiles again
 * and some never. */
static void gather(fgs_element e)
{
    uint32_t order[TOKENS], pick[PICKED];
    fgs_error err;
    struct pair p;

    for (uint32_t i = 0; i < TOKENS; i++)
        order[i] = i * 7 % TOKENS;
    for (uint32_t i = 0; i < PICKED; i++)
        pick[i] = i * i * 5 % 23;
    prepare_rows(&p, e, order, pick, PICKED);
    by_each_order(&p, pick);
    order[4] = 21; /* as order[3] is */
    assert_int_equal(net_compose(&net, &err), FGS_E_PLAN);
    assert_non_null(strstr(err.text, "tile 21 of buffer 'mid' is written "
                                     "twice: by write, block"));
    net.access[0][1].tables = net.stage[0].grid[0] = 4;
    uncovered(5); /* 0 7 14 21 are written, 0 5 7 10 ... picked */
}

static void tiles_of_f32_by_a_table_that_repeats_some(void **state)
{
    (void)state;
    gather(FGS_ELEMENT_F32);
}

static void tiles_of_f16_by_a_table_that_repeats_some(void **state)
{
    (void)state;
    gather(FGS_ELEMENT_F16);
}

/* -------------------------------------------------- clusters, two inputs -- */

/* Two blocks take one tile by one copy. */
static void prepare_cluster(struct pair *p, uint32_t *pick)
{
    uint32_t order[TOKENS];

    for (uint32_t i = 0; i < TOKENS; i++)
        order[i] = TOKENS - 1 - i;
    for (uint32_t i = 0; i < 2 * TOKENS; i++)
        pick[i] = i / 2 * 5 % TOKENS;
    prepare_rows(p, FGS_ELEMENT_F32, order, pick, 2 * TOKENS);
    net.access[0][1].table = NULL; /* a permutation: all of them */
    net.access[0][1].tables = 0;
    net.stage[1].function = LOAD(&module[2], shapes_cluster_reader, 0,
                                 "read_boxes");
    net.stage[1].arg_count = 10; /* it knows no flags */
    p->flags = 0;
    net.stage[1].cluster[0] = 2;
    net.stage[1].cluster[1] = net.stage[1].cluster[2] = 1;
}

static void cluster_takes_a_tile_by_one_copy(void **state)
{
    uint32_t pick[2 * TOKENS];
    struct pair p;

    (void)state;
    prepare_cluster(&p, pick);
    by_each_order(&p, pick);
    net.stage[0].grid[0] = TOKENS - 1;
    uncovered(TOKENS - 1);
}

static void cluster_gives_up_together(void **state)
{
    uint32_t pick[2 * TOKENS];
    struct pair p;
    fgs_error err;

    (void)state;
    prepare_cluster(&p, pick);
    p.w.d[1].size = TOKENS - 1; /* the last row, which blocks 38, 39 read */
    net.access[1][0].order = FGS_ORDER_SENTINEL;
    net.spec.bound_ns = 2000000;
    RIG_OK(net_compose(&net, &err), err);
    RIG_OK(fgs_plan_run(net.plan, NULL, 1, &err), err);
    assert_int_equal(fgs_plan_wait(net.plan, &err), FGS_E_LEAK);
    assert_string_equal(err.kernel, "read");
    assert_int_equal(err.block / 2, 19);
    assert_int_equal(err.chunk, 0);
}

struct scaled {
    fgs_buffer *from, *scales, *out;
    fgs_arg write[3], read[6];
};

/* Beside the writer of the data one of its scales; the reader takes both. */
static void prepare_scaled(struct pair *p, struct scaled *c)
{
    const struct shape s = { .element = FGS_ELEMENT_F32, .rank = 2,
                             .dims = { 128, TOKENS }, .pitch = { 512 },
                             .write = { 128, 1 }, .read = { 128, 1 } };
    fgs_stage_desc *stage;

    prepare(p, &s, 512);
    connect(p, TOKENS, TOKENS);
    net.access[0][1] = (fgs_access){ .buffer = p->mid, .write = 1,
                                     .can = BY_SENTINEL };
    c->from = buffer("from", FGS_ELEMENT_UE8M0, TOKENS, 16);
    c->scales = buffer("scales", FGS_ELEMENT_UE8M0, TOKENS, 16);
    c->write[0] = (fgs_arg)HELD(c->from);
    c->write[1] = (fgs_arg)HELD(c->scales);
    c->write[2] = (fgs_arg)VALUE(p->late);
    c->read[0] = (fgs_arg)HELD(p->mid);
    c->read[1] = (fgs_arg)HELD(c->scales);
    c->read[2] = (fgs_arg)HELD(p->out);
    memcpy(&c->read[3], &p->rargs[6], 3 * sizeof(fgs_arg));
    stage = &net.stage[1];
    stage->function = LOAD(&module[2], shapes_scaled_reader, 0, "read_scaled");
    stage->args = c->read;
    stage->arg_count = 6;
    stage->block[0] = 32;
    stage->shared_bytes = 0;
    stage->access_count = 3;
    net.access[1][0] = (fgs_access){ .buffer = p->mid, .can = BY_SENTINEL };
    net.access[1][2] = (fgs_access){ .buffer = c->scales, .can = BY_SENTINEL };
    stage = own("scale", LOAD(&module[3], shapes_scale_writer, 0,
                              "write_scales"), c->write, 3, TOKENS);
    stage->triggers = FGS_TRIGGERS_START;
    stage->block[0] = 1;
    net.access[2][0] = (fgs_access){ .buffer = c->from };
    net.access[2][1] = (fgs_access){ .buffer = c->scales, .write = 1,
                                     .can = BY_SENTINEL };
}

/* Twice the data times its scale, a power of two. */
static void check_scaled(const struct pair *p, const struct scaled *c,
                         uint32_t seed)
{
    enum { COUNT = TOKENS * 128 };
    static unsigned char raw[TOKENS * 16];
    static float in[COUNT], got[COUNT];
    fgs_error err;

    make_input(&p->s, (unsigned char *)in, seed);
    for (uint32_t i = 0; i < sizeof raw; i++)
        raw[i] = (unsigned char)(i * 37 + seed * 11);
    RIG_OK(fgs_buffer_write(p->in, 0, in, sizeof in, &err), err);
    RIG_OK(fgs_buffer_write(c->from, 0, raw, sizeof raw, &err), err);
    memset(got, 0xa5, sizeof got);
    RIG_OK(fgs_buffer_write(p->out, 0, got, sizeof got, &err), err);
    net_run(&net, NULL, 2);
    RIG_OK(fgs_buffer_read(p->out, 0, got, sizeof got, &err), err);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = ((raw[i / 8] & 0x3fu) + 0x60u) << 23;
        float scale, want;

        memcpy(&scale, &bits, 4);
        want = (in[i] * 2 + 0.0f) * scale;
        assert_memory_equal(&want, &got[i], 4);
    }
}

static void data_and_scales_by_sentinels_of_their_own(void **state)
{
    static const fgs_order mix[][2] = {
        { FGS_ORDER_SENTINEL, FGS_ORDER_SENTINEL },
        { FGS_ORDER_SENTINEL, FGS_ORDER_STREAM },
        { FGS_ORDER_STREAM, FGS_ORDER_SENTINEL },
        { FGS_ORDER_STREAM, FGS_ORDER_STREAM },
    };
    struct scaled c = { 0 };
    struct pair p;
    fgs_error err;

    (void)state;
    prepare_scaled(&p, &c);
    for (uint32_t i = 0; i < 4; i++) {
        net.access[1][0].order = mix[i][0];
        net.access[1][2].order = mix[i][1];
        RIG_OK(net_compose(&net, &err), err);
        for (uint32_t seed = 1; seed <= 3; seed++)
            check_scaled(&p, &c, 10 * i + seed);
    }
    net.stage[2].grid[0] = TOKENS - 1;
    net.access[1][2].order = FGS_ORDER_SENTINEL;
    assert_int_equal(net_compose(&net, &err), FGS_E_PLAN);
    assert_non_null(strstr(err.text, "waits for tile 23 of buffer 'scales'"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_dimension_of_f32),
        TEST(one_dimension_of_f16),
        TEST(two_dimensions_of_f32_swizzled_64),
        TEST(two_dimensions_of_f16_swizzled_32),
        TEST(three_dimensions_of_f32_swizzled_32),
        TEST(three_dimensions_of_f16_swizzled_128),
        TEST(four_dimensions_of_f32_swizzled_128),
        TEST(four_dimensions_of_f16),
        TEST(five_dimensions_of_f32),
        TEST(five_dimensions_of_f16_swizzled_64),
        TEST(tiles_of_128_by_64_are_read_as_64_by_256),
        TEST(copies_keep_off_a_gap),
        TEST(gap_holds_something_else_than_the_sentinel),
        TEST(row_ends_in_a_chunk_before_a_gap),
        TEST(reader_of_a_row_that_never_comes_gives_up),
        TEST(tiles_of_f32_by_a_table_that_repeats_some),
        TEST(tiles_of_f16_by_a_table_that_repeats_some),
        TEST(cluster_takes_a_tile_by_one_copy),
        TEST(cluster_gives_up_together),
        TEST(data_and_scales_by_sentinels_of_their_own),
    };

    return cmocka_run_group_tests(tests, shapes_group, NULL);
}
