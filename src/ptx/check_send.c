/* check_send.c -- rules of st.async and red.async (ISA 9.7.10.12, 9.7.15.7)
 *
 * The 13.4 assembler takes some forms without a barrier that the ISA does not
 * have.  Of a st.async that is weak it makes no code at all, of red.async with
 * another operation than .add it makes an addition: both are refused.  Of
 * red.async.relaxed it makes the code of .release, so it is that here too.
 */
#include "ptx/parse.h"

/* To shared memory of the cluster, tracked by an mbarrier. */
static void check_tracked(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    bool red = i->op == FGS__OP_RED_ASYNC;
    unsigned bits = fgs__ptx_types[i->type[0]].bits;
    unsigned n = i->mod[FGS__G_VEC] == FGS__M_V4 ? 4
        : i->mod[FGS__G_VEC] == FGS__M_V2 ? 2 : 1;

    if (i->space[0] == FGS__M_GLOBAL)
        fgs__check_mod_error(c, FGS__G_COMPLETION, "'.%s' is for "
                             ".shared::cluster",
                             fgs__mods[i->mod[FGS__G_COMPLETION]].word);
    else if (red && i->space[0] == FGS__M_SHARED_CTA)
        fgs__check_error(c, "the destination is in .shared::cluster");
    else if (red && (i->mod[FGS__G_SEM] != FGS__M_RELAXED ||
                     i->mod[FGS__G_SCOPE] != FGS__M_CLUSTER))
        fgs__check_error(c, "'.relaxed.cluster' is needed");
    else if (!red && (i->mod[FGS__G_SCOPE] ||
                      i->mod[FGS__G_SEM] == FGS__M_RELEASE))
        fgs__check_error(c, "a store to the cluster is weak");
    else if (i->mod[FGS__G_MMIO])
        fgs__check_mod_error(c, FGS__G_MMIO, "'.mmio' is for .global");
    else if (bits < 32 || bits * n > 128)
        fgs__parse_error(c->p, c->type_at[0], "%s: 32 to 128 bits are stored",
                         c->name);
}

/* To global memory. */
static void check_release(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;
    unsigned scope = i->mod[FGS__G_SCOPE];
    bool red = i->op == FGS__OP_RED_ASYNC;

    if (i->space[0] && i->space[0] != FGS__M_GLOBAL)
        fgs__check_error(c, "'.mbarrier::complete_tx::bytes' is needed");
    else if ((!red && i->mod[FGS__G_SEM] != FGS__M_RELEASE) ||
             (scope != FGS__M_GPU && scope != FGS__M_SYS))
        fgs__check_error(c, "'.release' with '.gpu' or '.sys' is needed");
    else if (red && i->mod[FGS__G_ATOM] != FGS__M_ATOM_ADD)
        fgs__check_mod_error(c, FGS__G_ATOM, "only .add goes to global memory");
    else if (i->mod[FGS__G_MMIO] && i->mod[FGS__G_SEM] != FGS__M_RELEASE)
        fgs__check_mod_error(c, FGS__G_MMIO, "'.mmio' requires '.release'");
    else if (i->mod[FGS__G_MMIO] && scope != FGS__M_SYS)
        fgs__check_mod_error(c, FGS__G_MMIO, "'.mmio' requires '.sys'");
    else if (i->mod[FGS__G_VEC] || i->type[0] == FGS__T_B128)
        fgs__check_error(c, "64 bits at most are stored to global memory");
    else
        fgs__check_version(c->p, i->pos, 87, 100, 0, "%s with '.release'",
                           c->name);
}

/* Types of an operation; ISA 9.7.15.7, and what the assembler takes more. */
static bool has_type(unsigned op, unsigned t)
{
    switch (op) {
    case FGS__M_ATOM_ADD:
        return t == FGS__T_U32 || t == FGS__T_S32 || t == FGS__T_U64 ||
            t == FGS__T_S64;
    case FGS__M_ATOM_MIN:
    case FGS__M_ATOM_MAX:
        return t == FGS__T_U32 || t == FGS__T_S32;
    case FGS__M_ATOM_INC:
    case FGS__M_ATOM_DEC:
        return t == FGS__T_U32;
    default:
        return t == FGS__T_B32;
    }
}

void fgs__check_send(struct fgs__check *c)
{
    const struct fgs__ptx_insn *i = c->i;

    if (i->op == FGS__OP_RED_ASYNC &&
        !has_type(i->mod[FGS__G_ATOM], i->type[0]))
        fgs__parse_error(c->p, c->type_at[0], "%s: '.%s' does not exist for "
                         "type .%s", c->name,
                         fgs__mods[i->mod[FGS__G_ATOM]].word,
                         fgs__ptx_types[i->type[0]].word);
    else if (i->mod[FGS__G_COMPLETION])
        check_tracked(c);
    else
        check_release(c);
}
