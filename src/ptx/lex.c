/* lex.c -- PTX text as tokens with line and column
 *
 * The text may end anywhere, with or without NUL.  What the assembler accepts
 * was tried: line markers (# 1 "file") but no other preprocessor line, 5. and
 * .5 and 1e3 as literals, exactly 8 and 16 digits behind 0f and 0d, no letter
 * behind a number but U (ISA 4.5).
 */
#include "ptx/lex.h"
#include "base/compat.h"

#include <errno.h>
#include <locale.h>

enum { SPACE_ = 1, DIGIT = 2, HEX = 4, ALPHA = 8, FOLLOW = 16, PUNCT = 32 };

#define X10(v) v, v, v, v, v, v, v, v, v, v

static const unsigned char class_of[256] = {
    [' '] = SPACE_, ['\t'] = SPACE_, ['\r'] = SPACE_, ['\n'] = SPACE_,
    ['\f'] = SPACE_, ['\v'] = SPACE_,
    ['0'] = X10(DIGIT | HEX | FOLLOW),
    ['a'] = ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX,
    ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX,
    ['g'] = X10(ALPHA | FOLLOW), X10(ALPHA | FOLLOW),
    ['A'] = ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX,
    ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX, ALPHA | FOLLOW | HEX,
    ['G'] = X10(ALPHA | FOLLOW), X10(ALPHA | FOLLOW),
    ['_'] = FOLLOW, ['$'] = FOLLOW,
    ['@'] = PUNCT, ['|'] = PUNCT, ['!'] = PUNCT, ['+'] = PUNCT, ['-'] = PUNCT,
    ['['] = PUNCT, [']'] = PUNCT, ['{'] = PUNCT, ['}'] = PUNCT, ['('] = PUNCT,
    [')'] = PUNCT, ['<'] = PUNCT, ['>'] = PUNCT, [','] = PUNCT, [';'] = PUNCT,
    [':'] = PUNCT, ['='] = PUNCT, ['*'] = PUNCT, ['/'] = PUNCT, ['%'] = PUNCT,
    ['&'] = PUNCT, ['^'] = PUNCT, ['~'] = PUNCT, ['?'] = PUNCT,
};

static int is(const struct fgs__lex *lx, const char *p, int mask)
{
    return p < lx->end && class_of[(unsigned char)*p] & mask;
}

static char at(const struct fgs__lex *lx, const char *p)
{
    return p < lx->end ? *p : 0;
}

void fgs__lex_init(struct fgs__lex *lx, const char *text, size_t len)
{
    const char *nul = len ? memchr(text, 0, len) : NULL;

    lx->p = lx->line_start = text;
    lx->end = nul ? nul : text + len;
    lx->line = 1;
    lx->line_blank = true;
    lx->why = NULL;
}

static void new_line(struct fgs__lex *lx, const char *p)
{
    lx->line++;
    lx->line_start = p + 1;
    lx->line_blank = true;
}

/* Behind a block comment; false = it has no end. */
static bool skip_block(struct fgs__lex *lx)
{
    const char *p = lx->p + 2;

    for (; p < lx->end; p++) {
        if (*p == '\n')
            new_line(lx, p);
        if (*p == '*' && at(lx, p + 1) == '/') {
            lx->p = p + 2;
            return true;
        }
    }
    lx->p = lx->end;
    return false;
}

static void skip_line(struct fgs__lex *lx)
{
    const char *nl = memchr(lx->p, '\n', (size_t)(lx->end - lx->p));

    lx->p = nl ? nl : lx->end;
}

/* A line marker of a preprocessor: # 12 "file". */
static bool is_marker(const struct fgs__lex *lx)
{
    const char *p = lx->p + 1;

    while (is(lx, p, SPACE_) && *p != '\n')
        p++;
    return lx->line_blank && is(lx, p, DIGIT);
}

static struct fgs__ptx_pos here(const struct fgs__lex *lx)
{
    return (struct fgs__ptx_pos){
        lx->line, (uint32_t)(lx->p - lx->line_start) + 1
    };
}

/* Skip what separates tokens; false = `tok` holds an error. */
static bool skip_space(struct fgs__lex *lx, struct fgs__tok *tok)
{
    for (; lx->p < lx->end; ) {
        char c = *lx->p;

        if (c == '\n') {
            new_line(lx, lx->p++);
        } else if (is(lx, lx->p, SPACE_)) {
            lx->p++;
        } else if (c == '/' && at(lx, lx->p + 1) == '/') {
            skip_line(lx);
        } else if (c == '/' && at(lx, lx->p + 1) == '*') {
            tok->pos = here(lx);
            if (!skip_block(lx)) {
                lx->why = "this comment has no end";
                return false;
            }
        } else if (c == '#' && is_marker(lx)) {
            skip_line(lx);
        } else {
            break;
        }
    }
    return true;
}

