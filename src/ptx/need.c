/* need.c -- PTX versions and targets that instructions need */
#include "ptx/parse.h"
#include "ptx/target.h"
#include "base/compat.h"

#include <stdarg.h>

enum { FGS__G_NONE = UINT8_MAX };

static const struct need {
    uint16_t op, mod;
    uint8_t group, type;
    int ptx, cc, family;
} needs[] = {
#define NEED(op, group, mod, type, ptx, cc, family)                            \
    { FGS__OP_##op, FGS__M_##mod, FGS__G_##group, FGS__T_##type, ptx, cc,      \
      family },
#include "ptx/need.def"
#undef NEED
};

/* Rows of an opcode as a list, those of any opcode under NONE. */
enum { NEEDS = sizeof needs / sizeof needs[0], END = UINT16_MAX };
_Static_assert(NEEDS < END, "lists have 16-bit links");
static uint16_t first[FGS__OP_COUNT], next[NEEDS];

void fgs__needs_init(void)
{
    memset(first, UINT8_MAX, sizeof first); /* END */
    for (unsigned k = NEEDS; k--; ) {
        next[k] = first[needs[k].op];
        first[needs[k].op] = (uint16_t)k;
    }
}

/* `families` has three decimal digits for each of several. */
static bool in_family(int cc, int families)
{
    for (; families; families /= 1000) {
        int f = families % 1000;

        if (cc >= f && fgs__target_family(cc) == fgs__target_family(f))
            return true;
    }
    return false;
}

bool fgs__check_version(struct fgs__parse *p, struct fgs__ptx_pos pos, int ptx,
                        int cc, int family, const char *fmt, ...)
{
    const struct fgs__ptx_module *m = p->m;
    bool target = m->target_cc >= cc;
    char what[200];
    va_list ap;

    if (family)
        target = target && m->target_suffix && in_family(m->target_cc, family);
    if (m->version >= ptx && target)
        return true;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (m->version < ptx)
        fgs__parse_error(p, pos, "%s needs PTX %d.%d, .version is %d.%d", what,
                         ptx / 10, ptx % 10, m->version / 10, m->version % 10);
    else if (family)
        fgs__parse_error(p, pos, "%s needs target sm_%da or sm_%df, or a later "
                         "one of the family, .target is %s", what,
                         family % 1000, family % 1000, m->target);
    else
        fgs__parse_error(p, pos, "%s needs target sm_%d or later, .target is "
                         "%s", what, cc, m->target);
    return false;
}

static bool applies(const struct need *n, const struct fgs__ptx_insn *i)
{
    if (n->type && (!i->types || n->type != i->type[0]) &&
        (i->types < 2 || n->type != i->type[1]))
        return false;
    if (n->group == FGS__G_NONE)
        return true;
    if (n->group == FGS__G_SPACE)
        return i->space[0] == n->mod || i->space[1] == n->mod;
    return n->mod ? i->mod[n->group] == n->mod : i->mod[n->group] != 0;
}

static void check_need(struct fgs__check *c, const struct need *n)
{
    struct fgs__ptx_pos pos = c->i->pos;

    if (n->group == FGS__G_NONE) {
        fgs__check_version(c->p, c->type_at[0], n->ptx, n->cc, n->family,
                           "%s with type .%s", c->name,
                           fgs__ptx_types[n->type].word);
        return;
    }
    if (c->i->mod[n->group])
        pos = c->mod_at[n->group];
    fgs__check_version(c->p, pos, n->ptx, n->cc, n->family, "%s with '.%s'",
                       c->name, fgs__mods[n->mod ? n->mod
                                : c->i->mod[n->group]].word);
}

/* Forms whose need is in their operands. */
static void check_forms(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool arrive = i->op == FGS__OP_MBAR_ARRIVE ||
        i->op == FGS__OP_MBAR_ARRIVE_DROP;

    if (i->op == FGS__OP_BULK_COPY && i->space[0] == FGS__M_SHARED_CTA)
        fgs__check_version(c->p, c->mod_at[FGS__G_SPACE], 86, 90, 0,
                           "%s to .shared::cta", c->name);
    else if (arrive && i->operand[0].kind == FGS__O_SINK)
        fgs__check_version(c->p, i->operand[0].pos, 71, 80, 0, "%s to _",
                           c->name);
    if (!c->p->failed && arrive && i->operands > 2 &&
        !i->mod[FGS__G_NOCOMPLETE])
        fgs__check_version(c->p, i->operand[2].pos, 78, 90, 0,
                           "%s with a count", c->name);
    if (!c->p->failed && (i->op == FGS__OP_MIN || i->op == FGS__OP_MAX) &&
        i->operands > 3)
        fgs__check_version(c->p, i->operand[3].pos, 88, 100, 0,
                           "%s of three sources", c->name);
    else if (!c->p->failed && i->op == FGS__OP_SET && i->types > 1 &&
             (i->type[1] == FGS__T_F16 || i->type[1] == FGS__T_F16X2) &&
             fgs__ptx_types[i->type[0]].kind != FGS__K_PACK &&
             fgs__ptx_types[i->type[0]].kind != FGS__K_FLOAT)
        fgs__check_version(c->p, c->type_at[0], 65, 53, 0, "%s from .%s to an "
                           "integer", c->name,
                           fgs__ptx_types[i->type[1]].word);
    else if (!c->p->failed && i->types > 1 &&
             (i->op == FGS__OP_ADD || i->op == FGS__OP_SUB ||
              i->op == FGS__OP_FMA))
        fgs__check_version(c->p, c->type_at[1], 86, 100, 0,
                           "%s of mixed types", c->name);
}

static bool check_list(struct fgs__check *c, unsigned k)
{
    const struct fgs__ptx_module *m = c->p->m;

    for (; k != END; k = next[k]) {
        const struct need *n = &needs[k];

        if (m->version >= n->ptx && m->target_cc >= n->cc && !n->family)
            continue;
        if (applies(n, c->i))
            check_need(c, n);
        if (c->p->failed)
            return false;
    }
    return true;
}

void fgs__check_needs(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (!fgs__check_version(c->p, i->pos, c->row->ptx, c->row->cc, 0, "%s",
                            c->name))
        return;
    for (unsigned t = 0; t < i->types; t++) {
        if (i->type[t] == FGS__T_B128 &&
            !fgs__check_version(c->p, c->type_at[t], 83, 70, 0, "type .b128"))
            return;
    }
    if (check_list(c, first[FGS__OP_NONE]) && check_list(c, first[i->op]))
        check_forms(c);
}
