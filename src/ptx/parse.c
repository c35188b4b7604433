/* parse.c -- PTX text to a module: tokens, directives of the module */
#include "ptx/parse.h"
#include "base/compat.h"
#include "ptx/target.h"

#include <stdarg.h>

/* -------------------------------------------------------------- errors -- */

void fgs__parse_error(struct fgs__parse *p, struct fgs__ptx_pos pos,
                      const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (p->failed || p->nomem)
        return;
    p->failed = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__ptx_diag_add(p->diags, pos, "%s", text);
    p->nomem = p->nomem || p->diags->nomem;
}

struct fgs__text fgs__parse_text(const struct fgs__tok *tok)
{
    struct fgs__text t;
    const char *dot = tok->kind == FGS__TOK_WORD ? "." : "";
    const char *more = tok->n > 50 ? "..." : "";

    if (tok->kind == FGS__TOK_END)
        snprintf(t.s, sizeof t.s, "the end of the text");
    else if (tok->kind == FGS__TOK_STRING)
        snprintf(t.s, sizeof t.s, "a string");
    else
        snprintf(t.s, sizeof t.s, "'%s%.*s%s'", dot,
                 tok->n > 50 ? 50 : (int)tok->n, tok->s, more);
    return t;
}

void fgs__parse_expected(struct fgs__parse *p, const char *what)
{
    if (p->tok.kind == FGS__TOK_ERROR) {
        p->failed = true; /* reported when it was read */
        return;
    }
    fgs__parse_error(p, p->tok.pos, "%s expected before %s", what,
                     fgs__parse_text(&p->tok).s);
}

/* -------------------------------------------------------------- tokens -- */

void fgs__parse_next(struct fgs__parse *p)
{
    if (p->nomem) {
        p->tok.kind = FGS__TOK_END;
        return;
    }
    fgs__lex_next(&p->lex, &p->tok);
    if (p->tok.kind == FGS__TOK_ERROR) {
        /* Its own error even where the statement has had one. */
        p->failed = false;
        fgs__parse_error(p, p->tok.pos, "%s", p->lex.why);
    }
}

bool fgs__parse_accept(struct fgs__parse *p, int kind)
{
    if (p->tok.kind != kind)
        return false;
    fgs__parse_next(p);
    return true;
}

bool fgs__parse_expect(struct fgs__parse *p, int kind, const char *what)
{
    if (fgs__parse_accept(p, kind))
        return true;
    fgs__parse_expected(p, what);
    return false;
}

void fgs__parse_recover(struct fgs__parse *p)
{
    unsigned depth = p->lists;

    p->lists = 0;
    for (; p->tok.kind != FGS__TOK_END && !p->nomem; fgs__parse_next(p)) {
        p->failed = true;
        if (p->tok.kind == ';') {
            fgs__parse_next(p);
            break;
        }
        if (p->tok.kind == '{')
            depth++;
        if (p->tok.kind == '}' && !depth--)
            break;
    }
    p->failed = false;
}

void *fgs__parse_alloc(struct fgs__parse *p, size_t size)
{
    void *r = fgs__arena_zalloc(&p->m->arena, size);

    p->nomem = p->nomem || !r;
    return r;
}

void *fgs__parse_tmp(struct fgs__parse *p, size_t size)
{
    void *r = fgs__arena_zalloc(&p->tmp, size);

    p->nomem = p->nomem || !r;
    return r;
}

const struct fgs__word *fgs__parse_word(const struct fgs__parse *p)
{
    static const struct fgs__word none = { .text = "" };
    const struct fgs__word *w = NULL;

    if (p->tok.kind == FGS__TOK_WORD)
        w = fgs__word_find(p->tok.hash, p->tok.s, p->tok.n);
    return w ? w : &none;
}

bool fgs__parse_number(struct fgs__parse *p, uint64_t max, uint64_t *out,
                       const char *what)
{
    struct fgs__tok t = p->tok;

    if (fgs__is_warp_size(&t)) {
        fgs__parse_next(p);
        t.value = 32;
    } else if (!fgs__parse_expect(p, FGS__TOK_INT, what)) {
        return false;
    }
    *out = t.value;
    if (t.value <= max)
        return true;
    fgs__parse_error(p, t.pos, "%s: %llu is more than %llu", what,
                     (unsigned long long)t.value, (unsigned long long)max);
    return false;
}

/* -------------------------------------------------------------- header -- */

/* Digits of a version's part; -1 = there are none or more than two. */
static int version_part(const char **s, const char *end)
{
    int v = 0, n = 0;

    for (; n < 3 && *s < end && **s >= '0' && **s <= '9'; n++)
        v = v * 10 + *(*s)++ - '0';
    return n < 1 || n > 2 ? -1 : v;
}

