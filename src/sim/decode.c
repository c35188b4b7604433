/* decode.c -- operands of an instruction as places of 32 lanes */
#include "sim/decode.h"
#include "sim/call.h"
#include <stdarg.h>

void fgs__sim_decode_error(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src, const char *fmt,
                           ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__ptx_diag_add(d->diags, src->pos, "%s: %s",
                      fgs__ptx_op_name((enum fgs__ptx_op)src->op), text);
    d->failed = true;
}

static const char *const mod_word[FGS__M_COUNT] = {
#define MOD(id, group, word) [FGS__M_##id] = word,
#include "ptx/modifier.def"
};

bool fgs__sim_only(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
                   const uint8_t *groups, size_t count)
{
    size_t g, k;

    for (g = 0; g < FGS__G_COUNT; g++) {
        /* State spaces stand in src->space, which selectors look at. */
        if (g == FGS__G_SPACE || !src->mod[g])
            continue;
        for (k = 0; k < count && groups[k] != g; k++)
            ;
        if (k < count)
            continue;
        fgs__sim_decode_error(d, src, ".%s is not executed here yet",
                              mod_word[src->mod[g]]);
        return false;
    }
    return true;
}

const struct fgs__ptx_func *
fgs__sim_decode_func(const struct fgs__sim_decoder *d)
{
    return d->func;
}

/* A kernel's own frame begins at 0. */
bool fgs__sim_in_frame(const struct fgs__sim_decoder *d,
                       const struct fgs__ptx_sym *v)
{
    return !d->func->entry && (v->frame || v->space == FGS__M_LOCAL);
}

static void FGS__PRINTF(3, 4) operand_error(struct fgs__sim_decoder *d,
                                            const struct fgs__ptx_operand *o,
                                            const char *fmt, ...)
{
    char text[256];
    va_list ap;
    const struct fgs__ptx_insn *src = &d->func->insn[d->at];

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fgs__ptx_diag_add(d->diags, o->pos, "%s: %s",
                      fgs__ptx_op_name((enum fgs__ptx_op)src->op), text);
    d->failed = true;
}

static unsigned type_bits(enum fgs__ptx_type t)
{
    return fgs__ptx_types[t].bits;
}

/* Bytes of a register over 32 lanes; a predicate is one mask. */
uint32_t fgs__sim_slot_bytes(unsigned bits)
{
    uint32_t bytes = bits == 1 ? 4 : bits * 4;

    return (bytes + 63) & ~63u;
}

fgs__sim_ref fgs__sim_take_of(struct fgs__sim_decoder *d,
                              enum fgs__sim_base base, uint32_t bytes)
{
    size_t *at = &d->bytes[base];
    fgs__sim_ref r = (fgs__sim_ref)base << FGS__SIM_BASE_SHIFT;

    if (*at + bytes > (size_t)1 << FGS__SIM_BASE_SHIFT) {
        d->nomem = true;
        return r;
    }
    r += (fgs__sim_ref)*at;
    *at += bytes;
    return r;
}

fgs__sim_ref fgs__sim_take(struct fgs__sim_decoder *d, uint32_t bytes)
{
    return fgs__sim_take_of(d, FGS__SIM_BANK, bytes);
}

fgs__sim_ref fgs__sim_take_fresh(struct fgs__sim_decoder *d, uint32_t bytes)
{
    fgs__sim_ref r = fgs__sim_take(d, bytes);
    struct fgs__sim_span *last = d->freshes ? &d->fresh[d->freshes - 1] : NULL;
    void *items = d->fresh;

    if (last && last->at + last->bytes == r) {
        last->bytes += bytes;
        return r;
    }
    if (!fgs__vec_reserve(d->alloc, &items, &d->fresh_cap, d->freshes,
                          sizeof *d->fresh)) {
        d->nomem = true;
        return r;
    }
    d->fresh = items;
    d->fresh[d->freshes++] = (struct fgs__sim_span){ r, bytes };
    return r;
}

