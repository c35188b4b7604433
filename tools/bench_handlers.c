/* bench_handlers.c -- fgs bench: single instructions, to find slow handlers */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* Sources and results are registers of their own; %d8 holds a global, %r20 a
 * shared address of the thread, %r21 the lane's distance, %d9 a byte's global
 * address. */
static const char before[] =
    "cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, 0f3F800001; mov.f32 %f2, 0f3DCCCCCD;"
    "mov.u32 %r0, %t; mov.u32 %r1, 7; mov.u32 %r2, 0x12345678;"
    "mov.u32 %r3, 0x3C003C00; cvt.f64.f32 %g0, %f0;"
    "mov.f64 %g1, 0d3FF8000000000000;"
    "cvt.f64.f32 %g2, %f2; cvt.u64.u32 %d1, %r2; mov.u64 %d2, 12345678901;"
    "mov.b16 %h0, 0x3C01; mov.b16 %h1, 0x4105; setp.lt.u32 %p0, %lane, 9;"
    "mul.wide.u32 %d0, %t, 4; add.u64 %d8, %out, %d0; mov.u32 %r20, s;"
    "mul.lo.u32 %r21, %lane, 4; add.u32 %r20, %r20, %r21;"
    "xor.b32 %r22, %r20, 68; cvt.u64.u32 %d9, %t; add.u64 %d9, %out, %d9;";
static const char vars[] =
    ".shared .align 16 .b8 s[4096];";
static const char regs[] =
    ".reg .f64 %g<8>; .reg .b16 %h<8>;";

#define LOCKED  "a locked operation of the host for each lane"
#define APART   "bytes that are no neighbours are read lane by lane"
#define STRONG  "each lane's value is loaded at once, and by itself"
#define FOUR    "it fills four registers"
#define CHAIN   "a sum over the lanes and a locked operation of the host"
#define CASES   "conversions that are rare go lane by lane"
#define TABLE   "a table lookup in each lane, for the bits of a GPU"
#define DIVIDES "vectors of the host do not divide integers"

/* Those that are slow by their nature say why. */
static struct bench_handler handlers[] = {
#define I(text) {text, NULL, 0},
#define R(text, why) {text, why, 0},
    I("add.f32 %f3, %f1, %f2;") I("add.rz.f32 %f3, %f1, %f2;")
    I("fma.rn.f32 %f3, %f0, %f1, %f2;") I("fma.rp.sat.f32 %f3, %f0, %f1, %f2;")
    I("div.rn.f32 %f3, %f0, %f1;") I("div.rn.f64 %g3, %g0, %g1;")
    I("fma.rn.f64 %g3, %g0, %g1, %g2;") I("sqrt.rn.f32 %f3, %f1;")
    R("rsqrt.approx.f32 %f3, %f1;", TABLE) I("rcp.rn.f32 %f3, %f1;")
    R("sin.approx.f32 %f3, %f1;", TABLE) R("lg2.approx.f32 %f3, %f1;", TABLE)
    R("ex2.approx.f32 %f3, %f1;", TABLE) R("tanh.approx.f32 %f3, %f1;", TABLE)
    I("min.f32 %f3, %f0, %f1;") I("max.f64 %g3, %g0, %g1;")
    I("fma.rn.f16x2 %r4, %r3, %r3, %r3;") I("add.f16 %h3, %h0, %h1;")
    I("fma.rn.bf16x2 %r4, %r3, %r3, %r3;") I("mul.lo.u32 %r4, %r0, %r1;")
    I("mul.hi.s32 %r4, %r0, %r2;") I("mul.lo.u64 %d3, %d1, %d2;")
    I("mul.hi.u64 %d3, %d1, %d2;") I("mad.wide.u32 %d3, %r0, %r2, %d1;")
    R("div.u32 %r4, %r2, %r1;", DIVIDES) R("rem.s32 %r4, %r2, %r1;", DIVIDES)
    R("div.u64 %d3, %d2, %d1;", DIVIDES) R("rem.s64 %d3, %d2, %d1;", DIVIDES)
    I("shl.b32 %r4, %r0, %r1;") I("shr.s64 %d3, %d1, %r1;")
    I("shf.l.wrap.b32 %r4, %r0, %r2, %r1;") I("popc.b32 %r4, %r2;")
    I("clz.b64 %r4, %d1;") I("brev.b32 %r4, %r2;")
    I("bfe.u32 %r4, %r2, 3, %r1;") I("bfi.b32 %r4, %r2, %r0, 4, 8;")
    I("bfind.u32 %r4, %r2;")
    R("fns.b32 %r4, %r2, 0, 3;", "a loop over the bits in each lane")
    I("prmt.b32 %r4, %r0, %r2, 0x5140;") I("lop3.b32 %r4, %r0, %r1, %r2, 0x96;")
    I("sad.u32 %r4, %r0, %r1, %r2;") I("dp4a.u32.u32 %r4, %r0, %r2, %r1;")
    I("add.cc.u32 %r4, %r0, %r2;") I("addc.u32 %r4, %r0, %r2;")
    I("setp.lt.f32 %p1, %f0, %f1;") I("setp.ne.and.u64 %p1|%p2, %d1, %d2, %p0;")
    I("selp.b32 %r4, %r0, %r2, %p0;") I("slct.f32.s32 %f3, %f0, %f1, %r2;")
    I("set.lt.u32.f32 %r4, %f0, %f1;") I("cvt.rn.f32.u32 %f3, %r2;")
    I("cvt.rzi.s32.f32 %r4, %f0;") I("cvt.rn.f16.f32 %h3, %f1;")
    I("cvt.f32.f16 %f3, %h0;") I("cvt.rn.bf16x2.f32 %r4, %f0, %f1;")
    R("cvt.rn.f32.f64 %f3, %g1;", CASES) R("cvt.rni.s64.f64 %d3, %g0;", CASES)
    R("cvt.rn.f64.u64 %g3, %d1;", CASES)
    I("cvt.rn.satfinite.e4m3x2.f32 %h3, %f0, %f1;")
    I("cvt.rn.f16x2.e5m2x2 %r4, %h0;") R("cvt.sat.u8.s32 %r4, %r2;", CASES)
    I("mov.b64 %d3, {%r0, %r2};") I("mov.b32 {%h3, %h4}, %r2;")
    I("copysign.f32 %f3, %f0, %f1;") I("testp.finite.f32 %p1, %f0;")
    I("ld.global.u32 %r4, [%d8];")
    R("ld.relaxed.gpu.global.u32 %r4, [%d8];", STRONG)
    R("ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%out];", FOUR)
    I("st.global.u32 [%d8], %r0;") I("st.shared.u32 [%r20], %r0;")
    I("ld.shared.u32 %r4, [%r20];") I("ld.shared.u32 %r4, [%r22];")
    I("ld.param.u32 %r4, [p_n];") I("ld.global.u8 %r4, [%d9];")
    R("ld.global.u8 %r4, [%d8];", APART)
    I("@%p0 add.u32 %r4, %r0, %r2;") I("@%p0 ld.global.u32 %r4, [%d8];")
    R("atom.global.add.u32 %r4, [%d8], 1;", LOCKED)
    R("red.global.add.u32 [%out], 1;", CHAIN)
    R("atom.shared.cas.b32 %r4, [%r20], 0, 1;", LOCKED)
    R("atom.global.add.f32 %f3, [%d8], %f1;", LOCKED)
    I("shfl.sync.idx.b32 %r4, %r0, %r1, 31, -1;")
    I("vote.sync.all.pred %p1, %p0, -1;") I("redux.sync.add.u32 %r4, %r0, -1;")
    R("match.any.sync.b32 %r4, %r1, -1;",
       "each lane is compared with each other")
    I("activemask.b32 %r4;") I("bar.warp.sync -1;") I("bar.sync 0;")
    I("membar.gl;") I("cvta.to.global.u64 %d3, %d8;")
    I("isspacep.global %p1, %d8;") I("mov.u32 %r4, %clock;")
    I("bra.uni L_@; L_@:") I("nanosleep.u32 0;")
#undef I
#undef R
};
enum { HANDLERS = sizeof handlers / sizeof *handlers, COPIES = 8 };

