/* sass_all.c -- fgs sass --check --all: every kernel for every target */
#include "sass_verb.h"
#include "text.h"

#include <string.h>

/* One of each kind of machine code. */
static const struct {
    int32_t cc;
    const char *name;
} targets[] = {
    {75, "sm_75"},   {80, "sm_80"},    {90, "sm_90"},   {100, "sm_100"},
    {103, "sm_103"}, {107, "sm_107a"}, {120, "sm_120"},
};
enum { TARGETS = sizeof targets / sizeof targets[0] };

void sass_what_of_stem(const fgs_ptx_desc *d, struct sass_what *w)
{
    struct sass_entry e = {.name = NULL};
    char name[128];

    memset(w, 0, sizeof *w);
    snprintf(name, sizeof name, "%s", d->stem);
    e.name = name;
    sass_guess(&e, w);
    w->element = d->element;
    w->saturate = d->saturate;
    w->cc = d->cc;
    w->weak = strstr(d->stem, "weak");
    w->staged = strstr(d->stem, "_retry") || strstr(d->stem, "_stages") ||
                strstr(d->stem, "gemm_");
    w->two = strstr(d->stem, "_scaled");
    w->pair = strstr(d->stem, "_pair");
    w->own = true;
    w->inits = d->self_init;
    w->twin = d->language == FGS_LANGUAGE_CUDA;
}

struct row {
    char name[96];
    struct sass_what what;
};

struct all {
    struct sass_report *report;
    struct sass_text *text;
    struct row *row;
    size_t count;
    bool no_nvrtc;
    bool no_twin; /* of what is added now                                    */
    int made; /* .version of what NVRTC makes, 0 = not known yet             */
};

/* Takes the text. */
static int add_row(struct all *a, const fgs_ptx_desc *d, const char *target,
                   char *text)
{
    static const char *const ways[] = {"", " up", " down"};
    size_t n = a->count;
    char own[16];
    void *more = realloc(a->text, (n + 1) * sizeof a->text[0]);

    if (more) {
        a->text = more;
        more = realloc(a->row, (n + 1) * sizeof a->row[0]);
    }
    if (!more) {
        free(text);
        return failure("sass", "no memory");
    }
    a->row = more;
    memset(&a->text[n], 0, sizeof a->text[n]);
    a->text[n].text = text;
    /* what is for one machine alone says so: sm_90a */
    text_word(text, ".target", own, sizeof own);
    if (own[0] && own[strlen(own) - 1] == 'a')
        target = own;
    snprintf(a->text[n].target, sizeof a->text[n].target, "%s", target);
    snprintf(a->row[n].name, sizeof a->row[n].name, "%s %s%s%s%s%s", d->stem,
             fgs_element_get_info(d->element)->name, ways[d->saturate],
             d->self_init ? " self-init" : "",
             d->persistent ? " persistent" : "",
             d->language == FGS_LANGUAGE_CUDA ? " cuda" : "");
    sass_what_of_stem(d, &a->row[n].what);
    a->count++;
    return EXIT_GOOD;
}

/* 94 of ".version 9.4". */
static int version_of(const char *text)
{
    char word[16];
    int major = 0, minor = 0;

    text_word(text, ".version", word, sizeof word);
    return sscanf(word, "%d.%d", &major, &minor) == 2 ? major * 10 + minor : 0;
}

/* A twin of a text of PTX `needs`.  Without NVRTC, or where it is older than
 * the text, it is counted and left out. */
static int add_twin(struct all *a, const fgs_ptx_desc *d, const char *target,
                    int needs)
{
    struct sass_report *r = a->report;
    fgs_error err = {.text = ""};
    char *text = NULL;
    fgs_result got = a->no_nvrtc ? FGS_E_UNSUPPORTED
                                 : text_compile(d, &text, &err);
    int code;

    if (got == FGS_E_UNSUPPORTED || (got < 0 && a->made && a->made < needs)) {
        a->no_nvrtc = got == FGS_E_UNSUPPORTED;
        if (!r->left_out++)
            snprintf(r->why, sizeof r->why, "%.399s", err.text);
        return EXIT_GOOD;
    }
    if (got == FGS_E_INVAL) { /* there is none */
        r->alone++;
        return EXIT_GOOD;
    }
    if (got < 0) {
        r->broken++;
        failure("sass", "%s", err.text);
        return EXIT_GOOD;
    }
    r->twins++;
    a->made = version_of(text);
    code = add_row(a, d, target, text);
    /* an older one makes the weak copy */
    if (!code && a->made < needs)
        a->row[a->count - 1].what.weak = true;
    return code;
}

