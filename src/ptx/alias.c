/* alias.c -- .alias: a second name of a function */
#include "ptx/parse.h"
#include "base/compat.h"

/* NEW is declared and OLD defined here, with the same parameters (ISA 11.1,
 * .alias).  A call to NEW calls OLD. */
static void check_alias(struct fgs__parse *p, struct fgs__ptx_sym *to,
                        const struct fgs__ptx_sym *from,
                        struct fgs__ptx_pos pos)
{
    const struct fgs__ptx_func *f = from->func;

    if (to == from || to->func->body)
        fgs__parse_error(p, pos, "'%s' is defined already", to->name);
    else if (f->entry || to->func->entry)
        fgs__parse_error(p, pos, "an entry has no other name");
    else if (!f->body || f->linkage == FGS__LINK_WEAK)
        fgs__parse_error(p, pos, "'%s' is %s", from->name,
                         f->body ? ".weak" : "not defined");
    else if (fgs__other_head(f, to->func))
        fgs__parse_error(p, pos, "'%s' and '%s' have different parameters",
                         to->name, from->name);
    else
        to->func = from->func;
}

/* .alias NEW, OLD; both are functions of this module. */
void fgs__alias_parse(struct fgs__parse *p)
{
    struct fgs__ptx_sym *sym[2] = { NULL, NULL };
    struct fgs__ptx_pos pos = p->tok.pos;

    if (!fgs__check_version(p, pos, 63, 30, 0, ".alias"))
        return;
    fgs__parse_next(p);
    for (int i = 0; i < 2; i++) {
        struct fgs__tok t = p->tok;
        struct fgs__name *n;

        if ((i && !fgs__parse_expect(p, ',', "','")) ||
            (t = p->tok, !fgs__parse_expect(p, FGS__TOK_NAME, "a function")))
            return;
        n = fgs__name_get(p, &t);
        if (!n)
            return;
        if (!n->single)
            fgs__scope_unknown(p, n, t.pos);
        else if (n->single->sym->kind != FGS__SYM_FUNC)
            fgs__parse_error(p, t.pos, "'%s' is not a function", n->text);
        else
            sym[i] = n->single->sym;
    }
    if (sym[0] && sym[1] && fgs__parse_expect(p, ';', "';'"))
        check_alias(p, sym[0], sym[1], pos);
}
