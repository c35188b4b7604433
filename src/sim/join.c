/* join.c -- several texts in one module: which symbol a name means
 *
 * Names with linkage are one name in all texts, others belong to their text
 * (ISA 5.4.5, 11.6): a strong definition stands alone and goes before a weak
 * one, of weak ones the first is taken, of common ones the largest.  Messages
 * are those of the device linker, seen on an H200.
 */
#include "sim/builtin.h"
#include "sim/image.h"

struct name {
    struct fgs__ptx_sym *first, *def; /* NULL = none                         */
    const char *first_in, *def_in;
    bool told;                 /* reported as undefined                      */
};

struct fgs__sim_names {
    const fgs_allocator *alloc;
    struct name *slot;
    size_t slots, used;        /* slots: a power of two                      */
};

struct fgs__sim_names *fgs__sim_names_make(const fgs_allocator *a)
{
    struct fgs__sim_names *t = fgs__zalloc(a, sizeof *t);

    if (t)
        t->alloc = a;
    return t;
}

void fgs__sim_names_free(struct fgs__sim_names *t)
{
    if (!t)
        return;
    fgs__free(t->alloc, t->slot);
    fgs__free(t->alloc, t);
}

static struct name *find(const struct fgs__sim_names *t, const char *text)
{
    uint64_t h = 14695981039346656037u;
    size_t k;

    if (!t->slots)
        return NULL;
    for (const char *c = text; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    for (k = h & (t->slots - 1); t->slot[k].first; k = (k + 1) & (t->slots - 1))
        if (!strcmp(t->slot[k].first->name, text))
            break;
    return &t->slot[k];
}

/* The place of a name, free or not; NULL = no memory. */
static struct name *place(struct fgs__sim_names *t, const char *text)
{
    if (t->used * 2 >= t->slots) {
        struct fgs__sim_names wide = *t;

        wide.slots = t->slots ? t->slots * 2 : 64;
        wide.slot = fgs__alloc_array(t->alloc, wide.slots, sizeof *wide.slot);
        if (!wide.slot)
            return NULL;
        memset(wide.slot, 0, wide.slots * sizeof *wide.slot);
        for (size_t k = 0; k < t->slots; k++)
            if (t->slot[k].first)
                *find(&wide, t->slot[k].first->name) = t->slot[k];
        fgs__free(t->alloc, t->slot);
        *t = wide;
    }
    return find(t, text);
}

/* --------------------------------------------------------------- adding -- */

static enum fgs__ptx_linkage linkage(const struct fgs__ptx_sym *s)
{
    return s->kind == FGS__SYM_FUNC ? s->func->linkage : s->linkage;
}

static bool defines(const struct fgs__ptx_sym *s)
{
    return s->kind == FGS__SYM_FUNC ? s->func->body
                                    : s->linkage != FGS__LINK_EXTERN;
}

static bool same_list(const struct fgs__ptx_sym *a,
                      const struct fgs__ptx_sym *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->bytes != b->bytes ||
            (!a->bytes && fgs__ptx_types[a->type].bits !=
                              fgs__ptx_types[b->type].bits))
            return false;
    return !a && !b;
}

static bool same_shape(const struct fgs__ptx_sym *a,
                       const struct fgs__ptx_sym *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == FGS__SYM_FUNC)
        return a->func->entry == b->func->entry &&
            same_list(a->func->params, b->func->params) &&
            same_list(a->func->rets, b->func->rets);
    if (a->space != b->space)
        return false;
    return a->bytes == b->bytes || !a->bytes || !b->bytes ||
        linkage(a) == FGS__LINK_COMMON || linkage(b) == FGS__LINK_COMMON;
}

/* Two definitions; which one counts?  False = they exclude each other. */
static bool choose(struct name *n, struct fgs__ptx_sym *s, const char *in,
                   struct fgs__sim_log *log)
{
    enum fgs__ptx_linkage was = linkage(n->def), is = linkage(s);
    bool better = is == FGS__LINK_VISIBLE && was != FGS__LINK_VISIBLE;

    if (is == FGS__LINK_VISIBLE && was == FGS__LINK_VISIBLE) {
        fgs__sim_log_line(log, "error   : Multiple definition of '%s' in "
                          "'%s', first defined in '%s'\n", s->name, in,
                          n->def_in);
        return false;
    }
    if (is == FGS__LINK_COMMON || was == FGS__LINK_COMMON) {
        const struct fgs__ptx_sym *small = better ? s : n->def;
        const struct fgs__ptx_sym *large = better ? n->def : s;

        if (is == FGS__LINK_COMMON && was == FGS__LINK_COMMON) {
            better = s->bytes > n->def->bytes ||
                (s->bytes == n->def->bytes && s->init && !n->def->init);
            small = better ? n->def : s;
            large = small; /* an initial value belongs to the largest */
            if (small->init)
                large = better ? s : n->def;
        }
        if (large->bytes > small->bytes) {
            fgs__sim_log_line(log, "error   : Common symbol '%s' in file "
                              "'%s' has larger size than initialization\n",
                              s->name, large == s ? in : n->def_in);
            return false;
        }
    }
    if (better) {
        n->def = s;
        n->def_in = in;
    }
    return true;
}

