/* handoff_wait.c -- how the kernels of fgs bench handoff wait for a tile */
#include "handoff_text.h"

void put_land(struct text *t, int k)
{
    int label = t->label++;

    put(t, "mov.u32 %n, 0;\n"
        "L_landing#:\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"
        " %p_go, [%s_bar_w+#], %par#;\n"
        "@%p_go bra L_landed#;\n"
        "add.u32 %n, %n, 1;\n"
        "setp.lt.u32 %p_more, %n, 65536;\n"
        "@%p_more bra L_landing#;\n"
        "mov.u32 %limit, 0;\n"
        "L_landed#:\n"
        "xor.b32 %par#, %par#, 1;\n",
        label, k * t->warps * 8, k, label, label, label, k, k);
}

/* Begin load k: of this thread's chunks, of the flag, or of the warp's slice.
 * Each lane has read what the copy before brought, so each one fences. */
static void put_issue(struct text *t, int k)
{
    int c;

    switch (t->form->p->kind) {
    case HANDOFF_FLAG:
        put(t, t->form->loads == 1 ?
                   "ld.acquire.gpu.global.u32 %f#, [%a_in+256];\n" :
                   "ld.relaxed.gpu.global.u32 %f#, [%a_in+256];\n", k);
        break;
    case HANDOFF_POLL:
        for (c = 0; c < t->chunks; c++)
            put(t, "ld.relaxed.gpu.global.b128 %q#, [%a_out+#];\n",
                put_word(t, k, c) / 4, c * 512 - HANDOFF_TILE);
        break;
    case HANDOFF_BULK:
        put(t, "fence.proxy.async.shared::cta;\n"
            "bar.warp.sync -1;\n"
            "add.u32 %x, %s_slice, #;\n"
            "add.u32 %n, %s_bar_w, #;\n"
            "@%p_lane mbarrier.arrive.expect_tx.release.cta.shared::cta.b64"
            " _, [%n], #;\n"
            "@%p_lane cp.async.bulk",
            k * HANDOFF_TILE, k * t->warps * 8, HANDOFF_TILE / t->warps);
        put(t, t->form->p->order);
        put(t, ".shared::cta.global.mbarrier::complete_tx::bytes");
        put(t, t->form->p->width);
        put(t, " [%x], [%a_copy], #, [%n];\n", HANDOFF_TILE / t->warps);
        break;
    }
}

/* %p_bad: a word of the warp's slice, or of this thread's chunks, is the
 * sentinel, the least of all words as signed ones. */
static void put_scan(struct text *t, int k)
{
    int c, n;

    for (c = 0; c < t->chunks; c++) {
        int w = put_word(t, k, c), m = c * 2;

        put(t, "min.s32 %m#, %w#, %w#;\nmin.s32 %m#, %w#, %w#;\n"
            "min.s32 %m#, %m#, %m#;\n",
            m, w, w + 1, m + 1, w + 2, w + 3, m, m, m + 1);
    }
    for (n = 1; n < t->chunks; n *= 2)
        for (c = 0; c + n < t->chunks; c += 2 * n)
            put(t, "min.s32 %m#, %m#, %m#;\n", c * 2, c * 2, (c + n) * 2);
    put(t, "setp.eq.s32 %p_bad, %m0, -2147483648;\n");
    if (t->form->p->meet != MEET_NONE)
        put(t, "vote.sync.any.pred %p_bad, %p_bad, -1;\n");
}

/* %p_bad: load k came too early. */
static void put_check(struct text *t, int k)
{
    int c, w;

    switch (t->form->p->kind) {
    case HANDOFF_FLAG:
        put(t, "setp.lt.u32 %p_bad, %f#, %step;\n", k);
        break;
    case HANDOFF_POLL:
        for (c = 0; c < t->chunks; c++) {
            w = put_word(t, k, c);
            put(t, "mov.b128 {%w#, %w#, %w#, %w#}, %q#;\n", w, w + 1, w + 2,
                w + 3, w / 4);
        }
        put_scan(t, k);
        break;
    case HANDOFF_BULK:
        put_land(t, k);
        for (c = 0; c < t->chunks; c++) {
            w = put_word(t, k, c);
            put(t, "ld.shared::cta.v4.b32 {%w#, %w#, %w#, %w#},"
                " [%s_mine+#];\n",
                w, w + 1, w + 2, w + 3, k * HANDOFF_TILE + c * 512);
        }
        put_scan(t, k);
        break;
    }
}

/* What is sent next: the words that came, plus 1. */
static void put_next(struct text *t, int k)
{
    int i;

    for (i = 0; i < t->chunks * 4; i++)
        put(t, "add.u32 %e#, %w#, 1;\n", i, put_word(t, k, 0) + i);
    put_pack(t);
}

