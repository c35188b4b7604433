/* wmma.c -- wmma.load and wmma.store: tiles of memory in registers
 *
 * The ISA leaves open which lane holds which element; here they lie as those
 * of mma do (mma.h), tile after tile, which is also what an H200 has.
 */
#include "sim/access.h"
#include "sim/chunk.h"
#include "sim/matrix.h"

enum { OP_STRIDE = 8 }; /* op[0..7]: registers, op[9]: the address */
enum { AUX_FACTS = 0, AUX_SCRATCH = 1 }; /* where addresses are made */
enum {
    REGS_MASK = 15,
    BITS_SHIFT = 4,         /* of an element, up to 64         */
    BY_COLUMN = 1 << 13,    /* in memory                       */
    STORE = 1 << 14,
    WHICH_SHIFT = 16,
    M_SHIFT = 18, /* eights of rows */
    N_SHIFT = 21, /* eights of columns */
    K_SHIFT = 24  /* log2 */
};

struct part {
    unsigned which, bits, per; /* elements to a register       */
    unsigned m, n, k;
    bool swapped;              /* rows are columns: m8n32      */
};

static struct part part_of(const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS];
    struct part p = { .which = facts >> WHICH_SHIFT & 3,
                      .bits = facts >> BITS_SHIFT & 127,
                      .m = (facts >> M_SHIFT & 7) * 8,
                      .n = (facts >> N_SHIFT & 7) * 8,
                      .k = 1u << (facts >> K_SHIFT & 7) };

    p.per = p.bits < 32 ? 32 / p.bits : 1;
    p.swapped = p.m == 8 && p.n == 32;
    if (p.swapped) {
        p.m = 32;
        p.n = 8;
        p.which = p.which == FGS__MATRIX_A   ? FGS__MATRIX_B
                  : p.which == FGS__MATRIX_B ? FGS__MATRIX_A
                                             : p.which;
    }
    return p;
}

static void place_sum(const struct part *p, unsigned reg, unsigned lane,
                      unsigned e, unsigned *row, unsigned *col)
{
    unsigned rows = p->m < 16 ? 8 : 16, regs = rows / 4 / p->per;
    unsigned tile = reg / regs, r = reg % regs;

    *row = lane / 4 + 8 * (p->per == 2 ? r : r / 2);
    *col = lane % 4 * 2 + (p->per == 2 ? e : r & 1);
    if (p->m == 32)
        *row += 16 * tile;
    else
        *col += 8 * tile;
}

/* Row and column of element e of a register. */
static void place(const struct part *p, unsigned reg, unsigned lane, unsigned e,
                  unsigned *row, unsigned *col)
{
    unsigned block = 4 * p->per, inner = lane % 4 * p->per + e;
    unsigned high = p->m < 16 ? 1 : 2, regs, swap;

    if (p->which == FGS__MATRIX_A) {
        regs = high * p->k / block;
        *row = reg / regs % (p->m < 16 ? 1 : p->m / 16) * 16 + lane / 4 +
            8 * (reg % regs % high);
        *col = reg % regs / high * block + inner;
    } else if (p->which == FGS__MATRIX_B) {
        regs = p->k / block;
        *row = reg % regs * block + inner;
        *col = reg / regs % (p->n / 8) * 8 + lane / 4;
    } else {
        place_sum(p, reg, lane, e, row, col);
    }
    if (!p->swapped)
        return;
    swap = *row;
    *row = *col;
    *col = swap;
}

/* A register's elements are neighbours in memory: one access for all. */
static bool together(const struct fgs__sim_insn *i, const struct part *p)
{
    bool by_column = i->aux[AUX_FACTS] & BY_COLUMN;
    bool b = p->which == FGS__MATRIX_B;

    return p->per > 1 && by_column == (b != p->swapped);
}

/* Addresses of element e, to the place in the bank that i takes them from. */
static void place_all(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      const struct part *p, unsigned reg, unsigned e,
                      uint64_t base, uint64_t stride)
{
    uint64_t *addr = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);

    for (unsigned l = 0; l < 32; l++) {
        unsigned row, col;

        place(p, reg, l, e, &row, &col);
        addr[l] = base + (i->aux[AUX_FACTS] & BY_COLUMN ? col * stride + row
                                                        : row * stride + col) *
                             p->bits / 8;
    }
}

static FGS__DEVICE_MEMORY void copy_bytes(char *to, const char *from,
                                          unsigned bytes)
{
    switch (bytes) {
    case 1:
        *(fgs__dev8 *)to = *(const fgs__dev8 *)from;
        break;
    case 2:
        *(fgs__dev16 *)to = *(const fgs__dev16 *)from;
        break;
    case 4:
        *(fgs__dev32 *)to = *(const fgs__dev32 *)from;
        break;
    default:
        *(fgs__dev64 *)to = *(const fgs__dev64 *)from;
    }
}

/* `bytes` of each lane, `step` from lane to lane in the register. */
static bool move_bytes(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       char *reg, unsigned step, unsigned bytes,
                       uint64_t *latency)
{
    bool store = i->aux[AUX_FACTS] & STORE;
    struct fgs__sim_access acc;

    if (!fgs__sim_access_find(w, i, store, &acc))
        return false;
    *latency = acc.latency_ps;
    for (unsigned l = 0; l < 32; l++) {
        char *mem = acc.shape == FGS__SIM_SAME  ? acc.lane[0]
                    : acc.shape == FGS__SIM_RUN ? acc.lane[0] + l * bytes
                                                : acc.lane[l];

        if (store)
            copy_bytes(mem, reg + l * step, bytes);
        else
            copy_bytes(reg + l * step, mem, bytes);
    }
    return true;
}

