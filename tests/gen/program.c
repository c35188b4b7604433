/* program.c -- random small programs from the statements of program.def
 *
 * The mask of a nested part is a register of its own, %m1 in %m0: a ballot of
 * those who enter, so that what lanes do together names exactly the lanes that
 * come there, whatever order a device runs them in.  Barriers stand only where
 * all threads of the block come.
 */
#include "program.h"
#include "gen.h"
#include "base/compat.h"

#include <stdlib.h>

enum {
    R_REGS = 8, D_REGS = 4, F_REGS = 6, G_REGS = 3, H_REGS = 4, P_REGS = 4,
    FUNCS = 2, DEEPEST = 3, CHECKS = 32, PLACES = 32,
    /* where a thread's registers lie in its bytes */
    AT_R = 0, AT_D = 32, AT_F = 64, AT_H = 88, AT_G = 96, AT_P = 120,
    AT_CHECK = 128,
    TEXT_CAP = 1 << 18
};

enum kind { ALU, FREE, MEM, WARP, FULL, BLOCK, ATOM, CALL, KINDS };

static const struct row {
    uint8_t kind;
    const char *text;
} rows[] = {
#define ALU(text) { ALU, text },
#define FREE(text) { FREE, text },
#define MEM(text) { MEM, text },
#define WARP(text) { WARP, text },
#define FULL(text) { FULL, text },
#define BLOCK(text) { BLOCK, text },
#define ATOM(text) { ATOM, text },
#define CALL(text) { CALL, text },
#include "program.def"
#undef ALU
#undef FREE
#undef MEM
#undef WARP
#undef FULL
#undef BLOCK
#undef ATOM
#undef CALL
};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct maker {
    struct gen_buf b;
    uint64_t state;
    const char *name;
    unsigned threads;
    unsigned depth;      /* of the mask: %m0 ... */
    unsigned nested;     /* control statements around this one */
    unsigned labels, checks, funcs;
    unsigned last[6];    /* register of each kind */
    int budget;          /* statements left */
    bool in_func;
    bool uniform;        /* all threads of the block are here */
    bool full;           /* no lane is missing in any warp */
};

static unsigned draw(struct maker *m, unsigned n)
{
    m->state = gen_mix(m->state);
    return (unsigned)(m->state >> 33) % n;
}

#define PUT(...) gen_put(&m->b, __VA_ARGS__)

/* ----------------------------------------------------------- statements -- */

/* A source differs from the one before, so that no operation of equal numbers
 * is simplified. */
static void put_reg(struct maker *m, char c)
{
    static const struct {
        char c;
        unsigned n;
    } sets[] = { { 'r', R_REGS }, { 'd', D_REGS }, { 'f', F_REGS },
                 { 'g', G_REGS }, { 'h', H_REGS }, { 'p', P_REGS } };

    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        if (sets[k].c == (c | 32)) {
            unsigned r = draw(m, sets[k].n);

            if (c & 32 && m->last[k] == r)
                r = (r + 1) % sets[k].n;
            m->last[k] = r;
            PUT("%%%c%u", sets[k].c, r);
        }
    }
}

static void put_hole(struct maker *m, char c)
{
    switch (c) {
    case 'm': PUT("%%m%u", m->depth); break;
    case 'i': PUT("0x%x", draw(m, 1u << 31) * 2 + draw(m, 2)); break;
    case '#': PUT("%u", draw(m, 256)); break;
    case '&': PUT("%u", draw(m, 32)); break;
    case '$': PUT("%u", draw(m, 64)); break;
    case 'T': PUT("%u", m->threads); break;
    case 'W': PUT("%u", (m->threads + 31) / 32 * 32); break;
    case 'E': PUT("%s", m->name); break;
    case 'l': PUT("%u", m->labels); break;
    case 'n': PUT("%s_f%u", m->name, draw(m, m->funcs)); break;
    default: put_reg(m, c);
    }
}

static void put_row(struct maker *m, const char *text)
{
    for (; *text; text++) {
        if (*text == '@' && text[1] != '@' && text[1] != '%')
            put_hole(m, *++text);
        else
            PUT("%c", *text);
    }
    PUT("\n");
}

