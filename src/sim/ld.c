/* ld.c -- loads of all spaces, widths and vectors
 *
 * A component is first gathered into an array over the lanes, as wide as in
 * memory, then extended into the register, which may be wider (ISA, operand
 * size exceeding instruction-type size).  A full mask and equal widths gather
 * into the register itself.
 */
#include "sim/access.h"
#include "sim/chunk.h"
#include "sim/latency.h"
#include "sim/line.h"
#include "sim/near.h"

/* op[0..] destinations, FGS__SIM_NOREF for `_`. */
enum { AUX_FACTS = 0, AUX_WIDTHS = 1 };
enum {
    COUNT_MASK = 0xf, /* components                                       */
    SIZE_SHIFT = 4,   /* log2 of a component's bytes in memory            */
    SIGNED = 1 << 8,
    STRONG = 1 << 9,
    ACQUIRE = 1 << 10
};

/* Strong accesses are made one by one, each of them once; weak ones may be
 * moved in blocks. */
#define GATHER(bits)                                                           \
    static FGS__DEVICE_MEMORY void gather_##bits(                              \
        const struct fgs__sim_access *acc, uint32_t exec, size_t at,           \
        size_t step, bool strong, void *out)                                   \
    {                                                                          \
        typedef fgs__dev##bits word;                                           \
        const char *base = fgs__sim_access_first(acc, at);                     \
        word *lane = out;                                                      \
                                                                               \
        if (acc->shape == FGS__SIM_SAME) {                                     \
            word v = *(const volatile word *)base;                             \
            for (int l = 0; l < 32; l++)                                       \
                lane[l] = v;                                                   \
        } else if (acc->shape == FGS__SIM_RUN && strong) {                     \
            for (size_t l = 0; l < 32; l++)                                    \
                lane[l] = *(const volatile word *)(base + l * step);           \
        } else if (acc->shape == FGS__SIM_RUN && step == sizeof(word)) {       \
            memcpy(lane, base, 32 * sizeof(word));                             \
        } else if (acc->shape == FGS__SIM_RUN) {                               \
            for (size_t l = 0; l < 32; l++)                                    \
                lane[l] = *(const word *)(base + l * step);                    \
        } else {                                                               \
            for (uint32_t m = exec; m; m &= m - 1) {                           \
                int l = fgs__sim_lane(m);                                      \
                lane[l] = *(const volatile word *)(acc->lane[l] + at);         \
            }                                                                  \
        }                                                                      \
    }
GATHER(8)
GATHER(16)
GATHER(32)
GATHER(64)

/* Chunks are always moved whole. */
static FGS__DEVICE_MEMORY void gather_128(const struct fgs__sim_access *acc,
                                          uint32_t exec, size_t at, size_t step,
                                          bool strong, void *out)
{
    fgs__chunk *lane = out;

    (void)strong;
    for (uint32_t m = exec; m; m &= m - 1) {
        int l = fgs__sim_lane(m);
        const char *from = acc->shape == FGS__SIM_RUN
                               ? acc->lane[0] + (size_t)l * step
                           : acc->shape == FGS__SIM_SAME ? acc->lane[0]
                                                         : acc->lane[l];
        lane[l] = fgs__chunk_load(from + at);
    }
}

static void gather(const struct fgs__sim_access *acc, uint32_t exec, size_t at,
                   size_t step, bool strong, unsigned size, void *out)
{
    switch (size) {
    case 0:
        gather_8(acc, exec, at, step, strong, out);
        break;
    case 1:
        gather_16(acc, exec, at, step, strong, out);
        break;
    case 2:
        gather_32(acc, exec, at, step, strong, out);
        break;
    case 3:
        gather_64(acc, exec, at, step, strong, out);
        break;
    default:
        gather_128(acc, exec, at, step, strong, out);
    }
}

/* -------------------------------------------------------------- registers - */

