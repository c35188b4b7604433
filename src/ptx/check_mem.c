/* check_mem.c -- rules of ld, st, atom, red and bulk copies */
#include "ptx/parse.h"
#include "base/compat.h"

/* Orders that go with a scope, and scopes that go with an order (ISA 8.4). */
bool fgs__check_scope(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned sem = i->mod[FGS__G_SEM];
    bool strong = sem && sem != FGS__M_WEAK && sem != FGS__M_VOLATILE;

    if (strong && !i->mod[FGS__G_SCOPE])
        fgs__check_mod_error(c, FGS__G_SEM, "'.%s' requires a scope",
                             fgs__mods[sem].word);
    else if (!sem && i->mod[FGS__G_SCOPE])
        fgs__check_mod_error(c, FGS__G_SCOPE, "'.%s' requires an order such as "
                             "'.relaxed'",
                             fgs__mods[i->mod[FGS__G_SCOPE]].word);
    else if (!strong && i->mod[FGS__G_SCOPE])
        fgs__check_mod_error(c, FGS__G_SCOPE, "'.%s' has no scope",
                             fgs__mods[sem].word);
    return !c->p->failed;
}

/* -------------------------------------------------------------- ld, st -- */

static void check_mmio(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (!i->mod[FGS__G_MMIO])
        return;
    if (i->mod[FGS__G_SEM] == FGS__M_WEAK ||
        i->mod[FGS__G_SEM] == FGS__M_VOLATILE ||
        i->mod[FGS__G_SCOPE] != FGS__M_SYS)
        fgs__check_mod_error(c, FGS__G_MMIO, "'.mmio' requires '.relaxed.sys'");
    else if (i->mod[FGS__G_VEC])
        fgs__check_mod_error(c, FGS__G_VEC, "'.mmio' is for no vectors");
    else if (i->space[0] && i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_MMIO, "'.mmio' is for .global");
    else if (i->mod[FGS__G_SEM] != FGS__M_RELAXED)
        fgs__check_version(c->p, c->mod_at[FGS__G_SEM], 93, 70, 0, "%s with "
                           "'.mmio.%s'", c->name,
                           fgs__mods[i->mod[FGS__G_SEM]].word);
}

/* Words for the caches of global memory, not of a volatile access nor of
 * memory-mapped I/O; a priority in L1 takes the place of a cache word. */
static void check_eviction(struct fgs__check *c)
{
    static const uint8_t groups[] = { FGS__G_EVICT1, FGS__G_EVICT2,
                                      FGS__G_CACHE_HINT, FGS__G_PREFETCH };
    const struct fgs__ptx_insn *i = c->i;

    for (size_t k = 0; k < sizeof groups && !c->p->failed; k++) {
        unsigned mod = i->mod[groups[k]];

        if (!mod)
            continue;
        if (i->space[0] && i->space[0] != FGS__M_GLOBAL)
            fgs__check_mod_error(c, groups[k], "'.%s' is for .global",
                                 fgs__mods[mod].word);
        else if (i->mod[FGS__G_SEM] == FGS__M_VOLATILE &&
                 groups[k] != FGS__G_PREFETCH)
            fgs__check_mod_error(c, groups[k], "'.%s' and '.volatile' exclude "
                                 "each other", fgs__mods[mod].word);
        else if (i->mod[FGS__G_MMIO])
            fgs__check_mod_error(c, groups[k], "'.%s' and '.mmio' exclude "
                                 "each other", fgs__mods[mod].word);
        else if (i->mod[FGS__G_CACHE] && groups[k] == FGS__G_EVICT1)
            fgs__check_mod_error(c, groups[k], "'.%s' and '.%s' exclude each "
                                 "other", fgs__mods[mod].word,
                                 fgs__mods[i->mod[FGS__G_CACHE]].word);
    }
}

/* An order is for memory that others see, .volatile for what can be written. */
static void check_order(struct fgs__check *c)
{
    unsigned sem = c->i->mod[FGS__G_SEM], space = c->i->space[0];

    if (!sem || sem == FGS__M_WEAK)
        return;
    if ((space == FGS__M_LOCAL && sem != FGS__M_VOLATILE) ||
        space == FGS__M_CONST ||
        space == FGS__M_PARAM || space == FGS__M_PARAM_ENTRY ||
        space == FGS__M_PARAM_FUNC)
        fgs__check_mod_error(c, FGS__G_SEM, "'.%s' is not for .%s",
                             fgs__mods[sem].word, fgs__mods[space].word);
}

