/* bench_kernels.c -- the kernels of fgs bench sim */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
    ".version %s\n.address_size 64\n%s\n"
    ".visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u32 p_n)\n"
    "{\n"
    ".reg .pred %%p<8>;\n.reg .b32 %%r<40>;\n.reg .f32 %%f<40>;\n"
    ".reg .b64 %%d<16>;\n.reg .u32 %%n, %%t, %%lane, %%threads;\n"
    ".reg .u64 %%in, %%out;\n.reg .pred %%more;\n"
    "ld.param.u64 %%in, [p_in];\nld.param.u64 %%out, [p_out];\n"
    "ld.param.u32 %%n, [p_n];\n"
    "mov.u32 %%t, %%ctaid.x;\nmov.u32 %%threads, %%ntid.x;\n"
    "mul.lo.u32 %%t, %%t, %%threads;\nmov.u32 %%lane, %%tid.x;\n"
    "add.u32 %%t, %%t, %%lane;\nand.b32 %%lane, %%lane, 31;\n"
    "%s\n"
    "L_round:\n%s\n"
    "sub.u32 %%n, %%n, 1;\nsetp.ne.u32 %%more, %%n, 0;\n"
    "@%%more bra L_round;\n"
    "%s\nret;\n}\n";
enum { COUNTING = 3 };

/* Registers that hold something, and a store so that nothing is unused. */
#define SET_F                                                                  \
    "cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, 0f3F800001; mov.f32 %f2, 0f3DCCCCCD;"\
    "mov.f32 %f3, %f0; mov.f32 %f4, %f1; mov.f32 %f5, %f2; mov.f32 %f6, %f0;"  \
    "mov.f32 %f7, %f1;"
#define SET_R                                                                  \
    "mov.u32 %r0, %t; mov.u32 %r1, 7; mov.u32 %r2, 3; mov.u32 %r3, 11;"        \
    "mov.u32 %r4, 1; mov.u32 %r5, 2; mov.u32 %r6, 5; mov.u32 %r7, 9;"
#define MY_OUT "mul.wide.u32 %d0, %t, 4; add.u64 %d0, %d0, %out;"

#define F32_MIX                                                                \
    "fma.rn.f32 %f3, %f3, %f1, %f2; add.f32 %f4, %f4, %f2;"                    \
    "fma.rn.f32 %f5, %f5, %f1, %f2; mul.f32 %f6, %f6, %f1;"
#define INT_MIX                                                                \
    "add.u32 %r3, %r3, %r1; xor.b32 %r4, %r4, %r3;"                            \
    "shl.b32 %r5, %r4, 3; sub.u32 %r6, %r6, %r5;"
#define F32_8 F32_MIX F32_MIX
#define INT_8 INT_MIX INT_MIX

#define SHUFFLE(n)                                                             \
    "shfl.sync.bfly.b32 %r1, %r0, " #n ", 31, -1; add.u32 %r0, %r0, %r1;"

/* 32 x 33 words: rows are written, columns are read. */
#define TILE_ROW(n) "st.shared.u32 [%r2+" #n "], %r0;"
#define TILE_COL(n) "ld.shared.u32 %r1, [%r3+" #n "]; add.u32 %r0, %r0, %r1;"

#define MMA                                                                    \
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6},"  \
    "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f3, %f4, %f5, %f6};"

