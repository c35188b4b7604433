/* scope.c -- names: spellings, scopes, numbered registers, labels
 *
 * A spelling is looked up once a token; what it means is on top of its stack
 * of bindings, so no scope is ever searched.  Numbered registers (%r<100>) are
 * made when they are first used: a module's registers are those in use.
 */
#include "ptx/parse.h"
#include "base/compat.h"

enum { FIRST_SLOTS = 1024 };

static bool grow_slots(struct fgs__parse *p)
{
    size_t count = p->slot_count ? p->slot_count * 4 : FIRST_SLOTS;
    struct fgs__name **slots =
        fgs__alloc_array(p->alloc, count, sizeof *slots);

    if (!slots) {
        p->nomem = true;
        return false;
    }
    memset(slots, 0, count * sizeof *slots);
    for (size_t i = 0; i < p->slot_count; i++) {
        struct fgs__name *n = p->slots[i];

        while (n) {
            struct fgs__name *next = n->chain;

            n->chain = slots[n->hash & (count - 1)];
            slots[n->hash & (count - 1)] = n;
            n = next;
        }
    }
    fgs__free(p->alloc, p->slots);
    p->slots = slots;
    p->slot_count = count;
    return true;
}

static struct fgs__name *intern(struct fgs__parse *p, uint32_t hash,
                                const char *s, size_t len);

/* r12: base r, number 12.  r012 is no number of a range. */
static void find_base(struct fgs__parse *p, struct fgs__name *n)
{
    size_t len = n->len;
    uint64_t number = 0;

    while (len > 1 && n->text[len - 1] >= '0' && n->text[len - 1] <= '9')
        len--;
    if (len == n->len || n->len - len > 18 ||
        (n->text[len] == '0' && n->len - len > 1))
        return;
    for (size_t i = len; i < n->len; i++)
        number = number * 10 + (uint64_t)(n->text[i] - '0');
    n->number = number;
    n->base = intern(p, fgs__hash_more(FGS__HASH_START, n->text, len), n->text,
                     len);
    if (n->base) {
        n->sibling = n->base->numbered;
        n->base->numbered = n;
    }
}

static struct fgs__name *intern(struct fgs__parse *p, uint32_t hash,
                                const char *s, size_t len)
{
    struct fgs__name *n;

    if (p->slot_count <= p->name_count && !grow_slots(p))
        return NULL;
    for (n = p->slots[hash & (p->slot_count - 1)]; n; n = n->chain) {
        if (n->hash == hash && n->len == len && !memcmp(n->text, s, len))
            return n;
    }
    n = fgs__parse_tmp(p, sizeof *n);
    if (!n)
        return NULL;
    n->text = fgs__arena_strndup(&p->m->arena, s, len);
    if (!n->text) {
        p->nomem = true;
        return NULL;
    }
    n->hash = hash;
    n->len = (uint32_t)len;
    if (*s == '%') {
        n->word = fgs__word_find(hash, s, len);
        if (n->word && !n->word->sreg && !n->word->known)
            n->word = NULL;
    }
    n->chain = p->slots[hash & (p->slot_count - 1)];
    p->slots[hash & (p->slot_count - 1)] = n;
    p->name_count++;
    find_base(p, n);
    return p->nomem ? NULL : n;
}

struct fgs__name *fgs__name_get(struct fgs__parse *p,
                                const struct fgs__tok *tok)
{
    return intern(p, tok->hash, tok->s, tok->n);
}

/* ------------------------------------------------------------- binding -- */

static struct fgs__binding *bind(struct fgs__parse *p, struct fgs__scope *s,
                                 struct fgs__name *n, struct fgs__ptx_sym *sym,
                                 uint64_t count)
{
    struct fgs__binding *b = fgs__parse_tmp(p, sizeof *b);
    struct fgs__binding **top = count ? &n->range : &n->single;

    if (!b)
        return NULL;
    b->scope = s;
    b->name = n;
    b->sym = sym;
    b->count = count;
    b->outer = *top;
    *top = b;
    b->next = s->bindings;
    s->bindings = b;
    return b;
}

void fgs__scope_open(struct fgs__parse *p, struct fgs__scope *s)
{
    memset(s, 0, sizeof *s);
    s->outer = p->scope;
    s->depth = p->scope ? p->scope->depth + 1 : 0;
    p->scope = s;
}

/* Labels of this scope are known now; what is not found is asked of the scope
 * around it, at the end of the function's scope it is an error. */
static void close_labels(struct fgs__parse *p, struct fgs__scope *s)
{
    struct fgs__pending *w, *next;

    for (w = s->pending; w; w = next) {
        struct fgs__binding *b = w->name->single;

        next = w->next;
        if (b && b->scope == s) {
            if (b->sym->kind == FGS__SYM_LABEL) {
                if (w->operand)
                    w->operand->sym = b->sym;
            } else {
                p->failed = false;
                fgs__parse_error(p, w->pos, "'%s' is not a label",
                                 w->name->text);
            }
        } else if (s->depth > 1) {
            w->next = s->outer->pending;
            s->outer->pending = w;
        } else {
            p->failed = false;
            fgs__parse_error(p, w->pos, "no label '%s' in this scope",
                             w->name->text);
        }
    }
}