/* Cache words are hints of plain accesses. */
static void check_cache(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned sem = i->mod[FGS__G_SEM];
    bool plain = !sem || sem == FGS__M_WEAK;

    if (i->mod[FGS__G_NC] && i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_NC, "'.nc' requires .global");
    else if (i->mod[FGS__G_NC] && sem)
        fgs__check_mod_error(c, FGS__G_NC, "'.nc' and '.%s' exclude each other",
                             fgs__mods[sem].word);
    else if (i->mod[FGS__G_NC] && (i->mod[FGS__G_CACHE] == FGS__M_LU ||
                                   i->mod[FGS__G_CACHE] == FGS__M_CV))
        fgs__check_mod_error(c, FGS__G_CACHE, "'.nc' has '.ca', '.cg' and "
                             "'.cs'");
    else if (i->mod[FGS__G_CACHE] && !plain)
        fgs__check_mod_error(c, FGS__G_CACHE,
                             "'.%s' and '.%s' exclude each other",
                             fgs__mods[i->mod[FGS__G_CACHE]].word,
                             fgs__mods[sem].word);
}

static void check_width(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned vec = i->mod[FGS__G_VEC];
    unsigned n = vec == FGS__M_V2 ? 2 : vec == FGS__M_V4 ? 4
        : vec == FGS__M_V8 ? 8 : 1;
    unsigned bits = fgs__ptx_types[i->type[0]].bits;
    bool wide = bits * n == 256 && bits >= 32 && bits <= 64 &&
        i->op != FGS__OP_LDU;

    if (n > 1 && bits * n > 128 && i->op == FGS__OP_LDU)
        fgs__check_mod_error(c, FGS__G_VEC, "a vector has 128 bits at most");
    else if (n > 1 && bits * n > 128 && !wide)
        fgs__check_mod_error(c, FGS__G_VEC, "a vector has 128 bits, or 256 as "
                             ".v8 of 32 or .v4 of 64 bits");
    else if (vec == FGS__M_V8 && !wide)
        fgs__check_mod_error(c, FGS__G_VEC, "'.v8' is for types of 32 bits");
    else if (wide && i->space[0] && i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_VEC,
                             "256 bits at once are for .global only");
    else if (i->mod[FGS__G_EVICT2] && !wide)
        fgs__check_mod_error(c, FGS__G_EVICT2, "'.%s' is for accesses of 256 "
                             "bits", fgs__mods[i->mod[FGS__G_EVICT2]].word);
}

static bool is_param(const struct fgs__ptx_sym *list,
                     const struct fgs__ptx_sym *v)
{
    while (list && list != v)
        list = list->next;
    return list != NULL;
}

static void check_param_space(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_func *f = c->p->func;
    unsigned space = i->space[0];
    const struct fgs__ptx_operand *o =
        &i->operand[i->op == FGS__OP_ST ? 0 : 1];

    if (space == FGS__M_PARAM_FUNC &&
        (!o->sym || o->sym->kind != FGS__SYM_VAR))
        fgs__check_operand_error(c, o, "'.param::func' needs the name of a "
                                 "variable");
    if (c->p->failed || !o->sym || o->sym->kind != FGS__SYM_VAR ||
        o->sym->space != FGS__M_PARAM)
        return;
    if (i->op == FGS__OP_ST && is_param(f->params, o->sym))
        fgs__check_operand_error(c, o, "parameter '%s' cannot be written",
                                 o->sym->name);
    else if (i->op == FGS__OP_LD && is_param(f->rets, o->sym))
        fgs__check_operand_error(c, o, "result '%s' cannot be read",
                                 o->sym->name);
    else if (space == FGS__M_PARAM_FUNC && f->entry &&
             is_param(f->params, o->sym))
        fgs__check_operand_error(c, o, "'%s' is a parameter of a kernel",
                                 o->sym->name);
    else if (space == FGS__M_PARAM_ENTRY &&
             !(f->entry && is_param(f->params, o->sym)))
        fgs__check_operand_error(c, o, "'%s' is no parameter of a kernel",
                                 o->sym->name);
}

/* What nothing writes meanwhile has no order and no hints (as the assembler
 * has it). */
static void check_readonly(struct fgs__check *c)
{
    static const uint8_t others[] = {
        FGS__G_SEM, FGS__G_SCOPE, FGS__G_MMIO, FGS__G_CACHE, FGS__G_EVICT1,
        FGS__G_EVICT2, FGS__G_PREFETCH, FGS__G_CACHE_HINT };
    const struct fgs__ptx_insn *i = c->i;

    for (size_t k = 0; k < sizeof others; k++)
        if (i->mod[others[k]]) {
            fgs__check_mod_error(c, others[k], "'.proxy::readonly' and '.%s' "
                                 "exclude each other",
                                 fgs__mods[i->mod[others[k]]].word);
            return;
        }
    if (i->space[0] && i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_SPACE, "'.proxy::readonly' is for "
                             ".global");
    else if (i->type[0] == FGS__T_B128)
        fgs__check_mod_error(c, FGS__G_READONLY, "'.proxy::readonly' is not "
                             "for type .b128");
}

