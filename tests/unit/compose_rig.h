/* compose_rig.h -- plans of many kernels for tests: parts, data, comparison */
#ifndef COMPOSE_RIG_H
#define COMPOSE_RIG_H

#include "rig.h"

enum { NET_TILES = 24, NET_BUFFERS = 40, NET_STAGES = 40, NET_KERNELS = 24 };

/* A plan under construction: `b` and `k` are freed with it. */
struct net {
    fgs_device *dev;
    fgs_plan *plan;
    fgs_buffer *b[NET_BUFFERS];
    fgs_kernel *k[NET_KERNELS];
    uint32_t buffers, kernels;
    fgs_stage_desc stage[NET_STAGES];
    fgs_access access[NET_STAGES][4];
    fgs_use use[NET_BUFFERS];
    fgs_plan_spec spec;
};

static inline void net_open(struct net *n)
{
    struct rig_opts o = { 0 };
    fgs_error err;

    memset(n, 0, sizeof *n);
    RIG_OK(rig_open(&n->dev, &o, &err), err);
    n->spec = (fgs_plan_spec){ .size = sizeof n->spec, .stages = n->stage,
                               .uses = n->use, .receipt = 1 };
}

static inline void net_close(struct net *n)
{
    fgs_plan_free(n->plan);
    for (uint32_t i = 0; i < n->buffers; i++)
        fgs_buffer_free(n->b[i]);
    for (uint32_t i = 0; i < n->kernels; i++)
        fgs_kernel_free(n->k[i]);
    fgs_device_close(n->dev);
}

/* A fresh net for each test of a file: `state` points to the file's. */
static inline int net_setup(void **state)
{
    net_open(*state);
    return 0;
}

static inline int net_teardown(void **state)
{
    net_close(*state);
    return 0;
}

#define NET_TEST(f, net)                                                       \
    cmocka_unit_test_prestate_setup_teardown(f, net_setup, net_teardown, &(net))

static inline fgs_buffer *net_buffer(struct net *n, const char *name,
                                     uint32_t slots)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = NET_TILES,
                          .slots = slots };
    fgs_error err;

    RIG_OK(fgs_buffer_make(&n->b[n->buffers], n->dev, &d, &err), err);
    return n->b[n->buffers++];
}

static inline fgs_kernel *net_kernel(struct net *n, const fgs_kernel_desc *d)
{
    fgs_kernel_desc desc = *d;
    fgs_error err;

    desc.size = sizeof desc;
    RIG_OK(fgs_kernel_make(&n->k[n->kernels], n->dev, &desc, &err), err);
    return n->k[n->kernels++];
}

/* A stage of a library's kernel: `in` is read, `in2` too (may be NULL), `out`
 * written. */
static inline fgs_stage_desc *net_stage(struct net *n, const char *name,
                                        fgs_kernel *k, fgs_buffer *in,
                                        fgs_buffer *in2, fgs_buffer *out)
{
    fgs_stage_desc *s = &n->stage[n->spec.stage_count];
    fgs_access *a = n->access[n->spec.stage_count++];
    uint32_t i = 0;

    a[i++] = (fgs_access){ .buffer = in };
    if (in2)
        a[i++] = (fgs_access){ .buffer = in2 };
    a[i++] = (fgs_access){ .buffer = out, .write = 1 };
    *s = (fgs_stage_desc){ .size = sizeof *s, .name = name, .kernel = k,
                           .accesses = a, .access_count = i };
    return s;
}

static inline void net_use(struct net *n, fgs_buffer *b, fgs_fill fill,
                           fgs_kernel *k)
{
    n->use[n->spec.use_count++] = (fgs_use){ .buffer = b, .fill = fill,
                                             .kernel = k };
}

static inline void net_write(fgs_buffer *b, uint32_t seed)
{
    uint64_t bytes = fgs_buffer_get_bytes(b);
    uint32_t *v = malloc((size_t)bytes);
    fgs_error err;

    assert_non_null(v);
    rig_values(v, bytes / 4, seed);
    RIG_OK(fgs_buffer_write(b, 0, v, bytes, &err), err);
    free(v);
}

