/* sass_way.c -- ways through the instructions of a kernel
 *
 * A register that holds a constant and is compared with one decides branches:
 * a code of "nobody came" that is looked at behind the loop takes one way
 * only.  Without it a way that no thread takes would break a rule.
 */
#include "sass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char *text, const char *op)
{
    return !strncmp(text, op, strlen(op));
}

/* --------------------------------------------------------------- facts -- */

enum { KNOWN = 6, PREDICATES = 7, REGISTERS = 256 };

/* What is known at a place; registers in order, zero behind the last. */
struct facts {
    uint32_t value[KNOWN];
    uint8_t reg[KNOWN], count;
    uint8_t is_known, is_true; /* predicates */
    uint8_t none[3];           /* sets are compared by their bytes           */
};
_Static_assert(sizeof(struct facts) == KNOWN * 5 + 6, "no padding");

static void forget(struct facts *f, int reg)
{
    int i, k = 0;

    for (i = 0; i < f->count; i++) {
        if (f->reg[i] == reg)
            continue;
        f->reg[k] = f->reg[i];
        f->value[k++] = f->value[i];
    }
    for (i = k; i < f->count; i++)
        f->reg[i] = 0, f->value[i] = 0;
    f->count = (uint8_t)k;
}

static void learn(struct facts *f, int reg, uint32_t value)
{
    int i;

    forget(f, reg);
    if (f->count == KNOWN)
        return;
    for (i = f->count++; i && f->reg[i - 1] > reg; i--) {
        f->reg[i] = f->reg[i - 1];
        f->value[i] = f->value[i - 1];
    }
    f->reg[i] = (uint8_t)reg;
    f->value[i] = value;
}

static bool knows(const struct facts *f, int reg, uint32_t *value)
{
    int i;

    for (i = 0; i < f->count; i++)
        if (f->reg[i] == reg)
            *value = f->value[i];
    return memchr(f->reg, reg, f->count);
}

static void set_predicate(struct facts *f, int p, int value)
{
    uint8_t bit = (uint8_t)(1u << p);

    f->is_known &= (uint8_t)~bit;
    f->is_true &= (uint8_t)~bit;
    if (value < 0)
        return;
    f->is_known |= bit;
    f->is_true |= value ? bit : 0;
}

/* ------------------------------------------------------------- operands -- */

/* The number of "R12", "R12.reuse", "P3"; -1 = it is none. */
static int number_of(const char *operand, char kind)
{
    char *end;
    long n;

    if (operand[0] != kind || operand[1] < '0' || operand[1] > '9')
        return -1;
    n = strtol(operand + 1, &end, 10);
    return strchr(",. ", *end) && n < REGISTERS ? (int)n : -1;
}

/* The k-th operand, "" = there is none. */
static const char *operand(const char *text, int k)
{
    text = strchr(text, ' ');
    for (; text && k > 0; k--)
        text = strstr(text + 1, ", ") ? strstr(text + 1, ", ") + 1 : NULL;
    return text ? text + 1 : "";
}

/* A constant, or a register that holds one. */
static bool value_of(const struct facts *f, const char *text, uint32_t *value)
{
    *value = 0;
    if (starts(text, "RZ"))
        return true;
    if (*text >= '0' && *text <= '9') {
        *value = (uint32_t)strtoul(text, NULL, 0);
        return true;
    }
    return knows(f, number_of(text, 'R'), value);
}

/* How many registers a result may have: one where the instruction is known
 * for it, else as many as there can be. */
static int width_of(const char *text)
{
    static const char *const one[] = {
        "S2R ", "MOV ", "SEL ", "LEA ", "LEA.HI ", "IADD ", "IADD3 ", "VIADD ",
        "LOP3.LUT ", "PRMT ", "SHFL.IDX ", "LDS ",
    };
    size_t i;

    /* what a store takes is no result */
    if (starts(text, "ST") || starts(text, "REDG.") || starts(text, "RED."))
        return 0;
    for (i = 0; i < sizeof one / sizeof one[0]; i++)
        if (starts(text, one[i]))
            return 1;
    return 4;
}

/* Whatever an instruction may write: the first operands. */
static void forget_results(struct facts *f, const char *text)
{
    int k, i, n, width = width_of(text);

    for (k = 0; k < 3; k++) {
        const char *o = operand(text, k);

        n = number_of(o, 'P');
        if (n >= 0 && n < PREDICATES)
            set_predicate(f, n, -1);
        n = k < 2 ? number_of(o, 'R') : -1;
        for (i = 0; n >= 0 && i < width; i++)
            forget(f, n + i);
    }
}