void fgs__check_memory(struct fgs__check *c)
{
    if (c->i->mod[FGS__G_READONLY])
        check_readonly(c);
    if (c->p->failed)
        return;
    if (fgs__check_scope(c))
        check_mmio(c);
    if (!c->p->failed)
        check_cache(c);
    if (!c->p->failed)
        check_eviction(c);
    if (!c->p->failed)
        check_order(c);
    if (!c->p->failed)
        check_width(c);
    if (!c->p->failed)
        check_param_space(c);
}

/* ----------------------------------------------------------- atom, red -- */

#define T(id) ((uint64_t)1 << FGS__T_##id)
#define HALF (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))

/* Types of an operation (ISA 9.7.13.7 and .8; .add.s64 does not exist). */
static uint64_t atom_types(unsigned op, bool red)
{
    switch (op) {
    case FGS__M_ATOM_ADD:
        return T(U32) | T(S32) | T(U64) | T(F32) | T(F64) | HALF;
    case FGS__M_ATOM_MIN:
    case FGS__M_ATOM_MAX:
        return T(U32) | T(S32) | T(U64) | T(S64) | HALF;
    case FGS__M_ATOM_INC:
    case FGS__M_ATOM_DEC:
        return T(U32);
    case FGS__M_ATOM_EXCH:
        return red ? 0 : T(B32) | T(B64) | T(B128);
    case FGS__M_ATOM_CAS:
        return red ? 0 : T(B16) | T(B32) | T(B64) | T(B128);
    default:
        return T(B32) | T(B64);
    }
}

/* v2 and v4 of 32 bits, up to v8 of halves. */
static bool is_atom_vector(const struct fgs__ptx_insn *i)
{
    unsigned type = i->type[0], vec = i->mod[FGS__G_VEC];
    bool real = type == FGS__T_F32 || HALF >> type & 1;

    return real && (vec != FGS__M_V8 || fgs__ptx_types[type].bits == 16);
}

void fgs__check_atom(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned op = i->mod[FGS__G_ATOM], vec = i->mod[FGS__G_VEC];
    bool half = HALF >> i->type[0] & 1;
    const char *word = fgs__ptx_types[i->type[0]].word;

    if (!(atom_types(op, i->op == FGS__OP_RED) >> i->type[0] & 1))
        fgs__parse_error(c->p, c->type_at[0], "%s: '.%s' does not exist for "
                         "type .%s", c->name, fgs__mods[op].word, word);
    else if (half && !i->mod[FGS__G_NOFTZ])
        fgs__check_error(c, "type .%s needs .noftz", word);
    else if (half && op != FGS__M_ATOM_ADD && !vec)
        fgs__check_error(c, "'.%s' of type .%s needs a vector",
                         fgs__mods[op].word, word);
    else if (vec && !is_atom_vector(i))
        fgs__check_mod_error(c, FGS__G_VEC, "'.%s' does not exist for type .%s",
                             fgs__mods[vec].word, word);
    else if (vec && i->space[0] && i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_VEC, "vectors are for .global");
    else if (i->mod[FGS__G_CACHE_HINT] && i->space[0] &&
             i->space[0] != FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_CACHE_HINT, "'.%s' is for .global",
                             fgs__mods[FGS__M_CACHE_HINT].word);
}

/* --------------------------------------------------------- bulk copies -- */

enum direction { TO_CTA, TO_CLUSTER, TO_PEER, TO_GLOBAL, NOWHERE };

static enum direction direction_of(const struct fgs__ptx_insn *i)
{
    static const struct {
        uint8_t to, from, direction;
    } list[] = {
        { FGS__M_SHARED_CTA, FGS__M_GLOBAL, TO_CTA },
        { FGS__M_SHARED_CLUSTER, FGS__M_GLOBAL, TO_CLUSTER },
        { FGS__M_SHARED_CLUSTER, FGS__M_SHARED_CTA, TO_PEER },
        { FGS__M_GLOBAL, FGS__M_SHARED_CTA, TO_GLOBAL },
    };

    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        if (i->space[0] == list[k].to && i->space[1] == list[k].from)
            return (enum direction)list[k].direction;
    }
    return NOWHERE;
}

