/* handoff_text.c -- the kernels of fgs bench handoff, as PTX
 *
 * One block a launch on each SM; two of them, on the SMs `there` and `back`,
 * play ping-pong: step 2r goes there, step 2r + 1 comes back, each through a
 * tile of its own that was filled with the sentinel before the launch.  A
 * block sends what it received, each word plus 1, and only when all of it has
 * come: so half of a round is one hand-off, and the last words tell whether
 * any word on the way was wrong.
 *
 * A warp receives a slice of the tile, T / 32 warps the whole of it.  To wait,
 * it keeps L loads in flight, spread evenly over the time that one of them
 * takes, which the kernel measures first: the tile is seen the sooner after
 * it came.  What can wait (clock, addresses, counters, the end of loads that
 * are still in flight) is done behind a send, while the tile travels.
 */
#include "handoff_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void append(struct text *t, const char *s, size_t len)
{
    size_t room = t->room ? t->room : 4096;
    char *more;

    while (room < t->len + len + 1)
        room *= 2;
    if (room != t->room) {
        more = t->is_lost ? NULL : realloc(t->text, room);
        if (!more) {
            t->is_lost = true;
            return;
        }
        t->text = more;
        t->room = room;
    }
    memcpy(t->text + t->len, s, len);
    t->len += len;
    t->text[t->len] = 0;
}

void put(struct text *t, const char *s, ...)
{
    va_list args;
    char number[16];
    size_t n;

    va_start(args, s);
    for (;;) {
        n = strcspn(s, "#");
        append(t, s, n);
        s += n;
        if (!*s++)
            break;
        snprintf(number, sizeof number, "%d", va_arg(args, int));
        append(t, number, strlen(number));
    }
    va_end(args);
}

int put_word(const struct text *t, int k, int c)
{
    return (k * t->chunks + c) * 4;
}

void put_pack(struct text *t)
{
    int c;

    for (c = 0; c < t->chunks; c++)
        put(t, "mov.b128 %v#, {%e#, %e#, %e#, %e#};\n", c, c * 4, c * 4 + 1,
            c * 4 + 2, c * 4 + 3);
}

/* ------------------------------------------------------------- parts -- */

static void put_head(struct text *t)
{
    int words = t->chunks * 4, loads = t->form->loads;

    put(t, "\n.address_size 64\n"
        ".visible .entry handoff(\n"
        "    .param .u64 p_tiles, .param .u64 p_ctl, .param .u32 p_there,\n"
        "    .param .u32 p_back, .param .u32 p_rounds, .param .u32 p_warm,\n"
        "    .param .u32 p_spread, .param .u32 p_limit\n"
        ") .reqntid #, 1, 1\n{\n", t->form->threads);
    put(t,
        ".reg .pred %p_helper, %p_is, %p_go, %p_more, %p_bad, %p_wrong;\n"
        ".reg .pred %p_spread, %p_lane;\n"
        ".reg .u32 %t, %b, %sm, %there, %back, %blocks, %n, %old, %side;\n"
        ".reg .u32 %step, %last, %stop, %reset, %spread, %limit, %tries;\n"
        ".reg .u32 %hash, %lane, %warp, %byte, %failed, %flag, %live, %x;\n"
        ".reg .u32 %fold;\n"
        ".reg .u32 %s_bar_w, %s_slice, %s_mine;\n"
        ".reg .u64 %a_ctl, %a_side, %a_in, %a_out, %a_mine, %a_slice, %off;\n"
        ".reg .u64 %a_copy, %a_tiles, %c0, %c1, %g0, %g1, %waited, %began;\n"
        ".reg .u64 %spent, %delay, %repeats, %more, %one, %gap;\n"
        ".shared .align 4 .b32 s_side;\n");
    put(t, ".reg .b32 %e<#>, %w<#>, %m<#>, %par<#>, %f<#>;\n"
        ".reg .b128 %q<#>, %v<#>;\n", words, words * loads, t->chunks * 2,
        loads, loads, t->chunks * loads, t->chunks);
    if (t->form->p->kind == HANDOFF_BULK)
        put(t, ".shared .align 128 .b8 s_tile[#];\n"
            ".shared .align 8 .b64 s_bar[#];\n",
            HANDOFF_TILE * loads, t->warps * loads);
}

