/* handoff_text.c -- the kernels of fgs bench handoff
 *
 * A grid of one block an SM.  The blocks on the SMs `there` and `back` play
 * ping-pong: step 2r goes there, step 2r + 1 comes back, each through a tile
 * of its own that was filled with the sentinel before the launch.  A step
 * begins when a block has the whole tile of the step before, and ends when
 * the other one has all of this one: half of a round is one hand-off.
 */
#include "handoff.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
    "\n.address_size 64\n"
    ".visible .entry handoff(\n"
    "    .param .u64 p_tiles, .param .u64 p_ctl, .param .u32 p_there,\n"
    "    .param .u32 p_back, .param .u32 p_rounds, .param .u32 p_warm,\n"
    "    .param .u32 p_spread, .param .u32 p_limit\n"
    ") .reqntid 256, 1, 1\n"
    "{\n"
    ".reg .pred %p_helper, %p_is, %p_go, %p_more, %p_bad, %p_fail, %p_wrong;\n"
    ".reg .u32 %t, %b, %sm, %there, %back, %blocks, %n, %old, %side;\n"
    ".reg .u32 %step, %last, %from, %dir, %spread, %limit, %tries, %hash;\n"
    ".reg .u32 %count, %stage, %parity, %s_stage, %s_mine, %s_bar_k, %flag;\n"
    ".reg .b32 %w<4>, %e<4>;\n"
    ".reg .b128 %q;\n"
    ".reg .u64 %a_ctl, %a_side, %a_flag, %a_first, %a_tile, %off;\n"
    ".reg .u64 %c0, %c1, %g0, %g1, %waited, %began, %spent, %delay;\n"
    ".reg .u64 %repeats, %more, %wrong, %one;\n"
    ".shared .align 4 .b32 s_side;\n";

/* Thread 0 of each block says where it runs and waits until all blocks run,
 * so that each SM has one; the blocks on the two SMs claim their sides. */
static const char begin[] =
    "mov.u32 %t, %tid.x;\n"
    "mov.u32 %b, %ctaid.x;\n"
    "mov.u32 %sm, %smid;\n"
    "mov.u32 %blocks, %nctaid.x;\n"
    "ld.param.u64 %a_ctl, [p_ctl];\n"
    "ld.param.u32 %there, [p_there];\n"
    "ld.param.u32 %back, [p_back];\n"
    "ld.param.u32 %limit, [p_limit];\n"
    "setp.ne.u32 %p_helper, %t, 0;\n"
    "@%p_helper bra L_met;\n"
    "mul.wide.u32 %off, %b, 4;\n"
    "add.u64 %off, %a_ctl, %off;\n"
    "st.global.u32 [%off+512], %sm;\n"
    "atom.relaxed.gpu.global.add.u32 %old, [%a_ctl], 1;\n"
    "mov.u32 %tries, 0;\n"
    "L_arrive:\n"
    "ld.relaxed.gpu.global.u32 %n, [%a_ctl];\n"
    "setp.ge.u32 %p_go, %n, %blocks;\n"
    "@%p_go bra L_arrived;\n"
    "add.u32 %tries, %tries, 1;\n"
    "setp.lt.u32 %p_more, %tries, %limit;\n"
    "@%p_more bra L_arrive;\n"
    "L_arrived:\n"
    "mov.u32 %side, 2;\n"
    "setp.eq.u32 %p_is, %sm, %back;\n"
    "selp.u32 %side, 1, %side, %p_is;\n"
    "setp.eq.u32 %p_is, %sm, %there;\n"
    "selp.u32 %side, 0, %side, %p_is;\n"
    "setp.ge.u32 %p_is, %side, 2;\n"
    "@%p_is bra L_claimed;\n"
    "mul.wide.u32 %off, %side, 4;\n"
    "add.u64 %off, %a_ctl, %off;\n"
    "atom.relaxed.gpu.global.cas.b32 %old, [%off+4], 0, 1;\n"
    "setp.ne.u32 %p_is, %old, 0;\n"
    "selp.u32 %side, 2, %side, %p_is;\n"
    "L_claimed:\n"
    "st.shared.u32 [s_side], %side;\n";