fgs__sim_ref fgs__sim_reg_place(struct fgs__sim_decoder *d,
                                const struct fgs__ptx_sym *s)
{
    struct fgs__sim_reg *r = &d->reg[s->index];
    uint32_t one = fgs__sim_slot_bytes(type_bits(s->type));

    if (r->ref == FGS__SIM_NOREF) {
        r->ref = fgs__sim_take_fresh(d, one * (s->vec ? s->vec : 1u));
        r->first = d->at;
    }
    r->last = d->at;
    return r->ref;
}

static fgs__sim_ref reg_place(struct fgs__sim_decoder *d,
                              const struct fgs__ptx_operand *o)
{
    uint32_t one = fgs__sim_slot_bytes(type_bits(o->sym->type));

    return fgs__sim_reg_place(d, o->sym) +
        (o->comp ? (o->comp - 1u) * one : 0);
}

fgs__sim_ref fgs__sim_ref_reg(struct fgs__sim_decoder *d,
                              const struct fgs__ptx_operand *o, unsigned *bits)
{
    *bits = 0;
    if (o->kind != FGS__O_REG) {
        operand_error(d, o, "a register is needed here");
        return FGS__SIM_NOREF;
    }
    if (o->neg) {
        operand_error(d, o, "'%s' cannot be negated here", o->sym->name);
        return FGS__SIM_NOREF;
    }
    if (o->sym->vec && !o->comp) {
        operand_error(d, o, "vector register '%s' is not executed whole",
                      o->sym->name);
        return FGS__SIM_NOREF;
    }
    *bits = type_bits(o->sym->type);
    return reg_place(d, o);
}

static fgs__sim_ref reg_of(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_operand *o,
                           enum fgs__ptx_type type)
{
    unsigned bits;
    fgs__sim_ref r = fgs__sim_ref_reg(d, o, &bits);

    if (r != FGS__SIM_NOREF && bits != type_bits(type)) {
        operand_error(d, o, "register '%s' has %u bits, .%s needs %u",
                      o->sym->name, bits, fgs__ptx_types[type].word,
                      type_bits(type));
        return FGS__SIM_NOREF;
    }
    return r;
}

fgs__sim_ref fgs__sim_ref_dst(struct fgs__sim_decoder *d,
                              const struct fgs__ptx_operand *o,
                              enum fgs__ptx_type type)
{
    if (o->kind != FGS__O_SINK)
        return reg_of(d, o, type);
    if (d->sink == FGS__SIM_NOREF)
        d->sink = fgs__sim_take(d, fgs__sim_slot_bytes(128));
    return d->sink;
}

fgs__sim_ref fgs__sim_ref_carry(struct fgs__sim_decoder *d)
{
    if (d->carry == FGS__SIM_NOREF)
        d->carry = fgs__sim_take_fresh(d, fgs__sim_slot_bytes(1));
    return d->carry;
}

static fgs__sim_ref take_const(struct fgs__sim_decoder *d, uint64_t value,
                               unsigned bits, bool shared)
{
    struct fgs__sim_const *c;
    size_t i;
    void *items = d->konst;

    if (bits < 64)
        value &= ((uint64_t)1 << bits) - 1;
    for (i = 0; i < d->konst_count; i++)
        if (d->konst[i].value == value && d->konst[i].bits == bits &&
            d->konst[i].shared == shared)
            return d->konst[i].ref;
    if (!fgs__vec_reserve(d->alloc, &items, &d->konst_cap, d->konst_count,
                          sizeof *c)) {
        d->nomem = true;
        return FGS__SIM_NOREF;
    }
    d->konst = items;
    c = &d->konst[d->konst_count++];
    c->value = value;
    c->bits = bits;
    c->shared = shared;
    c->ref = fgs__sim_take_of(d, shared ? FGS__SIM_COMMON : FGS__SIM_KONST,
                              fgs__sim_slot_bytes(bits));
    return c->ref;
}

fgs__sim_ref fgs__sim_ref_const(struct fgs__sim_decoder *d, uint64_t value,
                                unsigned bits)
{
    return take_const(d, value, bits, false);
}

/* The address of a variable as a constant: that of shared memory depends on
 * the block's rank in its cluster. */
