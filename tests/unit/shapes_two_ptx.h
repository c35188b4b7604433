/* shapes_two_ptx.h -- readers of an application: a cluster of two blocks with
 * one copy, and a block with two inputs
 */
#ifndef SHAPES_TWO_PTX_H
#define SHAPES_TWO_PTX_H

#include "shapes_ptx.h"

/*
 * shapes_reader by a cluster of two blocks that take one box, of 2 dimensions:
 * rank 0 copies it into both, each scans what it got, and both go on, copy
 * again or give up together.  The votes of a try stand in one of two words of
 * each block; the other is cleared before the barrier that ends the try.
 */
static const char *const shapes_cluster_reader[] = {
    ".version 8.6\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".extern .shared .align 1024 .b8 s_tile[];\n"
    ".visible .entry read_boxes(.param .align 64 .b8 p_map[128],\n"
    "    .param .u64 p_out, .param .align 16 .b8 p_geom[80],\n"
    "    .param .u64 p_table, .param .u32 p_sentinel,\n"
    "    .param .u32 p_swizzle, .param .u64 p_ctl, .param .u64 p_rec,\n"
    "    .param .u64 p_bound_ns, .param .u32 p_early)\n"
    "{\n"
    REGISTERS
    READER_REGISTERS
    "    .shared .align 8 .b64 s_bar;\n"
    "    .shared .align 8 .b32 s_votes[2];\n"
    "    .shared .align 4 .b32 s_bad;\n"
    "    .reg .pred %copies;\n"
    "    .reg .b16 %both;\n"
    "    .reg .b32 %rank, %votes, %mine, %other, %vote;\n"
    READER_PARAMS
    "    mov.u32 %rank, %cluster_ctarank;\n"
    "    mov.u32 %votes, s_votes;\n"
    "    mov.b16 %both, 3;\n"
    BOX,
    READER_OUT
    "    setp.eq.and.u32 %copies, %rank, 0, %first;\n"
    "    @!%first bra L_made;\n"
    "    mbarrier.init.shared::cta.b64 [%bar], 1;\n"
    "    fence.mbarrier_init.release.cluster;\n"
    "    fence.proxy.async.shared::cta;\n"
    "    st.shared.v2.b32 [s_votes], {0, 0};\n"
    "L_made:\n"
    "    barrier.cluster.arrive.release;\n"
    "    barrier.cluster.wait.acquire;\n"
    "L_issue:\n"
    "    @!%first bra L_wait;\n"
    "    mov.b32 %x, -1;\n"
    "    st.shared.u32 [s_bad], %x;\n"
    "    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64\n"
    "        _, [%bar], %bytes;\n"
    "    @%copies cp.async.bulk.tensor.2d.shared::cluster.global.tile\n"
    "        .mbarrier::complete_tx::bytes.multicast::cluster\n"
    "        [%s_tile0], [%map, {%o0, %o1}], [%bar], %both;\n"
    "L_wait:\n"
    "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64\n"
    "        %landed, [%bar], %parity;\n"
    "    @!%landed bra L_wait;\n",
    SCAN,
    "    @!%first bra L_voted;\n"
    "    and.b32 %x, %tries, 1;\n"
    "    mad.lo.u32 %mine, %x, 4, %votes;\n"
    "    xor.b32 %x, %mine, 4;\n"
    "    st.relaxed.cluster.shared::cta.u32 [%x], 0;\n"
    "    @!%p bra L_voted;\n"
    "    mov.u64 %now, %globaltimer;\n"
    "    sub.u64 %now, %now, %start;\n"
    "    setp.ge.u64 %stop, %now, %bound;\n"
    "    ld.relaxed.gpu.global.u32 %abort, [%ctl];\n"
    "    setp.ne.u32 %p, %abort, 0;\n"
    "    or.pred %stop, %stop, %p;\n"
    "    selp.b32 %vote, 3, 1, %stop;\n"
    "    xor.b32 %x, %rank, 1;\n"
    "    mapa.shared::cluster.u32 %other, %mine, %x;\n"
    "    red.relaxed.cluster.shared::cta.or.b32 [%mine], %vote;\n"
    "    red.relaxed.cluster.shared::cluster.or.b32 [%other], %vote;\n"
    "L_voted:\n"
    "    barrier.cluster.arrive.release;\n"
    "    barrier.cluster.wait.acquire;\n"
    "    and.b32 %x, %tries, 1;\n"
    "    mad.lo.u32 %mine, %x, 4, %votes;\n"
    "    ld.relaxed.cluster.shared::cta.u32 %vote, [%mine];\n"
    "    setp.eq.u32 %p, %vote, 0;\n"
    "    @%p bra L_good;\n"
    "    setp.eq.u32 %p, %vote, 1;\n"
    "    @%p bra L_issue;\n"
    "    @!%first bra L_leave;\n"
    "    ld.shared.u32 %i, [s_bad];\n"
    "    setp.eq.u32 %p, %i, -1;\n"
    "    @%p bra L_leave;\n"
    CLAIM
    CELL
    RECORD
    "    bra L_leave;\n",
    STORE
    "L_leave:\n"
    "    griddepcontrol.wait;\n"
    "    ret;\n"
    "}\n",
};

