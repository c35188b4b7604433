/* forms.c -- the forms of each row that the checker takes for sm_90 */
#include "gen.h"
#include "base/compat.h"

#include <stdarg.h>
#include <stdlib.h>

/* Families of which no forms are made: what they do is not a value of
 * registers, or every other form shows it. */
static const struct {
    const char *family, *reason;
} reasons[] = {
    { "mov", "carries the operands of every other form" },
    { "ld", "carries the operands of every other form" },
    { "st", "carries the results of every other form" },
    { "cvta", "addresses differ from device to device" },
    { "control", "the random programs branch" },
    { "call", "the random programs call" },
    { "stack", "addresses differ from device to device" },
    { "mapa", "addresses differ from device to device" },
    { "hint", "no effect on values, or addresses" },
    { "maxnreg", "registers, which no value tells" },
    { "bar", "the random programs have barriers" },
    { "fence", "no effect on one thread" },
    { "sleep", "no effect on values" },
    { "griddep", "no effect on one grid" },
    { "mbar", "needs a protocol; the kernels of ptx/ run on both devices" },
    { "async", "needs a protocol; tests/ptx/run" },
    { "cluster", "addresses and clusters differ from device to device" },
    { "ldmatrix", "fragments; tests/ptx/run" },
    { "mma", "fragments; tests/gpu/test_mma.c" },
    { "wmma", "fragments; tests/gpu/test_mma.c" },
    { "tensor", "needs a tensor map" },
    { "tensormap", "needs a tensor map" },
    { "bulk", "needs a protocol; the kernels of ptx/ run on both devices" },
};

static const char *const families[FGS__OP_COUNT] = {
#define OP(id, word, shape, types, mods, ptx, cc, exec)                        \
    [FGS__OP_##id] = #exec,
#include "ptx/opcode.def"
#undef OP
};

/* Operands that are not registers and immediates of one value each. */
static bool own_shape(unsigned op)
{
    const struct fgs__row *row = &fgs__rows[op];

    if (op == FGS__OP_CVT || op == FGS__OP_ATOM || op == FGS__OP_RED)
        return false;
    for (unsigned k = 0; k < row->args; k++) {
        if (row->arg[k].vec || !strchr("dsmwtSXyrpPQVEci", row->arg[k].role))
            return true;
    }
    return false;
}

const char *gen_no_forms(unsigned op)
{
    if (fgs__rows[op].cc > 90)
        return "not on sm_90";
    if (op == FGS__OP_SHFL_OLD || op == FGS__OP_VOTE_OLD)
        return "without .sync: from PTX 6.4 on not on sm_70 and later";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (!strcmp(reasons[i].family, families[op]))
            return reasons[i].reason;
    }
    if (own_shape(op))
        return "memory, or operands of a shape of their own";
    return NULL;
}

/* Words that change nothing that one thread sees: one choice a form, in turn,
 * instead of all. */
static bool in_turn(unsigned group)
{
    return group == FGS__G_SEM || group == FGS__G_SCOPE;
}

/* Groups left out: a policy is an operand of its own kind, vectors likewise. */
static bool left_out(unsigned group)
{
    return group == FGS__G_CACHE_HINT || group == FGS__G_VEC;
}

/* ------------------------------------------------------------ operands -- */

static unsigned doubled(unsigned type)
{
    switch (type) {
    case FGS__T_U16: return FGS__T_U32;
    case FGS__T_S16: return FGS__T_S32;
    case FGS__T_U32: return FGS__T_U64;
    case FGS__T_S32: return FGS__T_S64;
    default: return type;
    }
}

static bool is_there(const struct fgs__row_arg *a, const struct gen_form *f)
{
    bool there;

    if (!a->optional)
        return true;
    if (!a->mod)
        return false;
    there = a->mod == UINT16_MAX ? f->mod[a->group] != 0
                                 : f->mod[a->group] == a->mod;
    return there != a->unless;
}

