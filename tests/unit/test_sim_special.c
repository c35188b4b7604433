/* test_sim_special.c -- approximate functions keep the bounds of the ISA
 *
 * Values of the host's libm in double precision; bounds of ISA 9.7.3, a
 * relative one in units of 2^-n or an absolute one.
 */
#include "ptx_run.h"
#include "sim/isa.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { COUNT = 1024 };

struct bound {
    const char *insn;
    double (*right)(double);
    double low, high;      /* range of arguments                             */
    double relative, absolute;
    bool exponents;        /* spread over the exponents, not evenly          */
};

static double reciprocal(double x)
{
    return 1 / x;
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static const struct bound bounds[] = {
    { "rcp.approx.ftz.f32", reciprocal, 0x1p-125, 0x1p125, 0x1p-23, 0, true },
    { "sqrt.approx.f32", sqrt, 0x1p-126, 0x1p127, 0x1p-23, 0, true },
    { "rsqrt.approx.ftz.f32", reciprocal_root, 0x1p-126, 0x1p127, 0x1p-22, 0,
      true },
    { "sin.approx.f32", sin, -3.14159, 3.14159, 0, 0x1.6a09p-21, false },
    { "cos.approx.f32", cos, -3.14159, 3.14159, 0, 0x1.6a09p-21, false },
    { "sin.approx.ftz.f32", sin, -314.159, 314.159, 0, 0x1.3b2cp-15, false },
    { "cos.approx.ftz.f32", cos, -314.159, 314.159, 0, 0x1.3b2cp-15, false },
    { "lg2.approx.f32", log2, 0.5, 2, 0, 0x1p-22, false },
    { "lg2.approx.f32", log2, 2, 0x1p126, 0x1p-22, 0, true },
    { "ex2.approx.f32", exp2, -126, 127, 0x1p-22, 0, false },
    { "ex2.approx.ftz.f32", exp2, -1, 1, 0x1p-22, 0, false },
    { "tanh.approx.f32", tanh, -9, 9, 0x1p-11, 0, false },
    { "tanh.approx.f32", tanh, 0x1p-100, 1, 0x1p-11, 0, true },
};

static float argument(const struct bound *b, int k)
{
    double part = (k + 0.37) / COUNT;

    return (float)(b->exponents
                       ? b->low * pow(b->high / b->low, part)
                       : b->low + (b->high - b->low) * part);
}

static bool within(const struct bound *b, float x, float y)
{
    double right = b->right((double)x), off = fabs((double)y - right);

    if (off <= fabs(right) * b->relative || off <= b->absolute)
        return true;
    printf("%s of %a: %a, right is %a\n", b->insn, (double)x, (double)y, right);
    return false;
}

static bool keeps(const struct bound *b)
{
    static float in[COUNT], out[COUNT];
    char body[400];
    struct ptx_run r = { .body = body, .threads = COUNT, .in = in,
                         .in_bytes = sizeof in, .out = out,
                         .out_bytes = sizeof out };
    bool good = true;
    int k;

    snprintf(body, sizeof body,
             "mad.wide.u32 %%in, %%t, 4, %%in;\nld.global.f32 %%f0, [%%in];\n"
             "mad.wide.u32 %%out, %%t, 4, %%out;\n%s %%f1, %%f0;\n"
             "st.global.f32 [%%out], %%f1;\n", b->insn);
    for (k = 0; k < COUNT; k++)
        in[k] = argument(b, k);
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (k = 0; k < COUNT && good; k++)
        good = within(b, in[k], out[k]);
    return good;
}

static void approximations_keep_their_bounds(void **state)
{
    int level;
    size_t k;
    bool good = true;

    (void)state;
    for (level = FGS__ISA_BASE; level <= FGS__ISA_AVX512; level++) {
        fgs__sim_isa_limit((enum fgs__sim_isa)level);
        for (k = 0; k < sizeof bounds / sizeof *bounds; k++)
            good = keeps(&bounds[k]) && good;
    }
    assert_true(good);
}

/* The steps that a program takes to a full quotient of f64: it needs a start
 * that is right to some bits. */
static void high_word_reciprocal_is_right_to_20_bits(void **state)
{
    double in[64], out[64];
    struct ptx_run r = {
        .body = "mad.wide.u32 %in, %t, 8, %in;\nld.global.f64 %g0, [%in];\n"
                "rcp.approx.ftz.f64 %g1, %g0;\nst.global.f64 [%my], %g1;\n",
        .threads = 64, .in = in, .in_bytes = sizeof in, .out = out,
        .out_bytes = sizeof out };
    int k;

    (void)state;
    for (k = 0; k < 64; k++)
        in[k] = ldexp(1 + k / 67.0, 17 * k - 500);
    assert_int_equal(ptx_run(&r), CUDA_SUCCESS);
    for (k = 0; k < 64; k++)
        assert_true(fabs(out[k] * in[k] - 1) < 0x1p-19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(approximations_keep_their_bounds),
        cmocka_unit_test(high_word_reciprocal_is_right_to_20_bits),
    };

    return cmocka_run_group_tests_name("sim special", tests, NULL, NULL);
}
