/* lanes.h -- handlers over 32 lanes, for the exec_*.c files
 *
 * A handler is one loop over the lanes that the compiler turns into vector
 * code.  With a full mask it writes the destination; else it writes a
 * temporary, of which the active lanes are taken over.
 */
#ifndef FGS_SIM_LANES_H
#define FGS_SIM_LANES_H

#include "sim/blend.h"
#include "sim/exec.h"

#ifndef FGS__ISA
#define FGS__ISA _base
#endif

/* Files of hot handlers are compiled for near operands, too: FGS__NEAR says
 * that all lie in the warp's bank, or that the second source, operand 2, is a
 * constant and all else lies there.  isa.c picks. */
#ifndef FGS__NEAR
#define FGS__NEAR FGS__SIM_FAR
#define FGS__ISA_FAR FGS__ISA
#endif
/* What such a file has from one that is not. */
#define FGS__FAR(name) FGS__CAT(name, FGS__ISA_FAR)

#define LANE_PTR(w, r) FGS__ALIGNED(fgs__sim_at(w, r), 64)
/* Results lie in the bank always. */
#define LANE_DST(w, r) FGS__ALIGNED(fgs__sim_bank(w) + (r), 64)
#define LANE_SRC(w, i, n)                                                      \
    FGS__ALIGNED(fgs__sim_source(w, i, n, FGS__NEAR), 64)
#define FULL_MASK(w)   FGS__LIKELY((w)->exec == UINT32_MAX)

/* d[k] = t[k] in the lanes of m. */
static FGS__INLINE FGS__UNUSED void blend(void *d, const void *t, uint32_t m,
                                          size_t size)
{
    switch (size) {
    case 1:
        blend_8(d, t, m);
        break;
    case 2:
        blend_16(d, t, m);
        break;
    case 4:
        blend_32(d, t, m);
        break;
    default:
        blend_64(d, t, m);
        break;
    }
}

/* The active lanes of a predicate. */
static FGS__INLINE FGS__UNUSED void put_mask(const struct fgs__sim_warp *w,
                                             fgs__sim_ref r, uint32_t v)
{
    l_u32 *p = (void *)(fgs__sim_bank(w) + r);

    *p = (*p & ~w->exec) | (v & w->exec);
}

typedef const struct fgs__sim_insn *lane_next;
#define HANDLER(name)                                                          \
    static lane_next name(struct fgs__sim_warp *w,                             \
                          const struct fgs__sim_insn *i)

/* Handler `name`: d = EXPR of x (, y (, z)), operands 0, 1 (, 2 (, 3)).  EXPR
 * may use `i`. */
#define MAP1(name, TD, TA, EXPR)                                               \
    static FGS__INLINE void name##_all(TD *d, const TA *a,                     \
                                       const struct fgs__sim_insn *i)          \
    {                                                                          \
        int k;                                                                 \
        (void)i;                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            const TA x = a[k];                                                 \
            d[k] = (TD)(EXPR);                                                 \
        }                                                                      \
    }                                                                          \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) TD t[LANES];                                            \
        const TA *a = LANE_SRC(w, i, 1);                                       \
        if (FULL_MASK(w)) {                                                    \
            name##_all(LANE_DST(w, i->op[0]), a, i);                           \
            return i + 1;                                                      \
        }                                                                      \
        name##_all(t, a, i);                                                   \
        blend(LANE_DST(w, i->op[0]), t, w->exec, sizeof(TD));                  \
        return i + 1;                                                          \
    }

#define EACH2(name, TD, TA, TB, EXPR)                                          \
    static FGS__INLINE void name##_all(TD *d, const TA *a, const TB *b,        \
                                       const struct fgs__sim_insn *i)          \
    {                                                                          \
        int k;                                                                 \
        (void)i;                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            const TA x = a[k];                                                 \
            const TB y = b[k];                                                 \
            d[k] = (TD)(EXPR);                                                 \
        }                                                                      \
    }
#define RUN2(name, TD, TA, TB)                                                 \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) TD t[LANES];                                            \
        const TA *a = LANE_SRC(w, i, 1);                                       \
        const TB *b = LANE_SRC(w, i, 2);                                       \
        if (FULL_MASK(w)) {                                                    \
            name##_all(LANE_DST(w, i->op[0]), a, b, i);                        \
            return i + 1;                                                      \
        }                                                                      \
        name##_all(t, a, b, i);                                                \
        blend(LANE_DST(w, i->op[0]), t, w->exec, sizeof(TD));                  \
        return i + 1;                                                          \
    }
