/* layout.c -- places of a function's variables in its frames */
#include "ptx/parse.h"
#include "base/compat.h"

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
    if (!dynamic_align)
        return;
    f->shared_bytes = fgs__align_up(f->shared_bytes, dynamic_align);
    for (struct fgs__ptx_sym *v = f->syms; v; v = v->next) {
        if (v->kind == FGS__SYM_VAR && v->space == FGS__M_SHARED && !v->bytes)
            v->offset = f->shared_bytes;
    }
}
