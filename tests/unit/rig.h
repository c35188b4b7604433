/* rig.h -- a whole plan for tests: device, kernels, buffers, data, comparison
 *
 * The provider is $FGS_PROVIDER, "sim" without it: the same tests run on the
 * software device and, through make check-gpu, on a real one.
 */
#ifndef RIG_H
#define RIG_H

#include "within.h"
#include "base/compat.h"
#include "core/ref.h"

#include <fgs/fgs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { RIG_TILE_ELEMS = 1024, RIG_TILE_BYTES = 4096 };

struct rig_opts {
    const char *provider;      /* NULL = $FGS_PROVIDER or "sim"              */
    const fgs_allocator *allocator;
    const char *ptx_dir;       /* NULL = "", not the environment's           */
    fgs_engine engine;
    uint32_t weak;
    uint64_t tiles;            /* 0 = 64                                     */
    const char *producer;      /* stem; NULL = the role's                    */
    uint64_t bound_ns, max_tries, work_ns, fault_tile;
    uint32_t fault_chunk, no_pdl;
};

struct rig {
    fgs_device *dev;
    fgs_kernel *init, *producer, *consumer;
    fgs_buffer *in, *mid, *out;
    fgs_plan *plan;
    uint64_t tiles;
};

static inline const char *rig_provider(void)
{
    const char *env = getenv("FGS_PROVIDER");

    return env && *env ? env : "sim";
}

static inline fgs_result rig_open(fgs_device **dev, const struct rig_opts *o,
                                  fgs_error *err)
{
    fgs_device_opts d = { .size = sizeof d };

    d.provider = o->provider ? o->provider : rig_provider();
    d.allocator = o->allocator;
    d.ptx_dir = o->ptx_dir ? o->ptx_dir : "";
    return fgs_device_open(dev, &d, err);
}

static inline fgs_result rig_kernel(fgs_kernel **k, fgs_device *dev,
                                    fgs_role role, const char *stem,
                                    fgs_engine engine, uint32_t weak,
                                    fgs_error *err)
{
    fgs_kernel_desc d = { .size = sizeof d, .role = role, .engine = engine,
                          .weak = weak, .stem = stem };

    return fgs_kernel_make(k, dev, &d, err);
}

static inline fgs_result rig_buffer(fgs_buffer **b, fgs_device *dev,
                                    const char *name, uint64_t tiles,
                                    fgs_error *err)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = tiles };

    return fgs_buffer_make(b, dev, &d, err);
}

/* Device, kernels and buffers; on failure the rig holds what was made. */
static inline fgs_result rig_parts(struct rig *r, const struct rig_opts *o,
                                   fgs_error *err)
{
    fgs_result e;

    memset(r, 0, sizeof *r);
    r->tiles = o->tiles ? o->tiles : 64;
    e = rig_open(&r->dev, o, err);
    if (e >= 0)
        e = rig_kernel(&r->init, r->dev, FGS_ROLE_INIT, NULL, FGS_ENGINE_AUTO,
                       0, err);
    if (e >= 0)
        e = rig_kernel(&r->producer, r->dev, FGS_ROLE_PRODUCER, o->producer,
                       FGS_ENGINE_AUTO, 0, err);
    if (e >= 0)
        e = rig_kernel(&r->consumer, r->dev, FGS_ROLE_CONSUMER, NULL,
                       o->engine, o->weak, err);
    if (e >= 0)
        e = rig_buffer(&r->in, r->dev, "in", r->tiles, err);
    if (e >= 0)
        e = rig_buffer(&r->mid, r->dev, "mid", r->tiles, err);
    if (e >= 0)
        e = rig_buffer(&r->out, r->dev, "out", r->tiles, err);
    return e;
}

static inline fgs_plan_desc rig_desc(const struct rig *r,
                                     const struct rig_opts *o)
{
    return (fgs_plan_desc){ .size = sizeof(fgs_plan_desc),
                            .init = r->init,
                            .producer = r->producer,
                            .consumer = r->consumer,
                            .in = r->in,
                            .mid = r->mid,
                            .out = r->out,
                            .bound_ns = o->bound_ns,
                            .max_tries = o->max_tries,
                            .work_ns = o->work_ns,
                            .no_pdl = o->no_pdl,
                            .fault_tile = o->fault_tile,
                            .fault_chunk = o->fault_chunk };
}

