/* st.c -- stores of all spaces, widths and vectors
 *
 * A source register may be wider than the type: its low bits are stored.
 */
#include "sim/access.h"
#include "sim/chunk.h"
#include "sim/line.h"
#include "sim/near.h"

/* op[0..] sources. */
enum { AUX_FACTS = 0, AUX_WIDTHS = 1 };
enum { COUNT_MASK = 0xf, SIZE_SHIFT = 4, STRONG = 1 << 9, RELEASE = 1 << 10 };

/* Lanes that store to one place do it in the order of their numbers. */
#define SCATTER(bits)                                                          \
    static FGS__DEVICE_MEMORY void scatter_##bits(                             \
        const struct fgs__sim_access *acc, uint32_t exec, size_t at,           \
        size_t step, bool strong, const void *from)                            \
    {                                                                          \
        typedef fgs__dev##bits word;                                           \
        char *base = fgs__sim_access_first(acc, at);                           \
        const word *lane = from;                                               \
                                                                               \
        if (acc->shape == FGS__SIM_RUN && strong) {                            \
            for (size_t l = 0; l < 32; l++)                                    \
                *(volatile word *)(base + l * step) = lane[l];                 \
        } else if (acc->shape == FGS__SIM_RUN && step == sizeof(word)) {       \
            memcpy(base, lane, 32 * sizeof(word));                             \
        } else if (acc->shape == FGS__SIM_RUN) {                               \
            for (size_t l = 0; l < 32; l++)                                    \
                *(word *)(base + l * step) = lane[l];                          \
        } else {                                                               \
            for (uint32_t m = exec; m; m &= m - 1) {                           \
                int l = fgs__sim_lane(m);                                      \
                char *to =                                                     \
                    acc->shape == FGS__SIM_SAME ? acc->lane[0] : acc->lane[l]; \
                *(volatile word *)(to + at) = lane[l];                         \
            }                                                                  \
        }                                                                      \
    }
SCATTER(8)
SCATTER(16)
SCATTER(32)
SCATTER(64)

static FGS__DEVICE_MEMORY void scatter_128(const struct fgs__sim_access *acc,
                                           uint32_t exec, size_t at,
                                           size_t step, bool strong,
                                           const void *from)
{
    const fgs__chunk *lane = from;

    (void)strong;
    for (uint32_t m = exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        char *to = acc->shape == FGS__SIM_RUN ? acc->lane[0] + (size_t)l * step
                   : acc->shape == FGS__SIM_SAME ? acc->lane[0]
                                                 : acc->lane[l];
        fgs__chunk_store(to + at, lane[l]);
    }
}

static void scatter(const struct fgs__sim_access *acc, uint32_t exec, size_t at,
                    size_t step, bool strong, unsigned size, const void *from)
{
    switch (size) {
    case 0:
        scatter_8(acc, exec, at, step, strong, from);
        break;
    case 1:
        scatter_16(acc, exec, at, step, strong, from);
        break;
    case 2:
        scatter_32(acc, exec, at, step, strong, from);
        break;
    case 3:
        scatter_64(acc, exec, at, step, strong, from);
        break;
    default:
        scatter_128(acc, exec, at, step, strong, from);
    }
}

#define NARROW(from, to)                                                       \
    for (int l = 0; l < 32; l++)                                               \
        ((to *)out)[l] = (to)((const from *)reg)[l];                           \
    return

/* Low bits of a wider register. */
static void narrow(void *out, unsigned size, const void *reg, unsigned reg_size)
{
    switch (size << 4 | reg_size) {
    case 0x01:
        NARROW(fgs__dev16, fgs__dev8);
    case 0x02:
        NARROW(fgs__dev32, fgs__dev8);
    case 0x03:
        NARROW(fgs__dev64, fgs__dev8);
    case 0x12:
        NARROW(fgs__dev32, fgs__dev16);
    case 0x13:
        NARROW(fgs__dev64, fgs__dev16);
    default: /* 0x23 */
        NARROW(fgs__dev64, fgs__dev32);
    }
}

const struct fgs__sim_insn *fgs__sim_st_any(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], widths = i->aux[AUX_WIDTHS];
    unsigned size = facts >> SIZE_SHIFT & 7;
    size_t step = i->aux[FGS__SIM_AUX_BYTES];
    struct fgs__sim_access acc;
    fgs__chunk raw[32];

    if (!fgs__sim_access_find(w, i, true, &acc))
        return NULL;
    /* Nothing before a release is done behind it (ISA 8.8). */
    if (facts & RELEASE)
        atomic_thread_fence(memory_order_release);
    for (unsigned n = 0; n < (facts & COUNT_MASK); n++, widths >>= 4) {
        unsigned reg_size = widths & 7;
        const void *from;

        if (i->op[n] == FGS__SIM_NOREF) /* _ */
            continue;
        from = fgs__sim_at(w, i->op[n]);
        if (reg_size != size) {
            narrow(raw, size, from, reg_size);
            from = raw;
        }
        scatter(&acc, w->exec, (size_t)n << size, step, facts & STRONG, size,
                from);
    }
    return i + 1;
}

/* Lanes in the order of their numbers. */
static void near_part(void *const reg[], unsigned count, unsigned size,
                      char *memory, const uint32_t *off, uint32_t exec)
{
    size_t bytes = (size_t)1 << size;

    for (uint32_t m = exec; m; m &= m - 1) {
        size_t l = (size_t)fgs__sim_lane(m);

        for (unsigned n = 0; n < count; n++) {
            char *to = memory + off[l] + n * bytes;
            const char *from = (const char *)reg[n] + l * bytes;

            if (size == 2)
                memcpy(to, from, 4);
            else
                memcpy(to, from, bytes);
        }
    }
}

