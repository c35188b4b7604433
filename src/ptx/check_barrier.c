/* check_barrier.c -- rules of bar, fence and mbarrier */
#include "ptx/parse.h"
#include "base/compat.h"

static void check_threads(struct fgs__check *c,
                          const struct fgs__ptx_operand *n)
{
    if (n->kind == FGS__O_INT && n->imm % 32)
        fgs__check_operand_error(c, n, "the number of threads %llu is no "
                                 "multiple of 32", (unsigned long long)n->imm);
}

/* Number 0..15; threads a multiple of the warp's size. */
void fgs__check_barrier(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_operand *n = i->operands > 1 ? &i->operand[1] : NULL;

    if (!fgs__check_range(c, &i->operand[0], 0, 15, "the barrier's number"))
        return;
    if (n)
        check_threads(c, n);
}

/* d, number {, threads}, predicate: one result, of all threads. */
void fgs__check_bar_red(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_operand *o = i->operand, *p = &o[i->operands - 1];
    enum fgs__ptx_type t = (enum fgs__ptx_type)i->type[0];

    if (i->operands < 3 || i->operands > 4) {
        fgs__check_error(c, "3 or 4 operands expected, not %u", i->operands);
        return;
    }
    if (!fgs__check_value(c, &o[0], t, FGS__USE_DEST))
        return;
    for (unsigned k = 1; k + 1 < i->operands; k++)
        if (!fgs__check_value(c, &o[k], FGS__T_U32, FGS__USE_EXACT))
            return;
    if ((p->kind != FGS__O_REG || p->sym->type != FGS__T_PRED) &&
        p->kind != FGS__O_INT)
        fgs__check_operand_error(c, p, "a predicate expected");
    else if (fgs__check_range(c, &o[1], 0, 15, "the barrier's number") &&
             i->operands == 4)
        check_threads(c, &o[2]);
}

/* -------------------------------------------------------- fence.proxy -- */

static void need(struct fgs__check *c, unsigned group, bool wanted,
                 const char *what)
{
    if (!!c->i->mod[group] != wanted)
        fgs__check_mod_error(c, group, "'.%s' %s %s",
                             fgs__mods[c->i->mod[FGS__G_PROXY]].word,
                             wanted ? "requires" : "has no", what);
}

static void need_operands(struct fgs__check *c, unsigned n)
{
    if (c->i->operands != n)
        fgs__check_error(c, "%u operands expected, not %u", n, c->i->operands);
}

/* async with a space is one modifier for those who execute it. */
static void join_space(struct fgs__ptx_insn *i)
{
    static const struct {
        uint16_t space, proxy;
    } list[] = {
        { FGS__M_GLOBAL, FGS__M_PROXY_ASYNC_GLOBAL },
        { FGS__M_SHARED_CTA, FGS__M_PROXY_ASYNC_SHARED },
        { FGS__M_SHARED_CLUSTER, FGS__M_PROXY_ASYNC_CLUSTER },
    };

    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        if (i->space[0] == list[k].space)
            i->mod[FGS__G_PROXY] = list[k].proxy;
    }
    i->space[0] = i->mod[FGS__G_SPACE] = FGS__M_NONE;
}

/* What is acquired is ordered for the cluster's shared memory, what is
 * released for the block's own (ISA 9.7.15.5). */
static void check_restrict(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned to = i->mod[FGS__G_RESTRICT], sem = i->mod[FGS__G_SEM];

    if (sem != (to == FGS__M_RESTRICT_CLUSTER ? FGS__M_ACQUIRE
                                              : FGS__M_RELEASE))
        fgs__check_mod_error(c, FGS__G_RESTRICT, "'.%s' requires '.%s'",
                             fgs__mods[to].word,
                             to == FGS__M_RESTRICT_CLUSTER ? "acquire"
                                                           : "release");
    else if (i->mod[FGS__G_SCOPE] != FGS__M_CLUSTER)
        fgs__check_mod_error(c, FGS__G_SCOPE, "the scope must be .cluster");
}

void fgs__check_fence(struct fgs__check *c)
{
    if (c->i->mod[FGS__G_RESTRICT])
        check_restrict(c);
}

