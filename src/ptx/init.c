/* init.c -- initial values of variables (ISA 5.4.4) */
#include "ptx/parse.h"
#include "base/compat.h"

/* A text cannot make us allocate more than this for its initial values. */
#define LARGEST ((uint64_t)256 << 20)

struct init {
    struct fgs__parse *p;
    struct fgs__ptx_sym *var;
    struct fgs__ptx_reloc **relocs_end;
    const uint64_t *dims;      /* outermost first, the vector's lanes last   */
    unsigned count;
    unsigned char *bytes;
    size_t size, cap;          /* open arrays grow, all others have it all   */
    uint32_t elem;             /* bytes of a value                           */
    bool open;
};

/* Room for the value at byte `at`; NULL = no memory. */
static unsigned char *room(struct init *in, uint64_t at)
{
    if (!in->open)
        return in->bytes + at;
    while (in->cap < at + in->elem) {
        size_t cap = in->cap ? in->cap * 2 : 256;
        void *b = fgs__grow(in->p->alloc, in->bytes, in->cap, cap);

        if (!b) {
            in->p->nomem = true;
            return NULL;
        }
        memset((char *)b + in->cap, 0, cap - in->cap);
        in->bytes = b;
        in->cap = cap;
    }
    if (in->size < at + in->elem)
        in->size = at + in->elem;
    return in->bytes + at;
}

/* 1.0 as the variable's type; false = it has no such values. */
static bool float_bits(const struct fgs__const *c, enum fgs__ptx_type t,
                       uint64_t *out)
{
    uint32_t single = (uint32_t)c->value;
    double d;
    float f;

    *out = c->value;
    if (t == FGS__T_B64) /* the literal's bits, whatever it is */
        return true;
    if (t == FGS__T_B32)
        t = FGS__T_F32;
    if (t == FGS__T_F64 && c->kind == FGS__TOK_F64)
        return true;
    if (t == FGS__T_F32 && c->kind == FGS__TOK_F32)
        return true;
    if (t == FGS__T_F64) {
        memcpy(&f, &single, sizeof f);
        d = f;
        memcpy(out, &d, sizeof d);
        return true;
    }
    if (t == FGS__T_F32) {
        memcpy(&d, &c->value, sizeof d);
        f = (float)d;
        memcpy(&single, &f, sizeof f);
        *out = single;
        return true;
    }
    return false;
}

static void store(struct init *in, uint64_t at, const uint64_t *value)
{
    unsigned char *to = room(in, at);

    /* Little endian; a 128-bit value continues its sign. */
    for (unsigned i = 0; to && i < in->elem; i++)
        to[i] = i < 8 ? (unsigned char)(*value >> 8 * i)
                      : (unsigned char)((int64_t)*value < 0 ? 0xff : 0);
}

static void put_const(struct init *in, struct fgs__ptx_pos pos, uint64_t at,
                      const struct fgs__const *c)
{
    enum fgs__ptx_type t = in->var->type;
    bool flt = fgs__ptx_types[t].kind == FGS__K_FLOAT;
    uint64_t v = c->value;

    if (c->kind == FGS__TOK_INT ? flt || t == FGS__T_F16X2
                                : !float_bits(c, t, &v)) {
        fgs__parse_error(in->p, pos, "this value does not fit type .%s of '%s'",
                         fgs__ptx_types[t].word, in->var->name);
        return;
    }
    if (c->kind == FGS__TOK_INT && !fgs__const_fits(c, in->elem * 8)) {
        fgs__parse_error(in->p, pos, "the value does not fit in %u bits",
                         in->elem * 8);
        return;
    }
    store(in, at, &v);
}

/* May the address of the symbol stand in an initializer? */
static bool has_address(struct fgs__parse *p, const struct fgs__ptx_sym *s,
                        const struct fgs__ptx_reloc *r,
                        struct fgs__ptx_pos pos)
{
    bool func = s->kind == FGS__SYM_FUNC;

