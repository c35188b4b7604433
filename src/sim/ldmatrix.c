/* ldmatrix.c -- ldmatrix, stmatrix, movmatrix
 *
 * A lane gives the address of a row of 16 bytes: lane l that of row l of the
 * first matrix, and so on.  In registers a lane holds 4 bytes of a row of 16:
 * lane 4g+t the bytes 4t... of row g (ISA 9.7.14.5.15).  With .trans rows and
 * columns of elements change places.  Rows of .s4 have 8 bytes.
 */
#include "sim/access.h"
#include "sim/matrix.h"

enum { ROW_BYTES = 16, OP_A = 4 }; /* op[0..3]: registers */
enum { AUX_FACTS = 0, AUX_ROWS = 1 };
enum {
    REGS_MASK = 7,
    TRANS = 8,
    BYTES = 16,     /* elements of 8 bits, else 16            */
    PACK_SHIFT = 5, /* bits of a packed element, 0 = unpacked */
    PACK_MASK = 7,
    NIBBLES = 256   /* ... in rows of 8 bytes, with a sign    */
};

typedef uint8_t FGS__MAY_ALIAS byte;
typedef uint32_t FGS__MAY_ALIAS word;

/* --------------------------------------------------------------- memory -- */

/* Each row once; a lane beyond them gives no address. */
static bool find_rows(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      bool write, struct fgs__sim_access *acc)
{
    uint32_t rows = i->aux[AUX_ROWS];
    uint32_t all = w->exec;
    bool ok;

    if (rows < 32)
        w->exec = (1u << rows) - 1;
    ok = fgs__sim_access_find(w, i, write, acc);
    w->exec = all;
    if (ok && !acc->shared) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE, 0,
                            "the rows of a matrix must lie in shared memory");
        return false;
    }
    return ok;
}

static char *row_at(const struct fgs__sim_access *acc, uint32_t row,
                    uint32_t bytes)
{
    return acc->shape == FGS__SIM_SAME  ? acc->lane[0]
           : acc->shape == FGS__SIM_RUN ? acc->lane[0] + row * bytes
                                        : acc->lane[row];
}

static FGS__DEVICE_MEMORY void load_row(byte *to, const char *from,
                                        uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k++)
        to[k] = (byte)from[k];
}

static uint32_t row_bytes(uint32_t facts)
{
    return facts & NIBBLES ? ROW_BYTES / 2 : ROW_BYTES;
}

static FGS__DEVICE_MEMORY void store_row(char *to, const byte *from)
{
    for (int k = 0; k < ROW_BYTES; k++)
        to[k] = (char)from[k];
}

/* 16 elements of `bits`, low first, become bytes; padding is not read. */
static void unpack(byte *row, uint32_t facts)
{
    unsigned bits = facts >> PACK_SHIFT & PACK_MASK;
    unsigned sign = facts & NIBBLES ? 8 : 0;
    byte out[ROW_BYTES];

    for (unsigned k = 0; k < ROW_BYTES; k++) {
        unsigned at = k * bits;
        unsigned two = row[at / 8] | (at / 8 + 1 < ROW_BYTES
                                      ? (unsigned)row[at / 8 + 1] << 8 : 0);

        out[k] = (byte)(((two >> at % 8 & ((1u << bits) - 1)) ^ sign) - sign);
    }
    memcpy(row, out, sizeof out);
}

/* ------------------------------------------------------------- fragments -- */

/* Byte b of register r in lane l: which row of memory, which byte of it. */
static unsigned place(uint32_t facts, unsigned r, unsigned l, unsigned b)
{
    unsigned g = l / 4, t = l % 4, matrix, reg;

    if (!(facts & TRANS))
        return (r * 8 + g) * ROW_BYTES + t * 4 + b;
    if (!(facts & BYTES)) /* element 2t + b/2 of column g */
        return (r * 8 + 2 * t + b / 2) * ROW_BYTES + g * 2 + b % 2;
    /* 16 x 16 bytes: column g in the first register, g + 8 in the second. */
    matrix = r / 2;
    reg = r % 2;
    return (matrix * 16 + 4 * t + b) * ROW_BYTES + g + 8 * reg;
}

/* stmatrix of 16 x 8 bytes: a lane holds two neighbours of row g and two of
 * row g + 8, as in the accumulator of a product; memory has 8 rows of 16. */
static unsigned place_store(uint32_t facts, unsigned r, unsigned l, unsigned b)
{
    if (facts & BYTES)
        return (r * 8 + 2 * (l % 4) + b % 2) * ROW_BYTES + l / 4 + 8 * (b / 2);
    return place(facts, r, l, b);
}