/* All lanes must give one address and one stride (ISA 9.7.14.4.3). */
static bool same_in_all(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                        uint64_t *base, uint32_t *stride)
{
    bool addr32 = i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_ADDR32;
    const uint32_t *v = fgs__sim_at(w, i->op[OP_STRIDE]);

    *base = fgs__sim_lane_addr(w, i->op[FGS__SIM_ADDR], addr32, i->imm, 0);
    *stride = v[0];
    for (int l = 1; l < 32; l++) {
        uint64_t a = fgs__sim_lane_addr(w, i->op[FGS__SIM_ADDR], addr32, i->imm,
                                        l);

        if (a == *base && v[l] == *stride)
            continue;
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, l,
                            "all lanes must give one address and stride of a "
                            "matrix, not 0x%llx, %u and 0x%llx, %u",
                            (unsigned long long)*base, *stride,
                            (unsigned long long)a, v[l]);
        return false;
    }
    return true;
}

static const struct fgs__sim_insn *run_part(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    struct part p = part_of(i);
    unsigned step = p.bits == 64 ? 8 : 4, regs = i->aux[AUX_FACTS] & REGS_MASK;
    struct fgs__sim_insn at = *i;
    uint64_t base, latency = 0;
    uint32_t stride;

    if (!fgs__sim_matrix_all(w, i) || !same_in_all(w, i, &base, &stride))
        return NULL;
    at.op[FGS__SIM_ADDR] = i->aux[AUX_SCRATCH];
    at.imm = 0;
    at.aux[FGS__SIM_AUX_SPACE] &= FGS__SIM_SPACE_MASK;
    at.aux[FGS__SIM_AUX_BYTES] = together(i, &p) ? 4 : p.bits / 8;
    for (unsigned r = 0; r < regs; r++)
        for (unsigned e = 0; e < (together(i, &p) ? 1 : p.per); e++) {
            char *reg = fgs__sim_at(w, i->op[r]);

            place_all(w, &at, &p, r, e, base, stride);
            if (!move_bytes(w, &at, reg + e * p.bits / 8, step,
                            at.aux[FGS__SIM_AUX_BYTES], &latency))
                return NULL;
        }
    if (!(i->aux[AUX_FACTS] & STORE))
        fgs__sim_warp_delay(w, latency);
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

static const uint8_t groups[] = {FGS__G_ALIGNED, FGS__G_SHAPE, FGS__G_ORDER_A};

static enum fgs__matrix which_of(const struct fgs__ptx_insn *src)
{
    return src->op == FGS__OP_WMMA_LOAD_A   ? FGS__MATRIX_A
           : src->op == FGS__OP_WMMA_LOAD_B ? FGS__MATRIX_B
                                            : FGS__MATRIX_C;
}

/* The stride, or that of a matrix without gaps. */
static fgs__sim_ref stride_of(struct fgs__sim_decoder *d,
                              const struct fgs__ptx_insn *src,
                              const struct fgs__product *p)
{
    bool by_column = src->mod[FGS__G_ORDER_A] == FGS__M_A_COL;
    unsigned rows = p->m, cols = p->n;

    if (src->operands == 3)
        return fgs__sim_ref_of(d, &src->operand[2], FGS__T_U32);
    if (which_of(src) == FGS__MATRIX_A)
        cols = p->k;
    else if (which_of(src) == FGS__MATRIX_B)
        rows = p->k;
    return fgs__sim_ref_const(d, by_column ? rows : cols, 32);
}

bool fgs__sim_sel_wmma(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    bool store = src->op == FGS__OP_WMMA_STORE;
    const struct fgs__product *p = fgs__product_part(src, which_of(src));
    const struct fgs__ptx_operand *v = &src->operand[!!store];
    enum fgs__ptx_type t = src->type[0] == FGS__T_F64 ? FGS__T_F64 : FGS__T_B32;
    unsigned bits = fgs__ptx_types[src->type[0]].bits;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    for (uint32_t k = 0; k < v->children; k++) {
        out->op[k] = store ? fgs__sim_ref_of(d, &v->child[k], t)
                           : fgs__sim_ref_dst(d, &v->child[k], t);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    if (!fgs__sim_access_decode(d, src, &src->operand[!store], 4, out))
        return false;
    out->op[OP_STRIDE] = stride_of(d, src, p);
    out->aux[AUX_FACTS] = v->children | bits << BITS_SHIFT |
        (src->mod[FGS__G_ORDER_A] == FGS__M_A_COL ? BY_COLUMN : 0) |
        (store ? STORE : 0) | (uint32_t)which_of(src) << WHICH_SHIFT |
        p->m / 8u << M_SHIFT | p->n / 8u << N_SHIFT |
        (uint32_t)__builtin_ctz(p->k) << K_SHIFT;
    out->aux[AUX_SCRATCH] = fgs__sim_matrix_scratch(d);
    out->blocks = true;
    out->run = run_part;
    return out->op[OP_STRIDE] != FGS__SIM_NOREF;
}