/* .version MAJOR.MINOR; the number's text counts (9.10 is not 9.1). */
static bool parse_version(struct fgs__parse *p)
{
    enum { MAX = FGS__PTX_VERSION_MAX };
    struct fgs__tok t;
    const char *s, *end;
    int major, minor = -1;

    fgs__parse_next(p);
    t = p->tok;
    s = t.s;
    end = s + t.n;
    major = t.kind == FGS__TOK_F64 ? version_part(&s, end) : -1;
    if (major >= 0 && s < end && *s++ == '.')
        minor = version_part(&s, end);
    if (minor < 0 || s != end) {
        fgs__parse_error(p, t.pos, "a version such as 9.4 expected before %s",
                         fgs__parse_text(&t).s);
        return false;
    }
    p->m->version_pos = t.pos;
    p->m->version = major * 10 + (minor > 9 ? 9 : minor);
    if (major > MAX / 10 || (major == MAX / 10 && minor > MAX % 10)) {
        p->diags->newer_version = p->m->version;
        fgs__parse_error(p, t.pos,
                         ".version %d.%d is newer than %d.%d, the last known",
                         major, minor, MAX / 10, MAX % 10);
        return false;
    }
    if (fgs__target_has_version(major, minor)) {
        fgs__parse_next(p);
        return true;
    }
    fgs__parse_error(p, t.pos, "PTX version %d.%d does not exist or is older "
                     "than 1.4, the first that is understood", major, minor);
    return false;
}

/* One name of the target list; the architecture is the one named sm_. */
static void parse_target_name(struct fgs__parse *p, size_t *mode)
{
    static const char *const others[] = {
        "debug", "texmode_unified", "texmode_independent", "map_f64_to_f32",
    };
    enum { UNIFIED = 1, INDEPENDENT = 2, MAP = 3 };
    struct fgs__tok t = p->tok;
    struct fgs__target target;

    if (!fgs__parse_expect(p, FGS__TOK_NAME, "a target"))
        return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strlen(others[i]) != t.n || memcmp(others[i], t.s, t.n))
            continue;
        if (!p->m->target)
            fgs__parse_error(p, t.pos, "the architecture stands before '%s'",
                             others[i]);
        else if (i == MAP && p->m->target_cc >= 13)
            fgs__parse_error(p, t.pos, "'%s' is for targets below sm_13",
                             others[i]);
        else if ((i == UNIFIED && *mode == INDEPENDENT) ||
                 (i == INDEPENDENT && *mode == UNIFIED))
            fgs__parse_error(p, t.pos, "'%s' and '%s' exclude each other",
                             others[*mode], others[i]);
        *mode = i == UNIFIED || i == INDEPENDENT ? i : *mode;
        return;
    }
    if (!fgs__target_find(t.s, t.n, &target)) {
        fgs__parse_error(p, t.pos, "unknown target %s",
                         fgs__parse_text(&t).s);
    } else if (p->m->target) {
        fgs__parse_error(p, t.pos, "a second architecture in .target");
    } else if (target.ptx > p->m->version) {
        fgs__parse_error(p, t.pos,
                         "PTX %d.%d does not know target %s, needed is %d.%d",
                         p->m->version / 10, p->m->version % 10,
                         fgs__parse_text(&t).s, target.ptx / 10,
                         target.ptx % 10);
    } else {
        p->m->target = fgs__arena_strndup(&p->m->arena, t.s, t.n);
        p->nomem = p->nomem || !p->m->target;
        p->m->target_cc = target.cc;
        p->m->target_suffix = target.suffix;
    }
}

static bool parse_target(struct fgs__parse *p)
{
    struct fgs__ptx_pos pos = p->tok.pos;
    size_t mode = 0;

    fgs__parse_next(p);
    do {
        parse_target_name(p, &mode);
    } while (fgs__parse_accept(p, ','));
    if (!p->m->target)
        fgs__parse_error(p, pos, ".target names no architecture");
    return !p->failed;
}

/* .version .target .address_size open a module, in this order. */
static bool parse_header(struct fgs__parse *p)
{
    uint64_t size = 64;
    struct fgs__ptx_pos pos;

    if (fgs__parse_word(p)->directive != FGS__D_VERSION) {
        fgs__parse_expected(p, ".version");
        return false;
    }
    if (!parse_version(p))
        return false;
    if (fgs__parse_word(p)->directive != FGS__D_TARGET) {
        fgs__parse_expected(p, ".target");
        return false;
    }
    if (!parse_target(p))
        return false;
    /* Without the directive the size was the host's; there is no 32-bit one. */
    p->m->address_size = 64;
    if (fgs__parse_word(p)->directive != FGS__D_ADDRESS_SIZE)
        return true;
    if (!fgs__check_version(p, p->tok.pos, 23, 0, 0, ".address_size"))
        return false;
    fgs__parse_next(p);
    pos = p->tok.pos;
    if (!fgs__parse_number(p, UINT64_MAX, &size, "an address size"))
        return false;
    if (size != 64)
        fgs__parse_error(p, pos, size == 32
                         ? "32-bit addresses are not supported"
                         : ".address_size must be 64");
    return true;
}

/* --------------------------------------------------- module's directives -- */

static enum fgs__ptx_linkage linkage_of(enum fgs__directive d)
{
    switch (d) {
    case FGS__D_VISIBLE:
        return FGS__LINK_VISIBLE;
    case FGS__D_EXTERN:
        return FGS__LINK_EXTERN;
    case FGS__D_WEAK:
        return FGS__LINK_WEAK;
    case FGS__D_COMMON:
        return FGS__LINK_COMMON;
    default:
        return FGS__LINK_NONE;
    }
}

