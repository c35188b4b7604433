/* decl.c -- declarations of registers, variables and parameters */
#include "ptx/decl.h"
#include "base/compat.h"

enum { DIMS = 32 };
#define LARGEST ((uint64_t)1 << 40) /* bytes of a variable */

static struct fgs__ptx_sym *new_sym(struct fgs__parse *p,
                                    const struct fgs__decl_head *h,
                                    const struct fgs__name *n,
                                    struct fgs__ptx_pos pos)
{
    struct fgs__ptx_sym *sym = n ? fgs__parse_alloc(p, sizeof *sym) : NULL;

    if (!sym)
        return NULL;
    sym->kind = h->space ? FGS__SYM_VAR : FGS__SYM_REG;
    sym->name = n->text;
    sym->pos = pos;
    sym->type = h->type;
    sym->vec = h->vec;
    sym->space = h->space;
    return sym;
}

/* ----------------------------------------------------------- registers -- */

static bool add_reg(struct fgs__parse *p, struct fgs__ptx_sym *sym)
{
    if (!fgs__vec_reserve(p->alloc, (void **)&p->regs, &p->reg_cap,
                          p->reg_count, sizeof *p->regs)) {
        p->nomem = true;
        return false;
    }
    sym->index = (uint32_t)p->reg_count;
    p->regs[p->reg_count++] = sym;
    return true;
}

static void append(struct fgs__parse *p, struct fgs__ptx_sym *sym)
{
    *p->syms_end = sym;
    p->syms_end = &sym->next;
}

static bool parse_reg(struct fgs__parse *p, const struct fgs__decl_head *h)
{
    struct fgs__tok t = p->tok;
    struct fgs__name *n;
    struct fgs__ptx_sym *sym;
    uint64_t count = 0;

    if (!fgs__parse_expect(p, FGS__TOK_NAME, "a register's name"))
        return false;
    n = fgs__name_get(p, &t);
    sym = new_sym(p, h, n, t.pos);
    if (!sym)
        return false;
    if (fgs__parse_accept(p, '<')) {
        if (!fgs__parse_number(p, UINT32_MAX, &count, "a register count") ||
            !fgs__parse_expect(p, '>', "'>'"))
            return false;
        if (!count)
            return true; /* r<0> declares nothing */
        return fgs__scope_declare(p, n, sym, count);
    }
    if (!fgs__scope_declare(p, n, sym, 0) || !add_reg(p, sym))
        return false;
    append(p, sym);
    return true;
}

/* ----------------------------------------------------------- variables -- */

/* [4][2][]; `open` = the outermost is left to the initializer. */
static bool parse_dims(struct fgs__parse *p, uint64_t *dims, unsigned *count,
                       bool *open)
{
    for (*count = 0; p->tok.kind == '['; ) {
        struct fgs__ptx_pos pos = p->tok.pos;

        if (*count == DIMS) {
            fgs__parse_error(p, pos, "more than %d dimensions", DIMS);
            return false;
        }
        fgs__parse_next(p);
        if (p->tok.kind == ']' && !*count) {
            fgs__parse_next(p);
            *open = true;
            dims[(*count)++] = 0;
            continue;
        }
        /* A number: the assembler takes no expression here. */
        if (!fgs__parse_number(p, LARGEST, &dims[*count], "an array size") ||
            !fgs__parse_expect(p, ']', "']'"))
            return false;
        ++*count;
    }
    return true;
}

/* Bytes of a variable; false = too large. */
static bool size_of(struct fgs__parse *p, struct fgs__ptx_sym *v,
                    const uint64_t *dims, unsigned count)
{
    uint64_t bytes = fgs__ptx_types[v->type].bits / 8;

    bytes *= v->vec ? v->vec : 1;
    if (!v->align)
        v->align = (uint32_t)bytes;
    for (unsigned i = 0; i < count; i++) {
        if (dims[i] && bytes > LARGEST / dims[i]) {
            fgs__parse_error(p, v->pos, "'%s' is larger than 2^40 bytes",
                             v->name);
            return false;
        }
        bytes *= dims[i];
    }
    v->bytes = bytes;
    v->dims = count ? FGS__HASH_START : 0;
    for (unsigned i = 1; i < count; i++)
        v->dims = (v->dims + (uint32_t)dims[i]) * 16777619u + 1;
    return true;
}