/*
 * Two inputs on barriers of their own: tiles of 128 f32, whose sentinel is -0,
 * and of 16 ue8m0, whose sentinel is 0xff, one for 8 of the former.  Each is
 * copied again by itself until it is there; the product is stored.
 */
#define COPY(at, from, bytes, bar)                                             \
    "    @%first mbarrier.arrive.expect_tx.release.cta.shared::cta.b64\n"      \
    "        _, [" bar "], " bytes ";\n"                                       \
    "    @%first cp.async.bulk.shared::cluster.global\n"                       \
    "        .mbarrier::complete_tx::bytes\n"                                  \
    "        [" at "], [" from "], " bytes ", [" bar "];\n"

#define LANDED(name, bar, parity)                                              \
    "L_" name ":\n"                                                            \
    "    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64\n"               \
    "        %landed, [" bar "], " parity ";\n"                                \
    "    @!%landed bra L_" name ";\n"

/* %bad where a byte is 0xff: its complement is 0 there. */
#define ONES(w)                                                                \
    "    not.b32 %x, " w ";\n"                                                 \
    "    and.b32 %y, %x, 0x7f7f7f7f;\n"                                        \
    "    add.u32 %y, %y, 0x7f7f7f7f;\n"                                        \
    "    or.b32 %y, %y, %x;\n"                                                 \
    "    and.b32 %y, %y, 0x80808080;\n"                                        \
    "    setp.ne.u32 %p, %y, 0x80808080;\n"                                    \
    "    or.pred %bad, %bad, %p;\n"

#define MINUS(w)                                                               \
    "    setp.eq.u32 %p, " w ", 0x80000000;\n"                                 \
    "    or.pred %bad, %bad, %p;\n"

#define TIMES(w) "    mul.f32 " w ", " w ", %x;\n"