/* The bytes of a slot of NET_TILES f32 tiles; the caller frees. */
static inline uint32_t *net_read(fgs_buffer *b, uint32_t slot)
{
    uint64_t bytes = NET_TILES * (uint64_t)RIG_TILE_BYTES;
    uint32_t *v = malloc((size_t)bytes);
    fgs_error err;

    assert_non_null(v);
    RIG_OK(fgs_buffer_read(b, slot * bytes, v, bytes, &err), err);
    return v;
}

/* `out` is what a producer and `turns` reversals make of `in`. */
static inline void net_expect(fgs_buffer *in, uint32_t in_slot,
                              fgs_buffer *out, uint32_t out_slot, int turns)
{
    uint64_t n = NET_TILES * (uint64_t)RIG_TILE_ELEMS;
    uint32_t *x = net_read(in, in_slot), *y = malloc((size_t)n * 4);
    uint32_t *z = net_read(out, out_slot);

    assert_non_null(y);
    assert_int_equal(fgs_ref_produce(FGS_ELEMENT_F32, FGS_SATURATE_REFUSE, x, y,
                                     n, NULL), FGS_OK);
    for (int i = 0; i < turns; i++) {
        assert_int_equal(fgs_ref_consume(FGS_ELEMENT_F32, y, x, NET_TILES,
                                         RIG_TILE_BYTES), FGS_OK);
        memcpy(y, x, (size_t)n * 4);
    }
    assert_memory_equal(y, z, n * 4);
    free(x);
    free(y);
    free(z);
}

static inline fgs_engine net_checking(struct net *n)
{
    fgs_error err;

    return fgs_device_can(n->dev, FGS_ENGINE_BULK, &err) >= 0
        ? FGS_ENGINE_BULK : FGS_ENGINE_POLL;
}

static inline fgs_kernel *net_producer(struct net *n)
{
    return net_kernel(n, &(fgs_kernel_desc){ .role = FGS_ROLE_PRODUCER });
}

static inline fgs_kernel *net_consumer(struct net *n)
{
    return net_kernel(n, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                                .engine = net_checking(n) });
}

static inline fgs_kernel *net_filler(struct net *n)
{
    return net_kernel(n, &(fgs_kernel_desc){ .role = FGS_ROLE_INIT });
}

static inline fgs_kernel *net_plain(struct net *n)
{
    return net_kernel(n, &(fgs_kernel_desc){ .role = FGS_ROLE_CONSUMER,
                                                .engine = FGS_ENGINE_PLAIN });
}

/* in -> mid -> out, `slots` of mid and out. */
static inline void net_pair(struct net *n, uint32_t slots)
{
    fgs_buffer *in = net_buffer(n, "in", 1);
    fgs_buffer *mid = net_buffer(n, "mid", slots);
    fgs_buffer *out = net_buffer(n, "out", slots);
    fgs_stage_desc *s;

    /* Slow and uneven: a reader that nothing holds back reads what was there
     * before. */
    s = net_stage(n, "produce", net_producer(n), in, NULL, mid);
    s->work_ns = 3000;
    s->spread_ns = 9000;
    net_stage(n, "consume", net_consumer(n), mid, NULL, out);
    net_write(in, 1);
}

static inline fgs_edge_info net_edge(struct net *n, uint32_t i)
{
    fgs_edge_info e = { .size = sizeof e };
    fgs_error err;

    RIG_OK(fgs_plan_get_edge(n->plan, i, &e, &err), err);
    return e;
}

static inline fgs_result net_compose(struct net *n, fgs_error *err)
{
    fgs_plan_free(n->plan);
    n->plan = NULL;
    return fgs_plan_compose(&n->plan, n->dev, &n->spec, err);
}

static inline void net_run(struct net *n, CUstream stream, uint32_t rounds)
{
    fgs_error err;

    RIG_OK(fgs_plan_run(n->plan, stream, rounds, &err), err);
    RIG_OK(fgs_plan_wait(n->plan, &err), err);
}

/* An entry point of the provider. */
static inline void net_proc(fgs_device *dev, const char *name, void *out)
{
    void *proc = fgs_device_get_proc(dev, name);

    if (!proc)
        print_error("no %s\n", name);
    assert_non_null(proc);
    memcpy(out, &proc, sizeof proc);
}

#endif
