/* section.c -- .file, .section and .pragma: for debuggers and compilers
 *
 * They are checked as the assembler does and change nothing here.
 */
#include "ptx/parse.h"
#include "base/compat.h"

/* ---------------------------------------------------------------- .file -- */

/* Numbers are declared once; above FILES nobody looks. */
static void file_once(struct fgs__parse *p, struct fgs__ptx_pos pos, uint64_t n)
{
    enum { FILES = 65536 };

    if (n >= FILES)
        return;
    if (!p->files)
        p->files = fgs__parse_tmp(p, FILES / 8);
    if (!p->files)
        return;
    if (p->files[n / 8] >> n % 8 & 1)
        fgs__parse_error(p, pos, "file %u is declared twice", (unsigned)n);
    p->files[n / 8] |= (uint8_t)(1 << n % 8);
}

/* .file NUMBER "name" {, time, size} */
void fgs__skip_file(struct fgs__parse *p)
{
    struct fgs__ptx_pos pos;
    uint64_t n, more;

    fgs__parse_next(p);
    pos = p->tok.pos;
    if (!fgs__parse_number(p, UINT32_MAX, &n, "a file number") ||
        !fgs__parse_expect(p, FGS__TOK_STRING, "a file name"))
        return;
    while (fgs__parse_accept(p, ',')) {
        if (!fgs__parse_number(p, UINT64_MAX, &more, "a time stamp or size"))
            return;
    }
    file_once(p, pos, n);
}

/* -------------------------------------------------------------- .pragma -- */

static bool starts(const struct fgs__tok *t, const char *word)
{
    size_t n = strlen(word);

    return t->n >= n && !memcmp(t->s, word, n) &&
        (t->n == n || t->s[n] == ' ');
}

/* "word 0x1f", where word has `n` characters. */
static bool has_number(const struct fgs__tok *t, size_t n)
{
    while (n < t->n && t->s[n] == ' ')
        n++;
    return n < t->n && t->s[n] >= '0' && t->s[n] <= '9';
}

/* In a function an unknown string is ignored (ISA 12); outside of it the
 * assembler knows one, and some it wants inside. */
static void check_pragma(struct fgs__parse *p, const struct fgs__tok *t,
                         enum fgs__pragma_at at)
{
    static const struct {
        const char *word;
        int ptx;
        bool number;
    } inside[] = {
        { "used_bytes_mask", 83, true },
        { "enable_smem_spilling", 87, false },
        { "frequency", 90, true },
    };

    for (size_t k = 0; k < sizeof inside / sizeof inside[0]; k++) {
        if (!starts(t, inside[k].word))
            continue;
        if (at != FGS__PRAGMA_BODY)
            fgs__parse_error(p, t->pos, "'%s' belongs into a function",
                             inside[k].word);
        else if (fgs__check_version(p, t->pos, inside[k].ptx, 0, 0, "'%s'",
                                    inside[k].word) &&
                 inside[k].number && !has_number(t, strlen(inside[k].word)))
            fgs__parse_error(p, t->pos, "'%s' needs a number",
                             inside[k].word);
        return;
    }
    if (at == FGS__PRAGMA_MODULE && !(t->n == 8 && starts(t, "nounroll")))
        fgs__parse_error(p, t->pos, "unknown pragma");
}

void fgs__skip_pragma(struct fgs__parse *p, enum fgs__pragma_at at)
{
    if (!fgs__check_version(p, p->tok.pos, 20, 0, 0, ".pragma"))
        return;
    fgs__parse_next(p);
    do {
        struct fgs__tok t = p->tok;

        if (!fgs__parse_expect(p, FGS__TOK_STRING, "a string"))
            return;
        check_pragma(p, &t, at);
    } while (fgs__parse_accept(p, ','));
    fgs__parse_expect(p, ';', "';'");
}

/* ------------------------------------------------------------- .section -- */

static unsigned bits_of(enum fgs__ptx_type t)
{
    return t == FGS__T_B8 || t == FGS__T_B16 || t == FGS__T_B32 ||
        t == FGS__T_B64 ? fgs__ptx_types[t].bits : 0;
}

/* A number, or label {+ number}, label - label, .section {+ number}. */
static bool parse_datum(struct fgs__parse *p, unsigned bits)
{
    struct fgs__const c;
    struct fgs__ptx_pos pos = p->tok.pos;

    if (p->tok.kind == FGS__TOK_NAME || p->tok.kind == FGS__TOK_WORD) {
        bool label = p->tok.kind == FGS__TOK_NAME;

        fgs__parse_next(p);
        if (label && fgs__parse_accept(p, '-'))
            return fgs__parse_expect(p, FGS__TOK_NAME, "a label");
        if (!fgs__parse_accept(p, '+'))
            return true;
        return fgs__parse_number(p, UINT64_MAX, &c.value, "an offset");
    }
    c.kind = 0;
    if (fgs__parse_accept(p, '-')) {
        c.is_unsigned = false;
        if (!fgs__parse_number(p, INT64_MAX, &c.value, "a number"))
            return false;
        c.value = 0 - c.value;
    } else {
        c.is_unsigned = true;
        if (!fgs__parse_number(p, UINT64_MAX, &c.value, "a number or a label"))
            return false;
    }
    if (fgs__const_fits(&c, bits))
        return true;
    fgs__parse_error(p, pos, "the value does not fit in %u bits", bits);
    return false;
}

/* label: or .b8 1, 2 */
static bool parse_line(struct fgs__parse *p)
{
    unsigned bits;

    if (fgs__parse_accept(p, FGS__TOK_NAME))
        return fgs__parse_expect(p, ':', "':'");
    bits = bits_of((enum fgs__ptx_type)fgs__parse_word(p)->type);
    if (!bits) {
        fgs__parse_expected(p, ".b8, .b16, .b32, .b64 or a label");
        return false;
    }
    fgs__parse_next(p);
    do {
        if (!parse_datum(p, bits))
            return false;
    } while (fgs__parse_accept(p, ','));
    return true;
}

/* .section .name { lines }: data of a debugger, which we do not read. */
void fgs__skip_section(struct fgs__parse *p)
{
    if (!fgs__check_version(p, p->tok.pos, 20, 0, 0, ".section"))
        return;
    fgs__parse_next(p);
    if (!fgs__parse_expect(p, FGS__TOK_WORD, "a section's name") ||
        !fgs__parse_expect(p, '{', "'{'"))
        return;
    while (p->tok.kind != '}')
        if (!parse_line(p))
            return;
    fgs__parse_next(p);
}