static unsigned pick(struct maker *m, enum kind kind)
{
    unsigned k;

    do
        k = draw(m, ROWS);
    while (rows[k].kind != kind);
    return k;
}

/* Rows of the same kind before this one. */
static unsigned rank(unsigned row)
{
    unsigned n = 0;

    for (unsigned k = 0; k < row; k++)
        n += rows[k].kind == rows[row].kind;
    return n;
}

static void statement(struct maker *m, enum kind kind)
{
    unsigned row = pick(m, kind);
    const char *text = rows[row].text;

    m->labels++;
    PUT("    ");
    if (kind == ALU && !strchr(text, '\n') && draw(m, 5) == 0)
        PUT("@%s%%p%u ", draw(m, 2) ? "!" : "", draw(m, P_REGS));
    if (kind == ATOM) {
        PUT("and.b32 %%t0, %%r%u, %u;\n", draw(m, R_REGS),
            draw(m, 3) ? PLACES - 1 : 0);
        PUT("    mad.wide.u32 %%u0, %%t0, 8, %%a_atom;\n"
            "    add.u64 %%u0, %%u0, %u;\n    ", rank(row) * PLACES * 8);
    }
    put_row(m, text);
}

/* -------------------------------------------------------------- control -- */

static void body(struct maker *m, unsigned most);

/* A part whose threads are the mask one deeper; `count` statements. */
static void inner(struct maker *m, unsigned count)
{
    bool uniform = m->uniform, full = m->full;

    m->uniform = m->full = false;
    m->depth++;
    m->nested++;
    body(m, count);
    m->nested--;
    m->depth--;
    m->uniform = uniform;
    m->full = full;
}

static void put_if(struct maker *m)
{
    unsigned label = ++m->labels, d = m->depth;

    if (draw(m, 2))
        PUT("    mov.pred %%q%u, %%p%u;\n", d, draw(m, P_REGS));
    else
        PUT("    setp.lt.u32 %%q%u, %%r%u, %%r%u;\n", d, draw(m, R_REGS),
            draw(m, R_REGS));
    PUT("    vote.sync.ballot.b32 %%m%u, %%q%u, %%m%u;\n", d + 1, d, d);
    PUT("    @!%%q%u bra L_%s_%u_else;\n", d, m->name, label);
    inner(m, 4);
    PUT("    bra L_%s_%u_end;\nL_%s_%u_else:\n", m->name, label, m->name,
        label);
    PUT("    xor.b32 %%m%u, %%m%u, %%m%u;\n", d + 1, d + 1, d);
    if (draw(m, 2))
        inner(m, 3);
    PUT("L_%s_%u_end:\n", m->name, label);
}

/* Each lane has its own number of rounds, which the body may cut short. */
static void put_loop(struct maker *m)
{
    unsigned label = ++m->labels, d = m->depth;

    PUT("    and.b32 %%c%u, %%r%u, 7;\n    mov.b32 %%m%u, %%m%u;\n",
        m->nested, draw(m, R_REGS), d + 1, d);
    PUT("L_%s_%u:\n    setp.ne.u32 %%q%u, %%c%u, 0;\n", m->name, label, d,
        m->nested);
    PUT("    vote.sync.ballot.b32 %%m%u, %%q%u, %%m%u;\n", d + 1, d, d + 1);
    PUT("    @!%%q%u bra L_%s_%u_end;\n", d, m->name, label);
    PUT("    sub.u32 %%c%u, %%c%u, 1;\n", m->nested, m->nested);
    if (draw(m, 3) == 0)
        PUT("    selp.b32 %%c%u, 0, %%c%u, %%p%u;\n", m->nested, m->nested,
            draw(m, P_REGS));
    inner(m, 4);
    PUT("    bra L_%s_%u;\nL_%s_%u_end:\n", m->name, label, m->name, label);
}

/* Every thread as often: barriers may stand in it. */
static void put_rounds(struct maker *m)
{
    unsigned label = ++m->labels, c = m->nested;

    PUT("    mov.u32 %%c%u, %u;\nL_%s_%u:\n", c, 1 + draw(m, 4), m->name,
        label);
    m->nested++;
    body(m, 5);
    m->nested--;
    PUT("    sub.u32 %%c%u, %%c%u, 1;\n    setp.ne.u32 %%q%u, %%c%u, 0;\n", c,
        c, m->depth, c);
    PUT("    @%%q%u bra.uni L_%s_%u;\n", m->depth, m->name, label);
}