/* Is the register ever compared with a constant?  Others are no facts. */
static void find_compared(const struct sass_entry *e, bool is[REGISTERS])
{
    struct facts none = {.count = 0};
    uint32_t value, i;
    int n;

    memset(is, 0, REGISTERS * sizeof is[0]);
    for (i = 0; i < e->count; i++) {
        const char *t = e->insn[i].text;

        n = number_of(operand(t, 2), 'R');
        if (starts(t, "ISETP.") && n >= 0 &&
            value_of(&none, operand(t, 3), &value))
            is[n] = true;
    }
}

/* A compare of one word: ISETP.NE.AND P0, PT, R9, RZ, PT. */
static int compared(const struct facts *f, const char *t)
{
    bool ne = starts(t, "ISETP.NE.AND ") || starts(t, "ISETP.NE.U32.AND ");
    bool eq = starts(t, "ISETP.EQ.AND ") || starts(t, "ISETP.EQ.U32.AND ");
    uint32_t a, b;

    if ((!ne && !eq) || strcmp(operand(t, 4), "PT") ||
        !value_of(f, operand(t, 2), &a) || !value_of(f, operand(t, 3), &b))
        return -1;
    return ne ? a != b : a == b;
}

/* The bits of an f16 that is printed in decimal. */
static uint32_t half_of(const char *text)
{
    double v = fabs(strtod(text, NULL)), m;
    uint32_t sign = *text == '-' ? 0x8000 : 0;
    int exponent;

    m = frexp(v, &exponent); /* v = m * 2^exponent, m from 1/2 */
    if (exponent < -13)
        return sign | (uint32_t)ldexp(v, 24);
    return sign | (uint32_t)(exponent + 14) << 10 |
           (uint32_t)((m * 2 - 1) * 1024);
}

/* HFMA2 R4, -RZ, RZ, 0, 2.98e-07: a constant in two halves. */
static bool is_halves(const char *t)
{
    return (starts(t, "HFMA2 ") || starts(t, "HFMA2.MMA ")) &&
           starts(operand(t, 1), "-RZ") &&
           starts(operand(t, 2), "RZ") && !strchr(t, 'N');
}

/* What an instruction that is executed makes known. */
static void execute(struct facts *f, const char *t, const bool is[REGISTERS])
{
    bool halves = is_halves(t);
    bool moves = halves || starts(t, "MOV R") ||
                 (starts(t, "IMAD.MOV.U32 R") && starts(operand(t, 2), "RZ"));
    int n = number_of(operand(t, 0), 'R'), p = number_of(operand(t, 0), 'P');
    int is_true = starts(t, "ISETP.") ? compared(f, t) : -1;
    uint32_t value;
    bool has = moves && n >= 0 && is[n];

    if (has && halves)
        value = half_of(operand(t, 3)) << 16 | half_of(operand(t, 4));
    else if (has)
        has = value_of(f, operand(t, t[0] == 'M' ? 1 : 3), &value);
    if (moves && n >= 0) {
        forget(f, n);
    } else if (starts(t, "CALL")) {
        memset(f, 0, sizeof *f);
    } else {
        forget_results(f, t);
    }
    if (has)
        learn(f, n, value);
    if (p >= 0 && p < PREDICATES && is_true >= 0)
        set_predicate(f, p, is_true);
}

/* ----------------------------------------------------------------- walk -- */

/* The place where the threads of a BSYNC go on: the BSSY before it with the
 * same barrier names it. */
static uint32_t meeting_of(const struct sass_entry *e, uint32_t i)
{
    const char *name = strchr(e->insn[i].text, ' ');
    uint32_t k;

    for (k = i; name && k-- > 0;) {
        const char *t = e->insn[k].text, *b = strchr(t, ' ');

        if (starts(t, "BSSY") && b && starts(b, name) &&
            b[strlen(name)] == ',')
            return e->insn[k].target;
    }
    return SASS_NONE;
}

static bool is_end(const char *text)
{
    return starts(text, "EXIT") || starts(text, "RET") || starts(text, "KILL");
}

static bool is_branch(const struct sass_insn *n)
{
    return starts(n->text, "BRA") || starts(n->text, "JMP");
}

/* A branch that is always taken names nothing but its place. */
static bool has_place_alone(const struct sass_insn *n)
{
    const char *args = strchr(n->text, ' ');

    return is_branch(n) && args && (args[1] == '`' || args[1] == '0');
}

