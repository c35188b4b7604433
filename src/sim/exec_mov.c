/* exec_mov.c -- mov: values as they are, packing, unpacking, timers */
#include "sim/lanes.h"

/* ---------------------------------------------------------------- whole -- */

#define MOVE(N)                                                                \
    HANDLER(mov_##N)                                                           \
    {                                                                          \
        void *d = LANE_PTR(w, i->op[0]);                                       \
        const void *a = LANE_PTR(w, i->op[1]);                                 \
        if (FULL_MASK(w))                                                      \
            memmove(d, a, LANES * N / 8);                                      \
        else                                                                   \
            blend_##N(d, a, w->exec);                                          \
        return i + 1;                                                          \
    }
MOVE(16)
MOVE(32)
MOVE(64)

HANDLER(mov_128)
{
    l_u64 *d = LANE_PTR(w, i->op[0]);
    const l_u64 *a = LANE_PTR(w, i->op[1]);
    int k;

    for (k = 0; k < LANES; k++)
        if (w->exec >> k & 1) {
            d[2 * k] = a[2 * k];
            d[2 * k + 1] = a[2 * k + 1];
        }
    return i + 1;
}

HANDLER(mov_pred)
{
    put_mask(w, i->op[0],
             *(const l_u32 *)fgs__sim_at(w, i->op[1]) ^ i->aux[0]);
    return i + 1;
}

/* ------------------------------------------------------------- timers -- */

HANDLER(mov_time_32)
{
    FGS__ALIGN(64) l_u32 t[LANES];
    uint64_t v = fgs__sim_sreg_time(w, (enum fgs__ptx_sreg)i->aux[0]);
    int k;

    for (k = 0; k < LANES; k++)
        t[k] = (uint32_t)v;
    blend_32(LANE_PTR(w, i->op[0]), t, w->exec);
    return i + 1;
}

HANDLER(mov_time_64)
{
    FGS__ALIGN(64) l_u64 t[LANES];
    uint64_t v = fgs__sim_sreg_time(w, (enum fgs__ptx_sreg)i->aux[0]);
    int k;

    for (k = 0; k < LANES; k++)
        t[k] = v;
    blend_64(LANE_PTR(w, i->op[0]), t, w->exec);
    return i + 1;
}

/* -------------------------------------------------- packing, unpacking -- */

/* n elements of E bits are W = n * E bits; element j of lane k stands at
 * [k * n + j] of the wide register, seen as elements.  One loop with all
 * elements: compilers make shuffles of it. */
#define SOURCE(E, j)    const l_u##E *s##j = LANE_PTR(w, i->op[1 + j])
#define JOIN(n, j)      t[k * n + j] = s##j[k]
#define PART(n, j)      t[j][k] = a[k * n + j]
#define TWO(E, X)       X(E, 0); X(E, 1)
#define FOUR(E, X)      TWO(E, X); X(E, 2); X(E, 3)

#define PACK(E, n, ALL)                                                        \
    HANDLER(pack_##E##_##n)                                                    \
    {                                                                          \
        l_u##E *d = LANE_PTR(w, i->op[0]);                                     \
        FGS__ALIGN(64) l_u##E t[LANES * n];                                    \
        ALL(E, SOURCE);                                                        \
        int k;                                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            ALL(n, JOIN);                                                      \
        }                                                                      \
        if (FULL_MASK(w)) {                                                    \
            memcpy(d, t, sizeof t);                                            \
            return i + 1;                                                      \
        }                                                                      \
        for (k = 0; k < LANES; k++)                                            \
            if (w->exec >> k & 1)                                              \
                memcpy(&d[k * n], &t[k * n], n * (E / 8));                     \
        return i + 1;                                                          \
    }                                                                          \
    HANDLER(unpack_##E##_##n)                                                  \
    {                                                                          \
        FGS__ALIGN(64) l_u##E t[n][LANES];                                     \
        const l_u##E *a = LANE_PTR(w, i->op[n]);                               \
        int k, j;                                                              \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++) {                                          \
            ALL(n, PART);                                                      \
        }                                                                      \
        for (j = 0; j < n; j++)                                                \
            if (i->op[j] != FGS__SIM_NOREF)                                    \
                blend_##E(LANE_PTR(w, i->op[j]), t[j], w->exec);               \
        return i + 1;                                                          \
    }
PACK(8, 2, TWO)
PACK(8, 4, FOUR)
PACK(16, 2, TWO)
PACK(16, 4, FOUR)
PACK(32, 2, TWO)
PACK(32, 4, FOUR)
PACK(64, 2, TWO)

static const struct {
    uint8_t bits, count;
    enum fgs__ptx_type type;
    fgs__sim_fn pack, unpack;
} packs[] = {
    { 8, 2, FGS__T_B8, pack_8_2, unpack_8_2 },
    { 8, 4, FGS__T_B8, pack_8_4, unpack_8_4 },
    { 16, 2, FGS__T_B16, pack_16_2, unpack_16_2 },
    { 16, 4, FGS__T_B16, pack_16_4, unpack_16_4 },
    { 32, 2, FGS__T_B32, pack_32_2, unpack_32_2 },
    { 32, 4, FGS__T_B32, pack_32_4, unpack_32_4 },
    { 64, 2, FGS__T_B64, pack_64_2, unpack_64_2 },
};

static bool sel_pack(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     struct fgs__sim_insn *out,
                     const struct fgs__ptx_operand *v, bool unpack)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    unsigned n = v->children, k, bits = n ? fgs__ptx_types[t].bits / n : 0;
    fgs__sim_ref *r;

    for (k = 0; k < sizeof packs / sizeof *packs; k++)
        if (packs[k].bits == bits && packs[k].count == n)
            break;
    if (k == sizeof packs / sizeof *packs) {
        fgs__sim_decode_error(d, src, "%u elements in .%s are not executed",
                              n, fgs__ptx_types[t].word);
        return false;
    }
    out->run = unpack ? packs[k].unpack : packs[k].pack;
    t = packs[k].type;
    for (k = 0; k < n; k++) {
        r = &out->op[unpack ? k : k + 1];
        if (unpack && v->child[k].kind == FGS__O_SINK)
            continue;
        if (unpack)
            *r = fgs__sim_ref_dst(d, &v->child[k], t);
        else if (v->child[k].kind == FGS__O_SINK)
            /* mov.b32 d, {a, _}: the half is undefined; 0 repeats. */
            *r = fgs__sim_ref_const(d, 0, bits);
        else
            *r = fgs__sim_ref_of(d, &v->child[k], t);
        if (*r == FGS__SIM_NOREF)
            return false;
    }
    t = (enum fgs__ptx_type)src->type[0];
    r = &out->op[unpack ? n : 0];
    *r = unpack ? fgs__sim_ref_of(d, &src->operand[1], t)
                : fgs__sim_ref_dst(d, &src->operand[0], t);
    return *r != FGS__SIM_NOREF;
}

