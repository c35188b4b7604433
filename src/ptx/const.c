/* const.c -- constant expressions (ISA 4.5.5)
 *
 * Integers are 64-bit; a result is unsigned when an operand is, as in C.  A
 * floating literal stands alone, with a sign at most.
 */
#include "ptx/parse.h"
#include "base/compat.h"

/* Binary operators by rising strength. */
static const struct {
    int kind, level;
} operators[] = {
    { FGS__TOK_LOR, 1 }, { FGS__TOK_LAND, 2 }, { '|', 3 }, { '^', 4 },
    { '&', 5 }, { FGS__TOK_EQ, 6 }, { FGS__TOK_NE, 6 }, { '<', 7 },
    { '>', 7 }, { FGS__TOK_LE, 7 }, { FGS__TOK_GE, 7 }, { FGS__TOK_SHL, 8 },
    { FGS__TOK_SHR, 8 }, { '+', 9 }, { '-', 9 }, { '*', 10 }, { '/', 10 },
    { '%', 10 },
};
enum { LEVELS = 10, DEPTH = 64 };

static struct fgs__const binary(struct fgs__parse *p, int level, int depth);

static struct fgs__const none(void)
{
    return (struct fgs__const){ 0, 0, false };
}

static struct fgs__const number(uint64_t v, bool is_unsigned)
{
    return (struct fgs__const){ FGS__TOK_INT, v, is_unsigned };
}

static struct fgs__const ternary(struct fgs__parse *p, int depth)
{
    struct fgs__const c = binary(p, 1, depth), a, b;

    if (c.kind != FGS__TOK_INT || p->tok.kind != '?')
        return c;
    fgs__parse_next(p);
    a = depth < DEPTH ? ternary(p, depth + 1) : none();
    if (!a.kind || !fgs__parse_expect(p, ':', "':'"))
        return none();
    b = ternary(p, depth + 1);
    if (!b.kind)
        return b;
    return c.value ? a : b;
}

/* (.s64) and (.u64) are casts; else a parenthesis. */
static struct fgs__const paren(struct fgs__parse *p, int depth)
{
    struct fgs__const c;

    fgs__parse_next(p);
    if (p->tok.kind == FGS__TOK_WORD) {
        unsigned t = fgs__parse_word(p)->type;

        if (t != FGS__T_S64 && t != FGS__T_U64) {
            fgs__parse_expected(p, "a cast to .s64 or .u64");
            return none();
        }
        fgs__parse_next(p);
        if (!fgs__parse_expect(p, ')', "')'"))
            return none();
        c = binary(p, LEVELS + 1, depth + 1);
        if (c.kind == FGS__TOK_INT)
            c.is_unsigned = t == FGS__T_U64;
        return c;
    }
    c = ternary(p, depth + 1);
    if (c.kind && !fgs__parse_expect(p, ')', "')'"))
        return none();
    return c;
}

static struct fgs__const negate(struct fgs__const c)
{
    if (c.kind == FGS__TOK_F32)
        c.value ^= 0x80000000u;
    else if (c.kind == FGS__TOK_F64)
        c.value ^= (uint64_t)1 << 63;
    else if (c.kind == FGS__TOK_INT)
        c.value = 0 - c.value;
    return c;
}

static struct fgs__const unary(struct fgs__parse *p, int depth)
{
    struct fgs__tok t = p->tok;
    struct fgs__const c;

    if (depth > DEPTH) {
        fgs__parse_error(p, t.pos, "the constant is nested too deeply");
        return none();
    }
    switch (t.kind) {
    case FGS__TOK_INT:
        fgs__parse_next(p);
        return number(t.value, t.is_unsigned);
    case FGS__TOK_F32:
    case FGS__TOK_F64:
        fgs__parse_next(p);
        return (struct fgs__const){ t.kind, t.value, false };
    case '(':
        return paren(p, depth);
    case '+':
    case '-':
    case '!':
    case '~':
        fgs__parse_next(p);
        c = unary(p, depth + 1);
        if (t.kind == '-')
            return negate(c);
        if (c.kind != FGS__TOK_INT || t.kind == '+')
            break;
        c.value = t.kind == '!' ? !c.value : ~c.value;
        return c;
    case FGS__TOK_NAME:
        if (t.n == 7 && !memcmp(t.s, "WARP_SZ", 7)) {
            fgs__parse_next(p);
            return number(32, false);
        }
        /* fall through */
    default:
        fgs__parse_expected(p, "a constant");
        return none();
    }
    if (c.kind && c.kind != FGS__TOK_INT && t.kind != '+') {
        fgs__parse_error(p, t.pos, "this operator takes no floating literal");
        return none();
    }
    return c;
}

static struct fgs__const divide(struct fgs__parse *p, struct fgs__ptx_pos pos,
                                int op, struct fgs__const a,
                                struct fgs__const b)
{
    bool u = a.is_unsigned || b.is_unsigned;
    int64_t x = (int64_t)a.value, y = (int64_t)b.value;

