/* check_operand.c -- the operands of an instruction against its row's shape
 *
 * The letters of a shape are explained at the head of check.c.
 */
#include "ptx/parse.h"
#include "base/compat.h"

static bool is_pred(const struct fgs__ptx_operand *o)
{
    return o->kind == FGS__O_REG && o->sym->type == FGS__T_PRED && !o->neg;
}

static bool check_pred(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       bool sink)
{
    if (is_pred(o) || (sink && o->kind == FGS__O_SINK))
        return true;
    fgs__check_operand_error(c, o, sink ? "a predicate register or _ expected"
                                        : "a predicate register expected");
    return false;
}

static bool check_pred_source(struct fgs__check *c,
                              const struct fgs__ptx_operand *o)
{
    if ((o->kind == FGS__O_REG && o->sym->type == FGS__T_PRED) ||
        o->kind == FGS__O_INT)
        return true;
    fgs__check_operand_error(c, o, "a predicate expected");
    return false;
}

/* p|q in its variants; `first` checks what stands before the bar. */
static bool check_pair(struct fgs__check *c, const struct fgs__ptx_operand *o,
                       char role, enum fgs__ptx_type t, unsigned use)
{
    if (o->kind == FGS__O_PAIR && o->child[0].kind == FGS__O_REG &&
        o->child[0].sym->vec) {
        fgs__check_operand_error(c, o, "a component of a vector cannot stand "
                                 "before |");
        return false;
    }
    if (o->kind != FGS__O_PAIR) {
        if (role == 'E') {
            fgs__check_operand_error(c, o, "result|predicate expected");
            return false;
        }
        if (role == 'Q' || role == 'V')
            return role == 'V'
                ? fgs__check_value(c, o, t, use | FGS__USE_SINK)
                : fgs__check_value(c, o, t, use);
        return check_pred(c, o, role == 'P');
    }
    switch (role) {
    case 'P': /* setp takes _ on either side */
        return check_pred(c, &o->child[0], true) &&
            check_pred(c, &o->child[1], true);
    case 'W':
        return check_pred(c, &o->child[0], false) &&
            check_pred(c, &o->child[1], true);
    case 'Q':
        return fgs__check_value(c, &o->child[0], t, use) &&
            check_pred(c, &o->child[1], true);
    case 'V':
        return fgs__check_value(c, &o->child[0], t, use | FGS__USE_SINK) &&
            check_pred(c, &o->child[1], true);
    default:
        return fgs__check_value(c, &o->child[0], t, use | FGS__USE_SINK) &&
            check_pred(c, &o->child[1], false);
    }
}

/* The type that .wide makes of a factor's. */
static enum fgs__ptx_type doubled(const struct fgs__ptx_insn *i)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)i->type[0];

    return i->mod[FGS__G_WIDTH] == FGS__M_WIDE ? fgs__ptx_widened(t) : t;
}

/* {_, _} leaves nothing to tell the type by, says the assembler. */
static bool all_sinks(const struct fgs__ptx_operand *o)
{
    unsigned k = 0;

    while (k < o->children && o->child[k].kind == FGS__O_SINK)
        k++;
    return k == o->children;
}

static bool check_vector(struct fgs__check *c, const struct fgs__ptx_operand *o,
                         enum fgs__ptx_type t, unsigned use)
{
    unsigned n = c->i->mod[FGS__G_VEC] == FGS__M_V2 ? 2
        : c->i->mod[FGS__G_VEC] == FGS__M_V4 ? 4 : 8;
    /* What _ stands for is not loaded; nor stored, of 256 bits. */
    bool sinks = use & FGS__USE_DEST ||
        (c->i->op == FGS__OP_ST && fgs__ptx_types[t].bits * n == 256);

