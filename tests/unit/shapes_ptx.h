/* shapes_ptx.h -- two kernels of an application that hands over boxes of
 * tensors, in PTX 8.6: a writer of whole chunks, a reader of tile copies
 *
 * p_geom is struct geom of test_plan_shapes.c: five times size, pitch, side of
 * a box and number of boxes; sizes that are not used are 1.
 */
#ifndef SHAPES_PTX_H
#define SHAPES_PTX_H

/* X(dimension, and the bytes in p_geom of its four numbers) */
#define OUTER(X)                                                               \
    X("1", "16", "20", "24", "28") X("2", "32", "36", "40", "44")              \
    X("3", "48", "52", "56", "60") X("4", "64", "68", "72", "76")
#define EACH(X) X("0", "0", "4", "8", "12") OUTER(X)

/* %o: where the box of number %q begins. */
#define TAKE(d, a, b, c, n)                                                    \
    "    ld.param.u32 %dim" d ", [p_geom+" a "];\n"                            \
    "    ld.param.u32 %pitch" d ", [p_geom+" b "];\n"                          \
    "    ld.param.u32 %box" d ", [p_geom+" c "];\n"                            \
    "    ld.param.u32 %boxes" d ", [p_geom+" n "];\n"                          \
    "    rem.u32 %o" d ", %q, %boxes" d ";\n"                                  \
    "    div.u32 %q, %q, %boxes" d ";\n"                                       \
    "    mul.lo.u32 %o" d ", %o" d ", %box" d ";\n"

/* A row of the box: %r is what is left of its number. */
#define ROW(d, a, b, c, n)                                                     \
    "    rem.u32 %x, %r, %box" d ";\n"                                         \
    "    div.u32 %r, %r, %box" d ";\n"                                         \
    "    add.u32 %x, %x, %o" d ";\n"                                           \
    "    setp.ge.u32 %p, %x, %dim" d ";\n"                                     \
    "    or.pred %outside, %outside, %p;\n"                                    \
    "    mad.lo.u32 %byte, %x, %pitch" d ", %byte;\n"

#define COUNT(d, a, b, c, n) "    mul.lo.u32 %chunks, %chunks, %box" d ";\n"

#define REGISTERS                                                              \
    "    .reg .pred %p, %outside, %f16, %first;\n"                             \
    "    .reg .b32 %t, %threads, %b, %q, %i, %r, %x, %c, %byte, %left;\n"      \
    "    .reg .b32 %row, %chunks, %k, %v<4>;\n"                                \
    "    .reg .b32 %dim<5>, %pitch<5>, %box<5>, %boxes<5>, %o<5>;\n"           \
    "    .reg .b64 %table, %at, %d;\n"

/* The block's box, by table where there is one; %chunks of %row in a row. */
#define BOX                                                                    \
    "    mov.u32 %t, %tid.x;\n"                                                \
    "    mov.u32 %threads, %ntid.x;\n"                                         \
    "    mov.u32 %b, %ctaid.x;\n"                                              \
    "    mov.b32 %q, %b;\n"                                                    \
    "    setp.eq.u32 %first, %t, 0;\n"                                         \
    "    ld.param.u64 %table, [p_table];\n"                                    \
    "    setp.eq.u64 %p, %table, 0;\n"                                         \
    "    @%p bra L_no_table;\n"                                                \
    "    mul.wide.u32 %d, %b, 4;\n"                                            \
    "    add.u64 %d, %table, %d;\n"                                            \
    "    ld.global.u32 %q, [%d];\n"                                            \
    "L_no_table:\n"                                                            \
    EACH(TAKE)                                                                 \
    "    setp.eq.u32 %f16, %pitch0, 2;\n"                                      \
    "    mul.lo.u32 %row, %box0, %pitch0;\n"                                   \
    "    add.u32 %row, %row, 15;\n"                                            \
    "    shr.u32 %row, %row, 4;\n"                                             \
    "    mov.b32 %chunks, %row;\n"                                             \
    OUTER(COUNT)

/* Chunk %i of the box: byte %byte of the tensor, %left bytes of the row from
 * there on; %outside where the tensor has none of it. */
#define PLACE                                                                  \
    "    rem.u32 %c, %i, %row;\n"                                              \
    "    div.u32 %r, %i, %row;\n"                                              \
    "    mul.lo.u32 %byte, %o0, %pitch0;\n"                                    \
    "    mad.lo.u32 %byte, %c, 16, %byte;\n"                                   \
    "    mul.lo.u32 %left, %dim0, %pitch0;\n"                                  \
    "    sub.u32 %left, %left, %byte;\n"                                       \
    "    setp.le.s32 %outside, %left, 0;\n"                                    \
    OUTER(ROW)