/* A branch to one of four places; those of the same place are a mask. */
static void put_switch(struct maker *m)
{
    unsigned label = ++m->labels, d = m->depth;

    PUT("    and.b32 %%t0, %%r%u, 3;\n", draw(m, R_REGS));
    PUT("    match.any.sync.b32 %%m%u, %%t0, %%m%u;\n", d + 1, d);
    PUT("L_%s_%u_list:\n    .branchtargets ", m->name, label);
    for (unsigned k = 0; k < 4; k++)
        PUT("L_%s_%u_%u%s", m->name, label, k, k < 3 ? ", " : ";\n");
    PUT("    brx.idx %%t0, L_%s_%u_list;\n", m->name, label);
    for (unsigned k = 0; k < 4; k++) {
        PUT("L_%s_%u_%u:\n", m->name, label, k);
        inner(m, 2);
        if (k < 3)
            PUT("    bra L_%s_%u_end;\n", m->name, label);
    }
    PUT("L_%s_%u_end:\n", m->name, label);
}

/* Blocks differ, the threads of one do not. */
static void put_by_block(struct maker *m)
{
    unsigned label = ++m->labels;

    PUT("    mov.u32 %%t0, %%ctaid.x;\n    and.b32 %%t0, %%t0, 1;\n"
        "    setp.eq.u32 %%q%u, %%t0, 0;\n", m->depth);
    PUT("    @%%q%u bra.uni L_%s_%u;\n", m->depth, m->name, label);
    m->nested++;
    body(m, 3);
    m->nested--;
    PUT("L_%s_%u:\n", m->name, label);
}

static void control(struct maker *m)
{
    unsigned how = draw(m, m->uniform ? 10 : 6);

    if (how < 3)
        put_if(m);
    else if (how < 5)
        put_loop(m);
    else if (how < 6)
        put_switch(m);
    else if (how < 9)
        put_rounds(m);
    else
        put_by_block(m);
}

static enum kind choose(struct maker *m)
{
    unsigned n = draw(m, 100);

    if (n < 62)
        return n < 5 ? FREE : ALU;
    if (n < 72)
        return m->in_func ? ALU : MEM;
    if (n < 82)
        return WARP;
    if (n < 87)
        return m->full ? FULL : WARP;
    if (n < 93)
        return m->uniform ? BLOCK : ALU;
    if (n < 97)
        return m->in_func ? ALU : ATOM;
    return m->funcs ? CALL : ALU;
}

static void body(struct maker *m, unsigned most)
{
    unsigned n = 1 + draw(m, most);

    while (n-- && m->budget > 0) {
        m->budget--;
        if (m->nested < DEEPEST && draw(m, 8) == 0)
            control(m);
        else
            statement(m, choose(m));
    }
}

/* ------------------------------------------------------------ functions -- */

static const char registers[] =
    "    .reg .pred %p<4>, %q<8>;\n    .reg .b16 %h<4>, %k<4>;\n"
    "    .reg .b32 %r<8>, %t<8>, %m<5>, %c<4>;\n    .reg .f32 %f<6>, %x;\n"
    "    .reg .b64 %d<4>, %u<4>;\n    .reg .f64 %g<3>, %y;\n"
    "    .reg .b128 %w;\n";

/* The bits of %g in %u0: NaN is one value. */
static void put_bits(struct maker *m, unsigned g)
{
    PUT("    mov.b64 %%u0, %%g%u;\n    testp.notanumber.f64 %%q7, %%g%u;\n"
        "    selp.b64 %%u0, 0x7ff8000000000000, %%u0, %%q7;\n", g, g);
}

/* The same of %f in %t0. */
static void put_bits_32(struct maker *m, unsigned f)
{
    PUT("    mov.b32 %%t0, %%f%u;\n    testp.notanumber.f32 %%q7, %%f%u;\n"
        "    selp.b32 %%t0, 0x7fffffff, %%t0, %%q7;\n", f, f);
}

