/* insn.c -- instructions: guard, opcode, words behind it, list of operands */
#include "ptx/parse.h"
#include "base/compat.h"

/* -------------------------------------------------------------- opcode -- */

struct spelled {
    const struct fgs__word *best; /* longest match, NULL = none             */
    char text[64];                /* as written, for messages               */
    bool sync_later;              /* its .sync stands among the modifiers   */
};

static bool is_sync(const struct fgs__tok *t)
{
    return t->kind == FGS__TOK_WORD && t->n == 4 && !memcmp(t->s, "sync", 4);
}

/* The assembler takes an opcode's .sync behind its modifiers, too
 * (vote.ballot.sync, as CUB writes it).  `n` bytes of s->text are known; the
 * current token is the first word behind them. */
static void match_sync(struct fgs__parse *p, struct spelled *s, size_t n)
{
    struct fgs__lex ahead = p->lex;
    struct fgs__tok tok = p->tok;
    const struct fgs__word *w;
    char text[sizeof s->text];

    if (n + sizeof ".sync" > sizeof text)
        return;
    memcpy(text, s->text, n);
    memcpy(text + n, ".sync", sizeof ".sync");
    w = fgs__word_find(fgs__hash_more(FGS__HASH_START, text, n + 5), text,
                       n + 5);
    if (!w || !w->op)
        return;
    while (tok.kind == FGS__TOK_WORD && !is_sync(&tok))
        fgs__lex_next(&ahead, &tok);
    if (!is_sync(&tok))
        return;
    memcpy(s->text, text, n + sizeof ".sync");
    s->best = w;
    s->sync_later = true;
}

/* The words of the opcode: the longest that is an opcode.  The current token
 * is the first word behind it then. */
static void match_opcode(struct fgs__parse *p, const struct fgs__tok *root,
                         struct spelled *s)
{
    size_t n = root->n < sizeof s->text - 1 ? root->n : sizeof s->text - 1;
    uint32_t hash = root->hash;
    const struct fgs__word *w = fgs__word_find(hash, root->s, root->n);

    memcpy(s->text, root->s, n);
    s->text[n] = 0;
    s->sync_later = false;
    s->best = w && (w->op || w->known) ? w : NULL;
    while (w && w->prefix && p->tok.kind == FGS__TOK_WORD &&
           n + p->tok.n + 2 < sizeof s->text) {
        hash = fgs__hash_char(hash, '.');
        hash = fgs__hash_more(hash, p->tok.s, p->tok.n);
        s->text[n++] = '.';
        memcpy(s->text + n, p->tok.s, p->tok.n);
        n += p->tok.n;
        s->text[n] = 0;
        w = fgs__word_find(hash, s->text, n);
        /* All rows' prefixes of several words are opcodes or lead to one, so
         * a word that does not continue the opcode is its first modifier. */
        if (!w) {
            n -= p->tok.n + 1;
            s->text[n] = 0;
            match_sync(p, s, n);
            return;
        }
        s->best = w->op || w->known ? w : s->best;
        fgs__parse_next(p);
    }
}

/* An instruction that is not in opcode.def: its operands are still parsed, so
 * that syntax errors in it show. */
static void parse_unsupported(struct fgs__parse *p, const struct fgs__tok *root,
                              const struct spelled *s)
{
    struct fgs__ptx_operand o;

    if (s->best || fgs__word_find(root->hash, root->s, root->n))
        fgs__parse_error(p, root->pos, "instruction '%s' is not supported yet",
                         s->text);
    else
        fgs__parse_error(p, root->pos, "unknown instruction '%s'", s->text);
    if (!s->best)
        return;
    p->failed = false;
    while (p->tok.kind == FGS__TOK_WORD)
        fgs__parse_next(p);
    while (p->tok.kind != ';') {
        if (!fgs__operand_parse(p, &o, false, false) ||
            (p->tok.kind != ';' && !fgs__parse_expect(p, ',', "',' or ';'")))
            return;
    }
    fgs__parse_next(p);
}

/* --------------------------------------------------------- instruction -- */

/* [a].unified promises an address of a variable with that attribute (ISA
 * 9.7.10.8); nothing here depends on it.  The assembler wants a register, or
 * a variable that has the attribute, whose texts it only compiles for later. */
static bool accept_unified(struct fgs__parse *p, const struct fgs__ptx_insn *i,
                           const struct fgs__ptx_operand *o)
{
    struct fgs__ptx_pos pos = p->tok.pos;

    if (o->kind != FGS__O_ADDR || p->tok.kind != FGS__TOK_WORD ||
        strcmp(fgs__parse_word(p)->text, "unified"))
        return true;
    if ((i->op == FGS__OP_LD || i->op == FGS__OP_LDU ||
         i->op == FGS__OP_ATOM) &&
        (!i->space[0] || i->space[0] == FGS__M_GLOBAL) &&
        o->sym && o->sym->kind == FGS__SYM_REG) {
        fgs__parse_next(p);
        return true;
    }
    fgs__parse_error(p, pos,
                     "'.unified' is for ld, ldu, atom by a register");
    return false;
}