/* Thread 0 of each block says where it runs and waits until all blocks run,
 * so that each SM has one; the blocks on the two SMs claim their sides. */
static const char claim[] =
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

/* %step is the next one to send, and what is waited for is the one before it:
 * %a_out - 4096, flag %step.  Side 0 sends one tile more than it receives, so
 * that its clock runs from behind a send to behind a send. */
static void put_start(struct text *t)
{
    int i, k, c, words = t->chunks * 4;

    put(t, "L_met:\n"
        "bar.sync 0;\n"
        "ld.shared.u32 %side, [s_side];\n"
        "setp.ge.u32 %p_is, %side, 2;\n"
        "@%p_is bra L_end;\n"
        "ld.param.u64 %a_tiles, [p_tiles];\n"
        "and.b32 %lane, %t, 31;\n"
        "shr.u32 %warp, %t, 5;\n"
        "setp.eq.u32 %p_lane, %lane, 0;\n"
        "mul.lo.u32 %byte, %warp, #;\n"
        "cvt.u64.u32 %off, %byte;\n"
        "add.u64 %a_slice, %a_tiles, %off;\n"
        "mad.lo.u32 %byte, %lane, 16, %byte;\n"
        "cvt.u64.u32 %off, %byte;\n"
        "add.u64 %a_mine, %a_tiles, %off;\n"
        "ld.param.u32 %last, [p_rounds];\n"
        "shl.b32 %last, %last, 1;\n"
        "sub.u32 %stop, %last, %side;\n"
        "ld.param.u32 %reset, [p_warm];\n"
        "shl.b32 %reset, %reset, 1;\n"
        "sub.u32 %reset, %reset, %side;\n"
        "ld.param.u32 %spread, [p_spread];\n"
        "setp.ne.u32 %p_spread, %spread, 0;\n"
        "xor.b32 %flag, %side, 1;\n"
        "mad.wide.u32 %a_in, %flag, 128, %a_ctl;\n"
        "mad.wide.u32 %a_side, %side, 128, %a_ctl;\n"
        "mov.u32 %failed, 0;\n"
        "mov.u32 %live, 0;\n"
        "mov.u32 %fold, 0;\n"
        "mov.u32 %tries, 0;\n"
        "mov.u64 %repeats, 0;\n"
        "mov.u64 %waited, 0;\n"
        "mov.u64 %c0, 0;\n"
        "mov.u64 %g0, 0;\n", HANDOFF_TILE / t->warps);
    put(t, "shr.u32 %x, %byte, 2;\n");
    for (i = 0; i < words; i++)
        put(t, "add.u32 %e#, %x, #;\n", i, i / 4 * 128 + i % 4);
    put_pack(t);
    for (k = 0; k < t->form->loads; k++) {
        put(t, "mov.u32 %f#, 0;\nmov.b32 %w0, 0;\n", k);
        for (c = 0; c < t->chunks; c++)
            put(t, "mov.b128 %q#, {%w0, %w0, %w0, %w0};\n",
                put_word(t, k, c) / 4);
    }
    if (t->form->p->kind != HANDOFF_BULK)
        return;
    put(t, "mov.u32 %s_slice, s_tile;\n"
        "mad.lo.u32 %s_slice, %warp, #, %s_slice;\n"
        "mad.lo.u32 %s_mine, %lane, 16, %s_slice;\n"
        "mov.u32 %s_bar_w, s_bar;\n"
        "mad.lo.u32 %s_bar_w, %warp, 8, %s_bar_w;\n",
        HANDOFF_TILE / t->warps);
    for (c = 0; c < t->form->loads; c++)
        put(t, "mov.u32 %par#, 0;\n"
            "@%p_lane mbarrier.init.shared::cta.b64 [%s_bar_w+#], 1;\n",
            c, c * t->warps * 8);
    put(t, "fence.mbarrier_init.release.cluster;\nbar.warp.sync -1;\n");
}

