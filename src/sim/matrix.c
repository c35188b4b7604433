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
    case FGS__OP_MMA_SP:
    case FGS__OP_MMA_SP_ORDERED:
    case FGS__OP_WMMA:
    case FGS__OP_WMMA_XOR:
    case FGS__OP_WMMA_AND:
    case FGS__OP_WMMA_LOAD_A:
    case FGS__OP_WMMA_LOAD_B:
    case FGS__OP_WMMA_LOAD_C:
    case FGS__OP_WMMA_STORE:
    case FGS__OP_CP_FENCEPROXY:
    case FGS__OP_SETMAXNREG:
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

fgs__sim_ref fgs__sim_matrix_scratch(struct fgs__sim_decoder *d)
{
    if (d->tiles == FGS__SIM_NOREF)
        d->tiles = fgs__sim_take(d, FGS__SIM_FRAGMENT * TILE_STEP);
    return d->tiles;
}

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

/*
 * Metadata of a sparse A, as an H200 reads it: 4 bits a chunk, two places of
 * 2 bits, low first.  With elements of 16 and 32 bits a lane holds 4 chunks of
 * row g and as many of row g + 8; with smaller ones 8 chunks of one of them.
 */
static uint32_t places_of(const struct fgs__sim_warp *w,
                          const struct fgs__sim_product *p, unsigned row,
                          unsigned chunk, uint32_t *lane)
{
    enum fgs__ptx_type a = (enum fgs__ptx_type)p->type[FGS__MATRIX_A];
    const uint32_t *reg = fgs__sim_at(w, p->places);
    bool high = row >= 8;
    uint32_t n;

    *lane = row % 8 * 4 + p->selector * p->lanes;
    if (fgs__ptx_types[a].bits >= 16) {
        *lane += chunk / 4;
        n = chunk % 4 + (high ? 4 : 0);
    } else {
        *lane += chunk / 8 * 2 + high;
        n = chunk % 8;
    }
    return reg[*lane] >> 4 * n & 15;
}

bool fgs__sim_matrix_places(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i,
                            const struct fgs__sim_product *p, uint8_t *at)
{
    for (unsigned row = 0; row < 16; row++)
        for (unsigned c = 0; c < (unsigned)p->k / p->chunk; c++) {
            uint32_t lane, v = places_of(w, p, row, c, &lane);
            uint32_t low = v & 3, high = v >> 2;
            uint8_t *to = at + row * FGS__SIM_SPARSE + c * p->chunk / 2;
            bool one = p->chunk == 2; /* 0100 or 1110: one place of two */

            if (one ? v != 4 && v != 14
                    : low == high || (p->ordered && low > high)) {
                fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                    (int)lane, "metadata 0x%x of chunk %u in "
                                    "row %u of A names no places", v, c, row);
                return false;
            }
            low = c * p->chunk + (one ? v == 14 : low * p->chunk / 4);
            high = c * p->chunk + high * p->chunk / 4;
            to[0] = (uint8_t)low;
            if (p->chunk == 4)
                to[1] = (uint8_t)high;
            if (p->chunk < 8)
                continue;
            to[1] = (uint8_t)(low + 1);
            to[2] = (uint8_t)high;
            to[3] = (uint8_t)(high + 1);
        }
    return true;
}

static bool take_places(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        const struct fgs__product *row,
                        struct fgs__sim_product *p)
{
    enum fgs__ptx_type a = (enum fgs__ptx_type)p->type[FGS__MATRIX_A];

    p->lanes = (uint8_t)fgs__product_lanes(row, a);
    if (!p->lanes)
        return true;
    p->chunk = (uint8_t)fgs__product_chunk(row, a);
    p->ordered = src->op == FGS__OP_MMA_SP_ORDERED;
    p->selector = (uint8_t)src->operand[5].imm;
    p->places = fgs__sim_ref_of(d, &src->operand[4], FGS__T_B32);
    return p->places != FGS__SIM_NOREF;
}

/*
 * A selector becomes one uniform register for the whole warp (seen in sm_120a
 * code), so lanes that differ have no meaning.
 */
static bool pick_of(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                    const struct fgs__sim_product *p, int b, uint32_t pick[2])
{
    const uint32_t top[2] = { 4u - p->scales, b ? 3 : 1 };

    for (int k = 0; k < 2; k++) {
        const uint16_t *v = fgs__sim_at(w, p->pick[b][k]);

        pick[k] = v[0];
        for (int lane = 0; lane < 32; lane++) {
            if (v[lane] == v[0] && v[0] <= top[k] &&
                (k || p->scales != 2 || !(v[0] & 1)))
                continue;
            fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                                v[lane] == v[0] ? "%s-id-%c %u selects no "
                                "scale" : "%s-id-%c %u is not that of lane 0",
                                k ? "thread" : "byte", b ? 'b' : 'a', v[lane]);
            return false;
        }
    }
    return true;
}