static void fail(struct fgs__lex *lx, struct fgs__tok *tok, const char *why)
{
    while (is(lx, lx->p, FOLLOW))
        lx->p++;
    tok->kind = FGS__TOK_ERROR;
    lx->why = why;
}

/* ------------------------------------------------------------- numbers -- */

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return (unsigned)((c | 32) - 'a') + 10;
}

/* Exactly n hexadecimal digits behind 0f or 0d. */
static void lex_bits(struct fgs__lex *lx, struct fgs__tok *tok, int n, int kind)
{
    uint64_t v = 0;

    lx->p += 2;
    for (int i = 0; i < n; i++, lx->p++) {
        if (!is(lx, lx->p, HEX)) {
            fail(lx, tok, n == 8 ? "0f needs 8 hexadecimal digits"
                                 : "0d needs 16 hexadecimal digits");
            return;
        }
        v = v << 4 | digit(*lx->p);
    }
    tok->kind = kind;
    tok->value = v;
}

static void lex_int(struct fgs__lex *lx, struct fgs__tok *tok, unsigned base)
{
    uint64_t v = 0;
    bool big = false;

    for (; is(lx, lx->p, HEX) && digit(*lx->p) < base; lx->p++) {
        uint64_t next = v * base + digit(*lx->p);

        big = big || v > (UINT64_MAX - digit(*lx->p)) / base;
        v = next;
    }
    tok->kind = FGS__TOK_INT;
    tok->value = v;
    tok->is_unsigned = v > INT64_MAX;
    if (at(lx, lx->p) == 'U') {
        tok->is_unsigned = true;
        lx->p++;
    }
    if (big)
        fail(lx, tok, "the number does not fit in 64 bits");
}

/* Behind the literal's characters when one of a decimal float starts at `p`,
 * else NULL. */
static const char *float_end(const struct fgs__lex *lx, const char *p)
{
    const char *q, *start = p;

    while (is(lx, p, DIGIT))
        p++;
    q = p;
    if (at(lx, p) == '.') {
        p++;
        while (is(lx, p, DIGIT))
            p++;
    }
    if (p - start == 1 && q == start)
        return NULL; /* a lonely dot */
    if ((at(lx, p) | 32) == 'e') {
        const char *e = p + 1;

        if (at(lx, e) == '+' || at(lx, e) == '-')
            e++;
        if (is(lx, e, DIGIT)) {
            while (is(lx, e, DIGIT))
                e++;
            return e;
        }
    }
    return p > q ? p : NULL;
}

/* strtod reads the locale's decimal point, PTX always has a dot. */
static void lex_float(struct fgs__lex *lx, struct fgs__tok *tok,
                      const char *end)
{
    char buf[256];
    const char *point = localeconv()->decimal_point;
    size_t n = 0, dot = strlen(point);
    double d;

    for (const char *p = lx->p; p < end && n + dot < sizeof buf; p++) {
        if (*p == '.') {
            memcpy(buf + n, point, dot);
            n += dot;
        } else {
            buf[n++] = *p;
        }
    }
    if (n + dot >= sizeof buf) {
        lx->p = end;
        fail(lx, tok, "the number has too many digits");
        return;
    }
    buf[n] = 0;
    errno = 0;
    d = strtod(buf, NULL);
    if (errno == ERANGE && (d == 0 || d > 1 || d < -1)) {
        lx->p = end;
        fail(lx, tok, "the number does not fit in 64 bits");
        return;
    }
    memcpy(&tok->value, &d, sizeof d);
    tok->kind = FGS__TOK_F64;
    lx->p = end;
}

static void lex_number(struct fgs__lex *lx, struct fgs__tok *tok)
{
    int c = at(lx, lx->p + 1) | 32;
    const char *end = float_end(lx, lx->p);

    if (*lx->p == '0' && c == 'f') {
        lex_bits(lx, tok, 8, FGS__TOK_F32);
    } else if (*lx->p == '0' && c == 'd') {
        lex_bits(lx, tok, 16, FGS__TOK_F64);
    } else if (*lx->p == '0' && c == 'x' && is(lx, lx->p + 2, HEX)) {
        lx->p += 2;
        lex_int(lx, tok, 16);
    } else if (*lx->p == '0' && c == 'b' && is(lx, lx->p + 2, DIGIT)) {
        lx->p += 2;
        lex_int(lx, tok, 2);
    } else if (end) {
        lex_float(lx, tok, end);
    } else {
        lex_int(lx, tok, *lx->p == '0' ? 8 : 10);
    }
    if (tok->kind != FGS__TOK_ERROR && is(lx, lx->p, FOLLOW))
        fail(lx, tok, "a character follows the number");
}

/* ------------------------------------------------------- names and rest -- */

