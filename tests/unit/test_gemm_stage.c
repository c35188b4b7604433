/* test_gemm_stage.c -- full and empty barriers, one thread that copies, 128
 * that multiply; two such stages in a chain over a buffer of sentinels
 *
 * Against fgs_ref_gemm on numbers whose sums are exact.  On the device that
 * FGS_PROVIDER names.
 */
#include "kernels_both.h"

#include <fgs/fgs_sim.h>
#include <stdbool.h>

enum { BOX_BYTES = 16384, ROWS = 3, STEPS = 4, COLUMNS = 16, STEPS2 = 2,
       COLUMNS2 = 3 };

static const struct stem {
    const char *name;
    int cc; /* lowest one; 90 and no other where `only` */
    bool only;
} plain[] = {
    { "gemm_stage", 90, false },
    { "gemm_warp_stage", 90, false },
    { "gemm_regs_stage", 90, true },
    { "gemm_wgmma_stage", 90, true }, /* on a GPU */
}, careful[] = {
    { "gemm_bulk_stage", 90, false },
    { "gemm_report_stage", 107, false },
};

/* A product of rows * 64 by steps * 128 by columns * 16. */
struct product {
    uint32_t rows, steps, columns;
    CUdeviceptr in, weights, out, map;
    uint16_t *host_weights; /* column by column */
    size_t in_bytes, out_bytes;
};

static CUmodule module;
static int cc;

static CUfunction load(const struct stem *s)
{
    char *text, entry[64];
    CUfunction f;

    if (cc < s->cc || (s->only && cc != s->cc))
        return NULL;
    text = both_image(s->name, cc, FGS_ELEMENT_F16);
    if (!getenv("FGS_PROVIDER") && strstr(s->name, "wgmma")) {
        /* by name: the software device has no warpgroups' products */
        assert_true(g.cuModuleLoadData(&module, text));
        print_message("skipped: %s needs a GPU\n", s->name);
        free(text);
        return NULL;
    }
    OK(cuModuleLoadData(&module, text));
    snprintf(entry, sizeof entry, "fgs_%s", s->name);
    OK(cuModuleGetFunction(&f, module, entry));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          8 * BOX_BYTES));
    free(text);
    return f;
}

static CUdeviceptr map_of(CUdeviceptr at, uint32_t rows, uint32_t steps)
{
    const cuuint64_t dims[] = { steps * 128, rows * 64 };
    const cuuint64_t strides[] = { steps * 256 };
    const cuuint32_t box[] = { 128, 64 }, step[] = { 1, 1 };
    _Alignas(64) CUtensorMap map;
    CUdeviceptr where;

    /* f16; no interleave, swizzle, promotion; zeros outside */
    OK(cuTensorMapEncodeTiled(&map, 6, 2, (void *)(uintptr_t)at, dims, strides,
                              box, step, 0, 0, 0, 0));
    OK(cuMemAlloc(&where, sizeof map));
    OK(cuMemcpyHtoD(where, &map, sizeof map));
    return where;
}

/* An integer of -4 to 4 as f16, times a power of two. */
static uint16_t number(uint32_t seed, int power)
{
    static const uint16_t whole[] = { 0xc400, 0xc200, 0xc000, 0xbc00, 0x0000,
                                      0x3c00, 0x4000, 0x4200, 0x4400 };
    uint16_t h = whole[(seed * 2654435761u >> 16) % 9];

    /* small numbers are subnormal: their codes count steps of 2^-24 */
    if (power == 0 || h == 0)
        return h;
    if (power == -10)
        return (uint16_t)(h - (10 << 10));
    return (uint16_t)((h & 0x8000) |
                      ((h & 0x7fff) == 0x3c00   ? 16
                       : (h & 0x7fff) == 0x4000 ? 32
                       : (h & 0x7fff) == 0x4200 ? 48
                                                : 64));
}

static struct product make_product(uint32_t rows, uint32_t steps,
                                   uint32_t columns, CUdeviceptr in)
{
    struct product p = { .rows = rows, .steps = steps, .columns = columns,
                         .in = in };
    size_t depth = steps * 128, count = depth * columns * 16;
    uint16_t *packed = malloc(count * 2);

    p.host_weights = malloc(count * 2);
    assert_true(packed && p.host_weights);
    for (size_t i = 0; i < count; i++)
        p.host_weights[i] = number((uint32_t)i * 7 + columns,
                                   i / depth % 8 == 7 ? -10 : 0);
    assert_int_equal(fgs_ref_gemm_pack(p.host_weights, packed, (uint32_t)depth,
                                       columns * 16), FGS_OK);
    p.in_bytes = rows * 64 * depth * 2;
    p.out_bytes = (size_t)rows * 64 * columns * 32;
    if (!p.in)
        OK(cuMemAlloc(&p.in, p.in_bytes));
    OK(cuMemAlloc(&p.weights, count * 2));
    OK(cuMemAlloc(&p.out, p.out_bytes));
    put(p.weights, packed, count * 2);
    p.map = map_of(p.in, rows, steps);
    free(packed);
    return p;
}