#define MAP2(name, TD, TA, TB, EXPR)                                           \
    EACH2(name, TD, TA, TB, EXPR)                                              \
    RUN2(name, TD, TA, TB)

#define EACH3(name, TD, TA, TB, TC, EXPR)                                      \
    static FGS__INLINE void name##_all(TD *d, const TA *a, const TB *b,        \
                                       const TC *c,                            \
                                       const struct fgs__sim_insn *i)          \
    {                                                                          \
        int k;                                                                 \
        (void)i;                                                               \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            const TA x = a[k];                                                 \
            const TB y = b[k];                                                 \
            const TC z = c[k];                                                 \
            d[k] = (TD)(EXPR);                                                 \
        }                                                                      \
    }
#define RUN3(name, TD, TA, TB, TC)                                             \
    HANDLER(name)                                                              \
    {                                                                          \
        FGS__ALIGN(64) TD t[LANES];                                            \
        const TA *a = LANE_SRC(w, i, 1);                                       \
        const TB *b = LANE_SRC(w, i, 2);                                       \
        const TC *c = LANE_SRC(w, i, 3);                                       \
        if (FULL_MASK(w)) {                                                    \
            name##_all(LANE_DST(w, i->op[0]), a, b, c, i);                     \
            return i + 1;                                                      \
        }                                                                      \
        name##_all(t, a, b, c, i);                                             \
        blend(LANE_DST(w, i->op[0]), t, w->exec, sizeof(TD));                  \
        return i + 1;                                                          \
    }
#define MAP3(name, TD, TA, TB, TC, EXPR)                                       \
    EACH3(name, TD, TA, TB, TC, EXPR)                                          \
    RUN3(name, TD, TA, TB, TC)

/* Parts of the arith family, by types. */
bool FGS__LEVEL(fgs__sim_sel_int)(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_insn *src,
                                  struct fgs__sim_insn *out);
bool FGS__LEVEL(fgs__sim_sel_float)(struct fgs__sim_decoder *d,
                                    const struct fgs__ptx_insn *src,
                                    struct fgs__sim_insn *out);

bool FGS__FAR(fgs__sim_sel_half)(struct fgs__sim_decoder *d,
                                 const struct fgs__ptx_insn *src,
                                 struct fgs__sim_insn *out);
/* Part of the cvt family. */
bool FGS__LEVEL(fgs__sim_sel_narrow)(struct fgs__sim_decoder *d,
                                     const struct fgs__ptx_insn *src,
                                     struct fgs__sim_insn *out);
bool FGS__FAR(fgs__sim_sel_pack)(struct fgs__sim_decoder *d,
                                 const struct fgs__ptx_insn *src,
                                 struct fgs__sim_insn *out);
bool FGS__FAR(fgs__sim_sel_carry)(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_insn *src,
                                  struct fgs__sim_insn *out);

/* The selectors of the leveled families. */
#define LEVEL_DECLARE(exec)                                                    \
    bool FGS__LEVEL(fgs__sim_sel_##exec)(struct fgs__sim_decoder *d,           \
                                         const struct fgs__ptx_insn *src,      \
                                         struct fgs__sim_insn *out);
FGS__SIM_LEVELED(LEVEL_DECLARE)

/* Handler for (opcode, type, variant): a selector's table.  The variant's
 * meaning is the selector's own. */
struct lane_row {
    uint16_t op;
    uint8_t type;
    uint16_t variant;
    fgs__sim_fn run;
};

static FGS__INLINE FGS__UNUSED fgs__sim_fn
find_row(const struct lane_row *rows, size_t n, unsigned op, unsigned type,
         unsigned variant)
{
    size_t k;

    for (k = 0; k < n; k++)
        if (rows[k].op == op && rows[k].type == type &&
            rows[k].variant == variant)
            return rows[k].run;
    return NULL;
}

/* dst, src ... as one type; false after an error. */
static FGS__INLINE FGS__UNUSED bool
take_operands(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
              struct fgs__sim_insn *out, unsigned count,
              enum fgs__ptx_type type)
{
    unsigned k;

    if (src->operands != count) {
        fgs__sim_decode_error(d, src, "%u operands are executed, not %u",
                              count, src->operands);
        return false;
    }
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], type);
    if (out->op[0] == FGS__SIM_NOREF)
        return false;
    for (k = 1; k < count; k++) {
        out->op[k] = fgs__sim_ref_of(d, &src->operand[k], type);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

#endif
