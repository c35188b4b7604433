/* test_sim_texture.c -- textures and surfaces as an H200 has them
 *
 * The rows of tests/gpu/texture_case.h, whose results an H200 gave: all bits
 * but those of filtered signed bytes, which are near what the text says.  What
 * its driver says of descriptors is in tests/gpu/texture_api.h.
 */
#include "../gpu/texture_side.h"
#include "../gpu/texture_h200.h"

static struct side s;

static int open_one(void **state)
{
    (void)state;
    setenv("FGS_SIM_CC", "90", 1);
    open_side(&s, "sim");
    return 0;
}

static int close_one(void **state)
{
    (void)state;
    close_side(&s);
    return 0;
}

static CUresult read_row(const struct texture_case *c)
{
    struct object o;
    CUresult r;

    for (unsigned n = 0; n < c->count; n++)
        texture_point(c, n, points + 4 * n);
    r = make(&s, c, &o);
    if (!r)
        r = run(&s, c->insn, c->count, o.handle);
    unmake(&s, c, &o);
    return r;
}

static const uint64_t *answer(const char *name)
{
    for (size_t k = 0; k < sizeof texture_h200 / sizeof *texture_h200; k++)
        if (!strcmp(texture_h200[k].name, name))
            return &texture_h200[k].hash;
    return NULL;
}

static void all_bits_are_those_of_a_gpu(void **state)
{
    unsigned bad = 0, rows = 0;

    (void)state;
    for (size_t k = 0; k < sizeof texture_cases / sizeof *texture_cases; k++) {
        const struct texture_case *c = &texture_cases[k];
        const uint64_t *want = answer(c->name);

        if (!want)
            continue;
        rows++;
        assert_int_equal(read_row(c), 0);
        if (results_hash(&s, c->count) == *want)
            continue;
        bad++;
        print_error("%s: other results than an H200's\n", c->name);
    }
    assert_int_equal(rows, sizeof texture_h200 / sizeof *texture_h200);
    assert_int_equal(bad, 0);
}

/* The text of CUDA C++ Programming Guide, "Linear Filtering", in doubles: a
 * weight has 8 bits, a result 16. */
static double filtered(const int8_t *e, int size, double x)
{
    double at = x - 0.5, whole = floor(at), part = at - whole, v[2];

    for (int k = 0; k < 2; k++) {
        int i = (int)whole + k;

        i = i < 0 ? 0 : i > size - 1 ? size - 1 : i;
        v[k] = e[i] < -127 ? -1 : e[i] / 127.0;
    }
    return v[0] + part * (v[1] - v[0]);
}

static void filtered_signed_bytes_are_near_the_text(void **state)
{
    const struct texture_case *c = texture_cases;

    (void)state;
    while (strcmp(c->name, "linear S8 x1 RANDOM"))
        c++;
    assert_int_equal(read_row(c), 0);
    make_elements(c, 0);
    for (unsigned n = 0; n < c->count; n++) {
        float x, got;
        double want;

        memcpy(&x, &points[4 * n], sizeof x);
        memcpy(&got, &s.got[4 * n], sizeof got);
        want = filtered((const int8_t *)elements, 64, (double)x);
        if (fabs((double)got - want) > 2 / 512.0 + 1 / 32767.0)
            fail_msg("at %g: %g, not %g", (double)x, (double)got, want);
    }
}

static void light_of_an_unknown_sum_is_refused(void **state)
{
    struct texture_case c = texture_cases[0];
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC tex = { .flags = SRGB };
    CUtexObject t;
    struct object o;

    (void)state;
    assert_int_equal(make(&s, &c, &o), 0);
    res.res.array.hArray = o.array;
    tex.addressMode[0] = CU_TR_ADDRESS_MODE_BORDER;
    tex.borderColor[1] = 1; /* a component that the array lacks */
    assert_int_equal(s.call.texture(&t, &res, &tex, NULL), 0);
    assert_int_equal(s.call.no_texture(t), 0);
    tex.borderColor[0] = 1;
    assert_int_equal(s.call.texture(&t, &res, &tex, NULL),
                     CUDA_ERROR_NOT_SUPPORTED);
    tex.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER; /* of a row, too */
    tex.addressMode[0] = CU_TR_ADDRESS_MODE_CLAMP;
    assert_int_equal(s.call.texture(&t, &res, &tex, NULL),
                     CUDA_ERROR_NOT_SUPPORTED);
    unmake(&s, &c, &o);
}

/* The first border that an H200 reads as more than n steps; the float before
 * it is n. */
static const struct step {
    unsigned format;
    float unit, first;
    int n;
} steps[] = {
    { U8, 255, 0x1.2p-9f, 0 },         { U8, 255, 0x1.fep-3f, 63 },
    { U8, 255, 0x1.002p-1f, 127 },     { U8, 255, 0x1.ffp-1f, 254 },
    { U16, 65535, 0x1.2p-17f, 0 },     { U16, 65535, 0x1.fffep-3f, 16383 },
    { U16, 65535, 0x1.00002p-1f, 32767 }, { U16, 65535, 0x1.ffffp-1f, 65534 },
    { S8, 127, 0x1.2p-8f, 0 },         { S8, 127, 0x1.004p-1f, 63 },
    { S8, 127, 0x1.fep-1f, 126 },      { S8, 127, -0x1.004p-1f, 63 },
    { S16, 32767, 0x1.2p-16f, 0 },     { S16, 32767, 0x1.00004p-1f, 16383 },
    { S16, 32767, 0x1.fffep-1f, 32766 }, { S16, 32767, -0x1.fffep-1f, 32766 },
};