static unsigned type_of(const struct fgs__row_arg *a, const struct gen_form *f)
{
    bool wide = f->mod[FGS__G_WIDTH] == FGS__M_WIDE;

    if (strchr("pPc", a->role))
        return FGS__T_PRED;
    if (a->role == 'i' || a->role == 'V')
        return FGS__T_B32;
    if (a->role == 'E')
        return FGS__T_B32;
    if (a->type)
        return a->type;
    if (a->role == 'm' && f->type[1])
        return f->type[1];
    if (wide && (a->role == 'w' || a->role == 't'))
        return doubled(f->type[0]);
    return f->type[a->index];
}

static void add(struct gen_form *f, char role, unsigned type)
{
    struct gen_arg *a;

    if (f->args == GEN_ARGS)
        return;
    a = &f->arg[f->args++];
    a->role = role;
    a->type = (uint8_t)type;
    a->imm = 0;
    if (role == 's' || role == 'c')
        a->in = f->ins++;
}

/* cvt looks at its operands itself: two sources of a pair, random bits. */
static void cvt_args(struct gen_form *f)
{
    unsigned d = f->type[0], s = f->type[1];
    bool pair = strstr(fgs__ptx_types[d].word, "x2") && s == FGS__T_F32;

    add(f, 'd', d);
    add(f, 's', s);
    if (pair)
        add(f, 's', s);
}

static void atom_args(struct gen_form *f)
{
    if (f->op == FGS__OP_ATOM)
        add(f, 'd', f->type[0]);
    add(f, 'a', f->type[0]);
    add(f, 's', f->type[0]);
    if (f->mod[FGS__G_ATOM] == FGS__M_ATOM_CAS)
        add(f, 's', f->type[0]);
    /* what lies there before */
    f->ins++;
}

static void make_args(struct gen_form *f)
{
    const struct fgs__row *row = &fgs__rows[f->op];

    f->args = f->ins = 0;
    if (f->op == FGS__OP_CVT) {
        cvt_args(f);
        return;
    }
    if (f->op == FGS__OP_ATOM || f->op == FGS__OP_RED) {
        atom_args(f);
        return;
    }
    for (unsigned k = 0; k < row->args; k++) {
        const struct fgs__row_arg *a = &row->arg[k];
        char role = strchr("stmySXr", a->role) ? 's' : a->role;

        /* of 16-bit floats there is one result */
        if (role == 'P' &&
            (f->type[0] == FGS__T_F16 || f->type[0] == FGS__T_BF16))
            role = 'p';
        if (is_there(a, f))
            add(f, role, type_of(a, f));
    }
}

void gen_put(struct gen_buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(b->s + b->n, b->cap - b->n, fmt, ap);
    va_end(ap);
    b->n += n > 0 ? (size_t)n : 0;
    if (b->n >= b->cap)
        b->n = b->cap - 1; /* the checker refuses what is cut */
}

/* h 16, r 32, d 64 bits; 8-bit values lie in 16. */
static char letter(unsigned type)
{
    unsigned bits = fgs__ptx_types[type].bits;

    return type == FGS__T_PRED ? 'p' : bits <= 16 ? 'h' : bits == 32 ? 'r'
                                                                     : 'd';
}

static void put_arg(struct gen_buf *b, const struct gen_arg *a, bool first)
{
    char c = letter(a->type);

    gen_put(b, first ? " " : ", ");
    switch (a->role) {
    case 's':
    case 'c':
        gen_put(b, "%%%c%u", c, a->in + 2u);
        break;
    case 'P':
        gen_put(b, "%%p0|%%p1");
        break;
    case 'Q':
    case 'V':
    case 'E':
        gen_put(b, "%%%c0|%%p0", c);
        break;
    case 'i':
        gen_put(b, "0x%x", (unsigned)a->imm);
        break;
    case 'a':
        gen_put(b, "[%%slot]");
        break;
    default:
        gen_put(b, "%%%c0", c);
    }
}

