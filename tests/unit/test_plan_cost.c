/* test_plan_cost.c -- what a round of a plan calls and allocates, counted
 *
 * The device's entry points are exchanged for ones that count; those that a
 * round has no need of end the test.
 */
#include "counting.h"
#include "core/plan.h"
#include "rig.h"

static struct fgs__cu real;
static struct {
    long launch, set32, set8, copy, record, wait, other;
} calls;

static void never(void)
{
    print_error("a round called an entry point that it has no need of\n");
    abort();
}

static CUresult count_launch(const CUlaunchConfig *c, CUfunction f, void **p,
                             void **x)
{
    calls.launch++;
    return real.cuLaunchKernelEx(c, f, p, x);
}

static CUresult count_set32(CUdeviceptr at, unsigned int v, size_t n,
                            CUstream s)
{
    calls.set32++;
    return real.cuMemsetD32Async(at, v, n, s);
}

static CUresult count_set8(CUdeviceptr at, unsigned char v, size_t n,
                           CUstream s)
{
    calls.set8++;
    return real.cuMemsetD8Async(at, v, n, s);
}

static CUresult count_copy(void *to, CUdeviceptr from, size_t n, CUstream s)
{
    calls.copy++;
    return real.cuMemcpyDtoHAsync(to, from, n, s);
}

static CUresult count_record(CUevent e, CUstream s)
{
    calls.record++;
    return real.cuEventRecord(e, s);
}

static CUresult count_wait(CUstream s, CUevent e, unsigned int flags)
{
    calls.wait++;
    return real.cuStreamWaitEvent(s, e, flags);
}

/* What a run may call besides, whatever its rounds. */
#define ONCE(X)                                                               \
    X(cuCtxPushCurrent)                                                       \
    X(cuCtxPopCurrent)                                                        \
    X(cuStreamGetCtx)                                                         \
    X(cuStreamIsCapturing)                                                    \
    X(cuEventSynchronize)                                                     \
    X(cuEventQuery)                                                           \
    X(cuEventElapsedTime)

static void count_calls(struct fgs__device *d)
{
    real = d->cu;
    memset(&calls, 0, sizeof calls);
#define ENTRY(name, abi, need, forms, params)                                 \
    d->cu.name = (CUresult(*) params)never;
#include "table/entry.def"
#undef ENTRY
#define KEEP(name) d->cu.name = real.name;
    ONCE(KEEP)
#undef KEEP
    d->cu.cuLaunchKernelEx = count_launch;
    d->cu.cuMemsetD32Async = count_set32;
    d->cu.cuMemsetD8Async = count_set8;
    d->cu.cuMemcpyDtoHAsync = count_copy;
    d->cu.cuEventRecord = count_record;
    d->cu.cuStreamWaitEvent = count_wait;
}

/* --------------------------------------------------------------- a plan -- */

enum { TILES = 4, READERS = 6 };

struct parts {
    fgs_device *dev;
    fgs_kernel *make, *use;
    fgs_buffer *in, *mid, *out[READERS];
    fgs_plan *plan;
    struct fgs__device *d;
    struct counting count;
};

/* A tile that six kernels read, by one order. */
static void compose(struct parts *p, fgs_order order, uint32_t receipt)
{
    struct rig_opts o = { .provider = "sim" };
    fgs_stage_desc stage[READERS + 1] = { { .size = sizeof *stage } };
    fgs_access access[READERS + 1][2] = { { { 0 } } };
    fgs_plan_spec spec = { .size = sizeof spec, .stages = stage,
                           .stage_count = READERS + 1, .order = order,
                           .receipt = receipt };
    fgs_allocator alloc;
    fgs_error err;

    memset(p, 0, sizeof *p);
    alloc = counting_allocator(&p->count);
    o.allocator = &alloc;
    RIG_OK(rig_open(&p->dev, &o, &err), err);
    RIG_OK(rig_kernel(&p->make, p->dev, FGS_ROLE_PRODUCER, NULL,
                      FGS_ENGINE_AUTO, 0, &err), err);
    RIG_OK(rig_kernel(&p->use, p->dev, FGS_ROLE_CONSUMER, NULL,
                      FGS_ENGINE_POLL, 0, &err), err);
    RIG_OK(rig_buffer(&p->in, p->dev, "in", TILES, &err), err);
    RIG_OK(rig_buffer(&p->mid, p->dev, "mid", TILES, &err), err);
    for (int i = 0; i <= READERS; i++) {
        if (i)
            RIG_OK(rig_buffer(&p->out[i - 1], p->dev, "out", TILES, &err),
                   err);
        access[i][0].buffer = i ? p->mid : p->in;
        access[i][1].buffer = i ? p->out[i - 1] : p->mid;
        access[i][1].write = 1;
        stage[i].size = sizeof stage[i];
        stage[i].kernel = i ? p->use : p->make;
        stage[i].accesses = access[i];
        stage[i].access_count = 2;
    }
    RIG_OK(fgs_plan_compose(&p->plan, p->dev, &spec, &err), err);
    RIG_OK(fgs__device_get(&p->d, p->dev, &err), err);
}