static int border_of(const struct step *step, float color)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 8, 0, 0, step->format, 1, 0 };
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC tex = { .borderColor = { color } };
    CUtexObject t;
    CUarray a;
    float got;

    tex.addressMode[0] = CU_TR_ADDRESS_MODE_BORDER;
    points[0] = 0x42c80000; /* 100 */
    assert_int_equal(s.call.array(&a, &d), 0);
    res.res.array.hArray = a;
    assert_int_equal(s.call.texture(&t, &res, &tex, NULL), 0);
    assert_int_equal(run(&s, T1, 1, t), 0);
    memcpy(&got, s.got, sizeof got);
    assert_int_equal(s.call.no_texture(t), 0);
    assert_int_equal(s.call.no_array(a), 0);
    return (int)lrintf(fabsf(got) * step->unit);
}

static void border_becomes_an_element_as_on_a_gpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        assert_int_equal(border_of(&steps[k], steps[k].first), steps[k].n + 1);
        assert_int_equal(border_of(&steps[k], nextafterf(steps[k].first, 0)),
                         steps[k].n);
    }
}

/* 1.5f is 0x3fc00000: the bytes 0, 0, 0xc0, 0x3f. */
static void a_view_reads_elements_in_its_format(void **state)
{
    const uint32_t want[2][4] = { { 0x3fc00000 }, { 0, 0, 0xc0, 0x3f } };
    const unsigned format[] = { 13, 3 }; /* UINT_1X32, UINT_4X8 */
    CUDA_ARRAY3D_DESCRIPTOR d = { 1, 0, 0, F32, 1, 0 };
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC tex = { .flags = INT };
    CUDA_RESOURCE_VIEW_DESC view = { .width = 1 };
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .WidthInBytes = 4, .Height = 1, .Depth = 1 };
    float x = 1.5f;
    CUtexObject t;

    (void)state;
    assert_int_equal(s.call.array(&c.dstArray, &d), 0);
    c.srcHost = &x;
    assert_int_equal(s.call.copy(&c), 0);
    res.res.array.hArray = c.dstArray;
    memset(points, 0, 16);
    for (int k = 0; k < 2; k++) {
        view.format = format[k];
        assert_int_equal(s.call.texture(&t, &res, &tex, &view), 0);
        assert_int_equal(run(&s, T1, 1, t), 0);
        assert_memory_equal(s.got, want[k], 16);
        assert_int_equal(s.call.no_texture(t), 0);
    }
    view.width = 2; /* what an H200 said of these */
    assert_int_equal(s.call.texture(&t, &res, &tex, &view),
                     CUDA_ERROR_INVALID_VALUE);
    view.width = 1;
    view.depth = 1;
    assert_int_equal(s.call.texture(&t, &res, &tex, &view),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(s.call.no_array(c.dstArray), 0);
}

/* Not for a slip of the text: the log says why. */
static void refused(const char *insn, const char *why)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    char text[2048], log[512] = "";
    void *value[] = { log, (void *)(uintptr_t)sizeof log };
    CUmodule mod;

    make_text(text, sizeof text, insn);
    assert_int_equal(s.d.load(&mod, text, 2, option, value),
                     CUDA_ERROR_INVALID_PTX);
    if (!strstr(log, why))
        fail_msg("not refused for \"%s\" but: %s", why, log);
}

static void what_is_not_executed_is_not_loaded(void **state)
{
    (void)state;
    refused("{ .reg .f32 %z;\nmov.f32 %z, 0f00000000;\n"
            "tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, {%c0, %c1}], %z; "
            "}\n",
            "a depth to compare with is not executed");
    refused("tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%tex, %tex, {%c0, %c1}];"
            "\n",
            "a sampler of its own is not executed");
    refused("tex.2dms.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%tex, {%c0, %c1, %c2, "
            "%c2}];\n",
            "'.2dms' is not supported");
}

static void descriptors_are_judged_as_by_a_gpu(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (int k = 0; k < TEXTURE_WRONGS; k++) {
        char what[100];
        CUresult r = texture_wrong(&s.call, s.memory, k, what);

        if ((int)r != texture_said(k)) {
            print_error("%s: %d, not %d\n", what, (int)r, texture_said(k));
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

static void wrong_kernels_end_as_on_a_gpu(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (int k = 0; k < (int)(sizeof faults / sizeof *faults); k++) {
        int want = faults[k].said ? faults[k].said
                                  : CUDA_ERROR_ILLEGAL_INSTRUCTION;
        CUresult r = run_fault(&s, k);

        if ((int)r != want)
            print_error("fault %d: %d, not %d\n", k, (int)r, want);
        bad += (int)r != want;
        close_side(&s); /* its context has ended */
        open_side(&s, "sim");
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bits_are_those_of_a_gpu),
        cmocka_unit_test(filtered_signed_bytes_are_near_the_text),
        cmocka_unit_test(light_of_an_unknown_sum_is_refused),
        cmocka_unit_test(border_becomes_an_element_as_on_a_gpu),
        cmocka_unit_test(a_view_reads_elements_in_its_format),
        cmocka_unit_test(what_is_not_executed_is_not_loaded),
        cmocka_unit_test(descriptors_are_judged_as_by_a_gpu),
        cmocka_unit_test(wrong_kernels_end_as_on_a_gpu),
    };

    return cmocka_run_group_tests_name("sim_texture", tests, open_one,
                                       close_one);
}