/* Up to and with the ';'.  0 = none or an error; *ok tells. */
static unsigned parse_list(struct fgs__parse *p, const struct fgs__ptx_insn *i,
                           struct fgs__ptx_operand *list, bool label, bool *ok)
{
    unsigned n = 0;

    *ok = fgs__parse_accept(p, ';');
    if (*ok)
        return 0;
    do {
        if (n == FGS__OPERANDS) {
            fgs__parse_error(p, p->tok.pos, "more than %d operands",
                             FGS__OPERANDS);
            return 0;
        }
        if (!fgs__operand_parse(p, &list[n], label, true) ||
            !accept_unified(p, i, &list[n]))
            return 0;
        n++;
    } while (fgs__parse_accept(p, ','));
    *ok = fgs__parse_expect(p, ';', "',' or ';'");
    return *ok ? n : 0;
}

static bool parse_operands(struct fgs__parse *p, struct fgs__ptx_insn *i,
                           bool label)
{
    /* Checks may form the address of an operand that is not there. */
    static struct fgs__ptx_operand none[FGS__OPERANDS];
    struct fgs__ptx_operand list[FGS__OPERANDS];
    struct fgs__pending *before = p->scope->pending;
    bool ok;
    unsigned n;

    p->tensor = i->op == FGS__OP_APPLY_TENSOR ||
        (i->op >= FGS__OP_TENSOR_COPY &&
         i->op <= FGS__OP_TENSOR_PREFETCH) || /* rows that follow */
        (i->op >= FGS__OP_TEX && i->op <= FGS__OP_SUQ); /* each other */
    p->video = i->op >= FGS__OP_VADD && i->op <= FGS__OP_VSET4;
    n = parse_list(p, i, list, label, &ok);

    i->operand = none;
    if (n) {
        i->operand = fgs__parse_alloc(p, n * sizeof *list);
        if (i->operand)
            memcpy(i->operand, list, n * sizeof *list);
        i->operands = (uint8_t)n;
        ok = i->operand != NULL;
    }
    /* Labels wait for their operand at its final place, or at none. */
    for (struct fgs__pending *w = p->scope->pending; w != before; w = w->next)
        w->operand = n && ok ? &i->operand[w->operand - list] : NULL;
    return ok;
}

static bool set_guard(struct fgs__parse *p, struct fgs__ptx_insn *i,
                      const struct fgs__tok *guard, bool neg)
{
    struct fgs__name *n = fgs__name_get(p, guard);

    if (!n)
        return false;
    i->guard = fgs__scope_find(p, n);
    i->guard_neg = neg;
    if (!i->guard) {
        fgs__scope_unknown(p, n, guard->pos);
        return false;
    }
    if (i->guard->kind == FGS__SYM_REG && i->guard->type == FGS__T_PRED &&
        !i->guard->vec)
        return true;
    fgs__parse_error(p, guard->pos, "'%s' is no predicate", n->text);
    return false;
}

static bool parse_words(struct fgs__check *c, bool sync_later)
{
    for (bool first = true; c->p->tok.kind == FGS__TOK_WORD; first = false) {
        if (sync_later && is_sync(&c->p->tok))
            sync_later = false; /* the opcode has it */
        else if (!fgs__check_word(c, &c->p->tok, first))
            return false;
        fgs__parse_next(c->p);
    }
    return true;
}

void fgs__insn_parse(struct fgs__parse *p, const struct fgs__tok *guard,
                     bool guard_neg, const struct fgs__tok *root)
{
    struct fgs__check c; /* its places are set with what they are of */
    struct fgs__ptx_insn *i;
    struct spelled s;

    if (!fgs__vec_reserve(p->alloc, (void **)&p->insn, &p->insn_cap,
                          p->insn_count, sizeof *p->insn)) {
        p->nomem = true;
        return;
    }
    i = &p->insn[p->insn_count];
    memset(i, 0, sizeof *i);
    i->pos = root->pos;
    if (guard && !set_guard(p, i, guard, guard_neg))
        return;
    match_opcode(p, root, &s);
    if (!s.best || !s.best->op) {
        parse_unsupported(p, root, &s);
        return;
    }
    if (s.best->ptx &&
        !fgs__check_version(p, root->pos, s.best->ptx, 0, 0, "%s", s.text))
        return;
    i->op = s.best->op;
    c.p = p;
    c.i = i;
    c.groups = c.strays = 0;
    memset(c.sum, 0, sizeof c.sum);
    p->sum = i->op != FGS__OP_CALL;
    c.row = &fgs__rows[i->op];
    c.name = c.row->word;
    if (!parse_words(&c, s.sync_later))
        return;
    if (i->op == FGS__OP_CALL ? !fgs__call_parse(p, i)
                              : !parse_operands(p, i, i->op == FGS__OP_BRA))
        return;
    fgs__check_insn(&c);
    if (!p->failed)
        fgs__sum_expand(&c);
    /* It stands for its place also when it is wrong: labels count it. */
    if (!p->nomem)
        p->insn_count++;
    p->failed = false;
}