#define EXTEND(from, to)                                                       \
    for (int l = 0; l < 32 && exec == UINT32_MAX; l++)                         \
        ((to *)reg)[l] = (to)((const from *)raw)[l];                           \
    for (int l = 0; l < 32 && exec != UINT32_MAX; l++)                         \
        if (exec >> l & 1)                                                     \
            ((to *)reg)[l] = (to)((const from *)raw)[l];                       \
    return

/* The extension is by the sign of the instruction's type. */
static void extend(void *reg, unsigned reg_size, const void *raw, unsigned size,
                   bool sign, uint32_t exec)
{
    switch (size << 4 | reg_size << 1 | sign) {
    case 0x00:
    case 0x01:
        EXTEND(fgs__dev8, fgs__dev8);
    case 0x02:
        EXTEND(fgs__dev8, fgs__dev16);
    case 0x03:
        EXTEND(int8_t, fgs__dev16);
    case 0x04:
        EXTEND(fgs__dev8, fgs__dev32);
    case 0x05:
        EXTEND(int8_t, fgs__dev32);
    case 0x06:
        EXTEND(fgs__dev8, fgs__dev64);
    case 0x07:
        EXTEND(int8_t, fgs__dev64);
    case 0x12:
    case 0x13:
        EXTEND(fgs__dev16, fgs__dev16);
    case 0x14:
        EXTEND(fgs__dev16, fgs__dev32);
    case 0x15:
        EXTEND(int16_t, fgs__dev32);
    case 0x16:
        EXTEND(fgs__dev16, fgs__dev64);
    case 0x17:
        EXTEND(int16_t, fgs__dev64);
    case 0x24:
    case 0x25:
        EXTEND(fgs__dev32, fgs__dev32);
    case 0x26:
        EXTEND(fgs__dev32, fgs__dev64);
    case 0x27:
        EXTEND(int32_t, fgs__dev64);
    case 0x36:
    case 0x37:
        EXTEND(fgs__dev64, fgs__dev64);
    default:
        for (int l = 0; l < 32; l++)
            if (exec >> l & 1)
                ((fgs__chunk *)reg)[l] = ((const fgs__chunk *)raw)[l];
    }
}

const struct fgs__sim_insn *fgs__sim_ld_any(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], widths = i->aux[AUX_WIDTHS];
    unsigned size = facts >> SIZE_SHIFT & 7;
    size_t step = i->aux[FGS__SIM_AUX_BYTES];
    struct fgs__sim_access acc;
    fgs__chunk raw[32];

    if (!fgs__sim_access_find(w, i, false, &acc))
        return NULL;
    for (unsigned n = 0; n < (facts & COUNT_MASK); n++, widths >>= 4) {
        unsigned reg_size = widths & 7;
        bool whole = w->exec == UINT32_MAX && reg_size == size;
        void *reg;

        if (i->op[n] == FGS__SIM_NOREF)
            continue;
        reg = fgs__sim_at(w, i->op[n]);
        gather(&acc, w->exec, (size_t)n << size, step, facts & STRONG, size,
               whole ? reg : (void *)raw);
        if (!whole)
            extend(reg, reg_size, raw, size, facts & SIGNED, w->exec);
    }
    /* Nothing behind an acquire is done before it (ISA 8.8). */
    if (facts & ACQUIRE)
        atomic_thread_fence(memory_order_acquire);
    fgs__sim_warp_delay(w, acc.latency_ps);
    return i + 1;
}

/* A warp in its block's shared memory.  Of one that runs in part all lanes are
 * read, which is no access of theirs. */
