/* include.c -- @INCLUDE NAME@: lines that several templates share */
#include "text/text.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/embed.h"

static const char mark[] = "@INCLUDE ";

const char *fgs__include_next(const char *at, char name[64], const char **end)
{
    size_t n;

    while (strncmp(at, mark, sizeof mark - 1)) {
        at = strchr(at, '\n');
        if (!at)
            return NULL;
        at++;
    }
    n = strcspn(at + sizeof mark - 1, "@\n");
    snprintf(name, 64, "%.*s", (int)n, at + sizeof mark - 1);
    *end = at + sizeof mark - 1 + n;
    *end += strcspn(*end, "\n");
    *end += **end == '\n';
    return at;
}

static uint32_t count_lines(const char *from, const char *to)
{
    uint32_t n = 0;

    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

/* The file of that name: out of `dir` when it is there, else the library's;
 * *file is what messages call it. */
static fgs_result read_file(const struct fgs__text *t, const char *dir,
                            const char *name, char **raw, size_t *len,
                            char **file, fgs_error *err)
{
    const struct fgs__embedded *e = fgs__embedded;
    size_t size = (dir ? strlen(dir) : 0) + strlen(name) + sizeof "<>" + 1;
    fgs_result r = FGS_OK;

    *raw = NULL;
    *file = fgs__alloc(&t->alloc, size);
    if (!*file)
        return fgs__nomem(err);
    if (dir && !strchr(name, '/')) {
        snprintf(*file, size, "%s/%s", dir, name);
        r = fgs__text_read(raw, len, *file, &t->alloc, err);
        if (r < 0 || *raw)
            return r;
    }
    snprintf(*file, size, "<%s>", name);
    while (e->name && strcmp(e->name, name))
        e++;
    if (!e->name)
        return fgs__fail(err, FGS_E_PTX, "%s includes %s, which is not there",
                         t->file, name);
    *raw = fgs__strdup(&t->alloc, e->text);
    *len = e->size;
    return *raw ? FGS_OK : fgs__nomem(err);
}

/* The text with `piece` in place of what lies between `at` and `end`. */
static fgs_result splice(struct fgs__text *t, const char *at, const char *end,
                         const char *piece, size_t len, fgs_error *err)
{
    size_t before = (size_t)(at - t->text);
    size_t behind = t->len - (size_t)(end - t->text);
    char *all = fgs__alloc(&t->alloc, before + len + behind + 1);

    if (!all)
        return fgs__nomem(err);
    memcpy(all, t->text, before);
    memcpy(all + before, piece, len);
    memcpy(all + before + len, end, behind + 1);
    fgs__free(&t->alloc, t->text);
    t->text = all;
    t->len = before + len + behind;
    return FGS_OK;
}

fgs_result fgs__text_include(struct fgs__text *t, const struct fgs__vars *vars,
                             const char *dir, fgs_error *err)
{
    const char *at = t->text, *end;
    char name[64];

    while ((at = fgs__include_next(at, name, &end))) {
        struct fgs__part *p = &t->part[t->parts];
        size_t offset = (size_t)(at - t->text), len = 0;
        char *raw, *piece = NULL;
        fgs_result r;

        if (t->parts == FGS__TEXT_PARTS)
            return fgs__fail(err, FGS_E_PTX, "%s includes more than %d files",
                             t->file, FGS__TEXT_PARTS);
        r = read_file(t, dir, name, &raw, &len, &p->file, err);
        t->parts += p->file != NULL;
        if (r >= 0)
            r = fgs__text_expand(&piece, &len, raw, len, vars->var,
                                 vars->count, p->file, &t->alloc, err);
        fgs__free(&t->alloc, raw);
        if (r >= 0) {
            p->line = count_lines(t->text, at) + 1;
            p->lines = count_lines(piece, piece + len);
            r = splice(t, at, end, piece, len, err);
        }
        fgs__free(&t->alloc, piece);
        if (r < 0)
            return r;
        at = t->text + offset + len; /* one that includes again is refused by
                                        the parser */
    }
    /* The library's own text is the one that is printed, "<STEM.ptx>": its
     * lines are its own. */
    if (t->file[0] == '<')
        fgs__text_drop_parts(t);
    return FGS_OK;
}

void fgs__text_drop_parts(struct fgs__text *t)
{
    while (t->parts)
        fgs__free(&t->alloc, t->part[--t->parts].file);
}

const char *fgs__text_place(const struct fgs__text *t, uint32_t *line)
{
    uint32_t more = 0;

    for (size_t i = 0; i < t->parts; i++) {
        const struct fgs__part *p = &t->part[i];

        if (*line < p->line)
            break;
        if (*line < p->line + p->lines) {
            *line -= p->line - 1;
            return p->file;
        }
        more += p->lines - 1;
    }
    *line -= more;
    return t->file;
}