    if (!b.value) {
        fgs__parse_error(p, pos, "division by zero in a constant");
        return none();
    }
    if (u)
        return number(op == '/' ? a.value / b.value : a.value % b.value, u);
    if (y == -1) /* INT64_MIN / -1 overflows */
        return number(op == '/' ? 0 - a.value : 0, u);
    return number((uint64_t)(op == '/' ? x / y : x % y), u);
}

static struct fgs__const apply(struct fgs__parse *p, struct fgs__ptx_pos pos,
                               int op, struct fgs__const a, struct fgs__const b)
{
    bool u = a.is_unsigned || b.is_unsigned;
    bool less = u ? a.value < b.value : (int64_t)a.value < (int64_t)b.value;
    unsigned n = (unsigned)(b.value & 63);

    switch (op) {
    case FGS__TOK_LOR:
        return number(a.value || b.value, false);
    case FGS__TOK_LAND:
        return number(a.value && b.value, false);
    case '|':
        return number(a.value | b.value, u);
    case '^':
        return number(a.value ^ b.value, u);
    case '&':
        return number(a.value & b.value, u);
    case FGS__TOK_EQ:
        return number(a.value == b.value, false);
    case FGS__TOK_NE:
        return number(a.value != b.value, false);
    case '<':
        return number(less, false);
    case FGS__TOK_GE:
        return number(!less, false);
    case '>':
        return number(!less && a.value != b.value, false);
    case FGS__TOK_LE:
        return number(less || a.value == b.value, false);
    case FGS__TOK_SHL:
        return number(b.value > 63 ? 0 : a.value << n, a.is_unsigned);
    case FGS__TOK_SHR:
        if (a.is_unsigned || (int64_t)a.value >= 0)
            return number(b.value > 63 ? 0 : a.value >> n, a.is_unsigned);
        return number(b.value > 63 ? UINT64_MAX : ~(~a.value >> n), false);
    case '+':
        return number(a.value + b.value, u);
    case '-':
        return number(a.value - b.value, u);
    case '*':
        return number(a.value * b.value, u);
    default:
        return divide(p, pos, op, a, b);
    }
}

/* Operators of doubles (ISA 4.5.5); those written as bits have none. */
static struct fgs__const apply_float(struct fgs__parse *p,
                                     const struct fgs__tok *op,
                                     struct fgs__const a, struct fgs__const b)
{
    double x, y;

    memcpy(&x, &a.value, sizeof x);
    memcpy(&y, &b.value, sizeof y);
    if (a.kind != FGS__TOK_F64 || b.kind != FGS__TOK_F64) {
        fgs__parse_error(p, op->pos, "%s needs two numbers of one kind",
                         fgs__parse_text(op).s);
        return none();
    }
    switch (op->kind) {
    case '+':
        x = x + y;
        break;
    case '-':
        x = x - y;
        break;
    case '*':
        x = x * y;
        break;
    case '/':
        if (y == 0)
            fgs__parse_error(p, op->pos, "division by zero in a constant");
        x = y == 0 ? 0 : x / y;
        break;
    case FGS__TOK_EQ:
        return number(x == y, false);
    case FGS__TOK_NE:
        return number(x != y, false);
    case '<':
        return number(x < y, false);
    case '>':
        return number(x > y, false);
    case FGS__TOK_LE:
        return number(x <= y, false);
    case FGS__TOK_GE:
        return number(x >= y, false);
    default:
        fgs__parse_error(p, op->pos, "%s takes no floating literal",
                         fgs__parse_text(op).s);
        return none();
    }
    memcpy(&a.value, &x, sizeof x);
    return p->failed ? none() : a;
}

static int level_of(int kind)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].kind == kind)
            return operators[i].level;
    }
    return 0;
}

/* Operators of `level` and stronger ones. */
static struct fgs__const binary(struct fgs__parse *p, int level, int depth)
{
    struct fgs__const a = unary(p, depth), b;
    int l;

    while (a.kind && (l = level_of(p->tok.kind)) >= level &&
           l) {
        struct fgs__tok op = p->tok;

        fgs__parse_next(p);
        b = binary(p, l + 1, depth + 1);
        if (!b.kind)
            return none();
        a = a.kind == FGS__TOK_INT && b.kind == FGS__TOK_INT
            ? apply(p, op.pos, op.kind, a, b) : apply_float(p, &op, a, b);
    }
    return a;
}

struct fgs__const fgs__const_parse(struct fgs__parse *p)
{
    return ternary(p, 0);
}

bool fgs__const_fits(const struct fgs__const *c, unsigned bits)
{
    int64_t v = (int64_t)c->value;

    if (bits >= 64)
        return true;
    if (c->is_unsigned || v >= 0)
        return c->value >> bits == 0;
    return v >= -((int64_t)1 << (bits - 1));
}