    if (func && s->func->entry)
        fgs__check_version(p, pos, 31, 35, 0, "a kernel as initial value");
    if (func && (r->generic || r->addend))
        fgs__parse_error(p, pos, "the address of function '%s' stands alone",
                         s->name);
    else if (!func && (s->kind != FGS__SYM_VAR ||
                       (s->space != FGS__M_GLOBAL && s->space != FGS__M_CONST)))
        fgs__parse_error(p, pos, "only addresses of .global and .const "
                         "variables and of functions are constants");
    return !p->failed;
}

/* Addresses and their bytes are numbers without a sign, says the assembler;
 * a byte's element may be wider, its other bytes are 0 then. */
static bool takes_address(struct init *in, struct fgs__ptx_pos pos)
{
    enum fgs__ptx_type t = in->var->type;

    if (fgs__ptx_types[t].kind == FGS__K_UINT && t != FGS__T_U16)
        return true;
    fgs__parse_error(in->p, pos, "no address can stand in a variable of type "
                     ".%s", fgs__ptx_types[t].word);
    return false;
}

/* name, name+4, generic(name), generic(name)+4; of it 8 bytes, or the one from
 * bit `shift` on. */
static void put_address(struct init *in, uint64_t at, unsigned bytes,
                        unsigned shift)
{
    struct fgs__parse *p = in->p;
    struct fgs__tok t = p->tok;
    struct fgs__ptx_reloc *r = fgs__parse_alloc(p, sizeof *r);
    struct fgs__name *n;
    struct fgs__const c = { FGS__TOK_INT, 0, false };
    bool generic = t.n == 7 && !memcmp(t.s, "generic", 7);

    if (!r)
        return;
    fgs__parse_next(p);
    generic = generic && fgs__parse_accept(p, '(');
    fgs__check_version(p, t.pos, bytes == 1 ? 71 : generic ? 31 : 21, 0, 0,
                       bytes == 1 ? "a byte of an address"
                       : generic ? "generic()" : "an address as initial value");
    if (generic) {
        t = p->tok;
        if (!fgs__parse_expect(p, FGS__TOK_NAME, "a variable") ||
            !fgs__parse_expect(p, ')', "')'"))
            return;
    }
    /* name - 4 is not in the grammar, name + -4 is. */
    if (fgs__parse_accept(p, '+'))
        c = fgs__const_parse(p);
    if (c.kind && c.kind != FGS__TOK_INT)
        fgs__parse_error(p, t.pos, "the offset must be an integer");
    n = p->failed ? NULL : fgs__name_get(p, &t);
    if (!n)
        return;
    if (!n->single) {
        fgs__scope_unknown(p, n, t.pos);
        return;
    }
    if (in->elem < bytes) {
        fgs__parse_error(p, t.pos, "an address needs a 64-bit element");
        return;
    }
    if (!takes_address(in, t.pos))
        return;
    r->at = at;
    r->target = n->single->sym;
    r->addend = (int64_t)c.value;
    r->generic = generic;
    r->bytes = (uint8_t)bytes;
    r->shift = (uint8_t)shift;
    if (!has_address(p, r->target, r, t.pos) || !room(in, at))
        return;
    r->target->taken = true;
    *in->relocs_end = r;
    in->relocs_end = &r->next;
}

/* 0xff00(name), 0xff00(0x1234): the bits of the mask, which are those of one
 * byte. */
static void put_byte(struct init *in, uint64_t at, struct fgs__ptx_pos pos,
                     uint64_t mask)
{
    struct fgs__parse *p = in->p;
    unsigned shift = 0;
    struct fgs__const c;

    while (shift < 56 && mask != (uint64_t)0xff << shift)
        shift += 8;
    if (mask != (uint64_t)0xff << shift) {
        fgs__parse_error(p, pos, "this mask is not that of one byte");
        return;
    }
    fgs__parse_next(p);
    if (p->tok.kind == FGS__TOK_NAME && !fgs__is_warp_size(&p->tok)) {
        put_address(in, at, 1, shift);
    } else {
        c = fgs__const_parse(p);
        c.value = c.value >> shift & 0xff;
        if (c.kind && takes_address(in, pos))
            put_const(in, pos, at, &c);
    }
    fgs__parse_expect(p, ')', "')'");
}

