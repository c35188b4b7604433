/* program_body.c -- statements of random programs, and what nests them
 *
 * The mask of a nested part is a register of its own, %m1 in %m0: a ballot of
 * those who enter, so that what lanes do together names exactly the lanes that
 * come there, whatever order a device runs them in.  Barriers stand only where
 * all threads of the block come.
 */
#include "program_maker.h"
#include "base/compat.h"

const struct program_row program_rows[] = {
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
enum { ROWS = sizeof program_rows / sizeof program_rows[0] };
const unsigned program_row_count = ROWS;

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
        k = draw(m, program_row_count);
    while (program_rows[k].kind != kind);
    return k;
}

/* Rows of the same kind before this one. */
static unsigned rank(unsigned row)
{
    unsigned n = 0;

    for (unsigned k = 0; k < row; k++)
        n += program_rows[k].kind == program_rows[row].kind;
    return n;
}

static void statement(struct maker *m, enum kind kind)
{
    unsigned row = pick(m, kind);
    const char *text = program_rows[row].text;

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

/* A part whose threads are the mask one deeper; `count` statements. */
static void inner(struct maker *m, unsigned count)
{
    bool uniform = m->uniform, full = m->full;

    m->uniform = m->full = false;
    m->depth++;
    m->nested++;
    program_body(m, count);
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
    program_body(m, 5);
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
    program_body(m, 3);
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

void program_body(struct maker *m, unsigned most)
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
