/* call.c -- call, and ret of a function */
#include "sim/call.h"
#include "sim/access.h"
#include "sim/builtin.h"
#include "sim/decode.h"

enum { ARGS = FGS__SIM_ARGS, VALUE = 16 /* bytes of the largest register */ };

/* A call in progress of one lane. */
struct frame {
    const struct fgs__sim_insn *call;
    uint64_t fp, sp;           /* of the caller                               */
    uint32_t saved;            /* where the lane's saved bytes end then       */
};

struct fgs__sim_stack {
    struct frame *frame;       /* [depth * 32 + lane]                         */
    uint32_t frames;           /* deepest that there is room for              */
    uint32_t depth[32];
    unsigned char *save;       /* save_bytes a lane, one after another        */
    uint32_t save_bytes, saved[32];
};

void fgs__sim_stack_free(struct fgs__sim_warp *w)
{
    const fgs_allocator *a = w->block->grid->code->alloc;

    if (!w->stack)
        return;
    fgs__free(a, w->stack->frame);
    fgs__free(a, w->stack->save);
    fgs__free(a, w->stack);
    w->stack = NULL;
}

/* ---------------------------------------------------------- one lane ----- */

static uint64_t *lanes64(const struct fgs__sim_warp *w, fgs__sim_ref r)
{
    return fgs__sim_at(w, r);
}

static unsigned char *frame_at(const struct fgs__sim_warp *w, int lane,
                               uint64_t fp, uint32_t offset)
{
    return w->local + (size_t)lane * fgs__sim_local_bytes(w->block->grid) + fp +
        offset;
}

static unsigned char *reg_at(const struct fgs__sim_warp *w, int lane,
                             fgs__sim_ref r, uint32_t bytes)
{
    return (unsigned char *)fgs__sim_at(w, r) + (size_t)lane * bytes;
}

static unsigned char *passed_at(const struct fgs__sim_warp *w, int lane,
                                const struct fgs__sim_passed *p, uint64_t fp)
{
    return p->ref == FGS__SIM_NOREF ? frame_at(w, lane, fp, p->offset)
                                    : reg_at(w, lane, p->ref, p->bytes);
}

/* `n` values from one side to the other.  Those in registers are read before
 * any is written: the places of a function that calls itself are the same.
 * `between` runs meanwhile, NULL = nothing. */
static void pass(struct fgs__sim_warp *w, int lane,
                 const struct fgs__sim_passed *from, uint64_t from_fp,
                 const struct fgs__sim_passed *to, uint64_t to_fp, uint32_t n,
                 const struct fgs__sim_function *f,
                 void (*between)(struct fgs__sim_warp *, int,
                                 const struct fgs__sim_function *))
{
    unsigned char value[ARGS][VALUE];
    uint32_t k, bytes;

    for (k = 0; k < n; k++)
        if (from[k].ref != FGS__SIM_NOREF)
            memcpy(value[k], passed_at(w, lane, &from[k], from_fp),
                   from[k].bytes);
    if (between)
        between(w, lane, f);
    for (k = 0; k < n; k++) {
        bytes = to[k].bytes < from[k].bytes ? to[k].bytes : from[k].bytes;
        if (bytes)
            memcpy(passed_at(w, lane, &to[k], to_fp),
                   from[k].ref != FGS__SIM_NOREF
                       ? value[k] : passed_at(w, lane, &from[k], from_fp),
                   bytes);
    }
}

static void save(struct fgs__sim_warp *w, int lane,
                 const struct fgs__sim_function *f)
{
    struct fgs__sim_stack *s = w->stack;
    unsigned char *to = s->save + (size_t)lane * s->save_bytes + s->saved[lane];

    for (uint32_t k = 0; k < f->saves; k++) {
        const struct fgs__sim_saved *r = &f->saved[k];

        if (r->bytes) {
            memcpy(to, reg_at(w, lane, r->ref, r->bytes), r->bytes);
            to += r->bytes;
        } else {
            *to++ = *(uint32_t *)fgs__sim_at(w, r->ref) >> lane & 1;
        }
    }
    s->saved[lane] += f->save_bytes;
}

