/* call.c -- calls, and the lists and prototypes that they and brx.idx name */
#include "ptx/parse.h"
#include "base/compat.h"

enum { CALL_ARGS = 128, TARGETS_MOST = 4096 };

/* ----------------------------------------------- lists and prototypes -- */

/* A, B; or f, g; -- labels are looked up when their scope closes. */
static void parse_names(struct fgs__parse *p, struct fgs__ptx_targets *t)
{
    struct fgs__ptx_operand *list = NULL;
    size_t cap = 0;

    do {
        struct fgs__tok tok = p->tok;
        struct fgs__ptx_operand *o;
        struct fgs__name *n;

        if (!fgs__parse_expect(p, FGS__TOK_NAME, "a name"))
            break;
        n = fgs__name_get(p, &tok);
        if (t->count == TARGETS_MOST)
            fgs__parse_error(p, tok.pos, "more than %d targets", TARGETS_MOST);
        if (n && !fgs__vec_reserve(p->alloc, (void **)&list, &cap, t->count,
                                   sizeof *list))
            p->nomem = true;
        if (!n || p->nomem || p->failed)
            break;
        o = memset(&list[t->count++], 0, sizeof *list);
        o->kind = t->labels ? FGS__O_LABEL : FGS__O_SYM;
        o->pos = tok.pos;
        o->sym = t->labels ? NULL : fgs__scope_find(p, n);
        if (!t->labels && !o->sym)
            fgs__scope_unknown(p, n, tok.pos);
        else if (!t->labels && (o->sym->kind != FGS__SYM_FUNC ||
                                o->sym->func->entry))
            fgs__parse_error(p, tok.pos, "'%s' is no function", n->text);
        else if (!t->labels)
            o->sym->taken = true;
        else
            o->imm = (uint64_t)(uintptr_t)n;
    } while (!p->failed && fgs__parse_accept(p, ','));
    t->list = fgs__parse_alloc(p, (t->count + 1) * sizeof *list);
    for (uint32_t k = 0; k < t->count && t->list; k++) {
        struct fgs__ptx_operand *o = &t->list[k];

        *o = list[k];
        o->imm = 0;
        if (t->labels)
            fgs__scope_want_label(
                p, (struct fgs__name *)(uintptr_t)list[k].imm, o->pos, o);
    }
    fgs__free(p->alloc, list);
}

/* {(results)} _ {(parameters)} {directives} */
static void parse_proto(struct fgs__parse *p, struct fgs__ptx_targets *t,
                        struct fgs__ptx_pos pos)
{
    struct fgs__ptx_func *f = fgs__parse_alloc(p, sizeof *f);

    if (!f)
        return;
    t->proto = f;
    f->name = "prototype";
    f->pos = pos;
    if (p->tok.kind == '(')
        fgs__func_results(p, FGS__PARAM_PROTO, f);
    if (p->failed || !fgs__parse_expect(p, '_', "'_'"))
        return;
    if (p->tok.kind == '(')
        fgs__func_params(p, FGS__PARAM_PROTO, &f->params, &f->param_count);
    while (!p->failed && fgs__func_directive(p, f))
        ;
}

void fgs__targets_parse(struct fgs__parse *p)
{
    enum fgs__directive d = fgs__parse_word(p)->directive;
    struct fgs__ptx_pos pos = p->tok.pos;
    struct fgs__ptx_targets *t = fgs__parse_alloc(p, sizeof *t);

    if (!t)
        return;
    if (!p->label) {
        fgs__parse_error(p, pos, "'.%s' needs a label before it",
                         fgs__parse_word(p)->text);
        return;
    }
    if (!fgs__check_version(p, pos, d == FGS__D_BRANCHTARGETS ? 60 : 21, 0, 0,
                            "'.%s'", fgs__parse_word(p)->text))
        return;
    fgs__parse_next(p);
    p->label->targets = t;
    t->labels = d == FGS__D_BRANCHTARGETS;
    if (d == FGS__D_CALLPROTOTYPE)
        parse_proto(p, t, pos);
    else
        parse_names(p, t);
    if (!p->failed)
        fgs__parse_expect(p, ';', "';'");
}

bool fgs__check_branches(struct fgs__check *c, const struct fgs__ptx_operand *o)
{
    if (o->kind == FGS__O_LABEL && o->sym && o->sym->targets &&
        o->sym->targets->labels)
        return true;
    fgs__check_operand_error(c, o, "a label of '.branchtargets' expected");
    return false;
}