static fgs__sim_ref address_const(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_operand *o,
                                  uint64_t value, unsigned bits)
{
    return take_const(d, value, bits,
                      o->sym && o->sym->kind == FGS__SYM_VAR &&
                          o->sym->space == FGS__M_SHARED && bits >= 32);
}

static fgs__sim_ref sreg_of(struct fgs__sim_decoder *d,
                            const struct fgs__ptx_operand *o, unsigned bits)
{
    struct fgs__sim_sreg_slot *s;
    void *items = d->sreg;
    size_t i;

    if (fgs__sim_sreg_moves((enum fgs__ptx_sreg)o->sreg)) {
        operand_error(d, o, "a register that counts time is read by mov only");
        return FGS__SIM_NOREF;
    }
    if (bits < 16 && bits != 1) {
        operand_error(d, o, "a special register has 16 bits at least");
        return FGS__SIM_NOREF;
    }
    for (i = 0; i < d->sreg_count; i++) {
        s = &d->sreg[i];
        if (s->sreg == o->sreg && s->comp == o->comp && s->bits == bits)
            return s->ref;
    }
    if (!fgs__vec_reserve(d->alloc, &items, &d->sreg_cap, d->sreg_count,
                          sizeof *s)) {
        d->nomem = true;
        return FGS__SIM_NOREF;
    }
    d->sreg = items;
    s = &d->sreg[d->sreg_count++];
    s->sreg = o->sreg;
    s->comp = o->comp;
    s->bits = (uint8_t)bits;
    s->ref = fgs__sim_take_of(
        d, fgs__sim_sreg_base((enum fgs__ptx_sreg)o->sreg),
        fgs__sim_slot_bytes(bits));
    return s->ref;
}

/* A variable's address in its own state space. */
static bool address_of(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_operand *o, uint64_t *out)
{
    const struct fgs__ptx_sym *s = o->sym;

    if (s && s->kind == FGS__SYM_FUNC) {
        if (!s->func->address)
            operand_error(d, o, "function '%s' has no address", s->name);
        *out = s->func->address;
        return s->func->address != 0;
    }
    if (!s || s->kind != FGS__SYM_VAR) {
        operand_error(d, o, "the address of '%s' cannot be taken yet",
                      s ? s->name : "?");
        return false;
    }
    if (s->space == FGS__M_GLOBAL || s->space == FGS__M_CONST)
        *out = s->address + (uint64_t)o->offset;
    else if (s->space == FGS__M_SHARED && !s->bytes)
        *out = d->shared_bytes + (uint64_t)o->offset;
    else
        *out = s->offset + (uint64_t)o->offset;
    return true;
}

/* A place that holds fp + offset from the call on. */
static fgs__sim_ref frame_address(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_operand *o,
                                  unsigned bits)
{
    struct fgs__sim_function *f = d->callee;
    uint32_t offset = (uint32_t)(o->sym->offset + (uint64_t)o->offset);
    void *items = f->place;

    for (uint32_t i = 0; i < f->addresses; i++)
        if (f->place[i].offset == offset && f->place[i].bits == bits)
            return f->place[i].ref;
    if (bits < 32) {
        operand_error(d, o, "an address has 32 or 64 bits");
        return FGS__SIM_NOREF;
    }
    if (!fgs__vec_reserve(d->alloc, &items, &f->address_cap, f->addresses,
                          sizeof *f->place)) {
        d->nomem = true;
        return FGS__SIM_NOREF;
    }
    f->place = items;
    f->place[f->addresses] = (struct fgs__sim_address){
        fgs__sim_take(d, fgs__sim_slot_bytes(bits)), offset, bits
    };
    return f->place[f->addresses++].ref;
}

