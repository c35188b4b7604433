/* operand.c -- operands: registers, constants, addresses, vectors, pairs */
#include "ptx/parse.h"
#include "base/compat.h"

enum { CHILDREN = 8, NESTED = 4 };

static bool parse_operand(struct fgs__parse *p, struct fgs__ptx_operand *o,
                          bool label, bool strict, int depth);

/* .x .y .z .w and .r .g .b .a behind a vector register. */
static bool parse_component(struct fgs__parse *p, struct fgs__ptx_operand *o,
                            unsigned limit, const char *name)
{
    static const char xyzw[] = "xyzwrgba";
    const char *c = p->tok.n == 1 ? strchr(xyzw, *p->tok.s) : NULL;
    unsigned i = c ? (unsigned)(c - xyzw) & 3 : 4;

    if (i >= limit) {
        fgs__parse_error(p, p->tok.pos, "'%s' has no component %s", name,
                         fgs__parse_text(&p->tok).s);
        return false;
    }
    o->comp = (uint8_t)i;
    fgs__parse_next(p);
    return true;
}

/* .b3210, .h1 ... behind a register of a video instruction. */
static bool parse_select(struct fgs__parse *p, struct fgs__ptx_operand *o)
{
    const char *s = p->tok.s;
    size_t n = p->tok.n, k;
    unsigned digits = 0;
    bool ok = n >= 2 && n <= 5 && (*s == 'b' || *s == 'h');

    for (k = 1; ok && k < n; k++) {
        ok = s[k] >= '0' && s[k] <= '7';
        digits = digits << 3 | (unsigned)(s[k] - '0');
    }
    if (!ok) {
        fgs__parse_error(p, p->tok.pos, "unknown selector %s",
                         fgs__parse_text(&p->tok).s);
        return false;
    }
    o->select = FGS__SELECT(*s == 'h', n - 1, digits);
    fgs__parse_next(p);
    return true;
}

/* A register or special register as the vector of its components, the first
 * of which has number `from`. */
static bool whole(struct fgs__parse *p, struct fgs__ptx_operand *o,
                  uint8_t comps, uint8_t from)
{
    struct fgs__ptx_operand *c = fgs__parse_alloc(p, comps * sizeof *c);

    if (!c)
        return false;
    for (uint8_t k = 0; k < comps; k++) {
        c[k] = *o;
        c[k].comp = (uint8_t)(from + k);
    }
    o->kind = FGS__O_VEC;
    o->child = c;
    o->children = comps;
    return true;
}

static bool parse_sreg(struct fgs__parse *p, struct fgs__ptx_operand *o,
                       const struct fgs__name *n)
{
    const struct fgs__sreg_info *r = &fgs__sregs[n->word->sreg];

    o->kind = FGS__O_SREG;
    o->sreg = n->word->sreg;
    if (!fgs__check_version(p, o->pos, r->ptx, r->cc, 0, "%s", r->name))
        return false;
    if (!r->comps)
        return true;
    if (p->tok.kind != FGS__TOK_WORD)
        return whole(p, o, r->comps, 0);
    return parse_component(p, o, r->comps, r->name);
}

/* + constant, any number of times is one expression. */
static bool parse_offset(struct fgs__parse *p, int64_t *offset)
{
    struct fgs__ptx_pos pos = p->tok.pos;
    struct fgs__const c;

    c = fgs__const_parse(p);
    if (c.kind && c.kind != FGS__TOK_INT)
        fgs__parse_error(p, pos, "an offset must be an integer");
    *offset = (int64_t)c.value;
    return c.kind == FGS__TOK_INT;
}

/* Behind a variable: +4, or [3] which counts elements. */
static bool parse_sym_offset(struct fgs__parse *p, struct fgs__ptx_operand *o)
{
    if (fgs__parse_accept(p, '+')) {
        o->sreg = 1; /* fgs__is_sum */
        return parse_offset(p, &o->offset);
    }
    if (o->sym->kind == FGS__SYM_VAR && fgs__parse_accept(p, '[')) {
        int64_t size = fgs__ptx_types[o->sym->type].bits / 8;

        if (!parse_offset(p, &o->offset) ||
            !fgs__parse_expect(p, ']', "']'"))
            return false;
        o->offset = (int64_t)((uint64_t)o->offset * (uint64_t)size);
        o->indexed = true;
    }
    return true;
}