/* Twice the input, never the sentinel; +0 behind the end of the row. */
#define DOUBLE(w, n)                                                           \
    "    add.f32 %y, %v" w ", %v" w ";\n"                                      \
    "    add.f32 %y, %y, 0f00000000;\n"                                        \
    "    add.f16x2 %h, %v" w ", %v" w ";\n"                                    \
    "    add.f16x2 %h, %h, %zero;\n"                                           \
    "    selp.b32 %v" w ", %h, %y, %f16;\n"                                    \
    "    sub.u32 %k, %left, " n ";\n"                                          \
    "    setp.le.s32 %p, %k, 0;\n"                                             \
    "    selp.b32 %v" w ", 0, %v" w ", %p;\n"                                  \
    "    setp.eq.s32 %p, %k, 2;\n"                                             \
    "    @%p and.b32 %v" w ", %v" w ", 0xffff;\n"

/* p_fill: the sentinel's word, for a writer that fills; else 0.  Every third
 * block is late by p_late ns.  p_flags: u32 a tile of 2^p_shift bytes, set to
 * p_round; 0 = none.  A tile of a chunk is its thread's, one of a row the
 * block's. */
static const char *const shapes_writer[] = {
    ".version 8.6\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry write_boxes(.param .u64 p_in, .param .u64 p_mid,\n"
    "    .param .align 16 .b8 p_geom[80], .param .u64 p_table,\n"
    "    .param .u32 p_fill, .param .u32 p_late, .param .u64 p_flags,\n"
    "    .param .u32 p_round, .param .u32 p_shift)\n"
    "{\n"
    REGISTERS
    "    .reg .pred %filling, %flags, %mine;\n"
    "    .reg .b32 %round, %shift, %tile;\n"
    "    .reg .b64 %flag, %f;\n"
    "    .reg .b32 %fill, %y, %h, %zero, %late;\n"
    "    .reg .b64 %in, %mid, %low, %high;\n"
    "    .reg .b128 %w;\n"
    "    ld.param.u64 %in, [p_in];\n"
    "    ld.param.u64 %mid, [p_mid];\n"
    "    ld.param.u32 %fill, [p_fill];\n"
    "    ld.param.u32 %late, [p_late];\n"
    "    mov.b32 %zero, 0;\n"
    "    ld.param.u64 %flag, [p_flags];\n"
    "    ld.param.u32 %round, [p_round];\n"
    "    ld.param.u32 %shift, [p_shift];\n"
    "    setp.ne.u64 %flags, %flag, 0;\n"
    "    setp.eq.and.u32 %mine, %shift, 4, %flags;\n"
    "    mov.b32 %tile, 0;\n"
    BOX
    "    setp.ne.u32 %filling, %fill, 0;\n"
    "    @%filling bra L_pass;\n"
    "L_trigger:\n"
    "    griddepcontrol.launch_dependents;\n"
    "    setp.ne.u32 %filling, %t, %t;\n"
    "    rem.u32 %k, %b, 3;\n"
    "    setp.eq.u32 %p, %k, 0;\n"
    "    @%p nanosleep.u32 %late;\n"
    "L_pass:\n"
    "    mov.b32 %i, %t;\n",
    "L_chunk:\n"
    "    setp.ge.u32 %p, %i, %chunks;\n"
    "    @%p bra L_passed;\n"
    PLACE
    "    @%outside bra L_next;\n"
    "    cvt.u64.u32 %d, %byte;\n"
    "    mov.b64 %low, {%fill, %fill};\n"
    "    mov.b64 %high, %low;\n"
    "    @%filling bra L_store;\n"
    "    add.u64 %at, %in, %d;\n"
    "    ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%at];\n"
    DOUBLE("0", "0") DOUBLE("1", "4") DOUBLE("2", "8") DOUBLE("3", "12")
    "    mov.b64 %low, {%v0, %v1};\n"
    "    mov.b64 %high, {%v2, %v3};\n"
    "L_store:\n"
    "    add.u64 %at, %mid, %d;\n"
    "    mov.b128 %w, {%low, %high};\n"
    "    st.relaxed.gpu.global.b128 [%at], %w;\n"
    "    shr.u32 %tile, %byte, %shift;\n"
    "    not.pred %p, %mine;\n"
    "    or.pred %p, %p, %filling;\n"
    "    @%p bra L_next;\n"
    "    fence.acq_rel.gpu;\n"
    "    mul.wide.u32 %f, %tile, 4;\n"
    "    add.u64 %f, %flag, %f;\n"
    "    st.relaxed.gpu.global.u32 [%f], %round;\n"
    "L_next:\n"
    "    add.u32 %i, %i, %threads;\n"
    "    bra L_chunk;\n"
    "L_passed:\n"
    "    @%filling bra L_filled;\n"
    "    not.pred %p, %flags;\n"
    "    or.pred %p, %p, %mine;\n"
    "    @%p ret;\n"
    "    bar.sync 0;\n"
    "    @!%first ret;\n"
    "    fence.acq_rel.gpu;\n"
    "    mul.wide.u32 %f, %tile, 4;\n"
    "    add.u64 %f, %flag, %f;\n"
    "    st.relaxed.gpu.global.u32 [%f], %round;\n"
    "    ret;\n"
    "L_filled:\n"
    "    fence.acq_rel.gpu;\n"
    "    bar.sync 0;\n"
    "    bra L_trigger;\n"
    "}\n",
};