static void make_text(struct gen_form *f)
{
    struct gen_buf b = { f->text, 0, sizeof f->text };

    gen_put(&b, "%s", f->words);
    for (unsigned k = 0; k < f->args; k++)
        put_arg(&b, &f->arg[k], k == 0);
    gen_put(&b, ";");
}

/* In the order of the ISA where it is not that of the row. */
static const uint8_t atom_order[] = { FGS__G_SEM, FGS__G_SCOPE, FGS__G_SPACE,
                                      FGS__G_ATOM, FGS__G_NOFTZ };

static void make_words(struct gen_form *f)
{
    const struct fgs__row *row = &fgs__rows[f->op];
    bool atom = f->op == FGS__OP_ATOM || f->op == FGS__OP_RED;
    struct gen_buf b = { f->words, 0, sizeof f->words };
    unsigned last = FGS__G_COUNT;

    gen_put(&b, "%s", row->word);
    for (unsigned k = 0; k < (atom ? sizeof atom_order : row->mods); k++) {
        unsigned g = atom ? atom_order[k] : row->mod[k].group;

        if (g != last && f->mod[g])
            gen_put(&b, ".%s", fgs__mods[f->mod[g]].word);
        last = g;
    }
    for (unsigned k = 0; k < 2; k++) {
        if (f->type[k])
            gen_put(&b, ".%s", fgs__ptx_types[f->type[k]].word);
    }
}

/* -------------------------------------------------- asking the checker -- */

enum { BATCH = FGS__PTX_DIAGS };

struct batch {
    struct gen_forms *g;
    struct gen_form form[BATCH];
    unsigned count, ptx;
};

static const char head[] =
    ".target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>;"
    ".reg .b64 %slot;\n";
enum { HEAD_LINES = 6 };

static void keep(struct gen_forms *g, const struct gen_form *f, unsigned ptx)
{
    if (g->count == g->cap) {
        uint32_t cap = g->cap ? g->cap * 2 : 1024;
        struct gen_form *p = realloc(g->form, cap * sizeof *p);

        if (!p) {
            g->failed = true;
            return;
        }
        g->form = p;
        g->cap = cap;
    }
    g->form[g->count] = *f;
    g->form[g->count++].ptx = (uint8_t)ptx;
    g->of[f->op]++;
}

static unsigned refused(struct batch *b, unsigned ptx)
{
    static char text[BATCH * 160 + 1024];
    struct fgs__ptx_module *m = NULL;
    struct fgs__ptx_diags d;
    unsigned bad = 0;
    struct gen_buf t = { text, 0, sizeof text };

    gen_put(&t, ".version %u.%u\n%s", ptx / 10, ptx % 10, head);
    for (unsigned k = 0; k < b->count; k++)
        gen_put(&t, "%s\n", b->form[k].text);
    gen_put(&t, "ret; }\n");
    fgs__ptx_diags_init(&d, &fgs__malloc);
    fgs__ptx_load(&m, text, t.n, &fgs__malloc, &d);
    for (unsigned k = 0; k < d.count && k < BATCH; k++) {
        unsigned line = d.item[k].pos.line;

        if (line > HEAD_LINES && line <= HEAD_LINES + b->count)
            bad |= 1u << (line - HEAD_LINES - 1);
    }
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&d);
    return bad;
}

/* What no driver of today takes is asked again as newer text. */
static void flush(struct batch *b)
{
    unsigned bad, bad94 = 0;

    if (!b->count)
        return;
    bad = refused(b, 90);
    if (bad)
        bad94 = refused(b, 94);
    for (unsigned k = 0; k < b->count; k++) {
        if (!(bad >> k & 1))
            keep(b->g, &b->form[k], 90);
        else if (!(bad94 >> k & 1))
            keep(b->g, &b->form[k], 94);
    }
    b->count = 0;
}

static void ask(struct batch *b, const struct gen_form *f)
{
    b->form[b->count] = *f;
    make_words(&b->form[b->count]);
    make_text(&b->form[b->count]);
    b->g->tried++;
    if (++b->count == BATCH)
        flush(b);
}