static const char loop[] =
    "L_met:\n"
    "bar.sync 0;\n"
    "ld.shared.u32 %side, [s_side];\n"
    "setp.ge.u32 %p_is, %side, 2;\n"
    "@%p_is bra L_end;\n"
    "ld.param.u64 %a_first, [p_tiles];\n"
    "mul.wide.u32 %off, %t, 16;\n"
    "add.u64 %a_tile, %a_first, %off;\n"
    "ld.param.u32 %last, [p_rounds];\n"
    "shl.b32 %last, %last, 1;\n"
    "ld.param.u32 %from, [p_warm];\n"
    "shl.b32 %from, %from, 1;\n"
    "ld.param.u32 %spread, [p_spread];\n"
    "mov.u32 %step, 0;\n"
    "mov.u32 %count, 0;\n"
    "mov.u64 %wrong, 0;\n"
    "mov.u64 %repeats, 0;\n"
    "mov.u64 %waited, 0;\n"
    "mov.u64 %c0, 0;\n"
    "mov.u64 %g0, 0;\n"
    "L_step:\n"
    "setp.ne.u32 %p_is, %step, %from;\n"
    "@%p_is bra L_timed;\n"
    "mov.u64 %c0, %clock64;\n"
    "mov.u64 %g0, %globaltimer;\n"
    "mov.u64 %waited, 0;\n"
    "mov.u64 %repeats, 0;\n"
    "L_timed:\n"
    "and.b32 %dir, %step, 1;\n"
    "mul.wide.u32 %a_flag, %dir, 128;\n"
    "add.u64 %a_flag, %a_flag, %a_ctl;\n"
    /* what is sent: no word of it is the sentinel */
    "shl.b32 %e0, %step, 10;\n"
    "mad.lo.u32 %e0, %t, 4, %e0;\n"
    "add.u32 %e1, %e0, 1;\n"
    "add.u32 %e2, %e0, 2;\n"
    "add.u32 %e3, %e0, 3;\n"
    "setp.ne.u32 %p_is, %dir, %side;\n"
    "@%p_is bra L_receive;\n"
    "setp.eq.u32 %p_is, %spread, 0;\n"
    "@%p_is bra L_send;\n"
    /* work of a length that is different each time; its time is taken off */
    "mul.lo.u32 %hash, %step, 0x9E3779B1;\n"
    "mul.hi.u32 %hash, %hash, %spread;\n"
    "cvt.u64.u32 %delay, %hash;\n"
    "mov.u64 %began, %clock64;\n"
    "L_work:\n"
    "mov.u64 %spent, %clock64;\n"
    "sub.u64 %spent, %spent, %began;\n"
    "setp.lt.u64 %p_more, %spent, %delay;\n"
    "@%p_more bra L_work;\n"
    "add.u64 %waited, %waited, %spent;\n"
    "L_send:\n";

static const char middle[] =
    "bra L_next;\n"
    "L_receive:\n"
    "mov.u32 %tries, 0;\n";

static const char end[] =
    "@%p_fail bra L_fail;\n"
    "cvt.u64.u32 %more, %tries;\n"
    "add.u64 %repeats, %repeats, %more;\n"
    "selp.b64 %one, 1, 0, %p_wrong;\n"
    "add.u64 %wrong, %wrong, %one;\n"
    "L_next:\n"
    "add.u32 %step, %step, 1;\n"
    "add.u64 %a_first, %a_first, 4096;\n"
    "add.u64 %a_tile, %a_tile, 4096;\n"
    "setp.lt.u32 %p_more, %step, %last;\n"
    "@%p_more bra L_step;\n"
    "mov.u64 %c1, %clock64;\n"
    "mov.u64 %g1, %globaltimer;\n"
    "sub.u64 %c1, %c1, %c0;\n"
    "sub.u64 %g1, %g1, %g0;\n"
    "setp.eq.u64 %p_is, %wrong, 0;\n"
    "@%p_is bra L_right;\n"
    "red.relaxed.gpu.global.add.u32 [%a_ctl+12], 1;\n"
    "L_right:\n"
    "@%p_helper bra L_end;\n"
    "mul.wide.u32 %a_side, %side, 64;\n"
    "add.u64 %a_side, %a_side, %a_ctl;\n"
    "st.global.u64 [%a_side+64], %c1;\n"
    "st.global.u64 [%a_side+72], %g1;\n"
    "st.global.u64 [%a_side+80], %waited;\n"
    "st.global.u64 [%a_side+88], %repeats;\n"
    "mov.u64 %one, 1;\n"
    "st.global.u64 [%a_side+96], %one;\n"
    "bra L_end;\n"
    "L_fail:\n"
    "@%p_helper bra L_end;\n"
    "st.relaxed.gpu.global.u32 [%a_ctl+16], 1;\n"
    "L_end:\n"
    "ret;\n"
    "}\n";

