/* func.c -- functions: head, body, places of their variables */
#include "ptx/parse.h"
#include "base/compat.h"

enum { NESTING = 200 };

static void parse_block(struct fgs__parse *p);

/* --------------------------------------------------------- parameters -- */

uint64_t fgs__func_params(struct fgs__parse *p, enum fgs__param_of of,
                          struct fgs__ptx_sym **list, uint32_t *count)
{
    struct fgs__ptx_sym **end = list;
    uint64_t bytes = 0;

    fgs__parse_next(p);
    if (fgs__parse_accept(p, ')'))
        return 0;
    do {
        struct fgs__ptx_sym *v = fgs__decl_param(p, of);

        if (!v)
            return 0;
        *end = v;
        end = &v->next;
        ++*count;
        if (fgs__ptx_unsized(v) && p->tok.kind == ',')
            fgs__parse_error(p, v->pos, "parameter '%s' has no size and is "
                             "not the last one", v->name);
        if (v->kind == FGS__SYM_VAR) {
            v->offset = fgs__align_up(bytes, v->align);
            bytes = v->offset + v->bytes;
        }
    } while (fgs__parse_accept(p, ','));
    fgs__parse_expect(p, ')', "',' or ')'");
    return bytes;
}

void fgs__func_results(struct fgs__parse *p, enum fgs__param_of of,
                       struct fgs__ptx_func *f)
{
    uint32_t rets = 0;

    fgs__func_params(p, of, &f->rets, &rets);
    if (rets > 1 && f->rets->kind == FGS__SYM_VAR)
        fgs__parse_error(p, f->rets->pos, "a function has one .param result");
    else if (rets && fgs__ptx_unsized(f->rets))
        fgs__parse_error(p, f->rets->pos, "result '%s' has no size",
                         f->rets->name);
}

/* ---------------------------------------------------------------- body -- */

static void declare_label(struct fgs__parse *p, const struct fgs__tok *t)
{
    struct fgs__name *n = fgs__name_get(p, t);
    struct fgs__ptx_sym *sym = n ? fgs__parse_alloc(p, sizeof *sym) : NULL;

    if (!sym)
        return;
    sym->kind = FGS__SYM_LABEL;
    sym->name = n->text;
    sym->pos = t->pos;
    sym->target = (uint32_t)p->insn_count;
    if (!fgs__scope_declare(p, n, sym, 0))
        return;
    *p->syms_end = sym;
    p->syms_end = &sym->next;
    p->label = sym;
}

static bool expect_name(struct fgs__parse *p, const char *word)
{
    if (p->tok.kind == FGS__TOK_NAME && p->tok.n == strlen(word) &&
        !memcmp(p->tok.s, word, p->tok.n)) {
        fgs__parse_next(p);
        return true;
    }
    fgs__parse_expected(p, word);
    return false;
}

/* .loc FILE LINE COLUMN {, function_name NAME{+N}, inlined_at F L C} */
void fgs__skip_loc(struct fgs__parse *p)
{
    uint64_t n;

    fgs__parse_next(p);
    for (int i = 0; i < 3; i++) {
        if (!fgs__parse_number(p, UINT32_MAX, &n, "a number"))
            return;
    }
    if (!fgs__parse_accept(p, ',') || !expect_name(p, "function_name") ||
        !fgs__parse_expect(p, FGS__TOK_NAME, "a label"))
        return;
    if (fgs__parse_accept(p, '+') &&
        !fgs__parse_number(p, UINT64_MAX, &n, "an offset"))
        return;
    if (!fgs__parse_expect(p, ',', "','") || !expect_name(p, "inlined_at"))
        return;
    for (int i = 0; i < 3; i++) {
        if (!fgs__parse_number(p, UINT32_MAX, &n, "a number"))
            return;
    }
}

