/* isa.c -- pick the handlers of the widest vectors that this CPU has */
#include "sim/exec.h"
#include "sim/isa.h"
#include "sim/line.h"
#include "sim/meet.h"

#define NAME2(exec, level) fgs__sim_sel_##exec##_##level
#define NAME(exec, level)  NAME2(exec, level)

#define DECLARE(exec)                                                          \
    bool NAME(exec, base)(struct fgs__sim_decoder *,                           \
                          const struct fgs__ptx_insn *,                        \
                          struct fgs__sim_insn *);                             \
    bool NAME(exec, avx2)(struct fgs__sim_decoder *,                           \
                          const struct fgs__ptx_insn *,                        \
                          struct fgs__sim_insn *);                             \
    bool NAME(exec, avx512)(struct fgs__sim_decoder *,                         \
                            const struct fgs__ptx_insn *,                      \
                            struct fgs__sim_insn *);
FGS__SIM_LEVELED(DECLARE)

/* make LEVELS=base leaves the others out. */
#if defined __x86_64__ && !defined FGS__ISA_PLAIN
#define WIDE
#endif

static atomic_int limit = FGS__ISA_AVX512, knob = FGS__ISA_AVX512;

void fgs__sim_isa_limit(enum fgs__sim_isa most)
{
    atomic_store(&limit, (int)most);
}

void fgs__sim_isa_knob(uint32_t vectors)
{
    atomic_store(&knob, vectors ? (int)vectors - 1 : FGS__ISA_AVX512);
}

enum fgs__sim_isa fgs__sim_isa_now(void)
{
#ifdef WIDE
    int most = atomic_load(&limit);

    if (most > atomic_load(&knob))
        most = atomic_load(&knob);
    if (most >= FGS__ISA_AVX512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return FGS__ISA_AVX512;
    if (most >= FGS__ISA_AVX2 && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return FGS__ISA_AVX2;
#endif
    return FGS__ISA_BASE;
}

#ifdef WIDE
#define PICK(exec)                                                             \
    bool fgs__sim_sel_##exec(struct fgs__sim_decoder *d,                       \
                             const struct fgs__ptx_insn *src,                  \
                             struct fgs__sim_insn *out)                        \
    {                                                                          \
        switch (fgs__sim_isa_now()) {                                          \
        case FGS__ISA_AVX512:                                                  \
            return NAME(exec, avx512)(d, src, out);                            \
        case FGS__ISA_AVX2:                                                    \
            return NAME(exec, avx2)(d, src, out);                              \
        default:                                                               \
            return NAME(exec, base)(d, src, out);                              \
        }                                                                      \
    }

typedef bool (*selector)(struct fgs__sim_decoder *,
                         const struct fgs__ptx_insn *,
                         struct fgs__sim_insn *);

static enum fgs__sim_near near_of(const struct fgs__sim_insn *i)
{
    enum fgs__sim_near near = FGS__SIM_NEAR_BANK;

    for (int k = 0; k < FGS__SIM_OPS; k++) {
        unsigned base = i->op[k] >> FGS__SIM_BASE_SHIFT;

        if (i->op[k] == FGS__SIM_NOREF || base == FGS__SIM_BANK)
            continue;
        if (k != 2 || base != FGS__SIM_KONST)
            return FGS__SIM_FAR;
        near = FGS__SIM_NEAR_KONST;
    }
    return near;
}

/* By enum fgs__sim_near: where the operands lie is known when they have been
 * taken.  The other selectors take the same. */
static bool select_near(const selector by_near[3], struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    if (!by_near[FGS__SIM_FAR](d, src, out))
        return false;
    out->near = (uint8_t)near_of(out);
    return out->near == FGS__SIM_FAR || by_near[out->near](d, src, out);
}

#define DECLARE_NEAR(exec, level)                                              \
    bool NAME(exec, level)(struct fgs__sim_decoder *,                          \
                           const struct fgs__ptx_insn *,                       \
                           struct fgs__sim_insn *);
#define PICK_NEAR(exec)                                                        \
    DECLARE_NEAR(exec, avx2_bank)                                              \
    DECLARE_NEAR(exec, avx2_konst)                                             \
    DECLARE_NEAR(exec, avx512_bank)                                            \
    DECLARE_NEAR(exec, avx512_konst)                                           \
    bool fgs__sim_sel_##exec(struct fgs__sim_decoder *d,                       \
                             const struct fgs__ptx_insn *src,                  \
                             struct fgs__sim_insn *out)                        \
    {                                                                          \
        static const selector avx2[] = {NAME(exec, avx2),                      \
                                        NAME(exec, avx2_bank),                 \
                                        NAME(exec, avx2_konst)};               \
        static const selector avx512[] = {NAME(exec, avx512),                  \
                                          NAME(exec, avx512_bank),             \
                                          NAME(exec, avx512_konst)};           \
                                                                               \
        switch (fgs__sim_isa_now()) {                                          \
        case FGS__ISA_AVX512:                                                  \
            return select_near(avx512, d, src, out);                           \
        case FGS__ISA_AVX2:                                                    \
            return select_near(avx2, d, src, out);                             \
        default:                                                               \
            return NAME(exec, base)(d, src, out);                              \
        }                                                                      \
    }
