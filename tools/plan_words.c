/* plan_words.c -- a plan file: options and their values, by plan.def */
#include "plan_reader.h"
#include "plan_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct plan_word plan_words[] = {
#define PLAN_WORD(scope, word, whose, kind, member, lo, hi, words, text)       \
    {#scope,      PLAN_IS_##scope,                                             \
     word,        PLAN_OF_##whose,                                             \
     PLAN_##kind, offsetof(struct plan_##scope, member),                       \
     lo,          hi,                                                          \
     words,       text},
#include "plan.def"
    {NULL, NULL, NULL, PLAN_OF_ANY, PLAN_FLAG, 0, 0, 0, NULL, NULL},
};

const struct plan_word *plan_word_first(const char *scope)
{
    const struct plan_word *w = plan_words;

    while (strcmp(w->scope, scope))
        w++;
    return w;
}

const struct plan_word *plan_word_find(const char *scope, const char *text,
                                       uint64_t *bit)
{
    const struct plan_word *w = plan_word_first(scope);

    for (*bit = 1; w->scope && !strcmp(w->scope, scope); w++, *bit <<= 1)
        if (!strcmp(w->word, text))
            return w;
    return NULL;
}

bool plan_given(uint64_t given, const char *scope, const char *word)
{
    uint64_t bit;

    return plan_word_find(scope, word, &bit) && given & bit;
}

/* -------------------------------------------------------------- values -- */

/* The value of `w` stands at `t`; each of these says what is wrong itself. */
typedef void (*setter)(struct plan_reader *r, const struct plan_word *w,
                       const struct plan_token *t, void *to);

static void set_number(struct plan_reader *r, const struct plan_word *w,
                       const struct plan_token *t, void *to)
{
    const char *bad = number_parse(t->text, w->lo, w->hi, to);

    if (bad)
        plan_wrong(r, t, "%s: \"%s\" %s (%" PRIu64 " to %" PRIu64 ")", w->word,
                   t->text, bad, w->lo, w->hi);
}

static void set_signed(struct plan_reader *r, const struct plan_word *w,
                       const struct plan_token *t, void *to)
{
    bool minus = t->text[0] == '-';
    uint64_t n = 0;
    const char *bad = number_parse(t->text + minus, 0, w->hi, &n);

    if (bad)
        plan_wrong(r, t, "%s: \"%s\" %s", w->word, t->text, bad);
    *(int64_t *)to = minus ? -(int64_t)n : (int64_t)n;
}

static void set_word(struct plan_reader *r, const struct plan_word *w,
                     const struct plan_token *t, void *to)
{
    if (!word_is_in(w->words, t->text))
        plan_wrong(r, t, "%s: \"%s\" is none of %s", w->word, t->text,
                   w->words);
    *(const char **)to = t->text;
}

static void set_list(struct plan_reader *r, const struct plan_word *w,
                     const struct plan_token *t, void *to)
{
    const char *p;
    char one[16];

    for (p = t->text;; p++) {
        int len = (int)strcspn(p, ",");

        snprintf(one, sizeof one, "%.*s", len, p);
        if (len >= (int)sizeof one || !word_is_in(w->words, one)) {
            plan_wrong(r, t, "%s: \"%.*s\" is none of %s", w->word, len, p,
                       w->words);
            return;
        }
        p += len;
        if (!*p)
            break;
    }
    *(const char **)to = t->text;
}

static void set_text(struct plan_reader *r, const struct plan_word *w,
                     const struct plan_token *t, void *to)
{
    (void)r, (void)w;
    *(const char **)to = t->text;
}

static void set_engine(struct plan_reader *r, const struct plan_word *w,
                       const struct plan_token *t, void *to)
{
    if (fgs_engine_find(t->text, to) < 0)
        plan_wrong(r, t, "%s: \"%s\" is no engine", w->word, t->text);
}

static void set_element(struct plan_reader *r, const struct plan_word *w,
                        const struct plan_token *t, void *to)
{
    if (fgs_element_find(t->text, to) < 0)
        plan_wrong(r, t, "%s: \"%s\" is no element type", w->word, t->text);
}

/* A number that ends at `stop` or at the text's end, in *p moved past it. */
static const char *number_at(const char **p, char stop, uint64_t lo,
                             uint64_t hi, uint64_t *out)
{
    char digits[24];
    size_t len = 0;
    const char *bad;

    while ((*p)[len] && (*p)[len] != stop)
        len++;
    if (len >= sizeof digits)
        return "is too large";
    memcpy(digits, *p, len);
    digits[len] = 0;
    bad = number_parse(digits, lo, hi, out);
    *p += len;
    return bad;
}