void fgs__check_order(struct fgs__check *c)
{
    struct fgs__ptx_insn *i = c->i;
    bool map = i->mod[FGS__G_PROXY] == FGS__M_PROXY_TENSORMAP;
    bool restricted = i->mod[FGS__G_PROXY] == FGS__M_PROXY_ASYNC_GENERIC;

    if (i->mod[FGS__G_PROXY] != FGS__M_PROXY_ASYNC)
        need(c, FGS__G_SPACE, false, "state space");
    if (i->mod[FGS__G_PROXY] != FGS__M_PROXY_ALIAS || !i->mod[FGS__G_SEM]) {
        need(c, FGS__G_SEM, map || restricted, "order");
        need(c, FGS__G_SCOPE, map || restricted, "scope");
    } else if (fgs__check_version(c->p, c->mod_at[FGS__G_SEM], 94, 90, 0,
                                  "'.alias' with an order") &&
               i->mod[FGS__G_SCOPE] != FGS__M_SYS) {
        fgs__check_mod_error(c, FGS__G_SCOPE, "the scope must be .sys");
    }
    need(c, FGS__G_RESTRICT, restricted, "sync_restrict");
    if (map && i->mod[FGS__G_SEM] == FGS__M_ACQUIRE) {
        need_operands(c, 2);
        if (!c->p->failed && fgs__check_addr(c, &i->operand[0], FGS__M_NONE) &&
            i->operand[1].imm != 128)
            fgs__check_operand_error(c, &i->operand[1], "a tensor map has 128 "
                                     "bytes");
    } else {
        need_operands(c, 0);
    }
    if (restricted && !c->p->failed)
        check_restrict(c);
    if (!c->p->failed)
        join_space(i);
}

/* tensormap.cp_fenceproxy: from the block's shared memory. */
void fgs__check_cp_fence(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->space[0] != FGS__M_GLOBAL || i->space[1] != FGS__M_SHARED_CTA)
        fgs__check_mod_error(c, FGS__G_SPACE, "the spaces must be .global and "
                             ".shared::cta");
    else if (fgs__check_range(c, &i->operand[2], 128, 128, "the size") &&
             fgs__check_addr(c, &i->operand[0], FGS__M_GLOBAL))
        fgs__check_addr(c, &i->operand[1], FGS__M_SHARED_CTA);
}

/* ------------------------------------------------------------ mbarrier -- */

/* Table of ISA 9.7.15.16: what an object can count.  The assembler takes up
 * to 2^20-1 for both layouts; for layout::v1 that counts wrong at run time. */
static void check_init(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->mod[FGS__G_LAYOUT] == FGS__M_LAYOUT_V1)
        fgs__check_range(c, &i->operand[1], 1, 511,
                         "the count of a layout::v1 barrier");
    else
        fgs__check_range(c, &i->operand[1], 1, 1048575, "the count");
}

/* {, count} {, blocks}: the assembler takes one operand as the blocks. */
static bool check_cast(struct fgs__check *c, bool tx)
{
    const struct fgs__ptx_insn *i = c->i;
    bool cast = i->mod[FGS__G_MULTICAST];

    if (cast && i->space[0] && i->space[0] != FGS__M_SHARED_CLUSTER)
        fgs__check_mod_error(c, FGS__G_MULTICAST,
                             "'.%s' requires .shared::cluster",
                             fgs__mods[i->mod[FGS__G_MULTICAST]].word);
    else if (cast && i->mod[FGS__G_NOCOMPLETE])
        fgs__check_mod_error(c, FGS__G_NOCOMPLETE, "'.noComplete' is for "
                             "barriers of the own block");
    else if (!tx && (cast ? i->operands < 3 : i->operands > 3))
        fgs__check_error(c, cast ? "the blocks are missing"
                                 : "one operand too many");
    return !c->p->failed;
}