/* An immediate has a value a form: all functions of lop3. */
static void each_imm(struct batch *b, struct gen_form *f)
{
    make_args(f);
    for (unsigned k = 0; k < f->args; k++) {
        unsigned step = f->mod[FGS__G_BOOL] ? 37 : 1;

        if (f->arg[k].role != 'i')
            continue;
        for (unsigned v = 0; v < 256; v += step) {
            f->arg[k].imm = v;
            ask(b, f);
        }
        return;
    }
    ask(b, f);
}

/* --------------------------------------------------------- enumeration -- */

/* The words of a group that a type may have; *required: one must be there. */
static uint64_t choices(const struct fgs__row *row, unsigned group,
                        unsigned type, bool *required)
{
    uint64_t bits = 0;

    for (unsigned k = 0; k < row->mods; k++) {
        const struct fgs__row_mod *m = &row->mod[k];

        if (m->group != group ||
            (m->types != UINT64_MAX && !(m->types >> type & 1)))
            continue;
        bits |= m->bits;
        *required |= m->required;
    }
    return bits;
}

static void each_mod(struct batch *b, struct gen_form *f, unsigned at)
{
    const struct fgs__row *row = &fgs__rows[f->op];
    unsigned g;
    bool required = false;
    uint64_t bits;

    while (at < row->mods &&
           (left_out(row->mod[at].group) ||
            (at && row->mod[at].group == row->mod[at - 1].group)))
        at++;
    if (at == row->mods) {
        each_imm(b, f);
        return;
    }
    g = row->mod[at].group;
    bits = choices(row, g, f->type[0], &required);
    if (in_turn(g)) {
        /* Both or neither, changed with each form. */
        unsigned n = b->g->tried / (g == FGS__G_SCOPE ? 5 : 1);

        for (unsigned m = 1; m < FGS__M_COUNT; m++) {
            if (fgs__mods[m].group == g && bits >> fgs__mods[m].bit & 1 &&
                fgs__mods[m].bit == n % 8)
                f->mod[g] = (uint16_t)m;
        }
        each_mod(b, f, at + 1);
        f->mod[g] = 0;
        return;
    }
    if (!required)
        each_mod(b, f, at + 1);
    for (unsigned m = 1; m < FGS__M_COUNT; m++) {
        if (fgs__mods[m].group != g || !(bits >> fgs__mods[m].bit & 1))
            continue;
        f->mod[g] = (uint16_t)m;
        each_mod(b, f, at + 1);
    }
    f->mod[g] = 0;
}

static void each_type(struct batch *b, struct gen_form *f, unsigned at)
{
    const struct fgs__row *row = &fgs__rows[f->op];

    if (at >= row->types_least)
        each_mod(b, f, 0);
    if (at == row->types)
        return;
    for (unsigned t = 1; t < FGS__T_COUNT; t++) {
        if (!(row->type[at] >> t & 1) || fgs__ptx_types[t].bits == 128)
            continue;
        f->type[at] = (uint8_t)t;
        each_type(b, f, at + 1);
    }
    f->type[at] = 0;
}

bool gen_forms_make(struct gen_forms *g)
{
    static struct batch b;

    memset(g, 0, sizeof *g);
    fgs__words_init();
    memset(&b, 0, sizeof b);
    b.g = g;
    for (unsigned op = 1; op < FGS__OP_COUNT; op++) {
        struct gen_form f;

        if (gen_no_forms(op))
            continue;
        memset(&f, 0, sizeof f);
        f.op = (uint16_t)op;
        each_type(&b, &f, 0);
        flush(&b);
    }
    return !g->failed;
}

void gen_forms_free(struct gen_forms *g)
{
    free(g->form);
    memset(g, 0, sizeof *g);
}

bool gen_form_sweeps(const struct gen_form *f)
{
    const struct gen_arg *a = &f->arg[f->args - 1];

    return f->ins == 1 && a->role == 's' && a->type != FGS__T_PRED &&
        fgs__ptx_types[a->type].bits <= 64;
}