void fgs__scope_close(struct fgs__parse *p)
{
    struct fgs__scope *s = p->scope;
    bool failed = p->failed;

    close_labels(p, s);
    for (struct fgs__binding *b = s->bindings; b; b = b->next) {
        if (b->count)
            b->name->range = b->outer;
        else
            b->name->single = b->outer;
    }
    p->scope = s->outer;
    p->failed = failed;
}

/* What already stands under this name, or under a number of this range. */
static struct fgs__binding *taken(struct fgs__parse *p, struct fgs__name *n,
                                  uint64_t count)
{
    struct fgs__binding *b = count ? n->range : n->single;

    if (b && b->scope == p->scope && !b->alias)
        return b;
    if (!count) {
        b = n->base ? n->base->range : NULL;
        if (b && b->scope == p->scope && n->number < b->count)
            return b;
        return NULL;
    }
    for (n = n->numbered; n; n = n->sibling) {
        b = n->single;
        if (b && b->scope == p->scope && n->number < count && !b->alias)
            return b;
    }
    return NULL;
}

bool fgs__scope_declare(struct fgs__parse *p, struct fgs__name *n,
                        struct fgs__ptx_sym *sym, uint64_t count)
{
    struct fgs__binding *b = taken(p, n, count);

    if (b) {
        fgs__parse_error(p, sym->pos,
                         "'%s' is declared twice, first in line %u",
                         b->count ? n->text : b->name->text,
                         (unsigned)b->sym->pos.line);
        return false;
    }
    if (n->len == 7 && !memcmp(n->text, "WARP_SZ", 7)) {
        fgs__parse_error(p, sym->pos, "'WARP_SZ' is a constant of PTX");
        return false;
    }
    if (n->word) {
        fgs__parse_error(p, sym->pos,
                         "'%s' is a special register; a name of the text that "
                         "hides it is refused", n->text);
        return false;
    }
    return bind(p, p->scope, n, sym, count) != NULL;
}

/* ---------------------------------------------------------- looking up -- */

/* Append a symbol to the current function's list. */
static void own(struct fgs__parse *p, struct fgs__ptx_sym *sym)
{
    *p->syms_end = sym;
    p->syms_end = &sym->next;
}

/* The register of number n->number of a range, at its first use. */
static struct fgs__ptx_sym *make_numbered(struct fgs__parse *p,
                                          struct fgs__name *n,
                                          struct fgs__binding *range)
{
    struct fgs__ptx_sym *sym = fgs__parse_alloc(p, sizeof *sym);

    if (!sym)
        return NULL;
    *sym = *range->sym;
    sym->name = n->text;
    sym->next = NULL;
    if (!fgs__vec_reserve(p->alloc, (void **)&p->regs, &p->reg_cap,
                          p->reg_count, sizeof *p->regs)) {
        p->nomem = true;
        return NULL;
    }
    sym->index = (uint32_t)p->reg_count;
    p->regs[p->reg_count++] = sym;
    own(p, sym);
    return bind(p, range->scope, n, sym, 0) ? sym : NULL;
}

/* A shared variable of the module has its place in the frame of each function
 * that uses it, so the function gets a symbol of its own. */
static struct fgs__ptx_sym *make_alias(struct fgs__parse *p,
                                       struct fgs__name *n,
                                       struct fgs__ptx_sym *var)
{
    struct fgs__ptx_sym *sym = fgs__parse_alloc(p, sizeof *sym);
    struct fgs__scope *s = p->scope;
    struct fgs__binding *b;

    if (!sym)
        return NULL;
    while (s->depth > 1)
        s = s->outer;
    *sym = *var;
    sym->next = NULL;
    b = bind(p, s, n, sym, 0);
    if (!b)
        return NULL;
    b->alias = true;
    own(p, sym);
    return sym;
}

struct fgs__ptx_sym *fgs__scope_find(struct fgs__parse *p, struct fgs__name *n)
{
    struct fgs__binding *b = n->single;
    struct fgs__binding *range = n->base ? n->base->range : NULL;

    while (range && range->count <= n->number)
        range = range->outer;
    if (range && (!b || range->scope->depth > b->scope->depth))
        return make_numbered(p, n, range);
    if (!b)
        return NULL;
    if (p->func && !b->scope->depth && b->sym->kind == FGS__SYM_VAR &&
        b->sym->space == FGS__M_SHARED)
        return make_alias(p, n, b->sym);
    return b->sym;
}

void fgs__scope_want_label(struct fgs__parse *p, struct fgs__name *n,
                           struct fgs__ptx_pos pos,
                           struct fgs__ptx_operand *operand)
{
    struct fgs__pending *w = fgs__parse_tmp(p, sizeof *w);

    if (!w)
        return;
    w->name = n;
    w->pos = pos;
    w->operand = operand;
    w->next = p->scope->pending;
    p->scope->pending = w;
}

void fgs__scope_unknown(struct fgs__parse *p, struct fgs__name *n,
                        struct fgs__ptx_pos pos)
{
    if (n->word && n->word->known)
        fgs__parse_error(p, pos, "special register '%s' is not supported yet",
                         n->text);
    else if (n->reported == p->func_number)
        p->failed = true; /* said already */
    else
        fgs__parse_error(p, pos, "unknown name '%s'", n->text);
    n->reported = p->func_number;
}