static void check_arrive(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool remote = i->space[0] == FGS__M_SHARED_CLUSTER;
    bool tx = i->op == FGS__OP_MBAR_ARRIVE_EXPECT_TX ||
        i->op == FGS__OP_MBAR_ARRIVE_DROP_EXPECT_TX;

    if (!fgs__check_scope(c) || !check_cast(c, tx))
        return;
    if ((remote || i->mod[FGS__G_MULTICAST]) &&
        i->operand[0].kind != FGS__O_SINK)
        fgs__check_operand_error(c, &i->operand[0], "with .shared::cluster the "
                                 "result must be _");
    else if (!tx && i->operands > 2 + !!i->mod[FGS__G_MULTICAST])
        fgs__check_range(c, &i->operand[2], 1, 1048575, "the count");
    if (!i->mod[FGS__G_NOCOMPLETE] || c->p->failed)
        return;
    if (i->operands < 3)
        fgs__check_error(c, "'.noComplete' requires a count");
    else if (remote)
        fgs__check_mod_error(c, FGS__G_SPACE, "'.noComplete' is for barriers "
                             "of the own block");
    else if (i->mod[FGS__G_SEM] == FGS__M_RELAXED)
        fgs__check_mod_error(c, FGS__G_SEM, "'.noComplete' and '.relaxed' "
                             "exclude each other");
    else if (i->mod[FGS__G_SCOPE] == FGS__M_CLUSTER)
        fgs__check_mod_error(c, FGS__G_SCOPE, "'.noComplete' and '.cluster' "
                             "exclude each other");
}

static void check_wait(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    const struct fgs__ptx_operand *o = i->operand;
    unsigned phase = i->mod[FGS__G_PHASE];
    bool pair = o[0].kind == FGS__O_PAIR;
    bool value = o[1].kind != FGS__O_ADDR;

    if (!fgs__check_scope(c))
        return;
    if (phase == FGS__M_PHASE_CONDITIONAL && !i->mod[FGS__G_PARITY])
        fgs__check_mod_error(c, FGS__G_PHASE, "the conditional phase is waited "
                             "for with .parity only");
    else if (pair && phase != FGS__M_PHASE_PRIMARY)
        fgs__check_operand_error(c, &o[0], "a report predicate requires "
                                 "'.phase_type::primary'");
    else if (value && !pair)
        fgs__check_operand_error(c, &o[1], "a report value stands behind a "
                                 "report predicate only");
    else if (i->mod[FGS__G_PARITY])
        fgs__check_range(c, &o[value ? 3 : 2], 0, 1, "the parity");
    else if (o[value ? 3 : 2].kind != FGS__O_REG)
        fgs__check_operand_error(c, &o[value ? 3 : 2], "the state must be a "
                                 "register");
}

static void check_tx(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (fgs__check_scope(c) && i->mod[FGS__G_MULTICAST] &&
        i->space[0] != FGS__M_SHARED_CLUSTER)
        fgs__check_mod_error(c, FGS__G_MULTICAST,
                             "'.%s' requires .shared::cluster",
                             fgs__mods[i->mod[FGS__G_MULTICAST]].word);
}

/* A generic address may be written as a name, but of shared memory only. */
static void check_place(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    for (unsigned k = 0; k < i->operands && !i->space[0]; k++) {
        const struct fgs__ptx_operand *o = &i->operand[k];

        if (o->kind == FGS__O_ADDR && o->sym && o->sym->kind == FGS__SYM_VAR &&
            o->sym->space != FGS__M_SHARED)
            fgs__check_operand_error(c, o, "'%s' lies in .%s, a barrier in "
                                     ".shared", o->sym->name,
                                     fgs__mods[o->sym->space].word);
    }
}

void fgs__check_mbarrier(struct fgs__check *c)
{
    check_place(c);
    if (c->p->failed)
        return;
    switch (c->i->op) {
    case FGS__OP_MBAR_INIT:
        check_init(c);
        break;
    case FGS__OP_MBAR_INVAL:
    case FGS__OP_MBAR_CHECK_LAYOUT:
        break;
    case FGS__OP_MBAR_TEST_WAIT:
    case FGS__OP_MBAR_TRY_WAIT:
        check_wait(c);
        break;
    case FGS__OP_MBAR_EXPECT_TX:
    case FGS__OP_MBAR_COMPLETE_TX:
        check_tx(c);
        break;
    default:
        check_arrive(c);
    }
}