    if (o->kind == FGS__O_SINK && use & FGS__USE_SINK)
        return true;
    if (o->kind != FGS__O_VEC || o->children != n) {
        fgs__check_operand_error(c, o, "a vector of %u expected", n);
        return false;
    }
    if (sinks && all_sinks(o)) {
        fgs__check_operand_error(c, o, use & FGS__USE_SINK
                                 ? "write _ instead of a vector of them"
                                 : "a vector of nothing but _");
        return false;
    }
    for (unsigned k = 0; k < n; k++) {
        if (!fgs__check_value(c, &o->child[k], t,
                              use | (sinks ? FGS__USE_SINK : 0)))
            return false;
    }
    return true;
}

static bool check_label(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    if (o->kind == FGS__O_LABEL)
        return true;
    fgs__check_operand_error(c, o, "a label expected");
    return false;
}

static bool check_immediate(struct fgs__check *c,
                            const struct fgs__ptx_operand *o)
{
    if (o->kind == FGS__O_INT)
        return true;
    fgs__check_operand_error(c, o, "an integer constant expected");
    return false;
}

/* Fixed by the opcode, and not as any register of so many bits; or of redux,
 * but for floats. */
static bool is_exact(const struct fgs__check *c, const struct fgs__row_arg *a)
{
    if (c->i->op == FGS__OP_REDUX && c->i->type[0] != FGS__T_F32)
        return true;
    return a->type && fgs__ptx_types[a->type].kind != FGS__K_BITS;
}

static bool check_arg(struct fgs__check *c, const struct fgs__row_arg *a,
                      const struct fgs__ptx_operand *o)
{
    static const struct {
        char role;
        uint8_t use;
    } values[] = {
        { 'd', FGS__USE_DEST },
        { 'D', FGS__USE_DEST | FGS__USE_WIDE },
        { 'e', FGS__USE_DEST | FGS__USE_SINK },
        { 's', FGS__USE_SOURCE },
        { 'S', FGS__USE_SOURCE | FGS__USE_WIDE },
        { 'X', FGS__USE_SOURCE | FGS__USE_WIDE | FGS__USE_SREG },
        { 'r', FGS__USE_DEST },
    };
    enum fgs__ptx_type t = a->type ? a->type : c->i->type[a->index];
    unsigned exact = is_exact(c, a) ? FGS__USE_EXACT : 0;
    bool narrow = o->kind == FGS__O_REG &&
        fgs__ptx_types[o->sym->type].bits == 32;

    if (exact && t == FGS__T_B32)
        t = FGS__T_U32;
    switch (a->role) {
    case 'k':
    case 'n':
        if (c->i->types > 2)
            return fgs__check_value(c, o, (enum fgs__ptx_type)c->i->type[2],
                                    FGS__USE_SOURCE);
        return fgs__check_value(c, o, a->role == 'k' && c->i->types > 1
                                ? (enum fgs__ptx_type)c->i->type[1] : t,
                                FGS__USE_SOURCE);
    case 'm':
        return fgs__check_value(c, o, c->i->types > 1
                                ? (enum fgs__ptx_type)c->i->type[1] : t,
                                FGS__USE_SOURCE);
    case 'w':
        return fgs__check_value(c, o, doubled(c->i), FGS__USE_DEST);
    case 't':
        return fgs__check_value(c, o, doubled(c->i), FGS__USE_SOURCE);
    case 'y':
        return o->kind == FGS__O_SYM ||
            fgs__check_value(c, o, t, FGS__USE_SOURCE);
    case 'p':
        return check_pred(c, o, false);
    case 'A':
        return fgs__check_value(c, o, narrow ? FGS__T_U32 : FGS__T_U64,
                                narrow ? FGS__USE_EXACT : FGS__USE_SOURCE);
    case 'P':
    case 'Q':
    case 'V':
    case 'E':
    case 'W':
        return check_pair(c, o, a->role, t, FGS__USE_DEST | exact);
    case 'c':
        return check_pred_source(c, o);
    case 'a':
        if (!a->free_space)
            return fgs__check_addr(c, o, (enum fgs__ptx_mod)c->i->space[0]);
        return true;
    case 'l':
        return check_label(c, o);
    case 'g':
        return fgs__check_branches(c, o);
    case 'i':
        return check_immediate(c, o);
    }
    for (unsigned k = 0; k < sizeof values / sizeof values[0]; k++) {
        if (values[k].role == a->role)
            return a->vec && c->i->mod[FGS__G_VEC]
                ? check_vector(c, o, t, values[k].use)
                : fgs__check_value(c, o, t, values[k].use | exact);
    }
    return true;
}