static const struct fgs__sim_insn *run_near(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i)
{
    uint32_t facts = i->aux[AUX_FACTS], off[32];
    unsigned count = facts & COUNT_MASK, size = facts >> SIZE_SHIFT & 7;
    const struct fgs__sim_shapes *s = w->sm->shapes;
    bool whole = w->exec == UINT32_MAX;
    char *memory = (char *)w->block->shared;
    struct fgs__sim_access acc;
    FGS__ALIGN(64) fgs__chunk raw[4][32];
    void *reg[4];
    int shape = fgs__sim_near_find(w, i, off);

    if (shape < 0)
        return fgs__sim_ld_any(w, i);
    for (unsigned n = 0; n < count; n++)
        reg[n] = whole ? fgs__sim_at(w, i->op[n]) : raw[n];
    if (shape == FGS__SIM_SAME) {
        acc.shape = FGS__SIM_SAME;
        acc.lane[0] = memory + off[0];
        for (unsigned n = 0; n < count; n++)
            gather(&acc, UINT32_MAX, (size_t)n << size, 0, false, size, reg[n]);
    } else if (shape == FGS__SIM_RUN && !(facts & STRONG)) {
        s->line_load[__builtin_ctz(count)][size](reg, memory + off[0]);
    } else {
        s->near_load[__builtin_ctz(count)][size](reg, memory, off);
    }
    for (unsigned n = 0; !whole && n < count; n++)
        extend(fgs__sim_at(w, i->op[n]), size, raw[n], size, false, w->exec);
    if (facts & ACQUIRE)
        atomic_thread_fence(memory_order_acquire);
    fgs__sim_warp_delay(w, FGS__SIM_SHARED_PS);
    return i + 1;
}

/* A parameter of the kernel, the same for all lanes: imm is its place.  No
 * register or constant is read, as each would be a line of the host's cache
 * that the next warp does not have. */
static const struct fgs__sim_insn *run_param(struct fgs__sim_warp *w,
                                             const struct fgs__sim_insn *i)
{
    const unsigned char *from = w->block->grid->params + i->imm;
    uint64_t size = i->aux[FGS__SIM_AUX_BYTES], v = 0;
    char *reg = fgs__sim_at(w, i->op[0]);

    memcpy(&v, from, size == 4 ? 4 : 8);
    if (FGS__LIKELY(w->exec == UINT32_MAX))
        w->sm->shapes->splat(reg, v, (uint32_t)size);
    else
        for (uint32_t m = w->exec; m; m &= m - 1)
            memcpy(reg + (size_t)fgs__sim_lane(m) * size, &v,
                   size == 4 ? 4 : 8);
    fgs__sim_warp_delay(w, FGS__SIM_PARAM_PS);
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
    case FGS__M_ACQUIRE:
        *facts |= STRONG | ACQUIRE;
        return true;
    case FGS__M_RELAXED:
    case FGS__M_VOLATILE:
        *facts |= STRONG;
        return true;
    case FGS__M_NONE:
    case FGS__M_WEAK:
        return true;
    default:
        fgs__sim_decode_error(d, src, "a load has no such memory order");
        return false;
    }
}

/* A destination register as it is, at least as wide as the type. */
static bool decode_dst(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       const struct fgs__ptx_operand *o, unsigned n,
                       unsigned size, struct fgs__sim_insn *out)
{
    unsigned bits;

    if (o->kind == FGS__O_SINK) {
        out->op[n] = FGS__SIM_NOREF;
        return true;
    }
    out->op[n] = fgs__sim_ref_reg(d, o, &bits);
    if (out->op[n] == FGS__SIM_NOREF)
        return false;
    if (bits < 8 || log2_bytes(bits) < size) {
        fgs__sim_decode_error(d, src,
                              "the register is narrower than the "
                              "%u bytes loaded",
                              1u << size);
        return false;
    }
    out->aux[AUX_WIDTHS] |= log2_bytes(bits) << 4 * n;
    return true;
}

/* Registers of that size, none left out. */
static bool full_width(const struct fgs__sim_insn *out, unsigned count,
                       unsigned size)
{
    uint32_t widths = out->aux[AUX_WIDTHS];

    for (unsigned n = 0; n < count; n++, widths >>= 4)
        if ((widths & 7) != size || out->op[n] == FGS__SIM_NOREF)
            return false;
    return true;
}

