/* code.c -- decode a checked function: handlers, operand places, constants */
#include "sim/call.h"
#include "sim/decode.h"
#include "sim/matrix.h"

static const fgs__sim_sel selector[FGS__OP_COUNT] = {
#define OP(id, word, shape, types, mods, ptx, cc, exec)                        \
    [FGS__OP_##id] = fgs__sim_sel_##exec,
#include "ptx/opcode.def"
#undef OP
};

/* ---------------------------------------------------------------- guards */

static const struct fgs__sim_insn *run_guarded(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    uint32_t all = w->exec;
    uint32_t p = *(const uint32_t *)fgs__sim_at(w, i->guard);
    const struct fgs__sim_insn *next;

    p = (p ^ i->guard_flip) & all;
    if (!p)
        return i + 1;
    if (p == all)
        return i->inner(w, i);
    w->exec = p;
    next = i->inner(w, i);
    w->exec = all;
    return next;
}

/* An instruction that may block stops whole splits: the lanes that the guard
 * leaves out go on without the others. */
static const struct fgs__sim_insn *
run_guarded_block(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    uint32_t p = *(const uint32_t *)fgs__sim_at(w, i->guard);
    uint32_t rest;

    p = (p ^ i->guard_flip) & w->exec;
    rest = w->exec & ~p;
    if (!p)
        return i + 1;
    if (rest)
        fgs__sim_warp_split(w, rest, i + 1);
    return i->inner(w, i);
}

/* The end of the code ends the threads (ISA: as ret in an entry). */
static const struct fgs__sim_insn *run_end(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    return fgs__sim_warp_exit(w, i);
}

static bool decode_guard(struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    struct fgs__ptx_operand o = { .kind = FGS__O_REG, .pos = src->pos };

    out->guard = FGS__SIM_NOREF;
    if (!src->guard)
        return true;
    o.sym = src->guard;
    out->guard = fgs__sim_ref_of(d, &o, FGS__T_PRED);
    out->guard_flip = src->guard_neg ? UINT32_MAX : 0;
    return out->guard != FGS__SIM_NOREF;
}

static void decode_one(struct fgs__sim_decoder *d)
{
    const struct fgs__ptx_insn *src = &d->func->insn[d->at];
    struct fgs__sim_insn *out = &d->insn[d->at];
    int k;

    out->src = src;
    out->cost_ps = FGS__SIM_ALU_PS;
    for (k = 0; k < FGS__SIM_OPS; k++)
        out->op[k] = FGS__SIM_NOREF;
    if (!decode_guard(d, src, out))
        return;
    if (!selector[src->op]) {
        fgs__sim_decode_error(d, src, "not executed by the software device");
        return;
    }
    if (!selector[src->op](d, src, out)) {
        if (!d->failed && !d->nomem)
            fgs__sim_decode_error(d, src, "this form is not executed yet");
        return;
    }
    out->inner = out->run;
    if (out->guard != FGS__SIM_NOREF && !out->own_guard)
        out->run = out->blocks ? run_guarded_block : run_guarded;
}

/* ---------------------------------------------------------- plain rows -- */

static bool is_plain(const struct fgs__sim_insn *i)
{
    fgs__sim_sel sel;
    bool leveled = false;
    uint32_t k;

    if (!i->src) /* the end of a function */
        return false;
    sel = selector[i->src->op];
#define LEVELED(exec) leveled |= sel == fgs__sim_sel_##exec;
    FGS__SIM_LEVELED(LEVELED)
#undef LEVELED
    for (k = 0; k < i->src->operands; k++)
        if (i->src->operand[k].kind == FGS__O_SREG &&
            fgs__sim_sreg_moves((enum fgs__ptx_sreg)i->src->operand[k].sreg))
            return false;
    return leveled && !i->blocks && !i->own_guard &&
           i->cost_ps == FGS__SIM_ALU_PS;
}

static void mark_labels(struct fgs__sim_code *c)
{
    for (uint32_t k = 0; k < c->insn_count; k++)
        if (c->insn[k].src && c->insn[k].src->op == FGS__OP_BRA)
            c->insn[c->insn[k].target - c->insn].label = true;
}

static void count_plain(struct fgs__sim_code *c)
{
    uint32_t k, n = 0;

    for (k = c->insn_count; k-- > 0;) {
        n = is_plain(&c->insn[k]) ? n + (n < UINT16_MAX) : 0;
        c->insn[k].plain = (uint16_t)n;
    }
}

/* -------------------------------------------------------------- constants */

static void broadcast(unsigned char *at, const struct fgs__sim_const *c)
{
    size_t size = c->bits / 8;
    uint32_t mask = c->value ? UINT32_MAX : 0;
    int lane;

    if (c->bits == 1) {
        memcpy(at, &mask, sizeof mask);
        return;
    }
    /* The host is little-endian, as the device. */
    for (lane = 0; lane < 32; lane++)
        memcpy(at + lane * size, &c->value, size);
}

/* Of the kernel's own constants. */
static unsigned char *konst_at(const struct fgs__sim_code *c, fgs__sim_ref ref)
{
    return c->konst + (ref - ((fgs__sim_ref)FGS__SIM_KONST
                              << FGS__SIM_BASE_SHIFT));
}

static bool is_konst(fgs__sim_ref ref)
{
    return ref >> FGS__SIM_BASE_SHIFT == FGS__SIM_KONST;
}

static bool make_konst(const struct fgs__sim_decoder *d,
                       struct fgs__sim_code *c)
{
    size_t i;

    c->konst_raw = fgs__zalloc(d->alloc, d->bytes[FGS__SIM_KONST] + 64);
    if (!c->konst_raw)
        return false;
    c->konst = c->konst_raw;
    c->konst += -(uintptr_t)c->konst & 63;
    for (i = 0; i < d->konst_count; i++)
        if (!d->konst[i].shared)
            broadcast(konst_at(c, d->konst[i].ref), &d->konst[i]);
    for (i = 0; i < c->insn_count; i++)
        if (c->insn[i].near == FGS__SIM_NEAR_KONST)
            c->insn[i].konst = konst_at(c, c->insn[i].op[2]);
    for (i = 0; i < d->sreg_count; i++)
        if (is_konst(d->sreg[i].ref))
            fgs__sim_sreg_lanes(konst_at(c, d->sreg[i].ref),
                                (enum fgs__ptx_sreg)d->sreg[i].sreg,
                                d->sreg[i].bits);
    return true;
}

/* A warp's own ones first, then those of a block. */
static void sort_sregs(struct fgs__sim_code *c)
{
    struct fgs__sim_sreg_slot one;
    uint32_t n = 0, i;

    for (i = 0; i < c->sreg_count; i++)
        if (!is_konst(c->sregs[i].ref))
            c->sregs[n++] = c->sregs[i];
    c->sreg_count = n;
    for (i = 0; i < n; i++) {
        if (c->sregs[i].ref >> FGS__SIM_BASE_SHIFT != FGS__SIM_BANK)
            continue;
        one = c->sregs[i];
        c->sregs[i] = c->sregs[c->own_sregs];
        c->sregs[c->own_sregs++] = one;
    }
}

/* Addresses in shared memory, which depend on the block. */
static bool keep_shared(const struct fgs__sim_decoder *d,
                        struct fgs__sim_code *c)
{
    size_t i, n = 0;

    for (i = 0; i < d->konst_count; i++)
        n += d->konst[i].shared;
    c->shared = n ? fgs__alloc_array(d->alloc, n, sizeof *c->shared) : NULL;
    if (n && !c->shared)
        return false;
    for (i = 0; i < d->konst_count; i++)
        if (d->konst[i].shared)
            c->shared[c->shared_count++] = d->konst[i];
    return true;
}

static bool keep_places(struct fgs__sim_decoder *d, struct fgs__sim_code *c)
{
    c->bank_bytes = d->bytes[FGS__SIM_BANK];
    c->common_bytes = d->bytes[FGS__SIM_COMMON];
    if (!make_konst(d, c) || !keep_shared(d, c))
        return false;
    c->fp = d->fp;
    c->sp = d->sp;
    /* The kernel's frame begins at 0, the stack behind it. */
    c->sp_start = c->function[c->functions - 1].frame_bytes;
    c->sregs = d->sreg;
    c->sreg_count = (uint32_t)d->sreg_count;
    for (uint32_t i = 0; i < c->sreg_count; i++)
        c->reserved |= fgs__sim_sreg_reserved(c->sregs[i].sreg);
    d->sreg = NULL;
    sort_sregs(c);
    c->fresh = d->fresh;
    c->freshes = (uint32_t)d->freshes;
    d->fresh = NULL;
    return true;
}

/* 32-bit registers a thread: the most that are between their first and last
 * mention at one place.  An assembler needs about that many, a few for
 * itself, and hands them out by eights. */
static bool count_regs(struct fgs__sim_decoder *d)
{
    uint32_t n = d->func->insn_count, i, most = 0;
    int32_t live = 0;
    int32_t *change = fgs__zalloc(d->alloc, (n + 1u) * sizeof *change);

    if (!change)
        return false;
    for (i = 0; i < d->func->reg_count; i++) {
        const struct fgs__ptx_sym *s = d->func->regs[i];
        int32_t words = (fgs__ptx_types[s->type].bits + 31) / 32;

        if (d->reg[i].ref == FGS__SIM_NOREF || s->type == FGS__T_PRED)
            continue;
        words *= s->vec ? s->vec : 1;
        change[d->reg[i].first] += words;
        change[d->reg[i].last + 1] -= words;
    }
    for (i = 0; i <= n; i++) {
        live += change[i];
        if (live > (int32_t)most)
            most = (uint32_t)live;
    }
    fgs__free(d->alloc, change);
    if (d->regs < most)
        d->regs = most;
    return true;
}

/* Of a kernel: what the function that needs most has. */
static void sum_regs(const struct fgs__sim_decoder *d, struct fgs__sim_code *c)
{
    c->regs = (d->regs + 4 + 7) & ~7u;
    if (c->regs < 16)
        c->regs = 16;
    if (c->regs > 255)
        c->regs = 255;
    if (c->func->maxnreg && c->regs > c->func->maxnreg)
        c->regs = c->func->maxnreg;
    for (uint32_t k = 0; k < c->insn_count; k++)
        if (c->insn[k].src && c->insn[k].src->op == FGS__OP_SETMAXNREG)
            c->pool = fgs__ptx_entry_registers(c->func);
    c->pool = (c->pool + 7) & ~7u; /* handed out by eights */
    if (c->pool)
        c->regs = c->pool < 256 ? c->pool : 255;
}

/* ----------------------------------------------------------------- shared */

static void see_shared(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_operand *o, uint32_t *align)
{
    const struct fgs__ptx_sym *s = o->sym;
    uint32_t k;

    for (k = 0; k < o->children; k++)
        see_shared(d, &o->child[k], align);
    if (!s || s->kind != FGS__SYM_VAR || s->space != FGS__M_SHARED)
        return;
    if (!s->bytes && s->align > *align)
        *align = s->align;
    if (s->bytes && s->offset + s->bytes > d->shared_bytes)
        d->shared_bytes = s->offset + s->bytes;
}

/* Static shared memory: the functions' own and the module's variables that
 * they name; it ends where an extern array without a size may begin.  The
 * functions' own variables are laid out from 0: one behind another here. */
static void measure_shared(struct fgs__sim_decoder *d,
                           const struct fgs__sim_code *c)
{
    uint32_t n, k, m, align = 1;

    for (m = 0; m < c->functions; m++) {
        const struct fgs__ptx_func *f = c->function[m].func;

        if (d->shared_bytes < f->shared_bytes)
            d->shared_bytes = f->shared_bytes;
        for (n = 0; n < f->insn_count; n++)
            for (k = 0; k < f->insn[n].operands; k++)
                see_shared(d, &f->insn[n].operand[k], &align);
    }
    d->shared_bytes = (d->shared_bytes + align - 1) / align * align;
}

/* ------------------------------------------------------------------- code */

static bool start(struct fgs__sim_decoder *d, struct fgs__sim_code *c)
{
    uint32_t k;

    c->insn_count = 0;
    for (k = 0; k < c->functions; k++)
        c->insn_count += c->function[k].func->insn_count;
    c->insn = fgs__alloc_array(d->alloc, (size_t)c->insn_count + 1,
                               sizeof *c->insn);
    if (!c->insn)
        return false;
    memset(c->insn, 0, ((size_t)c->insn_count + 1) * sizeof *c->insn);
    d->code = c;
    d->sink = FGS__SIM_NOREF;
    d->tiles = FGS__SIM_NOREF;
    d->carry = FGS__SIM_NOREF;
    /* Nothing lies at place 0, so a bank is never empty. */
    d->bytes[FGS__SIM_BANK] = 64;
    d->fp = d->sp = FGS__SIM_NOREF;
    if (c->fp != FGS__SIM_NOREF || c->deep) {
        d->fp = fgs__sim_take_fresh(d, 256);
        d->sp = fgs__sim_take_fresh(d, 256);
    }
    return true;
}

/* One function; `at` counts its instructions. */
static bool decode_func(struct fgs__sim_decoder *d,
                        struct fgs__sim_function *f)
{
    uint32_t i;
    bool ok;

    d->func = f->func;
    d->callee = f;
    d->at = 0;
    f->first = d->insn;
    d->reg = fgs__alloc_array(d->alloc, (size_t)d->func->reg_count + 1,
                              sizeof *d->reg);
    if (!d->reg)
        return false;
    for (i = 0; i < d->func->reg_count; i++)
        d->reg[i].ref = FGS__SIM_NOREF;
    ok = fgs__sim_call_begin(d) && fgs__sim_slots_plan(d);
    for (; ok && d->at < d->func->insn_count && !d->nomem; d->at++)
        decode_one(d);
    d->at--;
    ok = ok && !d->nomem && fgs__sim_call_end(d) && count_regs(d);
    fgs__free(d->alloc, d->reg);
    d->reg = NULL;
    d->insn += d->func->insn_count;
    return ok;
}

static void describe(struct fgs__sim_code *c, const struct fgs__ptx_func *f,
                     const fgs_allocator *a)
{
    c->func = f;
    c->alloc = a;
    c->param_bytes = (uint32_t)f->param_bytes;
}

static bool has_op(const struct fgs__sim_code *c, enum fgs__ptx_op op)
{
    for (uint32_t k = 0; k < c->functions; k++)
        if (fgs__ptx_has_op(c->function[k].func, op))
            return true;
    return false;
}

fgs_result fgs__sim_code_make(struct fgs__sim_code **out,
                              const struct fgs__ptx_func *func,
                              const fgs_allocator *a,
                              struct fgs__ptx_diags *diags)
{
    struct fgs__sim_decoder d = { .func = func, .alloc = a, .diags = diags };
    struct fgs__sim_code *c = fgs__zalloc(a, sizeof *c);
    struct fgs__sim_insn *end;
    fgs_result r = FGS_E_NOMEM;
    bool nomem, linked;

    *out = NULL;
    if (!c)
        return FGS_E_NOMEM;
    describe(c, func, a);
    linked = fgs__sim_link(c, func, diags, &nomem);
    if (nomem)
        goto done;
    r = FGS_E_PTX;
    if (!linked)
        goto done;
    r = FGS_E_NOMEM;
    c->waits = has_op(c, FGS__OP_GRID_WAIT);
    c->triggers = has_op(c, FGS__OP_GRID_LAUNCH);
    measure_shared(&d, c);
    /* More than 32 bits hold is too much for the loader all the same. */
    c->shared_bytes = d.shared_bytes < UINT32_MAX ? (uint32_t)d.shared_bytes
                                                  : UINT32_MAX;
    if (!start(&d, c))
        goto done;
    d.insn = c->insn;
    for (uint32_t k = 0; k < c->functions; k++)
        if (!decode_func(&d, &c->function[k]) && !d.failed)
            goto done;
    c->first = c->function[c->functions - 1].first;
    end = &c->insn[c->insn_count];
    end->run = end->inner = run_end;
    end->cost_ps = FGS__SIM_ALU_PS;
    end->guard = FGS__SIM_NOREF;
    if (d.nomem)
        goto done;
    r = FGS_E_PTX;
    if (d.failed)
        goto done;
    sum_regs(&d, c);
    count_plain(c);
    mark_labels(c);
    r = keep_places(&d, c) ? FGS_OK : FGS_E_NOMEM;
done:
    fgs__free(a, d.reg);
    fgs__free(a, d.konst);
    fgs__free(a, d.sreg);
    fgs__free(a, d.fresh);
    if (r == FGS_OK)
        *out = c;
    else
        fgs__sim_code_free(c);
    return r;
}

void fgs__sim_code_free(struct fgs__sim_code *code)
{
    if (!code)
        return;
    fgs__sim_link_free(code);
    fgs__sim_product_free(code);
    fgs__free(code->alloc, code->insn);
    fgs__free(code->alloc, code->konst_raw);
    fgs__free(code->alloc, code->shared);
    fgs__free(code->alloc, code->sregs);
    fgs__free(code->alloc, code->fresh);
    fgs__free(code->alloc, code);
}