static void set_dim(struct plan_reader *r, const struct plan_word *w,
                    const struct plan_token *t, void *to)
{
    uint32_t *dim = to;
    const char *p = t->text, *bad = NULL;
    uint64_t n;
    int i;

    for (i = 0; i < 3 && !bad; i++) {
        n = 1;
        if (!i || *p == 'x') {
            p += i > 0;
            bad = number_at(&p, 'x', w->lo, w->hi, &n);
        }
        dim[i] = (uint32_t)n;
    }
    if (!bad && *p)
        bad = "has more than three parts";
    if (bad)
        plan_wrong(r, t, "%s: \"%s\" %s (8, 8x4 or 8x4x2)", w->word, t->text,
                   bad);
}

static void set_tiles(struct plan_reader *r, const struct plan_word *w,
                      const struct plan_token *t, void *to)
{
    static const char *const part[] = {"FIRST", "STEP", "COUNT"};
    uint64_t *out = to;
    const char *bad;
    int i;

    for (i = 0; i < 3; i++) {
        if (i)
            t = plan_next(r);
        bad = t ? number_parse(t->text, i == 2, INT32_MAX, &out[i])
                : "needs a number";
        if (!bad)
            continue;
        plan_wrong(r, t, "%s: %s: \"%s\" %s", w->word, part[i],
                   t ? t->text : "", bad);
        return;
    }
}

/* Numbers of a list or a file: between commas, blanks and line ends. */
static bool table_parse(struct plan_reader *r, const struct plan_token *t,
                        const char *text, struct plan_table *to)
{
    const char *p, *bad, *gaps = ", \t\r\n";
    uint32_t room = 0;
    uint64_t n;

    for (p = text; *p; p++)
        room += !strchr(gaps, *p) && (!p[1] || strchr(gaps, p[1]));
    to->at = plan_keep(r, (room + 1) * sizeof *to->at);
    to->count = 0;
    for (p = text + strspn(text, gaps); to->at && *p; p += strspn(p, gaps)) {
        size_t len = strcspn(p, gaps);
        char digits[24];

        snprintf(digits, sizeof digits, "%.*s", len < 24 ? (int)len : 23, p);
        bad = number_parse(digits, 0, INT32_MAX, &n);
        if (bad) {
            plan_wrong(r, t, "table: entry %" PRIu32 ", \"%s\", %s", to->count,
                       digits, bad);
            return false;
        }
        to->at[to->count++] = (uint32_t)n;
        p += len;
    }
    if (!to->count)
        plan_wrong(r, t, "table: has no entry");
    return to->count > 0;
}

/* A path in a plan file is as seen from that file. */
char *plan_path(struct plan_reader *r, const char *name)
{
    const char *slash = strrchr(r->f->path, '/');
    size_t dir = slash && *name != '/' ? (size_t)(slash - r->f->path) + 1 : 0;
    char *path = plan_keep(r, dir + strlen(name) + 1);

    if (path) {
        memcpy(path, r->f->path, dir);
        memcpy(path + dir, name, strlen(name));
    }
    return path;
}

static void set_table(struct plan_reader *r, const struct plan_word *w,
                      const struct plan_token *t, void *to)
{
    char *path;
    unsigned char *text;
    size_t size;
    int bad;

    (void)w;
    if (!t->text[strspn(t->text, "0123456789,")]) {
        table_parse(r, t, t->text, to);
        return;
    }
    path = plan_path(r, t->text);
    if (!path)
        return;
    bad = file_read(path, &text, &size);
    if (bad) {
        plan_wrong(r, t, "table: %s: %s", path, strerror(bad));
        return;
    }
    table_parse(r, t, (char *)text, to);
    free(text);
}

static const setter setters[] = {
    [PLAN_NUMBER] = set_number, [PLAN_SIGNED] = set_signed,
    [PLAN_WORD] = set_word,     [PLAN_TEXT] = set_text,
    [PLAN_ENGINE] = set_engine, [PLAN_ELEMENT] = set_element,
    [PLAN_DIM] = set_dim,       [PLAN_TILES] = set_tiles,
    [PLAN_TABLE] = set_table,   [PLAN_LIST] = set_list,
};

void plan_options(struct plan_reader *r, const char *scope, void *to,
                  uint64_t *given)
{
    const struct plan_token *t, *value;
    const struct plan_word *w;
    uint64_t bit;

    while ((t = plan_next(r))) {
        w = plan_word_find(scope, t->text, &bit);
        if (!w) {
            plan_wrong(r, t, "%s: \"%s\" is no option of it",
                       plan_word_first(scope)->said, t->text);
            return;
        }
        if (*given & bit)
            plan_wrong(r, t, "%s: is given twice", w->word);
        *given |= bit;
        if (w->kind == PLAN_FLAG) {
            *(bool *)((char *)to + w->at) = true;
            continue;
        }
        value = plan_next(r);
        if (!value) {
            plan_wrong(r, NULL, "%s: its value is missing", w->word);
            return;
        }
        setters[w->kind](r, w, value, (char *)to + w->at);
    }
}