/* All registers into %t7. */
static void put_fold(struct maker *m)
{
#define STEP "    mad.lo.u32 %%t7, %%t7, 16777619, "
    PUT("    mov.u32 %%t7, 1;\n");
    for (unsigned k = 0; k < R_REGS; k++)
        PUT(STEP "%%r%u;\n", k);
    for (unsigned k = 0; k < F_REGS; k++) {
        put_bits_32(m, k);
        PUT(STEP "%%t0;\n");
    }
    for (unsigned k = 0; k < D_REGS + G_REGS; k++) {
        if (k < D_REGS)
            PUT("    mov.b64 %%u0, %%d%u;\n", k);
        else
            put_bits(m, k - D_REGS);
        PUT("    mov.b64 {%%t0, %%t1}, %%u0;\n" STEP "%%t0;\n" STEP
            "%%t1;\n");
    }
    for (unsigned k = 0; k < H_REGS; k++)
        PUT("    cvt.u32.u16 %%t0, %%h%u;\n" STEP "%%t0;\n", k);
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    selp.u32 %%t0, 1, 0, %%p%u;\n" STEP "%%t0;\n", k);
#undef STEP
}

static void put_func(struct maker *m, unsigned n)
{
    PUT(".func (.param .b32 p_r) %s_f%u(.param .b32 p_a, .param .b32 p_b, "
        ".param .b32 p_m)\n{\n", m->name, n);
    PUT("%s    ld.param.b32 %%r0, [p_a];\n    ld.param.b32 %%r1, [p_b];\n"
        "    ld.param.b32 %%m0, [p_m];\n", registers);
    PUT("%s_proto:\n    .callprototype (.param .b32 _) _ (.param .b32 _, "
        ".param .b32 _, .param .b32 _);\n", m->name);
    for (unsigned k = 2; k < R_REGS; k++)
        PUT("    mad.lo.u32 %%r%u, %%r%u, 0x%x, %%r%u;\n", k, k - 2,
            draw(m, 1u << 31), k - 1);
    for (unsigned k = 0; k < F_REGS; k++)
        PUT("    cvt.rn.f32.s32 %%f%u, %%r%u;\n", k, k + 2);
    for (unsigned k = 0; k < D_REGS; k++)
        PUT("    mov.b64 %%d%u, {%%r%u, %%r%u};\n", k, k, k + 4);
    for (unsigned k = 0; k < G_REGS; k++)
        PUT("    cvt.rn.f64.s64 %%g%u, %%d%u;\n", k, k);
    for (unsigned k = 0; k < H_REGS; k++)
        PUT("    cvt.u16.u32 %%h%u, %%r%u;\n", k, k);
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    setp.lt.s32 %%p%u, %%r%u, 0;\n", k, k);
    m->in_func = true;
    m->uniform = m->full = false;
    m->budget = 16;
    body(m, 12);
    put_fold(m);
    PUT("    st.param.b32 [p_r], %%t7;\n    ret;\n}\n");
    m->funcs = n + 1;
}

static void put_start(struct maker *m)
{
    PUT(".visible .entry %s(.param .u64 p_in, .param .u64 p_out)\n{\n%s"
        "    .reg .b64 %%a_in, %%a_thread, %%a_atom;\n"
        "    .reg .b32 %%s_all, %%s_own, %%s_atom, %%l_own, %%id;\n"
        "    .shared .align 16 .b8 s_all[%u];\n"
        "    .shared .align 16 .b8 s_atom[256];\n"
        "    .local .align 16 .b8 l_own[64];\n", m->name, registers,
        m->threads * 16);
    PUT("    mov.u32 %%s_all, s_all;\n    mov.u32 %%s_atom, s_atom;\n"
        "    mov.u32 %%l_own, l_own;\n    mov.u32 %%t0, %%tid.x;\n"
        "    mad.lo.u32 %%s_own, %%t0, 16, %%s_all;\n"
        "    mov.u32 %%t1, %%ctaid.x;\n    mad.lo.u32 %%id, %%t1, %u, %%t0;\n"
        "    ld.param.u64 %%a_in, [p_in];\n"
        "    ld.param.u64 %%a_thread, [p_out];\n"
        "    mov.u32 %%t2, %%nctaid.x;\n    mul.lo.u32 %%t2, %%t2, %u;\n"
        "    mad.wide.u32 %%a_atom, %%t2, %u, %%a_thread;\n"
        "    mad.wide.u32 %%a_thread, %%id, %u, %%a_thread;\n", m->threads,
        m->threads, GEN_PROGRAM_THREAD, GEN_PROGRAM_THREAD);
    PUT("%s_proto:\n    .callprototype (.param .b32 _) _ (.param .b32 _, "
        ".param .b32 _, .param .b32 _);\n", m->name);
    /* the lanes that my warp has */
    PUT("    and.b32 %%t1, %%t0, 0xffffffe0;\n"
        "    sub.u32 %%t1, %u, %%t1;\n    min.u32 %%t1, %%t1, 32;\n"
        "    bmsk.clamp.b32 %%m0, 0, %%t1;\n", m->threads);
}