/* ELECT ... BRA.U.ANY: the assembler's loop over the active lanes around an
 * instruction that a lane issues alone; each lane goes through it once. */
static bool is_lane_loop(const struct sass_entry *e, const struct sass_insn *n)
{
    return starts(n->text, "BRA.U.ANY ") && n->target != SASS_NONE &&
           n->target < (uint32_t)(n - e->insn) &&
           (starts(e->insn[n->target].text, "ELECT ") ||
            starts(e->insn[n->target + 1].text, "ELECT "));
}

struct state {
    uint32_t insn;
    struct facts facts;
};

/* Every place is seen with a few sets of facts; with more of them it is seen
 * without any, which is more ways, never fewer. */
enum { SETS = 24 };

struct walk {
    const struct sass_entry *e;
    bool is[REGISTERS];
    struct state *state; /* SETS + 1 for each instruction                    */
    uint8_t *sets;       /* how many of them are used                        */
    uint32_t *todo;      /* indices of states                                */
    size_t count;
};

static void go(struct walk *w, uint32_t i, struct facts f)
{
    struct state *s;
    int k;

    if (i >= w->e->count)
        return;
    s = &w->state[(size_t)i * (SETS + 1)];
    if (w->sets[i] > SETS)
        return;
    if (w->sets[i] == SETS)
        memset(&f, 0, sizeof f);
    for (k = 0; k < w->sets[i]; k++)
        if (!memcmp(&s[k].facts, &f, sizeof f))
            return;
    s[k].insn = i;
    s[k].facts = f;
    w->sets[i]++;
    w->todo[w->count++] = i * (SETS + 1) + (uint32_t)k;
}

/* All instructions that may come next. */
static void go_on(struct walk *w, uint32_t i, struct facts f)
{
    const struct sass_insn *n = &w->e->insn[i];
    bool can = true, must = !n->guarded;
    uint32_t k, meet;

    if (n->guard >= 0 && f.is_known >> n->guard & 1) {
        can = (f.is_true >> n->guard & 1) != n->guard_not;
        must = can;
    }
    if (can && must)
        execute(&f, n->text, w->is);
    else if (can)
        forget_results(&f, n->text);
    if (can && starts(n->text, "BSYNC") &&
        (meet = meeting_of(w->e, i)) != SASS_NONE) {
        go(w, meet, f);
        return;
    }
    /* a table that the listing does not name may hold any place */
    if (can && (starts(n->text, "BRX") || starts(n->text, "JMX")))
        for (k = 0; k < w->e->count; k++)
            if (w->e->insn[k].in_table ||
                !strstr(n->text, "BRANCH_TARGETS "))
                go(w, k, f);
    /* BSSY names where it is left, not where it goes */
    if (can && n->target != SASS_NONE && !starts(n->text, "BSSY") &&
        !is_lane_loop(w->e, n))
        go(w, n->target, f);
    if (!must || !(is_end(n->text) || has_place_alone(n) ||
                   starts(n->text, "BRX")))
        go(w, i + 1, f);
}

static uint32_t walk(struct walk *w, uint64_t to, uint64_t by, bool guarded)
{
    while (w->count) {
        const struct state *s = &w->state[w->todo[--w->count]];
        const struct sass_insn *n = &w->e->insn[s->insn];

        if (n->marks & to && n->guarded == guarded)
            return s->insn;
        if (!(n->marks & by) || (n->guarded && !guarded))
            go_on(w, s->insn, s->facts);
    }
    return SASS_NONE;
}

uint32_t sass_way(const struct sass_entry *e, uint64_t from, uint64_t to,
                  uint64_t by, bool guarded, bool *good)
{
    size_t states = (e->count + 1) * (SETS + 1);
    struct walk w = {.e = e,
                     .state = calloc(states, sizeof(struct state)),
                     .sets = calloc(e->count + 1, 1),
                     .todo = malloc(states * sizeof(uint32_t))};
    struct facts none;
    uint32_t i, found = SASS_NONE;

    memset(&none, 0, sizeof none);
    *good = w.state && w.sets && w.todo;
    if (*good) {
        find_compared(e, w.is);
        if (from & UINT64_C(1) << SASS_ENTRY)
            go(&w, 0, none);
        for (i = 0; i < e->count; i++)
            if (e->insn[i].marks & from)
                go_on(&w, i, none);
        found = walk(&w, to, by, guarded);
    }
    free(w.state);
    free(w.sets);
    free(w.todo);
    return found;
}