/* What a name stands for.  `strict`: it must be declared. */
static bool parse_name(struct fgs__parse *p, struct fgs__ptx_operand *o,
                       bool label, bool strict)
{
    struct fgs__tok t = p->tok;
    struct fgs__name *n;

    if (t.n == 7 && !memcmp(t.s, "WARP_SZ", 7)) {
        fgs__parse_next(p);
        o->kind = FGS__O_INT;
        o->imm = 32;
        return true;
    }
    n = fgs__name_get(p, &t);
    fgs__parse_next(p);
    if (!n)
        return false;
    if (label) {
        o->kind = FGS__O_LABEL;
        fgs__scope_want_label(p, n, t.pos, o);
        return true;
    }
    o->sym = fgs__scope_find(p, n);
    if (!o->sym && n->word && n->word->sreg)
        return parse_sreg(p, o, n);
    if (!o->sym && strict) {
        fgs__scope_unknown(p, n, t.pos);
        return false;
    }
    if (!o->sym || o->sym->kind == FGS__SYM_LABEL) {
        o->kind = FGS__O_LABEL;
        if (o->sym && strict && !o->sym->targets)
            fgs__parse_error(p, t.pos, "label '%s' cannot stand here", n->text);
        return true;
    }
    if (o->sym->kind != FGS__SYM_REG) {
        o->kind = FGS__O_SYM;
        if (strict && o->sym->kind == FGS__SYM_FUNC)
            o->sym->taken = true;
        return parse_sym_offset(p, o);
    }
    o->kind = FGS__O_REG;
    if (p->tok.kind != FGS__TOK_WORD)
        return !o->sym->vec || whole(p, o, o->sym->vec, 1);
    if (!o->sym->vec && p->video)
        return parse_select(p, o);
    if (!o->sym->vec) {
        fgs__parse_error(p, p->tok.pos, "'%s' is no vector", n->text);
        return false;
    }
    if (!parse_component(p, o, o->sym->vec, n->text))
        return false;
    o->comp++;
    return true;
}

static bool parse_constant(struct fgs__parse *p, struct fgs__ptx_operand *o)
{
    struct fgs__const c = fgs__const_parse(p);

    o->kind = c.kind == FGS__TOK_INT ? FGS__O_INT
        : c.kind == FGS__TOK_F32 ? FGS__O_F32 : FGS__O_F64;
    o->imm = c.value;
    return c.kind != 0;
}

/* Children move from `list` into the module. */
static bool keep_children(struct fgs__parse *p, struct fgs__ptx_operand *o,
                          const struct fgs__ptx_operand *list, unsigned n)
{
    o->children = (uint8_t)n;
    o->child = fgs__parse_alloc(p, n * sizeof *list);
    if (!o->child)
        return false;
    memcpy(o->child, list, n * sizeof *list);
    return true;
}

/* {a, b, ...}; also the (a, b) of a call. */
static bool parse_vector(struct fgs__parse *p, struct fgs__ptx_operand *o,
                         bool strict, int depth)
{
    struct fgs__ptx_operand list[CHILDREN];
    int close = p->tok.kind == '{' ? '}' : ')';
    unsigned n = 0;

    o->kind = FGS__O_VEC;
    p->lists += close == '}';
    fgs__parse_next(p);
    if (close == ')' && fgs__parse_accept(p, ')'))
        return true;
    do {
        /* Only calls, which are not executed, may have longer lists. */
        if (n == CHILDREN && (strict || close == '}')) {
            fgs__parse_error(p, p->tok.pos, "more than %d elements", CHILDREN);
            return false;
        }
        if (n == CHILDREN)
            n--;
        if (!parse_operand(p, &list[n], false, strict, depth + 1))
            return false;
        n++;
    } while (fgs__parse_accept(p, ','));
    if (!fgs__parse_expect(p, close, close == '}' ? "',' or '}'"
                                                  : "',' or ')'"))
        return false;
    p->lists -= close == '}';
    return keep_children(p, o, list, n);
}

/* A tensor map's coordinates, and before them what overrides its values. */
static bool parse_attributes(struct fgs__parse *p, struct fgs__ptx_operand *o,
                             bool strict, int depth)
{
    struct fgs__ptx_operand list[CHILDREN];
    unsigned n = 0;

    while ((!strict || p->tensor) && fgs__parse_accept(p, ',')) {
        n -= n == CHILDREN; /* too many is an error of every rule */
        if (!parse_operand(p, &list[n++], false, strict, depth + 1))
            return false;
    }
    return !n || keep_children(p, o, list, n);
}