static void drop(struct parts *p)
{
    p->d->cu = real;
    fgs_plan_free(p->plan);
    for (int i = 0; i < READERS; i++)
        fgs_buffer_free(p->out[i]);
    fgs_buffer_free(p->mid);
    fgs_buffer_free(p->in);
    fgs_kernel_free(p->use);
    fgs_kernel_free(p->make);
    fgs_device_close(p->dev);
    assert_int_equal(p->count.live, 0);
}

static void run(struct parts *p, uint32_t rounds)
{
    fgs_error err;

    RIG_OK(fgs_plan_run(p->plan, NULL, rounds, &err), err);
    RIG_OK(fgs_plan_wait(p->plan, &err), err);
}

/* Calls of `rounds` rounds more than of one. */
static void measure(struct parts *p, uint32_t rounds)
{
    long once[6];

    run(p, 3); /* to be in the steady state */
    count_calls(p->d);
    run(p, 1);
    once[0] = calls.launch, once[1] = calls.set32, once[2] = calls.set8;
    once[3] = calls.copy, once[4] = calls.record, once[5] = calls.wait;
    memset(&calls, 0, sizeof calls);
    run(p, rounds + 1);
    calls.launch -= once[0], calls.set32 -= once[1], calls.set8 -= once[2];
    calls.copy -= once[3], calls.record -= once[4], calls.wait -= once[5];
}

/* ---------------------------------------------------------------- tests -- */

static void round_by_streams_is_its_launches(void **state)
{
    struct parts p;

    (void)state;
    compose(&p, FGS_ORDER_STREAM, 0);
    measure(&p, 10);
    assert_int_equal(calls.launch, 10 * (READERS + 1));
    assert_int_equal(calls.set32 + calls.set8 + calls.copy, 0);
    assert_int_equal(calls.record + calls.wait, 0);
    drop(&p);
}

static void round_by_sentinels_is_its_launches_and_a_fill(void **state)
{
    struct parts p;

    (void)state;
    compose(&p, FGS_ORDER_SENTINEL, 0);
    measure(&p, 10);
    assert_int_equal(calls.launch, 10 * (READERS + 1));
    assert_int_equal(calls.set32, 10);
    assert_int_equal(calls.set8 + calls.copy + calls.record + calls.wait, 0);
    drop(&p);
}

static void receipt_costs_a_clear_and_a_copy(void **state)
{
    struct parts p;

    (void)state;
    compose(&p, FGS_ORDER_STREAM, 1);
    measure(&p, 10);
    assert_int_equal(calls.launch, 10 * (READERS + 1));
    assert_int_equal(calls.set8, 10);
    assert_int_equal(calls.copy, 10);
    assert_int_equal(calls.set32 + calls.record + calls.wait, 0);
    drop(&p);
}

static void run_allocates_nothing(void **state)
{
    struct parts p;
    long before;

    (void)state;
    compose(&p, FGS_ORDER_SENTINEL, 2);
    run(&p, 3);
    before = p.count.calls;
    for (int i = 0; i < 5; i++)
        run(&p, 20);
    assert_int_equal(p.count.calls, before);
    real = p.d->cu;
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_by_streams_is_its_launches),
        cmocka_unit_test(round_by_sentinels_is_its_launches_and_a_fill),
        cmocka_unit_test(receipt_costs_a_clear_and_a_copy),
        cmocka_unit_test(run_allocates_nothing),
    };

    return cmocka_run_group_tests_name("plan_cost", tests, NULL, NULL);
}
