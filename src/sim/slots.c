/* slots.c -- where the registers of a function lie in a warp's bank
 *
 * A register that is written before it is read on every way through the code
 * needs no value at the start of a warp, and its slot may hold another one
 * behind its last mention: so a bank is about as large as the registers that
 * live at once, not as the names that a compiler invents.
 *
 * That is so when the first mention in the text writes it without a guard, and
 * no jump from elsewhere enters the text between that mention and the last
 * one.  A jump from below keeps the register alive down to there: a loop.
 * Lanes share nothing, so diverged ones do not disturb this, as long as a slot
 * only holds registers of one width: lane k lies elsewhere in another width.
 * All other registers have slots of their own, zero at the start of a warp.
 */
#include "sim/decode.h"

#define NONE UINT32_MAX
enum { WIDTHS = 6 };

/* The mentions of a register; life: it is written first, and without guard. */
struct life {
    uint32_t first, last;
    uint32_t next;             /* of those that end at the same place        */
    bool seen, clean;
};

/* Jumps to an instruction, from `least` to `most`; the next one that has some,
 * from here on. */
struct entry {
    uint32_t least, most, next;
};

struct plan {
    struct fgs__sim_decoder *d;
    const struct fgs__ptx_func *f;
    struct life *life;         /* by index of the register                   */
    struct entry *entry;       /* by instruction, and one behind             */
    uint32_t *ending;          /* registers, by where they end               */
    uint32_t *freed[WIDTHS];   /* stacks of slots                            */
    uint32_t free[WIDTHS];
    uint64_t steps;            /* left to look for jumps                     */
};

static const char *const shape[FGS__OP_COUNT] = {
#define OP(id, word, form, types, mods, ptx, cc, exec) [FGS__OP_##id] = form,
#include "ptx/opcode.def"
#undef OP
};

/* Is the first operand the result?  By the roles that check.c explains; `*`
 * says nothing. */
static bool has_result(unsigned op)
{
    if (op == FGS__OP_MOV || op == FGS__OP_CVT)
        return true;
    return shape[op][0] && strchr("dDewpPQEVW", shape[op][0]);
}

/* ------------------------------------------------------------- mentions -- */

static void mention(struct plan *p, const struct fgs__ptx_sym *s, uint32_t at,
                    bool writes)
{
    struct life *l;

    if (!s || s->kind != FGS__SYM_REG)
        return;
    l = &p->life[s->index];
    if (!l->seen) {
        l->seen = true;
        l->first = at;
        l->clean = writes && !s->vec;
    } else if (l->first == at && !writes) {
        l->clean = false;
    }
    l->last = at;
}

static void mention_all(struct plan *p, const struct fgs__ptx_operand *o,
                        uint32_t at, bool writes)
{
    uint32_t k;

    for (k = 0; k < o->children; k++)
        mention_all(p, &o->child[k], at, writes);
    if (o->kind == FGS__O_ADDR)
        writes = false;
    if (o->kind == FGS__O_REG || o->kind == FGS__O_ADDR)
        mention(p, o->sym, at, writes);
}

static void jump(struct plan *p, uint32_t from, uint32_t to)
{
    struct entry *e = &p->entry[to];

    if (from < e->least)
        e->least = from;
    if (from > e->most)
        e->most = from;
}

static void look(struct plan *p, uint32_t at)
{
    const struct fgs__ptx_insn *i = &p->f->insn[at];
    const struct fgs__ptx_targets *t;
    uint32_t k, n;

    if (i->operands)
        mention_all(p, &i->operand[0], at, !i->guard && has_result(i->op));
    for (k = 1; k < i->operands; k++)
        mention_all(p, &i->operand[k], at, false);
    mention(p, i->guard, at, false);
    for (k = 0; k < i->operands; k++) {
        if (i->operand[k].kind != FGS__O_LABEL || !i->operand[k].sym)
            continue;
        t = i->operand[k].sym->targets;
        if (!t)
            jump(p, at, i->operand[k].sym->target);
        for (n = 0; t && t->labels && n < t->count; n++)
            jump(p, at, t->list[n].sym->target);
    }
}

/* ---------------------------------------------------------------- lives -- */

/* Follow the jumps into a register's text. */
static void follow(struct plan *p, struct life *l)
{
    uint32_t t;

    for (t = p->entry[l->first + 1].next; l->clean && t <= l->last;
         t = p->entry[t + 1].next) {
        if (p->entry[t].least < l->first || !p->steps) {
            l->clean = false;
            return;
        }
        p->steps--;
        if (p->entry[t].most > l->last)
            l->last = p->entry[t].most;
    }
}