/* %u0: an address of `bytes` in p_in. */
static void put_some(struct maker *m, unsigned bytes)
{
    PUT("    mad.lo.u32 %%t0, %%id, 0x%x, 0x%x;\n    shr.u32 %%t0, %%t0, 7;\n"
        "    and.b32 %%t0, %%t0, %u;\n    mad.wide.u32 %%u0, %%t0, %u, "
        "%%a_in;\n", draw(m, 1u << 31) | 1, draw(m, 1u << 31),
        GEN_PROGRAM_IN / bytes - 1, bytes);
}

static void put_values(struct maker *m)
{
    static const struct {
        char c;
        unsigned n, bytes;
        const char *type;
    } sets[] = { { 'r', R_REGS, 4, "b32" }, { 'd', D_REGS, 8, "b64" },
                 { 'f', F_REGS, 4, "f32" }, { 'g', G_REGS, 8, "f64" },
                 { 'h', H_REGS, 2, "b16" } };

    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        for (unsigned k = 0; k < sets[s].n; k++) {
            put_some(m, sets[s].bytes);
            PUT("    ld.global.%s %%%c%u, [%%u0];\n", sets[s].type, sets[s].c,
                k);
        }
    }
    /* some numbers that are small and differ from lane to lane */
    PUT("    mov.u32 %%r0, %%id;\n    and.b32 %%r1, %%r1, 15;\n");
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    and.b32 %%t0, %%r%u, %u;\n    setp.ne.u32 %%p%u, %%t0, 0;\n",
            k, 1 + k, k);
    PUT("    mov.b64 %%u0, 0x%x;\n", draw(m, 1u << 31));
    for (unsigned k = 0; k < 8; k++)
        PUT("    st.local.b64 [%%l_own+%u], %%u0;\n", k * 8);
}

static void put_check(struct maker *m)
{
    if (m->checks == CHECKS)
        return;
    put_fold(m);
    PUT("    st.global.b32 [%%a_thread+%u], %%t7;\n",
        AT_CHECK + m->checks++ * 4);
}

static void put_end(struct maker *m)
{
    for (unsigned k = 0; k < R_REGS; k++)
        PUT("    st.global.b32 [%%a_thread+%u], %%r%u;\n", AT_R + k * 4, k);
    for (unsigned k = 0; k < D_REGS; k++)
        PUT("    st.global.b64 [%%a_thread+%u], %%d%u;\n", AT_D + k * 8, k);
    for (unsigned k = 0; k < F_REGS; k++) {
        put_bits_32(m, k);
        PUT("    st.global.b32 [%%a_thread+%u], %%t0;\n", AT_F + k * 4);
    }
    for (unsigned k = 0; k < H_REGS; k++)
        PUT("    st.global.b16 [%%a_thread+%u], %%h%u;\n", AT_H + k * 2, k);
    for (unsigned k = 0; k < G_REGS; k++) {
        put_bits(m, k);
        PUT("    st.global.b64 [%%a_thread+%u], %%u0;\n", AT_G + k * 8);
    }
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    selp.b32 %%t0, 1, 0, %%p%u;\n"
            "    st.global.b8 [%%a_thread+%u], %%t0;\n", k, AT_P + k);
    PUT("    ret;\n}\n");
}