/* Lanes 4g + 2 thread and the next hold those of rows g and g + 8 of A, lane
 * 4g + thread those of column g of B (ISA 9.7.14.3, figures 43 and 44). */
bool fgs__sim_matrix_scales(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i,
                            const struct fgs__sim_product *p,
                            struct fgs__sim_scales *out)
{
    const uint32_t *a = fgs__sim_at(w, p->scale[0]);
    const uint32_t *b = fgs__sim_at(w, p->scale[1]);
    uint32_t of_a[2], of_b[2];

    if (!pick_of(w, i, p, 0, of_a) || !pick_of(w, i, p, 1, of_b))
        return false;
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t k = 0; k < p->scales; k++) {
            const uint32_t *low = &a[4 * g + 2 * of_a[1]];

            out->a[g][k] = (uint8_t)(low[0] >> 8 * (of_a[0] + k));
            out->a[g + 8][k] = (uint8_t)(low[1] >> 8 * (of_a[0] + k));
            out->b[g][k] =
                (uint8_t)(b[4 * g + of_b[1]] >> 8 * (of_b[0] + k));
        }
    return true;
}

static bool take_scales(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_product *p)
{
    const struct fgs__ptx_operand *o = &src->operand[p->lanes ? 6 : 4];

    p->ue4m3 = src->mod[FGS__G_SCALE_TYPE] == FGS__M_UE4M3;
    p->scales = (uint8_t)fgs__product_scales(src);
    for (int b = 0; p->scales && b < 2; b++, o += 2) {
        p->scale[b] = fgs__sim_ref_of(d, &o[0], FGS__T_B32);
        p->pick[b][0] = fgs__sim_ref_of(d, &o[1].child[0], FGS__T_U16);
        p->pick[b][1] = fgs__sim_ref_of(d, &o[1].child[1], FGS__T_U16);
        if (p->scale[b] == FGS__SIM_NOREF || p->pick[b][0] == FGS__SIM_NOREF ||
            p->pick[b][1] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

static bool is_fp8(unsigned type)
{
    return type == FGS__T_E4M3 || type == FGS__T_E5M2;
}

static bool is_short(unsigned type)
{
    return type == FGS__T_E3M2 || type == FGS__T_E2M3 || type == FGS__T_E2M1;
}

/* Elements that no f16 step takes, and fp8 in code for sm_120 and later, where
 * there are instructions for it; elsewhere the assembler makes steps of f16. */
static bool is_narrow(const struct fgs__sim_decoder *d,
                      const struct fgs__sim_product *p)
{
    unsigned a = p->type[FGS__MATRIX_A], b = p->type[FGS__MATRIX_B];

    return p->scales || is_short(a) || is_short(b) ||
        (is_fp8(a) && d->func->module->target_cc >= 120);
}

/* Products of wmma are two tiles of 16 x 8, or one of 8 x 8.  One that is
 * wide instead of tall is done with its columns as rows. */
static void make_tiles(struct fgs__sim_product *p, unsigned m, unsigned n)
{
    p->tiles = m * n / 128 ? 2 : 1;
    if (p->tiles == 1)
        return;
    if (m == 8)
        for (unsigned k = 0; k < FGS__SIM_FRAGMENT; k++) {
            fgs__sim_ref a = p->op[FGS__MATRIX_A][k];

            p->op[FGS__MATRIX_A][k] = p->op[FGS__MATRIX_B][k];
            p->op[FGS__MATRIX_B][k] = a;
        }
    /* Registers from tile to tile. */
    p->step[FGS__MATRIX_D] = p->type[FGS__MATRIX_D] == FGS__T_F16 ? 2 : 4;
    p->step[FGS__MATRIX_C] = p->type[FGS__MATRIX_C] == FGS__T_F16 ? 2 : 4;
    n = p->k * fgs__ptx_types[p->type[FGS__MATRIX_A]].bits / 64u;
    if (m == 16)
        p->step[FGS__MATRIX_B] = (uint8_t)(n / 2);
    else
        p->step[FGS__MATRIX_A] = (uint8_t)n;
    p->m = 16;
    p->n = 8;
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
    p->xor_bits = src->mod[FGS__G_BOOL] == FGS__M_BOOL_XOR ||
        src->op == FGS__OP_WMMA_XOR;
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
    if (row->op != FGS__OP_WMMA) {
        if (!take_places(d, src, row, p) || !take_scales(d, src, p))
            return NULL;
        p->narrow = is_narrow(d, p);
        return p;
    }
    make_tiles(p, row->m, row->n);
    p->scratch = fgs__sim_matrix_scratch(d);
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
