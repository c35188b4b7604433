/* matrix.c -- the whole warp at one instruction; operands of a product */
#include "sim/matrix.h"
#include "ptx/matrix.h"
#include "sim/decode.h"

static bool is_matrix(const struct fgs__sim_insn *i)
{
    switch (i->src ? i->src->op : 0) {
    case FGS__OP_LDMATRIX:
    case FGS__OP_STMATRIX:
    case FGS__OP_MOVMATRIX:
    case FGS__OP_MMA:
        return true;
    default:
        return false;
    }
}

/* Another split waits at another instruction of this kind: neither goes on. */
static bool diverged(const struct fgs__sim_warp *w,
                     const struct fgs__sim_insn *i)
{
    for (uint32_t k = 0; k < w->splits; k++) {
        const struct fgs__sim_split *s = &w->split[k];

        if (k != w->cur && s->wait == FGS__SIM_WAIT_WARP && s->pc != i &&
            is_matrix(s->pc))
            return true;
    }
    return false;
}

bool fgs__sim_matrix_all(struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    int lane = __builtin_ctz(w->exec);

    if (FGS__LIKELY(w->exec == UINT32_MAX))
        return true;
    if (w->live != UINT32_MAX)
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "all 32 threads of a warp must execute this "
                            ".aligned instruction, lane %d does not exist or "
                            "has exited", __builtin_ctz(~w->live));
    else if (diverged(w, i))
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                            "all 32 threads of a warp must execute the same "
                            ".aligned instruction, lane %d waits at another",
                            __builtin_ctz(~w->exec));
    else
        fgs__sim_warp_block(w, i, FGS__SIM_WAIT_WARP, FGS__SIM_NEVER);
    return false;
}

/* ------------------------------------------------------------- operands -- */

static bool take_fragment(struct fgs__sim_decoder *d,
                          const struct fgs__ptx_operand *o, bool dest,
                          enum fgs__ptx_type t, fgs__sim_ref *ref)
{
    for (unsigned k = 0; k < o->children; k++) {
        ref[k] = dest ? fgs__sim_ref_dst(d, &o->child[k], t)
                      : fgs__sim_ref_of(d, &o->child[k], t);
        if (ref[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

struct fgs__sim_product *fgs__sim_product_make(struct fgs__sim_decoder *d,
                                               const struct fgs__ptx_insn *src)
{
    bool shape;
    const struct fgs__product *row = fgs__product_find(src, &shape);
    struct fgs__sim_product *p = fgs__zalloc(d->alloc, sizeof *p);

    if (!p) {
        d->nomem = true;
        return NULL;
    }
    p->next = d->code->products;
    d->code->products = p;
    p->m = row->m;
    p->n = row->n;
    p->k = row->k;
    p->saturate = src->mod[FGS__G_SATFINITE] != 0;
    p->xor_bits = src->mod[FGS__G_BOOL] == FGS__M_BOOL_XOR;
    p->round = src->mod[FGS__G_ROUND];
    p->a_col = src->mod[FGS__G_ORDER_A] == FGS__M_A_COL;
    p->b_row = src->mod[FGS__G_ORDER_B] == FGS__M_B_ROW;
    fgs__product_types(src, p->type);
    for (unsigned k = 0; k < 4; k++) {
        bool wide = p->type[k] == FGS__T_F64;

        if (!take_fragment(d, &src->operand[k], !k,
                           wide ? FGS__T_F64 : FGS__T_B32, p->op[k]))
            return NULL;
    }
    return p;
}

void fgs__sim_product_free(struct fgs__sim_code *c)
{
    struct fgs__sim_product *p, *next;

    for (p = c->products; p; p = next) {
        next = p->next;
        fgs__free(c->alloc, p);
    }
}
