/* expand.c -- replace the @TOKENS@ of a template */
#include "text/text.h"

#include "base/alloc.h"
#include "base/error.h"

static int is_first(char c)
{
    return c >= 'A' && c <= 'Z';
}

static int is_name(char c)
{
    return is_first(c) || (c >= '0' && c <= '9') || c == '_';
}

/* Fail at an offset: lines and columns count from 1. */
static fgs_result fail_at(fgs_error *err, const char *file, const char *src,
                          size_t at, const char *what, const char *name,
                          size_t len)
{
    uint32_t line = 1, column = 1;

    for (size_t i = 0; i < at; i++) {
        column++;
        if (src[i] == '\n') {
            line++;
            column = 1;
        }
    }
    if (!name)
        return fgs__fail_at(err, FGS_E_PTX, file, line, column, "%s", what);
    return fgs__fail_at(err, FGS_E_PTX, file, line, column, "%s @%.*s", what,
                        (int)(len < 64 ? len : 64), name);
}

static const char *find(const struct fgs__var *var, size_t vars,
                        const char *name, size_t len)
{
    for (size_t i = 0; i < vars; i++) {
        if (strlen(var[i].name) == len && !memcmp(var[i].name, name, len))
            return var[i].value;
    }
    return NULL;
}

struct job {
    const char *src;
    size_t len;
    const struct fgs__var *var;
    size_t vars;
    const char *file;
};

fgs_result fgs__text_check(const char *src, size_t len, const char *file,
                           fgs_error *err)
{
    const char *nul = len ? memchr(src, 0, len) : NULL;

    if (!nul)
        return FGS_OK;
    return fail_at(err, file, src, (size_t)(nul - src),
                   "a NUL byte in the text", NULL, 0);
}

/* A line of its own, which fgs__text_include replaces. */
static int is_include(const struct job *j, size_t at)
{
    static const char mark[] = "@INCLUDE ";

    return (at == 0 || j->src[at - 1] == '\n') &&
        j->len - at >= sizeof mark - 1 &&
        !memcmp(j->src + at, mark, sizeof mark - 1);
}

/* Once with out NULL to measure and check, once to write. */
static fgs_result walk(const struct job *j, char *out, size_t *out_len,
                       fgs_error *err)
{
    const char *src = j->src;
    size_t n = 0, end, size;
    const char *put;

    for (size_t i = 0; i < j->len; i = end) {
        put = src + i;
        size = 1;
        end = i + 1;
        if (src[i] == '@' && end < j->len && is_first(src[end]) &&
            !is_include(j, i)) {
            while (end < j->len && is_name(src[end]))
                end++;
            if (end == j->len || src[end] != '@')
                return fail_at(err, j->file, src, i, "unterminated token",
                               src + i + 1, end - i - 1);
            put = find(j->var, j->vars, src + i + 1, end - i - 1);
            end++; /* the message has the token's second @ too */
            if (!put)
                return fail_at(err, j->file, src, i, "unknown token",
                               src + i + 1, end - i - 1);
            size = strlen(put);
        }
        if (out)
            memcpy(out + n, put, size);
        n += size;
    }
    *out_len = n;
    return FGS_OK;
}

fgs_result fgs__text_expand(char **out, size_t *out_len, const char *src,
                            size_t len, const struct fgs__var *var,
                            size_t vars, const char *file,
                            const fgs_allocator *a, fgs_error *err)
{
    const struct job j = { src, len, var, vars, file };
    fgs_result r;

    *out = NULL;
    *out_len = 0;
    r = fgs__text_check(src, len, file, err);
    if (r == FGS_OK)
        r = walk(&j, NULL, out_len, err);
    if (r < 0)
        return r;
    *out = fgs__alloc(a, *out_len + 1);
    if (!*out) {
        *out_len = 0;
        return fgs__nomem(err);
    }
    walk(&j, *out, out_len, NULL);
    (*out)[*out_len] = 0;
    return FGS_OK;
}