static void check_var(struct fgs__parse *p, const struct fgs__ptx_sym *v,
                      bool open, bool init)
{
    if (init && v->space != FGS__M_GLOBAL && v->space != FGS__M_CONST)
        fgs__parse_error(p, v->pos, "'%s': only .global and .const variables "
                         "have initial values", v->name);
    else if (init && v->linkage == FGS__LINK_EXTERN)
        fgs__parse_error(p, v->pos, "'%s': an extern variable has no initial "
                         "value", v->name);
    else if (open && !init && v->linkage != FGS__LINK_EXTERN)
        fgs__parse_error(p, v->pos, "'%s' has no size and is not extern",
                         v->name);
    else if (!v->bytes && !open)
        fgs__parse_error(p, v->pos, "'%s' has no elements", v->name);
    else if (v->linkage == FGS__LINK_COMMON && v->space != FGS__M_GLOBAL)
        fgs__parse_error(p, v->pos, "'%s': .common is for .global variables",
                         v->name);
}

/* The constants of a module lie in one bank. */
static void check_const(struct fgs__parse *p, const struct fgs__ptx_sym *v)
{
    enum { BANK = 65536 };

    if (p->failed || v->space != FGS__M_CONST)
        return;
    p->const_bytes = fgs__align_up(p->const_bytes, v->align) + v->bytes;
    if (p->const_bytes > BANK)
        fgs__parse_error(p, v->pos, "'%s': the constants take %llu bytes, %d "
                         "at most", v->name,
                         (unsigned long long)p->const_bytes, BANK);
}

/* A function's list has what is in its frames; a variable with one place for
 * all threads is the module's, wherever it is declared. */
static void place(struct fgs__parse *p, struct fgs__ptx_sym *v)
{
    if (p->func && v->space == FGS__M_PARAM) {
        v->frame = true;
        v->offset = fgs__align_up(p->param_top, v->align);
        p->param_top = v->offset + v->bytes;
        if (p->param_most < p->param_top)
            p->param_most = p->param_top;
    }
    if (p->func && v->space != FGS__M_GLOBAL && v->space != FGS__M_CONST) {
        append(p, v);
        return;
    }
    *p->vars_end = v;
    p->vars_end = &v->next;
}

/* Is a variable declared as the same twice?  One size may be left open. */
static bool same_shape(const struct fgs__ptx_sym *a,
                       const struct fgs__ptx_sym *b)
{
    return a->space == b->space && a->type == b->type && a->vec == b->vec &&
        a->dims == b->dims && a->opaque == b->opaque &&
        (!a->bytes || !b->bytes || a->bytes == b->bytes);
}

/* A variable may be declared extern before and behind its definition (ISA
 * 11.4.1): the first symbol stands for all then.  One that only this text
 * knows cannot be meant by extern before it. */
static struct fgs__ptx_sym *declared(struct fgs__parse *p,
                                     const struct fgs__name *n,
                                     const struct fgs__ptx_sym *v)
{
    struct fgs__ptx_sym *old = n->single ? n->single->sym : NULL;
    bool was, is = v->linkage == FGS__LINK_EXTERN;

    if (p->func || !old || old->kind != FGS__SYM_VAR || !same_shape(old, v))
        return NULL;
    was = old->linkage == FGS__LINK_EXTERN;
    if (!was && !is)
        return NULL;
    if (was && v->linkage == FGS__LINK_NONE) {
        fgs__parse_error(p, v->pos, "'%s' is .extern in line %u: its "
                         "definition must be .visible, .weak or .common",
                         v->name, (unsigned)old->pos.line);
        return NULL;
    }
    if (!is) {
        old->linkage = v->linkage;
        old->pos = v->pos;
        old->managed = v->managed;
    }
    old->bytes = v->bytes ? v->bytes : old->bytes;
    old->align = v->align > old->align ? v->align : old->align;
    return old;
}

