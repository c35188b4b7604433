/* matrix.c -- look up products of matrices and their fragments */
#include "ptx/matrix.h"

static const struct fgs__product products[] = {
#define OF_KIND(kind, op, shape, m, n, k, d, a, b, c, ptx, cc, family)         \
    { FGS__M_##kind, FGS__OP_##op, FGS__M_##shape, m, n, k, { d, a, b, c },    \
      ptx, cc, family },
#include "ptx/matrix.def"
};

void fgs__product_types(const struct fgs__ptx_insn *i, uint8_t type[4])
{
    for (unsigned k = 0; k < 4; k++)
        type[k] = i->type[k];
    /* wmma of f16 writes those of D and C only. */
    if (i->op == FGS__OP_WMMA && i->types == 2) {
        type[FGS__MATRIX_C] = i->type[1];
        type[FGS__MATRIX_A] = type[FGS__MATRIX_B] = FGS__T_F16;
    }
}

static unsigned table_op(const struct fgs__ptx_insn *i)
{
    return i->op == FGS__OP_WMMA_XOR || i->op == FGS__OP_WMMA_AND
        ? FGS__OP_WMMA
        : i->op == FGS__OP_MMA_SP_ORDERED ? FGS__OP_MMA_SP : i->op;
}

/* The assembler takes the kinds with scales without those, and makes the same
 * product of elements of 8 bits. */
static unsigned kind_of(const struct fgs__ptx_insn *i, const uint8_t type[4])
{
    unsigned kind = i->mod[FGS__G_KIND];
    unsigned a = type[FGS__MATRIX_A], b = type[FGS__MATRIX_B];

    if (kind && !i->mod[FGS__G_BLOCK_SCALE] &&
        (a == FGS__T_E4M3 || a == FGS__T_E5M2) &&
        (b == FGS__T_E4M3 || b == FGS__T_E5M2))
        return FGS__M_F8F6F4;
    return kind;
}

const struct fgs__product *fgs__product_find(const struct fgs__ptx_insn *i,
                                             bool *shape)
{
    uint8_t type[4];

    *shape = false;
    fgs__product_types(i, type);
    for (size_t n = 0; n < sizeof products / sizeof products[0]; n++) {
        const struct fgs__product *p = &products[n];
        unsigned k = 0;

        if ((p->op != i->op && p->op != table_op(i)) ||
            p->kind != kind_of(i, type) ||
            p->shape != i->mod[FGS__G_SHAPE])
            continue;
        *shape = true;
        while (k < 4 && p->type[k] >> type[k] & 1)
            k++;
        if (k == 4)
            return p;
    }
    return NULL;
}

const struct fgs__product *fgs__product_part(const struct fgs__ptx_insn *i,
                                             enum fgs__matrix which)
{
    unsigned type = i->type[0], shape = i->mod[FGS__G_SHAPE];

    /* The assembler moves the sums of these also as .f32. */
    if (type == FGS__T_F32 &&
        (shape == FGS__M_M8N8K32 || shape == FGS__M_M8N8K128))
        type = FGS__T_S32;
    for (size_t n = 0; n < sizeof products / sizeof products[0]; n++) {
        const struct fgs__product *p = &products[n];

        if (p->op == FGS__OP_WMMA && p->shape == shape &&
            p->type[which] >> type & 1)
            return p;
    }
    return NULL;
}

static bool is_sparse(const struct fgs__product *p)
{
    return p->op == FGS__OP_MMA_SP || p->op == FGS__OP_MMA_SP_ORDERED;
}

unsigned fgs__product_bits(const struct fgs__product *p, enum fgs__ptx_type t)
{
    bool bytes = p->kind == FGS__M_F8F6F4 || p->kind == FGS__M_MXF8F6F4;

    return t == FGS__T_E2M1 && bytes ? 8 : fgs__ptx_types[t].bits;
}

unsigned fgs__product_chunk(const struct fgs__product *p, enum fgs__ptx_type a)
{
    unsigned bits = fgs__product_bits(p, a);

    return bits == 32 ? 2 : bits == 4 ? 8 : 4;
}

/* A lane holds the places of eight chunks, and there are two rows a group. */
unsigned fgs__product_lanes(const struct fgs__product *p, enum fgs__ptx_type a)
{
    return is_sparse(p) ? p->k / fgs__product_chunk(p, a) / 4 : 0;
}

/* Without a word there is one to 32 elements of A (ISA 9.7.14.3). */
unsigned fgs__product_scales(const struct fgs__ptx_insn *i)
{
    unsigned vec = i->mod[FGS__G_SCALE_VEC];

    if (!i->mod[FGS__G_BLOCK_SCALE])
        return 0;
    return vec ? 1u << (vec - FGS__M_SCALE_1X)
        : i->mod[FGS__G_KIND] == FGS__M_MXF8F6F4 ? 1 : 2;
}

unsigned fgs__product_regs(const struct fgs__product *p, enum fgs__matrix which,
                           enum fgs__ptx_type t)
{
    unsigned bits = fgs__product_bits(p, t), elements;

    /* wmma of f16 has half of them twice (seen on an H200). */
    if (p->op == FGS__OP_WMMA && t == FGS__T_F16)
        return which == FGS__MATRIX_A || which == FGS__MATRIX_B ? 8 : 4;
    /* Four products at once, each of eight threads (ISA 9.7.14.5.1). */
    if (p->shape == FGS__M_M8N8K4 && t != FGS__T_F64)
        return which == FGS__MATRIX_A || which == FGS__MATRIX_B ? 2
            : t == FGS__T_F16 ? 4 : 8;
    elements = which == FGS__MATRIX_A
        ? p->m * p->k / (is_sparse(p) ? 2u : 1u)
        : which == FGS__MATRIX_B ? p->k * p->n : p->m * p->n;
    return elements * bits / 32 / (bits == 64 ? 64 : 32);
}