static void free_product(struct product *p, bool with_in)
{
    if (with_in)
        OK(cuMemFree(p->in));
    OK(cuMemFree(p->weights));
    OK(cuMemFree(p->out));
    OK(cuMemFree(p->map));
    free(p->host_weights);
}

/* Rows that are small give results that underflow, of both signs. */
static uint16_t *make_in(const struct product *p)
{
    size_t depth = p->steps * 128, count = p->rows * 64 * depth;
    uint16_t *x = malloc(count * 2);

    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = number((uint32_t)i, i / depth % 4 == 3 ? -20 : 0);
    put(p->in, x, count * 2);
    return x;
}

static uint16_t *mirror(const struct product *p, const uint16_t *x)
{
    uint16_t *y = malloc(p->out_bytes);

    assert_non_null(y);
    assert_int_equal(fgs_ref_gemm(x, p->host_weights, y, p->rows * 64,
                                  p->steps * 128, p->columns * 16), FGS_OK);
    return y;
}

static uint64_t work; /* extra ns of each tile */

static void run(CUfunction f, const struct product *p, uint32_t grid,
                uint32_t stages, int pdl)
{
    CUdeviceptr stat = g.stat + FGS_ROLE_CONSUMER * sizeof(struct fgs__stat);
    uint32_t rows = p->rows, columns = p->columns, steps = p->steps;
    CUdeviceptr map = p->map, in = p->in, weights = p->weights, out = p->out;
    uint64_t bound = 4000000, tries = 0, leak = UINT64_MAX;
    void *params[] = { &map, &in, &weights, &out, &rows, &columns, &steps,
                       &g.ctl, &g.drec, &stat, &bound, &tries, &work, &leak };
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig c = { .gridDimX = grid, .gridDimY = 1, .gridDimZ = 1,
                         .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1,
                         .sharedMemBytes = stages * BOX_BYTES, .attrs = &attr,
                         .numAttrs = pdl ? 1 : 0 };

    attr.value.programmaticStreamSerializationAllowed = 1;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
}

/* With the software device's own words. */
static void finish(void)
{
    CUresult r = g.cuCtxSynchronize();

    if (r != CUDA_SUCCESS)
        fail_msg("%d: %s", (int)r, fgs_sim_last_fault());
}

static void compare(const struct product *p, const uint16_t *want,
                    const char *name, uint32_t stages)
{
    uint16_t *have = malloc(p->out_bytes);

    assert_non_null(have);
    get(have, p->out, p->out_bytes);
    for (size_t i = 0; i < p->out_bytes / 2; i++)
        if (have[i] != want[i])
            fail_msg("%s, %u stages: row %zu column %zu is %04x, not %04x",
                     name, stages, i / (p->columns * 16), i % (p->columns * 16),
                     have[i], want[i]);
    free(have);
}

static void product_is_the_mirrors(void **state)
{
    struct product p = make_product(ROWS, STEPS, 2, 0);
    uint16_t *x = make_in(&p), *want = mirror(&p, x);

    (void)state;
    for (size_t s = 0; s < sizeof plain / sizeof plain[0]; s++) {
        CUfunction f = load(&plain[s]);

        for (uint32_t stages = 1; f && stages <= 8; stages++) {
            reset(NULL);
            OK(cuMemsetD8(p.out, 0xee, p.out_bytes));
            run(f, &p, 1 + stages % 4, stages, 0);
            finish();
            compare(&p, want, plain[s].name, stages);
        }
        if (f)
            OK(cuModuleUnload(module));
    }
    free(x);
    free(want);
    free_product(&p, true);
}

/* The second product's input is what the first one makes. */
struct chain {
    struct product first, second;
    uint16_t *in, *middle, *want;
};

static struct chain make_chain(void)
{
    struct chain c = { .first = make_product(ROWS, STEPS, COLUMNS, 0) };

    c.second = make_product(ROWS, STEPS2, COLUMNS2, c.first.out);
    c.in = make_in(&c.first);
    c.middle = mirror(&c.first, c.in);
    c.want = mirror(&c.second, c.middle);
    return c;
}

static void free_chain(struct chain *c)
{
    free(c->in);
    free(c->middle);
    free(c->want);
    free_product(&c->second, false);
    free_product(&c->first, true);
}