#else
#define PICK(exec)                                                             \
    bool fgs__sim_sel_##exec(struct fgs__sim_decoder *d,                       \
                             const struct fgs__ptx_insn *src,                  \
                             struct fgs__sim_insn *out)                        \
    {                                                                          \
        return NAME(exec, base)(d, src, out);                                  \
    }
#define PICK_NEAR PICK
#endif
FGS__SIM_DISTANT(PICK)
FGS__SIM_NEARED(PICK_NEAR)

#define SHAPES(level)                                                          \
    fgs__sim_fn fgs__sim_line_run_##level(const struct fgs__sim_line_form *f); \
    fgs__sim_fn fgs__sim_shfl_run_##level(unsigned mode);                      \
    fgs__sim_fn fgs__sim_redux_run_##level(unsigned mod, bool sign);           \
    int fgs__sim_shape_##level(const uint64_t *, uint64_t);                    \
    int fgs__sim_offsets_##level(const uint32_t *, uint32_t, uint32_t,         \
                                 uint32_t, uint32_t *);                        \
    bool fgs__sim_places_##level(const uint64_t *, uint32_t, uint64_t,         \
                                 uint64_t, uint64_t, char *, char **);         \
    extern const fgs__sim_line_move fgs__sim_line_load_##level[4][5];          \
    extern const fgs__sim_line_move fgs__sim_line_store_##level[4][5];         \
    extern const fgs__sim_near_move fgs__sim_near_load_##level[4][5];          \
    extern const fgs__sim_near_move fgs__sim_near_store_##level[4][5];         \
    void fgs__sim_splat_##level(void *, uint64_t, uint32_t);                   \
    static const struct fgs__sim_shapes shapes_##level = {                     \
        fgs__sim_shape_##level,      fgs__sim_offsets_##level,                 \
        fgs__sim_places_##level,     fgs__sim_line_load_##level,               \
        fgs__sim_line_store_##level, fgs__sim_near_load_##level,               \
        fgs__sim_near_store_##level, fgs__sim_splat_##level};
SHAPES(base)
#ifdef WIDE
SHAPES(avx2)
SHAPES(avx512)
#endif

const struct fgs__sim_shapes *fgs__sim_shapes_now(void)
{
#ifdef WIDE
    if (fgs__sim_isa_now() == FGS__ISA_AVX512)
        return &shapes_avx512;
    if (fgs__sim_isa_now() == FGS__ISA_AVX2)
        return &shapes_avx2;
#endif
    return &shapes_base;
}

/* What other selectors ask for. */
#ifdef WIDE
#define PICK_RUN(name, params, args)                                           \
    fgs__sim_fn name params                                                    \
    {                                                                          \
        switch (fgs__sim_isa_now()) {                                          \
        case FGS__ISA_AVX512:                                                  \
            return name##_avx512 args;                                         \
        case FGS__ISA_AVX2:                                                    \
            return name##_avx2 args;                                           \
        default:                                                               \
            return name##_base args;                                           \
        }                                                                      \
    }
#else
#define PICK_RUN(name, params, args)                                           \
    fgs__sim_fn name params                                                    \
    {                                                                          \
        return name##_base args;                                               \
    }
#endif
PICK_RUN(fgs__sim_line_run, (const struct fgs__sim_line_form *f), (f))
PICK_RUN(fgs__sim_shfl_run, (unsigned mode), (mode))
PICK_RUN(fgs__sim_redux_run, (unsigned mod, bool sign), (mod, sign))