/* A number that a '(' follows, which is a mask. */
static bool is_mask(const struct fgs__parse *p)
{
    struct fgs__lex ahead = p->lex;
    struct fgs__tok tok;

    if (p->tok.kind != FGS__TOK_INT)
        return false;
    fgs__lex_next(&ahead, &tok);
    return tok.kind == '(';
}

static void parse_value(struct init *in, uint64_t at)
{
    struct fgs__parse *p = in->p;
    struct fgs__ptx_pos pos = p->tok.pos;
    struct fgs__const c;

    if (p->tok.kind == FGS__TOK_NAME && !fgs__is_warp_size(&p->tok)) {
        put_address(in, at, 8, 0);
        return;
    }
    if (is_mask(p)) {
        uint64_t mask = p->tok.value;

        fgs__parse_next(p);
        put_byte(in, at, pos, mask);
        return;
    }
    c = fgs__const_parse(p);
    if (c.kind)
        put_const(in, pos, at, &c);
}

/* Values of dimension `dim`, which starts at byte `at`. */
static void parse_level(struct init *in, unsigned dim, uint64_t at)
{
    struct fgs__parse *p = in->p;
    uint64_t step = in->elem, i = 0;

    if (dim == in->count) {
        parse_value(in, at);
        return;
    }
    for (unsigned d = dim + 1; d < in->count; d++)
        step *= in->dims[d];
    if (!fgs__parse_expect(p, '{', "'{'") || fgs__parse_accept(p, '}'))
        return;
    do {
        if (in->open && !dim ? at + (i + 1) * step > LARGEST
                             : i == in->dims[dim]) {
            fgs__parse_error(p, p->tok.pos, "more initial values than '%s' has "
                             "elements", in->var->name);
            return;
        }
        parse_level(in, dim + 1, at + i++ * step);
    } while (!p->failed && !p->nomem && fgs__parse_accept(p, ','));
    if (in->var->vec && dim + 1 == in->count && i < in->dims[dim])
        fgs__parse_error(p, p->tok.pos, "a vector of '%s' has %u values",
                         in->var->name, in->var->vec);
    if (in->open && !dim && in->size < i * step) {
        /* The last row may have been cut short. */
        uint64_t last = i * step - in->elem;

        if (!p->nomem && !room(in, last))
            return;
    }
    fgs__parse_expect(p, '}', "',' or '}'");
}

void fgs__init_parse(struct fgs__parse *p, struct fgs__ptx_sym *var,
                     const uint64_t *dims, unsigned count, bool open)
{
    uint64_t all[40]; /* DIMS of decl.c and a vector's */
    struct init in = {
        .p = p, .var = var, .relocs_end = &var->relocs, .dims = all,
        .count = count, .elem = fgs__ptx_types[var->type].bits / 8u,
        .open = open,
    };

    memcpy(all, dims, count * sizeof *dims);
    if (var->vec)
        all[in.count++] = var->vec;
    if (!open && var->bytes > LARGEST) {
        fgs__parse_error(p, var->pos, "'%s' has initial values and more than "
                         "%llu bytes", var->name,
                         (unsigned long long)LARGEST);
        return;
    }
    if (!open) {
        in.bytes = fgs__parse_alloc(p, var->bytes);
        if (!in.bytes)
            return;
    }
    parse_level(&in, 0, 0);
    if (open) {
        unsigned char *bytes = fgs__parse_alloc(p, in.size ? in.size : 1);

        if (bytes && in.size)
            memcpy(bytes, in.bytes, in.size);
        fgs__free(p->alloc, in.bytes);
        in.bytes = bytes;
        var->bytes = in.size;
        if (!in.size)
            fgs__parse_error(p, var->pos, "'%s' has no elements", var->name);
    }
    var->init = in.bytes;
}