static void restore(struct fgs__sim_warp *w, int lane,
                    const struct fgs__sim_function *f)
{
    struct fgs__sim_stack *s = w->stack;
    const unsigned char *from;

    s->saved[lane] -= f->save_bytes;
    from = s->save + (size_t)lane * s->save_bytes + s->saved[lane];
    for (uint32_t k = 0; k < f->saves; k++) {
        const struct fgs__sim_saved *r = &f->saved[k];
        uint32_t *p = fgs__sim_at(w, r->ref);

        if (r->bytes) {
            memcpy(reg_at(w, lane, r->ref, r->bytes), from, r->bytes);
            from += r->bytes;
        } else {
            *p = (*p & ~(1u << lane)) | (uint32_t)*from++ << lane;
        }
    }
}

/* ------------------------------------------------------------- the stack -- */

static bool no_memory(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    fgs__sim_warp_fault(w, i, CUDA_ERROR_OUT_OF_MEMORY, -1,
                        "no host memory for the call stack");
    return false;
}

static bool grow_frames(struct fgs__sim_stack *s, const fgs_allocator *a)
{
    uint32_t n = s->frames ? s->frames * 2 : 4;
    struct frame *f = fgs__alloc_array(a, (size_t)n * 32, sizeof *f);

    if (!f)
        return false;
    if (s->frames)
        memcpy(f, s->frame, (size_t)s->frames * 32 * sizeof *f);
    fgs__free(a, s->frame);
    s->frame = f;
    s->frames = n;
    return true;
}

static bool grow_save(struct fgs__sim_stack *s, const fgs_allocator *a,
                      uint32_t need)
{
    uint32_t n = s->save_bytes * 2 > need ? s->save_bytes * 2 : need * 4;
    unsigned char *p = fgs__alloc_array(a, (size_t)n, 32);

    if (!p)
        return false;
    for (uint32_t l = 0; l < 32 && s->save; l++)
        memcpy(p + (size_t)l * n, s->save + (size_t)l * s->save_bytes,
               s->saved[l]);
    fgs__free(a, s->save);
    s->save = p;
    s->save_bytes = n;
    return true;
}

/* Room for one more call of every lane that calls. */
static bool make_room(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      const struct fgs__sim_function *f)
{
    const fgs_allocator *a = w->block->grid->code->alloc;
    struct fgs__sim_stack *s = w->stack;

    if (!s)
        s = w->stack = fgs__zalloc(a, sizeof *s);
    if (!s)
        return no_memory(w, i);
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);

        if (s->depth[l] == s->frames && !grow_frames(s, a))
            return no_memory(w, i);
        if (f->save_bytes && s->saved[l] + f->save_bytes > s->save_bytes &&
            !grow_save(s, a, s->saved[l] + f->save_bytes))
            return no_memory(w, i);
    }
    return true;
}

bool fgs__sim_stack_overflow(struct fgs__sim_warp *w,
                             const struct fgs__sim_insn *i, int lane,
                             uint64_t top)
{
    uint32_t has = fgs__sim_local_bytes(w->block->grid);

    if (top <= has)
        return false;
    fgs__sim_warp_fault(w, i, CUDA_ERROR_HARDWARE_STACK_ERROR, lane,
                        "stack overflow: %llu bytes of stack are needed here, "
                        "a thread has %u",
                        (unsigned long long)top, has);
    return true;
}

/* ------------------------------------------------------------------ call -- */

static bool fits(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                 const struct fgs__sim_call *c,
                 const struct fgs__sim_function *f)
{
    uint32_t least = f->params - (f->func->unsized != NULL);
    bool ok = c->rets == f->rets && (c->args == f->params || c->args == least);

    for (uint32_t k = 0; ok && k < c->args; k++)
        ok = c->passed[k].bytes == f->passed[k].bytes ||
            f->passed[k].bytes == FGS__SIM_ANY_BYTES;
    for (uint32_t k = c->args; ok && k < c->args + c->rets; k++)
        ok = !c->passed[k].bytes || c->passed[k].bytes == f->passed[k].bytes;
    if (!ok)
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                            fgs__sim_lane(w->exec),
                            "the call does not fit the parameters of '%s'",
                            f->func->name);
    return ok;
}

/* Where the function's own part of the stack ends. */
static uint64_t end_of(const struct fgs__sim_call *c,
                       const struct fgs__sim_function *f, uint64_t fp)
{
    uint64_t end = fp + f->frame_bytes;

    if (f->func->unsized && c->args == f->params)
        end += fgs__sim_align_up(c->passed[c->args - 1].bytes, 16);
    return end;
}