static const struct fgs__sim_insn *run_load(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], regs = facts & REGS_MASK;
    uint32_t bytes = row_bytes(facts);
    struct fgs__sim_access acc;
    byte rows[32 * ROW_BYTES];

    if (!fgs__sim_matrix_all(w, i) || !find_rows(w, i, false, &acc))
        return NULL;
    for (uint32_t k = 0; k < i->aux[AUX_ROWS]; k++) {
        load_row(rows + k * ROW_BYTES, row_at(&acc, k, bytes), bytes);
        if (facts >> PACK_SHIFT)
            unpack(rows + k * ROW_BYTES, facts);
    }
    for (unsigned r = 0; r < regs; r++) {
        byte *d = fgs__sim_at(w, i->op[r]);

        if (!(facts & TRANS)) {
            memcpy(d, rows + r * 8 * ROW_BYTES, 8 * ROW_BYTES);
            continue;
        }
        for (unsigned k = 0; k < 128; k++)
            d[k] = rows[place(facts, r, k / 4, k % 4)];
    }
    fgs__sim_warp_delay(w, acc.latency_ps);
    return i + 1;
}

static const struct fgs__sim_insn *run_store(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], regs = facts & REGS_MASK;
    struct fgs__sim_access acc;
    byte rows[32 * ROW_BYTES];

    if (!fgs__sim_matrix_all(w, i) || !find_rows(w, i, true, &acc))
        return NULL;
    for (unsigned r = 0; r < regs; r++) {
        const byte *s = fgs__sim_at(w, i->op[r]);

        for (unsigned k = 0; k < 128; k++)
            rows[place_store(facts, r, k / 4, k % 4)] = s[k];
    }
    for (uint32_t k = 0; k < i->aux[AUX_ROWS]; k++)
        store_row(row_at(&acc, k, ROW_BYTES), rows + k * ROW_BYTES);
    return i + 1;
}

/* Lane 4g+t: elements 2t and 2t+1 of column g instead of row g. */
static const struct fgs__sim_insn *run_move(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    byte *d = fgs__sim_at(w, i->op[0]), from[128];

    if (!fgs__sim_matrix_all(w, i))
        return NULL;
    memcpy(from, fgs__sim_at(w, i->op[OP_A]), sizeof from);
    for (unsigned k = 0; k < 128; k++)
        d[k] = from[place(TRANS, 0, k / 4, k % 4)];
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

static uint32_t facts_of(const struct fgs__ptx_insn *src)
{
    uint32_t facts = 0;

    if (src->mod[FGS__G_TRANS])
        facts |= TRANS;
    if (src->mod[FGS__G_SHAPE] != FGS__M_M8N8)
        facts |= BYTES;
    if (src->mod[FGS__G_PACKED16])
        facts |= (src->mod[FGS__G_PACKED16] == FGS__M_B6X16 ? 6u : 4u)
                 << PACK_SHIFT;
    if (src->types > 1) /* .s8.s4 */
        facts |= NIBBLES | 4u << PACK_SHIFT;
    return facts;
}

static bool select_move(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], FGS__T_B32);
    out->op[OP_A] = fgs__sim_ref_of(d, &src->operand[1], FGS__T_B32);
    out->run = run_move;
    return out->op[0] != FGS__SIM_NOREF && out->op[OP_A] != FGS__SIM_NOREF;
}

static const uint8_t groups[] = {
    FGS__G_ALIGNED, FGS__G_SHAPE, FGS__G_MATRICES, FGS__G_TRANS,
    FGS__G_B8X16,   FGS__G_PACKED16};

bool fgs__sim_sel_ldmatrix(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src,
                           struct fgs__sim_insn *out)
{
    bool load = src->op == FGS__OP_LDMATRIX;
    const struct fgs__ptx_operand *v = &src->operand[!load];
    uint32_t n = v->children;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    out->blocks = true;
    if (src->op == FGS__OP_MOVMATRIX)
        return select_move(d, src, out);
    for (uint32_t k = 0; k < n; k++) {
        out->op[k] = load ? fgs__sim_ref_dst(d, &v->child[k], FGS__T_B32)
                          : fgs__sim_ref_of(d, &v->child[k], FGS__T_B32);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    out->run = load ? run_load : run_store;
    if (!fgs__sim_access_decode(d, src, &src->operand[!!load],
                                row_bytes(facts_of(src)), out))
        return false;
    /* aux[0..1] are free beside an address (access.h). */
    out->aux[AUX_FACTS] = facts_of(src) | n;
    out->aux[AUX_ROWS] = n * 8;
    return true;
}