static uint64_t f64_as_f32(uint64_t bits)
{
    double x;
    float f;
    uint32_t u;

    memcpy(&x, &bits, sizeof x);
    f = (float)x;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint64_t f32_as_f64(uint32_t bits)
{
    float f;
    double x;
    uint64_t u;

    memcpy(&f, &bits, sizeof f);
    x = f;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* A literal takes the form of the type it is read as (ISA 4.5.2: a
 * floating-point literal becomes the type's constant). */
static bool literal(struct fgs__sim_decoder *d,
                    const struct fgs__ptx_operand *o, enum fgs__ptx_type type,
                    uint64_t *out)
{
    bool is_float = fgs__ptx_types[type].kind == FGS__K_FLOAT;
    unsigned bits = type_bits(type);

    *out = o->imm;
    if (o->kind == FGS__O_INT && !is_float)
        return true;
    if (o->kind == FGS__O_F32 && bits == 32)
        return true;
    if (o->kind == FGS__O_F64 && bits == 64)
        return true;
    if (o->kind == FGS__O_F64 && bits == 32)
        *out = f64_as_f32(o->imm);
    else if (o->kind == FGS__O_F32 && bits == 64)
        *out = f32_as_f64((uint32_t)o->imm);
    else {
        operand_error(d, o, "this literal cannot be read as .%s",
                      fgs__ptx_types[type].word);
        return false;
    }
    return true;
}

fgs__sim_ref fgs__sim_ref_of(struct fgs__sim_decoder *d,
                             const struct fgs__ptx_operand *o,
                             enum fgs__ptx_type type)
{
    unsigned bits = type_bits(type);
    uint64_t v;

    switch (o->kind) {
    case FGS__O_REG:
        return reg_of(d, o, type);
    case FGS__O_INT:
    case FGS__O_F32:
    case FGS__O_F64:
        if (!literal(d, o, type, &v))
            return FGS__SIM_NOREF;
        if (bits == 1)
            return fgs__sim_ref_const(d, v ? 1 : 0, 1);
        if (bits <= 64)
            return fgs__sim_ref_const(d, v, bits);
        operand_error(d, o, "a literal has 64 bits at most");
        return FGS__SIM_NOREF;
    case FGS__O_SREG:
        return sreg_of(d, o, bits);
    case FGS__O_SYM:
        if (o->sym && o->sym->kind == FGS__SYM_VAR &&
            fgs__sim_in_frame(d, o->sym))
            return frame_address(d, o, bits);
        if (!address_of(d, o, &v))
            return FGS__SIM_NOREF;
        return address_const(d, o, v, bits);
    default:
        operand_error(d, o, "this kind of operand is not executed here");
        return FGS__SIM_NOREF;
    }
}

fgs__sim_ref fgs__sim_ref_pred(struct fgs__sim_decoder *d,
                               const struct fgs__ptx_operand *o,
                               uint32_t *flip)
{
    struct fgs__ptx_operand plain = *o;

    *flip = o->neg ? UINT32_MAX : 0;
    plain.neg = false;
    return fgs__sim_ref_of(d, &plain, FGS__T_PRED);
}

bool fgs__sim_ref_addr(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       const struct fgs__ptx_operand *o, fgs__sim_ref *base,
                       unsigned *bits, int64_t *offset)
{
    struct fgs__ptx_operand reg = *o;
    uint64_t v = 0;

    *bits = 64;
    *offset = 0;
    if (o->kind != FGS__O_ADDR) {
        fgs__sim_decode_error(d, src, "an address in [] is needed");
        return false;
    }
    if (o->sym && o->sym->kind == FGS__SYM_REG) {
        reg.kind = FGS__O_REG;
        *base = fgs__sim_ref_reg(d, &reg, bits);
        *offset = o->offset;
        if (*base == FGS__SIM_NOREF)
            return false;
        if (*bits == 32 || *bits == 64)
            return true;
        operand_error(d, o, "an address register has 32 or 64 bits");
        return false;
    }
    if (o->sym && o->sym->kind == FGS__SYM_VAR &&
        fgs__sim_in_frame(d, o->sym)) {
        *base = d->fp;
        *offset = (int64_t)o->sym->offset + o->offset;
        return true;
    }
    if (!o->sym)
        v = (uint64_t)o->offset;
    else if (!address_of(d, o, &v))
        return false;
    *base = address_const(d, o, v, 64);
    return *base != FGS__SIM_NOREF;
}