/* [parameter + constant] of a kernel, inside it and aligned: decoded for
 * run_param. */
static bool take_param(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_operand *o, unsigned count,
                       unsigned size, struct fgs__sim_insn *out)
{
    const struct fgs__ptx_sym *s = o->sym;
    uint64_t bytes = 1ull << size, at;

    if (count != 1 || (size != 2 && size != 3) || !full_width(out, 1, size) ||
        out->aux[AUX_FACTS] & (STRONG | ACQUIRE) || o->kind != FGS__O_ADDR)
        return false;
    if (!s || s->kind != FGS__SYM_VAR || s->space != FGS__M_PARAM || s->frame ||
        !fgs__sim_decode_func(d)->entry)
        return false;
    if (o->offset < 0 || (uint64_t)o->offset > s->bytes ||
        s->bytes - (uint64_t)o->offset < bytes)
        return false;
    at = s->offset + (uint64_t)o->offset;
    if (at & (bytes - 1))
        return false;
    out->imm = (int64_t)at;
    out->aux[FGS__SIM_AUX_BYTES] = (uint32_t)bytes;
    out->run = run_param;
    return true;
}

static void choose_fast(struct fgs__sim_insn *out, unsigned count,
                        unsigned size)
{
    uint32_t facts = out->aux[AUX_FACTS];
    struct fgs__sim_line_form form = {
        false, facts & SIGNED, (uint8_t)count, (uint8_t)size,
        (uint8_t)(out->aux[AUX_WIDTHS] & 7)};
    fgs__sim_fn run;

    if (!full_width(out, count, form.reg))
        return;
    if (form.reg == size && fgs__sim_near_moves(count, size) &&
        fgs__sim_near_takes(out)) {
        out->run = run_near;
        return;
    }
    /* A chunk is moved whole in any case. */
    if (facts & ACQUIRE || (facts & STRONG && size < 4))
        return;
    if ((out->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_SPACE_MASK) == FGS__SIM_PARAM)
        return;
    run = fgs__sim_line_run(&form);
    if (run && fgs__sim_line_takes(out))
        out->run = run;
}

/* Those of caches and evictions have no effect on what is loaded. */
static const uint8_t groups[] = {
    FGS__G_SPACE, FGS__G_SEM,    FGS__G_SCOPE,   FGS__G_VEC,
    FGS__G_CACHE, FGS__G_EVICT1, FGS__G_EVICT2,  FGS__G_CACHE_HINT,
    FGS__G_MMIO,  FGS__G_NC,     FGS__G_PREFETCH, FGS__G_READONLY};

bool fgs__sim_sel_ld(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src, struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *dst = &src->operand[0];
    const struct fgs__ptx_type_info *type = &fgs__ptx_types[src->type[0]];
    unsigned count = dst->kind == FGS__O_VEC ? dst->children : 1;
    unsigned size = log2_bytes(type->bits);
    uint32_t facts = count | size << SIZE_SHIFT;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (count > 8 || (count & (count - 1)) || type->bits < 8) {
        fgs__sim_decode_error(d, src, "this shape is not executed");
        return false;
    }
    if (type->kind == FGS__K_SINT)
        facts |= SIGNED;
    if (!decode_semantics(d, src, &facts))
        return false;
    out->aux[AUX_WIDTHS] = 0;
    for (unsigned n = 0; n < count; n++)
        if (!decode_dst(d, src, dst->kind == FGS__O_VEC ? &dst->child[n] : dst,
                        n, size, out))
            return false;
    out->aux[AUX_FACTS] = facts;
    out->run = fgs__sim_ld_any;
    if (take_param(d, &src->operand[1], count, size, out))
        return true;
    if (!fgs__sim_access_decode(d, src, &src->operand[1], count << size, out))
        return false;
    choose_fast(out, count, size);
    return true;
}