/* A warp in its block's shared memory. */
static const struct fgs__sim_insn *run_near(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], off[32];
    unsigned count = facts & COUNT_MASK, size = facts >> SIZE_SHIFT & 7;
    const struct fgs__sim_shapes *s = w->sm->shapes;
    char *memory = (char *)w->block->shared;
    void *reg[4];
    int shape = fgs__sim_near_find(w, i, off);

    if (shape < 0)
        return fgs__sim_st_any(w, i);
    if (facts & RELEASE)
        atomic_thread_fence(memory_order_release);
    for (unsigned n = 0; n < count; n++)
        reg[n] = fgs__sim_at(w, i->op[n]);
    for (int l = 1; l < 32 && shape == FGS__SIM_SAME; l++)
        off[l] = off[0];
    if (w->exec != UINT32_MAX)
        near_part(reg, count, size, memory, off, w->exec);
    else if (shape == FGS__SIM_RUN && !(facts & STRONG))
        s->line_store[__builtin_ctz(count)][size](reg, memory + off[0]);
    else
        s->near_store[__builtin_ctz(count)][size](reg, memory, off);
    return i + 1;
}

/* -------------------------------------------------------------- selector -- */

static unsigned log2_bytes(unsigned bits)
{
    return (unsigned)__builtin_ctz(bits) - 3;
}

static bool decode_semantics(struct fgs__sim_decoder *d,
                             const struct fgs__ptx_insn *src, uint32_t *facts)
{
    if (src->mod[FGS__G_MMIO])
        *facts |= STRONG;
    switch (src->mod[FGS__G_SEM]) {
    case FGS__M_RELEASE:
        *facts |= STRONG | RELEASE;
        return true;
    case FGS__M_RELAXED:
    case FGS__M_VOLATILE:
        *facts |= STRONG;
        return true;
    case FGS__M_NONE:
    case FGS__M_WEAK:
        return true;
    default:
        fgs__sim_decode_error(d, src, "a store has no such memory order");
        return false;
    }
}

/* A source: a register as it is, at least as wide as the type, a constant of
 * the type, or _, whose bytes stay as they are. */
static bool decode_src(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       const struct fgs__ptx_operand *o, unsigned n,
                       unsigned size, struct fgs__sim_insn *out)
{
    unsigned bits = 8u << size;

    if (o->kind == FGS__O_SINK) {
        out->op[n] = FGS__SIM_NOREF;
        return true;
    }
    if (o->kind == FGS__O_REG)
        out->op[n] = fgs__sim_ref_reg(d, o, &bits);
    else
        out->op[n] = fgs__sim_ref_of(d, o, src->type[0]);
    if (out->op[n] == FGS__SIM_NOREF)
        return false;
    if (bits < 8 || log2_bytes(bits) < size) {
        fgs__sim_decode_error(d, src,
                              "the register is narrower than the "
                              "%u bytes stored",
                              1u << size);
        return false;
    }
    out->aux[AUX_WIDTHS] |= log2_bytes(bits) << 4 * n;
    return true;
}

/* Registers of one width. */
static void choose_fast(struct fgs__sim_insn *out, unsigned count,
                        unsigned size)
{
    uint32_t facts = out->aux[AUX_FACTS], widths = out->aux[AUX_WIDTHS];
    struct fgs__sim_line_form form = {true, false, (uint8_t)count,
                                      (uint8_t)size, (uint8_t)(widths & 7)};
    fgs__sim_fn run;

    for (unsigned n = 0; n < count; n++, widths >>= 4)
        if ((widths & 7) != form.reg || out->op[n] == FGS__SIM_NOREF)
            return;
    if (form.reg == size && fgs__sim_near_moves(count, size) &&
        fgs__sim_near_takes(out)) {
        out->run = run_near;
        return;
    }
    /* A chunk is moved whole in any case. */
    if (facts & RELEASE || (facts & STRONG && size < 4))
        return;
    run = fgs__sim_line_run(&form);
    if (run && fgs__sim_line_takes(out))
        out->run = run;
}

/* Those of caches and evictions have no effect on what is stored. */
static const uint8_t groups[] = {
    FGS__G_SPACE,  FGS__G_SEM,    FGS__G_SCOPE,      FGS__G_VEC,  FGS__G_CACHE,
    FGS__G_EVICT1, FGS__G_EVICT2, FGS__G_CACHE_HINT, FGS__G_MMIO,
};

bool fgs__sim_sel_st(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src, struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *from = &src->operand[1];
    const struct fgs__ptx_type_info *type = &fgs__ptx_types[src->type[0]];
    unsigned count = from->kind == FGS__O_VEC ? from->children : 1;
    unsigned size = log2_bytes(type->bits);
    uint32_t facts = count | size << SIZE_SHIFT;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (count > 8 || (count & (count - 1)) || type->bits < 8) {
        fgs__sim_decode_error(d, src, "this shape is not executed");
        return false;
    }
    if (!decode_semantics(d, src, &facts))
        return false;
    out->aux[AUX_WIDTHS] = 0;
    for (unsigned n = 0; n < count; n++)
        if (!decode_src(d, src,
                        from->kind == FGS__O_VEC ? &from->child[n] : from, n,
                        size, out))
            return false;
    out->aux[AUX_FACTS] = facts;
    out->run = fgs__sim_st_any;
    if (!fgs__sim_access_decode(d, src, &src->operand[0], count << size, out))
        return false;
    if ((out->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_SPACE_MASK) ==
            FGS__SIM_PARAM ||
        src->space[0] == FGS__M_CONST) {
        fgs__sim_decode_error(d, src, "this state space is read-only");
        return false;
    }
    choose_fast(out, count, size);
    return true;
}