static inline fgs_result rig_make(struct rig *r, const struct rig_opts *o,
                                  fgs_error *err)
{
    fgs_result e = rig_parts(r, o, err);
    fgs_plan_desc d = rig_desc(r, o);

    return e < 0 ? e : fgs_plan_make(&r->plan, r->dev, &d, err);
}

static inline void rig_free(struct rig *r)
{
    fgs_plan_free(r->plan);
    fgs_buffer_free(r->out);
    fgs_buffer_free(r->mid);
    fgs_buffer_free(r->in);
    fgs_kernel_free(r->consumer);
    fgs_kernel_free(r->producer);
    fgs_kernel_free(r->init);
    fgs_device_close(r->dev);
    memset(r, 0, sizeof *r);
}

/* Values of all kinds: both zeros, subnormals, infinities, NaNs, extremes. */
static inline void rig_values(uint32_t *v, uint64_t count, uint32_t seed)
{
    static const uint32_t special[] = {
        0x80000000u, 0x00000000u, 0x80000001u, 0x00000001u, 0x807fffffu,
        0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00123u, 0x7f7fffffu,
        0xff7fffffu, 0x3f800000u, 0xbf800000u, 0x00800000u, 0x7f000000u
    };
    uint32_t x = seed * 2654435761u + 1;

    for (uint64_t i = 0; i < count; i++) {
        x = x * 1664525u + 1013904223u;
        v[i] = x % 8 ? x : special[x / 8 % (sizeof special / sizeof *special)];
    }
}

/* Write fresh input, and poison the output. */
static inline uint32_t *rig_fill(struct rig *r, uint32_t seed)
{
    uint64_t bytes = r->tiles * RIG_TILE_BYTES;
    uint32_t *v = malloc(bytes), *poison = malloc(bytes);

    assert_non_null(v);
    assert_non_null(poison);
    rig_values(v, r->tiles * RIG_TILE_ELEMS, seed);
    memset(poison, 0xA5, bytes);
    assert_int_equal(fgs_buffer_write(r->in, 0, v, bytes, NULL), FGS_OK);
    assert_int_equal(fgs_buffer_write(r->out, 0, poison, bytes, NULL), FGS_OK);
    free(poison);
    return v;
}

/* Elements of the output that are not what the C mirror makes of the input. */
static inline uint64_t rig_mismatches(struct rig *r, const uint32_t *in)
{
    uint64_t n = r->tiles * RIG_TILE_ELEMS, bad = 0;
    uint32_t *want = malloc(n * 4), *got = malloc(n * 4), *mid = malloc(n * 4);

    assert_non_null(want);
    assert_non_null(got);
    assert_non_null(mid);
    fgs__ref_scale(mid, in, n);
    fgs__ref_reverse(want, mid, r->tiles, RIG_TILE_ELEMS);
    assert_int_equal(fgs_buffer_read(r->out, 0, got, n * 4, NULL), FGS_OK);
    for (uint64_t i = 0; i < n; i++)
        bad += want[i] != got[i];
    free(want);
    free(got);
    free(mid);
    return bad;
}

static inline fgs_receipt rig_receipt(struct rig *r)
{
    fgs_receipt c = { .size = sizeof c };

    assert_int_equal(fgs_plan_get_receipt(r->plan, &c, NULL), FGS_OK);
    return c;
}

/* A failing call's own words, in the test's output. */
#define RIG_OK(call, err)                                                      \
    do {                                                                       \
        fgs_result rig_result = (call);                                        \
                                                                               \
        if (rig_result < 0)                                                    \
            print_error("%s: %s\n", #call, (err).text);                        \
        assert_int_equal(rig_result, FGS_OK);                                  \
    } while (0)

/* In a test for every provider: skip where the engine is not for the device.
 * Without a device at all the group is skipped. */
static inline void rig_need_engine(fgs_engine e)
{
    struct rig_opts o = { 0 };
    fgs_device *dev = NULL;
    fgs_error err;
    fgs_result r = rig_open(&dev, &o, &err);

    if (r >= 0)
        r = fgs_device_can(dev, e, &err);
    fgs_device_close(dev);
    if (r < 0) {
        print_message("%s\n", err.text);
        skip();
    }
}

/* Set-up of a group for any provider: exit 77 without a device. */
static inline int rig_group(void **state)
{
    struct rig_opts o = { 0 };
    fgs_device *dev = NULL;
    fgs_error err;

    (void)state;
    if (rig_open(&dev, &o, &err) < 0 && !strcmp(rig_provider(), "cuda")) {
        print_message("%s\n", err.text);
        exit(77);
    }
    fgs_device_close(dev);
    return 0;
}

#endif
