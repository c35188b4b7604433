/* plan_read.c -- a plan file: lines, words, loops, what stands in braces */
#include "plan_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- memory -- */

struct plan_bag {
    struct plan_bag *next;
    max_align_t data[];
};

void *plan_keep(struct plan_reader *r, size_t bytes)
{
    struct plan_bag *b = calloc(1, sizeof *b + bytes);

    if (!b) {
        r->no_memory = true;
        return NULL;
    }
    b->next = r->f->bag;
    r->f->bag = b;
    return b->data;
}

char *plan_keep_text(struct plan_reader *r, const char *text, size_t len)
{
    char *copy = plan_keep(r, len + 1);

    if (copy)
        memcpy(copy, text, len);
    return copy;
}

/* Doubled, so that many take no quadratic time; the old ones stay. */
void *plan_grow(struct plan_reader *r, const void *old, uint32_t count,
                size_t size)
{
    void *wider;

    if (count & (count - 1))
        return (void *)old;
    wider = plan_keep(r, size * (count ? 2 * (size_t)count : 1));
    if (wider && count)
        memcpy(wider, old, size * count);
    return wider;
}

void plan_drop(struct plan_file *f)
{
    struct plan_bag *b, *next;

    for (b = f->bag; b; b = next) {
        next = b->next;
        free(b);
    }
    memset(f, 0, sizeof *f);
}

/* ------------------------------------------------------------- errors -- */

void plan_wrong(struct plan_reader *r, const struct plan_token *t,
                const char *fmt, ...)
{
    uint32_t column =
        t ? t->column : (uint32_t)strcspn(r->lines[r->line], "#") + 1;
    va_list ap;

    if (r->errors++ >= PLAN_ERRORS)
        return;
    fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": ", r->f->path, r->line + 1,
            column);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

const struct plan_token *plan_next(struct plan_reader *r)
{
    return r->at < r->token_count ? &r->tokens[r->at++] : NULL;
}

/* ------------------------------------------------------------- braces -- */

/* The value of a loop's variable. */
static bool value_of(const struct plan_reader *r, const char *name, size_t len,
                     int64_t *out)
{
    uint32_t i;

    for (i = r->depth; i-- > 0;)
        if (strlen(r->loops[i].name) == len &&
            !memcmp(r->loops[i].name, name, len)) {
            *out = r->loops[i].at;
            return true;
        }
    return false;
}

/* A number or a variable at *p, moved past it; false = *why says why not. */
static bool operand(const struct plan_reader *r, const char **p, int64_t *out,
                    const char **why)
{
    size_t len = strcspn(*p, "+-*/%}");

    *why = "is no number, and no repeat around has that variable";
    if (len && len < 10 && strspn(*p, "0123456789") == len)
        *out = strtoll(*p, NULL, 10);
    else if (!len || !value_of(r, *p, len, out))
        return false;
    *p += len;
    return true;
}

/* What stands behind '{', from left to right; *p is moved past '}'. */
static bool expression(const struct plan_reader *r, const char **p,
                       int64_t *out, const char **why)
{
    int64_t right;
    char op;

    if (!operand(r, p, out, why))
        return false;
    while (**p != '}') {
        op = *(*p)++;
        if (!operand(r, p, &right, why))
            return false;
        if ((op == '/' || op == '%') && !right) {
            *why = "divides by 0";
            return false;
        }
        *out = op == '+'   ? *out + right
               : op == '-' ? *out - right
               : op == '*' ? *out * right
               : op == '/' ? *out / right
                           : *out % right;
        if (*out < 0 || *out > INT32_MAX) {
            *why = "is below 0 or above 2147483647";
            return false;
        }
    }
    (*p)++;
    return true;
}

/* A word with its braces replaced; NULL = it is wrong, and was told. */
static const char *expand(struct plan_reader *r, const char *word, size_t len,
                          uint32_t column)
{
    const char *p, *end = word + len, *why = "lacks its }";
    char *out = plan_keep(r, len * 4 + 1), *to = out; /* {0}: ten digits */
    int64_t n;

    if (!out)
        return NULL;
    for (p = word; p < end;) {
        if (*p != '{') {
            *to++ = *p++;
            continue;
        }
        p++;
        if (!memchr(p, '}', (size_t)(end - p)) ||
            !expression(r, &p, &n, &why)) {
            struct plan_token t = {word, column};

            plan_wrong(r, &t, "\"%.*s\": what stands in { } %s", (int)len, word,
                       why);
            return NULL;
        }
        to += snprintf(to, 11, "%" PRId64, n);
    }
    return out;
}

/* The line's words; false = it is wrong, and was told. */
static bool split(struct plan_reader *r)
{
    const char *line = r->lines[r->line], *p = line;
    struct plan_token *t;
    size_t len;

    r->token_count = r->at = 0;
    for (p += strspn(p, " \t\r"); *p && *p != '#'; p += strspn(p, " \t\r")) {
        struct plan_token extra = {p, (uint32_t)(p - line) + 1};

        if (r->token_count == PLAN_TOKENS) {
            plan_wrong(r, &extra, "a line has %d words at most", PLAN_TOKENS);
            return false;
        }
        len = strcspn(p, " \t\r#");
        t = &r->tokens[r->token_count++];
        t->column = extra.column;
        t->text = expand(r, p, len, t->column);
        if (!t->text)
            return false;
        p += len;
    }
    return true;
}

/* -------------------------------------------------------------- loops -- */