/* Modifiers that a direction lacks (ISA 9.7.10.28.4.1). */
static void check_direction(struct fgs__check *c, enum direction d)
{
    static const struct {
        uint8_t group, directions;
    } list[] = {
        { FGS__G_REPORT, 1 << TO_CTA | 1 << TO_CLUSTER },
        { FGS__G_MULTICAST, 1 << TO_CLUSTER },
        { FGS__G_IGNORE_OOB, 1 << TO_CTA },
        { FGS__G_CP_MASK, 1 << TO_GLOBAL },
        { FGS__G_CACHE_HINT, 1 << TO_CTA | 1 << TO_CLUSTER | 1 << TO_GLOBAL },
    };
    const struct fgs__ptx_insn *i = c->i;
    unsigned wanted = d == TO_GLOBAL ? FGS__M_BULK_GROUP : FGS__M_MBAR_BYTES;

    if (d == NOWHERE) {
        fgs__check_mod_error(c, FGS__G_SPACE, i->space[1]
                             ? "no copy goes from .%s to .%s"
                             : "two state spaces are needed, to and from",
                             fgs__mods[i->space[1]].word,
                             fgs__mods[i->space[0]].word);
        return;
    }
    if (i->mod[FGS__G_COMPLETION] != wanted)
        fgs__check_mod_error(c, FGS__G_COMPLETION,
                             "a copy to .%s needs '.%s'",
                             fgs__mods[i->space[0]].word,
                             fgs__mods[wanted].word);
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        if (i->mod[list[k].group] && !(list[k].directions >> d & 1))
            fgs__check_mod_error(c, list[k].group, "'.%s' is not allowed in a "
                                 "copy from .%s to .%s",
                                 fgs__mods[i->mod[list[k].group]].word,
                                 fgs__mods[i->space[1]].word,
                                 fgs__mods[i->space[0]].word);
    }
}

/* .relaxed, its scope and .b128 come together. */
static void check_strength(struct fgs__check *c, enum direction d)
{
    const struct fgs__ptx_insn *i = c->i;
    bool strong = i->mod[FGS__G_SEM] == FGS__M_RELAXED;

    if (!fgs__check_scope(c))
        return;
    if (strong && !i->types)
        fgs__check_mod_error(c, FGS__G_SEM, "'.relaxed' requires type .b128");
    else if (!strong && i->types)
        fgs__parse_error(c->p, c->type_at[0],
                         "%s: type .b128 requires '.relaxed'", c->name);
    else if (d == TO_PEER && strong &&
             i->mod[FGS__G_SCOPE] != FGS__M_CTA &&
             i->mod[FGS__G_SCOPE] != FGS__M_CLUSTER)
        fgs__check_mod_error(c, FGS__G_SCOPE, "a copy within the cluster has "
                             "scope .cta or .cluster");
    else if (i->mod[FGS__G_IGNORE_OOB] && i->mod[FGS__G_REPORT] &&
             i->mod[FGS__G_REPORT] != FGS__M_REPORT_DISABLED)
        fgs__check_mod_error(c, FGS__G_IGNORE_OOB, "'.ignore_oob' and a "
                             "validity report exclude each other");
}

static void check_copy_operands(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned oob = i->mod[FGS__G_IGNORE_OOB] ? 2 : 0;
    const struct fgs__ptx_operand *size = &i->operand[2];

    if (!fgs__check_addr(c, &i->operand[0], (enum fgs__ptx_mod)i->space[0]) ||
        !fgs__check_addr(c, &i->operand[1], (enum fgs__ptx_mod)i->space[1]))
        return;
    if (i->mod[FGS__G_COMPLETION] == FGS__M_MBAR_BYTES &&
        !fgs__check_addr(c, &i->operand[3 + oob], FGS__M_SHARED))
        return;
    if (!fgs__check_range(c, size, 0, 1048560, "the size"))
        return;
    if (size->kind == FGS__O_INT && size->imm % 16)
        fgs__check_operand_error(c, size, "the size %llu is no multiple of 16",
                                 (unsigned long long)size->imm);
    for (unsigned k = 0; k < oob; k++)
        fgs__check_range(c, &i->operand[3 + k], 0, 15, "the ignored part");
}

void fgs__check_bulk(struct fgs__check *c)
{
    enum direction d;

    if (c->i->op == FGS__OP_BULK_WAIT) {
        fgs__check_range(c, &c->i->operand[0], 0, INT32_MAX,
                         "the number of groups");
        return;
    }
    d = direction_of(c->i);
    check_direction(c, d);
    if (!c->p->failed)
        check_strength(c, d);
    if (!c->p->failed)
        check_copy_operands(c);
}