const struct bench_kernel bench_kernels[] = {
    {"f32", "f32 fma, add, mul", "", SET_F MY_OUT, F32_8 F32_8,
     "add.f32 %f3, %f3, %f4; add.f32 %f5, %f5, %f6; add.f32 %f3, %f3, %f5;"
     "st.global.f32 [%d0], %f3;", 64, 256, 0, 0, BOUND_F32, NULL},
    {"int", "u32 add, xor, shl, sub", "", SET_R MY_OUT, INT_8 INT_8,
     "st.global.u32 [%d0], %r6;", 64, 256, 0, 0, BOUND_INT, NULL},
    {"mix", "fma, add, xor, setp, selp", "", SET_F SET_R MY_OUT,
     "fma.rn.f32 %f3, %f3, %f1, %f2; add.u32 %r3, %r3, %r1;"
     "xor.b32 %r4, %r4, %r3; setp.lt.u32 %p0, %r3, %r4;"
     "selp.b32 %r5, %r3, %r4, %p0; add.f32 %f4, %f4, %f2;"
     "setp.gt.f32 %p1, %f4, %f3; selp.f32 %f5, %f3, %f4, %p1;",
     "add.f32 %f3, %f5, %f4; st.global.f32 [%d0], %f3; st.global.u32 [%d0], "
     "%r5;", 64, 256, 0, 0, BOUND_F32, NULL},
    {"loop", "add, setp, bra and nothing else", "", SET_R MY_OUT,
     "add.u32 %r3, %r3, %r1;", "st.global.u32 [%d0], %r3;", 64, 256, 0, 0,
     BOUND_INT, NULL},
    /* each thread of the grid takes every 65536th word, and begins again
     * where a buffer ends */
    {"stream", "coalesced ld, add, st of u32", "",
     "mul.wide.u32 %d0, %t, 4; add.u64 %d1, %in, %d0; add.u64 %d2, %out, %d0;"
     "add.u64 %d3, %in, 67108864;",
     "ld.global.u32 %r0, [%d1]; add.u32 %r0, %r0, 1;"
     "st.global.u32 [%d2], %r0; add.u64 %d1, %d1, 262144;"
     "add.u64 %d2, %d2, 262144; setp.ge.u64 %p0, %d1, %d3;"
     "@%p0 sub.u64 %d2, %d2, 67108864; @%p0 sub.u64 %d1, %d1, 67108864;", "",
     256, 256, 0, 8, BOUND_COPY, NULL},
    {"stream_v4", "coalesced ld, add, st of 4 f32", "",
     "mul.wide.u32 %d0, %t, 16; add.u64 %d1, %in, %d0; add.u64 %d2, %out, %d0;"
     "add.u64 %d3, %in, 67108864;",
     "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d1];"
     "add.f32 %f0, %f0, 0f3F800000; add.f32 %f1, %f1, 0f3F800000;"
     "add.f32 %f2, %f2, 0f3F800000;"
     "add.f32 %f3, %f3, 0f3F800000;"
     "st.global.v4.f32 [%d2], {%f0, %f1, %f2, %f3}; add.u64 %d1, %d1, 1048576;"
     "add.u64 %d2, %d2, 1048576; setp.ge.u64 %p0, %d1, %d3;"
     "@%p0 sub.u64 %d2, %d2, 67108864; @%p0 sub.u64 %d1, %d1, 67108864;", "",
     256, 256, 0, 32, BOUND_COPY, NULL},
    {"transpose", "shared memory, 32 x 33 words a warp",
     ".shared .b8 s[33792];",
     SET_R MY_OUT
     "mov.u32 %r8, %tid.x; shr.u32 %r8, %r8, 5; mul.lo.u32 %r8, %r8, 4224;"
     "mov.u32 %r9, s; add.u32 %r8, %r8, %r9; mul.lo.u32 %r2, %lane, 4;"
     "add.u32 %r2, %r2, %r8; mul.lo.u32 %r3, %lane, 132;"
     "add.u32 %r3, %r3, %r8;",
     TILE_ROW(0) TILE_ROW(132) TILE_ROW(264) TILE_ROW(396)
     "bar.warp.sync -1;" TILE_COL(0) TILE_COL(4) TILE_COL(8) TILE_COL(12)
     "bar.warp.sync -1;", "st.global.u32 [%d0], %r0;", 64, 256, 0, 32,
     BOUND_NONE, NULL},
    /* the two sides of a branch by the lane, eight instructions each; a
     * thread executes one side, and the branch over the other or past it */
    {"diverge", "if and else of 8 by odd lanes", "",
     SET_R MY_OUT "and.b32 %r8, %lane, 1; setp.eq.u32 %p0, %r8, 0;",
     "@%p0 bra L_even;" INT_8 "bra L_join; L_even:" INT_8 "L_join:"
     "add.u32 %r3, %r3, 1;", "st.global.u32 [%d0], %r6;", 64, 256, 8.5, 0,
     BOUND_NONE, NULL},
    {"shuffle", "butterfly sums by shfl.sync", "", SET_R MY_OUT,
     SHUFFLE(16) SHUFFLE(8) SHUFFLE(4) SHUFFLE(2) SHUFFLE(1),
     "st.global.u32 [%d0], %r0;", 64, 256, 0, 0, BOUND_NONE, NULL},
    {"vote", "vote.sync.ballot, popc", "",
     SET_R MY_OUT,
     "setp.lt.u32 %p0, %lane, %r3; vote.sync.ballot.b32 %r0, %p0, -1;"
     "popc.b32 %r1, %r0; add.u32 %r3, %r3, %r1;", "st.global.u32 [%d0], %r3;",
     64, 256, 0, 0, BOUND_NONE, NULL},
    {"atom", "atom.global.add of one address", "", SET_R,
     "atom.global.add.u32 %r0, [%out], 1;", "", 64, 256, 0, 0, BOUND_NONE,
     NULL},
    {"red", "red.global.add of one address", "", SET_R,
     "red.global.add.u32 [%out], 1;", "", 64, 256, 0, 0, BOUND_NONE, NULL},
    {"barrier", "bar.sync of 8 warps", "", SET_R, "bar.sync 0;", "", 64, 256, 0,
     0, BOUND_NONE, NULL},
    {"mma", "mma.sync m16n8k16, f16 to f32", "", SET_F SET_R MY_OUT, MMA MMA,
     "st.global.f32 [%d0], %f3;", 64, 256, 0, 0, BOUND_NONE, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, BOUND_NONE, NULL},
};

char *bench_kernel_text(const struct bench_kernel *k)
{
    const char *version = k->version ? k->version : "7.0\n.target sm_80";
    size_t room = sizeof head + strlen(version) + strlen(k->vars) +
                  strlen(k->before) + strlen(k->body) + strlen(k->after);
    char *text = malloc(room);

    if (text)
        snprintf(text, room, head, version, k->vars, k->before, k->body,
                 k->after);
    return text;
}

double bench_kernel_instructions(const struct bench_kernel *k)
{
    double n = COUNTING - k->unused;
    const char *p;

    for (p = k->body; *p; p++)
        n += *p == ';';
    return n;
}