struct gen_program gen_program_make(uint64_t seed, const char *name)
{
    static const unsigned sizes[] = { 32, 40, 64, 72, 96, 128, 256, 33 };
    struct gen_program p = { NULL, 0, 0, 0 };
    struct maker maker = { .state = seed, .name = name }, *m = &maker;
    unsigned parts = 6, atoms = 0;

    m->b.cap = TEXT_CAP;
    m->b.s = malloc(TEXT_CAP);
    if (!m->b.s)
        return p;
    m->threads = p.threads = sizes[draw(m, 8)];
    p.blocks = 1 + draw(m, 4);
    PUT(".const .align 8 .b32 %s_c[16] = { %u", name, draw(m, 1u << 31));
    for (unsigned k = 1; k < 16; k++)
        PUT(", %u", draw(m, 1u << 31));
    PUT(" };\n");
    for (unsigned k = 0; k < FUNCS; k++)
        put_func(m, k);
    m->in_func = false;
    m->uniform = true;
    m->full = m->threads % 32 == 0;
    m->budget = 70;
    put_start(m);
    put_values(m);
    for (unsigned k = 0; k < parts && m->budget > 0; k++) {
        body(m, 16);
        put_check(m);
    }
    put_end(m);
    for (unsigned k = 0; k < ROWS; k++)
        atoms += rows[k].kind == ATOM;
    p.text = m->b.s;
    p.out_bytes = (size_t)p.threads * p.blocks * GEN_PROGRAM_THREAD +
        (size_t)atoms * PLACES * 8;
    return p;
}

/* --------------------------------------------------------------- memory -- */

void gen_program_fill_in(uint8_t *in)
{
    for (uint32_t k = 0; k < GEN_PROGRAM_IN / 8; k++) {
        unsigned type = k % 3 == 0 ? FGS__T_F64 : k % 3 == 1 ? FGS__T_F32
                                                             : FGS__T_U32;
        uint64_t v = gen_value(type, 0, k * 7);

        if (type != FGS__T_F64)
            v |= gen_value(type, 1, k * 7) << 32;
        memcpy(in + k * 8, &v, 8);
    }
}

void gen_program_fill_out(const struct gen_program *p, uint64_t seed,
                          uint8_t *out)
{
    uint8_t *at = out + (size_t)p->threads * p->blocks * GEN_PROGRAM_THREAD;

    memset(out, 0xcc, p->out_bytes);
    for (unsigned row = 0; row < ROWS; row++) {
        if (rows[row].kind != ATOM)
            continue;
        for (unsigned k = 0; k < PLACES; k++, at += 8) {
            uint64_t v = gen_mix(seed ^ (row * PLACES + k));

            /* sums of whole numbers are exact */
            if (strstr(rows[row].text, "add.f"))
                v = 0;
            memcpy(at, &v, 8);
        }
    }
}

char *gen_program_module(const struct gen_program *p)
{
    static const char head[] =
        ".version 9.0\n.target sm_90\n.address_size 64\n";
    size_t n = strlen(p->text) + sizeof head;
    char *text = malloc(n);

    if (text)
        snprintf(text, n, "%s%s", head, p->text);
    return text;
}

void gen_program_place(const struct gen_program *p, size_t at, char *text,
                       size_t cap)
{
    static const struct {
        unsigned at, bytes;
        char c;
    } sets[] = { { AT_R, 4, 'r' }, { AT_D, 8, 'd' }, { AT_F, 4, 'f' },
                 { AT_H, 2, 'h' }, { AT_G, 8, 'g' }, { AT_P, 1, 'p' },
                 { AT_CHECK, 4, 'c' } };
    size_t threads = (size_t)p->threads * p->blocks;
    size_t id = at / GEN_PROGRAM_THREAD, in = at % GEN_PROGRAM_THREAD, k = 6;

    if (id >= threads) {
        at = (at - threads * GEN_PROGRAM_THREAD) / 8;
        snprintf(text, cap, "atomic row %zu place %zu", at / PLACES,
                 at % PLACES);
        return;
    }
    while (sets[k].at > in)
        k--;
    snprintf(text, cap, "block %zu thread %zu: %s%c%zu", id / p->threads,
             id % p->threads, sets[k].c == 'c' ? "check " : "%", sets[k].c,
             (in - sets[k].at) / sets[k].bytes);
}
