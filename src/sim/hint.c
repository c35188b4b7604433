/* hint.c -- isspacep, and hints to caches that this device does not have
 *
 * A hint changes no value; its address may be anything (ISA, prefetch).
 * discard leaves its 128 bytes undefined: here they keep their values.
 */
#include "sim/access.h"
#include "sim/cluster.h"

static const struct fgs__sim_insn *run_none(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    (void)w;
    return i + 1;
}

/* --------------------------------------------------------- createpolicy -- */

/* A policy is opaque; these are what the hardware makes of the whole range. */
static uint64_t policy_of(const struct fgs__ptx_insn *src)
{
    switch (src->mod[FGS__G_POLICY]) {
    case FGS__M_POLICY_LAST:
        return 0x14f0000000000000ull;
    case FGS__M_POLICY_FIRST:
        return 0x12f0000000000000ull;
    default:
        return 0x1000000000000000ull;
    }
}

static const struct fgs__sim_insn *run_policy(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    uint64_t *d = fgs__sim_at(w, i->op[0]);

    for (uint32_t m = w->exec; m; m &= m - 1)
        d[fgs__sim_lane(m)] = (uint64_t)i->imm;
    return i + 1;
}

/* The access property of a runtime library becomes the policy as it is. */
static const struct fgs__sim_insn *run_policy_cvt(struct fgs__sim_warp *w,
                                                  const struct fgs__sim_insn *i)
{
    const uint64_t *from = fgs__sim_at(w, i->op[1]);
    uint64_t *d = fgs__sim_at(w, i->op[0]);

    for (uint32_t m = w->exec; m; m &= m - 1)
        d[fgs__sim_lane(m)] = from[fgs__sim_lane(m)];
    return i + 1;
}

/* ------------------------------------------------------------- isspacep -- */

/* The windows of shared memory end behind the last rank of the cluster, and
 * behind the block's own rank; which of the two a word means: ISA 9.7.10.22. */
static bool in_shared(const struct fgs__sim_block *b, uint64_t addr, bool own)
{
    uint64_t at = addr - FGS__SIM_SHARED_WINDOW;

    return own ? at >> FGS__SIM_RANK_SHIFT == b->rank
               : at >> FGS__SIM_RANK_SHIFT < fgs__sim_ranks(b);
}

/* Constants have no window (see cvta.c): they are where the module's are. */
static bool in_const(const struct fgs__sim_block *b, uint64_t addr)
{
    const struct fgs__ptx_module *m = b->grid->code->func->module;

    if (m->whole)
        m = m->whole;
    for (const struct fgs__ptx_sym *v = m->vars; v; v = v->next)
        if (v->space == FGS__M_CONST && addr - v->address < v->bytes)
            return true;
    return false;
}

static bool in_space(const struct fgs__sim_block *b, uint64_t addr,
                     unsigned space)
{
    bool shared = addr - FGS__SIM_SHARED_WINDOW < FGS__SIM_WINDOW_BYTES;
    bool local = addr - FGS__SIM_LOCAL_WINDOW < FGS__SIM_WINDOW_BYTES;

    switch (space) {
    case FGS__M_LOCAL:
        return local;
    case FGS__M_PARAM:
    case FGS__M_PARAM_ENTRY:
        return addr - FGS__SIM_PARAM_WINDOW < FGS__SIM_WINDOW_BYTES;
    case FGS__M_CONST:
        return in_const(b, addr);
    case FGS__M_GLOBAL: /* holds the windows of constants and parameters */
        return !shared && !local;
    default:
        return in_shared(b, addr, space != FGS__M_SHARED_CLUSTER);
    }
}

static const struct fgs__sim_insn *run_isspacep(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i)
{
    const void *a = fgs__sim_at(w, i->op[1]);
    uint32_t *p = fgs__sim_at(w, i->op[0]), yes = 0;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint64_t addr = i->aux[1] == 32 ? ((const uint32_t *)a)[l]
                                        : ((const uint64_t *)a)[l];

        yes |= (uint32_t)in_space(w->block, addr, i->aux[0]) << l;
    }
    *p = (*p & ~w->exec) | yes;
    return i + 1;
}

static bool sel_isspacep(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    out->aux[0] = src->space[0];
    out->aux[1] = 64;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_PRED);
    out->op[1] = src->operand[1].kind == FGS__O_REG
        ? fgs__sim_ref_reg(d, &src->operand[1], &out->aux[1])
        : fgs__sim_ref_of(d, &src->operand[1], FGS__T_U64);
    out->run = run_isspacep;
    return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF;
}

bool fgs__sim_sel_hint(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    switch (src->op) {
    case FGS__OP_ISSPACEP:
        return sel_isspacep(d, src, out);
    case FGS__OP_POLICY_FRACTIONAL:
    case FGS__OP_POLICY_RANGE:
        out->imm = (int64_t)policy_of(src);
        out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_B64);
        out->run = run_policy;
        return out->op[0] != FGS__SIM_NOREF;
    case FGS__OP_POLICY_CVT:
        out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_B64);
        out->op[1] = fgs__sim_ref_of(d, &src->operand[1], FGS__T_B64);
        out->run = run_policy_cvt;
        return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF;
    default: /* pmevent too: nobody counts */
        out->run = run_none;
        return true;
    }
}
