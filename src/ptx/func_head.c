/* func_head.c -- directives of a function's head, behind its parameters */
#include "ptx/parse.h"
#include "base/compat.h"

static bool other_list(const struct fgs__ptx_sym *a,
                       const struct fgs__ptx_sym *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->kind != b->kind || a->type != b->type || a->vec != b->vec ||
            a->bytes != b->bytes || a->dims != b->dims || a->align != b->align)
            return true;
    return false;
}

static bool as_many(const struct fgs__ptx_sym *a, const struct fgs__ptx_sym *b)
{
    while (a && b) {
        a = a->next;
        b = b->next;
    }
    return !a && !b;
}

const char *fgs__other_head(const struct fgs__ptx_func *a,
                            const struct fgs__ptx_func *b)
{
    if (!as_many(a->params, b->params) || other_list(a->params, b->params))
        return "other parameters";
    if (!as_many(a->rets, b->rets) || other_list(a->rets, b->rets))
        return "another result";
    return NULL;
}

/* N{,N{,N}} with the rest 1. */
static void parse_dim3(struct fgs__parse *p, uint32_t dim[3], const char *what)
{
    struct fgs__ptx_pos pos = p->tok.pos;

    dim[0] = dim[1] = dim[2] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t v;

        if (!fgs__parse_number(p, UINT32_MAX, &v, what))
            return;
        dim[i] = (uint32_t)v;
        if (!v)
            fgs__parse_error(p, pos, "%s: 0 is not possible", what);
        if (i == 2 || !fgs__parse_accept(p, ','))
            return;
    }
}

static void parse_count(struct fgs__parse *p, uint32_t *out, const char *what)
{
    struct fgs__ptx_pos pos = p->tok.pos;
    uint64_t v;

    if (!fgs__parse_number(p, UINT32_MAX, &v, what))
        return;
    *out = (uint32_t)v;
    if (!v)
        fgs__parse_error(p, pos, "%s: 0 is not possible", what);
}

/* Directives of a function that follow one kind of head only. */
static bool is_for(enum fgs__directive d, bool entry)
{
    switch (d) {
    case FGS__D_MAXNTID:
    case FGS__D_REQNTID:
    case FGS__D_MINNCTAPERSM:
    case FGS__D_MAXNCTAPERSM:
    case FGS__D_MAXNREG:
    case FGS__D_MINPERCTAMEMORY:
    case FGS__D_PRAGMA:
        return entry;
    case FGS__D_ABI_PRESERVE:
    case FGS__D_ABI_PRESERVE_CONTROL:
    case FGS__D_NORETURN:
        return !entry;
    default:
        return true;
    }
}

/* Two numbers that name a function or variable to tools (ISA 5.4.8). */
bool fgs__skip_unified(struct fgs__parse *p)
{
    uint64_t n;

    if (!fgs__check_version(p, p->tok.pos, 80, 90, 0, ".attribute(.unified)"))
        return false;
    fgs__parse_next(p);
    return fgs__parse_expect(p, '(', "'('") &&
        fgs__parse_number(p, UINT64_MAX, &n, "a number") &&
        fgs__parse_expect(p, ',', "','") &&
        fgs__parse_number(p, UINT64_MAX, &n, "a number") &&
        fgs__parse_expect(p, ')', "')'");
}

void fgs__skip_attribute(struct fgs__parse *p)
{
    fgs__parse_next(p);
    if (!fgs__parse_expect(p, '(', "'('"))
        return;
    if (strcmp(fgs__parse_word(p)->text, "unified"))
        fgs__parse_expected(p, ".unified");
    else if (fgs__skip_unified(p))
        fgs__parse_expect(p, ')', "')'");
}

/* Directives of clusters (ISA 11.7, 11.8.1). */
static void parse_cluster(struct fgs__parse *p, struct fgs__ptx_func *f,
                          enum fgs__directive d)
{
    const char *word = fgs__parse_word(p)->text;
    struct fgs__ptx_pos pos = p->tok.pos;
    int ptx = d == FGS__D_BLOCKSARECLUSTERS ? 90 : 78;

