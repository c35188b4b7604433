/* tensor_text.h -- the kernel of one tensor copy of the tests */
#ifndef TENSOR_TEXT_H
#define TENSOR_TEXT_H

#include "tensor_case.h"

#include <stdio.h>

static void write_copy(char *to, size_t size, const struct test *t)
{
    char coord[64] = "", offset[64] = "";
    size_t n = 0;

    for (unsigned d = 0; d < t->rank; d++)
        n += (size_t)snprintf(coord + n, sizeof coord - n, "%s%d",
                              d ? "," : "", t->coord[d]);
    n = 0;
    for (unsigned d = 0; t->column && !t->store && d < t->rank - 2; d++)
        n += (size_t)snprintf(offset + n, sizeof offset - n, "%s%u",
                              d ? "," : ",{", t->offset[d]);
    if (!t->store)
        snprintf(to, size, "mbarrier.arrive.expect_tx.shared.b64 _,[b],%u;\n"
                 "cp.async.bulk.tensor.%ud.shared::cluster.global.%s"
                 ".mbarrier::complete_tx::bytes [S],[m,{%s}],[b]%s%s;\n",
                 t->bytes, t->rank, t->column ? "im2col" : "tile", coord,
                 offset, *offset ? "}" : "");
    else
        snprintf(to, size, "mbarrier.arrive.shared.b64 _,[b];\n"
                 "cp%s.async.bulk.tensor.%ud.global.shared::cta%s%s.%s"
                 ".bulk_group [m,{%s}],[S];\ncp.async.bulk.commit_group;\n"
                 "cp.async.bulk.wait_group 0;\n", t->op ? ".reduce" : "",
                 t->rank, t->op ? "." : "", t->op ? t->op : "",
                 t->column ? "im2col_no_offs" : "tile", coord);
}

static const char text_form[] =
    ".version 8.%s\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 p_m[128],.param .u64 p_out,\n"
    ".param .u64 p_src)\n{\n.shared .align 1024 .b8 s[16384];\n"
    ".shared .align 8 .b64 b;\n.reg .b64 m,o,q,r;\n.reg .b32 S,i,v,x;\n"
    ".reg .pred t;\nmov.b64 m,p_m;\ncvta.param.u64 m,m;\n"
    "ld.param.u64 o,[p_out];\nld.param.u64 q,[p_src];\nmov.u32 S,s;\n"
    "mov.u32 i,0;\nF:\nadd.u32 v,S,i;\nld.global.u32 x,[q];\n"
    "st.shared.u32 [v],x;\nadd.u64 q,q,4;\nadd.u32 i,i,4;\n"
    "setp.lt.u32 t,i,16384;\n@t bra F;\nmbarrier.init.shared.b64 [b],1;\n"
    "fence.proxy.async;\n%smov.u32 i,0;\nW:\n"
    "mbarrier.try_wait.parity.shared.b64 t,[b],0,1000;\n@t bra D;\n"
    "add.u32 i,i,1;\nsetp.lt.u32 t,i,1000;\n@t bra W;\nD:\n"
    "mbarrier.test_wait.parity.shared.b64 t,[b],0;\nselp.u32 x,1,0,t;\n"
    "st.global.u32 [o],x;\nmov.u32 i,0;\nG:\nadd.u32 v,S,i;\n"
    "ld.shared.u32 x,[v];\nst.global.u32 [o+16],x;\nadd.u64 o,o,4;\n"
    "add.u32 i,i,4;\nsetp.lt.u32 t,i,16384;\n@t bra G;\nret;\n}\n";

/* Text that makes the map of `t` out of any other, behind the output or in
 * shared memory first. */
static void write_replace(char *to, size_t size, const struct test *t, bool in)
{
    static const unsigned char type[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 10 };
    const char *space = in ? "shared::cta" : "global";
    const char *a = in ? "v" : "q";
    size_t n = 0;

#define PUT(...) n += (size_t)snprintf(to + n, size - n, __VA_ARGS__)
#define FIELD(field, bits, ...)                                                \
    PUT("tensormap.replace.tile." field ".%s.b1024.b" bits " [%s],", space, a);\
    PUT(__VA_ARGS__)
    PUT("{\n.shared .align 128 .b8 map[128];\nmov.u32 v,map;\n"
        "add.u64 q,o,%d;\n", SHARED + 128);
    for (int k = 0; k < 128; k += 8)
        PUT("ld.b64 r,[m+%d];\nst.%s.b64 [%s+%d],r;\n", k, space, a, k);
    PUT("ld.param.u64 r,[p_src];\nsub.u64 r,r,%d;\n", GLOBAL - SHARED);
    FIELD("global_address", "64", "r;\n");
    FIELD("rank", "32", "%u;\n", t->rank - 1);
    FIELD("elemtype", "32", "%u;\n", type[t->type]);
    FIELD("interleave_layout", "32", "0;\n");
    FIELD("swizzle_mode", "32", "%u;\n", t->swizzle);
    FIELD("fill_mode", "32", "%u;\n", t->fill);
    for (unsigned d = 0; d < t->rank; d++) {
        FIELD("box_dim", "32", "%u,%u;\n", d, t->box[d]);
        FIELD("global_dim", "32", "%u,%u;\n", d, (unsigned)t->dim[d]);
        FIELD("element_stride", "32", "%u,%u;\n", d, t->step[d]);
    }
    for (unsigned d = 0; d + 1 < t->rank; d++) {
        FIELD("global_stride", "64", "%u,%llu;\n", d, t->stride[d]);
    }
    for (int k = 0; in && k < 128; k += 8)
        PUT("ld.shared.b64 r,[map+%d];\nst.global.b64 [q+%d],r;\n", k, k);
    PUT("fence.proxy.tensormap::generic.release.gpu;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [q],128;\n"
        "mov.b64 m,q;\n}\n");
#undef FIELD
#undef PUT
}

#endif
