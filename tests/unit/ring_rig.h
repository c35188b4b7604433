/* ring_rig.h -- a chain over one buffer for all its edges, for tests
 *
 * in -> make -> ring -> turn ... turn -> ring -> use -> out.
 */
#ifndef RING_RIG_H
#define RING_RIG_H

#include "graph_calls.h"

#include <fgs/fgs_sim.h>

enum {
    RING_TILES = 6, RING_TILE_BYTES = 512, RING_MOST = 100,
    RING_ELEMS = RING_TILES * RING_TILE_BYTES / 4,
    RING_BYTES = RING_TILES * RING_TILE_BYTES
};

struct chain {
    fgs_device *dev;
    fgs_plan *plan;
    fgs_buffer *in, *ring, *out;
    fgs_kernel *make, *turn, *turn_plain, *use, *use_plain;
    uint32_t rounds; /* slots of in and out */
    fgs_stage_desc stage[RING_MOST];
    fgs_access access[RING_MOST][3];
    fgs_use uses[2];
    fgs_plan_spec spec;
    CUstream run, other;
    uint32_t data[RING_ELEMS * 8];
};

static struct chain c;
static const char *chain_dir; /* texts in place of the library's */

static inline fgs_kernel *chain_kernel(fgs_role role, fgs_engine engine,
                                       uint32_t persistent)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = role, .engine = engine,
                          .tile_bytes = RING_TILE_BYTES,
                          .persistent = persistent };
    fgs_kernel *k = NULL;
    fgs_error err;

    RIG_OK(fgs_kernel_make(&k, c.dev, &d, &err), err);
    return k;
}

static inline fgs_buffer *chain_buffer(const char *name, uint32_t slots)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = RING_TILES,
                          .tile_bytes = RING_TILE_BYTES, .slots = slots };
    fgs_buffer *b = NULL;
    fgs_error err;

    RIG_OK(fgs_buffer_make(&b, c.dev, &d, &err), err);
    return b;
}

static inline void chain_stage(const char *name, fgs_kernel *k, fgs_kernel *o,
                               fgs_buffer *from, fgs_buffer *to)
{
    uint32_t i = c.spec.stage_count++;

    c.access[i][0] = (fgs_access){ .buffer = from };
    c.access[i][1] = (fgs_access){ .buffer = to, .write = 1 };
    c.stage[i] = (fgs_stage_desc){ .size = sizeof c.stage[i], .name = name,
                                   .kernel = k, .ordered = o,
                                   .accesses = c.access[i],
                                   .access_count = 2 };
}

/* Engine AUTO: of the device's best. */
static inline void chain_open(fgs_engine engine, uint32_t persistent)
{
    CUcontext ctx;
    struct rig_opts o = { .ptx_dir = chain_dir };
    fgs_error err;

    memset(&c, 0, sizeof c);
    RIG_OK(rig_open(&c.dev, &o, &err), err);
    calls_get(c.dev);
    assert_int_equal(cu.retain(&ctx, 0), 0);
    assert_int_equal(cu.push(ctx), 0);
    assert_int_equal(cu.stream_create(&c.run, 1), 0);
    assert_int_equal(cu.stream_create(&c.other, 1), 0);
    c.make = chain_kernel(FGS_ROLE_PRODUCER, 0, 0);
    c.turn = chain_kernel(FGS_ROLE_RELAY, engine, persistent);
    c.turn_plain = chain_kernel(FGS_ROLE_RELAY, FGS_ENGINE_PLAIN, persistent);
    c.use = chain_kernel(FGS_ROLE_CONSUMER, engine, persistent);
    c.use_plain = chain_kernel(FGS_ROLE_CONSUMER, FGS_ENGINE_PLAIN,
                               persistent);
}

static inline void chain_drop(void)
{
    fgs_plan_free(c.plan);
    c.plan = NULL;
    fgs_buffer_free(c.in);
    fgs_buffer_free(c.ring);
    fgs_buffer_free(c.out);
    c.in = c.ring = c.out = NULL;
    memset(&c.spec, 0, sizeof c.spec);
}

static inline void chain_close(void)
{
    CUcontext ctx;

    chain_drop();
    fgs_kernel_free(c.make);
    fgs_kernel_free(c.turn);
    fgs_kernel_free(c.turn_plain);
    fgs_kernel_free(c.use);
    fgs_kernel_free(c.use_plain);
    cu.stream_destroy(c.run);
    cu.stream_destroy(c.other);
    cu.pop(&ctx);
    cu.release(0);
    fgs_device_close(c.dev);
}