    if (!f->entry)
        fgs__parse_error(p, pos, "'.%s' is for .entry", word);
    else if (p->m->version < ptx)
        fgs__parse_error(p, pos, "'.%s' needs PTX ISA %d.%d or later", word,
                         ptx / 10, ptx % 10);
    else if (p->m->target_cc < 90)
        fgs__parse_error(p, pos, "'.%s' needs target sm_90 or later", word);
    if (p->failed)
        return;
    fgs__parse_next(p);
    if (d == FGS__D_REQNCTAPERCLUSTER)
        parse_dim3(p, f->reqcluster, ".reqnctapercluster");
    else if (d == FGS__D_MAXCLUSTERRANK)
        parse_count(p, &f->maxclusterrank, ".maxclusterrank");
    else if (d == FGS__D_EXPLICITCLUSTER)
        f->explicitcluster = true;
    else
        f->blocksareclusters = true;
    if (f->reqcluster[0] && f->maxclusterrank)
        fgs__parse_error(p, pos, ".reqnctapercluster and .maxclusterrank "
                         "exclude each other");
}

/* What a function saves of registers: limits of the assembler for an ABI that
 * does not exist here. */
static void parse_preserve(struct fgs__parse *p, struct fgs__ptx_func *f,
                           bool control)
{
    struct fgs__ptx_pos pos = p->tok.pos;
    bool *given = control ? &f->abi_preserve_control : &f->abi_preserve;
    const char *word = fgs__parse_word(p)->text;
    uint64_t n;

    if (*given)
        fgs__parse_error(p, pos, "'.%s' is given twice", word);
    *given = true;
    fgs__check_version(p, pos, 90, 80, 0, ".%s", word);
    fgs__parse_next(p);
    fgs__parse_number(p, control ? 11 : 232, &n, "a register count");
}

bool fgs__func_directive(struct fgs__parse *p, struct fgs__ptx_func *f)
{
    struct fgs__ptx_pos pos = p->tok.pos;
    enum fgs__directive d = fgs__parse_word(p)->directive;
    const char *word = fgs__parse_word(p)->text;

    if (!is_for(d, f->entry)) {
        fgs__parse_error(p, pos, ".%s is for .%s only", word,
                         f->entry ? "func" : "entry");
        return false;
    }
    switch (d) {
    case FGS__D_MAXNTID:
        fgs__parse_next(p);
        parse_dim3(p, f->maxntid, ".maxntid");
        break;
    case FGS__D_REQNTID:
        fgs__check_version(p, pos, 21, 0, 0, ".reqntid");
        fgs__parse_next(p);
        parse_dim3(p, f->reqntid, ".reqntid");
        break;
    case FGS__D_MAXNCTAPERSM: /* its old name */
        if (p->m->version > 20)
            fgs__parse_error(p, pos, "'.maxnctapersm' is for PTX 2.0 and "
                             "older, .minnctapersm took its place");
        /* fall through */
    case FGS__D_MINNCTAPERSM:
        if (d == FGS__D_MINNCTAPERSM)
            fgs__check_version(p, pos, 20, 0, 0, ".minnctapersm");
        fgs__parse_next(p);
        parse_count(p, &f->minnctapersm, ".minnctapersm");
        break;
    case FGS__D_MAXNREG:
        fgs__parse_next(p);
        parse_count(p, &f->maxnreg, ".maxnreg");
        break;
    case FGS__D_MINPERCTAMEMORY:
        fgs__parse_error(p, pos, "'.%s' is not supported yet", word);
        return false;
    case FGS__D_MAXCLUSTERRANK:
    case FGS__D_REQNCTAPERCLUSTER:
    case FGS__D_EXPLICITCLUSTER:
    case FGS__D_BLOCKSARECLUSTERS:
        parse_cluster(p, f, d);
        break;
    case FGS__D_ABI_PRESERVE:
    case FGS__D_ABI_PRESERVE_CONTROL:
        parse_preserve(p, f, d == FGS__D_ABI_PRESERVE_CONTROL);
        break;
    case FGS__D_NORETURN:
        if (f->noreturn)
            fgs__parse_error(p, pos, "'.noreturn' is given twice");
        f->noreturn = true;
        fgs__check_version(p, pos, 64, 30, 0, ".noreturn");
        if (f->rets)
            fgs__parse_error(p, pos, "'.noreturn' is for functions without a "
                             "result");
        fgs__parse_next(p);
        break;
    case FGS__D_PRAGMA:
        fgs__skip_pragma(p, FGS__PRAGMA_HEAD);
        break;
    default:
        return false;
    }
    if (f->maxntid[0] && f->reqntid[0])
        fgs__parse_error(p, pos, ".maxntid and .reqntid exclude each other");
    return !p->failed;
}
