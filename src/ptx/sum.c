/* sum.c -- register + constant as a source, which no instruction executes
 *
 * The assembler adds before the instruction, and so does this: the sum goes to
 * a register without a name, cut to what the operand is read as.
 */
#include "ptx/parse.h"
#include "base/compat.h"

static struct fgs__ptx_sym *make_reg(struct fgs__parse *p, unsigned type)
{
    struct fgs__ptx_sym *sym = fgs__parse_alloc(p, sizeof *sym);

    if (!sym)
        return NULL;
    memset(sym, 0, sizeof *sym);
    if (!fgs__vec_reserve(p->alloc, (void **)&p->regs, &p->reg_cap,
                          p->reg_count, sizeof *p->regs)) {
        p->nomem = true;
        return NULL;
    }
    sym->kind = FGS__SYM_REG;
    sym->name = "+";
    sym->type = (enum fgs__ptx_type)type;
    sym->index = (uint32_t)p->reg_count;
    p->regs[p->reg_count++] = sym;
    return sym;
}

static unsigned unsigned_of(unsigned bits)
{
    return bits == 16 ? FGS__T_U16 : bits == 32 ? FGS__T_U32 : FGS__T_U64;
}

/* An instruction in front of that which is parsed, with its operands. */
static struct fgs__ptx_operand *insert(struct fgs__parse *p, unsigned op,
                                       unsigned operands)
{
    struct fgs__ptx_operand *o;
    struct fgs__ptx_insn *i;

    if (!fgs__vec_reserve(p->alloc, (void **)&p->insn, &p->insn_cap,
                          p->insn_count + 1, sizeof *p->insn)) {
        p->nomem = true;
        return NULL;
    }
    o = fgs__parse_alloc(p, operands * sizeof *o);
    if (!o)
        return NULL;
    i = &p->insn[p->insn_count++];
    i[1] = i[0];
    memset(i, 0, sizeof *i);
    memset(o, 0, operands * sizeof *o);
    i->op = (uint16_t)op;
    i->pos = i[1].pos;
    i->operands = (uint8_t)operands;
    i->operand = o;
    return o;
}

static void make_sum(struct fgs__parse *p, struct fgs__ptx_operand *o,
                     unsigned type)
{
    unsigned have = fgs__ptx_types[o->sym->type].bits;
    unsigned want = unsigned_of(fgs__ptx_types[type].bits);
    struct fgs__ptx_operand reg = *o, *n;

    reg.sreg = 0;
    reg.offset = 0;
    o->sreg = 0;
    o->sym = make_reg(p, want);
    if (!o->sym)
        return;
    if (have != fgs__ptx_types[want].bits) {
        n = insert(p, FGS__OP_CVT, 2);
        if (!n)
            return;
        p->insn[p->insn_count - 1].types = 2;
        p->insn[p->insn_count - 1].type[0] = (uint8_t)want;
        p->insn[p->insn_count - 1].type[1] = (uint8_t)unsigned_of(have);
        n[1] = reg;
        reg.sym = o->sym;
        n[0] = reg;
    }
    n = insert(p, FGS__OP_ADD, 3);
    if (!n)
        return;
    p->insn[p->insn_count - 1].types = 1;
    p->insn[p->insn_count - 1].type[0] = (uint8_t)want;
    n[1] = reg;
    n[2].kind = FGS__O_INT;
    n[2].pos = o->pos;
    n[2].imm = (uint64_t)o->offset;
    reg.sym = o->sym;
    n[0] = reg;
    o->offset = 0;
}

bool fgs__sum_note(struct fgs__check *c, const struct fgs__ptx_operand *o,
                   enum fgs__ptx_type t)
{
    unsigned k = 0;

    while (k < c->i->operands && &c->i->operand[k] != o)
        k++;
    if (k == c->i->operands)
        return false;
    c->sum[k] = (uint8_t)t;
    return true;
}

void fgs__sum_expand(struct fgs__check *c)
{
    struct fgs__parse *p = c->p;
    struct fgs__ptx_operand *o = c->i->operand;
    unsigned operands = c->i->operands;
    /* These add it themselves: a shared address of another block + it. */
    bool own = c->i->op == FGS__OP_MAPA || c->i->op == FGS__OP_GETCTARANK;

    for (unsigned k = 0; k < operands && !p->nomem; k++) {
        if (o[k].kind != FGS__O_REG || !fgs__is_sum(&o[k]) || (own && k == 1))
            continue;
        if (!c->sum[k]) {
            fgs__check_operand_error(c, &o[k], "a sum cannot stand here");
            return;
        }
        make_sum(p, &o[k], c->sum[k]);
    }
}