static uint32_t scan(struct fgs__lex *lx, uint32_t hash)
{
    const char *p = lx->p, *end = lx->end;

    while (p < end && class_of[(unsigned char)*p] & FOLLOW)
        hash = fgs__hash_char(hash, (unsigned char)*p++);
    lx->p = p;
    return hash;
}

static void lex_name(struct fgs__lex *lx, struct fgs__tok *tok)
{
    tok->kind = FGS__TOK_NAME;
    tok->hash = fgs__hash_char(FGS__HASH_START, (unsigned char)*lx->p++);
    tok->hash = scan(lx, tok->hash);
    tok->n = (size_t)(lx->p - tok->s);
    if (tok->n > 1 || class_of[(unsigned char)*tok->s] & ALPHA)
        return;
    if (*tok->s == '_')
        tok->kind = '_';
    else
        fail(lx, tok, "a name needs a letter or a digit");
}

/* .word and its ::parts.  Digits alone are a fraction (.5). */
static void lex_word(struct fgs__lex *lx, struct fgs__tok *tok)
{
    const char *end;

    if (is(lx, lx->p + 1, DIGIT)) {
        end = float_end(lx, lx->p);
        if (end && !is(lx, end, FOLLOW)) {
            lex_float(lx, tok, end);
            return;
        }
    }
    tok->s = ++lx->p;
    if (!is(lx, lx->p, FOLLOW)) {
        fail(lx, tok, "a word must follow the dot");
        return;
    }
    tok->kind = FGS__TOK_WORD;
    tok->hash = scan(lx, FGS__HASH_START);
    while (at(lx, lx->p) == ':' && at(lx, lx->p + 1) == ':' &&
           is(lx, lx->p + 2, FOLLOW)) {
        tok->hash = fgs__hash_more(tok->hash, "::", 2);
        lx->p += 2;
        tok->hash = scan(lx, tok->hash);
    }
    tok->n = (size_t)(lx->p - tok->s);
}

static void lex_string(struct fgs__lex *lx, struct fgs__tok *tok)
{
    tok->kind = FGS__TOK_STRING;
    tok->s = ++lx->p;
    while (lx->p < lx->end && *lx->p != '"' && *lx->p != '\n')
        lx->p += *lx->p == '\\' && lx->end - lx->p > 1 && lx->p[1] != '\n'
            ? 2 : 1;
    if (at(lx, lx->p) != '"') {
        fail(lx, tok, "this string has no end");
        return;
    }
    tok->n = (size_t)(lx->p++ - tok->s);
}

static void lex_punct(struct fgs__lex *lx, struct fgs__tok *tok)
{
    static const struct {
        char s[3];
        int kind;
    } two[] = {
        { "<<", FGS__TOK_SHL }, { ">>", FGS__TOK_SHR }, { "==", FGS__TOK_EQ },
        { "!=", FGS__TOK_NE },  { "<=", FGS__TOK_LE },  { ">=", FGS__TOK_GE },
        { "&&", FGS__TOK_LAND }, { "||", FGS__TOK_LOR },
    };
    char c = *lx->p, d = at(lx, lx->p + 1);
    bool twin = d == '<' || d == '>' || d == '=' || d == '&' || d == '|';

    for (size_t i = 0; twin && i < sizeof two / sizeof two[0]; i++) {
        if (c == two[i].s[0] && d == two[i].s[1]) {
            tok->kind = two[i].kind;
            lx->p += 2;
            return;
        }
    }
    lx->p++;
    if (class_of[(unsigned char)c] & PUNCT) {
        tok->kind = (unsigned char)c;
        return;
    }
    tok->kind = FGS__TOK_ERROR;
    lx->why = c == '#' ? "a preprocessor line other than # number \"file\""
                       : "this character has no meaning in PTX";
}

void fgs__lex_next(struct fgs__lex *lx, struct fgs__tok *tok)
{
    bool ok = skip_space(lx, tok);

    if (ok)
        tok->pos = here(lx);
    tok->s = lx->p;
    tok->n = 0;
    if (!ok) {
        tok->kind = FGS__TOK_ERROR;
        return;
    }
    if (lx->p == lx->end) {
        tok->kind = FGS__TOK_END;
        return;
    }
    if (is(lx, lx->p, ALPHA) || *lx->p == '_' || *lx->p == '$' ||
        (*lx->p == '%' && is(lx, lx->p + 1, FOLLOW)))
        lex_name(lx, tok);
    else if (*lx->p == '.')
        lex_word(lx, tok);
    else if (is(lx, lx->p, DIGIT))
        lex_number(lx, tok);
    else if (*lx->p == '"')
        lex_string(lx, tok);
    else
        lex_punct(lx, tok);
    if (tok->kind != FGS__TOK_STRING && tok->kind != FGS__TOK_WORD)
        tok->n = (size_t)(lx->p - tok->s);
    lx->line_blank = false;
}