static const struct fgs__sim_insn *enter(struct fgs__sim_warp *w,
                                         const struct fgs__sim_insn *i,
                                         const struct fgs__sim_call *c,
                                         const struct fgs__sim_function *f)
{
    const struct fgs__sim_code *code = w->block->grid->code;
    uint64_t *fps = lanes64(w, code->fp), *sps = lanes64(w, code->sp);
    struct fgs__sim_stack *s;

    if (!make_room(w, i, f))
        return NULL;
    s = w->stack;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        struct frame *frame = &s->frame[s->depth[l] * 32 + (uint32_t)l];
        uint64_t fp = fgs__sim_align_up(sps[l], f->frame_align);

        if (fgs__sim_stack_overflow(w, i, l, end_of(c, f, fp)))
            return NULL;
        *frame = (struct frame){ i, fps[l], sps[l], s->saved[l] };
        s->depth[l]++;
        pass(w, l, c->passed, fps[l], f->passed, fp, c->args, f,
             f->save_bytes ? save : NULL);
        fps[l] = fp;
        sps[l] = end_of(c, f, fp);
        for (uint32_t k = 0; k < f->addresses; k++) {
            const struct fgs__sim_address *a = &f->place[k];

            if (a->bits == 64)
                lanes64(w, a->ref)[l] = fp + a->offset;
            else
                ((uint32_t *)fgs__sim_at(w, a->ref))[l] =
                    (uint32_t)fp + a->offset;
        }
    }
    return f->first;
}

static const struct fgs__sim_insn *run_call(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    const struct fgs__sim_code *code = w->block->grid->code;
    const struct fgs__sim_call *c = &code->call[i->aux[0]];

    return enter(w, i, c, &code->function[c->callee]);
}

static uint64_t target_of(const struct fgs__sim_warp *w,
                          const struct fgs__sim_insn *i, int lane)
{
    const void *r = fgs__sim_at(w, i->op[0]);

    return i->aux[1] == 32 ? ((const uint32_t *)r)[lane]
                           : ((const uint64_t *)r)[lane];
}

/* Lanes that call another function than the first one call it afterwards. */
static const struct fgs__sim_insn *run_call_reg(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i)
{
    const struct fgs__sim_code *code = w->block->grid->code;
    const struct fgs__sim_call *c = &code->call[i->aux[0]];
    int first = fgs__sim_lane(w->exec);
    uint64_t target = target_of(w, i, first);
    uint32_t others = 0, k;

    for (uint32_t m = w->exec; m; m &= m - 1)
        if (target_of(w, i, fgs__sim_lane(m)) != target)
            others |= m & -m;
    if (others)
        fgs__sim_warp_split(w, others, i);
    for (k = 0; k + 1 < code->functions; k++)
        if (target && code->function[k].address == target)
            return fits(w, i, c, &code->function[k])
                ? enter(w, i, c, &code->function[k]) : NULL;
    return fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_PC, first,
                               "0x%llx is no function",
                               (unsigned long long)target);
}

/* Lanes with another caller than the first one return afterwards. */
static const struct fgs__sim_insn *run_ret(struct fgs__sim_warp *w,
                                           const struct fgs__sim_insn *i)
{
    const struct fgs__sim_code *code = w->block->grid->code;
    const struct fgs__sim_function *f = &code->function[i->aux[0]];
    struct fgs__sim_stack *s = w->stack;
    uint64_t *fps = lanes64(w, code->fp), *sps = lanes64(w, code->sp);
    int l = fgs__sim_lane(w->exec);
    const struct fgs__sim_insn *call =
        s->frame[(s->depth[l] - 1) * 32 + (uint32_t)l].call;
    const struct fgs__sim_call *c = &code->call[call->aux[0]];
    uint32_t others = 0;

    for (uint32_t m = w->exec; m; m &= m - 1) {
        l = fgs__sim_lane(m);
        if (s->frame[(s->depth[l] - 1) * 32 + (uint32_t)l].call != call)
            others |= m & -m;
    }
    if (others)
        fgs__sim_warp_split(w, others, i);
    for (uint32_t m = w->exec; m; m &= m - 1) {
        const struct frame *frame;

        l = fgs__sim_lane(m);
        frame = &s->frame[--s->depth[l] * 32 + (uint32_t)l];
        pass(w, l, f->passed + f->params, fps[l], c->passed + c->args,
             frame->fp, c->rets, f, f->save_bytes ? restore : NULL);
        fps[l] = frame->fp;
        sps[l] = frame->sp;
    }
    return call + 1;
}