static bool parse_var(struct fgs__parse *p, const struct fgs__decl_head *h,
                      enum fgs__ptx_linkage linkage)
{
    struct fgs__tok t = p->tok;
    struct fgs__ptx_sym *v, *old;
    struct fgs__name *n;
    uint64_t dims[DIMS];
    unsigned count = 0;
    bool open = false, init;

    if (!fgs__parse_expect(p, FGS__TOK_NAME, "a variable's name"))
        return false;
    n = fgs__name_get(p, &t);
    v = new_sym(p, h, n, t.pos);
    if (!v || !parse_dims(p, dims, &count, &open))
        return false;
    v->align = h->align;
    v->linkage = linkage;
    v->managed = h->managed;
    v->opaque = h->opaque;
    if (!size_of(p, v, dims, count))
        return false;
    /* extern x[0] is x[]. */
    open = open || (linkage == FGS__LINK_EXTERN && count && !dims[0]);
    init = p->tok.kind == '=';
    if (h->opaque && (init || count))
        fgs__parse_error(p, v->pos, "'%s': references are no arrays and have "
                         "no initial value here", v->name);
    check_var(p, v, open, init);
    check_const(p, v);
    old = p->failed ? NULL : declared(p, n, v);
    if (p->failed || (!old && !fgs__scope_declare(p, n, v, 0)))
        return false;
    if (!old)
        place(p, v);
    else
        v = old;
    if (!init)
        return true;
    fgs__parse_next(p);
    fgs__init_parse(p, v, dims, count, open);
    return !p->failed;
}

/* May this space be declared where we are? */
static void check_space(struct fgs__parse *p, const struct fgs__decl_head *h,
                        enum fgs__ptx_linkage linkage)
{
    if (!h->space && !p->func)
        fgs__parse_error(p, h->pos, "registers are declared in functions only");
    else if (h->space == FGS__M_LOCAL && !p->func)
        fgs__parse_error(p, h->pos,
                         ".local variables are declared in functions only");
    else if (h->space == FGS__M_PARAM && !p->func)
        fgs__parse_error(p, h->pos,
                         ".param variables are declared in functions only");
    else if (h->space > FGS__M_NONE && h->space != FGS__M_GLOBAL &&
             h->space != FGS__M_SHARED && h->space != FGS__M_LOCAL &&
             h->space != FGS__M_CONST && h->space != FGS__M_PARAM)
        fgs__parse_error(p, h->pos, "'.%s' declares no variable",
                         fgs__mods[h->space].word);
    else if (h->space == FGS__M_PARAM && (h->vec || h->type == FGS__T_F16X2))
        fgs__parse_error(p, h->pos, ".param variables are no vectors");
    else if (h->space == FGS__M_PARAM && h->align > 128)
        fgs__parse_error(p, h->pos, ".param variables are aligned to 128 bytes "
                         "at most");
    else if (h->space == FGS__M_PARAM)
        fgs__check_version(p, h->pos, 20, 0, 0, "a .param variable of a body");
    else if (linkage != FGS__LINK_NONE && !h->space)
        fgs__parse_error(p, h->pos, "registers have no linkage");
}

void fgs__decl_vars(struct fgs__parse *p, enum fgs__ptx_linkage linkage)
{
    struct fgs__decl_head h;

    if (!fgs__decl_head(p, &h))
        return;
    check_space(p, &h, linkage);
    if (p->failed)
        return;
    if (fgs__parse_accept(p, ';'))
        return; /* a declaration of nothing */
    do {
        if (!(h.space ? parse_var(p, &h, linkage) : parse_reg(p, &h)))
            return;
    } while (fgs__parse_accept(p, ','));
    fgs__parse_expect(p, ';', "',' or ';'");
}