static void parse_directive(struct fgs__parse *p)
{
    const struct fgs__word *w = fgs__parse_word(p);

    switch (w->directive) {
    case FGS__D_LOC:
        fgs__skip_loc(p);
        break;
    case FGS__D_PRAGMA:
        fgs__skip_pragma(p, FGS__PRAGMA_BODY);
        break;
    case FGS__D_BRANCHTARGETS:
    case FGS__D_CALLTARGETS:
    case FGS__D_CALLPROTOTYPE:
        fgs__targets_parse(p);
        break;
    case FGS__D_REG:
    case FGS__D_ALIGN:
    case FGS__D_ATTRIBUTE:
        fgs__decl_vars(p, FGS__LINK_NONE);
        break;
    default:
        if (w->mod && fgs__mods[w->mod].group == FGS__G_SPACE)
            fgs__decl_vars(p, FGS__LINK_NONE);
        else
            fgs__parse_expected(p, "an instruction or a declaration");
    }
}

/* {@{!}pred} opcode ...; */
static void parse_guarded(struct fgs__parse *p)
{
    struct fgs__tok guard, root;
    bool neg;

    fgs__parse_next(p);
    neg = fgs__parse_accept(p, '!');
    guard = p->tok;
    if (!fgs__parse_expect(p, FGS__TOK_NAME, "a predicate"))
        return;
    root = p->tok;
    if (fgs__parse_expect(p, FGS__TOK_NAME, "an instruction"))
        fgs__insn_parse(p, &guard, neg, &root);
}

static void parse_statement(struct fgs__parse *p)
{
    struct fgs__tok t = p->tok;

    switch (t.kind) {
    case '{':
        parse_block(p);
        break;
    case '@':
        parse_guarded(p);
        break;
    case FGS__TOK_WORD:
        parse_directive(p);
        break;
    case FGS__TOK_NAME:
        fgs__parse_next(p);
        if (fgs__parse_accept(p, ':')) {
            declare_label(p, &t);
            return;
        }
        fgs__insn_parse(p, NULL, false, &t);
        break;
    default:
        fgs__parse_expected(p, "an instruction");
    }
    p->label = NULL;
}

/* { ... }: a scope of its own. */
static void parse_block(struct fgs__parse *p)
{
    struct fgs__ptx_pos pos = p->tok.pos;
    uint64_t top = p->param_top;
    struct fgs__scope scope;

    fgs__parse_next(p);
    if (p->scope->depth >= NESTING) {
        fgs__parse_error(p, pos, "blocks are nested too deeply");
        return;
    }
    fgs__scope_open(p, &scope);
    while (p->tok.kind != '}' && p->tok.kind != FGS__TOK_END && !p->nomem) {
        p->failed = false;
        parse_statement(p);
        if (p->failed)
            fgs__parse_recover(p);
    }
    p->failed = false;
    fgs__scope_close(p);
    p->param_top = top; /* the next block's variables take their places */
    if (p->tok.kind == FGS__TOK_END)
        fgs__parse_error(p, p->tok.pos, "the text ends before the '}' of the "
                         "'{' in line %u", (unsigned)pos.line);
    else
        fgs__parse_next(p);
}

/* ------------------------------------------------------------ the rest -- */

/* Running past the end is a return; a label at the end stands before it. */
static bool close_code(struct fgs__parse *p, struct fgs__ptx_pos end)
{
    struct fgs__ptx_insn *i;

    if (!fgs__vec_reserve(p->alloc, (void **)&p->insn, &p->insn_cap,
                          p->insn_count, sizeof *p->insn)) {
        p->nomem = true;
        return false;
    }
    i = &p->insn[p->insn_count++];
    memset(i, 0, sizeof *i);
    i->op = FGS__OP_RET;
    i->pos = end;
    return true;
}

/* A label that was not known yet may turn out to name a list. */
static void check_branches(struct fgs__parse *p)
{
    for (size_t k = 0; k < p->insn_count && !p->failed; k++) {
        const struct fgs__ptx_insn *i = &p->insn[k];

        if (i->op == FGS__OP_BRA && i->operands && i->operand->sym &&
            i->operand->sym->targets)
            fgs__parse_error(p, i->operand->pos, "'%s' is no place to branch "
                             "to", i->operand->sym->name);
    }
}