/* [base], [base + offset], [offset], [tensor map, {coordinates}] */
static bool parse_addr(struct fgs__parse *p, struct fgs__ptx_operand *o,
                       bool strict, int depth)
{
    struct fgs__ptx_operand base = { .pos = p->tok.pos };

    fgs__parse_next(p);
    o->kind = FGS__O_ADDR;
    base.pos = p->tok.pos;
    if (p->tok.kind == FGS__TOK_NAME) {
        if (!parse_name(p, &base, false, strict))
            return false;
        if (strict && base.kind != FGS__O_REG && base.kind != FGS__O_SYM &&
            base.kind != FGS__O_INT) {
            fgs__parse_error(p, base.pos, "this is no address");
            return false;
        }
        if (strict && (base.indexed || (base.kind == FGS__O_REG &&
                                        base.sym->vec))) {
            fgs__parse_error(p, base.pos, base.indexed
                             ? "write name[number] without brackets around it"
                             : "a component is no address");
            return false;
        }
        o->sym = base.sym;
        o->comp = base.comp;
        o->offset = base.kind == FGS__O_INT ? (int64_t)base.imm : base.offset;
        if (base.kind == FGS__O_REG && fgs__parse_accept(p, '+') &&
            !parse_offset(p, &o->offset))
            return false;
    } else if (!parse_offset(p, &o->offset)) {
        return false;
    }
    return parse_attributes(p, o, strict, depth) &&
        fgs__parse_expect(p, ']', "'+' or ']'");
}

/* !p, and -r of a video instruction; or a constant expression. */
static bool parse_not(struct fgs__parse *p, struct fgs__ptx_operand *o,
                      bool strict)
{
    struct fgs__lex lex = p->lex;
    struct fgs__tok t = p->tok;

    fgs__parse_next(p);
    if (p->tok.kind == FGS__TOK_NAME &&
        !(p->tok.n == 7 && !memcmp(p->tok.s, "WARP_SZ", 7))) {
        bool ok = parse_name(p, o, false, strict);

        o->neg = true;
        return ok;
    }
    p->lex = lex; /* no state but the lexer's */
    p->tok = t;
    return parse_constant(p, o);
}

/* ISA 6.4.1 has register + constant for addresses, the assembler takes it as
 * any source, and adds. */
static bool parse_sum(struct fgs__parse *p, struct fgs__ptx_operand *o,
                      int depth)
{
    if (o->kind != FGS__O_REG || !p->sum || depth || o->comp ||
        !fgs__parse_accept(p, '+'))
        return true;
    o->sreg = 1;
    return parse_offset(p, &o->offset);
}

static bool parse_plain(struct fgs__parse *p, struct fgs__ptx_operand *o,
                        bool label, bool strict, int depth)
{
    switch (p->tok.kind) {
    case '_':
        o->kind = FGS__O_SINK;
        fgs__parse_next(p);
        return true;
    case '{':
    case '(':
        if (p->tok.kind == '(' && strict)
            return parse_constant(p, o);
        if (depth < NESTED)
            return parse_vector(p, o, strict, depth);
        fgs__parse_error(p, p->tok.pos, "operands are nested too deeply");
        return false;
    case '[':
        if (depth < NESTED)
            return parse_addr(p, o, strict, depth);
        fgs__parse_error(p, p->tok.pos, "operands are nested too deeply");
        return false;
    case '!':
        if (p->video) {
            fgs__parse_error(p, p->tok.pos, "'!' is for predicates, there are "
                             "none here");
            return false;
        }
        return parse_not(p, o, strict);
    case FGS__TOK_NAME:
        return parse_name(p, o, label, strict) &&
            parse_sum(p, o, depth);
    case FGS__TOK_INT:
    case FGS__TOK_F32:
    case FGS__TOK_F64:
    case '+':
    case '-':
        if (p->tok.kind == '-' && p->video)
            return parse_not(p, o, strict);
        return parse_constant(p, o);
    case '~':
        return parse_constant(p, o);
    default:
        fgs__parse_expected(p, "an operand");
        return false;
    }
}

static bool parse_operand(struct fgs__parse *p, struct fgs__ptx_operand *o,
                          bool label, bool strict, int depth)
{
    struct fgs__ptx_operand pair[2] = { { 0 } };

    memset(o, 0, sizeof *o);
    o->pos = p->tok.pos;
    if (!parse_plain(p, o, label, strict, depth))
        return false;
    if (p->tok.kind != '|' || label)
        return true;
    pair[0] = *o;
    memset(o, 0, sizeof *o);
    o->pos = pair[0].pos;
    o->kind = FGS__O_PAIR;
    fgs__parse_next(p);
    pair[1].pos = p->tok.pos;
    return parse_plain(p, &pair[1], false, strict, depth) &&
        keep_children(p, o, pair, 2);
}

bool fgs__operand_parse(struct fgs__parse *p, struct fgs__ptx_operand *o,
                        bool label, bool strict)
{
    return parse_operand(p, o, label, strict, 0);
}