static void put_take(struct text *t, int k)
{
    int i, w;

    if (t->form->p->kind == HANDOFF_FLAG) {
        if (t->form->loads > 1)
            put(t, "fence.acquire.gpu;\n");
        for (i = 0; i < t->chunks; i++) {
            w = put_word(t, k, i);
            put(t, "ld.global.v4.b32 {%w#, %w#, %w#, %w#}, [%a_out+#];\n", w,
                w + 1, w + 2, w + 3, i * 512 - HANDOFF_TILE);
        }
    }
    if (t->form->p->kind != HANDOFF_POLL)
        put_next(t, k);
    put(t, "mov.u32 %live, #;\n", ((1 << t->form->loads) - 1) & ~(1 << k));
}

void put_measure(struct text *t)
{
    int loads = t->form->loads, shift;

    for (shift = 0; 1 << shift < loads; shift++)
        ;
    put(t, "add.u32 %x, %last, 1;\n"
        "mad.wide.u32 %a_out, %x, #, %a_mine;\n"
        "mad.wide.u32 %a_copy, %last, #, %a_slice;\n"
        "mov.u32 %step, 0x7fffffff;\n"
        "mov.u64 %gap, 0;\n"
        "L_measure:\n"
        "mov.u64 %c0, %clock64;\n", HANDOFF_TILE, HANDOFF_TILE);
    put_issue(t, 0);
    put_check(t, 0);
    put(t, "@!%p_bad bra L_measured;\n"
        "mov.u64 %c1, %clock64;\n"
        "sub.u64 %gap, %c1, %c0;\n"
        "add.u32 %tries, %tries, 1;\n"
        "setp.lt.u32 %p_more, %tries, 4;\n"
        "@%p_more bra L_measure;\n"
        "L_measured:\n"
        "shr.u64 %gap, %gap, #;\n", shift);
}

void put_receive(struct text *t)
{
    int k, loads = t->form->loads;

    put(t, "L_wait:\nmov.u32 %tries, 0;\n");
    put_issue(t, 0);
    for (k = 1; k < loads; k++) {
        put(t, "mov.u64 %began, %clock64;\n"
            "L_gap#:\n"
            "mov.u64 %spent, %clock64;\n"
            "sub.u64 %spent, %spent, %began;\n"
            "setp.lt.u64 %p_more, %spent, %gap;\n"
            "@%p_more bra L_gap#;\n", k, k);
        put_issue(t, k);
    }
    put(t, "L_poll:\n");
    for (k = 0; k < loads; k++) {
        put_check(t, k);
        /* while it is looked at: nothing is left to do when it is valid */
        if (t->form->p->kind == HANDOFF_POLL)
            put_next(t, k);
        put(t, "@!%p_bad bra L_take#;\n", k);
        put_issue(t, k);
        put(t, "add.u32 %tries, %tries, 1;\n");
    }
    put(t, "setp.lt.u32 %p_more, %tries, %limit;\n"
        "@%p_more bra L_poll;\n"
        "mov.u32 %failed, 1;\n"
        "mov.u32 %limit, 0;\n"
        "mov.u32 %live, #;\n"
        "bra L_have;\n", (1 << loads) - 1);
    for (k = 0; k < loads; k++) {
        put(t, "L_take#:\n", k);
        put_take(t, k);
        if (k + 1 < loads)
            put(t, "bra L_have;\n");
    }
    put(t, "L_have:\n");
    /* the flag's sender meets before its flag: nothing is missing then */
    if (t->warps > 1 && t->form->p->kind != HANDOFF_FLAG &&
        t->form->p->meet == MEET_BLOCK)
        put(t, "bar.sync 0;\n");
}

void put_fold(struct text *t)
{
    int k, c, w;

    for (k = 0; t->form->loads > 1 && k < t->form->loads; k++) {
        if (t->form->p->kind == HANDOFF_FLAG)
            put(t, "xor.b32 %fold, %fold, %f#;\n", k);
        for (c = 0; t->form->p->kind == HANDOFF_POLL && c < t->chunks; c++) {
            w = put_word(t, k, c);
            put(t, "mov.b128 {%w#, %w#, %w#, %w#}, %q#;\n"
                "xor.b32 %fold, %fold, %w#;\nxor.b32 %fold, %fold, %w#;\n"
                "xor.b32 %fold, %fold, %w#;\nxor.b32 %fold, %fold, %w#;\n",
                w, w + 1, w + 2, w + 3, w / 4, w, w + 1, w + 2, w + 3);
        }
    }
}