/* ---------------------------------------------------------------- send -- */

/* The block meets behind its stores; one thread's release is cumulative. */
static void put_send(struct text *t)
{
    bool is_flag = t->form->p->kind == HANDOFF_FLAG;
    int c;

    /* no branch that is never taken stands on the way of what is measured */
    put(t, t->form->works ? "L_next:\n@%p_spread bra L_work;\nL_send:\n" :
                            "L_next:\n");
    for (c = 0; c < t->chunks; c++) {
        int w = c * 4;

        if (is_flag)
            put(t, "st.global.v4.b32 [%a_out+#], {%e#, %e#, %e#, %e#};\n",
                c * 512, w, w + 1, w + 2, w + 3);
        else
            put(t, "st.relaxed.gpu.global.b128 [%a_out+#], %v#;\n", c * 512,
                c);
    }
    if (!is_flag)
        return;
    put(t, t->warps > 1 ? "bar.sync 0;\n" : "bar.warp.sync -1;\n");
    put(t, "add.u32 %flag, %step, 1;\n"
        "@!%p_helper st.release.gpu.global.u32 [%a_side+256], %flag;\n");
}

static void put_behind(struct text *t)
{
    int k;

    put(t, "mov.u64 %c1, %clock64;\n"
        "cvt.u64.u32 %more, %tries;\n"
        "add.u64 %repeats, %repeats, %more;\n"
        "setp.ne.u32 %p_is, %step, %reset;\n"
        "@%p_is bra L_timed;\n"
        "mov.u64 %c0, %c1;\n"
        "mov.u64 %g0, %globaltimer;\n"
        "mov.u64 %waited, 0;\n"
        "mov.u64 %repeats, 0;\n"
        "L_timed:\n"
        "setp.ge.u32 %p_is, %step, %stop;\n");
    /* copies write shared memory until they end */
    for (k = 0; t->form->p->kind == HANDOFF_BULK && k < t->form->loads; k++) {
        put(t, "and.b32 %x, %live, #;\n"
            "setp.eq.u32 %p_more, %x, 0;\n"
            "@%p_more bra L_ended#;\n", 1 << k, k);
        put_land(t, k);
        put(t, "L_ended#:\n", k);
    }
    put_fold(t);
    put(t, "@%p_is bra L_done;\n"
        "add.u32 %step, %step, 2;\n"
        "add.u64 %a_out, %a_out, #;\n"
        "add.u64 %a_copy, %a_copy, #;\n", 2 * HANDOFF_TILE, 2 * HANDOFF_TILE);
}

/* Work of a length that is different each time; its time is taken off. */
static const char work[] =
    "L_work:\n"
    "mul.lo.u32 %hash, %step, 0x9E3779B1;\n"
    "mul.hi.u32 %hash, %hash, %spread;\n"
    "cvt.u64.u32 %delay, %hash;\n"
    "mov.u64 %began, %clock64;\n"
    "L_working:\n"
    "mov.u64 %spent, %clock64;\n"
    "sub.u64 %spent, %spent, %began;\n"
    "setp.lt.u64 %p_more, %spent, %delay;\n"
    "@%p_more bra L_working;\n"
    "add.u64 %waited, %waited, %spent;\n"
    "bra L_send;\n";