/* -------------------------------------------------------- call: parsing -- */

/* (a, b, ...) into one operand with children. */
static bool parse_args(struct fgs__parse *p, struct fgs__ptx_operand *o)
{
    struct fgs__ptx_operand list[CALL_ARGS];
    unsigned n = 0;

    o->kind = FGS__O_VEC;
    o->pos = p->tok.pos;
    fgs__parse_next(p);
    if (fgs__parse_accept(p, ')'))
        return true;
    do {
        if (n == CALL_ARGS) {
            fgs__parse_error(p, p->tok.pos, "more than %d arguments",
                             CALL_ARGS);
            return false;
        }
        if (!fgs__operand_parse(p, &list[n], false, true))
            return false;
        if (list[n].kind == FGS__O_REG && list[n].sym->vec) {
            fgs__parse_error(p, list[n].pos, "a component is no argument");
            return false;
        }
        n++;
    } while (fgs__parse_accept(p, ','));
    if (!fgs__parse_expect(p, ')', "',' or ')'"))
        return false;
    o->children = (uint8_t)n;
    o->child = fgs__parse_alloc(p, n * sizeof *list);
    if (o->child)
        memcpy(o->child, list, n * sizeof *list);
    return o->child != NULL;
}

/* A function by name, without that being a use of its address. */
static bool parse_callee(struct fgs__parse *p, struct fgs__ptx_operand *o)
{
    struct fgs__tok t = p->tok;
    struct fgs__name *n;

    o->pos = t.pos;
    if (!fgs__parse_expect(p, FGS__TOK_NAME, "a function"))
        return false;
    n = fgs__name_get(p, &t);
    o->sym = n ? fgs__scope_find(p, n) : NULL;
    if (n && !o->sym)
        fgs__scope_unknown(p, n, t.pos);
    if (!o->sym)
        return false;
    o->kind = o->sym->kind == FGS__SYM_REG ? FGS__O_REG : FGS__O_SYM;
    return true;
}

bool fgs__call_parse(struct fgs__parse *p, struct fgs__ptx_insn *i)
{
    struct fgs__ptx_operand *o = fgs__parse_alloc(p, 4 * sizeof *o);

    if (!o)
        return false;
    i->operand = o;
    i->operands = 4;
    o[0].kind = o[2].kind = FGS__O_VEC;
    o[3].kind = FGS__O_SINK;
    o[0].pos = o[2].pos = o[3].pos = p->tok.pos;
    if (p->tok.kind == '(' &&
        (!parse_args(p, &o[0]) || !fgs__parse_expect(p, ',', "','")))
        return false;
    if (!parse_callee(p, &o[1]))
        return false;
    if (fgs__parse_accept(p, ';'))
        return true;
    if (!fgs__parse_expect(p, ',', "',' or ';'"))
        return false;
    if (p->tok.kind == '(') {
        if (!parse_args(p, &o[2]))
            return false;
        if (fgs__parse_accept(p, ';'))
            return true;
        if (!fgs__parse_expect(p, ',', "',' or ';'"))
            return false;
    }
    return fgs__operand_parse(p, &o[3], false, true) &&
        fgs__parse_expect(p, ';', "';'");
}

/* ------------------------------------------------------- call: checking -- */

/* A .param variable against a parameter. */
static void check_variable(struct fgs__check *c,
                           const struct fgs__ptx_operand *o,
                           const struct fgs__ptx_sym *formal)
{
    bool var = formal->kind == FGS__SYM_VAR;
    uint64_t bytes = var ? formal->bytes
                         : fgs__ptx_types[formal->type].bits / 8;

    if (o->sym->space != FGS__M_PARAM || !o->sym->frame || o->offset)
        fgs__check_operand_error(c, o, "'%s' is no .param variable of the "
                                 "caller", o->sym->name);
    else if (o->sym->bytes != bytes && !fgs__ptx_unsized(formal))
        fgs__check_operand_error(c, o, "'%s' has %llu bytes, parameter '%s' "
                                 "has %llu", o->sym->name,
                                 (unsigned long long)o->sym->bytes,
                                 formal->name, (unsigned long long)bytes);
    else if (var && !o->sym->dims != !formal->dims)
        fgs__check_operand_error(c, o, "'%s' is %s array, parameter '%s' is %s",
                                 o->sym->name, o->sym->dims ? "an" : "no",
                                 formal->name, formal->dims ? "one" : "none");
    else if (var && o->sym->align != formal->align)
        fgs__check_operand_error(c, o, "'%s' is aligned to %u bytes, parameter "
                                 "'%s' to %u", o->sym->name, o->sym->align,
                                 formal->name, formal->align);
}