#define COMPARE                                                                \
    "setp.ne.b32 %p_wrong, %w0, %e0;\n"                                        \
    "setp.ne.or.b32 %p_wrong, %w1, %e1, %p_wrong;\n"                           \
    "setp.ne.or.b32 %p_wrong, %w2, %e2, %p_wrong;\n"                           \
    "setp.ne.or.b32 %p_wrong, %w3, %e3, %p_wrong;\n"
#define SENTINELS                                                              \
    "setp.eq.or.b32 %p_bad, %w0, 0x80000000, %p_bad;\n"                        \
    "setp.eq.or.b32 %p_bad, %w1, 0x80000000, %p_bad;\n"                        \
    "setp.eq.or.b32 %p_bad, %w2, 0x80000000, %p_bad;\n"                        \
    "setp.eq.or.b32 %p_bad, %w3, 0x80000000, %p_bad;\n"

/* The block meets behind its stores; one thread's fence is cumulative. */
#define SEND_FLAG                                                              \
    "st.global.v4.b32 [%a_tile], {%e0, %e1, %e2, %e3};\n"                      \
    "bar.sync 0;\n"                                                            \
    "@%p_helper bra L_sent;\n"                                                 \
    "fence.acq_rel.gpu;\n"                                                     \
    "add.u32 %flag, %step, 1;\n"                                               \
    "st.relaxed.gpu.global.u32 [%a_flag+256], %flag;\n"                        \
    "L_sent:\n"

/* The first barrier lets the block load, the second ends the step: it waits
 * for what was loaded, since the comparison is its operand. */
#define RECEIVE_FLAG                                                           \
    "setp.ne.u32 %p_fail, %t, %t;\n"                                           \
    "@%p_helper bra L_flagged;\n"                                              \
    "L_poll:\n"                                                                \
    "ld.acquire.gpu.global.u32 %flag, [%a_flag+256];\n"                        \
    "setp.gt.u32 %p_go, %flag, %step;\n"                                       \
    "@%p_go bra L_flagged;\n"                                                  \
    "add.u32 %tries, %tries, 1;\n"                                             \
    "setp.ge.u32 %p_fail, %tries, %limit;\n"                                   \
    "@!%p_fail bra L_poll;\n"                                                  \
    "L_flagged:\n"                                                             \
    "bar.red.or.pred %p_fail, 0, %p_fail;\n"                                   \
    "@%p_fail bra L_fail;\n"                                                   \
    "ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%a_tile];\n"                      \
    COMPARE                                                                    \
    "bar.red.or.pred %p_bad, 0, %p_wrong;\n"                                   \
    "and.pred %p_wrong, %p_wrong, %p_bad;\n"

#define SEND_CHUNKS                                                            \
    "mov.b128 %q, {%e0, %e1, %e2, %e3};\n"                                     \
    "st.relaxed.gpu.global.b128 [%a_tile], %q;\n"

#define RECEIVE_POLL                                                           \
    "L_load:\n"                                                                \
    "ld.relaxed.gpu.global.b128 %q, [%a_tile];\n"                              \
    "mov.b128 {%w0, %w1, %w2, %w3}, %q;\n"                                     \
    "setp.ne.u32 %p_bad, %t, %t;\n"                                            \
    SENTINELS                                                                  \
    "@!%p_bad bra L_loaded;\n"                                                 \
    "add.u32 %tries, %tries, 1;\n"                                             \
    "setp.lt.u32 %p_more, %tries, %limit;\n"                                   \
    "@%p_more bra L_load;\n"                                                   \
    "L_loaded:\n"                                                              \
    "bar.red.or.pred %p_fail, 0, %p_bad;\n"                                    \
    COMPARE

/* Two stages in turn, so that a copy never writes what is still read: the
 * fence behind the issue of copy k orders the reads of copy k - 1, and the
 * barrier at the end of k comes before copy k + 1 is issued.  Waits count and
 * read no timer, which would be part of what is measured. */
