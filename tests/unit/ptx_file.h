/* ptx_file.h -- what the comments of a text of tests/ptx/run say
 *
 * A file has one .entry with the parameters p_in and p_out, both .u64, and
 * says in lines of its own (several `in` and several `out` are joined):
 *
 *   //: launch G x B          blocks and threads; N or X,Y,Z each
 *   //: shared N              dynamic shared bytes                 (default 0)
 *   //: cluster N             blocks of a cluster, N or X,Y,Z   (default none)
 *   //: in TYPE VALUE...      bytes behind p_in
 *   //: out TYPE VALUE...     bytes behind p_out, zero before the launch
 *   //: tensormap ...         a third parameter, p_map: see map_line.h
 *   //: texture ...           a further parameter each, .u64: see tex_line.h
 *   //: surface ...
 *   //: fault WORDS           instead of out: the kernel faults, and the
 *                             sentence holds these words
 *
 * TYPE is u8 ... u64, s8 ... s64, b8 ... b128, f32, f64.  A value is a decimal
 * number or the bits as 0x...; VALUE*N is N times the same.  Values lie one
 * behind the other without gaps.
 */
#ifndef FGS_TEST_PTX_FILE_H
#define FGS_TEST_PTX_FILE_H

#include "base/compat.h"
#include "map_line.h"
#include "tex_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 17, BYTES = 1 << 18 };

struct bytes {
    unsigned char at[BYTES];
    unsigned char width[BYTES]; /* of the element that begins here, else 0 */
    size_t len;
};

struct file {
    const char *path;
    char text[TEXT];
    size_t len;
    unsigned grid[3], block[3], cluster[3], shared;
    bool launch, has_out;
    char fault[200];
    struct bytes in, out;
    struct map_line map;
    struct tex_line tex[TEX_LINES];
    unsigned texs;
    char entry[200]; /* filled from the text's module */
    int cc, level;
};

static void refuse(const struct file *f, unsigned line, const char *fmt, ...)
    FGS__PRINTF(3, 4);