/* One text for one target, and its twin; what a device cannot have is left
 * out. */
static int add(struct all *a, fgs_ptx_desc *d, const char *target)
{
    const char *language = a->report->a->language;
    size_t size = 0;
    fgs_result got = fgs_ptx_expand(d, NULL, &size, NULL);
    char *text;
    int code, needs;

    if (got == FGS_E_UNSUPPORTED || got == FGS_E_INVAL)
        return EXIT_GOOD;
    code = text_get("sass", d, &text);
    if (code)
        return code;
    needs = version_of(text);
    if (!language || *language == 'p')
        code = add_row(a, d, target, text);
    else
        free(text);
    d->language = FGS_LANGUAGE_CUDA;
    if (!code && !a->no_twin && (!language || *language == 'c'))
        code = add_twin(a, d, target, needs);
    d->language = FGS_LANGUAGE_PTX;
    return code;
}

/* All ways of a stem to stay off the sentinel; the first one is everybody's. */
static int add_ways(struct all *a, fgs_ptx_desc *d, const char *target)
{
    struct sass_what w;
    int s, code = EXIT_GOOD;

    sass_what_of_stem(d, &w);
    for (s = 0; !code && s < FGS_SATURATE_COUNT; s++) {
        if (s && (w.role != FGS_ROLE_PRODUCER ||
                  fgs_element_get_info(d->element)->rule !=
                      FGS_RULE_NEVER_SENTINEL))
            break;
        d->saturate = (fgs_saturate)s;
        code = add(a, d, target);
    }
    d->saturate = FGS_SATURATE_REFUSE;
    return code;
}

/* The forms that fill their own output, and those of any grid: unless they are
 * asked for, texts of f32 stand for all, whose sentinel is a constant. */
static int add_forms(struct all *a, fgs_ptx_desc *d, const char *target)
{
    const struct sass_asked *k = a->report->a;
    bool asked = k->self_init || k->persistent;
    int form, code = EXIT_GOOD;

    if (!asked)
        code = add_ways(a, d, target);
    a->no_twin = !asked;
    for (form = 1; !code && form < 4; form++) {
        d->self_init = form & 1;
        d->persistent = (uint32_t)form >> 1;
        if (asked ? d->self_init == k->self_init &&
                        d->persistent == k->persistent
                  : d->element == FGS_ELEMENT_F32)
            code = add(a, d, target);
    }
    d->self_init = d->persistent = 0;
    a->no_twin = false;
    return code;
}

static int add_all(struct all *a)
{
    const struct sass_asked *k = a->report->a;
    fgs_ptx_desc d = {.size = sizeof d};
    uint32_t i;
    int t, e, code = EXIT_GOOD;

    for (t = 0; t < TARGETS; t++) {
        if (k->target && strcmp(k->target, targets[t].name))
            continue;
        d.cc = targets[t].cc;
        for (i = 0; (d.stem = fgs_ptx_stem(i)); i++)
            for (e = 0; !code && e < FGS_ELEMENT_COUNT; e++) {
                d.element = (fgs_element)e;
                if (!k->element || d.element == k->element_value)
                    code = add_forms(a, &d, targets[t].name);
            }
    }
    return code;
}

int sass_check_all(struct sass_report *r)
{
    struct all a = {.report = r};
    struct sass_code *codes = NULL;
    size_t count = 0, i;
    int code = add_all(&a);

    if (!code && !a.count && !r->left_out)
        code = failure("sass", "--target: \"%s\" is none of --all",
                       r->a->target);
    if (!code)
        code = sass_of_texts(a.text, a.count, &codes, &count);
    for (i = 0; !code && i < a.count; i++) {
        struct sass_text *t = &a.text[i];

        if (t->result) {
            failure("sass", "%s for %s: not assembled", a.row[i].name,
                    t->target);
            r->broken++;
            continue;
        }
        code = sass_check_entry(r, a.row[i].name, t->target, &a.row[i].what,
                                &t->code->entry[t->entry]);
    }
    for (i = 0; codes && i < count; i++)
        sass_free(&codes[i]);
    for (i = 0; i < a.count; i++)
        free(a.text[i].text);
    free(codes);
    free(a.text);
    free(a.row);
    return code;
}