#define SHARED_BULK                                                            \
    ".shared .align 128 .b8 s_tile[8192];\n"                                   \
    ".shared .align 8 .b64 s_bar[2];\n"
#define MAKE_BULK                                                              \
    "mbarrier.init.shared::cta.b64 [s_bar], 1;\n"                              \
    "mbarrier.init.shared::cta.b64 [s_bar+8], 1;\n"                            \
    "fence.mbarrier_init.release.cluster;\n"
#define RECEIVE_BULK(order, width)                                             \
    "L_try:\n"                                                                 \
    "and.b32 %stage, %count, 1;\n"                                             \
    "bfe.u32 %parity, %count, 1, 1;\n"                                         \
    "mov.u32 %s_stage, s_tile;\n"                                              \
    "mad.lo.u32 %s_stage, %stage, 4096, %s_stage;\n"                           \
    "mad.lo.u32 %s_mine, %t, 16, %s_stage;\n"                                  \
    "mov.u32 %s_bar_k, s_bar;\n"                                               \
    "mad.lo.u32 %s_bar_k, %stage, 8, %s_bar_k;\n"                              \
    "@%p_helper bra L_issued;\n"                                               \
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64"                    \
    " _, [%s_bar_k], 4096;\n"                                                  \
    "cp.async.bulk" order ".shared::cta.global"                                \
    ".mbarrier::complete_tx::bytes" width                                      \
    " [%s_stage], [%a_first], 4096, [%s_bar_k];\n"                             \
    "L_issued:\n"                                                              \
    "fence.proxy.async.shared::cta;\n"                                         \
    "mov.u32 %n, 0;\n"                                                         \
    "L_landing:\n"                                                             \
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"                     \
    " %p_go, [%s_bar_k], %parity;\n"                                           \
    "@%p_go bra L_landed;\n"                                                   \
    "add.u32 %n, %n, 1;\n"                                                     \
    "setp.lt.u32 %p_more, %n, 65536;\n"                                        \
    "@%p_more bra L_landing;\n"                                                \
    "L_landed:\n"                                                              \
    "not.pred %p_bad, %p_go;\n"                                                \
    "ld.shared::cta.v4.b32 {%w0, %w1, %w2, %w3}, [%s_mine];\n"                 \
    SENTINELS                                                                  \
    "bar.red.or.pred %p_fail, 0, %p_bad;\n"                                    \
    "add.u32 %count, %count, 1;\n"                                             \
    "@!%p_fail bra L_whole;\n"                                                 \
    "add.u32 %tries, %tries, 1;\n"                                             \
    "setp.lt.u32 %p_more, %tries, %limit;\n"                                   \
    "@%p_more bra L_try;\n"                                                    \
    "L_whole:\n"                                                               \
    COMPARE

const struct handoff_protocol handoff_protocols[] = {
    {"flag", "release fence, flag; acquire poll, load",
     ".version 8.3\n.target sm_70", 70, "", "", SEND_FLAG, RECEIVE_FLAG},
    {"poll", "strong 128-bit loads until no sentinel is left",
     ".version 8.3\n.target sm_70", 70, "", "", SEND_CHUNKS, RECEIVE_POLL},
    {"bulk", "strong bulk copies, full scan",
     ".version 9.3\n.target sm_90", 90, SHARED_BULK, MAKE_BULK, SEND_CHUNKS,
     RECEIVE_BULK(".relaxed.gpu", ".b128")},
    {"bulk_weak", "weak bulk copies, full scan",
     ".version 8.6\n.target sm_90", 90, SHARED_BULK, MAKE_BULK, SEND_CHUNKS,
     RECEIVE_BULK("", "")},
    {NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL},
};

char *handoff_text(const struct handoff_protocol *p)
{
    const char *parts[] = {p->version, head,   p->shared,  begin, p->make, loop,
                           p->send,    middle, p->receive, end};
    size_t i, room = 1;
    char *text;

    for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
        room += strlen(parts[i]);
    text = malloc(room);
    for (i = room = 0; text && i < sizeof parts / sizeof parts[0]; i++) {
        size_t len = strlen(parts[i]);

        memcpy(text + room, parts[i], len + 1);
        room += len;
    }
    return text;
}