static int by_rate(const void *x, const void *y)
{
    double a = ((const struct bench_handler *)x)->rate;
    double b = ((const struct bench_handler *)y)->rate;

    return (a > b) - (a < b);
}

/* Copies in a row; @ becomes the number of the copy. */
static void repeat(char *to, const char *text)
{
    const char *p;
    char *at = to;
    int k;

    for (k = 0; k < COPIES; k++)
        for (p = text; *p; p++)
            *at++ = *p == '@' && p != text ? (char)('a' + k) : *p;
    *at = 0;
}

static bool rate_of(const struct bench_asked *a, struct bench_device *d,
                    const char *body, double *rate)
{
    char setup[sizeof before + sizeof regs];
    struct bench_kernel k = {"handler", "", vars, setup, body, "", 32, 256, 0,
                             0, BOUND_NONE, "8.6\n.target sm_90"};
    struct bench_time t;
    double count;

    snprintf(setup, sizeof setup, "%s%s", regs, before);
    if (!bench_measure(a, d, &k, &t, &count))
        return false;
    *rate = count / t.cpu;
    return true;
}

const struct bench_handler *bench_handlers(const struct bench_asked *a,
                                           struct bench_device *d,
                                           size_t *count, double *loop)
{
    /* There are many: a tenth of the time does for finding the slow ones. */
    struct bench_asked less = {a->ms / 10 + 1, a->repeat, NULL, false};
    char body[COPIES * 80];
    size_t k;

    if (!rate_of(a, d, "fma.rn.f32 %f3, %f0, %f1, %f2; add.u32 %r4, %r0, %r1;"
                       "xor.b32 %r5, %r4, %r2; setp.lt.u32 %p1, %r5, %r0;",
                 loop))
        return NULL;
    for (k = 0; k < HANDLERS; k++) {
        repeat(body, handlers[k].text);
        if (!rate_of(&less, d, body, &handlers[k].rate)) {
            d->what = handlers[k].text;
            return NULL;
        }
    }
    qsort(handlers, HANDLERS, sizeof *handlers, by_rate);
    *count = HANDLERS;
    return handlers;
}
