/* place.c -- places of a function's parameters, and what recursion saves */
#include "sim/call.h"
#include "sim/decode.h"

/* Places of formal parameters or results. */
static bool place_formals(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_sym *v,
                          struct fgs__sim_passed *out)
{
    for (; v; v = v->next, out++) {
        unsigned bits = fgs__ptx_types[v->type].bits;

        *out = (struct fgs__sim_passed){ FGS__SIM_NOREF, (uint32_t)v->offset,
                                         (uint32_t)v->bytes };
        if (fgs__ptx_unsized(v))
            out->bytes = FGS__SIM_ANY_BYTES;
        if (v->kind == FGS__SYM_VAR)
            continue;
        if (v->vec || bits < 8) {
            fgs__ptx_diag_add(d->diags, v->pos, "parameter '%s' of this type "
                              "is not executed yet", v->name);
            d->failed = true;
            return false;
        }
        out->ref = fgs__sim_reg_place(d, v);
        out->bytes = bits / 8;
    }
    return true;
}

static uint32_t length(const struct fgs__ptx_sym *v)
{
    uint32_t n = 0;

    for (; v; v = v->next)
        n++;
    return n;
}

bool fgs__sim_call_begin(struct fgs__sim_decoder *d)
{
    struct fgs__sim_function *f = d->callee;

    if (f->func->entry)
        return true;
    f->params = length(f->func->params);
    f->rets = length(f->func->rets);
    f->passed = fgs__alloc_array(d->alloc, (size_t)f->params + f->rets + 1,
                                 sizeof *f->passed);
    if (!f->passed) {
        d->nomem = true;
        return false;
    }
    if (f->params > FGS__SIM_ARGS || f->rets > FGS__SIM_ARGS) {
        fgs__ptx_diag_add(d->diags, f->func->pos, "'%s' has more than %d "
                          "parameters", f->func->name, FGS__SIM_ARGS);
        d->failed = true;
        return false;
    }
    return place_formals(d, f->func->params, f->passed) &&
        place_formals(d, f->func->rets, f->passed + f->params);
}

static void save_place(struct fgs__sim_function *f, fgs__sim_ref ref,
                       unsigned bits)
{
    f->saved[f->saves++] = (struct fgs__sim_saved){ ref, bits / 8 };
    f->save_bytes += bits < 8 ? 1 : bits / 8;
}

/* Everything that the function keeps in the bank, if it may call itself. */
bool fgs__sim_call_end(struct fgs__sim_decoder *d)
{
    struct fgs__sim_function *f = d->callee;
    size_t most = f->addresses;
    uint32_t k, n;

    if (!f->recursive)
        return true;
    for (k = 0; k < d->func->reg_count; k++)
        most += d->func->regs[k]->vec ? d->func->regs[k]->vec : 1;
    f->saved = fgs__alloc_array(d->alloc, most + 1, sizeof *f->saved);
    if (!f->saved) {
        d->nomem = true;
        return false;
    }
    for (k = 0; k < d->func->reg_count; k++) {
        const struct fgs__ptx_sym *s = d->func->regs[k];
        unsigned bits = fgs__ptx_types[s->type].bits;
        uint32_t step = ((bits == 1 ? 4 : bits * 4) + 63) & ~63u;

        for (n = 0; d->reg[k].ref != FGS__SIM_NOREF &&
                    n < (s->vec ? s->vec : 1u); n++)
            save_place(f, d->reg[k].ref + n * step, bits);
    }
    for (k = 0; k < f->addresses; k++)
        save_place(f, f->place[k].ref, f->place[k].bits);
    return true;
}