/* Word i of the first tile, and one more a step, is what must have come. */
static void put_end(struct text *t)
{
    int i;

    put(t, "L_done:\n");
    /* thread 0's clock stops behind the last warp */
    if (t->form->p->meet != MEET_BLOCK)
        put(t, "bar.sync 0;\nmov.u64 %c1, %clock64;\n");
    put(t, "mov.u64 %g1, %globaltimer;\n"
        "sub.u64 %c1, %c1, %c0;\n"
        "sub.u64 %g1, %g1, %g0;\n"
        "shr.u32 %x, %byte, 2;\n"
        "add.u32 %x, %x, %step;\n"
        "setp.ne.u32 %p_wrong, %x, %x;\n");
    for (i = 0; i < t->chunks * 4; i++)
        put(t, "add.u32 %n, %x, #;\n"
            "setp.ne.or.u32 %p_wrong, %e#, %n, %p_wrong;\n",
            i / 4 * 128 + i % 4, i);
    put(t, "@%p_wrong red.relaxed.gpu.global.add.u32 [%a_ctl+12], 1;\n"
        "setp.ne.u32 %p_is, %failed, 0;\n"
        "@%p_is st.relaxed.gpu.global.u32 [%a_ctl+16], 1;\n"
        "@%p_helper bra L_end;\n"
        "mad.wide.u32 %a_side, %side, 64, %a_ctl;\n"
        "st.global.u64 [%a_side+64], %c1;\n"
        "st.global.u64 [%a_side+72], %g1;\n"
        "st.global.u64 [%a_side+80], %waited;\n"
        "st.global.u64 [%a_side+88], %repeats;\n"
        "mov.u64 %one, 1;\n"
        "st.global.u64 [%a_side+96], %one;\n"
        "st.global.u32 [%a_side+104], %fold;\n"
        "L_end:\n"
        "ret;\n"
        "}\n");
}

const struct handoff_protocol handoff_protocols[] = {
    {"flag", "release, flag; acquire poll, load", HANDOFF_FLAG, 70,
     ".version 8.3\n.target sm_70", NULL, NULL, MEET_BLOCK},
    {"poll", "strong 128-bit loads until no sentinel is left", HANDOFF_POLL,
     70, ".version 8.3\n.target sm_70", NULL, NULL, MEET_BLOCK},
    {"poll_warp", "as poll; each warp goes on with its own slice",
     HANDOFF_POLL, 70, ".version 8.3\n.target sm_70", NULL, NULL, MEET_WARP},
    {"poll_thread", "as poll; each thread goes on with its own chunks",
     HANDOFF_POLL, 70, ".version 8.3\n.target sm_70", NULL, NULL, MEET_NONE},
    {"bulk", "strong bulk copies, full scan", HANDOFF_BULK, 90,
     ".version 9.3\n.target sm_90", ".relaxed.gpu", ".b128", MEET_BLOCK},
    {"bulk_weak", "weak bulk copies, full scan", HANDOFF_BULK, 90,
     ".version 8.6\n.target sm_90", "", "", MEET_BLOCK},
    {NULL, NULL, HANDOFF_FLAG, 0, NULL, NULL, NULL, MEET_BLOCK},
};

int handoff_cc(const struct handoff_form *f)
{
    /* fence.acquire is of 9.0 */
    return f->p->kind == HANDOFF_FLAG && f->loads > 1 ? 90 : f->p->cc;
}

char *handoff_text(const struct handoff_form *f)
{
    struct text t = {.form = f, .warps = f->threads / 32};
    bool is_new = handoff_cc(f) > f->p->cc;

    t.chunks = HANDOFF_TILE / 16 / f->threads;
    put(&t, is_new ? ".version 8.6\n.target sm_90" : f->p->version);
    put_head(&t);
    put(&t, claim);
    put_start(&t);
    if (f->loads > 1)
        put_measure(&t);
    put(&t, "mov.u32 %step, %side;\n"
        "mad.wide.u32 %a_out, %side, #, %a_mine;\n"
        "mad.wide.u32 %a_copy, %side, #, %a_slice;\n"
        "add.u64 %a_copy, %a_copy, -#;\n"
        "setp.ne.u32 %p_is, %side, 0;\n"
        "@%p_is bra L_wait;\n", HANDOFF_TILE, HANDOFF_TILE, HANDOFF_TILE);
    put_send(&t);
    put_behind(&t);
    put_receive(&t);
    put(&t, "bra L_next;\n");
    if (f->works)
        put(&t, work);
    put_end(&t);
    if (t.is_lost) {
        free(t.text);
        return NULL;
    }
    return t.text;
}
