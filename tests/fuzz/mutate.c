/* mutate.c -- changes to PTX texts that leave most of them PTX
 *
 * Words are exchanged for others of the tables, operands for others of the
 * same text, numbers for those at the edges; statements are moved and doubled.
 * One change in eight is libFuzzer's own, of bytes.
 */
#include "base/compat.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(unsigned char *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t size, size_t most,
                               unsigned seed);

static const char *const words[] = {
#define MOD(id, group, word) "." word,
#include "ptx/modifier.def"
#undef MOD
#define TYPE(id, word, bits, kind) "." word,
#include "ptx/type.def"
#undef TYPE
};
/* Types alone are changed oftener. */
static const char *const types[] = {
#define TYPE(id, word, bits, kind) "." word,
#include "ptx/type.def"
#undef TYPE
};
static const char *const opcodes[] = {
#define OP(id, word, shape, types, mods, ptx, cc, exec) word,
#include "ptx/opcode.def"
#undef OP
};
static const char *const sregs[] = {
#define SREG(id, name, type, comps, ptx, cc) "%" name,
#include "ptx/sreg.def"
#undef SREG
};
static const char *const numbers[] = {
    "0", "1", "-1", "2", "3", "4", "7", "8", "15", "16", "17", "31", "32",
    "33", "63", "64", "127", "128", "255", "256", "1023", "1024", "4096",
    "65535", "65536", "0x7fffffff", "0x80000000", "0xffffffff", "-2147483648",
    "0x7fffffffffffffff", "0x8000000000000000", "0xffffffffffffffff",
    "0x800000000000", "0x801000000000", "0x802000000000", "0x1000000",
    "0f00000000", "0f80000000", "0f7F800000", "0f7FC00000", "0fFF800000",
    "0f00000001", "0d7FF0000000000000", "0d8000000000000000", "1048576",
};

static uint64_t state;

static uint32_t draw(size_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

struct text {
    char *s;
    size_t n, most;
};

/* Put `word` in the place of [at, at + len). */
static void put(struct text *t, size_t at, size_t len, const char *word,
                size_t n)
{
    if (t->n - len + n > t->most)
        return;
    memmove(t->s + at + n, t->s + at + len, t->n - at - len);
    memcpy(t->s + at, word, n);
    t->n += n - len;
}

static int is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == ':';
}

/* The token at or behind a random place: its start, length and first letter's
 * kind; 0 = none. */
static char find(const struct text *t, char kind, size_t *at, size_t *len)
{
    size_t i = draw(t->n), tries = 400;

    for (; tries-- && i < t->n; i++) {
        char c = t->s[i], k;
        size_t e = i + 1;

        if (i && (is_name(t->s[i - 1]) || t->s[i - 1] == '%'))
            continue;
        k = c == '.' || c == '%' ? c
            : isdigit((unsigned char)c) ? '0' : isalpha((unsigned char)c) ||
            c == '_' || c == '$' ? 'a' : 0;
        if (!k || k != kind)
            continue;
        while (e < t->n && (is_name(t->s[e]) ||
                            (k == '%' && t->s[e] == '.')))
            e++;
        *at = i;
        *len = e - i;
        return k;
    }
    return 0;
}

/* The same kind of token from elsewhere in the text. */
static void swap_token(struct text *t, char kind)
{
    char copy[64];
    size_t at, len, from, n;

    if (!find(t, kind, &from, &n) || n > sizeof copy)
        return;
    memcpy(copy, t->s + from, n);
    if (find(t, kind, &at, &len))
        put(t, at, len, copy, n);
}

#define PICK(list) (list)[draw(sizeof(list) / sizeof *(list))]

static void change_word(struct text *t)
{
    size_t at, len;
    const char *w = draw(2) ? PICK(types) : PICK(words);

    if (!find(t, '.', &at, &len))
        return;
    switch (draw(5)) {
    case 0: /* one more */
        put(t, at, 0, w, strlen(w));
        break;
    case 1: /* one less */
        put(t, at, len, "", 0);
        break;
    default:
        put(t, at, len, w, strlen(w));
    }
}

/* The statement at a random place: from behind one ; or line end to the next.
 * 0 = none. */
static size_t statement(const struct text *t, size_t *at)
{
    size_t i = draw(t->n), e;

    while (i && t->s[i - 1] != ';' && t->s[i - 1] != '\n')
        i--;
    for (e = i; e < t->n && t->s[e] != ';' && t->s[e] != '\n'; )
        e++;
    *at = i;
    return e < t->n ? e + 1 - i : 0;
}

static void move_statement(struct text *t)
{
    char copy[512];
    size_t at, len = statement(t, &at), to;

    if (!len || len > sizeof copy)
        return;
    memcpy(copy, t->s + at, len);
    if (draw(2))
        put(t, at, len, "", 0);
    if (draw(4) && t->n) {
        statement(t, &to);
        put(t, to, 0, copy, len);
    }
}

static void change(struct text *t)
{
    size_t at, len;
    const char *w;

    switch (draw(12)) {
    case 0: case 1: case 2:
        change_word(t);
        break;
    case 3: case 4: /* a register for another */
        swap_token(t, '%');
        break;
    case 5: /* a special register */
        w = PICK(sregs);
        if (find(t, '%', &at, &len))
            put(t, at, len, w, strlen(w));
        break;
    case 6: case 7:
        w = PICK(numbers);
        if (find(t, draw(5) ? '0' : '%', &at, &len))
            put(t, at, len, w, strlen(w));
        break;
    case 8: /* an opcode, which is a name like others */
        w = PICK(opcodes);
        if (draw(2))
            swap_token(t, 'a');
        else if (find(t, 'a', &at, &len))
            put(t, at, len, w, strlen(w));
        break;
    case 9:
        swap_token(t, draw(2) ? '.' : '0');
        break;
    default:
        move_statement(t);
    }
}

size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t size, size_t most,
                               unsigned seed)
{
    struct text t = { (char *)data, size, most };

    state = seed * 0x9E3779B97F4A7C15u + 1;
    if (!size || !draw(8))
        return LLVMFuzzerMutate(data, size, most);
    for (unsigned k = draw(4) + 1; k && t.n; k--)
        change(&t);
    return t.n;
}