/* %bad where an element of a word that is inside holds the sentinel. */
#define LOOK(w, n)                                                             \
    "    sub.u32 %k, %left, " n ";\n"                                          \
    "    setp.gt.s32 %in0, %k, 0;\n"                                           \
    "    setp.gt.s32 %in1, %k, 2;\n"                                           \
    "    xor.b32 %x, %v" w ", %sentinel;\n"                                    \
    "    and.b32 %r, %x, 0xffff;\n"                                            \
    "    selp.b32 %r, %r, %x, %f16;\n"                                         \
    "    setp.eq.and.u32 %p, %r, 0, %in0;\n"                                   \
    "    or.pred %bad, %bad, %p;\n"                                            \
    "    shr.u32 %r, %x, 16;\n"                                                \
    "    setp.eq.and.u32 %p, %r, 0, %in1;\n"                                   \
    "    and.pred %p, %p, %f16;\n"                                             \
    "    or.pred %bad, %bad, %p;\n"

/* Where chunk %i stands in shared memory: the swizzle goes by address bits. */
#define CELL                                                                   \
    "    mad.lo.u32 %s_chunk, %i, 16, %s_tile0;\n"                             \
    "    shr.u32 %x, %s_chunk, 7;\n"                                           \
    "    and.b32 %x, %x, %swizzle;\n"                                          \
    "    shl.b32 %x, %x, 4;\n"                                                 \
    "    xor.b32 %s_chunk, %s_chunk, %x;\n"

/* The record of chunk %i, at %s_chunk in shared memory. */
#define RECORD                                                                 \
    "    ld.shared.v2.b64 {%at, %d}, [%s_chunk];\n"                            \
    "    mov.b32 %code, 3;\n"                                                  \
    "    st.relaxed.sys.global.u32 [%rec+4], %code;\n"                         \
    "    cvt.u64.u32 %wide, %b;\n"                                             \
    "    st.relaxed.sys.global.u64 [%rec+8], %wide;\n"                         \
    "    st.relaxed.sys.global.u64 [%rec+16], %wide;\n"                        \
    "    st.relaxed.sys.global.u32 [%rec+24], %i;\n"                           \
    "    st.relaxed.sys.global.u64 [%rec+32], %at;\n"                          \
    "    st.relaxed.sys.global.u64 [%rec+40], %d;\n"                           \
    "    cvt.u64.u32 %wide, %tries;\n"                                         \
    "    st.relaxed.sys.global.u64 [%rec+48], %wide;\n"                        \
    "    st.relaxed.sys.global.u64 [%rec+56], %now;\n"                         \
    "    mov.b32 %code, 1;\n"                                                  \
    "    st.release.sys.global.u32 [%rec], %code;\n"

#define READER_REGISTERS                                                       \
    "    .reg .pred %bad, %in0, %in1, %landed, %stop;\n"                       \
    "    .reg .b32 %sentinel, %swizzle, %bar, %parity, %bytes, %s_tile0;\n"    \
    "    .reg .b32 %s_chunk, %abort, %tile, %tries, %code;\n"                  \
    "    .reg .b64 %map, %out, %ctl, %rec, %bound, %start, %now, %wide;\n"