/* An argument against a parameter: a .param variable of the same size and
 * alignment, a register that fits, or a constant. */
static void check_actual(struct fgs__check *c, const struct fgs__ptx_operand *o,
                         const struct fgs__ptx_sym *formal, bool result)
{
    bool array = formal->kind == FGS__SYM_VAR && formal->dims;

    if (o->kind == FGS__O_SYM && o->sym->kind == FGS__SYM_VAR)
        check_variable(c, o, formal);
    else if (array)
        fgs__check_operand_error(c, o, "parameter '%s' is an array: a .param "
                                 "variable expected", formal->name);
    else if (o->kind != FGS__O_SINK || !result)
        fgs__check_value(c, o, formal->type,
                         result ? FGS__USE_DEST : FGS__USE_SOURCE);
}

static void check_actuals(struct fgs__check *c,
                          const struct fgs__ptx_operand *list,
                          const struct fgs__ptx_sym *formal, bool result)
{
    unsigned n = 0, want = 0, least = 0;

    for (const struct fgs__ptx_sym *v = formal; v; v = v->next) {
        want++;
        least += !fgs__ptx_unsized(v);
    }
    if (list->children != want && list->children != least) {
        fgs__check_operand_error(c, list, "%u %s%s expected, not %u", want,
                                 result ? "result" : "argument",
                                 want == 1 ? "" : "s", list->children);
        return;
    }
    for (; n < list->children && !c->p->failed; formal = formal->next)
        check_actual(c, &list->child[n++], formal, result);
}

static void check_against(struct fgs__check *c, const struct fgs__ptx_func *f)
{
    check_actuals(c, &c->i->operand[0], f->rets, true);
    if (!c->p->failed)
        check_actuals(c, &c->i->operand[2], f->params, false);
}

static void check_indirect(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = &c->i->operand[3];
    const struct fgs__ptx_sym *r = c->i->operand[1].sym;
    const struct fgs__ptx_targets *t;

    if (o->kind != FGS__O_LABEL || !o->sym || !o->sym->targets ||
        o->sym->targets->labels) {
        fgs__check_operand_error(c, &c->i->operand[1],
                                 "a call through a register needs the label "
                                 "of '.callprototype' or '.calltargets'");
        return;
    }
    if (r->vec || (fgs__ptx_types[r->type].bits != 32 &&
                   fgs__ptx_types[r->type].bits != 64) ||
        fgs__ptx_types[r->type].kind == FGS__K_FLOAT) {
        fgs__check_operand_error(c, &c->i->operand[1],
                                 "register '%s' holds no address", r->name);
        return;
    }
    if (!fgs__check_version(c->p, c->i->pos, 21, 20, 0,
                            "call through a register"))
        return;
    t = o->sym->targets;
    if (t->proto)
        check_against(c, t->proto);
    /* A name of the list that is no function's was an error there. */
    for (uint32_t k = 0; k < t->count && !c->p->failed; k++)
        if (t->list[k].sym && t->list[k].sym->kind == FGS__SYM_FUNC)
            check_against(c, t->list[k].sym->func);
}

void fgs__check_call(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = c->i->operand;

    if (o[1].kind == FGS__O_REG)
        check_indirect(c);
    else if (o[1].sym->kind != FGS__SYM_FUNC || o[1].sym->func->entry)
        fgs__check_operand_error(c, &o[1], "'%s' is no function",
                                 o[1].sym->name);
    else if (o[3].kind != FGS__O_SINK)
        fgs__check_operand_error(c, &o[3], "a call by name takes no list of "
                                 "targets");
    else
        check_against(c, o[1].sym->func);
}

/* alloca: the size is as wide as the pointer; the alignment a power of two. */
void fgs__check_stack(struct fgs__check *c)
{
    const struct fgs__ptx_operand *o = &c->i->operand[2];

    if (c->i->operands > 2 &&
        (!o->imm || o->imm > 1u << 23 || (o->imm & (o->imm - 1))))
        fgs__check_operand_error(c, o, "the alignment must be a power of two, "
                                 "2^23 at most");
}