/* Box by box; in between is a buffer of sentinels (guide 4.6.4). */
static void chain_hands_over_boxes(void **state)
{
    struct chain c = make_chain();
    CUfunction produce = load(&plain[0]);
    CUmodule of_first = module;
    unsigned zeros = 0;

    (void)state;
    for (size_t i = 0; i < c.first.out_bytes / 2; i++)
        zeros += c.middle[i] == 0;
    assert_true(zeros > 100); /* results that would be -0 are among them */
    for (size_t s = 0; s < sizeof careful / sizeof careful[0]; s++) {
        CUfunction f = load(&careful[s]);

        for (uint32_t stages = 1; f && stages <= 8; stages++) {
            reset(NULL);
            OK(cuMemsetD32(c.first.out, 0x80008000, c.first.out_bytes / 4));
            OK(cuMemsetD8(c.second.out, 0xee, c.second.out_bytes));
            run(produce, &c.first, ROWS * COLUMNS, 2, 0);
            run(f, &c.second, 1 + stages % 4, stages, 1);
            finish();
            assert_int_equal(g.rec->code, 0);
            compare(&c.first, c.middle, plain[0].name, stages);
            compare(&c.second, c.want, careful[s].name, stages);
        }
        if (f)
            OK(cuModuleUnload(module));
    }
    OK(cuModuleUnload(of_first));
    free_chain(&c);
}

/* What is late is looked at, by its first chunk that is missing: a box that is
 * waited for is copied again once, or a few times where its tiles come apart.
 * With a copy a nap it would be 100 for each 200 us. */
static void late_boxes_are_looked_at(void **state)
{
    struct chain c = make_chain();
    CUfunction produce = load(&plain[0]);
    CUmodule of_first = module;
    uint64_t boxes = ROWS * COLUMNS2 * STEPS2, again;

    (void)state;
    for (size_t s = 0; s < sizeof careful / sizeof careful[0]; s++) {
        CUfunction f = load(&careful[s]);

        for (uint32_t stages = 1; f && stages <= 8; stages += 7) {
            reset(NULL);
            OK(cuMemsetD32(c.first.out, 0x80008000, c.first.out_bytes / 4));
            work = 200000;
            run(produce, &c.first, 8, 2, 0); /* all resident */
            work = 0;
            run(f, &c.second, ROWS * COLUMNS2, stages, 1);
            finish();
            assert_int_equal(g.rec->code, 0);
            compare(&c.second, c.want, careful[s].name, stages);
            again = get_stat(FGS_ROLE_CONSUMER).reissues;
            if (again > 4 * boxes || (!getenv("FGS_PROVIDER") && !again))
                fail_msg("%s: %u copies more", careful[s].name,
                         (unsigned)again);
        }
        if (f)
            OK(cuModuleUnload(module));
    }
    OK(cuModuleUnload(of_first));
    free_chain(&c);
}

/* Nobody writes row 70, columns 136 to 143: box 1 of the second row of boxes,
 * its row 6, chunk 1. */
static void chunk_that_stays_is_named(void **state)
{
    struct product p = make_product(ROWS, STEPS2, COLUMNS2, 0);
    uint16_t *x = make_in(&p);
    CUdeviceptr lost = p.in + 70 * STEPS2 * 256 + 136 * 2;

    (void)state;
    OK(cuMemsetD32(lost, 0x80008000, 4));
    for (size_t s = 0; s < sizeof careful / sizeof careful[0]; s++) {
        CUfunction f = load(&careful[s]);

        for (uint32_t stages = 1; f && stages <= 8; stages++) {
            reset(NULL);
            run(f, &p, 1, stages, 0);
            finish();
            assert_int_equal(g.rec->code, FGS__GIVEUP_TIME);
            assert_int_equal(g.rec->tile, 1 * STEPS2 + 1);
            assert_int_equal(g.rec->chunk, 6 * 16 + 1);
            assert_int_equal(g.rec->stage,
                             (COLUMNS2 * STEPS2 + 1) % stages);
            assert_int_equal(g.rec->bits0, 0x8000800080008000);
            /* The chunk was looked at; the box was not copied again. */
            assert_true(g.rec->tries > 100);
            assert_int_equal(get_stat(FGS_ROLE_CONSUMER).reissues, 0);
        }
        if (f)
            OK(cuModuleUnload(module));
    }
    free(x);
    free_product(&p, true);
}

static int open_all(void **state)
{
    fgs_device_info info = { .size = sizeof info };

    if (open_device(state))
        return -1;
    fgs_device_get_info(g.dev, &info, NULL);
    cc = info.cc;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_is_the_mirrors),
        cmocka_unit_test(chain_hands_over_boxes),
        cmocka_unit_test(late_boxes_are_looked_at),
        cmocka_unit_test(chunk_that_stays_is_named),
    };

    memset(host_mid, 0, 4); /* what kernels.h has for tiles */
    return run_both_with("gemm_stage", tests, sizeof tests / sizeof tests[0],
                         open_all, close_device);
}