#define READER_PARAMS                                                          \
    "    mov.b64 %map, p_map;\n"                                               \
    "    cvta.param.u64 %map, %map;\n"                                         \
    "    ld.param.u64 %out, [p_out];\n"                                        \
    "    ld.param.u32 %sentinel, [p_sentinel];\n"                              \
    "    ld.param.u32 %swizzle, [p_swizzle];\n"                                \
    "    ld.param.u64 %ctl, [p_ctl];\n"                                        \
    "    ld.param.u64 %rec, [p_rec];\n"                                        \
    "    ld.param.u64 %bound, [p_bound_ns];\n"                                 \
    "    ld.param.u32 %x, [p_early];\n"                                        \
    "    setp.ne.u32 %p, %x, 0;\n"                                             \
    "    @%p griddepcontrol.wait;\n"                                           \
    "    mov.u32 %s_tile0, s_tile;\n"                                          \
    "    mov.u32 %bar, s_bar;\n"                                               \
    "    mov.b32 %parity, 0;\n"                                                \
    "    mov.b32 %tries, 0;\n"                                                 \
    "    mov.u64 %start, %globaltimer;\n"

/* Where the block stores its box, of %bytes. */
#define READER_OUT                                                             \
    "    shl.b32 %bytes, %chunks, 4;\n"                                        \
    "    mul.wide.u32 %d, %b, %bytes;\n"                                       \
    "    add.u64 %out, %out, %d;\n"

/* Only the first block that gives up goes on. */
#define CLAIM                                                                  \
    "    atom.relaxed.gpu.global.cas.b32 %abort, [%ctl], 0, 1;\n"              \
    "    setp.ne.u32 %p, %abort, 0;\n"                                         \
    "    @%p bra L_leave;\n"

/* %p in all threads: some element of the box that is inside holds the
 * sentinel, the first such chunk is in s_bad. */
#define SCAN                                                                   \
    "    xor.b32 %parity, %parity, 1;\n"                                       \
    "    add.u32 %tries, %tries, 1;\n"                                         \
    "    bar.sync 0;\n"                                                        \
    "    setp.ne.u32 %bad, %t, %t;\n"                                          \
    "    mov.b32 %i, %t;\n"                                                    \
    "L_chunk:\n"                                                               \
    "    setp.ge.u32 %p, %i, %chunks;\n"                                       \
    "    @%p bra L_scanned;\n"                                                 \
    PLACE                                                                      \
    "    @%outside bra L_next;\n"                                              \
    CELL                                                                       \
    "    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%s_chunk];\n"                 \
    LOOK("0", "0") LOOK("1", "4") LOOK("2", "8") LOOK("3", "12")               \
    "    @%bad bra L_found;\n"                                                 \
    "L_next:\n"                                                                \
    "    add.u32 %i, %i, %threads;\n"                                          \
    "    bra L_chunk;\n"                                                       \
    "L_found:\n"                                                               \
    "    red.shared.min.u32 [s_bad], %i;\n"                                    \
    "L_scanned:\n"                                                             \
    "    bar.red.or.pred %p, 0, %bad;\n"

#define STORE                                                                  \
    "L_good:\n"                                                                \
    "    mov.b32 %i, %t;\n"                                                    \
    "L_take:\n"                                                                \
    "    setp.ge.u32 %p, %i, %chunks;\n"                                       \
    "    @%p bra L_leave;\n"                                                   \
    CELL                                                                       \
    "    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%s_chunk];\n"                 \
    "    mul.wide.u32 %d, %i, 16;\n"                                           \
    "    add.u64 %at, %out, %d;\n"                                             \
    "    st.global.v4.b32 [%at], {%v0, %v1, %v2, %v3};\n"                      \
    "    add.u32 %i, %i, %threads;\n"                                          \
    "    bra L_take;\n"

/*
 * Copies its box until no element inside holds the sentinel, and stores all of
 * the box, what the copy filled in too.  p_swizzle: bits of a chunk's address
 * that the swizzle turns.  What a thread other than the one that copies would
 * do to shared memory before the next copy is a read behind a barrier.
 * p_early: it waits for the writer's grid before it loads; p_flags: for those
 * of the tiles of 2^p_shift bytes that its box has a part of, as long as
 * p_bound_ns.
 */