static unsigned width_of(unsigned bits)
{
    return bits == 1 ? 0 : (unsigned)__builtin_ctz(bits) - 2;
}

static void place_at(struct plan *p, uint32_t at, uint32_t index)
{
    struct fgs__sim_decoder *d = p->d;
    struct life *l = &p->life[index];
    unsigned bits = fgs__ptx_types[p->f->regs[index]->type].bits;
    unsigned w = width_of(bits);

    if (p->free[w])
        d->reg[index].ref = p->freed[w][--p->free[w]];
    else
        d->reg[index].ref = fgs__sim_take(d, fgs__sim_slot_bytes(bits));
    d->reg[index].first = at;
    l->next = p->ending[l->last];
    p->ending[l->last] = index;
}

/* The slots of the registers that end at an instruction are free behind it:
 * a handler may write a lane before it has read the others. */
static void release_at(struct plan *p, uint32_t at)
{
    uint32_t k, next;

    for (k = p->ending[at]; k != NONE; k = next) {
        unsigned w = width_of(fgs__ptx_types[p->f->regs[k]->type].bits);

        next = p->life[k].next;
        p->freed[w][p->free[w]++] = p->d->reg[k].ref;
    }
}

/* Clean registers in the order of their first mention. */
static void place_clean(struct plan *p, const uint32_t *order, uint32_t count)
{
    uint32_t n = 0, at;

    for (at = 0; at < p->f->insn_count; at++) {
        for (; n < count && p->life[order[n]].first == at; n++)
            place_at(p, at, order[n]);
        release_at(p, at);
    }
}

/* ----------------------------------------------------------------- plan -- */

static void measure(struct plan *p)
{
    uint32_t n = p->f->insn_count, k, next = NONE;

    for (k = 0; k < n; k++)
        look(p, k);
    p->entry[n + 1].next = NONE;
    for (k = n + 1; k-- > 0;) {
        if (p->entry[k].least != NONE)
            next = k;
        p->entry[k].next = next;
    }
    for (k = 0; k < p->f->reg_count; k++) {
        struct life *l = &p->life[k];

        /* A parameter has its place, and a value, already. */
        if (p->d->reg[k].ref != FGS__SIM_NOREF)
            l->clean = false;
        if (l->seen && l->clean)
            follow(p, l);
        if (l->seen && !l->clean) {
            fgs__sim_reg_place(p->d, p->f->regs[k]);
            p->d->reg[k].first = l->first;
        }
    }
}

/* By first mention: a count of each, and then their places. */
static uint32_t sort(struct plan *p, uint32_t *order)
{
    uint32_t *count = p->ending, n = p->f->insn_count, k, sum = 0, c;

    memset(count, 0, (n + 1u) * sizeof *count);
    for (k = 0; k < p->f->reg_count; k++)
        if (p->life[k].seen && p->life[k].clean)
            count[p->life[k].first]++;
    for (k = 0; k < n; k++) {
        c = count[k];
        count[k] = sum;
        sum += c;
    }
    for (k = 0; k < p->f->reg_count; k++)
        if (p->life[k].seen && p->life[k].clean)
            order[count[p->life[k].first]++] = k;
    memset(p->ending, 0xff, (n + 1u) * sizeof *p->ending);
    return sum;
}

bool fgs__sim_slots_plan(struct fgs__sim_decoder *d)
{
    const struct fgs__ptx_func *f = d->func;
    size_t regs = f->reg_count, n = f->insn_count, k;
    struct plan p = { .d = d, .f = f, .steps = 1000000 + 64 * (uint64_t)n };
    uint32_t *index = fgs__alloc_array(d->alloc, (WIDTHS + 1) * regs + n + 2,
                                       sizeof *index);
    uint32_t *order = index;

    p.life = fgs__zalloc(d->alloc, (regs + 1) * sizeof *p.life);
    p.entry = fgs__alloc_array(d->alloc, n + 2, sizeof *p.entry);
    d->nomem = d->nomem || !index || !p.life || !p.entry;
    if (!d->nomem) {
        for (k = 0; k < WIDTHS; k++)
            p.freed[k] = index + (k + 1) * regs;
        p.ending = index + (WIDTHS + 1) * regs;
        memset(p.entry, 0xff, (n + 2) * sizeof *p.entry);
        for (k = 0; k < n + 2; k++)
            p.entry[k].most = 0;
        measure(&p);
        place_clean(&p, order, sort(&p, order));
    }
    fgs__free(d->alloc, index);
    fgs__free(d->alloc, p.entry);
    fgs__free(d->alloc, p.life);
    return !d->nomem;
}
