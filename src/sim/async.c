/* async.c -- cp.async and its groups
 *
 * A copy is made when it is issued or as late as its thread waits for it, as a
 * draw from the seed decides: both are allowed, and what the source holds
 * meanwhile shows the difference.  Copies that nobody waits for may never be
 * seen.
 */
#include "sim/access.h"
#include "sim/latency.h"
#include "sim/mbar.h"

enum { OP_TO, OP_FROM, OP_SIZE };
enum { AUX_NARROW = 0, AUX_BYTES = 1, AUX_FLIP = 2, AUX_KIND = 3 };
enum { TO_32 = 1, FROM_32 = 2 };
enum { WHOLE, COUNTED, IGNORED }; /* what the fourth operand says           */

/* On its way. */
struct copy {
    const struct fgs__sim_insn *insn;
    uint64_t from;
    uint64_t number;           /* in the order of the block                  */
    uint32_t to, thread, group, read; /* bytes from the source, rest zero    */
};

/* An arrive-on that follows the copies that its thread issued before. */
struct arrival {
    const struct fgs__sim_insn *insn;
    uint64_t due_ps;
    uint32_t bar, thread;
    uint64_t issued;           /* copies of the block up to then             */
};

struct fgs__sim_async {
    struct copy *copy;         /* in the order of their issue                */
    size_t copies, cap;
    uint64_t issued;
    struct arrival *arrival;
    size_t arrivals, arrival_cap;
    uint32_t *group;           /* of each thread: the one that is open       */
};

void fgs__sim_async_free(struct fgs__sim_block *b)
{
    const fgs_allocator *a = b->grid->code->alloc;

    if (!b->async)
        return;
    fgs__free(a, b->async->copy);
    fgs__free(a, b->async->arrival);
    fgs__free(a, b->async->group);
    fgs__free(a, b->async);
    b->async = NULL; /* a block that is kept for another is emptied twice */
}

static struct fgs__sim_async *async_of(struct fgs__sim_warp *w,
                                       const struct fgs__sim_insn *i)
{
    struct fgs__sim_block *b = w->block;
    const fgs_allocator *a = b->grid->code->alloc;
    struct fgs__sim_async *s = b->async;

    if (s)
        return s;
    s = fgs__zalloc(a, sizeof *s);
    if (s)
        s->group = fgs__zalloc(a, b->warps * 32 * sizeof *s->group);
    if (s && s->group)
        return b->async = s;
    fgs__free(a, s);
    fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, -1,
                        "no host memory for copies");
    return NULL;
}

/* The source is looked up again: it may be gone. */
static bool land(struct fgs__sim_warp *w, const struct copy *c)
{
    unsigned char *to = w->block->shared + c->to;
    uint32_t bytes = c->insn->aux[AUX_BYTES];
    const char *from = c->read ? fgs__sim_global(w, c->from, c->read) : NULL;

    if (c->read && !from) {
        fgs__sim_warp_fault(w, c->insn, CUDA_ERROR_ILLEGAL_ADDRESS,
                            (int)(c->thread % 32),
                            "%u bytes at address 0x%llx are not inside any "
                            "allocation", c->read,
                            (unsigned long long)c->from);
        return false;
    }
    if (c->read)
        memcpy(to, from, c->read);
    memset(to + c->read, 0, bytes - c->read);
    return true;
}

/* ----------------------------------------------------------------- issue -- */

/* Bytes that are read from the source; false after a fault. */
static bool read_bytes(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       int lane, uint32_t *out)
{
    const uint32_t *v;

    *out = i->aux[AUX_BYTES];
    if (i->aux[AUX_KIND] == WHOLE)
        return true;
    v = fgs__sim_at(w, i->op[OP_SIZE]);
    if (i->aux[AUX_KIND] == IGNORED) {
        if ((*v ^ i->aux[AUX_FLIP]) >> lane & 1)
            *out = 0;
        return true;
    }
    if (v[lane] > *out) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "%u bytes of a copy of %u cannot be read", v[lane],
                            *out);
        return false;
    }
    *out = v[lane];
    return true;
}

static bool find(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                 int lane, struct copy *c)
{
    uint32_t bytes = i->aux[AUX_BYTES];
    bool narrow = i->aux[AUX_NARROW] & TO_32;
    uint64_t to = fgs__sim_lane_addr(w, i->op[OP_TO], narrow,
                                     (int32_t)(uint32_t)i->imm, lane);

    c->insn = i;
    c->thread = w->id * 32 + (uint32_t)lane;
    c->from = fgs__sim_lane_addr(w, i->op[OP_FROM],
                                 i->aux[AUX_NARROW] & FROM_32, i->imm >> 32,
                                 lane);
    if (!read_bytes(w, i, lane, &c->read) ||
        !fgs__sim_shared_offset(w, i, lane, to, false, bytes, bytes,
                                "destination", &c->to))
        return false;
    if (!(c->from & (bytes - 1)))
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                        "address 0x%llx is not a multiple of the %u bytes "
                        "copied", (unsigned long long)c->from, bytes);
    return false;
}