/* ---------------------------------------------------------- parameters -- */

/* The name of a parameter; `_` where nothing is declared. */
static struct fgs__name *param_name(struct fgs__parse *p, bool proto,
                                    struct fgs__name *none)
{
    struct fgs__tok t = p->tok;

    memset(none, 0, sizeof *none);
    none->text = "_";
    if (proto && fgs__parse_accept(p, '_'))
        return none;
    if (!fgs__parse_expect(p, FGS__TOK_NAME, "a parameter's name"))
        return NULL;
    return fgs__name_get(p, &t);
}

/* What can be passed, and the alignment behind its type. */
static void check_param(struct fgs__parse *p, struct fgs__decl_head *h,
                        enum fgs__param_of of)
{
    fgs__decl_align(p, h);
    if (of == FGS__PARAM_FUNC && h->space)
        fgs__check_version(p, h->pos, 20, 20, 0, "a .param parameter of a "
                           "function");
    if (h->space && h->type == FGS__T_F16X2 && of != FGS__PARAM_PROTO)
        fgs__parse_error(p, h->pos, "a parameter has no type .f16x2, write "
                         ".b32");
    else if (of != FGS__PARAM_ENTRY && h->align > 128)
        fgs__parse_error(p, h->pos, "a parameter of a function is aligned to "
                         "128 bytes at most");
}

struct fgs__ptx_sym *fgs__decl_param(struct fgs__parse *p,
                                     enum fgs__param_of of)
{
    const struct fgs__word *w = fgs__parse_word(p);
    bool entry = of == FGS__PARAM_ENTRY, proto = of == FGS__PARAM_PROTO;
    struct fgs__name none, *n;
    struct fgs__ptx_pos pos;
    struct fgs__ptx_sym *v;
    struct fgs__decl_head h;
    uint64_t dims[DIMS];
    unsigned count = 0;
    bool open = false;

    if (w->mod != FGS__M_PARAM && (entry || w->directive != FGS__D_REG)) {
        fgs__parse_expected(p, entry ? ".param" : ".param or .reg");
        return NULL;
    }
    if (!fgs__decl_head(p, &h))
        return NULL;
    if (h.vec && h.space) {
        fgs__parse_error(p, h.pos, "a parameter is no vector");
        return NULL;
    }
    check_param(p, &h, of);
    if (!p->failed && fgs__parse_word(p)->directive == FGS__D_PTR)
        fgs__decl_skip_ptr(p, of != FGS__PARAM_FUNC);
    pos = p->tok.pos;
    n = p->failed ? NULL : param_name(p, proto, &none);
    v = new_sym(p, &h, n, pos);
    if (!v || (h.space && !parse_dims(p, dims, &count, &open)))
        return NULL;
    if (count > 1)
        fgs__parse_error(p, pos, "parameter '%s' has more than one dimension",
                         n->text);
    if (!h.space && !entry && h.type == FGS__T_PRED)
        fgs__parse_error(p, pos, "parameter '%s' is a predicate", n->text);
    v->align = h.align;
    if (h.space && !size_of(p, v, dims, count))
        return NULL;
    if (h.space && !v->bytes && entry)
        fgs__parse_error(p, pos, "parameter '%s' has no size", n->text);
    else if (h.space && !v->bytes)
        fgs__check_version(p, pos, 60, 30, 0, "a parameter without a size");
    if (p->failed)
        return NULL;
    if (!proto && n->single && n->single->scope == p->scope) {
        p->twice = v; /* wrong if a body follows */
        return v;
    }
    if (!proto && (!fgs__scope_declare(p, n, v, 0) ||
                   (!h.space && !add_reg(p, v))))
        return NULL;
    return v;
}