static const char *const shapes_reader[] = {
    ".version 8.6\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".extern .shared .align 1024 .b8 s_tile[];\n"
    ".visible .entry read_boxes(.param .align 64 .b8 p_map[128],\n"
    "    .param .u64 p_out, .param .align 16 .b8 p_geom[80],\n"
    "    .param .u64 p_table, .param .u32 p_sentinel,\n"
    "    .param .u32 p_swizzle, .param .u64 p_ctl, .param .u64 p_rec,\n"
    "    .param .u64 p_bound_ns, .param .u32 p_early, .param .u64 p_flags,\n"
    "    .param .u32 p_round, .param .u32 p_shift)\n"
    "{\n"
    REGISTERS
    "    .shared .align 8 .b64 s_bar;\n"
    "    .shared .align 4 .b32 s_bad;\n"
    READER_REGISTERS
    "    .reg .b32 %round, %shift;\n"
    "    .reg .b64 %flag;\n"
    READER_PARAMS
    BOX,
    "    ld.param.u64 %flag, [p_flags];\n"
    "    ld.param.u32 %round, [p_round];\n"
    "    ld.param.u32 %shift, [p_shift];\n"
    "    setp.eq.u64 %p, %flag, 0;\n"
    "    @%p bra L_ordered;\n"
    "    mov.b32 %i, %t;\n"
    "L_flags:\n"
    "    setp.ge.u32 %p, %i, %chunks;\n"
    "    @%p bra L_flagged;\n"
    PLACE
    "    @%outside bra L_other;\n"
    "    shr.u32 %x, %byte, %shift;\n"
    "    mul.wide.u32 %d, %x, 4;\n"
    "    add.u64 %d, %flag, %d;\n"
    "L_flag:\n"
    "    ld.acquire.gpu.global.u32 %x, [%d];\n"
    "    setp.ge.u32 %p, %x, %round;\n"
    "    @%p bra L_other;\n"
    "    mov.u64 %now, %globaltimer;\n"
    "    sub.u64 %now, %now, %start;\n"
    "    setp.lt.u64 %p, %now, %bound;\n"
    "    @%p bra L_flag;\n"
    "L_other:\n"
    "    add.u32 %i, %i, %threads;\n"
    "    bra L_flags;\n"
    "L_flagged:\n"
    "    bar.sync 0;\n"
    "    fence.proxy.async;\n"
    "L_ordered:\n",
    READER_OUT
    "    @%first mbarrier.init.shared::cta.b64 [%bar], 1;\n"
    "    @%first fence.proxy.async.shared::cta;\n"
    "    bar.sync 0;\n"
    "L_issue:\n"
    "    @!%first bra L_wait;\n"
    "    mov.b32 %x, -1;\n"
    "    st.shared.u32 [s_bad], %x;\n"
    "    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64\n"
    "        _, [%bar], %bytes;\n",
    NULL, /* the copy */
    "L_wait:\n"
    "    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64\n"
    "        %landed, [%bar], %parity;\n"
    "    @!%landed bra L_wait;\n",
    SCAN,
    "    @!%p bra L_good;\n"
    "    setp.ne.u32 %stop, %t, %t;\n"
    "    @!%first bra L_bounds;\n"
    "    mov.u64 %now, %globaltimer;\n"
    "    sub.u64 %now, %now, %start;\n"
    "    setp.ge.u64 %stop, %now, %bound;\n"
    "    ld.relaxed.gpu.global.u32 %abort, [%ctl];\n"
    "    setp.ne.u32 %p, %abort, 0;\n"
    "    or.pred %stop, %stop, %p;\n"
    "L_bounds:\n"
    "    bar.red.or.pred %stop, 0, %stop;\n"
    "    @!%stop bra L_issue;\n"
    "    @!%first bra L_leave;\n"
    CLAIM
    "    ld.shared.u32 %i, [s_bad];\n"
    CELL
    RECORD
    "    bra L_leave;\n",
    STORE
    "L_leave:\n"
    "    griddepcontrol.wait;\n"
    "    ret;\n"
    "}\n"
};

/* The copy of a box of `rank` dimensions. */
static inline int shapes_copy(char *out, size_t room, unsigned rank)
{
    return snprintf(out, room,
                    "    cp.async.bulk.tensor.%ud.shared::cluster.global.tile\n"
                    "        .mbarrier::complete_tx::bytes\n"
                    "        [%%s_tile0], [%%map, {%.*s}], [%%bar];\n",
                    rank, (int)(5 * rank - 2), "%o0, %o1, %o2, %o3, %o4");
}

#endif
