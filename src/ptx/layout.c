/* layout.c -- places of a function's variables in its frames */
#include "ptx/parse.h"
#include "base/compat.h"

/* Parameters and results of a .func, in its frame. */
static void place_params(struct fgs__ptx_func *f, struct fgs__ptx_sym *v)
{
    for (; v; v = v->next) {
        if (v->kind != FGS__SYM_VAR)
            continue;
        v->frame = true;
        v->offset = fgs__align_up(f->local_bytes, v->align);
        f->local_bytes = v->offset + v->bytes;
        if (f->frame_align < v->align)
            f->frame_align = v->align;
    }
}

/* x[] lies behind the rest: each call adds what it passes. */
static void place_unsized(struct fgs__ptx_func *f)
{
    struct fgs__ptx_sym *v = f->params;

    while (v && !fgs__ptx_unsized(v))
        v = v->next;
    f->unsized = v;
    if (!v)
        return;
    f->local_bytes = fgs__align_up(f->local_bytes, v->align > 16 ? v->align
                                                                 : 16);
    v->offset = f->local_bytes;
}

/* What calls need of the frame lies behind the .local variables. */
static void place_call(struct fgs__ptx_func *f)
{
    uint64_t base = fgs__align_up(f->local_bytes, 16);

    if (f->call_bytes)
        f->local_bytes = base + f->call_bytes;
    for (struct fgs__ptx_sym *v = f->syms; v; v = v->next) {
        if (v->kind != FGS__SYM_VAR || (!v->frame &&
                                        v->space != FGS__M_LOCAL))
            continue;
        if (v->frame)
            v->offset += base;
        if (f->frame_align < v->align)
            f->frame_align = v->align;
    }
    if (f->entry)
        return;
    place_params(f, f->params);
    place_params(f, f->rets);
    place_unsized(f);
}

/* Offsets of what the function keeps in shared and local memory.  Dynamic
 * shared arrays (extern x[]) all start where the static part ends. */
void fgs__func_lay_out(struct fgs__ptx_func *f)
{
    uint32_t dynamic_align = 0;

    f->shared_align = 1;
    for (struct fgs__ptx_sym *v = f->syms; v; v = v->next) {
        uint64_t *frame = v->space == FGS__M_SHARED ? &f->shared_bytes
                                                    : &f->local_bytes;

        if (v->kind != FGS__SYM_VAR || (v->space != FGS__M_SHARED &&
                                        v->space != FGS__M_LOCAL))
            continue;
        if (v->space == FGS__M_SHARED && f->shared_align < v->align)
            f->shared_align = v->align;
        if (!v->bytes) {
            if (dynamic_align < v->align)
                dynamic_align = v->align;
            continue;
        }
        v->offset = fgs__align_up(*frame, v->align);
        *frame = v->offset + v->bytes;
    }
    f->frame_align = 16;
    place_call(f);
    if (!dynamic_align)
        return;
    f->shared_bytes = fgs__align_up(f->shared_bytes, dynamic_align);
    for (struct fgs__ptx_sym *v = f->syms; v; v = v->next) {
        if (v->kind == FGS__SYM_VAR && v->space == FGS__M_SHARED && !v->bytes)
            v->offset = f->shared_bytes;
    }
}