static void keep_code(struct fgs__parse *p, struct fgs__ptx_pos end)
{
    struct fgs__ptx_func *f = p->func;

    check_branches(p);

    if (p->nomem || !close_code(p, end))
        return;
    f->insn = fgs__parse_alloc(p, p->insn_count * sizeof *f->insn);
    f->regs = fgs__parse_alloc(p, p->reg_count * sizeof *f->regs + 1);
    if (!f->insn || !f->regs)
        return;
    memcpy(f->insn, p->insn, p->insn_count * sizeof *f->insn);
    f->insn_count = (uint32_t)p->insn_count;
    if (p->reg_count)
        memcpy(f->regs, p->regs, p->reg_count * sizeof *f->regs);
    f->reg_count = (uint32_t)p->reg_count;
    f->call_bytes = p->param_most;
    fgs__func_lay_out(p->func);
    fgs__func_registers(p, f);
}

/* Of two declarations only the later may leave the linkage out (as the
 * assembler has it). */
static bool same_linkage(const struct fgs__ptx_func *old,
                         const struct fgs__ptx_func *f)
{
    return f->linkage == old->linkage ||
        (f->linkage == FGS__LINK_NONE &&
         (old->linkage == FGS__LINK_VISIBLE ||
          old->linkage == FGS__LINK_WEAK));
}

/* A function that was declared: false = an error was reported. */
static bool declare_again(struct fgs__parse *p, struct fgs__ptx_func *f,
                          const struct fgs__ptx_func *old,
                          struct fgs__ptx_pos pos)
{
    unsigned line = (unsigned)old->pos.line;
    const char *why;

    if (old->body)
        fgs__parse_error(p, pos, "'%s' is defined already, in line %u",
                         f->name, line);
    else if (!same_linkage(old, f) || f->noreturn != old->noreturn)
        fgs__parse_error(p, pos, "'%s' is declared with another %s in line %u",
                         f->name, f->noreturn != old->noreturn ? ".noreturn"
                                                               : "linkage",
                         line);
    else if ((why = fgs__other_head(f, old)))
        fgs__parse_error(p, pos, "'%s' is declared with %s in line %u",
                         f->name, why, line);
    return !p->failed;
}

/* The function's own name: new, or that of an earlier declaration. */
static void declare_func(struct fgs__parse *p, struct fgs__ptx_func *f,
                         const struct fgs__tok *t)
{
    struct fgs__name *n = fgs__name_get(p, t);
    struct fgs__ptx_sym *sym;

    if (!n)
        return;
    f->name = n->text;
    sym = n->single ? n->single->sym : NULL;
    if (sym && sym->kind == FGS__SYM_FUNC && sym->func->entry == f->entry) {
        if (!declare_again(p, f, sym->func, t->pos))
            return;
        f->sym = sym;
        if (f->linkage == FGS__LINK_NONE)
            f->linkage = sym->func->linkage;
        if (f->body)
            sym->func = f;
        return;
    }
    sym = fgs__parse_alloc(p, sizeof *sym);
    if (!sym)
        return;
    sym->kind = FGS__SYM_FUNC;
    sym->name = n->text;
    sym->pos = t->pos;
    sym->func = f;
    f->sym = sym;
    fgs__scope_declare(p, n, sym, 0);
}

/* Bind in the module's scope while the function's one is open. */
static void declare_outside(struct fgs__parse *p, struct fgs__ptx_func *f,
                            const struct fgs__tok *t)
{
    struct fgs__scope *inner = p->scope;

    p->scope = inner->outer;
    declare_func(p, f, t);
    p->scope = inner;
}

/* { statements } in the scope of the parameters: they cannot be hidden. */
static void parse_body(struct fgs__parse *p)
{
    struct fgs__ptx_pos pos = p->tok.pos;

    fgs__parse_next(p);
    while (p->tok.kind != '}' && p->tok.kind != FGS__TOK_END && !p->nomem) {
        p->failed = false;
        parse_statement(p);
        if (p->failed)
            fgs__parse_recover(p);
    }
    p->failed = false;
    if (p->tok.kind == FGS__TOK_END)
        fgs__parse_error(p, p->tok.pos, "the text ends before the '}' of the "
                         "'{' in line %u", (unsigned)pos.line);
}