static void parse_module_item(struct fgs__parse *p)
{
    const struct fgs__word *w = fgs__parse_word(p);
    enum fgs__ptx_linkage linkage = linkage_of(w->directive);

    if (linkage != FGS__LINK_NONE) {
        fgs__check_version(p, p->tok.pos, linkage == FGS__LINK_WEAK ? 31
                           : linkage == FGS__LINK_COMMON ? 50 : 10, 0, 0,
                           ".%s", w->text);
        fgs__parse_next(p);
        w = fgs__parse_word(p);
    }
    if ((w->directive == FGS__D_FUNC || w->directive == FGS__D_ENTRY) &&
        linkage == FGS__LINK_COMMON)
        fgs__parse_error(p, p->tok.pos, "'.common' is for variables");
    else if (w->directive == FGS__D_ENTRY || w->directive == FGS__D_FUNC)
        fgs__func_parse(p, w->directive == FGS__D_ENTRY, linkage);
    else if (w->directive == FGS__D_REG || w->directive == FGS__D_TEX ||
             w->directive == FGS__D_ALIGN ||
             w->directive == FGS__D_ATTRIBUTE ||
             (w->mod && fgs__mods[w->mod].group == FGS__G_SPACE))
        fgs__decl_vars(p, linkage);
    else if (linkage != FGS__LINK_NONE)
        fgs__parse_expected(p, "a function or a variable");
    else if (w->directive == FGS__D_FILE)
        fgs__skip_file(p);
    else if (w->directive == FGS__D_PRAGMA)
        fgs__skip_pragma(p, FGS__PRAGMA_MODULE);
    else if (w->directive == FGS__D_SECTION)
        fgs__skip_section(p);
    else if (w->directive == FGS__D_ALIAS)
        fgs__alias_parse(p);
    else
        fgs__parse_expected(p, "a directive of the module");
}

/* Where the next item of the module may begin. */
static bool starts_item(const struct fgs__parse *p)
{
    switch (fgs__parse_word(p)->directive) {
    case FGS__D_ENTRY:
    case FGS__D_FUNC:
    case FGS__D_VISIBLE:
    case FGS__D_EXTERN:
        return true;
    default:
        return false;
    }
}

static void recover_module(struct fgs__parse *p)
{
    unsigned depth = 0;
    bool first = true;

    for (; p->tok.kind != FGS__TOK_END; fgs__parse_next(p), first = false) {
        p->failed = true;
        if (!depth && !first && starts_item(p))
            break;
        if (p->tok.kind == '{')
            depth++;
        if ((p->tok.kind == ';' && !depth) ||
            (p->tok.kind == '}' && depth && !--depth)) {
            fgs__parse_next(p);
            break;
        }
    }
    p->failed = false;
}

/* Only .extern functions are looked for in other texts.  What was wrong before
 * may have been a definition. */
static void check_defined(struct fgs__parse *p)
{
    const struct fgs__ptx_func *f = p->diags->count ? NULL : p->m->funcs;

    for (; f; f = f->next) {
        p->failed = false;
        if (!f->body && f->linkage != FGS__LINK_EXTERN && f->sym->func == f)
            fgs__parse_error(p, f->pos, "'%s' is neither defined nor .extern",
                             f->name);
    }
}

static void parse_module(struct fgs__parse *p)
{
    fgs__parse_next(p);
    if (!parse_header(p))
        return;
    while (p->tok.kind != FGS__TOK_END && !p->nomem) {
        p->failed = false;
        parse_module_item(p);
        if (p->failed)
            recover_module(p);
    }
    check_defined(p);
}

/* ---------------------------------------------------------------- load -- */

static fgs_result result_of(const struct fgs__parse *p)
{
    if (p->nomem)
        return FGS_E_NOMEM;
    if (p->diags->newer_version)
        return FGS_E_PTXVERSION;
    return p->diags->count ? FGS_E_PTX : FGS_OK;
}

fgs_result fgs__ptx_load(struct fgs__ptx_module **out, const char *text,
                         size_t len, const fgs_allocator *a,
                         struct fgs__ptx_diags *diags)
{
    struct fgs__parse p = { .alloc = a, .diags = diags, .func_number = 1 };
    fgs_result r = FGS_E_NOMEM;

    *out = NULL;
    fgs__words_init();
    p.m = fgs__zalloc(a, sizeof *p.m);
    if (!p.m)
        return r;
    fgs__arena_init(&p.m->arena, a);
    fgs__arena_init(&p.tmp, a);
    fgs__lex_init(&p.lex, text, len);
    p.vars_end = &p.m->vars;
    p.funcs_end = &p.m->funcs;
    fgs__scope_open(&p, &p.module_scope);
    parse_module(&p);
    r = result_of(&p);
    fgs__free(a, p.slots);
    fgs__free(a, p.insn);
    fgs__free(a, p.regs);
    fgs__arena_free(&p.tmp);
    if (r < 0)
        fgs__ptx_free(p.m);
    else
        *out = p.m;
    return r;
}