static const struct fgs__sim_insn *run_copy(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    const fgs_allocator *a = w->block->grid->code->alloc;
    struct fgs__sim_async *s = async_of(w, i);

    if (!s)
        return NULL;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        struct copy c;
        void *items = s->copy;

        if (!find(w, i, fgs__sim_lane(m), &c))
            return NULL;
        c.group = s->group[c.thread];
        c.number = s->issued++;
        if (fgs__sim_random(&w->block->rng) & 1) {
            if (!land(w, &c))
                return NULL;
            continue;
        }
        if (!fgs__vec_reserve(a, &items, &s->cap, s->copies,
                              sizeof *s->copy))
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, -1,
                                       "no host memory for copies");
        s->copy = items;
        s->copy[s->copies++] = c;
    }
    return i + 1;
}

/* ---------------------------------------------------------------- groups -- */

static const struct fgs__sim_insn *run_commit(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    struct fgs__sim_async *s = async_of(w, i);

    if (!s)
        return NULL;
    for (uint32_t m = w->exec; m; m &= m - 1)
        s->group[w->id * 32 + (uint32_t)fgs__sim_lane(m)]++;
    return i + 1;
}

/* Make the copies of the running lanes that they wait for: of all groups, or
 * of those before the newest imm. */
static const struct fgs__sim_insn *run_wait(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    struct fgs__sim_async *s = w->block->async;
    bool all = i->src->op == FGS__OP_CP_ASYNC_WAIT_ALL;
    size_t kept = 0, k;

    if (!s)
        return i + 1;
    for (k = 0; k < s->copies; k++) {
        struct copy c = s->copy[k];
        bool mine = c.thread / 32 == w->id && (w->exec >> c.thread % 32 & 1);
        int64_t age = (int64_t)s->group[c.thread] - c.group;

        if (!mine || !(all || (age > 0 && age > i->imm)))
            s->copy[kept++] = c;
        else if (!land(w, &c))
            return NULL;
    }
    if (kept != s->copies)
        fgs__sim_warp_delay(w, FGS__SIM_GLOBAL_PS);
    s->copies = kept;
    return i + 1;
}

/* -------------------------------------------------------------- mbarrier -- */

enum { AUX_NOINC = 0 };

/* The object at its offset; NULL after a fault. */
static uint64_t *object(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                        int lane, uint32_t at)
{
    if (w->block->mbar_live[at / 8])
        return (uint64_t *)(void *)(w->block->shared + at);
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                        "there is no initialized mbarrier object at shared "
                        "address 0x%x", at);
    return NULL;
}

/* The thread's copies that are still on their way land, then it arrives. */
static bool arrive(struct fgs__sim_block *b, const struct arrival *r)
{
    struct fgs__sim_async *s = b->async;
    struct fgs__sim_warp *w = &b->warp[r->thread / 32];
    uint64_t *bar, before;
    enum fgs__mbar_rule rule;
    size_t kept = 0;

    for (size_t k = 0; k < s->copies; k++) {
        struct copy c = s->copy[k];

        if (c.thread != r->thread || c.number >= r->issued)
            s->copy[kept++] = c;
        else if (!land(w, &c))
            return false;
    }
    s->copies = kept;
    bar = object(w, r->insn, (int)(r->thread % 32), r->bar);
    if (!bar)
        return false;
    before = *bar;
    rule = fgs__mbar_arrive(bar, 1, 0);
    if (rule != FGS__MBAR_OK) {
        fgs__sim_warp_fault(w, r->insn, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                            (int)(r->thread % 32), "%s", fgs__mbar_text(rule));
        return false;
    }
    if (fgs__mbar_primary(before) != fgs__mbar_primary(*bar))
        fgs__sim_block_event(b, r->due_ps);
    return true;
}

uint64_t fgs__sim_async_run(struct fgs__sim_block *b, uint64_t now_ps)
{
    struct fgs__sim_async *s = b->async;
    uint64_t next = FGS__SIM_NEVER;
    size_t kept = 0;

    if (!s)
        return next;
    for (size_t k = 0; k < s->arrivals; k++) {
        struct arrival r = s->arrival[k];

        if (r.due_ps > now_ps || b->faulted) {
            s->arrival[kept++] = r;
            next = r.due_ps < next ? r.due_ps : next;
        } else {
            arrive(b, &r);
        }
    }
    s->arrivals = kept;
    return next;
}