/* What a launch can carry. */
static void check_params(struct fgs__parse *p, const struct fgs__ptx_func *f)
{
    enum { FIRST = 256, OLD = 4352, MOST = 32764 };
    unsigned long long bytes = f->param_bytes;

    if (p->failed || !f->entry || bytes <= FIRST)
        return;
    if (bytes <= OLD) {
        fgs__check_version(p, f->pos, 15, 0, 0, "%llu bytes of parameters",
                           bytes);
        return;
    }
    if (bytes > MOST)
        fgs__parse_error(p, f->pos, "%llu bytes of parameters, %d at most",
                         bytes, MOST);
    else
        fgs__check_version(p, f->pos, 81, 70, 0, "%llu bytes of parameters",
                           bytes);
}

static void parse_head(struct fgs__parse *p, struct fgs__ptx_func *f,
                       struct fgs__tok *name)
{
    bool directives = false;

    p->twice = NULL;
    if (!f->entry && fgs__parse_word(p)->directive == FGS__D_ATTRIBUTE)
        fgs__skip_attribute(p);
    if (!f->entry && p->tok.kind == '(')
        fgs__func_results(p, FGS__PARAM_FUNC, f);
    *name = p->tok;
    f->pos = name->pos;
    if (p->failed || !fgs__parse_expect(p, FGS__TOK_NAME, "a function's name"))
        return;
    if (p->tok.kind == '(')
        f->param_bytes = fgs__func_params(
            p, f->entry ? FGS__PARAM_ENTRY : FGS__PARAM_FUNC, &f->params,
            &f->param_count);
    check_params(p, f);
    while (!p->failed && fgs__func_directive(p, f))
        directives = true;
    if (!p->failed && directives && f->entry && p->tok.kind == ';')
        fgs__parse_error(p, p->tok.pos, "'{' expected before ';': directives "
                         "belong to a kernel with a body");
    if (!p->failed && p->tok.kind == '{' && p->twice)
        fgs__parse_error(p, p->twice->pos, "'%s' is declared twice",
                         p->twice->name);
    if (!p->failed && f->blocksareclusters &&
        !(f->reqntid[0] && f->reqcluster[0]))
        fgs__parse_error(p, f->pos, ".blocksareclusters needs .reqntid and "
                         ".reqnctapercluster");
}

void fgs__func_parse(struct fgs__parse *p, bool entry,
                     enum fgs__ptx_linkage linkage)
{
    struct fgs__ptx_func *f = fgs__parse_alloc(p, sizeof *f);
    struct fgs__scope scope;
    struct fgs__ptx_pos end;
    struct fgs__tok name;

    if (!f)
        return;
    f->entry = entry;
    f->linkage = linkage;
    f->module = p->m;
    p->func = f;
    p->label = NULL;
    p->param_top = p->param_most = 0;
    p->func_number++;
    p->insn_count = p->reg_count = 0;
    p->syms_end = &f->syms;
    fgs__scope_open(p, &scope);
    fgs__parse_next(p);
    parse_head(p, f, &name);
    f->body = p->tok.kind == '{';
    if (f->body && linkage == FGS__LINK_EXTERN)
        fgs__parse_error(p, f->pos, "an extern function has no body");
    if (!p->failed)
        declare_outside(p, f, &name);
    if (!p->failed && f->body) {
        *p->funcs_end = f;
        p->funcs_end = &f->next;
        parse_body(p);
        end = p->tok.pos;
        fgs__scope_close(p);
        keep_code(p, end);
        p->failed = p->failed || p->tok.kind == FGS__TOK_END;
        fgs__parse_accept(p, '}');
    } else {
        if (!p->failed && fgs__parse_expect(p, ';', "'{' or ';'")) {
            *p->funcs_end = f;
            p->funcs_end = &f->next;
        }
        fgs__scope_close(p);
    }
    p->func = NULL;
}