static void refuse(const struct file *f, unsigned line, const char *fmt, ...)
{
    char why[200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    fail_msg("%s:%u: %s", f->path, line, why);
}

/* Bits of a float, a decimal one. */
static bool float_bits(const char *v, char **end, unsigned width, uint64_t *out)
{
    float f = strtof(v, end);
    double d = strtod(v, end);
    uint32_t word;

    if (d != d) /* which one must be said in bits */
        return false;
    memcpy(&word, &f, sizeof word);
    memcpy(out, &d, sizeof d);
    if (width == 4)
        *out = word;
    return true;
}

/* 0x and up to 32 digits. */
static bool hex_bits(const char *v, char **end, uint64_t out[2])
{
    out[0] = out[1] = 0;
    for (v += 2; ; v++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *d = *v ? strchr(digits, *v) : NULL;

        if (!d)
            break;
        if (out[1] >> 60)
            return false;
        out[1] = out[1] << 4 | out[0] >> 60;
        out[0] = out[0] << 4 | (uint64_t)(d - digits) % 16;
    }
    *end = (char *)(uintptr_t)v;
    return true;
}

/* One value in the bits of its type; false = it is none of that type. */
static bool value_bits(char kind, unsigned width, const char *v, char **end,
                       uint64_t out[2])
{
    uint64_t top = width < 8 ? (1ull << 8 * width) - 1 : UINT64_MAX;

    out[1] = 0;
    errno = 0;
    if (v[0] == '0' && (v[1] == 'x' || v[1] == 'X'))
        return hex_bits(v, end, out) && *end > v + 2 && out[0] <= top &&
               (width == 16 || !out[1]);
    if (kind == 'f')
        return float_bits(v, end, width, &out[0]);
    if (kind == 's') {
        int64_t most = (int64_t)(top >> 1), n = strtoll(v, end, 10);

        out[0] = (uint64_t)n & top;
        return !errno && n <= most && n >= -most - 1;
    }
    out[0] = strtoull(v, end, 10);
    return !errno && v[0] != '-' && out[0] <= top;
}

static void add(struct file *f, unsigned line, struct bytes *b,
                const uint64_t bits[2], unsigned width, uint64_t times)
{
    if (times > BYTES || b->len + times * width > BYTES)
        refuse(f, line, "more than %d bytes", BYTES);
    for (; times; times--) {
        memcpy(b->at + b->len, bits, width);
        b->width[b->len] = (unsigned char)width;
        b->len += width;
    }
}

static void parse_values(struct file *f, unsigned line, struct bytes *b,
                         char *s)
{
    unsigned width = 0;
    char kind = 0, *end, *word, *save = NULL;

    word = strtok_r(s, " ", &save);
    if (!word || sscanf(word, "%c%u", &kind, &width) != 2 || width % 8 ||
        !strchr("usbf", kind) || width < (kind == 'f' ? 32 : 8) ||
        width > (kind == 'b' ? 128 : 64) || (width & (width - 1)))
        refuse(f, line, "\"%s\" is no type", word ? word : "");
    for (unsigned n = 0; ; n++) {
        uint64_t bits[2], times = 1;

        word = strtok_r(NULL, " ", &save);
        if (!word && n)
            return;
        if (!word)
            refuse(f, line, "no value");
        if (!value_bits(kind, width / 8, word, &end, bits) || end == word)
            refuse(f, line, "\"%s\" is no %c%u", word, kind, width);
        if (*end == '*')
            times = strtoull(end + 1, &end, 10);
        if (*end || !times)
            refuse(f, line, "\"%s\" is no %c%u", word, kind, width);
        add(f, line, b, bits, width / 8, times);
    }
}

/* N or X,Y,Z; where it ends. */
static char *parse_size(struct file *f, unsigned line, char *s, unsigned out[3])
{
    for (int d = 0; d < 3; d++)
        out[d] = 1;
    for (int d = 0; d < 3; d++) {
        out[d] = (unsigned)strtoul(s, &s, 10);
        if (!out[d])
            refuse(f, line, "a size that is no number above 0");
        if (*s != ',')
            break;
        s++;
    }
    return s;
}

static void parse_launch(struct file *f, unsigned line, char *s)
{
    unsigned *const size[2] = { f->grid, f->block };
    char *x = strstr(s, " x "), *end = s;

    if (f->launch || !x)
        refuse(f, line, "a second launch, or not G x B");
    for (int k = 0; k < 2; k++) {
        end = parse_size(f, line, end, size[k]);
        if (k ? *end : end != x)
            refuse(f, line, "not G x B");
        end = x + 3;
    }
    f->launch = true;
}

static void parse_line(struct file *f, unsigned line, char *word)
{
    char *rest = word + strcspn(word, " "), *end;

    if (*rest)
        *rest++ = 0;
    rest += strspn(rest, " ");
    if (!*rest)
        refuse(f, line, "nothing behind \"%s\"", word);
    if (!strcmp(word, "launch")) {
        parse_launch(f, line, rest);
    } else if (!strcmp(word, "cluster")) {
        if (*parse_size(f, line, rest, f->cluster))
            refuse(f, line, "cluster is not N or X,Y,Z");
    } else if (!strcmp(word, "shared")) {
        f->shared = (unsigned)strtoul(rest, &end, 10);
        if (*end)
            refuse(f, line, "shared is no number");
    } else if (!strcmp(word, "in")) {
        parse_values(f, line, &f->in, rest);
    } else if (!strcmp(word, "out")) {
        f->has_out = true;
        parse_values(f, line, &f->out, rest);
    } else if (!strcmp(word, "tensormap")) {
        if (!map_parse(&f->map, rest))
            refuse(f, line, "this describes no tensor map");
    } else if (!strcmp(word, "texture") || !strcmp(word, "surface")) {
        if (f->texs == TEX_LINES ||
            !tex_parse(&f->tex[f->texs++], word[0] == 's', rest))
            refuse(f, line, "this describes no %s", word);
    } else if (!strcmp(word, "fault")) {
        snprintf(f->fault, sizeof f->fault, "%s", rest);
    } else {
        refuse(f, line, "unknown word \"%s\"", word);
    }
}

static void read_file(struct file *f, const char *path)
{
    FILE *h = fopen(path, "rb");
    unsigned line = 1;

    memset(f, 0, sizeof *f);
    f->path = path;
    assert_non_null(h);
    f->len = fread(f->text, 1, sizeof f->text - 1, h);
    fclose(h);
    if (f->len == sizeof f->text - 1)
        refuse(f, 1, "a longer text than %d bytes", TEXT);
    for (char *s = f->text, *end; *s; s = end + 1, line++) {
        char copy[400];

        end = strchr(s, '\n');
        if (!end)
            refuse(f, line, "no line end");
        if (strncmp(s, "//:", 3))
            continue;
        if (end - s >= (long)sizeof copy)
            refuse(f, line, "a long line");
        snprintf(copy, sizeof copy, "%.*s", (int)(end - s), s);
        parse_line(f, line, copy + 3 + strspn(copy + 3, " "));
    }
    if (!f->launch || f->has_out == !!f->fault[0])
        refuse(f, 1, "it needs a launch, and out or fault");
}

#endif