/* Without .noinc the phase expects one arrival more, so that what the barrier
 * was initialized with does not count this one (ISA 9.7.15.16). */
static bool announce(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                     int lane, struct arrival *r)
{
    bool narrow = i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_ADDR32;
    bool generic = (i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_SPACE_MASK) ==
                   FGS__SIM_GENERIC;
    uint64_t addr = fgs__sim_lane_addr(w, i->op[FGS__SIM_ADDR], narrow, i->imm,
                                       lane);
    enum fgs__mbar_rule rule;
    uint64_t *bar;

    r->thread = w->id * 32 + (uint32_t)lane;
    if (!fgs__sim_shared_offset(w, i, lane, addr, generic, 8, 8,
                                "mbarrier object", &r->bar))
        return false;
    bar = object(w, i, lane, r->bar);
    if (!bar || i->aux[AUX_NOINC])
        return bar != NULL;
    rule = fgs__mbar_expect_arrival(bar);
    if (rule == FGS__MBAR_OK)
        return true;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane, "%s",
                        fgs__mbar_text(rule));
    return false;
}

/* It arrives up to the time of a global access later. */
static const struct fgs__sim_insn *run_arrive(struct fgs__sim_warp *w,
                                              const struct fgs__sim_insn *i)
{
    const fgs_allocator *a = w->block->grid->code->alloc;
    struct fgs__sim_async *s = async_of(w, i);

    for (uint32_t m = w->exec; s && m; m &= m - 1) {
        struct arrival r = {.insn = i};
        void *items = s->arrival;

        if (!announce(w, i, fgs__sim_lane(m), &r))
            return NULL;
        r.issued = s->issued;
        r.due_ps = w->now_ps +
                   fgs__sim_random(&w->block->rng) % FGS__SIM_GLOBAL_PS;
        if (!fgs__vec_reserve(a, &items, &s->arrival_cap, s->arrivals,
                              sizeof r))
            return fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, -1,
                                       "no host memory for copies");
        s->arrival = items;
        s->arrival[s->arrivals++] = r;
    }
    return s ? i + 1 : NULL;
}

/* -------------------------------------------------------------- selector -- */

static bool sel_copy(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    unsigned n = src->operands - !!src->mod[FGS__G_CACHE_HINT], to, from;
    int64_t to_offset, from_offset;

    if (!fgs__sim_ref_addr(d, src, &o[0], &out->op[OP_TO], &to, &to_offset) ||
        !fgs__sim_ref_addr(d, src, &o[1], &out->op[OP_FROM], &from,
                           &from_offset))
        return false;
    if (to_offset != (int32_t)to_offset ||
        from_offset != (int32_t)from_offset) {
        fgs__sim_decode_error(d, src, "an offset of this size is not executed");
        return false;
    }
    out->imm = (int64_t)((uint64_t)from_offset << 32 | (uint32_t)to_offset);
    out->aux[AUX_NARROW] = (to == 32 ? TO_32 : 0u) | (from == 32 ? FROM_32 : 0);
    out->aux[AUX_BYTES] = (uint32_t)o[2].imm;
    out->aux[AUX_KIND] = WHOLE;
    out->run = run_copy;
    if (n < 4)
        return true;
    if (o[3].kind == FGS__O_REG && o[3].sym->type == FGS__T_PRED) {
        out->aux[AUX_KIND] = IGNORED;
        out->op[OP_SIZE] = fgs__sim_ref_pred(d, &o[3], &out->aux[AUX_FLIP]);
    } else {
        out->aux[AUX_KIND] = COUNTED;
        out->op[OP_SIZE] = fgs__sim_ref_of(d, &o[3], FGS__T_U32);
    }
    return out->op[OP_SIZE] != FGS__SIM_NOREF;
}

bool fgs__sim_sel_async(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    switch (src->op) {
    case FGS__OP_CP_ASYNC:
        return sel_copy(d, src, out);
    case FGS__OP_CP_ASYNC_MBARRIER:
        out->aux[AUX_NOINC] = src->mod[FGS__G_NOINC] != FGS__M_NONE;
        out->run = run_arrive;
        return fgs__sim_access_decode(d, src, &src->operand[0], 8, out);
    case FGS__OP_CP_ASYNC_COMMIT:
        out->run = run_commit;
        return true;
    default:
        if (src->operands)
            out->imm = (int64_t)src->operand[0].imm;
        out->run = run_wait;
        return true;
    }
}