/* A chain of that many stages over a ring of `slots`. */
static inline void chain_make(uint32_t stages, uint32_t slots, uint32_t rounds)
{
    chain_drop();
    c.rounds = rounds;
    c.in = chain_buffer("in", rounds);
    c.ring = chain_buffer("r", slots);
    c.out = chain_buffer("out", rounds);
    c.spec = (fgs_plan_spec){ .size = sizeof c.spec, .stages = c.stage,
                              .uses = c.uses, .use_count = 1, .receipt = 1,
                              .order = FGS_ORDER_SENTINEL };
    c.uses[0] = (fgs_use){ .buffer = c.ring, .fill = FGS_FILL_RING };
    chain_stage("make", c.make, NULL, c.in, c.ring);
    for (uint32_t i = 1; i + 1 < stages; i++)
        chain_stage("turn", c.turn, c.turn_plain, c.ring, c.ring);
    chain_stage("use", c.use, c.use_plain, c.ring, c.out);
}

/* Stages so slow that a reader takes what it finds in a slot. */
static inline void chain_slow(uint64_t ns)
{
    for (uint32_t i = 0; i < c.spec.stage_count; i++)
        c.stage[i].work_ns = ns;
}

static inline fgs_result chain_compose(fgs_error *err)
{
    fgs_plan_free(c.plan);
    c.plan = NULL;
    return fgs_plan_compose(&c.plan, c.dev, &c.spec, err);
}

/* Fresh values in all slots of the input, poison in the output. */
static inline void chain_write(uint32_t seed)
{
    static uint32_t poison[RING_ELEMS * 8];
    fgs_error err;

    assert_true(c.rounds <= 8);
    rig_values(c.data, RING_ELEMS * c.rounds, seed);
    memset(poison, 0xA5, sizeof poison);
    RIG_OK(fgs_buffer_write(c.in, 0, c.data, RING_BYTES * c.rounds, &err),
           err);
    RIG_OK(fgs_buffer_write(c.out, 0, poison, RING_BYTES * c.rounds, &err),
           err);
}

/* Slots of the output that are not what the mirrors make of the input, of the
 * first `tiles` tiles. */
static inline uint32_t chain_wrong(uint32_t tiles)
{
    static uint32_t got[RING_ELEMS], x[RING_ELEMS], y[RING_ELEMS];
    uint32_t bad = 0;
    fgs_error err;

    for (uint32_t slot = 0; slot < c.rounds; slot++) {
        assert_int_equal(fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE,
                                         c.data + slot * RING_ELEMS, x,
                                         RING_ELEMS, NULL), FGS_OK);
        for (uint32_t i = 1; i < c.spec.stage_count; i++) {
            assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, x, y, RING_TILES,
                                             RING_TILE_BYTES), FGS_OK);
            memcpy(x, y, sizeof x);
        }
        RIG_OK(fgs_buffer_read(c.out, slot * (uint64_t)RING_BYTES, got,
                               RING_BYTES, &err), err);
        bad += memcmp(got, x, (size_t)tiles * RING_TILE_BYTES) != 0;
    }
    return bad;
}

static inline void chain_run(uint32_t rounds)
{
    fgs_error err;

    RIG_OK(fgs_plan_run(c.plan, c.run, rounds, &err), err);
    RIG_OK(fgs_plan_wait(c.plan, &err), err);
}

static inline int chain_is_sim(void)
{
    return !strcmp(rig_provider(), "sim");
}

/* The software device anew; no chain is open. */
static inline void chain_present(uint32_t overlap, uint64_t seed)
{
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    RIG_OK(fgs_sim_config_get(&cfg, &err), err);
    cfg.overlap = overlap;
    cfg.seed = seed;
    RIG_OK(fgs_sim_config_set(&cfg, &err), err);
}

static inline int chain_setup(void **state)
{
    (void)state;
    chain_open(FGS_ENGINE_AUTO, 0);
    return 0;
}

static inline int chain_teardown(void **state)
{
    (void)state;
    chain_close();
    return 0;
}

#define CHAIN_TEST(f)                                                          \
    cmocka_unit_test_setup_teardown(f, chain_setup, chain_teardown)

#endif