static CUresult add(struct fgs__sim_names *t, struct fgs__ptx_sym *s,
                    const char *in, struct fgs__sim_log *log)
{
    struct name *n = place(t, s->name);

    if (!n)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!n->first) {
        *n = (struct name){ .first = s, .first_in = in };
        t->used++;
    }
    if (!same_shape(n->first, s)) {
        fgs__sim_log_line(log, s->kind == FGS__SYM_FUNC
                              ? "error   : Prototype doesn't match for '%s' "
                                "in '%s', first defined in '%s'\n"
                              : "error   : Size doesn't match for '%s' in "
                                "'%s', first specified in '%s'\n",
                          s->name, in, n->first_in);
        return CUDA_ERROR_INVALID_PTX;
    }
    if (!defines(s))
        return CUDA_SUCCESS;
    if (n->def)
        return choose(n, s, in, log) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
    n->def = s;
    n->def_in = in;
    return CUDA_SUCCESS;
}

/* A .shared array without size is each kernel's dynamic memory. */
static bool is_dynamic(const struct fgs__ptx_sym *v)
{
    return v->space == FGS__M_SHARED && !v->bytes;
}

CUresult fgs__sim_names_add(struct fgs__sim_names *t,
                            struct fgs__ptx_module *m,
                            struct fgs__sim_log *log)
{
    CUresult all = CUDA_SUCCESS, r;

    for (struct fgs__ptx_func *f = m->funcs; f; f = f->next) {
        /* A prototype's symbol is its definition's, where that follows. */
        if (f->linkage == FGS__LINK_NONE || f->sym->func != f)
            continue;
        r = add(t, f->sym, m->name, log);
        all = all ? all : r;
    }
    for (struct fgs__ptx_sym *v = m->vars; v; v = v->next) {
        if (v->linkage == FGS__LINK_NONE || is_dynamic(v))
            continue;
        r = add(t, v, m->name, log);
        all = all ? all : r;
    }
    return all;
}

/* -------------------------------------------------------------- binding -- */

struct bind {
    const struct fgs__sim_names *names;
    const struct fgs__ptx_module *in;
    bool linked, bad;
    struct fgs__sim_log *error, *info;
};

static bool is_open(const struct fgs__ptx_sym *s)
{
    if (s->kind == FGS__SYM_FUNC)
        return !s->func->body && !fgs__sim_builtin_find(s->func);
    return s->kind == FGS__SYM_VAR && s->linkage == FGS__LINK_EXTERN &&
        !s->def && !is_dynamic(s);
}

/* A symbol is used.  One that no text defines is reported once. */
static void use(struct bind *b, struct fgs__ptx_sym *s)
{
    bool func = s->kind == FGS__SYM_FUNC;
    struct name *n;

    if (!is_open(s))
        return;
    n = find(b->names, s->name);
    if (!n || !n->first || n->told)
        return;
    n->told = true;
    if (b->linked) {
        fgs__sim_log_line(b->error, "error   : Undefined reference to '%s' in "
                          "'%s'\n", s->name, b->in->name);
    } else if (!func && s->bytes) { /* it is this text's own then */
        fgs__sim_log_line(b->info, "ptxas warning : Unresolved extern variable "
                          "'%s' in whole program compilation, ignoring extern "
                          "qualifier\n", s->name);
        return;
    } else {
        fgs__sim_log_line(b->error, "ptxas fatal   : Unresolved extern %s "
                          "'%s'\n", func ? "function" : "variable", s->name);
    }
    b->bad = true;
}

static void use_operand(struct bind *b, const struct fgs__ptx_operand *o)
{
    const struct fgs__ptx_targets *t = o->sym ? o->sym->targets : NULL;

    if (o->sym && (o->sym->kind == FGS__SYM_FUNC ||
                   o->sym->kind == FGS__SYM_VAR))
        use(b, o->sym);
    for (uint32_t k = 0; t && !t->labels && k < t->count; k++)
        use(b, t->list[k].sym);
    for (uint32_t k = 0; k < o->children; k++)
        use_operand(b, &o->child[k]);
}

static void use_all(struct bind *b, const struct fgs__ptx_module *m)
{
    b->in = m;
    for (const struct fgs__ptx_func *f = m->funcs; f; f = f->next)
        for (uint32_t k = 0; k < f->insn_count; k++)
            for (uint32_t o = 0; o < f->insn[k].operands; o++)
                use_operand(b, &f->insn[k].operand[o]);
    for (const struct fgs__ptx_sym *v = m->vars; v; v = v->next)
        for (const struct fgs__ptx_reloc *l = v->relocs; l; l = l->next)
            use(b, l->target);
}

static bool bind_names(const struct fgs__sim_names *t,
                       struct fgs__ptx_module *m)
{
    bool open = false;

    for (struct fgs__ptx_func *f = m->funcs; f; f = f->next) {
        const struct name *n = f->linkage ? find(t, f->name) : NULL;

        if (n && n->def && n->def->func != f) {
            n->def->taken |= f->sym->taken;
            f->sym->func = n->def->func;
        }
        open |= is_open(f->sym);
    }
    for (struct fgs__ptx_sym *v = m->vars; v; v = v->next) {
        const struct name *n =
            v->linkage && !is_dynamic(v) ? find(t, v->name) : NULL;

        if (n && n->def && n->def != v)
            v->def = n->def;
        open |= is_open(v);
    }
    return open;
}

CUresult fgs__sim_names_bind(struct fgs__sim_names *t,
                             struct fgs__ptx_module *first, bool linked,
                             struct fgs__sim_log *error,
                             struct fgs__sim_log *info)
{
    struct bind b = { .names = t, .linked = linked, .error = error,
                      .info = info };
    struct fgs__ptx_module *m;
    bool open = false;

    for (m = first; m; m = m->next)
        open |= bind_names(t, m);
    for (m = first; m && open; m = m->next)
        use_all(&b, m);
    return b.bad ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}