static const char *const shapes_scaled_reader[] = {
    ".version 8.6\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry read_scaled(.param .u64 p_data, .param .u64 p_scales,\n"
    "    .param .u64 p_out, .param .u64 p_ctl, .param .u64 p_rec,\n"
    "    .param .u64 p_bound_ns)\n"
    "    .reqntid 32\n"
    "{\n"
    "    .shared .align 128 .b8 s_data[512];\n"
    "    .shared .align 128 .b8 s_scales[16];\n"
    "    .shared .align 8 .b64 s_bar[2];\n"
    "    .reg .pred %p, %first, %landed, %bad, %more0, %more1, %stop;\n"
    "    .reg .b32 %t, %b, %i, %x, %y, %abort, %code, %tries, %s_chunk;\n"
    "    .reg .b32 %v<4>, %w<4>, %parity0, %parity1, %bar0, %bar1, %s_mine;\n"
    "    .reg .b64 %data, %scales, %out, %ctl, %rec, %bound, %start, %now;\n"
    "    .reg .b64 %at, %d, %wide;\n"
    "    ld.param.u64 %data, [p_data];\n"
    "    ld.param.u64 %scales, [p_scales];\n"
    "    ld.param.u64 %out, [p_out];\n"
    "    ld.param.u64 %ctl, [p_ctl];\n"
    "    ld.param.u64 %rec, [p_rec];\n"
    "    ld.param.u64 %bound, [p_bound_ns];\n"
    "    mov.u64 %start, %globaltimer;\n"
    "    mov.u32 %t, %tid.x;\n"
    "    mov.u32 %b, %ctaid.x;\n"
    "    setp.eq.u32 %first, %t, 0;\n"
    "    mul.wide.u32 %d, %b, 512;\n"
    "    add.u64 %data, %data, %d;\n"
    "    add.u64 %out, %out, %d;\n"
    "    mul.wide.u32 %d, %b, 16;\n"
    "    add.u64 %scales, %scales, %d;\n"
    "    mov.u32 %bar0, s_bar;\n"
    "    add.u32 %bar1, %bar0, 8;\n"
    "    mov.u32 %s_mine, s_data;\n"
    "    mad.lo.u32 %s_mine, %t, 16, %s_mine;\n"
    "    mov.b32 %parity0, 0;\n"
    "    mov.b32 %parity1, 0;\n"
    "    mov.b32 %tries, 0;\n"
    "    @%first mbarrier.init.shared::cta.b64 [%bar0], 1;\n"
    "    @%first mbarrier.init.shared::cta.b64 [%bar1], 1;\n"
    "    @%first fence.proxy.async.shared::cta;\n"
    "    bar.sync 0;\n"
    "    setp.eq.u32 %more0, %t, %t;\n"
    "    setp.eq.u32 %more1, %t, %t;\n",
    /* what is not there yet is copied; both are on their way at once */
    "L_issue:\n"
    "    @!%more0 bra L_second;\n"
    COPY("s_data", "%data", "512", "%bar0")
    "L_second:\n"
    "    @!%more1 bra L_look;\n"
    COPY("s_scales", "%scales", "16", "%bar1")
    "L_look:\n"
    "    add.u32 %tries, %tries, 1;\n"
    "    @!%more0 bra L_look_second;\n"
    LANDED("first", "%bar0", "%parity0")
    "    xor.b32 %parity0, %parity0, 1;\n"
    "    setp.ne.u32 %bad, %t, %t;\n"
    "    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%s_mine];\n"
    MINUS("%v0") MINUS("%v1") MINUS("%v2") MINUS("%v3")
    "    bar.red.or.pred %more0, 0, %bad;\n"
    "L_look_second:\n"
    "    @!%more1 bra L_decide;\n"
    LANDED("scales", "%bar1", "%parity1")
    "    xor.b32 %parity1, %parity1, 1;\n"
    "    setp.ne.u32 %bad, %t, %t;\n"
    "    ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [s_scales];\n"
    ONES("%w0") ONES("%w1") ONES("%w2") ONES("%w3")
    "    bar.red.or.pred %more1, 0, %bad;\n"
    "L_decide:\n"
    "    or.pred %p, %more0, %more1;\n"
    "    @!%p bra L_good;\n"
    "    mov.u64 %now, %globaltimer;\n"
    "    sub.u64 %now, %now, %start;\n"
    "    setp.ge.u64 %stop, %now, %bound;\n"
    "    ld.relaxed.gpu.global.u32 %abort, [%ctl];\n"
    "    setp.ne.u32 %p, %abort, 0;\n"
    "    or.pred %stop, %stop, %p;\n"
    "    bar.red.or.pred %stop, 0, %stop;\n"
    "    @!%stop bra L_issue;\n"
    "    @!%first bra L_leave;\n",
    CLAIM
    "    mov.u32 %x, s_data;\n"
    "    mov.u32 %y, s_scales;\n"
    "    selp.b32 %s_chunk, %x, %y, %more0;\n"
    "    mov.b32 %i, -1;\n"
    RECORD
    "    bra L_leave;\n"
    /* four elements a thread, all of one scale: byte t / 2 */
    "L_good:\n"
    "    mov.u32 %y, s_scales;\n"
    "    shr.u32 %x, %t, 1;\n"
    "    add.u32 %y, %y, %x;\n"
    "    ld.shared.u8 %x, [%y];\n"
    "    shl.b32 %x, %x, 23;\n"
    TIMES("%v0") TIMES("%v1") TIMES("%v2") TIMES("%v3")
    "    mul.wide.u32 %d, %t, 16;\n"
    "    add.u64 %out, %out, %d;\n"
    "    st.global.v4.b32 [%out], {%v0, %v1, %v2, %v3};\n"
    "L_leave:\n"
    "    griddepcontrol.wait;\n"
    "    ret;\n"
    "}\n",
};

/* Chunks of 16 ue8m0, 0x60 ... 0x9f: powers of two that keep f32 exact. */
#define SCALE(w)                                                               \
    "    and.b32 " w ", " w ", 0x3f3f3f3f;\n"                                  \
    "    add.u32 " w ", " w ", 0x60606060;\n"

static const char *const shapes_scale_writer[] = {
    ".version 8.6\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry write_scales(.param .u64 p_in, .param .u64 p_to,\n"
    "    .param .u32 p_late)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %b, %k, %late, %v<4>;\n"
    "    .reg .b64 %in, %to, %d, %low, %high;\n"
    "    .reg .b128 %w;\n"
    "    ld.param.u64 %in, [p_in];\n"
    "    ld.param.u64 %to, [p_to];\n"
    "    ld.param.u32 %late, [p_late];\n"
    "    griddepcontrol.launch_dependents;\n"
    "    mov.u32 %b, %ctaid.x;\n"
    "    and.b32 %k, %b, 1;\n"
    "    setp.eq.u32 %p, %k, 0;\n"
    "    @%p nanosleep.u32 %late;\n"
    "    mul.wide.u32 %d, %b, 16;\n"
    "    add.u64 %in, %in, %d;\n"
    "    add.u64 %to, %to, %d;\n"
    "    ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%in];\n"
    SCALE("%v0") SCALE("%v1") SCALE("%v2") SCALE("%v3")
    "    mov.b64 %low, {%v0, %v1};\n"
    "    mov.b64 %high, {%v2, %v3};\n"
    "    mov.b128 %w, {%low, %high};\n"
    "    st.relaxed.gpu.global.b128 [%to], %w;\n"
    "    ret;\n"
    "}\n",
};

#endif