/* ---------------------------------------------------------------- vectors */

/* op[0..] destinations or NOREF, op[4..] sources: all are read first. */
#define VECTOR(bits)                                                           \
    HANDLER(mov_vec_##bits)                                                    \
    {                                                                          \
        FGS__ALIGN(64) l_u##bits t[4][LANES];                                  \
        unsigned j, n = i->aux[0] > 2 ? 4 : 2;                                 \
        for (j = 0; j < n; j++)                                                \
            memcpy(t[j], LANE_PTR(w, i->op[4 + j]), sizeof t[j]);              \
        for (j = 0; j < n; j++)                                                \
            if (i->op[j] != FGS__SIM_NOREF)                                    \
                blend_##bits(LANE_PTR(w, i->op[j]), t[j], w->exec);            \
        return i + 1;                                                          \
    }
VECTOR(16)
VECTOR(32)
VECTOR(64)

static bool sel_vector(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    const struct fgs__ptx_operand *to = src->operand[0].child;
    const struct fgs__ptx_operand *from = src->operand[1].child;

    out->aux[0] = src->operand[0].children;
    for (unsigned k = 0; k < out->aux[0]; k++) {
        out->op[k] = FGS__SIM_NOREF;
        if (to[k].kind != FGS__O_SINK) {
            out->op[k] = fgs__sim_ref_dst(d, &to[k], t);
            if (out->op[k] == FGS__SIM_NOREF)
                return false;
        }
        out->op[4 + k] = fgs__sim_ref_of(d, &from[k], t);
        if (out->op[4 + k] == FGS__SIM_NOREF)
            return false;
    }
    out->run = fgs__ptx_types[t].bits == 16 ? mov_vec_16
        : fgs__ptx_types[t].bits == 32 ? mov_vec_32 : mov_vec_64;
    return true;
}

/* ------------------------------------------------------------- selector -- */

static const uint8_t groups[] = { FGS__G_VEC };

static bool sel_time(struct fgs__sim_decoder *d,
                     const struct fgs__ptx_insn *src,
                     struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];

    out->aux[0] = src->operand[1].sreg;
    out->op[0] = fgs__sim_ref_dst(d, &src->operand[0], t);
    out->run = fgs__ptx_types[t].bits == 64 ? mov_time_64 : mov_time_32;
    if (fgs__ptx_types[t].bits < 32)
        return false;
    return out->op[0] != FGS__SIM_NOREF;
}

bool FGS__LEVEL(fgs__sim_sel_mov)(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_insn *src,
                                  struct fgs__sim_insn *out)
{
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[0];
    const struct fgs__ptx_operand *o = src->operand;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->operands != 2)
        return false;
    if (src->mod[FGS__G_VEC])
        return sel_vector(d, src, out);
    if (o[0].kind == FGS__O_VEC || o[1].kind == FGS__O_VEC)
        return sel_pack(d, src, out, &o[o[0].kind == FGS__O_VEC ? 0 : 1],
                        o[0].kind == FGS__O_VEC);
    if (fgs__sim_reads_time(src))
        return sel_time(d, src, out);
    if (t == FGS__T_PRED) {
        out->run = mov_pred;
        out->op[0] = fgs__sim_ref_dst(d, &o[0], t);
        out->op[1] = fgs__sim_ref_pred(d, &o[1], &out->aux[0]);
        return out->op[0] != FGS__SIM_NOREF && out->op[1] != FGS__SIM_NOREF;
    }
    switch (fgs__ptx_types[t].bits) {
    case 16:
        out->run = mov_16;
        break;
    case 32:
        out->run = mov_32;
        break;
    case 64:
        out->run = mov_64;
        break;
    case 128:
        out->run = mov_128;
        break;
    default:
        return false;
    }
    return take_operands(d, src, out, 2, t);
}