static const struct fgs__sim_insn *run_builtin(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    const struct fgs__sim_code *code = w->block->grid->code;
    const struct fgs__sim_call *c = &code->call[i->aux[0]];
    const uint64_t *fps = lanes64(w, code->fp);

    for (uint32_t m = w->exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        uint64_t arg[ARGS], result = 0;

        memset(arg, 0, c->args * sizeof *arg);
        for (uint32_t k = 0; k < c->args; k++)
            memcpy(&arg[k], passed_at(w, l, &c->passed[k], fps[l]),
                   c->passed[k].bytes < 8 ? c->passed[k].bytes : 8);
        if (!c->builtin(w, i, l, arg, &result))
            return NULL;
        for (uint32_t k = c->args; k < c->args + c->rets; k++)
            if (c->passed[k].bytes)
                memcpy(passed_at(w, l, &c->passed[k], fps[l]), &result,
                       c->passed[k].bytes < 8 ? c->passed[k].bytes : 8);
    }
    return i + 1;
}

/* -------------------------------------------------------------- decoding -- */

/* What a call passes, as `formal` says. */
static bool place_actuals(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_operand *list,
                          const struct fgs__ptx_sym *formal, bool result,
                          struct fgs__sim_passed *out)
{
    for (uint32_t k = 0; k < list->children; k++, formal = formal->next) {
        const struct fgs__ptx_operand *o = &list->child[k];

        out[k] = (struct fgs__sim_passed){ FGS__SIM_NOREF, 0, 0 };
        if (o->kind == FGS__O_SINK)
            continue;
        out[k].bytes = fgs__ptx_types[formal->type].bits / 8;
        if (o->kind == FGS__O_SYM) {
            out[k].offset = (uint32_t)o->sym->offset;
            out[k].bytes = (uint32_t)o->sym->bytes;
            continue;
        }
        out[k].ref = result ? fgs__sim_ref_dst(d, o, formal->type)
                            : fgs__sim_ref_of(d, o, formal->type);
        if (out[k].ref == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

static struct fgs__sim_call *new_call(struct fgs__sim_decoder *d,
                                      struct fgs__sim_insn *out)
{
    struct fgs__sim_code *c = d->code;
    void *items = c->call;

    if (!fgs__vec_reserve(d->alloc, &items, &c->call_cap, c->calls,
                          sizeof *c->call)) {
        d->nomem = true;
        return NULL;
    }
    c->call = items;
    memset(&c->call[c->calls], 0, sizeof *c->call);
    out->aux[0] = c->calls;
    return &c->call[c->calls++];
}

static bool sel_call(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    struct fgs__sim_call *c = new_call(d, out);
    const struct fgs__ptx_targets *t;
    const struct fgs__ptx_func *f;

    if (!c)
        return false;
    c->args = o[2].children;
    c->rets = o[0].children;
    c->passed = fgs__alloc_array(d->alloc, (size_t)c->args + c->rets + 1,
                                 sizeof *c->passed);
    if (!c->passed) {
        d->nomem = true;
        return false;
    }
    c->callee = UINT32_MAX;
    if (o[1].kind == FGS__O_REG) {
        t = o[3].sym->targets;
        f = t->proto ? t->proto : t->list[0].sym->func;
        out->run = run_call_reg;
        out->op[0] = fgs__sim_ref_reg(d, &o[1], &out->aux[1]);
        if (out->op[0] == FGS__SIM_NOREF)
            return false;
    } else {
        f = o[1].sym->func;
        c->callee = f->number;
        c->builtin = f->body ? NULL : fgs__sim_builtin_find(f);
        out->run = f->body ? run_call : run_builtin;
        if (c->builtin == fgs__sim_malloc || c->builtin == fgs__sim_free)
            d->code->heap = true;
        if (!f->body && !c->builtin) {
            fgs__sim_decode_error(d, src, "unresolved extern function '%s'",
                                  f->name);
            return false;
        }
    }
    out->blocks = out->run != run_builtin;
    return place_actuals(d, &o[2], f->params, false, c->passed) &&
        place_actuals(d, &o[0], f->rets, true, c->passed + c->args);
}

static bool sel_ret(struct fgs__sim_decoder *d, struct fgs__sim_insn *out)
{
    out->run = fgs__sim_warp_exit;
    if (d->func->entry)
        return true; /* an entry has no caller */
    out->run = run_ret;
    out->blocks = true;
    out->aux[0] = d->func->number;
    return true;
}

bool fgs__sim_sel_call(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    switch (src->op) {
    case FGS__OP_CALL:
        return sel_call(d, src, out);
    case FGS__OP_RET:
        return sel_ret(d, out);
    default:
        return false;
    }
}