/* Behind `repeat`: NAME FROM TO. */
static bool repeat_parse(struct plan_reader *r, struct plan_loop *l)
{
    const struct plan_token *name = plan_next(r), *t;
    uint64_t n[2];
    const char *bad;
    int i;

    if (!name || !strspn(name->text, "abcdefghijklmnopqrstuvwxyz") ||
        name->text[strspn(name->text, "abcdefghijklmnopqrstuvwxyz")]) {
        plan_wrong(r, name, "repeat: a variable of small letters is expected");
        return false;
    }
    for (i = 0; i < 2; i++) {
        t = plan_next(r);
        bad = t ? number_parse(t->text, 0, INT32_MAX, &n[i]) : NULL;
        if (!t || bad) {
            plan_wrong(r, t, "repeat: FROM and TO are expected: \"%s\" %s",
                       t ? t->text : "", t ? bad : "needs a number");
            return false;
        }
    }
    if (r->at < r->token_count) {
        plan_wrong(r, plan_next(r), "repeat: nothing is expected behind TO");
        return false;
    }
    l->name = name->text;
    l->at = (int64_t)n[0];
    l->to = (int64_t)n[1];
    if (l->at <= l->to)
        return true;
    plan_wrong(r, name, "repeat: FROM is above TO");
    return false;
}

static bool repeat_begin(struct plan_reader *r, const struct plan_token *t)
{
    struct plan_loop *l = &r->loops[r->depth];

    if (r->depth == PLAN_DEPTH) {
        plan_wrong(r, t, "repeat: more than %d in one another", PLAN_DEPTH);
        return false;
    }
    l->place.line = r->line;
    l->place.column = t->column;
    if (!repeat_parse(r, l))
        return false;
    r->depth++;
    return true;
}

static bool repeat_end(struct plan_reader *r, const struct plan_token *t)
{
    struct plan_loop *l;

    if (r->at < r->token_count) {
        plan_wrong(r, plan_next(r), "end: nothing is expected behind it");
        return false;
    }
    if (!r->depth) {
        plan_wrong(r, t, "end: no repeat is open");
        return false;
    }
    l = &r->loops[r->depth - 1];
    if (l->at++ < l->to)
        r->line = l->place.line;
    else
        r->depth--;
    return true;
}

/* What is wrong in a loop's frame makes all that follows doubtful: false. */
static bool line_read(struct plan_reader *r)
{
    const struct plan_token *t;

    if (r->done++ == PLAN_MOST) {
        plan_wrong(r, NULL, "the repeats come to more than %d lines",
                   PLAN_MOST);
        return false;
    }
    if (!split(r))
        return true;
    t = plan_next(r);
    if (!t)
        return true;
    if (!strcmp(t->text, "repeat"))
        return repeat_begin(r, t);
    if (!strcmp(t->text, "end"))
        return repeat_end(r, t);
    plan_statement(r, t);
    return true;
}

static void open_loop(struct plan_reader *r)
{
    struct plan_loop *l = &r->loops[r->depth - 1];
    struct plan_token t = {l->name, l->place.column};

    r->line = l->place.line;
    plan_wrong(r, &t, "repeat: its end is missing");
}

/* --------------------------------------------------------------- file -- */

/* Lines of `text`, cut in place. */
static bool cut(struct plan_reader *r, char *text, size_t size)
{
    size_t i, n = 1;

    for (i = 0; i < size; i++)
        n += text[i] == '\n';
    r->lines = plan_keep(r, n * sizeof *r->lines);
    if (!r->lines)
        return false;
    for (i = 0; i < n; i++) {
        r->lines[i] = text;
        text += strcspn(text, "\n");
        *text++ = 0;
    }
    r->line_count = (uint32_t)n;
    return true;
}

static void read_lines(struct plan_reader *r)
{
    for (r->line = 0; r->line < r->line_count; r->line++)
        if (!line_read(r) || r->no_memory || r->errors > PLAN_ERRORS)
            return;
    r->line = r->line_count - 1;
    if (r->depth)
        open_loop(r);
    else if (!r->errors)
        plan_finish(r);
}

static void set_defaults(struct plan_reader *r)
{
    r->f->rounds = r->f->seed = 1;
    r->f->bound_ms = 2000;
    r->f->order = "auto";
    r->buffer.tiles = 16;
    r->buffer.tile_bytes = 4096;
    r->buffer.slots = 1;
    r->buffer.fill = "auto";
}

static int read_lines_of(struct plan_reader *r, char *text, size_t size)
{
    if (strlen(text) != size)
        return failure("plan", "%s: is no text: it holds a NUL", r->f->path);
    if (size > 1 << 24)
        return failure("plan", "%s: is larger than 16 MiB", r->f->path);
    if (cut(r, text, size))
        read_lines(r);
    if (r->no_memory)
        return failure("plan", "%s: no memory", r->f->path);
    if (r->errors > PLAN_ERRORS)
        failure("plan", "%s: has more errors", r->f->path);
    return r->errors ? EXIT_BAD : EXIT_GOOD;
}

int plan_read_text(const char *path, char *text, size_t size,
                   struct plan_file *out)
{
    struct plan_reader *r = calloc(1, sizeof *r);
    int code;

    memset(out, 0, sizeof *out);
    out->path = path;
    if (!r)
        return failure("plan", "%s: no memory", path);
    r->f = out;
    set_defaults(r);
    code = read_lines_of(r, text, size);
    if (code != EXIT_GOOD)
        plan_drop(out);
    free(r);
    return code;
}

int plan_read(const char *path, struct plan_file *out)
{
    unsigned char *text;
    size_t size;
    int code, bad = file_read(path, &text, &size);

    if (bad)
        return failure("plan", "%s: %s", path, strerror(bad));
    code = plan_read_text(path, (char *)text, size, out);
    free(text);
    return code;
}