/* Is this operand written?  `o` = the next one, NULL = none left. */
static bool arg_present(const struct fgs__check *c,
                        const struct fgs__row_arg *a,
                        const struct fgs__ptx_operand *o)
{
    unsigned mod;

    if (!a->optional)
        return true;
    if (!a->mod) /* r? stands before an address: the kind tells */
        return o && (a->role != 'r' || o->kind != FGS__O_ADDR);
    mod = c->i->mod[a->group];
    return (a->mod == UINT16_MAX ? mod != 0 : mod == a->mod) != a->unless;
}

static enum fgs__ptx_type first_type(const struct fgs__check *c,
                                     const struct fgs__row_arg *a)
{
    return (enum fgs__ptx_type)(a->type ? a->type : c->i->type[a->index]);
}

/* One predicate may be written as p|_, says the assembler. */
static void drop_sink(struct fgs__ptx_operand *o)
{
    if (o->kind == FGS__O_PAIR && o->child[1].kind == FGS__O_SINK)
        *o = o->child[0];
}

/* The assembler makes these of texts of its own, which read names alone. */
static bool is_text(const struct fgs__ptx_insn *i)
{
    unsigned round = i->mod[FGS__G_ROUND];
    bool directed = round == FGS__M_RZ || round == FGS__M_RM ||
        round == FGS__M_RP;
    const struct fgs__ptx_type_info *t = &fgs__ptx_types[i->type[0]];

    if (t->kind != FGS__K_FLOAT)
        return (i->op == FGS__OP_DIV || i->op == FGS__OP_REM) && t->bits == 64;
    return directed && (i->op == FGS__OP_DIV ||
                        (t->bits == 64 && (i->op == FGS__OP_RCP ||
                                           i->op == FGS__OP_SQRT)));
}

static void check_text_operands(struct fgs__check *c)
{
    if (!is_text(c->i))
        return;
    for (unsigned k = 0; k < c->i->operands; k++) {
        const struct fgs__ptx_operand *o = &c->i->operand[k];

        if (fgs__is_sum(o) || (o->kind == FGS__O_REG && o->sym->vec)) {
            fgs__check_operand_error(c, o, "a sum or component must be moved "
                                     "to a register");
            return;
        }
    }
}

void fgs__check_operands(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned n = 0, want = 0;

    if (c->row->args && c->row->arg[0].role == '*')
        return;
    for (unsigned k = 0; k < c->row->args; k++)
        want += arg_present(c, &c->row->arg[k],
                            want < i->operands ? &i->operand[want] : NULL);
    if (want != i->operands) {
        fgs__check_error(c, "%u operand%s expected, not %u", want,
                         want == 1 ? "" : "s", i->operands);
        return;
    }
    for (unsigned k = 0; k < c->row->args; k++) {
        const struct fgs__row_arg *a = &c->row->arg[k];

        if (n == want || !arg_present(c, a, &i->operand[n]))
            continue;
        if (a->role == 'p' || (a->role == 'd' && first_type(c, a) ==
                               FGS__T_PRED))
            drop_sink(&i->operand[n]);
        /* An element of an array is a memory operand by itself (ISA 6.4.2),
         * of loads and stores as the assembler has it. */
        if (a->role == 'a' && (i->op == FGS__OP_LD || i->op == FGS__OP_LDU ||
                               i->op == FGS__OP_ST) &&
            i->operand[n].kind == FGS__O_SYM && i->operand[n].indexed)
            i->operand[n].kind = FGS__O_ADDR;
        if (!check_arg(c, a, &i->operand[n++]))
            return;
    }
    check_text_operands(c);
}
